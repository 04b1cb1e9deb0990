package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"staunch/account"
	"staunch/env"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/log"
)

// rig is a recorder over a store in memory.
type rig struct {
	*Recorder
	store fs.FS
	env   *env.Real
}

func newRig(t testing.TB, store fs.FS, limit int64) *rig {
	t.Helper()
	e := &env.Real{}
	r := New(Options{Env: e, Store: store, Dir: "/ck/job/trace", Job: "job", Host: "h", User: "u", PID: 7, MaxBytes: limit, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(e.Join)
	return &rig{r, store, e}
}

func (r *rig) flush(t testing.TB) {
	t.Helper()
	if !r.Flush()(time.Minute) {
		t.Fatal("the flush did not end")
	}
	r.env.Join()
}

func (r *rig) read(t testing.TB) *Trace {
	t.Helper()
	got, err := Read(r.store, "/ck/job/trace")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (r *rig) files(t testing.TB) []fs.Info {
	t.Helper()
	l, err := r.store.List("/ck/job/trace")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return l
}

// TestLineIsItsRecord: whatever a path or an error holds, a record is read as it was written.
func TestLineIsItsRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "/a/b", "dt=\"x\"\\", "a\nb\x00\x1f", "日本"}))
		x := Record{Time: rapid.Int64().Draw(t, "time"), Took: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "us")) * time.Microsecond,
			Op: Op(rapid.SampledFrom([]string{"create", "rename", "verdict"}).Draw(t, "op")), Path: text.Draw(t, "path"), To: text.Draw(t, "to"),
			Checkpoint: account.CheckpointID(rapid.Int64Range(0, 1<<40).Draw(t, "cp")), Task: rapid.IntRange(-1, 500).Draw(t, "task"),
			Attempt: rapid.IntRange(0, 9).Draw(t, "attempt"), Bytes: rapid.Int64().Draw(t, "bytes"), Files: rapid.Int64().Draw(t, "files"),
			Outcome: rapid.SampledFrom([]Outcome{OK, Missing, Failed}).Draw(t, "outcome"), Error: text.Draw(t, "error"), Note: text.Draw(t, "note")}
		b := appendRecord(nil, &x)
		if bytes.Count(b, []byte("\n")) != 1 {
			t.Fatalf("not one line: %q", b)
		}
		got, err := decodeRecord(b)
		if err != nil || got != x {
			t.Fatalf("%+v\nbecame\n%+v (%v) by\n%s", x, got, err, b)
		}
	})
}

func TestFlushedRecordsAreRead(t *testing.T) {
	r := newRig(t, mem.New().Client("a"), 1<<20)
	r.Add(Record{Op: Open, Path: "/before", Task: NoTask})
	if !r.Flush()(0) || len(r.files(t)) != 0 {
		t.Fatal("something was written before the attempt had its number")
	}
	r.Begin(5)
	r.Attempt(2)
	for i := range 200 { // more flushes than small files are kept
		r.Add(Record{Op: Create, Path: fmt.Sprint("/f", i), Task: i, Checkpoint: 3})
		r.flush(t)
	}
	if n := len(r.files(t)); n > joinFiles+3 {
		t.Errorf("%d files", n)
	}
	got := r.read(t)
	if len(got.Entries) != 202 || got.Missing != 0 || got.Torn != 0 {
		t.Fatalf("%d entries, %d missing", len(got.Entries), got.Missing)
	}
	if e := got.Entries[201]; e.Path != "/f199" || e.Epoch != 5 || e.Attempt != 2 || e.Host != "h" || e.Job != "job" || e.N != 201 {
		t.Errorf("%+v", e)
	}
}

// TestBound: the oldest go, never what speaks of files that are not done; when nothing may go, new records are dropped and counted.
func TestBound(t *testing.T) {
	store := mem.New().Client("a")
	old := newRig(t, store, 0)
	old.Begin(1)
	old.Add(Record{Op: Create, Path: "/old", Task: 0})
	old.flush(t)
	const limit = 3 << 20
	r := newRig(t, store, limit)
	r.Begin(2)
	long := strings.Repeat("x", 1000)
	fill := func(n int) {
		for i := range n {
			r.Add(Record{Op: Create, Path: long, Task: 1, Checkpoint: 1})
			if i%200 == 0 {
				r.flush(t)
			}
		}
		r.flush(t)
	}
	size := func() (n int64) {
		for _, f := range r.files(t) {
			n += f.Size
		}
		return n
	}
	fill(20_000)
	if s := r.Stats(); s.Dropped == 0 || size() > 2*limit+2*joinBytes {
		t.Fatalf("nothing is done: %d dropped, %d bytes", s.Dropped, size())
	}
	if got := r.read(t); got.Entries[1].Path != "/old" || got.Entries[2].Op != Begin {
		t.Fatalf("what is not done went: first is %v", got.Entries[0].Record)
	}
	r.Triggered(1)
	r.Done()
	dropped := r.Stats().Dropped
	for range 2 {
		r.Triggered(2)
		r.Done()
		r.flush(t)
		fill(500)
	}
	if size() > limit+2*joinBytes {
		t.Errorf("%d bytes after done", size())
	}
	got := r.read(t)
	if got.Entries[1].Path == "/old" {
		t.Error("the oldest stayed")
	}
	if got.Dropped == 0 || r.Stats().Dropped > dropped+5 {
		t.Errorf("%d dropped were told, and %d of %d came later", got.Dropped, r.Stats().Dropped-dropped, dropped)
	}
}

