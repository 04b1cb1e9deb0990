package parse

import "staunch/sql/ast"

// create parses CREATE ..
func (p *parser) create() ast.Statement {
	start := p.advance().pos
	orReplace := false
	if p.accept("OR") {
		if p.accept("ALTER") {
			if !p.kw("MATERIALIZED") {
				p.fail("MATERIALIZED TABLE after CREATE OR ALTER")
			}
			return p.createMaterialized(start)
		}
		p.expect("after CREATE OR", "REPLACE")
		orReplace = true
	}
	temporary := p.accept("TEMPORARY")
	system := false
	if p.kw("SYSTEM") {
		if !temporary {
			p.failAt(p.tok(), "system functions can only be temporary", "write CREATE TEMPORARY SYSTEM FUNCTION")
		}
		p.advance()
		system = true
		if !p.kw("FUNCTION") && !p.kw("CONNECTION") {
			p.fail("FUNCTION after SYSTEM")
		}
	}
	switch {
	case p.accept("TABLE"):
		return p.createTable(&ast.CreateTable{Span: ast.Span{Start: start}, OrReplace: orReplace, Temporary: temporary})
	case p.accept("VIEW"):
		return p.createView(start, &ast.CreateView{OrReplace: orReplace, Temporary: temporary})
	case p.accept("FUNCTION"):
		return p.createFunction(start, &ast.CreateFunction{OrReplace: orReplace, Temporary: temporary, System: system})
	case p.accept("CATALOG"):
		return p.createCatalog(start)
	case p.accept("DATABASE"):
		return p.createDatabase(start)
	case p.accept("MODEL"):
		return p.createModel(start)
	case p.accept("CONNECTION"):
		return p.createConnection(start)
	case p.kw("MATERIALIZED"):
		if orReplace || temporary {
			p.failAt(p.tok(), "a materialized table can be neither temporary nor replaced", "write CREATE MATERIALIZED TABLE or CREATE OR ALTER MATERIALIZED TABLE")
		}
		return p.createMaterialized(start)
	case p.kw("EXTERNAL") || p.kw("SCHEMA") || p.kw("INDEX"):
		hint := map[string]string{"SCHEMA": "write CREATE DATABASE", "EXTERNAL": "all tables are external: write CREATE TABLE", "INDEX": ""}
		p.failHint("TABLE, VIEW, FUNCTION, CATALOG or DATABASE after CREATE", hint[p.tok().word])
	}
	p.fail("TABLE, VIEW, FUNCTION, CATALOG or DATABASE after CREATE")
	return nil
}

// replaceTable parses REPLACE TABLE .. AS.
func (p *parser) replaceTable() ast.Statement {
	start := p.advance().pos
	c := &ast.CreateTable{Span: ast.Span{Start: start}, Replace: true}
	c.Temporary = p.accept("TEMPORARY")
	p.expect("after REPLACE", "TABLE")
	return p.createTable(c)
}

// createTable parses what follows TABLE.
func (p *parser) createTable(c *ast.CreateTable) ast.Statement {
	c.IfNotExists = p.ifNotExistsName()
	c.Name = p.identifier("a table name")
	bare := *p.tok()
	if p.op("(") {
		p.tableElements(c)
	}
	if p.accept("COMMENT") {
		c.Comment = p.plainStr("the comment")
	}
	if p.accept("DISTRIBUTED") {
		c.Distribution = p.distribution()
	}
	if p.kw("PARTITIONED") {
		c.PartitionedBy = p.partitionedBy()
	}
	p.misplaced("COMMENT", "DISTRIBUTED")
	c.Options, c.HasWith = p.withOptions()
	p.misplaced("PARTITIONED", "COMMENT", "DISTRIBUTED")
	switch {
	case p.kw("LIKE") && !c.Replace:
		c.Like = p.tableLike()
	case p.accept("AS"):
		if !p.queryAhead(0) {
			p.fail("a query after AS")
		}
		c.As = p.query()
	case c.Replace:
		p.fail("AS and a query: REPLACE TABLE takes its rows from a query")
	}
	if c.ColumnNames != nil && c.As == nil {
		p.failAt(&bare, "columns without a type go only with AS and a query", "give each column a type")
	}
	c.Stop = p.end
	return c
}

