package plan

import (
	"fmt"
	"strconv"
	"strings"

	"staunch/function"
	"staunch/sql/ast"
	"staunch/sql/bind"
	"staunch/types"
)

// style is one of the ways in which Flink's EXPLAIN writes expressions, one a section.
type style uint8

const (
	// styleTree: columns by place, functions before their arguments, types of casts behind: CAST($3):INTEGER.
	styleTree style = iota
	// stylePhysical: columns by name, functions before their arguments: +(a, 1).
	stylePhysical
	// styleExecution: columns by name, operators between their arguments: (a + 1).
	styleExecution
)

// printer writes the expressions of one query.
type printer struct {
	n     explained
	style style
	modes bool
	// where: it is the filter, in which Flink has simplified comparisons.
	where bool
	// plain: columns by their bare names, also the time attribute.
	plain bool
	// place of each column in the tree's input; nil for the table's own order.
	place map[int]int
}

// value is column i of the result, with INSERT's cast.
func (p printer) value(i int) string {
	e := p.n.values[i]
	var text string
	if r, ok := e.(*function.ColumnRef); ok {
		text = p.column(r, p.n.castOf(i) == nil)
	} else {
		text = p.expr(e)
	}
	if to := p.n.castOf(i); to != nil {
		// A cast of a value that is cast already is one cast, if no value is changed on the way.
		if c, ok := e.(*function.Cast); ok && p.style != styleTree && !c.Implicit && c.Arg.Type().IsInteger() && c.T.IsString() && to.IsString() {
			text = p.expr(c.Arg)
		}
		text = p.cast("CAST", text, *to)
	}
	return text
}

func (n explained) castOf(i int) *types.Type {
	if i >= len(n.casts) {
		return nil
	}
	return n.casts[i]
}

func (p printer) cast(name, text string, to types.Type) string {
	if p.style == styleTree {
		return name + "(" + text + "):" + typeText(to, true)
	}
	return name + "(" + text + " AS " + typeText(to.Nullable(), p.style == stylePhysical) + ")"
}

// typeText is a type as Flink's planner writes it.
func typeText(t types.Type, charset bool) string {
	out := ""
	switch t.Kind {
	case types.Int:
		out = "INTEGER"
	case types.Char:
		out = "CHAR(" + strconv.Itoa(t.Length) + ")"
	case types.Varchar:
		out = "VARCHAR(" + strconv.Itoa(t.Length) + ")"
	case types.Varbinary:
		out = "VARBINARY(" + strconv.Itoa(t.Length) + ")"
	case types.TimestampLTZ:
		out = "TIMESTAMP_WITH_LOCAL_TIME_ZONE(" + strconv.Itoa(t.Precision) + ")"
	default:
		out = t.Nullable().String()
	}
	if charset && t.IsString() {
		out += ` CHARACTER SET "UTF-16LE"`
	}
	if t.NotNull && charset {
		out += " NOT NULL"
	}
	return out
}

// column writes a reference; bare is a result that is nothing but the column.
func (p printer) column(r *function.ColumnRef, bare bool) string {
	if p.style == styleTree {
		if p.place != nil {
			return fmt.Sprintf("$%d", p.place[r.Index])
		}
		return fmt.Sprintf("$%d", r.Index)
	}
	t := p.n.table
	if p.plain || t == nil {
		return r.Name
	}
	c := t.Columns[r.Index]
	text := r.Name
	assigned := t.Watermark != nil && !p.n.pushed()
	switch {
	case c.Kind == ast.ComputedColumn && !assigned:
		inner := p
		inner.plain = true
		text = inner.expr(c.Expr)
	case c.Kind == ast.MetadataColumn && !p.n.given(c).Equal(c.Type):
		// In a filter Flink leaves out casts that only change NOT NULL.
		if !p.where || !p.n.given(c).Same(c.Type) {
			text = p.cast("CAST", text, c.Type)
		}
	}
	if t.Watermark == nil || r.Index != t.WatermarkColumn {
		return text
	}
	// The time attribute is an ordinary timestamp again where something is computed from it.
	if !assigned {
		text = "Reinterpret(" + text + ")"
	}
	if bare {
		return text
	}
	return p.cast("CAST", text, c.Type)
}

var negated = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

func isComparison(name string) bool { return negated[name] != "" }

func (p printer) expr(e function.Expr) string {
	switch e := e.(type) {
	case *function.ColumnRef:
		return p.column(e, false)
	case *function.Literal:
		return p.literal(e, true)
	case *function.Cast:
		if e.Implicit {
			return p.expr(e.Arg)
		}
		name := "CAST"
		if e.Try {
			name = "TRY_CAST"
		}
		return p.cast(name, p.expr(e.Arg), e.T)
	case *function.Call:
		return p.call(e)
	}
	return e.String()
}

