package json

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/function/javanum"
)

// pow10 are the powers of ten that fit into 64 bits.
var pow10 = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// number is the text of a number taken apart: (-1)^neg * 0.d1d2d3... * 10^point, where the digits are those of text but for the point.
type number struct {
	neg bool
	// text has the digits from the first that is not zero, perhaps with a decimal point among them.
	text []byte
	// digits counts them; 0 means that the number is zero.
	digits int
	// point is the place of the decimal point behind the first digit's left edge.
	point int64
}

// parseNumber takes a number apart in the spelling that java.math.BigDecimal reads: optional sign, digits with at most one point, at
// least one digit, optional exponent. ok is false for other text and for exponents beyond 32 bits.
func parseNumber(s []byte) (n number, ok bool) {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		n.neg = s[i] == '-'
		i++
	}
	first, last := -1, -1 // of the digits that are not leading zeros
	pointAt, any := -1, false
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && pointAt < 0 {
			pointAt = i
			continue
		}
		if c-'0' > 9 {
			break
		}
		any = true
		if first < 0 && c != '0' {
			first = i
		}
		if first >= 0 {
			last = i
		}
	}
	if !any {
		return n, false
	}
	end := i
	var exp int64
	if i < len(s) {
		if s[i]|0x20 != 'e' {
			return n, false
		}
		if exp, ok = parseExponent(s[i+1:]); !ok {
			return n, false
		}
	}
	if first < 0 {
		return n, true
	}
	if pointAt < 0 {
		pointAt = end
	}
	n.text = s[first : last+1]
	n.digits = len(n.text)
	switch {
	case pointAt > first && pointAt <= last:
		n.digits--
		n.point = int64(pointAt - first)
	case pointAt > last:
		n.point = int64(pointAt - first)
	default:
		n.point = -int64(first - pointAt - 1)
	}
	n.point += exp
	return n, true
}

func parseExponent(s []byte) (int64, bool) {
	neg := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if len(s) == 0 {
		return 0, false
	}
	var e int64
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false
		}
		if e = e*10 + int64(c-'0'); e > math.MaxInt32 {
			return 0, false
		}
	}
	if neg {
		e = -e
	}
	return e, true
}

// take reads the first count digits, zeros where there are no more, into two groups of up to 19 and the rest. exact says that no other
// digit than zero follows, half that the next digit is 5 or more. REQUIRES: 0 <= count <= 38.
func (n *number) take(count int) (hi, lo uint64, half, exact bool) {
	seen, exact := 0, true
	for _, c := range n.text {
		if c == '.' {
			continue
		}
		d := uint64(c - '0')
		switch {
		case seen < count:
			// All digits but the last 19 go into hi.
			if seen < count-19 {
				hi = hi*10 + d
			} else {
				lo = lo*10 + d
			}
		case d != 0:
			exact = false
			if seen == count && d >= 5 {
				half = true
			}
		}
		seen++
	}
	for ; seen < count; seen++ {
		if seen < count-19 {
			hi *= 10
		} else {
			lo *= 10
		}
	}
	return hi, lo, half, exact
}

// int64 cuts the number toward zero. exact is false if that changed it, ok if it does not fit.
func (n *number) int64() (v int64, exact, ok bool) {
	if n.digits == 0 {
		return 0, true, true
	}
	if n.point <= 0 {
		return 0, false, true
	}
	if n.point > 19 {
		return 0, false, false
	}
	_, u, _, exact := n.take(int(n.point))
	// 19 digits always fit into 64 bits without a sign.
	if n.neg {
		if u > 1<<63 {
			return 0, false, false
		}
		return int64(-u), exact, true
	}
	if u > math.MaxInt64 {
		return 0, false, false
	}
	return int64(u), exact, true
}

// decimal rounds the number half up (away from zero) to scale digits behind the point. ok is false if it has more than precision digits
// then; exact is false if rounding changed it.
func (n *number) decimal(precision, scale int) (v decimal128.Num, exact, ok bool) {
	if n.digits == 0 {
		return v, true, true
	}
	count := n.point + int64(scale)
	if count < 0 {
		return v, false, true
	}
	if count > int64(precision) {
		return v, false, false
	}
	hi, lo, half, exact := n.take(int(count))
	h, l := bits.Mul64(hi, 1e19)
	l, c := bits.Add64(l, lo, 0)
	h += c
	if half {
		l, c = bits.Add64(l, 1, 0)
		h += c
	}
	v = decimal128.New(int64(h), l)
	if half && count == int64(precision) && !v.FitsInPrecision(int32(precision)) {
		return decimal128.Num{}, false, false
	}
	if n.neg {
		v = v.Negate()
	}
	return v, exact, true
}

// parseInteger reads [+-]digits as Java's Integer.parseInt does.
func parseInteger(s []byte) (int64, bool) {
	neg, i := false, 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		i = 1
	}
	if i == len(s) {
		return 0, false
	}
	var u uint64
	for ; i < len(s); i++ {
		d := uint64(s[i] - '0')
		if d > 9 || u > (1<<63)/10 {
			return 0, false
		}
		u = u*10 + d
	}
	if neg {
		return int64(-u), u <= 1<<63
	}
	return int64(u), u <= math.MaxInt64
}

// parseFloat reads a floating point number in Java's spelling. Too large numbers are infinite.
func parseFloat(s []byte, bitSize int) (float64, bool) {
	if bitSize == 32 {
		f, status := javanum.ParseFloat32(s)
		return float64(f), status != javanum.Invalid
	}
	f, status := javanum.ParseFloat64(s)
	return f, status != javanum.Invalid
}

func containsByte(s []byte, lower byte) bool {
	for _, c := range s {
		if c|0x20 == lower {
			return true
		}
	}
	return false
}

// trim cuts what java.lang.String.trim does: everything up to the space character at both ends.
func trim(s []byte) []byte {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}
