package bind

import (
	"fmt"
	"slices"
	"strings"

	"staunch/changelog"
	"staunch/config"
	"staunch/function"
	"staunch/sql/ast"
	"staunch/sql/parse"
	"staunch/types"
)

// Scope is what names in an expression may refer to.
type Scope struct {
	// Schema has the columns; a reference's index is the place in it.
	Schema changelog.Schema
	// Tables are the names by which a column may be qualified: the alias, or the last parts of the table's path joined by dots ("events",
	// "db.events", "catalog.db.events").
	Tables []string
}

// Expr resolves e against scope. An error is a *[parse.Error].
func Expr(e ast.Expr, scope Scope) (function.Expr, error) {
	b := &binder{scope: scope}
	x, err := b.expr(e)
	if err != nil {
		return nil, err
	}
	if x.Type().Kind == types.Null {
		return nil, fail(e, "illegal use of NULL", "write CAST(NULL AS type)")
	}
	return x, nil
}

// Predicate resolves e, which must be a BOOLEAN, as the condition of a WHERE.
func Predicate(e ast.Expr, scope Scope) (function.Expr, error) {
	x, err := (&binder{scope: scope}).expr(e)
	if err != nil {
		return nil, err
	}
	switch x.Type().Kind {
	case types.Boolean:
		return x, nil
	case types.Null:
		return function.NewNull(types.New(types.Boolean)), nil
	}
	return nil, fail(e, fmt.Sprintf("the condition must be a BOOLEAN, not %s", x.Type().Nullable()), "compare it with a value")
}

type binder struct{ scope Scope }

// fail makes an error at the place of n.
func fail(n ast.Node, msg, hint string) *parse.Error {
	return &parse.Error{Pos: n.Pos(), Stop: n.End(), Msg: msg, Hint: hint}
}

// notYet refuses what Flink has and Staunch has not.
func notYet(n ast.Node, what string) error { return fail(n, what+" is not supported yet", "") }

// call binds a function or operator and gives its refusal the place n.
func (b *binder) call(n ast.Node, name string, args ...function.Expr) (function.Expr, error) {
	f := function.Lookup(name)
	if f == nil {
		return nil, notYet(n, "function "+name)
	}
	x, err := f.Bind(args...)
	if err != nil {
		return nil, fail(n, err.Error(), "")
	}
	return x, nil
}

func (b *binder) unitCall(n ast.Node, name, unit string, args ...function.Expr) (function.Expr, error) {
	f := function.Lookup(name)
	if f == nil {
		return nil, notYet(n, "function "+name)
	}
	x, err := f.BindUnit(unit, args...)
	if err != nil {
		return nil, fail(n, err.Error(), "")
	}
	return x, nil
}

// bindCall binds the arguments and then the function.
func (b *binder) bindCall(n ast.Node, name string, args ...ast.Expr) (function.Expr, error) {
	xs, err := b.exprs(args)
	if err != nil {
		return nil, err
	}
	return b.call(n, name, xs...)
}

