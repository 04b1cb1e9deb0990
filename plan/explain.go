package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"staunch/connector"
	"staunch/function"
	"staunch/sql/ast"
	"staunch/types"
)

// explain prints the plan of a query, an INSERT or a statement set, laid out as Flink's EXPLAIN.
func (p *planner) explain(x *ast.Explain) error {
	modes := false
	for _, d := range x.Details {
		if d != "CHANGELOG_MODE" {
			return notYet(x, "EXPLAIN "+d)
		}
		modes = true
	}
	b := p.newBuilder(x.Statement)
	p.jobs--
	switch s := x.Statement.(type) {
	case *ast.Insert:
		if err := b.insert(s); err != nil {
			return err
		}
	case *ast.StatementSet:
		if len(s.Inserts) == 0 {
			return refuse(s, "a statement set without INSERT", "put INSERT statements between BEGIN and END")
		}
		for _, ins := range s.Inserts {
			if err := b.insert(ins); err != nil {
				return err
			}
		}
	case ast.Query:
		q, err := p.bindQuery(s)
		if err != nil {
			return err
		}
		if q.table == nil {
			p.text(explainText([]explained{{units: q.units, names: q.names, values: q.asWritten, where: q.whereAsWritten}}, modes))
			return nil
		}
		b.read(q)
	default:
		return refuse(x.Statement, "only queries, INSERT and STATEMENT SET can be explained", "")
	}
	// All that would keep the job from being planned keeps it from being explained.
	if _, err := b.finish(); err != nil {
		return err
	}
	var nodes []explained
	for _, br := range b.branches {
		nodes = append(nodes, p.explained(br))
	}
	p.text(explainText(nodes, modes))
	return nil
}

// Explain prints the plan of a job.
func Explain(s *Script) string {
	var b strings.Builder
	for _, i := range s.Items {
		if i.Job == nil {
			b.WriteString(i.Text)
			continue
		}
		b.WriteString(i.Job.explain)
	}
	return b.String()
}

// explained is one query or INSERT of a plan.
type explained struct {
	sink    *Table // nil for a query
	table   *Table // nil without FROM
	source  *connector.Factory
	idle    time.Duration
	units   map[string]string
	columns []int // of the column list
	names   []string
	// values are the expressions as written, over the table's columns; casts are the types that INSERT casts them to, nil for none.
	values []function.Expr
	casts  []*types.Type
	where  function.Expr
}

func (p *planner) explained(br branch) explained {
	n := explained{sink: br.sink.Table, table: br.q.table, names: br.from.names, values: br.values, where: br.from.whereAsWritten, columns: br.columns}
	n.source, _ = p.reg.connector(n.table.Options["connector"])
	n.casts = make([]*types.Type, len(n.values))
	n.units = map[string]string{}
	maps.Copy(n.units, n.table.units)
	maps.Copy(n.units, br.from.units)
	if d, err := idleTimeout(n.table, p.conf.Values()); err == nil { // a wrong value was refused before
		n.idle = d
	}
	if n.sink == nil {
		return n
	}
	// As Flink: the query is left as it is, with its own names, unless some column has to be cast or filled.
	cols := n.sink.sinkColumns()
	whole := len(br.columns) > 0
	for i, e := range n.values {
		whole = whole || !fits(e.Type(), cols[i].Type)
	}
	if !whole && len(n.names) == len(cols) {
		return n
	}
	n.names = br.names
	for i, e := range n.values {
		to := cols[i].Type
		if from := e.Type(); !from.Same(to) || from.NotNull && !to.NotNull {
			n.casts[i] = &to
		}
	}
	return n
}

// fits reports whether a value of one type is a value of the other as it is.
func fits(from, to types.Type) bool {
	if from.IsString() && to.Kind == types.Varchar || from.IsBinary() && to.Kind == types.Varbinary {
		return from.Length <= to.Length
	}
	return from.Same(to)
}

// asColumn gives a constant of PARTITION (..) the column's type.
func asColumn(e function.Expr, t types.Type) function.Expr {
	if l, ok := e.(*function.Literal); ok && !l.IsNull() && l.Type().IsString() && t.IsString() {
		return function.NewText(t.WithNotNull(true), string(l.Value.Bytes(0)))
	}
	return e
}

func path(t *Table) string { return "default_catalog, " + t.database() + ", " + t.Name }

