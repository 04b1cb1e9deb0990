package parse

import (
	"strings"

	"staunch/sql/ast"
)

// call parses the arguments of a function call and what may follow them.
func (p *parser) call(id *ast.Identifier) ast.Expr {
	start := id.Start
	c := &ast.Call{Func: id}
	name := *p.tok()
	p.advance()
	p.arguments(c)
	if word := strings.ToUpper(id.Last()); len(id.Parts) == 1 && !id.Parts[0].Quoted {
		switch n := len(c.Args); {
		case navigation[word] && (n == 0 || n > 2):
			p.failAt(&name, word+" takes one argument or two", "")
		case notEmpty[word] && n == 0:
			p.failAt(&name, word+" takes an argument", "")
		}
	}
	c.Span = p.span(start)
	p.over(start, c)
	return c
}

// notEmpty are the functions that the parser itself refuses without arguments.
var notEmpty = wordSet("ARRAY_AGG PERCENTILE_CONT PERCENTILE_DISC DATE TIME TIMESTAMP DATETIME TUMBLE HOP SESSION")

// navigation are the functions over the rows of a match.
var navigation = wordSet("FIRST LAST PREV NEXT")

// arguments parses what stands after '(' and the ')'.
func (p *parser) arguments(c *ast.Call) {
	if p.acceptOp(")") {
		return
	}
	if p.op("*") && p.peek(1).op(")") {
		c.Star = true
		p.advance()
		p.advance()
		return
	}
	if p.bareQuery(c, (*parser).query) {
		return
	}
	switch p.acceptOne("DISTINCT", "ALL") {
	case "DISTINCT":
		c.Distinct = true
	case "ALL":
		c.All = true
	}
	p.comma(func() {
		a := p.argument()
		if s, ok := a.Value.(*ast.Subquery); ok && len(c.Args) == 0 && a.Name == nil && p.continuesQuery() {
			// f((SELECT 1) UNION (SELECT 2)): the query goes on, as the only argument.
			q := p.queryFrom(a.Start, s.Query)
			a.Span = p.span(a.Start)
			a.Value = &ast.Subquery{Span: a.Span, Query: q}
			if p.op(",") {
				p.failHint("')' after the query", "a query goes in parentheses: f((SELECT ..), x)")
			}
		}
		c.Args = append(c.Args, a)
	})
	if p.kw("ORDER") && orderedAggregates[strings.ToUpper(c.Func.Last())] {
		c.Order = p.orderBy()
	}
	p.closing(c.Func.Stop, "or ',' after the argument")
}

// bareQuery parses a query without parentheses as the only argument of c, with the ')'; false if there is none.
func (p *parser) bareQuery(c *ast.Call, query func(*parser) ast.Query) bool {
	if !p.kw("SELECT") && !p.kw("VALUES") && !p.kw("WITH") {
		return false
	}
	start := p.tok().pos
	q := query(p)
	sp := p.span(start)
	c.Args = []ast.Arg{{Span: sp, Value: &ast.Subquery{Span: sp, Query: q}}}
	p.expectOp(")", "after the query")
	return true
}

// tableArguments are the arguments of a function in FROM: there a bare query is a single SELECT or VALUES.
func (p *parser) tableArguments(c *ast.Call) {
	if !p.bareQuery(c, (*parser).operand) {
		p.arguments(c)
	}
}

// orderedAggregates take ORDER BY inside their parentheses.
var orderedAggregates = wordSet("ARRAY_AGG")

// argument parses one argument: a value, TABLE t, a query, each with its name in front.
func (p *parser) argument() ast.Arg {
	start := p.tok().pos
	a := ast.Arg{}
	if p.isName() && p.peek(1).op("=>") {
		n := p.nameHere()
		a.Name = &n
		p.advance()
	}
	a.Value = p.argumentValue()
	if p.op("=>") {
		p.failHint("',' or ')' after the argument", "a reserved word as the argument's name goes in back-ticks")
	}
	a.Span = p.span(start)
	return a
}

func (p *parser) argumentValue() ast.Expr {
	start := p.tok().pos
	switch {
	case p.kw("TABLE") && !p.peek(1).op("("):
		p.advance()
		t := &ast.TableQuery{Table: p.identifier("a table name")}
		t.Span = p.span(start)
		return p.tableArg(start, t)
	case p.kw("MODEL") && (p.peek(1).kind == tokWord && !reserved[p.peek(1).word] || p.peek(1).kind == tokQuoted):
		p.advance()
		m := &ast.ModelArg{Model: p.identifier("a model name")}
		m.Span = p.span(start)
		return m
	case p.accept("DEFAULT"):
		return &ast.Default{Span: p.span(start)}
	}
	x := p.expr()
	if s, ok := x.(*ast.Subquery); ok && (p.kw("PARTITION") || p.kw("ORDER")) {
		return p.tableArg(start, s.Query)
	}
	return x
}

