package kernel

import (
	"bytes"
	"cmp"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/types"
)

// Row is one row of a lifted function: its arguments, and the column that takes its result. A function reads what it
// needs and calls exactly one of the put methods, or none for NULL.
type Row struct {
	// I is the row's index in the batch.
	I    int
	args []arg
	out  *changelog.Column
}

type arg struct {
	col    *changelog.Column
	stride int
}

func (a arg) at(i int) int { return i & a.stride }

// Args is the number of arguments.
func (r *Row) Args() int { return len(r.args) }

// Null reports whether argument k is NULL. Only functions lifted with [LiftNullable] need to ask.
func (r *Row) Null(k int) bool { return r.args[k].col.IsNull(r.args[k].at(r.I)) }

// Bytes is argument k, a string or binary; it aliases the column.
func (r *Row) Bytes(k int) []byte { return r.args[k].col.Bytes(r.args[k].at(r.I)) }

// String is argument k, a string; it aliases the column and is valid during the call only.
func (r *Row) String(k int) string {
	b := r.Bytes(k)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Bool is argument k, a BOOLEAN.
func (r *Row) Bool(k int) bool { return r.args[k].col.B[r.args[k].at(r.I)] }

// Int is argument k, of any type that lies in int32 or int64.
func (r *Row) Int(k int) int64 {
	a := r.args[k]
	if a.col.Type.Physical() == types.PhysInt64 {
		return a.col.I64[a.at(r.I)]
	}
	return int64(a.col.I32[a.at(r.I)])
}

// Float is argument k, a FLOAT or DOUBLE.
func (r *Row) Float(k int) float64 {
	a := r.args[k]
	if a.col.Type.Kind == types.Float {
		return float64(a.col.F32[a.at(r.I)])
	}
	return a.col.F64[a.at(r.I)]
}

// Decimal is argument k, the unscaled value of a DECIMAL.
func (r *Row) Decimal(k int) decimal128.Num { return r.args[k].col.Dec[r.args[k].at(r.I)] }

// Type is the type of argument k.
func (r *Row) Type(k int) types.Type { return r.args[k].col.Type }

// PutBytes gives the result v, a string or binary.
func (r *Row) PutBytes(v []byte) { r.out.AppendBytes(v) }

// Buffer is the memory into which a string result may be appended; End takes it back.
func (r *Row) Buffer() []byte { return r.out.Data }

// End gives as the result what was appended to Buffer.
func (r *Row) End(b []byte) { r.out.Data = b; r.out.EndBytes() }

// PutBool gives a BOOLEAN.
func (r *Row) PutBool(v bool) { r.out.AppendBool(v) }

// PutInt gives an integer of any width that lies in int32 or int64.
func (r *Row) PutInt(v int64) {
	if r.out.Type.Physical() == types.PhysInt64 {
		r.out.AppendInt64(v)
		return
	}
	r.out.AppendInt32(int32(v))
}

// PutFloat gives a FLOAT or DOUBLE.
func (r *Row) PutFloat(v float64) {
	if r.out.Type.Kind == types.Float {
		r.out.AppendFloat32(float32(v))
		return
	}
	r.out.AppendFloat64(v)
}

// PutDecimal gives the unscaled value of a DECIMAL.
func (r *Row) PutDecimal(v decimal128.Num) { r.out.AppendDecimal(v) }

// Lifter runs a function of one row over columns; it keeps its memory from batch to batch.
type Lifter struct {
	// F is the function. It gives NULL by putting nothing.
	F func(*Row) error
	// Nullable functions see NULL arguments; for the others a NULL argument gives NULL.
	Nullable bool
	row      Row
	active   Mask
}

// Run gives dst the results for n rows; rows outside mask and rows with a NULL argument are NULL.
func (l *Lifter) Run(dst *changelog.Column, args []Vec, n int, mask Mask) error {
	dst.Reset()
	l.row.out = dst
	l.row.args = l.row.args[:0]
	for _, a := range args {
		s := -1
		if a.Const {
			s = 0
		}
		l.row.args = append(l.row.args, arg{a.Col, s})
	}
	if l.Nullable {
		args = nil
	}
	l.active = Active(l.active, n, mask, args...)
	for i := range n {
		if l.active[i>>6]>>(uint(i)&63)&1 == 0 {
			dst.AppendNull()
			continue
		}
		l.row.I = i
		if err := l.F(&l.row); err != nil {
			return &RowError{Row: i, Err: err}
		}
		if dst.N == i {
			dst.AppendNull()
		}
		if len(dst.Data) > MaxBytes {
			return &RowError{Row: i, Err: ErrTooLong}
		}
	}
	return nil
}

// Compare compares arguments j and k, which have the same physical type.
func (r *Row) Compare(j, k int) int {
	a, b := r.args[j], r.args[k]
	x, y := a.at(r.I), b.at(r.I)
	switch a.col.Type.Physical() {
	case types.PhysBool:
		return b2i(a.col.B[x]) - b2i(b.col.B[y])
	case types.PhysInt32:
		return cmp.Compare(a.col.I32[x], b.col.I32[y])
	case types.PhysInt64:
		return cmp.Compare(a.col.I64[x], b.col.I64[y])
	case types.PhysFloat32:
		return cmp.Compare(a.col.F32[x], b.col.F32[y])
	case types.PhysFloat64:
		return cmp.Compare(a.col.F64[x], b.col.F64[y])
	case types.PhysDecimal:
		return a.col.Dec[x].Cmp(b.col.Dec[y])
	}
	return bytes.Compare(a.col.Bytes(x), b.col.Bytes(y))
}

// PutArg gives argument k as the result.
func (r *Row) PutArg(k int) { r.out.AppendFrom(r.args[k].col, r.args[k].at(r.I)) }

// AppendText appends what f gives for argument k.
func (r *Row) AppendText(dst []byte, k int, f func(dst []byte, c *changelog.Column, i int) []byte) []byte {
	a := r.args[k]
	return f(dst, a.col, a.at(r.I))
}
