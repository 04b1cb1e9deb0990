package sim

import (
	"errors"
	"fmt"
	"path"
	"time"

	"staunch/checkpoint"
	"staunch/clean"
	"staunch/commit"
	"staunch/fault"
	"staunch/fs"
)

// actClean lets somebody clean up, while the job runs, starts, is taken over or has just been killed. Whatever may go goes, young or not. Its
// calls fail, come late and are repeated like a job's, and it may be killed itself.
func (w *world) actClean(d *dice, key string) {
	older := time.Duration(d.n(2)*d.n(5000)) * time.Millisecond
	if w.happens(key, "leftovers older than %s are cleaned up", older) {
		w.clean(older)
	}
}

// clean starts a cleaning, as a process of its own.
func (w *world) clean(older time.Duration) *run {
	w.stats.Cleanings++
	r := &run{n: 1000 + w.stats.Cleanings, role: cleaner, p: w.s.process(fmt.Sprintf("clean%d", w.stats.Cleanings))}
	r.client = w.store.Client(r.p.name)
	w.procs[r.p.name] = r
	w.cleaners = append(w.cleaners, r)
	job := w.leftover(r, w.dir)
	r.p.Go("clean", func() {
		var rep *clean.Report
		rep, r.err = clean.Run(r.p, job, clean.Options{OlderThan: older, Variant: w.v.clean})
		for _, p := range rep.Places {
			w.stats.Cleaned += len(p.Removed)
		}
		r.ended = true
		if err := r.err; err != nil && !r.p.dead && !w.mayFail(err) {
			w.fail(fmt.Errorf("cleaning ended with (%s): %w", fault.ClassOf(err), err))
		}
	})
	return r
}

// leftover is what is cleaned up after.
func (w *world) leftover(r *run, dir string) clean.Job {
	job := clean.Job{ID: name, Store: r.client, Dir: checkpoint.Dir(dir, commit.Escape(name)), Stores: stores{r.client}}
	for _, l := range w.o.tables {
		job.Tables = append(job.Tables, clean.Table{Name: path.Base(l.root), Store: r.client, Root: l.root})
	}
	return job
}

// mayFail: a store that refuses, a log that somebody damaged, or a job that has not begun yet.
func (w *world) mayFail(err error) bool {
	if errors.Is(err, errHard) || errors.Is(err, fs.ErrNoSpace) || errors.Is(err, fs.ErrUnavailable) || fault.ClassOf(err) == fault.User {
		return true
	}
	return fault.ClassOf(err) == fault.Damage && w.damaged != ""
}
