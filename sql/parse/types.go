package parse

import "staunch/sql/ast"

// typeWords maps type words to kinds. Parameters: 0 none, 1 (length or precision), 2 (precision, scale).
var typeWords = map[string]struct {
	kind   ast.TypeKind
	params int
}{
	"BOOLEAN": {ast.TypeBoolean, 0}, "TINYINT": {ast.TypeTinyInt, 0}, "SMALLINT": {ast.TypeSmallInt, 0},
	"INT": {ast.TypeInt, 0}, "INTEGER": {ast.TypeInt, 0}, "BIGINT": {ast.TypeBigInt, 0},
	"FLOAT": {ast.TypeFloat, 0}, "REAL": {ast.TypeReal, 0}, "DOUBLE": {ast.TypeDouble, 0},
	"DECIMAL": {ast.TypeDecimal, 2}, "DEC": {ast.TypeDecimal, 2}, "NUMERIC": {ast.TypeDecimal, 2},
	"CHAR": {ast.TypeChar, 1}, "CHARACTER": {ast.TypeChar, 1}, "VARCHAR": {ast.TypeVarChar, 1}, "STRING": {ast.TypeString, 0},
	"BINARY": {ast.TypeBinary, 1}, "VARBINARY": {ast.TypeVarBinary, 1}, "BYTES": {ast.TypeBytes, 0},
	"DATE": {ast.TypeDate, 0}, "TIME": {ast.TypeTime, 1}, "TIMESTAMP": {ast.TypeTimestamp, 1},
	"TIMESTAMP_LTZ": {ast.TypeTimestampLTZ, 1}, "VARIANT": {ast.TypeVariant, 0}, "BITMAP": {ast.TypeBitmap, 0},
}

// typeAdvice says what to write for types of other databases.
var typeAdvice = map[string]string{
	"TEXT": "STRING", "CLOB": "STRING", "NVARCHAR": "VARCHAR(n) or STRING", "VARCHAR2": "VARCHAR(n) or STRING",
	"LONG": "BIGINT", "INT64": "BIGINT", "INT32": "INT", "INT8": "TINYINT", "SHORT": "SMALLINT", "BYTE": "TINYINT", "NUMBER": "DECIMAL(p, s)",
	"BLOB": "BYTES", "BYTEA": "BYTES", "BIT": "BOOLEAN", "BOOL": "BOOLEAN", "DATETIME": "TIMESTAMP(3)",
	"TIMESTAMPTZ": "TIMESTAMP_LTZ(3)", "JSON": "STRING", "UUID": "STRING", "FLOAT8": "DOUBLE", "FLOAT4": "FLOAT", "STRUCT": "ROW<..>",
	"LIST": "ARRAY<..>", "SERIAL": "BIGINT", "MONEY": "DECIMAL(p, s)", "ENUM": "STRING",
}

// typeName parses a type with an optional NULL or NOT NULL.
func (p *parser) typeName() *ast.TypeName {
	t := p.bareType()
	p.nullability(t)
	for n := 0; p.kw("ARRAY") || p.kw("MULTISET"); n++ {
		t = p.collection(t, n)
		p.nullability(t)
	}
	return t
}

func (p *parser) nullability(t *ast.TypeName) {
	if p.kws("NOT", "NULL") {
		p.accept("NOT", "NULL")
		t.NotNull = true
		t.Stop = p.end
		return
	}
	if p.accept("NULL") {
		t.Stop = p.end
	}
}

// collection wraps elem, the n-th time: INT ARRAY.
func (p *parser) collection(elem *ast.TypeName, n int) *ast.TypeName {
	if n > maxDepth {
		p.tooDeep()
	}
	kind := ast.TypeKind(p.advance().word)
	t := newType(kind)
	t.Elem = elem
	t.Span = p.span(elem.Start)
	return t
}

func newType(kind ast.TypeKind) *ast.TypeName {
	return &ast.TypeName{Kind: kind, Precision: -1, Scale: -1}
}

