package parse

import (
	"staunch/sql/ast"
)

// special parses the expressions that begin with a word and have a syntax of their own; nil if the word begins none.
func (p *parser) special() ast.Expr {
	t := p.tok()
	start := t.pos
	if f := specialForms[t.word]; f != nil {
		return f(p)
	}
	paren := p.peek(1).op("(")
	if f := specialCalls[t.word]; f != nil && paren {
		return f(p)
	}
	switch t.word {
	case "TRUE", "FALSE", "UNKNOWN":
		word := p.advance().word
		return &ast.Literal{Span: p.span(start), Kind: ast.BooleanLit, Text: word}
	case "NULL":
		p.advance()
		return &ast.Literal{Span: p.span(start), Kind: ast.NullLit}
	case "DATE", "TIME", "TIMESTAMP", "DATETIME":
		return p.timeLiteral()
	case "MAP", "ARRAY", "MULTISET":
		if p.peek(1).op("[") || paren && p.queryAhead(2) || paren && t.word == "MULTISET" {
			return p.collectionValue()
		}
	}
	if bareFunctions[t.word] {
		if paren && reservedFunctions[t.word] {
			return nil
		}
		if paren {
			p.failAt(p.peek(1), t.word+" takes no parentheses", "write "+t.word)
		}
		n := p.nameHere()
		return &ast.Call{Span: n.Span, Func: &ast.Identifier{Span: n.Span, Parts: []ast.Name{n}}, NoParens: true}
	}
	return nil
}

// specialForms begin with their word whatever follows; specialCalls only if '(' follows. They are filled by init, since the
// functions in them refer back to special.
var specialForms, specialCalls map[string]func(*parser) ast.Expr

func init() {
	specialForms = map[string]func(*parser) ast.Expr{
		"CASE": (*parser).caseExpr, "INTERVAL": (*parser).interval, "CURSOR": (*parser).noCursor,
	}
	specialCalls = map[string]func(*parser) ast.Expr{
		"CAST": (*parser).cast, "TRY_CAST": (*parser).cast, "SAFE_CAST": (*parser).cast,
		"EXTRACT": (*parser).extract, "TRIM": (*parser).trim, "SUBSTRING": (*parser).substring, "POSITION": (*parser).position,
		"OVERLAY": (*parser).overlay, "FLOOR": (*parser).floor, "CEIL": (*parser).floor, "CEILING": (*parser).floor,
		"TIMESTAMPADD": (*parser).unitCall, "TIMESTAMPDIFF": (*parser).unitCall,
		"EXISTS": (*parser).exists, "UNIQUE": (*parser).exists, "ROW": (*parser).row, "PERIOD": (*parser).period,
		"JSON_EXISTS": (*parser).jsonPath, "JSON_VALUE": (*parser).jsonPath, "JSON_QUERY": (*parser).jsonPath,
		"JSON_OBJECT": (*parser).jsonObject, "JSON_ARRAY": (*parser).jsonArray,
		"JSON_OBJECTAGG": (*parser).jsonObject, "JSON_ARRAYAGG": (*parser).jsonArray,
		"DATE": (*parser).plainCall, "TIME": (*parser).plainCall, "TIMESTAMP": (*parser).plainCall, "DATETIME": (*parser).plainCall,
		"TRANSLATE": (*parser).plainCall, "CLASSIFIER": (*parser).noArgs, "MATCH_NUMBER": (*parser).noArgs,
		"PREV": (*parser).plainCall, "NEXT": (*parser).plainCall,
		"DATE_TRUNC": (*parser).plainCall, "DATETIME_TRUNC": (*parser).plainCall, "TIME_TRUNC": (*parser).plainCall,
		"TIMESTAMP_TRUNC": (*parser).plainCall, "TIMESTAMP_DIFF": (*parser).plainCall, "TIME_DIFF": (*parser).plainCall,
		"CONTAINS_SUBSTR": (*parser).plainCall, "DESCRIPTOR": (*parser).descriptor,
	}
}

// open consumes the function's name and '('; it gives the start and the upper-case name.
func (p *parser) open() (ast.Pos, string) {
	t := p.advance()
	p.advance()
	return t.pos, t.word
}

func (p *parser) noCursor() ast.Expr {
	p.failAt(p.tok(), "CURSOR is not supported here", "pass a table as TABLE t, or a query in parentheses")
	return nil
}

func (p *parser) caseExpr() ast.Expr {
	start := p.advance().pos
	c := &ast.Case{}
	if !p.kw("WHEN") {
		c.Operand = p.expr()
	}
	if !p.kw("WHEN") {
		p.fail("WHEN in CASE")
	}
	for p.kw("WHEN") {
		w := ast.When{}
		ws := p.advance().pos
		p.comma(func() { w.Conds = append(w.Conds, p.expr()) })
		p.expect("after the condition of WHEN", "THEN")
		w.Result = p.expr()
		w.Span = p.span(ws)
		c.Whens = append(c.Whens, w)
	}
	if p.accept("ELSE") {
		c.Else = p.expr()
	}
	if !p.kw("END") {
		p.fail("WHEN, ELSE or END in CASE")
	}
	p.advance()
	c.Span = p.span(start)
	return c
}

