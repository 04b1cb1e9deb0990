package filesystem

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/fault"
)

// evenOdd puts even offsets into one partition and odd ones into another.
func evenOdd(o int64) []*string { return value([]string{"even", "odd"}[o%2]) }

// lostFile writes rows of two splits into two partitions and gives the file of the even ones.
func lostFile(b *bench) *account.File {
	w := b.writer()
	b.write(w, b.batch(0, span(0, 40), evenOdd))
	b.write(w, b.batch(1, append(span(100, 120), span(130, 150)...), evenOdd))
	for _, f := range b.prepare(w) {
		if strings.HasSuffix(f.Partition, "=even") {
			return f
		}
	}
	b.t.Fatal("no file")
	return nil
}

func (b *bench) replace(lost *account.File) connector.Replacement {
	b.t.Helper()
	r, err := b.sink.Replace(b.ctx, *lost)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// TestReplace: out of batches cut in another way, with rows of other files and splits, the replacement takes its own and becomes the same file.
func TestReplace(t *testing.T) {
	b := newBench(t, stringKeys("p"), keyChecksum, checksumSHA256)
	lost := lostFile(b)
	want, footer := b.text(lost)
	r := b.replace(lost)
	put := func(split int, offsets []int64) {
		t.Helper()
		if err := r.Write(b.batch(split, offsets, evenOdd), splits); err != nil {
			t.Fatal(err)
		}
	}
	put(0, span(0, 13))
	put(0, span(13, 14))
	put(0, span(14, 60))
	put(2, span(0, 10))
	other := b.batch(1, span(90, 200), evenOdd) // another reader, with an index of its own
	other.Split = 0
	if err := r.Write(other, splits[1:2]); err != nil {
		t.Fatal(err)
	}
	f, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := b.store.durable(f.Pending); err != nil {
		t.Error(err)
	}
	got, foot := b.text(f)
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	for k, v := range footer {
		if foot[k] != v {
			t.Errorf("footer %s is %q, was %q", k, foot[k], v)
		}
	}
	if f.Rows != lost.Rows || f.Length != lost.Length || f.Sums != lost.Sums || len(f.SHA256) != 64 || f.Final != lost.Final || f.Pending == lost.Pending {
		t.Errorf("%+v, want %+v", f, lost)
	}
	for i, o := range lost.Offsets {
		if f.Offsets[i].Split != o.Split || !slices.Equal(f.Offsets[i].Set.Runs, o.Set.Runs) {
			t.Errorf("offsets %v, want %v", f.Offsets[i], o)
		}
	}
	if !regexp.MustCompile(`^/data/lake/_DUMP_TEMPORARY/repair-` + Job8("orders") + `-7-[0-9a-f]{24}\.rows\.pending$`).MatchString(f.Pending) {
		t.Error("staged as", f.Pending)
	}
	if b.store.handles != 0 {
		t.Errorf("%d handles are open", b.store.handles)
	}
}

// TestReplaceElsewhere: rows that go to another partition by now are refused.
func TestReplaceElsewhere(t *testing.T) {
	b := newBench(t, stringKeys("p"))
	lost := lostFile(b)
	r := b.replace(lost)
	err := r.Write(b.batch(0, span(0, 40), func(o int64) []*string {
		if o == 12 {
			return value("summer")
		}
		return evenOdd(o)
	}), splits)
	if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "events-0 offset 12 belongs to partition p=summer now") {
		t.Error(err)
	}
	if err := r.Close(); err != nil || b.store.handles != 0 {
		t.Error(err, b.store.handles)
	}
	b = newBench(t, nil)
	r = b.replace(&account.File{Final: "/data/lake/" + lost.Final[strings.LastIndex(lost.Final, "/")+1:], Offsets: lost.Offsets})
	if err := r.Write(b.batch(0, span(0, 4), nil), splits); err != nil {
		t.Error(err)
	}
}

func TestReplaceRefusals(t *testing.T) {
	b := newBench(t, stringKeys("p"))
	lost := *lostFile(b)
	for _, c := range []struct {
		change func(*account.File)
		want   string
	}{
		{func(f *account.File) { f.Offsets = nil }, "no offsets"},
		{func(f *account.File) { f.Final = strings.TrimSuffix(f.Final, ".rows") + ".json" }, "former format"},
		{func(f *account.File) { f.Final = "/elsewhere" + f.Final }, "does not lie"},
		{func(f *account.File) { f.Partition = "p=x" }, "does not lie"},
	} {
		f := lost
		c.change(&f)
		if _, err := b.sink.Replace(b.ctx, f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestReplaceWithoutPositions: rows that tell no offset cannot be told apart.
func TestReplaceWithoutPositions(t *testing.T) {
	b := newBench(t, stringKeys("p"))
	r := b.replace(lostFile(b))
	batch := b.batch(0, span(0, 4), evenOdd)
	batch.Split, batch.Offsets = changelog.NoSplit, nil
	if err := r.Write(batch, splits); err != nil {
		t.Fatal(err)
	}
	if f, err := r.Finish(); err != nil || f.Rows != 0 {
		t.Error(f, err)
	}
}
