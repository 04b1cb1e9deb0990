package changelog

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/types"
)

// Column is a growable vector of one logical type. Exactly one of the value slices is in use, by Type.Physical(); of those in use,
// values at NULL positions are present and undefined (strings: empty).
type Column struct {
	Type types.Type
	// N is the number of rows.
	N int
	// Valid is the validity bitmap, least significant bit first, or nil when there is no NULL. Bits at and behind N are undefined.
	Valid []uint64
	// Nulls counts the NULLs.
	Nulls int

	B   []bool
	I32 []int32
	I64 []int64
	F32 []float32
	F64 []float64
	Dec []decimal128.Num
	// Off has N+1 entries into Data (Off[0] need not be 0 for a slice of another column).
	Off  []int32
	Data []byte
	// Children of nested types: ARRAY, MULTISET and MAP keep their element offsets in Off.
	Children []*Column
}

// NewColumn returns an empty column.
func NewColumn(t types.Type) *Column {
	c := &Column{Type: t}
	c.Reset()
	return c
}

// Reset empties the column and keeps its memory.
func (c *Column) Reset() {
	c.N, c.Nulls = 0, 0
	c.Valid = c.Valid[:0]
	c.B, c.I32, c.I64, c.F32, c.F64, c.Dec = c.B[:0], c.I32[:0], c.I64[:0], c.F32[:0], c.F64[:0], c.Dec[:0]
	c.Data = c.Data[:0]
	if p := c.Type.Physical(); p == types.PhysBytes || p == types.PhysNested {
		c.Off = append(c.Off[:0], 0)
	}
	for _, k := range c.Children {
		k.Reset()
	}
}

// IsNull reports whether row i is NULL.
func (c *Column) IsNull(i int) bool { return c.Nulls > 0 && c.Valid[i>>6]>>(uint(i)&63)&1 == 0 }

// Bytes returns the value of row i of a string or binary column; it aliases the column.
func (c *Column) Bytes(i int) []byte { return c.Data[c.Off[i]:c.Off[i+1]] }

// grow accounts for one more row that is valid or not. The bitmap comes into being with the first NULL.
func (c *Column) grow(valid bool) {
	i := c.N
	c.N++
	if !valid && c.Nulls == 0 {
		c.materialize(i)
	}
	if c.Nulls > 0 || !valid {
		w := i >> 6
		for len(c.Valid) <= w {
			c.Valid = append(c.Valid, 0)
		}
		if valid {
			c.Valid[w] |= 1 << (uint(i) & 63)
		} else {
			c.Valid[w] &^= 1 << (uint(i) & 63)
			c.Nulls++
		}
	}
}

// materialize makes a bitmap whose first n bits are set.
func (c *Column) materialize(n int) {
	c.Valid = c.Valid[:0]
	for w := 0; w < n>>6; w++ {
		c.Valid = append(c.Valid, ^uint64(0))
	}
	c.Valid = append(c.Valid, 1<<(uint(n)&63)-1)
}

// AppendNull adds a NULL.
func (c *Column) AppendNull() {
	switch c.Type.Physical() {
	case types.PhysBool:
		c.B = append(c.B, false)
	case types.PhysInt32:
		c.I32 = append(c.I32, 0)
	case types.PhysInt64:
		c.I64 = append(c.I64, 0)
	case types.PhysFloat32:
		c.F32 = append(c.F32, 0)
	case types.PhysFloat64:
		c.F64 = append(c.F64, 0)
	case types.PhysDecimal:
		c.Dec = append(c.Dec, decimal128.Num{})
	case types.PhysBytes, types.PhysNested:
		c.Off = append(c.Off, c.Off[len(c.Off)-1])
	}
	c.grow(false)
}

// AppendBool adds a BOOLEAN.
func (c *Column) AppendBool(v bool) { c.B = append(c.B, v); c.grow(true) }

// AppendInt32 adds a value of an Int32 column.
func (c *Column) AppendInt32(v int32) { c.I32 = append(c.I32, v); c.grow(true) }

// AppendInt64 adds a value of an Int64 column.
func (c *Column) AppendInt64(v int64) { c.I64 = append(c.I64, v); c.grow(true) }

