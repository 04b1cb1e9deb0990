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

// infix prints (a op b).
func infix(c *Call, args []string) string {
	return "(" + args[0] + " " + c.Func.Name + " " + args[1] + ")"
}

var arithmetic = []*Function{
	arithmeticOp('+'), arithmeticOp('-'), arithmeticOp('*'), arithmeticOp('/'), arithmeticOp('%'), negation(),
}

func arithmeticOp(op byte) *Function {
	f := &Function{Name: string(op), format: infix, CanFail: op == '/' || op == '%'}
	f.form = "<NUMERIC> " + f.Name + " <NUMERIC>"
	if op == '%' {
		f.form = "<EXACT_NUMERIC> % <EXACT_NUMERIC>"
	}
	if op == '+' || op == '-' {
		f.form += " | <DATETIME> " + f.Name + " <INTERVAL> | <INTERVAL> " + f.Name + " <INTERVAL>"
	}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) { return f.resolveArithmetic(op, args) }
	f.op = func(c *Call, _ Session) (Op, error) { return arithmeticKernel(op, c) }
	if op == '%' { // plans call it MOD
		f.format = func(_ *Call, args []string) string { return "MOD(" + args[0] + ", " + args[1] + ")" }
		f.expand = func(_ string, args []Expr) (Expr, error) { return f.remainder(args) }
	}
	return f
}

// remainder is a % b; of two integers it has the type of b, into which it always fits.
func (f *Function) remainder(args []Expr) (Expr, error) {
	if len(args) != 2 {
		return nil, &ArgError{Func: f, Args: typesOf(args)}
	}
	checked, t, err := f.resolve(args)
	if err != nil {
		return nil, err
	}
	call := &Call{Func: f, Args: checked, T: t}
	if t.IsInteger() {
		return cast(call, args[1].Type()), nil
	}
	return call, nil
}

// resolveArithmetic types a op b.
func (f *Function) resolveArithmetic(op byte, args []Expr) ([]Expr, types.Type, error) {
	a, b := args[0].Type(), args[1].Type()
	if a.Kind == types.Null || b.Kind == types.Null {
		return nil, a, errUntypedNull
	}
	notNull := a.NotNull && b.NotNull
	divisor := args[1]
	args = []Expr{args[0], args[1]}
	switch {
	case op == '%' && !(a.IsExact() && b.IsExact()):
	case a.IsNumeric() && b.IsNumeric():
		t := arithmeticType(op, a, b)
		if t.Kind == types.Decimal {
			args[0], args[1] = cast(args[0], asDecimal(a)), cast(args[1], asDecimal(b))
		} else {
			args[0], args[1] = cast(args[0], t), cast(args[1], t)
		}
		if l, ok := lit(divisor); ok && op == '/' && !t.IsApprox() && isZero(l) {
			return nil, t, fmt.Errorf("division by zero")
		}
		return args, t.WithNotNull(notNull), nil
	case op == '*' && a.IsInterval() && b.IsInteger():
		args[1] = cast(args[1], types.New(types.BigInt))
		return args, a.WithNotNull(notNull), nil
	case op == '*' && a.IsInteger() && b.IsInterval():
		return []Expr{args[1], cast(args[0], types.New(types.BigInt))}, b.WithNotNull(notNull), nil
	case op != '+' && op != '-':
	case a.IsInterval() && a.Kind == b.Kind:
		return args, a.WithNotNull(notNull), nil
	case op == '+' && a.IsInterval() && isDatetime(b):
		return f.resolveArithmetic(op, []Expr{args[1], args[0]})
	case isDatetime(a) && b.IsInterval():
		return args, a.WithNotNull(notNull), nil
	}
	return nil, a, &ArgError{Func: f, Args: typesOf(args)}
}

func isDatetime(t types.Type) bool {
	return t.IsTimestamp() || t.Kind == types.Date || t.Kind == types.Time
}

func isZero(l *Literal) bool {
	if l.IsNull() {
		return false
	}
	switch l.Type().Physical() {
	case types.PhysInt32:
		return l.Value.I32[0] == 0
	case types.PhysInt64:
		return l.Value.I64[0] == 0
	case types.PhysDecimal:
		return l.Value.Dec[0].Sign() == 0
	}
	return false
}