// TestKilledProcessesLeaveFewFiles: small files of killed processes are bounded in number once this one has made good what they promised; a process
// that ends in order leaves one.
func TestKilledProcessesLeaveFewFiles(t *testing.T) {
	store := mem.New().Client("a")
	for e := range 30 {
		r := newRig(t, store, 1<<20)
		r.Begin(account.Epoch(e + 1))
		for range 50 {
			r.Add(Record{Op: Create, Path: "/x", Task: 0})
			r.flush(t)
		}
	}
	r := newRig(t, store, 1<<20)
	before := len(r.files(t))
	r.Begin(31)
	r.flush(t)
	if n := len(r.files(t)); n != before+1 {
		t.Errorf("%d of %d files before anything is done", n, before)
	}
	r.Triggered(1)
	r.Done()
	r.flush(t)
	if n := len(r.files(t)); n > maxFiles || n < maxFiles/2 {
		t.Errorf("%d files", n)
	}
	got := r.read(t)
	if first := got.Entries[0].Epoch; first == 1 || got.Entries[len(got.Entries)-1].Epoch != 31 {
		t.Errorf("the first is of epoch %d", first)
	}
	ordered := newRig(t, mem.New().Client("a"), 1<<20)
	ordered.Begin(1)
	for range 50 {
		ordered.Add(Record{Op: Create, Path: "/x", Task: 0})
		ordered.flush(t)
	}
	ordered.Close() // the process may end at once
	if n := len(ordered.files(t)); n != 1 || len(ordered.read(t).Entries) != 52 {
		t.Errorf("%d files after an end in order", n)
	}
}

// joining is a store in which the listed files are joined by the time they are read, once.
type joining struct {
	fs.FS
	after func()
}

func (s *joining) List(dir string) ([]fs.Info, error) {
	l, err := s.FS.List(dir)
	if s.after != nil {
		s.after()
		s.after = nil
	}
	return l, err
}

// TestReadWhileFilesAreJoined: records in files that are joined while a reader looks at them are read all the same.
func TestReadWhileFilesAreJoined(t *testing.T) {
	r := newRig(t, mem.New().Client("a"), 1<<20)
	r.Begin(1)
	for range 20 {
		r.Add(Record{Op: Create, Path: "/x", Task: 0})
		r.flush(t)
	}
	got, err := Read(&joining{r.store, func() { r.Close(); r.env.Join() }}, "/ck/job/trace")
	if err != nil || len(got.Entries) != 22 || got.Missing != 0 {
		t.Errorf("%d entries, %d missing, %v", len(got.Entries), got.Missing, err)
	}
}

// refusing is a store that takes nothing while away.
type refusing struct {
	fs.FS
	mu   sync.Mutex
	away bool
}

func (s *refusing) Create(p string) (fs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, fs.ErrUnavailable
	}
	return s.FS.Create(p)
}

// TestStoreAway: the trace of an outage comes when the store is back; nobody waits for it.
func TestStoreAway(t *testing.T) {
	s := &refusing{FS: mem.New().Client("a"), away: true}
	r := newRig(t, s, 1<<20)
	r.Begin(1)
	for range 10 {
		r.Add(Record{Op: Rename, Path: "/a", To: "/b", Task: NoTask})
		r.flush(t)
	}
	if st := r.Stats(); st.Failures < 10 || len(r.files(t)) != 0 {
		t.Fatalf("%+v", st)
	}
	s.mu.Lock()
	s.away = false
	s.mu.Unlock()
	r.Close()
	r.env.Join()
	if got := r.read(t); len(got.Entries) != 12 || got.Entries[11].Op != End {
		t.Errorf("%d entries", len(got.Entries))
	}
}

