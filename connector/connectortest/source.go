package connectortest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/types"
)

// SourceCase is a bounded, replayable source with data that does not change during the test.
type SourceCase struct {
	// New makes the source; each call over the same data.
	New func(t testing.TB) connector.Source
	// Schema of its batches.
	Schema changelog.Schema
	// Rows that it gives in all.
	Rows int64
	// NoOrigin: the source cannot say what its offsets number, and nothing is read again.
	NoOrigin bool
}

// row is one row with its offset.
type row struct {
	offset int64
	text   string
}

// reading is what was read of each split, and the account of it.
type reading struct {
	rows   map[string][]row
	ranges map[string]account.Range
	end    []connector.Split
}

// RunSource checks a source against the contract of connector.Source, Enumerator and Reader.
func RunSource(t *testing.T, c SourceCase) {
	src := c.New(t)
	if !src.Bounded() || !src.Replayable() {
		t.Fatalf("Bounded %v, Replayable %v: the case needs both", src.Bounded(), src.Replayable())
	}
	splits := Discover(t, src, nil, nil)
	if len(splits) < 2 {
		t.Fatalf("%d splits: the case needs at least 2", len(splits))
	}
	whole := readAll(t, c, splits)
	if n := whole.count(); n != c.Rows {
		t.Fatalf("%d rows, want %d", n, c.Rows)
	}
	t.Run("EndedAtPositions", func(t *testing.T) {
		if again := readAll(t, c, whole.end); again.count() != 0 {
			t.Errorf("%d rows behind the end", again.count())
		}
	})
	t.Run("Replay", func(t *testing.T) { whole.equal(t, readAll(t, c, splits)) })
	t.Run("Restore", func(t *testing.T) { restore(t, c, splits, whole) })
	t.Run("Rescale", func(t *testing.T) { rescale(t, c, splits, whole) })
	t.Run("AddSplits", func(t *testing.T) { addSplits(t, c, splits, whole) })
	t.Run("Rediscover", func(t *testing.T) { rediscover(t, c, splits) })
	if _, ok := src.(connector.Rereader); ok {
		t.Run("Reread", func(t *testing.T) { reread(t, c, whole) })
	}
	t.Run("NoSplits", func(t *testing.T) {
		k := NewTask(t, c.New(t), c.Schema, nil, nil)
		if b, status, err := k.Next(); err != nil || status != connector.Ended || b.Rows != 0 {
			t.Errorf("a reader without splits: %d rows, status %d, %v", b.Rows, status, err)
		}
	})
	t.Run("CloseEarly", func(t *testing.T) {
		NewTask(t, c.New(t), c.Schema, splits, nil).Close()
		k := NewTask(t, c.New(t), c.Schema, splits, nil)
		k.Next()
		k.Close()
	})
}

func newReading() *reading {
	return &reading{rows: map[string][]row{}, ranges: map[string]account.Range{}}
}

func (r *reading) count() (n int64) {
	for _, rows := range r.rows {
		n += int64(len(rows))
	}
	return n
}

// add takes the rows of b.
func (r *reading) add(b *changelog.Batch, splits []connector.Split) {
	for i := range b.Rows {
		id := splits[b.Split].ID
		r.rows[id] = append(r.rows[id], row{b.Offsets[i], RowText(b, i)})
	}
}

// snapshot takes a snapshot and checks that its account closes with the rows read so far.
func (r *reading) snapshot(t testing.TB, k *Task) []connector.Split {
	t.Helper()
	splits, ranges, err := k.Reader.Snapshot()
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	position := map[string]int64{}
	for _, s := range splits {
		position[s.ID] = s.Position
	}
	for _, g := range ranges {
		if at, ok := position[g.Split]; !ok || at != g.To {
			t.Fatalf("range of %s ends at %d, the split stands at %d", g.Split, g.To, at)
		}
		sum, ok := r.ranges[g.Split]
		if !ok {
			sum = account.Range{Split: g.Split, From: g.From, To: g.From}
		}
		if err := sum.Join(g); err != nil {
			t.Fatal(err)
		}
		r.ranges[g.Split] = sum
	}
	for id, g := range r.ranges {
		rows := r.rows[id]
		if g.Rows() != int64(len(rows)) {
			t.Fatalf("account of %s does not close: %+v leaves %d rows, %d were read", id, g, g.Rows(), len(rows))
		}
		for _, row := range rows {
			if row.offset < g.From || row.offset >= g.To {
				t.Fatalf("row of %s with offset %d lies outside of its account %+v", id, row.offset, g)
			}
		}
	}
	return splits
}

