package parquet

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"staunch/changelog"
	"staunch/config"
	"staunch/format"
	"staunch/format/formattest"
	"staunch/types"
)

func params(fields []format.Field, options ...string) format.Params {
	raw := map[string]string{}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		raw[k] = v
	}
	p := format.Params{All: fields, Options: config.NewValues("table t", raw, nil), Zone: time.UTC}
	for i := range fields {
		p.Wanted = append(p.Wanted, i)
	}
	return p
}

// writeFile writes the columns in pieces of the given numbers of rows, again and again.
func writeFile(t testing.TB, p format.Params, cols []*changelog.Column, meta map[string]string, pieces ...int) []byte {
	t.Helper()
	f, err := Factory.FileWriter(p)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := f.Open(&out)
	if err != nil {
		t.Fatal(err)
	}
	rows := cols[0].N
	for from, i := 0, 0; from < rows; i++ {
		n := min(pieces[i%len(pieces)], rows-from)
		if err := w.Write(cols, from, from+n); err != nil {
			t.Fatal(err)
		}
		from += n
	}
	if err := w.Finish(meta); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(out.Len()) {
		t.Errorf("Size is %d after Finish, the file has %d bytes", w.Size(), out.Len())
	}
	return out.Bytes()
}

// readTable reads a file with Arrow's reader.
func readTable(t testing.TB, b []byte) (*file.Reader, arrow.Table) {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	ar, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ar.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r, table
}

// valueOf prints row i of an Arrow array in a form that storage does not change: timestamps in nanoseconds or the unit that holds them.
func valueOf(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Timestamp:
		at := a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit)
		return at.UTC().Format(time.RFC3339Nano)
	case *array.String:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.Int8:
		return fmt.Sprint(a.Value(i))
	case *array.Int16:
		return fmt.Sprint(a.Value(i))
	}
	return a.ValueStr(i)
}

// compare checks every cell of the file against the columns.
func compare(t testing.TB, table arrow.Table, fields []format.Field, cols []*changelog.Column) {
	t.Helper()
	if int(table.NumRows()) != cols[0].N {
		t.Fatalf("%d rows, want %d", table.NumRows(), cols[0].N)
	}
	for j, f := range fields {
		want, err := cols[j].Arrow()
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for _, chunk := range table.Column(j).Data().Chunks() {
			for k := range chunk.Len() {
				if got, want := valueOf(chunk, k), valueOf(want, i); got != want {
					t.Fatalf("%s row %d: got %s, want %s", f.Name, i, got, want)
				}
				i++
			}
		}
	}
}

// int64Options are those under which nothing is shifted and Arrow's reader sees the whole range.
var int64Options = []string{"utc-timezone=true", "write.int64.timestamp=true"}

func TestReadBack(t *testing.T) {
	fields := formattest.AtomicFields()
	// Nanoseconds have a file of their own.
	for i := range fields {
		if fields[i].Type.IsTimestamp() && fields[i].Type.Precision > 6 {
			fields[i].Type.Precision = 6
		}
	}
	for _, rows := range []int{0, 1, 7, 8, 9, 63, 64, 65, 1000, 8191, 8192, 8193, 30_000} {
		for seed := range uint64(3) {
			cols := formattest.Columns(fields, rows, seed)
			b := writeFile(t, params(fields, int64Options...), cols, map[string]string{"staunch.x": "1", "a": ""}, 1000, 1, 17)
			r, table := readTable(t, b)
			compare(t, table, fields, cols)
			if v := r.MetaData().KeyValueMetadata().FindValue("staunch.x"); v == nil || *v != "1" {
				t.Errorf("footer metadata lost: %v", v)
			}
		}
	}
}

func TestCompressions(t *testing.T) {
	fields := formattest.AtomicFields()[:20]
	cols := formattest.Columns(fields, 20_000, 3)
	for _, codec := range []string{"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4_RAW", "BROTLI", "snappy"} {
		b := writeFile(t, params(fields, append(int64Options, "compression="+codec)...), cols, nil, 5000)
		r, table := readTable(t, b)
		compare(t, table, fields, cols)
		chunk, err := r.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil || !strings.EqualFold(chunk.Compression().String(), codec) {
			t.Errorf("%s: chunk says %s, error %v", codec, chunk.Compression(), err)
		}
	}
}

// TestFilesDependOnRowsOnly: not on how rows came, and not on earlier files.
func TestFilesDependOnRowsOnly(t *testing.T) {
	fields := formattest.AtomicFields()
	cols := formattest.Columns(fields, 40_000, 9)
	p := params(fields, "page.size=16kb")
	whole := writeFile(t, p, cols, nil, 40_000)
	for _, pieces := range [][]int{{1, 500, 3}, {8192}, {4097}} {
		if b := writeFile(t, p, cols, nil, pieces...); !bytes.Equal(b, whole) {
			t.Errorf("in pieces of %v: %d bytes and not the same %d", pieces, len(b), len(whole))
		}
	}
	f, err := Factory.FileWriter(p)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var out bytes.Buffer
		w, err := f.Open(&out)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(cols, 0, 40_000); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(nil); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), whole) {
			t.Error("a later file of the same format differs")
		}
	}
}

func TestRowGroups(t *testing.T) {
	cols := lakeColumns(100_000)
	r, table := readTable(t, writeFile(t, params(lake, append([]string{"block.size=1mb"}, int64Options...)...), cols, nil, 1000))
	if r.NumRowGroups() < 4 {
		t.Errorf("%d row groups, want several", r.NumRowGroups())
	}
	compare(t, table, lake, cols)
	for i := range r.NumRowGroups() - 1 {
		if size := r.MetaData().RowGroup(i).TotalCompressedSize(); size < 1<<20 || size > 2<<20 {
			t.Errorf("row group %d has %d bytes, want about 1 MiB", i, size)
		}
	}
}