// TestDamagedFiles: what is torn, foreign or newer is counted, and the rest is read.
func TestDamagedFiles(t *testing.T) {
	store := mem.New().Client("a")
	r := newRig(t, store, 1<<20)
	r.Begin(1)
	r.Add(Record{Op: Create, Path: "/x", Task: 0})
	r.flush(t)
	put := func(name, text string) {
		f, err := store.Create(path.Join("/ck/job/trace", name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rand := "0123456789abcdef01234567"
	put("1-90-92-"+rand+".jsonl", "{\"staunch_trace\":1,\"epoch\":1,\"from\":90,\"to\":92}\n{\"t\":5,\"op\":\"close\"}\n{\"t\":6,\"op\":")
	put("1-100-101-"+rand+".jsonl", "")
	put("1-101-102-"+rand+".jsonl", "what is this\n")
	put("1-102-103-"+rand+".jsonl", "{\"staunch_trace\":2,\"epoch\":1}\n?\n")
	put("1-103-105-"+rand+".jsonl", "{\"staunch_trace\":1,\"epoch\":1,\"from\":103,\"to\":105}\n{\"op\":\"close\"}\n{\"t\":7,\"op\":\"list\",\"later\":1}\n")
	put("notes.txt", "by hand")
	got := r.read(t)
	if got.Torn != 2 || got.BadFiles != 1 || got.NewerFiles != 1 || got.BadLines != 1 || len(got.Entries) != 4 || got.Missing == 0 {
		t.Errorf("%+v, %d entries", got, len(got.Entries))
	}
}

// TestWrappedStore: each operation is one record with its outcome; a log entry is told by its kind.
func TestWrappedStore(t *testing.T) {
	r := newRig(t, mem.New().Client("a"), 1<<20)
	r.Begin(1)
	data := mem.New().Client("b")
	sc := &Scope{Task: 3, Looks: true}
	sc.For(9)
	w := r.Store(data, sc)
	if err := w.MkdirAll("/t/d"); err != nil {
		t.Fatal(err)
	}
	f, err := w.Create("/t/d/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.Rename("/t/d/f", "/t/g"), w.Delete("/t/g")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{w.Rename("/t/d/f", "/t/g"), w.Delete("/t/g")} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if _, err := w.Stat("/t/g"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	l := log.Open(r.env, w, "/t/log", ".staunch")
	if _, err := l.Append(log.Append{Kind: "certificate", Body: []byte("{}"), OnTaken: func(log.Entry) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	g, err := w.Create("/t/h")
	if err != nil {
		t.Fatal(err)
	}
	fs.GiveUp(g)
	r.flush(t)
	var lines []string
	for _, e := range r.read(t).Entries[1:] {
		if e.Op == Mkdir && e.Path != "/t/d" || e.Op == Stat && e.Path != "/t/g" {
			continue // the log's own
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %d %s%s", e.Op, e.Path, e.To, e.Bytes, e.Outcome, e.Note))
		if e.Checkpoint != 9 || e.Task != 3 || e.Took < 0 {
			t.Errorf("%+v", e)
		}
	}
	want := "mkdir /t/d  0 ok|create /t/d/f  0 ok|close /t/d/f  5 ok|rename /t/d/f /t/g 0 ok|delete /t/g  0 ok|rename /t/d/f /t/g 0 missing|delete /t/g  0 missing|" +
		"stat /t/g  0 missing|append /t/log/1.staunch  0 okcertificate|create /t/h  0 ok|abort /t/h  0 ok"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var none *Recorder
	if none.Store(data, sc) != fs.FS(data) {
		t.Error("a store is wrapped for nobody")
	}
	none.Add(Record{})
	none.Begin(1)
	none.Triggered(1)
	none.Done()
	none.Close()
	if !none.Flush()(0) {
		t.Error("nothing to wait for")
	}
}

func example() Record {
	const p = "/warehouse/orders/_DUMP_TEMPORARY/cp-4608/task-2/part-1c168adb-2-4608-7-0-65204daf1a6b0b56a08b16dc.parquet.pending"
	return Record{Time: 1764451200123456, Took: 1234 * time.Microsecond, Op: Rename, Path: p, To: "/warehouse/orders/dt=2026-01-01/part-1c168adb-2-4608-7-0-65204daf1a6b0b56a08b16dc.parquet",
		Checkpoint: 4608, Task: 2, Attempt: 1}
}

// BenchmarkRecord compares the line with a binary form, in time and size.
func BenchmarkRecord(b *testing.B) {
	x := example()
	b.Run("line", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			buf = appendRecord(buf[:0], &x)
		}
		b.ReportMetric(float64(len(buf)), "bytes")
	})
	b.Run("binary", func(b *testing.B) {
		var buf []byte
		seen := map[string]uint64{}
		path := func(p string) {
			dir, name := path.Split(p)
			id, ok := seen[dir]
			if !ok {
				id = uint64(len(seen))
				seen[dir] = id
				buf = append(binary.AppendUvarint(buf, uint64(len(dir))), dir...)
			}
			buf = binary.AppendUvarint(buf, id)
			buf = append(binary.AppendUvarint(buf, uint64(len(name))), name...)
		}
		for b.Loop() {
			buf = buf[:0]
			buf = binary.AppendUvarint(buf, uint64(x.Time))
			buf = binary.AppendUvarint(buf, uint64(x.Took.Microseconds()))
			buf = append(buf, 7, 0)
			path(x.Path)
			path(x.To)
			for _, n := range []int64{int64(x.Checkpoint), int64(x.Task), int64(x.Attempt), x.Bytes, x.Files} {
				buf = binary.AppendVarint(buf, n)
			}
		}
		b.ReportMetric(float64(len(buf)), "bytes")
	})
}

// TestNoAllocation: recording costs no allocation once the buffer has grown.
func TestNoAllocation(t *testing.T) {
	r := New(Options{Env: &env.Real{}, Store: mem.New().Client("a"), Dir: "/x", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	x := example()
	r.buf = make([]byte, 0, memoryBytes)
	if n := testing.AllocsPerRun(1000, func() { r.Add(x) }); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}
