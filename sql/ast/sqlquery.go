package ast

import "fmt"

// query prints a query.
func (w *writer) query(q Query) {
	switch x := q.(type) {
	case *Select:
		w.selectCore(x)
	case *SetOp:
		w.setOperand(x.Left, x.Op == "INTERSECT", false)
		w.s(" ", x.Op, word(x.All, " ALL"), " ")
		w.setOperand(x.Right, x.Op == "INTERSECT", true)
	case *Values:
		w.s("VALUES ")
		list(w, x.Rows, func(r Expr) {
			if _, ok := r.(*Default); ok {
				w.s("(DEFAULT)")
				return
			}
			w.expr(r, bindLowest)
		})
	case *TableQuery:
		w.s("TABLE ")
		w.id(x.Table)
	case *Ordered:
		w.ordered(x)
	case *With:
		w.s("WITH ", word(x.Recursive, "RECURSIVE "))
		list(w, x.Items, w.cte)
		w.s(" ")
		if _, ok := x.Query.(*With); ok {
			w.s("(")
			defer w.s(")")
		}
		w.query(x.Query)
	default:
		w.s(fmt.Sprintf("/* %T */", q))
	}
}

// setOperand prints an operand of UNION and the like, in parentheses where the text would group otherwise.
func (w *writer) setOperand(q Query, intersect, right bool) {
	paren := false
	switch x := q.(type) {
	case *Ordered, *With:
		paren = true
	case *SetOp:
		weaker := x.Op != "INTERSECT"
		paren = weaker && (intersect || right) || right && intersect
	}
	if paren {
		w.s("(")
		defer w.s(")")
	}
	w.query(q)
}

func (w *writer) ordered(o *Ordered) {
	switch o.Query.(type) {
	case *Ordered, *With:
		w.s("(")
		w.query(o.Query)
		w.s(")")
	default:
		w.query(o.Query)
	}
	if o.Order != nil {
		w.s(" ")
		w.orderBy(o.Order)
	}
	if o.Limit != nil {
		w.s(" LIMIT ")
		w.expr(o.Limit, bindLowest)
	}
	if o.Offset != nil {
		w.s(" OFFSET ")
		w.expr(o.Offset, bindLowest)
		w.s(" ROWS")
	}
}

func (w *writer) clause(words string, x Expr) {
	if x != nil {
		w.s(" ", words, " ")
		w.expr(x, bindLowest)
	}
}

func (w *writer) selectCore(s *Select) {
	w.s("SELECT ")
	w.hints(s.Hints, "", " ")
	w.s(word(s.Distinct, "DISTINCT "), word(s.All, "ALL "))
	list(w, s.Items, w.selectItem)
	if s.From == nil {
		return
	}
	w.s(" FROM ")
	w.table(s.From)
	w.clause("WHERE", s.Where)
	if s.GroupBy != nil {
		w.s(" ")
		w.groupBy(s.GroupBy)
	}
	w.clause("HAVING", s.Having)
	if s.Windows != nil {
		w.s(" WINDOW ")
		list(w, s.Windows, w.namedWindow)
	}
	w.clause("QUALIFY", s.Qualify)
}

func (w *writer) cte(c CTE) {
	w.name(c.Name)
	if c.Columns != nil {
		w.s(" ")
		w.names(c.Columns)
	}
	w.s(" AS (")
	w.query(c.Query)
	w.s(")")
}

func (w *writer) groupBy(g *GroupBy) {
	w.s("GROUP BY ")
	if g.Quantifier != "" {
		w.s(g.Quantifier, " ")
	}
	list(w, g.Items, w.groupItem)
}

func (w *writer) namedWindow(x NamedWindow) {
	w.name(x.Name)
	w.s(" AS ")
	w.window(x.Spec)
}

func (w *writer) selectItem(i SelectItem) {
	w.expr(i.X, bindLowest)
	if i.Alias != nil {
		w.s(" AS ")
		w.name(*i.Alias)
	}
}

func (w *writer) groupItem(g GroupItem) {
	switch {
	case g.Kind == "GROUPING SETS":
		w.s("GROUPING SETS (")
		list(w, g.Sets, w.groupItem)
		w.s(")")
	case g.Kind != "":
		w.s(g.Kind, " (")
		w.exprs(g.Exprs)
		w.s(")")
	case g.X == nil:
		w.s("()")
	default:
		w.expr(g.X, bindLowest)
	}
}

func (w *writer) hints(hs []Hint, before, after string) {
	if hs == nil {
		return
	}
	w.s(before, "/*+ ")
	list(w, hs, w.hint)
	w.s(" */", after)
}