func TestSchemaIsFlinks(t *testing.T) {
	fields := []format.Field{{Name: "a", Type: types.New(types.TinyInt)}, {Name: "b", Type: types.NewDecimal(9, 2)}, {Name: "c", Type: types.NewDecimal(18, 4)},
		{Name: "d", Type: types.NewDecimal(38, 18)}, {Name: "e", Type: types.NewTimestamp(3)}, {Name: "f", Type: types.NewTimestampLTZ(3)},
		{Name: "g", Type: types.NewTime(3)}, {Name: "h", Type: types.String_.Required()}, {Name: "i", Type: types.Bytes}}
	cols := formattest.Columns(fields, 10, 1)
	for _, c := range []struct {
		options []string
		want    string
	}{
		{nil, "a INT32 8, b FIXED_LEN_BYTE_ARRAY(4), c FIXED_LEN_BYTE_ARRAY(8), d FIXED_LEN_BYTE_ARRAY(16), e INT96, f INT96, g INT32 millis utc=true, h BYTE_ARRAY required, i BYTE_ARRAY"},
		{int64Options, "e INT64 micros utc=false, f INT64 micros utc=true"},
		{[]string{"write.int64.timestamp=true", "timestamp.time.unit=millis"}, "e INT64 millis utc=false, f INT64 millis utc=false"},
	} {
		r, err := file.NewParquetReader(bytes.NewReader(writeFile(t, params(fields, c.options...), cols, nil, 10)))
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(r); !strings.Contains(got, c.want) {
			t.Errorf("%v: schema is %s, want %s", c.options, got, c.want)
		}
		if got := r.MetaData().GetCreatedBy(); got != createdBy {
			t.Errorf("created by %q", got)
		}
	}
}

func describe(r *file.Reader) string {
	var parts []string
	s := r.MetaData().Schema
	for i := range s.NumColumns() {
		c := s.Column(i)
		text := c.Name() + " " + c.PhysicalType().String()
		if n := c.TypeLength(); n > 0 && c.PhysicalType().String() == "FIXED_LEN_BYTE_ARRAY" {
			text += fmt.Sprintf("(%d)", n)
		}
		logical := c.LogicalType().String()
		for unit, short := range map[string]string{"milliseconds": "millis", "microseconds": "micros"} {
			if strings.Contains(logical, "timeUnit="+unit) {
				text += fmt.Sprintf(" %s utc=%v", short, strings.Contains(logical, "isAdjustedToUTC=true"))
			}
		}
		if strings.Contains(logical, "bitWidth=8") {
			text += " 8"
		}
		if c.MaxDefinitionLevel() == 0 {
			text += " required"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// TestLocalZone has what Flink 2.3.0 wrote in New York with utc-timezone=false: a time that comes twice is the later one, one that is left
// out is read with the offset before.
func TestLocalZone(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	pairs := [][2]string{{"2024-07-01 12:00:00.123", "2024-07-01 16:00:00.123"}, {"1969-12-31 23:59:59.999", "1970-01-01 04:59:59.999"},
		{"1900-01-01 00:00:00.000", "1900-01-01 05:00:00.000"}, {"2024-11-03 01:30:00.000", "2024-11-03 06:30:00.000"},
		{"2024-03-10 02:30:00.000", "2024-03-10 07:30:00.000"}, {"2024-03-10 03:30:00.000", "2024-03-10 07:30:00.000"},
		{"2024-11-03 00:59:59.999", "2024-11-03 04:59:59.999"}, {"2024-01-15 00:00:00.000", "2024-01-15 05:00:00.000"}}
	const layout = "2006-01-02 15:04:05.000"
	fields := []format.Field{{Name: "t", Type: types.NewTimestamp(3)}}
	col := changelog.NewColumn(fields[0].Type)
	for range 3 { // again with what the first round left remembered
		for _, p := range pairs {
			at, err := time.Parse(layout, p[0])
			if err != nil {
				t.Fatal(err)
			}
			col.AppendInt64(at.UnixMilli())
		}
	}
	for _, options := range [][]string{{"write.int64.timestamp=true", "timestamp.time.unit=millis"}, nil} {
		p := params(fields, options...)
		p.Zone = zone
		_, table := readTable(t, writeFile(t, p, []*changelog.Column{col}, nil, 5))
		i := 0
		for _, chunk := range table.Column(0).Data().Chunks() {
			a := chunk.(*array.Timestamp)
			for k := range a.Len() {
				at := a.Value(k).ToTime(a.DataType().(*arrow.TimestampType).Unit)
				if got, want := at.Format(layout), pairs[i%len(pairs)][1]; got != want {
					t.Errorf("%v: %s is stored as %s, want %s", options, pairs[i%len(pairs)][0], got, want)
				}
				i++
			}
		}
	}
}

func TestTimestampOutOfNanoseconds(t *testing.T) {
	fields := []format.Field{{Name: "t", Type: types.NewTimestamp(3)}}
	col := changelog.NewColumn(fields[0].Type)
	col.AppendInt64(253402300799999) // the last millisecond of 9999
	f, err := Factory.FileWriter(params(fields, "utc-timezone=true", "write.int64.timestamp=true", "timestamp.time.unit=nanos"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := f.Open(&out)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write([]*changelog.Column{col}, 0, 1)
	if err == nil || !strings.Contains(err.Error(), "column 't'") || !strings.Contains(err.Error(), "timestamp.time.unit") {
		t.Errorf("error %v", err)
	}
	if again := w.Finish(nil); again == nil {
		t.Error("Finish after a failed Write gave no error")
	}
}
