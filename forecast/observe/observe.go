package observe

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"staunch/commit"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/forecast"
	"staunch/fs"
	"staunch/plan"
	"staunch/types"
)

// Options bound what is looked at.
type Options struct {
	// Records is the most records of the sample, over all sources of a job; 0 = none are read. Time is the longest that reading them may take.
	Records int
	Time    time.Duration
	// Rate is how many records a second come to each source, where the user knows better than the past; 0 = as they came lately.
	Rate float64
	// Machine is what the job runs on.
	Machine forecast.Machine
	// WritersMemory is the part of the memory budget that the open files of this job may take.
	WritersMemory int64
}

// Looker looks at the jobs of one statement file.
type Looker struct {
	Env env.Env
	Log *slog.Logger
	// Script is the plan of the file, Trial another one of the same file whose stores are a [Scratch].
	Script, Trial *plan.Script
	// Stores are the real ones.
	Stores  fs.Resolver
	Options Options
	// Away reports, by `source <describe>` and `sink <table>`, what was asked already and did not answer; nil: nothing.
	Away func(what string) bool
}

// Job gathers the facts of the i-th job of the file.
func (l *Looker) Job(i int) (forecast.Facts, error) {
	j, trial := l.Script.Jobs()[i], l.Trial.Jobs()[i]
	f := forecast.Facts{Now: l.Env.Now(), Machine: l.Options.Machine}
	var err error
	if f.Settings, err = l.settings(j); err != nil {
		return f, err
	}
	n := 0
	for k := range j.Graph.Sources {
		src := &trial.Graph.Sources[k]
		s := l.source(j, k)
		first := n
		for range src.Branches {
			f.Sinks = append(f.Sinks, l.sink(j.Sinks[n]))
			n++
		}
		s.Away = l.away("source " + src.Describe)
		r, err := l.survey(src, &s, f.Settings)
		if err != nil { // the check of the source says so too
			s.Surveyed, s.Away = false, true
			l.Log.Warn("the source could not be surveyed", "source", src.Describe, "error", err)
		}
		if r != nil {
			r.sinks = f.Sinks[first:n]
			r.run()
			r.close()
		}
		f.Sources = append(f.Sources, s)
	}
	return f, nil
}

func (l *Looker) away(what string) bool { return l.Away != nil && l.Away(what) }

// settings reads the options of the job.
func (l *Looker) settings(j *plan.Job) (s forecast.Settings, err error) {
	ck, err := j.Conf.Checkpointing()
	if err != nil {
		return s, err
	}
	rs, err := j.Conf.Restart()
	if err != nil {
		return s, err
	}
	zone, err := j.Conf.Zone()
	if err != nil {
		return s, err
	}
	memory, err := j.Conf.Memory()
	if err != nil {
		return s, err
	}
	ports, err := j.Conf.MetricsPorts()
	if err != nil {
		return s, err
	}
	s = forecast.Settings{Interval: ck.Interval, IntervalSet: ck.IntervalSet, Timeout: ck.Timeout, MinPause: ck.MinPause, Tolerable: ck.TolerableFailures, Dir: l.place(ck.Dir),
		Parallelism: j.Graph.Parallelism, Zone: zoneName(zone), MachineZone: zoneName(time.Local), ZoneSet: zone != time.Local, Memory: memory,
		Writers: l.Options.WritersMemory, Metrics: len(ports) > 0, Bounded: j.Bounded, SegmentEvery: commit.SegmentEvery, JoinArchives: commit.JoinArchives}
	s.Restart = forecast.Restart{Strategy: string(rs.Strategy)}
	switch rs.Strategy {
	case config.RestartFixed:
		s.Restart.Attempts, s.Restart.First = rs.FixedAttempts, rs.FixedDelay
	case config.RestartExponential:
		s.Restart.Attempts, s.Restart.First, s.Restart.Max, s.Restart.Factor = rs.MaxAttempts, rs.InitialBackoff, rs.MaxBackoff, rs.Multiplier
	}
	return s, nil
}

// place is a path as a URI; empty if there is none or it cannot be resolved, which others say.
func (l *Looker) place(path string) string {
	if path == "" {
		return ""
	}
	store, at, err := l.Stores.Resolve(path)
	if err != nil {
		return ""
	}
	return fs.URI(store, at)
}

