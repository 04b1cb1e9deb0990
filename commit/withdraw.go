package commit

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/commit/protocol"
	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/log"
)

// Withdrawn is the outcome of a rewind in one table.
type Withdrawn struct {
	Checkpoints int
	Moved       int64
	// Gone are the final names of files that were in no place.
	Gone []string
	// Declared are partitions that superseded checkpoints declared complete; their success files stay.
	Declared []string
	// Dir is where the files are now.
	Dir string
}

// Withdraw carries out the supersede that the table's log holds: every file of the superseded certificates leaves the table, and the log says so
// when that is durable. It may be repeated after any error or crash. nil: there is nothing to carry out.
func (t *Table) Withdraw() (*Withdrawn, error) {
	x := t.state.Superseding
	if x == nil {
		return nil, nil
	}
	out := &Withdrawn{Checkpoints: len(x.Certificates), Dir: path.Join(t.root, "_superseded", strconv.FormatInt(x.N, 10))}
	w := &withdrawal{t: t, out: out, declared: map[string]bool{}, replaced: map[string]bool{}, finals: map[string]bool{}, to: map[string]bool{}, from: map[string]bool{}}
	if err := t.superseded(x, w.certificate); err != nil {
		return nil, err
	}
	if err := w.amended(x.N); err != nil {
		return nil, err
	}
	if err := w.again(); err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.RewindMovedAll)
	if t.variant.WithdrawUnsynced {
		t.slog.Debug("not synced")
	} else if err := w.sync(); err != nil {
		return nil, err
	}
	out.Declared = slices.Sorted(maps.Keys(w.declared))
	out.Gone = slices.DeleteFunc(out.Gone, func(final string) bool { return w.replaced[final] })
	r := account.Rewound{LogID: t.owner.LogID, Epoch: t.owner.Epoch, Supersede: x.Hash, Moved: out.Moved, Gone: out.Gone, Time: t.env.Now().UTC()}
	if err := t.append(account.KindRewound, r, t.stillOurs, log.Fenced); err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.RewoundAfter)
	t.tidyDirs(slices.Sorted(maps.Keys(w.from)))
	return out, nil
}