func arithmeticKernel(op byte, c *Call) (Op, error) {
	a, b := c.Args[0].Type(), c.Args[1].Type()
	switch {
	case c.T.Kind == types.Decimal:
		return decimalArithmetic(op, a, b, c.T), nil
	case c.T.IsInterval() && op == '*':
		return timesInterval(c.T), nil
	case b.IsInterval() && !a.IsInterval():
		return addInterval(a, b, op == '-'), nil
	}
	switch c.T.Physical() {
	case types.PhysInt32:
		return integerArithmetic(op, c.T, func(c *changelog.Column) []int32 { return c.I32 }), nil
	case types.PhysInt64:
		return integerArithmetic(op, c.T, func(c *changelog.Column) []int64 { return c.I64 }), nil
	case types.PhysFloat32:
		return floatArithmetic(op, func(c *changelog.Column) []float32 { return c.F32 }), nil
	default:
		return floatArithmetic(op, func(c *changelog.Column) []float64 { return c.F64 }), nil
	}
}

func width(t types.Type) int {
	switch t.Kind {
	case types.TinyInt:
		return 8
	case types.SmallInt:
		return 16
	}
	return 32
}

func integerArithmetic[T kernel.Integer](op byte, t types.Type, values func(*changelog.Column) []T) Op {
	var active kernel.Mask
	bits := width(t)
	return func(dst *changelog.Column, args []kernel.Vec, n int, mask kernel.Mask) error {
		kernel.Make(dst, n)
		d, a, b := values(dst), values(args[0].Col), values(args[1].Col)
		var err error
		switch op {
		case '+':
			kernel.Add(d, a, b)
		case '-':
			kernel.Sub(d, a, b)
		case '*':
			kernel.Mul(d, a, b)
		case '/':
			active = kernel.Active(active, n, mask, args...)
			err = kernel.DivInt(d, a, b, active)
		case '%':
			active = kernel.Active(active, n, mask, args...)
			err = kernel.ModInt(d, a, b, active)
		}
		if bits < 32 {
			kernel.Narrow(dst.I32, bits)
		}
		kernel.Strict(dst, n, args...)
		return err
	}
}

