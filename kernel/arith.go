package kernel

import (
	"errors"
	"math"
	"math/bits"
)

// Integer is the integers that columns hold.
type Integer interface{ int32 | int64 }

// Float is the approximate numbers that columns hold.
type Float interface{ float32 | float64 }

// Number is what + - * are made for.
type Number interface{ Integer | Float }

// ErrDivisionByZero is the failure of an integer or decimal division or remainder by zero.
var ErrDivisionByZero = errors.New("division by zero")

// Add gives a + b; integers wrap. A slice of length 1 is a constant.
func Add[T Number](dst, a, b []T) {
	switch {
	case len(b) == 1:
		y := b[0]
		if len(a) == 1 {
			fillN(dst, a[0]+y)
			return
		}
		for i, x := range a[:len(dst)] {
			dst[i] = x + y
		}
	case len(a) == 1:
		Add(dst, b, a)
	default:
		b = b[:len(dst)]
		for i, x := range a[:len(dst)] {
			dst[i] = x + b[i]
		}
	}
}

// AddStays reports that no value of a plus step overflows.
func AddStays(a []int64, step int64) bool {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range a {
		lo, hi = min(lo, x), max(hi, x)
	}
	return len(a) == 0 || step >= 0 && hi+step >= hi || step < 0 && lo+step < lo
}

// Sub gives a - b; integers wrap. A slice of length 1 is a constant.
func Sub[T Number](dst, a, b []T) {
	switch {
	case len(b) == 1:
		y := b[0]
		if len(a) == 1 {
			fillN(dst, a[0]-y)
			return
		}
		for i, x := range a[:len(dst)] {
			dst[i] = x - y
		}
	case len(a) == 1:
		x := a[0]
		for i, y := range b[:len(dst)] {
			dst[i] = x - y
		}
	default:
		b = b[:len(dst)]
		for i, x := range a[:len(dst)] {
			dst[i] = x - b[i]
		}
	}
}

// Mul gives a * b; integers wrap. A slice of length 1 is a constant.
func Mul[T Number](dst, a, b []T) {
	switch {
	case len(b) == 1:
		y := b[0]
		if len(a) == 1 {
			fillN(dst, a[0]*y)
			return
		}
		for i, x := range a[:len(dst)] {
			dst[i] = x * y
		}
	case len(a) == 1:
		Mul(dst, b, a)
	default:
		b = b[:len(dst)]
		for i, x := range a[:len(dst)] {
			dst[i] = x * b[i]
		}
	}
}

// DivFloat gives a / b by IEEE 754: division by zero is an infinity or NaN. A slice of length 1 is a constant.
func DivFloat[T Float](dst, a, b []T) {
	sa, sb := stride(a), stride(b)
	for i := range dst {
		dst[i] = a[i&sa] / b[i&sb]
	}
}

// DivInt gives a / b truncated toward zero for the rows of active; the smallest number divided by -1 wraps to itself.
func DivInt[T Integer](dst, a, b []T, active Mask) error {
	sa, sb := stride(a), stride(b)
	for w, word := range active {
		for word != 0 {
			i := w<<6 + bits.TrailingZeros64(word)
			word &= word - 1
			y := b[i&sb]
			if y == 0 {
				return &RowError{Row: i, Err: ErrDivisionByZero}
			}
			dst[i] = a[i&sa] / y
		}
	}
	return nil
}

// ModInt gives the remainder of a / b with the sign of a for the rows of active.
func ModInt[T Integer](dst, a, b []T, active Mask) error {
	sa, sb := stride(a), stride(b)
	for w, word := range active {
		for word != 0 {
			i := w<<6 + bits.TrailingZeros64(word)
			word &= word - 1
			y := b[i&sb]
			if y == 0 {
				return &RowError{Row: i, Err: ErrDivisionByZero}
			}
			dst[i] = a[i&sa] % y
		}
	}
	return nil
}

// Neg gives -a; the smallest integer stays what it is.
func Neg[T Number](dst, a []T) {
	if len(a) == 1 {
		fillN(dst, -a[0])
		return
	}
	for i, x := range a[:len(dst)] {
		dst[i] = -x
	}
}

// Narrow wraps the results of int32 arithmetic to the width of TINYINT (8) or SMALLINT (16); other widths are left alone.
func Narrow(v []int32, width int) {
	switch width {
	case 8:
		for i, x := range v {
			v[i] = int32(int8(x))
		}
	case 16:
		for i, x := range v {
			v[i] = int32(int16(x))
		}
	}
}

// Convert gives a as numbers of another type by Go's conversion. REQUIRES: not from floats to integers (see [Trunc]).
func Convert[D, S Number](dst []D, a []S) {
	if len(a) == 1 {
		fillN(dst, D(a[0]))
		return
	}
	for i, x := range a[:len(dst)] {
		dst[i] = D(x)
	}
}

// Trunc gives floats as integers the way Java casts them: toward zero, saturating, NaN gives 0.
func Trunc[D Integer, S Float](dst []D, a []S, lo, hi int64) {
	s := stride(a)
	for i := range dst {
		x := float64(a[i&s])
		switch {
		case x != x:
			dst[i] = 0
		case x <= float64(lo):
			dst[i] = D(lo)
		case x >= float64(hi):
			dst[i] = D(hi)
		default:
			dst[i] = D(x)
		}
	}
}

// stride is a mask for indexes: 0 for a constant, all ones for a column.
func stride[T any](s []T) int {
	if len(s) == 1 {
		return 0
	}
	return -1
}

func fillN[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}