// misplaced refuses a clause that stands after its place.
func (p *parser) misplaced(words ...string) {
	for _, w := range words {
		if p.kw(w) {
			p.failAt(p.tok(), w+" comes too late", "the order is: columns, COMMENT, DISTRIBUTED, PARTITIONED BY, WITH, then LIKE or AS")
		}
	}
}

// tableElements parses the column list: elements, or the bare names of CREATE TABLE t (a, b) AS.
func (p *parser) tableElements(c *ast.CreateTable) {
	if p.bareNames() {
		c.ColumnNames = p.nameList("a column name")
		return
	}
	c.Elements = p.elements(false)
}

// bareNames tells whether (a, b) without types follows.
func (p *parser) bareNames() bool {
	k := p.peek(1).kind
	return (k == tokQuoted || k == tokWord && !reserved[p.peek(1).word]) && (p.peek(2).op(",") || p.peek(2).op(")"))
}

// elements parses (element, ..); place allows FIRST and AFTER.
func (p *parser) elements(place bool) []ast.TableElement {
	open := p.tok().pos
	p.expectOp("(", "before the columns")
	var out []ast.TableElement
	if p.op(")") {
		p.failHint("a column", "leave out the parentheses, or put a column into them")
	}
	watermark := false
	p.comma(func() {
		t := *p.tok()
		e := p.element(place)
		if _, ok := e.(*ast.Watermark); ok {
			if watermark {
				p.failAt(&t, "a table has one WATERMARK at most", "remove this one")
			}
			watermark = true
		}
		out = append(out, e)
	})
	p.closing(open, "or ',' after the column")
	return out
}

// element parses a column, key or watermark.
func (p *parser) element(place bool) ast.TableElement {
	start := p.tok().pos
	switch {
	case p.kw("CONSTRAINT") || p.kw("PRIMARY") || p.kw("UNIQUE"):
		return p.constraint(true)
	case p.accept("WATERMARK"):
		w := &ast.Watermark{}
		p.expect("after WATERMARK", "FOR")
		w.Column = p.identifier("a column name")
		p.expect("after the column of WATERMARK", "AS")
		w.Expr = p.scalar()
		w.Span = p.span(start)
		return w
	}
	return p.column(place)
}

// scalar parses an expression that may not be a query.
func (p *parser) scalar() ast.Expr {
	t := *p.tok()
	x := p.expr()
	if _, ok := x.(*ast.Subquery); ok {
		p.failAt(&t, "a query cannot stand here", "use an expression over the table's columns")
	}
	return x
}

// constraint parses [CONSTRAINT n] PRIMARY KEY|UNIQUE; of a table it lists columns.
func (p *parser) constraint(table bool) *ast.Constraint {
	start := p.tok().pos
	c := &ast.Constraint{}
	if p.accept("CONSTRAINT") {
		n := p.name("the constraint's name")
		c.Name = &n
	}
	if p.accept("UNIQUE") {
		c.Unique = true
	} else {
		if !p.accept("PRIMARY") {
			p.fail("PRIMARY KEY")
		}
		p.expect("after PRIMARY", "KEY")
	}
	if table {
		c.Columns = p.nameList("a column name")
	}
	switch {
	case p.accept("NOT", "ENFORCED"):
		c.Enforced = "NOT ENFORCED"
	case p.accept("ENFORCED"):
		c.Enforced = "ENFORCED"
	}
	c.Span = p.span(start)
	return c
}

// column parses a physical, metadata or computed column.
func (p *parser) column(place bool) *ast.Column {
	start := p.tok().pos
	c := &ast.Column{Kind: ast.PhysicalColumn}
	c.Name = p.name("a column name")
	for p.op(".") {
		p.advance()
		c.Nested = append(c.Nested, p.name("a column name after the dot"))
	}
	if p.accept("AS") {
		c.Kind = ast.ComputedColumn
		c.Expr = p.scalar()
	} else {
		p.typedColumn(c)
	}
	if p.accept("COMMENT") {
		c.Comment = p.plainStr("the comment")
	}
	if place {
		p.columnPlace(c)
	}
	p.columnEnd(c)
	c.Span = p.span(start)
	return c
}

