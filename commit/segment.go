package commit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// segment replaces the entries before it once there are SegmentEvery certificates, so that a table with a checkpoint every few seconds has some
// hundred log objects a day. The former entries go, unchanged, into one archive file; the entry says where; then they are removed by exact
// number, oldest first.
func (t *Table) segment() error {
	every := SegmentEvery
	if t.variant.SegmentEvery > 0 {
		every = t.variant.SegmentEvery
	}
	if len(t.state.Certificates) < every || !t.state.ChainDone {
		return t.clean()
	}
	if c := t.state.Find(t.state.Chain.Certificate); c != nil && len(c.lost()) > 0 {
		return t.clean() // until the next checkpoint has its losses in its state, a restart asks this entry for them
	}
	arch, err := t.archive()
	if err != nil {
		return err
	}
	g := account.Segment{LogID: t.owner.LogID, Epoch: t.owner.Epoch, Chain: t.state.Chain, ChainLogID: t.state.ChainLogID, Complete: t.state.ChainComplete,
		Splits: slices.Sorted(maps.Keys(t.state.Splits)), Greatest: t.state.Greatest, Others: slices.Sorted(maps.Keys(t.state.Others)), Time: t.env.Now().UTC()}
	if t.state.Segment != nil {
		g.Archives = append(g.Archives, t.state.Segment.Archives...)
	}
	g.Archives = append(g.Archives, arch)
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
	return t.clean()
}

var errMoved = errors.New("the log moved on")

// archive writes the entries since the last segment (included) into one file.
func (t *Table) archive() (account.Archive, error) {
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
	sum := sha256.Sum256(all)
	a.SHA256, a.Length = hex.EncodeToString(sum[:]), int64(len(all))
	a.Name = fmt.Sprintf("archive-%d-%d-%s", a.From, a.To, env.RandomHex(t.env, 12))
	p := path.Join(t.dir, a.Name)
	f, err := t.store.Create(p)
	if err != nil {
		return a, fmt.Errorf("archive of table %s: %w", t.root, err)
	}
	_, err = f.Write(all)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = t.store.SyncDir(t.dir)
	}
	if err != nil {
		return a, fault.New(fault.Transient, "write %s: %w", p, err)
	}
	return a, nil
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
