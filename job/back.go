package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/connector"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// NewerOutput says what becomes of output that is newer than the state that a job goes back to.
type NewerOutput string

// The choices.
const (
	// Refuse to start.
	Refuse NewerOutput = ""
	// KeepNewer leaves it: rows of the offsets that are read again are there twice.
	KeepNewer NewerOutput = checkpoint.Keep
	// RewindNewer moves it out of the table, so that every row is there once.
	RewindNewer NewerOutput = checkpoint.TakeBack
)

// back is an order to go back.
type back struct {
	// target is nil for fresh, and for table until it is made.
	target       *checkpoint.Restored
	fresh, table bool
	from         string
	mode         NewerOutput
	// renew: the job's log is an older copy of one that went on.
	renew bool
}

// what names the target for people.
func (b *back) what() string {
	switch {
	case b.fresh:
		return "nothing (--fresh)"
	case b.target == nil:
		return "what the tables hold (--from-table)"
	}
	return b.target.String()
}

// asksBack reports whether the start names a state.
func (s *Spec) asksBack() bool { return s.FromSavepoint != "" || s.Fresh || s.FromTable }

// order makes the order of what the start asks for, nil if that is what a start without a word does. REQUIRES: the log is loaded, not begun.
func (j *Job) order() (*back, error) {
	s, newest := &j.spec, j.store.Newest()
	if n := btoi(s.FromSavepoint != "") + btoi(s.Fresh) + btoi(s.FromTable); n > 1 {
		return nil, fault.Userf("--from-savepoint, --fresh and --from-table name different states: give one of them")
	}
	b := &back{fresh: s.Fresh, table: s.FromTable, mode: s.OnNewerOutput}
	damage := j.store.Damage()
	switch last := j.store.LastRewind(); {
	case s.FromTable && newest != nil && len(damage) > 0: // it is not the newest that there was
		return nil, j.damageHint(damage[0].Err)
	case s.FromTable && (newest != nil || last != nil) && len(damage) == 0:
		j.log.Info("--from-table has no effect: the job's log has a checkpoint", "job", s.ID, "log", j.store.Dir())
		return nil, nil
	case s.FromTable:
		b.from = "the tables"
	case s.Fresh && last != nil && last.Target == nil && len(damage) == 0 && j.same(last):
		return nil, nil // it has begun anew, and nothing was completed since
	case s.Fresh:
		b.from = "nothing"
	case s.FromSavepoint != "":
		t, err := checkpoint.Finder{Env: j.env, Stores: s.Stores, Log: j.log, Job: s.ID, Escaped: commit.Escape(s.ID), Own: j.store}.Find(s.FromSavepoint)
		if err != nil {
			return nil, err
		}
		b.target, b.from = t, s.FromSavepoint
	case newest == nil:
		return nil, nil
	default: // a choice alone: for tables that are ahead of the newest checkpoint
		b.target, b.from = newest, "the newest checkpoint of "+j.store.Dir()
	}
	return b, nil
}