// typedColumn parses type, constraint and METADATA of a column.
func (p *parser) typedColumn(c *ast.Column) {
	if p.tok().kind == tokEOF || p.op(",") || p.op(")") {
		p.failHint("a type after the column "+c.Name.Text, "as "+c.Name.Text+" STRING, or "+c.Name.Text+" AS expression")
	}
	c.Type = p.typeName()
	switch {
	case p.kw("CONSTRAINT") || p.kw("PRIMARY") || p.kw("UNIQUE"):
		c.Key = p.constraint(false)
	case p.accept("METADATA"):
		c.Kind = ast.MetadataColumn
		if p.accept("FROM") {
			c.MetadataKey = p.str("the metadata key")
		}
		c.Virtual = p.accept("VIRTUAL")
	}
}

func (p *parser) columnPlace(c *ast.Column) {
	switch {
	case p.accept("FIRST"):
		c.Place = "FIRST"
	case p.accept("AFTER"):
		c.Place = "AFTER"
		c.AfterName = p.identifier("a column name")
	}
}

// columnEnd gives advice for what other databases have after a column.
func (p *parser) columnEnd(c *ast.Column) {
	if p.op(",") || p.op(")") || p.tok().kind != tokWord {
		return
	}
	hint := ""
	switch w := p.tok().word; w {
	case "DEFAULT":
		hint = "column defaults are not in this dialect: use COALESCE in the query"
	case "AUTO_INCREMENT", "IDENTITY", "GENERATED":
		hint = "generated keys are not in this dialect"
	case "CHECK", "REFERENCES", "COLLATE", "UNSIGNED":
		hint = w + " is not in this dialect"
	case "NOT", "NULL":
		hint = "NOT NULL goes right after the type"
	case "PRIMARY":
		hint = "PRIMARY KEY NOT ENFORCED goes before COMMENT"
	case "AS":
		hint = "a computed column has no type: write " + c.Name.Text + " AS expression"
	case "FROM":
		hint = "the order is METADATA FROM 'key' VIRTUAL"
	default:
		return
	}
	p.failHint("',' or ')' after the column "+c.Name.Text, hint)
}

// distribution parses what follows DISTRIBUTED or DISTRIBUTION.
func (p *parser) distribution() *ast.Distribution {
	start := p.tok().pos
	d := &ast.Distribution{}
	if p.accept("BY") {
		d.Kind = p.acceptOne("HASH", "RANGE")
		if !p.op("(") {
			p.fail("'(' or HASH or RANGE after BY")
		}
		d.Columns = p.nameList("a column name")
	} else if !p.kw("INTO") {
		p.fail("BY or INTO")
	}
	if p.accept("INTO") {
		d.Buckets = p.integer("a number of buckets")
		p.expect("after the number", "BUCKETS")
	}
	d.Span = p.span(start)
	return d
}

func (p *parser) partitionedBy() []ast.Name {
	p.advance()
	p.expect("after PARTITIONED", "BY")
	var out []ast.Name
	p.expectOp("(", "after PARTITIONED BY")
	p.comma(func() {
		out = append(out, p.name("a column name"))
		if p.op("(") {
			p.failHint("',' or ')'", "partition by a column; for an expression declare a computed column, or compute it in the query")
		}
		if p.tok().kind == tokWord {
			p.failHint("',' or ')'", "declare the column with its type in the column list, here goes its name alone")
		}
	})
	p.expectOp(")", "or ',' after the partition column")
	return out
}

// withOptions parses WITH ('k' = 'v', ..); the second result tells whether WITH was there.
func (p *parser) withOptions() ([]ast.Option, bool) {
	if !p.accept("WITH") {
		return nil, false
	}
	return p.options("WITH"), true
}

// options parses ('k' = 'v', ..), which may be empty.
func (p *parser) options(after string) []ast.Option {
	open := p.tok().pos
	p.expectOp("(", "after "+after)
	var out []ast.Option
	if p.acceptOp(")") {
		return out
	}
	p.comma(func() { out = append(out, p.option()) })
	p.closing(open, "or ',' after the option")
	return out
}

