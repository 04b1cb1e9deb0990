package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/checkpoint"
	cp "staunch/checkpoint/protocol"
	"staunch/commit"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/log"
)

// attempt is the job between two restarts.
type attempt struct {
	*Job
	n       int
	events  taskEvents
	machine *cp.Machine
	sources []*source
	tasks   map[*dataflow.Subtask]*taskState
	next    atomic.Int64 // the id that the next checkpoint gets, for names
	base    *checkpoint.Restored

	snapshots map[*dataflow.Subtask]*dataflow.Snapshot
	triggered time.Time
	appending bool
	commits   int
	started   bool
	failure   error
	finished  bool
	allEnded  bool
	stopSeen  bool
}

type source struct {
	*dataflow.Source
	enum        connector.Enumerator
	known       []connector.Split
	tasks       []*dataflow.Subtask
	nextLook    time.Time
	discovering bool
	committing  bool // guarded by the loop's lock
}

type taskState struct {
	stopped, ended bool
}

// attempt runs the job once from its newest checkpoint. ran reports whether it got as far as reading.
func (j *Job) attempt(n int) (out Outcome, ran bool, err error) {
	j.update(func(s *Status) { s.Phase = "INITIALIZING" })
	if !j.begun && j.spec.FromSavepoint == "" && !j.spec.Fresh {
		if done, err := j.finishedBefore(); done || err != nil {
			return AlreadyFinished, false, j.denied(err)
		}
	}
	if err := j.begin(); errors.Is(err, checkpoint.ErrEnded) {
		return AlreadyFinished, false, nil
	} else if err != nil {
		return 0, false, j.denied(err)
	}
	j.windows.from(j.store.Newest())
	newest, err := j.openTables()
	if err != nil {
		return 0, false, j.denied(j.orFenced(err))
	}
	j.windows.restored(newest)
	if err := j.recover(newest); err != nil {
		return 0, false, j.denied(j.orFenced(err))
	}
	if n == 0 {
		j.countDirty()
	} else {
		j.sweepOwn()
	}
	if newest != nil && newest.Final {
		return Finished, true, j.store.End(newest.ID)
	}
	a := &attempt{Job: j, n: n, base: newest, tasks: map[*dataflow.Subtask]*taskState{}, events: taskEvents{&j.loop, n}}
	if err = j.denied(a.start()); err == nil {
		j.update(func(s *Status) { s.Phase = "RUNNING" })
		err = a.run()
	}
	a.tearDown()
	if err != nil {
		return 0, a.started, err
	}
	if a.allEnded {
		return Finished, true, j.store.End(j.store.Newest().ID)
	}
	return Stopped, true, nil
}

