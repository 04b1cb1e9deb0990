package log

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/local"
	"staunch/fs/mem"
)

// TestOutage: every kind of call is answered by nothing, several times, in an append and in a read; both wait and succeed.
func TestOutage(t *testing.T) {
	for _, kind := range []mem.OpKind{mem.Create, mem.Write, mem.Sync, mem.Close, mem.Open, mem.Rename, mem.Stat, mem.Mkdir, mem.SyncDir, mem.List, mem.Delete} {
		for _, done := range []mem.EffectKind{mem.Fail, mem.Lost} {
			s := mem.New()
			left := 10
			s.Fault = func(_ string, op mem.Op) mem.Effect {
				if op.Kind == kind && left > 0 {
					left--
					return mem.Effect{Kind: done}
				}
				return mem.Effect{}
			}
			l := Open(&stillEnv{}, s.Client("a"), "/log", "")
			waits := 0
			l.OnWait = func(err error) error {
				waits++
				if !errors.Is(err, fs.ErrUnavailable) {
					t.Errorf("%v: waits for %v", kind, err)
				}
				return nil
			}
			read(t, l)
			if e := appendTo(t, l, "begin", "1"); e.N != 1 {
				t.Errorf("%v: %+v", kind, e)
			}
			if e := appendTo(t, l, "complete", "2"); e.N != 2 {
				t.Errorf("%v: %+v", kind, e)
			}
			if err := l.Remove(1); err != nil {
				t.Errorf("%v: %v", kind, err)
			}
			if got := texts(read(t, Open(&stillEnv{}, s.Client("b"), "/log", ""))); got != "2 complete 2\n" {
				t.Errorf("%v: read\n%s", kind, got)
			}
			if left > 0 && kind != mem.Stat && (kind != mem.Rename && kind != mem.Mkdir && kind != mem.Delete || done == mem.Fail) {
				t.Errorf("%v: the fault was met %d times", kind, 10-left)
			}
			if waits == 0 && kind != mem.Stat && (kind != mem.Rename || done == mem.Fail) {
				t.Errorf("%v: nobody was told of the waiting", kind)
			}
		}
	}
}