func (b *binder) exprs(es []ast.Expr) ([]function.Expr, error) {
	out := make([]function.Expr, len(es))
	for i, e := range es {
		var err error
		if out[i], err = b.expr(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *binder) expr(e ast.Expr) (function.Expr, error) {
	switch e := e.(type) {
	case *ast.Literal:
		return literal(e, false)
	case *ast.IntervalExpr:
		return b.intervalExpr(e)
	case *ast.Identifier:
		return b.identifier(e)
	case *ast.Unary:
		return b.unary(e)
	case *ast.Binary:
		return b.binary(e)
	case *ast.Is:
		return b.is(e)
	case *ast.Between:
		return b.between(e)
	case *ast.In:
		return b.in(e)
	case *ast.Like:
		return b.like(e)
	case *ast.Case:
		return b.caseExpr(e)
	case *ast.Cast:
		return b.cast(e)
	case *ast.Call:
		return b.funcCall(e)
	}
	return b.special(e)
}

// special binds the functions that have a syntax of their own.
func (b *binder) special(e ast.Expr) (function.Expr, error) {
	switch e := e.(type) {
	case *ast.Extract:
		x, err := b.expr(e.X)
		if err != nil {
			return nil, err
		}
		return b.unitCall(e, "EXTRACT", e.Unit, x)
	case *ast.RoundTo:
		x, err := b.expr(e.X)
		if err != nil {
			return nil, err
		}
		name := "FLOOR TO"
		if e.Ceil {
			name = "CEIL TO"
		}
		return b.unitCall(e, name, e.Unit, x)
	case *ast.UnitCall:
		xs, err := b.exprs(e.Args)
		if err != nil {
			return nil, err
		}
		return b.unitCall(e, e.Func, e.Unit, xs...)
	case *ast.IntervalMinus:
		xs, err := b.exprs([]ast.Expr{e.X, e.Y})
		if err != nil {
			return nil, err
		}
		return b.unitCall(e, "MINUS DATES", e.Unit.From, xs...)
	case *ast.Trim:
		return b.trim(e)
	case *ast.Substring:
		return b.bindCall(e, "SUBSTRING", some(e.X, e.From, e.For)...)
	case *ast.Position:
		return b.bindCall(e, "POSITION", some(e.Sub, e.X, e.From)...)
	case *ast.Overlay:
		return b.bindCall(e, "OVERLAY", some(e.X, e.Placing, e.From, e.For)...)
	case *ast.Param:
		return nil, fail(e, "a parameter '?' has no value here", "")
	case *ast.Star:
		return nil, fail(e, "'*' is not a value", "name the columns")
	}
	return nil, notYet(e, describe(e))
}

// some leaves out what was not written.
func some(es ...ast.Expr) []ast.Expr {
	return slices.DeleteFunc(es, func(e ast.Expr) bool { return e == nil })
}

// describe names a kind of expression in a message.
func describe(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Row:
		return "a ROW value"
	case *ast.Array:
		return "ARRAY[..]"
	case *ast.Map:
		return "MAP[..]"
	case *ast.Multiset:
		return "MULTISET[..]"
	case *ast.Field:
		return "access to a field of a ROW"
	case *ast.Subscript:
		return "access to an element of an ARRAY or MAP"
	case *ast.Subquery, *ast.Exists, *ast.Quantified:
		return "a subquery in an expression"
	case *ast.JSONPath:
		return "function " + e.Func
	case *ast.JSONMake:
		return "function " + e.Func
	}
	return "this expression"
}

// identifier resolves a column, t.column, or PI without parentheses.
func (b *binder) identifier(e *ast.Identifier) (function.Expr, error) {
	name := e.Last()
	path := e.Texts()
	if len(path) > 1 {
		table := strings.Join(path[:len(path)-1], ".")
		if !slices.Contains(b.scope.Tables, table) {
			if i := b.scope.Schema.Index(path[0]); i >= 0 {
				return nil, notYet(e, "access to a field of a ROW")
			}
			return nil, fail(e, fmt.Sprintf("table '%s' not found", table), nearest(table, b.scope.Tables))
		}
	}
	if i := b.scope.Schema.Index(name); i >= 0 {
		return &function.ColumnRef{Index: i, Name: name, T: b.scope.Schema[i].Type}, nil
	}
	if len(path) == 1 && !e.Parts[0].Quoted && strings.EqualFold(name, "PI") {
		return b.call(e, "PI")
	}
	names := make([]string, len(b.scope.Schema))
	for i, f := range b.scope.Schema {
		names[i] = f.Name
	}
	hint := nearest(name, names)
	if hint == "" && len(names) > 0 {
		hint = "columns: " + strings.Join(names, ", ")
	}
	return nil, fail(e, fmt.Sprintf("column '%s' not found", name), hint)
}

// nearest gives "did you mean ..?", or nothing.
func nearest(name string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf("did you mean '%s'?", k)
		}
	}
	if k, ok := config.Nearest(name, known); ok {
		return fmt.Sprintf("did you mean '%s'?", k)
	}
	return ""
}

