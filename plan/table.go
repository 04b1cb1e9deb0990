package plan

import (
	"fmt"
	"slices"
	"strings"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/format"
	"staunch/function"
	"staunch/sql/ast"
	"staunch/sql/bind"
	"staunch/sql/parse"
	"staunch/types"
)

// Table is a table of the statement file.
type Table struct {
	Name      string
	Temporary bool
	Columns   []Column
	Keys      []string // PARTITIONED BY
	Primary   []string
	// Watermark is the expression over Columns, WatermarkColumn the column's index; nil without the clause.
	Watermark       function.Expr
	WatermarkColumn int
	Options         map[string]string
	At              map[string]config.Position
	Comment         string
	Pos             ast.Pos
	// watermark is the text of the expression as it was written.
	watermark string
	// units of the intervals in the declaration, see units.
	units map[string]string
	// system is set for a table of the system database; paths are those of the tables that were declared before it was asked for.
	system   *SystemTable
	paths    []string
	settings *config.Job
	// connectorAt is the place of the 'connector' option's value.
	connectorAt ast.Span
}

// Column is one column of a table.
type Column struct {
	Name string
	Type types.Type
	Kind ast.ColumnKind
	// MetadataKey of a metadata column; Virtual ones are not written.
	MetadataKey string
	Virtual     bool
	// Expr of a computed column, over the table's columns.
	Expr    function.Expr
	Comment string
	Pos     ast.Pos
}

// Schema are all columns, computed ones included.
func (t *Table) Schema() changelog.Schema {
	out := make(changelog.Schema, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = changelog.Field{Name: c.Name, Type: c.Type}
	}
	return out
}

// sinkColumns are the columns that an INSERT writes: physical ones and metadata that is not VIRTUAL.
func (t *Table) sinkColumns() []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return c.Kind == ast.ComputedColumn || c.Kind == ast.MetadataColumn && c.Virtual
	})
}

func refuse(n ast.Node, msg, hint string) error {
	return &parse.Error{Pos: n.Pos(), Stop: n.End(), Msg: msg, Hint: hint}
}

func notYet(n ast.Node, what string) error {
	return refuse(n, what+" is not supported yet", "")
}

// newTable checks a CREATE TABLE.
func newTable(c *ast.CreateTable, session function.Session) (*Table, error) {
	switch {
	case c.As != nil:
		return nil, notYet(c.As, "CREATE TABLE ... AS")
	case c.OrReplace || c.Replace:
		return nil, notYet(c, "CREATE OR REPLACE TABLE")
	case c.Distribution != nil:
		return nil, notYet(c.Distribution, "DISTRIBUTED BY")
	case len(c.Name.Parts) > 1 && !builtIn(c.Name):
		return nil, refuse(c.Name, "no such catalog or database: "+strings.Join(c.Name.Texts()[:len(c.Name.Parts)-1], "."),
			"there is default_catalog.default_database only; catalogs are not supported yet")
	}
	t := &Table{Name: c.Name.Last(), Temporary: c.Temporary, Options: map[string]string{}, At: map[string]config.Position{}, WatermarkColumn: -1, Pos: c.Pos(), units: map[string]string{}}
	units(t.units, c)
	if c.Comment != nil {
		t.Comment = c.Comment.Text
	}
	for _, o := range c.Options {
		if _, twice := t.Options[o.Key.Text]; twice {
			return nil, refuse(o.Key, "option '"+o.Key.Text+"' is given twice", "leave one out")
		}
		t.Options[o.Key.Text] = o.Value.Text
		if o.Key.Text == "connector" {
			t.connectorAt = ast.Span{Start: o.Value.Pos(), Stop: o.Value.End()}
		}
		t.At[o.Key.Text] = config.Position{Line: o.Key.Pos().Line, Column: o.Key.Pos().Col}
	}
	if err := t.addColumns(c); err != nil {
		return nil, err
	}
	// A key makes its columns NOT NULL, which the types of computed columns depend on.
	if err := t.addConstraints(c); err != nil {
		return nil, err
	}
	if err := t.addComputed(c); err != nil {
		return nil, err
	}
	if err := t.addWatermark(c, session); err != nil {
		return nil, err
	}
	for _, k := range c.PartitionedBy {
		i := slices.IndexFunc(t.Columns, func(x Column) bool { return x.Name == k.Text })
		if i < 0 || t.Columns[i].Kind != ast.PhysicalColumn {
			return nil, refuse(k, "partition column '"+k.Text+"' is not a physical column of the table", near(k.Text, t.physical()))
		}
		if slices.Contains(t.Keys, k.Text) {
			return nil, refuse(k, "partition column '"+k.Text+"' is named twice", "leave one out")
		}
		t.Keys = append(t.Keys, k.Text)
	}
	return t, nil
}

func builtIn(id *ast.Identifier) bool {
	p := id.Texts()
	p = p[:len(p)-1]
	return len(p) == 1 && p[0] == "default_database" || len(p) == 2 && p[0] == "default_catalog" && p[1] == "default_database"
}

