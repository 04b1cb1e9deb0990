package ast

import (
	"fmt"
	"strconv"
	"strings"
)

// SQL prints a node as SQL text that parses to an equal tree, on one line. A [StatementSet] that was not begun by EXECUTE
// prints as BEGIN STATEMENT SET; .. END and is a script. Of a node that is not parsed alone (an alias, an option, ..) the
// text is what stands in its place.
func SQL(n Node) string {
	var w writer
	w.node(n)
	return w.b.String()
}

// writer builds SQL text.
type writer struct{ b strings.Builder }

func (w *writer) s(parts ...string) {
	for _, p := range parts {
		w.b.WriteString(p)
	}
}

// node prints any node.
func (w *writer) node(n Node) {
	switch x := n.(type) {
	case nil:
	case Expr:
		w.expr(x, bindLowest)
	case Query:
		w.query(x)
	case Statement:
		w.statement(x)
	case TableRef:
		w.table(x)
	case TableElement:
		w.element(x)
	case *TypeName:
		w.typeName(x)
	default:
		w.part(x)
	}
}

// part prints the small nodes that belong to others.
func (w *writer) part(n Node) {
	switch x := n.(type) {
	case Name:
		w.name(x)
	case Option:
		w.option(x)
	case Hint:
		w.hint(x)
	case HintArg:
		w.hintArg(x)
	case Arg:
		w.arg(x)
	case Sort:
		w.sort(x)
	case When:
		w.when(x)
	case JSONPair:
		w.jsonPair(x)
	case *JSONBehavior:
		w.jsonBehavior(x)
	case *IntervalUnit:
		w.unit(x)
	case *WindowSpec:
		w.window(x)
	case *Frame:
		w.frame(x)
	case *Bound:
		w.bound(x)
	case TypeField:
		w.typeField(x)
	default:
		w.clausePart(n)
	}
}

// clausePart prints the parts of queries and statements.
func (w *writer) clausePart(n Node) {
	switch x := n.(type) {
	case SelectItem:
		w.selectItem(x)
	case *GroupBy:
		w.groupBy(x)
	case GroupItem:
		w.groupItem(x)
	case NamedWindow:
		w.namedWindow(x)
	case CTE:
		w.cte(x)
	case *Alias:
		w.alias(x)
	case *Sample:
		w.sample(x)
	case PatternSubset:
		w.subset(x)
	case PatternDefine:
		w.define(x)
	case *Distribution:
		w.distribution(x)
	case *TableLike:
		w.tableLike(x)
	case LikeOption:
		w.s(x.Strategy, " ", x.Feature)
	case Resource:
		w.resource(x)
	case PartitionValue:
		w.partitionValue(x)
	case *Name:
		w.name(*x)
	default:
		// A node of another package, or a value where the tree has a pointer: say what it is.
		w.s(fmt.Sprintf("/* %T */", n))
	}
}

// list prints items separated by commas.
func list[T any](w *writer, items []T, one func(T)) {
	for i, x := range items {
		if i > 0 {
			w.s(", ")
		}
		one(x)
	}
}

func (w *writer) name(n Name) {
	if n.Quoted {
		w.s(QuoteName(n.Text))
		return
	}
	w.s(n.Text)
}

func (w *writer) names(ns []Name) {
	w.s("(")
	list(w, ns, w.name)
	w.s(")")
}

func (w *writer) id(id *Identifier) {
	for i, p := range id.Parts {
		if i > 0 {
			w.s(".")
		}
		w.name(p)
	}
}

// Binding strengths, as in package parse; 100 is an operand.
const (
	bindLowest     = 0
	bindUnion      = 14
	bindIntersect  = 18
	bindOr         = 22
	bindAnd        = 24
	bindNot        = 26
	bindIs         = 28
	bindComparison = 30
	bindBetween    = 32
	bindLike       = 33
	bindAdd        = 40
	bindMul        = 60
	bindSign       = 80
	bindOperand    = 100
)

