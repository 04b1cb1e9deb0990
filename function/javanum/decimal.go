package javanum

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// FromInt64 makes DECIMAL(precision, scale) of an integer.
func FromInt64(v int64, precision, scale int) (decimal128.Num, Status) {
	u := u256{uint64(v)}
	if v < 0 {
		u[0] = -u[0]
	}
	return fit(u, v < 0, 0, precision, scale, halfUp)
}

// ToInt64 casts a decimal to BIGINT: the fraction is cut off and what does not fit 64 bits is lost, as in Java's longValue. Narrower integers
// are the low bits of it.
func ToInt64(n decimal128.Num, scale int) int64 {
	u, neg := magnitude(n)
	if scale > 0 {
		u = u.scaleDown(scale, down, neg)
	}
	if neg {
		return -int64(u[0])
	}
	return int64(u[0])
}

// FromFloat64 makes DECIMAL(precision, scale) of a DOUBLE by its Java text, so that 0.1 is 0.1. NaN and infinities are Invalid.
func FromFloat64(v float64, precision, scale int) (decimal128.Num, Status) {
	if v != v || math.IsInf(v, 0) {
		return decimal128.Num{}, Invalid
	}
	var buf [40]byte
	return ParseDecimal(AppendFloat64(buf[:0], v), precision, scale)
}

// ToFloat64 casts DECIMAL(precision, scale) to DOUBLE. Up to 18 digits Flink divides the unscaled value by a power of ten, else it
// rounds the exact value.
func ToFloat64(n decimal128.Num, precision, scale int) float64 {
	if precision <= 18 {
		return float64(int64(n.LowBits())) / float64(pow10[scale][0])
	}
	var buf [64]byte
	v, _ := strconv.ParseFloat(string(AppendDecimal(buf[:0], n, scale)), 64)
	return v
}

// Rescale casts a decimal of the given scale to DECIMAL(precision, scale), rounding half up.
func Rescale(n decimal128.Num, from, precision, scale int) (decimal128.Num, Status) {
	if from == scale && precision >= MaxPrecision {
		return n, OK
	}
	u, neg := magnitude(n)
	return fit(u, neg, from, precision, scale, halfUp)
}

// Fits reports whether the unscaled value has at most precision digits.
func Fits(n decimal128.Num, precision int) bool {
	u, _ := magnitude(n)
	return u.cmp(pow10[min(max(precision, 0), MaxPrecision)]) < 0
}

// Compare compares two decimals of any scales: -1, 0, 1.
func Compare(a decimal128.Num, scaleA int, b decimal128.Num, scaleB int) int {
	if scaleA == scaleB {
		return a.Cmp(b)
	}
	ua, negA := magnitude(a)
	ub, negB := magnitude(b)
	if negA != negB {
		if negA {
			return -1
		}
		return 1
	}
	s := max(scaleA, scaleB)
	ua, _ = ua.mul(pow10[s-scaleA]) // at most 39 + 37 digits
	ub, _ = ub.mul(pow10[s-scaleB])
	c := ua.cmp(ub)
	if negA {
		return -c
	}
	return c
}

// Add returns a + b as DECIMAL(precision, scale).
func Add(a decimal128.Num, scaleA int, b decimal128.Num, scaleB, precision, scale int) (decimal128.Num, Status) {
	if scaleA == scaleB && scale == scaleA {
		// Two values below 10^38 add up to less than 2^127.
		if sum := a.Add(b); Fits(sum, precision) {
			return sum, OK
		}
		return decimal128.Num{}, Overflow
	}
	ua, negA := magnitude(a)
	ub, negB := magnitude(b)
	s := max(scaleA, scaleB)
	ua, okA := ua.scaleUp(s - scaleA)
	ub, okB := ub.scaleUp(s - scaleB)
	if !okA || !okB {
		return decimal128.Num{}, Overflow // more than 76 digits: far beyond 38
	}
	switch {
	case negA == negB:
		ua = ua.add(ub)
	case ua.cmp(ub) >= 0:
		ua = ua.sub(ub)
	default:
		ua, negA = ub.sub(ua), negB
	}
	return fit(ua, negA, s, precision, scale, halfUp)
}

