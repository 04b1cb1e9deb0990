package changelog

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"staunch/types"
)

// ArrowType is the Arrow type that has the layout of a column of type t. TINYINT and SMALLINT are stored as int32.
func ArrowType(t types.Type) (arrow.DataType, error) {
	switch t.Kind {
	case types.Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case types.TinyInt, types.SmallInt, types.Int:
		return arrow.PrimitiveTypes.Int32, nil
	case types.BigInt:
		return arrow.PrimitiveTypes.Int64, nil
	case types.Float:
		return arrow.PrimitiveTypes.Float32, nil
	case types.Double:
		return arrow.PrimitiveTypes.Float64, nil
	case types.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case types.Char, types.Varchar:
		return arrow.BinaryTypes.String, nil
	case types.Binary, types.Varbinary:
		return arrow.BinaryTypes.Binary, nil
	case types.Date:
		return arrow.FixedWidthTypes.Date32, nil
	case types.Time:
		return arrow.FixedWidthTypes.Time32ms, nil
	case types.Timestamp, types.TimestampLTZ:
		dt := &arrow.TimestampType{}
		switch t.UnitsPerSecond() {
		case 1_000:
			dt.Unit = arrow.Millisecond
		case 1_000_000:
			dt.Unit = arrow.Microsecond
		default:
			dt.Unit = arrow.Nanosecond
		}
		if t.Kind == types.TimestampLTZ {
			dt.TimeZone = "UTC"
		}
		return dt, nil
	}
	return nil, fmt.Errorf("type %s has no Arrow layout here", t)
}

func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Arrow wraps the column as an Arrow array that aliases its memory (BOOLEAN is packed into a copy). It is valid as long as the column is
// not changed.
func (c *Column) Arrow() (arrow.Array, error) {
	dt, err := ArrowType(c.Type)
	if err != nil {
		return nil, err
	}
	var valid *memory.Buffer
	if c.Nulls > 0 {
		valid = memory.NewBufferBytes(bytesOf(c.Valid))
	}
	var bufs []*memory.Buffer
	switch c.Type.Physical() {
	case types.PhysBool:
		packed := make([]byte, (c.N+7)/8)
		for i, v := range c.B {
			if v {
				packed[i>>3] |= 1 << (uint(i) & 7)
			}
		}
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(packed)}
	case types.PhysInt32:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(bytesOf(c.I32))}
	case types.PhysInt64:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(bytesOf(c.I64))}
	case types.PhysFloat32:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(bytesOf(c.F32))}
	case types.PhysFloat64:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(bytesOf(c.F64))}
	case types.PhysDecimal:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(bytesOf(c.Dec))}
	case types.PhysBytes:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(bytesOf(c.Off)), memory.NewBufferBytes(c.Data)}
	}
	d := array.NewData(dt, c.N, bufs, nil, c.Nulls, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}