func binaryBind(op BinaryOp) int {
	switch op {
	case OpAnd:
		return bindAnd
	case OpOr:
		return bindOr
	case OpAdd, OpSub:
		return bindAdd
	case OpMul, OpDiv, OpMod, OpConcat:
		return bindMul
	}
	switch {
	case strings.HasPrefix(string(op), string(OpMultisetIntersect)):
		return bindIntersect
	case strings.HasPrefix(string(op), "MULTISET "):
		return bindUnion
	}
	return bindComparison
}

// bindOf is how strongly an expression's own operator binds.
func bindOf(x Expr) int {
	switch x := x.(type) {
	case *Unary:
		if x.Op == OpNot {
			return bindNot
		}
		return bindSign
	case *Binary:
		return binaryBind(x.Op)
	case *Is:
		return bindIs
	case *Between, *In:
		return bindBetween
	case *Quantified:
		return bindComparison
	case *Like:
		return bindLike
	}
	return bindOperand
}

// expr prints x, in parentheses if its operator binds less than limit.
func (w *writer) expr(x Expr, limit int) {
	if bindOf(x) < limit {
		w.s("(")
		defer w.s(")")
	}
	switch x := x.(type) {
	case *Unary:
		w.s(string(x.Op), " ")
		w.expr(x.X, bindOf(x))
	case *Binary:
		b := binaryBind(x.Op)
		w.expr(x.X, b)
		w.s(" ", string(x.Op), " ")
		w.expr(x.Y, b+1)
	case *Is:
		w.expr(x.X, bindIs)
		w.s(" IS ", not(x.Not), x.What)
	case *Between:
		w.expr(x.X, bindBetween)
		w.s(" ", not(x.Not), "BETWEEN ", word(x.Symmetric, "SYMMETRIC "))
		w.expr(x.Low, bindAdd)
		w.s(" AND ")
		w.expr(x.High, bindAdd)
	case *In:
		w.expr(x.X, bindBetween)
		w.s(" ", not(x.Not), "IN ")
		w.inList(x.List, x.Query)
	case *Quantified:
		w.expr(x.X, bindComparison)
		w.s(" ", string(x.Op), " ", x.Quantifier, " ")
		w.inList(x.List, x.Query)
	case *Like:
		w.expr(x.X, bindAdd)
		w.s(" ", not(x.Not), x.Op, " ")
		w.expr(x.Pattern, bindAdd)
		if x.Escape != nil {
			w.s(" ESCAPE ")
			w.expr(x.Escape, bindAdd)
		}
	default:
		w.operand(x)
	}
}

func not(b bool) string { return word(b, "NOT ") }

func word(b bool, s string) string {
	if b {
		return s
	}
	return ""
}

func (w *writer) inList(list []Expr, q Query) {
	w.s("(")
	if q != nil {
		w.query(q)
	} else {
		w.exprs(list)
	}
	w.s(")")
}

func (w *writer) exprs(xs []Expr) { list(w, xs, func(x Expr) { w.expr(x, bindLowest) }) }

// operand prints expressions that need no parentheses.
func (w *writer) operand(x Expr) {
	switch x := x.(type) {
	case *Literal:
		w.literal(x)
	case *IntervalExpr:
		w.s("INTERVAL (")
		w.expr(x.Value, bindLowest)
		w.s(") ")
		w.unit(x.Unit)
	case *Identifier:
		w.id(x)
	case *Param:
		w.s("?")
	case *Default:
		w.s("DEFAULT")
	case *Star:
		if x.Qualifier != nil {
			w.id(x.Qualifier)
			w.s(".")
		}
		w.s("*")
	case *Case:
		w.caseExpr(x)
	case *Cast:
		w.s(word(x.Try, "TRY_"), "CAST(")
		w.expr(x.X, bindLowest)
		w.s(" AS ")
		w.typeName(x.Type)
		w.s(")")
	case *Call:
		w.call(x)
	case *Row:
		w.s(word(x.Keyword, "ROW"), "(")
		w.exprs(x.Elems)
		w.s(")")
	case *Array:
		w.collection("ARRAY", x.Elems, x.Query)
	case *Map:
		w.collection("MAP", x.Elems, x.Query)
	case *Multiset:
		w.collection("MULTISET", x.Elems, x.Query)
	case *Field:
		w.base(x.X)
		w.s(".")
		w.name(x.Name)
	case *Subscript:
		w.base(x.X)
		w.s("[")
		w.expr(x.Index, bindLowest)
		w.s("]")
	case *Subquery:
		w.s("(")
		w.query(x.Query)
		w.s(")")
	case *Exists:
		w.s(map[bool]string{false: "EXISTS (", true: "UNIQUE ("}[x.Unique])
		w.query(x.Query)
		w.s(")")
	default:
		w.function(x)
	}
}

