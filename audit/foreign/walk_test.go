package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"staunch/env"
	"staunch/fs"
	"staunch/fs/local"
)

// many is a store with one folder of any number of small JSON files, which it makes when they are asked for.
type many struct {
	fs.FS
	files int
	// body gives a file's bytes.
	body func(i int) string
	// heap is the largest heap while it was listed.
	heap atomic.Uint64
}

func (m *many) URI(p string) string { return "many://" + p }

func (m *many) index(p string) int {
	var i int
	if _, err := fmt.Sscanf(path.Base(p), "part-%d", &i); err != nil {
		panic(err)
	}
	return i
}

func (m *many) Stat(p string) (fs.Info, error) {
	if p == "/t" {
		return fs.Info{Name: "t", Dir: true}, nil
	}
	if !strings.HasPrefix(path.Base(p), "part-") {
		return fs.Info{}, fs.ErrNotExist
	}
	return fs.Info{Name: path.Base(p), Size: int64(len(m.body(m.index(p))))}, nil
}

func (m *many) EachEntry(dir string, visit func(fs.Info) error) error {
	for i := range m.files {
		if i%20_000 == 0 {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			if s.HeapAlloc > m.heap.Load() {
				m.heap.Store(s.HeapAlloc)
			}
		}
		if err := visit(fs.Info{Name: fmt.Sprintf("part-%07d", i), Size: int64(len(m.body(i)))}); err != nil {
			return err
		}
	}
	return nil
}

func (m *many) List(dir string) ([]fs.Info, error) {
	return nil, errors.New("a folder of this size is not held in memory")
}

func (m *many) Open(p string) (fs.Reader, error) {
	return text{strings.NewReader(m.body(m.index(p)))}, nil
}

// text is an open file in memory.
type text struct{ *strings.Reader }

func newReader(b []byte) *strings.Reader { return strings.NewReader(string(b)) }

func (text) Close() error { return nil }

