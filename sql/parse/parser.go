package parse

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"staunch/sql/ast"
)

// maxDepth bounds the nesting of expressions, queries and types: deeper text is refused, so that the stack stays small.
const maxDepth = 400

// maxErrors bounds the errors that Script collects.
const maxErrors = 20

// parser is a recursive-descent parser over a lazy lexer. A refusal unwinds with panic(bail) to the entry points.
type parser struct {
	src   string
	lx    *lexer
	buf   []token // buf[head:] is read but not yet consumed
	head  int
	end   ast.Pos // end of the last consumed token
	depth int

	first string // upper-case first word of the statement

	// tried are the keywords that were looked for at the current token, for "did you mean".
	tried []string
	// alias is the last name taken as an alias without AS, with the keywords that could have stood there instead: in
	// `SELECT a FORM t` the word FORM is taken as an alias, and only t shows the mistake.
	alias     token
	aliasNext int // offset of the token after it
	aliasSet  []string
}

// bail carries an Error through the stack to the entry point.
type bail struct{ err *Error }

func newParser(src string) *parser { return &parser{src: src, lx: newLexer(src)} }

// catch turns a bail into an error; other panics go on.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case bail:
		*err = r.err
	default:
		panic(r)
	}
}

// Statement parses one statement, as Flink's parser takes it: no semicolon, not even a trailing one.
func Statement(src string) (stmt ast.Statement, err error) {
	defer catch(&err)
	p := newParser(src)
	s := p.statement()
	if p.op(";") {
		p.failAt(p.tok(), "a single statement has no semicolon", "remove it; several statements go into a script")
	}
	p.expectEnd()
	return s, nil
}

// Expression parses one expression.
func Expression(src string) (x ast.Expr, err error) {
	defer catch(&err)
	p := newParser(src)
	x = p.expr()
	p.expectEnd()
	return x, nil
}

// Type parses one type, as INT or ROW<a INT NOT NULL>.
func Type(src string) (t *ast.TypeName, err error) {
	defer catch(&err)
	p := newParser(src)
	t = p.typeName()
	p.expectEnd()
	return t, nil
}

// Script parses a file of statements that are separated by semicolons. After a mistake it goes on with the next statement;
// the error is then an [*Error], or [Errors] if there are several. The statements before and between are given all the same.
//
// BEGIN STATEMENT SET; INSERT ..; END; becomes one [ast.StatementSet].
func Script(src string) ([]ast.Statement, error) {
	p := newParser(src)
	var out []ast.Statement
	var errs Errors
	for len(errs) < maxErrors {
		for p.op(";") {
			p.advance()
		}
		if p.tok().kind == tokEOF {
			break
		}
		s, err := p.scriptStatement()
		if err != nil {
			errs = append(errs, err.(*Error))
			p.skipStatement()
			continue
		}
		out = append(out, s)
	}
	out, more := foldStatementSets(out, len(errs) > 0)
	errs = append(errs, more...)
	switch len(errs) {
	case 0:
		return out, nil
	case 1:
		return out, errs[0]
	}
	return out, errs
}

// scriptStatement parses one statement of a script, up to its semicolon or the end.
func (p *parser) scriptStatement() (s ast.Statement, err error) {
	defer catch(&err)
	p.depth = 0
	if s := p.clientStatement(); s != nil {
		return s, nil
	}
	s = p.statement()
	if !p.op(";") {
		p.expectEnd()
	}
	return s, nil
}

// skipStatement goes on after the next semicolon.
func (p *parser) skipStatement() {
	for !p.op(";") && p.tok().kind != tokEOF {
		t := p.advance()
		// A quote without end took the rest of its line, most likely with the semicolon.
		if t.kind == tokBad && strings.HasSuffix(strings.TrimSpace(p.src[t.pos.Offset:t.end.Offset]), ";") {
			return
		}
	}
}

