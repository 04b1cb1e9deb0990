package job

import (
	"sync"
	"time"

	"staunch/account"
)

// status is what other goroutines may look at.
type status struct {
	mu sync.Mutex
	s  Status
	// missing are the files in neither place, by table.
	missing map[string]int
	tasks   []interface {
		Lag() int64
		Records() int64
	}
}

func (j *Job) update(f func(s *Status)) {
	j.status.mu.Lock()
	f(&j.status.s)
	j.status.mu.Unlock()
}

// Status looks at the job; it may be called from anywhere.
func (j *Job) Status() Status {
	j.status.mu.Lock()
	defer j.status.mu.Unlock()
	s := j.status.s
	s.Lag = -1
	s.Records = 0
	for _, t := range j.status.tasks {
		s.Records += t.Records()
		if l := t.Lag(); l >= 0 {
			if s.Lag < 0 {
				s.Lag = 0
			}
			s.Lag += l
		}
	}
	return s
}

func (j *Job) registerMetrics() {
	g := j.metrics
	var names []string
	var looks []func(Status) float64
	num := func(name string, f func(Status) float64) { names, looks = append(names, name), append(looks, f) }
	num("numberOfCompletedCheckpoints", func(s Status) float64 { return float64(s.Completed) })
	num("numberOfFailedCheckpoints", func(s Status) float64 { return float64(s.FailedCount) })
	num("lastCheckpointDuration", func(s Status) float64 { return float64(s.LastDuration / time.Millisecond) })
	num("lastCheckpointSize", func(s Status) float64 { return float64(s.LastSize) })
	num("lastCompletedCheckpointId", func(s Status) float64 { return float64(s.LastCheckpoint) })
	num("numRestarts", func(s Status) float64 { return float64(s.Restarts) })
	num("pendingRecords", func(s Status) float64 { return float64(s.Lag) })
	num("numFilesCreated", func(s Status) float64 { return float64(s.Counters.Created) })
	num("numFilesRenamed", func(s Status) float64 { return float64(s.Counters.Renamed) })
	num("numFilesSkipped", func(s Status) float64 { return float64(s.Counters.Skipped) })
	num("numFilesLost", func(s Status) float64 { return float64(s.Counters.Lost) })
	num("numFilesMissing", func(s Status) float64 { return float64(s.FilesMissing) })
	num("numFilesDirtyIgnored", func(s Status) float64 { return float64(s.Counters.DirtyIgnored) })
	g.Gauge("numTraceRecordsDropped", func() float64 { return float64(j.spec.Trace.Stats().Dropped) })
	g.Gauge("numTraceFailures", func() float64 { return float64(j.spec.Trace.Stats().Failures) })
	num("running", func(s Status) float64 {
		if s.Phase == "RUNNING" {
			return 1
		}
		return 0
	})
	g.Gauges(names, func() []float64 {
		s, out := j.Status(), make([]float64, len(looks))
		for i, f := range looks {
			out[i] = f(s)
		}
		return out
	})
}

func (j *Job) addCounters(c account.Counters) {
	j.update(func(s *Status) {
		s.Counters.Add(c)
		s.FilesVisible += c.Renamed + c.Skipped
	})
}

// missed keeps how many files of the checkpoint that is being committed to a table are in neither place.
func (j *Job) missed(table string, files int) {
	j.update(func(s *Status) {
		if j.status.missing == nil {
			j.status.missing = map[string]int{}
		}
		j.status.missing[table] = files
		s.FilesMissing = 0
		for _, n := range j.status.missing {
			s.FilesMissing += n
		}
	})
}
