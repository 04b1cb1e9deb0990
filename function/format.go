package function

import (
	"encoding/hex"
	"strconv"

	"staunch/changelog"
	"staunch/function/datetime"
	"staunch/function/javanum"
	"staunch/types"
)

// FormatValue gives row i of c as Flink's SQL client prints it: NULL, TRUE, 1.0E7, x'1f2e', 2024-02-29 12:34:56.789. TIMESTAMP_LTZ is shown in
// zone, nil for UTC.
func FormatValue(c *changelog.Column, i int, zone *datetime.Zone) string {
	if c.IsNull(i) {
		return "NULL"
	}
	if c.Type.IsBinary() {
		return "x'" + hex.EncodeToString(c.Bytes(i)) + "'"
	}
	return string(appendText(nil, c, i, zone))
}

// appendText appends row i of c, which is not NULL, as CAST to STRING gives it.
func appendText(dst []byte, c *changelog.Column, i int, zone *datetime.Zone) []byte {
	t := c.Type
	switch t.Kind {
	case types.Boolean:
		if c.B[i] {
			return append(dst, "TRUE"...)
		}
		return append(dst, "FALSE"...)
	case types.TinyInt, types.SmallInt, types.Int:
		return strconv.AppendInt(dst, int64(c.I32[i]), 10)
	case types.BigInt:
		return strconv.AppendInt(dst, c.I64[i], 10)
	case types.Float:
		return javanum.AppendFloat32(dst, c.F32[i])
	case types.Double:
		return javanum.AppendFloat64(dst, c.F64[i])
	case types.Decimal:
		return javanum.AppendDecimal(dst, c.Dec[i], t.Scale)
	case types.Char, types.Varchar, types.Binary, types.Varbinary:
		return append(dst, c.Bytes(i)...)
	case types.Date:
		return datetime.AppendDate(dst, c.I32[i])
	case types.Time:
		return datetime.AppendTime(dst, c.I32[i], t.Precision)
	case types.TimestampLTZ:
		v := c.I64[i]
		if zone != nil {
			v, _ = zone.InstantToLocal(v, t.UnitsPerSecond())
		}
		return datetime.AppendTimestamp(dst, v, t.UnitsPerSecond(), t.Precision)
	case types.Timestamp:
		return datetime.AppendTimestamp(dst, c.I64[i], t.UnitsPerSecond(), t.Precision)
	case types.IntervalYearMonth:
		return datetime.AppendYearMonth(dst, c.I32[i])
	case types.IntervalDayTime:
		return datetime.AppendDayTime(dst, c.I64[i])
	}
	return append(dst, '?')
}