// The client's forms: SET key = value and RESET key without quotes. Key and value end at white space or a semicolon, so
// that file:///x and 10s need no quotes.
var (
	clientSet   = regexp.MustCompile(`^(?i:SET)\s+([^\s'=;]+)\s*=\s*('(?:[^']|'')*'|[^\s;']+)\s*(?:;|$|--)`)
	clientReset = regexp.MustCompile(`^(?i:RESET)\s+([^\s'=;]+)\s*(?:;|$|--)`)
)

// clientStatement parses a SET or RESET whose words are not quoted; nil if it is something else.
func (p *parser) clientStatement() ast.Statement {
	start := p.tok().pos
	rest := p.src[start.Offset:]
	literal := func(from, to int) *ast.Literal {
		text := rest[from:to]
		if strings.HasPrefix(text, "'") {
			text = strings.ReplaceAll(text[1:len(text)-1], "''", "'")
		}
		l := &ast.Literal{Kind: ast.StringLit, Text: text}
		p.jump(start.Offset + from)
		l.Start = p.lx.pos
		p.jump(start.Offset + to)
		l.Stop = p.lx.pos
		return l
	}
	if m := clientSet.FindStringSubmatchIndex(rest); m != nil && utf8.ValidString(rest[:m[5]]) {
		p.rewind(start)
		s := &ast.Set{Key: literal(m[2], m[3]), Value: literal(m[4], m[5])}
		s.Span = ast.Span{Start: start, Stop: p.lx.pos}
		return s
	}
	if m := clientReset.FindStringSubmatchIndex(rest); m != nil && utf8.ValidString(rest[:m[3]]) {
		p.rewind(start)
		s := &ast.Reset{Key: literal(m[2], m[3])}
		s.Span = ast.Span{Start: start, Stop: p.lx.pos}
		return s
	}
	return nil
}

// rewind forgets look-ahead and puts the lexer at pos.
func (p *parser) rewind(pos ast.Pos) {
	p.buf, p.head = p.buf[:0], 0
	p.lx.pos = pos
}

// jump moves the lexer forward to a byte offset.
func (p *parser) jump(offset int) { p.lx.advance(offset - p.lx.pos.Offset) }

// foldStatementSets joins BEGIN STATEMENT SET .. END. With other errors present an unfinished set is not reported, since
// its END may be among what was skipped.
func foldStatementSets(in []ast.Statement, broken bool) ([]ast.Statement, Errors) {
	var out []ast.Statement
	var errs Errors
	var open *ast.StatementSet
	fail := func(n ast.Node, msg, hint string) {
		errs = append(errs, &Error{Pos: n.Pos(), Stop: n.End(), Msg: msg, Hint: hint})
	}
	for _, s := range in {
		switch x := s.(type) {
		case *ast.BeginStatementSet:
			if open != nil {
				fail(x, "BEGIN STATEMENT SET inside a statement set", "close the first set with END;")
				continue
			}
			open = &ast.StatementSet{Span: x.Span}
		case *ast.EndStatementSet:
			switch {
			case open == nil && broken:
			case open == nil:
				fail(x, "END without BEGIN STATEMENT SET", "begin the set with BEGIN STATEMENT SET;")
			case len(open.Inserts) == 0 && !broken:
				fail(x, "the statement set is empty", "put INSERT statements between BEGIN STATEMENT SET; and END;")
			default:
				open.Stop = x.Stop
				out = append(out, open)
			}
			open = nil
		case *ast.Insert:
			if open != nil {
				open.Inserts = append(open.Inserts, x)
				continue
			}
			out = append(out, x)
		default:
			if open != nil {
				fail(s, "only INSERT statements may stand in a statement set", "move this statement before BEGIN STATEMENT SET;")
				continue
			}
			out = append(out, s)
		}
	}
	if open != nil && !broken {
		fail(open, "the statement set has no end", "close it with END;")
	}
	return out, errs
}

// tok is the current token. The pointer is good until the next advance or peek.
func (p *parser) tok() *token { return p.peek(0) }

