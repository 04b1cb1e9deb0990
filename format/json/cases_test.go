package json

import (
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"staunch/changelog"
	"staunch/config"
	"staunch/format"
	"staunch/function/datetime"
	"staunch/types"
)

// params are the columns "name type" of a table, all wanted, with the options "key=value".
func params(fields []format.Field, options ...string) format.Params {
	raw := map[string]string{}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		raw[k] = v
	}
	p := format.Params{All: fields, Options: config.NewValues("table t", raw, nil)}
	for i := range fields {
		p.Wanted = append(p.Wanted, i)
	}
	return p
}

func one(name string, t types.Type) []format.Field { return []format.Field{{Name: name, Type: t}} }

func newTestDecoder(t testing.TB, p format.Params) (format.Decoder, []*changelog.Column) {
	t.Helper()
	d, err := Factory.Decoder(p)
	if err != nil {
		t.Fatal(err)
	}
	var cols []*changelog.Column
	for _, i := range p.Wanted {
		cols = append(cols, changelog.NewColumn(p.All[i].Type))
	}
	return d, cols
}

// show prints a value as the cases write it.
func show(c *changelog.Column, i int) string {
	if c.IsNull(i) {
		return "null"
	}
	switch c.Type.Kind {
	case types.Boolean:
		return fmt.Sprint(c.B[i])
	case types.Date:
		return string(datetime.AppendDate(nil, c.I32[i]))
	case types.Time:
		return string(datetime.AppendTime(nil, c.I32[i], 3))
	case types.Timestamp:
		return string(datetime.AppendTimestamp(nil, c.I64[i], c.Type.UnitsPerSecond(), c.Type.Precision))
	case types.TimestampLTZ:
		return fmt.Sprintf("instant %d", c.I64[i])
	case types.Decimal:
		return c.Dec[i].ToString(int32(c.Type.Scale))
	case types.Float:
		return showFloat(float64(c.F32[i]), 32)
	case types.Double:
		return showFloat(c.F64[i], 64)
	}
	switch c.Type.Physical() {
	case types.PhysInt32:
		return fmt.Sprint(c.I32[i])
	case types.PhysInt64:
		return fmt.Sprint(c.I64[i])
	}
	return string(c.Bytes(i))
}

func showFloat(f float64, size int) string {
	return strings.Trim(string(appendFloat(nil, f, size)), `"`)
}

// typeOf reads the few type names that the cases use.
func typeOf(t *testing.T, name string) types.Type {
	switch name {
	case "BIGINT":
		return types.New(types.BigInt)
	case "INT":
		return types.New(types.Int)
	case "DOUBLE":
		return types.New(types.Double)
	case "DECIMAL(10,2)":
		return types.NewDecimal(10, 2)
	case "DECIMAL(38,18)":
		return types.NewDecimal(38, 18)
	case "STRING":
		return types.String_
	case "TIMESTAMP(3)":
		return types.NewTimestamp(3)
	case "TIMESTAMP_LTZ(3)":
		return types.NewTimestampLTZ(3)
	case "DATE":
		return types.New(types.Date)
	}
	t.Fatalf("unknown type %q", name)
	return types.Type{}
}

