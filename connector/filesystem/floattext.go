package filesystem

import (
	"math"
	"strconv"
)

// appendFloat adds v as Java's Float.toString and Double.toString give it: at least one digit behind the point, an exponent outside
// 0.001 <= |v| < 10,000,000.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-3 || a >= 1e7) {
		return appendScientific(dst, v, bits)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
	for _, c := range dst[from:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// appendScientific writes d.dddE-d: Go's exponent has a sign always and two digits, Java's has neither.
func appendScientific(dst []byte, v float64, bits int) []byte {
	var buf [40]byte
	text := strconv.AppendFloat(buf[:0], v, 'E', -1, bits)
	at := len(text) - 1
	for text[at] != 'E' {
		at--
	}
	point := false
	for _, c := range text[:at] {
		point = point || c == '.'
	}
	dst = append(dst, text[:at]...)
	if !point {
		dst = append(dst, ".0"...)
	}
	dst = append(dst, 'E')
	exp := text[at+1:]
	if exp[0] == '-' {
		dst = append(dst, '-')
	}
	exp = exp[1:]
	for len(exp) > 1 && exp[0] == '0' {
		exp = exp[1:]
	}
	return append(dst, exp...)
}
