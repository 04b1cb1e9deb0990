package bitmap

import (
	"math/bits"
	"slices"
)

const (
	chunkBits = 16
	chunkSize = 1 << chunkBits
	words     = chunkSize / 64
	// maxRuns is up to which number of runs a chunk is smaller as a list of them than as bits.
	maxRuns = words * 8 / 8
)

// span are the places from..last (both in it) of a chunk.
type span struct{ from, last uint16 }

// chunk holds offsets key<<16 .. key<<16 + 65535.
type chunk struct {
	key int64
	// runs ascend and neither touch nor overlap; nil once there are bits.
	runs []span
	bits []uint64
	n    int
}

// Set is a set of offsets from 0 to MaxInt64 - 1, so that the end of each run is a number too. The zero value is empty. Use from one goroutine at a time.
type Set struct {
	chunks []*chunk
	// at is the chunk that was used last.
	at int
	n  int64
}

// Count is the number of offsets.
func (s *Set) Count() int64 { return s.n }

// Chunks is the number of chunks: what memory grows with when offsets are scattered.
func (s *Set) Chunks() int { return len(s.chunks) }

// Bytes is about how much memory the set holds.
func (s *Set) Bytes() int64 {
	n := int64(0)
	for _, c := range s.chunks {
		n += 96 + int64(cap(c.runs))*4 + int64(len(c.bits))*8
	}
	return n
}

// AddRun adds the offsets from <= o < to; those that are there already are added to twice, if that is not nil. REQUIRES: 0 <= from.
// Any to will do: the greatest offset of a set is MaxInt64 - 1.
func (s *Set) AddRun(from, to int64, twice *Set) {
	for from < to {
		key := from >> chunkBits
		end := to
		if last := from | (chunkSize - 1); last < to { // the last chunk has no end that an int64 holds
			end = last + 1
		}
		c := s.chunk(key)
		before := c.n
		c.add(span{uint16(from), uint16(end - 1)}, twice)
		s.n += int64(c.n - before)
		from = end
	}
}

// chunk finds or makes the chunk of key.
func (s *Set) chunk(key int64) *chunk {
	if s.at < len(s.chunks) && s.chunks[s.at].key == key {
		return s.chunks[s.at]
	}
	i, found := s.search(key)
	if !found {
		s.chunks = slices.Insert(s.chunks, i, &chunk{key: key})
	}
	s.at = i
	return s.chunks[i]
}

func (s *Set) search(key int64) (int, bool) {
	if n := len(s.chunks); n > 0 && s.chunks[n-1].key < key {
		return n, false
	}
	return slices.BinarySearchFunc(s.chunks, key, func(c *chunk, key int64) int {
		switch {
		case c.key < key:
			return -1
		case c.key > key:
			return 1
		}
		return 0
	})
}

// Union adds all offsets of t; those that both hold are added to twice, if that is not nil.
func (s *Set) Union(t *Set, twice *Set) {
	for _, o := range t.chunks {
		i, found := s.search(o.key)
		if !found {
			s.chunks = slices.Insert(s.chunks, i, o.clone())
			s.n += int64(o.n)
			continue
		}
		c := s.chunks[i]
		before := c.n
		c.union(o, twice)
		s.n += int64(c.n - before)
	}
}

// Intersect gives the offsets that both sets hold.
func (s *Set) Intersect(t *Set) *Set {
	out := &Set{}
	i, j := 0, 0
	for i < len(s.chunks) && j < len(t.chunks) {
		a, b := s.chunks[i], t.chunks[j]
		switch {
		case a.key < b.key:
			i++
		case a.key > b.key:
			j++
		default:
			a.clone().union(b, out)
			i, j = i+1, j+1
		}
	}
	return out
}

// Overlaps reports whether the set holds one of from <= o < to.
func (s *Set) Overlaps(from, to int64) bool {
	i, _ := s.search(from >> chunkBits)
	for ; i < len(s.chunks) && s.chunks[i].key<<chunkBits < to; i++ {
		c := s.chunks[i]
		hit := false
		c.each(func(r span) bool {
			hit = c.key<<chunkBits+int64(r.from) < to && c.key<<chunkBits+int64(r.last) >= from
			return !hit
		})
		if hit {
			return true
		}
	}
	return false
}

// Runs calls visit for each run of offsets from <= o < to, ascending, as long as it returns true. Runs neither touch nor overlap.
func (s *Set) Runs(visit func(from, to int64) bool) {
	from, to := int64(0), int64(-1)
	more := true
	for _, c := range s.chunks {
		base := c.key << chunkBits
		c.each(func(r span) bool {
			if base+int64(r.from) == to {
				to = base + int64(r.last) + 1
				return true
			}
			if to >= 0 {
				more = visit(from, to)
			}
			from, to = base+int64(r.from), base+int64(r.last)+1
			return more
		})
		if !more {
			return
		}
	}
	if to >= 0 {
		visit(from, to)
	}
}

// Gaps calls visit for each run of offsets in from <= o < to that the set does not hold, ascending, as long as it returns true.
func (s *Set) Gaps(from, to int64, visit func(from, to int64) bool) {
	at, more := from, true
	s.Runs(func(f, t int64) bool {
		if f >= to {
			return false
		}
		if f > at {
			more = visit(at, f)
		}
		at = max(at, t)
		return more
	})
	if more && at < to {
		visit(at, to)
	}
}

