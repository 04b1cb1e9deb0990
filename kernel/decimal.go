package kernel

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Decimals are unscaled 128-bit numbers whose scale is in their type. The functions here follow java.math.BigDecimal as Flink
// uses it: exact intermediate results, HALF_UP, at most 38 digits. They work on magnitudes of 128 or 256 bits with
// 64-bit divisions; only a division by more than 64 bits goes through math/big.

// u128 is a magnitude.
type u128 struct{ hi, lo uint64 }

// u256 is a magnitude, least significant word first.
type u256 [4]uint64

var pow10 = func() (p [39]u128) {
	p[0] = u128{0, 1}
	for i := 1; i < len(p); i++ {
		h, l := bits.Mul64(p[i-1].lo, 10)
		p[i] = u128{p[i-1].hi*10 + h, l}
	}
	return
}()

func (a u128) cmp(b u128) int {
	switch {
	case a.hi != b.hi:
		if a.hi < b.hi {
			return -1
		}
		return 1
	case a.lo < b.lo:
		return -1
	case a.lo > b.lo:
		return 1
	}
	return 0
}

func magnitude(v decimal128.Num) (u128, bool) {
	if v.HighBits() < 0 {
		v = v.Negate()
		return u128{uint64(v.HighBits()), v.LowBits()}, true
	}
	return u128{uint64(v.HighBits()), v.LowBits()}, false
}

func signed(m u128, neg bool) decimal128.Num {
	v := decimal128.New(int64(m.hi), m.lo)
	if neg {
		return v.Negate()
	}
	return v
}

func mul128(a, b u128) (r u256) {
	h0, l0 := bits.Mul64(a.lo, b.lo)
	h1, l1 := bits.Mul64(a.lo, b.hi)
	h2, l2 := bits.Mul64(a.hi, b.lo)
	h3, l3 := bits.Mul64(a.hi, b.hi)
	var c, d uint64
	r[0] = l0
	r[1], c = bits.Add64(h0, l1, 0)
	r[2], c = bits.Add64(h1, l3, c)
	r[3] = h3 + c
	r[1], d = bits.Add64(r[1], l2, 0)
	r[2], d = bits.Add64(r[2], h2, d)
	r[3] += d
	return
}

// div64 gives the quotient and the remainder of a / y.
func (a u256) div64(y uint64) (q u256, rem uint64) {
	for i := 3; i >= 0; i-- {
		q[i], rem = bits.Div64(rem, a[i], y)
	}
	return
}

// fit gives a as 128 bits if it is below 10^precision.
func (a u256) fit(precision int) (u128, bool) {
	if a[3]|a[2] != 0 {
		return u128{}, false
	}
	m := u128{a[1], a[0]}
	return m, m.cmp(pow10[precision]) < 0
}

func (a u256) inc() u256 {
	for i := range a {
		a[i]++
		if a[i] != 0 {
			break
		}
	}
	return a
}

// down gives a / 10^k with HALF_UP, or truncated.
func (a u256) down(k int, truncate bool) u256 {
	if k == 0 {
		return a
	}
	// The digit before the last decides HALF_UP; what is behind it does not matter.
	for k-1 > 19 {
		a, _ = a.div64(pow10[19].lo)
		k -= 19
	}
	if k > 1 {
		a, _ = a.div64(pow10[k-1].lo)
	}
	a, digit := a.div64(10)
	if digit >= 5 && !truncate {
		a = a.inc()
	}
	return a
}

// DecFits reports whether v has at most precision digits.
func DecFits(v decimal128.Num, precision int) bool {
	m, _ := magnitude(v)
	return m.cmp(pow10[precision]) < 0
}

// DecRescale gives v, of scale from, with scale to by HALF_UP, and whether it fits precision.
func DecRescale(v decimal128.Num, from, to, precision int) (decimal128.Num, bool) {
	m, neg := magnitude(v)
	if to >= from {
		if to == from {
			return v, m.cmp(pow10[precision]) < 0
		}
		if to-from > 38 {
			return v, m == u128{}
		}
		r, ok := mul128(m, pow10[to-from]).fit(precision)
		return signed(r, neg), ok
	}
	r, ok := u256{m.lo, m.hi}.down(from-to, false).fit(precision)
	return signed(r, neg), ok
}

// DecTruncate gives v, of scale from, with the smaller scale to, rounded toward zero.
func DecTruncate(v decimal128.Num, from, to int) decimal128.Num {
	m, neg := magnitude(v)
	r := u256{m.lo, m.hi}.down(from-to, true)
	return signed(u128{r[1], r[0]}, neg)
}