// finish reads to the end.
func (r *reading) finish(t testing.TB, k *Task) {
	t.Helper()
	for {
		b, status, err := k.Next()
		if err != nil {
			t.Fatalf("Poll: %v", err)
		}
		r.add(b, k.Reader.Splits())
		if status == connector.Ended {
			break
		}
	}
	if _, status, err := k.Poll(); err != nil || status != connector.Ended {
		t.Fatalf("Poll after the end: status %d, %v", status, err)
	}
	r.end = r.snapshot(t, k)
	if k.Reader.Lag() > 0 {
		t.Errorf("lag %d at the end", k.Reader.Lag())
	}
}

func readAll(t *testing.T, c SourceCase, splits []connector.Split) *reading {
	t.Helper()
	k := NewTask(t, c.New(t), c.Schema, splits, nil)
	r := newReading()
	r.finish(t, k)
	k.Close()
	return r
}

// equal compares two readings.
func (r *reading) equal(t testing.TB, got *reading) {
	t.Helper()
	for id, want := range r.rows {
		if !slices.Equal(want, got.rows[id]) {
			t.Errorf("%s: rows differ: %s", id, difference(want, got.rows[id]))
		}
	}
	for id := range got.rows {
		if r.rows[id] == nil {
			t.Errorf("%s: %d rows that should not be there", id, len(got.rows[id]))
		}
	}
}

func difference(want, got []row) string {
	for i := range want {
		if i >= len(got) || want[i] != got[i] {
			if i < len(got) {
				return fmt.Sprintf("row %d is %v, want %v", i, got[i], want[i])
			}
			break
		}
	}
	return fmt.Sprintf("%d rows, want %d", len(got), len(want))
}

// restore reads with a snapshot after each batch, and goes on with a new reader from each of some snapshots.
func restore(t *testing.T, c SourceCase, splits []connector.Split, whole *reading) {
	k := NewTask(t, c.New(t), c.Schema, splits, nil)
	r := newReading()
	type point struct {
		splits []connector.Split
		rows   map[string]int
	}
	var points []point
	for {
		b, status, err := k.Next()
		if err != nil {
			t.Fatalf("Poll: %v", err)
		}
		r.add(b, k.Reader.Splits())
		p := point{splits: r.snapshot(t, k), rows: map[string]int{}}
		for id, rows := range r.rows {
			p.rows[id] = len(rows)
		}
		points = append(points, p)
		if status == connector.Ended {
			break
		}
	}
	whole.equal(t, r)
	_, ranges, err := k.Reader.Snapshot()
	for _, g := range ranges {
		if err != nil || g.From != g.To || g.Rows() != 0 {
			t.Errorf("a snapshot right after another has %+v, %v", g, err)
		}
	}
	k.Close()
	for i := 0; i < len(points); i += max(1, len(points)/3) {
		rest := readAll(t, c, points[i].splits)
		for id, want := range whole.rows {
			if w := want[points[i].rows[id]:]; !slices.Equal(w, rest.rows[id]) {
				t.Fatalf("%s after snapshot %d: rows differ: %s", id, i, difference(w, rest.rows[id]))
			}
		}
	}
}

