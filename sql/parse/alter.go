package parse

import "staunch/sql/ast"

// drop parses DROP ..
func (p *parser) drop() ast.Statement {
	start := p.advance().pos
	d := &ast.Drop{}
	d.Temporary = p.accept("TEMPORARY")
	d.System = p.accept("SYSTEM")
	if p.kw("MATERIALIZED") {
		if d.Temporary {
			p.failAt(p.tok(), "there are no temporary materialized tables", "write DROP MATERIALIZED TABLE")
		}
		p.advance()
		p.expect("after MATERIALIZED", "TABLE")
		d.Object = "MATERIALIZED TABLE"
	} else {
		objects := []string{"TABLE", "VIEW", "FUNCTION", "CATALOG", "DATABASE", "MODEL", "CONNECTION"}
		if d.System {
			objects = []string{"FUNCTION", "CONNECTION"}
		}
		d.Object = p.expectOne("after DROP", objects...)
	}
	d.IfExists = p.ifExists()
	d.Name = p.identifier("the name of the " + lower(d.Object))
	if d.Object == "DATABASE" {
		d.Behavior = p.acceptOne("RESTRICT", "CASCADE")
	} else if p.kw("CASCADE") || p.kw("RESTRICT") {
		p.failHint("the end of the statement", p.tok().word+" belongs to DROP DATABASE")
	}
	if p.op(",") {
		p.failHint("the end of the statement", "one DROP for each")
	}
	d.Span = p.span(start)
	return d
}

// alter parses ALTER ..
func (p *parser) alter() ast.Statement {
	start := p.advance().pos
	switch {
	case p.accept("TABLE"):
		p.alterTable()
		return p.other(start, "ALTER", "TABLE")
	case p.accept("MATERIALIZED"):
		p.expect("after MATERIALIZED", "TABLE")
		p.alterMaterialized()
		return p.other(start, "ALTER", "MATERIALIZED", "TABLE")
	case p.accept("VIEW"):
		p.identifier("a view name")
		if p.accept("RENAME") {
			p.expect("after RENAME", "TO")
			p.identifier("the new name")
		} else {
			p.expect("or RENAME TO in ALTER VIEW", "AS")
			p.query()
		}
		return p.other(start, "ALTER", "VIEW")
	case p.accept("DATABASE"):
		p.identifier("a database name")
		p.expect("in ALTER DATABASE", "SET")
		p.options("SET")
		return p.other(start, "ALTER", "DATABASE")
	case p.accept("CATALOG"):
		p.alterCatalog()
		return p.other(start, "ALTER", "CATALOG")
	case p.kw("MODEL") || p.kw("CONNECTION"):
		w := p.advance().word
		p.alterModel(w)
		return p.other(start, "ALTER", w)
	case p.kw("TEMPORARY") || p.kw("FUNCTION"):
		p.alterFunction()
		return p.other(start, "ALTER", "FUNCTION")
	}
	p.fail("TABLE, VIEW, DATABASE, CATALOG or FUNCTION after ALTER")
	return nil
}

func (p *parser) alterCatalog() {
	p.name("a catalog name")
	switch p.expectOne("in ALTER CATALOG", "SET", "RESET", "COMMENT") {
	case "SET":
		p.options("SET")
	case "RESET":
		p.keys("RESET")
	case "COMMENT":
		p.plainStr("the comment")
	}
}

func (p *parser) alterModel(what string) {
	p.ifExists()
	p.identifier("the name of the " + lower(what))
	switch p.expectOne("in ALTER "+what, "SET", "RESET", "RENAME") {
	case "SET":
		p.options("SET")
	case "RESET":
		p.keys("RESET")
	case "RENAME":
		p.expect("after RENAME", "TO")
		p.identifier("the new name")
	}
}

