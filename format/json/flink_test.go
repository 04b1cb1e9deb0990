package json

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"staunch/changelog"
	"staunch/types"
)

// parseType reads the type names of the vectors.
func parseType(t testing.TB, text string) types.Type {
	name, args, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	p, s := 0, 0
	if args != "" {
		if _, err := fmt.Sscanf(strings.ReplaceAll(args, ",", " "), "%d %d", &p, &s); err != nil && !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "newline") {
			t.Fatalf("%s: %v", text, err)
		}
	}
	kinds := map[string]types.Kind{"BOOLEAN": types.Boolean, "TINYINT": types.TinyInt, "SMALLINT": types.SmallInt, "INT": types.Int,
		"BIGINT": types.BigInt, "FLOAT": types.Float, "DOUBLE": types.Double, "DATE": types.Date}
	if k, ok := kinds[name]; ok {
		return types.New(k)
	}
	switch name {
	case "DECIMAL":
		return types.NewDecimal(p, s)
	case "STRING":
		return types.String_
	case "CHAR":
		return types.NewChar(p)
	case "VARCHAR":
		return types.NewVarchar(p)
	case "BYTES":
		return types.Bytes
	case "BINARY":
		return types.Type{Kind: types.Binary, Length: p}
	case "TIME":
		return types.NewTime(p)
	case "TIMESTAMP":
		return types.NewTimestamp(p)
	case "TIMESTAMP_LTZ":
		return types.NewTimestampLTZ(p)
	}
	t.Fatalf("unknown type %q", text)
	return types.Type{}
}

// javaText prints a value as Java's toString of Flink's internal value does.
func javaText(c *changelog.Column, i int) string {
	switch c.Type.Kind {
	case types.Date, types.Time:
		return fmt.Sprint(c.I32[i])
	case types.Timestamp, types.TimestampLTZ:
		units := c.Type.UnitsPerSecond()
		return time.Unix(floorDiv(c.I64[i], units), c.I64[i]%units*(1e9/units)).UTC().Format(time.RFC3339Nano)
	case types.Binary, types.Varbinary:
		return hex.EncodeToString(c.Bytes(i))
	}
	return show(c, i)
}

func floorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// sameTimestamp compares Java's LocalDateTime text, whose seconds may be missing, with ours, which is cut to the column's unit.
func sameTimestamp(java, ours string, typ types.Type) bool {
	if strings.HasPrefix(java, "+") || strings.HasPrefix(java, "-") {
		// Years that the time package does not print: compared by the decoder's own round trip elsewhere.
		return true
	}
	var at time.Time
	var err error
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05.999999999"} {
		if at, err = time.Parse(layout, java); err == nil {
			break
		}
	}
	if err != nil {
		return false
	}
	return at.Truncate(time.Second/time.Duration(typ.UnitsPerSecond())).Format(time.RFC3339Nano) == ours
}

// better lists the records for which the decoder differs on purpose, with its own result in strict mode.
var better = map[string]string{
	`BIGINT {"n":9223372036854775808.0}`:                               "ERROR",             // Flink: 9223372036854775807
	`BIGINT {"n":9007199254740993.0}`:                                  "=9007199254740993", // Flink goes through a double
	`BIGINT {"n":9007199254740993.5}`:                                  "=9007199254740993",
	`BOOLEAN {"n":{}}`:                                                 "ERROR", // Flink: false, and it loses its place in the record
	`BOOLEAN {"n":[true]}`:                                             "ERROR",
	`BYTES {"n":"AAE=AAE="}`:                                           "ERROR",
	`STRING {"n":{"a": 1.10, "b" : [1 , 2.50, "x\/y\u4e2d\n\u0001"]}}`: `={"a":1.10,"b":[1,2.50,"x/y中\n\u0001"]}`, // Flink: 1.1, 2.5
	`STRING {"n":{"a":1,"a":2}}`:                                       `={"a":1,"a":2}`,
	`STRING {"n":[1e3,1E+2,0.00001,1.0]}`:                              `=[1e3,1E+2,0.00001,1.0]`,
	`STRING []`:                                                        "ERROR", // Flink: no row
	`STRING [{"n":1}]`:                                                 "ERROR", // Flink: one row for each object
	`STRING [{"n":"a"},{"n":"b"}]`:                                     "ERROR",
	`STRING {"n":"a"}x`:                                                "ERROR", // Flink drops what follows
	`STRING {"n":"a"}{"n":"b"}`:                                        "ERROR",
	`STRING {"n":"a","n":"b"}`:                                         "=b", // Flink: the first value here, and later fields are lost
	`STRING {"n":null,"n":"b"}`:                                        "=b",
}

func TestFlinkVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/flink.tsv")
	if err != nil {
		t.Fatal(err)
	}
	count, used := 0, map[string]bool{}
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		typ, record, want, wantIgnore := parseType(t, f[0]), f[2], f[3], f[4]
		count++
		own, differs := better[f[0]+" "+record]
		if differs {
			used[f[0]+" "+record] = true
			want = own
			if own != "ERROR" {
				wantIgnore = own
			} else if typ.IsString() {
				wantIgnore = "DROPPED"
			} else {
				wantIgnore = "null"
			}
		}
		standard := "timestamp-format.standard=" + map[string]string{"SQL": "SQL", "ISO": "ISO-8601"}[f[1]]
		for i, want := range []string{want, wantIgnore} {
			d, cols := newTestDecoder(t, params(one("n", typ), standard, fmt.Sprintf("ignore-parse-errors=%v", i == 1)))
			skip, err := d.Decode([]byte(record), cols)
			got := "null"
			switch {
			case err != nil:
				got = "ERROR"
			case skip:
				got = "DROPPED"
			case !cols[0].IsNull(0):
				got = "=" + javaText(cols[0], 0)
			}
			if got != want && !(typ.IsTimestamp() && want[0] == '=' && got[0] == '=' && sameTimestamp(want[1:], got[1:], typ)) {
				t.Errorf("%s %s %s: got %s, Flink %s", f[0], f[1], record, got, want)
			}
		}
	}
	if count < 480 || len(used) != len(better) {
		t.Errorf("%d vectors, %d of %d differences met", count, len(used), len(better))
	}
}

// TestFlinkEncode compares the encoder with what Flink writes, byte for byte.
func TestFlinkEncode(t *testing.T) {
	text, err := os.ReadFile("testdata/flink_encode.tsv")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		typ, want := parseType(t, f[0]), f[4]
		// Nanoseconds do not reach those years: milliseconds do.
		if typ.IsTimestamp() && !strings.Contains(f[3], "123456789") {
			typ.Precision = 3
		}
		p := params(one("n", typ), "encode.decimal-as-plain-number="+f[2], "timestamp-format.standard="+map[string]string{"SQL": "SQL", "ISO": "ISO-8601"}[f[1]])
		c := changelog.NewColumn(typ)
		appendValueText(t, c, f[3])
		format, err := Factory.FileWriter(p)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, _ := format.Open(&out)
		if err := w.Write([]*changelog.Column{c}, 0, 1); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(nil); err != nil {
			t.Fatal(err)
		}
		count++
		if got := strings.TrimSuffix(out.String(), "\n"); got != want {
			t.Errorf("%s %s plain=%s %s: got %s, Flink %s", f[0], f[1], f[2], f[3], got, want)
		}
		// What was written is read back as the same value.
		d, cols := newTestDecoder(t, params(one("n", typ), "timestamp-format.standard="+map[string]string{"SQL": "SQL", "ISO": "ISO-8601"}[f[1]]))
		if _, err := d.Decode(out.Bytes(), cols); err != nil || d.Coerced()[0] != 0 || show(cols[0], 0) != show(c, 0) {
			t.Errorf("%s: %s is read back as %s, error %v", f[0], out.String(), show(cols[0], cols[0].N-1), err)
		}
	}
	if count < 100 {
		t.Errorf("only %d vectors", count)
	}
}

// appendValueText appends the value that a line of the encoder's vectors names.
func appendValueText(t testing.TB, c *changelog.Column, text string) {
	if text == "null" {
		c.AppendNull()
		return
	}
	switch c.Type.Kind {
	case types.Float, types.Double:
		size := map[types.Kind]int{types.Float: 32, types.Double: 64}[c.Type.Kind]
		f, err := strconv.ParseFloat(text, size)
		if err != nil {
			t.Fatal(err)
		}
		if size == 32 {
			c.AppendFloat32(float32(f))
		} else {
			c.AppendFloat64(f)
		}
	case types.Varchar:
		b, err := hex.DecodeString(text)
		if text == "null" || err != nil {
			t.Fatal(text, err)
		}
		c.AppendBytes(b)
	case types.Varbinary:
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		c.AppendBytes(b)
	case types.Time, types.TinyInt:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		c.AppendInt32(int32(n))
	case types.BigInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		c.AppendInt64(n)
	case types.Boolean:
		c.AppendBool(text == "true")
	case types.Decimal:
		n, _ := parseNumber([]byte(text))
		v, exact, ok := n.decimal(c.Type.Precision, c.Type.Scale)
		if !exact || !ok {
			t.Fatal(text)
		}
		c.AppendDecimal(v)
	case types.Date:
		days, rest, ok := parseDate([]byte(text), true)
		if !ok || len(rest) > 0 {
			t.Fatal(text)
		}
		c.AppendInt32(int32(days))
	case types.Timestamp, types.TimestampLTZ:
		days, nanos, ok := parseTimestamp([]byte(text), true, false)
		v, exact, fits := joinTimestamp(days, nanos, c.Type.UnitsPerSecond())
		if !ok || !exact || !fits {
			t.Fatal(text)
		}
		c.AppendInt64(v)
	default:
		t.Fatal(c.Type)
	}
}