// TestManyFiles: 200,000 files in one folder, of which three have a fault, are read one by one and never held as a list.
func TestManyFiles(t *testing.T) {
	m := &many{files: 200_000}
	m.body = func(i int) string {
		switch i {
		case 77_000:
			return "" // its rows are missing
		case 99_999:
			return "{\"part\":3,\"off\":"
		case 150_000:
			i = 149_984 // of the same partition
		}
		return fmt.Sprintf("{\"part\":%d,\"off\":%d}\n{\"part\":%d,\"off\":%d}\n", i%8, i/8*2, i%8, i/8*2+1)
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	x := &table{t, "/t"}
	r := x.auditOn(m, Options{Format: JSON})
	x.want(r, "file-damaged part-0099999", "gap partition 0:19250..19251 37500..37501", "gap partition 7:24998..24999",
		"offsets-twice part-0149984 part-0150000 partition 0:37496..37497")
	if r.Files != 199_999 || r.Empty != 1 {
		t.Errorf("%+v", r)
	}
	if used := int64(m.heap.Load()) - int64(before.HeapAlloc); used > 200_000*300 {
		t.Errorf("the heap grew by %d bytes", used)
	}
}

// shifting is the local disk on which something happens at the n-th call of a kind.
type shifting struct {
	*local.FS
	mu           sync.Mutex
	opens, lists int
	onOpen       func(n int, p string)
	onList       func(n int)
}

func (s *shifting) Open(p string) (fs.Reader, error) {
	s.mu.Lock()
	s.opens++
	if s.onOpen != nil {
		s.onOpen(s.opens, p)
	}
	s.mu.Unlock()
	return s.FS.Open(p)
}

func (s *shifting) EachEntry(dir string, visit func(fs.Info) error) error {
	s.mu.Lock()
	s.lists++
	if s.onList != nil {
		s.onList(s.lists)
	}
	s.mu.Unlock()
	return s.FS.EachEntry(dir, visit)
}

// TestTableMoves: what happens to a table under the audit is said, and new files are read.
func TestTableMoves(t *testing.T) {
	fill := func() (*table, *shifting) {
		x := newTable(t)
		x.json("a", run(0, 0, 10))
		x.json("b", run(0, 10, 20))
		x.json("c", run(0, 30, 40))
		return x, &shifting{FS: local.New()}
	}
	remove := func(x *table, names ...string) {
		for _, n := range names {
			if err := os.Remove(filepath.Join(x.root, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("a file appears", func(t *testing.T) {
		x, s := fill()
		s.onOpen = func(n int, _ string) {
			if n == 3 {
				x.json("bb", run(0, 20, 30))
			}
		}
		r := x.auditOn(s, Options{})
		x.want(r)
		if r.Rows != 40 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a file appears behind the first listing", func(t *testing.T) {
		x, s := fill()
		s.onList = func(n int) {
			if n == 2 {
				x.json("d/aa", run(0, 20, 30))
			}
		}
		r := x.auditOn(s, Options{})
		x.want(r)
		if r.Appeared != 1 || r.Rows != 40 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("files never end", func(t *testing.T) {
		x, s := fill()
		s.onList = func(n int) { x.json(fmt.Sprintf("n%d", n), run(0, int64(30+10*n), int64(40+10*n))) }
		x.want(x.auditOn(s, Options{}), "gap partition 0:20..29", "table-moved")
	})
	t.Run("a file vanishes before it is read", func(t *testing.T) {
		x, s := fill()
		s.onOpen = func(_ int, p string) {
			if strings.HasSuffix(p, "/b") {
				remove(x, "b")
			}
		}
		x.want(x.auditOn(s, Options{}), "file-vanished b", "gap partition 0:10..29")
	})
	t.Run("compaction", func(t *testing.T) {
		x, s := fill()
		s.onList = func(n int) {
			if n == 2 {
				remove(x, "a", "b")
				x.json("compacted", run(0, 0, 20))
			}
		}
		r := x.auditOn(s, Options{})
		if r.Counts[TableMoved] != 1 || r.Verdict != Wrong || !strings.Contains(x.problems(r)[2], "table-moved") {
			t.Errorf("%s", x.problems(r))
		}
	})
	t.Run("a file is written to once", func(t *testing.T) {
		x, s := fill()
		once := false
		s.onOpen = func(_ int, p string) {
			if strings.HasSuffix(p, "/b") && !once {
				once = true
				x.json("b", run(0, 10, 30))
			}
		}
		x.want(x.auditOn(s, Options{Readers: 1}))
	})
	t.Run("a file is written to all the time", func(t *testing.T) {
		x, s := fill()
		s.onOpen = func(n int, p string) {
			if strings.HasSuffix(p, "/b") {
				x.json("b", run(0, 10, int64(30+n)))
			}
		}
		x.want(x.auditOn(s, Options{Readers: 1}), "file-changed b", "gap partition 0:10..29")
	})
}

func TestLinksAndFolders(t *testing.T) {
	x := newTable(t)
	x.json("a", run(0, 0, 10))
	for link, to := range map[string]string{"loop": ".", "file": "a", "none": "nothing"} {
		if err := os.Symlink(to, filepath.Join(x.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	x.want(x.audit(Options{}), "file-unreadable loop", "file-vanished none", "offsets-twice a file partition 0:0..9")
}

// away is a store that stops answering.
type away struct {
	*local.FS
	left atomic.Int64
}

func (a *away) Open(p string) (fs.Reader, error) {
	r, err := a.FS.Open(p)
	return cutOff{r, a}, err
}

func (a *away) EachEntry(dir string, visit func(fs.Info) error) error {
	if a.left.Add(-1) < 0 {
		return &fs.Error{Op: "list", Path: dir, Kind: fs.ErrUnavailable}
	}
	return a.FS.EachEntry(dir, visit)
}

type cutOff struct {
	fs.Reader
	a *away
}

func (c cutOff) ReadAt(b []byte, off int64) (int, error) {
	if c.a.left.Add(-1) < 0 {
		return 0, &fs.Error{Op: "read", Kind: fs.ErrUnavailable}
	}
	return c.Reader.ReadAt(b, off)
}

// TestStoreAway: a store that does not answer is an error at whatever call, never a finding and never a verdict.
func TestStoreAway(t *testing.T) {
	x := newTable(t)
	x.parquet("p", run(0, 0, 4000), shape{rowGroup: 500})
	x.json("d/j", run(0, 4000, 4010))
	x.json("d/k", run(0, 4005, 4010)) // so that files are read twice
	for n := int64(0); ; n++ {
		s := &away{FS: local.New()}
		s.left.Store(n)
		real := &env.Real{}
		r, err := Table(context.Background(), real, s, x.root, Options{Columns: Columns{Partition: "part", Offset: "off"}})
		real.Join()
		if err == nil {
			if n < 10 {
				t.Errorf("%d calls were enough", n)
			}
			x.want(r, "offsets-twice d/j d/k partition 0:4005..4009")
			return
		}
		if !errors.Is(err, fs.ErrUnavailable) || r != nil {
			t.Fatalf("after %d calls: %v, %+v", n, err, r)
		}
	}
}

func TestCancel(t *testing.T) {
	x := newTable(t)
	for i := range 20 {
		x.json(fmt.Sprint(i), run(0, int64(i), int64(i+1)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &shifting{FS: local.New(), onOpen: func(n int, _ string) {
		if n == 5 {
			cancel()
		}
	}}
	real := &env.Real{}
	_, err := Table(ctx, real, s, x.root, Options{Columns: Columns{Partition: "part", Offset: "off"}})
	real.Join()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

var (
	_ io.ReaderAt = text{}
	_ fs.Pager    = (*many)(nil)
)
