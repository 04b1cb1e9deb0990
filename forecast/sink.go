package forecast

import (
	"fmt"
	"strings"
	"time"
)

// The keys that sinks are told apart by in [Sink.Set].
const (
	KeySize       = "sink.rolling-policy.file-size"
	KeyRollover   = "sink.rolling-policy.rollover-interval"
	KeyInactivity = "sink.rolling-policy.inactivity-interval"
	KeyTrigger    = "sink.partition-commit.trigger"
	KeyDelay      = "sink.partition-commit.delay"
	KeyPattern    = "partition.time-extractor.timestamp-pattern"
	KeyZone       = "sink.partition-commit.watermark-time-zone"
)

// Thresholds of the warnings on files.
const (
	smallFile = 16 << 20
	manyFiles = 400 // an hour
	// objectsADay is about what a NameNode has to take a year for one table: 36 million.
	objectsADay = 100_000
	// openFiles of one subtask; above about so many the writer closes the largest (connector/filesystem).
	openFiles = 512
	smallRoll = 1 << 20
	// callsToClose are the calls to the store of a subtask for each of its files before it may acknowledge a checkpoint: created, completed.
	callsToClose = 2
)

// rolling looks at the rolling policy.
func (j *judge) rolling(s *Sink) {
	what, every := "sink "+s.Table, j.f.Settings.Interval
	for _, x := range []struct {
		key, code string
		after     time.Duration
	}{{KeyRollover, "rollover-no-effect", s.Roll.Rollover}, {KeyInactivity, "inactivity-no-effect", s.Roll.Inactivity}} {
		if s.Set[x.key] && x.after >= every {
			j.add(x.code, Warn, what, "leave '"+x.key+"' out, or lengthen 'execution.checkpointing.interval' to it", "'%s' = %s never comes to pass: every file ends at the checkpoint, %s after the one before", x.key, span(x.after), span(every))
		}
	}
	if s.Set[KeyRollover] && s.Set[KeyInactivity] && s.Roll.Inactivity > s.Roll.Rollover && s.Roll.Rollover < every {
		j.add("inactivity-no-effect", Warn, what, "set '"+KeyInactivity+"' below '"+KeyRollover+"', or leave it out", "a file is closed after %s in any case, before it could be inactive for %s", span(s.Roll.Rollover), span(s.Roll.Inactivity))
	}
	if first := min(s.Roll.Rollover, s.Roll.Inactivity); first > 0 && first < every && s.Roll.Check > first {
		j.add("check-interval", Warn, what, "set 'sink.rolling-policy.check-interval' to "+span(first)+" or less", "files are to be closed after %s, which is looked at every %s only", span(first), span(s.Roll.Check))
	}
	if s.Roll.Size > 0 && s.Roll.Size < smallRoll {
		j.add("roll-size-small", Warn, what, "raise '"+KeySize+"', its default is 128 MB", "files are closed at %s: a store that keeps every name in memory suffers from so small ones", size(float64(s.Roll.Size)))
	}
}

// partitionCommit looks at how partitions are declared complete.
func (j *judge) partitionCommit(s *Sink, src *Source) {
	what, c := "sink "+s.Table, &s.Commit
	if c.Policy == "" {
		for _, key := range []string{KeyTrigger, KeyDelay, KeyPattern, KeyZone} {
			if s.Set[key] {
				j.add("commit-without-policy", Warn, what, "set 'sink.partition-commit.policy.kind' = 'success-file'", "'%s' is set and no policy: no partition is ever declared complete, without a word", key)
				break
			}
		}
		return
	}
	if len(s.Keys) == 0 {
		j.add("commit-without-partitions", Warn, what, "add PARTITIONED BY, or leave 'sink.partition-commit.policy.kind' out", "a policy for partitions is set and the table has none: nothing is ever declared complete")
		return
	}
	var length time.Duration
	if s.Sample != nil {
		length = s.Sample.Times.Length
	}
	switch {
	case !c.ByTime && c.Delay == 0:
		j.add("process-time-at-once", Warn, what, "set '"+KeyTrigger+"' = 'partition-time' and '"+KeyDelay+"' to the length of a partition",
			"trigger process-time without a delay declares a partition complete at the first checkpoint with rows of it: readers that wait for %s see a part", c.Policy)
	case length > 0 && c.Delay < length:
		from := "its first row"
		if c.ByTime {
			from = "its start"
		}
		j.add("delay-below-partition", Warn, what, "set '"+KeyDelay+"' to "+span(length)+" or more", "a partition is declared complete %s after %s and takes rows for %s: readers that wait for %s see a part", span(c.Delay), from, span(length), c.Policy)
	case c.Delay > 0 && c.Delay < j.f.Settings.Interval:
		j.add("delay-below-interval", Warn, what, "shorten 'execution.checkpointing.interval' or lengthen '"+KeyDelay+"'", "a delay of %s is less than the interval of %s: partitions are declared at checkpoints only", span(c.Delay), span(j.f.Settings.Interval))
	}
	if c.ByTime {
		j.byTime(s, src, what)
		return
	}
	if x := src.Sample; x != nil && !x.Event.IsZero() && !x.NewestRecord.IsZero() {
		if late := x.NewestRecord.Sub(x.Event); late > c.Delay+max(length, src.slack()) {
			j.add("late-for-the-clock", Warn, what, "set '"+KeyTrigger+"' = 'partition-time'", "records come %s after their time, and the clock declares their partitions complete %s after the first row", span(late), span(c.Delay))
		}
	}
}