func floatArithmetic[T kernel.Float](op byte, values func(*changelog.Column) []T) Op {
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		d, a, b := values(dst), values(args[0].Col), values(args[1].Col)
		switch op {
		case '+':
			kernel.Add(d, a, b)
		case '-':
			kernel.Sub(d, a, b)
		case '*':
			kernel.Mul(d, a, b)
		case '/':
			kernel.DivFloat(d, a, b)
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

// decimalArithmetic computes on unscaled numbers; a result that does not fit its type is NULL.
func decimalArithmetic(op byte, a, b, t types.Type) Op {
	p, s, sa, sb := t.Precision, t.Scale, a.Scale, b.Scale
	var active kernel.Mask
	return func(dst *changelog.Column, args []kernel.Vec, n int, mask kernel.Mask) error {
		kernel.Make(dst, n)
		kernel.Strict(dst, n, args...)
		active = kernel.Active(active, n, mask, args...)
		av, bv := args[0], args[1]
		for i := range n {
			if !active.Has(i) {
				continue
			}
			x, y := av.Col.Dec[av.Index(i)], bv.Col.Dec[bv.Index(i)]
			var r decimal128.Num
			var st javanum.Status
			switch op {
			case '+':
				r, st = javanum.Add(x, sa, y, sb, p, s)
			case '-':
				r, st = javanum.Sub(x, sa, y, sb, p, s)
			case '*':
				r, st = javanum.Mul(x, sa, y, sb, p, s)
			case '/':
				r, st = javanum.Div(x, sa, y, sb, p, s)
			case '%':
				r, st = javanum.Mod(x, sa, y, sb, p, s)
			}
			switch dst.Dec[i] = r; st {
			case javanum.OK:
			case javanum.DivideByZero:
				return &RowError{Row: i, Err: kernel.ErrDivisionByZero}
			default:
				kernel.SetNull(dst, i)
			}
		}
		return nil
	}
}

func timesInterval(t types.Type) Op {
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		iv, k := args[0], args[1]
		for i := range n {
			f := k.Col.I64[k.Index(i)]
			if t.Kind == types.IntervalYearMonth {
				dst.I32[i] = int32(int64(iv.Col.I32[iv.Index(i)]) * f)
			} else {
				dst.I64[i] = iv.Col.I64[iv.Index(i)] * f
			}
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

// addInterval gives a time plus (or minus) an interval: months keep the day where the month has it and else take its last day; a DATE takes whole
// days only; a TIME goes round the clock.
func addInterval(a, b types.Type, minus bool) Op {
	sign := int64(1)
	if minus {
		sign = -1
	}
	units := a.UnitsPerSecond()
	months := b.Kind == types.IntervalYearMonth
	switch {
	case a.IsTimestamp() && !months:
		return addMillis(a, sign)
	case a.IsTimestamp():
		return addOp(a, func(v, d int64) (int64, bool) { return datetime.AddMonthsTimestamp(v, units, sign*d) })
	case a.Kind == types.Time && months: // a month is whole days to a clock
		return nil
	case a.Kind == types.Time:
		return addOp(a, func(v, d int64) (int64, bool) { return int64(datetime.AddMillisTime(int32(v), sign*d)), true })
	case months:
		return addOp(a, func(v, d int64) (int64, bool) { return datetime.AddMonths(v, sign*d) })
	}
	return addOp(a, func(v, d int64) (int64, bool) { return datetime.AddMillisDate(v, sign*d) })
}

// addOp lifts an addition that may leave its type's range.
func addOp(t types.Type, add func(v, d int64) (int64, bool)) Op {
	return lift(func(r *kernel.Row) error {
		v, ok := add(r.Int(0), r.Int(1))
		if !ok {
			return errTimeRange(t)
		}
		r.PutInt(v)
		return nil
	})
}

func errTimeRange(t types.Type) error {
	return fmt.Errorf("a time plus an interval is out of range of %s", t.Nullable())
}

// addMillis is the addition of a day-time interval to a timestamp, the tail of every watermark: a constant interval is one addition a row.
func addMillis(a types.Type, sign int64) Op {
	units := a.UnitsPerSecond()
	slow := addOp(a, func(v, d int64) (int64, bool) { return datetime.AddMillisTimestamp(v, units, sign*d) })
	return func(dst *changelog.Column, args []kernel.Vec, n int, mask kernel.Mask) error {
		step, ok := int64(0), args[1].Const && args[1].Col.Nulls == 0
		if ok {
			step, ok = datetime.AddMillisTimestamp(0, units, sign*args[1].Col.I64[0])
		}
		if !ok || !kernel.AddStays(args[0].Col.I64, step) {
			return slow(dst, args, n, mask)
		}
		kernel.Make(dst, n)
		kernel.Add(dst.I64, args[0].Col.I64, []int64{step})
		kernel.Strict(dst, n, args...)
		return nil
	}
}

// lift makes an operation of a function of one row.
func lift(f func(*kernel.Row) error) Op {
	l := &kernel.Lifter{F: f}
	return l.Run
}

// liftNullable is [lift] for functions that see NULL arguments.
func liftNullable(f func(*kernel.Row) error) Op {
	l := &kernel.Lifter{F: f, Nullable: true}
	return l.Run
}

func negation() *Function {
	f := &Function{Name: "-", form: "-<NUMERIC> | -<INTERVAL>"}
	f.format = func(_ *Call, args []string) string { return "-(" + args[0] + ")" }
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if t := args[0].Type(); t.IsNumeric() || t.IsInterval() {
			return args, t, nil
		}
		return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
	}
	f.op = func(c *Call, _ Session) (Op, error) {
		bits := width(c.T)
		return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
			kernel.Make(dst, n)
			a := args[0].Col
			switch c.T.Physical() {
			case types.PhysInt32:
				kernel.Neg(dst.I32, a.I32)
				kernel.Narrow(dst.I32, bits)
			case types.PhysInt64:
				kernel.Neg(dst.I64, a.I64)
			case types.PhysFloat32:
				kernel.Neg(dst.F32, a.F32)
			case types.PhysFloat64:
				kernel.Neg(dst.F64, a.F64)
			case types.PhysDecimal:
				for i := range n {
					dst.Dec[i] = a.Dec[args[0].Index(i)].Negate()
				}
			}
			kernel.Strict(dst, n, args...)
			return nil
		}, nil
	}
	return f
}
