package mem

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/fs"
	"staunch/fs/fstest"
)

func TestConformance(t *testing.T) {
	for _, answer := range []bool{false, true} {
		t.Run(fmt.Sprintf("missing-parent-%v", answer), func(t *testing.T) {
			fstest.Run(t, func(t *testing.T) (fs.FS, string) {
				s := New()
				s.RenameMissingParent = answer
				c := s.Client("a")
				if err := c.MkdirAll("/dir"); err != nil {
					t.Fatal(err)
				}
				return c, "/dir"
			})
		})
	}
}

func TestRenameMissingParent(t *testing.T) {
	s := New()
	c := s.Client("a")
	fstest.Put(t, c, "/a", "")
	if err := c.Rename("/a", "/d/a"); !errors.Is(err, fs.ErrRefused) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := c.Rename("/b", "/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing source: %v", err)
	}
	s.RenameMissingParent = true
	if err := c.Rename("/a", "/d/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestEffects(t *testing.T) {
	own := errors.New("own error")
	for _, c := range []struct {
		effect Effect
		answer error
		tree   []string
	}{
		{Effect{}, nil, []string{"/b 1"}},
		{Effect{Kind: Fail}, fs.ErrUnavailable, []string{"/a 1"}},
		{Effect{Kind: Fail, Err: own}, own, []string{"/a 1"}},
		{Effect{Kind: Lost}, fs.ErrUnavailable, []string{"/b 1"}},
		{Effect{Kind: Lost, Err: own}, own, []string{"/b 1"}},
		{Effect{Kind: Refuse}, fs.ErrRefused, []string{"/a 1"}},
		{Effect{Kind: DoneRefuse}, fs.ErrRefused, []string{"/b 1"}},
	} {
		s := New()
		s.Fault = func(client string, op Op) Effect {
			if op.Kind == Rename && client == "a" && op.Path == "/a" && op.To == "/b" {
				return c.effect
			}
			return Effect{}
		}
		a := s.Client("a")
		fstest.Put(t, a, "/a", "1")
		if err := a.Rename("/a", "/b"); !errors.Is(err, c.answer) {
			t.Errorf("%+v: answered %v", c.effect, err)
		}
		want(t, fmt.Sprintf("%+v", c.effect), s.Tree(), c.tree...)
		late := s.Late()
		last := late[len(late)-1]
		if last.Done != (c.tree[0] == "/b 1") || !errors.Is(last.Answer, c.answer) {
			t.Errorf("%+v: recorded %+v", c.effect, last)
		}
	}
}

func TestLate(t *testing.T) {
	s := New()
	a := s.Client("a")
	fstest.Put(t, a, "/x", "1")
	for _, err := range []error{a.Rename("/x", "/y"), a.Delete("/y"), a.MkdirAll("/d"), a.DeleteDir("/d")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want(t, "before", s.Tree())
	const create, rename, del, mkdir, deldir = 0, 1, 2, 3, 4
	for _, c := range []struct {
		call int
		ok   error
		tree []string
	}{
		{rename, fs.ErrNotExist, nil},
		{create, nil, []string{"/x 0"}},
		{create, fs.ErrExist, []string{"/x 0"}},
		{mkdir, nil, []string{"/d/", "/x 0"}},
		{mkdir, nil, []string{"/d/", "/x 0"}},
		{rename, nil, []string{"/d/", "/y 0"}},
		{create, nil, []string{"/d/", "/x 0", "/y 0"}},
		{rename, fs.ErrExist, []string{"/d/", "/x 0", "/y 0"}},
		{del, nil, []string{"/d/", "/x 0"}},
		{del, fs.ErrNotExist, []string{"/d/", "/x 0"}},
		{deldir, nil, []string{"/x 0"}},
	} {
		if err := s.Repeat(c.call); !errors.Is(err, c.ok) {
			t.Errorf("repeat %v: %v", s.LateCall(c.call).Op, err)
		}
		want(t, s.Late()[c.call].Op.String(), s.Tree(), c.tree...)
	}
	if s.LateCount() != 5 {
		t.Errorf("%d calls recorded", s.LateCount())
	}
}

func TestKill(t *testing.T) {
	s := New()
	a, b := s.Client("a"), s.Client("b")
	w, err := a.Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "12")
	fstest.Put(t, a, "/g", "3")
	r, err := a.Open("/g")
	if err != nil {
		t.Fatal(err)
	}
	s.Before = func(client string, op Op) { // dies in the middle of the call
		if client == "a" && op.Kind == Rename {
			a.Kill()
		}
	}
	if err := a.Rename("/g", "/h"); !errors.Is(err, ErrDead) {
		t.Errorf("rename: %v", err)
	}
	_, werr := io.WriteString(w, "34")
	_, rerr := r.Read(make([]byte, 1))
	_, cerr := a.Create("/i")
	_, serr := a.Stat("/g")
	for i, err := range []error{werr, rerr, cerr, serr, w.Sync(), w.Close(), a.Delete("/g"), a.MkdirAll("/d"), a.SyncDir("/")} {
		if !errors.Is(err, ErrDead) {
			t.Errorf("%d: %v", i, err)
		}
	}
	want(t, "after the kill", s.Tree(), "/f 2", "/g 1")
	if got := fstest.Content(t, b, "/g"); got != "3" || b.Dead() {
		t.Errorf("the other process reads %q", got)
	}
	// The rename that was under way arrives later.
	late := s.Late()
	last := late[len(late)-1]
	if last.Op.Kind != Rename || last.Done || !errors.Is(last.Answer, ErrDead) {
		t.Fatalf("recorded %+v", last)
	}
	if err := s.Repeat(len(late) - 1); err != nil {
		t.Error(err)
	}
	want(t, "after the late rename", s.Tree(), "/f 2", "/h 1")
}