// finishedBefore looks whether the job has ended in an earlier run.
func (j *Job) finishedBefore() (bool, error) {
	open := checkpoint.Open
	if j.spec.FromTable {
		open = checkpoint.OpenPast
	}
	s := open(j.env, j.spec.CheckpointStore, j.logDir(), j.spec.Variant.Store, j.log)
	j.store = s
	if err := s.Load(); err != nil {
		return false, j.damageHint(err)
	}
	if s.Ended() == nil || len(s.Damage()) > 0 {
		return false, nil
	}
	if n := s.Newest(); n != nil {
		for _, key := range slices.Sorted(maps.Keys(j.spec.Tables)) {
			if p := n.Tables[key]; p.Expect.Certificate == "" && len(p.Files) == 0 {
				continue
			}
			t := j.spec.Tables[key]
			if err := j.stillThere(t.Sink.Store(), t.Sink.Root(), t.Name); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// start discovers splits and opens the subtasks.
func (a *attempt) start() error {
	par := a.spec.Graph.Parallelism
	greatest := a.store.Greatest()
	for _, tb := range a.tables {
		greatest = max(greatest, tb.t.State().Greatest)
	}
	if a.behindDirectories() {
		greatest += idsApart
	}
	if a.spec.Variant.ReuseIDs {
		greatest = 0
		if a.base != nil {
			greatest = a.base.ID
		}
	}
	a.next.Store(int64(greatest) + 1)
	var names []cp.Task
	for i := range a.spec.Graph.Sources {
		s := &source{Source: &a.spec.Graph.Sources[i]}
		a.sources = append(a.sources, s)
		perTask, err := a.discoverFirst(s)
		if err != nil && !a.hasRun && classify(err) == fault.Outage {
			// It was asked for as long as its options say. A job that never read anything tells its user; one that did waits.
			return &fault.Error{Class: fault.User, Err: err}
		}
		if err != nil {
			return err
		}
		for k := range par {
			t, err := dataflow.NewSubtask(s.Source, k, perTask[k], a.context(s, k), a.events, a.spec.MemoryBudget/int64(par*len(a.spec.Graph.Sources)))
			if err != nil {
				return err
			}
			s.tasks = append(s.tasks, t)
			a.tasks[t] = &taskState{}
			names = append(names, cp.Task(t.Name()))
		}
	}
	if err := errors.Join(a.checkOthers(), a.checkRenamed()); err != nil {
		return err
	}
	now := a.env.Now()
	a.machine = cp.New(a.spec.Checkpoints, names, cp.ID(greatest)+1, now)
	if a.base == nil {
		a.machine.Request() // start positions such as "latest" hold from now on, not from the first periodic checkpoint on
	}
	a.status.mu.Lock()
	a.status.tasks = a.status.tasks[:0]
	for _, s := range a.sources {
		for _, t := range s.tasks {
			a.status.tasks = append(a.status.tasks, t)
		}
	}
	a.status.mu.Unlock()
	a.started, a.hasRun = true, true
	a.windows.begun(a.sources)
	for _, s := range a.sources {
		for _, t := range s.tasks {
			a.env.Go("subtask "+t.Name(), t.Run)
		}
	}
	return nil
}

func (a *attempt) context(s *source, k int) connector.Context {
	return connector.Context{Env: a.env, Log: a.log, Metrics: a.metrics.With("task", s.Name, "subtask", fmt.Sprint(k)), Job: a.spec.ID, Subtask: k,
		Parallelism: a.spec.Graph.Parallelism, Epoch: a.store.Epoch(), Attempt: a.n,
		NextCheckpoint: func() account.CheckpointID { return account.CheckpointID(a.next.Load()) }, Leftovers: a.leftovers, Traced: a.traced(k)}
}

// discoverFirst restores a source's splits, finds new ones, and gives each subtask its own.
func (a *attempt) discoverFirst(s *source) ([][]connector.Split, error) {
	var st checkpoint.Source
	restored := false
	if a.base != nil {
		st, restored = a.base.Sources[s.Name]
	}
	if !restored {
		// An attempt that failed before its first checkpoint found the start already: "latest" means what it meant then.
		first, again := a.starts[s.Name]
		if st = first; !again && a.base != nil {
			a.log.Info("a new source begins at its start-up mode", "source", s.Describe)
		}
	}
	state := st.Enumerator
	s.known = slices.Clone(st.Splits)
	ctx := a.context(s, 0)
	ctx.Wake = func() {}
	enum, err := s.Source.Source.Enumerate(ctx, state)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Describe, err)
	}
	s.enum = enum
	found, err := s.enum.Discover(s.known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Describe, err)
	}
	if a.base != nil && len(found) > 0 {
		a.log.Warn("splits that the restored state does not know", "source", s.Describe, "splits", splitsText(ids(found)))
	}
	s.known = append(s.known, found...)
	if !restored {
		if state, err = s.enum.Snapshot(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Describe, err)
		}
		a.starts[s.Name] = checkpoint.Source{Enumerator: state, Splits: slices.Clone(s.known)}
	}
	s.nextLook = a.env.Now().Add(s.enum.Interval())
	per := make([][]connector.Split, a.spec.Graph.Parallelism)
	for _, sp := range s.known {
		k := s.enum.Assign(sp, len(per))
		per[k] = append(per[k], sp)
	}
	return per, nil
}

func ids(s []connector.Split) []string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = s[i].ID
	}
	return out
}

func synthetic(s *dataflow.Source) bool {
	syn, ok := s.Source.(connector.Synthetic)
	return ok && syn.Synthetic()
}

