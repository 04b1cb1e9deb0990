package parse

import "staunch/sql/ast"

// from parses the table references of FROM: joins, and commas, which bind less than joins.
func (p *parser) from() ast.TableRef {
	start := p.tok().pos
	t := p.joined()
	for p.op(",") {
		comma := p.advance()
		if p.tok().kind == tokEOF || p.op(";") || p.op(")") || p.tok().kind == tokWord && startsClause[p.tok().word] {
			t := *p.tok()
			p.failAt(&t, "expected a table after ',', found "+describe(&t), "remove the comma at "+comma.pos.String())
		}
		right := p.joined()
		t = &ast.Join{Span: p.span(start), Kind: ",", Left: t, Right: right}
	}
	return t
}

// joined parses a table reference with the joins after it.
func (p *parser) joined() ast.TableRef {
	start := p.tok().pos
	return p.joins(start, p.tableRef())
}

func (p *parser) joins(start ast.Pos, left ast.TableRef) ast.TableRef {
	for {
		j := p.joinKind()
		if j == nil {
			return left
		}
		j.Left = left
		j.Right = p.tableRef()
		switch {
		case p.kw("ON") && !(p.peek(1).is("CONFLICT") && p.peek(2).is("DO")):
			p.advance()
			j.On = p.expr()
		case p.kw("USING"):
			p.advance()
			j.Using = p.nameList("a column name")
		}
		j.Span = p.span(start)
		left = j
	}
}

// joinKind parses the words of a join up to JOIN; nil if there is no join.
func (p *parser) joinKind() *ast.Join {
	j := &ast.Join{Kind: "INNER"}
	first := *p.tok()
	j.Natural = p.accept("NATURAL")
	switch {
	case p.kw("JOIN"):
	case p.accept("INNER"):
	case p.kw("CROSS") || p.kws("OUTER", "APPLY"):
		if p.peek(1).is("APPLY") {
			p.failAt(&first, "APPLY is not in this dialect", "write CROSS JOIN LATERAL TABLE(f(x)), or LEFT JOIN LATERAL TABLE(f(x)) ON TRUE")
		}
		p.advance()
		j.Kind = "CROSS"
	case p.kw("LEFT") || p.kw("RIGHT") || p.kw("FULL"):
		j.Kind = p.advance().word
		if w := p.acceptOne("SEMI", "ANTI"); w != "" {
			hint := "write WHERE EXISTS (SELECT ..)"
			if w == "ANTI" {
				hint = "write WHERE NOT EXISTS (SELECT ..)"
			}
			p.failAt(&first, w+" JOIN is not in this dialect", hint)
		}
		p.accept("OUTER")
	case j.Natural:
		p.fail("JOIN after NATURAL")
	default:
		return nil
	}
	if !p.accept("JOIN") {
		p.fail("JOIN after " + j.Kind)
	}
	return j
}

// tableRef parses one table of FROM.
func (p *parser) tableRef() ast.TableRef {
	p.enter()
	defer p.leave()
	start := p.tok().pos
	switch {
	case p.op("("):
		return p.tableParenthesis()
	case p.accept("LATERAL"):
		return p.lateral(start)
	case p.kw("UNNEST"):
		return p.unnest(start, false)
	case p.kw("TABLE"):
		return p.tableFunction(start, false)
	case p.kw("VALUES") || p.kw("SELECT") || p.kw("WITH"):
		p.failHint("a table", "a query in FROM goes in parentheses: FROM ("+p.tok().word+" ..) AS t")
	case p.tok().kind == tokString:
		p.failHint("a table", "a table's name goes in back-ticks if need be: `"+shorten(p.tok().val)+"`")
	}
	id := p.identifier("a table name")
	if p.op("(") {
		return p.implicitFunction(start, id)
	}
	return p.namedTable(start, id)
}

// implicitFunction parses f(x) in FROM.
func (p *parser) implicitFunction(start ast.Pos, id *ast.Identifier) ast.TableRef {
	c := &ast.Call{Func: id}
	p.advance()
	p.tableArguments(c)
	c.Span = p.span(start)
	f := &ast.TableFunction{Call: c}
	f.Alias = p.tableAlias()
	f.Span = p.span(start)
	return f
}

func (p *parser) namedTable(start ast.Pos, id *ast.Identifier) ast.TableRef {
	t := &ast.Table{Name: id}
	if p.op("/*+") {
		t.Hints = p.hints()
	}
	if p.kws("FOR", "SYSTEM_TIME") {
		p.accept("FOR", "SYSTEM_TIME")
		p.expect("in FOR SYSTEM_TIME AS OF", "AS", "OF")
		t.AsOf = p.expr()
	}
	if m := p.matchRecognize(start, t); m != nil {
		t.Span = p.span(start)
		return m
	}
	t.Alias = p.tableAlias()
	if p.kws("FOR", "SYSTEM_TIME") {
		p.failHint("the end of the table", "the alias goes after it: t FOR SYSTEM_TIME AS OF x AS "+t.Alias.Name.Text)
	}
	t.Sample = p.sample()
	t.Span = p.span(start)
	if m := p.matchRecognize(start, t); m != nil {
		return m
	}
	return t
}

