package function

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/function/datetime"
	"staunch/function/javanum"
	"staunch/kernel"
	"staunch/types"
)

// NewCast gives CAST(e AS t), or TRY_CAST; t's nullability is left out of account. It refuses what Flink refuses.
func NewCast(e Expr, t types.Type, try bool) (Expr, error) {
	from := e.Type()
	if from.Kind == types.Null {
		return NewNull(t), nil
	}
	if reason := castRefused(from, t); reason != "" {
		return nil, fmt.Errorf("%s", reason)
	}
	t = t.WithNotNull(from.NotNull && !try)
	return &Cast{Arg: e, T: t, Try: try}, nil
}

// castRefused gives the reason why a cast is not possible, or "".
func castRefused(from, to types.Type) string {
	no := fmt.Sprintf("cast function cannot convert value of type %s to type %s", from.Nullable(), to.Nullable())
	switch {
	case from.IsNested() || to.IsNested():
		return fmt.Sprintf("a cast from %s to %s is not supported yet", from.Nullable(), to.Nullable())
	case to.IsString():
		return ""
	case from.IsString():
		if to.IsInterval() {
			return no
		}
		return ""
	case from.IsNumeric() && to.IsTimestamp():
		hint := "TO_TIMESTAMP(FROM_UNIXTIME(seconds))"
		if to.Kind == types.TimestampLTZ {
			hint = "TO_TIMESTAMP_LTZ(number, precision)"
		}
		return no + ": use " + hint
	case from.IsTimestamp() && to.IsNumeric():
		return no + ": use UNIX_TIMESTAMP(CAST(timestamp AS STRING))"
	case from.IsNumeric() || from.Kind == types.Boolean:
		if to.IsNumeric() || to.Kind == types.Boolean {
			return ""
		}
	case from.IsBinary():
		if to.IsBinary() {
			return ""
		}
	case from.Kind == types.Date:
		if to.Kind == types.Date || to.IsTimestamp() {
			return ""
		}
	case from.Kind == types.Time:
		if to.Kind == types.Time || to.IsTimestamp() {
			return ""
		}
	case from.IsTimestamp():
		if to.IsTimestamp() || to.Kind == types.Date || to.Kind == types.Time {
			return ""
		}
	case from.IsInterval():
		if to.Kind == from.Kind {
			return ""
		}
	}
	return no
}

// castCanFail reports whether a row can fail, or whether the cast reads a text.
func castCanFail(from, to types.Type, try bool) bool {
	return from.IsString() && !to.IsString() && !to.IsBinary() || to.IsTimestamp() && to.UnitsPerSecond() > 1000 && !from.Same(to)
}

// castOp computes a cast; nil means that the values stay what they are.
func castOp(from, to types.Type, try bool, s Session) (Op, error) {
	switch {
	case from.Same(to):
		return nil, nil
	case to.IsString():
		return toString(from, to, s), nil
	case to.IsBinary():
		return toBinary(from, to), nil
	case from.IsString():
		return fromString(from, to, try, s), nil
	case to.Kind == types.Boolean:
		return toBoolean(from), nil
	case to.IsNumeric():
		return toNumber(from, to), nil
	case to.IsInterval():
		return nil, nil
	}
	return toTime(from, to, try, s), nil
}

// toString prints a value and makes it fit CHAR(n) or VARCHAR(n).
func toString(from, to types.Type, s Session) Op {
	if from.IsString() && (to.Kind == types.Varchar && to.Length >= from.Length) {
		return nil
	}
	zone := s.zone()
	return lift(func(r *kernel.Row) error {
		b := r.Buffer()
		start := len(b)
		switch {
		case from.IsBinary():
			b = appendValidUTF8(b, r.Bytes(0))
		case from.IsString():
			b = append(b, r.Bytes(0)...)
		default:
			b = r.AppendText(b, 0, func(dst []byte, c *changelog.Column, i int) []byte { return appendText(dst, c, i, zone) })
		}
		if to.Length != types.MaxLength {
			b = fitText(b, start, to)
		}
		r.End(b)
		return nil
	})
}

// fitText cuts b[start:] to the length of CHAR(n) or VARCHAR(n) in code points, and pads CHAR(n) with blanks.
func fitText(b []byte, start int, t types.Type) []byte {
	n := 0
	for i := start; i < len(b); i++ {
		if b[i]&0xC0 == 0x80 {
			continue
		}
		if n == t.Length {
			return b[:i]
		}
		n++
	}
	if t.Kind == types.Char {
		for ; n < t.Length; n++ {
			b = append(b, ' ')
		}
	}
	return b
}

