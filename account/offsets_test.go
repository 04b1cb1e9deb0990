package account

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// oracle is a set as a map.
type oracle map[int64]bool

func (o oracle) sorted() []int64 { return slices.Sorted(maps.Keys(o)) }

// check compares a set with its oracle, and its form: ascending runs that neither touch nor overlap.
func check(t *rapid.T, s Set, o oracle) {
	var got []int64
	for i, r := range s.Runs {
		if r.From >= r.To || i > 0 && r.From <= s.Runs[i-1].To {
			t.Fatalf("runs are not in order: %v", s.Runs)
		}
		for x := r.From; x < r.To; x++ {
			got = append(got, x)
		}
	}
	if !slices.Equal(got, o.sorted()) {
		t.Fatalf("set %v, expected %v", got, o.sorted())
	}
	if s.Count() != int64(len(o)) {
		t.Fatalf("count %d, expected %d", s.Count(), len(o))
	}
}

// drawSet makes a set in one of the ways in which sets come about, around base.
func drawSet(t *rapid.T, base int64) (Set, oracle) {
	var s Set
	o := oracle{}
	limit := rapid.SampledFrom([]int64{20, 300, 5000}).Draw(t, "span")
	for range rapid.IntRange(0, 25).Draw(t, "steps") {
		from := base + rapid.Int64Range(0, limit).Draw(t, "from")
		switch rapid.IntRange(0, 2).Draw(t, "way") {
		case 0:
			s.Add(from)
			o[from] = true
		case 1:
			to := from + rapid.Int64Range(-1, 40).Draw(t, "length")
			s.AddRun(from, to)
			for x := from; x < to; x++ {
				o[x] = true
			}
		case 2:
			offsets := []int64{from}
			for range rapid.IntRange(0, 30).Draw(t, "n") {
				offsets = append(offsets, offsets[len(offsets)-1]+rapid.SampledFrom([]int64{1, 1, 1, 2, 3, 9}).Draw(t, "step"))
			}
			s.AddAll(offsets)
			for _, x := range offsets {
				o[x] = true
			}
		}
	}
	return s, o
}

func drawBase(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{0, 1, 1000, 1 << 31, 1 << 40, 1<<62 - 20_000}).Draw(t, "base")
}

func TestSetIsItsOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := drawBase(t)
		a, oa := drawSet(t, base)
		check(t, a, oa)
		b, ob := drawSet(t, base)
		check(t, b, ob)

		var common []int64
		for x := range oa {
			if ob[x] {
				common = append(common, x)
			}
		}
		slices.Sort(common)
		r, overlap := a.Overlap(b)
		if back, again := b.Overlap(a); again != overlap || back != r {
			t.Fatalf("overlap is not symmetric: %v %v", r, back)
		}
		if overlap != (len(common) > 0) || overlap && r.From != common[0] {
			t.Fatalf("overlap %v %v, expected %v", overlap, r, common)
		}
		for x := r.From; x < r.To; x++ {
			if !oa[x] || !ob[x] {
				t.Fatalf("%d is not in both", x)
			}
		}
		union := Set{Runs: slices.Clone(a.Runs)}
		union.Union(b)
		maps.Copy(oa, ob)
		check(t, union, oa)
	})
}

func TestSetEncoding(t *testing.T) {
	forms := map[byte]int{}
	rapid.Check(t, func(t *rapid.T) {
		s, o := drawSet(t, drawBase(t))
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		forms[b[0]]++
		var back Set
		if err := back.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		check(t, back, o)
		if cap(back.Runs) != len(back.Runs) { // a set of millions of runs is decoded into as much memory as it needs
			t.Fatalf("form %d: room for %d runs, there are %d", b[0], cap(back.Runs), len(back.Runs))
		}
		text, err := json.Marshal(Offsets{Split: "t-0", Set: s})
		if err != nil {
			t.Fatal(err)
		}
		var entry Offsets
		if err := json.Unmarshal(text, &entry); err != nil {
			t.Fatal(err)
		}
		check(t, entry.Set, o)
		// A cut or longer encoding is damage, never another set.
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if err := back.UnmarshalBinary(b[:cut]); err == nil || len(back.Runs) != 0 {
			t.Fatalf("%d of %d bytes are read as %v", cut, len(b), back)
		}
		if err := back.UnmarshalBinary(append(slices.Clone(b), 0)); err == nil {
			t.Fatalf("a byte more is read as %v", back)
		}
	})
	if forms[setRuns] == 0 || forms[setBitmap] == 0 {
		t.Errorf("both forms must occur: %v", forms)
	}
}

// TestSmallerFormIsWritten: interleaved partitions give a bit an offset, contiguous ones a few bytes.
func TestSmallerFormIsWritten(t *testing.T) {
	var every2nd, whole Set
	for o := int64(0); o < 200_000; o += 2 {
		every2nd.Add(1<<40 + o)
	}
	whole.AddRun(1<<40, 1<<40+200_000)
	for _, c := range []struct {
		set Set
		max int
	}{{every2nd, 200_000/8 + 16}, {whole, 16}, {Set{}, 2}} {
		if b, err := c.set.MarshalBinary(); err != nil || len(b) > c.max {
			t.Errorf("%d offsets take %d bytes, expected at most %d (%v)", c.set.Count(), len(b), c.max, err)
		}
	}
}

