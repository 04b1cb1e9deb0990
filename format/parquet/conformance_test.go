package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"staunch/changelog"
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
