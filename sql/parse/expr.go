package parse

import (
	"strings"

	"staunch/sql/ast"
)

// Binding strengths of operators, as in Flink: the higher one binds first. Prefix operators bind their operand at their own
// strength; all infix operators of one strength associate to the left.
const (
	bindLowest     = 0
	bindUnion      = 14 // MULTISET UNION, MULTISET EXCEPT
	bindIntersect  = 18 // MULTISET INTERSECT
	bindOr         = 22
	bindAnd        = 24
	bindNot        = 26
	bindIs         = 28 // IS [NOT] NULL and the like
	bindComparison = 30 // = and the like, OVERLAPS, MEMBER OF, IS DISTINCT FROM
	bindBetween    = 32 // BETWEEN, IN
	bindLike       = 33 // LIKE, SIMILAR
	bindAdd        = 40 // + -
	bindMul        = 60 // * / % ||
	bindSign       = 80
)

var comparisonOps = map[string]ast.BinaryOp{
	"=": ast.OpEq, "<>": ast.OpNe, "<": ast.OpLt, "<=": ast.OpLe, ">": ast.OpGt, ">=": ast.OpGe,
}

var arithmeticOps = map[string]struct {
	op   ast.BinaryOp
	bind int
}{
	"+": {ast.OpAdd, bindAdd}, "-": {ast.OpSub, bindAdd},
	"*": {ast.OpMul, bindMul}, "/": {ast.OpDiv, bindMul}, "%": {ast.OpMod, bindMul}, "||": {ast.OpConcat, bindMul},
}

// wordOps are infix operators of one or more words.
var wordOps = []struct {
	words []string
	op    ast.BinaryOp
	bind  int
}{
	{[]string{"AND"}, ast.OpAnd, bindAnd},
	{[]string{"OR"}, ast.OpOr, bindOr},
	{[]string{"OVERLAPS"}, ast.OpOverlaps, bindComparison},
	{[]string{"CONTAINS"}, ast.OpContains, bindComparison},
	{[]string{"EQUALS"}, ast.OpEquals, bindComparison},
	{[]string{"PRECEDES"}, ast.OpPrecedes, bindComparison},
	{[]string{"SUCCEEDS"}, ast.OpSucceeds, bindComparison},
	{[]string{"IMMEDIATELY", "PRECEDES"}, ast.OpImmediatePrecedes, bindComparison},
	{[]string{"IMMEDIATELY", "SUCCEEDS"}, ast.OpImmediateSucceeds, bindComparison},
	{[]string{"MEMBER", "OF"}, ast.OpMemberOf, bindComparison},
	{[]string{"SUBMULTISET", "OF"}, ast.OpSubmultisetOf, bindComparison},
	{[]string{"NOT", "SUBMULTISET", "OF"}, ast.OpNotSubmultisetOf, bindComparison},
	{[]string{"MULTISET", "UNION"}, ast.OpMultisetUnion, bindUnion},
	{[]string{"MULTISET", "EXCEPT"}, ast.OpMultisetExcept, bindUnion},
	{[]string{"MULTISET", "INTERSECT"}, ast.OpMultisetIntersect, bindIntersect},
}

// expr parses an expression.
func (p *parser) expr() ast.Expr { return p.exprFrom(bindLowest) }

// exprFrom parses an expression of operators that bind at least as strongly as limit.
func (p *parser) exprFrom(limit int) ast.Expr {
	p.enter()
	defer p.leave()
	start := p.tok().pos
	x := p.prefix()
	for {
		y := p.infix(start, x, limit)
		if y == nil {
			return x
		}
		x = y
	}
}

// prefix parses a prefix operator with its operand, or a primary.
func (p *parser) prefix() ast.Expr {
	start := p.tok().pos
	unary := func(op ast.UnaryOp, bind int) ast.Expr {
		p.advance()
		x := p.exprFrom(bind)
		return &ast.Unary{Span: p.span(start), Op: op, X: x}
	}
	switch {
	case p.op("-"):
		return unary(ast.OpMinus, bindSign)
	case p.op("+"):
		return unary(ast.OpPlus, bindSign)
	case p.kw("NOT"):
		return unary(ast.OpNot, bindNot)
	case p.kw("RUNNING"), p.kw("FINAL") && p.startsCall(1):
		return unary(ast.UnaryOp(p.tok().word), bindSign)
	}
	return p.postfix(start, p.primary())
}