// peek is the token n places ahead.
func (p *parser) peek(n int) *token {
	for len(p.buf) <= p.head+n {
		p.buf = append(p.buf, p.lx.next())
	}
	return &p.buf[p.head+n]
}

// advance consumes the current token.
func (p *parser) advance() token {
	t := *p.tok()
	if p.head++; p.head == len(p.buf) {
		p.buf, p.head = p.buf[:0], 0
	}
	p.end = t.end
	p.tried = p.tried[:0]
	return t
}

// span is from start to the end of the last consumed token.
func (p *parser) span(start ast.Pos) ast.Span { return ast.Span{Start: start, Stop: p.end} }

// kw tells whether the current token is the keyword w.
func (p *parser) kw(w string) bool {
	if p.tok().is(w) {
		return true
	}
	p.tried = append(p.tried, w)
	return false
}

// kws tells whether the next tokens are these keywords.
func (p *parser) kws(ws ...string) bool {
	if !p.kw(ws[0]) {
		return false
	}
	for i, w := range ws[1:] {
		if !p.peek(i + 1).is(w) {
			return false
		}
	}
	return true
}

// accept consumes the keywords if they are next.
func (p *parser) accept(ws ...string) bool {
	if !p.kws(ws...) {
		return false
	}
	for range ws {
		p.advance()
	}
	return true
}

