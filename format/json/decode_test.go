package json

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/format"
	"staunch/types"
)

func pair() []format.Field {
	return []format.Field{{Name: "id", Type: types.New(types.Int)}, {Name: "v", Type: types.String_}}
}

// decodeAll decodes records strictly and returns the rows as text.
func decodeAll(t *testing.T, p format.Params, records ...string) string {
	t.Helper()
	d, cols := newTestDecoder(t, p)
	var rows []string
	for _, r := range records {
		if skip, err := d.Decode([]byte(r), cols); err != nil {
			rows = append(rows, "ERROR "+err.Error())
			continue
		} else if skip {
			rows = append(rows, "SKIP")
			continue
		}
		var row []string
		for _, c := range cols {
			row = append(row, show(c, c.N-1))
		}
		rows = append(rows, strings.Join(row, ","))
	}
	return strings.Join(rows, "; ")
}

// TestKeyOrders: whatever the order, keys learned from earlier records never mislead.
func TestKeyOrders(t *testing.T) {
	got := decodeAll(t, params(pair()), `{"id":1,"v":"a"}`, `{"v":"b","id":2}`, `{"id":3,"v":"c"}`, `{"x":[1,{"id":9}],"v":"d","y":null,"id":4}`,
		`{"x":"id","v":"e","id":5}`, `{"y":1,"id":6}`, `{"v":"f"}`, `{"id":7,"v":"g","id":8,"v":"h"}`, `{"i\u0064":9,"\u0076":"i"}`, `{ "id" : 10 , "v" : "j" }`, `{"ID":1,"V":"x"}`)
	want := "1,a; 2,b; 3,c; 4,d; 5,e; 6,null; null,f; 8,h; 9,i; 10,j; null,null"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNamesThatNeedEscapes: names with quotes, backslashes, other scripts.
func TestNamesThatNeedEscapes(t *testing.T) {
	fields := []format.Field{{Name: `a"b`, Type: types.New(types.Int)}, {Name: `c\d`, Type: types.New(types.Int)}, {Name: "名", Type: types.New(types.Int)}, {Name: "", Type: types.New(types.Int)}}
	got := decodeAll(t, params(fields), `{"a\"b":1,"c\\d":2,"名":3,"":4}`, `{"a\"b":1,"c\\d":2,"\u540d":3,"":4}`)
	if want := "1,2,3,4; 1,2,3,4"; got != want {
		t.Errorf("got %s", got)
	}
}

// TestUnknownNames: a stream of ever new names costs no memory beyond a bound, and no wrong value.
func TestUnknownNames(t *testing.T) {
	d, cols := newTestDecoder(t, params(pair()))
	for i := range 5000 {
		if _, err := d.Decode(fmt.Appendf(nil, `{"n%d":1,"id":%d,"m%d":"x","v":"%d"}`, i, i, i, i), cols); err != nil {
			t.Fatal(err)
		}
		if cols[0].I32[i] != int32(i) || show(cols[1], i) != fmt.Sprint(i) {
			t.Fatalf("record %d read as %d, %s", i, cols[0].I32[i], show(cols[1], i))
		}
	}
	if n := len(d.(*decoder).keys); n > maxUnknown+2 {
		t.Errorf("%d names are remembered, want at most %d", n, maxUnknown+2)
	}
}

func TestMissingFields(t *testing.T) {
	got := decodeAll(t, params(pair(), "fail-on-missing-field=true"), `{"id":1,"v":null}`, `{"id":1}`)
	if !strings.HasPrefix(got, "1,null; ERROR field 'v': the field is missing") {
		t.Errorf("got %s", got)
	}
	_, err := Factory.Decoder(params(pair(), "fail-on-missing-field=true", "ignore-parse-errors=true"))
	if err == nil || !strings.Contains(err.Error(), "ignore-parse-errors") {
		t.Errorf("both options together: error %v", err)
	}
}

// TestCoerced: what Flink's rules change is counted by column, and refused if asked for.
func TestCoerced(t *testing.T) {
	fields := []format.Field{{Name: "b", Type: types.New(types.Boolean)}, {Name: "i", Type: types.New(types.Int)}, {Name: "d", Type: types.NewDecimal(4, 1)},
		{Name: "t", Type: types.NewTimestamp(3)}, {Name: "f", Type: types.New(types.Double)}}
	records := []string{`{"b":"yes"}`, `{"i":1.5}`, `{"d":0.25}`, `{"d":12345}`, `{"t":"2024-01-01 00:00:00.1234"}`, `{"f":1e999}`}
	clean := []string{`{"b":"TRUE"}`, `{"i":1.0}`, `{"i":"7"}`, `{"d":0.250e1}`, `{"d":"1.10"}`, `{"t":"2024-01-01 00:00:00.123000"}`, `{"f":"Infinity"}`, `{}`, `{"i":null}`}
	d, cols := newTestDecoder(t, params(fields))
	for _, r := range append(append([]string(nil), records...), clean...) {
		if r == `{"d":0.250e1}` {
			continue // 2.5 exactly
		}
		if _, err := d.Decode([]byte(r), cols); err != nil {
			t.Fatalf("%s: %v", r, err)
		}
	}
	if got := fmt.Sprint(d.Coerced()); got != "[1 1 2 1 1]" {
		t.Errorf("counted %s", got)
	}
	// A record that is left out counts for nothing else.
	ignoring, cols := newTestDecoder(t, params(fields, "ignore-parse-errors=true"))
	if skip, err := ignoring.Decode([]byte(`{"b":"yes","i":1.5,"d":`), cols); !skip || err != nil || fmt.Sprint(ignoring.Coerced()) != "[0 0 0 0 0]" {
		t.Errorf("skip %v, error %v, counted %v", skip, err, ignoring.Coerced())
	}
	p := params(fields)
	p.Staunch = config.NewValues("table t", map[string]string{"json.coercion": "fail"}, nil)
	strict, cols := newTestDecoder(t, p)
	for _, r := range records {
		if _, err := strict.Decode([]byte(r), cols); err == nil || !strings.Contains(err.Error(), "staunch.json.coercion") {
			t.Errorf("%s: error %v", r, err)
		}
	}
	for _, r := range clean {
		if _, err := strict.Decode([]byte(r), cols); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	p.Staunch = config.NewValues("table t", map[string]string{"json.coercion": "maybe"}, nil)
	if _, err := Factory.Decoder(p); err == nil || !strings.Contains(err.Error(), "flink or fail") {
		t.Errorf("error %v", err)
	}
}

// TestErrorTexts: an error names the field, the place, the reason and the value's beginning.
func TestErrorTexts(t *testing.T) {
	d, cols := newTestDecoder(t, params(pair()))
	for _, c := range []struct {
		record string
		column string
		at     int
		text   string
	}{
		{`{"id":"x1","v":"a"}`, "id", 7, `not a whole number: found "x1" for type INT`},
		{`{"v":"a","id":99999999999}`, "id", 14, "out of range"},
		{`{"id":1,"v":"a"`, "", 15, "ends in the middle"},
		{`{"id":1 "v":"a"}`, "", 8, "expected ',' or '}'"},
		{`{"id":1,"v":"a"} x`, "", 17, "bytes behind the JSON object"},
		{`[{"id":1}]`, "", 0, "JSON array"},
		{`{"id":1,"z":[1,2}`, "", 16, "expected ',' or ']'"},
		{"{\"v\":\"\xff\"}", "", 6, "UTF-8"},
	} {
		_, err := d.Decode([]byte(c.record), cols)
		re, ok := err.(*format.RecordError)
		if !ok || re.Column != c.column || re.At != c.at || !strings.Contains(re.Msg, c.text) {
			t.Errorf("%s: %+v, want field %q at byte %d with %q", c.record, err, c.column, c.at, c.text)
		}
	}
}

func TestNestedColumnsAreRefused(t *testing.T) {
	elem := types.New(types.Int)
	for _, typ := range []types.Type{{Kind: types.Row}, {Kind: types.Array, Elem: &elem}, {Kind: types.Map, Elem: &elem, Key: &elem}} {
		p := params(one("r", typ))
		_, err := Factory.Decoder(p)
		_, err2 := Factory.FileWriter(p)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), "'r'") {
				t.Errorf("%v: error %v", typ.Kind, err)
			}
		}
		// A nested column that no one wants is only skipped.
		p = params(append(one("r", typ), pair()...))
		p.Wanted = []int{1, 2}
		if got := decodeAll(t, p, `{"r":{"a":[1,2]},"id":1,"v":"x"}`); got != "1,x" {
			t.Errorf("got %s", got)
		}
	}
}