func (p *parser) option() ast.Option {
	start := p.tok().pos
	o := ast.Option{Key: p.str("an option's key")}
	if k := o.Key; p.op(")") && k.Kind == ast.StringLit && k.Stop.Offset-k.Start.Offset > len(ast.QuoteString(k.Text)) {
		p.failHint("'=' after the option's key", "strings side by side are one string: put = between key and value")
	}
	p.expectOp("=", "after the option's key")
	o.Value = p.str("the value of option '" + shorten(o.Key.Text) + "'")
	o.Span = p.span(start)
	return o
}

// keys parses ('k', 'k'), which may be empty.
func (p *parser) keys(after string) {
	p.expectOp("(", "after "+after)
	if p.acceptOp(")") {
		return
	}
	p.comma(func() { p.str("an option's key") })
	p.expectOp(")", "or ',' after the key")
}

var likeFeatures = []string{"ALL", "CONSTRAINTS", "DISTRIBUTION", "PARTITIONS", "METADATA", "GENERATED", "OPTIONS", "WATERMARKS"}

func (p *parser) tableLike() *ast.TableLike {
	start := p.advance().pos
	l := &ast.TableLike{Source: p.identifier("the name of the table to be like")}
	if p.acceptOp("(") {
		for {
			s := p.tok().pos
			o := ast.LikeOption{Strategy: p.expectOne("in the options of LIKE", "INCLUDING", "EXCLUDING", "OVERWRITING")}
			o.Feature = p.expectOne("after "+o.Strategy, likeFeatures...)
			o.Span = p.span(s)
			l.Options = append(l.Options, o)
			if p.op(",") {
				p.failHint("another option or ')'", "the options of LIKE are separated by spaces")
			}
			if p.acceptOp(")") {
				break
			}
		}
	}
	if p.kw("WITH") {
		p.failHint("the end of the statement", "WITH goes before LIKE")
	}
	l.Span = p.span(start)
	return l
}

func (p *parser) createView(start ast.Pos, v *ast.CreateView) ast.Statement {
	v.IfNotExists = p.ifNotExistsName()
	v.Name = p.identifier("a view name")
	if p.op("(") {
		v.Columns = p.nameList("a column name")
	}
	if p.accept("COMMENT") {
		v.Comment = p.plainStr("the comment")
	}
	p.expect("and a query in CREATE VIEW", "AS")
	v.Query = p.query()
	v.Span = p.span(start)
	return v
}

func (p *parser) createFunction(start ast.Pos, f *ast.CreateFunction) ast.Statement {
	f.IfNotExists = p.ifNotExistsName()
	if f.System {
		f.Name = p.simpleIdentifier("a function name")
	} else {
		f.Name = p.identifier("a function name")
	}
	p.expect("and the class in CREATE FUNCTION", "AS")
	f.Class = p.plainStr("the class")
	f.Language = p.language()
	if p.accept("USING") {
		p.comma(func() {
			s := p.tok().pos
			r := ast.Resource{Kind: p.expectOne("after USING", "JAR", "ARTIFACT")}
			r.Path = p.plainStr("the path")
			r.Span = p.span(s)
			f.Using = append(f.Using, r)
		})
	}
	f.Options, _ = p.withOptions()
	f.Span = p.span(start)
	return f
}

func (p *parser) language() string {
	if !p.accept("LANGUAGE") {
		return ""
	}
	return p.expectOne("after LANGUAGE", "JAVA", "SCALA", "PYTHON", "SQL")
}

func (p *parser) createCatalog(start ast.Pos) ast.Statement {
	c := &ast.CreateCatalog{IfNotExists: p.ifNotExistsName()}
	c.Name = p.name("a catalog name")
	if p.accept("COMMENT") {
		c.Comment = p.plainStr("the comment")
	}
	c.Options, _ = p.withOptions()
	p.misplacedComment()
	c.Span = p.span(start)
	return c
}

func (p *parser) misplacedComment() {
	if p.kw("COMMENT") {
		p.failAt(p.tok(), "COMMENT comes too late", "it goes before WITH")
	}
}

func (p *parser) createDatabase(start ast.Pos) ast.Statement {
	d := &ast.CreateDatabase{IfNotExists: p.ifNotExistsName()}
	d.Name = p.identifier("a database name")
	if p.accept("COMMENT") {
		d.Comment = p.plainStr("the comment")
	}
	d.Options, _ = p.withOptions()
	p.misplacedComment()
	d.Span = p.span(start)
	return d
}

