package sim

import (
	"fmt"
	"slices"

	"staunch/account"
	"staunch/job"
)

// actBack is an operator who lets the job go back: to a checkpoint of its log, old or new, or to nothing; what is newer is taken out of the table,
// stays, or lets the start be refused. The process may be killed at any call, like every other; whoever starts the job then goes on without an
// order, or gives it once more. Another program's compaction and going back do not go together: what it made of a file is not the job's. Nor do a copy of the
// job, which may begin when nothing stands in the table.
func (w *world) actBack(d *dice, key string) {
	if w.stats.Compactions > 0 || w.stats.Backs >= 3 || len(w.alive()) >= 4 || slices.ContainsFunc(w.alive(), func(r *run) bool { return r.role == copied }) {
		return
	}
	var ids []account.CheckpointID
	for _, e := range w.entries(w.dir + "/" + name + "/log") {
		if id := checkpointOf(e); id > 0 {
			ids = append(ids, id)
		}
	}
	mode := []job.NewerOutput{job.RewindNewer, job.RewindNewer, job.RewindNewer, job.KeepNewer, job.Refuse}[d.n(5)]
	at := "nothing"
	order := func(s *job.Spec) { s.Fresh, s.OnNewerOutput = true, mode }
	if len(ids) > 0 && d.n(5) > 0 {
		at = fmt.Sprint(ids[d.n(len(ids))])
		order = func(s *job.Spec) { s.FromSavepoint, s.OnNewerOutput = at, mode }
	}
	if !w.happens(key, "the job is started to go back to checkpoint %s, newer output: %q", at, mode) {
		return
	}
	w.goesBack(order, d.p(0.3))
	if r := w.pick(d); r != nil && !r.back && d.bool() {
		w.kill(r)
	}
}

// goesBack starts the job with an order to go back. The same order is given again, if again is set, when that process is killed.
func (w *world) goesBack(order func(*job.Spec), again bool) {
	w.stats.Backs++
	w.wentBack, w.o.wentBack = true, true
	w.order = order
	w.start()
	if !again {
		w.order = nil
	}
}

// actFromTable: the checkpoint directory is gone, and the job goes on, in another one, from what the tables say.
func (w *world) actFromTable(d *dice, key string) {
	if w.twoDirs || len(w.alive()) >= 3 || !w.happens(key, "the job is started with another checkpoint directory, --from-table and --take-over") {
		return
	}
	w.twoDirs = true
	w.stats.TakeOvers++
	w.order = func(s *job.Spec) { s.FromTable = true }
	w.launch(ordinary, otherJobs, true)
	w.order = nil
}