func (p *parser) lateral(start ast.Pos) ast.TableRef {
	switch {
	case p.kw("UNNEST"):
		return p.unnest(start, true)
	case p.kw("TABLE"):
		return p.tableFunction(start, true)
	case p.op("("):
		x := p.tableParenthesis()
		d, ok := x.(*ast.Derived)
		if !ok {
			p.failHint("a query after LATERAL", "write LATERAL (SELECT ..) or LATERAL TABLE(f(x))")
		}
		d.Lateral = true
		d.Start = start
		return d
	}
	p.failHint("TABLE(..), UNNEST(..) or a query in parentheses after LATERAL", "write LATERAL TABLE(f(x))")
	return nil
}

// tableFunction parses TABLE(f(..)).
func (p *parser) tableFunction(start ast.Pos, lateral bool) ast.TableRef {
	p.advance()
	p.expectOp("(", "after TABLE")
	id := p.identifier("a table function")
	if !p.op("(") {
		p.failHint("'(' after the function's name", "a plain table is named without TABLE( ) in FROM")
	}
	c := &ast.Call{Func: id}
	p.advance()
	p.tableArguments(c)
	c.Span = p.span(id.Start)
	p.expectOp(")", "at the end of TABLE(")
	f := &ast.TableFunction{Lateral: lateral, Wrapped: true, Call: c}
	f.Alias = p.tableAlias()
	f.Span = p.span(start)
	return f
}

func (p *parser) unnest(start ast.Pos, lateral bool) ast.TableRef {
	p.advance()
	u := &ast.Unnest{Lateral: lateral}
	p.expectOp("(", "after UNNEST")
	c := &ast.Call{}
	if p.bareQuery(c, (*parser).query) {
		u.Exprs = []ast.Expr{c.Args[0].Value}
	} else {
		p.comma(func() { u.Exprs = append(u.Exprs, p.argumentValue()) })
		p.expectOp(")", "at the end of UNNEST")
	}
	u.Ordinality = p.accept("WITH", "ORDINALITY")
	u.Alias = p.tableAlias()
	u.Span = p.span(start)
	return u
}

// tableParenthesis parses (query) [alias] and (join).
func (p *parser) tableParenthesis() ast.TableRef {
	start := p.tok().pos
	q, t := p.queryOrJoin()
	if t != nil {
		return t
	}
	d := &ast.Derived{Query: q}
	d.Alias = p.tableAlias()
	d.Sample = p.sample()
	d.Span = p.span(start)
	if m := p.matchRecognize(start, d); m != nil {
		return m
	}
	return d
}

// queryOrJoin parses (..) in FROM: one of the results is set. ((SELECT 1) UNION ..) and ((SELECT 1) t JOIN ..) differ only
// after the inner parenthesis.
func (p *parser) queryOrJoin() (ast.Query, ast.TableRef) {
	p.enter()
	defer p.leave()
	p.advance()
	inner := p.tok().pos
	if p.queryAhead(0) && !p.op("(") {
		q := p.query()
		p.expectOp(")", "at the end of the query")
		return q, nil
	}
	var t ast.TableRef
	if p.op("(") {
		q, r := p.queryOrJoin()
		switch {
		case r != nil:
			t = r
		case p.op(")") || p.continuesQuery():
			q = p.queryFrom(inner, q)
			p.expectOp(")", "at the end of the query")
			return q, nil
		default:
			d := &ast.Derived{Query: q}
			d.Alias = p.tableAlias()
			d.Span = p.span(inner)
			t = d
		}
	} else {
		t = p.tableRef()
	}
	t = p.joins(inner, t)
	if _, ok := t.(*ast.Join); !ok {
		p.failHint("a join in the parentheses", "a single table stands without parentheses")
	}
	if p.op(",") {
		p.failHint("')' after the join", "write CROSS JOIN instead of the comma")
	}
	p.expectOp(")", "after the join")
	return nil, t
}

// tableAlias parses [AS] name [(columns)]; nil if there is none.
func (p *parser) tableAlias() *ast.Alias {
	start := p.tok().pos
	n := p.aliasName(tableAliasInstead)
	if n == nil {
		return nil
	}
	a := &ast.Alias{Name: *n}
	if p.op("(") {
		a.Columns = p.nameList("a column name")
	}
	a.Span = p.span(start)
	return a
}

