package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/types"
)

// Vec is an operand or a result: a column, or one row that stands for all rows.
type Vec struct {
	Col   *changelog.Column
	Const bool
}

// IsNull reports whether row i is NULL.
func (v Vec) IsNull(i int) bool {
	if v.Col.Nulls == 0 {
		return false
	}
	if v.Const {
		i = 0
	}
	return v.Col.Valid[i>>6]>>(uint(i)&63)&1 == 0
}

// AllNull reports a constant NULL.
func (v Vec) AllNull() bool { return v.Const && v.Col.Nulls > 0 }

// Index is the place of row i in the column.
func (v Vec) Index(i int) int {
	if v.Const {
		return 0
	}
	return i
}

// RowError is the failure of one row of a batch.
type RowError struct {
	// Row is the row's index in the batch.
	Row int
	Err error
}

// Error names the row and the reason.
func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

// Unwrap gives the reason.
func (e *RowError) Unwrap() error { return e.Err }

// MaxBytes is the most bytes that the texts of a column may have, since its offsets have 32 bits.
const MaxBytes = math.MaxInt32

// ErrTooLong is the failure of a batch whose texts do not fit a column.
var ErrTooLong = errors.New("the texts of one batch are longer than 2 GiB together")

// CheckBytes gives an error if the texts of c take more than limit bytes ([MaxBytes]: its offsets have wrapped then).
func CheckBytes(c *changelog.Column, limit int) error {
	if len(c.Data) <= limit {
		return nil
	}
	for i := range c.N {
		if end := int(c.Off[i+1]); end < int(c.Off[i]) || end > limit {
			return &RowError{Row: i, Err: ErrTooLong}
		}
	}
	return &RowError{Row: max(c.N-1, 0), Err: ErrTooLong}
}

// Mask says which rows of a batch are to be computed: bit i of word i/64. Nil means all. Bits behind the last row are zero.
type Mask []uint64

// Words is the number of words that n bits take.
func Words(n int) int { return (n + 63) >> 6 }

// Has reports whether row i is in the mask.
func (m Mask) Has(i int) bool { return m == nil || m[i>>6]>>(uint(i)&63)&1 != 0 }

// Any reports whether the mask has a row among the first n.
func (m Mask) Any(n int) bool {
	if m == nil {
		return n > 0
	}
	for _, w := range m {
		if w != 0 {
			return true
		}
	}
	return false
}

// word is word w of the mask for n rows.
func (m Mask) word(w, n int) uint64 {
	x := ^uint64(0)
	if m != nil {
		x = m[w]
	}
	if rest := n - w<<6; rest < 64 {
		x &= 1<<uint(rest) - 1
	}
	return x
}

// resize gives s the length n and keeps its memory if it can; the values are undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// Make gives dst n rows without NULL whose values are undefined. Byte columns get no rows: they are appended to.
func Make(dst *changelog.Column, n int) {
	dst.N, dst.Nulls = n, 0
	dst.Valid = dst.Valid[:0]
	switch dst.Type.Physical() {
	case types.PhysBool:
		dst.B = resize(dst.B, n)
	case types.PhysInt32:
		dst.I32 = resize(dst.I32, n)
	case types.PhysInt64:
		dst.I64 = resize(dst.I64, n)
	case types.PhysFloat32:
		dst.F32 = resize(dst.F32, n)
	case types.PhysFloat64:
		dst.F64 = resize(dst.F64, n)
	case types.PhysDecimal:
		dst.Dec = resize(dst.Dec, n)
	default:
		dst.Reset()
	}
}

// Strict gives dst, which has n rows, the NULLs of a strict function: a row is NULL if any operand is.
func Strict(dst *changelog.Column, n int, args ...Vec) {
	dst.Nulls = 0
	dst.Valid = dst.Valid[:0]
	for _, a := range args {
		if a.Col.Nulls == 0 {
			continue
		}
		if a.Const {
			AllNull(dst, n)
			return
		}
		words := Words(n)
		if len(dst.Valid) == 0 {
			dst.Valid = append(dst.Valid, a.Col.Valid[:words]...)
			continue
		}
		for w, x := range a.Col.Valid[:words] {
			dst.Valid[w] &= x
		}
	}
	CountNulls(dst)
}

