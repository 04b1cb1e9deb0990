package parse

import (
	"fmt"
	"strings"
	"testing"

	"staunch/sql/ast"
)

// testdata/precedence.tsv: random expressions and how Flink 2.3.0's parser groups them. Left out is what it groups without
// sense: an arithmetic operator or LIKE after the list of IN, which it takes as part of the list, and prefix operators in the
// bounds of BETWEEN.
func TestPrecedence(t *testing.T) {
	rows := readTSV(t, "testdata/precedence.tsv")
	if len(rows) < 350 {
		t.Errorf("only %d expressions", len(rows))
	}
	for _, row := range rows {
		x, err := Expression(row[0])
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		if got := grouping(x); got != row[1] {
			t.Errorf("%s\n  ours:  %s\n  Flink: %s", row[0], got, row[1])
		}
		checkRoundTrip(t, row[0], x, func(s string) (ast.Node, error) { return Expression(s) })
	}
}

// grouping writes an expression in prefix form with Flink's operator names.
func grouping(x ast.Expr) string {
	not := map[bool]string{true: "NOT "}
	switch x := x.(type) {
	case *ast.Identifier:
		return x.Last()
	case *ast.Literal:
		return x.Text
	case *ast.Unary:
		return fmt.Sprintf("(%s %s)", x.Op, grouping(x.X))
	case *ast.Binary:
		op := string(x.Op)
		if strings.HasPrefix(op, "MULTISET ") {
			op += " ALL"
		}
		return fmt.Sprintf("(%s %s %s)", op, grouping(x.X), grouping(x.Y))
	case *ast.Is:
		return fmt.Sprintf("(IS %s%s %s)", not[x.Not], x.What, grouping(x.X))
	case *ast.Like:
		return fmt.Sprintf("(%s%s %s %s)", not[x.Not], x.Op, grouping(x.X), grouping(x.Pattern))
	case *ast.Between:
		kind := map[bool]string{true: "SYMMETRIC", false: "ASYMMETRIC"}[x.Symmetric]
		return fmt.Sprintf("(%sBETWEEN %s %s %s %s)", not[x.Not], kind, grouping(x.X), grouping(x.Low), grouping(x.High))
	case *ast.In:
		var list []string
		for _, e := range x.List {
			list = append(list, grouping(e))
		}
		return fmt.Sprintf("(%sIN %s [%s])", not[x.Not], grouping(x.X), strings.Join(list, " "))
	}
	return fmt.Sprintf("%T", x)
}
