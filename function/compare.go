package function

import (
	"fmt"
	"strings"

	"staunch/changelog"
	"staunch/function/javanum"
	"staunch/kernel"
	"staunch/types"
)

var comparison = []*Function{
	comparisonOp("="), comparisonOp("<>"), comparisonOp("<"), comparisonOp("<="), comparisonOp(">"), comparisonOp(">="),
	distinctOp("IS DISTINCT FROM", false), distinctOp("IS NOT DISTINCT FROM", true), inOp(),
}

func comparisonOp(sign string) *Function {
	f := &Function{Name: sign, format: infix, form: "<COMPARABLE_TYPE> " + sign + " <COMPARABLE_TYPE>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		equality := sign == "=" || sign == "<>"
		args, t, err := f.comparable(args, equality, equality)
		if err != nil {
			return nil, t, err
		}
		return args, types.New(types.Boolean).WithNotNull(allNotNull(args)), nil
	}
	f.op = func(c *Call, _ Session) (Op, error) {
		if a, b := c.Args[0].Type(), c.Args[1].Type(); a.IsString() != b.IsString() && (a.Kind == types.Boolean || b.Kind == types.Boolean) {
			return neverEqual(sign == "<>"), nil
		}
		if c.Args[0].Type().IsApprox() && Equal(c.Args[0], c.Args[1]) {
			// The planner takes x = x for TRUE, NaN or not.
			return neverEqual(sign == "=" || sign == "<=" || sign == ">="), nil
		}
		return comparisonKernel(sign, c.Args[0].Type(), c.Args[1].Type()), nil
	}
	return f
}

// comparable casts a and b to the type in which they are compared; first is of [comparisonType].
func (f *Function) comparable(args []Expr, equality, first bool) ([]Expr, types.Type, error) {
	a, b := args[0].Type(), args[1].Type()
	switch {
	case a.Kind == types.Null && b.Kind == types.Null:
		t := types.New(types.Boolean)
		return []Expr{NewNull(t), NewNull(t)}, t, nil
	case a.Kind == types.Null:
		return []Expr{NewNull(b), args[1]}, b, nil
	case b.Kind == types.Null:
		return []Expr{args[0], NewNull(a)}, a, nil
	case equality && (a.Kind == types.Boolean && b.IsString() || a.IsString() && b.Kind == types.Boolean):
		return args, a, nil // measured: such a comparison is FALSE
	case equality && (a.IsString() && b.IsNumeric() || a.IsNumeric() && b.IsString()):
		return nil, a, fmt.Errorf("implicit type conversion between %s and %s is not supported: write CAST(.. AS %s)", a.Nullable(), b.Nullable(), numberOf(a, b))
	}
	t, ok := comparisonType(a, b, first)
	if !ok {
		return nil, t, &ArgError{Func: f, Args: typesOf(args)}
	}
	switch {
	case t.IsString() && a.IsString() && b.IsString(), t.IsBinary(): // bytes are compared as they are
		return args, t, nil
	case a.Kind == b.Kind && isDatetime(a) && a.UnitsPerSecond() == b.UnitsPerSecond(): // the same numbers
		return args, t, nil
	case t.Kind == types.Decimal: // and decimals with their own scales, so that no digit is lost
		return []Expr{asExact(args[0], t), asExact(args[1], t)}, t, nil
	}
	// Where a text is compared for equality with a time, what cannot be read is NULL; elsewhere it fails.
	if equality && isDatetime(t) && (a.IsString() || b.IsString()) {
		return []Expr{tryRead(args[0], t), tryRead(args[1], t)}, t, nil
	}
	return []Expr{cast(args[0], t), cast(args[1], t)}, t, nil
}

// tryRead casts a text to t by TRY_CAST, unless it is a constant, which must be right.
func tryRead(e Expr, t types.Type) Expr {
	if _, constant := lit(e); e.Type().IsString() && !constant {
		return &Cast{Arg: e, T: t.WithNotNull(e.Type().NotNull), Try: true, Implicit: true}
	}
	return cast(e, t)
}

// asExact casts an exact number to the DECIMAL it counts as, and a text to t.
func asExact(e Expr, t types.Type) Expr {
	if e.Type().IsString() {
		return cast(e, t)
	}
	return cast(e, asDecimal(e.Type()))
}

