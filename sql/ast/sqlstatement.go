package ast

import (
	"fmt"
	"strings"
)

// statement prints a statement that is no query.
func (w *writer) statement(s Statement) {
	switch x := s.(type) {
	case *CreateTable:
		w.createTable(x)
	case *CreateView:
		w.s("CREATE ", word(x.OrReplace, "OR REPLACE "), word(x.Temporary, "TEMPORARY "), "VIEW ", ifNot(x.IfNotExists))
		w.id(x.Name)
		if x.Columns != nil {
			w.s(" ")
			w.names(x.Columns)
		}
		w.comment(x.Comment)
		w.s(" AS ")
		w.query(x.Query)
	case *CreateFunction:
		w.createFunction(x)
	case *CreateCatalog:
		w.s("CREATE CATALOG ", ifNot(x.IfNotExists))
		w.name(x.Name)
		w.comment(x.Comment)
		w.with(x.Options, x.Options != nil)
	case *CreateDatabase:
		w.s("CREATE DATABASE ", ifNot(x.IfNotExists))
		w.id(x.Name)
		w.comment(x.Comment)
		w.with(x.Options, x.Options != nil)
	case *Drop:
		w.s("DROP ", word(x.Temporary, "TEMPORARY "), word(x.System, "SYSTEM "), x.Object, " ", word(x.IfExists, "IF EXISTS "))
		w.id(x.Name)
		w.s(word(x.Behavior != "", " "+x.Behavior))
	case *Insert:
		w.insert(x)
	case *StatementSet:
		w.statementSet(x)
	case *BeginStatementSet:
		w.s("BEGIN STATEMENT SET")
	case *EndStatementSet:
		w.s("END")
	case *Explain:
		w.s("EXPLAIN ", word(x.PlanFor, "PLAN FOR "), strings.Join(x.Details, ", "), word(x.Details != nil, " "))
		w.node(x.Statement)
	case *ExecuteQuery:
		w.s("EXECUTE ")
		w.query(x.Query)
	default:
		w.session(s)
	}
}

// session prints the statements about the session.
func (w *writer) session(s Statement) {
	switch x := s.(type) {
	case *Set:
		w.s("SET")
		if x.Key != nil {
			w.s(" ")
			w.literal(x.Key)
			w.s(" = ")
			w.literal(x.Value)
		}
	case *Reset:
		w.s("RESET")
		if x.Key != nil {
			w.s(" ")
			w.literal(x.Key)
		}
	case *Use:
		w.s("USE ", word(x.Kind != "DATABASE", x.Kind+" "))
		list(w, x.Names, w.id)
	case *Show:
		w.show(x)
	case *Describe:
		w.s("DESCRIBE ", word(x.Object != "TABLE", x.Object+" "), word(x.Extended, "EXTENDED "))
		if x.Job != nil {
			w.literal(x.Job)
		} else {
			w.id(x.Name)
		}
	case *Jar:
		w.s(map[bool]string{false: "ADD JAR ", true: "REMOVE JAR "}[x.Remove])
		w.literal(x.Path)
	case *StopJob:
		w.s("STOP JOB ")
		w.literal(x.Job)
		w.s(word(x.Savepoint, " WITH SAVEPOINT"), word(x.Drain, " WITH DRAIN"))
	case *Other:
		w.s(x.Text)
	default:
		w.s(fmt.Sprintf("/* %T */", s))
	}
}

func ifNot(b bool) string { return word(b, "IF NOT EXISTS ") }

func (w *writer) comment(l *Literal) {
	if l != nil {
		w.s(" COMMENT ")
		w.literal(l)
	}
}

func (w *writer) with(os []Option, has bool) {
	if has {
		w.s(" WITH (")
		list(w, os, w.option)
		w.s(")")
	}
}

func (w *writer) createTable(c *CreateTable) {
	switch {
	case c.Replace:
		w.s("REPLACE ")
	default:
		w.s("CREATE ", word(c.OrReplace, "OR REPLACE "))
	}
	w.s(word(c.Temporary, "TEMPORARY "), "TABLE ", ifNot(c.IfNotExists))
	w.id(c.Name)
	switch {
	case c.ColumnNames != nil:
		w.s(" ")
		w.names(c.ColumnNames)
	case c.Elements != nil:
		w.s(" (")
		list(w, c.Elements, w.element)
		w.s(")")
	}
	w.comment(c.Comment)
	w.distribution(c.Distribution)
	if c.PartitionedBy != nil {
		w.s(" PARTITIONED BY ")
		w.names(c.PartitionedBy)
	}
	w.with(c.Options, c.HasWith)
	if c.Like != nil {
		w.s(" ")
		w.tableLike(c.Like)
	}
	if c.As != nil {
		w.s(" AS ")
		w.query(c.As)
	}
}

func (w *writer) tableLike(l *TableLike) {
	w.s("LIKE ")
	w.id(l.Source)
	for i, o := range l.Options {
		w.s(word(i == 0, " ("), word(i > 0, " "), o.Strategy, " ", o.Feature)
	}
	w.s(word(l.Options != nil, ")"))
}

