package json

import (
	"bytes"
	"encoding/base64"
	"math"

	"staunch/changelog"
	"staunch/types"
)

// text is the text of a value: a string's content, or the source text of a number or literal.
func (d *decoder) text(b []byte, t token) []byte {
	if t.kind == tokenString && t.escaped {
		d.scratch = unescape(d.scratch[:0], b[t.start:t.end])
		return d.scratch
	}
	return b[t.start:t.end]
}

// convert appends the value to its column. why says that it cannot be converted (nothing was appended); coerced that Flink's rules
// changed it to fit.
func (d *decoder) convert(b []byte, t token, j int, c *changelog.Column) (why string, coerced bool) {
	if t.kind == tokenNull {
		c.AppendNull()
		return "", false
	}
	col := &d.columns[j]
	if col.typ.IsString() {
		return d.convertText(b, t, c)
	}
	if t.kind == tokenObject || t.kind == tokenArray {
		return "an object or array where one value is expected", false
	}
	s := d.text(b, t)
	switch col.typ.Kind {
	case types.Boolean:
		return convertBool(t, s, c)
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		return convertInt(t, s, col, c)
	case types.Decimal:
		return convertDecimal(t, s, col, c)
	case types.Double, types.Float:
		return convertFloat(t, s, col, c)
	case types.Binary, types.Varbinary:
		return d.convertBinary(t, s, c)
	case types.Date:
		days, rest, ok := parseDate(s, true)
		if !ok || len(rest) != 0 || days != int64(int32(days)) {
			return "not a date in the form yyyy-MM-dd", false
		}
		c.AppendInt32(int32(days))
	case types.Time:
		return convertTime(s, c)
	case types.Timestamp, types.TimestampLTZ:
		return d.convertTimestamp(s, col, c)
	}
	return "", coerced
}

// convertText keeps the source text of numbers and literals and the compact text of objects and arrays.
func (d *decoder) convertText(b []byte, t token, c *changelog.Column) (string, bool) {
	switch {
	case t.kind == tokenObject || t.kind == tokenArray:
		c.Data = appendCompact(c.Data, b[t.start:t.end])
	case t.kind == tokenString && t.escaped:
		c.Data = unescape(c.Data, b[t.start:t.end])
	default:
		c.Data = append(c.Data, b[t.start:t.end]...)
	}
	c.EndBytes()
	return "", false
}

// appendCompact appends checked JSON without white space between tokens, its strings with no more escapes than needed.
func appendCompact(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		switch src[i] {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end, escaped, _ := scanString(src, i+1)
			if !escaped {
				dst = appendQuoted(dst, src[i+1:end])
			} else {
				dst = appendUnescapedQuoted(dst, src[i+1:end])
			}
			i = end + 1
		default:
			dst = append(dst, src[i])
			i++
		}
	}
	return dst
}

// appendUnescapedQuoted unescapes behind dst and then moves the quoted form to its place.
func appendUnescapedQuoted(dst, src []byte) []byte {
	at := len(dst)
	dst = unescape(dst, src)
	mid := len(dst)
	dst = appendQuoted(dst, dst[at:mid])
	return append(dst[:at], dst[mid:]...)
}

// convertBool knows Java's Boolean.parseBoolean: everything but "true" is false.
func convertBool(t token, s []byte, c *changelog.Column) (string, bool) {
	if t.kind == tokenTrue || t.kind == tokenFalse {
		c.AppendBool(t.kind == tokenTrue)
		return "", false
	}
	s = trim(s)
	yes := equalFold(s, "true")
	c.AppendBool(yes)
	return "", !yes && !equalFold(s, "false")
}