func near(name string, known []string) string {
	if n, ok := config.Nearest(name, known); ok {
		return "did you mean '" + n + "'?"
	}
	if len(known) == 0 {
		return "there is none"
	}
	if len(known) > 12 {
		known = append(slices.Clone(known[:12]), "...")
	}
	return "there are " + strings.Join(known, ", ")
}

func (t *Table) names() []string {
	var out []string
	for _, c := range t.Columns {
		out = append(out, c.Name)
	}
	return out
}

// physical are the names of the physical columns.
func (t *Table) physical() []string {
	var out []string
	for _, c := range t.Columns {
		if c.Kind == ast.PhysicalColumn {
			out = append(out, c.Name)
		}
	}
	return out
}

// addColumns adds all columns in order; computed ones get their type later.
func (t *Table) addColumns(c *ast.CreateTable) error {
	for _, col := range c.Columns() {
		if slices.Contains(t.names(), col.Name.Text) {
			return refuse(col.Name, "column '"+col.Name.Text+"' is declared twice", "rename one of them")
		}
		x := Column{Name: col.Name.Text, Kind: col.Kind, Virtual: col.Virtual, Pos: col.Pos()}
		if col.Comment != nil {
			x.Comment = col.Comment.Text
		}
		if col.Kind != ast.ComputedColumn {
			ty, err := bind.ColumnType(col.Type)
			if err != nil {
				return err
			}
			x.Type = ty
		}
		if col.Kind == ast.MetadataColumn {
			x.MetadataKey = x.Name
			if col.MetadataKey != nil {
				x.MetadataKey = col.MetadataKey.Text
			}
		}
		t.Columns = append(t.Columns, x)
	}
	if len(t.Columns) == 0 {
		return refuse(c.Name, "a table without columns", "declare its columns: CREATE TABLE "+t.Name+" (id BIGINT, ...) WITH (...)")
	}
	return nil
}

// addComputed binds computed columns, which may use physical and metadata columns only.
func (t *Table) addComputed(c *ast.CreateTable) error {
	scope := bind.Scope{Tables: []string{t.Name}}
	var index []int
	for i, col := range t.Columns {
		if col.Kind != ast.ComputedColumn {
			scope.Schema = append(scope.Schema, changelog.Field{Name: col.Name, Type: col.Type})
			index = append(index, i)
		}
	}
	for i, col := range c.Columns() {
		if col.Kind != ast.ComputedColumn {
			continue
		}
		e, err := bind.Expr(col.Expr, scope)
		if err != nil {
			return err
		}
		t.Columns[i].Expr = remap(e, index)
		t.Columns[i].Type = e.Type()
	}
	return nil
}

// remap makes references to other places.
func remap(e function.Expr, index []int) function.Expr {
	return function.Rewrite(e, func(x function.Expr) function.Expr {
		if r, ok := x.(*function.ColumnRef); ok {
			return &function.ColumnRef{Index: index[r.Index], Name: r.Name, T: r.T}
		}
		return x
	})
}

func (t *Table) addConstraints(c *ast.CreateTable) error {
	all := c.Constraints()
	for _, col := range c.Columns() {
		if col.Key != nil {
			k := *col.Key
			if len(k.Columns) == 0 {
				k.Columns = []ast.Name{col.Name}
			}
			all = append(all, &k)
		}
	}
	for _, k := range all {
		switch {
		case k.Unique:
			return refuse(k, "UNIQUE constraint is not supported", "Flink takes PRIMARY KEY (...) NOT ENFORCED only")
		case k.Enforced != "NOT ENFORCED":
			return refuse(k, "a PRIMARY KEY must say NOT ENFORCED", "write PRIMARY KEY (...) NOT ENFORCED: the table's owner keeps it unique, not the engine")
		case t.Primary != nil:
			return refuse(k, "a second PRIMARY KEY", "leave one out")
		}
		for _, n := range k.Columns {
			i := slices.Index(t.names(), n.Text)
			if i < 0 || t.Columns[i].Kind != ast.PhysicalColumn {
				return refuse(n, "key column '"+n.Text+"' is not a physical column of the table", near(n.Text, t.physical()))
			}
			t.Columns[i].Type.NotNull = true
			t.Primary = append(t.Primary, n.Text)
		}
	}
	return nil
}

