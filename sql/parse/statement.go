package parse

import (
	"sort"

	"staunch/sql/ast"
)

// statements maps the first word of a statement to its parser. Filled by init, since the parsers refer back to statement.
var statements map[string]func(*parser) ast.Statement

// statementWords are the keys of statements, for "did you mean".
var statementWords []string

func init() {
	query := func(p *parser) ast.Statement { return p.query() }
	statements = map[string]func(*parser) ast.Statement{
		"SELECT": query, "VALUES": query, "WITH": query, "TABLE": query,
		"CREATE": (*parser).create, "REPLACE": (*parser).replaceTable, "DROP": (*parser).drop, "ALTER": (*parser).alter,
		"INSERT": func(p *parser) ast.Statement { return p.insert() }, "EXECUTE": (*parser).execute,
		"BEGIN": (*parser).begin, "END": (*parser).endSet, "COMPILE": (*parser).compile,
		"EXPLAIN": (*parser).explain, "DESCRIBE": (*parser).describe, "DESC": (*parser).describe, "SHOW": (*parser).show,
		"USE": (*parser).use, "LOAD": (*parser).loadModule, "UNLOAD": (*parser).unloadModule,
		"SET": (*parser).set, "RESET": (*parser).reset, "ADD": (*parser).jar, "REMOVE": (*parser).jar,
		"STOP": (*parser).stopJob, "ANALYZE": (*parser).analyze, "TRUNCATE": (*parser).truncate,
		"DELETE": (*parser).delete, "UPDATE": (*parser).update, "CALL": (*parser).callProcedure, "MERGE": (*parser).merge,
	}
	for w := range statements {
		statementWords = append(statementWords, w)
	}
	sort.Strings(statementWords)
}

// statementAdvice is for first words that are no statements.
var statementAdvice = map[string]string{
	"CANCEL": "write STOP JOB 'id'", "UPSERT": "write INSERT INTO; the sink's PRIMARY KEY makes it an upsert",
	"STATEMENT": "write EXECUTE STATEMENT SET BEGIN ..; END", "COMMIT": "there are no user transactions: checkpoints commit",
	"ROLLBACK": "there are no user transactions: checkpoints commit", "START": "there are no user transactions: checkpoints commit",
	"FROM": "a query begins with SELECT", "GRANT": "there are no users and rights in this dialect",
	"REVOKE": "there are no users and rights in this dialect",
}

// statement parses one statement.
func (p *parser) statement() ast.Statement {
	p.enter()
	defer p.leave()
	t := *p.tok()
	if t.op("(") {
		if !p.queryAhead(0) {
			p.fail("a query in the parentheses")
		}
		return p.query()
	}
	if t.kind == tokEOF || t.op(";") {
		p.failAt(&t, "expected a statement, found "+describe(&t), "")
	}
	p.first = t.word
	f := statements[t.word]
	if t.kind != tokWord || f == nil {
		hint := statementAdvice[t.word]
		if w := near(t.word, statementWords); hint == "" && w != "" {
			hint = "did you mean " + w + "?"
		}
		p.failAt(&t, "expected a statement (SELECT, INSERT, CREATE, ..), found "+describe(&t), hint)
	}
	return f(p)
}

// other makes an Other of the text from start to here.
func (p *parser) other(start ast.Pos, words ...string) ast.Statement {
	return &ast.Other{Span: p.span(start), Words: words, Text: p.src[start.Offset:p.end.Offset]}
}

