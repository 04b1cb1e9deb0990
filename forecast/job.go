package forecast

import (
	"path"
	"strings"
	"time"
)

const (
	// patience is the shortest outage that a job should get over by itself.
	patience = 5 * time.Minute
	// leastTimeout is about what a busy store takes for a handful of files.
	leastTimeout = 5 * time.Second
)

// checkpoints looks at execution.checkpointing.
func (j *judge) checkpoints() {
	s := &j.f.Settings
	const what = "checkpoints"
	if s.IntervalSet {
		j.add("interval", Pass, what, "", "every %s", span(s.Interval))
	} else {
		j.add("interval-unset", Warn, what, "set 'execution.checkpointing.interval'",
			"no interval is set, %s is used; on Flink this file would take none and make nothing visible", span(s.Interval))
	}
	switch {
	case s.Timeout <= s.Interval/2:
		j.add("timeout-below-interval", Warn, what, "raise 'execution.checkpointing.timeout', its default is 10 min",
			"a checkpoint is given up after %s, and the data of %s goes into one", span(s.Timeout), span(s.Interval))
	case s.Timeout < leastTimeout:
		j.add("timeout-short", Warn, what, "raise 'execution.checkpointing.timeout', its default is 10 min",
			"a checkpoint is given up after %s: any pause of the store fails it", span(s.Timeout))
	}
	if s.MinPause >= s.Interval && s.Interval > 0 {
		j.add("min-pause", Warn, what, "lower 'execution.checkpointing.min-pause' below the interval, or leave it out",
			"the pause after a checkpoint, %s, is not shorter than the interval of %s: the pause decides, and the interval does not hold", span(s.MinPause), span(s.Interval))
	}
	if s.Interval >= time.Hour && !s.Bounded {
		j.add("interval-long", Warn, what, "shorten 'execution.checkpointing.interval' to minutes",
			"rows become visible only every %s, and after a failure as much is read again", span(s.Interval))
	}
	if n := time.Duration(s.Tolerable); n > 0 && n*s.Timeout > time.Hour {
		j.add("tolerable-failures", Warn, what, "lower 'execution.checkpointing.tolerable-failed-checkpoints' or 'execution.checkpointing.timeout'",
			"%d failed checkpoints of up to %s each are tolerated: nothing may become visible for %s before the job fails", s.Tolerable, span(s.Timeout), span(n*s.Timeout))
	}
	if !s.Metrics && !s.Bounded {
		j.add("no-metrics", Warn, "alarms", "set 'metrics.reporter.prom.port'", "there is no metrics endpoint, so that nobody is told of a job that stands still or has lost a file")
	}
}

// gaveUpAfter is how long the strategy goes on while every attempt fails at once.
func (r *Restart) gaveUpAfter(enough time.Duration) (total time.Duration, ends bool) {
	wait := r.First
	for range r.Attempts {
		if total += wait; total >= enough {
			return total, false
		}
		if r.Strategy == "exponential-delay" {
			wait = min(time.Duration(float64(wait)*max(1, r.Factor)), max(r.Max, r.First))
		}
		if wait <= 0 {
			return total, true
		}
	}
	return total, true
}

// restart looks at the restart strategy.
func (j *judge) restart() {
	r := &j.f.Settings.Restart
	const what, other = "restart strategy", "an outage of broker or store is waited out and uses no attempt here, on Flink it does"
	if r.Strategy == "none" {
		j.add("restart-none", Warn, what, "set 'restart-strategy.type' = 'exponential-delay'", "the first failure ends the job; %s", other)
		return
	}
	if total, ends := r.gaveUpAfter(patience); ends {
		key := "'restart-strategy." + r.Strategy + "."
		j.add("restart-gives-up", Warn, what, "raise "+map[bool]string{true: key + "attempts'", false: key + "attempts-before-reset-backoff'"}[r.Strategy == "fixed-delay"],
			"%s gives up after %d attempts in %s, and a full disk or a redeploy takes longer; %s", r.Strategy, r.Attempts, span(total), other)
	}
	if w := max(r.First, r.Max); w > 2*patience {
		key := "max-backoff"
		if r.Strategy == "fixed-delay" {
			key = "delay"
		}
		j.add("restart-waits", Warn, what, "lower 'restart-strategy."+r.Strategy+"."+key+"'", "after a failure it may wait %s although the reason is long gone", span(w))
	}
}

