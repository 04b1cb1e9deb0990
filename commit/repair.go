package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"

	"staunch/account"
	"staunch/commit/protocol"
	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/fs"
	"staunch/log"
)

// Repairer puts replacements of lost files into their places (PROTOCOL.md 8). It is an operator's: it holds no claim, fences nobody and is fenced by
// nobody, and may run beside the job and beside other repairers. What ends it is a rewind that takes the file's certificate out of the chain, or an
// amend of the file.
//
// INV: an entry names the staged replacement before it goes to its place, so that a rewind whose entry comes behind finds it in either place; and
// a repair whose entry would come behind the rewind's sees that one, and moves nothing.
type Repairer struct {
	t *Table
	// known is what was read of the log; nil before, and behind an error.
	known *Mended
}

// OpenRepair prepares the repair of files of a job in the table at root; it does no I/O. For a trace of what it does, wrap the store
// (trace.Recorder.Store).
func OpenRepair(e env.Env, store fs.FS, root, job string, v Variant, l *slog.Logger) *Repairer {
	return &Repairer{t: Open(e, store, root, Owner{Job: job}, v, l)}
}

// LostFile is a file that is in neither of its places.
type LostFile struct {
	account.File
	// Certificate names it.
	Certificate *Certified
	// Done: the certificate is done, and the verdict is lost (or not, see Removed); else it is being committed, and the job will stop at the loss, or has.
	Done bool
	// Accepted: a person let the job go on without it.
	Accepted bool
	// Repairs of it that were begun and whose replacement did not come to its place.
	Repairs []Repairing
}

// Replacement is a closed, durable file in the table's temporary folder whose rows have the lost file's offsets.
type Replacement struct {
	// Staged is its absolute path, see account.RepairName.
	Staged string
	Length int64
	account.Sums
	Rows int64
}

// ErrNothingToRepair: a rewind or an amend took the file out of the table's chain. Nothing was placed, or it was taken away again.
var ErrNothingToRepair = errors.New("there is nothing to repair")

// Order says who wants a repair.
type Order struct{ Who, Host, Why string }

// State of a lost file after a repair.
type RepairState string

// The states in which a repair leaves a file.
const (
	// RepairPlaced: the replacement is in its place, durably.
	RepairPlaced RepairState = "placed"
	// RepairedBefore: the replacement of another repair of this file is there, durably. The own one stays where it is staged and goes by `staunch
	// clean`.
	RepairedBefore RepairState = "repaired before"
	// CameBack: the file itself is there, durably: a late rename, or somebody put it back. The replacement stays where it is staged.
	CameBack RepairState = "came back"
)

// RepairOutcome is what became of a repair.
type RepairOutcome struct {
	State RepairState
	// Entry is the number of the repair entry whose file is in the place, 0 if the file itself is.
	Entry  int64
	Length int64
	Rows   int64
}