// zoneName names a zone; the machine's by its offset where the system does not tell its name.
func zoneName(z *time.Location) string {
	if z == nil {
		return "UTC"
	}
	if name := z.String(); name != "Local" {
		return name
	}
	_, offset := time.Unix(0, 0).In(z).Zone()
	if offset == 0 {
		return "UTC"
	}
	return fmt.Sprintf("UTC%+03d:%02d", offset/3600, max(offset, -offset)%3600/60)
}

// source reads what the table's declaration says of a source.
func (l *Looker) source(j *plan.Job, k int) forecast.Source {
	src := &j.Graph.Sources[k]
	s := forecast.Source{Table: src.Name, RateGiven: l.Options.Rate > 0, Watermark: src.NewWatermarker != nil, IdleTimeout: src.IdleTimeout}
	t := l.Script.Tables[src.Name]
	if t == nil {
		return s
	}
	s.Connector = t.Options["connector"]
	if t.WatermarkColumn >= 0 {
		s.WatermarkLTZ = t.Columns[t.WatermarkColumn].Type.Kind == types.TimestampLTZ
	}
	for key, value := range t.Options {
		if strings.HasSuffix(key, ".ignore-parse-errors") && strings.EqualFold(strings.TrimSpace(value), "true") {
			s.IgnoreErrors, s.IgnoreKey = true, key
		}
	}
	s.Others = l.sameGroup(j, k)
	return s
}

// sameGroup names what else of the file commits to the group of a source for the same topic.
func (l *Looker) sameGroup(j *plan.Job, k int) (others []string) {
	group := func(t *plan.Table) string {
		if t == nil || t.Options["properties.group.id"] == "" {
			return ""
		}
		return strings.Join([]string{t.Options["properties.bootstrap.servers"], t.Options["properties.group.id"], t.Options["topic"], t.Options["topic-pattern"]}, "\x00")
	}
	mine := group(l.Script.Tables[j.Graph.Sources[k].Name])
	if mine == "" {
		return nil
	}
	for _, o := range l.Script.Jobs() {
		for i := range o.Graph.Sources {
			name := o.Graph.Sources[i].Name
			if o == j && i == k || group(l.Script.Tables[name]) != mine {
				continue
			}
			what := "table " + name
			if o != j {
				what += " in job " + o.Name
			}
			others = append(others, what)
		}
	}
	return others
}

// interesting are options whose being set matters.
var interesting = []string{forecast.KeySize, forecast.KeyRollover, forecast.KeyInactivity, forecast.KeyTrigger, forecast.KeyDelay, forecast.KeyPattern, forecast.KeyZone}

// sink reads what a sink was told, and how far away its store is.
func (l *Looker) sink(p plan.Sink) forecast.Sink {
	s := forecast.Sink{Table: p.Key, Insert: p.Insert, Source: p.Source, Connector: p.Connector, Set: map[string]bool{}}
	if p.Table != nil {
		s.Table = p.Table.Name
		for _, key := range interesting {
			if _, set := p.Table.Options[key]; set {
				s.Set[key] = true
			}
		}
	}
	t, isTable := p.Sink.(connector.FileTable)
	v, tells := p.Sink.(connector.FileSurveyor)
	if !isTable || !tells {
		return s
	}
	x := v.FileSurvey()
	s.Files, s.Root, s.Keys, s.SinkParallelism = true, fs.URI(t.Store(), t.Root()), x.Keys, x.Parallelism
	s.Roll = forecast.Roll{Size: x.RollSize, Rollover: x.Rollover, Inactivity: x.Inactivity, Check: x.Check}
	if p.Table != nil {
		s.Commit.Policy = p.Table.Options["sink.partition-commit.policy.kind"]
	}
	if x.Commit {
		s.Commit.ByTime, s.Commit.Delay, s.Commit.Zone, s.Commit.Pattern, s.Commit.Formatter = x.ByTime, x.Delay, x.Zone, x.Pattern, x.TimeFormat
	}
	if !l.away("sink " + s.Table) {
		s.RoundTrip = l.roundTrip(t)
	}
	return s
}

// roundTrip takes the least of a few looks at the table's folder, there or not.
func (l *Looker) roundTrip(t connector.FileTable) (least time.Duration) {
	for range 3 {
		began := l.Env.Now()
		if _, err := t.Store().Stat(t.Root()); err != nil && !missing(err) {
			return 0
		}
		if took := l.Env.Now().Sub(began); least == 0 || took < least {
			least = took
		}
	}
	return least
}
