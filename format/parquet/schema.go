package parquet

import (
	"fmt"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"staunch/format"
	"staunch/types"
)

// store says how values of a column are stored.
type store uint8

const (
	storeBool store = iota
	storeInt32
	storeInt64
	storeFloat
	storeDouble
	storeBytes
	storeDecimal // fixed bytes, big endian
	storeMillis  // INT64 timestamps, by unit
	storeInt96
)

// field is one column of the files.
type field struct {
	name     string
	typ      types.Type
	store    store
	required bool
	// width of a decimal in bytes.
	width int
	// text is UTF-8: its statistics are ordered by unsigned bytes, as those of other binary columns.
	text bool
}

// decimalWidth is the fewest bytes that hold every number of the given digits with its sign.
func decimalWidth(precision int) int {
	// Bytes n hold precision p if 2^(8n-1) > 10^p; the digits of 2^(8n-1)-1 less one for n = 1 to 16.
	most := [17]int{0, 2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38}
	for n := 1; n < len(most); n++ {
		if precision <= most[n] {
			return n
		}
	}
	return 16
}

// newField makes the field and its schema node.
func newField(f format.Field, o *options) (field, schema.Node, error) {
	out := field{name: f.Name, typ: f.Type, required: f.Type.NotNull}
	physical, length := pq.Types.Int32, -1
	var logical schema.LogicalType
	switch t := f.Type; t.Kind {
	case types.Boolean:
		out.store, physical = storeBool, pq.Types.Boolean
	case types.TinyInt:
		out.store, logical = storeInt32, schema.NewIntLogicalType(8, true)
	case types.SmallInt:
		out.store, logical = storeInt32, schema.NewIntLogicalType(16, true)
	case types.Int:
		out.store = storeInt32
	case types.BigInt:
		out.store, physical = storeInt64, pq.Types.Int64
	case types.Float:
		out.store, physical = storeFloat, pq.Types.Float
	case types.Double:
		out.store, physical = storeDouble, pq.Types.Double
	case types.Decimal:
		out.width = decimalWidth(t.Precision)
		out.store, physical, length = storeDecimal, pq.Types.FixedLenByteArray, out.width
		logical = schema.NewDecimalLogicalType(int32(t.Precision), int32(t.Scale))
	case types.Char, types.Varchar:
		out.store, physical, logical, out.text = storeBytes, pq.Types.ByteArray, schema.StringLogicalType{}, true
	case types.Binary, types.Varbinary:
		out.store, physical = storeBytes, pq.Types.ByteArray
	case types.Date:
		out.store, logical = storeInt32, schema.DateLogicalType{}
	case types.Time:
		out.store, logical = storeInt32, schema.NewTimeLogicalType(true, schema.TimeUnitMillis)
	case types.Timestamp, types.TimestampLTZ:
		if !o.int64Timestamps {
			out.store, physical = storeInt96, pq.Types.Int96
			break
		}
		out.store, physical = storeMillis, pq.Types.Int64
		adjusted := t.Kind == types.TimestampLTZ && o.utc
		logical = schema.NewTimestampLogicalType(adjusted, o.unit)
	default:
		return out, nil, fmt.Errorf("format parquet: column '%s' of type %s: this type is not available in Parquet yet", f.Name, f.Type)
	}
	repetition := pq.Repetitions.Optional
	if out.required {
		repetition = pq.Repetitions.Required
	}
	var node *schema.PrimitiveNode
	var err error
	if logical == nil {
		node, err = schema.NewPrimitiveNode(f.Name, repetition, physical, -1, int32(length))
	} else {
		node, err = schema.NewPrimitiveNodeLogical(f.Name, repetition, logical, physical, length, -1)
	}
	if err != nil {
		return out, nil, fmt.Errorf("format parquet: column '%s' of type %s: %w", f.Name, f.Type, err)
	}
	return out, node, nil
}
