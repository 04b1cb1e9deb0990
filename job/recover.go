package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"staunch/account"
	"staunch/changelog"
	"staunch/checkpoint"
	"staunch/commit"
	cmp "staunch/commit/protocol"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/fs"
)

// table is one file table that this job commits to, or committed to before the statement file was edited.
type table struct {
	key, name string
	t         *commit.Table
	sink      connector.FileTable // nil: no longer in the file
	pending   []checkpoint.PendingPartition
}

func (j *Job) sortedTables() []*table {
	out := make([]*table, 0, len(j.tables))
	for _, k := range slices.Sorted(maps.Keys(j.tables)) {
		out = append(out, j.tables[k])
	}
	return out
}

// owner is this attempt, for tables' logs.
func (j *Job) owner(epoch account.Epoch) commit.Owner {
	p := j.spec.Process
	return commit.Owner{Job: j.spec.ID, LogID: j.store.LogID(), LogPath: j.logURI(), Epoch: epoch, Host: p.Host, PID: p.PID, Nonce: j.nonce,
		TakeOver: j.spec.TakeOver, Accept: j.spec.Accept, AcceptWho: j.spec.AcceptWho}
}

// openTables claims every table that the file names or that the newest checkpoint has promises for, goes back if that is ordered, and refuses
// what would be going back otherwise. It gives what is restored.
func (j *Job) openTables() (*checkpoint.Restored, error) {
	names := j.concerned()
	if err := j.onePlaceEach(names); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		store, root, sink, err := j.at(key)
		if err == nil {
			err = j.wasWritten(key, names[key], store, root)
		}
		none := false
		if err == nil {
			none, err = j.none(key, store, root)
		}
		if err == nil && !none {
			err = j.openTable(key, names[key], store, root, sink)
		}
		if err != nil {
			return nil, err
		}
	}
	// INVARIANT: all tables are this attempt's at one moment. [B claims the first of two tables, sleeps; A, by another log, claims both, goes on and
	// ends; B claims the second, takes its output back and is fenced in the first: what A ended is gone from the second.]
	if len(j.tables) > 1 && !j.spec.Variant.NoRecheck {
		for _, tb := range j.sortedTables() {
			if err := tb.t.StillOurs(); err != nil {
				return nil, err
			}
		}
	}
	movedOn := false
	if !j.spec.Variant.NoFinish {
		var err error
		if movedOn, err = j.finishBack(); err != nil {
			return nil, err
		}
	}
	if err := j.goBack(movedOn); err != nil {
		return nil, err
	}
	newest := j.store.Newest()
	err := j.checkFresh
	if newest != nil {
		err = func() error { return j.checkChains(newest) }
	}
	if err := err(); err != nil {
		return nil, err
	}
	if !j.hasRun {
		if err := j.strays(promises(newest)); err != nil {
			return nil, err
		}
	}
	for key, tb := range j.tables { // claimed only since the job went back
		if _, promised := promises(newest)[key]; tb.sink == nil && !promised {
			delete(j.tables, key)
		}
	}
	return newest, nil
}

// orFenced gives err, which found fault with the tables, or that this attempt has been ended by another one: then it looked at what that one
// does. [A claims the table and sleeps; B claims it, writes and commits; A wakes and finds files that no certificate it has read names.]
func (j *Job) orFenced(err error) error {
	if fault.ClassOf(err) != fault.User {
		return err
	}
	for _, tb := range j.sortedTables() {
		if now := tb.t.StillOurs(); fault.ClassOf(now) == fault.Fenced {
			return now
		}
	}
	return err
}

// onePlaceEach refuses two tables in one folder: each would certify there behind the other's back. [The folder is moved and a link left in its
// place: the checkpoints name the link's path, the file's table is where it leads to.]
func (j *Job) onePlaceEach(names map[string]string) error {
	at := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		store, root, _, err := j.at(key)
		if err != nil {
			return err
		}
		p := fs.URI(store, root)
		if other, twice := at[p]; twice {
			return fault.Userf("tables %s and %s of job %q are one folder, %s", other, key, j.spec.ID, p).
				WithHint("nothing was changed. Was the table moved, and a link left in its place? Move it back to where the checkpoints know it; " +
					"or, if the file names it twice, give both the same 'path'")
		}
		at[p] = key
	}
	return nil
}