// castType parses the type of CAST: no nullability at the top, but intervals.
func (p *parser) castType() *ast.TypeName {
	start := p.tok().pos
	if p.op(")") {
		p.fail("a type name in CAST(.. AS <type>)")
	}
	if p.accept("INTERVAL") {
		t := newType(ast.TypeInterval)
		t.Unit = p.intervalUnit()
		t.Span = p.span(start)
		return t
	}
	t := p.bareType()
	for n := 0; p.kw("ARRAY") || p.kw("MULTISET"); n++ {
		t = p.collection(t, n)
	}
	if p.kw("NOT") || p.kw("NULL") {
		p.failHint("')' after the type", "the result of a cast takes NULL if its argument does: leave out the nullability")
	}
	return t
}

// bareType parses a type without nullability and suffixes.
func (p *parser) bareType() *ast.TypeName {
	p.enter()
	defer p.leave()
	start := *p.tok()
	if start.kind == tokQuoted {
		return p.userType()
	}
	if start.kind != tokWord {
		p.fail("a type name")
	}
	var t *ast.TypeName
	switch w := start.word; {
	case w == "ARRAY" || w == "MULTISET":
		p.advance()
		t = newType(ast.TypeKind(w))
		p.expectOp("<", "after "+w+", as in "+w+"<INT>")
		t.Elem = p.typeName()
		p.closeAngle()
	case w == "MAP" && p.peek(1).op("<"):
		p.advance()
		t = p.mapType()
	case w == "ROW":
		p.advance()
		t = p.rowType()
	case w == "RAW":
		p.advance()
		t = newType(ast.TypeRaw)
		p.expectOp("(", "after RAW")
		t.Args = append(t.Args, p.str("the class").Text)
		p.expectOp(",", "after the class of RAW")
		t.Args = append(t.Args, p.str("the serializer's snapshot").Text)
		p.expectOp(")", "after RAW(..")
	case w == "STRUCTURED":
		p.advance()
		t = p.structuredType()
	case w == "ANY":
		p.advance()
		t = newType(ast.TypeUser)
		t.Name = &ast.Identifier{Span: p.span(start.pos), Parts: []ast.Name{{Span: p.span(start.pos), Text: start.val}}}
	default:
		tw, ok := typeWords[w]
		if !ok {
			return p.userType()
		}
		p.advance()
		t = newType(tw.kind)
		p.scalarType(t, tw.params)
	}
	t.Span = p.span(start.pos)
	return t
}

// userType parses a named type, and advises for words of other databases.
func (p *parser) userType() *ast.TypeName {
	t := *p.tok()
	if t.word == "INTERVAL" {
		p.failAt(&t, "a column cannot have an INTERVAL type", "use BIGINT, or a string of the interval's text")
	}
	if a := typeAdvice[t.word]; a != "" && (reserved[t.word] || p.peek(1).op("(")) {
		p.failAt(&t, "unknown type "+t.val, "write "+a)
	}
	if t.kind == tokWord && reserved[t.word] || t.kind != tokWord && t.kind != tokQuoted {
		p.failHint("a type name", "types are as INT, STRING, DECIMAL(10, 2), TIMESTAMP(3), ARRAY<INT>, ROW<a INT>")
	}
	if t.word == "GEOMETRY" {
		p.failAt(&t, "type GEOMETRY is not supported", "")
	}
	id := p.identifier("a type name")
	if p.op("(") {
		p.failAt(&t, "unknown type "+t.val, "types are as INT, STRING, DECIMAL(10, 2), TIMESTAMP(3), ARRAY<INT>, ROW<a INT>")
	}
	n := newType(ast.TypeUser)
	n.Name = id
	n.Span = id.Span
	return n
}

