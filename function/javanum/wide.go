package javanum

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// u256 is an unsigned 256-bit integer, least significant limb first: 76 decimal digits and more, which the product of two decimals and the
// dividend of an exact division need.
type u256 [4]uint64

// MaxPrecision is the largest number of digits of a DECIMAL.
const MaxPrecision = 38

// pow10 holds 10^0 to 10^76.
var pow10 = func() (t [77]u256) {
	t[0] = u256{1}
	for i := 1; i < len(t); i++ {
		t[i], _ = t[i-1].mulWord(10)
	}
	return t
}()

// magnitude splits a decimal into its absolute value and sign.
func magnitude(n decimal128.Num) (u u256, neg bool) {
	hi, lo := uint64(n.HighBits()), n.LowBits()
	if n.HighBits() < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
		neg = true
	}
	return u256{lo, hi}, neg
}

// signed makes a decimal of a magnitude below 2^127.
func signed(u u256, neg bool) decimal128.Num {
	lo, hi := u[0], u[1]
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return decimal128.New(int64(hi), lo)
}

func (a u256) isZero() bool { return a[0]|a[1]|a[2]|a[3] == 0 }

func (a u256) cmp(b u256) int {
	for i := 3; i >= 0; i-- {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func (a u256) add(b u256) (r u256) {
	var c uint64
	for i := range r {
		r[i], c = bits.Add64(a[i], b[i], c)
	}
	return r
}

// sub returns a - b. REQUIRES: a >= b.
func (a u256) sub(b u256) (r u256) {
	var c uint64
	for i := range r {
		r[i], c = bits.Sub64(a[i], b[i], c)
	}
	return r
}

// mulWord returns a * w and what did not fit.
func (a u256) mulWord(w uint64) (r u256, carry uint64) {
	for i := range r {
		hi, lo := bits.Mul64(a[i], w)
		var c uint64
		r[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	return r, carry
}

// mul returns a * b; ok is false if it does not fit 256 bits.
func (a u256) mul(b u256) (r u256, ok bool) {
	ok = true
	for j, w := range b {
		if w == 0 {
			continue
		}
		p, carry := a.mulWord(w)
		ok = ok && carry == 0
		var c uint64
		for i := range p {
			if i+j > 3 {
				ok = ok && p[i] == 0
				continue
			}
			r[i+j], c = bits.Add64(r[i+j], p[i], c)
		}
		ok = ok && c == 0
	}
	return r, ok
}

func (a u256) limbs() int {
	n := 4
	for n > 0 && a[n-1] == 0 {
		n--
	}
	return n
}

func (a u256) divWord(w uint64) (q u256, r uint64) {
	for i := a.limbs() - 1; i >= 0; i-- {
		q[i], r = bits.Div64(r, a[i], w)
	}
	return q, r
}

// divMod returns quotient and remainder (Knuth 4.3.1 D). REQUIRES: b is not zero.
func (a u256) divMod(b u256) (q, r u256) {
	n, m := b.limbs(), a.limbs()
	if n == 1 {
		q, r[0] = a.divWord(b[0])
		return q, r
	}
	if m < n {
		return q, a
	}
	shift := uint(bits.LeadingZeros64(b[n-1]))
	var v [4]uint64
	var u [5]uint64
	for i := n - 1; i >= 0; i-- {
		v[i] = b[i] << shift
		if shift > 0 && i > 0 {
			v[i] |= b[i-1] >> (64 - shift)
		}
	}
	for i := m; i >= 0; i-- {
		if i < m {
			u[i] = a[i] << shift
		}
		if shift > 0 && i > 0 {
			u[i] |= a[i-1] >> (64 - shift)
		}
	}
	for j := m - n; j >= 0; j-- {
		q[j] = divStep(u[j:j+n+1], v[:n])
	}
	for i := range n {
		r[i] = u[i] >> shift
		if shift > 0 {
			r[i] |= u[i+1] << (64 - shift)
		}
	}
	return q, r
}

// divStep computes one digit of the quotient and subtracts its multiple of v from u, which has one limb more.
func divStep(u, v []uint64) uint64 {
	n := len(v)
	qhat, rhat := ^uint64(0), uint64(0)
	overflow := false
	if u[n] < v[n-1] {
		qhat, rhat = bits.Div64(u[n], u[n-1], v[n-1])
	} else {
		var c uint64
		rhat, c = bits.Add64(u[n-1], v[n-1], 0)
		overflow = c != 0
	}
	for !overflow {
		hi, lo := bits.Mul64(qhat, v[n-2])
		if hi < rhat || hi == rhat && lo <= u[n-2] {
			break
		}
		qhat--
		var c uint64
		rhat, c = bits.Add64(rhat, v[n-1], 0)
		overflow = c != 0
	}
	var carry, borrow uint64
	for i := range n {
		hi, lo := bits.Mul64(qhat, v[i])
		var c uint64
		lo, c = bits.Add64(lo, carry, 0)
		carry = hi + c
		u[i], borrow = bits.Sub64(u[i], lo, borrow)
	}
	u[n], borrow = bits.Sub64(u[n], carry, borrow)
	if borrow != 0 { // one too many
		qhat--
		var c uint64
		for i := range n {
			u[i], c = bits.Add64(u[i], v[i], c)
		}
		u[n] += c
	}
	return qhat
}

// digits returns the number of decimal digits, 1 for zero.
func (a u256) digits() int {
	n := a.limbs()
	if n == 0 {
		return 1
	}
	// bits * log10(2) is right or one too small.
	d := (64*n-bits.LeadingZeros64(a[n-1]))*1233>>12 + 1
	if d > 1 && d <= 77 && a.cmp(pow10[d-1]) < 0 {
		d--
	}
	return d
}

// scaleUp multiplies by 10^k; ok is false if the result has more than 76 digits.
func (a u256) scaleUp(k int) (u256, bool) {
	if a.isZero() || k == 0 {
		return a, true
	}
	if k < 0 || a.digits()+k > 76 {
		return a, false
	}
	if k <= 19 {
		r, _ := a.mulWord(pow10[k][0])
		return r, true
	}
	return a.mul(pow10[k])
}

// rounding says which way digits are cut.
type rounding uint8

const (
	halfUp rounding = iota
	down
	floor   // toward negative infinity
	ceiling // toward positive infinity
)

// scaleDown divides by 10^k, k > 0. neg tells the sign for floor and ceiling.
func (a u256) scaleDown(k int, mode rounding, neg bool) u256 {
	if k > 76 {
		if !a.isZero() {
			a = u256{1} // any digit: not zero, and too small to round up half
		}
		k = 1
	}
	exact := true
	if mode != halfUp {
		last := u256{}
		if k <= 19 {
			a, last[0] = a.divWord(pow10[k][0])
		} else {
			a, last = a.divMod(pow10[k])
		}
		exact = last.isZero()
		if !exact && (mode == floor && neg || mode == ceiling && !neg) {
			a = a.add(u256{1})
		}
		return a
	}
	// The first digit that is cut off decides, so the others go first.
	for k--; k > 0; k -= min(k, 19) {
		a, _ = a.divWord(pow10[min(k, 19)][0])
	}
	q, r := a.divWord(10)
	if r >= 5 {
		q = q.add(u256{1})
	}
	return q
}

// fit makes a decimal of a magnitude at scale from, as DECIMAL(precision, scale) in the given rounding.
func fit(u u256, neg bool, from, precision, scale int, mode rounding) (decimal128.Num, Status) {
	switch {
	case scale > from:
		var ok bool
		if u, ok = u.scaleUp(scale - from); !ok {
			return decimal128.Num{}, Overflow
		}
	case scale < from:
		u = u.scaleDown(from-scale, mode, neg)
	}
	if precision > MaxPrecision {
		precision = MaxPrecision
	}
	if precision < 0 || u.cmp(pow10[precision]) >= 0 {
		return decimal128.Num{}, Overflow
	}
	return signed(u, neg), OK
}
