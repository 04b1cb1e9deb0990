package forecast

import (
	"fmt"
	"slices"
	"time"
)

// Verdict of a finding.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn"
	Fail Verdict = "fail"
)

// Finding is one thing that was looked at.
type Finding struct {
	// Code names the rule, see [Rules].
	Code    string
	Verdict Verdict
	// What it is about, Why the verdict, Change what to do about it (empty for a pass).
	What, Why, Change string
}

// Forecast is what one INSERT will do while records come as they did lately.
type Forecast struct {
	Table, Insert string
	// Measured: a whole checkpoint's worth of records went through the writer; otherwise it was computed from a smaller part.
	Measured bool
	// Rate of rows written, a second.
	Rate float64
	// Cycle is the time from one checkpoint to the next, Commit how long making its files visible takes.
	Cycle, Commit time.Duration
	// FilesPerCheckpoint, FilesPerHour and FileBytes are of visible files; FileBytes is the mean length.
	FilesPerCheckpoint, FilesPerHour, FileBytes float64
	// OpenFiles and OpenBytes are of all subtasks right before a checkpoint: open files and the memory of the writers.
	OpenFiles, OpenBytes float64
	// ObjectsPerDay are data files, success files, partition folders and log files that the table has more after a day; PartitionsPerDay is 0 if
	// not known.
	ObjectsPerDay, PartitionsPerDay float64
	BytesPerDay                     float64
	// Visible is the longest time from a record's arrival until readers see it, without a failure; AfterFailure with one checkpoint that fails by
	// its time-out and a restart.
	Visible, AfterFailure time.Duration
	// Complete is the longest time from the end of a partition (its last record's arrival) until it is declared complete by its time; 0 if it is not,
	// or earlier.
	Complete time.Duration
}

// Report is the outcome.
type Report struct {
	Findings  []Finding
	Forecasts []Forecast
}

// Rule describes a code.
type Rule struct {
	Code, Says string
}

// judge collects findings.
type judge struct {
	f   *Facts
	out []Finding
}

func (j *judge) add(code string, v Verdict, what, change, why string, args ...any) {
	j.out = append(j.out, Finding{Code: code, Verdict: v, What: what, Why: fmt.Sprintf(why, args...), Change: change})
}

// Judge looks at the facts.
func Judge(f Facts) Report {
	var r Report
	j := &judge{f: &f}
	j.checkpoints()
	j.restart()
	j.machine()
	j.places()
	for i := range f.Sources {
		j.source(&f.Sources[i])
	}
	j.groups()
	held := 0.0
	for i := range f.Sinks {
		s := &f.Sinks[i]
		if !s.Files {
			continue
		}
		src := f.source(s.Source)
		j.rolling(s)
		j.partitionCommit(s, src)
		j.zones(s, src)
		if s.SinkParallelism > 0 && s.SinkParallelism != f.Settings.Parallelism {
			j.add("sink-parallelism", Fail, "sink "+s.Table, "remove 'sink.parallelism', or set 'parallelism.default' to the same number",
				"'sink.parallelism' is %d and the job's parallelism %d: rows are written where they are read, and the start is refused", s.SinkParallelism, f.Settings.Parallelism)
		}
		p, ok := predict(&f, s, src)
		if !ok {
			continue
		}
		r.Forecasts = append(r.Forecasts, p)
		held += p.OpenBytes
		j.files(s, p)
		j.delay(s, src, p)
	}
	j.memory(held)
	slices.SortStableFunc(j.out, func(a, b Finding) int { return rank(a.Verdict) - rank(b.Verdict) })
	r.Findings = j.out
	return r
}

func rank(v Verdict) int {
	switch v {
	case Pass:
		return 0
	case Warn:
		return 1
	}
	return 2 // last, where it is seen
}

func (f *Facts) source(table string) *Source {
	for i := range f.Sources {
		if f.Sources[i].Table == table {
			return &f.Sources[i]
		}
	}
	return &Source{Table: table}
}

// rate is the records a second of all splits.
func (s *Source) rate() (n float64) {
	for _, p := range s.Splits {
		n += p.Rate
	}
	return n
}

// taskRate is the records a second of one subtask.
func (s *Source) taskRate(subtask int) (n float64) {
	for _, p := range s.Splits {
		if p.Subtask == subtask {
			n += p.Rate
		}
	}
	return n
}
