package commit

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
)

// clock is the environment with a clock of its own.
type clock struct {
	env.Real
	now time.Time
}

func (c *clock) Now() time.Time { return c.now }

// chain commits certificates without files, each with a range of one offset, so that nothing but the log changes.
type chain struct {
	t     *testing.T
	env   *clock
	store fs.FS
	owner Owner
	table *Table
	end   account.ChainEnd
	id    account.CheckpointID
}

func newChain(t *testing.T, store fs.FS, v Variant) *chain {
	t.Helper()
	c := &chain{t: t, env: &clock{now: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)}, store: store, owner: Owner{Job: "j", LogID: "l", LogPath: "/ck/j/log", Epoch: 1}}
	c.table = Open(c.env, store, "/t", c.owner, v, slog.New(slog.DiscardHandler))
	if err := c.table.Claim(nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// commit is the next checkpoint; partitions are committed with it.
func (c *chain) commit(partitions ...string) error {
	c.id++
	o := int64(c.id)
	res, err := c.table.Commit(account.Certificate{LogID: "l", Job: "j", Epoch: c.owner.Epoch, Checkpoint: c.id, Complete: fmt.Sprint(c.id), Partitions: partitions,
		Ranges: []account.Range{{Split: "e-0", From: o, To: o + 1, Filtered: 1}}}, c.end)
	if err != nil {
		return err
	}
	c.end = res.Certificate
	if len(partitions) > 0 {
		return c.table.PartitionsCommitted(res.Certificate, partitions)
	}
	return nil
}

func (c *chain) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// objects are the names in the log's folder.
func (c *chain) objects() []string {
	c.t.Helper()
	list, err := c.store.List(Dir("/t", "j"))
	c.must(err)
	var out []string
	for _, i := range list {
		out = append(out, i.Name)
	}
	return out
}

// certificates reads all of them, through archives.
func (c *chain) certificates() (n int, err error) {
	_, err = History(c.env, c.store, "/t", "j", func(r *Recorded) error {
		n++
		if r.Checkpoint != account.CheckpointID(n) || r.Done == nil {
			return fmt.Errorf("certificate %d is of checkpoint %d, done: %v", n, r.Checkpoint, r.Done != nil)
		}
		return nil
	})
	return n, err
}

// TestObjectsOfADay: a job with a checkpoint every five seconds, and a partition committed every hour, has fewer than 300 objects in its log's folder
// at any time of its first day.
func TestObjectsOfADay(t *testing.T) {
	c := newChain(t, mem.New().Client("a"), Variant{})
	most := 0
	const day = 24 * 3600 / 5
	for i := range day {
		c.env.now = c.env.now.Add(5 * time.Second)
		var partitions []string
		if i%720 == 719 {
			partitions = []string{fmt.Sprint("hour=", i/720)}
		}
		c.must(c.commit(partitions...))
		if i%128 > 124 {
			most = max(most, len(c.objects()))
		}
	}
	names := c.objects()
	archives := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, "archive-") })
	t.Logf("%d checkpoints; most objects at once: %d; now %d, %d of them archives", day, most, len(names), len(archives))
	if most >= 300 {
		t.Errorf("%d objects", most)
	}
	if len(archives) != len(c.table.state.Segment.Archives) {
		t.Errorf("%d archives stand, %d are named", len(archives), len(c.table.state.Segment.Archives))
	}
	if n, err := c.certificates(); n != day || err != nil {
		t.Errorf("%d certificates, %v", n, err)
	}
	// The chain can be walked to its beginning, through the segments inside joined archives.
	n := 0
	c.must(c.table.walk(func(*Certified) (bool, error) { n++; return true, nil }))
	if n != day {
		t.Errorf("%d certificates in the chain", n)
	}
}

// TestJoinedBehindOld: many archives of a version that joined none do not keep the new ones from being joined.
func TestJoinedBehindOld(t *testing.T) {
	c := newChain(t, mem.New().Client("a"), Variant{SegmentEvery: 2, JoinArchives: 1 << 20})
	for range 60 {
		c.must(c.commit())
	}
	old := len(c.table.state.Segment.Archives)
	c.table = Open(c.env, c.store, "/t", c.owner, Variant{SegmentEvery: 2, JoinArchives: 4}, slog.New(slog.DiscardHandler))
	c.must(c.table.Refresh())
	for range 60 {
		c.must(c.commit())
	}
	if now := len(c.table.state.Segment.Archives); old < 25 || now > old+8 {
		t.Errorf("%d archives before, %d now", old, now)
	}
	if n, err := c.certificates(); n != 120 || err != nil {
		t.Errorf("%d certificates, %v", n, err)
	}
}

// TestJoinedLevels: archives are joined at each level, and one that is damaged is left as it is.
func TestJoinedLevels(t *testing.T) {
	store := mem.New().Client("a")
	c := newChain(t, store, Variant{SegmentEvery: 2, JoinArchives: 2})
	counts := map[int]bool{}
	for range 64 {
		c.must(c.commit())
		if g := c.table.state.Segment; g != nil {
			counts[len(g.Archives)] = true
			if g.Archives[0].From != 1 {
				t.Fatalf("%+v", g.Archives)
			}
			for i, a := range g.Archives[1:] {
				if a.From != g.Archives[i].To+1 {
					t.Fatalf("%+v", g.Archives)
				}
			}
		}
	}
	if most := slices.Max(slices.Collect(func(yield func(int) bool) {
		for n := range counts {
			if !yield(n) {
				return
			}
		}
	})); most > 6 || !counts[1] {
		t.Errorf("numbers of archives: %v", counts)
	}
	last := c.table.state.Segment.Archives[len(c.table.state.Segment.Archives)-1]
	p := path.Join(Dir("/t", "j"), last.Name)
	b, err := fs.ReadFile(store, p)
	c.must(err)
	b[len(b)/2] ^= 1
	c.must(store.Delete(p))
	f, err := store.Create(p)
	c.must(err)
	_, err = f.Write(b)
	c.must(errors.Join(err, f.Close()))
	for range 12 {
		c.must(c.commit())
	}
	if !slices.ContainsFunc(c.table.state.Segment.Archives, func(a account.Archive) bool { return a == last }) {
		t.Errorf("the damaged archive is not named any more: %+v", c.table.state.Segment.Archives)
	}
	if _, err := c.certificates(); fault.ClassOf(err) != fault.Damage {
		t.Errorf("the damage is not told: %v", err)
	}
	if named, stand := len(c.table.state.Segment.Archives), strings.Count(strings.Join(c.objects(), " "), "archive-"); named != stand {
		t.Errorf("%d archives stand, %d are named", stand, named)
	}
}