// strays refuses a table without a log that has visible files of this job: rows that nobody can account for, and that would come again.
func (j *Job) strays(promised map[string]checkpoint.Table) error {
	for _, tb := range j.sortedTables() {
		_, known := promised[tb.key]
		if st := tb.t.State(); known || tb.sink == nil || st.Greatest > 0 || st.Chain.Certificate != "" || j.spec.OnNewerOutput == KeepNewer || j.spec.Variant.NoFresh {
			continue
		}
		f, err := tb.t.Stray()
		if err != nil {
			return err
		}
		if f != "" {
			return fault.Userf("table %s has files of job %q that no certificate names, %s for one: the folder %s was removed, or was left out when the table was copied",
				tb.t.Root(), j.spec.ID, f, commit.Dir(tb.t.Root(), j.spec.ID)).
				WithHint("put that folder back from a copy; else write to another table, or, if rows may be there twice, say so with --on-newer-output keep")
		}
	}
	return nil
}

func promises(r *checkpoint.Restored) map[string]checkpoint.Table {
	if r == nil {
		return nil
	}
	return r.Tables
}

// openTable claims one table.
func (j *Job) openTable(key, name string, store fs.FS, root string, sink connector.FileTable) error {
	if tb := j.tables[key]; tb != nil {
		tb.pending = nil // of a checkpoint that the attempt before may not have completed
		return tb.t.StillOurs()
	}
	tb := &table{key: key, name: name, sink: sink, t: commit.Open(j.env, j.spec.Trace.Store(store, &j.commitScope), root, j.owner(j.store.Epoch()), j.spec.Variant.Commit, j.log)}
	tb.t.Judged = j.traceVerdicts(store)
	tb.t.Certified = j.alone(tb.t)
	tb.t.Missed = func(files int) { j.missed(key, files) }
	if err := store.MkdirAll(commit.Dir(root, j.spec.ID)); err != nil {
		if !j.hasRun && (errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist)) { // no restart heals that
			return fault.Userf("table %s: %w", name, err).WithHint("choose another 'path', or let this user make folders there")
		}
		return fmt.Errorf("table %s: %w", root, err)
	}
	if err := tb.t.Claim(j.over); err != nil {
		return err
	}
	j.tables[key] = tb
	return nil
}

// stillThere refuses to create a table anew that the restored state has written to.
func (j *Job) stillThere(store fs.FS, root, name string) error {
	if gone, err := j.gone(store, root); gone || err != nil {
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		return fault.Userf("table %s: its folder %s is gone, but the checkpoints of job %q have written to it", name, root, j.spec.ID).
			WithHint("put the folder back; or, if it was removed on purpose, begin anew with --fresh, or under another pipeline.name")
	}
	return nil
}

// gone reports whether a folder is missing, twice and seconds apart: a store's look may lag behind what was done.
func (j *Job) gone(store fs.FS, root string) (bool, error) {
	for look := 0; ; look++ {
		_, err := store.Stat(root)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if look == 1 {
			return true, nil
		}
		env.Sleep(j.env, cmp.SecondLook)
	}
}

// otherEnded reports whether the job log that another claim names has ended.
func (j *Job) otherEnded(c account.Claim) bool {
	store, dir, err := j.spec.Stores.Resolve(c.Log) // it may lie in another store than this job's
	if err != nil {
		return false
	}
	other := checkpoint.Open(j.env, store, dir, checkpoint.Variant{}, j.log)
	return other.Load() == nil && other.LogID() == c.LogID && other.Ended() != nil
}

// checkFresh refuses a start from nothing over tables that have output of this job.
func (j *Job) checkFresh() error {
	for _, tb := range j.sortedTables() {
		if c := tb.t.State().Chain; c.Certificate != "" && !j.spec.Variant.Commit.NoFence && !j.spec.Variant.NoFresh && !j.settled(tb) {
			return fault.Userf("table %s has output of job %q up to checkpoint %d, but %s has no checkpoint: reading from the start would repeat it",
				tb.t.Root(), j.spec.ID, c.Checkpoint, j.store.Dir()).
				WithHint("was the checkpoint directory removed or changed? Put it back (execution.checkpointing.dir), go on from what the table says with " +
					"--from-table, or begin anew with --fresh and --on-newer-output keep or rewind")
		}
	}
	return nil
}

// notSuperseded refuses a checkpoint whose promise to a table another log's rewind has taken back.
func (j *Job) notSuperseded(tb *table, newest *checkpoint.Restored) error {
	promised := newest.Tables[tb.key]
	if promised.Empty() || tb.t.State().Chain != promised.Expect || j.spec.Variant.Commit.NoChain {
		return nil
	}
	gone, err := tb.t.WasSuperseded(newest.Hash)
	if err != nil || !gone {
		return err
	}
	return fault.Userf("table %s: what %s has written to it was superseded by a rewind of another log of job %q", tb.t.Place(), newest, j.spec.ID).
		WithHint("nothing was changed. Go on with that log (execution.checkpointing.dir), or go back to an earlier checkpoint with --from-savepoint")
}