// DecFloor gives the largest whole number not above v (or the smallest not below, if ceil), with scale 0.
func DecFloor(v decimal128.Num, scale int, ceil bool) decimal128.Num {
	m, neg := magnitude(v)
	r := u256{m.lo, m.hi}.down(scale, true)
	if back, ok := mul128(u128{r[1], r[0]}, pow10[scale]).fit(38); ok && back != m && neg != ceil {
		r = r.inc()
	}
	return signed(u128{r[1], r[0]}, neg)
}

// DecAdd gives a + b (or a - b) of scales sa and sb with the given scale, and whether it fits precision.
func DecAdd(a, b decimal128.Num, sa, sb, precision, scale int, sub bool) (decimal128.Num, bool) {
	if sub {
		b = b.Negate()
	}
	s := max(sa, sb)
	am, an := magnitude(a)
	bm, bn := magnitude(b)
	x, y := mul128(am, pow10[s-sa]), mul128(bm, pow10[s-sb])
	neg := an
	var r u256
	var c uint64
	if an == bn {
		for i := range r {
			r[i], c = bits.Add64(x[i], y[i], c)
		}
	} else {
		for i := range r {
			r[i], c = bits.Sub64(x[i], y[i], c)
		}
		if c != 0 {
			neg = bn
			c = 0
			for i := range r {
				r[i], c = bits.Sub64(y[i], x[i], c)
			}
		}
	}
	if scale < s {
		r = r.down(s-scale, false)
	}
	m, ok := r.fit(precision)
	return signed(m, neg), ok
}

// DecMul gives a * b, whose exact scale is s, with the given scale, and whether it fits precision.
func DecMul(a, b decimal128.Num, s, precision, scale int) (decimal128.Num, bool) {
	am, an := magnitude(a)
	bm, bn := magnitude(b)
	m, ok := mul128(am, bm).down(s-scale, false).fit(precision)
	return signed(m, an != bn), ok
}

// DecDiv gives a / b of scales sa and sb with the given scale, and whether it fits precision. REQUIRES: b is not zero.
// As in Flink the quotient is first rounded to 38 digits and then to the scale.
func DecDiv(a, b decimal128.Num, sa, sb, precision, scale int) (decimal128.Num, bool) {
	am, an := magnitude(a)
	bm, bn := magnitude(b)
	k := scale - sa + sb
	if bm.hi == 0 && k >= 0 && k <= 38 {
		x := mul128(am, pow10[k])
		q, rem := x.div64(bm.lo)
		if rem >= bm.lo-rem {
			q = q.inc()
		}
		// With at most 18 digits the first rounding, at 38 digits, cannot change the second: the quotient of such a small
		// divisor is never so near below a half.
		if m, ok := q.fit(18); ok {
			return signed(m, an != bn), ok && m.cmp(pow10[precision]) < 0
		}
	}
	return divBig(a, b, sa, sb, precision, scale)
}

// divBig is [DecDiv] for numbers of any size.
func divBig(a, b decimal128.Num, sa, sb, precision, scale int) (decimal128.Num, bool) {
	x, y := a.BigInt(), b.BigInt()
	neg := x.Sign()*y.Sign() < 0
	x.Abs(x)
	y.Abs(y)
	if x.Sign() == 0 {
		return decimal128.Num{}, true
	}
	// q = x * 10^up / y with 38 digits or one more, then cut to 38.
	up := 38 + digits(y) - digits(x)
	num, den := new(big.Int).Set(x), new(big.Int).Set(y)
	if up >= 0 {
		num.Mul(num, bigPow(up))
	} else {
		den.Mul(den, bigPow(-up))
	}
	q, rem := new(big.Int).QuoRem(num, den, new(big.Int))
	s := sa - sb + up
	if digits(q) > 38 {
		s--
		den.Mul(den, big.NewInt(10))
		q.QuoRem(num, den, rem)
	}
	if rem.Lsh(rem, 1).Cmp(den) >= 0 {
		q.Add(q, big.NewInt(1))
	}
	return bigRescale(q, neg, s, precision, scale)
}

func bigRescale(q *big.Int, neg bool, from, precision, to int) (decimal128.Num, bool) {
	if to >= from {
		q.Mul(q, bigPow(to-from))
	} else {
		d := bigPow(from - to)
		rem := new(big.Int)
		q.QuoRem(q, d, rem)
		if rem.Lsh(rem, 1).Cmp(d) >= 0 {
			q.Add(q, big.NewInt(1))
		}
	}
	if digits(q) > precision {
		return decimal128.Num{}, false
	}
	if neg {
		q.Neg(q)
	}
	return decimal128.FromBigInt(q), true
}

