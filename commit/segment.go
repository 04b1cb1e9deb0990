package commit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// JoinArchives is the number of archives of about one age that are joined into one: with a checkpoint every few seconds the folder stays at some
// hundred files for months, not one more every 128 checkpoints.
const JoinArchives = 8

// maxJoined bounds the bytes that are copied to join archives: it is done between two checkpoints.
const maxJoined = 64 << 20

// segment replaces the entries before it once there are SegmentEvery certificates, so that a table with a checkpoint every few seconds has some
// hundred log objects. The former entries go, unchanged, into one archive file; the entry says where; then they are removed by exact number, oldest
// first, and so are, by name, the archives that the new one has in it.
func (t *Table) segment() error {
	if len(t.state.Certificates) < t.segmentEvery() || !t.state.ChainDone || t.state.Superseding != nil {
		return t.clean()
	}
	if c := t.state.Find(t.state.Chain.Certificate); c != nil && len(c.lost()) > 0 {
		return t.clean() // until the next checkpoint has its losses in its state, a restart asks this entry for them
	}
	had := t.archives()
	keep := t.keepArchives(had)
	arch, err := t.archive(had[keep:])
	if fault.ClassOf(err) == fault.Damage { // what is damaged is left as it is, for the audit
		t.slog.Warn("archives of a table's log cannot be joined", "table", t.root, "error", err)
		keep = len(had)
		arch, err = t.archive(nil)
	}
	if err != nil {
		return err
	}
	g := account.Segment{LogID: t.owner.LogID, Epoch: t.owner.Epoch, Chain: t.state.Chain, ChainLogID: t.state.ChainLogID, Complete: t.state.ChainComplete,
		Splits: slices.Sorted(maps.Keys(t.state.Splits)), Greatest: t.state.Greatest, Others: slices.Sorted(maps.Keys(t.state.Others)), Time: t.env.Now().UTC()}
	g.Archives = append(slices.Clone(had[:keep]), arch)
	if c := t.state.Claim; c != nil {
		g.Claim = *c
	} else {
		g.Claim = t.claim()
	}
	last := t.state.LastN
	err = t.append(account.KindSegment, g, func() error {
		if err := t.stillOurs(); err != nil {
			return err
		}
		if t.state.LastN != last { // an entry came between: its archive would lack it
			return errMoved
		}
		return nil
	}, log.Fenced)
	if errors.Is(err, errMoved) {
		return nil // next time
	}
	if err != nil {
		return err
	}
	t.joined(had[keep:])
	return t.clean()
}

func (t *Table) segmentEvery() int {
	if t.variant.SegmentEvery > 0 {
		return t.variant.SegmentEvery
	}
	return SegmentEvery
}

// keepArchives gives how many of the archives stay as they are; the rest is joined with the next one. Archives have levels by their number of
// entries, each JoinArchives times the one before; the newest ones are joined once that many of a level stand at the end.
func (t *Table) keepArchives(list []account.Archive) int {
	join := JoinArchives
	if t.variant.JoinArchives > 0 {
		join = t.variant.JoinArchives
	}
	level := func(entries int64) (l int) {
		for n := entries / int64(2*t.segmentEvery()); n >= int64(join); n /= int64(join) {
			l++
		}
		return l
	}
	keep, entries, size := len(list), int64(0), int64(0)
	for at := 0; ; at++ { // the level that the new archive has reached
		i, of, bytes := keep, entries, size
		for i > 0 && keep-i < join-1 && level(list[i-1].To-list[i-1].From+1) == at { // not more: an older version has left hundreds of one level
			i--
			of += list[i].To - list[i].From + 1
			bytes += list[i].Length
		}
		if keep-i < join-1 || bytes > maxJoined {
			return keep
		}
		keep, entries, size = i, of, bytes
	}
}

// joined removes archives that the newest segment does not name any more, since a later one has their entries. What is left of them, after a
// crash, goes by `staunch clean`.
// INV: no log that counts names them: this process's segment stands, and with it every later one begins.
func (t *Table) joined(list []account.Archive) {
	for _, a := range list {
		if err := t.store.Delete(path.Join(t.dir, a.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.slog.Warn("could not remove an archive that another one replaced; it does no harm", "table", t.root, "archive", a.Name, "error", err)
		}
	}
}

var errMoved = errors.New("the log moved on")

// archive writes the archives that are to be joined and the entries since the last segment (included) into one file. An archive that is not as the
// log says is an error of class Damage.
func (t *Table) archive(join []account.Archive) (account.Archive, error) {
	var all []byte
	a := account.Archive{}
	for _, h := range t.state.kinds {
		if h.N < t.state.SegmentN {
			continue
		}
		b, err := fs.ReadFile(t.store, path.Join(t.dir, fmt.Sprintf("%d.staunch", h.N)))
		if err != nil {
			return a, fmt.Errorf("archive entry %d of table %s: %w", h.N, t.root, err)
		}
		if a.From == 0 {
			a.From = h.N
		}
		a.To = h.N
		all = append(all, fmt.Sprintf("%d %d\n", h.N, len(b))...)
		all = append(all, b...)
	}
	if len(join) > 0 {
		a.From = join[0].From
	}
	a.Name = fmt.Sprintf("archive-%d-%d-%s", a.From, a.To, env.RandomHex(t.env, 12))
	p := path.Join(t.dir, a.Name)
	f, err := t.store.Create(p)
	if err != nil {
		return a, fmt.Errorf("archive of table %s: %w", t.root, err)
	}
	sum := sha256.New()
	out := io.MultiWriter(f, sum)
	for _, old := range join {
		if err := t.copyArchive(out, old); err != nil {
			fs.GiveUp(f)
			t.joined([]account.Archive{a}) // half a file that nothing names
			return a, err
		}
		a.Length += old.Length
	}
	_, err = out.Write(all)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = t.store.SyncDir(t.dir)
	}
	if err != nil {
		return a, fault.New(fault.Transient, "write %s: %w", p, err)
	}
	a.SHA256, a.Length = hex.EncodeToString(sum.Sum(nil)), a.Length+int64(len(all))
	return a, nil
}

// copyArchive appends an archive to out, and checks it.
func (t *Table) copyArchive(out io.Writer, a account.Archive) error {
	p := path.Join(t.dir, a.Name)
	r, err := t.store.Open(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Damage, "archive of the log: %w", err)
	case err != nil:
		return fault.New(fault.Transient, "archive %s: %w", p, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fault.New(fault.Transient, "archive %s: %w", p, err)
	}
	if n != a.Length || hex.EncodeToString(sum.Sum(nil)) != a.SHA256 {
		return fault.New(fault.Damage, "archive %s: its length or hash is not the one that the log names", p)
	}
	return nil
}

// clean removes the entries below the newest segment, by exact number, oldest first.
func (t *Table) clean() error {
	keep := t.state.kinds[:0:0]
	for _, h := range t.state.kinds {
		if h.N >= t.state.SegmentN {
			keep = append(keep, h)
			continue
		}
		if err := t.log.Remove(h.N); err != nil {
			t.slog.Warn("could not remove a log entry that a segment replaced; it does no harm", "table", t.root, "entry", h.N, "error", err)
			keep = append(keep, h)
		}
	}
	t.state.kinds = keep
	return nil
}