// equalFold compares with lower-case ASCII text, ignoring case.
func equalFold(s []byte, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i, c := range s {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func convertInt(t token, s []byte, col *column, c *changelog.Column) (string, bool) {
	const why = "not a whole number"
	const whyRange = "number out of range"
	var v int64
	exact := true
	// INT and BIGINT cut the fraction of a JSON number; TINYINT, SMALLINT and text in quotes must be whole (as in Flink).
	if wide := col.typ.Kind == types.Int || col.typ.Kind == types.BigInt; t.kind == tokenNumber && wide {
		n, ok := parseNumber(s)
		if !ok {
			return whyRange, false
		}
		if v, exact, ok = n.int64(); !ok {
			return whyRange, false
		}
	} else {
		if t.kind == tokenTrue || t.kind == tokenFalse {
			return why, false
		}
		var ok bool
		if v, ok = parseInteger(trim(s)); !ok {
			return why, false
		}
	}
	// Of INT, Flink takes the number before its fraction is cut: 2147483647.9 is out of range.
	if v < col.min || v > col.max || !exact && col.typ.Kind == types.Int && (v == col.min || v == col.max) {
		return whyRange, false
	}
	if col.typ.Kind == types.BigInt {
		c.AppendInt64(v)
	} else {
		c.AppendInt32(int32(v))
	}
	return "", !exact
}

func convertDecimal(t token, s []byte, col *column, c *changelog.Column) (string, bool) {
	if t.kind == tokenString {
		s = trim(s)
	}
	n, ok := parseNumber(s)
	if !ok {
		return "not a decimal number", false
	}
	v, exact, fits := n.decimal(col.typ.Precision, col.typ.Scale)
	if !fits {
		c.AppendNull()
		return "", true
	}
	c.AppendDecimal(v)
	return "", !exact
}

func convertFloat(t token, s []byte, col *column, c *changelog.Column) (string, bool) {
	size := 64
	if col.typ.Kind == types.Float {
		size = 32
	}
	f, ok := parseFloat(trim(s), size)
	if !ok {
		return "not a floating point number", false
	}
	// Only a number written with digits can be too large; infinity by name is what was meant.
	coerced := math.IsInf(f, 0) && !containsByte(s, 'y')
	if size == 32 {
		c.AppendFloat32(float32(f))
	} else {
		c.AppendFloat64(f)
	}
	return "", coerced
}

func (d *decoder) convertBinary(t token, s []byte, c *changelog.Column) (string, bool) {
	if t.kind != tokenString {
		return "not base64 text", false
	}
	// The standard library passes over line breaks, Flink does not.
	if bytes.IndexByte(s, '\n') >= 0 || bytes.IndexByte(s, '\r') >= 0 {
		return "not base64 text", false
	}
	at := len(c.Data)
	need := base64.StdEncoding.DecodedLen(len(s))
	for cap(c.Data)-at < need {
		c.Data = append(c.Data[:cap(c.Data)], 0)
	}
	n, err := base64.StdEncoding.Decode(c.Data[at:at+need], s)
	if err != nil {
		c.Data = c.Data[:at]
		return "not base64 text", false
	}
	c.Data = c.Data[:at+n]
	c.EndBytes()
	return "", false
}

// convertTime reads HH:mm:ss[.f] and keeps milliseconds, whatever the column's precision (as Flink 2.3.0 does).
func convertTime(s []byte, c *changelog.Column) (string, bool) {
	nanos, rest, ok := parseClock(s, false, false)
	if !ok || len(rest) != 0 {
		return "not a time in the form HH:mm:ss[.f]", false
	}
	// 24:00:00 is the midnight at the end of a day, and as a time of day the one at its beginning.
	c.AppendInt32(int32(nanos / 1_000_000 % millisPerDay))
	return "", nanos%1_000_000 != 0
}

func (d *decoder) convertTimestamp(s []byte, col *column, c *changelog.Column) (string, bool) {
	zulu := col.typ.Kind == types.TimestampLTZ
	days, nanos, ok := parseTimestamp(s, d.iso, zulu)
	if !ok {
		return d.whyTimestamp(zulu), false
	}
	v, exact, ok := joinTimestamp(days, nanos, col.units)
	if !ok {
		return "timestamp out of the range of the column's precision", false
	}
	c.AppendInt64(v)
	return "", !exact
}

func (d *decoder) whyTimestamp(zulu bool) string {
	switch {
	case d.iso && zulu:
		return "not a timestamp in the form yyyy-MM-ddTHH:mm:ss[.f]Z (json.timestamp-format.standard is ISO-8601)"
	case d.iso:
		return "not a timestamp in the form yyyy-MM-ddTHH:mm:ss[.f] (json.timestamp-format.standard is ISO-8601)"
	case zulu:
		return "not a timestamp in the form yyyy-MM-dd HH:mm:ss[.f]Z (json.timestamp-format.standard is SQL)"
	}
	return "not a timestamp in the form yyyy-MM-dd HH:mm:ss[.f] (json.timestamp-format.standard is SQL)"
}
