package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/connector/rows"
	"staunch/function"
	"staunch/operator"
	"staunch/operator/calc"
	"staunch/types"
)

// TestSystemTables: a table of the system database is there without a declaration, for queries only, and sees the tables that the file declared
// before.
func TestSystemTables(t *testing.T) {
	var paths []string
	columns := []connector.Column{{Name: "a", Type: types.New(types.BigInt)}, {Name: "b", Type: types.String_}}
	reg := &Registry{Collect: func(changelog.Schema) connector.Sink { return nil },
		NewCalc: func(where function.Expr, exprs []function.Expr, names []string, notNull []int, drop bool, s function.Session) (operator.Operator, error) {
			return calc.New(calc.Spec{Where: where, Exprs: exprs, Names: names, NotNull: notNull, Drop: drop, Session: s})
		},
		System: []SystemTable{{Name: "trace", Columns: columns, Source: func(ct connector.Table, p []string, _ *config.Job) (connector.Source, error) {
			paths = p
			return rows.New(columns, ct.Columns, func(func(rows.Row) error) error { return nil })
		}}}}
	plan := func(src string) (*Script, error) {
		return Plan(src, config.NewJob(), "x", time.Now, reg)
	}
	const declared = "CREATE TABLE t (x INT) WITH ('connector' = 'filesystem', 'path' = '/w/t'); CREATE TABLE trace (y INT) WITH ('connector' = 'k'); "
	s, err := plan(declared + "SELECT trace.b FROM staunch.trace WHERE a > 1; DESCRIBE default_catalog.staunch.trace; SELECT * FROM default_catalog.staunch.trace; EXPLAIN SELECT b FROM staunch.trace;" +
		"CREATE TABLE late (x INT) WITH ('connector' = 'filesystem', 'path' = '/w/late');")
	if err != nil {
		t.Fatal(err)
	}
	jobs := s.Jobs()
	if len(jobs) != 2 || !jobs[0].Bounded || len(jobs[0].Graph.Sources) != 1 || len(jobs[0].Graph.Sources[0].Schema) != 2 {
		t.Errorf("%+v", jobs)
	}
	if !slices.Equal(paths, []string{"/w/t"}) {
		t.Errorf("paths %q", paths)
	}
	var text []string
	for _, i := range s.Items {
		text = append(text, i.Text)
	}
	if all := strings.Join(text, ""); !strings.Contains(all, "a\tBIGINT") || !strings.Contains(all, "default_catalog, staunch, trace") {
		t.Errorf("%s", all)
	}
	for src, want := range map[string]string{
		"SELECT a FROM staunch.trac":                               "did you mean 'staunch.trace'",
		"SELECT y FROM staunch.trace":                              "column 'y' not found",
		"INSERT INTO t SELECT 1 FROM staunch.trace":                "cannot be the source of an INSERT",
		"INSERT INTO staunch.trace SELECT x, 'y' FROM t":           "cannot be written to",
		"CREATE TABLE staunch.mine (a INT) WITH ('connector'='k')": "no such catalog or database",
		"DROP TABLE staunch.trace":                                 "cannot be dropped",
	} {
		if _, err := plan(declared + src + ";"); err == nil || !strings.Contains(fmt.Sprintf("%+v", err)+hintOf(err), want) {
			t.Errorf("%s: %v", src, err)
		}
	}
}

func hintOf(err error) string {
	if e, ok := err.(interface{ Render(string) string }); ok {
		return e.Render("")
	}
	return fmt.Sprintf("%#v", err)
}
