package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/fs"
	"staunch/function"
	"staunch/operator"
	"staunch/sql/ast"
)

// Job is one job of the file, ready to run.
type Job struct {
	// Name is pipeline.name, or the file's name with -2, -3 for further jobs.
	Name string
	// SQL is the text of its statement, Hash a hash of its plan.
	SQL, Hash string
	Config    config.Values
	Conf      *config.Job
	Graph     dataflow.Graph
	Sinks     []Sink
	// Sources and Targets identify what is read and written, for the job's log.
	Sources, Targets []string
	// Bounded: it ends by itself. Replayable: every source can be read again.
	Bounded, Replayable bool
	// Select is set for a top-level query.
	Select bool
	plan   []string
	// explain is the plan's text.
	explain string
}

// Sink is one INSERT of a job.
type Sink struct {
	Insert    string
	Table     *Table
	Connector string
	Key       string
	Sink      connector.Sink
	Source    string
}

// job plans one job from its INSERTs.
func (p *planner) job(at ast.Statement, inserts []*ast.Insert) error {
	b := p.newBuilder(at)
	for _, ins := range inserts {
		if err := b.insert(ins); err != nil {
			return err
		}
	}
	j, err := b.finish()
	if err != nil {
		return err
	}
	p.out.Items = append(p.out.Items, Item{Job: j})
	return nil
}

// query plans a top-level SELECT.
func (p *planner) query(q ast.Query) error {
	b := p.newBuilder(q)
	bound, err := p.bindQuery(q)
	if err != nil {
		return err
	}
	if bound.table == nil {
		return p.constant(q, bound)
	}
	b.read(bound)
	j, err := b.finish()
	if err != nil {
		return err
	}
	p.out.Items = append(p.out.Items, Item{Job: j})
	return nil
}

// read adds a top-level query, whose rows are printed.
func (b *builder) read(q *query) {
	var schema changelog.Schema
	for i, e := range q.exprs {
		schema = append(schema, changelog.Field{Name: q.names[i], Type: e.Type()})
	}
	b.job.Select = true
	b.branches = append(b.branches, branch{q: q, from: q, names: q.names, values: q.asWritten,
		sink: Sink{Insert: "SELECT", Key: "SELECT", Connector: "select", Sink: b.p.reg.Collect(schema), Source: q.table.Name}})
}

// constant computes a SELECT without FROM at once.
func (p *planner) constant(q ast.Query, bound *query) error {
	s, err := p.session()
	if err != nil {
		return err
	}
	prog, err := function.Compile(bound.exprs, s)
	if err != nil {
		return err
	}
	out := make([]*changelog.Column, len(bound.exprs))
	if err := prog.Eval(&changelog.Batch{Rows: 1, Split: changelog.NoSplit}, out); err != nil {
		return refuse(q, err.Error(), "")
	}
	var cells []string
	for _, c := range out {
		cells = append(cells, function.FormatValue(c, 0, s.Zone))
	}
	p.text(strings.Join(bound.names, "\t") + "\n" + strings.Join(cells, "\t") + "\n")
	return nil
}

type builder struct {
	p        *planner
	job      *Job
	branches []branch
}

type branch struct {
	q    *query
	sink Sink
	// names and notNull of the sink's columns
	names   []string
	notNull []int
	drop    bool
	// values are what goes into the sink's columns before INSERT's casts, columns the place of each column of a column list.
	values  []function.Expr
	columns []int
	// from is the query as it was bound.
	from *query
}

func (p *planner) newBuilder(at ast.Statement) *builder {
	v := p.conf.Values()
	p.jobs++
	name := v.String("pipeline.name")
	if name == "" {
		name = p.name
	}
	if p.jobs > 1 {
		name = fmt.Sprintf("%s-%d", name, p.jobs)
	}
	return &builder{p: p, job: &Job{Name: name, Config: v, Conf: p.conf.Clone(), SQL: strings.TrimSpace(p.src[at.Pos().Offset:at.End().Offset])}}
}