// base prints what stands before .field or [index].
func (w *writer) base(x Expr) {
	switch x.(type) {
	case *Identifier, *Literal:
		// (a).b is a field of the column a, a.b a path of two names, 1.b a number with an alias: the parentheses stay.
		w.s("(")
		w.expr(x, bindLowest)
		w.s(")")
	default:
		w.expr(x, bindOperand)
	}
}

// function prints the functions that have a syntax of their own.
func (w *writer) function(x Expr) {
	arg := func(before string, x Expr) {
		if x != nil {
			w.s(before)
			w.expr(x, bindLowest)
		}
	}
	switch x := x.(type) {
	case *Extract:
		w.s("EXTRACT(", unitName(x.Unit))
		arg(" FROM ", x.X)
	case *Trim:
		w.s("TRIM(", x.Side)
		arg(" ", x.Chars)
		arg(" FROM ", x.X)
	case *Substring:
		arg("SUBSTRING(", x.X)
		arg(" FROM ", x.From)
		arg(" FOR ", x.For)
	case *Position:
		w.s("POSITION(")
		w.expr(x.Sub, bindAdd)
		arg(" IN ", x.X)
		arg(" FROM ", x.From)
	case *Overlay:
		arg("OVERLAY(", x.X)
		arg(" PLACING ", x.Placing)
		arg(" FROM ", x.From)
		arg(" FOR ", x.For)
	case *RoundTo:
		w.s(map[bool]string{false: "FLOOR", true: "CEIL"}[x.Ceil])
		arg("(", x.X)
		w.s(" TO ", unitName(x.Unit))
	case *UnitCall:
		w.s(x.Func, "(", unitName(x.Unit))
		for _, a := range x.Args {
			arg(", ", a)
		}
	case *IntervalMinus:
		w.s("(")
		w.expr(x.X, bindAdd)
		w.s(" - ")
		w.expr(x.Y, bindAdd+1)
		w.s(") ")
		w.unit(x.Unit)
		return
	case *Descriptor:
		w.s("DESCRIPTOR(")
		list(w, x.Columns, w.id)
	case *TableArg:
		w.tableArg(x)
		return
	case *ModelArg:
		w.s("MODEL ")
		w.id(x.Model)
		return
	case *JSONPath:
		w.jsonPath(x)
	case *JSONMake:
		w.jsonMake(x)
	default:
		w.s(fmt.Sprintf("/* %T */", x))
		return
	}
	w.s(")")
}

// unitName prints a time unit; one that is no plain word was written in back-ticks.
func unitName(s string) string {
	for _, c := range s {
		if !(c >= 'A' && c <= 'Z' || c == '_') {
			return QuoteName(s)
		}
	}
	if s == "" {
		return QuoteName(s)
	}
	return s
}

func (w *writer) tableArg(t *TableArg) {
	if q, ok := t.Table.(*TableQuery); ok {
		w.query(q)
	} else {
		w.s("(")
		w.query(t.Table)
		w.s(")")
	}
	if t.Partition != nil {
		w.s(" PARTITION BY (")
		w.exprs(t.Partition)
		w.s(")")
	}
	if t.Order != nil {
		w.s(" ORDER BY (")
		list(w, t.Order, w.sort)
		w.s(")")
	}
}

func (w *writer) collection(word string, elems []Expr, q Query) {
	w.s(word)
	if q != nil {
		w.s("(")
		w.query(q)
		w.s(")")
		return
	}
	w.s("[")
	w.exprs(elems)
	w.s("]")
}