// outcomes runs make on new stores and gives every tree that a power cut can leave, sorted.
func outcomes(t *testing.T, make func(c *Client)) []string {
	t.Helper()
	var all []string
	for bits := 0; ; bits++ {
		s := New()
		make(s.Client("a"))
		asked := 0
		s.PowerCut(func() bool {
			asked++
			return bits>>(asked-1)&1 == 0
		})
		all = append(all, strings.Join(s.Tree(), ", "))
		if bits>>max(asked, 10) != 0 || bits > 4096 {
			break
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestPowerCut(t *testing.T) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	half := func(c *Client, path string, sync bool) { // 2 bytes synced, 4 written
		w, err := c.Create(path)
		must(err)
		io.WriteString(w, "12")
		if sync {
			must(w.Sync())
		}
		io.WriteString(w, "34")
		must(w.Close())
	}
	folders := func(c *Client) {
		must(c.MkdirAll("/s"))
		must(c.MkdirAll("/t"))
		fstest.Put(t, c, "/s/f", "1")
		must(c.SyncDir("/"))
		must(c.SyncDir("/s"))
	}
	for name, c := range map[string]struct {
		make func(c *Client)
		want []string
	}{
		"all durable": {func(c *Client) { folders(c); must(c.SyncDir("/t")) }, []string{"/s/, /s/f 1, /t/"}},
		"bytes": {func(c *Client) { half(c, "/f", true); must(c.SyncDir("/")) },
			[]string{"/f 2", "/f 3", "/f 4"}},
		"bytes never synced": {func(c *Client) { half(c, "/f", false); must(c.SyncDir("/")) },
			[]string{"/f 0", "/f 2", "/f 4"}},
		"name": {func(c *Client) { fstest.Put(t, c, "/f", "1") }, []string{"", "/f 1"}},
		"folder with a durable name in it": {func(c *Client) { must(c.MkdirAll("/d")); fstest.Put(t, c, "/d/f", "1"); must(c.SyncDir("/d")) },
			[]string{"", "/d/, /d/f 1"}},
		"removal":        {func(c *Client) { folders(c); must(c.Delete("/s/f")) }, []string{"/s/, /s/f 1, /t/", "/s/, /t/"}},
		"folder removal": {func(c *Client) { folders(c); must(c.DeleteDir("/t")) }, []string{"/s/, /s/f 1", "/s/, /s/f 1, /t/"}},
		"rename":         {func(c *Client) { folders(c); must(c.Rename("/s/f", "/t/g")) }, []string{"/s/, /s/f 1, /t/", "/s/, /s/f 1, /t/, /t/g 1", "/s/, /t/, /t/g 1"}},
		"rename, target synced": {func(c *Client) { folders(c); must(c.Rename("/s/f", "/t/g")); must(c.SyncDir("/t")) },
			[]string{"/s/, /s/f 1, /t/, /t/g 1", "/s/, /t/, /t/g 1"}},
		"rename, source synced": {func(c *Client) { folders(c); must(c.Rename("/s/f", "/t/g")); must(c.SyncDir("/s")) },
			[]string{"/s/, /s/f 1, /t/", "/s/, /t/, /t/g 1"}},
		"rename, both synced": {func(c *Client) {
			folders(c)
			must(c.Rename("/s/f", "/t/g"))
			must(c.SyncDir("/t"))
			must(c.SyncDir("/s"))
		}, []string{"/s/, /t/, /t/g 1"}},
		"rename in one folder, synced": {func(c *Client) { folders(c); must(c.Rename("/s/f", "/s/g")); must(c.SyncDir("/s")) },
			[]string{"/s/, /s/g 1, /t/"}},
		"rename into a folder that may be lost": {func(c *Client) {
			folders(c)
			must(c.MkdirAll("/n"))
			must(c.Rename("/s/f", "/n/g"))
			must(c.SyncDir("/n"))
		},
			[]string{"/n/, /n/g 1, /s/, /s/f 1, /t/", "/n/, /n/g 1, /s/, /t/", "/s/, /s/f 1, /t/"}},
		"two renames": {func(c *Client) { folders(c); must(c.Rename("/s/f", "/s/g")); must(c.Rename("/s/g", "/s/h")) },
			[]string{"/s/, /s/f 1, /s/g 1, /s/h 1, /t/", "/s/, /s/f 1, /s/g 1, /t/", "/s/, /s/f 1, /s/h 1, /t/", "/s/, /s/f 1, /t/", "/s/, /s/g 1, /s/h 1, /t/", "/s/, /s/g 1, /t/", "/s/, /s/h 1, /t/"}},
		"made, removed, made": {func(c *Client) { fstest.Put(t, c, "/f", "1"); must(c.Delete("/f")); fstest.Put(t, c, "/f", "22") },
			[]string{"", "/f 1", "/f 2"}},
	} {
		got := outcomes(t, c.make)
		if name == "two renames" { // any subset, never none
			if slices.Contains(got, "/s/, /t/") {
				t.Errorf("%s: lost everywhere", name)
			}
			for _, g := range got {
				if !slices.Contains(c.want, g) {
					t.Errorf("%s: %q", name, g)
				}
			}
			continue
		}
		slices.Sort(c.want)
		want(t, name, got, c.want...)
	}
}

func TestPowerCutEndsProcesses(t *testing.T) {
	s := New()
	a := s.Client("a")
	fstest.Put(t, a, "/f", "1")
	s.PowerCut(func() bool { return true })
	if _, err := a.Stat("/f"); !errors.Is(err, ErrDead) {
		t.Errorf("got %v", err)
	}
	b := s.Client("a")
	if got := fstest.Content(t, b, "/f"); got != "1" || s.LateCount() != 0 {
		t.Errorf("read %q, %d calls under way", got, s.LateCount())
	}
	s.Before = func(_ string, op Op) {
		if op.Kind == Rename {
			s.PowerCut(func() bool { return true })
		}
	}
	if err := b.Rename("/f", "/g"); !errors.Is(err, ErrDead) || s.LateCount() != 0 {
		t.Errorf("a call in the middle of a power cut: %v, %d calls under way", err, s.LateCount())
	}
	s.PowerCut(func() bool { t.Error("what survived one cut is durable"); return false })
}

// TestDeterministic runs the same seeded calls twice and compares the traces.
func TestDeterministic(t *testing.T) {
	run := func(seed int64) string {
		r := rand.New(rand.NewSource(seed))
		s := New()
		s.RenameMissingParent = true
		var trace strings.Builder
		s.Trace = func(l string) { trace.WriteString(l + "\n") }
		tick := 0
		s.Now = func() time.Time { tick++; return time.Unix(int64(tick), 0) }
		s.Fault = func(string, Op) Effect { return Effect{Kind: EffectKind(r.Intn(10) % 5)} }
		c := s.Client("a")
		for i := range 400 {
			p := func() string { return fmt.Sprintf("/%d/%d", r.Intn(3), r.Intn(4)) }
			switch r.Intn(9) {
			case 0, 1, 2:
				if w, err := c.Create(p()); err == nil {
					io.WriteString(w, strings.Repeat("x", r.Intn(9)))
					if r.Intn(2) == 0 {
						w.Sync()
					}
					w.Close()
				}
			case 3:
				c.Rename(p(), p())
			case 4:
				c.Delete(p())
			case 5:
				c.MkdirAll(fmt.Sprintf("/%d", r.Intn(3)))
			case 6:
				c.SyncDir(fmt.Sprintf("/%d", r.Intn(3)))
			case 7:
				if n := s.LateCount(); n > 0 {
					s.Repeat(r.Intn(n))
				}
			case 8:
				c.List("/1")
			}
			if i%100 == 99 {
				s.PowerCut(func() bool { return r.Intn(2) == 0 })
				c = s.Client("b")
			}
		}
		return trace.String() + strings.Join(s.Tree(), "\n")
	}
	for seed := range int64(20) {
		if a, b := run(seed), run(seed); a != b || strings.Count(a, "\n") < 300 {
			t.Fatalf("seed %d: two runs differ, or do nothing:\n%s", seed, a)
		}
	}
}

func TestTrace(t *testing.T) {
	s := New()
	var got []string
	s.Trace = func(l string) { got = append(got, l) }
	s.Fault = func(_ string, op Op) Effect {
		switch op.Kind {
		case Rename:
			return Effect{Kind: DoneRefuse}
		case Delete:
			return Effect{Kind: Fail}
		}
		return Effect{}
	}
	c := s.Client("p1")
	fstest.Put(t, c, "/a", "xyz")
	c.Rename("/a", "/b")
	c.Delete("/b")
	c.Stat("/a")
	s.Repeat(1)
	want(t, "trace", got, "p1 create /a: ok", "p1 write /a 3: ok", "p1 sync /a: ok", "p1 close /a: ok",
		"p1 rename /a to /b (done): refused without a reason", "p1 delete /b (not done): store does not answer", "p1 stat /a: does not exist",
		"late p1 rename /a to /b: does not exist")
}

func BenchmarkCommit(b *testing.B) {
	b.ReportAllocs()
	s := New()
	c := s.Client("a")
	c.MkdirAll("/t/p")
	c.MkdirAll("/f")
	data := make([]byte, 1000)
	for i := range b.N {
		src, dst := fmt.Sprintf("/t/p/%d", i), fmt.Sprintf("/f/%d", i)
		w, _ := c.Create(src)
		w.Write(data)
		w.Sync()
		w.Close()
		c.SyncDir("/t/p")
		c.Rename(src, dst)
		c.SyncDir("/f")
		c.SyncDir("/t/p")
		c.Delete(dst)
	}
}

// TestLag: a look that lags misses what others did meanwhile, and sees what this process did.
func TestLag(t *testing.T) {
	now := time.Unix(0, 0)
	s := New()
	s.Now = func() time.Time { return now }
	a, b := s.Client("a"), s.Client("b")
	fstest.Put(t, a, "/x", "1")
	fstest.Put(t, a, "/z", "1")
	now = now.Add(time.Minute)
	for _, err := range []error{a.Rename("/x", "/y"), a.Delete("/z")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	fstest.Put(t, b, "/own", "1")
	now = now.Add(time.Second)
	s.Fault = func(string, Op) Effect { return Effect{Lag: 2 * time.Second} }
	names := func(c *Client) (out []string) {
		list, err := c.List("/")
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			out = append(out, i.Name)
		}
		return out
	}
	want(t, "b lags", names(b), "own", "x", "z")
	want(t, "a sees what it did", names(a), "y")
	if _, err := b.Stat("/y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("y is seen too early: %v", err)
	}
	if _, err := b.Stat("/x"); err != nil {
		t.Errorf("x: %v", err)
	}
	now = now.Add(2 * time.Second)
	want(t, "later", names(b), "own", "y")
}

// TestLeases: a file has no length for others until its writer closed it, or died long ago.
func TestLeases(t *testing.T) {
	now := time.Unix(0, 0)
	s := New()
	s.Now = func() time.Time { return now }
	s.Leases = true
	a, b := s.Client("a"), s.Client("b")
	size := func() int64 {
		i, err := b.Stat("/x")
		if err != nil {
			t.Fatal(err)
		}
		return i.Size
	}
	f, err := a.Create("/x")
	if err == nil {
		_, err = f.Write([]byte("abc"))
	}
	if err != nil || size() != 0 {
		t.Errorf("%v, written: %d bytes", err, size())
	}
	if err := f.Sync(); err != nil || size() != 3 {
		t.Errorf("%v, synced: %d bytes", err, size())
	}
	if _, err := f.Write([]byte("de")); err != nil {
		t.Fatal(err)
	}
	a.Kill()
	if _ = f.Close(); size() != 3 {
		t.Errorf("dead: %d bytes", size())
	}
	now = now.Add(LeaseLimit)
	if size() != 3 || string(s.Content("/x")) != "abc" {
		t.Errorf("closed by the store: %d bytes, %q", size(), s.Content("/x"))
	}
}