// startsCall tells whether a name and '(' stand at the n-th place ahead.
func (p *parser) startsCall(n int) bool {
	k := p.peek(n).kind
	return (k == tokWord || k == tokQuoted) && p.peek(n+1).op("(")
}

// postfix parses the [index] and .field after x.
func (p *parser) postfix(start ast.Pos, x ast.Expr) ast.Expr {
	for {
		switch {
		case p.acceptOp("["):
			i := p.expr()
			p.expectOp("]", "after the index")
			x = &ast.Subscript{Span: p.span(start), X: x, Index: i}
		case p.op(".") && !p.peek(1).op("*"):
			p.advance()
			x = &ast.Field{X: x, Name: p.name("a field name after the dot")}
			x.(*ast.Field).Span = p.span(start)
		default:
			return x
		}
	}
}

// infix parses one infix or postfix operator after x; nil if there is none that binds as strongly as limit.
func (p *parser) infix(start ast.Pos, x ast.Expr, limit int) ast.Expr {
	t := p.tok()
	if t.kind == tokOp {
		if a, ok := arithmeticOps[t.val]; ok {
			return p.binary(start, x, a.op, a.bind, 1, limit)
		}
		if op, ok := comparisonOps[t.val]; ok {
			return p.comparison(start, x, op, limit)
		}
		switch t.val {
		case "!=", "==", "::", "<=>", "&&", "**", "<<", "|", "^", "->":
			p.fail("an operator or the end of the expression")
		}
		return nil
	}
	if t.kind != tokWord {
		return nil
	}
	if p.kw("IS") {
		return p.is(start, x, limit)
	}
	if y := p.rangeOp(start, x, limit); y != nil {
		return y
	}
	for _, w := range wordOps {
		if p.kws(w.words...) {
			return p.binary(start, x, w.op, w.bind, len(w.words), limit)
		}
	}
	return nil
}

// binary parses the operator of n words and its right operand.
func (p *parser) binary(start ast.Pos, x ast.Expr, op ast.BinaryOp, bind, n, limit int) ast.Expr {
	if bind < limit {
		return nil
	}
	opPos := p.tok().pos
	for range n {
		p.advance()
	}
	if strings.HasPrefix(string(op), "MULTISET ") && p.acceptOne("ALL", "DISTINCT") == "DISTINCT" {
		op += " DISTINCT"
	}
	y := p.exprFrom(bind + 1)
	return &ast.Binary{Span: p.span(start), OpPos: opPos, Op: op, X: x, Y: y}
}

// comparison parses = and the like, also = ANY (..).
func (p *parser) comparison(start ast.Pos, x ast.Expr, op ast.BinaryOp, limit int) ast.Expr {
	next := p.peek(1)
	quantified := (next.is("ANY") || next.is("SOME") || next.is("ALL")) && p.peek(2).op("(")
	if !quantified || bindComparison < limit {
		return p.binary(start, x, op, bindComparison, 1, limit)
	}
	p.advance()
	q := &ast.Quantified{X: x, Op: op, Quantifier: p.advance().word}
	q.List, q.Query = p.inList()
	q.Span = p.span(start)
	return q
}

// inList parses (a, b) or (query).
func (p *parser) inList() ([]ast.Expr, ast.Query) {
	if !p.op("(") {
		p.failHint("'(' and a list or a query", "write IN (a, b)")
	}
	if p.queryAhead(1) {
		x := p.primary()
		if s, ok := x.(*ast.Subquery); ok {
			return nil, s.Query
		}
		if r, ok := x.(*ast.Row); ok {
			return r.Elems, nil
		}
		return []ast.Expr{x}, nil
	}
	open := p.advance().pos
	var list []ast.Expr
	p.comma(func() { list = append(list, p.expr()) })
	p.closing(open, "or ',' in the list")
	return list, nil
}

// is parses IS [NOT] .. after x.
func (p *parser) is(start ast.Pos, x ast.Expr, limit int) ast.Expr {
	n := 1
	not := p.peek(n).is("NOT")
	if not {
		n++
	}
	if p.peek(n).is("DISTINCT") && p.peek(n+1).is("FROM") {
		op := ast.OpDistinctFrom
		if not {
			op = ast.OpNotDistinctFrom
		}
		return p.binary(start, x, op, bindComparison, n+2, limit)
	}
	if bindIs < limit {
		return nil
	}
	p.advance()
	p.accept("NOT")
	i := &ast.Is{X: x, Not: not}
	switch {
	case p.accept("A"):
		p.expect("in IS A SET", "SET")
		i.What = "A SET"
	case p.accept("JSON"):
		i.What = "JSON"
		if w := p.acceptOne("VALUE", "OBJECT", "ARRAY", "SCALAR"); w != "" {
			i.What += " " + w
		}
	default:
		i.What = p.expectOne("after IS", "NULL", "TRUE", "FALSE", "UNKNOWN", "EMPTY", "DISTINCT FROM", "JSON")
	}
	i.Span = p.span(start)
	return i
}

