package function

import (
	"math"

	"staunch/changelog"
	"staunch/function/javanum"
	"staunch/kernel"
	"staunch/types"
)

var double = types.New(types.Double)

// mathFunctions are the functions of numbers.
var mathFunctions = []*Function{
	float1("SQRT", math.Sqrt), float1("EXP", math.Exp), float1("LN", logarithm), float1("LOG10", math.Log10), float1("LOG2", log2),
	float1("SIN", math.Sin), float1("COS", math.Cos), float1("TAN", math.Tan), float1("COT", func(x float64) float64 { return 1 / math.Tan(x) }),
	float1("SINH", math.Sinh), float1("COSH", math.Cosh), float1("TANH", math.Tanh), float1("ASIN", math.Asin), float1("ACOS", acos),
	float1("ATAN", math.Atan), float1("DEGREES", func(x float64) float64 { return x * 180 / math.Pi }),
	float1("RADIANS", func(x float64) float64 { return x / 180 * math.Pi }),
	float2("POWER", javaPow), float2("ATAN2", math.Atan2), logBase(), constantFloat("PI", math.Pi), constantFloat("E", math.E),
	absolute(), signum(), rounding("ROUND"), rounding("TRUNCATE"), floorCeil("FLOOR", false), floorCeil("CEIL", true), mod(),
}

func logarithm(x float64) float64 { return math.Log(x) }

// acos is exact to the last digit also near 1, where Pi/2 - asin(x) is not.
func acos(x float64) float64 {
	if x >= 0.5 {
		return 2 * math.Asin(math.Sqrt((1-x)/2))
	}
	return math.Acos(x)
}

func log2(x float64) float64 { return math.Log(x) / math.Log(2) }

// javaPow differs from Go only where Java gives NaN: a base of +-1 with an infinite exponent, and 1 to the power of NaN.
func javaPow(x, y float64) float64 {
	if math.IsNaN(y) || math.Abs(x) == 1 && math.IsInf(y, 0) {
		return math.NaN()
	}
	return math.Pow(x, y)
}

// doubles casts all arguments to DOUBLE.
func (f *Function) doubles(sigs ...sig) {
	f.signatures(sigs...)
	check := f.resolve
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		args, t, err := check(args)
		if err != nil {
			return nil, t, err
		}
		out := make([]Expr, len(args))
		for i, a := range args {
			out[i] = cast(a, double)
		}
		return out, t, nil
	}
}

func float1(name string, fn func(float64) float64) *Function {
	f := &Function{Name: name}
	f.doubles(sig{params: []family{numeric}, ret: strictly(double)})
	f.op = func(*Call, Session) (Op, error) {
		return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
			kernel.Make(dst, n)
			a := args[0]
			for i := range dst.F64 {
				dst.F64[i] = fn(a.Col.F64[a.Index(i)])
			}
			kernel.Strict(dst, n, a)
			return nil
		}, nil
	}
	return f
}

func float2(name string, fn func(x, y float64) float64) *Function {
	f := &Function{Name: name}
	f.doubles(sig{params: []family{numeric, numeric}, ret: strictly(double)})
	f.op = func(*Call, Session) (Op, error) { return float2Op(fn), nil }
	return f
}

func float2Op(fn func(x, y float64) float64) Op {
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		a, b := args[0], args[1]
		for i := range dst.F64 {
			dst.F64[i] = fn(a.Col.F64[a.Index(i)], b.Col.F64[b.Index(i)])
		}
		kernel.Strict(dst, n, a, b)
		return nil
	}
}

// logBase is LOG(x) and LOG(base, x).
func logBase() *Function {
	f := &Function{Name: "LOG"}
	f.doubles(sig{params: []family{numeric}, ret: strictly(double)}, sig{params: []family{numeric, numeric}, ret: strictly(double)})
	one := float1("LOG", logarithm)
	f.op = func(c *Call, s Session) (Op, error) {
		if len(c.Args) == 1 {
			return one.op(c, s)
		}
		return float2Op(func(base, x float64) float64 { return math.Log(x) / math.Log(base) }), nil
	}
	return f
}

func constantFloat(name string, v float64) *Function {
	f := (&Function{Name: name}).signatures(sig{ret: strictly(double)})
	f.op = func(*Call, Session) (Op, error) {
		return func(dst *changelog.Column, _ []kernel.Vec, n int, _ kernel.Mask) error {
			for range n {
				dst.AppendFloat64(v)
			}
			return nil
		}, nil
	}
	return f
}

// absolute keeps the type; the smallest integer stays negative.
func absolute() *Function {
	f := (&Function{Name: "ABS"}).signatures(sig{params: []family{numeric}, ret: asFirst})
	f.op = func(c *Call, _ Session) (Op, error) {
		bits := width(c.T)
		return lift(func(r *kernel.Row) error {
			switch c.T.Physical() {
			case types.PhysDecimal:
				r.PutDecimal(r.Decimal(0).Abs())
			case types.PhysFloat32, types.PhysFloat64:
				r.PutFloat(math.Abs(r.Float(0)))
			default:
				v := r.Int(0)
				if v < 0 {
					v = -v
				}
				r.PutInt(wrap(v, bits, c.T))
			}
			return nil
		}), nil
	}
	return f
}