// AppendFloat32 adds a FLOAT.
func (c *Column) AppendFloat32(v float32) { c.F32 = append(c.F32, v); c.grow(true) }

// AppendFloat64 adds a DOUBLE.
func (c *Column) AppendFloat64(v float64) { c.F64 = append(c.F64, v); c.grow(true) }

// AppendDecimal adds an unscaled DECIMAL.
func (c *Column) AppendDecimal(v decimal128.Num) { c.Dec = append(c.Dec, v); c.grow(true) }

// AppendBytes adds a copy of v.
func (c *Column) AppendBytes(v []byte) {
	c.Data = append(c.Data, v...)
	c.Off = append(c.Off, int32(len(c.Data)))
	c.grow(true)
}

// AppendString adds a copy of v.
func (c *Column) AppendString(v string) {
	c.Data = append(c.Data, v...)
	c.Off = append(c.Off, int32(len(c.Data)))
	c.grow(true)
}

// EndBytes closes a string value that the caller appended to c.Data itself.
func (c *Column) EndBytes() {
	c.Off = append(c.Off, int32(len(c.Data)))
	c.grow(true)
}

// AppendFrom adds row i of src, which has the same physical type and is not nested.
func (c *Column) AppendFrom(src *Column, i int) {
	if src.IsNull(i) {
		c.AppendNull()
		return
	}
	switch c.Type.Physical() {
	case types.PhysBool:
		c.AppendBool(src.B[i])
	case types.PhysInt32:
		c.AppendInt32(src.I32[i])
	case types.PhysInt64:
		c.AppendInt64(src.I64[i])
	case types.PhysFloat32:
		c.AppendFloat32(src.F32[i])
	case types.PhysFloat64:
		c.AppendFloat64(src.F64[i])
	case types.PhysDecimal:
		c.AppendDecimal(src.Dec[i])
	case types.PhysBytes:
		c.AppendBytes(src.Bytes(i))
	}
}

// Truncate takes back rows n and above.
func (c *Column) Truncate(n int) {
	if n >= c.N {
		return
	}
	if c.Nulls > 0 {
		for i := n; i < c.N; i++ {
			if c.Valid[i>>6]>>(uint(i)&63)&1 == 0 {
				c.Nulls--
			}
		}
		if c.Nulls == 0 {
			c.Valid = c.Valid[:0]
		} else {
			c.Valid = c.Valid[:(n+63)>>6]
		}
	}
	c.N = n
	switch c.Type.Physical() {
	case types.PhysBool:
		c.B = c.B[:n]
	case types.PhysInt32:
		c.I32 = c.I32[:n]
	case types.PhysInt64:
		c.I64 = c.I64[:n]
	case types.PhysFloat32:
		c.F32 = c.F32[:n]
	case types.PhysFloat64:
		c.F64 = c.F64[:n]
	case types.PhysDecimal:
		c.Dec = c.Dec[:n]
	case types.PhysBytes:
		c.Off = c.Off[:n+1]
		c.Data = c.Data[:c.Off[n]]
	case types.PhysNested:
		c.Off = c.Off[:n+1]
		for _, k := range c.Children {
			if c.Type.Kind == types.Row {
				k.Truncate(n)
			} else {
				k.Truncate(int(c.Off[n]))
			}
		}
	}
}

// SizeBytes is the memory that the values take, for the memory budget.
func (c *Column) SizeBytes() int64 {
	n := int64(len(c.Valid)*8 + len(c.B) + 4*len(c.I32) + 8*len(c.I64) + 4*len(c.F32) + 8*len(c.F64) + 16*len(c.Dec) + 4*len(c.Off) + len(c.Data))
	for _, k := range c.Children {
		n += k.SizeBytes()
	}
	return n
}

// Take appends to dst the rows of src whose bit in keep is set; keep has at least src.N bits.
func Take(dst, src *Column, keep []uint64) {
	for w, word := range keep {
		base := w << 6
		if rest := src.N - base; rest < 64 {
			if rest <= 0 {
				return
			}
			word &= 1<<uint(rest) - 1
		}
		for word != 0 {
			i := bits.TrailingZeros64(word)
			word &= word - 1
			dst.AppendFrom(src, base+i)
		}
	}
}