func (b *binder) unary(e *ast.Unary) (function.Expr, error) {
	if l, ok := e.X.(*ast.Literal); ok && e.Op == ast.OpMinus {
		switch l.Kind {
		case ast.IntegerLit, ast.DecimalLit, ast.DoubleLit:
			return literal(l, true)
		}
	}
	x, err := b.expr(e.X)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case ast.OpPlus:
		if t := x.Type(); !t.IsNumeric() && !t.IsInterval() {
			return nil, fail(e, fmt.Sprintf("cannot apply '+' to an argument of type '%s'", t.Nullable()), "")
		}
		return x, nil
	case ast.OpNot:
		return b.call(e, "NOT", x)
	case ast.OpMinus:
		out, err := function.Negation().Bind(x)
		if err != nil {
			return nil, fail(e, err.Error(), "")
		}
		return out, nil
	}
	return nil, notYet(e, "operator "+string(e.Op))
}

func (b *binder) binary(e *ast.Binary) (function.Expr, error) {
	switch e.Op {
	case ast.OpAdd, ast.OpSub, ast.OpMul, ast.OpDiv, ast.OpMod, ast.OpConcat, ast.OpEq, ast.OpNe, ast.OpLt, ast.OpLe, ast.OpGt, ast.OpGe,
		ast.OpAnd, ast.OpOr, ast.OpDistinctFrom, ast.OpNotDistinctFrom:
		return b.bindCall(e, string(e.Op), e.X, e.Y)
	case ast.OpOverlaps:
		return b.overlaps(e)
	}
	return nil, notYet(e, "operator "+string(e.Op))
}

func (b *binder) is(e *ast.Is) (function.Expr, error) {
	name := "IS "
	if e.Not {
		name += "NOT "
	}
	switch e.What {
	case "NULL", "TRUE", "FALSE":
		return b.bindCall(e, name+e.What, e.X)
	case "UNKNOWN":
		x, err := b.expr(e.X)
		if err != nil {
			return nil, err
		}
		if k := x.Type().Kind; k != types.Boolean && k != types.Null {
			return nil, fail(e, fmt.Sprintf("cannot apply 'IS UNKNOWN' to an argument of type '%s'", x.Type().Nullable()), "use IS NULL")
		}
		return b.call(e, name+"NULL", x)
	}
	return nil, notYet(e, name+e.What)
}

// between is x >= low AND x <= high, and for SYMMETRIC either way round.
func (b *binder) between(e *ast.Between) (function.Expr, error) {
	xs, err := b.exprs([]ast.Expr{e.X, e.Low, e.High})
	if err != nil {
		return nil, err
	}
	out, err := b.inRange(e, xs[0], xs[1], xs[2], e.Not)
	if err != nil || !e.Symmetric {
		return out, err
	}
	other, err := b.inRange(e, xs[0], xs[2], xs[1], e.Not)
	if err != nil {
		return nil, err
	}
	if e.Not {
		return b.call(e, "AND", out, other)
	}
	return b.call(e, "OR", out, other)
}

func (b *binder) inRange(e ast.Node, x, low, high function.Expr, not bool) (function.Expr, error) {
	above, below, both := ">=", "<=", "AND"
	if not {
		above, below, both = "<", ">", "OR"
	}
	l, err := b.call(e, above, x, low)
	if err != nil {
		return nil, err
	}
	h, err := b.call(e, below, x, high)
	if err != nil {
		return nil, err
	}
	return b.call(e, both, l, h)
}

func (b *binder) in(e *ast.In) (function.Expr, error) {
	if e.Query != nil {
		return nil, notYet(e, "a subquery in an expression")
	}
	x, err := b.expr(e.X)
	if err != nil {
		return nil, err
	}
	list, err := b.exprs(e.List)
	if err != nil {
		return nil, err
	}
	out, err := function.In(x, list, e.Not)
	if err != nil {
		return nil, fail(e, err.Error(), "")
	}
	return out, nil
}

func (b *binder) like(e *ast.Like) (function.Expr, error) {
	if e.Op == "ILIKE" || e.Op == "RLIKE" {
		return nil, fail(e, fmt.Sprintf("operator %s does not exist in Flink", e.Op), "use LIKE of LOWER(..), or REGEXP(text, pattern)")
	}
	out, err := b.bindCall(e, e.Op, some(e.X, e.Pattern, e.Escape)...)
	if err != nil || !e.Not {
		return out, err
	}
	return b.call(e, "NOT", out)
}