// acceptOne consumes one of the keywords and gives it, or "".
func (p *parser) acceptOne(ws ...string) string {
	for _, w := range ws {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

// expect consumes the keywords or fails; where says the context, as "after the select list".
func (p *parser) expect(where string, ws ...string) {
	for _, w := range ws {
		if !p.accept(w) {
			p.fail(w + where2(where))
		}
	}
}

// expectOne consumes one of the keywords or fails.
func (p *parser) expectOne(where string, ws ...string) string {
	if w := p.acceptOne(ws...); w != "" {
		return w
	}
	p.fail(orList(ws) + where2(where))
	return ""
}

func where2(where string) string {
	if where == "" {
		return ""
	}
	return " " + where
}

func orList(ws []string) string {
	if len(ws) == 1 {
		return ws[0]
	}
	return strings.Join(ws[:len(ws)-1], ", ") + " or " + ws[len(ws)-1]
}

// op tells whether the current token is the operator s.
func (p *parser) op(s string) bool { return p.tok().op(s) }

// acceptOp consumes the operator if it is next.
func (p *parser) acceptOp(s string) bool {
	if p.op(s) {
		p.advance()
		return true
	}
	return false
}

// expectOp consumes the operator or fails.
func (p *parser) expectOp(s, where string) {
	if !p.acceptOp(s) {
		p.fail("'" + s + "'" + where2(where))
	}
}

// closing consumes the ')' of the '(' at open or fails.
func (p *parser) closing(open ast.Pos, where string) {
	if p.acceptOp(")") {
		return
	}
	hint := ""
	if t := p.tok(); t.kind == tokEOF || t.op(";") || t.kind == tokWord && startsClause[t.word] {
		hint = "the '(' at " + open.String() + " is not closed"
	}
	p.failHint("')'"+where2(where), hint)
}

// enter counts nesting; the caller defers leave.
func (p *parser) enter() {
	p.depth++
	if p.depth > maxDepth {
		p.tooDeep()
	}
}

func (p *parser) tooDeep() {
	p.failAt(p.tok(), "nested more than "+strconv.Itoa(maxDepth)+" levels deep", "split it into views or computed columns")
}

func (p *parser) leave() { p.depth-- }

// failAt refuses with a message of its own.
func (p *parser) failAt(t *token, msg, hint string) {
	if t.kind == tokBad {
		msg, hint = t.val, t.hint
	}
	panic(bail{&Error{Pos: t.pos, Stop: t.end, Msg: shown(msg), Hint: shown(hint)}})
}

// fail refuses the current token; expected is as "a column name" or "FROM after the select list".
func (p *parser) fail(expected string) { p.failHint(expected, "") }

// failHint is fail with advice of its own.
func (p *parser) failHint(expected, hint string) {
	t := *p.tok()
	if t.kind == tokBad {
		p.failAt(&t, "", "")
	}
	p.checkAlias(&t)
	if hint == "" || t.kind == tokOp {
		if h := p.advice(&t, expected); h != "" {
			hint = h
		}
	}
	p.failAt(&t, "expected "+expected+", found "+describe(&t), hint)
}

// checkAlias refuses the word before t if it was taken as an alias but looks like a misspelt keyword.
func (p *parser) checkAlias(t *token) {
	if p.aliasSet == nil || p.aliasNext != t.pos.Offset {
		return
	}
	w := near(p.alias.word, p.aliasSet)
	if w == "" {
		return
	}
	a := p.alias
	p.failAt(&a, "expected "+w+", found "+describe(&a), "did you mean "+w+"? If it is an alias, write AS `"+a.val+"`")
}

// takeAlias notes that the current word is taken as an alias without AS.
func (p *parser) takeAlias(instead []string) {
	p.alias, p.aliasSet = *p.tok(), instead
	p.aliasNext = p.peek(1).pos.Offset
	if p.alias.kind != tokWord {
		p.aliasSet = nil
	}
}

// advice gives the hint for a refused token.
func (p *parser) advice(t *token, expected string) string {
	if t.kind == tokOp {
		switch t.val {
		case "!=":
			return "inequality is written <>"
		case "==":
			return "equality is written ="
		case "::":
			return "casts are written CAST(x AS type)"
		case "&&":
			return "write AND"
		case "||":
			return "|| joins strings; a logical or is written OR"
		case "**", "<<", "|":
			return "there is no such operator in this dialect"
		case "<=>":
			return "write a IS NOT DISTINCT FROM b"
		case "->":
			return "lambda expressions are not in this dialect; a JSON path goes into JSON_VALUE(doc, '$.path')"
		case "^":
			return "there is no ^ operator: use POWER(x, y)"
		case "{":
			return "escapes in braces are not in this dialect"
		case "*/":
			return "this ends a comment that was not begun; put a space between * and /"
		case "/*+":
			return "hints go right after SELECT or a table name; an ordinary comment begins with /* and no +"
		}
	}
	if t.kind != tokWord {
		return ""
	}
	if w := near(t.word, p.tried); w != "" && !reserved[t.word] {
		return "did you mean " + w + "?"
	}
	if reserved[t.word] && strings.Contains(expected, "name") {
		return t.word + " is a reserved word; as a name it goes in back-ticks: `" + t.val + "`"
	}
	return ""
}

// describe names a token for a message.
func describe(t *token) string {
	switch t.kind {
	case tokEOF:
		return "the end of the statement"
	case tokString, tokUnicode, tokBinary:
		return "the string " + strconv.Quote(shorten(t.val))
	case tokInt, tokDecimal, tokDouble:
		return "the number " + shorten(t.val)
	case tokQuoted:
		return "the name `" + shorten(t.val) + "`"
	case tokOp:
		if t.val == ";" {
			return "the end of the statement (;)"
		}
		return "'" + t.val + "'"
	}
	if reserved[t.word] {
		return "the reserved word " + shorten(t.val)
	}
	return strconv.Quote(shorten(t.val))
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}

// expectEnd fails unless the statement is over.
func (p *parser) expectEnd() {
	t := p.tok()
	if t.kind == tokEOF {
		return
	}
	hint := ""
	switch {
	case t.kind == tokWord && statements[t.word] != nil && p.firstOfLine(t):
		hint = "if a new statement begins here, end the one before with a semicolon"
	case t.kind == tokWord && clauses[t.word] != "" && near(t.word, p.tried) == "":
		hint = "the clauses come in the order FROM, WHERE, GROUP BY, HAVING, WINDOW, QUALIFY, ORDER BY, LIMIT, OFFSET"
	case t.op(")"):
		hint = "there is no open '(' for it"
	}
	p.failHint(p.endings(), hint)
}

// firstOfLine tells whether only white space stands before t in its line.
func (p *parser) firstOfLine(t *token) bool {
	line := p.src[:t.pos.Offset]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	return t.pos.Line > 1 && strings.TrimSpace(line) == ""
}

// clauses are the words that may go on with a finished part of a statement, and how a message calls them.
var clauses = map[string]string{
	"FROM": "FROM", "WHERE": "WHERE", "GROUP": "GROUP BY", "HAVING": "HAVING", "WINDOW": "WINDOW", "QUALIFY": "QUALIFY",
	"ORDER": "ORDER BY", "LIMIT": "LIMIT", "OFFSET": "OFFSET",
}

// alsoEnds are further such words; out of place they get no advice.
var alsoEnds = map[string]string{
	"COMMENT": "COMMENT", "PARTITIONED": "PARTITIONED BY", "WITH": "WITH", "LIKE": "LIKE", "AS": "AS",
}

// endings says what could stand instead of a token after a finished statement: some clauses that were looked for, or the end.
func (p *parser) endings() string {
	var out []string
	for _, w := range p.tried {
		c := clauses[w]
		if c == "" && p.statementIsDDL() {
			c = alsoEnds[w]
		}
		if c != "" && !contains(out, c) {
			out = append(out, c)
		}
	}
	if len(out) > 6 {
		out = out[:6]
	}
	return orList(append(out, "the end of the statement"))
}

// statementIsDDL tells whether the statement at hand is a CREATE.
func (p *parser) statementIsDDL() bool { return p.first == "CREATE" || p.first == "REPLACE" }

// name parses one name; what says of what, as "a column name".
func (p *parser) name(what string) ast.Name {
	t := p.tok()
	switch {
	case t.kind == tokQuoted, t.kind == tokWord && !reserved[t.word]:
	default:
		p.fail(what)
	}
	return p.nameHere()
}

// nameHere makes a name of the current token.
func (p *parser) nameHere() ast.Name {
	if n := utf8.RuneCountInString(p.tok().val); n > maxName {
		p.failAt(p.tok(), "a name may have "+strconv.Itoa(maxName)+" characters, this one has "+strconv.Itoa(n), "")
	}
	t := p.advance()
	return ast.Name{Span: ast.Span{Start: t.pos, Stop: t.end}, Text: t.val, Quoted: t.kind == tokQuoted}
}

// maxName is the longest name that Flink takes, in characters.
const maxName = 256

// isName tells whether the current token can be a name.
func (p *parser) isName() bool {
	t := p.tok()
	return t.kind == tokQuoted || t.kind == tokWord && !reserved[t.word]
}

// identifier parses a.b.c.
func (p *parser) identifier(what string) *ast.Identifier {
	start := p.tok().pos
	id := &ast.Identifier{Parts: []ast.Name{p.name(what)}}
	for p.acceptOp(".") {
		id.Parts = append(id.Parts, p.name(what+" after the dot"))
	}
	id.Span = p.span(start)
	return id
}

// simpleIdentifier parses a name that may not have dots, as an identifier.
func (p *parser) simpleIdentifier(what string) *ast.Identifier {
	n := p.name(what)
	return &ast.Identifier{Span: n.Span, Parts: []ast.Name{n}}
}

// nameList parses (a, b, ..); it may not be empty.
func (p *parser) nameList(what string) []ast.Name {
	p.expectOp("(", "before the list of names")
	var out []ast.Name
	for {
		out = append(out, p.name(what))
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")", "or ',' in the list of names")
	return out
}

// str parses a string literal; what says of what.
func (p *parser) str(what string) *ast.Literal {
	switch p.tok().kind {
	case tokString, tokUnicode:
		return p.stringLiteral()
	}
	t := p.tok()
	hint := ""
	if t.kind == tokWord || t.kind == tokInt || t.kind == tokDecimal || t.kind == tokQuoted {
		hint = "it goes in single quotes: '" + shorten(t.val) + "'"
	}
	p.failHint(what+" in single quotes", hint)
	return nil
}

// plainStr parses a string that Flink's parser takes in its simplest form only: no prefix, no continuation.
func (p *parser) plainStr(what string) *ast.Literal {
	t := p.tok()
	if t.kind != tokString && t.kind != tokUnicode {
		return p.str(what)
	}
	if p.src[t.pos.Offset] != '\'' {
		p.failHint(what+" in single quotes", "write a plain '..' string here, without a prefix")
	}
	l := *p.tok()
	p.advance()
	return &ast.Literal{Span: p.span(l.pos), Kind: ast.StringLit, Text: l.val}
}

// stringLiteral parses the string at hand and those that follow it directly, which continue it.
func (p *parser) stringLiteral() *ast.Literal {
	first := p.advance()
	l := &ast.Literal{Kind: ast.StringLit, Text: first.val, Charset: first.charset}
	if c := strings.ToUpper(first.charset); c != "" && c != "N" && !charsets[c] {
		p.failAt(&first, "unknown character set "+strconv.Quote(first.charset), "write a plain '..' string")
	}
	escaped := p.src[first.pos.Offset] == 'e' || p.src[first.pos.Offset] == 'E'
	for !escaped && p.tok().kind == tokString && p.src[p.tok().pos.Offset] == '\'' {
		l.Text += p.advance().val
	}
	if first.kind == tokUnicode {
		l.Kind = ast.UnicodeLit
		l.Text = p.unicodeText(&first, l.Text)
	}
	l.Span = p.span(first.pos)
	return l
}

// charsets are the character sets of _name'..' strings that Flink knows.
var charsets = wordSet(`LATIN1 UTF8 UTF16 UTF32 ASCII US-ASCII ISO-8859-1 UTF-8 UTF-16 UTF-16LE UTF-16BE UTF16LE UTF16BE UTF-32 ISO8859-1`)

// unicodeText undoes the escapes of a U&'..' string, with UESCAPE after it.
func (p *parser) unicodeText(first *token, text string) string {
	escape := '\\'
	if p.accept("UESCAPE") {
		t := p.tok()
		if t.kind != tokString {
			p.fail("one character in single quotes after UESCAPE")
		}
		if utf8.RuneCountInString(t.val) != 1 {
			p.failAt(t, "UESCAPE takes exactly one character", "write UESCAPE '!', for instance")
		}
		escape, _ = utf8.DecodeRuneInString(t.val)
		p.advance()
	}
	out, msg := undoUnicode(text, escape)
	if msg != "" {
		p.failAt(first, msg, "write "+string(escape)+"0041 for A, and "+strings.Repeat(string(escape), 2)+" for the escape character itself")
	}
	return out
}

// integer parses an unsigned integer as a literal.
func (p *parser) integer(what string) *ast.Literal {
	if p.tok().kind != tokInt {
		p.fail(what)
	}
	t := p.advance()
	return &ast.Literal{Span: ast.Span{Start: t.pos, Stop: t.end}, Kind: ast.IntegerLit, Text: t.val}
}

// smallInt parses an unsigned integer that fits into 31 bits.
func (p *parser) smallInt(what string) int {
	t := *p.tok()
	l := p.integer(what)
	n, err := strconv.ParseInt(l.Text, 10, 32)
	if err != nil {
		p.failAt(&t, "the number "+shorten(l.Text)+" is too large here", "")
	}
	return int(n)
}

// comma parses item {"," item}, and gives better words for a trailing comma.
func (p *parser) comma(item func()) {
	item()
	for p.op(",") {
		c := *p.tok()
		p.advance()
		if p.op(")") || p.tok().kind == tokEOF || p.op(";") {
			t := *p.tok()
			p.failAt(&t, "expected another item after ',', found "+describe(&t), "remove the comma at "+c.pos.String()+", lists have no trailing comma")
		}
		item()
	}
}