func (t *Table) addWatermark(c *ast.CreateTable, session function.Session) error {
	marks := c.Watermarks()
	if len(marks) == 0 {
		return nil
	}
	if len(marks) > 1 {
		return refuse(marks[1], "a second WATERMARK", "a table has one")
	}
	w := marks[0]
	if len(w.Column.Parts) > 1 {
		return notYet(w.Column, "a WATERMARK on a nested field")
	}
	i := slices.Index(t.names(), w.Column.Last())
	if i < 0 {
		return refuse(w.Column, "no column '"+w.Column.Last()+"'", near(w.Column.Last(), t.names()))
	}
	isTime := func(x types.Type) bool { return x.IsTimestamp() && x.Precision <= 3 }
	if !isTime(t.Columns[i].Type) {
		return refuse(w.Column, fmt.Sprintf("the WATERMARK column must be TIMESTAMP(0..3) or TIMESTAMP_LTZ(0..3), '%s' is %s", w.Column.Last(), t.Columns[i].Type), "cast it in a computed column")
	}
	e, err := bind.Expr(w.Expr, bind.Scope{Schema: t.Schema(), Tables: []string{t.Name}})
	if err != nil {
		return err
	}
	if e.Type().Kind != t.Columns[i].Type.Kind {
		return refuse(w.Expr, fmt.Sprintf("the WATERMARK expression is %s, but the column is %s", e.Type(), t.Columns[i].Type), "")
	}
	t.Watermark, t.WatermarkColumn, t.watermark = e, i, ast.SQL(w.Expr)
	return nil
}

// inline replaces references to computed columns by their expressions.
func (t *Table) inline(e function.Expr) function.Expr {
	return function.Rewrite(e, func(x function.Expr) function.Expr {
		if r, ok := x.(*function.ColumnRef); ok && t.Columns[r.Index].Expr != nil {
			return t.Columns[r.Index].Expr
		}
		return x
	})
}

// uses marks the columns that e refers to.
func uses(e function.Expr, used map[int]bool) {
	function.Walk(e, func(x function.Expr) bool {
		if r, ok := x.(*function.ColumnRef); ok {
			used[r.Index] = true
		}
		return true
	})
}

// options checks the WITH clause against the connector's and its format's option tables.
func (t *Table) options(reg *Registry, extra map[string]string) (*connector.Factory, config.Values, []string, error) {
	if t.system != nil {
		return t.systemFactory(), config.NewValues("table "+t.Name, nil, nil), nil, nil
	}
	raw, at := t.Options, t.At
	if len(extra) > 0 {
		raw = map[string]string{}
		for k, v := range t.Options {
			raw[k] = v
		}
		for k, v := range extra {
			raw[k] = v
		}
	}
	name, ok := raw["connector"]
	here := ast.Span{Start: t.Pos, Stop: t.Pos}
	if !ok {
		return nil, config.Values{}, nil, refuse(here, "table '"+t.Name+"' has no 'connector' option", "add WITH ('connector' = 'kafka', ...)")
	}
	f, hint := reg.connector(name)
	if f == nil {
		if hint != "" {
			hint = "did you mean '" + hint + "'?"
		} else {
			var names []string
			for _, c := range reg.Connectors {
				names = append(names, c.Name)
			}
			slices.Sort(names)
			hint = "there are " + strings.Join(names, ", ")
		}
		return nil, config.Values{}, nil, refuse(t.connectorAt, "connector '"+name+"' is not supported", hint)
	}
	opts := slices.Clone(f.Options)
	for _, key := range []string{"format", "value.format"} {
		fm, ok := raw[key]
		if !ok {
			continue
		}
		ff, found := reg.format(fm)
		if !found {
			var names []string
			for _, x := range reg.Formats {
				names = append(names, x.Name)
			}
			return nil, config.Values{}, nil, &config.Error{Key: key, Value: fm, Position: at[key], Problem: "format '" + fm + "' is not supported", Hint: "there are " + strings.Join(names, ", ")}
		}
		prefix := fm + "."
		if key == "value.format" {
			prefix = "value." + fm + "."
		}
		opts = append(opts, config.Prefixed(prefix, ff.Options)...)
	}
	opts = append(opts, config.Option{Key: "connector", Type: config.TypeString})
	v, warnings, err := config.NewValues("table "+t.Name, raw, at).Check(opts)
	placeMissing(err, t)
	return f, v, warnings, err
}

// placeMissing gives errors about keys that are nowhere in the file the place of the table's declaration.
func placeMissing(err error, t *Table) {
	switch x := err.(type) {
	case *config.Error:
		if x.Position == (config.Position{}) {
			x.Position = config.Position{Line: t.Pos.Line, Column: t.Pos.Col}
		}
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			placeMissing(e, t)
		}
	case interface{ Unwrap() error }:
		placeMissing(x.Unwrap(), t)
	}
}

// describe gives what a connector's factory gets.
func (t *Table) describe(reg *Registry, v, staunch config.Values, columns []connector.Column, conf *config.Job) connector.Table {
	ct := connector.Table{Name: t.Name, Columns: columns, PartitionKeys: t.Keys, Options: v, Staunch: staunch, Stores: reg.Stores,
		Formats: func(name string) (format.Factory, bool) { return reg.format(name) }}
	for _, c := range t.Columns {
		if c.Kind == ast.PhysicalColumn {
			ct.AllColumns = append(ct.AllColumns, connector.Column{Name: c.Name, Type: c.Type})
		}
	}
	if z, err := config.ParseZone(conf.Values().String("table.local-time-zone")); err == nil {
		ct.Zone = z
	}
	return ct
}