// caseExpr binds both forms; with an operand the condition of a branch is operand = value, for several values joined by OR.
func (b *binder) caseExpr(e *ast.Case) (function.Expr, error) {
	var operand function.Expr
	var err error
	if e.Operand != nil {
		if operand, err = b.expr(e.Operand); err != nil {
			return nil, err
		}
	}
	var args []function.Expr
	for _, w := range e.Whens {
		var cond function.Expr
		for _, c := range w.Conds {
			x, err := b.expr(c)
			if err != nil {
				return nil, err
			}
			if operand != nil {
				if x, err = b.call(c, "=", operand, x); err != nil {
					return nil, err
				}
			}
			if cond == nil {
				cond = x
			} else if cond, err = b.call(c, "OR", cond, x); err != nil {
				return nil, err
			}
		}
		result, err := b.expr(w.Result)
		if err != nil {
			return nil, err
		}
		args = append(args, cond, result)
	}
	last := function.Expr(function.UntypedNull)
	if e.Else != nil {
		if last, err = b.expr(e.Else); err != nil {
			return nil, err
		}
	}
	return b.call(e, "CASE", append(args, last)...)
}

func (b *binder) cast(e *ast.Cast) (function.Expr, error) {
	x, err := b.expr(e.X)
	if err != nil {
		return nil, err
	}
	t, err := CastType(e.Type)
	if err != nil {
		return nil, err
	}
	out, err := function.NewCast(x, t, e.Try)
	if err != nil {
		return nil, fail(e, err.Error(), "")
	}
	return out, nil
}

func (b *binder) trim(e *ast.Trim) (function.Expr, error) {
	name := map[string]string{"LEADING": "LTRIM", "TRAILING": "RTRIM"}[e.Side]
	if name == "" {
		name = "TRIM"
	}
	return b.bindCall(e, name, some(e.X, e.Chars)...)
}

// overlaps is (a, b) OVERLAPS (c, d): the ends may be given as lengths.
func (b *binder) overlaps(e *ast.Binary) (function.Expr, error) {
	s0, e0, err := b.period(e.X)
	if err != nil {
		return nil, err
	}
	s1, e1, err := b.period(e.Y)
	if err != nil {
		return nil, err
	}
	left, err := b.call(e, ">=", e0, s1)
	if err != nil {
		return nil, err
	}
	right, err := b.call(e, ">=", e1, s0)
	if err != nil {
		return nil, err
	}
	return b.call(e, "AND", left, right)
}

// period gives the earlier and the later end of a row of two.
func (b *binder) period(e ast.Expr) (start, end function.Expr, err error) {
	row, ok := e.(*ast.Row)
	if !ok || len(row.Elems) != 2 {
		return nil, nil, fail(e, "OVERLAPS takes two pairs: (start, end) or (start, interval)", "")
	}
	xs, err := b.exprs(row.Elems)
	if err != nil {
		return nil, nil, err
	}
	if xs[1].Type().IsInterval() {
		if xs[1], err = b.call(e, "+", xs[0], xs[1]); err != nil {
			return nil, nil, err
		}
	}
	if start, err = b.call(e, "LEAST", xs...); err != nil {
		return nil, nil, err
	}
	end, err = b.call(e, "GREATEST", xs...)
	return start, end, err
}

// funcCall binds a call by its function's name.
func (b *binder) funcCall(e *ast.Call) (function.Expr, error) {
	written := strings.Join(e.Func.Texts(), ".")
	name := strings.ToUpper(written)
	if aggregates[name] || e.Over != nil || e.Star || e.Filter != nil {
		return nil, notYet(e, "aggregate function "+name)
	}
	if e.Distinct || e.All || len(e.Order) > 0 || len(e.WithinGroup) > 0 || e.Nulls != "" {
		return nil, fail(e, fmt.Sprintf("'%s' is not an aggregate function", name), "leave out DISTINCT, ORDER BY and the like")
	}
	f := function.Lookup(name)
	if f == nil {
		if flinkOnly[name] {
			return nil, notYet(e, "function "+name)
		}
		return nil, fail(e.Func, fmt.Sprintf("function '%s' does not exist", written), nearest(name, function.Names()))
	}
	args := make([]ast.Expr, len(e.Args))
	for i, a := range e.Args {
		if a.Name != nil {
			return nil, notYet(a, "an argument by name")
		}
		args[i] = a.Value
	}
	return b.bindCall(e, name, args...)
}
