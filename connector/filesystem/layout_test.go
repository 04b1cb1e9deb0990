package filesystem

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"staunch/changelog"
	"staunch/connector"
	"staunch/fault"
	"staunch/types"
)

// TestEscaping has the folder names that real Flink 2.3.0 makes (testdata/partition-names.json, measured).
func TestEscaping(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "partition-names.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]*string
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 20 {
		t.Fatal(len(cases), err)
	}
	b := newBench(t, stringKeys("p"))
	w := b.writer()
	var values []*string
	for _, c := range cases {
		values = append(values, c[0])
	}
	b.write(w, b.batch(0, span(0, int64(len(cases))), func(o int64) []*string { return values[o : o+1] }))
	files := b.prepare(w)
	at := map[int64]string{}
	for _, f := range files {
		for _, r := range f.Offsets[0].Set.Runs {
			for o := r.From; o < r.To; o++ {
				at[o] = f.Partition
			}
		}
		if !strings.HasPrefix(f.Final, "/data/lake/p=") || strings.Count(f.Final, "/") != 4 {
			t.Error("outside the table or too deep:", f.Final)
		}
		// Reading back gives the value, or NULL for the default name.
		name := Unescape(strings.TrimPrefix(f.Partition, "p="))
		if v := f.PartitionValues[0]; v == nil && name != "__DEFAULT_PARTITION__" || v != nil && *v != name {
			t.Errorf("%s reads back as %q", f.Partition, name)
		}
	}
	for i, c := range cases {
		if at[int64(i)] != *c[1] {
			t.Errorf("case %d: folder %q, expected %q", i, at[int64(i)], *c[1])
		}
	}
	for _, c := range b.store.calls {
		_, p, _ := strings.Cut(c, " ")
		if p != "/" && !strings.HasPrefix(p, "/data") || strings.Contains(p, "..") && !strings.Contains(p, "p=..") {
			t.Error("a call outside the table:", c)
		}
	}
}

func TestEscapeReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		e := Escape(s)
		if Unescape(e) != s || strings.ContainsAny(e, "/=\x00\n") {
			t.Fatalf("%q -> %q -> %q", s, e, Unescape(e))
		}
	})
	for in, want := range map[string]string{"100%": "100%", "%zz": "%zz", "%4": "%4", "%2f": "/"} {
		if got := Unescape(in); got != want {
			t.Errorf("Unescape(%q) = %q, expected %q", in, got, want)
		}
	}
}

func TestKeyNamesAreEscaped(t *testing.T) {
	b := newBench(t, stringKeys("../x"))
	w := b.writer()
	b.write(w, b.batch(0, span(0, 1), func(int64) []*string { return value("v") }))
	if f := b.prepare(w)[0]; f.Partition != "..%2Fx=v" {
		t.Error(f.Partition)
	}
}

func TestValueText(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typ    types.Type
		append func(*changelog.Column)
		style  string
		want   string
	}{
		{types.New(types.Boolean), func(c *changelog.Column) { c.AppendBool(true) }, dateISO, "TRUE"},
		{types.New(types.TinyInt), func(c *changelog.Column) { c.AppendInt32(-5) }, dateISO, "-5"},
		{types.New(types.BigInt), func(c *changelog.Column) { c.AppendInt64(1 << 60) }, dateISO, "1152921504606846976"},
		{types.New(types.Float), func(c *changelog.Column) { c.AppendFloat32(1.1) }, dateISO, "1.1"},
		{types.New(types.Double), func(c *changelog.Column) { c.AppendFloat64(1e7) }, dateISO, "1.0E7"},
		{types.NewDecimal(10, 2), func(c *changelog.Column) { c.AppendDecimal(decimal128.FromI64(-5)) }, dateISO, "-0.05"},
		{types.New(types.Date), func(c *changelog.Column) { c.AppendInt32(19723) }, dateISO, "2024-01-01"},
		{types.New(types.Date), func(c *changelog.Column) { c.AppendInt32(19723) }, dateEpochDay, "19723"},
		{types.New(types.Date), func(c *changelog.Column) { c.AppendNull() }, dateISO, "__DEFAULT_PARTITION__"},
		{types.NewTime(0), func(c *changelog.Column) { c.AppendInt32(3_661_000) }, dateISO, "01:01:01"},
		{types.NewTimestamp(3), func(c *changelog.Column) { c.AppendInt64(1_709_210_096_789) }, dateISO, "2024-02-29 12:34:56.789"},
		{types.NewTimestampLTZ(3), func(c *changelog.Column) { c.AppendInt64(1_709_210_096_789) }, dateISO, "2024-02-29 20:34:56.789"},
		{types.NewChar(3), func(c *changelog.Column) { c.AppendString("a  ") }, dateISO, "a  "},
	} {
		l := layout{keys: []key{{name: "k", folder: "k=", typ: c.typ}}, defaultName: "__DEFAULT_PARTITION__", epochDay: c.style == dateEpochDay,
			zone: shanghai}
		col := changelog.NewColumn(c.typ)
		c.append(col)
		if got := Unescape(strings.TrimPrefix(l.partitionOf([]*changelog.Column{col}, 0).folder, "k=")); got != c.want {
			t.Errorf("%s: %q, expected %q", c.typ, got, c.want)
		}
	}
}

