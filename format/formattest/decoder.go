package formattest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"staunch/changelog"
	"staunch/format"
)

// DecoderSuite says what a decoder is tried with.
type DecoderSuite struct {
	Factory format.Factory
	// Params want at least two columns; strict mode.
	Params format.Params
	// Ignoring are the same with the option that leaves out what does not parse; no options if the format has none.
	Ignoring format.Params
	// Good are records that parse, with a value in every column; Bad are records that do not.
	Good, Bad [][]byte
}

// RunDecoder runs the suite for decoders: one value in each column or none, errors that say why, the same values whatever is wanted,
// nothing kept of the record's bytes, no allocation, and no panic on damaged records.
func RunDecoder(t *testing.T, s DecoderSuite) {
	t.Run("good", func(t *testing.T) { s.good(t) })
	t.Run("bad", func(t *testing.T) { s.bad(t) })
	t.Run("projection", func(t *testing.T) { s.projection(t) })
	t.Run("copies", func(t *testing.T) { s.copies(t) })
	t.Run("allocations", func(t *testing.T) { s.allocations(t) })
	t.Run("damage", func(t *testing.T) { s.damage(t) })
}

func (s *DecoderSuite) open(t testing.TB, p format.Params) (format.Decoder, []*changelog.Column) {
	t.Helper()
	d, err := s.Factory.Decoder(p)
	if err != nil {
		t.Fatal(err)
	}
	var cols []*changelog.Column
	for _, i := range p.Wanted {
		cols = append(cols, changelog.NewColumn(p.All[i].Type))
	}
	return d, cols
}

func (s *DecoderSuite) good(t *testing.T) {
	d, cols := s.open(t, s.Params)
	for i, record := range s.Good {
		if skip, err := d.Decode(record, cols); skip || err != nil {
			t.Fatalf("%q: skip %v, error %v", record, skip, err)
		}
		for j, c := range cols {
			if c.N != i+1 {
				t.Fatalf("%q: column %d has %d rows, want %d", record, j, c.N, i+1)
			}
		}
	}
	if len(d.Coerced()) != len(cols) {
		t.Errorf("Coerced has %d counts for %d columns", len(d.Coerced()), len(cols))
	}
}

func (s *DecoderSuite) bad(t *testing.T) {
	d, cols := s.open(t, s.Params)
	ignoring, ignored := s.open(t, s.Ignoring)
	for i, record := range s.Bad {
		// Good ones in between: a bad record takes nothing of them back.
		for _, c := range []struct {
			d    format.Decoder
			cols []*changelog.Column
		}{{d, cols}, {ignoring, ignored}} {
			if _, err := c.d.Decode(s.Good[i%len(s.Good)], c.cols); err != nil {
				t.Fatal(err)
			}
		}
		before := cols[0].N
		skip, err := d.Decode(record, cols)
		var re *format.RecordError
		if skip || !errors.As(err, &re) || re.Msg == "" {
			t.Errorf("%q: skip %v, error %v; want a record error", record, skip, err)
		}
		checkRows(t, record, cols, before)
		if s.Ignoring.Options.Keys() == nil {
			continue
		}
		before = ignored[0].N
		skip, err = ignoring.Decode(record, ignored)
		if err != nil {
			t.Errorf("%q: error %v although such records are to be left out", record, err)
		}
		if skip {
			checkRows(t, record, ignored, before)
		} else {
			checkRows(t, record, ignored, before+1)
		}
	}
}

func checkRows(t *testing.T, record []byte, cols []*changelog.Column, want int) {
	t.Helper()
	for j, c := range cols {
		if c.N != want {
			t.Fatalf("%q: column %d has %d rows, want %d", record, j, c.N, want)
		}
	}
}