func (w *writer) caseExpr(c *Case) {
	w.s("CASE")
	if c.Operand != nil {
		w.s(" ")
		w.expr(c.Operand, bindLowest)
	}
	for _, x := range c.Whens {
		w.s(" ")
		w.when(x)
	}
	if c.Else != nil {
		w.s(" ELSE ")
		w.expr(c.Else, bindLowest)
	}
	w.s(" END")
}

func (w *writer) when(x When) {
	w.s("WHEN ")
	w.exprs(x.Conds)
	w.s(" THEN ")
	w.expr(x.Result, bindLowest)
}

func (w *writer) literal(l *Literal) {
	quoted := QuoteString(l.Text)
	switch l.Kind {
	case IntegerLit, DecimalLit, DoubleLit, BooleanLit:
		w.s(l.Text)
	case NullLit:
		w.s("NULL")
	case StringLit:
		switch l.Charset {
		case "":
		case "N":
			w.s("N")
		default:
			w.s("_", l.Charset)
		}
		w.s(quoted)
	case UnicodeLit:
		w.s("U&", QuoteString(strings.ReplaceAll(l.Text, `\`, `\\`)))
	case BinaryLit:
		w.s("X", quoted)
	case DateLit:
		w.s("DATE ", quoted)
	case TimeLit:
		w.s("TIME ", quoted)
	case TimestampLit:
		w.s("TIMESTAMP ", quoted)
	case IntervalLit:
		w.s("INTERVAL ", word(l.Negative, "-"), quoted, " ")
		w.unit(l.Unit)
	}
}

func (w *writer) unit(u *IntervalUnit) {
	w.s(u.From)
	switch {
	case u.Precision >= 0 && u.To == "" && u.FracPrecision >= 0:
		w.s("(", strconv.Itoa(u.Precision), ", ", strconv.Itoa(u.FracPrecision), ")")
	case u.Precision >= 0:
		w.s("(", strconv.Itoa(u.Precision), ")")
	}
	if u.To != "" {
		w.s(" TO ", u.To)
		if u.FracPrecision >= 0 {
			w.s("(", strconv.Itoa(u.FracPrecision), ")")
		}
	}
}

func (w *writer) call(c *Call) {
	w.id(c.Func)
	if c.NoParens {
		return
	}
	w.s("(", word(c.Distinct, "DISTINCT "), word(c.All, "ALL "), word(c.Star, "*"))
	list(w, c.Args, w.arg)
	if c.Order != nil {
		w.s(" ")
		w.orderBy(c.Order)
	}
	w.s(")")
	if c.Nulls != "" {
		w.s(" ", c.Nulls)
	}
	if c.WithinGroup != nil {
		w.s(" WITHIN GROUP (")
		w.orderBy(c.WithinGroup)
		w.s(")")
	}
	w.filter(c.Filter)
	if c.Over != nil {
		w.s(" OVER ")
		w.window(c.Over)
	}
}

func (w *writer) filter(x Expr) {
	if x != nil {
		w.s(" FILTER (WHERE ")
		w.expr(x, bindLowest)
		w.s(")")
	}
}

func (w *writer) arg(a Arg) {
	if a.Name != nil {
		w.name(*a.Name)
		w.s(" => ")
	}
	w.expr(a.Value, bindLowest)
}

func (w *writer) jsonPath(j *JSONPath) {
	w.s(j.Func, "(")
	w.expr(j.Doc, bindLowest)
	w.s(", ")
	w.expr(j.Path, bindLowest)
	if j.Returning != nil {
		w.s(" RETURNING ")
		w.typeName(j.Returning)
	}
	if j.Wrapper != "" {
		w.s(" ", j.Wrapper, " WRAPPER")
	}
	on := func(b *JSONBehavior, what string) {
		if b == nil {
			return
		}
		w.s(" ")
		w.jsonBehavior(b)
		w.s(" ON ", what)
	}
	on(j.OnEmpty, "EMPTY")
	on(j.OnError, "ERROR")
}

func (w *writer) jsonBehavior(b *JSONBehavior) {
	w.s(b.Kind)
	if b.Value != nil {
		w.s(" ")
		w.expr(b.Value, bindLowest)
	}
}

func (w *writer) jsonPair(p JSONPair) {
	if p.Key != nil {
		w.s("KEY ")
		w.expr(p.Key, bindLowest)
		w.s(" VALUE ")
	}
	w.expr(p.Value, bindLowest)
	w.s(word(p.Format, " FORMAT JSON"))
}

func (w *writer) jsonMake(j *JSONMake) {
	w.s(j.Func, "(")
	list(w, j.Pairs, w.jsonPair)
	if j.Order != nil {
		w.s(" ")
		w.orderBy(j.Order)
	}
	if j.Nulls != "" {
		w.s(word(len(j.Pairs) > 0, " "), j.Nulls)
	}
}

func (w *writer) orderBy(ss []Sort) {
	w.s("ORDER BY ")
	list(w, ss, w.sort)
}

func (w *writer) sort(s Sort) {
	w.expr(s.X, bindLowest)
	w.s(word(s.Desc, " DESC"))
	if s.Nulls != "" {
		w.s(" NULLS ", s.Nulls)
	}
}

func (w *writer) window(x *WindowSpec) {
	if x.NameOnly {
		w.name(*x.Name)
		return
	}
	sep := ""
	space := func() {
		w.s(sep)
		sep = " "
	}
	w.s("(")
	if x.Name != nil {
		space()
		w.name(*x.Name)
	}
	if x.Partition != nil {
		space()
		w.s("PARTITION BY ")
		w.exprs(x.Partition)
	}
	if x.Order != nil {
		space()
		w.orderBy(x.Order)
	}
	if f := x.Frame; f != nil {
		space()
		w.frame(f)
	}
	w.s(")")
}

func (w *writer) frame(f *Frame) {
	w.s(f.Unit, " ", word(f.High != nil, "BETWEEN "))
	w.bound(f.Low)
	if f.High != nil {
		w.s(" AND ")
		w.bound(f.High)
	}
}

func (w *writer) bound(b *Bound) {
	if b.Offset != nil {
		w.expr(b.Offset, bindAdd)
		w.s(" ")
	}
	w.s(b.Kind)
}

func (w *writer) typeName(t *TypeName) {
	switch t.Kind {
	case TypeUser:
		w.id(t.Name)
	case TypeInterval:
		w.s("INTERVAL ")
		w.unit(t.Unit)
	case TypeTimeLTZ:
		w.s("TIME")
		w.precision(t)
		w.s(" WITH LOCAL TIME ZONE")
	case TypeArray, TypeMultiset:
		w.s(string(t.Kind), "<")
		w.typeName(t.Elem)
		w.s(">")
	case TypeMap:
		w.s("MAP<")
		w.typeName(t.Key)
		w.s(", ")
		w.typeName(t.Elem)
		w.s(">")
	case TypeRow:
		w.s("ROW<")
		list(w, t.Fields, w.typeField)
		w.s(">")
	case TypeRaw:
		w.s("RAW(", QuoteString(t.Args[0]), ", ", QuoteString(t.Args[1]), ")")
	case TypeStructured:
		w.s("STRUCTURED<", QuoteString(t.Args[0]))
		for _, f := range t.Fields {
			w.s(", ")
			w.typeField(f)
		}
		w.s(">")
	default:
		w.s(string(t.Kind))
		w.precision(t)
	}
	w.s(word(t.NotNull, " NOT NULL"))
}

func (w *writer) precision(t *TypeName) {
	switch {
	case t.Scale >= 0:
		w.s("(", strconv.Itoa(t.Precision), ", ", strconv.Itoa(t.Scale), ")")
	case t.Precision >= 0:
		w.s("(", strconv.Itoa(t.Precision), ")")
	}
}

func (w *writer) typeField(f TypeField) {
	w.name(f.Name)
	w.s(" ")
	w.typeName(f.Type)
	if f.Comment != nil {
		w.s(" ")
		w.literal(f.Comment)
	}
}