// Lost finds the files that a repair may replace, in the order of the log: those with verdict lost, and those of the newest certificate that are in
// neither place while it is not done. A file that stands in its place by now, superseded and amended ones are not among them. Nothing is written;
// it may take some seconds if a commit is under way, to look twice.
func (r *Repairer) Lost() ([]LostFile, error) {
	var all []LostFile
	var open *Recorded
	err := r.history(func(c *Recorded) error {
		if c.Superseded > 0 {
			return nil
		}
		if open = nil; c.Done == nil {
			open = c
			return nil
		}
		for i, v := range c.Done.Verdicts {
			if v == account.Lost && i < len(c.Files) {
				all = r.add(all, c, i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	missing, err := r.missing(all)
	if err != nil || open == nil {
		return missing, err
	}
	return r.notDone(missing, open)
}

// Removed finds, among files with these final paths, those that were visible once, with verdict renamed or skipped, and are not in their place any more.
// Whoever asks knows that nothing else holds their rows: a compaction from outside would make them come twice.
func (r *Repairer) Removed(finals []string) ([]LostFile, error) {
	var all []LostFile
	err := r.history(func(c *Recorded) error {
		if c.Superseded > 0 || c.Done == nil {
			return nil
		}
		for i, v := range c.Done.Verdicts {
			if v != account.Lost && i < len(c.Files) && slices.Contains(finals, c.Files[i].Final) {
				all = r.add(all, c, i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.missing(all)
}

// history visits the certificates of the table's log.
func (r *Repairer) history(visit func(*Recorded) error) error {
	if _, err := History(r.t.env, r.t.store, r.t.root, r.t.owner.Job, visit); err != nil {
		return fmt.Errorf("read the log of table %s: %w", r.t.root, err)
	}
	return nil
}

// missing leaves those whose place is empty.
func (r *Repairer) missing(all []LostFile) ([]LostFile, error) {
	missing := all[:0:0]
	for _, f := range all {
		_, err := r.length(f.Final)
		switch {
		case isMissing(err):
			missing = append(missing, f)
		case err != nil:
			return nil, err
		}
	}
	return missing, nil
}

// add appends file i of c, unless it was amended.
func (r *Repairer) add(list []LostFile, c *Recorded, i int) []LostFile {
	f := &c.Files[i]
	if c.Amended(f.Final) > 0 {
		return list
	}
	return append(list, LostFile{File: *f, Certificate: &c.Certified, Done: c.Done != nil, Accepted: c.AcceptedLoss(f.Final), Repairs: c.Repairs(f.Final)})
}

// notDone adds the files of the certificate that is being committed which are in neither place. The source is looked at first (see package
// protocol), again and again with a pause, since a rename may be under way; and then the log is read again, since the certificate may be done by now
// and its files taken elsewhere by their owner.
func (r *Repairer) notDone(list []LostFile, c *Recorded) ([]LostFile, error) {
	var at []int
	for i := range c.Files {
		at = append(at, i)
	}
	for look := range protocol.Looks {
		rest := at[:0]
		for _, i := range at {
			there, err := r.anywhere(&c.Files[i])
			if err != nil {
				return nil, err
			}
			if !there {
				rest = append(rest, i)
			}
		}
		if at = rest; len(at) == 0 {
			return list, nil
		}
		if look < protocol.Looks-1 {
			env.Sleep(r.t.env, protocol.SecondLook)
		}
	}
	var now *Recorded
	err := r.history(func(x *Recorded) error {
		if x.Hash == c.Hash && x.Superseded == 0 {
			now = x
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, i := range at {
		if now != nil && (now.Done == nil || i < len(now.Done.Verdicts) && now.Done.Verdicts[i] == account.Lost) {
			list = r.add(list, now, i)
		}
	}
	return list, nil
}

// anywhere reports whether a file is in one of its places.
func (r *Repairer) anywhere(f *account.File) (bool, error) {
	for _, p := range []string{f.Pending, f.Final} {
		_, err := r.length(p)
		if err == nil {
			return true, nil
		}
		if !isMissing(err) {
			return false, err
		}
	}
	return false, nil
}

// length looks at a file. Outages are waited for.
func (r *Repairer) length(p string) (n int64, err error) {
	err = r.t.patient(func() error {
		i, err := r.t.store.Stat(p)
		n = i.Size
		return err
	})
	return n, err
}

// Finish carries on the repairs of f that were begun: the first staged replacement that is still there goes to its place. ok is false if none is,
// and a new one is to be made.
func (r *Repairer) Finish(f LostFile) (out RepairOutcome, ok bool, err error) {
	if err := r.catchUp(f); err != nil {
		return out, false, err
	}
	for _, x := range r.known.Repairs(f.Certificate.Hash, f.Final) {
		n, err := r.length(x.Staged)
		if isMissing(err) || err == nil && n != x.Length {
			continue
		}
		if err != nil {
			return out, false, err
		}
		// [Its operator sleeps before the folder's sync; the replacement is placed here, durably; power cut: no entry names what stands there.]
		if err := r.t.log.Durable(); err != nil {
			return out, false, err
		}
		out, err = r.place(f, x)
		return out, err == nil, err
	}
	return out, false, nil
}

// Repair records that rep replaces f, and puts it into f's final place. It may be repeated after any error or crash, and done by several at once:
// one replacement comes to the place, and all find it there.
func (r *Repairer) Repair(f LostFile, rep Replacement, by Order) (RepairOutcome, error) {
	if err := r.staged(rep); err != nil {
		return RepairOutcome{}, err
	}
	if err := r.catchUp(f); err != nil {
		return RepairOutcome{}, err
	}
	failpoint.Hit(failpoint.RepairStaged)
	x := Repairing{Repair: account.Repair{LogID: f.Certificate.LogID, Job: r.t.owner.Job, Checkpoint: f.Certificate.Checkpoint,
		Certificate: f.Certificate.Hash, Final: f.Final, Staged: rep.Staged, Length: rep.Length, Sums: rep.Sums, Rows: rep.Rows,
		Who: by.Who, Host: by.Host, Why: by.Why, Time: r.t.env.Now().UTC()}}
	if r.t.variant.RepairNoEntry {
		return r.place(f, x)
	}
	if err := r.append(f, &x); err != nil {
		return RepairOutcome{}, err
	}
	failpoint.Hit(failpoint.RepairEntry)
	return r.place(f, x)
}

// staged checks that a replacement is what it is said to be.
func (r *Repairer) staged(rep Replacement) error {
	if !strings.HasPrefix(rep.Staged, r.t.root+"/") {
		return fault.New(fault.Bug, "the replacement %s is not below the table %s", rep.Staged, r.t.root)
	}
	n, err := r.length(rep.Staged)
	if err != nil {
		return fault.New(fault.Transient, "the replacement %s: %w", rep.Staged, err).WithHint("nothing was changed; repair again")
	}
	if n != rep.Length {
		return fault.New(fault.Transient, "the replacement %s is %d bytes long, but %d were written", rep.Staged, n, rep.Length).WithHint("nothing was changed; repair again")
	}
	return nil
}

// catchUp reads what others appended and refuses a file that is out of the chain.
func (r *Repairer) catchUp(f LostFile) error {
	if err := r.refresh(); err != nil {
		return err
	}
	return r.may(f)
}

// refresh reads what others appended.
func (r *Repairer) refresh() error {
	entries, err := r.t.log.Read()
	if err != nil {
		r.known = nil // entries before the one that could not be read count as read
		return fmt.Errorf("log of table %s: %w", r.t.root, err)
	}
	return r.take(entries...)
}

// take takes in what was read or shown of the log. Behind an error nothing is known, and all is read again: the log does not give these entries twice.
func (r *Repairer) take(entries ...log.Entry) error {
	// What a segment replaced was perhaps not shown.
	if r.known == nil || slices.ContainsFunc(entries, func(e log.Entry) bool { return e.Kind == account.KindSegment }) {
		return r.readAll()
	}
	for _, e := range entries {
		if err := r.known.Entry(e); err != nil {
			r.known = nil
			return err
		}
	}
	return nil
}

// readAll reads the whole log, archives too: what was appended behind the last entry read may lie in one by now.
func (r *Repairer) readAll() error {
	r.known = nil
	m, err := ReadMended(r.t.env, r.t.store, r.t.root, r.t.owner.Job)
	if err != nil {
		return fmt.Errorf("log of table %s: %w", r.t.root, err)
	}
	r.known = m
	return nil
}

// may refuses what is no longer to be repaired.
func (r *Repairer) may(f LostFile) error {
	if n := r.known.Superseded[f.Certificate.Hash]; n > 0 && !r.t.variant.RepairIgnoresRewind {
		return fault.New(fault.User, "%w: %s: the job went back to an older checkpoint (entry %d of the table's log), and its checkpoint %d does not count any more",
			ErrNothingToRepair, f.Final, n, f.Certificate.Checkpoint).WithHint("its rows come again, or are in %s", path.Join(r.t.root, SupersededDir, fmt.Sprint(n)))
	}
	if n := r.known.Removed[f.Final]; n > 0 {
		return fault.New(fault.User, "%w: %s was taken out of the table on purpose (amend, entry %d of the table's log)", ErrNothingToRepair, f.Final, n)
	}
	return nil
}

// append puts the repair entry behind all that stands. Claims and whatever else other processes append on the way are no reason to stop.
func (r *Repairer) append(f LostFile, x *Repairing) error {
	b, err := json.Marshal(x.Repair)
	if err != nil {
		return fmt.Errorf("encode %s: %w", account.KindRepair, err)
	}
	e, err := r.put(account.KindRepair, b, func() error { return r.may(f) })
	if err != nil {
		return err
	}
	x.N = e.N
	return nil
}

// place carries the staged replacement of x to the final place, and makes what stands there durable.
func (r *Repairer) place(f LostFile, x Repairing) (RepairOutcome, error) {
	if r.t.variant.RepairNewName {
		x.Final = path.Join(path.Dir(x.Final), "again-"+path.Base(x.Final))
	}
	want := account.File{Pending: x.Staged, Final: x.Final, Length: x.Length}
	if err := r.t.makeFolders([]account.File{want}); err != nil {
		return RepairOutcome{}, err
	}
	j := &judgement{f: &want, m: protocol.New(r.t.variant.File), repairs: func() []Repairing { return r.known.Repairs(f.Certificate.Hash, f.Final) },
		original: f.Length, reread: func() error { return r.catchUp(f) }}
	j.ask = j.m.Start()
	v, err := r.t.judge(j, false)
	if err != nil {
		return RepairOutcome{}, fmt.Errorf("repair %s: %w", f.Final, err)
	}
	failpoint.Hit(failpoint.RepairPlaced)
	if v == account.Lost {
		return RepairOutcome{}, r.gone(f, x)
	}
	if r.t.variant.RepairUnsynced {
		r.t.slog.Debug("not synced")
	} else if err := r.t.sync([]account.File{want}); err != nil {
		return RepairOutcome{}, err
	}
	failpoint.Hit(failpoint.RepairSynced)
	// A rewind that came meanwhile has moved it, or will.
	if err := r.catchUp(f); err != nil {
		return RepairOutcome{}, err
	}
	return r.outcome(f, x)
}

// gone is the error of a staged replacement that is in neither place, though no rewind stands in the log.
func (r *Repairer) gone(f LostFile, x Repairing) error {
	return fault.New(fault.Transient, "repair %s: its replacement %s is in neither place", f.Final, x.Staged).
		WithHint("somebody removed it; the table is as before. Find out who (staunch trace), and repair again: that makes another replacement")
}

// outcome tells what stands in the final place. The replacement of a repair is there if it is not where it was staged.
func (r *Repairer) outcome(f LostFile, x Repairing) (RepairOutcome, error) {
	n, err := r.length(x.Final)
	if err != nil {
		if err := r.catchUp(f); err != nil { // the rewind came this moment
			return RepairOutcome{}, err
		}
		return RepairOutcome{}, fault.New(fault.Transient, "repair %s: it was in its place and is there no more: %w", f.Final, err).
			WithHint("somebody removed it again; find out who (staunch trace), and repair again")
	}
	for _, y := range append([]Repairing{x}, r.known.Repairs(f.Certificate.Hash, f.Final)...) {
		if y.Length != n {
			continue
		}
		_, err := r.length(y.Staged)
		switch {
		case isMissing(err) && y.N == x.N:
			return RepairOutcome{RepairPlaced, y.N, n, y.Rows}, nil
		case isMissing(err):
			return RepairOutcome{RepairedBefore, y.N, n, y.Rows}, nil
		case err != nil:
			return RepairOutcome{}, err
		}
	}
	return RepairOutcome{CameBack, 0, n, f.Rows}, nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