// insert binds one INSERT and opens its sink.
func (b *builder) insert(ins *ast.Insert) error {
	p := b.p
	switch {
	case ins.Overwrite:
		return refuse(ins, "INSERT OVERWRITE needs a batch job, as in Flink", "write INSERT INTO; a streaming job never replaces what is there")
	case ins.OnConflict != "":
		return notYet(ins, "ON CONFLICT")
	case len(ins.Hints) > 0:
		return notYet(ins, "a table hint")
	}
	t, err := p.table(ins.Target)
	if err != nil {
		return err
	}
	q, err := p.bindQuery(ins.Query)
	if err != nil {
		return err
	}
	if q.table == nil {
		return notYet(ins.Query, "INSERT of a SELECT without FROM")
	}
	if q.table.system != nil {
		return refuse(q.at, "table 'staunch."+q.table.Name+"' is for queries whose rows are printed, and cannot be the source of an INSERT", "use a SELECT by itself")
	}
	if t.system != nil {
		return refuse(ins.Target, "table 'staunch."+t.Name+"' cannot be written to", "")
	}
	exprs, values, err := b.assign(ins, t, q)
	if err != nil {
		return err
	}
	br := branch{q: &query{table: q.table, where: q.where, exprs: exprs}, values: values, from: q}
	for _, id := range ins.Columns {
		br.columns = append(br.columns, slices.Index(names(t.sinkColumns()), id.Last()))
	}
	br.drop = strings.EqualFold(b.job.Config.String("table.exec.sink.not-null-enforcer"), "DROP")
	var cols []connector.Column
	for k, c := range t.sinkColumns() {
		br.names = append(br.names, c.Name)
		if c.Kind == ast.MetadataColumn {
			return notYet(ins.Target, "writing the metadata column '"+c.Name+"'")
		}
		if c.Type.NotNull && !exprs[k].Type().NotNull {
			br.notNull = append(br.notNull, k)
		}
		cols = append(cols, connector.Column{Name: c.Name, Type: c.Type})
	}
	f, v, warnings, err := t.options(p.reg, nil)
	if err != nil {
		return err
	}
	p.warn(warnings...)
	if f.Sink == nil {
		return refuse(ins.Target, "connector '"+f.Name+"' of table '"+t.Name+"' cannot be written to", "")
	}
	s, err := f.Sink(t.describe(p.reg, v, p.staunch(t), cols, p.conf))
	if err != nil {
		return atTable(t, err)
	}
	br.sink = Sink{Table: t, Connector: f.Name, Key: t.Name, Sink: s, Source: q.table.Name}
	if ft, ok := s.(connector.FileTable); ok {
		br.sink.Key = fs.URI(ft.Store(), ft.Root())
	}
	// The ordinal among the INSERTs into this sink: it stays when another INSERT is put before or taken out.
	n := 1
	for _, other := range b.branches {
		if other.sink.Key != br.sink.Key {
			continue
		}
		n++
		if o := other.sink.Table; !slices.Equal(o.Keys, t.Keys) || o.Options["format"] != t.Options["format"] {
			return refuse(ins.Target, "tables '"+o.Name+"' and '"+t.Name+"' write into one folder, but have other partition columns or another format",
				"give one of them another path")
		}
	}
	br.sink.Insert = fmt.Sprint(n)
	b.branches = append(b.branches, br)
	return nil
}

// staunch are the table's own options; job-wide ones that formats and connectors look at come with them.
func (p *planner) staunch(t *Table) config.Values {
	own := p.conf.TableOptions(t.Name)
	raw, at := map[string]string{}, map[string]config.Position{}
	for _, k := range own.Keys() {
		raw[k], at[k] = own.String(k), own.At(k)
	}
	all := p.conf.Values()
	for _, k := range []string{"partition.date-style", "json.coercion"} {
		if _, set := raw[k]; !set {
			raw[k] = all.String("staunch." + k)
		}
	}
	return config.NewValues("table "+t.Name, raw, at)
}