// tableArg parses PARTITION BY and ORDER BY after a table argument. Without parentheses there is one column only, since a
// comma goes on with the arguments.
func (p *parser) tableArg(start ast.Pos, q ast.Query) ast.Expr {
	t := &ast.TableArg{Table: q}
	if p.accept("PARTITION") {
		p.expect("in PARTITION BY", "BY")
		if p.acceptOp("(") {
			p.comma(func() { t.Partition = append(t.Partition, p.expr()) })
			p.expectOp(")", "or ',' after the column")
		} else {
			t.Partition = append(t.Partition, p.expr())
		}
	}
	if p.accept("ORDER") {
		p.expect("in ORDER BY", "BY")
		if p.acceptOp("(") {
			p.comma(func() { t.Order = append(t.Order, p.sortItem()) })
			p.expectOp(")", "or ',' after the column")
		} else {
			t.Order = append(t.Order, p.sortItem())
		}
	}
	t.Span = p.span(start)
	return t
}

// over parses WITHIN GROUP, FILTER, IGNORE NULLS and OVER after a call.
func (p *parser) over(start ast.Pos, c *ast.Call) {
	if p.kws("IGNORE", "NULLS") || p.kws("RESPECT", "NULLS") {
		c.Nulls = p.advance().word + " NULLS"
		p.advance()
	}
	if p.kws("WITHIN", "GROUP") {
		p.accept("WITHIN", "GROUP")
		p.expectOp("(", "after WITHIN GROUP")
		c.WithinGroup = p.orderBy()
		p.expectOp(")", "after ORDER BY")
	}
	if p.kw("FILTER") && p.peek(1).op("(") {
		c.Filter = p.filter()
	}
	if p.accept("OVER") {
		c.Over = p.window(true)
	}
	c.Span = p.span(start)
}

// filter parses FILTER (WHERE x).
func (p *parser) filter() ast.Expr {
	p.advance()
	p.advance()
	p.expect("in FILTER (WHERE ..)", "WHERE")
	x := p.expr()
	p.expectOp(")", "at the end of FILTER")
	return x
}

// window parses a window's name or its specification in parentheses.
func (p *parser) window(nameAllowed bool) *ast.WindowSpec {
	start := p.tok().pos
	w := &ast.WindowSpec{}
	if !p.op("(") {
		if !nameAllowed {
			p.fail("'(' and the window's specification")
		}
		n := p.name("a window's name, or its specification in parentheses,")
		w.Name, w.NameOnly = &n, true
		w.Span = p.span(start)
		return w
	}
	p.advance()
	if p.isName() {
		n := p.nameHere()
		w.Name = &n
	}
	if p.accept("PARTITION") {
		p.expect("in PARTITION BY", "BY")
		p.comma(func() { w.Partition = append(w.Partition, p.expr()) })
	}
	if p.kw("ORDER") {
		w.Order = p.orderBy()
	}
	if p.kw("ROWS") || p.kw("RANGE") {
		w.Frame = p.frame()
	}
	if p.acceptOne("ALLOW", "DISALLOW") != "" {
		p.expect("after ALLOW or DISALLOW", "PARTIAL")
	}
	p.expectOp(")", "at the end of the window")
	w.Span = p.span(start)
	return w
}

func (p *parser) frame() *ast.Frame {
	start := p.tok().pos
	f := &ast.Frame{Unit: p.advance().word}
	if p.accept("BETWEEN") {
		f.Low = p.bound()
		p.expect("between the ends of the frame", "AND")
		f.High = p.bound()
	} else {
		f.Low = p.bound()
	}
	f.Span = p.span(start)
	return f
}

func (p *parser) bound() *ast.Bound {
	start := p.tok().pos
	b := &ast.Bound{}
	switch {
	case p.accept("CURRENT"):
		p.expect("in CURRENT ROW", "ROW")
		b.Kind = "CURRENT ROW"
	case p.kws("UNBOUNDED", "PRECEDING") || p.kws("UNBOUNDED", "FOLLOWING"):
		p.advance()
		b.Kind = "UNBOUNDED " + p.advance().word
	default:
		b.Offset = p.expr()
		b.Kind = p.expectOne("after the offset", "PRECEDING", "FOLLOWING")
	}
	b.Span = p.span(start)
	return b
}

// orderBy parses ORDER BY a, b.
func (p *parser) orderBy() []ast.Sort {
	p.expect("", "ORDER", "BY")
	var out []ast.Sort
	p.comma(func() { out = append(out, p.sortItem()) })
	return out
}

func (p *parser) sortItem() ast.Sort {
	start := p.tok().pos
	s := ast.Sort{X: p.expr()}
	switch p.acceptOne("ASC", "DESC") {
	case "DESC":
		s.Desc = true
	}
	if p.accept("NULLS") {
		s.Nulls = p.expectOne("after NULLS", "FIRST", "LAST")
	}
	s.Span = p.span(start)
	return s
}