// insert parses INSERT INTO|OVERWRITE.
func (p *parser) insert() *ast.Insert {
	start := p.tok().pos
	p.expect("", "INSERT")
	i := &ast.Insert{}
	verb := p.expectOne("after INSERT", "INTO", "OVERWRITE")
	i.Overwrite = verb == "OVERWRITE"
	if p.kw("TABLE") || p.kw("INTO") {
		p.failHint("a table name", "write INSERT "+verb+" t, without "+p.tok().word)
	}
	i.Target = p.identifier("a table name")
	if p.op("/*+") {
		i.Hints = p.hints()
	}
	if p.kw("PARTITION") {
		i.Partition = p.partition(false, "the value of a static partition: columns without a value are the last ones of the query")
	}
	if p.op("(") && !p.queryAhead(0) {
		i.Columns = p.insertColumns()
	}
	if p.kw("PARTITION") {
		p.failHint("a query", "PARTITION (..) goes before the column list")
	}
	i.Query = p.query()
	if p.accept("ON") {
		p.expect("after ON", "CONFLICT", "DO")
		i.OnConflict = p.expectOne("after ON CONFLICT DO", "NOTHING", "ERROR", "DEDUPLICATE")
	}
	i.Span = p.span(start)
	return i
}

func (p *parser) insertColumns() []*ast.Identifier {
	p.advance()
	var out []*ast.Identifier
	p.comma(func() { out = append(out, p.identifier("a column name")) })
	p.expectOp(")", "or ',' in the column list")
	return out
}

// partition parses PARTITION (a = 'x', b = 1). With bare, names without a value are allowed.
func (p *parser) partition(bare bool, hint string) []ast.PartitionValue {
	p.expect("", "PARTITION")
	p.expectOp("(", "after PARTITION")
	var out []ast.PartitionValue
	p.comma(func() {
		start := p.tok().pos
		v := ast.PartitionValue{Name: p.name("a partition column")}
		if p.acceptOp("=") {
			v.Value = p.constant()
		} else if !bare {
			p.failHint("'=' and "+"a value after the partition column", hint)
		}
		v.Span = p.span(start)
		out = append(out, v)
	})
	p.expectOp(")", "or ',' in PARTITION (..)")
	return out
}

// constant parses a literal, with a sign if it is a number.
func (p *parser) constant() ast.Expr {
	start := *p.tok()
	switch {
	case start.op("-") || start.op("+"):
		p.advance()
		if k := p.tok().kind; k != tokInt && k != tokDecimal && k != tokDouble {
			p.fail("a number")
		}
		x := p.number()
		return &ast.Unary{Span: p.span(start.pos), Op: ast.UnaryOp(start.val), X: x}
	case start.is("INTERVAL"):
		return p.interval()
	case start.kind == tokOp, start.kind == tokQuoted, start.kind == tokEOF, start.kind == tokBad,
		start.kind == tokWord && !constantWords[start.word]:
		p.failHint("a constant", "a string goes in single quotes: '"+shorten(start.val)+"'")
	}
	return p.primary()
}

var constantWords = wordSet(`TRUE FALSE UNKNOWN NULL DATE TIME TIMESTAMP DATETIME INTERVAL`)

// execute parses EXECUTE INSERT, EXECUTE SELECT, EXECUTE STATEMENT SET and EXECUTE PLAN.
func (p *parser) execute() ast.Statement {
	start := p.advance().pos
	switch {
	case p.kw("INSERT"):
		i := p.insert()
		i.Execute = true
		i.Start = start
		return i
	case p.kw("STATEMENT"):
		s := p.statementSet()
		s.Execute = true
		s.Start = start
		return s
	case p.accept("PLAN"):
		p.str("the plan's file")
		return p.other(start, "EXECUTE", "PLAN")
	case p.queryAhead(0):
		q := p.query()
		return &ast.ExecuteQuery{Span: p.span(start), Query: q}
	}
	p.fail("INSERT, STATEMENT SET, PLAN or a query after EXECUTE")
	return nil
}

