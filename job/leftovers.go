package job

import (
	"errors"

	"staunch/clean"
	"staunch/fs"
	"staunch/log"
	"staunch/trace"
)

// leftovers tells a sink's task which of the files that it has just listed in its temporary folder may be deleted: the rule of `staunch clean`,
// whatever their age. It reads the logs anew, by readers of its own, since the attempt may have been replaced without knowing.
func (a *attempt) leftovers(table string, listed []string, stopped func() bool) ([]string, error) {
	job := a.leftBy()
	for _, t := range a.spec.Tables {
		if fs.URI(t.Sink.Store(), t.Sink.Root()) == table {
			return clean.Leftovers(a.env, job, clean.Table{Name: t.Name, Store: t.Sink.Store(), Root: t.Sink.Root()}, listed, stopped)
		}
	}
	return nil, nil
}

// leftBy is the job for the rule of `staunch clean`.
func (j *Job) leftBy() clean.Job {
	return clean.Job{ID: j.spec.ID, Store: j.spec.CheckpointStore, Dir: j.store.Dir(), Stores: j.spec.Stores,
		Traced: func(f fs.FS) fs.FS { return j.spec.Trace.Store(f, &trace.Scope{Task: trace.NoTask}) }}
}

// appended notes what is known of the completes that this process tried to append: one whose outcome is unknown can come to stand until another
// one stands in its place or behind it. A failure of a later one says nothing of it.
func (j *Job) appended(err error) {
	if err == nil {
		j.unsure = false
	} else if errors.Is(err, log.ErrUnknown) {
		j.unsure = true
	}
}

// sweepOwn removes what the attempts of this process have left behind before the next one writes: on a full disk they would add up, and no try would
// have the room of the first. What was promised has been committed.
//
// INV 1.7: not while a complete of this process may still come to stand: it would name some of these files.
func (j *Job) sweepOwn() {
	if j.unsure {
		return
	}
	for _, tb := range j.sortedTables() {
		if tb.sink == nil {
			continue
		}
		n, err := clean.Own(j.env, j.leftBy(), clean.Table{Name: tb.name, Store: tb.sink.Store(), Root: tb.t.Root()}, j.store.Epoch(), nil)
		if n > 0 {
			j.log.Info("files of the failed attempt were removed", "table", tb.name, "files", n)
		}
		if err != nil {
			j.log.Warn("could not remove the failed attempt's files; nothing depends on it", "table", tb.name, "error", err)
		}
	}
}