func (p *parser) cast() ast.Expr {
	start, word := p.open()
	c := &ast.Cast{Try: word != "CAST"}
	c.X = p.expr()
	p.expect("in CAST(x AS type)", "AS")
	c.Type = p.castType()
	p.expectOp(")", "after the type of "+word)
	c.Span = p.span(start)
	return c
}

// timeUnit parses the unit of EXTRACT, FLOOR and TIMESTAMPADD. Which ones exist is for the binder; here any name will do.
func (p *parser) timeUnit() string {
	t := p.tok()
	if u := intervalUnits[t.word]; u == t.word && u != "" {
		p.advance()
		return u
	}
	if t.kind == tokWord && !reserved[t.word] {
		return p.advance().word
	}
	if t.kind == tokQuoted {
		return p.advance().val
	}
	hint := ""
	if t.kind == tokString {
		hint = "the unit is a word, without quotes: " + shorten(t.val)
	}
	p.failHint("a unit (YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, ..)", hint)
	return ""
}

func (p *parser) extract() ast.Expr {
	start, _ := p.open()
	e := &ast.Extract{Unit: p.timeUnit()}
	p.expect("in EXTRACT(unit FROM x)", "FROM")
	e.X = p.expr()
	p.expectOp(")", "at the end of EXTRACT")
	e.Span = p.span(start)
	return e
}

func (p *parser) trim() ast.Expr {
	start, _ := p.open()
	t := &ast.Trim{Side: "BOTH"}
	if p.op(")") {
		p.fail("a string in TRIM")
	}
	side := p.acceptOne("BOTH", "LEADING", "TRAILING")
	if side != "" {
		t.Side = side
	}
	if !p.kw("FROM") {
		t.X = p.expr()
	} else if side == "" {
		p.failHint("a string in TRIM", "write TRIM(x), or TRIM(BOTH FROM x)")
	}
	if p.accept("FROM") {
		t.Chars = t.X
		t.X = p.expr()
	}
	p.expectOp(")", "at the end of TRIM")
	t.Span = p.span(start)
	return t
}

func (p *parser) substring() ast.Expr {
	start, _ := p.open()
	s := &ast.Substring{X: p.expr()}
	if !p.accept("FROM") {
		p.expectOp(",", "or FROM in SUBSTRING(x FROM n FOR n)")
	}
	s.From = p.expr()
	if p.accept("FOR") || p.acceptOp(",") {
		s.For = p.expr()
	}
	p.expectOp(")", "at the end of SUBSTRING")
	s.Span = p.span(start)
	return s
}

func (p *parser) position() ast.Expr {
	start, _ := p.open()
	// The IN between the arguments is not the operator IN: stop below its strength.
	x := &ast.Position{Sub: p.exprFrom(bindBetween + 1)}
	p.expect("in POSITION(x IN y)", "IN")
	x.X = p.expr()
	if p.accept("FROM") {
		x.From = p.expr()
	}
	p.expectOp(")", "at the end of POSITION")
	x.Span = p.span(start)
	return x
}

func (p *parser) overlay() ast.Expr {
	start, _ := p.open()
	o := &ast.Overlay{X: p.expr()}
	p.expect("in OVERLAY(x PLACING y FROM n)", "PLACING")
	o.Placing = p.expr()
	p.expect("in OVERLAY(x PLACING y FROM n)", "FROM")
	o.From = p.expr()
	if p.accept("FOR") {
		o.For = p.expr()
	}
	p.expectOp(")", "at the end of OVERLAY")
	o.Span = p.span(start)
	return o
}

// floor parses FLOOR(x), FLOOR(x TO unit) and the same of CEIL.
func (p *parser) floor() ast.Expr {
	t := *p.tok()
	start, word := p.open()
	x := p.expr()
	if p.accept("TO") {
		r := &ast.RoundTo{Ceil: word != "FLOOR", X: x, Unit: p.timeUnit()}
		p.expectOp(")", "after the unit")
		r.Span = p.span(start)
		return r
	}
	p.expectOp(")", "or TO unit in "+word)
	c := p.madeCall(t, x)
	c.Span = p.span(start)
	p.over(start, c)
	return c
}

// madeCall is a call of the function that t names.
func (p *parser) madeCall(t token, args ...ast.Expr) *ast.Call {
	sp := ast.Span{Start: t.pos, Stop: t.end}
	c := &ast.Call{Func: &ast.Identifier{Span: sp, Parts: []ast.Name{{Span: sp, Text: t.val}}}}
	for _, a := range args {
		c.Args = append(c.Args, ast.Arg{Span: ast.Span{Start: a.Pos(), Stop: a.End()}, Value: a})
	}
	return c
}