// rangeOp parses [NOT] BETWEEN, IN, LIKE, ILIKE, RLIKE, SIMILAR TO; nil if it is none of them.
func (p *parser) rangeOp(start ast.Pos, x ast.Expr, limit int) ast.Expr {
	n := 0
	not := p.kw("NOT")
	if not {
		n++
	}
	var word string
	for _, w := range [...]string{"BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "SIMILAR"} {
		if n == 0 && p.kw(w) || n == 1 && p.peek(1).is(w) {
			word = w
		}
	}
	bind := bindBetween
	if word != "BETWEEN" && word != "IN" {
		bind = bindLike
	}
	if word == "" || bind < limit {
		return nil
	}
	for range n + 1 {
		p.advance()
	}
	switch word {
	case "BETWEEN":
		return p.between(start, x, not)
	case "IN":
		i := &ast.In{X: x, Not: not}
		i.List, i.Query = p.inList()
		i.Span = p.span(start)
		return i
	case "SIMILAR":
		p.expect("in SIMILAR TO", "TO")
		word = "SIMILAR TO"
	}
	if p.kw("ANY") || p.kw("ALL") {
		p.failHint("a pattern", "write a LIKE p1 OR a LIKE p2")
	}
	// LIKE associates to the right, as in Flink: of `a LIKE b LIKE c` the pattern is b LIKE c.
	l := &ast.Like{X: x, Not: not, Op: word, Pattern: p.exprFrom(bindBetween)}
	if p.accept("ESCAPE") {
		l.Escape = p.exprFrom(bindLike + 1)
	}
	l.Span = p.span(start)
	return l
}

