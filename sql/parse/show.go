package parse

import "staunch/sql/ast"

// show parses SHOW.
func (p *parser) show() ast.Statement {
	start := p.advance().pos
	s := &ast.Show{}
	switch {
	case p.accept("CREATE"):
		p.showCreate(s)
	case p.accept("CURRENT"):
		s.What = "CURRENT " + p.expectOne("after SHOW CURRENT", "CATALOG", "DATABASE")
	case p.accept("CATALOGS"):
		s.What = "CATALOGS"
		p.showLike(s, true)
	case p.accept("DATABASES"):
		s.What = "DATABASES"
		if p.acceptOne("FROM", "IN") != "" {
			s.From = p.simpleIdentifier("a catalog name")
		}
		p.showLike(s, true)
	case p.accept("MATERIALIZED"):
		p.expect("after MATERIALIZED", "TABLES")
		p.showList(s, "MATERIALIZED TABLES", false)
	case p.kw("TABLES") || p.kw("VIEWS") || p.kw("MODELS") || p.kw("CONNECTIONS"):
		p.showList(s, p.advance().word, false)
	case p.kw("FUNCTIONS") || p.kw("PROCEDURES"):
		p.showList(s, p.advance().word, true)
	case p.accept("USER"):
		p.expect("after USER", "FUNCTIONS")
		p.showList(s, "USER FUNCTIONS", true)
	case p.accept("COLUMNS"):
		s.What = "COLUMNS"
		p.expectOne("after COLUMNS", "FROM", "IN")
		s.Name = p.identifier("a table name")
		p.showLike(s, false)
	case p.accept("PARTITIONS"):
		s.What = "PARTITIONS"
		s.Name = p.identifier("a table name")
		if p.kw("PARTITION") {
			s.Partition = p.partition(false, "write PARTITION (p = 'v')")
		}
	case p.accept("FULL"):
		p.expect("after FULL", "MODULES")
		s.What = "FULL MODULES"
	case p.kw("MODULES") || p.kw("JARS") || p.kw("JOBS"):
		s.What = p.advance().word
	default:
		p.fail("TABLES, VIEWS, CATALOGS, DATABASES, FUNCTIONS, COLUMNS, PARTITIONS, JOBS, CREATE TABLE or the like after SHOW")
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) showCreate(s *ast.Show) {
	switch {
	case p.accept("MATERIALIZED"):
		p.expect("after MATERIALIZED", "TABLE")
		s.What = "CREATE MATERIALIZED TABLE"
		s.Name = p.identifier("a table name")
	case p.accept("CATALOG"):
		s.What = "CREATE CATALOG"
		s.Name = p.simpleIdentifier("a catalog name")
	default:
		w := p.expectOne("after SHOW CREATE", "TABLE", "VIEW", "CATALOG", "MODEL", "CONNECTION")
		s.What = "CREATE " + w
		s.Name = p.identifier("the name of a " + lower(w))
	}
}

// showList parses what follows a kind of object: FROM|IN and a pattern.
func (p *parser) showList(s *ast.Show, what string, ilike bool) {
	s.What = what
	if p.acceptOne("FROM", "IN") != "" {
		s.From = p.identifier("a database name")
	}
	p.showLike(s, ilike)
}

// showLike parses [NOT] LIKE 'p'; ilike tells whether ILIKE may stand there, too.
func (p *parser) showLike(s *ast.Show, ilike bool) {
	not := p.accept("NOT")
	switch {
	case p.accept("LIKE"):
		s.LikeOp = "LIKE"
	case p.kw("ILIKE"):
		if !ilike {
			p.failHint("LIKE", "SHOW "+s.What+" takes LIKE only")
		}
		p.advance()
		s.LikeOp = "ILIKE"
	case not:
		p.fail("LIKE after NOT")
	default:
		return
	}
	s.NotLike = not
	s.Pattern = p.plainStr("a pattern")
}
