package parse

import (
	"strings"

	"staunch/sql/ast"
)

// query parses a query: [WITH ..] body [ORDER BY] [LIMIT] ..
func (p *parser) query() ast.Query {
	p.enter()
	defer p.leave()
	start := p.tok().pos
	if p.kw("WITH") {
		w := p.with()
		w.Query = p.queryFrom(start, nil)
		w.Span = p.span(start)
		return w
	}
	return p.queryFrom(start, nil)
}

// queryFrom parses a query without WITH whose first operand may be parsed already.
func (p *parser) queryFrom(start ast.Pos, first ast.Query) ast.Query {
	q := p.setOps(start, first)
	return p.ordered(start, q)
}

// setOps parses operands of UNION and EXCEPT; INTERSECT binds more strongly.
func (p *parser) setOps(start ast.Pos, first ast.Query) ast.Query {
	q := p.intersects(start, first)
	for p.kw("UNION") || p.kw("EXCEPT") || p.kw("MINUS") {
		if p.kw("MINUS") {
			p.failAt(p.tok(), "MINUS is not in this dialect", "write EXCEPT")
		}
		q = p.setOp(start, q, func() ast.Query { return p.intersects(p.tok().pos, nil) })
	}
	return q
}

func (p *parser) intersects(start ast.Pos, first ast.Query) ast.Query {
	q := first
	if q == nil {
		q = p.operand()
	}
	for p.kw("INTERSECT") {
		q = p.setOp(start, q, p.operand)
	}
	return q
}

func (p *parser) setOp(start ast.Pos, left ast.Query, right func() ast.Query) ast.Query {
	s := &ast.SetOp{Op: p.advance().word, Left: left}
	s.All = p.acceptOne("ALL", "DISTINCT") == "ALL"
	s.Right = right()
	s.Span = p.span(start)
	return s
}

// operand parses SELECT, VALUES, TABLE t or a query in parentheses.
func (p *parser) operand() ast.Query {
	start := p.tok().pos
	switch {
	case p.kw("SELECT"):
		return p.selectCore()
	case p.kw("VALUES") || p.kws("VALUE"):
		return p.values()
	case p.accept("TABLE"):
		t := &ast.TableQuery{Table: p.identifier("a table name")}
		t.Span = p.span(start)
		return t
	case p.op("("):
		p.enter()
		defer p.leave()
		p.advance()
		q := p.query()
		p.expectOp(")", "at the end of the query")
		return q
	}
	p.fail("a query (SELECT, VALUES, WITH, ..)")
	return nil
}

// ordered parses ORDER BY, LIMIT, OFFSET and FETCH after q.
func (p *parser) ordered(start ast.Pos, q ast.Query) ast.Query {
	o := &ast.Ordered{Query: q}
	any := false
	if p.kw("ORDER") {
		any = true
		o.Order = p.orderBy()
	}
	switch {
	case p.accept("LIMIT"):
		any = p.limit(o) || any
	case p.accept("OFFSET"):
		any = true
		o.Offset = p.count("OFFSET")
		p.acceptOne("ROW", "ROWS")
		if p.kw("LIMIT") {
			p.failAt(p.tok(), "LIMIT goes before OFFSET", "write LIMIT n OFFSET m")
		}
		if p.kw("FETCH") {
			p.fetch(o)
		}
	case p.kw("FETCH"):
		any = true
		p.fetch(o)
	}
	if !any {
		return q
	}
	o.Span = p.span(start)
	return o
}

// limit parses what follows LIMIT; it tells whether that limits anything.
func (p *parser) limit(o *ast.Ordered) bool {
	if !p.accept("ALL") {
		o.Limit = p.count("LIMIT")
	}
	if p.op(",") {
		p.failAt(p.tok(), "LIMIT takes one number", "write LIMIT n OFFSET m")
	}
	if p.accept("OFFSET") {
		o.Offset = p.count("OFFSET")
		p.acceptOne("ROW", "ROWS")
	}
	return o.Limit != nil || o.Offset != nil
}

func (p *parser) fetch(o *ast.Ordered) {
	p.advance()
	p.expectOne("after FETCH", "FIRST", "NEXT")
	o.Limit = p.count("FETCH FIRST")
	p.expectOne("after the number of FETCH", "ROW", "ROWS")
	p.expect("at the end of FETCH", "ONLY")
}