func TestSetsThatAreNoneAreNotWritten(t *testing.T) {
	for _, runs := range [][]Run{{{-1, 3}}, {{5, 5}}, {{5, 4}}, {{0, 3}, {3, 4}}, {{5, 6}, {1, 2}}, {{0, 1<<62 + 1}}} {
		if b, err := (Set{Runs: runs}).MarshalBinary(); err == nil {
			t.Errorf("%v is written as %x", runs, b)
		}
	}
}

func encoded(form byte, numbers ...uint64) []byte {
	b := []byte{form}
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// TestDamagedSets: what claims more than it has is refused by its length, before anything is allocated.
func TestDamagedSets(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, b := range map[string][]byte{
		"nothing":                      nil,
		"unknown form":                 {3, 0},
		"count missing":                {setRuns},
		"huge count":                   encoded(setRuns, 1<<61),
		"count above what follows":     encoded(setRuns, 3, 1, 1, 1, 1),
		"empty run":                    encoded(setRuns, 1, 5, 0),
		"runs that touch":              encoded(setRuns, 2, 5, 1, 0, 1),
		"number too long":              append(encoded(setRuns, 1), 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1),
		"offset beyond the limit":      encoded(setRuns, 1, 1<<62, 1),
		"sum beyond the limit":         encoded(setRuns, 2, 1<<61, 1<<61, 1<<61, 1),
		"number beyond the limit":      encoded(setRuns, 1, 1<<63, 1),
		"bitmap with a huge span":      encoded(setBitmap, 0, 1<<61),
		"bitmap of some, huge span":    append(encoded(setBitmap, 0, 1<<40), 255, 255, 255),
		"bitmap without bits":          encoded(setBitmap, 7, 0),
		"bitmap too short":             append(encoded(setBitmap, 7, 9), 255),
		"bitmap too long":              append(encoded(setBitmap, 7, 8), 255, 1),
		"bitmap's first offset absent": append(encoded(setBitmap, 7, 8), 254),
		"bitmap's last offset absent":  append(encoded(setBitmap, 7, 8), 127),
		"bits behind the end":          append(encoded(setBitmap, 7, 7), 255),
		"bitmap beyond the limit":      append(encoded(setBitmap, 1<<62, 8), 255),
	} {
		s := Set{Runs: []Run{{1, 2}}}
		if err := s.UnmarshalBinary(b); err == nil || len(s.Runs) != 0 {
			t.Errorf("%s is read as %v", name, s)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
	var s Set
	if err := s.UnmarshalText([]byte("*")); err == nil {
		t.Error("no base64 is read as", s)
	}
}

// FuzzUnmarshalSet: any bytes are an error or a set that is written as the same offsets again, in memory bounded by the input.
func FuzzUnmarshalSet(f *testing.F) {
	for _, s := range []Set{{}, {Runs: []Run{{0, 1}}}, {Runs: []Run{{5, 10}, {12, 13}, {1 << 40, 1<<40 + 7}}}} {
		b, err := s.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	var dense Set
	for o := int64(3); o < 400; o += 2 {
		dense.Add(o)
	}
	b, err := dense.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(encoded(setBitmap, 0, 1<<61))
	f.Add(encoded(setRuns, 1<<61))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Set
		if s.UnmarshalBinary(b) != nil {
			return
		}
		if len(s.Runs) > 4*len(b) {
			t.Fatalf("%d runs of %d bytes", len(s.Runs), len(b))
		}
		again, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back Set
		if err := back.UnmarshalBinary(again); err != nil || !slices.Equal(back.Runs, s.Runs) {
			t.Fatalf("%v became %v: %v", s, back, err)
		}
		if len(again) > len(b)+16 { // a bitmap is chosen when it saves more than its head
			t.Fatalf("%d bytes became %d", len(b), len(again))
		}
	})
}

func TestRangeJoin(t *testing.T) {
	a := Range{Split: "t-0", From: 10, To: 20, Filtered: 1, Rejected: 2, Null: 1, Gaps: 1}
	if err := a.Join(Range{Split: "t-0", From: 20, To: 30, Filtered: 3, Skipped: 2}); err != nil {
		t.Fatal(err)
	}
	if a.From != 10 || a.To != 30 || a.Rows() != 20-4-2-1-1-2 {
		t.Errorf("%+v has %d rows", a, a.Rows())
	}
	if err := a.Join(Range{Split: "t-0", From: 31, To: 32}); err == nil || a.To != 30 {
		t.Error("a hole is joined:", err)
	}
}

func BenchmarkAddAll(b *testing.B) {
	dense, sparse := make([]int64, 4096), make([]int64, 4096)
	for i := range dense {
		dense[i], sparse[i] = int64(i), int64(i+i/10)
	}
	for name, offsets := range map[string][]int64{"without gaps": dense, "every tenth missing": sparse} {
		b.Run(name, func(b *testing.B) {
			var s Set
			for b.Loop() {
				s.Runs = s.Runs[:0]
				s.AddAll(offsets)
			}
		})
	}
}
