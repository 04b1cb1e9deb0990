package drill

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"testing"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/format"
	"staunch/format/parquet"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/types"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		want, got              rows
		lost, doubled, foreign int64
	}{
		{rows{1, 2, 3}, rows{1, 2, 3}, 0, 0, 0},
		{rows{1, 2, 3}, rows{1, 3}, 1, 0, 0},
		{rows{1, 2, 3}, nil, 3, 0, 0},
		{rows{1, 2, 3}, rows{1, 2, 2, 2, 3}, 0, 2, 0},
		{rows{1, 2, 3}, rows{1, 2, 3, 3}, 0, 1, 0},
		{rows{2, 3}, rows{1, 2, 3, 4}, 0, 0, 2},
		{rows{1, 1, 2}, rows{1, 2, 2}, 1, 1, 0},
	} {
		if l, d, f := compare(c.want, c.got); l != c.lost || d != c.doubled || f != c.foreign {
			t.Errorf("%v, %v: lost %d, doubled %d, foreign %d", c.want, c.got, l, d, f)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		room []int64
		n    int64
		want []int64
	}{
		{[]int64{100, 100}, 50, []int64{25, 25}},
		{[]int64{3, 100}, 50, []int64{3, 47}},
		{[]int64{3, 0, 5}, 50, []int64{3, 0, 5}},
		{[]int64{10, 10, 10}, 2, []int64{1, 1, 0}},
	} {
		if got := spread(c.room, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d over %v: %v", c.n, c.room, got)
		}
	}
}

