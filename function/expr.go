package function

import (
	"fmt"
	"strconv"
	"strings"

	"staunch/changelog"
	"staunch/types"
)

// Expr is a resolved, typed expression: *[ColumnRef], *[Literal], *[Call] or *[Cast]. Expressions are immutable.
type Expr interface {
	// Type is the type of the value, NOT NULL included.
	Type() types.Type
	// String is the text that a plan shows, in the form of Flink's optimized plan: (a + 1), CAST(a AS INTEGER).
	String() string
	// Deterministic reports that the value depends on the row and on the session's settings only.
	Deterministic() bool
	// key is equal for expressions that compute the same.
	key(b *strings.Builder)
}

// ColumnRef is a column of the input.
type ColumnRef struct {
	Index int
	Name  string
	T     types.Type
}

// Type is the column's type.
func (c *ColumnRef) Type() types.Type { return c.T }

// String is the column's name.
func (c *ColumnRef) String() string { return c.Name }

// Deterministic is true.
func (c *ColumnRef) Deterministic() bool { return true }

func (c *ColumnRef) key(b *strings.Builder) { b.WriteString("#" + strconv.Itoa(c.Index)) }

// Literal is a constant; its value is row 0 of Value.
type Literal struct{ Value *changelog.Column }

// Type is the constant's type.
func (l *Literal) Type() types.Type { return l.Value.Type }

// Deterministic is true.
func (l *Literal) Deterministic() bool { return true }

// IsNull reports a NULL.
func (l *Literal) IsNull() bool { return l.Value.Nulls > 0 }

// String is the constant as Flink's plans print it.
func (l *Literal) String() string {
	t := l.Type()
	switch {
	case l.IsNull():
		return "null:" + planType(t)
	case t.IsString():
		return "'" + string(l.Value.Bytes(0)) + "'"
	case t.IsBinary():
		return fmt.Sprintf("X'%X'", l.Value.Bytes(0))
	case t.IsApprox():
		return scientific(l.Value)
	case t.IsInterval():
		if t.Kind == types.IntervalYearMonth {
			return strconv.Itoa(int(l.Value.I32[0])) + ":INTERVAL MONTH"
		}
		return strconv.FormatInt(l.Value.I64[0], 10) + ":INTERVAL SECOND"
	case t.Kind == types.Boolean:
		return strings.ToLower(FormatValue(l.Value, 0, nil))
	}
	return FormatValue(l.Value, 0, nil)
}

// scientific prints a DOUBLE or FLOAT as 1E0, 1.5E-3.
func scientific(c *changelog.Column) string {
	v, bits := 0.0, 64
	if c.Type.Kind == types.Float {
		v, bits = float64(c.F32[0]), 32
	} else {
		v = c.F64[0]
	}
	mantissa, exponent, ok := strings.Cut(strconv.FormatFloat(v, 'E', -1, bits), "E")
	if !ok {
		return mantissa // NaN, +Inf
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return mantissa + "E" + exponent
	}
	return mantissa + "E" + strconv.Itoa(n)
}

func (l *Literal) key(b *strings.Builder) {
	b.WriteString(l.Type().String() + ":" + strconv.Quote(l.String()))
}

// Call is a function or operator applied to arguments.
type Call struct {
	Func *Function
	Args []Expr
	T    types.Type
	// Unit is the time unit of EXTRACT, FLOOR and CEIL TO, TIMESTAMPDIFF; empty for others.
	Unit string
}

// Type is the result type.
func (c *Call) Type() types.Type { return c.T }

// Deterministic reports that function and arguments are.
func (c *Call) Deterministic() bool {
	if c.Func.Volatile || c.Func.volatile != nil && c.Func.volatile(c) {
		return false
	}
	for _, a := range c.Args {
		if !a.Deterministic() {
			return false
		}
	}
	return true
}

// String is the call as Flink's plans print it.
func (c *Call) String() string {
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = a.String()
	}
	if f := c.Func.format; f != nil {
		return f(c, args)
	}
	return c.Func.Name + "(" + strings.Join(args, ", ") + ")"
}

func (c *Call) key(b *strings.Builder) {
	b.WriteString(c.Func.Name + ":" + c.Unit + ":" + c.T.String() + "(")
	for _, a := range c.Args {
		a.key(b)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}

// Cast is CAST or TRY_CAST. An implicit cast was not written; plans do not show it.
type Cast struct {
	Arg      Expr
	T        types.Type
	Try      bool
	Implicit bool
}

// Type is the target type.
func (c *Cast) Type() types.Type { return c.T }

// Deterministic reports that the argument is.
func (c *Cast) Deterministic() bool { return c.Arg.Deterministic() }

// String is the cast as Flink's plans print it.
func (c *Cast) String() string {
	if c.Implicit {
		return c.Arg.String()
	}
	name := "CAST("
	if c.Try {
		name = "TRY_CAST("
	}
	return name + c.Arg.String() + " AS " + planType(c.T) + ")"
}

func (c *Cast) key(b *strings.Builder) {
	b.WriteString(strconv.FormatBool(c.Try) + c.T.String() + "(")
	c.Arg.key(b)
	b.WriteByte(')')
}

// planType is the type's name in Flink's plans, which are Calcite's: INTEGER, VARCHAR(2147483647), TIMESTAMP_WITH_LOCAL_TIME_ZONE(3).
func planType(t types.Type) string {
	switch t.Kind {
	case types.Int:
		return "INTEGER"
	case types.Varchar:
		return "VARCHAR(" + strconv.Itoa(t.Length) + ")"
	case types.Varbinary:
		return "VARBINARY(" + strconv.Itoa(t.Length) + ")"
	case types.TimestampLTZ:
		return "TIMESTAMP_WITH_LOCAL_TIME_ZONE(" + strconv.Itoa(t.Precision) + ")"
	}
	return t.Nullable().String()
}

// Walk calls f for e and all expressions in it, from the outside in; f reports whether to go on into the arguments.
func Walk(e Expr, f func(Expr) bool) {
	if !f(e) {
		return
	}
	switch e := e.(type) {
	case *Call:
		for _, a := range e.Args {
			Walk(a, f)
		}
	case *Cast:
		Walk(e.Arg, f)
	}
}

// Rewrite gives e with each expression in it replaced by what f gives for it, from the inside out. f may give its argument.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Call:
		args := make([]Expr, len(x.Args))
		same := true
		for i, a := range x.Args {
			args[i] = Rewrite(a, f)
			same = same && args[i] == a
		}
		if !same {
			c := *x
			c.Args = args
			e = &c
		}
	case *Cast:
		if a := Rewrite(x.Arg, f); a != x.Arg {
			c := *x
			c.Arg = a
			e = &c
		}
	}
	return f(e)
}

// Columns gives the indexes of the columns that the expressions read, ascending.
func Columns(exprs ...Expr) []int {
	var seen []bool
	for _, e := range exprs {
		Walk(e, func(e Expr) bool {
			if c, ok := e.(*ColumnRef); ok {
				for len(seen) <= c.Index {
					seen = append(seen, false)
				}
				seen[c.Index] = true
			}
			return true
		})
	}
	var out []int
	for i, s := range seen {
		if s {
			out = append(out, i)
		}
	}
	return out
}

// Equal reports whether a and b compute the same.
func Equal(a, b Expr) bool { return keyOf(a) == keyOf(b) }

func keyOf(e Expr) string {
	var b strings.Builder
	e.key(&b)
	return b.String()
}
