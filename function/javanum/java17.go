package javanum

import (
	"math"
	"math/big"
	"math/bits"
)

// Java 17 prints most numbers with the fewest digits that read back, as strconv does, but not all (JDK-4511638, mended in Java 19):
//
//  1. integers from 2^53 (FLOAT 2^24) to 2^63 lose only digits that surely mean nothing, which is often one too few;
//  2. a decimal exactly half way to the neighbour is never taken, even where it reads back;
//  3. at powers of two the gap to the smaller neighbour is taken for both sides.
//
// Cases 2 and 3 need the exact digit generation of java17Digits. A decimal half way with few digits exists from 2^63 to 10^41 only
// (its power of five must divide the midpoint's mantissa), and powers of two from 2^-10 to 2^62 print exactly anyway, so the slow way is rare.

// java17Integer is case 1: the digits of an integer below 2^63, rounded half up where they mean nothing.
func java17Integer(buf []byte, v float64, significant int) (digits []byte, exp int, ok bool) {
	if v < 1 || v >= 1<<63 || v != math.Trunc(v) {
		return nil, 0, false
	}
	n := uint64(v)
	binExp := bits.Len64(n) - 1
	drop := 0
	if p := binExp - significant - 1; p > 1 {
		drop = int(float64(p) * math.Log10(2))
	}
	if drop > 0 {
		f := pow10[drop][0]
		rest := n % f
		if n /= f; rest >= f/2 {
			n++
		}
	}
	digits = appendDigits(buf, u256{n})
	exp = len(digits) - 1 + drop
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits, exp, true
}

// needsJava17 tells whether cases 2 or 3 may apply to v > 0.
func needsJava17(v float64, width int) bool {
	if v >= 1<<63 && v < 1e41 || v < 1e-320 || width == 32 && v < 1e-42 { // the smallest numbers have one or two digits, which Java chooses its own way
		return true
	}
	if width == 32 {
		b := math.Float32bits(float32(v))
		return b&(1<<23-1) == 0 && (v < 1.0/1024 || v >= 1<<63) || b>>23 == 0 && b&(b-1) == 0
	}
	b := math.Float64bits(v)
	return b&(1<<52-1) == 0 && (v < 1.0/1024 || v >= 1<<63) || b>>52 == 0 && b&(b-1) == 0
}

// java17Digits generates digits d1 d2 .. with v = d1.d2.. * 10^exp: v = B/S * 10^exp in exact integers, M half a unit in the last place;
// it ends as soon as the rest is nearer than M to a digit string below (low) or above (high).
func java17Digits(buf []byte, v float64, width int) (digits []byte, exp int) {
	frac, binExp, significant := java17Parts(v, width)
	tail := bits.TrailingZeros64(frac)
	nFrac := 53 - tail
	tiny := max(0, nFrac-binExp-1)
	exp = estimateExp(frac, binExp)
	b5 := max(0, -exp)
	b2 := b5 + tiny + binExp
	s5 := max(0, exp)
	s2 := s5 + tiny
	m2 := b2 - significant
	b2 -= nFrac - 1
	common := min(b2, s2)
	b2, s2, m2 = b2-common, s2-common, m2-common
	if nFrac == 1 {
		m2--
	}
	if m2 < 0 {
		b2, s2, m2 = b2-m2, s2-m2, 0
	}
	longs := nFrac+b2+fiveBits(b5) < 64 && s2+1+fiveBits(s5+1) < 64 // Java computes in longs, which may wrap
	b, s, m := scaled(frac>>tail, b5, b2), scaled(1, s5, s2), scaled(1, b5, m2)
	ten := big.NewInt(10)
	tens, sum, q := new(big.Int).Mul(s, ten), new(big.Int), new(big.Int)
	step := func() (low, high bool) {
		q.QuoRem(b, s, b)
		b.Mul(b, ten)
		m.Mul(m, ten)
		sum.Add(b, m)
		if longs && m.BitLen() == 64 {
			return true, true // a negative long: Java takes both
		}
		return b.Cmp(m) < 0, sum.Cmp(tens) > 0 && !(longs && sum.BitLen() == 64) // a wrapped sum is below tens
	}
	digits = buf
	low, high := step()
	if q.Sign() == 0 && !high {
		exp--
	} else {
		digits = append(digits, byte('0'+q.Int64()))
	}
	if exp < -3 || exp >= 8 {
		low, high = false, false // at least one digit behind the point
	}
	for !low && !high {
		low, high = step()
		digits = append(digits, byte('0'+q.Int64()))
	}
	half := b.Lsh(b, 1).Cmp(tens)
	if high && (!low || half > 0 || half == 0 && digits[len(digits)-1]&1 != 0) {
		digits, exp = roundUp(digits, exp)
	}
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits, exp
}

// java17Parts returns the mantissa aligned to 53 bits, the binary exponent and the number of bits that carry meaning.
func java17Parts(v float64, width int) (frac uint64, binExp, significant int) {
	if width == 32 {
		b := math.Float32bits(float32(v))
		frac, binExp = uint64(b&(1<<23-1))<<29, int(b>>23)
		if binExp == 0 {
			lead := bits.LeadingZeros64(frac) - 11
			return frac << lead, 1 - lead - 127, 24 - lead
		}
		return frac | 1<<52, binExp - 127, 24
	}
	b := math.Float64bits(v)
	frac, binExp = b&(1<<52-1), int(b>>52)
	if binExp == 0 {
		lead := bits.LeadingZeros64(frac) - 11
		return frac << lead, 1 - lead - 1023, 53 - lead
	}
	return frac | 1<<52, binExp - 1023, 53
}

// estimateExp guesses the decimal exponent, right or one too large.
func estimateExp(frac uint64, binExp int) int {
	d2 := math.Float64frombits(1023<<52 | frac&(1<<52-1))
	return int(math.Floor((d2-1.5)*0.289529654 + 0.176091259 + float64(binExp)*0.301029995663981))
}

// fiveBits is Java's estimate of the bits of 5^p.
func fiveBits(p int) int {
	if p == 0 || p > 26 {
		return 3 * p
	}
	return pow5Bits[p]
}

var pow5Bits = func() (t [27]int) {
	for p, v := 0, uint64(1); p < len(t); p, v = p+1, v*5 {
		t[p] = bits.Len64(v)
	}
	return t
}()

// scaled returns v * 5^p5 * 2^p2.
func scaled(v uint64, p5, p2 int) *big.Int {
	r := new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(p5)), nil)
	r.Mul(r, new(big.Int).SetUint64(v))
	return r.Lsh(r, uint(p2))
}

// roundUp adds one to the last digit.
func roundUp(digits []byte, exp int) ([]byte, int) {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] < '9' {
			digits[i]++
			return digits[:i+1], exp
		}
	}
	return append(digits[:0], '1'), exp + 1
}
