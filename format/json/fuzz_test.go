package json

import (
	stdjson "encoding/json"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"staunch/changelog"
	"staunch/format"
	"staunch/types"
)

// fuzzFields has one column of each atomic type, named by its letter.
var fuzzFields = []format.Field{{Name: "a", Type: types.New(types.BigInt)}, {Name: "b", Type: types.String_}, {Name: "c", Type: types.New(types.Double)},
	{Name: "d", Type: types.NewDecimal(38, 10)}, {Name: "e", Type: types.NewTimestamp(3)}, {Name: "f", Type: types.New(types.Boolean)},
	{Name: "g", Type: types.New(types.Int)}, {Name: "h", Type: types.NewTimestampLTZ(6)}, {Name: "i", Type: types.New(types.Date)},
	{Name: "j", Type: types.NewTime(3)}, {Name: "k", Type: types.Bytes}, {Name: "l", Type: types.New(types.Float)}, {Name: "m", Type: types.New(types.TinyInt)},
	{Name: "n", Type: types.NewTimestamp(9)}, {Name: "o", Type: types.NewDecimal(10, 2)}}

// oracle says whether a record is one that the decoder must take: one JSON object by the standard library, with raw control characters
// allowed in strings, UTF-8 throughout, not nested too deeply.
func oracle(b []byte) (clean []byte, ok bool) {
	clean = []byte(strings.TrimPrefix(string(b), "\xef\xbb\xbf"))
	if !utf8.Valid(clean) {
		return nil, false
	}
	inString, depth, deepest := false, 0, 0
	for i := 0; i < len(clean); i++ {
		switch c := clean[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString && c < 0x20:
			clean[i] = ' ' // only validity and other values are compared
		case !inString && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !inString && (c == '}' || c == ']'):
			depth--
		}
	}
	trimmed := strings.TrimLeft(string(clean), " \t\r\n")
	return clean, strings.HasPrefix(trimmed, "{") && stdjson.Valid(clean) && deepest <= maxDepth
}

func FuzzDecode(f *testing.F) {
	for _, file := range []string{"testdata/flink.tsv"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if parts := strings.Split(line, "\t"); len(parts) > 3 {
				for _, name := range []string{"a", "b", "d", "e"} {
					f.Add([]byte(strings.ReplaceAll(parts[2], `"n"`, `"`+name+`"`)))
				}
			}
		}
	}
	f.Add([]byte(`{"a":1,"b":"x","c":1.5,"d":12.34,"e":"2024-01-01 00:00:00.123","f":true,"g":7,"h":"2024-01-01 00:00:00Z","i":"2024-01-01","j":"12:00:00","k":"AAEC","l":1e3,"m":-1}`))
	f.Add([]byte(`{"b":"\ud83d\ude00\"\\\/\b\f\n\r\t` + "\x01\x00" + `","z":[1,{"y":[]},null,true],"a":-0}`))
	f.Add([]byte("\xef\xbb\xbf{ \"a\" : 1 , \"a\" : 2 }\n"))
	strict := mustDecoder(f, params(fuzzFields))
	ignoring := mustDecoder(f, params(fuzzFields, "ignore-parse-errors=true"))
	few := params(fuzzFields, "ignore-parse-errors=true")
	few.Wanted = []int{3, 1}
	projecting := mustDecoder(f, few)
	f.Fuzz(func(t *testing.T, record []byte) {
		if len(record) == 0 {
			return
		}
		clean, valid := oracle(record)
		cols, skip := ignoring.run(t, record)
		if skip == valid {
			t.Fatalf("%q: skip = %v, standard library says valid = %v", record, skip, valid)
		}
		again, skipAgain := ignoring.run(t, record)
		if skipAgain != skip || !sameRows(cols, again) {
			t.Fatalf("%q: a second time the result is another", record)
		}
		part, skipPart := projecting.run(t, record)
		if skipPart != skip || !skip && !sameRows([]*changelog.Column{cols[3], cols[1]}, part) {
			t.Fatalf("%q: with two columns wanted the result is another", record)
		}
		strictCols, err := strict.strict(t, record)
		if err == nil && (skip || !sameRows(cols, strictCols)) {
			t.Fatalf("%q: strict mode reads another row", record)
		}
		if err != nil && valid && err.Column == "" {
			t.Fatalf("%q: strict error without a field: %v", record, err)
		}
		if valid {
			checkValues(t, record, clean, cols)
		}
	})
}

// fuzzDecoder is a decoder that is used again and again, so that what it learns from one record is tried on the next.
type fuzzDecoder struct {
	format.Decoder
	p format.Params
}

func mustDecoder(f *testing.F, p format.Params) fuzzDecoder {
	d, _ := newTestDecoder(f, p)
	return fuzzDecoder{d, p}
}