func (p printer) call(c *function.Call) string {
	name := c.Func.Name
	if name == "NOT" && p.where && p.style != styleTree {
		if x, ok := c.Args[0].(*function.Call); ok && isComparison(x.Func.Name) {
			return p.comparison(negated[x.Func.Name], x)
		}
	}
	switch {
	case name == "AND" || name == "OR":
		var args []string
		for _, a := range flat(c, name) {
			if name == "AND" && p.where && p.style != styleTree && p.alwaysTrue(a) {
				continue
			}
			args = append(args, p.expr(a))
		}
		switch len(args) {
		case 0:
			return "true"
		case 1:
			return args[0]
		}
		if p.style == styleExecution {
			return "(" + strings.Join(args, " "+name+" ") + ")"
		}
		return name + "(" + strings.Join(args, ", ") + ")"
	case name == "IN" && p.style == styleTree:
		var alternatives []string
		x := p.expr(c.Args[0])
		for _, a := range c.Args[1:] {
			alternatives = append(alternatives, "=("+x+", "+p.expr(a)+")")
		}
		return "OR(" + strings.Join(alternatives, ", ") + ")"
	case isComparison(name) && len(c.Args) == 2:
		return p.comparison(name, c)
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		l, ok := a.(*function.Literal)
		args[i] = p.expr(a)
		// The type of a number beside an operand of the same type goes without saying.
		if ok && len(c.Args) == 2 && strings.Contains("+-*/", name) && c.Args[1-i].Type().Same(l.Type()) {
			args[i] = p.literal(l, false)
		}
	}
	if name == "TRIM" && len(args) == 1 { // as the parser's short form of TRIM(BOTH ' ' FROM x)
		if p.style == styleExecution {
			return "TRIM(BOTH, ' ', " + args[0] + ")"
		}
		return "TRIM(FLAG(BOTH), _UTF-16LE' ', " + args[0] + ")"
	}
	if p.style == styleExecution {
		shown := make([]function.Expr, len(args))
		for i, a := range args {
			shown[i] = &function.ColumnRef{Name: a, T: c.Args[i].Type()}
		}
		return (&function.Call{Func: c.Func, Args: shown, T: c.T, Unit: c.Unit}).String()
	}
	switch unit := "FLAG(" + c.Unit + ")"; {
	case c.Unit == "":
	case strings.HasPrefix(name, "FLOOR") || strings.HasPrefix(name, "CEIL"):
		args = append(args, unit)
	default:
		args = append([]string{unit}, args...)
	}
	return strings.TrimSuffix(name, " TO") + "(" + strings.Join(args, ", ") + ")"
}

// alwaysTrue reports IS NOT NULL of a column that cannot be NULL; Flink leaves it out.
func (p printer) alwaysTrue(e function.Expr) bool {
	c, ok := e.(*function.Call)
	if !ok || c.Func.Name != "IS NOT NULL" || p.n.table == nil {
		return false
	}
	r, ok := c.Args[0].(*function.ColumnRef)
	if !ok {
		return false
	}
	col := p.n.table.Columns[r.Index]
	return col.Type.NotNull || col.Kind == ast.MetadataColumn && p.n.given(col).NotNull && p.n.given(col).Same(col.Type)
}

// flat gives the operands of a chain of AND or of OR.
func flat(e function.Expr, name string) []function.Expr {
	c, ok := e.(*function.Call)
	if !ok || c.Func.Name != name {
		return []function.Expr{e}
	}
	var out []function.Expr
	for _, a := range c.Args {
		out = append(out, flat(a, name)...)
	}
	return out
}

// comparison writes a comparison. In filters Flink has given the constant of = and <> the column's type, and shows it.
func (p printer) comparison(sign string, c *function.Call) string {
	args := make([]string, 2)
	for i, a := range c.Args {
		l, ok := a.(*function.Literal)
		if x, cast := a.(*function.Cast); cast && x.Implicit {
			l, ok = x.Arg.(*function.Literal)
		}
		if !ok {
			args[i] = p.expr(a)
			continue
		}
		other := c.Args[1-i].Type()
		text := p.literal(l, !l.Type().Same(other) && !(l.Type().IsInteger() && other.IsNumeric()))
		if l.Type().IsApprox() && !l.IsNull() {
			text = compared(l, p.style)
		}
		_, column := c.Args[1-i].(*function.ColumnRef)
		if p.where && p.style == stylePhysical && column && !l.IsNull() && (sign == "=" || sign == "<>") && other.Kind != types.Int {
			text = p.literal(l, false) + ":" + typeText(other.Nullable(), true)
			if l.Type().IsApprox() {
				text = compared(l, p.style) + ":" + typeText(other.Nullable(), true)
			}
		}
		args[i] = text
	}
	if p.style == styleExecution {
		return "(" + args[0] + " " + sign + " " + args[1] + ")"
	}
	return sign + "(" + strings.Join(args, ", ") + ")"
}

// compared writes a DOUBLE that something is compared with: a whole number as such.
func compared(l *function.Literal, s style) string {
	v := 0.0
	if l.Type().Kind == types.Double {
		v = l.Value.F64[0]
	} else {
		v = float64(l.Value.F32[0])
	}
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	if s == styleTree {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return l.String()
}

// literal writes a constant, typed where its text leaves the type open.
func (p printer) literal(l *function.Literal, typed bool) string {
	t := l.Type()
	text := l.String()
	if t.IsInterval() && !l.IsNull() {
		if written := p.n.units[text]; written != "" {
			return written
		}
		return text
	}
	if p.style == styleExecution || l.IsNull() {
		return text
	}
	switch {
	case t.Kind == types.Char:
		return "_UTF-16LE" + text
	case t.Kind == types.Varchar:
		text = "_UTF-16LE" + text
	case t.IsInteger(), t.Kind == types.Boolean, t.Kind == types.Date:
		return text
	case (t.IsTimestamp() || t.Kind == types.Time) && t.Precision == 0:
		return text
	}
	if typed {
		text += ":" + typeText(t.Nullable(), true)
	}
	return text
}

// units notes for the interval constants of a text in which units they were written: plans show them, expressions do not have them.
func units(into map[string]string, n ast.Node) {
	if n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		l, ok := n.(*ast.Literal)
		if !ok || l.Kind != ast.IntervalLit {
			return true
		}
		e, err := bind.Expr(l, bind.Scope{})
		if err != nil {
			return true
		}
		text := e.String()
		value, _, _ := strings.Cut(text, ":")
		unit := strings.ToUpper(l.Unit.From)
		if l.Unit.To != "" {
			unit += " TO " + strings.ToUpper(l.Unit.To)
		}
		into[text] = value + ":INTERVAL " + unit
		return true
	})
}
