package account

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Run is the offsets From <= o < To.
type Run struct{ From, To int64 }

// Set is an exact set of offsets of one source partition: ascending runs that neither touch nor overlap.
type Set struct{ Runs []Run }

// Add adds one offset. Offsets that arrive in ascending order cost no search.
func (s *Set) Add(o int64) { s.AddRun(o, o+1) }

// AddRun adds the offsets from <= o < to.
func (s *Set) AddRun(from, to int64) {
	if from >= to {
		return
	}
	n := len(s.Runs)
	if n == 0 || from > s.Runs[n-1].To {
		s.Runs = append(s.Runs, Run{from, to})
		return
	}
	if from == s.Runs[n-1].To {
		s.Runs[n-1].To = to
		return
	}
	i, _ := slices.BinarySearchFunc(s.Runs, from, func(r Run, o int64) int {
		if r.To < o {
			return -1
		}
		return 1
	})
	j := i
	for j < len(s.Runs) && s.Runs[j].From <= to {
		from, to = min(from, s.Runs[j].From), max(to, s.Runs[j].To)
		j++
	}
	s.Runs = slices.Replace(s.Runs, i, j, Run{from, to})
}

// AddAll adds strictly ascending offsets. Offsets without a gap cost one look at both ends.
func (s *Set) AddAll(offsets []int64) {
	n := len(offsets)
	if n > 0 && offsets[n-1]-offsets[0] == int64(n-1) {
		s.AddRun(offsets[0], offsets[n-1]+1)
		return
	}
	for i := 0; i < len(offsets); {
		j := i + 1
		for j < len(offsets) && offsets[j] == offsets[j-1]+1 {
			j++
		}
		s.AddRun(offsets[i], offsets[j-1]+1)
		i = j
	}
}

// Union adds all offsets of t.
func (s *Set) Union(t Set) {
	for _, r := range t.Runs {
		s.AddRun(r.From, r.To)
	}
}

// Count is the number of offsets.
func (s Set) Count() (n int64) {
	for _, r := range s.Runs {
		n += r.To - r.From
	}
	return n
}

// Overlap gives the first run of offsets that both sets hold.
func (s Set) Overlap(t Set) (Run, bool) {
	i, j := 0, 0
	for i < len(s.Runs) && j < len(t.Runs) {
		a, b := s.Runs[i], t.Runs[j]
		if from, to := max(a.From, b.From), min(a.To, b.To); from < to {
			return Run{from, to}, true
		}
		if a.To < b.To {
			i++
		} else {
			j++
		}
	}
	return Run{}, false
}

// maxText bounds the runs that a text for people has.
const maxText = 64

// String lists the runs as first..last, at most 64 of them.
func (s Set) String() string {
	if n := len(s.Runs) - maxText; n > 0 {
		return Set{s.Runs[:maxText]}.Text() + more(n)
	}
	return s.Text()
}

// Text lists all runs as first..last.
func (s Set) Text() string {
	var b []byte
	for i, r := range s.Runs {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, r.From, 10)
		if r.To != r.From+1 {
			b = strconv.AppendInt(append(b, ".."...), r.To-1, 10)
		}
	}
	return string(b)
}

// Shorten makes a Text what String gives.
func Shorten(text string) string {
	runs := strings.Count(text, " ") + 1
	if runs <= maxText {
		return text
	}
	at := 0
	for range maxText {
		at += strings.IndexByte(text[at:], ' ') + 1
	}
	return text[:at-1] + more(runs-maxText)
}

// more stands for the runs that a text leaves out.
func more(n int) string { return fmt.Sprintf(" and %d more ranges", n) }

// The two encodings of a set; the smaller one is written.
const (
	setRuns   = 1 // uvarint count, then per run uvarint gap to the end of the run before (first: from 0) and uvarint length
	setBitmap = 2 // uvarint first offset, uvarint number of bits, then the bits, least significant first
)

// maxOffset bounds what a set can hold on disk, so that no sum of damaged numbers overflows.
const maxOffset = 1 << 62