func (j *Job) checkChains(newest *checkpoint.Restored) error {
	for _, tb := range j.sortedTables() {
		st := tb.t.State()
		promised, in := newest.Tables[tb.key]
		settled := j.settled(tb)
		switch {
		case in:
			if !settled {
				if err := j.notSuperseded(tb, newest); err != nil {
					return err
				}
				if err := tb.t.CheckChain(newest.ID, newest.Hash, promised.Expect); err != nil {
					return err
				}
			}
			tb.pending = slices.Clone(promised.Partitions)
		case st.Kept != nil && st.Kept.Left && !settled:
			return fault.Userf("table %s was not in the file when the job went back, and has output up to checkpoint %d, which is newer than checkpoint %d, from where it went on",
				tb.t.Root(), st.Chain.Checkpoint, st.Kept.Target.Checkpoint).
				WithHint("nothing was changed. Choose: --on-newer-output rewind moves that output to _superseded, --on-newer-output keep leaves it, and rows that are read again come again")
		case st.Chain.Certificate == "":
			j.log.Warn("a new sink begins at the job's offsets: records before them are not written to it", "table", tb.name, "path", tb.t.Root())
		case st.ChainDone && (settled || st.ChainLogID == j.store.LogID()):
			j.log.Warn("a sink is back in the file and goes on at the job's offsets: records in between are not written to it",
				"table", tb.name, "path", tb.t.Root(), "last checkpoint there", st.Chain.Checkpoint)
		case !j.spec.Variant.Commit.NoFence && !j.spec.Variant.Commit.NoChain:
			return fault.Userf("table %s has output of job %q up to checkpoint %d from another history, which checkpoint %d knows nothing of",
				tb.t.Root(), j.spec.ID, st.Chain.Checkpoint, newest.ID).
				WithHint("give this job another pipeline.name, or write to another table")
		}
	}
	return nil
}

// commitAll carries out what the checkpoint promises to every table. It may be repeated.
func (j *Job) commitAll(r *checkpoint.Restored) (sum account.Counters, err error) {
	defer j.traceCommit(r.ID)(&sum, &err)
	var lost error
	for _, key := range slices.Sorted(maps.Keys(r.Tables)) {
		promised, tb := r.Tables[key], j.tables[key]
		if promised.Empty() {
			continue
		}
		if j.spec.Variant.SuccessFirst {
			if err := j.commitPartitions(tb, commit.Result{Committed: map[string]bool{}}); err != nil {
				return sum, err
			}
		}
		res, err := tb.t.Commit(j.certificate(r, promised), promised.Expect)
		if fault.ClassOf(err) == fault.Lost {
			lost = errors.Join(lost, err) // the other tables' files are committed first
			sum.Add(res.Counters)
			continue
		}
		if err != nil {
			return sum, err
		}
		if !res.Already {
			sum.Add(res.Counters)
		}
		j.foldersSeen(tb, r, promised)
		if err := j.commitPartitions(tb, res); err != nil {
			return sum, err
		}
	}
	return sum, lost
}

// certificate is what a checkpoint promises to one table.
func (j *Job) certificate(r *checkpoint.Restored, promised checkpoint.Table) account.Certificate {
	c := account.Certificate{LogID: r.LogID, Job: j.spec.ID, Epoch: r.Epoch, Checkpoint: r.ID, Complete: r.Hash, Time: r.Time, Plan: r.Plan, SQL: r.SQL,
		Files: promised.Files, Ranges: promised.Ranges, AccountsClose: r.AccountsClose, Watermark: watermarkOf(r), Partitions: promised.Due(), Final: r.Final}
	if w := r.Rewind; w != nil { // another attempt's checkpoint, perhaps of another log
		c.LogID, c.Epoch = w.LogID, w.Epoch
	}
	if len(promised.Directories) > 0 {
		c.DirectoriesEpoch = r.Epoch
		c.FromDirectories, c.Files, c.Ranges, c.AccountsClose = promised.Directories, nil, positions(r, promised), false
	}
	return c
}

func watermarkOf(r *checkpoint.Restored) *int64 {
	least := (*int64)(nil)
	for _, s := range r.Sources {
		if s.Watermark != nil && (least == nil || *s.Watermark < *least) {
			least = s.Watermark
		}
	}
	return least
}