// TestStopWhileWaiting: the caller ends the wait; the error says whether the entry may stand.
func TestStopWhileWaiting(t *testing.T) {
	stop := fault.New(fault.Transient, "shutting down")
	for kind, unknown := range map[mem.OpKind]bool{mem.Create: false, mem.Sync: false, mem.Rename: true, mem.SyncDir: true, mem.List: true} {
		s := mem.New()
		l := Open(&stillEnv{}, s.Client("a"), "/log", "")
		appendTo(t, l, "begin", "")
		s.Fault = func(_ string, op mem.Op) mem.Effect {
			if op.Kind == kind {
				return mem.Effect{Kind: mem.Fail}
			}
			return mem.Effect{}
		}
		waits := 0
		l.OnWait = func(error) error {
			if waits++; waits == 3 {
				return stop
			}
			return nil
		}
		_, err := l.Append(Append{Kind: "complete"})
		if !errors.Is(err, stop) || errors.Is(err, ErrUnknown) != unknown || fault.ClassOf(err) != fault.Transient {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// TestDiskFull: nothing is appended, nothing left behind, and the error says so.
func TestDiskFull(t *testing.T) {
	for _, kind := range []mem.OpKind{mem.Create, mem.Write, mem.Sync, mem.Close} {
		s := mem.New()
		l := Open(&stillEnv{}, s.Client("a"), "/log", "")
		appendTo(t, l, "begin", "")
		full := true
		s.Fault = func(_ string, op mem.Op) mem.Effect {
			if full && op.Kind == kind {
				return mem.Effect{Kind: mem.Fail, Err: fs.ErrNoSpace}
			}
			return mem.Effect{}
		}
		_, err := l.Append(Append{Kind: "complete"})
		if !errors.Is(err, fs.ErrNoSpace) || errors.Is(err, ErrUnknown) || fault.ClassOf(err) != fault.Transient || !strings.Contains(err.Error(), "/log") {
			t.Errorf("%v: %v", kind, err)
		}
		if got := strings.Join(s.Tree(), " "); !strings.HasPrefix(got, "/log/ /log/1 ") || strings.Contains(got, "staged") {
			t.Errorf("%v: left %s", kind, got)
		}
		full = false
		if e := appendTo(t, l, "complete", ""); e.N != 2 {
			t.Errorf("%v: %+v", kind, e)
		}
	}
}

// TestReadBack: what is read back is not what was written; nothing is placed.
func TestReadBack(t *testing.T) {
	s := mem.New()
	l := Open(&stillEnv{}, torn{s.Client("a")}, "/log", "")
	_, err := l.Append(Append{Kind: "begin", Body: []byte("body")})
	if err == nil || !strings.Contains(err.Error(), "read back") || errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if got := fmt.Sprint(s.Tree()); got != "[/log/]" {
		t.Errorf("left %s", got)
	}
}

// torn is a store that loses the last byte of every write.
type torn struct{ fs.FS }

func (f torn) Create(path string) (fs.File, error) {
	w, err := f.FS.Create(path)
	if err != nil {
		return nil, err
	}
	return tornFile{w}, nil
}

type tornFile struct{ fs.File }

func (f tornFile) Write(b []byte) (int, error) {
	_, err := f.File.Write(b[:len(b)-1])
	return len(b), err
}

// TestCrashAnywhere kills a process before each of its calls; the next one reads a log of whole entries and goes on.
func TestCrashAnywhere(t *testing.T) {
	for at := 1; ; at++ {
		s := mem.New()
		a := s.Client("a")
		calls := 0
		s.Before = func(client string, _ mem.Op) {
			if client == "a" {
				if calls++; calls == at {
					a.Kill()
				}
			}
		}
		l := Open(&stillEnv{}, a, "/cp/log", "")
		_, err1 := l.Append(Append{Kind: "begin", Body: []byte("1")})
		_, err2 := l.Append(Append{Kind: "complete", Body: []byte("2")})
		b := Open(&stillEnv{drawn: 1 << 32}, s.Client("b"), "/cp/log", "")
		got := texts(read(t, b))
		if err1 == nil && !strings.HasPrefix(got, "1 begin 1\n") || err2 == nil && got != "1 begin 1\n2 complete 2\n" || !strings.HasPrefix("1 begin 1\n2 complete 2\n", got) {
			t.Errorf("killed at call %d (%v, %v), the next process reads\n%s", at, err1, err2, got)
		}
		if e := appendTo(t, b, "begin", ""); e.N != int64(strings.Count(got, "\n"))+1 {
			t.Errorf("killed at call %d: the next entry is %+v", at, e)
		}
		if err2 == nil {
			if at < 20 {
				t.Errorf("only %d calls", at)
			}
			return
		}
	}
}

// TestManyAppenders: several logs, one folder on disk, all at once.
func TestManyAppenders(t *testing.T) {
	dir := t.TempDir()
	const writers, each = 4, 10
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[int64]string{}
	for w := range writers {
		wg.Go(func() {
			l := Open(&env.Real{}, local.New(), dir, ".staunch")
			for i := range each {
				e, err := l.Append(Append{Kind: "certificate", Body: fmt.Appendf(nil, "%d/%d", w, i)})
				mu.Lock()
				if err != nil {
					t.Error(err)
				} else if won[e.N] != "" {
					t.Errorf("%d was won twice", e.N)
				} else {
					won[e.N] = string(e.Body)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	list := read(t, Open(&env.Real{}, local.New(), dir, ".staunch"))
	if len(list) != writers*each {
		t.Errorf("%d entries", len(list))
	}
	for i, e := range list {
		if e.N != int64(i+1) || won[e.N] != string(e.Body) {
			t.Errorf("%d holds %s, won by %s", e.N, e.Body, won[e.N])
		}
	}
}

// TestWrongKind: a kind that would break the first line is refused.
func TestWrongKind(t *testing.T) {
	for _, kind := range []string{"", "a b", "a\n", "A"} {
		s := mem.New()
		if _, err := Open(&stillEnv{}, s.Client("a"), "/log", "").Append(Append{Kind: kind}); err == nil || len(s.Tree()) > 0 {
			t.Errorf("%q: %v, %v", kind, err, s.Tree())
		}
	}
}

func FuzzDecode(f *testing.F) {
	good, _ := encode("complete", "00ff", []byte(`{"a":1}`))
	for _, s := range []string{"", "staunch-log 1 ", "staunch-log 1 a b c\n\n", string(good), string(good[:40])} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decode(b, "/p", 7)
		if err != nil {
			if fault.ClassOf(classify(err)) != fault.Damage {
				t.Errorf("%v is no damage", err)
			}
			return
		}
		if again, sum := encode(e.Kind, e.Nonce, e.Body); string(again) != string(b) || sum != e.SHA256 {
			t.Errorf("%q is accepted and not what would be written", b)
		}
	})
}

func BenchmarkAppendMem(b *testing.B) {
	s := mem.New()
	l := Open(&stillEnv{}, s.Client("a"), "/log", "")
	for i := range b.N {
		if _, err := l.Append(Append{Kind: "complete", Body: []byte(`{"id":1}`)}); err != nil {
			b.Fatal(err)
		}
		if i > 8 {
			l.Remove(int64(i - 8))
		}
	}
}

func BenchmarkAppendLocal(b *testing.B) {
	l := Open(&env.Real{}, local.New(), b.TempDir(), "")
	for i := range b.N {
		if _, err := l.Append(Append{Kind: "complete", Body: []byte(`{"id":1}`)}); err != nil {
			b.Fatal(err)
		}
		if i > 8 {
			l.Remove(int64(i - 8))
		}
	}
}