// Sub returns a - b as DECIMAL(precision, scale).
func Sub(a decimal128.Num, scaleA int, b decimal128.Num, scaleB, precision, scale int) (decimal128.Num, Status) {
	return Add(a, scaleA, b.Negate(), scaleB, precision, scale)
}

// Mul returns a * b as DECIMAL(precision, scale), rounded once.
func Mul(a decimal128.Num, scaleA int, b decimal128.Num, scaleB, precision, scale int) (decimal128.Num, Status) {
	ua, negA := magnitude(a)
	ub, negB := magnitude(b)
	p, ok := ua.mul(ub)
	if !ok {
		return decimal128.Num{}, Overflow
	}
	return fit(p, negA != negB, scaleA+scaleB, precision, scale, halfUp)
}

// Div returns a / b as DECIMAL(precision, scale): the quotient has 38 significant digits, rounded half up, and is then rounded to its scale,
// as Flink does it.
func Div(a decimal128.Num, scaleA int, b decimal128.Num, scaleB, precision, scale int) (decimal128.Num, Status) {
	ua, negA := magnitude(a)
	ub, negB := magnitude(b)
	if ub.isZero() {
		return decimal128.Num{}, DivideByZero
	}
	if ua.isZero() {
		return decimal128.Num{}, OK
	}
	k := max(MaxPrecision+ub.digits()-ua.digits(), 0)
	ua, ok := ua.scaleUp(k)
	if !ok {
		return decimal128.Num{}, Overflow
	}
	q, r := ua.divMod(ub)
	at := k + scaleA - scaleB // scale of q, of 38 or 39 digits
	if q.cmp(pow10[MaxPrecision]) >= 0 {
		q = q.scaleDown(1, halfUp, false)
		at--
	} else if r.cmp(ub.sub(r)) >= 0 {
		q = q.add(u256{1})
	}
	return fit(q, negA != negB, at, precision, scale, halfUp)
}

// Mod returns the remainder of a / b with the sign of a, as DECIMAL(precision, scale).
func Mod(a decimal128.Num, scaleA int, b decimal128.Num, scaleB, precision, scale int) (decimal128.Num, Status) {
	ua, neg := magnitude(a)
	ub, _ := magnitude(b)
	if ub.isZero() {
		return decimal128.Num{}, DivideByZero
	}
	s := max(scaleA, scaleB)
	ua, okA := ua.scaleUp(s - scaleA)
	ub, okB := ub.scaleUp(s - scaleB)
	if !okA || !okB {
		return decimal128.Num{}, Overflow
	}
	_, r := ua.divMod(ub)
	return fit(r, neg && !r.isZero(), s, precision, scale, halfUp)
}

// Round is ROUND(decimal, digits), half away from zero; the result has the scale RoundType gives.
func Round(n decimal128.Num, precision, scale, digits int) (decimal128.Num, Status) {
	return cutDecimal(n, precision, scale, digits, halfUp)
}

// Truncate is TRUNCATE(decimal, digits), toward zero; the result has the scale RoundType gives.
func Truncate(n decimal128.Num, precision, scale, digits int) (decimal128.Num, Status) {
	return cutDecimal(n, precision, scale, digits, down)
}

// Floor returns the largest integer not above n, at scale 0.
func Floor(n decimal128.Num, scale int) decimal128.Num { return toIntegral(n, scale, floor) }

// Ceil returns the smallest integer not below n, at scale 0.
func Ceil(n decimal128.Num, scale int) decimal128.Num { return toIntegral(n, scale, ceiling) }