// byTime looks at the trigger partition-time.
func (j *judge) byTime(s *Sink, src *Source, what string) {
	if src.Connector != "" && !src.Watermark {
		j.add("partition-time-without-watermark", Fail, what, "declare a WATERMARK on table "+s.Source+", or set '"+KeyTrigger+"' = 'process-time'",
			"partition-commit trigger 'partition-time' needs a WATERMARK on table %s: no partition would ever be committed", s.Source)
		return
	}
	idle := src.idleSplits()
	switch {
	case src.IdleTimeout == 0 && len(idle) > 0:
		j.add("idle-split", Fail, what, "set 'table.exec.source.idle-timeout' to some minutes", "%s of %s had no record in the last %s and hold back the watermark: no partition would be declared complete",
			some(idle), src.Table, span(src.RateOver))
	case src.IdleTimeout == 0 && len(src.Splits) != 1:
		j.add("idle-timeout-unset", Warn, what, "set 'table.exec.source.idle-timeout' to some minutes", "a source partition without records would hold back the watermark, and with it the declaration of partitions")
	case src.IdleTimeout > 0:
		for _, p := range src.Splits {
			if gap := time.Duration(float64(time.Second) / max(p.Rate, 1e-9)); p.Rate > 0 && gap > src.IdleTimeout {
				j.add("idle-timeout-short", Warn, what, "raise 'table.exec.source.idle-timeout' above "+span(gap), "%s gets a record every %s on average and counts as idle after %s: the watermark passes it by, and its records come late for their partitions",
					p.ID, span(gap), span(src.IdleTimeout))
				break
			}
		}
	}
	if s.Sample != nil && s.Sample.Times.Bad != "" {
		j.add("time-extractor", Fail, what, "set '"+KeyPattern+"' and 'partition.time-extractor.timestamp-formatter' so that every partition has a time", "the time of a partition of recent records cannot be told, which would end the job: %s", s.Sample.Times.Bad)
	}
}

// zones looks for times that are read in another zone than they were written in.
func (j *judge) zones(s *Sink, src *Source) {
	what, set := "sink "+s.Table, &j.f.Settings
	if len(s.Keys) > 0 && !set.ZoneSet && set.MachineZone != "" && set.MachineZone != "UTC" {
		j.add("zone-of-the-machine", Warn, what, "SET 'table.local-time-zone'", "the session zone is that of the machine, %s: on another machine, or on Flink in a container, times and partitions would be others", set.MachineZone)
	}
	if s.Commit.Policy == "" || !s.Commit.ByTime || len(s.Keys) == 0 || !src.Watermark {
		return
	}
	zone := s.Commit.Zone
	switch {
	case src.WatermarkLTZ && zone != set.Zone:
		j.add("zones", Warn, what, "set '"+KeyZone+"' = '"+set.Zone+"'", "the watermark is an instant (TIMESTAMP_LTZ) and partition values are made in the session zone %s, but read in %s: partitions are declared complete too early or too late", set.Zone, zone)
	case !src.WatermarkLTZ && zone != "UTC":
		j.add("zones", Warn, what, "leave '"+KeyZone+"' out", "the watermark is a TIMESTAMP without zone, as the partition values are; reading those in %s moves them apart", zone)
	}
	if s.Sample == nil || src.Sample == nil || src.Sample.Event.IsZero() || !s.Sample.Times.Known || s.Sample.Times.Length == 0 {
		return
	}
	t := s.Sample.Times
	switch into := src.Sample.Event.Sub(t.Newest); {
	case into > t.Length+clockSlack:
		j.add("partition-shift", Fail, what, "set '"+KeyZone+"' to the zone of the partition values", "the watermark stands %s after the start of the newest partition, which is %s long: it would be declared complete %s too early", span(into), span(t.Length), span(into-t.Length))
	case into < -clockSlack:
		j.add("partition-shift", Warn, what, "set '"+KeyZone+"' to the zone of the partition values", "the newest partition begins %s after the watermark: partitions would be declared complete so much too late", span(-into))
	}
}

