package kafka

import (
	"slices"
	"time"

	"staunch/changelog"
	"staunch/connector"
	"staunch/fault"
	"staunch/types"
)

// meta is a metadata key.
type meta uint8

const (
	metaNone meta = iota
	metaTopic
	metaPartition
	metaOffset
	metaTimestamp
	metaTimestampType
	metaLeaderEpoch
)

// metadata are the keys that can be read, with Flink's types.
var metadata = map[string]types.Type{
	"topic":          types.String_.Required(),
	"partition":      types.New(types.Int).Required(),
	"offset":         types.New(types.BigInt).Required(),
	"timestamp":      types.NewTimestampLTZ(3).Required(),
	"timestamp-type": types.String_.Required(),
	"leader-epoch":   types.New(types.Int),
	"headers":        {Kind: types.Map, NotNull: true, Key: ptr(types.String_.Required()), Elem: ptr(types.Bytes.Required())},
}

func ptr[T any](v T) *T { return &v }

var metaKeys = map[string]meta{"topic": metaTopic, "partition": metaPartition, "offset": metaOffset, "timestamp": metaTimestamp,
	"timestamp-type": metaTimestampType, "leader-epoch": metaLeaderEpoch}

// column is one wanted column.
type column struct {
	meta meta
	typ  types.Type
	zone *time.Location
}

// newColumn checks that the metadata of c can be had in its type.
func newColumn(t connector.Table, c connector.Column) (column, error) {
	zone := t.Zone
	if zone == nil {
		zone = time.UTC
	}
	out := column{typ: c.Type, zone: zone}
	if c.Metadata == "" {
		return out, nil
	}
	m, ok := metaKeys[c.Metadata]
	if !ok {
		if c.Metadata == "headers" {
			return out, fault.Userf("table %s: column '%s': the metadata 'headers' cannot be read yet", t.Name, c.Name).WithHint("leave the column out")
		}
		return out, fault.Userf("table %s: column '%s': the kafka connector has no metadata '%s'", t.Name, c.Name, c.Metadata).
			WithHint("there are topic, partition, offset, timestamp, timestamp-type, leader-epoch")
	}
	out.meta = m
	fits := false
	switch m {
	case metaTopic, metaTimestampType:
		fits = c.Type.IsString() && c.Type.Length == types.MaxLength
	case metaPartition, metaLeaderEpoch:
		fits = c.Type.Kind == types.Int || c.Type.Kind == types.BigInt
	case metaOffset:
		fits = c.Type.Kind == types.BigInt
	case metaTimestamp:
		fits = c.Type.IsTimestamp()
	}
	if !fits {
		return out, fault.Userf("table %s: column '%s': metadata '%s' cannot be read as %s", t.Name, c.Name, c.Metadata, c.Type).
			WithHint("declare it as %s", metadata[c.Metadata].Nullable())
	}
	return out, nil
}

// fill appends the column's values for all rows of b.
func (c column) fill(dst *changelog.Column, b *changelog.Batch, p *part, r *reader) {
	switch c.meta {
	case metaTopic:
		for range b.Rows {
			dst.AppendString(p.topic)
		}
	case metaTimestampType:
		for _, t := range r.timeTypes {
			dst.AppendString(t)
		}
	case metaPartition:
		c.fillInts(dst, b.Rows, func(int) int32 { return p.partition })
	case metaLeaderEpoch:
		for i := range b.Rows {
			switch e := r.epochs[i]; {
			case e < 0:
				dst.AppendNull()
			case c.typ.Kind == types.BigInt:
				dst.AppendInt64(int64(e))
			default:
				dst.AppendInt32(e)
			}
		}
	case metaOffset:
		dst.I64 = append(dst.I64, b.Offsets...)
		dst.N += b.Rows
	case metaTimestamp:
		c.fillTimes(dst, r.times)
	}
}

// fillInts appends n int32 values to an INT or BIGINT column.
func (c column) fillInts(dst *changelog.Column, n int, value func(int) int32) {
	if c.typ.Kind == types.BigInt {
		dst.I64 = slices.Grow(dst.I64, n)
		for i := range n {
			dst.I64 = append(dst.I64, int64(value(i)))
		}
	} else {
		dst.I32 = slices.Grow(dst.I32, n)
		for i := range n {
			dst.I32 = append(dst.I32, value(i))
		}
	}
	dst.N += n
}

// fillTimes appends record times in the column's unit: instants for TIMESTAMP_LTZ, the session zone's wall clock for TIMESTAMP.
func (c column) fillTimes(dst *changelog.Column, millis []int64) {
	factor := c.typ.UnitsPerSecond() / 1000
	at := len(dst.I64)
	dst.I64 = append(dst.I64, millis...)
	out := dst.I64[at:]
	if c.typ.Kind == types.Timestamp && c.zone != time.UTC {
		for i, m := range out {
			_, offset := time.UnixMilli(m).In(c.zone).Zone()
			out[i] = m + int64(offset)*1000
		}
	}
	if factor != 1 {
		for i := range out {
			out[i] *= factor
		}
	}
	dst.N += len(millis)
}