// DecMod gives the remainder of a / b, with the sign of a, in the given scale (at least the larger of sa and sb unless cut), and
// whether it fits precision. REQUIRES: b is not zero.
func DecMod(a, b decimal128.Num, sa, sb, precision, scale int) (decimal128.Num, bool) {
	s := max(sa, sb)
	x, y := a.BigInt(), b.BigInt()
	x.Mul(x, bigPow(s-sa))
	y.Mul(y, bigPow(s-sb))
	x.Rem(x, y)
	neg := x.Sign() < 0
	return bigRescale(x.Abs(x), neg, s, precision, scale)
}

// DecCmp compares a of scale sa with b of scale sb.
func DecCmp(a, b decimal128.Num, sa, sb int) int {
	if sa == sb {
		return a.Cmp(b)
	}
	am, an := magnitude(a)
	bm, bn := magnitude(b)
	if an != bn {
		if an {
			return -1
		}
		return 1
	}
	s := max(sa, sb)
	x, y := mul128(am, pow10[s-sa]), mul128(bm, pow10[s-sb])
	r := 0
	for i := 3; i >= 0 && r == 0; i-- {
		switch {
		case x[i] < y[i]:
			r = -1
		case x[i] > y[i]:
			r = 1
		}
	}
	if an {
		return -r
	}
	return r
}

// DecFromInt gives v with the given scale, and whether it fits precision.
func DecFromInt(v int64, precision, scale int) (decimal128.Num, bool) {
	return DecRescale(decimal128.FromI64(v), 0, scale, precision)
}

// DecToInt gives the whole part of v, wrapped to 64 bits.
func DecToInt(v decimal128.Num, scale int) int64 { return int64(DecTruncate(v, scale, 0).LowBits()) }

// DecToFloat gives the DOUBLE nearest to v.
func DecToFloat(v decimal128.Num, scale int) float64 {
	m, neg := magnitude(v)
	if m.hi == 0 && m.lo < 1<<53 && scale <= 22 {
		f := float64(m.lo) / floatPow10[scale]
		if neg {
			return -f
		}
		return f
	}
	var buf [48]byte
	f, err := strconv.ParseFloat(string(AppendDecimal(buf[:0], v, scale)), 64)
	if err != nil {
		return math.NaN() // cannot be: the text is a number of at most 38 digits
	}
	return f
}

var floatPow10 = [23]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
	1e19, 1e20, 1e21, 1e22}

// DecFromFloat gives v by its shortest decimal text (as BigDecimal.valueOf) with the given scale, and whether it is a number
// that fits precision.
func DecFromFloat(v float64, precision, scale int) (decimal128.Num, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return decimal128.Num{}, false
	}
	var buf [32]byte
	r, ok, err := ParseDecimal(strconv.AppendFloat(buf[:0], v, 'e', -1, 64), precision, scale)
	return r, ok && err == nil
}

// AppendDecimal appends v in plain notation with all digits of its scale.
func AppendDecimal(dst []byte, v decimal128.Num, scale int) []byte {
	m, neg := magnitude(v)
	if neg {
		dst = append(dst, '-')
	}
	var buf [48]byte
	i := len(buf)
	count := 0
	emit := func(d byte) {
		if count == scale && scale > 0 {
			i--
			buf[i] = '.'
		}
		i--
		buf[i] = '0' + d
		count++
	}
	for m.hi != 0 {
		var q u128
		var rem uint64
		q.hi, rem = bits.Div64(0, m.hi, 10)
		q.lo, rem = bits.Div64(rem, m.lo, 10)
		emit(byte(rem))
		m = q
	}
	for lo := m.lo; lo != 0; lo /= 10 {
		emit(byte(lo % 10))
	}
	for count <= scale {
		emit(0)
	}
	return append(dst, buf[i:]...)
}

func digits(x *big.Int) int {
	if x.Sign() == 0 {
		return 1
	}
	n := int(float64(x.BitLen()-1) * 0.30102999566398120)
	if new(big.Int).Abs(x).Cmp(bigPow(n)) >= 0 {
		n++
		if new(big.Int).Abs(x).Cmp(bigPow(n)) >= 0 {
			n++
		}
	}
	return max(n, 1)
}

func bigPow(k int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(k)), nil) }

// DecRound gives v, of scale from, rounded half up (or truncated) to digits behind the point, which may be negative, with scale to, and
// whether it fits precision.
func DecRound(v decimal128.Num, from, digits, precision, to int, round bool) (decimal128.Num, bool) {
	if digits >= from {
		return DecRescale(v, from, to, precision)
	}
	m, neg := magnitude(v)
	cut := from - digits
	if cut > 39 {
		return decimal128.Num{}, true
	}
	r := u256{m.lo, m.hi}.down(cut, !round)
	up := to - digits
	if up < 0 || up > 38 {
		return decimal128.Num{}, r == u256{}
	}
	out, ok := mul128(u128{r[1], r[0]}, pow10[up]).fit(precision)
	return signed(out, neg), ok
}
