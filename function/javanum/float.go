package javanum

import (
	"math"
	"strconv"
)

// AppendFloat64 prints a DOUBLE as Java's Double.toString: 1.0, 0.001, 1.0E7, 1.0E-4, NaN, Infinity, -0.0.
func AppendFloat64(dst []byte, v float64) []byte { return appendFloat(dst, v, 64) }

// AppendFloat32 prints a FLOAT as Java's Float.toString.
func AppendFloat32(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32) }

func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case v > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case v < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	case v == 0:
		if math.Signbit(v) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	}
	var buf [40]byte
	digits, exp := javaDigits(buf[:0], v, bits)
	return appendJava(dst, digits, exp)
}

// javaDigits returns the digits d1 d2 .. dn and the exponent e of v = d1.d2..dn * 10^e > 0 that Java 17 prints.
func javaDigits(buf []byte, v float64, bits int) (digits []byte, exp int) {
	significant := 53
	if bits == 32 {
		significant = 24
	}
	if d, e, ok := java17Integer(buf, v, significant); ok {
		return d, e
	}
	if needsJava17(v, bits) {
		return java17Digits(buf, v, bits)
	}
	return shortest(buf, v, bits)
}

// shortest returns the fewest digits that read back, as javaDigits does. Of one digit Java looks for the nearest number
// with two, which matters for the smallest numbers (4.9E-324).
func shortest(buf []byte, v float64, bits int) (digits []byte, exp int) {
	b := strconv.AppendFloat(buf, v, 'e', -1, bits)
	if b[1] == 'e' {
		var two [32]byte
		t := strconv.AppendFloat(two[:0], v, 'e', 1, bits)
		if back, err := strconv.ParseFloat(string(t), bits); err == nil && back == v {
			b = append(b[:0], t...)
		}
	}
	e := len(b) - 1
	for b[e] != 'e' {
		e--
	}
	neg, n := b[e+1] == '-', 0
	for _, c := range b[e+2:] {
		n = n*10 + int(c-'0')
	}
	if neg {
		n = -n
	}
	if e > 1 { // take the point out
		copy(b[1:], b[2:e])
		e--
	}
	digits = b[:e]
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits, n
}

// appendJava lays out digits as Java does: plain from 10^-3 to 10^7, else with one digit before the point and E.
func appendJava(dst, digits []byte, exp int) []byte {
	if exp >= -3 && exp < 7 {
		if exp < 0 {
			dst = append(dst, "0.00"[:1-exp]...)
			return append(dst, digits...)
		}
		for i := 0; i <= exp; i++ {
			if i < len(digits) {
				dst = append(dst, digits[i])
			} else {
				dst = append(dst, '0')
			}
		}
		if len(digits) <= exp+1 {
			return append(dst, ".0"...)
		}
		return append(append(dst, '.'), digits[exp+1:]...)
	}
	dst = append(dst, digits[0], '.')
	if len(digits) == 1 {
		dst = append(dst, '0')
	}
	dst = append(append(dst, digits[1:]...), 'E')
	return strconv.AppendInt(dst, int64(exp), 10)
}

// ParseFloat64 reads what Java's Double.parseDouble accepts: blanks and control characters around, a sign, digits with point and exponent,
// hexadecimal with p, NaN, Infinity, a trailing d or f. Numbers too large are infinite, too small zero.
func ParseFloat64(s []byte) (float64, Status) { return parseFloat(s, 64) }

// ParseFloat32 is ParseFloat64 as Java's Float.parseFloat, rounded once.
func ParseFloat32(s []byte) (float32, Status) {
	v, st := parseFloat(s, 32)
	return float32(v), st
}

func parseFloat(s []byte, bits int) (float64, Status) {
	s = trimControl(s)
	t := s
	neg := false
	if len(t) > 0 && (t[0] == '+' || t[0] == '-') {
		neg = t[0] == '-'
		t = t[1:]
	}
	switch string(t) {
	case "NaN":
		return math.NaN(), OK
	case "Infinity":
		if neg {
			return math.Inf(-1), OK
		}
		return math.Inf(1), OK
	}
	n, ok := floatSyntax(t)
	if !ok {
		return 0, Invalid
	}
	v, err := strconv.ParseFloat(string(t[:n]), bits)
	if err != nil && !math.IsInf(v, 0) {
		return 0, Invalid
	}
	if neg {
		v = math.Copysign(v, -1)
	}
	return v, OK
}

// floatSyntax checks an unsigned literal and returns its length without the type suffix.
func floatSyntax(t []byte) (n int, ok bool) {
	digit := func(c byte) bool { return c-'0' <= 9 }
	i, mark, hex := 0, byte('e'), len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x'
	if hex {
		i, mark = 2, 'p'
		digit = func(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }
	}
	count := 0
	for ; i < len(t) && digit(t[i]); i++ {
		count++
	}
	if i < len(t) && t[i] == '.' {
		for i++; i < len(t) && digit(t[i]); i++ {
			count++
		}
	}
	if count == 0 {
		return 0, false
	}
	if i < len(t) && t[i]|0x20 == mark {
		i++
		if i < len(t) && (t[i] == '+' || t[i] == '-') {
			i++
		}
		start := i
		for ; i < len(t) && t[i]-'0' <= 9; i++ {
		}
		if i == start {
			return 0, false
		}
	} else if hex {
		return 0, false
	}
	n = i
	if i < len(t) && (t[i]|0x20 == 'd' || t[i]|0x20 == 'f') {
		i++
	}
	return n, i == len(t)
}

// trimControl cuts bytes up to and including space from both ends, as Java's String.trim.
func trimControl(s []byte) []byte {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// Float64ToInt64 casts DOUBLE to BIGINT: toward zero, saturating, NaN is 0.
func Float64ToInt64(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= 1<<63:
		return math.MaxInt64
	case v <= -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

// Float64ToInt32 casts DOUBLE to INT: toward zero, saturating, NaN is 0. SMALLINT and TINYINT are the low bits of it, as in Java.
func Float64ToInt32(v float64) int32 {
	switch {
	case v != v:
		return 0
	case v >= math.MaxInt32:
		return math.MaxInt32
	case v <= math.MinInt32:
		return math.MinInt32
	}
	return int32(v)
}

// RoundFloat64 is ROUND(DOUBLE, digits): half away from zero on the decimal text of v (2.675 to 2 digits is 2.68). Digits may be negative.
func RoundFloat64(v float64, digits int) float64 { return cutFloat(v, digits, true) }

// TruncateFloat64 is TRUNCATE(DOUBLE, digits): toward zero on the decimal text of v.
func TruncateFloat64(v float64, digits int) float64 { return cutFloat(v, digits, false) }

func cutFloat(v float64, digits int, round bool) float64 {
	if v == 0 || v != v || math.IsInf(v, 0) {
		return v
	}
	var buf, out [40]byte
	d, exp := javaDigits(buf[:0], math.Abs(v), 64)
	keep := exp + 1 + digits // digits of d that stay
	if keep >= len(d) {
		return v
	}
	up := round && keep >= 0 && d[keep] >= '5'
	if keep < 0 || keep == 0 && !up {
		return 0
	}
	t := append(out[:0], '0')
	t = append(t, d[:keep]...)
	if up {
		for i := len(t) - 1; ; i-- {
			if t[i] < '9' {
				t[i]++
				break
			}
			t[i] = '0'
		}
	}
	t = strconv.AppendInt(append(t, 'e'), int64(exp+1-keep), 10)
	r, _ := strconv.ParseFloat(string(t), 64)
	return math.Copysign(r, v)
}
