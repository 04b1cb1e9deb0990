package datagen

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/connector/connectortest"
	"staunch/fault"
	"staunch/types"
)

// allTypes has a column of every type that can be made.
var allTypes = []types.Type{types.New(types.Boolean), types.New(types.TinyInt), types.New(types.SmallInt), types.New(types.Int), types.New(types.BigInt),
	types.New(types.Float), types.New(types.Double), types.NewDecimal(10, 2), types.NewDecimal(38, 10), types.NewChar(5), types.NewVarchar(7), types.String_,
	{Kind: types.Binary, Length: 3}, {Kind: types.Varbinary, Length: 9}, types.Bytes, types.New(types.Date), types.NewTime(0), types.NewTime(3),
	types.NewTimestamp(0), types.NewTimestamp(3), types.NewTimestamp(6), types.NewTimestamp(9), types.NewTimestampLTZ(3), types.New(types.IntervalYearMonth),
	{Kind: types.IntervalDayTime, Precision: 3}}

func columnsOf(ts ...types.Type) (out []connector.Column) {
	for i, t := range ts {
		out = append(out, connector.Column{Name: fmt.Sprintf("c%d", i), Type: t})
	}
	return out
}

func schemaOf(columns []connector.Column) (s changelog.Schema) {
	for _, c := range columns {
		s = append(s, changelog.Field{Name: c.Name, Type: c.Type})
	}
	return s
}

func makeSource(all, wanted []connector.Column, zone *time.Location, kv ...string) (connector.Source, error) {
	raw := map[string]string{"connector": "datagen"}
	for i := 0; i+1 < len(kv); i += 2 {
		raw[kv[i]] = kv[i+1]
	}
	o, _, err := config.NewValues("table gen", raw, nil).Check(Factory.Options)
	if err != nil {
		return nil, err
	}
	return Factory.Source(connector.Table{Name: "gen", Columns: wanted, AllColumns: all, Options: o, Zone: zone})
}

