package kernel

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/types"
)

// Not gives NOT a; NULL stays NULL.
func Not(dst *changelog.Column, a Vec, n int) {
	Make(dst, n)
	s := stride(a.Col.B)
	for i := range dst.B {
		dst.B[i] = !a.Col.B[i&s]
	}
	Strict(dst, n, a)
}

// And gives the three-valued a AND b: FALSE wins over NULL.
func And(dst *changelog.Column, a, b Vec, n int) { threeValued(dst, a, b, n, false) }

// Or gives the three-valued a OR b: TRUE wins over NULL.
func Or(dst *changelog.Column, a, b Vec, n int) { threeValued(dst, a, b, n, true) }

// threeValued combines two BOOLEANs of which the value win decides alone.
func threeValued(dst *changelog.Column, a, b Vec, n int, win bool) {
	Make(dst, n)
	ab, bb := a.Col.B, b.Col.B
	sa, sb := stride(ab), stride(bb)
	if win {
		for i := range dst.B {
			dst.B[i] = ab[i&sa] || bb[i&sb]
		}
	} else {
		for i := range dst.B {
			dst.B[i] = ab[i&sa] && bb[i&sb]
		}
	}
	if a.Col.Nulls == 0 && b.Col.Nulls == 0 {
		return
	}
	for i := range dst.B {
		an, bn := a.IsNull(i), b.IsNull(i)
		switch {
		case !an && ab[i&sa] == win, !bn && bb[i&sb] == win:
			dst.B[i] = win
		case an || bn:
			dst.B[i] = false
			SetNull(dst, i)
		default:
			dst.B[i] = !win
		}
	}
}

// IsNull gives a IS NULL, negated if not.
func IsNull(dst *changelog.Column, a Vec, n int, not bool) {
	Make(dst, n)
	if a.Col.Nulls == 0 {
		fillN(dst.B, not)
		return
	}
	for i := range dst.B {
		dst.B[i] = a.IsNull(i) != not
	}
}

// IsBool gives a IS TRUE or a IS FALSE (by want), negated if not; NULL is neither.
func IsBool(dst *changelog.Column, a Vec, n int, want, not bool) {
	Make(dst, n)
	s := stride(a.Col.B)
	for i := range dst.B {
		dst.B[i] = (!a.IsNull(i) && a.Col.B[i&s] == want) != not
	}
}

// Choose gives dst row i of the branch pick[i], NULL where pick[i] is negative. All branches have dst's physical type.
func Choose(dst *changelog.Column, branches []Vec, pick []int32) {
	n := len(pick)
	Make(dst, n)
	if dst.Type.Physical() == types.PhysBytes {
		chooseBytes(dst, branches, pick)
		markNulls(dst, branches, pick)
		return
	}
	switch dst.Type.Physical() {
	case types.PhysBool:
		choose(dst.B, branches, pick, func(c *changelog.Column) []bool { return c.B })
	case types.PhysInt32:
		choose(dst.I32, branches, pick, func(c *changelog.Column) []int32 { return c.I32 })
	case types.PhysInt64:
		choose(dst.I64, branches, pick, func(c *changelog.Column) []int64 { return c.I64 })
	case types.PhysFloat32:
		choose(dst.F32, branches, pick, func(c *changelog.Column) []float32 { return c.F32 })
	case types.PhysFloat64:
		choose(dst.F64, branches, pick, func(c *changelog.Column) []float64 { return c.F64 })
	case types.PhysDecimal:
		choose(dst.Dec, branches, pick, func(c *changelog.Column) []decimal128.Num { return c.Dec })
	}
	markNulls(dst, branches, pick)
}

// markNulls makes the rows NULL that no branch takes or whose branch is NULL there.
func markNulls(dst *changelog.Column, branches []Vec, pick []int32) {
	none := false
	for _, p := range pick {
		none = none || p < 0
	}
	for _, b := range branches {
		none = none || b.Col.Nulls > 0
	}
	if !none {
		return
	}
	for i, p := range pick {
		if p < 0 || branches[p].IsNull(i) {
			SetNull(dst, i)
		}
	}
}

func chooseBytes(dst *changelog.Column, branches []Vec, pick []int32) {
	off, data := append(dst.Off[:0], 0), dst.Data[:0]
	for i, p := range pick {
		if p >= 0 && !branches[p].IsNull(i) {
			b := branches[p]
			data = append(data, b.Col.Bytes(b.Index(i))...)
		}
		off = append(off, int32(len(data)))
	}
	dst.Off, dst.Data, dst.N = off, data, len(pick)
}

func choose[T any](dst []T, branches []Vec, pick []int32, values func(*changelog.Column) []T) {
	for b, v := range branches {
		src := values(v.Col)
		s := stride(src)
		for i, p := range pick {
			if int(p) == b {
				dst[i] = src[i&s]
			}
		}
	}
}