// MarshalBinary encodes the set: one byte for the form, then runs or a bitmap. Offsets below 0 or above 2^62 and runs that are not in order are
// errors.
func (s Set) MarshalBinary() ([]byte, error) {
	b := []byte{setRuns}
	b = binary.AppendUvarint(b, uint64(len(s.Runs)))
	last := int64(0)
	for i, r := range s.Runs {
		if r.From < 0 || r.To <= r.From || r.To > maxOffset || i > 0 && r.From <= last {
			return nil, fmt.Errorf("offset set: run %d of %d is %d..%d after %d: not in order or out of range", i, len(s.Runs), r.From, r.To-1, last-1)
		}
		b = binary.AppendUvarint(b, uint64(r.From-last))
		b = binary.AppendUvarint(b, uint64(r.To-r.From))
		last = r.To
	}
	if len(s.Runs) == 0 {
		return b, nil
	}
	first := s.Runs[0].From
	span := s.Runs[len(s.Runs)-1].To - first
	if span/8+16 >= int64(len(b)) {
		return b, nil
	}
	m := []byte{setBitmap}
	m = binary.AppendUvarint(m, uint64(first))
	m = binary.AppendUvarint(m, uint64(span))
	at := len(m)
	m = append(m, make([]byte, (span+7)/8)...)
	for _, r := range s.Runs {
		for o := r.From - first; o < r.To-first; o++ {
			m[at+int(o>>3)] |= 1 << uint(o&7)
		}
	}
	return m, nil
}

// UnmarshalBinary decodes what MarshalBinary wrote; damaged input is an error.
func (s *Set) UnmarshalBinary(b []byte) error {
	if err := s.decode(b); err != nil {
		s.Runs = nil
		return err
	}
	return nil
}

func (s *Set) decode(b []byte) error {
	bad := fmt.Errorf("offset set of %d bytes is damaged", len(b))
	s.Runs = nil
	if len(b) == 0 {
		return bad
	}
	form, b := b[0], b[1:]
	next := func() (int64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > maxOffset {
			return 0, false
		}
		b = b[n:]
		return int64(v), true
	}
	switch form {
	case setRuns:
		n, ok := next()
		if !ok || n > int64(len(b))/2 {
			return bad
		}
		s.Runs = make([]Run, 0, n)
		last := int64(0)
		for i := range n {
			gap, ok1 := next()
			length, ok2 := next()
			if !ok1 || !ok2 || length == 0 || i > 0 && gap == 0 || last > maxOffset-gap || last+gap > maxOffset-length {
				return bad
			}
			s.Runs = append(s.Runs, Run{last + gap, last + gap + length})
			last += gap + length
		}
		if len(b) != 0 {
			return bad
		}
	case setBitmap:
		first, ok1 := next()
		span, ok2 := next()
		if !ok1 || !ok2 || span == 0 || first > maxOffset-span || int64(len(b)) != (span+7)/8 {
			return bad
		}
		if b[0]&1 == 0 || b[len(b)-1]>>uint((span-1)&7) != 1 { // both ends are offsets of the set, nothing follows
			return bad
		}
		runs, before := 0, byte(0) // a run begins at a bit whose neighbour below is not set
		for _, x := range b {
			runs += bits.OnesCount8(x &^ (x<<1 | before>>7))
			before = x
		}
		s.Runs = make([]Run, 0, runs)
		for o := range span {
			if b[o>>3]>>uint(o&7)&1 == 1 {
				s.Add(first + o)
			}
		}
	default:
		return bad
	}
	return nil
}

// MarshalText is MarshalBinary in base64, for JSON and for file footers.
func (s Set) MarshalText() ([]byte, error) {
	b, err := s.MarshalBinary()
	return []byte(base64.StdEncoding.EncodeToString(b)), err
}

// UnmarshalText is the reverse of MarshalText.
func (s *Set) UnmarshalText(t []byte) error {
	b, err := base64.StdEncoding.DecodeString(string(t))
	if err != nil {
		return fmt.Errorf("offset set: %w", err)
	}
	return s.UnmarshalBinary(b)
}
