package foreign

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"

	"staunch/fs"
)

// found is one data file of a listing.
type found struct {
	path string
	info fs.Info
}

// seen are the files of the table, as 16 bytes of their paths' hashes, with the number of the listing that had them last.
type seen map[[16]byte]uint8

func hashOf(p string) (k [16]byte) {
	sum := sha256.Sum256([]byte(p))
	copy(k[:], sum[:])
	return k
}

// walk is one listing of all folders.
type walk struct {
	ctx   context.Context
	store fs.FS
	// names: Kafka Connect's temporary folders are left out too.
	names  bool
	seen   seen
	turn   uint8
	hidden int64
	// again counts the files that an earlier listing had already.
	again int64
	// of reports whether a file is the table's; nil: all are.
	of func(p string, i fs.Info, turn uint8) bool
	// give takes a file that no earlier listing had.
	give func(found) error
	// bad takes a folder that cannot be listed.
	bad func(dir, why string)
}

// folder lists dir and, afterwards, the folders in it.
func (w *walk) folder(dir string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	var below []string
	err := fs.Each(w.store, dir, func(i fs.Info) error {
		p := path.Join(dir, i.Name)
		switch {
		case fs.Hidden(i) || w.names && i.Name == "+tmp":
			w.hidden++
			return nil
		case i.Dir && !i.Symlink:
			below = append(below, i.Name)
			return nil
		case w.of != nil && !w.of(p, i, w.turn):
			return nil
		}
		k := hashOf(p)
		switch turn, known := w.seen[k]; {
		case !known:
			w.seen[k] = w.turn
			return w.give(found{p, i})
		case turn != w.turn:
			w.seen[k] = w.turn
			w.again++
		}
		return nil
	})
	switch {
	case errors.Is(err, errStopped) || w.ctx.Err() != nil:
		return err
	case errors.Is(err, fs.ErrNotExist) && w.turn > 0 || err == nil:
	case errors.Is(err, fs.ErrUnavailable):
		return fmt.Errorf("list %s: %w", dir, err)
	case errors.Is(err, fs.ErrNotExist):
		w.bad(dir, "it vanished while the table was listed")
	default:
		w.bad(dir, err.Error())
	}
	for _, name := range below {
		if err := w.folder(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// errStopped ends a listing because a reader of files has failed.
var errStopped = errors.New("a reader failed")