func atTable(t *Table, err error) error {
	var e *config.Error
	if errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("table %s (declared at %s): %w", t.Name, t.Pos, err)
}

// assign maps the query's columns to the sink's and casts where Flink casts by itself. values are the same without casts, and with computed
// columns as columns.
func (b *builder) assign(ins *ast.Insert, t *Table, q *query) (out, values []function.Expr, err error) {
	cols := t.sinkColumns()
	session, err := b.p.session()
	if err != nil {
		return nil, nil, err
	}
	static, staticAt := map[string]function.Expr{}, map[string]ast.Node{}
	for _, pv := range ins.Partition {
		if !slices.Contains(t.Keys, pv.Name.Text) {
			return nil, nil, refuse(pv, "'"+pv.Name.Text+"' is no partition column of table '"+t.Name+"'", near(pv.Name.Text, t.Keys))
		}
		e, err := bindStatic(pv)
		if err != nil {
			return nil, nil, err
		}
		if static[pv.Name.Text] != nil {
			return nil, nil, refuse(pv, "partition '"+pv.Name.Text+"' is given twice", "leave one out")
		}
		static[pv.Name.Text], staticAt[pv.Name.Text] = e, pv
	}
	var targets []string
	if len(ins.Columns) > 0 {
		for _, id := range ins.Columns {
			if !slices.ContainsFunc(cols, func(c Column) bool { return c.Name == id.Last() }) {
				return nil, nil, refuse(id, "no column '"+id.Last()+"' to write in table '"+t.Name+"'", near(id.Last(), names(cols)))
			}
			if slices.Contains(targets, id.Last()) || static[id.Last()] != nil {
				return nil, nil, refuse(id, "column '"+id.Last()+"' is given twice", "leave one out")
			}
			targets = append(targets, id.Last())
		}
	} else {
		for _, c := range cols {
			if static[c.Name] == nil {
				targets = append(targets, c.Name)
			}
		}
	}
	if len(targets) != len(q.exprs) {
		return nil, nil, refuse(ins.Query, fmt.Sprintf("the query has %d columns, table '%s' takes %d here\n  query:  %s\n  table:  %s", len(q.exprs), t.Name, len(targets),
			describeExprs(q), describeColumns(cols, targets)), "")
	}
	out, values = make([]function.Expr, len(cols)), make([]function.Expr, len(cols))
	for i, c := range cols {
		k := slices.Index(targets, c.Name)
		switch {
		case static[c.Name] != nil:
			// Flink casts these as CAST does, not as INSERT does.
			values[i] = asColumn(static[c.Name], c.Type)
			e, err := function.NewCast(values[i], c.Type.Nullable(), false)
			if err != nil {
				return nil, nil, refuse(staticAt[c.Name], "partition '"+c.Name+"': "+err.Error(), "")
			}
			out[i] = function.Fold(e, session)
			continue
		case k < 0:
			if c.Type.NotNull {
				return nil, nil, refuse(ins, "column '"+c.Name+"' of table '"+t.Name+"' is NOT NULL and gets no value", "add it to the column list")
			}
			out[i] = function.NewNull(c.Type)
			values[i] = out[i]
			continue
		default:
			out[i], values[i] = q.exprs[k], q.asWritten[k]
		}
		e, ok := function.Assign(out[i], c.Type)
		if !ok {
			return nil, nil, refuse(q.items[k], fmt.Sprintf("column '%s' of table '%s' is %s, the query gives %s\n  query:  %s\n  table:  %s", c.Name, t.Name, c.Type.Nullable(),
				out[i].Type().Nullable(), describeExprs(q), describeColumns(cols, targets)), fmt.Sprintf("write CAST(... AS %s)", c.Type.Nullable()))
		}
		out[i] = e
	}
	return out, values, nil
}

func names(cols []Column) []string {
	var out []string
	for _, c := range cols {
		out = append(out, c.Name)
	}
	return out
}