// same reports whether the start does not ask for another treatment of newer output than the newest rewind gave it. [keep, and then rewind instead.]
func (j *Job) same(last *checkpoint.RewindEntry) bool {
	return j.spec.OnNewerOutput == Refuse || string(j.spec.OnNewerOutput) == last.Mode
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// own reports whether the target is what a start without a word restores.
func (j *Job) own(b *back) bool {
	newest := j.store.Newest()
	return !b.fresh && b.target != nil && newest != nil && newest.Hash == b.target.Hash && len(j.store.Damage()) == 0
}

// concerned gives every table that the file, the newest checkpoint, an order to go back and what that supersedes name, by key.
func (j *Job) concerned() map[string]string {
	out := map[string]string{}
	add := func(r *checkpoint.Restored) {
		if r == nil {
			return
		}
		for key, t := range r.Tables {
			out[key] = t.Name
		}
	}
	add(j.store.Newest())
	if last := j.store.LastRewind(); last != nil {
		for key := range last.Tables {
			if _, ok := out[key]; !ok {
				out[key] = key
			}
		}
	}
	if b := j.back; b != nil && !j.wentBack {
		for _, r := range j.store.Behind(b.target) {
			add(r)
		}
		add(b.target)
	}
	for key, t := range j.spec.Tables {
		out[key] = t.Name
	}
	return out
}

// at resolves a table by its key.
func (j *Job) at(key string) (store fs.FS, root string, sink connector.FileTable, err error) {
	if t, ok := j.spec.Tables[key]; ok {
		return t.Sink.Store(), t.Sink.Root(), t.Sink, nil
	}
	if store, root, err = j.spec.Stores.Resolve(key); err != nil {
		err = fmt.Errorf("table %s, which the file no longer names but a checkpoint has promises for: %w", key, err)
	}
	return store, root, nil, err
}

// preview refuses an order before anything is written, as far as that can be told by reading. It finds out whether the log needs a new identity.
func (j *Job) preview() error {
	tables := map[string]*table{}
	names := j.concerned()
	for _, key := range slices.Sorted(maps.Keys(names)) {
		name := names[key]
		store, root, sink, err := j.at(key)
		if err == nil {
			err = j.wasWritten(key, name, store, root)
		}
		none := false
		if err == nil {
			none, err = j.none(key, store, root)
		}
		if err != nil {
			return err
		}
		if none {
			continue
		}
		tb := &table{key: key, name: name, sink: sink, t: commit.Open(j.env, store, root, j.owner(j.store.Next()), j.spec.Variant.Commit, j.log)}
		if err := errors.Join(tb.t.Refresh(), j.mayClaim(tb)); err != nil {
			return err
		}
		tables[key] = tb
	}
	if unfinished, err := j.unfinished(tables); unfinished || err != nil {
		return err // it is finished first, and judged then
	}
	if j.back.table {
		_, err := j.standing(tables)
		return err
	}
	_, _, err := j.judge(tables)
	return err
}

// mayClaim refuses what the claim of a table would be refused for, and takes note if the log is an older copy.
func (j *Job) mayClaim(tb *table) error {
	c := tb.t.State().Claim
	if j.store.Newer(c) { // or another process has begun just now
		if err := errors.Join(j.store.Load(), j.mayBegin()); err != nil {
			return err
		}
	}
	if !j.store.Newer(c) {
		return tb.t.MayClaim(j.over)
	}
	if c.Log != j.logURI() && !j.spec.TakeOver {
		return fault.Userf("table %s was claimed by epoch %d of this job with the log %s, of which %s is an older copy", tb.t.Place(), c.Epoch, c.Log, j.store.Dir()).
			WithHint("nothing was changed. If no process goes on with that log, say so with --take-over")
	}
	j.back.renew = true
	return nil
}

// unfinished reports whether an earlier rewind is not carried out in every table, whichever log ordered it.
func (j *Job) unfinished(tables map[string]*table) (bool, error) {
	for _, tb := range tables {
		if tb.t.State().Superseding != nil {
			return true, nil
		}
	}
	last := j.store.LastRewind()
	if last == nil || j.back.renew {
		return false, nil
	}
	for key, br := range last.Tables {
		if tables[key] == nil {
			continue
		}
		done, err := tables[key].t.Settled(last.Hash, br, last.TargetHash, targetID(last))
		if err != nil && !errors.Is(err, commit.ErrMovedOn) {
			return false, err
		}
		if err == nil && !done {
			return true, nil
		}
	}
	return false, nil
}

func targetID(r *checkpoint.RewindEntry) account.CheckpointID {
	if r.Target == nil {
		return 0
	}
	return r.Target.ID
}

// restores gives the state that the job is to go on from, nil for none, or for one that is still to be made of the tables.
func (j *Job) restores() *checkpoint.Restored {
	if j.back != nil && !j.wentBack {
		return j.back.target
	}
	return j.store.Newest()
}

// wasWritten refuses to go on from a state that has written to a table whose folder is gone.
func (j *Job) wasWritten(key, name string, store fs.FS, root string) error {
	from := j.restores()
	if from == nil || from.Tables[key].Expect.Certificate == "" {
		return nil
	}
	return j.stillThere(store, root, name)
}

// none reports a table that neither the file names nor the state has promises for, and whose folder is gone: it concerns nobody any more.
func (j *Job) none(key string, store fs.FS, root string) (bool, error) {
	if _, named := j.spec.Tables[key]; named {
		return false, nil
	}
	if _, promised := promises(j.restores())[key]; promised {
		return false, nil
	}
	gone, err := j.gone(store, root)
	if err != nil {
		err = fmt.Errorf("table %s, which the file no longer names: %w", root, err)
	}
	return gone, err
}

// seen is the target as one table sees it.
func (j *Job) seen(key string, target *checkpoint.Restored) commit.Target {
	if target == nil {
		return commit.Target{Fresh: true}
	}
	x := commit.Target{Checkpoint: target.ID, Complete: target.Hash, LogID: target.LogID, Logs: []string{target.LogID, j.store.LogID()}}
	if n := j.store.Newest(); n != nil {
		x.Logs = append(x.Logs, n.LogID)
	}
	var promised checkpoint.Table
	if promised, x.Known = target.Tables[key]; x.Known {
		x.Expect, x.Empty = promised.Expect, promised.Empty()
	}
	return x
}

// judge decides about an order: the rewind to be recorded, whether it is needed, or a refusal (PROTOCOL.md 7).
func (j *Job) judge(tables map[string]*table) (r checkpoint.Rewind, needed bool, err error) {
	b := j.back
	own, last := j.own(b), j.store.LastRewind()
	r = checkpoint.Rewind{Job: j.spec.ID, Mode: string(b.mode), From: b.from, Greatest: j.store.Greatest(), Tables: map[string]account.Branch{},
		Who: j.spec.AcceptWho, Time: j.env.Now().UTC()}
	var newer []string
	for _, key := range slices.Sorted(maps.Keys(tables)) {
		tb := tables[key]
		r.Greatest = max(r.Greatest, tb.t.State().Greatest)
		if own && last != nil && j.same(last) {
			br, ok := last.Tables[key]
			if ok && !(br.Left && tb.sink != nil) {
				ok, _ = tb.t.Settled(last.Hash, br, last.TargetHash, targetID(last)) // an error is Back's, too
			}
			if ok && !(br.Left && tb.sink != nil) {
				end := tb.t.State().Chain // the rewind that brought the target has settled it
				r.Tables[key] = account.Branch{Target: end, Chain: end}
				continue
			}
		}
		bk, err := tb.t.Back(j.seen(key, b.target))
		if err != nil {
			return r, false, err
		}
		_, promised := promises(b.target)[key]
		if bk.Forked && (tb.sink != nil || promised) {
			return r, false, j.forked(tb, bk)
		}
		br := bk.Branch
		if br.Left = len(bk.Newer) > 0 && tb.sink == nil; !br.Left && len(bk.Newer) > 0 {
			newer = append(newer, fmt.Sprintf("table %s has output of checkpoints %s", tb.t.Place(), idsText(bk.Newer)))
			if b.mode == RewindNewer && len(bk.Mixed) > 0 {
				a := &bk.Mixed[0]
				return r, false, fault.Userf("table %s: %s holds rows of checkpoints %s and of older ones, since %s rewrote them on purpose (amend, entry %d): they cannot be told apart to be taken back",
					tb.t.Place(), a.Added[0].Final, idsText(bk.Newer), a.Who, a.N).
					WithHint("nothing was changed. Write that file again without the newer rows and record it (staunch amend), or go back with --on-newer-output keep")
			}
		}
		r.Tables[key] = br
	}
	needed = !own || len(newer) > 0
	if b.fresh && j.store.Newest() == nil && len(j.store.Damage()) == 0 && len(newer) == 0 {
		needed = false // there is nothing to go back from
	}
	if len(newer) > 0 && b.mode == Refuse {
		return r, false, j.refusesBack(newer)
	}
	if r.Mode == "" {
		r.Mode = checkpoint.Keep // nothing is newer
	}
	for _, d := range j.store.Damage() { // each may have been a checkpoint with an id of its own
		r.Greatest += account.CheckpointID(d.To - d.N + 1)
	}
	for _, s := range j.store.Behind(b.target) {
		r.Superseded = append(r.Superseded, s.ID)
	}
	if t := b.target; t != nil {
		m := t.Metadata
		r.Target, r.TargetN, r.TargetHash = &m, t.N, t.Hash
		r.Greatest = max(r.Greatest, t.ID)
	}
	return r, needed, nil
}

func idsText(newest []account.ChainEnd) string {
	a, z := newest[len(newest)-1].Checkpoint, newest[0].Checkpoint
	if a == z {
		return fmt.Sprint(a)
	}
	return fmt.Sprintf("%d to %d", a, z)
}

// newestText names the job's newest checkpoint.
func (j *Job) newestText() string {
	text := "the job's log " + j.store.Dir() + " has no checkpoint"
	if n := j.store.Newest(); n != nil {
		text = "the newest in the job's log is " + n.String() + " (" + j.store.Path(n) + ")"
	}
	for _, d := range j.store.Damage() {
		text += fmt.Sprintf("; behind it entry %d cannot be read", d.N)
	}
	return text
}

func (j *Job) refusesBack(newer []string) error {
	b := j.back
	again := "without an option, to go on from the newest checkpoint"
	if j.own(b) || j.store.Newest() == nil || len(j.store.Damage()) > 0 {
		again = "with the directory of the newest checkpoint, if it can be brought back (execution.checkpointing.dir)"
	}
	return fault.Userf("going back to %s: newer output of job %q stands in its tables; %s\n  %s", b.what(), j.spec.ID, j.newestText(), strings.Join(newer, "\n  ")).
		WithHint("nothing was changed. Choose: --on-newer-output rewind moves that output to _superseded, so that each row is there once; "+
			"--on-newer-output keep leaves it, and its rows come again; or start %s", again)
}

func (j *Job) forked(tb *table, bk commit.Back) error {
	b := j.back
	if bk.Empty {
		return fault.Userf("table %s: %s has written to it, but it has no output of job %q now", tb.t.Place(), b.what(), j.spec.ID).
			WithHint("put the table's folder back from a copy; if it was removed on purpose, --fresh begins anew")
	}
	return fault.Userf("table %s: %s (%s) is not among the checkpoints that its output, up to checkpoint %d (%s), comes from: another history, or superseded by a rewind; %s",
		tb.t.Place(), b.what(), account.Short(b.target.Hash), bk.Chain.Checkpoint, account.Short(bk.Chain.Certificate), j.newestText()).
		WithHint("nothing was changed. Name a checkpoint of the history that the table has, or begin anew with --fresh --on-newer-output keep or rewind")
}

// goBack carries out what the start asks for, once in a process. REQUIRES: all concerned tables are claimed, so that nobody else certifies
// anything, and an earlier rewind is finished, but for tables that have moved on since.
func (j *Job) goBack(movedOn bool) error {
	b := j.back
	if b == nil || j.wentBack {
		return nil
	}
	// INVARIANT: an order is taken for carried out only if the tables are as it left them. [A and B are ordered to begin anew; B does it; C, by another
	// log, takes over, writes everything and ends; A wakes, finds B's entry, and writes everything once more.]
	if last := j.store.LastRewind(); last != nil && !movedOn && len(j.store.Damage()) == 0 && (b.fresh && j.same(last) || b.table) && last.Target == nil == b.fresh {
		j.wentBack = true // by an earlier attempt that did not learn of it
		return nil
	}
	if b.table {
		t, err := j.fromTables()
		if err != nil {
			return err
		}
		b.target = t
	}
	r, needed, err := j.judge(j.tables)
	if err != nil {
		return err
	}
	if !needed {
		j.wentBack = true
		return nil
	}
	if err := j.canGoBack(); err != nil {
		return err
	}
	for _, tb := range j.sortedTables() { // what stays in a chain is whole
		if br := r.Tables[tb.key]; br.Target != br.Chain && (br.Left || r.Mode == checkpoint.Keep) {
			if _, err := tb.t.FinishNewest(); err != nil {
				return fmt.Errorf("commit the output that is kept in table %s: %w", tb.t.Place(), err)
			}
		}
	}
	if _, err := j.store.Rewind(r); err != nil {
		return err
	}
	j.wentBack = true
	newer := r.Mode
	if b.mode == Refuse { // judge has found none; that it would be kept was nobody's order
		newer = "none"
	}
	j.log.Warn("going back", "job", j.spec.ID, "to", b.what(), "from", b.from, "newer output", newer, "superseded", len(r.Superseded))
	_, err = j.finishBack()
	return err
}

// canGoBack refuses a sink whose output can neither stay nor be taken back, and warns of those that repeat it.
func (j *Job) canGoBack() error {
	for _, s := range j.spec.Graph.Sources {
		for _, b := range s.Branches {
			if _, file := j.spec.Tables[b.Table]; file {
				continue
			}
			level := "none"
			if g, ok := b.Sink.(connector.Guarantee); ok {
				level, _ = g.Guarantee()
			}
			if level == "exactly-once" {
				return fault.Userf("the sink %s cannot go back: what it has written can neither be taken back nor be told from what comes again", b.Table)
			}
			j.log.Warn("a sink repeats the rows since the state that the job goes back to", "sink", b.Table)
		}
	}
	return nil
}

// finishBack carries the newest rewind of the job's log out in every table, and reports whether one has gone on since then: it decides nothing about
// that one if an order to go back is still to be carried out. It may be repeated after any error or crash.
//
// INVARIANT: what a table's log says is superseded is moved out before anything else, whichever job log ordered it. [B, by another log, stands
// still between its entry and the moves; C takes over, finds nothing newer than B's target, and writes the same rows again beside A's files.]
func (j *Job) finishBack() (movedOn bool, err error) {
	for _, tb := range j.sortedTables() {
		if err := j.withdraw(tb); err != nil {
			return movedOn, err
		}
	}
	r := j.store.LastRewind()
	if r == nil {
		return movedOn, nil
	}
	for _, key := range slices.Sorted(maps.Keys(r.Tables)) {
		tb, br := j.tables[key], r.Tables[key]
		if tb == nil {
			continue // see none
		}
		done, err := tb.t.Settled(r.Hash, br, r.TargetHash, targetID(r))
		switch {
		case errors.Is(err, commit.ErrMovedOn) && j.back != nil && !j.wentBack:
			movedOn = true // the log is an older copy, or another one had the tables meanwhile: the order decides
		case err != nil:
			return movedOn, err
		case done:
		case br.Left || r.Mode == checkpoint.Keep:
			if err := tb.t.Keep(r.Hash, br); err != nil {
				return movedOn, err
			}
			j.log.Warn("newer output stays", "table", tb.name, "path", tb.t.Root(), "up to checkpoint", br.Chain.Checkpoint, "named by the file", !br.Left)
		default:
			bk, err := tb.t.Back(j.seen(key, r.Restored()))
			if err == nil && (bk.Forked || bk.Target != br.Target) {
				err = fault.New(fault.Damage, "table %s: its chain is another one than when the job went back", tb.t.Root())
			}
			if err != nil {
				return movedOn, err
			}
			if err := tb.t.Supersede(r.Hash, bk); err != nil {
				return movedOn, err
			}
			if err := j.withdraw(tb); err != nil {
				return movedOn, err
			}
		}
	}
	return movedOn, nil
}

func (j *Job) withdraw(tb *table) error {
	w, err := tb.t.Withdraw()
	if err != nil || w == nil {
		return err
	}
	j.log.Warn("newer output was moved out of the table", "table", tb.name, "to", w.Dir, "checkpoints", w.Checkpoints, "files", w.Moved, "gone", len(w.Gone))
	if n := len(w.Gone); n > 0 {
		j.log.Warn("superseded files were in no place: if another program has rewritten them, their rows are still in the table", "table", tb.name, "files", n, "first", w.Gone[0])
	}
	if len(w.Declared) > 0 {
		j.log.Warn("partitions that superseded checkpoints declared complete keep their success files", "table", tb.name, "partitions", splitsText(w.Declared))
	}
	return nil
}

// settled reports whether the newest rewind, behind which nothing was completed, has settled a table that the file names.
func (j *Job) settled(tb *table) bool {
	r := j.store.LastRewind()
	if r == nil {
		return false
	}
	br, ok := r.Tables[tb.key]
	return ok && !(br.Left && tb.sink != nil)
}

// over reports whether a claim of another job log may be gone behind: that log has ended, or, when the job goes back, it lay where this one is and
// is demonstrably gone.
func (j *Job) over(c account.Claim) bool {
	// A path without a scheme means this host's disk: another host has another log under it.
	shared := fs.Scheme(c.Log) != ""
	if j.back != nil && c.Log == j.logURI() && c.LogID != j.store.LogID() && (shared || c.Host == j.spec.Process.Host) {
		return true
	}
	return j.otherEnded(c)
}

// damageHint says what can be done about a damaged log.
func (j *Job) damageHint(err error) error {
	if fault.ClassOf(err) != fault.Damage || errors.Is(err, log.ErrVersion) {
		return err
	}
	good := "go on from what the tables say with --from-table, or begin anew with --fresh"
	if n := j.store.Newest(); n != nil {
		good = fmt.Sprintf("or go back to the newest one that can be read: --from-savepoint %d", n.ID)
	}
	return fault.New(fault.Damage, "%w", err).WithHint("nothing was changed. Put the damaged entry of %s back from a copy, %s; for output that is newer, add "+
		"--on-newer-output keep or rewind", j.store.Dir(), good)
}