func newTestSource(t testing.TB, all, wanted []connector.Column, kv ...string) connector.Source {
	t.Helper()
	s, err := makeSource(all, wanted, time.UTC, kv...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	all := columnsOf(allTypes...)
	connectortest.RunSource(t, connectortest.SourceCase{
		New: func(t testing.TB) connector.Source {
			return newTestSource(t, all, all, "number-of-rows", "9001", "rows-per-second", "1000000000", "fields.c3.null-rate", "0.3",
				"fields.c19.max-past", "1 h", "fields.c11.length", "20", "fields.c11.var-len", "true")
		},
		Schema: schemaOf(all), Rows: 9001})
}

// readAll reads splits to the end.
func readAll(t testing.TB, s connector.Source, columns []connector.Column, splits []connector.Split) (out []string) {
	t.Helper()
	k := connectortest.NewTask(t, s, schemaOf(columns), splits, io.Discard)
	for {
		b, status, err := k.Next()
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Rows {
			out = append(out, connectortest.RowText(b, i))
		}
		if status == connector.Ended {
			slices.Sort(out)
			return out
		}
	}
}

// TestSequence: sequences are divided over the splits without gap, and the shortest one ends the table, also if its column is not asked for.
func TestSequence(t *testing.T) {
	all := columnsOf(types.New(types.BigInt), types.String_, types.NewDecimal(6, 2), types.New(types.Int))
	kv := []string{"rows-per-second", "1000000000", "fields.c0.kind", "sequence", "fields.c0.start", "-3", "fields.c0.end", "100000", "fields.c1.kind", "sequence",
		"fields.c1.start", "1", "fields.c1.end", "99", "fields.c2.kind", "sequence", "fields.c2.start", "5", "fields.c2.end", "7", "fields.c3.kind", "sequence",
		"fields.c3.start", "0", "fields.c3.end", "100"}
	for _, wanted := range [][]connector.Column{all, all[:2]} {
		s := newTestSource(t, all, wanted, kv...)
		if !s.Bounded() {
			t.Error("not bounded")
		}
		want := []string{"-3|1|5.00|0", "-2|2|6.00|1", "-1|3|7.00|2"}
		for i := range want {
			want[i] = strings.Join(strings.Split(want[i], "|")[:len(wanted)], "|")
		}
		if got := readAll(t, s, wanted, connectortest.Discover(t, s, nil, nil)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestProjection: a column's values do not depend on which others are asked for.
func TestProjection(t *testing.T) {
	all := columnsOf(types.New(types.Int), types.String_, types.New(types.Double))
	whole := newTestSource(t, all, all, "number-of-rows", "100", "rows-per-second", "1000000")
	splits := connectortest.Discover(t, whole, nil, nil)
	one := newTestSource(t, all, all[1:2], "number-of-rows", "100", "rows-per-second", "1000000")
	var want []string
	for _, row := range readAll(t, whole, all, splits) {
		want = append(want, strings.Split(row, "|")[1])
	}
	slices.Sort(want)
	if got := readAll(t, one, all[1:2], splits); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got[:3], want[:3])
	}
}

// TestRanges: values keep to their bounds, reach both halves, and are NULL as often as asked for.
func TestRanges(t *testing.T) {
	all := columnsOf(types.New(types.TinyInt), types.New(types.BigInt), types.New(types.Double), types.NewDecimal(5, 2), types.String_, types.Bytes, types.NewTimestamp(3))
	s := newTestSource(t, all, all, "number-of-rows", "10000", "rows-per-second", "1000000000", "fields.c0.min", "-3", "fields.c0.max", "3",
		"fields.c1.min", "-5", "fields.c1.max", "9223372036854775807", "fields.c2.min", "-1.5", "fields.c2.max", "2.5", "fields.c3.min", "-1.25", "fields.c3.max", "10",
		"fields.c4.length", "11", "fields.c5.length", "6", "fields.c5.var-len", "true", "fields.c6.max-past", "10 s", "fields.c6.null-rate", "0.25")
	oldest := time.Now().Add(-10 * time.Second).UnixMilli()
	k := connectortest.NewTask(t, s, schemaOf(all), connectortest.Discover(t, s, nil, nil), io.Discard)
	seen, lengths, nulls, positive := map[int32]int{}, map[int]int{}, 0, 0
	for {
		b, status, err := k.Next()
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Rows {
			seen[b.Cols[0].I32[i]]++
			lengths[len(b.Cols[5].Bytes(i))]++
			if v := b.Cols[1].I64[i]; v < -5 {
				t.Fatalf("BIGINT %d", v)
			}
			v := b.Cols[2].F64[i]
			if v < -1.5 || v > 2.5 {
				t.Fatalf("DOUBLE %v", v)
			}
			if v > 0.5 {
				positive++
			}
			if d := b.Cols[3].Dec[i].ToFloat64(2); d < -1.25 || d > 10 {
				t.Fatalf("DECIMAL %v", d)
			}
			if text := string(b.Cols[4].Bytes(i)); len(text) != 11 || strings.Trim(text, "0123456789abcdef") != "" {
				t.Fatalf("STRING %q", text)
			}
			if b.Cols[6].IsNull(i) {
				nulls++
			} else if v, now := b.Cols[6].I64[i], time.Now().UnixMilli(); v < oldest || v > now {
				t.Fatalf("TIMESTAMP %d, not from %d to %d", v, oldest, now)
			}
		}
		if status == connector.Ended {
			break
		}
	}
	if len(seen) != 7 || len(lengths) != 6 || math.Abs(float64(nulls)-2500) > 300 || math.Abs(float64(positive)-5000) > 400 {
		t.Errorf("TINYINT %v, lengths %v, %d NULLs, %d in the upper half", seen, lengths, nulls, positive)
	}
	if lengths[0] > 0 {
		t.Error("empty value")
	}
}

// TestRate: rows come as fast as asked for, by the context's clock.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := columnsOf(types.New(types.Int))
		s := newTestSource(t, all, all, "rows-per-second", "500")
		if s.Bounded() {
			t.Error("bounded")
		}
		begin := time.Now()
		k := connectortest.NewTask(t, s, schemaOf(all), connectortest.Discover(t, s, nil, nil), io.Discard)
		polls, rows := 0, 0
		for time.Since(begin) < 20*time.Second {
			b, _, err := k.Next()
			if err != nil {
				t.Fatal(err)
			}
			rows += b.Rows
			polls++
		}
		if rows < 9990 || rows > 10_020 || polls > 5000 {
			t.Errorf("%d rows in %d batches in 20 s, want 10000", rows, polls)
		}
		splits, _, _ := k.Reader.Snapshot()
		k.Close()
		// a pause is not made up for
		time.Sleep(time.Hour)
		k = connectortest.NewTask(t, s, schemaOf(all), splits, io.Discard)
		begin, rows = time.Now(), 0
		for time.Since(begin) < 2*time.Second {
			b, _, err := k.Next()
			if err != nil {
				t.Fatal(err)
			}
			rows += b.Rows
		}
		if rows < 990 || rows > 1020 {
			t.Errorf("%d rows in 2 s after a pause, want 1000", rows)
		}
		k.Close()
	})
}