// statementSet parses STATEMENT SET BEGIN ins; ins; END.
func (p *parser) statementSet() *ast.StatementSet {
	start := p.tok().pos
	p.expect("", "STATEMENT")
	p.expect("after STATEMENT", "SET")
	p.expect("after STATEMENT SET", "BEGIN")
	s := &ast.StatementSet{}
	for !p.kw("END") {
		if !p.kw("INSERT") {
			if p.op(";") {
				p.failHint("INSERT or END in the statement set", "one semicolon ends a statement")
			}
			p.failHint("INSERT or END in the statement set", "only INSERT statements may stand in a statement set")
		}
		s.Inserts = append(s.Inserts, p.insert())
		p.expectOp(";", "after the INSERT in the statement set")
	}
	if len(s.Inserts) == 0 {
		p.fail("INSERT in the statement set")
	}
	p.advance()
	s.Span = p.span(start)
	return s
}

func (p *parser) begin() ast.Statement {
	start := p.advance().pos
	p.expect("after BEGIN", "STATEMENT", "SET")
	return &ast.BeginStatementSet{Span: p.span(start)}
}

func (p *parser) endSet() ast.Statement {
	start := p.advance().pos
	return &ast.EndStatementSet{Span: p.span(start)}
}

// compile parses COMPILE PLAN and COMPILE AND EXECUTE PLAN.
func (p *parser) compile() ast.Statement {
	start := p.advance().pos
	words := []string{"COMPILE", "PLAN"}
	both := p.accept("AND")
	if both {
		p.expect("after COMPILE AND", "EXECUTE")
		words = []string{"COMPILE", "AND", "EXECUTE", "PLAN"}
	}
	p.expect("after COMPILE", "PLAN")
	p.str("the plan's file")
	if !both {
		p.ifNotExists()
	}
	p.expect("after the plan's file", "FOR")
	if p.kw("STATEMENT") {
		p.statementSet()
	} else {
		p.insert()
	}
	return p.other(start, words...)
}

func (p *parser) ifNotExists() bool {
	if !p.kw("IF") {
		return false
	}
	p.advance()
	if p.kw("EXISTS") {
		p.failHint("NOT EXISTS after IF", "write IF NOT EXISTS here, IF EXISTS belongs to DROP")
	}
	p.expect("in IF NOT EXISTS", "NOT", "EXISTS")
	return true
}

// ifNotExistsName is ifNotExists where a name follows: IF alone can be that name.
func (p *parser) ifNotExistsName() bool {
	return p.kw("IF") && (p.peek(1).is("NOT") || p.peek(1).is("EXISTS")) && p.ifNotExists()
}

func (p *parser) ifExists() bool {
	if p.kw("IF") && p.peek(1).is("NOT") {
		p.failHint("IF EXISTS", "write IF EXISTS here, IF NOT EXISTS belongs to CREATE")
	}
	return p.accept("IF", "EXISTS")
}

var explainDetails = []string{"ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE"}

// explain parses EXPLAIN.
func (p *parser) explain() ast.Statement {
	start := p.advance().pos
	e := &ast.Explain{}
	switch {
	case p.kws("PLAN", "FOR"):
		e.PlanFor = p.accept("PLAN", "FOR")
	case p.kw("PLAN"):
		p.advance()
		p.fail("FOR after PLAN")
	default:
		p.explainDetails(e)
	}
	switch {
	case p.queryAhead(0):
		e.Statement = p.query()
	case p.kw("INSERT"):
		e.Statement = p.insert()
	case p.kw("STATEMENT"):
		set := p.statementSet()
		set.Inner = true
		e.Statement = set
	case p.kw("EXECUTE") && (p.peek(1).is("STATEMENT") || p.peek(1).is("INSERT")) || p.kw("EXECUTE") && p.queryAhead(1):
		e.Statement = p.execute()
	case p.kw("CREATE"), p.kw("REPLACE"):
		t := *p.tok()
		e.Statement = statements[t.word](p)
		if c, ok := e.Statement.(*ast.CreateTable); !ok || c.As == nil {
			p.failAt(&t, "EXPLAIN takes a CREATE TABLE only if it has AS and a query", "explain the query or the INSERT")
		}
	default:
		p.failHint("a query, INSERT or STATEMENT SET after EXPLAIN", "the details are "+orList(explainDetails))
	}
	e.Span = p.span(start)
	return e
}