// commitPartitions declares the partitions complete that the checkpoint found due. A partition with a lost file is not declared.
func (j *Job) commitPartitions(tb *table, res commit.Result) error {
	if tb.sink == nil || tb.sink.PartitionCommit() == nil {
		return nil
	}
	pc := tb.sink.PartitionCommit()
	hole := map[string]bool{}
	for _, f := range res.Lost {
		hole[f.Partition] = true
	}
	kept := tb.pending[:0:0]
	var done []string
	for _, p := range tb.pending {
		if hole[p.Partition] && !j.spec.Variant.SuccessLost { // kept in mind: it may be due later, and get more files
			j.log.Warn("a partition is not committed because a file of it is lost", "table", tb.name, "partition", p.Partition)
			p.Due, p.Lost = false, true
		}
		if !p.Due {
			kept = append(kept, p)
			continue
		}
		if res.Committed[p.Partition] {
			continue
		}
		failpoint.Hit(failpoint.PartitionBefore)
		if err := j.tracePartition(tb, p.Partition, res.Certificate.Checkpoint, func() error { return pc.Commit(p.Partition, p.Values) }); err != nil {
			return fmt.Errorf("commit partition %s of table %s: %w", p.Partition, tb.name, err)
		}
		failpoint.Hit(failpoint.PartitionAfter)
		done = append(done, p.Partition)
	}
	if len(done) > 0 {
		if err := tb.t.PartitionsCommitted(res.Certificate, done); err != nil {
			return err
		}
		j.log.Info("partitions committed", "table", tb.name, "partitions", splitsText(done), "checkpoint", res.Certificate.Checkpoint)
	}
	tb.pending = kept
	return nil
}

// seen adds the partitions of a checkpoint's files to the pending ones and marks those that are due.
func (tb *table) seen(files []account.File, mark changelog.Watermark, now int64, all bool) ([]checkpoint.PendingPartition, error) {
	if tb.sink == nil || tb.sink.PartitionCommit() == nil {
		return nil, nil
	}
	pc := tb.sink.PartitionCommit()
	out := slices.Clone(tb.pending)
	have := map[string]int{}
	for i, p := range out {
		have[p.Partition] = i
	}
	for _, f := range files {
		if _, ok := have[f.Partition]; !ok && f.Partition != "" {
			have[f.Partition] = len(out)
			out = append(out, checkpoint.PendingPartition{Partition: f.Partition, Values: f.PartitionValues, FirstSeen: now})
		}
	}
	for i := range out {
		p := &out[i]
		if p.Due || p.Lost {
			continue
		}
		due, err := pc.Due(p.Values, p.FirstSeen, mark, now)
		if err != nil {
			return nil, fmt.Errorf("partition %s of table %s: %w", p.Partition, tb.name, err)
		}
		p.Due = due || all
	}
	return out, nil
}

// recover commits what the newest checkpoint promises, before anything is read (C5).
func (j *Job) recover(newest *checkpoint.Restored) error {
	if newest == nil {
		j.unknownLosses()
		return nil
	}
	var sum account.Counters
	var err error
	if !j.spec.Variant.ReadFirst {
		sum, err = j.commitAll(newest)
	}
	j.addCounters(sum)
	if err != nil {
		return fmt.Errorf("commit what checkpoint %d promises: %w", newest.ID, err)
	}
	j.traceRestored(newest.ID)
	failpoint.Hit(failpoint.RestoreCommitted)
	j.unknownLosses()
	j.log.Info("restored", "job", j.spec.ID, "checkpoint", newest.ID, "files", sum.Created, "renamed", sum.Renamed, "skipped", sum.Skipped)
	j.update(func(s *Status) { s.LastCheckpoint = newest.ID })
	for key, promised := range newest.Tables {
		if tb := j.tables[key]; tb.sink == nil {
			if !promised.Empty() {
				j.log.Info("a sink that the file no longer names is committed and ends here", "table", tb.name, "path", tb.t.Root(), "checkpoint", newest.ID)
			}
			if n := len(promised.Partitions); n > 0 {
				j.log.Warn("a sink that the file no longer names has partitions that were not declared complete, and will not be", "table", tb.name,
					"partitions", n, "first", promised.Partitions[0].Partition)
			}
			delete(j.tables, key)
		}
	}
	return j.refilled()
}

// unknownLosses tells of ids that no loss answers to: a typing error would look as if it had worked.
func (j *Job) unknownLosses() {
	for _, id := range j.spec.Accept {
		known := false
		for _, tb := range j.sortedTables() {
			for _, c := range tb.t.State().Certificates {
				known = known || slices.ContainsFunc(c.Accepted, func(a account.Accept) bool { return a.ID == id })
			}
		}
		if !known {
			j.log.Warn("--accept-lost: no loss has this id", "job", j.spec.ID, "id", id)
		}
	}
}

// countDirty counts what ended attempts left in the temporary directories. What was promised has left them, and nothing of the running attempt
// exists yet.
func (j *Job) countDirty() {
	for _, tb := range j.sortedTables() {
		n, err := tb.t.CountDirty(nil)
		if err != nil {
			j.log.Warn("could not list the temporary directory", "table", tb.name, "error", err)
			continue
		}
		if n > 0 {
			j.log.Info("files of ended attempts are ignored", "table", tb.name, "numFilesDirtyIgnored", n)
			j.addCounters(account.Counters{DirtyIgnored: n})
		}
	}
}