// sample parses TABLESAMPLE; nil if there is none.
func (p *parser) sample() *ast.Sample {
	start := p.tok().pos
	if !p.accept("TABLESAMPLE") {
		return nil
	}
	s := &ast.Sample{Method: p.expectOne("after TABLESAMPLE", "BERNOULLI", "SYSTEM", "SUBSTITUTE")}
	p.expectOp("(", "after "+s.Method)
	if s.Method == "SUBSTITUTE" {
		s.Percent = p.str("a name")
	} else {
		if k := p.tok().kind; k != tokInt && k != tokDecimal {
			p.fail("a percentage")
		}
		s.Percent = p.number().(*ast.Literal)
	}
	p.expectOp(")", "after the percentage")
	if s.Method != "SUBSTITUTE" && p.accept("REPEATABLE") {
		p.expectOp("(", "after REPEATABLE")
		s.Repeatable = p.integer("a seed")
		p.expectOp(")", "after the seed")
	}
	s.Span = p.span(start)
	return s
}

// matchRecognize parses a MATCH_RECOGNIZE clause after t; nil if there is none.
func (p *parser) matchRecognize(start ast.Pos, t ast.TableRef) ast.TableRef {
	if !p.accept("MATCH_RECOGNIZE") {
		return nil
	}
	m := &ast.MatchRecognize{Table: t}
	p.expectOp("(", "after MATCH_RECOGNIZE")
	if p.accept("PARTITION") {
		p.expect("in PARTITION BY", "BY")
		p.comma(func() { m.Partition = append(m.Partition, p.expr()) })
	}
	if p.kw("ORDER") {
		m.Order = p.orderBy()
	}
	if p.accept("MEASURES") {
		p.comma(func() {
			s := p.tok().pos
			i := ast.SelectItem{X: p.expr()}
			p.expect("after the measure", "AS")
			n := p.name("a name for the measure")
			i.Alias = &n
			i.Span = p.span(s)
			m.Measures = append(m.Measures, i)
		})
	}
	p.matchRows(m)
	p.expect("in MATCH_RECOGNIZE", "PATTERN")
	m.Pattern = p.patternText()
	if p.accept("WITHIN") {
		if !p.kw("INTERVAL") {
			p.failHint("an interval after WITHIN", "write WITHIN INTERVAL '1' HOUR")
		}
		m.Within = p.interval()
	}
	p.matchDefine(m)
	p.expectOp(")", "at the end of MATCH_RECOGNIZE")
	m.Alias = p.tableAlias()
	m.Span = p.span(start)
	return m
}

// matchRows parses ONE ROW PER MATCH and AFTER MATCH SKIP.
func (p *parser) matchRows(m *ast.MatchRecognize) {
	switch {
	case p.accept("ONE"):
		p.expect("in ONE ROW PER MATCH", "ROW", "PER", "MATCH")
		m.Rows = "ONE ROW PER MATCH"
	case p.accept("ALL"):
		p.expect("in ALL ROWS PER MATCH", "ROWS", "PER", "MATCH")
		m.Rows = "ALL ROWS PER MATCH"
	}
	if !p.accept("AFTER") {
		return
	}
	p.expect("in AFTER MATCH SKIP", "MATCH", "SKIP")
	if p.accept("PAST") {
		p.expect("in SKIP PAST LAST ROW", "LAST", "ROW")
		m.After = "PAST LAST ROW"
		return
	}
	p.expect("after AFTER MATCH SKIP", "TO")
	switch {
	case p.accept("NEXT"):
		p.expect("in SKIP TO NEXT ROW", "ROW")
		m.After = "TO NEXT ROW"
	case (p.kw("FIRST") || p.kw("LAST")) && (p.peek(1).kind == tokQuoted || p.peek(1).kind == tokWord && !reserved[p.peek(1).word]):
		w := p.advance().word
		m.After = "TO " + w + " " + p.patternVariable()
	default:
		m.After = "TO " + p.patternVariable()
	}
}

// matchDefine parses SUBSET and DEFINE.
func (p *parser) matchDefine(m *ast.MatchRecognize) {
	if p.accept("SUBSET") {
		p.comma(func() {
			s := p.tok().pos
			u := ast.PatternSubset{Name: p.name("a pattern variable")}
			p.expectOp("=", "after the variable of SUBSET")
			u.Items = p.nameList("a pattern variable")
			u.Span = p.span(s)
			m.Subsets = append(m.Subsets, u)
		})
	}
	p.expect("in MATCH_RECOGNIZE", "DEFINE")
	p.comma(func() {
		s := p.tok().pos
		d := ast.PatternDefine{Name: p.name("a pattern variable")}
		p.expect("after the variable of DEFINE", "AS")
		d.Cond = p.expr()
		d.Span = p.span(s)
		m.Define = append(m.Define, d)
	})
}

// patternVariable parses a pattern variable and gives it as SQL text.
func (p *parser) patternVariable() string {
	n := p.name("a pattern variable")
	if n.Quoted {
		return ast.QuoteName(n.Text)
	}
	return n.Text
}