func TestExhibit(t *testing.T) {
	f := mem.New().Client("x")
	if err := f.MkdirAll("/t/dt=1"); err != nil {
		t.Fatal(err)
	}
	write(t, f, "/t/dt=1/a", "one")
	look := func() Exhibit {
		x, err := Tree(t.Context(), "t", inMemory{f}, "/t")
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	before := look()
	if u := look().Against(before, nil, "drill-1"); !u.Same || u.Ours || u.Bad() || u.Values != 2 {
		t.Errorf("nothing happened: %+v", u)
	}
	write(t, f, "/t/b", "two")
	if u := look().Against(before, nil, "drill-1"); u.Same || u.Bad() || u.Added != 1 || u.Unexplained != 1 {
		t.Errorf("somebody added a file: %+v", u)
	}
	if err := f.Delete("/t/dt=1/a"); err != nil {
		t.Fatal(err)
	}
	if u := look().Against(before, nil, "drill-1"); u.Same || u.Ours || !u.Bad() || u.Added != 1 || u.Removed != 1 || u.Harmed != 1 {
		t.Errorf("others were at work: %+v", u)
	}
	write(t, f, "/t/x-drill-1-y", "three")
	if u := look().Against(before, nil, "drill-1"); !u.Ours {
		t.Errorf("the drill's own name: %+v", u)
	}
}

func write(t *testing.T, f fs.FS, p, text string) {
	t.Helper()
	h, err := f.Create(p)
	if err == nil {
		_, err = h.Write([]byte(text))
	}
	if err := errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRows: a row is told by all its values, NULL and the partition among them, and not by the file that it is in.
func TestRows(t *testing.T) {
	ff, err := parquet.Factory.FileWriter(format.Params{All: []format.Field{{Name: "a", Type: types.New(types.BigInt)}, {Name: "b", Type: types.String_}}, Wanted: []int{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(f fs.FS, p string, list ...row) {
		var b bytes.Buffer
		w, err := ff.Open(&b)
		if err != nil {
			t.Fatal(err)
		}
		batch := changelog.NewBatch(changelog.Schema{{Name: "a", Type: types.New(types.BigInt)}, {Name: "b", Type: types.String_}})
		for _, r := range list {
			batch.Cols[0].AppendInt64(r.a)
			if r.b == "" {
				batch.Cols[1].AppendNull()
			} else {
				batch.Cols[1].AppendBytes([]byte(r.b))
			}
		}
		if err := errors.Join(w.Write(batch.Cols, 0, len(list)), w.Finish(nil)); err != nil {
			t.Fatal(err)
		}
		write(t, f, p, b.String())
	}
	seed := maphash.MakeSeed()
	read := func(files map[string][]row) rows {
		f := mem.New().Client("x")
		for p, list := range files {
			if err := f.MkdirAll("/t/p=1"); err != nil {
				t.Fatal(err)
			}
			file(f, "/t/"+p, list...)
		}
		got, n, err := readTable(t.Context(), seed, inMemory{f}, Root{URI: "/t", Ext: "parquet"})
		if err != nil || n != len(files) {
			t.Fatal(n, err)
		}
		return got
	}
	want := read(map[string][]row{"p=1/1.parquet": {{1, "x"}, {2, ""}}, "p=1/2.parquet": {{3, "y"}}})
	if got := read(map[string][]row{"p=1/3.parquet": {{3, "y"}, {2, ""}, {1, "x"}}}); !slices.Equal(got, want) {
		t.Error("the same rows in another file")
	}
	for what, files := range map[string]map[string][]row{
		"another value":     {"p=1/1.parquet": {{1, "x"}, {2, "z"}, {3, "y"}}},
		"another partition": {"1.parquet": {{1, "x"}}, "p=1/2.parquet": {{2, ""}, {3, "y"}}},
		"values exchanged":  {"p=1/1.parquet": {{1, "y"}, {2, ""}, {3, "x"}}},
	} {
		if l, d, f := compare(want, read(files)); l == 0 || f == 0 || d != 0 {
			t.Errorf("%s: lost %d, doubled %d, foreign %d", what, l, d, f)
		}
	}
	f := mem.New().Client("x")
	for _, dir := range []string{"/t/_p=1", "/t/_temporary"} {
		if err := f.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	file(f, "/t/_temporary/1.parquet", row{1, "x"})
	file(f, "/t/_p=1/1.parquet", row{2, "x"})
	if got, n, err := readTable(t.Context(), seed, inMemory{f}, Root{URI: "/t", Ext: "parquet"}); err != nil || n != 1 || len(got) != 1 {
		t.Errorf("partitions of a column that begins with _: %d files, %d rows, %v", n, len(got), err)
	}
	write(t, f, "/t/a.parquet", "PAR1 this is none")
	if _, _, err := readTable(t.Context(), seed, inMemory{f}, Root{URI: "/t", Ext: "parquet"}); !errors.Is(err, errUnreadable) {
		t.Errorf("a file that is no Parquet: %v", err)
	}
}

type row struct {
	a int64
	b string
}

// counted is a Reader of endless rows.
type counted struct{ connector.Reader }

func (counted) Poll(b *changelog.Batch) (connector.Status, error) {
	b.Rows = 10
	return connector.More, nil
}

func (counted) Snapshot() ([]connector.Split, []account.Range, error) { return nil, nil, nil }

// TestPaced: a reader waits for a checkpoint when it has read its share, and goes on behind it.
func TestPaced(t *testing.T) {
	woken := 0
	r := &paced{Reader: counted{}, share: 25, wake: func() { woken++ }}
	b := changelog.NewBatch(nil)
	read := func() (n int) {
		for {
			st, err := r.Poll(b)
			if err != nil {
				t.Fatal(err)
			}
			if st == connector.Waiting {
				return n
			}
			n += b.Rows
		}
	}
	for i := range 3 {
		if n := read(); n != 30 {
			t.Errorf("part %d: %d rows", i, n)
		}
		if _, _, err := r.Snapshot(); err != nil || woken != i+1 {
			t.Error(woken, err)
		}
	}
}

// stops is a Subject that is interrupted at some run.
type stops struct {
	Subject
	cancel context.CancelFunc
	at     int
	n      int
}

func (s *stops) Live(ctx context.Context, o Orders, life int) (End, error) {
	if s.n++; s.n == s.at {
		s.cancel()
		return End{}, ctx.Err()
	}
	return s.Subject.Live(ctx, o, life)
}

// TestInterrupted: a drill that is ended leaves nothing behind.
func TestInterrupted(t *testing.T) {
	for _, at := range []int{1, 3, 9} {
		ctx, cancel := context.WithCancel(t.Context())
		f := mem.New().Client("x")
		if err := f.MkdirAll("/lake"); err != nil {
			t.Fatal(err)
		}
		d := &Drill{Subject: &stops{Subject: &model{inner: inMemory{f}, per: 3, files: 1, last: 2}, cancel: cancel, at: at}, Stores: inMemory{f}, Scratch: "/lake/scratch",
			Control: t.TempDir(), Tables: []Table{{Name: "t", URI: "/lake/t", Ext: "json", Success: "_SUCCESS"}}, Parallel: 1}
		if _, err := d.Do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("at %d: %v", at, err)
		}
		if list, err := f.List("/lake"); err != nil || len(list) > 0 {
			t.Errorf("at %d: left %v %v", at, list, err)
		}
	}
}

// unfinished is a Subject that cannot begin.
type unfinished struct{}

func (unfinished) Live(context.Context, Orders, int) (End, error) {
	return End{Class: "user", Error: "no such thing"}, nil
}

// TestCannotRun: a job that fails undisturbed is no subject, and nothing is left of it.
func TestCannotRun(t *testing.T) {
	f := mem.New().Client("x")
	d := &Drill{Subject: unfinished{}, Stores: inMemory{f}, Scratch: "/lake/scratch", Control: t.TempDir(), Tables: []Table{{URI: "/lake/t", Ext: "json"}}}
	if _, err := d.Do(t.Context()); err == nil || !bytes.Contains([]byte(err.Error()), []byte("no such thing")) {
		t.Errorf("%v", err)
	}
	if _, err := f.Stat("/lake/scratch"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("left:", err)
	}
}