// rescale reads with two readers whose splits the enumerator assigned.
func rescale(t *testing.T, c SourceCase, splits []connector.Split, whole *reading) {
	src := c.New(t)
	ctx, _, _ := NewContext(testWriter{t})
	e, err := src.Enumerate(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	sum := newReading()
	for subtask := range 2 {
		var own []connector.Split
		for _, s := range splits {
			a := e.Assign(s, 2)
			if a < 0 || a > 1 || a != e.Assign(s, 2) {
				t.Fatalf("split %s is assigned to subtask %d of 2", s.ID, a)
			}
			if a == subtask {
				own = append(own, s)
			}
		}
		maps.Copy(sum.rows, readAll(t, c, own).rows)
	}
	whole.equal(t, sum)
}

// addSplits gives a reader its splits one after the other.
func addSplits(t *testing.T, c SourceCase, splits []connector.Split, whole *reading) {
	k := NewTask(t, c.New(t), c.Schema, splits[:1], nil)
	r := newReading()
	for i, s := range splits[1:] {
		b, _, err := k.Poll()
		if err != nil {
			t.Fatal(err)
		}
		r.add(b, k.Reader.Splits())
		if err := k.Reader.AddSplits([]connector.Split{s}); err != nil {
			t.Fatalf("AddSplits: %v", err)
		}
		if now := k.Reader.Splits(); len(now) != i+2 || now[i+1].ID != s.ID || now[0].ID != splits[0].ID {
			t.Fatalf("splits after AddSplits: %v", now)
		}
	}
	r.finish(t, k)
	whole.equal(t, r)
}

// rediscover asks an enumerator that is restored, and one that goes on, for splits that are all known.
func rediscover(t *testing.T, c SourceCase, splits []connector.Split) {
	src := c.New(t)
	ctx, _, _ := NewContext(testWriter{t})
	e, err := src.Enumerate(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	found, err := e.Discover(nil)
	if err != nil || len(found) != len(splits) {
		t.Fatalf("first discovery: %d splits, want %d; %v", len(found), len(splits), err)
	}
	if more, err := e.Discover(found); err != nil || len(more) != 0 {
		t.Errorf("second discovery: %d new splits, %v", len(more), err)
	}
	state, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if more := Discover(t, c.New(t), state, found); len(more) != 0 {
		t.Errorf("discovery after restore: %d new splits", len(more))
	}
	if err := e.Committed(found); err != nil {
		t.Errorf("Committed: %v", err)
	}
}

// RowText is row i of b as text, values separated by '|'.
func RowText(b *changelog.Batch, i int) string {
	var out []string
	for _, c := range b.Cols {
		out = append(out, valueText(c, i))
	}
	return strings.Join(out, "|")
}

func valueText(c *changelog.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	switch c.Type.Physical() {
	case types.PhysBool:
		return fmt.Sprint(c.B[i])
	case types.PhysInt32:
		return fmt.Sprint(c.I32[i])
	case types.PhysInt64:
		return fmt.Sprint(c.I64[i])
	case types.PhysFloat32:
		return fmt.Sprint(c.F32[i])
	case types.PhysFloat64:
		return fmt.Sprint(c.F64[i])
	case types.PhysDecimal:
		return c.Dec[i].ToString(int32(c.Type.Scale))
	case types.PhysBytes:
		return string(c.Bytes(i))
	}
	return "?"
}

// reread reads parts of splits once more, by nothing but what their accounts say.
func reread(t *testing.T, c SourceCase, whole *reading) {
	for id, g := range whole.ranges {
		if (g.Origin == "") != c.NoOrigin {
			t.Fatalf("%s: the account says %q of what the offsets number, though it is known: %v", id, g.Origin, !c.NoOrigin)
		}
		if c.NoOrigin {
			if _, err := c.New(t).(connector.Rereader).Reread(connector.Context{}, id, g.Origin, g.From, g.To); err == nil {
				t.Errorf("%s: offsets are read again though nobody knows what they number", id)
			}
			continue
		}
		third := (g.To - g.From) / 3
		for _, part := range [][2]int64{{g.From, g.To}, {g.From + third, g.To - third}, {g.To - 1, g.To}} {
			if part[0] < g.From || part[0] >= part[1] {
				continue
			}
			src := c.New(t).(connector.Rereader)
			k := NewTaskOf(t, c.Schema, nil, func(ctx connector.Context) (connector.Reader, error) {
				return src.Reread(ctx, id, g.Origin, part[0], part[1])
			})
			r := newReading()
			r.finish(t, k)
			if end := r.ranges[id]; end.From != part[0] || end.To != part[1] || len(r.ranges) != 1 {
				t.Errorf("%s from %d to %d: account %+v", id, part[0], part[1], r.ranges)
			}
			var want []row
			for _, x := range whole.rows[id] {
				if x.offset >= part[0] && x.offset < part[1] {
					want = append(want, x)
				}
			}
			if !slices.Equal(r.rows[id], want) {
				t.Errorf("%s from %d to %d: %d rows, want the %d that were read the first time", id, part[0], part[1], len(r.rows[id]), len(want))
			}
		}
	}
}
