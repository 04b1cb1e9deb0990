package plan

import (
	"fmt"
	"strings"

	"staunch/function"
	"staunch/sql/ast"
)

// explain prints the plan of a query, an INSERT or a statement set, laid out as Flink's EXPLAIN.
func (p *planner) explain(x *ast.Explain) error {
	for _, d := range x.Details {
		if d != "CHANGELOG_MODE" {
			return notYet(x, "EXPLAIN "+d)
		}
	}
	var nodes []explained
	add := func(ins *ast.Insert) error {
		b := p.newBuilder(ins)
		p.jobs--
		if err := b.insert(ins); err != nil {
			return err
		}
		br := b.branches[0]
		nodes = append(nodes, explained{sink: br.sink.Table, q: br.q, names: br.names})
		return nil
	}
	switch s := x.Statement.(type) {
	case *ast.Insert:
		if err := add(s); err != nil {
			return err
		}
	case *ast.StatementSet:
		for _, ins := range s.Inserts {
			if err := add(ins); err != nil {
				return err
			}
		}
	case ast.Query:
		q, err := p.bindQuery(s)
		if err != nil {
			return err
		}
		nodes = append(nodes, explained{q: q, names: q.names})
	default:
		return refuse(x.Statement, "only queries, INSERT and STATEMENT SET can be explained", "")
	}
	p.text(explainText(nodes))
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

type explained struct {
	sink  *Table
	q     *query
	names []string
}

func path(t *Table) string { return "default_catalog, default_database, " + t.Name }

func explainText(nodes []explained) string {
	var tree, phys, exec strings.Builder
	for i, n := range nodes {
		if i > 0 {
			tree.WriteString("\n")
			phys.WriteString("\n")
			exec.WriteString("\n")
		}
		n.logical(&tree)
		n.physical(&phys)
		n.physical(&exec)
	}
	return "== Abstract Syntax Tree ==\n" + tree.String() + "\n== Optimized Physical Plan ==\n" + phys.String() + "\n== Optimized Execution Plan ==\n" + exec.String()
}

func level(b *strings.Builder, depth int, text string) {
	if depth > 0 {
		b.WriteString(strings.Repeat("   ", depth-1) + "+- ")
	}
	b.WriteString(text + "\n")
}

// logical is the unoptimized tree: sink, project, filter, watermark, scan.
func (n explained) logical(b *strings.Builder) {
	d := 0
	if n.sink != nil {
		level(b, d, fmt.Sprintf("LogicalSink(table=[%s], fields=[%s])", strings.ReplaceAll(path(n.sink), ", ", "."), strings.Join(n.names, ", ")))
		d++
	}
	var cols []string
	for i, e := range n.q.exprs {
		name := ""
		if i < len(n.names) {
			name = n.names[i]
		}
		cols = append(cols, fmt.Sprintf("%s=[%s]", name, e))
	}
	level(b, d, "LogicalProject("+strings.Join(cols, ", ")+")")
	d++
	if n.q.where != nil {
		level(b, d, "LogicalFilter(condition=["+n.q.where.String()+"])")
		d++
	}
	t := n.q.table
	if t.Watermark != nil {
		level(b, d, fmt.Sprintf("LogicalWatermarkAssigner(rowtime=[%s], watermark=[%s])", t.Columns[t.WatermarkColumn].Name, t.Watermark))
		d++
	}
	level(b, d, "LogicalTableScan(table=[["+path(t)+"]])")
}

// physical is what runs: sink, calc, scan with the pushed watermark and only the columns that are used.
func (n explained) physical(b *strings.Builder) {
	d := 0
	if n.sink != nil {
		level(b, d, fmt.Sprintf("Sink(table=[%s], fields=[%s])", strings.ReplaceAll(path(n.sink), ", ", "."), strings.Join(n.names, ", ")))
		d++
	}
	var cols []string
	for i, e := range n.q.exprs {
		text := e.String()
		if r, ok := e.(*function.ColumnRef); !ok || i < len(n.names) && r.Name != n.names[i] {
			if i < len(n.names) {
				text += " AS " + n.names[i]
			}
		}
		cols = append(cols, text)
	}
	calc := "Calc(select=[" + strings.Join(cols, ", ") + "]"
	if n.q.where != nil {
		calc += ", where=[" + n.q.where.String() + "]"
	}
	level(b, d, calc+")")
	d++
	t := n.q.table
	used := map[int]bool{}
	for _, e := range n.q.exprs {
		uses(e, used)
	}
	if n.q.where != nil {
		uses(n.q.where, used)
	}
	var fields []string
	for i, c := range t.Columns {
		if used[i] {
			fields = append(fields, c.Name)
		}
	}
	mark := ""
	if t.Watermark != nil {
		mark = fmt.Sprintf(", watermark=[%s]", t.Watermark)
	}
	level(b, d, fmt.Sprintf("TableSourceScan(table=[[%s%s]], fields=[%s])", path(t), mark, strings.Join(fields, ", ")))
}
