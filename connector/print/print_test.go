package print

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/types"
)

func table(kv ...string) connector.Table {
	raw := map[string]string{"connector": "print"}
	for i := 0; i+1 < len(kv); i += 2 {
		raw[kv[i]] = kv[i+1]
	}
	return connector.Table{Name: "p", Options: config.NewValues("table p", raw, nil)}
}

// TestValues has the texts of the Java objects that Flink prints.
func TestValues(t *testing.T) {
	decimal := func(p, s int, v int64) *changelog.Column {
		c := changelog.NewColumn(types.NewDecimal(p, s))
		c.AppendDecimal(decimal128.FromI64(v))
		return c
	}
	i32 := func(typ types.Type, v int32) *changelog.Column {
		c := changelog.NewColumn(typ)
		c.AppendInt32(v)
		return c
	}
	i64 := func(typ types.Type, v int64) *changelog.Column {
		c := changelog.NewColumn(typ)
		c.AppendInt64(v)
		return c
	}
	null := changelog.NewColumn(types.New(types.Double))
	null.AppendNull()
	boolean := changelog.NewColumn(types.New(types.Boolean))
	boolean.AppendBool(true)
	double := changelog.NewColumn(types.New(types.Double))
	double.AppendFloat64(1e7)
	float := changelog.NewColumn(types.New(types.Float))
	float.AppendFloat32(1.1)
	text := changelog.NewColumn(types.String_)
	text.AppendString("a, b")
	bytes := changelog.NewColumn(types.Bytes)
	bytes.AppendBytes([]byte{1, 255, 0})
	for _, c := range []struct {
		col  *changelog.Column
		want string
	}{
		{null, "null"}, {boolean, "true"}, {double, "1.0E7"}, {float, "1.1"}, {text, "a, b"}, {bytes, "[1, -1, 0]"},
		{i32(types.New(types.TinyInt), -5), "-5"},
		{i64(types.New(types.BigInt), 1<<60), "1152921504606846976"},
		{decimal(10, 2, 12345), "123.45"},
		{decimal(10, 2, -5), "-0.05"},
		{decimal(10, 8, 1), "1E-8"},
		{decimal(10, 8, 0), "0E-8"},
		{decimal(10, 8, -12), "-1.2E-7"},
		{decimal(10, 8, 123), "0.00000123"},
		{decimal(10, 6, 0), "0.000000"},
		{decimal(10, 0, 100), "100"},
		{i32(types.New(types.Date), 19782), "2024-02-29"},
		{i32(types.New(types.Date), -719529), "-0001-12-31"},
		{i32(types.NewTime(0), 45_296_000), "12:34:56"},
		{i32(types.NewTime(3), 45_296_789), "12:34:56.789"},
		{i32(types.NewTime(0), 45_240_000), "12:34"},
		{i64(types.NewTimestamp(3), 1_709_210_096_789), "2024-02-29T12:34:56.789"},
		{i64(types.NewTimestamp(3), 1_709_210_040_000), "2024-02-29T12:34"},
		{i64(types.NewTimestamp(3), 1_709_210_096_000), "2024-02-29T12:34:56"},
		{i64(types.NewTimestamp(3), -1), "1969-12-31T23:59:59.999"},
		{i64(types.NewTimestamp(6), 1_709_210_096_789_120), "2024-02-29T12:34:56.789120"},
		{i64(types.NewTimestamp(9), 1_709_210_096_789_123_456), "2024-02-29T12:34:56.789123456"},
		{i64(types.NewTimestamp(9), 1_709_210_096_000_000_001), "2024-02-29T12:34:56.000000001"},
		{i64(types.NewTimestampLTZ(3), 1_709_210_096_789), "2024-02-29T12:34:56.789Z"},
		{i64(types.NewTimestampLTZ(3), 1_709_210_040_000), "2024-02-29T12:34:00Z"},
	} {
		if got := string(AppendValue(nil, c.col, 0)); got != c.want {
			t.Errorf("%s: %s, expected %s", c.col.Type, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	batch := changelog.NewBatch(changelog.Schema{{Name: "a", Type: types.New(types.Int)}, {Name: "b", Type: types.String_}})
	for i := range 4 {
		batch.Cols[0].AppendInt32(int32(i))
		batch.Cols[1].AppendString("x")
	}
	batch.Rows = 4
	for _, c := range []struct {
		options              []string
		subtask, parallelism int
		kinds                []changelog.RowKind
		want                 string
	}{
		{nil, 0, 1, nil, "+I[0, x]\n+I[1, x]\n+I[2, x]\n+I[3, x]\n"},
		{nil, 1, 2, nil, "2> +I[0, x]\n2> +I[1, x]\n2> +I[2, x]\n2> +I[3, x]\n"},
		{[]string{keyIdentifier, "id"}, 0, 1, []changelog.RowKind{changelog.Insert, changelog.UpdateBefore, changelog.UpdateAfter, changelog.Delete},
			"id> +I[0, x]\nid> -U[1, x]\nid> +U[2, x]\nid> -D[3, x]\n"},
		{[]string{keyIdentifier, "id", keyError, "true"}, 0, 3, nil, "id:1> +I[0, x]\nid:1> +I[1, x]\nid:1> +I[2, x]\nid:1> +I[3, x]\n"},
	} {
		var out, stderr strings.Builder
		s, err := newSink(table(c.options...), &out, &stderr)
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.NewWriter(connector.Context{Subtask: c.subtask, Parallelism: c.parallelism})
		if err != nil {
			t.Fatal(err)
		}
		batch.Kinds = c.kinds
		if err := w.Write(batch, nil); err != nil {
			t.Fatal(err)
		}
		got, other := out.String(), stderr.String()
		if strings.Contains(strings.Join(c.options, " "), keyError) {
			got, other = other, got
		}
		if got != c.want || other != "" {
			t.Errorf("%v: %q %q", c.options, got, other)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestErrors(t *testing.T) {
	s, err := newSink(table(keyParallelism, "2"), broken{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.NewWriter(connector.Context{Parallelism: 3}); fault.ClassOf(err) != fault.User {
		t.Error(err)
	}
	w, err := s.NewWriter(connector.Context{Parallelism: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&changelog.Batch{Rows: 1}, nil); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "broken pipe") {
		t.Error(err)
	}
	for _, kv := range [][]string{{keyError, "perhaps"}, {keyParallelism, "0"}, {"print-identifer", "x"}} {
		if _, err := newSink(table(kv...), nil, nil); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), kv[0]) {
			t.Error(kv, err)
		}
	}
	if Factory.Source != nil || Factory.Name != "print" {
		t.Error("print cannot be read")
	}
}