func (p *parser) explainDetails(e *ast.Explain) {
	for {
		t := *p.tok()
		d := p.acceptOne(explainDetails...)
		if d == "" {
			if len(e.Details) > 0 {
				p.fail("a detail (" + orList(explainDetails) + ")")
			}
			return
		}
		if contains(e.Details, d) {
			p.failAt(&t, d+" is given twice", "remove one")
		}
		e.Details = append(e.Details, d)
		if !p.acceptOp(",") {
			return
		}
	}
}

// describe parses DESCRIBE and DESC.
func (p *parser) describe() ast.Statement {
	start := p.advance().pos
	d := &ast.Describe{Object: "TABLE"}
	switch {
	case p.accept("CATALOG"):
		d.Object = "CATALOG"
		d.Extended = p.accept("EXTENDED")
		d.Name = p.simpleIdentifier("a catalog name")
	case p.accept("JOB"):
		d.Object = "JOB"
		d.Job = p.plainStr("the job's id")
	case p.kw("DATABASE") || p.kw("FUNCTION") || p.kw("MODEL") || p.kw("CONNECTION"):
		d.Object = p.advance().word
		d.Extended = p.accept("EXTENDED")
		d.Name = p.identifier("the name of a " + lower(d.Object))
	default:
		p.accept("TABLE")
		d.Extended = p.accept("EXTENDED")
		d.Name = p.identifier("a table name")
	}
	d.Span = p.span(start)
	return d
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// use parses USE.
func (p *parser) use() ast.Statement {
	start := p.advance().pos
	u := &ast.Use{Kind: "DATABASE"}
	switch {
	case p.accept("CATALOG"):
		u.Kind = "CATALOG"
		u.Names = append(u.Names, p.simpleIdentifier("a catalog name"))
	case p.accept("MODULES"):
		u.Kind = "MODULES"
		p.comma(func() { u.Names = append(u.Names, p.simpleIdentifier("a module name")) })
	case p.kw("DATABASE") && p.peek(1).kind != tokEOF && !p.peek(1).op(";") && !p.peek(1).op("."):
		p.failAt(p.tok(), "USE takes the database's name alone", "write USE "+p.peek(1).val)
	default:
		u.Names = append(u.Names, p.identifier("a database name"))
	}
	u.Span = p.span(start)
	return u
}

func (p *parser) loadModule() ast.Statement {
	start := p.advance().pos
	p.expect("after LOAD", "MODULE")
	p.name("a module name")
	p.withOptions()
	return p.other(start, "LOAD", "MODULE")
}

func (p *parser) unloadModule() ast.Statement {
	start := p.advance().pos
	p.expect("after UNLOAD", "MODULE")
	p.name("a module name")
	return p.other(start, "UNLOAD", "MODULE")
}

// set parses SET and SET 'key' = 'value'.
func (p *parser) set() ast.Statement {
	start := p.advance().pos
	s := &ast.Set{}
	if p.tok().kind != tokEOF && !p.op(";") {
		s.Key = p.str("the option's key")
		p.expectOp("=", "after the option's key")
		s.Value = p.str("the option's value")
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) reset() ast.Statement {
	start := p.advance().pos
	r := &ast.Reset{}
	if p.tok().kind != tokEOF && !p.op(";") {
		r.Key = p.str("the option's key")
	}
	r.Span = p.span(start)
	return r
}

// jar parses ADD JAR and REMOVE JAR.
func (p *parser) jar() ast.Statement {
	start := p.tok().pos
	verb := p.advance().word
	p.expect("after "+verb, "JAR")
	j := &ast.Jar{Remove: verb == "REMOVE", Path: p.plainStr("the jar's path")}
	j.Span = p.span(start)
	return j
}

func (p *parser) stopJob() ast.Statement {
	start := p.advance().pos
	p.expect("after STOP", "JOB")
	s := &ast.StopJob{Job: p.plainStr("the job's id")}
	for p.kw("WITH") {
		p.advance()
		t := *p.tok()
		w := p.expectOne("after WITH", "SAVEPOINT", "DRAIN")
		switch {
		case w == "SAVEPOINT" && !s.Savepoint:
			s.Savepoint = true
		case w == "DRAIN" && s.Savepoint && !s.Drain:
			s.Drain = true
		default:
			p.failAt(&t, "WITH DRAIN is allowed only after WITH SAVEPOINT", "write STOP JOB 'id' WITH SAVEPOINT WITH DRAIN")
		}
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) analyze() ast.Statement {
	start := p.advance().pos
	p.expect("after ANALYZE", "TABLE")
	p.identifier("a table name")
	if p.kw("PARTITION") {
		p.partition(true, "")
	}
	p.expect("in ANALYZE TABLE t COMPUTE STATISTICS", "COMPUTE", "STATISTICS")
	if p.accept("FOR") {
		if p.accept("ALL") {
			p.expect("after FOR ALL", "COLUMNS")
		} else {
			p.expect("after FOR", "COLUMNS")
			p.comma(func() { p.name("a column name") })
		}
	}
	return p.other(start, "ANALYZE", "TABLE")
}

func (p *parser) truncate() ast.Statement {
	start := p.advance().pos
	p.expect("after TRUNCATE", "TABLE")
	p.identifier("a table name")
	return p.other(start, "TRUNCATE", "TABLE")
}

func (p *parser) delete() ast.Statement {
	start := p.advance().pos
	p.expect("after DELETE", "FROM")
	p.identifier("a table name")
	p.hintsAndAlias()
	if p.accept("WHERE") {
		p.expr()
	}
	return p.other(start, "DELETE")
}

func (p *parser) hintsAndAlias() {
	if p.op("/*+") {
		p.hints()
	}
	p.aliasName(nil)
}

func (p *parser) update() ast.Statement {
	start := p.advance().pos
	p.identifier("a table name")
	p.hintsAndAlias()
	p.assignments()
	if p.accept("WHERE") {
		p.expr()
	}
	return p.other(start, "UPDATE")
}

// assignments parses SET a = x, b = y.
func (p *parser) assignments() {
	p.expect("after the table of UPDATE", "SET")
	p.comma(func() {
		p.name("a column name")
		p.expectOp("=", "after the column")
		p.expr()
	})
}

func (p *parser) callProcedure() ast.Statement {
	start := p.advance().pos
	c := &ast.Call{Func: p.identifier("a procedure's name")}
	if !p.op("(") {
		p.fail("'(' after the procedure's name")
	}
	p.advance()
	if p.kw("DISTINCT") || p.kw("ALL") || p.op("*") {
		p.fail("an argument or ')'")
	}
	p.arguments(c)
	return p.other(start, "CALL")
}

// merge parses MERGE INTO.
func (p *parser) merge() ast.Statement {
	start := p.advance().pos
	p.expect("after MERGE", "INTO")
	p.identifier("a table name")
	p.hintsAndAlias()
	p.expect("after the table of MERGE", "USING")
	p.tableRef()
	p.expect("after the source of MERGE", "ON")
	p.expr()
	if !p.kw("WHEN") {
		p.fail("WHEN in MERGE")
	}
	if p.accept("WHEN", "MATCHED") {
		p.expect("after WHEN MATCHED", "THEN", "UPDATE")
		p.assignments()
	}
	if p.accept("WHEN", "NOT", "MATCHED") {
		p.expect("after WHEN NOT MATCHED", "THEN", "INSERT")
		p.mergeInsert()
	}
	return p.other(start, "MERGE")
}

func (p *parser) mergeInsert() {
	if p.op("(") && !p.queryAhead(0) {
		p.insertColumns()
	}
	paren := p.acceptOp("(")
	p.expect("in the INSERT of MERGE", "VALUES")
	p.valuesRow()
	if paren {
		p.expectOp(")", "after VALUES")
	}
}