// scalarType parses what follows the first word of a scalar type.
func (p *parser) scalarType(t *ast.TypeName, params int) {
	switch t.Kind {
	case ast.TypeDouble:
		p.accept("PRECISION")
	case ast.TypeChar:
		if p.accept("VARYING") {
			t.Kind = ast.TypeVarChar
		}
	case ast.TypeBinary:
		if p.accept("VARYING") {
			t.Kind = ast.TypeVarBinary
		}
	}
	if p.op("(") {
		if params == 0 {
			p.failAt(p.tok(), "type "+string(t.Kind)+" takes no length or precision", noParamsAdvice(t.Kind))
		}
		p.advance()
		t.Precision = p.smallInt("a number in the parentheses of " + string(t.Kind))
		if params == 2 && p.acceptOp(",") {
			t.Scale = p.smallInt("the scale")
		}
		p.expectOp(")", "after the precision of "+string(t.Kind))
	}
	switch t.Kind {
	case ast.TypeChar, ast.TypeVarChar:
		if p.accept("CHARACTER") {
			p.expect("after CHARACTER", "SET")
			p.identifier("the name of a character set")
		}
	case ast.TypeTime, ast.TypeTimestamp:
		p.timeZone(t)
	}
}

func noParamsAdvice(k ast.TypeKind) string {
	switch k {
	case ast.TypeString:
		return "write STRING, or VARCHAR(n)"
	case ast.TypeBytes:
		return "write BYTES, or VARBINARY(n)"
	case ast.TypeDouble, ast.TypeFloat, ast.TypeReal:
		return "write " + string(k) + ", or DECIMAL(p, s)"
	}
	return "write " + string(k)
}

// timeZone parses WITHOUT TIME ZONE and WITH LOCAL TIME ZONE.
func (p *parser) timeZone(t *ast.TypeName) {
	if p.accept("WITHOUT") {
		p.expect("in WITHOUT TIME ZONE", "TIME", "ZONE")
		return
	}
	// WITH may begin the options after a column list, but not inside it: a type is always followed by TIME ZONE here.
	if !p.accept("WITH") {
		return
	}
	if !p.accept("LOCAL") {
		p.failHint("LOCAL in WITH LOCAL TIME ZONE", "a type with a zone per value does not exist: use TIMESTAMP_LTZ(p)")
	}
	p.expect("in WITH LOCAL TIME ZONE", "TIME", "ZONE")
	if t.Kind == ast.TypeTimestamp {
		t.Kind = ast.TypeTimestampLTZ
		return
	}
	t.Kind = ast.TypeTimeLTZ
}

// closeAngle consumes '>' of a type's parameters. "<>", ">=" and the like cannot come up: two '>' are two tokens.
func (p *parser) closeAngle() { p.expectOp(">", "at the end of the type's parameters") }

func (p *parser) mapType() *ast.TypeName {
	t := newType(ast.TypeMap)
	p.expectOp("<", "after MAP, as in MAP<STRING, INT>")
	t.Key = p.typeName()
	p.expectOp(",", "between the key and value type of MAP")
	t.Elem = p.typeName()
	p.closeAngle()
	return t
}

func (p *parser) rowType() *ast.TypeName {
	t := newType(ast.TypeRow)
	if p.acceptOp("<>") {
		return t
	}
	end := ">"
	if p.acceptOp("(") {
		end = ")"
	} else {
		p.expectOp("<", "after ROW, as in ROW<a INT, b STRING>")
	}
	if p.acceptOp(end) {
		return t
	}
	p.comma(func() { t.Fields = append(t.Fields, p.typeField()) })
	p.expectOp(end, "or ',' after the field of ROW")
	return t
}

func (p *parser) typeField() ast.TypeField {
	start := p.tok().pos
	f := ast.TypeField{Name: p.name("a field name")}
	f.Type = p.typeName()
	if k := p.tok().kind; k == tokString || k == tokUnicode {
		f.Comment = p.plainStr("the field's comment")
	}
	f.Span = p.span(start)
	return f
}

func (p *parser) structuredType() *ast.TypeName {
	t := newType(ast.TypeStructured)
	p.expectOp("<", "after STRUCTURED")
	t.Args = append(t.Args, p.str("the class").Text)
	for p.acceptOp(",") {
		t.Fields = append(t.Fields, p.typeField())
	}
	p.closeAngle()
	return t
}