func (p *parser) alterFunction() {
	if p.accept("TEMPORARY") {
		p.accept("SYSTEM")
	}
	p.expect("in ALTER FUNCTION", "FUNCTION")
	p.ifExists()
	p.identifier("a function name")
	p.expect("and the class in ALTER FUNCTION", "AS")
	p.plainStr("the class")
	p.language()
}

// alterTable parses what follows ALTER TABLE.
func (p *parser) alterTable() {
	p.ifExists()
	p.identifier("a table name")
	switch p.expectOne("in ALTER TABLE", "RENAME", "SET", "RESET", "ADD", "MODIFY", "DROP") {
	case "RENAME":
		p.noColumnWord("RENAME a TO b")
		if p.accept("TO") {
			p.identifier("the new name")
			return
		}
		p.identifier("a column name, or TO and a table name,")
		p.expect("after the column", "TO")
		p.name("the new name")
	case "SET":
		p.options("SET")
	case "RESET":
		p.keys("RESET")
	case "ADD":
		p.noColumnWord("ADD c INT")
		if p.kw("PARTITION") || p.kws("IF", "NOT") {
			p.addPartitions()
			return
		}
		p.schemaChange()
	case "MODIFY":
		p.noColumnWord("MODIFY c INT")
		p.schemaChange()
	case "DROP":
		p.noColumnWord("DROP c")
		p.alterDrop()
	}
}

// noColumnWord refuses the word COLUMN of other dialects.
func (p *parser) noColumnWord(form string) {
	if p.kw("COLUMN") {
		p.failHint("a column name", "write "+form+", without COLUMN")
	}
}

// schemaChange parses what ADD and MODIFY take.
func (p *parser) schemaChange() {
	switch {
	case p.accept("DISTRIBUTION"):
		p.distribution()
	case p.op("("):
		p.elements(true)
	default:
		p.element(true)
		if p.op(",") {
			p.failHint("the end of the statement", "several changes go in parentheses: ADD (a INT, b INT)")
		}
	}
}

func (p *parser) addPartitions() {
	p.ifNotExists()
	for {
		p.partition(false, "write PARTITION (p = 'v')")
		p.withOptions()
		if !p.kw("PARTITION") {
			return
		}
	}
}

// alterDrop parses what follows DROP in ALTER TABLE.
func (p *parser) alterDrop() {
	switch {
	case p.accept("PRIMARY"):
		p.expect("after PRIMARY", "KEY")
	case p.accept("CONSTRAINT"):
		p.name("the constraint's name")
	case p.accept("WATERMARK"), p.accept("DISTRIBUTION"):
	case p.kw("PARTITION"), p.kws("IF", "EXISTS"):
		p.accept("IF", "EXISTS")
		for {
			p.partition(false, "write PARTITION (p = 'v')")
			if !p.acceptOp(",") {
				return
			}
		}
	case p.acceptOp("("):
		p.comma(func() { p.identifier("a column name") })
		p.expectOp(")", "or ',' after the column")
	default:
		p.identifier("a column name")
	}
}

// alterMaterialized parses what follows ALTER MATERIALIZED TABLE.
func (p *parser) alterMaterialized() {
	p.identifier("a table name")
	switch p.expectOne("in ALTER MATERIALIZED TABLE", "SUSPEND", "RESUME", "REFRESH", "SET", "RESET", "ADD", "MODIFY", "DROP", "AS") {
	case "RESUME":
		p.withOptions()
	case "REFRESH":
		if p.kw("PARTITION") {
			p.partition(false, "write PARTITION (p = 'v')")
		}
	case "SET":
		switch {
		case p.kw("FRESHNESS"):
			p.freshness()
		case p.kw("REFRESH_MODE"):
			p.refreshMode()
		default:
			p.options("SET")
		}
	case "RESET":
		p.keys("RESET")
	case "ADD", "MODIFY":
		p.schemaChange()
	case "DROP":
		if p.kw("PARTITION") {
			p.fail("a column name")
		}
		p.alterDrop()
	case "AS":
		p.query()
	}
}
