package print

import (
	"strconv"

	"staunch/changelog"
	"staunch/function/datetime"
	"staunch/function/javanum"
	"staunch/types"
)

var kinds = [...]string{changelog.Insert: "+I", changelog.UpdateBefore: "-U", changelog.UpdateAfter: "+U", changelog.Delete: "-D"}

// AppendRow adds row i as Flink's Row.toString gives it: the kind and the values in brackets.
func AppendRow(dst []byte, cols []*changelog.Column, i int, kind changelog.RowKind) []byte {
	dst = append(append(dst, kinds[kind]...), '[')
	for k, c := range cols {
		if k > 0 {
			dst = append(dst, ", "...)
		}
		dst = AppendValue(dst, c, i)
	}
	return append(dst, ']')
}

// AppendValue adds one value as the Java object prints itself that Flink makes of it (LocalDateTime, BigDecimal, ...).
func AppendValue(dst []byte, c *changelog.Column, i int) []byte {
	if c.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t := c.Type; t.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, c.B[i])
	case types.TinyInt, types.SmallInt, types.Int, types.IntervalYearMonth:
		return strconv.AppendInt(dst, int64(c.I32[i]), 10)
	case types.BigInt, types.IntervalDayTime:
		return strconv.AppendInt(dst, c.I64[i], 10)
	case types.Float:
		return javanum.AppendFloat32(dst, c.F32[i])
	case types.Double:
		return javanum.AppendFloat64(dst, c.F64[i])
	case types.Decimal:
		return appendBigDecimal(dst, javanum.AppendDecimal(nil, c.Dec[i], t.Scale), t.Scale)
	case types.Binary, types.Varbinary:
		return appendByteArray(dst, c.Bytes(i))
	case types.Date:
		return appendDate(dst, int64(c.I32[i]))
	case types.Time:
		return appendClock(dst, int64(c.I32[i])*datetime.NanosPerMilli, false)
	case types.Timestamp, types.TimestampLTZ:
		days, nanos := datetime.Split(c.I64[i], t.UnitsPerSecond())
		dst = append(appendDate(dst, days), 'T')
		dst = appendClock(dst, nanos, t.Kind == types.TimestampLTZ)
		if t.Kind == types.TimestampLTZ {
			dst = append(dst, 'Z')
		}
		return dst
	case types.Array, types.Multiset, types.Map, types.Row:
		return appendNested(dst, c, i)
	}
	return append(dst, c.Bytes(i)...)
}

// appendNested writes [a, b], {k=v} and +I[a, b].
func appendNested(dst []byte, c *changelog.Column, i int) []byte {
	if c.Type.Kind == types.Row {
		return AppendRow(dst, c.Children, i, changelog.Insert)
	}
	open, end := byte('['), byte(']')
	if c.Type.Kind != types.Array {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for at := int(c.Off[i]); at < int(c.Off[i+1]); at++ {
		if at > int(c.Off[i]) {
			dst = append(dst, ", "...)
		}
		dst = AppendValue(dst, c.Children[0], at)
		if len(c.Children) > 1 {
			dst = AppendValue(append(dst, '='), c.Children[1], at)
		}
	}
	return append(dst, end)
}

// appendBigDecimal turns the plain digits of a decimal into Java's BigDecimal.toString: below 0.000001 with an exponent.
func appendBigDecimal(dst, plain []byte, scale int) []byte {
	digits := make([]byte, 0, len(plain))
	negative := false
	for _, b := range plain {
		switch {
		case b == '-':
			negative = true
		case b != '.' && (b != '0' || len(digits) > 0):
			digits = append(digits, b)
		}
	}
	if len(digits) == 0 {
		digits = append(digits, '0')
	}
	exponent := len(digits) - 1 - scale
	if exponent >= -6 {
		return append(dst, plain...)
	}
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	return strconv.AppendInt(append(dst, 'E'), int64(exponent), 10)
}

// appendByteArray writes bytes as Java does, signed.
func appendByteArray(dst, b []byte) []byte {
	dst = append(dst, '[')
	for i, x := range b {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendInt(dst, int64(int8(x)), 10)
	}
	return append(dst, ']')
}

func appendDate(dst []byte, days int64) []byte {
	y, m, d := datetime.CivilFromDays(days)
	switch {
	case y < 0:
		dst, y = append(dst, '-'), -y
	case y > 9999:
		dst = append(dst, '+')
	}
	dst = appendPadded(dst, int64(y), 4)
	dst = appendPadded(append(dst, '-'), int64(m), 2)
	return appendPadded(append(dst, '-'), int64(d), 2)
}

// appendClock writes HH:mm[:ss[.fraction]] as java.time does: seconds only where there are any, or always; the fraction in groups of three
// digits.
func appendClock(dst []byte, nanosOfDay int64, seconds bool) []byte {
	const nanosPerSecond = 1_000_000_000
	s, nanos := nanosOfDay/nanosPerSecond, nanosOfDay%nanosPerSecond
	dst = appendPadded(dst, s/3600, 2)
	dst = appendPadded(append(dst, ':'), s/60%60, 2)
	if s%60 == 0 && nanos == 0 && !seconds {
		return dst
	}
	dst = appendPadded(append(dst, ':'), s%60, 2)
	switch {
	case nanos == 0:
		return dst
	case nanos%1_000_000 == 0:
		return appendPadded(append(dst, '.'), nanos/1_000_000, 3)
	case nanos%1000 == 0:
		return appendPadded(append(dst, '.'), nanos/1000, 6)
	}
	return appendPadded(append(dst, '.'), nanos, 9)
}

func appendPadded(dst []byte, v int64, width int) []byte {
	limit := int64(1)
	for range width - 1 {
		limit *= 10
	}
	for ; v < limit && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, v, 10)
}