func (p *parser) between(start ast.Pos, x ast.Expr, not bool) ast.Expr {
	b := &ast.Between{X: x, Not: not}
	b.Symmetric = p.acceptOne("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
	// Flink lets OR stand in the lower bound: only AND ends it.
	low := p.tok().pos
	b.Low = p.exprFrom(bindAnd + 1)
	for p.kw("OR") {
		or := p.advance().pos
		y := p.exprFrom(bindAnd + 1)
		b.Low = &ast.Binary{Span: p.span(low), OpPos: or, Op: ast.OpOr, X: b.Low, Y: y}
	}
	p.expect("between the bounds of BETWEEN", "AND")
	b.High = p.exprFrom(bindBetween + 1)
	b.Span = p.span(start)
	return b
}

// primary parses an operand.
func (p *parser) primary() ast.Expr {
	t := p.tok()
	start := t.pos
	switch t.kind {
	case tokInt, tokDecimal, tokDouble:
		return p.number()
	case tokString, tokUnicode:
		return p.stringLiteral()
	case tokBinary:
		return p.binaryLiteral()
	case tokQuoted:
		return p.nameOrCall()
	case tokOp:
		switch t.val {
		case "(":
			return p.parenthesis()
		case "?":
			p.advance()
			return &ast.Param{Span: p.span(start)}
		}
	case tokWord:
		if x := p.special(); x != nil {
			return x
		}
		if !reserved[t.word] || reservedFunctions[t.word] && p.peek(1).op("(") {
			return p.nameOrCall()
		}
		p.failReserved(*t)
	}
	p.fail("an expression")
	return nil
}

// failReserved refuses a reserved word where an expression should begin.
func (p *parser) failReserved(t token) {
	const what = "an expression"
	if w := near(t.word, p.tried); w != "" && !startsClause[t.word] {
		p.fail(what)
	}
	hint := ""
	if startsClause[t.word] {
		if t.word == "ON" {
			hint = "DISTINCT ON is not in this dialect: use ROW_NUMBER() OVER (PARTITION BY .. ORDER BY ..) = 1"
		}
		// Nothing goes before a clause: most often a comma too many.
		if p.endsWithComma(t.pos.Offset) {
			hint = "remove the comma before " + t.word + ", lists have no trailing comma"
		}
	} else {
		hint = t.word + " is a reserved word; as a name it goes in back-ticks: `" + t.val + "`"
	}
	p.failAt(&t, "expected "+what+", found "+describe(&t), hint)
}

// endsWithComma tells whether the last token before offset is a comma.
func (p *parser) endsWithComma(offset int) bool {
	return strings.HasSuffix(strings.TrimRight(p.src[:offset], " \t\r\n"), ",")
}

// startsClause are the reserved words that begin a clause: found where an expression should be, something is missing.
var startsClause = wordSet(`FROM WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH UNION INTERSECT EXCEPT WINDOW QUALIFY ON USING THEN WHEN
	ELSE END AS JOIN INNER CROSS NATURAL AND OR WITH SELECT`)

func (p *parser) number() ast.Expr {
	t := p.advance()
	kind := map[tokenKind]ast.LiteralKind{tokInt: ast.IntegerLit, tokDecimal: ast.DecimalLit, tokDouble: ast.DoubleLit}[t.kind]
	return &ast.Literal{Span: p.span(t.pos), Kind: kind, Text: t.val}
}

func (p *parser) binaryLiteral() ast.Expr {
	t := p.advance()
	l := &ast.Literal{Kind: ast.BinaryLit, Text: t.val}
	for p.tok().kind == tokString && p.src[p.tok().pos.Offset] == '\'' {
		l.Text += p.advance().val
	}
	for _, c := range []byte(l.Text) {
		if !isHex(c) {
			p.failAt(&t, "a binary literal has hex digits only", "write X'1F2E'")
		}
	}
	l.Span = p.span(t.pos)
	return l
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// queryAhead tells whether a query begins at the n-th token ahead, after any number of '('.
func (p *parser) queryAhead(n int) bool {
	for limit := n + maxDepth; p.peek(n).op("("); n++ {
		if n > limit {
			return false // too deep to be parsed anyway
		}
	}
	t := p.peek(n)
	return t.is("SELECT") || t.is("VALUES") || t.is("WITH") || t.is("TABLE")
}

// continuesQuery tells whether the current token goes on with a query in parentheses.
func (p *parser) continuesQuery() bool {
	for _, w := range [...]string{"UNION", "INTERSECT", "EXCEPT", "MINUS", "ORDER", "LIMIT", "OFFSET", "FETCH"} {
		if p.kw(w) {
			return true
		}
	}
	return false
}

// parenthesis parses (x), (x, y), (query) and (x - y) UNIT.
func (p *parser) parenthesis() ast.Expr {
	p.enter()
	defer p.leave()
	start := p.advance().pos
	if p.op(")") {
		p.fail("an expression in the parentheses")
	}
	x := p.inParenthesis()
	if p.op(",") {
		r := &ast.Row{Elems: []ast.Expr{x}}
		p.advance()
		p.comma(func() { r.Elems = append(r.Elems, p.expr()) })
		p.closing(start, "or ',' in the row")
		r.Span = p.span(start)
		return r
	}
	p.closing(start, "")
	if p.intervalAhead() {
		b, ok := x.(*ast.Binary)
		if !ok || b.Op != ast.OpSub {
			p.failHint("an operator or the end of the expression", "only a difference takes a unit: (a - b) DAY")
		}
		return &ast.IntervalMinus{X: b.X, Y: b.Y, Unit: p.intervalUnit(), Span: p.span(start)}
	}
	if s, ok := x.(*ast.Subquery); ok {
		s.Span = p.span(start)
	}
	return x
}

// inParenthesis parses what stands after '(': a query or an expression. For ((SELECT 1) UNION SELECT 2) only what follows
// the inner parenthesis tells which.
func (p *parser) inParenthesis() ast.Expr {
	start := p.tok().pos
	if p.queryAhead(0) && !p.op("(") {
		q := p.query()
		return &ast.Subquery{Span: p.span(start), Query: q}
	}
	if !p.op("(") || !p.queryAhead(0) {
		return p.expr()
	}
	p.enter()
	defer p.leave()
	x := p.parenthesis()
	if s, ok := x.(*ast.Subquery); ok && p.continuesQuery() {
		q := p.queryFrom(start, s.Query)
		return &ast.Subquery{Span: p.span(start), Query: q}
	}
	x = p.postfix(start, x)
	for {
		y := p.infix(start, x, bindLowest)
		if y == nil {
			return x
		}
		x = y
	}
}

// nameOrCall parses a.b.c, a.b.f(..) and a.b.c as a field path.
func (p *parser) nameOrCall() ast.Expr {
	start := p.tok().pos
	id := &ast.Identifier{Parts: []ast.Name{p.nameHere()}}
	for p.op(".") && !p.peek(1).op("*") {
		p.advance()
		id.Parts = append(id.Parts, p.name("a name after the dot"))
	}
	id.Span = p.span(start)
	if p.op("(") {
		return p.call(id)
	}
	return id
}

// intervalAhead tells whether a unit of an interval is next. Words as WEEK are names too: only the reserved ones count where
// both are possible.
func (p *parser) intervalAhead() bool {
	t := p.tok()
	return t.kind == tokWord && intervalUnits[t.word] != ""
}

// intervalUnits maps the unit words of intervals to their singular.
var intervalUnits = map[string]string{
	"YEAR": "YEAR", "YEARS": "YEAR", "QUARTER": "QUARTER", "QUARTERS": "QUARTER", "MONTH": "MONTH", "MONTHS": "MONTH",
	"WEEK": "WEEK", "WEEKS": "WEEK", "DAY": "DAY", "DAYS": "DAY", "HOUR": "HOUR", "HOURS": "HOUR",
	"MINUTE": "MINUTE", "MINUTES": "MINUTE", "SECOND": "SECOND", "SECONDS": "SECOND",
}

// intervalTo lists the units that may follow TO.
var intervalTo = map[string][]string{
	"YEAR": {"MONTH"}, "DAY": {"HOUR", "MINUTE", "SECOND"}, "HOUR": {"MINUTE", "SECOND"}, "MINUTE": {"SECOND"},
}

// intervalUnit parses DAY(3) TO SECOND(6) and the like.
func (p *parser) intervalUnit() *ast.IntervalUnit {
	start := p.tok().pos
	u := &ast.IntervalUnit{Precision: -1, FracPrecision: -1}
	u.From = p.unitWord()
	if p.op("(") {
		p.advance()
		u.Precision = p.smallInt("the precision of the interval")
		if u.From == "SECOND" && p.acceptOp(",") {
			u.FracPrecision = p.smallInt("the precision of the seconds")
		}
		p.expectOp(")", "after the precision")
	}
	if p.accept("TO") {
		t := *p.tok()
		u.To = p.unitWord()
		if !contains(intervalTo[u.From], u.To) {
			p.failAt(&t, "an interval cannot go from "+u.From+" to "+u.To,
				"intervals are YEAR TO MONTH, or from DAY, HOUR, MINUTE to a smaller unit down to SECOND")
		}
		if u.To == "SECOND" && p.acceptOp("(") {
			u.FracPrecision = p.smallInt("the precision of the seconds")
			p.expectOp(")", "after the precision")
		}
	}
	u.Span = p.span(start)
	return u
}

func (p *parser) unitWord() string {
	t := p.tok()
	u := intervalUnits[t.word]
	if t.kind != tokWord || u == "" {
		hint := ""
		if t.word == "MILLISECOND" || t.word == "MILLISECONDS" {
			hint = "write INTERVAL '0.005' SECOND for 5 milliseconds"
		}
		p.failHint("a unit (YEAR, MONTH, DAY, HOUR, MINUTE or SECOND)", hint)
	}
	p.advance()
	return u
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// interval parses INTERVAL '1' DAY and INTERVAL x DAY.
func (p *parser) interval() ast.Expr {
	start := p.advance().pos
	neg := false
	signed := (p.op("-") || p.op("+")) && p.peek(1).kind == tokString
	if signed {
		neg = p.advance().val == "-"
	}
	if p.tok().kind == tokString {
		s := p.advance()
		u := p.intervalUnit()
		return &ast.Literal{Span: p.span(start), Kind: ast.IntervalLit, Text: s.val, Negative: neg, Unit: u}
	}
	v := p.intervalAmount()
	u := p.intervalUnit()
	return &ast.IntervalExpr{Span: p.span(start), Value: v, Unit: u}
}

// intervalAmount parses the amount of INTERVAL x DAY: a number, a name or an expression in parentheses, with signs.
func (p *parser) intervalAmount() ast.Expr {
	p.enter()
	defer p.leave()
	switch t := p.tok(); {
	case t.op("("):
		p.advance()
		x := p.expr()
		p.expectOp(")", "after the interval's amount")
		return x
	case t.kind == tokInt, t.kind == tokDecimal, t.kind == tokDouble:
		return p.number()
	case p.op("-") || p.op("+"):
		start := t.pos
		op := ast.UnaryOp(p.advance().val)
		x := p.intervalAmount()
		return &ast.Unary{Span: p.span(start), Op: op, X: x}
	}
	return p.identifier("the interval's amount, as in INTERVAL '1' DAY, or a column name")
}