// files looks at what will lie in the table.
func (j *judge) files(s *Sink, p Forecast) {
	what := "sink " + s.Table
	if p.FilesPerHour > manyFiles && p.FileBytes < smallFile {
		longer := min(time.Hour, p.Cycle*time.Duration(1+p.FilesPerHour/manyFiles*2))
		change := "lengthen 'execution.checkpointing.interval' to " + span(round1(longer)) + " or so"
		if j.f.Settings.Parallelism > 1 {
			change += ", lower 'parallelism.default'"
		}
		if len(s.Keys) > 0 {
			change += ", or partition by fewer values"
		}
		j.add("small-files", Warn, what, change, "%s files an hour of %s each", count(p.FilesPerHour), size(p.FileBytes))
	}
	if s.Set[KeySize] && s.Roll.Size >= smallRoll && p.FileBytes > 0 && p.FileBytes < float64(s.Roll.Size)/4 {
		j.add("roll-size-unreached", Warn, what, "lengthen 'execution.checkpointing.interval', or leave '"+KeySize+"' out", "'%s' = %s is never reached: files end at the checkpoint with about %s", KeySize, size(float64(s.Roll.Size)), size(p.FileBytes))
	}
	if p.ObjectsPerDay > objectsADay {
		j.add("many-objects", Warn, what, "lengthen 'execution.checkpointing.interval', or partition by fewer values", "the table gains %s objects a day", count(p.ObjectsPerDay))
	}
	if par := float64(max(1, j.f.Settings.Parallelism)); p.OpenFiles/par > openFiles {
		example := ""
		if len(s.Sample.Values) > 0 {
			example = " (such as " + strings.Join(s.Sample.Values[0], "/") + ")"
		}
		j.add("many-partitions", Warn, what, "partition by columns with fewer values: "+strings.Join(s.Keys, ", "), "%s partitions%s are written to between two checkpoints by each subtask, each with a file of its own; above %d the largest are closed early",
			count(p.OpenFiles/par), example, openFiles)
	}
	if n := s.Sample.Defaults; n > 0 {
		j.add("default-partition", Warn, what, "give the partition columns a value in the query, for instance with COALESCE", "%s of %s recent rows have NULL or an empty text in a partition column and go to the default partition", count(float64(n)), count(float64(s.Sample.rows())))
	}
	closing := time.Duration(float64(s.RoundTrip) * p.FilesPerCheckpoint / float64(max(1, j.f.Settings.Parallelism)) * callsToClose)
	if t := j.f.Settings.Timeout; t > 0 && closing > t {
		j.add("timeout-below-closing", Fail, what, "raise 'execution.checkpointing.timeout', or make fewer files", "closing %s files takes about %s and a checkpoint is given up after %s: none would ever complete",
			count(p.FilesPerCheckpoint), span(closing), span(t))
	}
	if p.Commit > j.f.Settings.Interval {
		j.add("commit-above-interval", Warn, what, "lengthen 'execution.checkpointing.interval', or make fewer files", "making %s files visible takes about %s, more than the interval of %s: the next checkpoint waits for it", count(p.FilesPerCheckpoint), span(p.Commit), span(j.f.Settings.Interval))
	}
}

func (s *Sample) rows() (n int64) {
	for i := range s.Tasks {
		n += s.Tasks[i].Written
	}
	return n
}

// delay looks at how long things take to be seen.
func (j *judge) delay(s *Sink, src *Source, p Forecast) {
	if t := s.Sample.Times.Length; p.Complete > 0 && t > 0 && p.Complete > 24*time.Hour && t < 24*time.Hour {
		j.add("complete-late", Warn, "sink "+s.Table, "shorten '"+KeyDelay+"'", "a partition of %s is declared complete up to %s after its end", span(t), span(p.Complete))
	}
}

// some lists the first of many names.
func some(ids []string) string {
	if len(ids) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:3], ", "), len(ids)-3)
	}
	return strings.Join(ids, ", ")
}
