package job

import (
	"fmt"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/connector"
	"staunch/fs"
	"staunch/trace"
)

// What a job tells its trace. Nothing here decides anything, and all of it may be missing.

// traceWait bounds how long a checkpoint waits for the records of its files before it is completed, and for those of its renames before it is *done*.
const traceWait = time.Second

// traceBefore writes what was recorded before something is said that outlives this process.
func (j *Job) traceBefore(d time.Duration) { j.spec.Trace.Flush()(d) }

// traced wraps the stores of subtask k.
func (a *attempt) traced(k int) func(fs.FS) fs.FS {
	if a.spec.Trace == nil {
		return nil
	}
	return func(f fs.FS) fs.FS { return a.spec.Trace.Store(f, &trace.Scope{Task: k}) }
}

// tracePrepared records what a subtask hands over.
func (a *attempt) tracePrepared(e event) {
	if a.spec.Trace == nil || e.snapshot == nil {
		return
	}
	for _, s := range a.sources {
		for k, t := range s.tasks {
			if t != e.task {
				continue
			}
			x := trace.Record{Op: trace.Prepare, Checkpoint: e.id, Task: k, Note: t.Name()}
			for _, ts := range e.snapshot.Tables {
				x.Files += int64(len(ts.Committables))
				x.Bytes += bytesOf(ts.Committables)
			}
			a.spec.Trace.Add(x)
			return
		}
	}
}

func bytesOf(list []connector.Committable) (n int64) {
	for _, c := range list {
		if c.File != nil {
			n += c.File.Length
		}
	}
	return n
}

// traceCommit records the commit of a checkpoint to all tables, from its beginning to what the function that it gives is told.
func (j *Job) traceCommit(id account.CheckpointID) func(*account.Counters, *error) {
	if j.spec.Trace == nil {
		return func(*account.Counters, *error) {}
	}
	began := j.env.Now()
	j.commitScope.For(id)
	return func(sum *account.Counters, err *error) {
		x := trace.Record{Time: began.UnixMicro(), Took: j.env.Now().Sub(began), Op: trace.Commit, Checkpoint: id, Task: trace.NoTask, Files: sum.Created,
			Note: fmt.Sprintf("renamed %d, skipped %d, lost %d", sum.Renamed, sum.Skipped, sum.Lost)}
		if *err != nil {
			x.Outcome, x.Error = trace.Failed, (*err).Error()
		} else {
			j.spec.Trace.Done()
		}
		j.spec.Trace.Add(x)
		j.commitScope.For(0)
	}
}

// traceVerdicts records the verdicts on a table's files that were not simply renamed, and sees to it that the records of a commit are written before
// it is *done*.
func (j *Job) traceVerdicts(store fs.FS) func(*commit.Certified, []account.Verdict) func() {
	if j.spec.Trace == nil {
		return nil
	}
	return func(c *commit.Certified, verdicts []account.Verdict) func() {
		for i, v := range verdicts {
			if v == account.Renamed || i >= len(c.Files) {
				continue
			}
			f := &c.Files[i]
			x := trace.Record{Op: trace.Verdict, Checkpoint: c.Checkpoint, Task: trace.NoTask, Path: fs.URI(store, f.Pending), To: fs.URI(store, f.Final),
				Bytes: f.Length, Note: string(v)}
			if v == account.Lost {
				x.Outcome = trace.Missing
			}
			j.spec.Trace.Add(x)
		}
		wait := j.spec.Trace.Flush()
		return func() { wait(traceWait) }
	}
}

// tracePartition records that a partition is declared complete.
func (j *Job) tracePartition(tb *table, partition string, id account.CheckpointID, declare func() error) error {
	if j.spec.Trace == nil {
		return declare()
	}
	began := j.env.Now()
	err := declare()
	x := trace.Record{Time: began.UnixMicro(), Took: j.env.Now().Sub(began), Op: trace.Partition, Checkpoint: id, Task: trace.NoTask,
		Path: fs.URI(tb.sink.Store(), tb.t.Root()+"/"+partition)}
	if err != nil {
		x.Outcome, x.Error = trace.Failed, err.Error()
	}
	j.spec.Trace.Add(x)
	return err
}

// traceRestored records that what a checkpoint promised is committed.
func (j *Job) traceRestored(id account.CheckpointID) {
	j.spec.Trace.Add(trace.Record{Op: trace.Restore, Checkpoint: id, Task: trace.NoTask})
}

// traceEnd records the error that ended an attempt.
func (j *Job) traceEnd(err error) {
	if err == nil || j.spec.Trace == nil {
		return
	}
	j.spec.Trace.Add(trace.Record{Op: trace.Fail, Task: trace.NoTask, Outcome: trace.Failed, Error: err.Error(), Note: classify(err).String()})
	j.spec.Trace.Flush()
}