func describeExprs(q *query) string {
	var out []string
	for i, e := range q.exprs {
		n := ""
		if i < len(q.names) {
			n = q.names[i]
		}
		out = append(out, n+": "+e.Type().String())
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func describeColumns(cols []Column, targets []string) string {
	var out []string
	for _, n := range targets {
		for _, c := range cols {
			if c.Name == n {
				out = append(out, c.Name+": "+c.Type.String())
			}
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// finish opens the sources with the columns that are used and puts the chains together.
func (b *builder) finish() (*Job, error) {
	p, j := b.p, b.job
	s, err := p.session()
	if err != nil {
		return nil, err
	}
	par, err := j.parallelism()
	if err != nil {
		return nil, err
	}
	j.Graph.Parallelism, j.Bounded, j.Replayable = par, true, true
	var order []*Table
	for _, br := range b.branches {
		if !slices.Contains(order, br.q.table) {
			order = append(order, br.q.table)
		}
	}
	for _, t := range order {
		if err := b.source(t, s); err != nil {
			return nil, err
		}
	}
	slices.Sort(j.Targets)
	j.Targets = slices.Compact(j.Targets)
	sum := sha256.Sum256([]byte(strings.Join(j.plan, "\n")))
	j.Hash = hex.EncodeToString(sum[:])
	var nodes []explained
	for _, br := range b.branches {
		nodes = append(nodes, p.explained(br))
	}
	j.explain = explainText(nodes, false)
	return j, nil
}

func (j *Job) parallelism() (int, error) {
	if n, err := j.Config.Int("table.exec.resource.default-parallelism"); err == nil && n > 0 {
		return n, nil
	}
	return j.Config.Int("parallelism.default")
}

// source opens one source table for all branches that read it.
func (b *builder) source(t *Table, s function.Session) error {
	p, j := b.p, b.job
	used := map[int]bool{}
	var at ast.Node // where the table is first read
	var mark function.Expr
	if t.Watermark != nil {
		mark = t.inline(t.Watermark)
		uses(mark, used)
	}
	for _, br := range b.branches {
		if br.q.table != t {
			continue
		}
		if at == nil {
			at = br.from.at
		}
		if br.q.where != nil {
			uses(br.q.where, used)
		}
		for _, e := range br.q.exprs {
			uses(e, used)
		}
	}
	f, v, warnings, err := t.options(p.reg, nil)
	if err != nil {
		return err
	}
	p.warn(warnings...)
	if f.Source == nil {
		return refuse(at, "connector '"+f.Name+"' of table '"+t.Name+"' cannot be read", "")
	}
	index := make([]int, len(t.Columns))
	var cols []connector.Column
	var schema changelog.Schema
	for i, c := range t.Columns {
		if !used[i] {
			continue
		}
		col := connector.Column{Name: c.Name, Type: c.Type}
		field := c.Type
		if c.Kind == ast.MetadataColumn {
			have, ok := f.Metadata[c.MetadataKey]
			if !ok {
				var keys []string
				for k := range f.Metadata {
					keys = append(keys, k)
				}
				slices.Sort(keys)
				return refuse(ast.Span{Start: c.Pos, Stop: c.Pos}, "connector '"+f.Name+"' has no metadata '"+c.MetadataKey+"'", near(c.MetadataKey, keys))
			}
			col.Metadata = c.MetadataKey
			col.Type = have
			field = have
		}
		index[i] = len(cols)
		cols = append(cols, col)
		schema = append(schema, changelog.Field{Name: c.Name, Type: field})
	}
	// A metadata column may be declared with another type than the connector gives: it is cast.
	place := func(e function.Expr) function.Expr {
		return function.Rewrite(e, func(x function.Expr) function.Expr {
			r, ok := x.(*function.ColumnRef)
			if !ok {
				return x
			}
			ref := &function.ColumnRef{Index: index[r.Index], Name: r.Name, T: schema[index[r.Index]].Type}
			if t.Columns[r.Index].Kind == ast.MetadataColumn && !ref.T.Same(r.T) {
				return &function.Cast{Arg: ref, T: r.T.WithNotNull(ref.T.NotNull), Implicit: true}
			}
			return ref
		})
	}
	src, err := f.Source(t.describe(p.reg, v, p.staunch(t), cols, p.conf))
	if err != nil {
		return atTable(t, err)
	}
	if mode := j.Config.String("execution.runtime-mode"); strings.EqualFold(mode, "BATCH") && !src.Bounded() {
		return refuse(at, "table '"+t.Name+"' has no end, and execution.runtime-mode is BATCH: a batch job reads bounded tables only, as in Flink",
			boundedHint(f))
	}
	idle, err := idleTimeout(t, j.Config)
	if err != nil {
		return err
	}
	ds := dataflow.Source{Name: t.Name, Describe: "table " + t.Name + " (" + f.Name + identity(t) + ")", Source: src, Schema: schema, IdleTimeout: idle}
	j.Bounded = j.Bounded && src.Bounded()
	j.Replayable = j.Replayable && src.Replayable()
	j.Sources = append(j.Sources, f.Name+":"+t.Name+identity(t))
	if mark != nil {
		m := place(mark)
		ds.NewWatermarker = func() (operator.Watermarker, error) { return p.reg.NewWatermarker(m, s) }
	}
	for _, br := range b.branches {
		if br.q.table != t {
			continue
		}
		var where function.Expr
		if br.q.where != nil {
			where = place(br.q.where)
		}
		exprs := make([]function.Expr, len(br.q.exprs))
		for i, e := range br.q.exprs {
			exprs[i] = place(e)
		}
		br := br
		ds.Branches = append(ds.Branches, dataflow.Branch{Insert: br.sink.Insert, Table: br.sink.Key, Sink: br.sink.Sink, Volatile: volatile(where, exprs),
			NewOperator: func() (operator.Operator, error) {
				return p.reg.NewCalc(where, exprs, br.names, br.notNull, br.drop, s)
			}})
		j.Sinks = append(j.Sinks, br.sink)
		j.Targets = append(j.Targets, br.sink.Key)
		j.plan = append(j.plan, planText(br, t, where, exprs)+p.recipe(br, t, schema))
		if _, err := p.reg.NewCalc(where, exprs, br.names, br.notNull, br.drop, s); err != nil {
			return err
		}
	}
	j.Graph.Sources = append(j.Graph.Sources, ds)
	return nil
}

// idleTimeout is the table's scan.watermark.idle-timeout, else the job's.
func idleTimeout(t *Table, conf config.Values) (time.Duration, error) {
	if d := t.Options["scan.watermark.idle-timeout"]; d != "" {
		return config.ParseDuration(d)
	}
	return conf.Duration("table.exec.source.idle-timeout")
}

// boundedHint says how to give a table of the connector an end.
func boundedHint(f *connector.Factory) string {
	for _, o := range f.Options {
		if o.Key == "scan.bounded.mode" || o.Key == "number-of-rows" {
			return "give it '" + o.Key + "', or SET 'execution.runtime-mode' = 'STREAMING'"
		}
	}
	return "SET 'execution.runtime-mode' = 'STREAMING'"
}

// identity names what the source reads, for messages and for telling statement files apart.
func identity(t *Table) string {
	for _, k := range []string{"topic", "topic-pattern", "path"} {
		if v := t.Options[k]; v != "" {
			return " " + k + " " + v
		}
	}
	return ""
}

func planText(br branch, t *Table, where function.Expr, exprs []function.Expr) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Sink(%s) <- Calc(", br.sink.Key)
	for i, e := range exprs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(e.String())
	}
	if where != nil {
		b.WriteString(" where " + where.String())
	}
	b.WriteString(") <- Source(" + t.Name + identity(t) + ")")
	return b.String()
}