// explainText writes the three sections. modes adds the kinds of changes that each node gives, which here are always insertions.
func explainText(nodes []explained, modes bool) string {
	var logical, physical, execution []string
	shared := map[*Table]int{}
	for _, n := range nodes {
		shared[n.table]++
	}
	reused := map[*Table]int{}
	for _, n := range nodes {
		logical = append(logical, n.logical())
		ph := printer{n: n, style: stylePhysical, modes: modes}
		physical = append(physical, ph.tree(ph.scan()))
		ex := printer{n: n, style: styleExecution}
		scan := ex.scan()
		if shared[n.table] > 1 {
			if reused[n.table] == 0 {
				reused[n.table] = len(reused) + 1
				top := append([]string{}, scan...)
				top[0] += fmt.Sprintf("(reuse_id=[%d])", reused[n.table])
				execution = append(execution, indent(top))
			}
			scan = []string{fmt.Sprintf("Reused(reference_id=[%d])", reused[n.table])}
		}
		execution = append(execution, ex.tree(scan))
	}
	section := func(title string, parts []string) string { return "== " + title + " ==\n" + strings.Join(parts, "\n") }
	return section("Abstract Syntax Tree", logical) + "\n" + section("Optimized Physical Plan", physical) + "\n" + section("Optimized Execution Plan", execution)
}

// indent writes a chain of nodes, each the input of the one before.
func indent(nodes []string) string {
	var b strings.Builder
	for i, n := range nodes {
		if i > 0 {
			b.WriteString(strings.Repeat("   ", i-1) + "+- ")
		}
		b.WriteString(n + "\n")
	}
	return b.String()
}

func (n explained) sinkText() string {
	target := ""
	if len(n.columns) > 0 {
		var at []string
		for _, c := range n.columns {
			at = append(at, fmt.Sprintf("[%d]", c))
		}
		target = ", targetColumns=[" + strings.Join(at, ",") + "]"
	}
	return fmt.Sprintf("Sink(table=[%s]%s, fields=[%s])", strings.ReplaceAll(path(n.sink), ", ", "."), target, strings.Join(n.names, ", "))
}

// logical is the tree before anything is optimized: sink, project, filter, watermark, the table's own columns, scan.
func (n explained) logical() string {
	var out []string
	if n.sink != nil {
		out = append(out, "Logical"+n.sinkText())
	}
	p := printer{n: n, style: styleTree}
	var cols []string
	for i := range n.values {
		cols = append(cols, n.names[i]+"=["+p.value(i)+"]")
	}
	out = append(out, "LogicalProject("+strings.Join(cols, ", ")+")")
	if n.where != nil {
		out = append(out, "LogicalFilter(condition=["+p.expr(n.where)+"])")
	}
	if n.table == nil {
		return indent(append(out, "LogicalValues(tuples=[[{ 0 }]])"))
	}
	t := n.table
	if t.Watermark != nil {
		out = append(out, fmt.Sprintf("LogicalWatermarkAssigner(rowtime=[%s], watermark=[%s])", t.Columns[t.WatermarkColumn].Name, p.expr(t.Watermark)))
	}
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Kind != ast.PhysicalColumn }) {
		// The table's columns are a projection of what the source gives: its physical columns, then its metadata.
		place := map[int]int{}
		for k, i := range n.scanned() {
			place[i] = k
		}
		below := printer{n: n, style: styleTree, place: place}
		var cols []string
		for i, c := range t.Columns {
			text := fmt.Sprintf("$%d", place[i])
			switch {
			case c.Kind == ast.ComputedColumn:
				text = below.expr(c.Expr)
			case c.Kind == ast.MetadataColumn && !n.given(c).Equal(c.Type):
				text = "CAST(" + text + "):" + typeText(c.Type, true)
			}
			cols = append(cols, c.Name+"=["+text+"]")
		}
		out = append(out, "LogicalProject("+strings.Join(cols, ", ")+")")
	}
	return indent(append(out, "LogicalTableScan(table=[["+path(t)+n.metadata()+"]])"))
}

// given is the type in which the source gives a metadata column.
func (n explained) given(c Column) types.Type {
	if n.source != nil {
		if t, ok := n.source.Metadata[c.MetadataKey]; ok {
			return t
		}
	}
	return c.Type
}

// metadataOrder is the order in which Flink's Kafka connector lists its metadata.
var metadataOrder = []string{"topic", "partition", "headers", "leader-epoch", "offset", "timestamp", "timestamp-type"}

// scanned are the table's columns in the order in which the source gives them.
func (n explained) scanned() []int {
	var out, meta []int
	for i, c := range n.table.Columns {
		switch c.Kind {
		case ast.PhysicalColumn:
			out = append(out, i)
		case ast.MetadataColumn:
			meta = append(meta, i)
		}
	}
	rank := func(i int) int {
		if r := slices.Index(metadataOrder, n.table.Columns[i].MetadataKey); r >= 0 {
			return r
		}
		return len(metadataOrder)
	}
	slices.SortStableFunc(meta, func(a, b int) int { return rank(a) - rank(b) })
	return append(out, meta...)
}