// appendValidUTF8 appends bytes as text; what is no UTF-8 becomes the replacement character.
func appendValidUTF8(dst, b []byte) []byte {
	for _, c := range string(b) {
		dst = append(dst, string(c)...)
	}
	return dst
}

func toBinary(from, to types.Type) Op {
	if to.Kind == types.Varbinary && (to.Length == types.MaxLength || from.IsBinary() && to.Length >= from.Length) {
		return nil
	}
	return lift(func(r *kernel.Row) error {
		v := r.Bytes(0)
		if len(v) > to.Length {
			v = v[:to.Length]
		}
		b := append(r.Buffer(), v...)
		if to.Kind == types.Binary {
			for range to.Length - len(v) {
				b = append(b, 0)
			}
		}
		r.End(b)
		return nil
	})
}

// fromString reads a text; what cannot be read fails, or is NULL under TRY_CAST.
func fromString(from, to types.Type, try bool, s Session) Op {
	read := reader(to, s)
	return lift(func(r *kernel.Row) error {
		if read(r, r.Bytes(0)) || try {
			return nil
		}
		return fmt.Errorf("cannot cast %s '%s' to %s", from.Nullable(), clip(r.Bytes(0)), to.Nullable())
	})
}

// clip shortens a value for a message.
func clip(b []byte) string {
	if len(b) > 80 {
		return string(b[:80]) + ".."
	}
	return string(b)
}

// reader gives the function that reads a text as to and puts it; false if it cannot be read.
func reader(to types.Type, s Session) func(r *kernel.Row, text []byte) bool {
	units := to.UnitsPerSecond()
	switch to.Kind {
	case types.Boolean:
		return func(r *kernel.Row, text []byte) bool {
			v, ok := javanum.ParseBool(text)
			if ok {
				r.PutBool(v)
			}
			return ok
		}
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		bits := width(to)
		if to.Kind == types.BigInt {
			bits = 64
		}
		return func(r *kernel.Row, text []byte) bool {
			v, st := javanum.ParseInt(text, bits)
			if st == javanum.OK {
				r.PutInt(v)
			}
			return st == javanum.OK
		}
	case types.Float:
		return func(r *kernel.Row, text []byte) bool {
			v, st := javanum.ParseFloat32(text)
			if st == javanum.OK {
				r.PutFloat(float64(v))
			}
			return st == javanum.OK
		}
	case types.Double:
		return func(r *kernel.Row, text []byte) bool {
			v, st := javanum.ParseFloat64(text)
			if st == javanum.OK {
				r.PutFloat(v)
			}
			return st == javanum.OK
		}
	case types.Decimal:
		return func(r *kernel.Row, text []byte) bool {
			v, st := javanum.ParseDecimalCast(text, to.Precision, to.Scale)
			if st == javanum.OK {
				r.PutDecimal(v)
			}
			return st == javanum.OK
		}
	case types.Date:
		return func(r *kernel.Row, text []byte) bool {
			v, ok := datetime.ParseDate(text)
			if ok {
				r.PutInt(int64(v))
			}
			return ok
		}
	case types.Time:
		return func(r *kernel.Row, text []byte) bool {
			v, ok := datetime.ParseTime(text, to.Precision)
			if ok {
				r.PutInt(int64(v))
			}
			return ok
		}
	}
	zone := s.zone()
	return func(r *kernel.Row, text []byte) bool {
		v, ok := datetime.ParseTimestamp(text, units, to.Precision)
		if ok && to.Kind == types.TimestampLTZ {
			v, ok = zone.LocalToInstant(v, units)
		}
		if ok {
			r.PutInt(v)
		}
		return ok
	}
}