// superseded visits the certificates that x takes out, the newest first: those in the log, then those in its archives.
// m has the repairs that stand behind the certificate, those of files that it names among them.
func (t *Table) superseded(x *Superseding, visit func(c *Certified, m []*Mended) error) error {
	left := map[string]bool{}
	for _, h := range x.Certificates {
		left[h] = true
	}
	behind := []*Mended{&t.state.Mended}
	some := func(certs []*Certified) error {
		for _, c := range slices.Backward(certs) {
			if left[c.Hash] {
				delete(left, c.Hash)
				if err := visit(c, behind); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := some(x.found); err != nil {
		return err
	}
	for _, a := range slices.Backward(t.archives()) {
		if len(left) == 0 {
			break
		}
		st, err := t.readArchive(a)
		if err != nil {
			return err
		}
		behind = append(behind, &st.Mended)
		if err := some(st.Certificates); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return fault.New(fault.Damage, "log %s: %d certificates that entry %d supersedes are in neither the log nor its archives", t.dir, len(left), x.N).
			WithHint("bring the folder's files back from a copy")
	}
	return nil
}

// withdrawal is one Withdraw under way.
type withdrawal struct {
	t        *Table
	out      *Withdrawn
	declared map[string]bool
	// replaced are final names of files whose replacement was moved, or that an amend had taken out.
	replaced map[string]bool
	// finals are the final names of all that was taken out so far; behind is what the log says of files behind the certificates, the newest first.
	finals map[string]bool
	behind []*Mended
	// nowhere are files to be looked for a second time.
	nowhere []*taking
	// to and from are the folders whose entries change.
	to, from map[string]bool
}

// taking is a file on its way out, or the replacement that a repair staged for it: that one leaves its two places under a name of its own, behind
// the file itself. [Else a repair that sleeps before its rename would put it into the table afterwards.]
type taking struct {
	f           *account.File
	replacement bool
	dir         string // under _superseded
	stem        string // of its names there
	m           protocol.Withdraw
	ask         protocol.Ask
	last        error
}

// certificate takes the files of one certificate out.
func (w *withdrawal) certificate(c *Certified, behind []*Mended) error {
	for p := range c.Committed {
		w.declared[p] = true
	}
	w.behind = behind
	files := slices.Clip(c.Files)
	for i := range c.Files {
		files = append(files, w.replacements(c, &c.Files[i], behind)...)
	}
	if err := w.makeFolders(files); err != nil {
		return err
	}
	for i := range c.Files {
		w.finals[c.Files[i].Final] = true
	}
	return w.move(files, len(c.Files), fmt.Sprintf("the certificate of checkpoint %d", c.Checkpoint))
}

// amended takes out the files that amends put in the place of superseded ones alone: what they hold comes again. One that holds rows of other files as
// well stays, and the audit tells of it.
func (w *withdrawal) amended(supersede int64) error {
	for _, m := range slices.Backward(w.behind) {
		for _, a := range m.Amends {
			if a.N > supersede || !a.of(w.finals) {
				continue
			}
			var files []account.File
			for _, p := range a.Removed {
				w.replaced[p] = true
			}
			for _, f := range a.Added {
				w.finals[f.Final] = true
				files = append(files, account.File{Pending: f.Final, Final: f.Final, Partition: f.Partition})
			}
			if err := w.makeFolders(files); err != nil {
				return err
			}
			if err := w.move(files, len(files), fmt.Sprintf("the amend of entry %d", a.N)); err != nil {
				return err
			}
		}
	}
	return nil
}

// of reports whether all that a removed is among these final paths.
func (a *Amended) of(finals map[string]bool) bool {
	return len(a.Removed) > 0 && !slices.ContainsFunc(a.Removed, func(p string) bool { return !finals[p] })
}

// move takes files out; those from first on are replacements. by is what names them.
func (w *withdrawal) move(files []account.File, first int, by string) error {
	for i := range files {
		f := &files[i]
		for _, p := range []string{f.Pending, f.Final} {
			if !strings.HasPrefix(p, w.t.root+"/") {
				return fault.New(fault.Damage, "table %s: %s names %s, which is outside: nothing was moved", w.t.root, by, p)
			}
		}
		k := &taking{f: f, dir: path.Join(w.out.Dir, f.Partition), stem: path.Base(f.Final), replacement: i >= first}
		if k.replacement {
			k.stem = replacementStem(f.Pending)
		}
		k.m.V = w.t.variant.File
		k.ask = k.m.Start()
		over, err := w.take(k, true)
		if err != nil {
			return err
		}
		if !over {
			w.nowhere = append(w.nowhere, k)
		}
		failpoint.Hit(failpoint.RewindMovedOne)
	}
	return nil
}

// replacements are those that repairs staged for a file, as files on their way to its final place.
func (w *withdrawal) replacements(c *Certified, f *account.File, behind []*Mended) (list []account.File) {
	if w.t.variant.RewindSkipsStaged {
		return nil
	}
	for _, m := range behind {
		for _, r := range m.Repairs(c.Hash, f.Final) {
			list = append(list, account.File{Pending: r.Staged, Final: f.Final, Partition: f.Partition})
		}
	}
	return list
}

// replacementStem is what the names of a staged replacement begin with under _superseded.
func replacementStem(staged string) string {
	return strings.TrimSuffix(path.Base(staged), account.PendingSuffix)
}

// again looks again for what was nowhere, after one pause for all of them, until nothing is left.
func (w *withdrawal) again() error {
	for len(w.nowhere) > 0 {
		env.Sleep(w.t.env, protocol.SecondLook)
		round := w.nowhere
		w.nowhere = nil
		for _, k := range round {
			k.ask = k.m.Next(protocol.OK)
			over, err := w.take(k, true)
			if err != nil {
				return err
			}
			if !over {
				w.nowhere = append(w.nowhere, k)
			}
		}
	}
	slices.Sort(w.out.Gone)
	return nil
}

// take carries k on until it is out. With postpone it stops where the wait before a second look would begin, and says that it is not over.
func (w *withdrawal) take(k *taking, postpone bool) (over bool, err error) {
	t, f, last := w.t, k.f, k.last
	name := func(suffix string) string {
		if t.variant.File.OneName {
			suffix = ""
		}
		n := k.stem + suffix
		if k.m.Name > 1 {
			n += "." + strconv.Itoa(k.m.Name)
		}
		return path.Join(k.dir, n+".superseded")
	}
	for ask := k.ask; ; {
		var a protocol.Answer
		switch ask {
		case protocol.MakeTaken:
			a, last = answer(t.store.MkdirAll(k.dir), last)
		case protocol.TakePending:
			a, last = answer(t.store.Rename(f.Pending, name(".pending")), last)
		case protocol.TakeFinal:
			a, last = answer(t.store.Rename(f.Final, name("")), last)
		case protocol.LookPending:
			_, serr := t.store.Stat(f.Pending)
			a, last = answer(serr, last)
		case protocol.LookFinal:
			_, serr := t.store.Stat(f.Final)
			a, last = answer(serr, last)
		case protocol.LookTaken:
			k.m.Name = 1
			a, last = answer(w.lookTaken(name), last)
		case protocol.ReadLog:
			if err := t.StillOurs(); err != nil {
				return false, err
			}
		case protocol.Wait:
			if postpone && k.m.Delay == protocol.SecondLook {
				k.last = last
				return false, nil
			}
			env.Sleep(t.env, k.m.Delay)
		case protocol.IsMoved:
			if w.replaced[f.Final] = w.replaced[f.Final] || k.replacement; !k.replacement {
				w.out.Moved++
			}
			return true, nil
		case protocol.IsGone:
			if !k.replacement {
				w.out.Gone = append(w.out.Gone, f.Final)
			}
			return true, nil
		default:
			return false, fault.New(fault.Transient, "move %s and %s to %s: %w", f.Pending, f.Final, k.dir, last)
		}
		ask = k.m.Next(a)
	}
}

// lookTaken looks for a file under both its first names.
func (w *withdrawal) lookTaken(name func(string) string) error {
	if _, err := w.t.store.Stat(name("")); err == nil {
		return nil
	}
	_, err := w.t.store.Stat(name(".pending"))
	return err
}

// makeFolders makes the folders that the files go to, and makes them durable before anything is moved there (see Table.makeFolders).
func (w *withdrawal) makeFolders(files []account.File) error {
	above := map[string]bool{}
	for i := range files {
		w.from[path.Dir(files[i].Final)], w.from[path.Dir(files[i].Pending)] = true, true
		d := path.Join(w.out.Dir, files[i].Partition)
		if w.to[d] {
			continue
		}
		w.to[d] = true
		if err := w.t.patient(func() error { return w.t.store.MkdirAll(d) }); err != nil {
			return fmt.Errorf("make folder %s: %w", d, err)
		}
		for len(d) > len(w.t.root) {
			d = path.Dir(d)
			above[d] = true
		}
	}
	return w.t.syncDirs(slices.Sorted(maps.Keys(above)))
}

// sync makes the moves durable: first the folders that the files went to, then those that they came from.
func (w *withdrawal) sync() error {
	if err := w.t.syncDirs(slices.Sorted(maps.Keys(w.to))); err != nil {
		return err
	}
	return w.t.syncDirs(slices.Sorted(maps.Keys(w.from)))
}