// count parses the number of LIMIT and the like: a number or a placeholder.
func (p *parser) count(of string) ast.Expr {
	t := p.tok()
	switch {
	case t.kind == tokInt, t.kind == tokDecimal:
		return p.number()
	case t.op("?"):
		p.advance()
		return &ast.Param{Span: p.span(p.end)}
	}
	p.fail("a number after " + of)
	return nil
}

func (p *parser) with() *ast.With {
	p.advance()
	w := &ast.With{Recursive: p.accept("RECURSIVE")}
	for {
		start := p.tok().pos
		c := ast.CTE{Name: p.name("a name for the query of WITH")}
		if p.op("(") {
			c.Columns = p.nameList("a column name")
		}
		p.expect("after the name in WITH", "AS")
		p.expectOp("(", "and a query after AS")
		c.Query = p.query()
		p.expectOp(")", "at the end of the query")
		c.Span = p.span(start)
		w.Items = append(w.Items, c)
		if !p.op(",") {
			return w
		}
		comma := p.advance()
		if p.kw("SELECT") {
			p.failAt(p.tok(), "expected a name for the query of WITH, found SELECT", "remove the comma at "+comma.pos.String())
		}
	}
}

func (p *parser) values() ast.Query {
	start := p.advance().pos
	v := &ast.Values{}
	p.comma(func() { v.Rows = append(v.Rows, p.valuesRow()) })
	v.Span = p.span(start)
	return v
}

// valuesRow parses a row of VALUES; here alone DEFAULT may stand in it.
func (p *parser) valuesRow() ast.Expr {
	start := p.tok().pos
	if !p.op("(") || p.queryAhead(0) || !p.defaultInRow() {
		return p.expr()
	}
	p.advance()
	r := &ast.Row{}
	p.comma(func() {
		s := p.tok().pos
		if p.accept("DEFAULT") {
			r.Elems = append(r.Elems, &ast.Default{Span: p.span(s)})
			return
		}
		r.Elems = append(r.Elems, p.expr())
	})
	p.expectOp(")", "or ',' in the row")
	r.Span = p.span(start)
	if len(r.Elems) == 1 {
		return r.Elems[0]
	}
	return r
}

// maxLookAhead bounds the tokens looked at by defaultInRow.
const maxLookAhead = 2000

// defaultInRow tells whether DEFAULT stands directly in the row at hand.
func (p *parser) defaultInRow() bool {
	depth := 0
	for n := 0; n < maxLookAhead; n++ {
		t := p.peek(n)
		switch {
		case t.op("("):
			depth++
		case t.op(")"):
			if depth--; depth == 0 {
				return false
			}
		case depth == 1 && t.is("DEFAULT") && (p.peek(n-1).op("(") || p.peek(n-1).op(",")):
			return true
		case t.kind == tokEOF, t.kind == tokBad:
			return false
		}
	}
	return false
}

// selectAliasInstead are the keywords that may follow a SELECT item: misspelt they look like an alias.
var selectAliasInstead = []string{"FROM", "WHERE", "UNION", "ORDER", "LIMIT", "INTERSECT", "EXCEPT", "BETWEEN", "LIKE"}

// tableAliasInstead are the keywords that may follow a table.
var tableAliasInstead = []string{
	"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "NATURAL", "UNION", "INTERSECT",
	"EXCEPT", "WINDOW", "QUALIFY", "OFFSET", "FETCH", "USING", "TABLESAMPLE", "MATCH_RECOGNIZE",
}

func (p *parser) selectCore() ast.Query {
	p.enter()
	defer p.leave()
	start := p.advance().pos
	s := &ast.Select{}
	if p.op("/*+") {
		s.Hints = p.hints()
	}
	switch p.acceptOne("DISTINCT", "ALL") {
	case "DISTINCT":
		s.Distinct = true
	case "ALL":
		s.All = true
	}
	if p.kw("TOP") && p.peek(1).kind == tokInt {
		p.failAt(p.tok(), "TOP is not in this dialect", "write LIMIT "+p.peek(1).val+" at the end of the query")
	}
	p.comma(func() { s.Items = append(s.Items, p.selectItem()) })
	if p.accept("FROM") {
		p.fromClauses(s)
	} else if t := p.tok(); t.is("WHERE") || t.is("GROUP") || t.is("HAVING") || t.is("WINDOW") || t.is("QUALIFY") {
		p.failHint("FROM before "+p.tok().word, "write FROM and a table first; a constant row is (VALUES 1)")
	}
	s.Span = p.span(start)
	return s
}

