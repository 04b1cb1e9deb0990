package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"staunch/account"
	"staunch/fs"
)

// Entry is a record with the process that it is of.
type Entry struct {
	Record
	*Header
	// N is the record's number.
	N int64
}

// Trace is what a job's trace holds.
type Trace struct {
	// Entries in the order of time, those of one process in their own order.
	Entries []Entry
	// Dir is the folder, with its store's name.
	Dir   string
	Files int
	// Torn files end in the middle of a record: their process was killed, or the file is being written. BadLines cannot be read, BadFiles have no
	// header, NewerFiles are of a version that this one does not read. Dropped records were not kept.
	Torn, BadLines, BadFiles, NewerFiles int
	Dropped                              int64
	// Missing counts numbers that no file holds: the oldest go first, so this is what was deleted by hand, or what a full store refused.
	Missing int64
}

// maxFile bounds what is read of a file that may be anything.
const maxFile = 64 << 20

// Read reads a job's trace. A folder that is not there is a trace without entries. The job may run meanwhile: files that are joined are read in
// either form.
func Read(store fs.FS, dir string) (*Trace, error) {
	for try := 1; ; try++ {
		t, joined, err := readOnce(store, dir)
		if err != nil {
			return nil, err
		}
		if !joined || try == maxTries {
			t.finish()
			return t, nil
		}
	}
}

// maxTries bounds how often a trace is read again because files of it were joined meanwhile.
const maxTries = 5

// readOnce reads what is listed. joined: a file was gone when it was to be read, and what replaced it may not be in the list.
func readOnce(store fs.FS, dir string) (t *Trace, joined bool, err error) {
	t = &Trace{Dir: fs.URI(store, dir)}
	infos, err := store.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return t, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("trace %s: %w", dir, err)
	}
	var files []file
	for _, i := range infos {
		if n, ok := ParseName(i.Name); ok && !i.Dir {
			files = append(files, file{n, i.Size})
		}
	}
	sortFiles(files)
	for _, f := range files {
		b, err := readFile(store, path.Join(dir, f.String()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			joined = true
			continue
		case err != nil:
			return nil, false, fmt.Errorf("trace %s: %w", dir, err)
		}
		t.Files++
		t.add(b)
	}
	return t, joined, nil
}

func readFile(store fs.FS, p string) ([]byte, error) {
	r, err := store.Open(p)
	if err != nil {
		return nil, err
	}
	if r.Size() > maxFile {
		return nil, errors.Join(fmt.Errorf("%s has %d bytes: no file of a trace", p, r.Size()), r.Close())
	}
	b := make([]byte, r.Size())
	n := 0
	for n < len(b) && err == nil {
		var k int
		k, err = r.Read(b[n:])
		n += k
	}
	if n == len(b) || errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], errors.Join(err, r.Close())
}

// add takes the records of one file.
func (t *Trace) add(b []byte) {
	first, rest, ok := bytes.Cut(b, []byte("\n"))
	h := &Header{}
	switch {
	case !ok && len(b) == 0:
		t.Torn++
		return
	case json.Unmarshal(first, h) != nil || h.Version == 0:
		t.BadFiles++
		return
	case h.Version > Version:
		t.NewerFiles++
		return
	}
	for n := h.First; len(rest) > 0; n++ {
		var l []byte
		if l, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
			t.Torn++
			return
		}
		x, err := decodeRecord(l)
		if err != nil {
			t.BadLines++
			continue
		}
		t.Entries = append(t.Entries, Entry{Record: x, Header: h, N: n})
	}
}

// finish drops what was read twice and puts the rest in order.
func (t *Trace) finish() {
	slices.SortStableFunc(t.Entries, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.N, b.N)) })
	t.Entries = slices.CompactFunc(t.Entries, func(a, b Entry) bool { return a.Epoch == b.Epoch && a.N == b.N })
	for i, e := range t.Entries {
		if e.Op == Dropped {
			t.Dropped += e.Files
		}
		if i > 0 && t.Entries[i-1].Epoch == e.Epoch && e.Epoch > 0 { // an operator's process begins anywhere
			t.Missing += e.N - t.Entries[i-1].N - 1
		}
	}
	slices.SortStableFunc(t.Entries, func(a, b Entry) int { return cmp.Compare(a.Time, b.Time) })
}

// Epochs are the attempts of which there are records, in order.
func (t *Trace) Epochs() (out []account.Epoch) {
	for _, e := range t.Entries {
		if i, have := slices.BinarySearch(out, e.Epoch); !have {
			out = slices.Insert(out, i, e.Epoch)
		}
	}
	return out
}