// TestCase20RoundTrip: the timestamps of case 20 come back from the encoder's text.
func TestCase20RoundTrip(t *testing.T) {
	var c struct {
		Steps []struct{ Values []string }
	}
	readCase(t, 20, &c)
	for _, standard := range []string{"SQL", "ISO-8601"} {
		p := params(one("t", types.NewTimestamp(3)), "timestamp-format.standard="+standard)
		col := changelog.NewColumn(types.NewTimestamp(3))
		for _, text := range c.Steps[0].Values {
			at, err := time.Parse("2006-01-02 15:04:05", text)
			if err != nil {
				t.Fatal(err)
			}
			col.AppendInt64(at.UnixMilli())
		}
		f, err := Factory.FileWriter(p)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, _ := f.Open(&out)
		if err := w.Write([]*changelog.Column{col}, 0, col.N); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(nil); err != nil {
			t.Fatal(err)
		}
		d, cols := newTestDecoder(t, p)
		for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			if _, err := d.Decode([]byte(line), cols); err != nil || cols[0].I64[i] != col.I64[i] {
				t.Errorf("%s: %d, want %d, error %v", line, cols[0].I64[i], col.I64[i], err)
			}
		}
		if cols[0].N != 4 {
			t.Errorf("%d values", cols[0].N)
		}
	}
}

// TestHugeRecord: 12 MB in one string are read and written.
func TestHugeRecord(t *testing.T) {
	text := strings.Repeat("x", 12<<20)
	record := []byte(`{"id":1,"v":"` + text + `"}`)
	p := params(pair())
	d, cols := newTestDecoder(t, p)
	if _, err := d.Decode(record, cols); err != nil {
		t.Fatal(err)
	}
	f, err := Factory.FileWriter(p)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, _ := f.Open(&out)
	if err := w.Write(cols, 0, 1); err != nil {
		t.Fatal(err)
	}
	if n := w.Buffered(); n > 1<<20 {
		t.Errorf("%d bytes are held after a huge row was written", n)
	}
	if err := w.Finish(nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSuffix(out.String(), "\n"); got != string(record) {
		t.Errorf("%d bytes written, want %d", len(got), len(record))
	}
}
