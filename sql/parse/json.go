package parse

import "staunch/sql/ast"

// jsonPath parses JSON_EXISTS, JSON_VALUE and JSON_QUERY.
func (p *parser) jsonPath() ast.Expr {
	start, word := p.open()
	j := &ast.JSONPath{Func: word, Doc: p.expr()}
	p.formatJSON()
	p.expectOp(",", "between document and path of "+word)
	j.Path = p.expr()
	if word != "JSON_EXISTS" && p.accept("RETURNING") {
		j.Returning = p.jsonType()
	}
	if word == "JSON_QUERY" {
		j.Wrapper = p.jsonWrapper()
	}
	for !p.op(")") {
		p.jsonOn(j)
	}
	p.advance()
	j.Span = p.span(start)
	return j
}

// jsonType parses the type of RETURNING: NULL ON EMPTY may follow it.
func (p *parser) jsonType() *ast.TypeName {
	t := p.bareType()
	for n := 0; p.kw("ARRAY") || p.kw("MULTISET"); n++ {
		t = p.collection(t, n)
	}
	return t
}

func (p *parser) formatJSON() bool { return p.accept("FORMAT", "JSON") }

// jsonWrapper parses WITH [CONDITIONAL|UNCONDITIONAL] [ARRAY] WRAPPER.
func (p *parser) jsonWrapper() string {
	w := ""
	switch {
	case p.accept("WITHOUT"):
		w = "WITHOUT ARRAY"
	case p.accept("WITH"):
		w = "WITH UNCONDITIONAL ARRAY"
		if p.acceptOne("CONDITIONAL", "UNCONDITIONAL") == "CONDITIONAL" {
			w = "WITH CONDITIONAL ARRAY"
		}
	default:
		return ""
	}
	p.accept("ARRAY")
	p.expect("at the end of WITH .. WRAPPER", "WRAPPER")
	return w
}

// jsonOn parses one `behavior ON EMPTY` or `behavior ON ERROR`.
func (p *parser) jsonOn(j *ast.JSONPath) {
	start := p.tok().pos
	b := &ast.JSONBehavior{}
	kinds := map[string][]string{
		"JSON_EXISTS": {"TRUE", "FALSE", "UNKNOWN", "ERROR"},
		"JSON_VALUE":  {"NULL", "ERROR", "DEFAULT"},
		"JSON_QUERY":  {"NULL", "ERROR", "EMPTY"},
	}[j.Func]
	b.Kind = p.acceptOne(kinds...)
	switch b.Kind {
	case "":
		p.fail("')' or one of " + orList(kinds) + " with ON ERROR" + map[bool]string{true: " or ON EMPTY"}[j.Func != "JSON_EXISTS"])
	case "DEFAULT":
		b.Value = p.expr()
	case "EMPTY":
		b.Kind += " " + p.expectOne("after EMPTY", "ARRAY", "OBJECT")
	}
	p.expect("after the behavior", "ON")
	b.Span = p.span(start)
	which := []string{"EMPTY", "ERROR"}
	if j.Func == "JSON_EXISTS" {
		which = which[1:]
	}
	t := *p.tok()
	slot := &j.OnError
	if p.expectOne("after ON", which...) == "EMPTY" {
		slot = &j.OnEmpty
	}
	if *slot != nil {
		p.failAt(&t, "ON "+t.word+" is given twice", "remove one")
	}
	*slot = b
}

// jsonNulls parses NULL ON NULL and ABSENT ON NULL.
func (p *parser) jsonNulls() string {
	for _, w := range [...]string{"NULL", "ABSENT"} {
		if p.accept(w, "ON", "NULL") {
			return w + " ON NULL"
		}
	}
	return ""
}

// jsonObject parses JSON_OBJECT and JSON_OBJECTAGG.
func (p *parser) jsonObject() ast.Expr {
	start, word := p.open()
	j := &ast.JSONMake{Func: word}
	j.Nulls = p.jsonNulls()
	if j.Nulls == "" && (!p.op(")") || word == "JSON_OBJECTAGG") {
		if word == "JSON_OBJECTAGG" {
			j.Pairs = append(j.Pairs, p.jsonPair())
		} else {
			p.comma(func() { j.Pairs = append(j.Pairs, p.jsonPair()) })
		}
		j.Nulls = p.jsonNulls()
	}
	p.expectOp(")", "or ',' in "+word)
	j.Span = p.span(start)
	return j
}

// jsonPair parses [KEY] k VALUE v and k : v.
func (p *parser) jsonPair() ast.JSONPair {
	start := p.tok().pos
	var a ast.JSONPair
	if p.kw("KEY") && !p.peek(1).is("VALUE") && !p.peek(1).op(":") && !p.peek(1).op(".") {
		p.advance()
	}
	a.Key = p.expr()
	if !p.accept("VALUE") && !p.acceptOp(":") {
		p.failHint("VALUE after the key", "write JSON_OBJECT('key' VALUE x)")
	}
	a.Value = p.expr()
	a.Format = p.formatJSON()
	a.Span = p.span(start)
	return a
}

// jsonArray parses JSON_ARRAY and JSON_ARRAYAGG.
func (p *parser) jsonArray() ast.Expr {
	start, word := p.open()
	j := &ast.JSONMake{Func: word}
	item := func() {
		s := p.tok().pos
		a := ast.JSONPair{Value: p.expr()}
		a.Format = p.formatJSON()
		a.Span = p.span(s)
		j.Pairs = append(j.Pairs, a)
	}
	j.Nulls = p.jsonNulls()
	switch {
	case word == "JSON_ARRAYAGG":
		item()
		if p.kw("ORDER") {
			j.Order = p.orderBy()
		}
		j.Nulls = p.jsonNulls()
	case j.Nulls == "" && !p.op(")"):
		p.comma(item)
		j.Nulls = p.jsonNulls()
	}
	p.expectOp(")", "or ',' in "+word)
	if word == "JSON_ARRAYAGG" && len(j.Order) == 0 && p.kws("WITHIN", "GROUP") {
		p.accept("WITHIN", "GROUP")
		p.expectOp("(", "after WITHIN GROUP")
		j.Order = p.orderBy()
		p.expectOp(")", "after ORDER BY")
	}
	j.Span = p.span(start)
	return j
}