// AllNull makes all n rows of dst, whose values are in place, NULL.
func AllNull(dst *changelog.Column, n int) {
	dst.Valid = resize(dst.Valid, Words(n))
	clear(dst.Valid)
	dst.Nulls = n
}

// CountNulls sets dst.Nulls by its bitmap and drops a bitmap without NULL.
func CountNulls(dst *changelog.Column) {
	dst.Nulls = 0
	if len(dst.Valid) == 0 {
		return
	}
	valid := 0
	for w, x := range dst.Valid {
		if rest := dst.N - w<<6; rest < 64 {
			x &= 1<<uint(rest) - 1
		}
		valid += bits.OnesCount64(x)
	}
	if dst.Nulls = dst.N - valid; dst.Nulls == 0 {
		dst.Valid = dst.Valid[:0]
	}
}

// SetNull makes row i of dst, which has all its rows, NULL.
func SetNull(dst *changelog.Column, i int) {
	if dst.Nulls == 0 {
		dst.Valid = resize(dst.Valid, Words(dst.N))
		for w := range dst.Valid {
			dst.Valid[w] = ^uint64(0)
		}
	}
	if dst.Valid[i>>6]>>(uint(i)&63)&1 != 0 {
		dst.Valid[i>>6] &^= 1 << (uint(i) & 63)
		dst.Nulls++
	}
}

// Active puts into out the rows of mask in which no operand is NULL.
func Active(out Mask, n int, mask Mask, args ...Vec) Mask {
	out = resize(out, Words(n))
	for w := range out {
		out[w] = mask.word(w, n)
	}
	for _, a := range args {
		if a.Col.Nulls == 0 {
			continue
		}
		if a.Const {
			clear(out)
			return out
		}
		for w := range out {
			out[w] &= a.Col.Valid[w]
		}
	}
	return out
}

// Broadcast makes dst n copies of the constant v.
func Broadcast(dst *changelog.Column, v *changelog.Column, n int) {
	Make(dst, n)
	if v.Nulls > 0 {
		if dst.Type.Physical() == types.PhysBytes {
			dst.Off = resize(dst.Off, n+1)
			clear(dst.Off)
			dst.N = n
		}
		AllNull(dst, n)
		return
	}
	switch dst.Type.Physical() {
	case types.PhysBool:
		fill(dst.B, v.B[0])
	case types.PhysInt32:
		fill(dst.I32, v.I32[0])
	case types.PhysInt64:
		fill(dst.I64, v.I64[0])
	case types.PhysFloat32:
		fill(dst.F32, v.F32[0])
	case types.PhysFloat64:
		fill(dst.F64, v.F64[0])
	case types.PhysDecimal:
		fill(dst.Dec, v.Dec[0])
	case types.PhysBytes:
		b := v.Bytes(0)
		for range n {
			dst.AppendBytes(b)
		}
	}
}

func fill[T bool | int32 | int64 | float32 | float64 | decimal128.Num](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// Keep puts into keep the rows of the BOOLEAN v that are TRUE; NULL counts as not TRUE. keep has at least Words(n) words.
func Keep(keep []uint64, v Vec, n int) {
	words := Words(n)
	clear(keep[:words])
	if v.Const {
		if v.Col.Nulls == 0 && v.Col.B[0] {
			for w := range words {
				keep[w] = Mask(nil).word(w, n)
			}
		}
		return
	}
	for w := range words {
		base := w << 6
		var x uint64
		for i, b := range v.Col.B[base:min(base+64, n)] {
			x |= uint64(b2i(b)) << uint(i)
		}
		if v.Col.Nulls > 0 {
			x &= v.Col.Valid[w]
		}
		keep[w] = x
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
