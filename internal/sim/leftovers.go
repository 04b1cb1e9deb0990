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

// actClean lets somebody clean up, while the job runs, starts, is taken over or has just been killed, by the log of either checkpoint directory.
// Whatever may go goes, young or not. Its calls fail, come late and are repeated like a job's, and it may be killed itself.
func (w *world) actClean(d *dice, key string) {
	older, dir := time.Duration(d.n(2)*d.n(5000))*time.Millisecond, w.dir
	if w.twoDirs && d.bool() {
		dir = jobs
	}
	if w.happens(key, "leftovers older than %s are cleaned up", older) {
		w.clean(dir, clean.Options{OlderThan: older, Superseded: d.bool()})
	}
}

// cleaning is a process that cleans up.
type cleaning struct {
	*run
	report *clean.Report
}

// clean starts a cleaning by the job's log below dir.
func (w *world) clean(dir string, opt clean.Options) *cleaning {
	opt.Variant = w.v.clean
	w.stats.Cleanings++
	c := &cleaning{run: &run{n: 1000 + w.stats.Cleanings, role: cleaner, p: w.s.process(fmt.Sprintf("clean%d", w.stats.Cleanings))}}
	c.client = w.store.Client(c.p.name)
	w.procs[c.p.name] = c.run
	w.cleaners = append(w.cleaners, c.run)
	job := clean.Job{ID: name, Store: c.client, Dir: checkpoint.Dir(dir, commit.Escape(name)), Stores: stores{c.client}}
	for _, l := range w.o.tables {
		job.Tables = append(job.Tables, clean.Table{Name: path.Base(l.root), Store: c.client, Root: l.root})
	}
	c.p.Go("clean", func() {
		c.report, c.err = clean.Run(c.p, job, opt)
		for _, p := range c.report.Places {
			w.stats.Cleaned += len(p.Removed)
		}
		c.ended = true
		if c.err != nil && !c.p.dead && !w.mayFail(c.err) {
			w.fail(fmt.Errorf("cleaning ended with (%s): %w", fault.ClassOf(c.err), c.err))
		}
	})
	return c
}

// mayFail: a store that refuses, a log that somebody damaged, or a job that has not begun yet.
func (w *world) mayFail(err error) bool {
	if errors.Is(err, errHard) || errors.Is(err, fs.ErrNoSpace) || errors.Is(err, fs.ErrUnavailable) || fault.ClassOf(err) == fault.User {
		return true
	}
	return fault.ClassOf(err) == fault.Damage && w.stats.Damages > 0
}