func toIntegral(n decimal128.Num, scale int, mode rounding) decimal128.Num {
	if scale == 0 {
		return n
	}
	u, neg := magnitude(n)
	return signed(u.scaleDown(scale, mode, neg), neg)
}

func cutDecimal(n decimal128.Num, precision, scale, digits int, mode rounding) (decimal128.Num, Status) {
	if digits >= scale {
		return n, OK
	}
	u, neg := magnitude(n)
	p, s := RoundType(precision, scale, digits)
	cut := scale - digits // may go beyond the point: digits < 0
	if cut > 76 {
		return decimal128.Num{}, OK
	}
	u = u.scaleDown(cut, mode, neg)
	if digits < 0 {
		var ok bool
		if u, ok = u.scaleUp(-digits); !ok {
			return decimal128.Num{}, Overflow
		}
	}
	return fit(u, neg, s, p, s, halfUp)
}

// Sign returns -1, 0 or 1.
func Sign(n decimal128.Num) int { return n.Sign() }

// Result types of decimal arithmetic (Flink: LogicalTypeMerging). Integers count as DECIMAL(3, 5, 10, 19; 0).

// AddType is the type of a sum or difference.
func AddType(p1, s1, p2, s2 int) (precision, scale int) {
	s := max(s1, s2)
	return adjust(max(p1-s1, p2-s2)+s+1, s)
}

// MulType is the type of a product.
func MulType(p1, s1, p2, s2 int) (precision, scale int) { return adjust(p1+p2+1, s1+s2) }

// DivType is the type of a quotient.
func DivType(p1, s1, p2, s2 int) (precision, scale int) {
	s := max(6, s1+p2+1)
	return adjust(p1-s1+s2+s, s)
}

// ModType is the type of a remainder.
func ModType(p1, s1, p2, s2 int) (precision, scale int) {
	s := max(s1, s2)
	return adjust(min(p1-s1, p2-s2)+s, s)
}

// RoundType is the type of ROUND and TRUNCATE to a number of digits.
func RoundType(p, s, digits int) (precision, scale int) {
	switch {
	case digits >= s:
		return p, s
	case digits < 0:
		return min(MaxPrecision, 1+p-s), 0
	}
	return 1 + p - s + digits, digits
}

// adjust keeps the integer digits of a type with more than 38 digits and at most 6 of its fraction.
func adjust(p, s int) (precision, scale int) {
	if p <= MaxPrecision {
		return p, s
	}
	return MaxPrecision, max(MaxPrecision-(p-s), min(s, 6))
}

// AppendDecimal prints a decimal with all digits of its scale, never with an exponent.
func AppendDecimal(dst []byte, n decimal128.Num, scale int) []byte {
	u, neg := magnitude(n)
	if neg {
		dst = append(dst, '-')
	}
	var buf [40]byte
	digits := appendDigits(buf[:0], u)
	if len(digits) <= scale {
		dst = append(dst, '0', '.')
		for i := len(digits); i < scale; i++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
	}
	return dst
}

// appendDigits prints a magnitude below 2^128.
func appendDigits(dst []byte, u u256) []byte {
	const e19 = 10_000_000_000_000_000_000
	if u[1] == 0 {
		return strconv.AppendUint(dst, u[0], 10)
	}
	hi, r1 := bits.Div64(0, u[1], e19)
	lo, r0 := bits.Div64(r1, u[0], e19)
	if hi == 0 {
		dst = strconv.AppendUint(dst, lo, 10)
	} else { // above 10^38
		h, l := bits.Div64(hi, lo, e19)
		dst = strconv.AppendUint(dst, h, 10)
		dst = appendPadded19(dst, l)
	}
	return appendPadded19(dst, r0)
}

func appendPadded19(dst []byte, v uint64) []byte {
	at := len(dst)
	dst = append(dst, "0000000000000000000"...)
	for i := at + 18; v > 0; i-- {
		dst[i] = byte('0' + v%10)
		v /= 10
	}
	return dst
}