func (w *writer) hint(h Hint) {
	w.s(QuoteName(h.Name), "(")
	list(w, h.Options, w.option)
	list(w, h.Args, w.hintArg)
	w.s(")")
}

func (w *writer) hintArg(a HintArg) {
	switch a.Kind {
	case HintString:
		w.s(QuoteString(a.Text))
	case HintName:
		w.s(QuoteName(a.Text))
	default:
		w.s(a.Text)
	}
}

func (w *writer) option(o Option) {
	w.literal(o.Key)
	w.s(" = ")
	w.literal(o.Value)
}

// table prints a table reference.
func (w *writer) table(t TableRef) {
	switch x := t.(type) {
	case *Table:
		w.id(x.Name)
		w.hints(x.Hints, " ", "")
		w.clause("FOR SYSTEM_TIME AS OF", x.AsOf)
		w.aliasOf(x.Alias)
		w.sample(x.Sample)
	case *Derived:
		w.s(word(x.Lateral, "LATERAL "), "(")
		w.query(x.Query)
		w.s(")")
		w.aliasOf(x.Alias)
		w.sample(x.Sample)
	case *TableFunction:
		w.s(word(x.Lateral, "LATERAL "), word(x.Wrapped, "TABLE("))
		w.call(x.Call)
		w.s(word(x.Wrapped, ")"))
		w.aliasOf(x.Alias)
	case *Unnest:
		w.s(word(x.Lateral, "LATERAL "), "UNNEST(")
		w.exprs(x.Exprs)
		w.s(")", word(x.Ordinality, " WITH ORDINALITY"))
		w.aliasOf(x.Alias)
	case *Join:
		w.join(x)
	case *MatchRecognize:
		w.matchRecognize(x)
	default:
		w.s(fmt.Sprintf("/* %T */", t))
	}
}

func (w *writer) aliasOf(a *Alias) {
	if a != nil {
		w.s(" AS ")
		w.alias(a)
	}
}

func (w *writer) alias(a *Alias) {
	w.name(a.Name)
	if a.Columns != nil {
		w.s(" ")
		w.names(a.Columns)
	}
}

func (w *writer) sample(s *Sample) {
	if s == nil {
		return
	}
	w.s(" TABLESAMPLE ", s.Method, "(")
	w.literal(s.Percent)
	w.s(")")
	if s.Repeatable != nil {
		w.s(" REPEATABLE(")
		w.literal(s.Repeatable)
		w.s(")")
	}
}

func (w *writer) join(j *Join) {
	side := func(t TableRef, paren bool) {
		if paren {
			w.s("(")
			defer w.s(")")
		}
		w.table(t)
	}
	left, leftJoin := j.Left.(*Join)
	_, rightJoin := j.Right.(*Join)
	if j.Kind == "," {
		side(j.Left, false)
		w.s(", ")
		side(j.Right, false)
		return
	}
	side(j.Left, leftJoin && left.Kind == ",")
	w.s(" ", word(j.Natural, "NATURAL "), j.Kind, " JOIN ")
	side(j.Right, rightJoin)
	w.clause("ON", j.On)
	if j.Using != nil {
		w.s(" USING ")
		w.names(j.Using)
	}
}

func (w *writer) matchRecognize(m *MatchRecognize) {
	w.table(m.Table)
	w.s(" MATCH_RECOGNIZE (")
	if m.Partition != nil {
		w.s("PARTITION BY ")
		w.exprs(m.Partition)
		w.s(" ")
	}
	if m.Order != nil {
		w.orderBy(m.Order)
		w.s(" ")
	}
	if m.Measures != nil {
		w.s("MEASURES ")
		list(w, m.Measures, w.selectItem)
		w.s(" ")
	}
	if m.Rows != "" {
		w.s(m.Rows, " ")
	}
	if m.After != "" {
		w.s("AFTER MATCH SKIP ", m.After, " ")
	}
	w.s("PATTERN (", m.Pattern, ")")
	w.clause("WITHIN", m.Within)
	if m.Subsets != nil {
		w.s(" SUBSET ")
		list(w, m.Subsets, w.subset)
	}
	w.s(" DEFINE ")
	list(w, m.Define, w.define)
	w.s(")")
	w.aliasOf(m.Alias)
}

func (w *writer) subset(s PatternSubset) {
	w.name(s.Name)
	w.s(" = ")
	w.names(s.Items)
}

func (w *writer) define(d PatternDefine) {
	w.name(d.Name)
	w.s(" AS ")
	w.expr(d.Cond, bindLowest)
}