// busy is a store in which a job goes on each time somebody opens an archive, up to a number of times.
type busy struct {
	fs.FS
	left int
	goes func()
}

func (b *busy) Open(p string) (fs.Reader, error) {
	if strings.HasPrefix(path.Base(p), "archive-") && b.left > 0 {
		b.left--
		b.goes()
	}
	return b.FS.Open(p)
}

// TestJoinedMeanwhile: who reads a log while a job joins its archives gets every entry once, in order.
func TestJoinedMeanwhile(t *testing.T) {
	c := newChain(t, mem.New().Client("a"), Variant{SegmentEvery: 2, JoinArchives: 2})
	for range 21 {
		c.must(c.commit())
	}
	reader := *c
	b := &busy{FS: c.store, left: 20, goes: func() { c.must(c.commit()) }}
	reader.store = b
	n, err := reader.certificates()
	if n < 21 || err != nil || b.left == 20 {
		t.Errorf("%d certificates, %v; %d left", n, err, b.left)
	}
	b.left = 20
	if _, err := ReadTakenOut(c.env, b, "/t", "j"); err != nil || b.left == 20 {
		t.Error(err, b.left)
	}
}

// failing is a store that ends the process before its n-th call that changes something.
type failing struct {
	fs.FS
	left int
}

var errKilled = errors.New("killed")

func (f *failing) call(do func() error) error {
	if f.left--; f.left < 0 {
		return errKilled
	}
	return do()
}

func (f *failing) Create(p string) (h fs.File, err error) {
	err = f.call(func() error { h, err = f.FS.Create(p); return err })
	return &failingFile{h, f}, err
}
func (f *failing) Rename(a, b string) error { return f.call(func() error { return f.FS.Rename(a, b) }) }
func (f *failing) Delete(p string) error    { return f.call(func() error { return f.FS.Delete(p) }) }
func (f *failing) SyncDir(p string) error   { return f.call(func() error { return f.FS.SyncDir(p) }) }

type failingFile struct {
	fs.File
	f *failing
}

func (h *failingFile) Write(b []byte) (n int, err error) {
	err = h.f.call(func() error { n, err = h.File.Write(b[:len(b)/2]); return err })
	if err == nil {
		err = h.f.call(func() error { m, err := h.File.Write(b[len(b)/2:]); n += m; return err })
	}
	return n, err
}
func (h *failingFile) Sync() error { return h.f.call(h.File.Sync) }

// TestJoinedKilled: a process that dies at any step of joining archives, and a power cut there, leave a log that has every certificate, and the next
// process joins again.
func TestJoinedKilled(t *testing.T) {
	for _, cut := range []bool{false, true} {
		for kill := 0; ; kill++ {
			disk := mem.New()
			c := newChain(t, disk.Client("a"), Variant{SegmentEvery: 2, JoinArchives: 2})
			for range 13 {
				c.must(c.commit())
			}
			before := len(c.table.state.Segment.Archives)
			f := &failing{FS: c.store, left: kill}
			c.table = Open(c.env, f, "/t", c.owner, Variant{SegmentEvery: 2, JoinArchives: 2}, slog.New(slog.DiscardHandler))
			err := errors.Join(c.table.Refresh(), c.commit())
			ended := f.left >= 0
			if !ended && err == nil && len(c.table.state.Segment.Archives) == before {
				t.Logf("killed at %d: nobody saw it", kill)
			}
			if cut {
				disk.PowerCut(func() bool { return kill%2 == 0 })
			}
			next := &chain{t: t, env: c.env, store: disk.Client("b"), owner: c.owner}
			next.owner.Epoch = 2
			next.table = Open(c.env, next.store, "/t", next.owner, Variant{SegmentEvery: 2, JoinArchives: 2}, slog.New(slog.DiscardHandler))
			c.must(next.table.Claim(nil))
			next.id, next.end = next.table.state.Chain.Checkpoint, next.table.state.Chain
			if last := next.table.state.Find(next.end.Certificate); last != nil && last.Done == nil {
				_, err := next.table.FinishNewest()
				c.must(err)
			}
			if next.id < 13 {
				t.Fatalf("killed at %d: the chain ends at %d", kill, next.id)
			}
			if n, err := next.certificates(); n != int(next.id) || err != nil {
				t.Fatalf("killed at %d: %d certificates of %d, %v", kill, n, next.id, err)
			}
			for range 12 {
				c.must(next.commit())
			}
			if n, err := next.certificates(); n != int(next.id) || err != nil {
				t.Fatalf("killed at %d: %d certificates of %d, %v", kill, n, next.id, err)
			}
			if ended {
				if kill < 20 {
					t.Errorf("only %d calls", kill)
				}
				break
			}
		}
	}
}