func (n explained) metadata() string {
	var keys []string
	for _, i := range n.scanned() {
		if c := n.table.Columns[i]; c.Kind == ast.MetadataColumn && !slices.Contains(keys, c.MetadataKey) {
			keys = append(keys, c.MetadataKey)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return ", metadata=[" + strings.Join(keys, ", ") + "]"
}

// pushed reports whether the source makes the watermark. It does so always here; Flink shows it for sources that also have metadata, and a node of
// its own for the others.
func (n explained) pushed() bool {
	return n.table.Watermark != nil && n.source != nil && len(n.source.Metadata) > 0
}

// scan is what reads the table: the scan, and what stands on it before the query itself.
func (p printer) scan() []string {
	n := p.n
	if n.table == nil {
		return []string{p.withMode("Values(tuples=[[{ 0 }]])", "I")}
	}
	t := n.table
	var fields []string
	for _, i := range n.scanned() {
		fields = append(fields, t.Columns[i].Name)
	}
	mark := ""
	plain := printer{n: n, style: stylePhysical, plain: true}
	if n.pushed() {
		if n.idle > 0 {
			mark = fmt.Sprintf(", idletimeout=[%d]", n.idle.Milliseconds())
		}
		strategy := t.Options["scan.watermark.emit.strategy"]
		if strategy == "" {
			strategy = "on-periodic"
		}
		mark = fmt.Sprintf(", watermark=[%s]%s, watermarkEmitStrategy=[%s]", plain.expr(t.inline(t.Watermark)), mark, strategy)
	}
	scan := fmt.Sprintf("TableSourceScan(table=[[%s%s%s]], fields=[%s])", path(t), n.metadata(), mark, strings.Join(fields, ", "))
	out := []string{p.withMode(scan, "I")}
	if t.Watermark == nil || n.pushed() {
		return out
	}
	plain.style = p.style
	if n.hasComputed() {
		var cols []string
		for _, c := range t.Columns {
			text := c.Name
			if c.Kind == ast.ComputedColumn {
				text = plain.expr(c.Expr) + " AS " + c.Name
			}
			cols = append(cols, text)
		}
		out = append([]string{p.withMode("Calc(select=["+strings.Join(cols, ", ")+"])", "I")}, out...)
	}
	assigner := fmt.Sprintf("WatermarkAssigner(rowtime=[%s], watermark=[%s])", t.Columns[t.WatermarkColumn].Name, plain.expr(t.Watermark))
	return append([]string{p.withMode(assigner, "I")}, out...)
}

func (n explained) hasComputed() bool {
	return slices.ContainsFunc(n.table.Columns, func(c Column) bool { return c.Kind == ast.ComputedColumn })
}

// tree is what runs: sink, calc, and what reads the table.
func (p printer) tree(scan []string) string {
	n := p.n
	var out []string
	if n.sink != nil {
		out = append(out, p.withMode(n.sinkText(), "NONE"))
	}
	if calc := p.calc(); calc != "" {
		out = append(out, p.withMode(calc, "I"))
	}
	return indent(append(out, scan...))
}

// calc is filter and projection, or empty when they change nothing.
func (p printer) calc() string {
	n := p.n
	var cols []string
	same := n.where == nil && n.table != nil
	var input []int
	if n.table != nil {
		if input = n.scanned(); !n.pushed() && n.table.Watermark != nil && n.hasComputed() {
			input = nil
			for i := range n.table.Columns {
				input = append(input, i)
			}
		}
	}
	same = same && len(n.values) == len(input)
	for i, e := range n.values {
		text := p.value(i)
		r, ok := e.(*function.ColumnRef)
		same = same && ok && i < len(input) && r.Index == input[i] && n.castOf(i) == nil && text == r.Name
		if !ok || text != n.names[i] {
			text += " AS " + n.names[i]
		}
		cols = append(cols, text)
	}
	if same {
		return ""
	}
	calc := "Calc(select=[" + strings.Join(cols, ", ") + "]"
	if n.where != nil {
		w := p
		w.where = true
		calc += ", where=[" + w.expr(n.where) + "]"
	}
	return calc + ")"
}

// withMode adds the kinds of changes before the closing parenthesis.
func (p printer) withMode(text, kind string) string {
	if !p.modes {
		return text
	}
	return strings.TrimSuffix(text, ")") + ", changelogMode=[" + kind + "])"
}
