package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"staunch/config"
	"staunch/function"
	"staunch/function/datetime"
	"staunch/sql/ast"
	"staunch/sql/parse"
)

// Script is a statement file, planned.
type Script struct {
	// Items are what the statements ask for, in order.
	Items []Item
	// Warnings are to be told once.
	Warnings []string
	// Tables by name, as they stand at the end.
	Tables map[string]*Table
	// Config as it stands at the end.
	Config *config.Job
}

// Item is one of: a job, or text to be printed (EXPLAIN, SET, SHOW, DESCRIBE).
type Item struct {
	Job  *Job
	Text string
}

// Jobs are the script's jobs in order.
func (s *Script) Jobs() []*Job {
	var out []*Job
	for _, i := range s.Items {
		if i.Job != nil {
			out = append(out, i.Job)
		}
	}
	return out
}

type planner struct {
	reg    *Registry
	src    string
	conf   *config.Job
	name   string
	now    func() time.Time
	tables map[string]*Table
	// declared keeps the declarations for LIKE.
	declared map[string]*ast.CreateTable
	out      *Script
	jobs     int
	warned   map[string]bool
}

// Plan plans a whole file. conf has the settings of the configuration file and the command line; name is the default name of the job. An error
// says where (parse.Error, parse.Errors, config.Error); nothing was created or started then.
func Plan(src string, conf *config.Job, name string, now func() time.Time, reg *Registry) (*Script, error) {
	stmts, err := parse.Script(src)
	if err != nil {
		return nil, err
	}
	p := &planner{reg: reg, src: src, conf: conf, name: name, now: now, tables: map[string]*Table{}, declared: map[string]*ast.CreateTable{},
		out: &Script{}, warned: map[string]bool{}}
	for _, s := range stmts {
		if err := p.statement(s); err != nil {
			return nil, err
		}
	}
	if err := conf.CheckTables(slices.Sorted(maps.Keys(p.tables))); err != nil {
		return nil, err
	}
	p.warn(conf.Warnings()...)
	p.out.Tables, p.out.Config = p.tables, conf
	return p.out, nil
}

func (p *planner) warn(lines ...string) {
	for _, l := range lines {
		if !p.warned[l] {
			p.warned[l] = true
			p.out.Warnings = append(p.out.Warnings, l)
		}
	}
}

func (p *planner) text(s string) { p.out.Items = append(p.out.Items, Item{Text: s}) }

func (p *planner) statement(s ast.Statement) error {
	switch s := s.(type) {
	case *ast.CreateTable:
		return p.createTable(s)
	case *ast.Drop:
		return p.drop(s)
	case *ast.Set:
		return p.set(s)
	case *ast.Reset:
		return p.reset(s)
	case *ast.Insert:
		return p.job(s, []*ast.Insert{s})
	case *ast.StatementSet:
		if len(s.Inserts) == 0 {
			return refuse(s, "a statement set without INSERT", "put INSERT statements between BEGIN and END")
		}
		return p.job(s, s.Inserts)
	case *ast.Explain:
		return p.explain(s)
	case *ast.Show:
		return p.show(s)
	case *ast.Describe:
		return p.describe(s)
	case ast.Query:
		return p.query(s)
	case *ast.ExecuteQuery:
		return p.query(s.Query)
	case *ast.Other:
		return notYet(s, strings.Join(s.Words, " "))
	}
	words := strings.Fields(p.src[s.Pos().Offset:s.End().Offset])
	if len(words) > 2 {
		words = words[:2]
	}
	return notYet(s, strings.ToUpper(strings.Join(words, " ")))
}

// Session has the settings that values of expressions depend on.
func (p *planner) session() (function.Session, error) {
	z, err := datetime.LoadZone(p.zone())
	if err != nil {
		return function.Session{}, fmt.Errorf("table.local-time-zone: %w", err)
	}
	return function.Session{Zone: z, Now: p.now, Database: "default_database"}, nil
}

func (p *planner) zone() string {
	z, err := config.ParseZone(p.conf.Values().String("table.local-time-zone"))
	if err != nil || z == nil {
		return "UTC"
	}
	if z == time.Local {
		if name := time.Local.String(); name != "Local" {
			return name
		}
		return "UTC"
	}
	return z.String()
}