// wrap cuts v to the width of an integer type.
func wrap(v int64, bits int, t types.Type) int64 {
	switch {
	case t.Kind == types.BigInt:
		return v
	case bits == 8:
		return int64(int8(v))
	case bits == 16:
		return int64(int16(v))
	}
	return int64(int32(v))
}

func signum() *Function {
	f := (&Function{Name: "SIGN"}).signatures(sig{params: []family{numeric}, ret: asFirst})
	f.op = func(c *Call, _ Session) (Op, error) {
		return lift(func(r *kernel.Row) error {
			switch c.T.Physical() {
			case types.PhysDecimal:
				if v, st := javanum.FromInt64(int64(r.Decimal(0).Sign()), c.T.Precision, c.T.Scale); st == javanum.OK {
					r.PutDecimal(v)
				}
			case types.PhysFloat32, types.PhysFloat64:
				v := r.Float(0)
				switch {
				case v > 0:
					v = 1
				case v < 0:
					v = -1
				}
				r.PutFloat(v)
			default:
				v := r.Int(0)
				switch {
				case v > 0:
					v = 1
				case v < 0:
					v = -1
				}
				r.PutInt(v)
			}
			return nil
		}), nil
	}
	return f
}

// rounding is ROUND (half away from zero) or TRUNCATE. Constant digits decide the type of a DECIMAL.
func rounding(name string) *Function {
	f := &Function{Name: name}
	ret := func(args []Expr) types.Type {
		t := args[0].Type().WithNotNull(allNotNull(args))
		if t.Kind != types.Decimal {
			return t
		}
		digits, known := int64(0), true
		if len(args) == 2 {
			digits, known = constInt(args[1])
		}
		return roundedType(t, digits, known)
	}
	f.signatures(sig{params: []family{numeric, intOrLess}, opt: 1, ret: ret})
	f.op = func(c *Call, _ Session) (Op, error) {
		from := c.Args[0].Type()
		return lift(func(r *kernel.Row) error {
			digits := int64(0)
			if r.Args() == 2 {
				digits = max(min(r.Int(1), 100), -100)
			}
			roundRow(r, from, c.T, int(digits), name == "ROUND")
			return nil
		}), nil
	}
	return f
}

// roundedType is the DECIMAL of ROUND(DECIMAL(p, s), digits).
func roundedType(t types.Type, digits int64, known bool) types.Type {
	if !known {
		return t
	}
	p, s := javanum.RoundType(t.Precision, t.Scale, int(max(min(digits, 100), -100)))
	return types.NewDecimal(p, s).WithNotNull(t.NotNull)
}

func roundRow(r *kernel.Row, from, to types.Type, digits int, round bool) {
	switch to.Physical() {
	case types.PhysDecimal:
		cut := javanum.Truncate
		if round {
			cut = javanum.Round
		}
		// Without constant digits the type keeps its scale.
		_, scale := javanum.RoundType(from.Precision, from.Scale, digits)
		v, st := cut(r.Decimal(0), from.Precision, from.Scale, digits)
		if st == javanum.OK && scale != to.Scale {
			v, st = javanum.Rescale(v, scale, to.Precision, to.Scale)
		}
		if st == javanum.OK {
			r.PutDecimal(v)
		}
	case types.PhysFloat32, types.PhysFloat64:
		v := r.Float(0)
		if round {
			v = javanum.RoundFloat64(v, digits)
		} else {
			v = javanum.TruncateFloat64(v, digits)
		}
		r.PutFloat(v)
	default:
		v := r.Int(0)
		if digits < 0 {
			v = roundInt(v, -digits, round)
		}
		r.PutInt(wrap(v, width(to), to))
	}
}

func roundInt(v int64, digits int, round bool) int64 {
	if digits > 18 {
		return 0
	}
	unit := pow10Int(digits)
	rest := v % unit
	v -= rest
	if round && (rest >= unit-rest && rest > 0) {
		v += unit
	} else if round && rest < 0 && -rest >= unit+rest {
		v -= unit
	}
	return v
}

// floorCeil is FLOOR or CEIL of a number: DECIMAL(p, s) becomes DECIMAL(p, 0), other types stay.
func floorCeil(name string, ceil bool) *Function {
	f := (&Function{Name: name}).signatures(sig{params: []family{numeric}, ret: func(args []Expr) types.Type {
		t := args[0].Type()
		if t.Kind == types.Decimal {
			return types.NewDecimal(t.Precision, 0).WithNotNull(t.NotNull)
		}
		return t
	}})
	f.op = func(c *Call, _ Session) (Op, error) {
		from := c.Args[0].Type()
		if from.IsInteger() {
			return nil, nil
		}
		return lift(func(r *kernel.Row) error {
			if from.Kind == types.Decimal {
				toWhole := javanum.Floor
				if ceil {
					toWhole = javanum.Ceil
				}
				if v := toWhole(r.Decimal(0), from.Scale); javanum.Fits(v, c.T.Precision) {
					r.PutDecimal(v)
				}
				return nil
			}
			v := r.Float(0)
			if ceil {
				v = math.Ceil(v)
			} else {
				v = math.Floor(v)
			}
			r.PutFloat(v)
			return nil
		}), nil
	}
	return f
}

// mod is MOD(a, b), which is a % b.
func mod() *Function {
	percent := arithmeticOp('%')
	percent.Name = "MOD"
	percent.form = "<EXACT_NUMERIC>, <EXACT_NUMERIC>"
	percent.format = nil
	return percent
}

func pow10Int(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}