func (s *DecoderSuite) projection(t *testing.T) {
	all, allCols := s.open(t, s.Params)
	for k := range s.Params.Wanted {
		p := s.Params
		// One column, and all others in reverse.
		for _, wanted := range [][]int{{s.Params.Wanted[k]}, reversed(s.Params.Wanted)} {
			p.Wanted = wanted
			d, cols := s.open(t, p)
			for _, c := range allCols {
				c.Reset()
			}
			for _, record := range s.Good {
				_, err1 := all.Decode(record, allCols)
				_, err2 := d.Decode(record, cols)
				if err1 != nil || err2 != nil {
					t.Fatalf("%q: %v, %v", record, err1, err2)
				}
			}
			for j, at := range wanted {
				for i := range s.Params.Wanted {
					if s.Params.Wanted[i] != at {
						continue
					}
					for row := range s.Good {
						if got, want := Text(cols[j], row), Text(allCols[i], row); got != want {
							t.Errorf("column %s row %d: got %s with %v wanted, %s with all", s.Params.All[at].Name, row, got, wanted, want)
						}
					}
				}
			}
		}
	}
}

func reversed(in []int) []int {
	out := make([]int, 0, len(in))
	for i := len(in) - 1; i >= 0; i-- {
		out = append(out, in[i])
	}
	return out
}

// copies overwrites each record after it was decoded: the columns must not change.
func (s *DecoderSuite) copies(t *testing.T) {
	d, cols := s.open(t, s.Params)
	var want []string
	for _, record := range s.Good {
		b := append([]byte(nil), record...)
		if _, err := d.Decode(b, cols); err != nil {
			t.Fatal(err)
		}
		for _, c := range cols {
			want = append(want, Text(c, c.N-1))
		}
		for i := range b {
			b[i] = '#'
		}
	}
	for row := range s.Good {
		for j, c := range cols {
			if got := Text(c, row); got != want[row*len(cols)+j] {
				t.Errorf("row %d column %d became %s after the record's bytes were reused, was %s", row, j, got, want[row*len(cols)+j])
			}
		}
	}
}

func (s *DecoderSuite) allocations(t *testing.T) {
	d, cols := s.open(t, s.Params)
	round := func() {
		for _, c := range cols {
			c.Reset()
		}
		for _, record := range s.Good {
			if _, err := d.Decode(record, cols); err != nil {
				t.Fatal(err)
			}
		}
	}
	round()
	if n := testing.AllocsPerRun(20, round); n > 0 {
		t.Errorf("%.1f allocations for %d records, want none", n, len(s.Good))
	}
}

// damage cuts records short, changes and repeats bytes: the decoder must answer, and keep its columns even.
func (s *DecoderSuite) damage(t *testing.T) {
	d, cols := s.open(t, s.Params)
	r := rand.New(rand.NewPCG(1, 2))
	try := func(record []byte) {
		before := cols[0].N
		skip, err := d.Decode(record, cols)
		if err != nil || skip {
			checkRows(t, record, cols, before)
		} else {
			checkRows(t, record, cols, before+1)
		}
		if cols[0].N > 1000 {
			for _, c := range cols {
				c.Reset()
			}
		}
	}
	for _, record := range append(append([][]byte(nil), s.Good...), s.Bad...) {
		for n := range record {
			try(record[:n])
		}
		if len(record) == 0 {
			continue
		}
		for range 300 {
			b := append([]byte(nil), record...)
			for range r.IntN(3) + 1 {
				switch i := r.IntN(len(b)); r.IntN(3) {
				case 0:
					b[i] = byte(r.Uint32())
				case 1:
					b = append(b[:i], b[min(len(b)-1, i+r.IntN(3)):]...)
				case 2:
					b = append(b[:i:i], append([]byte{`"{}[],:\0-1e`[r.IntN(12)]}, b[i:]...)...)
				}
				if len(b) == 0 {
					break
				}
			}
			try(b)
		}
	}
}

// Text is a value as text that differs when values do.
func Text(c *changelog.Column, i int) string {
	switch {
	case c.IsNull(i):
		return "NULL"
	case len(c.B) > 0:
		return fmt.Sprint(c.B[i])
	case len(c.I32) > 0:
		return fmt.Sprint(c.I32[i])
	case len(c.I64) > 0:
		return fmt.Sprint(c.I64[i])
	case len(c.F32) > 0:
		return fmt.Sprintf("%x", c.F32[i])
	case len(c.F64) > 0:
		return fmt.Sprintf("%x", c.F64[i])
	case len(c.Dec) > 0:
		return c.Dec[i].ToString(int32(c.Type.Scale))
	}
	return fmt.Sprintf("%q", c.Bytes(i))
}