// checkOthers looks for other jobs that write the same records to the same tables.
func (a *attempt) checkOthers() error {
	for i := range a.sources {
		s := a.sources[i]
		if synthetic(s.Source) {
			continue
		}
		for _, b := range s.Branches {
			if tb := a.tables[b.Table]; tb != nil {
				if err := tb.t.CheckOthers(ids(s.known), a.spec.OnNewerOutput == KeepNewer, false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// alone looks for such jobs once more, behind this process's first certificate in a table and before its first rename. [Two copies of a statement
// file start at the same moment: neither has a certificate when the other looks at its start.] Each makes its log's first certificate and then
// looks, so that one of two at least sees the other; both may, and then nothing of either becomes visible, until one is told to go on by keep.
func (j *Job) alone(t *commit.Table) func(*commit.Certified) error {
	looked := false
	return func(c *commit.Certified) error {
		if looked || t.State().Begun() { // whoever came later was refused
			return nil
		}
		read := map[string]bool{} // INSERTs over positions that mean the same to everybody
		for i := range j.spec.Graph.Sources {
			s := &j.spec.Graph.Sources[i]
			if synthetic(s) {
				continue
			}
			for _, b := range s.Branches {
				read[b.Insert] = true
			}
		}
		var splits []string
		for _, r := range c.Ranges {
			if read[r.Insert] && !slices.Contains(splits, r.Split) {
				splits = append(splits, r.Split)
			}
		}
		if err := t.CheckOthers(splits, j.spec.OnNewerOutput == KeepNewer, true); err != nil {
			return err
		}
		looked = true
		return nil
	}
}

// checkRenamed refuses a source that the restored state does not know and whose records this job has written to the same table already, under
// another source's name: from its start-up mode on they would be written again.
func (a *attempt) checkRenamed() error {
	if a.base == nil || a.base.Rewind != nil && a.base.Rewind.Mode == checkpoint.Keep {
		return nil // by order, what was written since the state may come again
	}
	for _, s := range a.sources {
		if _, known := a.base.Sources[s.Name]; known || synthetic(s.Source) {
			continue
		}
		for _, b := range s.Branches {
			tb := a.tables[b.Table]
			if tb == nil {
				continue
			}
			if again := a.writtenBefore(s, b, tb); len(again) > 0 {
				return fault.Userf("%s is new to the checkpoints of job %q, but table %s has records of %s from this job already: they would be written again",
					s.Describe, a.spec.ID, tb.t.Root(), splitsText(again)).
					WithHint("was the source table renamed? Give it its former name to go on where it stood, or write to another table")
			}
		}
	}
	return nil
}

// writtenBefore gives the splits of s with records before their position that an INSERT in b's place wrote.
func (a *attempt) writtenBefore(s *source, b dataflow.Branch, tb *table) (again []string) {
	for _, sp := range s.known {
		now, same := false, false // written by an INSERT of the newest checkpoint, by that in b's place
		for _, r := range a.base.Tables[b.Table].Ranges {
			if r.Split == sp.ID {
				now = true
				same = same || r.Insert == b.Insert && sp.Position < r.To
			}
		}
		if same || !now && tb.t.State().Splits[sp.ID] {
			again = append(again, sp.ID)
		}
	}
	return again
}

// run is the control loop.
func (a *attempt) run() error {
	for {
		evs, stop := a.loop.take()
		if stop && !a.stopSeen {
			a.stopSeen = true
			a.machine.Stop()
		}
		for _, e := range evs {
			if e.attempt == a.n {
				a.handle(e)
			}
		}
		if a.failure == nil {
			a.perform(a.machine.Tick(a.env.Now()))
			a.discover()
		}
		if a.failure != nil || a.finished {
			return a.failure
		}
		a.loop.signal.Wait(a.untilDue())
	}
}

// untilDue is the time until something is due by the clock.
func (a *attempt) untilDue() time.Duration {
	d := time.Hour
	now := a.env.Now()
	if t := a.machine.Deadline(); !t.IsZero() {
		d = min(d, t.Sub(now))
	}
	for _, s := range a.sources {
		if s.enum.Interval() > 0 && !s.discovering {
			d = min(d, s.nextLook.Sub(now))
		}
	}
	return max(d, 0)
}

func (a *attempt) fail(err error) {
	if a.failure == nil {
		a.failure = err
	}
}

func (a *attempt) handle(e event) {
	now := a.env.Now()
	switch e.kind {
	case evAcked:
		a.tracePrepared(e)
		a.windows.prepared(e.snapshot)
		if account.CheckpointID(a.machine.Current()) == e.id && a.machine.Phase() == cp.Pending {
			a.snapshots[e.task] = e.snapshot
		}
		a.perform(a.machine.Ack(cp.Task(e.task.Name()), cp.ID(e.id)))
	case evInputEnded:
		a.tasks[e.task].ended = true
		a.allEnded = true
		for _, st := range a.tasks {
			a.allEnded = a.allEnded && st.ended
		}
		a.machine.InputEnded(cp.Task(e.task.Name()))
	case evFailed:
		a.tasks[e.task].stopped = true
		a.fail(e.err)
	case evBroken:
		a.fail(e.err)
	case evStopped:
		a.tasks[e.task].stopped = true
	case evAppended:
		a.appending = false
		a.appended(e.err)
		if e.err != nil {
			if classify(e.err) == fault.Transient && (a.spec.Variant.UnknownIsFailed || !errors.Is(e.err, log.ErrUnknown)) {
				a.perform(a.machine.AppendFailed(cp.ID(e.id), e.err.Error(), now))
			} else {
				a.fail(e.err) // the next attempt finds out by reading the log (K3)
			}
			return
		}
		a.commitNow(e.restored)
		a.perform(a.machine.Appended(cp.ID(e.id)))
	case evCommitted:
		a.commits--
		a.addCounters(e.counters)
		if e.err != nil {
			a.fail(e.err)
			return
		}
		a.update(func(s *Status) {
			s.Completed++
			s.LastCheckpoint = e.id
			s.LastDuration = now.Sub(a.triggered)
		})
		a.windows.committed(a.base, a.triggered)
		st := a.Status()
		a.log.Info("checkpoint committed", "job", a.spec.ID, "checkpoint", e.id, "duration", st.LastDuration.Round(time.Millisecond).String(),
			"files", e.counters.Created, "records", st.Records, "lag", st.Lag)
		a.perform(a.machine.Committed(cp.ID(e.id), now))
	case evDiscovered:
		a.discovered(e)
	}
}

func (a *attempt) perform(actions []cp.Action) {
	for _, x := range actions {
		id := account.CheckpointID(x.ID)
		switch x.Kind {
		case cp.Inject:
			a.snapshots = map[*dataflow.Subtask]*dataflow.Snapshot{}
			a.triggered = a.env.Now()
			a.spec.Trace.Triggered(id)
			a.next.Store(int64(id) + 1)
			for _, s := range a.sources {
				for _, t := range s.tasks {
					t.Barrier(id, x.Final)
				}
			}
		case cp.Append:
			failpoint.Hit(failpoint.AckedAll)
			a.appendNow(id, x.Final)
		case cp.Commit: // started in handle, with the entry
		case cp.Notify:
			for _, s := range a.sources {
				for _, t := range s.tasks {
					t.Completed(id)
				}
			}
			a.tellSources()
		case cp.Abort:
			a.log.Warn("checkpoint failed", "job", a.spec.ID, "checkpoint", id, "reason", x.Reason)
			a.update(func(s *Status) { s.FailedCount++ })
		case cp.Fail:
			a.fail(fault.New(fault.Transient, "%s", x.Reason))
		case cp.Finish:
			a.finished = true
		}
	}
}

// appendNow builds the checkpoint's metadata and appends it to the job's log.
func (a *attempt) appendNow(id account.CheckpointID, final bool) {
	m, err := a.metadata(id, final && a.allEnded)
	if err != nil {
		a.fail(err)
		return
	}
	a.appending = true
	a.env.Go("append", func() {
		if a.spec.Variant.CommitFirst {
			early := &checkpoint.Restored{Metadata: m, Hash: fmt.Sprintf("early-%d", id)}
			early.LogID, early.Epoch = a.store.LogID(), a.store.Epoch()
			if _, err := a.commitAll(early); err != nil {
				a.loop.post(event{kind: evAppended, attempt: a.n, id: id, err: err})
				return
			}
		}
		a.logScope.For(id)
		a.traceBefore(traceWait) // who wrote the files that the entry promises
		r, err := a.store.Complete(m)
		a.loop.post(event{kind: evAppended, attempt: a.n, id: id, restored: r, err: err})
	})
}

// commitNow commits a completed checkpoint, then removes what older ones no longer need.
func (a *attempt) commitNow(r *checkpoint.Restored) {
	a.base = r
	a.commits++
	a.env.Go("commit", func() {
		sum, err := a.commitAll(r)
		if err == nil {
			a.store.Clean(a.spec.Retain)
		}
		a.loop.post(event{kind: evCommitted, attempt: a.n, id: r.ID, counters: sum, err: err})
	})
}

// metadata puts the subtasks' snapshots together.
func (a *attempt) metadata(id account.CheckpointID, final bool) (checkpoint.Metadata, error) {
	now := a.env.Now()
	m := checkpoint.Metadata{Job: a.spec.ID, ID: id, Time: now.UTC(), Triggered: a.triggered.UTC(), Sources: map[string]checkpoint.Source{},
		Tables: map[string]checkpoint.Table{}, Plan: a.spec.Plan, SQL: a.spec.SQL, AccountsClose: a.spec.AccountsClose, Final: final,
		Counters: a.Status().Counters}
	if a.base != nil {
		m.Records = a.base.Records
	}
	size := int64(0)
	marks := map[string]changelog.Watermark{}
	for _, s := range a.sources {
		state, err := s.enum.Snapshot()
		if err != nil {
			return m, fmt.Errorf("%s: %w", s.Describe, err)
		}
		cs := checkpoint.Source{Enumerator: state, Splits: []connector.Split{}}
		least, active := changelog.MaxWatermark, false
		for _, t := range s.tasks {
			snap := a.snapshots[t]
			cs.Splits = append(cs.Splits, snap.Splits...)
			m.Records += snap.Records
			if !snap.Idle {
				active = true
				least = min(least, snap.Watermark)
			}
			for key, ts := range snap.Tables {
				tab := m.Tables[key]
				for _, c := range ts.Committables {
					if c.File != nil {
						tab.Files = append(tab.Files, *c.File)
						size += c.File.Length
					}
				}
				tab.Ranges = append(tab.Ranges, ts.Ranges...)
				m.Tables[key] = tab
			}
		}
		if !active && a.base != nil && a.base.Sources[s.Name].Watermark != nil { // all idle: time stands still
			least = changelog.Watermark(*a.base.Sources[s.Name].Watermark)
		} else if !active {
			least = changelog.MinWatermark
		}
		if least != changelog.MinWatermark {
			w := int64(least)
			cs.Watermark = &w
		}
		for _, b := range s.Branches {
			if old, ok := marks[b.Table]; !ok || least < old {
				marks[b.Table] = least
			}
		}
		m.Sources[s.Name] = cs
	}
	if a.base != nil { // a source that the file does not read now goes on where it stood when it is read again
		for name, old := range a.base.Sources {
			if _, read := m.Sources[name]; !read {
				old.Watermark = nil
				m.Sources[name] = old
			}
		}
	}
	for key, tb := range a.tables {
		tab := m.Tables[key]
		tab.Name, tab.Expect = tb.name, tb.t.State().Chain
		var err error
		if tab.Partitions, err = tb.seen(tab.Files, marks[key], now.UnixMilli(), final); err != nil {
			return m, err
		}
		tb.pending = tab.Partitions
		m.Tables[key] = tab
	}
	for key := range m.Tables { // sinks without files (print, blackhole) promise nothing
		if a.tables[key] == nil {
			delete(m.Tables, key)
		}
	}
	a.update(func(s *Status) { s.LastSize = size })
	return m, nil
}

// tellSources lets the sources know the positions of the committed checkpoint, best effort.
func (a *attempt) tellSources() {
	for _, s := range a.sources {
		a.loop.mu.Lock()
		busy := s.committing
		s.committing = s.committing || a.base != nil
		a.loop.mu.Unlock()
		if busy || a.base == nil {
			continue
		}
		splits := a.base.Sources[s.Name].Splits
		a.env.Go("offsets", func() {
			failpoint.Hit(failpoint.GroupCommit)
			if err := s.enum.Committed(splits); err != nil {
				a.log.Warn("the source did not take note of the committed positions; nothing depends on it", "source", s.Describe, "error", err)
			}
			a.loop.mu.Lock()
			s.committing = false
			a.loop.mu.Unlock()
			a.loop.signal.Notify()
		})
	}
}

// discover starts looking for new splits when it is time.
func (a *attempt) discover() {
	for _, s := range a.sources {
		if s.enum.Interval() <= 0 || s.discovering || a.env.Now().Before(s.nextLook) {
			continue
		}
		s.discovering = true
		known := slices.Clone(s.known)
		a.env.Go("discovery", func() {
			found, err := s.enum.Discover(known)
			a.loop.post(event{kind: evDiscovered, attempt: a.n, source: s.Name, splits: found, err: err})
		})
	}
}

func (a *attempt) discovered(e event) {
	for _, s := range a.sources {
		if s.Name != e.source {
			continue
		}
		s.discovering = false
		s.nextLook = a.env.Now().Add(s.enum.Interval())
		if e.err != nil {
			if c := classify(e.err); c == fault.Outage || c == fault.Transient {
				a.log.Warn("could not look for new splits", "source", s.Describe, "error", e.err)
			} else {
				a.fail(fmt.Errorf("%s: %w", s.Describe, e.err))
			}
			return
		}
		if len(e.splits) == 0 {
			return
		}
		a.log.Info("new splits", "source", s.Describe, "splits", splitsText(ids(e.splits)))
		s.known = append(s.known, e.splits...)
		per := make([][]connector.Split, len(s.tasks))
		for _, sp := range e.splits {
			k := s.enum.Assign(sp, len(per))
			per[k] = append(per[k], sp)
		}
		for k, splits := range per {
			if len(splits) > 0 {
				s.tasks[k].AddSplits(splits)
			}
		}
	}
}

// tearDown stops all subtasks and waits for the outcome of everything that is under way (K3, R1).
func (a *attempt) tearDown() {
	if a.spec.Variant.Discard && a.machine != nil && a.machine.Phase() == cp.Pending {
		for _, tb := range a.sortedTables() {
			tb.t.Discard(account.CheckpointID(a.machine.Current()))
		}
	}
	if !a.started { // opened, but never run
		for _, s := range a.sources {
			for _, t := range s.tasks {
				a.env.Go("close "+t.Name(), t.Run)
			}
		}
	}
	for t, st := range a.tasks {
		if !st.stopped {
			t.Cancel()
		}
	}
	for !a.quiet() {
		a.loop.signal.Wait(-1)
		evs, _ := a.loop.take()
		for _, e := range evs {
			if e.attempt != a.n {
				continue
			}
			switch e.kind {
			case evStopped, evFailed:
				a.tasks[e.task].stopped = true
			case evAppended:
				a.appending = false
				a.appended(e.err)
			case evCommitted:
				a.commits--
				a.addCounters(e.counters)
				if e.err == nil {
					a.update(func(s *Status) { s.Completed++; s.LastCheckpoint = e.id })
				} else if c := classify(e.err); !c.Retryable() {
					a.log.Error("commit", "job", a.spec.ID, "checkpoint", e.id, "error", e.err)
				}
			case evDiscovered:
				for _, s := range a.sources {
					if s.Name == e.source {
						s.discovering = false
					}
				}
			}
		}
	}
	var errs []error
	for _, s := range a.sources {
		if s.enum != nil {
			errs = append(errs, s.enum.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		a.log.Warn("closing the sources", "job", a.spec.ID, "error", err)
	}
}

func (a *attempt) quiet() bool {
	for _, st := range a.tasks {
		if !st.stopped {
			return false
		}
	}
	a.loop.mu.Lock()
	defer a.loop.mu.Unlock()
	for _, s := range a.sources {
		if s.discovering || s.committing {
			return false
		}
	}
	return !a.appending && a.commits == 0
}