func toBoolean(from types.Type) Op {
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		a := args[0].Col
		switch from.Physical() {
		case types.PhysInt32:
			kernel.Ne(dst.B, a.I32, []int32{0})
		case types.PhysInt64:
			kernel.Ne(dst.B, a.I64, []int64{0})
		case types.PhysFloat32:
			kernel.Ne(dst.B, a.F32, []float32{0})
		case types.PhysFloat64:
			kernel.Ne(dst.B, a.F64, []float64{0})
		case types.PhysDecimal:
			for i := range n {
				dst.B[i] = a.Dec[args[0].Index(i)].Sign() != 0
			}
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

// toNumber converts numbers: integers wrap, DOUBLE to integers saturates, a DECIMAL that does not fit is NULL.
func toNumber(from, to types.Type) Op {
	if to.Kind == types.Decimal {
		return toDecimal(from, to)
	}
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		a := args[0]
		switch to.Physical() {
		case types.PhysInt32:
			convertInt(dst.I32, a, -1<<31, 1<<31-1)
			kernel.Narrow(dst.I32, width(to))
		case types.PhysInt64:
			convertInt(dst.I64, a, -1<<63, 1<<63-1)
		case types.PhysFloat32:
			convertFloat(dst.F32, a)
		case types.PhysFloat64:
			convertFloat(dst.F64, a)
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

func convertInt[T kernel.Integer](dst []T, a kernel.Vec, lo, hi int64) {
	switch a.Col.Type.Physical() {
	case types.PhysBool:
		for i := range dst {
			dst[i] = 0
			if a.Col.B[a.Index(i)] {
				dst[i] = 1
			}
		}
	case types.PhysInt32:
		kernel.Convert(dst, a.Col.I32)
	case types.PhysInt64:
		kernel.Convert(dst, a.Col.I64)
	case types.PhysFloat32:
		kernel.Trunc(dst, a.Col.F32, lo, hi)
	case types.PhysFloat64:
		kernel.Trunc(dst, a.Col.F64, lo, hi)
	case types.PhysDecimal:
		for i := range dst {
			dst[i] = T(javanum.ToInt64(a.Col.Dec[a.Index(i)], a.Col.Type.Scale))
		}
	}
}

func convertFloat[T kernel.Float](dst []T, a kernel.Vec) {
	switch a.Col.Type.Physical() {
	case types.PhysBool:
		for i := range dst {
			dst[i] = 0
			if a.Col.B[a.Index(i)] {
				dst[i] = 1
			}
		}
	case types.PhysInt32:
		kernel.Convert(dst, a.Col.I32)
	case types.PhysInt64:
		kernel.Convert(dst, a.Col.I64)
	case types.PhysFloat32:
		kernel.Convert(dst, a.Col.F32)
	case types.PhysFloat64:
		kernel.Convert(dst, a.Col.F64)
	case types.PhysDecimal:
		for i := range dst {
			dst[i] = T(javanum.ToFloat64(a.Col.Dec[a.Index(i)], a.Col.Type.Precision, a.Col.Type.Scale))
		}
	}
}

func toDecimal(from, to types.Type) Op {
	p, s := to.Precision, to.Scale
	return lift(func(r *kernel.Row) error {
		var st javanum.Status
		var v decimal128.Num
		switch from.Physical() {
		case types.PhysBool:
			one := int64(0)
			if r.Bool(0) {
				one = 1
			}
			v, st = javanum.FromInt64(one, p, s)
		case types.PhysDecimal:
			v, st = javanum.Rescale(r.Decimal(0), from.Scale, p, s)
		case types.PhysFloat32, types.PhysFloat64:
			v, st = javanum.FromFloat64(r.Float(0), p, s)
		default:
			v, st = javanum.FromInt64(r.Int(0), p, s)
		}
		if st == javanum.OK {
			r.PutDecimal(v)
		}
		return nil
	})
}

// toTime converts between DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ; the session's zone lies between the last and the others.
func toTime(from, to types.Type, try bool, s Session) Op {
	zone := s.zone()
	fu, tu := from.UnitsPerSecond(), to.UnitsPerSecond()
	return lift(func(r *kernel.Row) error {
		v, ok := r.Int(0), true
		switch from.Kind {
		case types.Date:
			v, ok = datetime.DateToTimestamp(int32(v), tu)
		case types.Time:
			if to.Kind == types.Time {
				r.PutInt(truncTime(v, to.Precision))
				return nil
			}
			v *= tu / 1000
		case types.TimestampLTZ:
			if to.Kind != types.TimestampLTZ {
				v, ok = zone.InstantToLocal(v, fu)
			}
		}
		switch {
		case !ok:
		case to.Kind == types.Date:
			r.PutInt(int64(datetime.TimestampToDate(v, fu)))
			return nil
		case to.Kind == types.Time:
			r.PutInt(truncTime(int64(datetime.TimestampToTime(v, fu)), to.Precision))
			return nil
		case from.IsTimestamp():
			if v, ok = datetime.Rescale(v, fu, tu); ok {
				v = datetime.Truncate(v, tu, to.Precision)
			}
		}
		if ok && to.Kind == types.TimestampLTZ && from.Kind != types.TimestampLTZ {
			v, ok = zone.LocalToInstant(v, tu)
		}
		if ok {
			r.PutInt(v)
			return nil
		}
		if try {
			return nil
		}
		return fmt.Errorf("a value of %s is out of range of %s", from.Nullable(), to.Nullable())
	})
}

var timeStep = [4]int64{1000, 100, 10, 1}

func truncTime(ms int64, precision int) int64 {
	step := timeStep[min(precision, 3)]
	return ms - ms%step
}
