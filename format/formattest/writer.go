package formattest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"staunch/changelog"
	"staunch/format"
)

// WriterSuite says what a file format is tried with.
type WriterSuite struct {
	Factory format.Factory
	// Params want all columns, in order.
	Params format.Params
	// Read reads a file back, with the same columns.
	Read func(t testing.TB, file []byte) []*changelog.Column
}

// RunFileWriter runs the suite for file writers: what is written is read back, however rows are cut into calls and files are interleaved;
// the writer keeps nothing of its caller's memory; a failed write is never forgotten; sizes are right.
func RunFileWriter(t *testing.T, s WriterSuite) {
	f, err := s.Factory.FileWriter(s.Params)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("read back", func(t *testing.T) { s.readBack(t, f) })
	t.Run("cuts", func(t *testing.T) { s.cuts(t, f) })
	t.Run("interleaved", func(t *testing.T) { s.interleaved(t, f) })
	t.Run("copies", func(t *testing.T) { s.copies(t, f) })
	t.Run("failures", func(t *testing.T) { s.failures(t, f) })
	t.Run("sizes", func(t *testing.T) { s.sizes(t, f) })
}

func (s *WriterSuite) columns(rows int, seed uint64) []*changelog.Column {
	fields := make([]format.Field, len(s.Params.Wanted))
	for i, at := range s.Params.Wanted {
		fields[i] = s.Params.All[at]
	}
	return Columns(fields, rows, seed)
}

// footer goes into every file of write.
var footer = map[string]string{"k": "v"}

// write writes all rows in pieces of n.
func write(t testing.TB, f format.FileFormat, cols []*changelog.Column, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := f.Open(&out)
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < cols[0].N; from += n {
		if err := w.Write(cols, from, min(from+n, cols[0].N)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(footer); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(out.Len()) {
		t.Errorf("Size is %d after Finish, the file has %d bytes", w.Size(), out.Len())
	}
	return out.Bytes()
}

func (s *WriterSuite) check(t testing.TB, file []byte, want []*changelog.Column) {
	t.Helper()
	got := s.Read(t, file)
	if len(got) != len(want) {
		t.Fatalf("read %d columns, want %d", len(got), len(want))
	}
	for j := range want {
		if got[j].N != want[j].N {
			t.Fatalf("column %d: read %d rows, want %d", j, got[j].N, want[j].N)
		}
		for i := range want[j].N {
			if g, w := Text(got[j], i), Text(want[j], i); g != w {
				t.Fatalf("column %d (%s) row %d: read %s, want %s", j, want[j].Type, i, g, w)
			}
		}
	}
}

func (s *WriterSuite) readBack(t *testing.T, f format.FileFormat) {
	for _, rows := range []int{0, 1, 63, 64, 65, 3000} {
		for seed := range uint64(3) {
			cols := s.columns(rows, seed)
			s.check(t, write(t, f, cols, 1000), cols)
		}
	}
}

func (s *WriterSuite) cuts(t *testing.T, f format.FileFormat) {
	cols := s.columns(2000, 5)
	for _, n := range []int{1, 7, 64, 2000} {
		s.check(t, write(t, f, cols, n), cols)
	}
}

func (s *WriterSuite) interleaved(t *testing.T, f format.FileFormat) {
	const files = 5
	var outs [files]bytes.Buffer
	var writers [files]format.FileWriter
	var cols [files][]*changelog.Column
	for i := range files {
		cols[i] = s.columns(500, uint64(20+i))
		w, err := f.Open(&outs[i])
		if err != nil {
			t.Fatal(err)
		}
		writers[i] = w
	}
	for from := 0; from < 500; from += 50 {
		for i, w := range writers {
			if err := w.Write(cols[i], from, from+50); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, w := range writers {
		if err := w.Finish(nil); err != nil {
			t.Fatal(err)
		}
		s.check(t, outs[i].Bytes(), cols[i])
	}
}

func (s *WriterSuite) copies(t *testing.T, f format.FileFormat) {
	var out bytes.Buffer
	w, err := f.Open(&out)
	if err != nil {
		t.Fatal(err)
	}
	want := s.columns(300, 40)
	used := s.columns(300, 40)
	if err := w.Write(used, 0, 300); err != nil {
		t.Fatal(err)
	}
	for _, c := range used {
		for i := range c.Data {
			c.Data[i] = '#'
		}
		for i := range c.I64 {
			c.I64[i] = -1
		}
		for i := range c.I32 {
			c.I32[i] = -1
		}
		c.Reset()
	}
	if err := w.Finish(nil); err != nil {
		t.Fatal(err)
	}
	s.check(t, out.Bytes(), want)
}

// limited fails after n bytes, as a full disk does.
type limited struct{ n int }

var errFull = errors.New("no space left")

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.n {
		n := l.n
		l.n = 0
		return n, errFull
	}
	l.n -= len(b)
	return len(b), nil
}

// failures lets the file fail at many places: some call must return the error, and every later one an error too.
func (s *WriterSuite) failures(t *testing.T, f format.FileFormat) {
	cols := s.columns(2000, 60)
	size := len(write(t, f, cols, 500))
	for at := 0; at < size; at += max(1, size/40) {
		w, err := f.Open(&limited{at})
		if err != nil {
			if !errors.Is(err, errFull) {
				t.Fatalf("Open: %v does not wrap the file's error", err)
			}
			continue
		}
		failed := false
		for from := 0; from < 2000; from += 500 {
			err := w.Write(cols, from, from+500)
			if failed && err == nil {
				t.Fatalf("at byte %d: Write succeeded after a failed write", at)
			}
			if err != nil && !failed && !errors.Is(err, errFull) {
				t.Fatalf("at byte %d: %v does not wrap the file's error", at, err)
			}
			failed = failed || err != nil
		}
		if err := w.Finish(footer); err == nil {
			t.Fatalf("at byte %d of %d: no error from Finish", at, size)
		}
	}
}

// sizes: Size never shrinks by much and comes near the end's, and what is held is told.
func (s *WriterSuite) sizes(t *testing.T, f format.FileFormat) {
	cols := s.columns(20_000, 80)
	w, err := f.Open(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < 20_000; from += 100 {
		if err := w.Write(cols, from, from+100); err != nil {
			t.Fatal(err)
		}
		if w.Buffered() < 0 || w.Size() < 0 {
			t.Fatalf("Size %d, Buffered %d", w.Size(), w.Buffered())
		}
	}
	before := w.Size()
	if err := w.Finish(nil); err != nil {
		t.Fatal(err)
	}
	if after := w.Size(); before > 2*after || after > 2*before {
		t.Errorf("Size was %d before Finish and is %d after it", before, after)
	}
}