// First and Last are the ends of the set; -1 if it is empty.
func (s *Set) First() int64 {
	if len(s.chunks) == 0 {
		return -1
	}
	c := s.chunks[0]
	first := int64(-1)
	c.each(func(r span) bool {
		first = c.key<<chunkBits + int64(r.from)
		return false
	})
	return first
}

// Last is the greatest offset, -1 if the set is empty.
func (s *Set) Last() int64 {
	if len(s.chunks) == 0 {
		return -1
	}
	c := s.chunks[len(s.chunks)-1]
	last := int64(-1)
	c.each(func(r span) bool {
		last = c.key<<chunkBits + int64(r.last)
		return true
	})
	return last
}

func (c *chunk) clone() *chunk {
	return &chunk{key: c.key, runs: slices.Clone(c.runs), bits: slices.Clone(c.bits), n: c.n}
}

// each calls visit for each run, ascending.
func (c *chunk) each(visit func(span) bool) {
	if c.bits == nil {
		for _, r := range c.runs {
			if !visit(r) {
				return
			}
		}
		return
	}
	for at := 0; at < chunkSize; {
		from := next(c.bits, at, 0)
		if from == chunkSize {
			return
		}
		end := next(c.bits, from, ^uint64(0))
		if !visit(span{uint16(from), uint16(end - 1)}) {
			return
		}
		at = end
	}
}

// next finds the first bit at or behind at that is set (flip 0) or not set (flip all ones); chunkSize if there is none.
func next(b []uint64, at int, flip uint64) int {
	if at >= chunkSize {
		return chunkSize
	}
	w := (b[at>>6] ^ flip) &^ (1<<uint(at&63) - 1)
	for i := at >> 6; ; {
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
		if i++; i == words {
			return chunkSize
		}
		w = b[i] ^ flip
	}
}

// add adds one run.
func (c *chunk) add(r span, twice *Set) {
	if c.bits != nil {
		c.addBits(r, twice)
		return
	}
	n := len(c.runs)
	if n > 0 && r.from <= c.runs[n-1].last {
		c.addInside(r, twice)
		return
	}
	c.n += int(r.last) - int(r.from) + 1
	if n > 0 && r.from == c.runs[n-1].last+1 { // no overflow: r.from is greater than last
		c.runs[n-1].last = r.last
		return
	}
	c.runs = append(c.runs, r)
	if len(c.runs) > maxRuns {
		c.toBits()
	}
}

// addInside adds a run that does not begin behind all others.
func (c *chunk) addInside(r span, twice *Set) {
	// i is the first run that ends at or behind the place before r, j the first one that begins behind the place behind r.
	i, _ := slices.BinarySearchFunc(c.runs, r, func(x, r span) int {
		if int(x.last) < int(r.from)-1 {
			return -1
		}
		return 1
	})
	j, in := i, r
	held := 0
	for ; j < len(c.runs) && int(c.runs[j].from) <= int(r.last)+1; j++ {
		x := c.runs[j]
		c.twice(max(x.from, r.from), min(x.last, r.last), twice)
		held += int(x.last) - int(x.from) + 1
		in.from, in.last = min(in.from, x.from), max(in.last, x.last)
	}
	c.n += int(in.last) - int(in.from) + 1 - held
	c.runs = slices.Replace(c.runs, i, j, in)
	if len(c.runs) > maxRuns {
		c.toBits()
	}
}

func (c *chunk) twice(from, last uint16, twice *Set) {
	if twice != nil && from <= last {
		base := c.key << chunkBits
		twice.AddRun(base+int64(from), base+int64(last)+1, nil)
	}
}

func (c *chunk) toBits() {
	b := make([]uint64, words)
	for _, r := range c.runs {
		for w, m := range masks(r) {
			b[w] |= m
		}
	}
	c.bits, c.runs = b, nil
}

// masks gives the words that a run touches, each with the run's bits.
func masks(r span) func(yield func(int, uint64) bool) {
	return func(yield func(int, uint64) bool) {
		first, last := int(r.from)>>6, int(r.last)>>6
		for w := first; w <= last; w++ {
			m := ^uint64(0)
			if w == first {
				m &= ^uint64(0) << (r.from & 63)
			}
			if w == last {
				m &= ^uint64(0) >> (63 - r.last&63)
			}
			if !yield(w, m) {
				return
			}
		}
	}
}

func (c *chunk) addBits(r span, twice *Set) {
	for w, m := range masks(r) {
		both := c.bits[w] & m
		c.n += bits.OnesCount64(m &^ c.bits[w])
		c.bits[w] |= m
		if both != 0 {
			c.twiceWord(w, both, twice)
		}
	}
}

// twiceWord adds the bits of word w to twice.
func (c *chunk) twiceWord(w int, both uint64, twice *Set) {
	for both != 0 {
		from := bits.TrailingZeros64(both)
		n := bits.TrailingZeros64(^(both >> from))
		c.twice(uint16(w<<6+from), uint16(w<<6+from+n-1), twice)
		if from+n >= 64 {
			return
		}
		both &= ^uint64(0) << (from + n)
	}
}

// union adds all of o, which has the same key.
func (c *chunk) union(o *chunk, twice *Set) {
	if o.bits == nil {
		for _, r := range o.runs {
			c.add(r, twice)
		}
		return
	}
	if c.bits == nil {
		c.toBits()
	}
	for w, m := range o.bits {
		both := c.bits[w] & m
		c.n += bits.OnesCount64(m &^ c.bits[w])
		c.bits[w] |= m
		if both != 0 {
			c.twiceWord(w, both, twice)
		}
	}
}