// TestRuns compares runs and lookups of any columns with a plain loop over texts.
func TestRuns(t *testing.T) {
	all := []types.Type{types.String_, types.New(types.Int), types.New(types.BigInt), types.New(types.Boolean), types.New(types.Double),
		types.New(types.Float), types.NewDecimal(30, 3)}
	rapid.Check(t, func(t *rapid.T) {
		l := layout{defaultName: "D"}
		var cols []*changelog.Column
		n := rapid.IntRange(1, 300).Draw(t, "rows")
		for i := range rapid.IntRange(1, 3).Draw(t, "columns") {
			typ := rapid.SampledFrom(all).Draw(t, "type")
			l.keys = append(l.keys, key{name: fmt.Sprint(i), folder: fmt.Sprint(i, "="), column: i, typ: typ})
			cols = append(cols, column(t, typ, n))
		}
		text := func(i int) string { return l.partitionOf(cols, i).folder }
		k, found := newLookup(&l), runs{}
		found.reset(&l)
		rows, folders := 0, map[string]*partition{}
		for from := 0; from < n; {
			to := found.end(&l, cols, from, n)
			if to <= from || to > n {
				t.Fatalf("run of %d ends at %d of %d", from, to, n)
			}
			p := k.find(cols, from)
			if first := folders[p.folder]; first != nil && first != p {
				t.Fatalf("two partitions for %s", p.folder)
			}
			folders[p.folder] = p
			for i := from; i < to; i++ {
				if text(i) != p.folder {
					t.Fatalf("row %d is in %s, run %d..%d goes to %s", i, text(i), from, to-1, p.folder)
				}
			}
			if to < n && text(to) == p.folder && p.values[0] != nil && len(cols) == 1 {
				t.Fatalf("run %d..%d could be longer: %s", from, to-1, p.folder)
			}
			rows += to - from
			from = to
		}
		if rows != n || len(k.byFolder) > n {
			t.Fatal(rows, n)
		}
	})
}

// column makes n values that often repeat.
func column(t *rapid.T, typ types.Type, n int) *changelog.Column {
	c := changelog.NewColumn(typ)
	stay := rapid.IntRange(1, 150).Draw(t, "stay")
	v := rapid.IntRange(0, 3)
	x := 0
	for i := range n {
		if i%stay == 0 {
			x = v.Draw(t, "value")
		}
		if x == 3 {
			c.AppendNull()
			continue
		}
		switch typ.Physical() {
		case types.PhysBytes:
			c.AppendString([]string{"aa", "ab", ""}[x])
		case types.PhysInt32:
			c.AppendInt32(int32(x))
		case types.PhysInt64:
			c.AppendInt64(int64(x))
		case types.PhysBool:
			c.AppendBool(x > 1)
		case types.PhysFloat64:
			c.AppendFloat64(float64(x))
		case types.PhysFloat32:
			c.AppendFloat32(float32(x))
		case types.PhysDecimal:
			c.AppendDecimal(decimal128.FromI64(int64(x)))
		}
	}
	return c
}

func TestKeysAreChecked(t *testing.T) {
	for _, c := range []struct {
		keys []connector.Column
		want string
	}{
		{[]connector.Column{{Name: "k", Type: types.Bytes}}, "column 'k' of type BYTES cannot be a partition key"},
		{[]connector.Column{{Name: "k", Type: types.Type{Kind: types.Array, Elem: &types.String_}}}, "cannot be a partition key"},
	} {
		_, err := Factory.Sink(tableOf(newMemory(), c.keys))
		if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
	}
	table := tableOf(newMemory(), stringKeys("p"))
	table.PartitionKeys = []string{"id", "v", "p"}
	if _, err := Factory.Sink(table); err == nil || !strings.Contains(err.Error(), "all columns are partition keys") {
		t.Error(err)
	}
	table.PartitionKeys = []string{"nope"}
	if _, err := Factory.Sink(table); err == nil || !strings.Contains(err.Error(), "'nope' is no physical column") {
		t.Error(err)
	}
}