// fromClauses parses what follows FROM.
func (p *parser) fromClauses(s *ast.Select) {
	s.From = p.from()
	if p.accept("WHERE") {
		s.Where = p.expr()
	}
	if p.kw("GROUP") {
		s.GroupBy = p.groupBy()
	}
	if p.accept("HAVING") {
		s.Having = p.expr()
	}
	if p.accept("WINDOW") {
		p.comma(func() {
			start := p.tok().pos
			w := ast.NamedWindow{Name: p.name("a window's name")}
			p.expect("after the window's name", "AS")
			w.Spec = p.window(false)
			w.Span = p.span(start)
			s.Windows = append(s.Windows, w)
		})
	}
	if p.accept("QUALIFY") {
		s.Qualify = p.expr()
	}
}

func (p *parser) selectItem() ast.SelectItem {
	start := p.tok().pos
	var i ast.SelectItem
	if p.op("*") {
		p.advance()
		i.X = &ast.Star{Span: p.span(start)}
		if p.kw("EXCEPT") && p.peek(1).op("(") && !p.queryAhead(1) || p.kw("EXCLUDE") || p.kw("REPLACE") && p.peek(1).op("(") {
			p.failAt(p.tok(), "* "+p.tok().word+" is not in this dialect", "list the columns that you want")
		}
	} else {
		i.X = p.expr()
		if id, ok := i.X.(*ast.Identifier); ok && p.op(".") && p.peek(1).op("*") {
			p.advance()
			p.advance()
			i.X = &ast.Star{Span: p.span(start), Qualifier: id}
		}
	}
	i.Alias = p.aliasName(selectAliasInstead)
	i.Span = p.span(start)
	return i
}

// aliasName parses [AS] name; nil if there is none.
func (p *parser) aliasName(instead []string) *ast.Name {
	if p.accept("AS") {
		if k := p.tok().kind; k == tokString {
			p.failHint("an alias after AS", "an alias is a name: `"+p.tok().val+"`")
		}
		n := p.name("an alias name after AS")
		return &n
	}
	if p.tok().kind == tokString {
		p.failHint("an alias or ','", "an alias is a name, in back-ticks if need be: `"+shorten(p.tok().val)+"`; strings are joined by ||")
	}
	if !p.isName() {
		return nil
	}
	p.takeAlias(instead)
	n := p.nameHere()
	return &n
}

func (p *parser) groupBy() *ast.GroupBy {
	start := p.tok().pos
	p.expect("", "GROUP")
	p.expect("after GROUP", "BY")
	g := &ast.GroupBy{}
	if q := p.acceptOne("DISTINCT", "ALL"); q != "" {
		g.Quantifier = q
		if p.tok().kind == tokEOF || p.op(";") {
			p.failHint("a column after GROUP BY "+q, "list the columns: GROUP BY ALL alone is not in this dialect")
		}
	}
	p.comma(func() { g.Items = append(g.Items, p.groupItem()) })
	g.Span = p.span(start)
	return g
}

func (p *parser) groupItem() ast.GroupItem {
	p.enter()
	defer p.leave()
	start := p.tok().pos
	var g ast.GroupItem
	switch {
	case p.kws("GROUPING", "SETS"):
		g.Kind = "GROUPING SETS"
		p.advance()
		p.advance()
		p.expectOp("(", "after GROUPING SETS")
		p.comma(func() { g.Sets = append(g.Sets, p.groupItem()) })
		p.expectOp(")", "or ',' in GROUPING SETS")
	case p.kw("ROLLUP") || p.kw("CUBE"):
		g.Kind = p.advance().word
		p.expectOp("(", "after "+g.Kind)
		p.comma(func() { g.Exprs = append(g.Exprs, p.expr()) })
		p.expectOp(")", "or ',' in "+g.Kind)
	case p.op("(") && p.peek(1).op(")"):
		p.advance()
		p.advance()
	default:
		g.X = p.expr()
	}
	g.Span = p.span(start)
	return g
}

// hints parses what stands between /*+ and */.
func (p *parser) hints() []ast.Hint {
	p.advance()
	var out []ast.Hint
	p.comma(func() { out = append(out, p.hint()) })
	p.expectOp("*/", "or ',' in the hints")
	return out
}

func (p *parser) hint() ast.Hint {
	start := p.tok().pos
	h := ast.Hint{Name: p.name("a hint's name").Text}
	if p.acceptOp("(") {
		if !p.op(")") {
			p.hintArgs(&h)
		}
		p.expectOp(")", "or ',' in the hint")
	}
	h.Span = p.span(start)
	return h
}