// machine looks at what the process may use.
func (j *judge) machine() {
	s, m := &j.f.Settings, &j.f.Machine
	if m.CPUs > 0 && s.Parallelism > 2*m.CPUs {
		j.add("parallelism-above-cpus", Warn, "parallelism", "lower 'parallelism.default'", "%d subtasks share %d processors: each makes files of its own, smaller ones, and none gets faster",
			s.Parallelism, m.CPUs)
	}
	if m.Memory <= 0 {
		return
	}
	fetch := int64(0)
	for i := range j.f.Sources {
		fetch += j.f.Sources[i].FetchBytes * int64(max(1, s.Parallelism))
	}
	switch {
	case s.Memory > m.Memory:
		j.add("memory-limit", Fail, "memory", "lower 'taskmanager.memory.process.size', or give the process more", "the budget is %s and the process may have %s: it is killed when it uses what it was promised",
			size(float64(s.Memory)), size(float64(m.Memory)))
	case s.Memory+fetch > m.Memory:
		j.add("fetch-memory", Warn, "memory", "lower 'properties.fetch.max.bytes', 'parallelism.default' or 'taskmanager.memory.process.size'",
			"%d Kafka readers may hold %s of fetched records beside the budget of %s, and the process may have %s", s.Parallelism, size(float64(fetch)), size(float64(s.Memory)), size(float64(m.Memory)))
	}
}

// isTemporary reports whether a place is one that the system empties by itself.
func isTemporary(uri string) bool {
	p := strings.TrimPrefix(uri, "file://")
	return strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/") || strings.HasPrefix(p, "/dev/shm/")
}

func isLocal(uri string) bool { return strings.HasPrefix(uri, "/") || strings.HasPrefix(uri, "file:") }

// inside reports whether a is a folder below b.
func inside(a, b string) bool {
	a, b = path.Clean(a), path.Clean(b)
	return a != b && strings.HasPrefix(a, b+"/")
}

// places looks at where things lie.
func (j *judge) places() {
	dir := j.f.Settings.Dir
	if dir != "" && isTemporary(dir) {
		j.add("dir-temporary", Warn, "checkpoint directory", "set 'execution.checkpointing.dir' to a lasting place", "%s is emptied by the system now and then, and with it what the job knows of its offsets", dir)
	}
	told := map[string]bool{}
	for i := range j.f.Sinks {
		s := &j.f.Sinks[i]
		if !s.Files || told[s.Root] {
			continue
		}
		told[s.Root] = true
		what := "sink " + s.Table
		if isTemporary(s.Root) {
			j.add("table-temporary", Warn, what, "set 'path' to a lasting place", "%s is emptied by the system now and then", s.Root)
		}
		if dir != "" && isLocal(dir) && !isLocal(s.Root) {
			j.add("dir-local", Warn, "checkpoint directory", "set 'execution.checkpointing.dir' to a folder of the store of the table, outside of it",
				"%s is on this machine, the table %s is not: another machine could not go on with the job", dir, s.Root)
		}
		if dir != "" && (inside(dir, s.Root) || path.Clean(dir) == path.Clean(s.Root)) {
			j.add("dir-in-table", Warn, "checkpoint directory", "set 'execution.checkpointing.dir' to a folder outside of all tables",
				"%s lies in the table %s: readers and clean-ups of the table meet it", dir, s.Root)
		}
		for k := range j.f.Sinks {
			o := &j.f.Sinks[k]
			if o.Files && inside(s.Root, o.Root) {
				j.add("tables-nested", Fail, what, "set 'path' to a folder outside of table "+o.Table, "%s lies in the folder of table %s, %s, whose readers see these files as theirs", s.Root, o.Table, o.Root)
			}
		}
	}
}

// memory compares what the open files take with what they may.
func (j *judge) memory(held float64) {
	if may := float64(j.f.Settings.Writers); may > 0 && held > 0.95*may {
		j.add("open-files-memory", Warn, "memory", "raise 'taskmanager.memory.process.size', lower 'parallelism.default', or partition by fewer values",
			"the open files would hold %s or more and may hold %s: the largest are closed early, so that there are more and smaller files", size(held), size(may))
	}
}