func TestZone(t *testing.T) {
	zone := time.FixedZone("x", 5*3600)
	all := columnsOf(types.NewTimestamp(3), types.NewTimestampLTZ(3), types.New(types.Date), types.NewTime(3))
	s, err := makeSource(all, all, zone, "number-of-rows", "1")
	if err != nil {
		t.Fatal(err)
	}
	splits := connectortest.Discover(t, s, nil, nil)
	at := time.Now().In(zone)
	k := connectortest.NewTask(t, s, schemaOf(all), splits, io.Discard)
	b, _, err := k.Next()
	if err != nil || b.Rows != 1 {
		t.Fatal(b.Rows, err)
	}
	ltz := b.Cols[1].I64[0]
	if b.Cols[0].I64[0] != ltz+5*3600*1000 || at.UnixMilli()-ltz > 60_000 {
		t.Errorf("TIMESTAMP %d, TIMESTAMP_LTZ %d", b.Cols[0].I64[0], ltz)
	}
	if got := int64(b.Cols[2].I32[0])*86_400_000 + int64(b.Cols[3].I32[0]); got != b.Cols[0].I64[0] {
		t.Errorf("DATE and TIME %d, TIMESTAMP %d", got, b.Cols[0].I64[0])
	}
}

func TestRefusals(t *testing.T) {
	all := append(columnsOf(types.New(types.Int), types.String_, types.NewVarchar(5), types.NewTimestamp(3), types.New(types.Boolean), types.NewChar(3)),
		connector.Column{Name: "required", Type: types.New(types.Int).Required()})
	for _, c := range []struct{ kv, want string }{
		{"fields.x.kind=random", "no column 'x'"},
		{"fields.c9.kind=random", "did you mean 'c0'"},
		{"fields.c0.kind=squence", "sequence"},
		{"fields.c0.kind=sequence", "fields.c0.start"},
		{"fields.c0.kind=sequence,fields.c0.start=5,fields.c0.end=1", "below the start 5"},
		{"fields.c0.kind=sequence,fields.c0.start=5,fields.c0.end=99999999999", "-2147483648 to 2147483647"},
		{"fields.c0.kind=sequence,fields.c0.start=5,fields.c0.end=7,fields.c0.min=1", "not possible for a sequence"},
		{"fields.c4.kind=sequence", "no sequence of BOOLEAN"},
		{"fields.c0.min=x", "whole number"},
		{"fields.c0.min=5,fields.c0.max=1", "below the minimum 5"},
		{"fields.c0.length=5", "fields.c0.length"},
		{"fields.c5.length=3", "not possible for CHAR(3)"},
		{"fields.c2.length=6", "VARCHAR(5)"},
		{"fields.c1.max-past=1 h", "not possible for STRING"},
		{"fields.c0.null-rate=1.5", "0 to 1"},
		{"fields.required.null-rate=0.5", "NOT NULL"},
		{"rows-per-second=0", "above 0"},
		{"number-of-rows=-1", "0 or a larger"},
		{"rows-per-secnd=1", "rows-per-second"},
	} {
		var kv []string
		for _, p := range strings.Split(c.kv, ",") {
			k, v, _ := strings.Cut(p, "=")
			kv = append(kv, k, v)
		}
		_, err := makeSource(all, all, nil, kv...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.kv, err, c.want)
		}
	}
	_, err := makeSource(columnsOf(types.Type{Kind: types.Array, Elem: &types.String_}), nil, nil)
	if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "ARRAY<STRING>") {
		t.Errorf("array: %v", err)
	}
}

func TestDamagedState(t *testing.T) {
	all := columnsOf(types.New(types.Int))
	s := newTestSource(t, all, all)
	for _, state := range []string{"", "{}", `{"seed":"1","index":2,"of":2}`} {
		ctx, _, _ := connectortest.NewContext(io.Discard)
		if _, err := s.NewReader(ctx, []connector.Split{{ID: "datagen-0", State: []byte(state)}}); fault.ClassOf(err) != fault.Damage {
			t.Errorf("%q: %v", state, err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	all := columnsOf(types.New(types.BigInt), types.String_, types.New(types.Double), types.NewTimestamp(3))
	s := newTestSource(b, all, all, "rows-per-second", "1000000000000", "fields.c1.length", "20")
	k := connectortest.NewTask(b, s, schemaOf(all), connectortest.Discover(b, s, nil, nil), io.Discard)
	n := 0
	for b.Loop() {
		batch, _, err := k.Next()
		if err != nil {
			b.Fatal(err)
		}
		n += batch.Rows
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
}

// TestSideBySide: the readers of one source run in different subtasks; each makes the rows that it makes alone.
func TestSideBySide(t *testing.T) {
	all := columnsOf(types.String_, types.Bytes)
	s := newTestSource(t, all, all, "number-of-rows", "20000", "rows-per-second", "1000000000")
	splits := connectortest.Discover(t, s, nil, nil)
	want := readAll(t, s, all, splits)
	got := make([][]string, 3)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = readAll(t, s, all, splits) })
	}
	wg.Wait()
	for _, g := range got {
		if !slices.Equal(g, want) {
			t.Fatal("rows differ when other readers run")
		}
	}
}