func numberOf(a, b types.Type) types.Type {
	if a.IsNumeric() {
		return a.Nullable()
	}
	return b.Nullable()
}

// neverEqual gives v for every row without NULL.
func neverEqual(v bool) Op {
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		for i := range dst.B {
			dst.B[i] = v
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

func comparisonKernel(sign string, t, u types.Type) Op {
	switch t.Physical() {
	case types.PhysInt32:
		return orderedKernel(sign, func(c *changelog.Column) []int32 { return c.I32 })
	case types.PhysInt64:
		return orderedKernel(sign, func(c *changelog.Column) []int64 { return c.I64 })
	case types.PhysFloat32:
		return orderedKernel(sign, func(c *changelog.Column) []float32 { return c.F32 })
	case types.PhysFloat64:
		return orderedKernel(sign, func(c *changelog.Column) []float64 { return c.F64 })
	}
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		a, b := args[0], args[1]
		switch t.Physical() {
		case types.PhysBool:
			compareBools(sign, dst.B, a.Col.B, b.Col.B)
		case types.PhysBytes:
			compareBytes(sign, dst.B, a, b)
		case types.PhysDecimal:
			for i := range n {
				r := javanum.Compare(a.Col.Dec[a.Index(i)], t.Scale, b.Col.Dec[b.Index(i)], u.Scale)
				dst.B[i] = holds(sign, r)
			}
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

func holds(sign string, r int) bool {
	switch sign {
	case "=":
		return r == 0
	case "<>":
		return r != 0
	case "<":
		return r < 0
	case "<=":
		return r <= 0
	case ">":
		return r > 0
	}
	return r >= 0
}

func orderedKernel[T kernel.Number](sign string, values func(*changelog.Column) []T) Op {
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		a, b := values(args[0].Col), values(args[1].Col)
		switch sign {
		case "=":
			kernel.Eq(dst.B, a, b)
		case "<>":
			kernel.Ne(dst.B, a, b)
		case "<":
			kernel.Lt(dst.B, a, b)
		case "<=":
			kernel.Le(dst.B, a, b)
		case ">":
			kernel.Lt(dst.B, b, a)
		case ">=":
			kernel.Le(dst.B, b, a)
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

func compareBools(sign string, dst, a, b []bool) {
	switch sign {
	case "=":
		kernel.Eq(dst, a, b)
	case "<>":
		kernel.Ne(dst, a, b)
	case "<":
		kernel.LtBool(dst, a, b)
	case "<=":
		kernel.LeBool(dst, a, b)
	case ">":
		kernel.LtBool(dst, b, a)
	case ">=":
		kernel.LeBool(dst, b, a)
	}
}

func compareBytes(sign string, dst []bool, a, b kernel.Vec) {
	switch sign {
	case "=", "<>":
		kernel.EqBytes(dst, a, b, sign == "<>")
	case "<":
		kernel.LtBytes(dst, a, b)
	case "<=":
		kernel.LeBytes(dst, a, b)
	case ">":
		kernel.LtBytes(dst, b, a)
	case ">=":
		kernel.LeBytes(dst, b, a)
	}
}

// distinctOp compares with NULL as a value of its own; the result is never NULL.
func distinctOp(name string, not bool) *Function {
	f := &Function{Name: name, format: infix, form: "<COMPARABLE_TYPE> " + name + " <COMPARABLE_TYPE>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		args, t, err := f.comparable(args, true, false)
		if err != nil {
			return nil, t, err
		}
		return args, types.New(types.Boolean).Required(), nil
	}
	f.op = func(c *Call, s Session) (Op, error) {
		ne, err := Lookup("<>").op(c, s)
		if err != nil {
			return nil, err
		}
		return func(dst *changelog.Column, args []kernel.Vec, n int, mask kernel.Mask) error {
			if err := ne(dst, args, n, mask); err != nil {
				return err
			}
			dst.Nulls, dst.Valid = 0, dst.Valid[:0]
			a, b := args[0], args[1]
			for i := range n {
				if an, bn := a.IsNull(i), b.IsNull(i); an || bn {
					dst.B[i] = an != bn
				}
				dst.B[i] = dst.B[i] != not
			}
			return nil
		}, nil
	}
	return f
}

// inOp is x IN (constants) over one type: a look-up instead of a chain of comparisons. A NULL among the constants makes "not found" unknown.
func inOp() *Function {
	f := &Function{Name: "IN"}
	f.format = func(_ *Call, args []string) string { return args[0] + " IN (" + strings.Join(args[1:], ", ") + ")" }
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		return args, types.New(types.Boolean).WithNotNull(allNotNull(args)), nil
	}
	f.op = func(c *Call, _ Session) (Op, error) {
		texts, numbers := map[string]bool{}, map[int64]bool{}
		hasNull := false
		phys := c.Args[0].Type().Physical()
		for _, a := range c.Args[1:] {
			l, ok := lit(a)
			switch {
			case !ok:
				return nil, fmt.Errorf("IN takes constants here")
			case l.IsNull():
				hasNull = true
			case phys == types.PhysBytes:
				texts[string(l.Value.Bytes(0))] = true
			case phys == types.PhysInt64:
				numbers[l.Value.I64[0]] = true
			default:
				numbers[int64(l.Value.I32[0])] = true
			}
		}
		return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
			kernel.Make(dst, n)
			x := args[0]
			for i := range n {
				switch j := x.Index(i); phys {
				case types.PhysBytes:
					dst.B[i] = texts[string(x.Col.Bytes(j))]
				case types.PhysInt64:
					dst.B[i] = numbers[x.Col.I64[j]]
				default:
					dst.B[i] = numbers[int64(x.Col.I32[j])]
				}
			}
			kernel.Strict(dst, n, x)
			if hasNull {
				for i := range n {
					if !dst.B[i] {
						kernel.SetNull(dst, i)
					}
				}
			}
			return nil
		}, nil
	}
	return f
}

// In gives x IN (list), or its negation, as comparisons or as one look-up. The list is cast to the type of x where one of them is text.
func In(x Expr, list []Expr, not bool) (Expr, error) {
	cast, err := inList(x, list)
	if err != nil {
		return nil, err
	}
	lookup := len(list) > 3
	eqs, constants := make([]Expr, len(list)), make([]Expr, len(list))
	for i, e := range cast {
		eq, err := Lookup("=").Bind(x, e)
		if err != nil {
			return nil, err
		}
		eqs[i] = eq
		c := eq.(*Call)
		constants[i] = c.Args[1]
		_, isLit := lit(c.Args[1])
		lookup = lookup && isLit && c.Args[0] == x && lookupable(x.Type(), c.Args[1].Type())
	}
	out := eqs[0]
	if lookup {
		out, err = Lookup("IN").Bind(append([]Expr{x}, constants...)...)
	}
	for _, eq := range eqs[1:] {
		if !lookup && err == nil {
			out, err = Lookup("OR").Bind(out, eq)
		}
	}
	if err != nil || !not {
		return out, err
	}
	return Lookup("NOT").Bind(out)
}

// inList casts the list of IN: texts to the type of an x that is none, numbers to text for an x that is text.
func inList(x Expr, list []Expr) ([]Expr, error) {
	errTypes := fmt.Errorf("the values of an IN list must have compatible types, not %s", typeList(typesOf(list)))
	if t, ok := commonType(typesOf(list), calcite); !ok && t.Kind != types.Null {
		return nil, errTypes
	}
	out := make([]Expr, len(list))
	casts := false
	for i, e := range list {
		a, b := x.Type(), e.Type()
		to := a
		if a.IsString() {
			to = types.String_
		}
		out[i] = e
		if a.Kind != types.Null && b.Kind != types.Null && a.IsString() != b.IsString() && castRefused(b, to) == "" {
			out[i] = &Cast{Arg: e, T: to.WithNotNull(b.NotNull), Implicit: true}
			casts = true
		}
	}
	if casts && hasUntypedNull(list) {
		return nil, errTypes
	}
	return out, nil
}

func lookupable(a, b types.Type) bool {
	switch a.Physical() {
	case types.PhysBytes, types.PhysInt32, types.PhysInt64:
		return a.Physical() == b.Physical()
	}
	return false
}