func (p *parser) unitCall() ast.Expr {
	start, word := p.open()
	u := &ast.UnitCall{Func: word, Unit: p.timeUnit()}
	for range 2 {
		p.expectOp(",", "in "+word+"(unit, x, y)")
		u.Args = append(u.Args, p.expr())
	}
	p.expectOp(")", "at the end of "+word)
	u.Span = p.span(start)
	return u
}

func (p *parser) exists() ast.Expr {
	start := p.tok().pos
	unique := p.advance().word == "UNIQUE"
	if !p.queryAhead(0) {
		p.fail("a query in parentheses")
	}
	x := p.parenthesis()
	s, ok := x.(*ast.Subquery)
	if !ok {
		p.fail("a query in parentheses")
	}
	return &ast.Exists{Span: p.span(start), Unique: unique, Query: s.Query}
}

func (p *parser) row() ast.Expr {
	start, _ := p.open()
	r := &ast.Row{Keyword: true}
	if p.op(")") {
		p.failHint("an expression in ROW(..)", "a row has at least one field")
	}
	p.comma(func() { r.Elems = append(r.Elems, p.expr()) })
	p.expectOp(")", "or ',' in ROW(..)")
	r.Span = p.span(start)
	return r
}

// period parses PERIOD(a, b), which is the row (a, b).
func (p *parser) period() ast.Expr {
	start, _ := p.open()
	r := &ast.Row{Elems: []ast.Expr{p.expr()}}
	p.expectOp(",", "in PERIOD(a, b)")
	r.Elems = append(r.Elems, p.expr())
	p.expectOp(")", "at the end of PERIOD")
	r.Span = p.span(start)
	return r
}

// timeLiteral parses DATE '..' and the like.
func (p *parser) timeLiteral() ast.Expr {
	t := *p.tok()
	kinds := map[string]ast.LiteralKind{"DATE": ast.DateLit, "TIME": ast.TimeLit, "TIMESTAMP": ast.TimestampLit, "DATETIME": ast.TimestampLit}
	if p.peek(1).kind != tokString {
		if t.word == "TIMESTAMP" && p.peek(1).is("WITH") {
			p.failAt(p.peek(1), "literals of TIMESTAMP WITH LOCAL TIME ZONE are not supported", "write CAST(TIMESTAMP '..' AS TIMESTAMP_LTZ(3))")
		}
		p.failReserved(t)
	}
	p.advance()
	s := p.advance()
	return &ast.Literal{Span: p.span(t.pos), Kind: kinds[t.word], Text: s.val}
}

// collectionValue parses ARRAY[..], MAP[..], MULTISET[..] and the same of a query in parentheses.
func (p *parser) collectionValue() ast.Expr {
	start := p.tok().pos
	word := p.advance().word
	var elems []ast.Expr
	var query ast.Query
	if p.op("(") {
		if !p.queryAhead(0) {
			p.fail("'[' or a query in parentheses")
		}
		x := p.parenthesis()
		s, ok := x.(*ast.Subquery)
		if !ok {
			p.fail("a query in parentheses")
		}
		query = s.Query
	} else {
		p.advance()
		if !p.op("]") {
			p.comma(func() { elems = append(elems, p.expr()) })
		}
		p.expectOp("]", "or ',' in "+word+"[..]")
	}
	sp := p.span(start)
	switch word {
	case "ARRAY":
		return &ast.Array{Span: sp, Elems: elems, Query: query}
	case "MAP":
		return &ast.Map{Span: sp, Elems: elems, Query: query}
	}
	return &ast.Multiset{Span: sp, Elems: elems, Query: query}
}

// plainCall parses a call of a reserved word as an ordinary function.
func (p *parser) plainCall() ast.Expr {
	n := p.nameHere()
	return p.call(&ast.Identifier{Span: n.Span, Parts: []ast.Name{n}})
}

// noArgs parses CLASSIFIER() and MATCH_NUMBER().
func (p *parser) noArgs() ast.Expr {
	t := *p.tok()
	start, word := p.open()
	p.expectOp(")", "after "+word+"(")
	c := p.madeCall(t)
	c.Span = p.span(start)
	return c
}

// descriptor parses DESCRIPTOR(a, b).
func (p *parser) descriptor() ast.Expr {
	start, _ := p.open()
	d := &ast.Descriptor{}
	if !p.op(")") {
		p.comma(func() {
			id := p.identifier("a column name in DESCRIPTOR")
			d.Columns = append(d.Columns, id)
		})
	}
	p.expectOp(")", "or ',' in DESCRIPTOR")
	d.Span = p.span(start)
	return d
}
