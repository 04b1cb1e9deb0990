package parquet

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/format"
	"staunch/format/formattest"
	"staunch/types"
)

func TestWriterConformance(t *testing.T) {
	fields := formattest.AtomicFields()
	for i := range fields {
		if fields[i].Type.IsTimestamp() && fields[i].Type.Precision > 6 {
			fields[i].Type.Precision = 6
		}
	}
	fields[3].Type.NotNull, fields[15].Type.NotNull = true, true
	for _, options := range [][]string{int64Options, append([]string{"block.size=64kb", "page.row.count.limit=500", "compression=ZSTD"}, int64Options...)} {
		p := params(fields, options...)
		formattest.RunFileWriter(t, formattest.WriterSuite{Factory: Factory, Params: p, Read: func(t testing.TB, file []byte) []*changelog.Column {
			_, table := readTable(t, file)
			cols := make([]*changelog.Column, len(fields))
			for j, f := range fields {
				cols[j] = changelog.NewColumn(f.Type)
				for _, chunk := range table.Column(j).Data().Chunks() {
					appendArrow(t, cols[j], chunk)
				}
			}
			return cols
		}})
	}
}

// appendArrow appends what Arrow read.
func appendArrow(t testing.TB, c *changelog.Column, a arrow.Array) {
	for i := range a.Len() {
		if a.IsNull(i) {
			c.AppendNull()
			continue
		}
		switch a := a.(type) {
		case *array.Boolean:
			c.AppendBool(a.Value(i))
		case *array.Int8:
			c.AppendInt32(int32(a.Value(i)))
		case *array.Int16:
			c.AppendInt32(int32(a.Value(i)))
		case *array.Int32:
			c.AppendInt32(a.Value(i))
		case *array.Int64:
			c.AppendInt64(a.Value(i))
		case *array.Float32:
			c.AppendFloat32(a.Value(i))
		case *array.Float64:
			c.AppendFloat64(a.Value(i))
		case *array.Decimal128:
			c.AppendDecimal(a.Value(i))
		case *array.String:
			c.AppendString(a.Value(i))
		case *array.Binary:
			c.AppendBytes(a.Value(i))
		case *array.Date32:
			c.AppendInt32(int32(a.Value(i)))
		case *array.Time32:
			c.AppendInt32(int32(a.Value(i)))
		case *array.Timestamp:
			if unit := a.DataType().(*arrow.TimestampType).Unit; unit != arrow.Microsecond {
				t.Fatalf("unit %v", unit)
			}
			c.AppendInt64(int64(a.Value(i)) / (1_000_000 / c.Type.UnitsPerSecond()))
		default:
			t.Fatalf("%s read as %T", c.Type, a)
		}
	}
}