func (p *parser) createModel(start ast.Pos) ast.Statement {
	p.ifNotExistsName()
	p.identifier("a model name")
	if p.accept("INPUT") {
		p.elements(false)
	}
	if p.accept("OUTPUT") {
		p.elements(false)
	}
	if p.accept("COMMENT") {
		p.plainStr("the comment")
	}
	p.withOptions()
	if p.accept("AS") {
		p.query()
	}
	return p.other(start, "CREATE", "MODEL")
}

func (p *parser) createConnection(start ast.Pos) ast.Statement {
	p.ifNotExistsName()
	p.identifier("a connection name")
	if p.accept("COMMENT") {
		p.plainStr("the comment")
	}
	p.expect("in CREATE CONNECTION", "WITH")
	p.options("WITH")
	return p.other(start, "CREATE", "CONNECTION")
}

// createMaterialized parses [OR ALTER] MATERIALIZED TABLE.
func (p *parser) createMaterialized(start ast.Pos) ast.Statement {
	p.advance()
	p.expect("after MATERIALIZED", "TABLE")
	if p.kws("IF", "NOT") {
		p.failHint("a table name", "CREATE MATERIALIZED TABLE has no IF NOT EXISTS")
	}
	p.identifier("a table name")
	if p.op("(") {
		p.tableElements(&ast.CreateTable{})
	}
	if p.accept("COMMENT") {
		p.plainStr("the comment")
	}
	if p.accept("DISTRIBUTED") {
		p.distribution()
	}
	if p.kw("PARTITIONED") {
		p.partitionedBy()
	}
	p.withOptions()
	if p.accept("START_MODE") {
		p.startMode()
	}
	if p.kw("FRESHNESS") {
		p.freshness()
	}
	if p.kw("REFRESH_MODE") {
		p.refreshMode()
	}
	p.expect("and a query in CREATE MATERIALIZED TABLE", "AS")
	p.query()
	return p.other(start, "CREATE", "MATERIALIZED", "TABLE")
}

func (p *parser) freshness() {
	p.expect("", "FRESHNESS")
	p.expectOp("=", "after FRESHNESS")
	t := *p.tok()
	if !p.kw("INTERVAL") {
		p.fail("an interval, as INTERVAL '1' MINUTE")
	}
	if _, ok := p.interval().(*ast.Literal); !ok {
		p.failAt(&t, "FRESHNESS takes a constant interval", "write INTERVAL '1' MINUTE")
	}
}

func (p *parser) refreshMode() {
	p.expect("", "REFRESH_MODE")
	p.expectOp("=", "after REFRESH_MODE")
	p.expectOne("", "FULL", "CONTINUOUS")
}

// startModes tells what a start mode takes in parentheses.
var startModes = map[string]string{
	"FROM_BEGINNING": "", "FROM_NOW": "INTERVAL", "FROM_TIMESTAMP": "TIMESTAMP",
	"RESUME_OR_FROM_BEGINNING": "", "RESUME_OR_FROM_NOW": "INTERVAL", "RESUME_OR_FROM_TIMESTAMP": "TIMESTAMP",
}

func (p *parser) startMode() {
	p.expectOp("=", "after START_MODE")
	w := p.expectOne("", "FROM_BEGINNING", "FROM_NOW", "FROM_TIMESTAMP", "RESUME_OR_FROM_BEGINNING", "RESUME_OR_FROM_NOW", "RESUME_OR_FROM_TIMESTAMP")
	arg := startModes[w]
	if arg == "TIMESTAMP" && !p.op("(") {
		p.fail("'(' and a timestamp after " + w)
	}
	if arg == "" || !p.acceptOp("(") {
		return
	}
	t := *p.tok()
	if l, ok := p.expr().(*ast.Literal); !ok || l.Kind != map[string]ast.LiteralKind{"INTERVAL": ast.IntervalLit, "TIMESTAMP": ast.TimestampLit}[arg] {
		p.failAt(&t, w+" takes a constant "+lower(arg), "as INTERVAL '1' DAY, or TIMESTAMP '2024-01-01 00:00:00'")
	}
	p.expectOp(")", "after the argument of "+w)
}