// hintArgs parses the arguments of a hint: all are options, names, numbers, or strings.
func (p *parser) hintArgs(h *ast.Hint) {
	first := *p.tok()
	if p.peek(1).op("=") {
		p.comma(func() { h.Options = append(h.Options, p.hintOption()) })
		return
	}
	p.comma(func() {
		t := p.tok()
		switch {
		case first.kind == tokString && t.kind == tokString:
			l := p.stringLiteral()
			h.Args = append(h.Args, ast.HintArg{Span: l.Span, Kind: ast.HintString, Text: l.Text})
		case (first.kind == tokInt || first.kind == tokDecimal) && t.kind == first.kind:
			n := p.advance()
			h.Args = append(h.Args, ast.HintArg{Span: p.span(n.pos), Kind: ast.HintNumber, Text: n.val})
		case (first.kind == tokWord || first.kind == tokQuoted) && p.isName():
			n := p.nameHere()
			h.Args = append(h.Args, ast.HintArg{Span: n.Span, Kind: ast.HintName, Text: n.Text})
		default:
			p.fail("an argument of the hint: all are 'key'='value' pairs, or names, or strings, or numbers")
		}
	})
}

func (p *parser) hintOption() ast.Option {
	start := p.tok().pos
	var o ast.Option
	if p.isName() {
		n := p.nameHere()
		o.Key = &ast.Literal{Span: n.Span, Kind: ast.StringLit, Text: n.Text}
	} else {
		o.Key = p.str("an option's key")
	}
	p.expectOp("=", "after the option's key")
	o.Value = p.str("the option's value")
	o.Span = p.span(start)
	return o
}

// patternText parses the pattern of MATCH_RECOGNIZE up to its ')' and gives its tokens.
func (p *parser) patternText() string {
	p.expectOp("(", "after PATTERN")
	var words []string
	if p.acceptOp("^") {
		words = append(words, "^")
	}
	p.pattern(&words, ")")
	if p.acceptOp("$") {
		words = append(words, "$")
	}
	p.expectOp(")", "at the end of PATTERN")
	return strings.Join(words, " ")
}

// pattern parses alternatives of sequences up to the closing token.
func (p *parser) pattern(words *[]string, closing string) {
	p.enter()
	defer p.leave()
	take := func() string {
		t := p.advance()
		s := t.val
		if t.kind == tokQuoted {
			s = ast.QuoteName(s)
		}
		*words = append(*words, s)
		return s
	}
	empty := true
	for !p.op(closing) && !p.op("$") {
		switch {
		case p.op("("):
			take()
			p.pattern(words, ")")
			if !p.op(")") {
				p.fail("')' in the pattern")
			}
			take()
		case p.op("{"):
			take()
			if !p.op("-") {
				p.fail("'-' after '{' in the pattern")
			}
			take()
			p.pattern(words, "-")
			take()
			if !p.op("}") {
				p.fail("'}' after '-' in the pattern")
			}
			take()
		case p.kw("PERMUTE"):
			p.permute(take, words)
		case p.isName():
			take()
		default:
			p.fail("a pattern variable or ')'")
		}
		p.quantifier(take)
		empty = false
		if p.op("|") {
			take()
			empty = true
		}
	}
	if empty {
		p.fail("a pattern variable")
	}
}

func (p *parser) permute(take func() string, words *[]string) {
	take()
	if !p.op("(") {
		p.fail("'(' after PERMUTE")
	}
	take()
	for {
		if !p.isName() {
			p.fail("a pattern variable")
		}
		take()
		if !p.op(",") {
			break
		}
		take()
	}
	if !p.op(")") {
		p.fail("')' or ',' in PERMUTE")
	}
	take()
}

// quantifier parses * + ? {n} {n,} {,m} {n,m}, with ? for reluctant.
func (p *parser) quantifier(take func() string) {
	switch {
	case p.op("*"), p.op("+"), p.op("?"):
		take()
	case p.op("{") && !p.peek(1).op("-"):
		take()
		n := 0
		if p.tok().kind == tokInt {
			take()
			n++
		}
		if p.op(",") {
			take()
			if p.tok().kind == tokInt {
				take()
				n++
			}
		}
		if n == 0 || !p.op("}") {
			p.fail("a quantifier as {2}, {2,} or {2,5}")
		}
		take()
	default:
		return
	}
	if p.op("?") {
		take()
	}
}