// TestNullInRequiredColumn: a NULL in a NOT NULL column is an error that names it, not a wrong file.
func TestNullInRequiredColumn(t *testing.T) {
	fields := formattest.AtomicFields()[3:5]
	fields[1].Type.NotNull = true
	cols := formattest.Columns(fields, 10, 1)
	cols[1] = changelog.NewColumn(types.New(types.BigInt))
	for range 9 {
		cols[1].AppendInt64(1)
	}
	cols[1].AppendNull()
	f, err := Factory.FileWriter(params(fields))
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Open(&discard{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(cols, 0, 9); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(cols, 9, 10); err == nil {
		t.Error("no error")
	}
}

type discard struct{ n int64 }

func (d *discard) Write(b []byte) (int, error) { d.n += int64(len(b)); return len(b), nil }

// TestManySmallFiles: a file with a row of ten columns costs a few kilobytes, so that thousands can be open.
func TestManySmallFiles(t *testing.T) {
	cols := lakeColumns(1)
	f, err := Factory.FileWriter(params(lake))
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	const files = 1000
	writers := make([]format.FileWriter, files)
	for i := range writers {
		if writers[i], err = f.Open(&discard{}); err != nil {
			t.Fatal(err)
		}
		if err := writers[i].Write(cols, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / files
	t.Logf("%d bytes each, of which %d are told", each, writers[0].Buffered())
	if each > 16<<10 {
		t.Errorf("an open file with one row takes %d bytes, want at most 16 KiB", each)
	}
	runtime.KeepAlive(writers)
}

// TestBuffered compares what the writer says it holds with what the heap grows by, and that it all goes with Finish.
func TestBuffered(t *testing.T) {
	cols := lakeColumns(8000)
	f, err := Factory.FileWriter(params(lake))
	if err != nil {
		t.Fatal(err)
	}
	const files = 20
	var writers [files]interface {
		Write([]*changelog.Column, int, int) error
		Buffered() int64
		Finish(map[string]string) error
	}
	before := heap()
	for i := range writers {
		w, err := f.Open(&discard{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if err := w.Write(cols, 0, 8000); err != nil {
				t.Fatal(err)
			}
		}
		writers[i] = w
	}
	held, said := heap()-before, int64(0)
	for _, w := range writers {
		said += w.Buffered()
	}
	if held > said*3/2 || said > held*3/2 {
		t.Errorf("the writers say %d bytes, the heap grew by %d", said, held)
	}
	for _, w := range writers {
		if err := w.Finish(nil); err != nil {
			t.Fatal(err)
		}
		if w.Buffered() != 0 {
			t.Errorf("%d bytes held after Finish", w.Buffered())
		}
	}
	// Twice: pools let go at the second collection.
	heap()
	if left := heap() - before; left > said/4 {
		t.Errorf("%d of %d bytes are still held after all files are finished", left, said)
	}
}

// TestCase22Values has the values of test/cases/case-22: what Arrow's reader gives must be what was written.
func TestCase22Values(t *testing.T) {
	fields := []format.Field{{Name: "i", Type: types.New(types.Int)}, {Name: "t3", Type: types.NewTimestamp(3)}, {Name: "t6", Type: types.NewTimestamp(6)},
		{Name: "z3", Type: types.NewTimestampLTZ(3)}, {Name: "d9", Type: types.NewDecimal(9, 2)}, {Name: "d18", Type: types.NewDecimal(18, 4)},
		{Name: "d38", Type: types.NewDecimal(38, 18)}, {Name: "dd", Type: types.New(types.Date)}, {Name: "s", Type: types.String_}, {Name: "b", Type: types.Bytes}}
	cols := make([]*changelog.Column, len(fields))
	for i, f := range fields {
		cols[i] = changelog.NewColumn(f.Type)
	}
	decimal := func(text string, scale int32) decimal128.Num {
		v, err := decimal128.FromString(text, 38, scale)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	micros := func(text string) int64 {
		at, err := time.Parse("2006-01-02 15:04:05.999999", text)
		if err != nil {
			t.Fatal(err)
		}
		return at.UnixMicro()
	}
	cols[0].AppendInt32(1)
	cols[1].AppendInt64(micros("2024-01-01 00:00:00.123") / 1000)
	cols[2].AppendInt64(micros("2024-01-01 00:00:00.123456"))
	cols[3].AppendInt64(micros("2024-01-01 00:00:00") / 1000)
	cols[4].AppendDecimal(decimal("9999999.99", 2))
	cols[5].AppendDecimal(decimal("-99999999999999.9999", 4))
	cols[6].AppendDecimal(decimal("12345678901234567890.123456789012345678", 18))
	cols[7].AppendInt32(-1)
	cols[8].AppendString("中")
	cols[9].AppendBytes([]byte{0, 0xff})
	cols[0].AppendInt32(2)
	for _, c := range cols[1:] {
		c.AppendNull()
	}
	cols[0].AppendInt32(3)
	cols[1].AppendInt64(micros("1900-01-01 00:00:00") / 1000)
	cols[2].AppendInt64(micros("0001-01-01 00:00:00"))
	cols[3].AppendNull()
	cols[4].AppendDecimal(decimal("-0.01", 2))
	cols[5].AppendNull()
	cols[6].AppendDecimal(decimal("-0.000000000000000001", 18))
	cols[7].AppendNull()
	cols[8].AppendString("")
	cols[9].AppendNull()
	r, table := readTable(t, writeFile(t, params(fields, int64Options...), cols, nil, 1))
	compare(t, table, fields, cols)
	// Statistics are what push-down filters by.
	chunk, err := r.MetaData().RowGroup(0).ColumnChunk(2)
	if err != nil {
		t.Fatal(err)
	}
	s, err := chunk.Statistics()
	if err != nil || !s.HasMinMax() || s.NullCount() != 1 {
		t.Fatalf("statistics %v, error %v", s, err)
	}
	if lo, hi := int64(binary.LittleEndian.Uint64(s.EncodeMin())), int64(binary.LittleEndian.Uint64(s.EncodeMax())); lo != cols[2].I64[2] || hi != cols[2].I64[0] {
		t.Errorf("statistics from %d to %d", lo, hi)
	}
}

// TestStatistics compares the statistics of every chunk with its values.
func TestStatistics(t *testing.T) {
	cols := lakeColumns(50_000)
	r, _ := readTable(t, writeFile(t, params(lake, append([]string{"block.size=512kb"}, int64Options...)...), cols, nil, 777))
	row := 0
	for g := range r.NumRowGroups() {
		n := int(r.MetaData().RowGroup(g).NumRows())
		for _, j := range []int{0, 2, 3, 7, 8, 9} {
			chunk, err := r.MetaData().RowGroup(g).ColumnChunk(j)
			if err != nil {
				t.Fatal(err)
			}
			s, err := chunk.Statistics()
			if err != nil || !s.HasMinMax() {
				t.Fatalf("%s: %v, error %v", lake[j].Name, s, err)
			}
			lo, hi := extremes(cols[j], row, row+n)
			if !bytes.Equal(s.EncodeMin(), lo) || !bytes.Equal(s.EncodeMax(), hi) {
				t.Errorf("row group %d %s: statistics from %q to %q, values from %q to %q", g, lake[j].Name, s.EncodeMin(), s.EncodeMax(), lo, hi)
			}
		}
		row += n
	}
	if row != 50_000 || r.NumRowGroups() < 2 {
		t.Errorf("%d rows in %d row groups", row, r.NumRowGroups())
	}
}

// extremes are the smallest and largest of rows from <= i < to as statistics hold them.
func extremes(c *changelog.Column, from, to int) (lo, hi []byte) {
	switch {
	case len(c.I64) > 0:
		return binary.LittleEndian.AppendUint64(nil, uint64(slices.Min(c.I64[from:to]))), binary.LittleEndian.AppendUint64(nil, uint64(slices.Max(c.I64[from:to])))
	case len(c.I32) > 0:
		return binary.LittleEndian.AppendUint32(nil, uint32(slices.Min(c.I32[from:to]))), binary.LittleEndian.AppendUint32(nil, uint32(slices.Max(c.I32[from:to])))
	}
	lo, hi = c.Bytes(from), c.Bytes(from)
	for i := from; i < to; i++ {
		if v := c.Bytes(i); bytes.Compare(v, lo) < 0 {
			lo = v
		} else if bytes.Compare(v, hi) > 0 {
			hi = v
		}
	}
	return lo, hi
}

// TestHugeValue: a value of 12 MB is written and read, and its memory is not kept.
func TestHugeValue(t *testing.T) {
	fields := []format.Field{{Name: "id", Type: types.New(types.BigInt)}, {Name: "v", Type: types.String_}}
	id, v := changelog.NewColumn(fields[0].Type), changelog.NewColumn(fields[1].Type)
	for i := range 3 {
		id.AppendInt64(int64(i))
		v.AppendString([]string{"small", strings.Repeat("x", 12<<20), "after"}[i])
	}
	cols := []*changelog.Column{id, v}
	_, table := readTable(t, writeFile(t, params(fields), cols, nil, 1))
	compare(t, table, fields, cols)
	f, err := Factory.FileWriter(params(fields))
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Open(&discard{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(cols, 0, 3); err != nil {
		t.Fatal(err)
	}
	if n := w.Buffered(); n > 4<<20 {
		t.Errorf("%d bytes are held behind a value that compresses to nothing", n)
	}
}

func TestOptionErrors(t *testing.T) {
	for _, c := range [][2]string{{"compression=LZO", "LZO"}, {"compression=LZ4", "LZ4_RAW"}, {"compression=zip", "SNAPPY"}, {"timestamp.time.unit=days", "nanos"},
		{"page.size=1", "page.size"}, {"block.size=x", "block.size"}, {"writer.version=v2", "version 1"}, {"compresion=GZIP", "compression"}} {
		_, err := Factory.FileWriter(params(lake, c[0]))
		if err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: error %v, want one with %q", c[0], err, c[1])
		}
	}
	nested := []format.Field{{Name: "r", Type: types.Type{Kind: types.Row}}}
	if _, err := Factory.FileWriter(params(nested)); err == nil || !strings.Contains(err.Error(), "'r'") {
		t.Errorf("nested column: error %v", err)
	}
}
