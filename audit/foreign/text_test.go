package foreign

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"staunch/fs"
)

// chopped is an open file that gives few bytes at a time.
type chopped struct {
	text
	most int
}

func (c chopped) ReadAt(b []byte, off int64) (int, error) {
	return c.text.ReadAt(b[:min(len(b), c.most)], off)
}

// readText parses text and gives its positions in order, what it counts as rows without or with a bad position, and the error.
func readText(b string, most int, f func(r fs.Reader, rows *fileRows) error) (positions []string, without, wrong int64, err error) {
	rows := newFileRows()
	err = f(chopped{text{newReader([]byte(b))}, most}, rows)
	rows.close()
	for _, s := range rows.order {
		s.set.Runs(func(from, to int64) bool {
			for o := from; o < to; o++ {
				positions = append(positions, fmt.Sprintf("%s %d", s.key, o))
			}
			return true
		})
	}
	slices.Sort(positions)
	return positions, rows.null, rows.bad, err
}

// jsonValue draws any JSON value as text.
func jsonValue(t *rapid.T, depth int) string {
	kinds := []string{"0", "7", "-1", "1.5", "2e3", "9223372036854775806", "99999999999999999999", "true", "false", "null", `"3"`, `"x"`, `""`, `"\u0035"`, `"a\"b\\"`, `"é😀"`, `"\ud83d\ude00\n"`}
	if depth < 3 && rapid.IntRange(0, 4).Draw(t, "nest") == 0 {
		if rapid.Bool().Draw(t, "list") {
			var out []string
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				out = append(out, jsonValue(t, depth+1))
			}
			return "[" + strings.Join(out, " , ") + "]"
		}
		return jsonObject(t, depth+1)
	}
	return rapid.SampledFrom(kinds).Draw(t, "value")
}

func jsonObject(t *rapid.T, depth int) string {
	var out []string
	for range rapid.IntRange(0, 5).Draw(t, "fields") {
		key := rapid.SampledFrom([]string{"part", "off", "m", "other", `p\u0061rt`}).Draw(t, "key")
		out = append(out, `"`+key+`"`+rapid.SampledFrom([]string{":", " : "}).Draw(t, "colon")+jsonValue(t, depth))
	}
	return "{" + strings.Join(out, ",") + "}"
}

// TestJSONAgainstEncodingJSON: what is an object, and what stands in its fields, is as encoding/json has it, also for damaged text.
func TestJSONAgainstEncodingJSON(t *testing.T) {
	seen := map[string]int{}
	type failer interface{ Fatalf(string, ...any) }
	try := func(t failer, line string, nested bool, most int) {
		names := Columns{Partition: "part", Offset: "off"}
		if nested {
			names = Columns{Partition: "m.part", Offset: "m.off"}
		}
		got, without, wrong, err := readText(line+"\n", most, func(r fs.Reader, rows *fileRows) error {
			c, err := names.at("/t", "/t/f", rows)
			if err != nil {
				return err
			}
			return jsonRows(context.Background(), r, c, rows)
		})
		want, kind := expectJSON(line, nested)
		seen[kind]++
		switch {
		case (kind == "damaged") != (err != nil), (kind == "without") != (without == 1), (kind == "wrong") != (wrong == 1):
			t.Fatalf("%s is %s: without %d, wrong %d, %v", line, kind, without, wrong, err)
		case kind == "good" && (len(got) != 1 || got[0] != want):
			t.Fatalf("%s: %v, expected %s", line, got, want)
		}
	}
	for _, line := range []string{`{"part":1,"off":2}`, `{"off":"2","x":[{"part":3}],"part":"1"}`, `{"part":1}`, `{"part":1,"off":{}}`, `{"part":1,"off":2`, `[]`,
		`{"part":5,"off":6,"off":7}`, `{"part":5,"off":6,"off":null}`, `{ "m" : { "part" : 1 , "off" : 2 } , "part" : 8 }`, `{"m":{"part":1,"off":2},"m":{"off":2}}`,
		`{"m":{"part":1,"off":2},"m":3}`, `{"p\u0061rt":1,"off":"\u0032"}`} {
		try(t, line, false, 7)
		try(t, line, true, 7)
	}
	for _, k := range []string{"damaged", "without", "wrong", "good"} {
		if seen[k] == 0 {
			t.Errorf("nothing was %s: %v", k, seen)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		line := jsonObject(t, 0)
		if rapid.IntRange(0, 2).Draw(t, "damage") == 0 {
			b := []byte(line)
			i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
			b[i] = rapid.SampledFrom([]byte("{}[]\",:\\0e.-tn ")).Draw(t, "byte")
			line = string(b)
		}
		try(t, line, rapid.Bool().Draw(t, "nested"), rapid.IntRange(2, 100).Draw(t, "most"))
	})
}

// expectJSON says by encoding/json what a line is.
func expectJSON(line string, nested bool) (position, kind string) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var v map[string]any
	if !json.Valid([]byte(line)) || d.Decode(&v) != nil || v == nil {
		return "", "damaged"
	}
	if nested {
		v, _ = v["m"].(map[string]any)
	}
	var n [2]int64
	wrong := false
	for i, k := range []string{"part", "off"} {
		switch x := v[k].(type) {
		case nil:
			return "", "without"
		case json.Number:
			var err error
			if n[i], err = strconv.ParseInt(x.String(), 10, 64); err != nil || n[i] < 0 {
				wrong = true
			}
		case string:
			var err error
			if n[i], err = strconv.ParseInt(x, 10, 64); err != nil || n[i] < 0 {
				wrong = true
			}
		default:
			wrong = true
		}
	}
	if wrong || n[0] > math.MaxInt32 {
		return "", "wrong"
	}
	return fmt.Sprintf("partition %d %d", n[0], n[1]), "good"
}

// TestCSVAgainstEncodingCSV: rows come apart as encoding/csv has them, however they are cut into reads.
func TestCSVAgainstEncodingCSV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = rapid.Bool().Draw(t, "crlf")
		var want []string
		without, wrong := int64(0), int64(0)
		for i := range rapid.IntRange(0, 200).Draw(t, "rows") {
			filler := rapid.SampledFrom([]string{"", "a", "a,b", "x\"y", "\"", "line\nend", " b ", "é"}).Draw(t, "filler")
			part, off := fmt.Sprint(i%3), fmt.Sprint(i)
			switch rapid.IntRange(0, 20).Draw(t, "kind") {
			case 0:
				off, without = "", without+1
			case 1:
				part, wrong = "x", wrong+1
			default:
				want = append(want, fmt.Sprintf("partition %s %s", part, off))
			}
			if err := w.Write([]string{filler, part, filler, off}); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		got, gotWithout, gotWrong, err := readText(b.String(), rapid.IntRange(2, 3000).Draw(t, "most"), func(r fs.Reader, rows *fileRows) error {
			c, err := Columns{Partition: "2", Offset: "4"}.at("/t", "/t/f", rows)
			if err != nil {
				return err
			}
			return csvRows(context.Background(), r, c, CSV{}, rows)
		})
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) || gotWithout != without || gotWrong != wrong {
			t.Fatalf("%d rows, expected %d; without %d of %d, wrong %d of %d, %v", len(got), len(want), gotWithout, without, gotWrong, wrong, err)
		}
	})
}
