package bitmap

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type oracle map[int64]bool

func contents(s *Set) (out []int64) {
	end := int64(-1)
	s.Runs(func(from, to int64) bool {
		if from >= to || from <= end {
			panic("runs touch or do not ascend")
		}
		for o := from; o < to; o++ {
			out = append(out, o)
		}
		end = to
		return true
	})
	return out
}

// same holds a set against what it should be, in every way in which it can be asked.
func same(t *rapid.T, what string, s *Set, want oracle) {
	list := slices.Sorted(maps.Keys(want))
	if got := contents(s); !slices.Equal(got, list) {
		t.Fatalf("%s: %d offsets, expected %d", what, len(got), len(list))
	}
	if s.Count() != int64(len(list)) {
		t.Fatalf("%s: count %d, expected %d", what, s.Count(), len(list))
	}
	first, last := int64(-1), int64(-1)
	if len(list) > 0 {
		first, last = list[0], list[len(list)-1]
	}
	if s.First() != first || s.Last() != last {
		t.Fatalf("%s: %d..%d, expected %d..%d", what, s.First(), s.Last(), first, last)
	}
}

// draw makes a set and its oracle, and what was added more than once.
func draw(t *rapid.T, base int64) (s, twice *Set, all, double oracle) {
	s, twice, all, double = &Set{}, &Set{}, oracle{}, oracle{}
	width := rapid.SampledFrom([]int64{50, 3000, 70_000}).Draw(t, "width")
	longest := rapid.SampledFrom([]int64{1, 5, 300, 3000}).Draw(t, "longest")
	at := base
	for range rapid.IntRange(0, 30).Draw(t, "runs") {
		from := at
		if rapid.Bool().Draw(t, "anywhere") {
			from = base + rapid.Int64Range(0, width).Draw(t, "from")
		}
		to := from + rapid.Int64Range(0, longest).Draw(t, "length")
		s.AddRun(from, to, twice)
		for o := from; o < to; o++ {
			if all[o] {
				double[o] = true
			}
			all[o] = true
		}
		at = to + rapid.SampledFrom([]int64{0, 0, 1, 2}).Draw(t, "step")
	}
	if rapid.Bool().Draw(t, "comb") { // many short runs: bits
		for o := base + 3; o < base+min(width, 3000); o += 2 {
			s.AddRun(o, o+1, twice)
			if all[o] {
				double[o] = true
			}
			all[o] = true
		}
	}
	return s, twice, all, double
}

func TestSetIsItsOracle(t *testing.T) {
	forms := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]int64{0, 65_530, 1 << 40, 1<<62 - 100}).Draw(t, "base")
		a, aTwice, oa, oaTwice := draw(t, base)
		b, _, ob, _ := draw(t, base)
		same(t, "a", a, oa)
		same(t, "twice", aTwice, oaTwice)
		for _, c := range a.chunks {
			forms[c.bits != nil]++
		}

		both := oracle{}
		for o := range oa {
			if ob[o] {
				both[o] = true
			}
		}
		same(t, "intersection", a.Intersect(b), both)
		from := base + rapid.Int64Range(0, 3000).Draw(t, "ask")
		to := from + rapid.Int64Range(1, 200).Draw(t, "wide")
		want := false
		var gaps []int64
		for o := from; o < to; o++ {
			want = want || oa[o]
			if !oa[o] {
				gaps = append(gaps, o)
			}
		}
		if a.Overlaps(from, to) != want {
			t.Fatalf("overlaps %d..%d: not %v", from, to, want)
		}
		var got []int64
		a.Gaps(from, to, func(f, t int64) bool {
			for o := f; o < t; o++ {
				got = append(got, o)
			}
			return true
		})
		if !slices.Equal(got, gaps) {
			t.Fatalf("gaps in %d..%d: %v, expected %v", from, to, got, gaps)
		}

		twice := &Set{}
		a.Union(b, twice)
		same(t, "twice of a union", twice, both)
		maps.Copy(oa, ob)
		same(t, "union", a, oa)
		same(t, "the other of a union", b, ob)
		for _, c := range b.chunks { // nothing is shared
			c.add(span{0, 65535}, nil)
		}
		same(t, "union after a change of the other", a, oa)
	})
	if forms[true] == 0 || forms[false] == 0 {
		t.Errorf("runs and bits must both occur: %v", forms)
	}
}

// TestTopOfTheRange: the last chunk, whose end no int64 holds, is as any other. Offsets are counted from the top, so that the oracle is that of small numbers.
func TestTopOfTheRange(t *testing.T) {
	const top = math.MaxInt64 // no offset itself
	rapid.Check(t, func(t *rapid.T) {
		s, twice, all, double := &Set{}, &Set{}, oracle{}, oracle{}
		for range rapid.IntRange(1, 20).Draw(t, "runs") {
			from := top - rapid.OneOf(rapid.Int64Range(1, 40), rapid.Int64Range(65_500, 65_600), rapid.Int64Range(1, 140_000)).Draw(t, "from")
			to := from + min(rapid.Int64Range(0, 3000).Draw(t, "length"), top-from)
			s.AddRun(from, to, twice)
			for o := from; o < to; o++ {
				double[o] = double[o] || all[o]
				all[o] = true
			}
		}
		maps.DeleteFunc(double, func(_ int64, twice bool) bool { return !twice })
		same(t, "set", s, all)
		same(t, "twice", twice, double)
		from := top - rapid.Int64Range(1, 140_000).Draw(t, "ask")
		to := from + min(rapid.Int64Range(1, 70_000).Draw(t, "wide"), top-from)
		held, gaps := int64(0), int64(0)
		for o := from; o < to; o++ {
			if all[o] {
				held++
			}
		}
		s.Gaps(from, to, func(f, t int64) bool { gaps += t - f; return true })
		if gaps != to-from-held || s.Overlaps(from, to) != (held > 0) {
			t.Fatalf("%d..%d: %d held, %d gaps, overlaps %v", from, to, held, gaps, s.Overlaps(from, to))
		}
		union := &Set{}
		union.AddRun(top-1, top, nil)
		union.Union(s, nil)
		all[top-1] = true
		same(t, "union", union, all)
		same(t, "intersection", union.Intersect(union), all)
	})
}

func TestSetStopsWhenTold(t *testing.T) {
	s := &Set{}
	for o := int64(0); o < 300_000; o += 10 {
		s.AddRun(o, o+2, nil)
	}
	n := 0
	s.Runs(func(from, to int64) bool { n++; return n < 7 })
	m := 0
	s.Gaps(0, 300_000, func(from, to int64) bool { m++; return m < 5 })
	if n != 7 || m != 5 {
		t.Errorf("%d runs, %d gaps were visited", n, m)
	}
}

func TestMemory(t *testing.T) {
	whole, comb := &Set{}, &Set{}
	for o := int64(0); o < 100_000_000; o += 500 {
		whole.AddRun(o, o+500, nil)
	}
	for o := int64(0); o < 10_000_000; o += 2 {
		comb.AddRun(o, o+1, nil)
	}
	if whole.Bytes() > 200_000 || comb.Bytes() > 1_500_000 {
		t.Errorf("100 million offsets take %d bytes, 5 million single ones %d", whole.Bytes(), comb.Bytes())
	}
}

func BenchmarkAddShuffled(b *testing.B) {
	s, twice := &Set{}, &Set{}
	x := uint64(1)
	for b.Loop() {
		x = x*6364136223846793005 + 1442695040888963407
		o := int64(x >> 38)
		s.AddRun(o, o+1, twice)
	}
}