func (p *planner) createTable(c *ast.CreateTable) error {
	if c.Like != nil {
		like, err := p.like(c)
		if err != nil {
			return err
		}
		c = like
	}
	s, err := p.session()
	if err != nil {
		return err
	}
	if _, there := p.tables[c.Name.Last()]; there && (len(c.Name.Parts) == 1 || builtIn(c.Name)) {
		if c.IfNotExists {
			return nil
		}
		return refuse(c.Name, "table '"+c.Name.Last()+"' exists already", "drop it first, or write CREATE TABLE IF NOT EXISTS")
	}
	t, err := newTable(c, s)
	if err != nil {
		return err
	}
	p.tables[t.Name] = t
	p.declared[t.Name] = c
	return nil
}

func (p *planner) drop(d *ast.Drop) error {
	if d.Object != "TABLE" {
		return notYet(d, "DROP "+d.Object)
	}
	if _, err := p.table(d.Name); err != nil {
		if d.IfExists {
			return nil
		}
		return err
	}
	if isSystem(d.Name) {
		return refuse(d.Name, "table '"+strings.Join(d.Name.Texts(), ".")+"' is the engine's and cannot be dropped", "")
	}
	delete(p.tables, d.Name.Last())
	return nil
}

func (p *planner) set(s *ast.Set) error {
	if s.Key == nil {
		var b strings.Builder
		v := p.conf.Values()
		for _, k := range v.Keys() {
			fmt.Fprintf(&b, "'%s' = '%s'\n", k, config.Redact(k, v.String(k)))
		}
		p.text(b.String())
		return nil
	}
	return p.conf.Set(s.Key.Text, s.Value.Text, config.Position{Line: s.Key.Pos().Line, Column: s.Key.Pos().Col})
}

func (p *planner) reset(r *ast.Reset) error {
	if r.Key == nil {
		for _, k := range p.conf.Values().Keys() {
			if err := p.conf.Reset(k, config.Position{}); err != nil {
				return err
			}
		}
		return nil
	}
	return p.conf.Reset(r.Key.Text, config.Position{Line: r.Key.Pos().Line, Column: r.Key.Pos().Col})
}

func (p *planner) table(id *ast.Identifier) (*Table, error) {
	if isSystem(id) {
		return p.systemTable(id)
	}
	t, ok := p.tables[id.Last()]
	if !ok || len(id.Parts) > 1 && !builtIn(id) {
		return nil, refuse(id, "no table '"+strings.Join(id.Texts(), ".")+"'", near(id.Last(), slices.Sorted(maps.Keys(p.tables))))
	}
	return t, nil
}

func (p *planner) show(s *ast.Show) error {
	switch s.What {
	case "TABLES":
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(p.tables)) {
			b.WriteString(name + "\n")
		}
		p.text(b.String())
		return nil
	case "DATABASES", "CURRENT DATABASE":
		p.text("default_database\n")
		return nil
	case "CATALOGS", "CURRENT CATALOG":
		p.text("default_catalog\n")
		return nil
	}
	return notYet(s, "SHOW "+s.What)
}

// describe prints, as Flink, name, type, whether it may be NULL, key, extras, watermark and comment of each column.
func (p *planner) describe(d *ast.Describe) error {
	if d.Object != "TABLE" && d.Object != "" || d.Name == nil {
		return notYet(d, "DESCRIBE "+d.Object)
	}
	t, err := p.table(d.Name)
	if err != nil {
		return err
	}
	var b strings.Builder
	key := ""
	if len(t.Primary) > 0 {
		key = "PRI(" + strings.Join(t.Primary, ", ") + ")"
	}
	for i, c := range t.Columns {
		null := "TRUE"
		if c.Type.NotNull {
			null = "FALSE"
		}
		extras := ""
		switch c.Kind {
		case ast.MetadataColumn:
			extras = "METADATA FROM '" + c.MetadataKey + "'"
			if c.Virtual {
				extras += " VIRTUAL"
			}
		case ast.ComputedColumn:
			extras = "AS " + c.Expr.String()
		}
		cells := []string{c.Name, c.Type.Nullable().String(), null, "", extras, "", c.Comment}
		if slices.Contains(t.Primary, c.Name) {
			cells[3] = key
		}
		if i == t.WatermarkColumn {
			cells[1] += " *ROWTIME*"
			cells[5] = t.watermark
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, "\t"), "\t") + "\n")
	}
	p.text(b.String())
	return nil
}