func (d fuzzDecoder) columns() []*changelog.Column {
	var cols []*changelog.Column
	for _, i := range d.p.Wanted {
		c := changelog.NewColumn(d.p.All[i].Type)
		c.AppendNull() // a row that must stay as it is
		cols = append(cols, c)
	}
	return cols
}

func (d fuzzDecoder) run(t *testing.T, record []byte) ([]*changelog.Column, bool) {
	cols := d.columns()
	skip, err := d.Decode(record, cols)
	if err != nil {
		t.Fatalf("%q: %v in spite of ignore-parse-errors", record, err)
	}
	checkRows(t, record, cols, !skip)
	return cols, skip
}

func (d fuzzDecoder) strict(t *testing.T, record []byte) ([]*changelog.Column, *format.RecordError) {
	cols := d.columns()
	_, err := d.Decode(record, cols)
	checkRows(t, record, cols, err == nil)
	if err == nil {
		return cols, nil
	}
	e := err.(*format.RecordError)
	if e.At < 0 || e.At > len(record) || e.Msg == "" {
		t.Fatalf("%q: error %+v", record, e)
	}
	return cols, e
}

func checkRows(t *testing.T, record []byte, cols []*changelog.Column, taken bool) {
	want := 1
	if taken {
		want = 2
	}
	for j, c := range cols {
		if c.N != want || !c.IsNull(0) {
			t.Fatalf("%q: column %d has %d rows, want %d", record, j, c.N, want)
		}
		if c.Type.IsString() && !utf8.Valid(c.Data) {
			t.Fatalf("%q: column %d is not UTF-8", record, j)
		}
	}
}

func sameRows(a, b []*changelog.Column) bool {
	for j := range a {
		if a[j].N != b[j].N || a[j].N > 1 && show(a[j], 1) != show(b[j], 1) {
			return false
		}
	}
	return true
}

// checkValues compares the columns whose meaning the standard library shares.
func checkValues(t *testing.T, record, clean []byte, cols []*changelog.Column) {
	var m map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(clean, &m); err != nil {
		return
	}
	if raw, ok := m["a"]; ok && isNumber(raw) {
		r, fits := rat(raw)
		if !fits {
			return
		}
		cut := new(big.Int).Quo(r.Num(), r.Denom())
		want := "null"
		if cut.IsInt64() {
			want = cut.String()
		}
		if got := show(cols[0], 1); got != want {
			t.Fatalf("%q: BIGINT is %s, want %s", record, got, want)
		}
	}
	if raw, ok := m["b"]; ok && raw[0] == '"' && !strings.ContainsAny(string(record), "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f") {
		var s string
		if err := stdjson.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if got := show(cols[1], 1); got != s && !strings.Contains(s, "\ufffd") && s != "null" {
			t.Fatalf("%q: STRING is %q, want %q", record, got, s)
		}
	}
	if raw, ok := m["c"]; ok && isNumber(raw) {
		var want float64
		if err := stdjson.Unmarshal(raw, &want); err == nil && math.Float64bits(want) != math.Float64bits(cols[2].F64[1]) {
			t.Fatalf("%q: DOUBLE is %v, want %v", record, cols[2].F64[1], want)
		}
	}
	for j, scale := range map[int]int{3: 10, 14: 2} {
		raw, ok := m[fuzzFields[j].Name]
		if !ok || !isNumber(raw) {
			continue
		}
		r, fits := rat(raw)
		if !fits {
			continue
		}
		want := roundHalfUp(r, scale)
		got := "null"
		if !cols[j].IsNull(1) {
			got = cols[j].Dec[1].BigInt().String()
		}
		if len(strings.TrimPrefix(want, "-")) > fuzzFields[j].Type.Precision {
			want = "null"
		}
		if got != want {
			t.Fatalf("%q: DECIMAL is %s, want %s", record, got, want)
		}
	}
}

func isNumber(raw stdjson.RawMessage) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// rat is the exact number, for exponents that are not out of all proportion.
func rat(raw stdjson.RawMessage) (*big.Rat, bool) {
	if i := strings.IndexAny(string(raw), "eE"); i >= 0 && len(raw)-i > 5 {
		return nil, false
	}
	return new(big.Rat).SetString(string(raw))
}

func roundHalfUp(r *big.Rat, scale int) string {
	n := new(big.Int).Mul(r.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	twice := n.Abs(new(big.Int).Mul(n, big.NewInt(2)))
	q := new(big.Int).Quo(twice.Add(twice, r.Denom()), new(big.Int).Mul(r.Denom(), big.NewInt(2)))
	if r.Sign() < 0 {
		q.Neg(q)
	}
	return q.String()
}