// readCase reads test/cases/case-<number>-*.json.
func readCase(t *testing.T, number int, into any) {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("../../test/cases/case-%02d-*.json", number))
	if err != nil || len(names) != 1 {
		t.Fatalf("case %d: found %v, error %v", number, names, err)
	}
	text, err := os.ReadFile(names[0])
	if err == nil {
		err = stdjson.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkOne decodes one record in strict mode, and if that is an error, in the other mode.
func checkOne(t *testing.T, typ types.Type, record []byte, want string, options ...string) {
	t.Helper()
	field := strings.Trim(strings.SplitN(string(record)+`"n"`, `"`, 3)[1], `"`)
	if field != "s" && field != "t" {
		field = "n"
	}
	d, cols := newTestDecoder(t, params(one(field, typ), options...))
	skip, err := d.Decode(record, cols)
	wantError := strings.HasPrefix(want, "ERROR")
	switch {
	case skip:
		t.Errorf("%s %q: skipped in strict mode", typ, record)
	case wantError && err == nil:
		t.Errorf("%s %q: got %s, want an error", typ, record, show(cols[0], 0))
	case wantError && cols[0].N != 0:
		t.Errorf("%s %q: left %d rows behind an error", typ, record, cols[0].N)
	case !wantError && err != nil:
		t.Errorf("%s %q: %v, want %s", typ, record, err, want)
	case !wantError && show(cols[0], 0) != want:
		t.Errorf("%s %q: got %s, want %s", typ, record, show(cols[0], 0), want)
	}
	if !wantError {
		return
	}
	d, cols = newTestDecoder(t, params(one(field, typ), append(options, "ignore-parse-errors=true")...))
	skip, err = d.Decode(record, cols)
	if err != nil {
		t.Fatalf("%s %q: %v with ignore-parse-errors", typ, record, err)
	}
	if drop := strings.Contains(want, "row dropped"); drop != skip {
		t.Errorf("%s %q: skip = %v with ignore-parse-errors, want %v", typ, record, skip, drop)
	} else if !drop && (cols[0].N != 1 || !cols[0].IsNull(0) || d.Coerced()[0] != 1) {
		t.Errorf("%s %q: with ignore-parse-errors: %d rows, %d counted; want one counted NULL", typ, record, cols[0].N, d.Coerced()[0])
	}
}

func TestCase17Numbers(t *testing.T) {
	var c struct {
		Input []struct {
			Type  string
			Cases [][2]*string
		}
	}
	readCase(t, 17, &c)
	count := 0
	for _, group := range c.Input {
		for _, pair := range group.Cases {
			want := "null"
			if pair[1] != nil {
				want = *pair[1]
			}
			checkOne(t, typeOf(t, group.Type), []byte(*pair[0]), want)
			count++
		}
	}
	if count < 33 {
		t.Errorf("only %d cases", count)
	}
}

func TestCase18IgnoreParseErrors(t *testing.T) {
	var c struct{ Input []string }
	readCase(t, 18, &c)
	fields := []format.Field{{Name: "id", Type: types.New(types.Int)}, {Name: "n", Type: types.New(types.BigInt)}}
	d, cols := newTestDecoder(t, params(fields, "ignore-parse-errors=true"))
	var got []string
	skipped := 0
	for _, record := range c.Input {
		skip, err := d.Decode([]byte(record), cols)
		if err != nil {
			t.Fatal(err)
		}
		if skip {
			skipped++
			continue
		}
		got = append(got, show(cols[0], cols[0].N-1)+":"+show(cols[1], cols[1].N-1))
	}
	want := "1:1 2:2 3:3 5:5 6:6 7:null 8:8 9:9 10:10"
	if strings.Join(got, " ") != want || skipped != 1 || d.Coerced()[1] != 1 || d.Coerced()[0] != 0 {
		t.Errorf("got %v, %d skipped, %v counted; want %s, 1 skipped, [0 1]", got, skipped, d.Coerced(), want)
	}
	strict, cols := newTestDecoder(t, params(fields))
	for i, record := range c.Input {
		_, err := strict.Decode([]byte(record), cols)
		if bad := i == 3 || i == 6; bad != (err != nil) {
			t.Errorf("record %d: error %v", i, err)
		}
	}
}

func TestCase19Text(t *testing.T) {
	var c struct {
		Input []struct {
			HexOrText   string `json:"hex_or_text"`
			Hex         string
			Expect      string
			ExpectBytes string `json:"expect_bytes"`
		}
	}
	readCase(t, 19, &c)
	for _, in := range c.Input {
		record := []byte(in.HexOrText)
		if in.Hex != "" {
			record, _ = hex.DecodeString(in.Hex)
		}
		want, _ := hex.DecodeString(in.ExpectBytes)
		if in.Expect != "" {
			want = []byte(strings.Replace(in.Expect, "ignore mode: row dropped", "row dropped", 1))
		}
		checkOne(t, types.String_, record, string(want))
	}
	if len(c.Input) != 8 {
		t.Errorf("%d cases", len(c.Input))
	}
}

func TestCase20Timestamps(t *testing.T) {
	var c struct {
		Input []struct {
			Type, Standard string
			Cases          [][2]string
		}
	}
	readCase(t, 20, &c)
	count := 0
	for _, group := range c.Input {
		for _, pair := range group.Cases {
			text := `"` + pair[0] + `"`
			if number, ok := strings.CutPrefix(pair[0], "(number) "); ok {
				text = number
			}
			var options []string
			if group.Standard != "" {
				options = append(options, "timestamp-format.standard="+group.Standard)
			}
			checkOne(t, typeOf(t, group.Type), []byte(`{"t":`+text+`}`), pair[1], options...)
			count++
		}
	}
	if count < 23 {
		t.Errorf("only %d cases", count)
	}
}

func TestCase15Tombstones(t *testing.T) {
	var c struct {
		Steps []struct {
			Topic  string
			Values []*string
		}
	}
	readCase(t, 15, &c)
	fields := []format.Field{{Name: "id", Type: types.New(types.BigInt)}, {Name: "v", Type: types.String_}}
	d, cols := newTestDecoder(t, params(fields))
	skipped, failed := 0, 0
	for _, step := range c.Steps {
		if step.Topic != "in" {
			continue
		}
		for _, v := range step.Values {
			var record []byte
			if v != nil {
				record = []byte(*v)
			}
			skip, err := d.Decode(record, cols)
			if skip {
				skipped++
			}
			if err != nil {
				failed++
			}
		}
	}
	var got []string
	for i := range cols[0].N {
		got = append(got, show(cols[0], i)+":"+show(cols[1], i))
	}
	if strings.Join(got, " ") != "1:a null:null 2:b" || skipped != 2 || failed != 1 {
		t.Errorf("rows %v, %d skipped, %d failed", got, skipped, failed)
	}
}

func TestFloatText(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 1: "1.0", 1e7: "1.0E7", 9999999: "9999999.0", 0.001: "0.001", 9.99e-4: "9.99E-4",
		1.5e300: "1.5E300", -12.25: "-12.25", math.Inf(1): `"Infinity"`, math.Copysign(0, -1): "-0.0"} {
		if got := string(appendFloat(nil, f, 64)); got != want {
			t.Errorf("%v: got %s, want %s", f, got, want)
		}
	}
}
