package drill

import (
	"errors"
	"io"
	"testing"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
)

// bench is a store with one file on its way, and a world in which one step of it goes wrong.
type bench struct {
	t     *testing.T
	inner fs.FS
	o     Orders
}

const (
	benchRoot = "/lake/scratch/run/table-1"
	pending   = benchRoot + "/_DUMP_TEMPORARY/cp-1/a.pending"
	final     = benchRoot + "/a.json"
)

func newBench(t *testing.T, strikes ...Strike) *bench {
	t.Helper()
	b := &bench{t: t, inner: mem.New().Client("bench"), o: Orders{Control: t.TempDir(), Guard: "/lake/scratch", Strikes: strikes,
		Places: Places{Tables: []Root{{URI: benchRoot, Ext: "json", Success: "_SUCCESS"}}, Checkpoints: "/lake/scratch/run/checkpoints"}}}
	if err := b.inner.MkdirAll(benchRoot + "/_DUMP_TEMPORARY/cp-1"); err != nil {
		t.Fatal(err)
	}
	f, err := b.inner.Create(pending)
	if err == nil {
		_, err = io.WriteString(f, "12345678")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

// live runs f in a life and reports whether it was killed.
func (b *bench) live(n int, f func(fs.FS)) (dead bool) {
	b.t.Helper()
	w, err := Open(b.o, n, inMemory{b.inner}, func() { panic(killed{}) })
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if r := recover(); r != nil {
			if _, dead = r.(killed); !dead {
				panic(r)
			}
		}
	}()
	s, _, err := w.Resolve("/lake")
	if err != nil {
		b.t.Fatal(err)
	}
	f(s)
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	return false
}

func (b *bench) there(p string) bool {
	_, err := b.inner.Stat(p)
	return err == nil
}

// TestFaults: what each fault does to a rename, and what it answers.
func TestFaults(t *testing.T) {
	step := Key{Op: OpRename, Place: PlacePending}
	for f, want := range map[Fault]struct {
		dead, moved bool
		answer      error
		// later: it has moved once everything late is carried out.
		later bool
	}{
		KillBefore:     {dead: true},
		KillAfter:      {dead: true, moved: true, later: true},
		Unanswered:     {answer: fs.ErrUnavailable},
		DoneUnanswered: {answer: fs.ErrUnavailable, moved: true, later: true},
		DoneFalse:      {answer: fs.ErrRefused, moved: true, later: true},
		DoneError:      {answer: errTold, moved: true, later: true},
		Late:           {answer: fs.ErrUnavailable, later: true},
		LateNextLife:   {dead: true, later: true},
		Twice:          {answer: fs.ErrNotExist, moved: true, later: true},
		Again:          {moved: true, later: true},
		Taken:          {answer: fs.ErrNotExist},
		FolderTaken:    {answer: fs.ErrNotExist},
	} {
		t.Run(string(f), func(t *testing.T) {
			b := newBench(t, Strike{Step: step, Nth: 1, Fault: f})
			var got error
			dead := b.live(0, func(s fs.FS) { got = s.Rename(pending, final) })
			if dead != want.dead || !errors.Is(got, want.answer) || b.there(final) != want.moved {
				t.Errorf("dead %v, answer %v, moved %v: want %+v", dead, got, b.there(final), want)
			}
			if err := Settle(b.o, inMemory{b.inner}); err != nil {
				t.Fatal(err)
			}
			if b.there(final) != want.later || b.there(pending) == (want.later || f.theft()) {
				t.Errorf("in the end: final %v, pending %v", b.there(final), b.there(pending))
			}
			if n, err := struckSo(b.o); n != 1 || err != nil {
				t.Errorf("struck %d times, %v", n, err)
			}
		})
	}
}

// TestLate: a late call comes behind some others of the same process, one of a dead process while the next one works, and a late delete once a
// file of that name is there again.
func TestLate(t *testing.T) {
	b := newBench(t, Strike{Step: Key{Op: OpRename, Place: PlacePending}, Nth: 1, Fault: Late})
	b.live(0, func(s fs.FS) {
		if err := s.Rename(pending, final); !errors.Is(err, fs.ErrUnavailable) {
			t.Fatal(err)
		}
		for i := range lateAfter {
			if b.there(final) {
				t.Errorf("done %d calls later", i)
			}
			if err := s.MkdirAll(benchRoot + "/x"); err != nil {
				t.Fatal(err)
			}
		}
		if !b.there(final) {
			t.Error("not done when it was due")
		}
	})
	b = newBench(t, Strike{Step: Key{Op: OpDelete, Place: PlacePending}, Nth: 1, Fault: LateNextLife})
	if !b.live(0, func(s fs.FS) { _ = s.Delete(pending) }) || !b.there(pending) {
		t.Fatal("it was to be killed with the call on its way")
	}
	b.live(1, func(s fs.FS) {
		if err := s.Delete(pending); err != nil {
			t.Fatal(err)
		}
		f, err := s.Create(pending)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil || !b.there(pending) {
			t.Fatal(err)
		}
		if _, err := s.Stat(final); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if b.there(pending) {
			t.Error("the delete of the dead process did not take the new file")
		}
	})
}

// TestHalfWritten: a process that is killed in a write leaves half of it.
func TestHalfWritten(t *testing.T) {
	b := newBench(t, Strike{Step: Key{Op: OpWrite, Place: PlacePending}, Nth: 2, Fault: KillAfter})
	p := pending + "2.pending"
	dead := b.live(0, func(s fs.FS) {
		f, err := s.Create(p)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := io.WriteString(f, "abcd"); err != nil {
				t.Fatal(err)
			}
		}
		t.Error("it lives")
	})
	got, err := fs.ReadFile(b.inner, p)
	if !dead || err != nil || string(got) != "abcdab" {
		t.Errorf("dead %v, %q, %v", dead, got, err)
	}
}

// TestGuard: nothing outside of the drill's folder is changed, whoever asks for it.
func TestGuard(t *testing.T) {
	b := newBench(t)
	if err := b.inner.MkdirAll("/lake/orders"); err != nil {
		t.Fatal(err)
	}
	b.live(0, func(s fs.FS) {
		_, create := s.Create("/lake/orders/a.json")
		for what, err := range map[string]error{"create": create, "rename out": s.Rename(pending, "/lake/orders/a.json"), "rename in": s.Rename("/lake/orders", final),
			"mkdir": s.MkdirAll("/lake/scratch2"), "delete": s.Delete("/lake/orders/a.json"), "rmdir": s.DeleteDir("/lake/orders")} {
			if fault.ClassOf(err) != fault.User {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	if !b.there("/lake/orders") || b.there("/lake/scratch2") || b.there("/lake/orders/a.json") || !b.there(pending) {
		t.Error("something was changed")
	}
}

// TestCleanUp: what a drill made is removed, and nothing beside it.
func TestCleanUp(t *testing.T) {
	b := newBench(t)
	if err := b.inner.MkdirAll("/lake/orders/dt=1"); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(inMemory{b.inner}, "/lake/scratch"); err != nil {
		t.Fatal(err)
	}
	if b.there("/lake/scratch") || !b.there("/lake/orders/dt=1") {
		t.Error("too much or too little was removed")
	}
	if err := makeScratch(inMemory{b.inner}, "/lake/orders"); fault.ClassOf(err) != fault.User {
		t.Errorf("a folder that is there as scratch: %v", err)
	}
}