func (w *writer) distribution(d *Distribution) {
	if d == nil {
		return
	}
	w.s(" DISTRIBUTED")
	if d.Columns != nil {
		w.s(" BY ", d.Kind)
		w.names(d.Columns)
	}
	if d.Buckets != nil {
		w.s(" INTO ", d.Buckets.Text, " BUCKETS")
	}
}

// element prints an element of a column list.
func (w *writer) element(e TableElement) {
	switch x := e.(type) {
	case *Column:
		w.column(x)
	case *Watermark:
		w.s("WATERMARK FOR ")
		w.id(x.Column)
		w.s(" AS ")
		w.expr(x.Expr, bindLowest)
	case *Constraint:
		w.constraint(x)
	default:
		w.s(fmt.Sprintf("/* %T */", e))
	}
}

func (w *writer) constraint(c *Constraint) {
	if c.Name != nil {
		w.s("CONSTRAINT ")
		w.name(*c.Name)
		w.s(" ")
	}
	w.s(map[bool]string{false: "PRIMARY KEY", true: "UNIQUE"}[c.Unique])
	if c.Columns != nil {
		w.s(" ")
		w.names(c.Columns)
	}
	w.s(word(c.Enforced != "", " "+c.Enforced))
}

func (w *writer) column(c *Column) {
	w.name(c.Name)
	for _, n := range c.Nested {
		w.s(".")
		w.name(n)
	}
	if c.Kind == ComputedColumn {
		w.s(" AS ")
		w.expr(c.Expr, bindLowest)
	} else {
		w.s(" ")
		w.typeName(c.Type)
	}
	if c.Key != nil {
		w.s(" ")
		w.constraint(c.Key)
	}
	if c.Kind == MetadataColumn {
		w.s(" METADATA")
		if c.MetadataKey != nil {
			w.s(" FROM ")
			w.literal(c.MetadataKey)
		}
		w.s(word(c.Virtual, " VIRTUAL"))
	}
	w.comment(c.Comment)
	if c.Place != "" {
		w.s(" ", c.Place)
	}
	if c.AfterName != nil {
		w.s(" ")
		w.id(c.AfterName)
	}
}

func (w *writer) createFunction(f *CreateFunction) {
	w.s("CREATE ", word(f.OrReplace, "OR REPLACE "), word(f.Temporary, "TEMPORARY "), word(f.System, "SYSTEM "), "FUNCTION ", ifNot(f.IfNotExists))
	w.id(f.Name)
	w.s(" AS ")
	w.literal(f.Class)
	w.s(word(f.Language != "", " LANGUAGE "+f.Language))
	if f.Using != nil {
		w.s(" USING ")
		list(w, f.Using, w.resource)
	}
	w.with(f.Options, f.Options != nil)
}

func (w *writer) resource(r Resource) {
	w.s(r.Kind, " ")
	w.literal(r.Path)
}

func (w *writer) insert(i *Insert) {
	w.s(word(i.Execute, "EXECUTE "), "INSERT ", map[bool]string{false: "INTO ", true: "OVERWRITE "}[i.Overwrite])
	w.id(i.Target)
	w.hints(i.Hints, " ", "")
	w.partition(i.Partition)
	if i.Columns != nil {
		w.s(" (")
		list(w, i.Columns, w.id)
		w.s(")")
	}
	w.s(" ")
	w.query(i.Query)
	w.s(word(i.OnConflict != "", " ON CONFLICT DO "+i.OnConflict))
}

func (w *writer) partition(vs []PartitionValue) {
	if vs == nil {
		return
	}
	w.s(" PARTITION (")
	list(w, vs, w.partitionValue)
	w.s(")")
}

func (w *writer) partitionValue(v PartitionValue) {
	w.name(v.Name)
	if v.Value != nil {
		w.s(" = ")
		w.expr(v.Value, bindLowest)
	}
}

func (w *writer) statementSet(s *StatementSet) {
	if s.Execute {
		w.s("EXECUTE ")
	}
	if s.Execute || s.Inner {
		w.s("STATEMENT SET BEGIN ")
	} else {
		w.s("BEGIN STATEMENT SET; ")
	}
	for _, i := range s.Inserts {
		w.insert(i)
		w.s("; ")
	}
	w.s("END")
}

func (w *writer) show(s *Show) {
	w.s("SHOW ", s.What)
	switch {
	case s.Name != nil && s.What == "COLUMNS":
		w.s(" FROM ")
		w.id(s.Name)
	case s.Name != nil:
		w.s(" ")
		w.id(s.Name)
	case s.From != nil:
		w.s(" FROM ")
		w.id(s.From)
	}
	w.partition(s.Partition)
	if s.LikeOp != "" {
		w.s(" ", not(s.NotLike), s.LikeOp, " ")
		w.literal(s.Pattern)
	}
}
