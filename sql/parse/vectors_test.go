package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"staunch/sql/ast"
)

// vectors is where the measurements of Flink 2.3.0 stand.
const vectors = "../../test/vectors/flink"

// readTSV gives the rows of a file with a header line.
func readTSV(t testing.TB, path string) [][]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if i > 0 && line != "" {
			rows = append(rows, strings.Split(line, "\t"))
		}
	}
	return rows
}

// checkStatements compares acceptance with column 2 of a file; knownDifferences are left out.
func checkStatements(t *testing.T, path string, knownDifferences map[string]bool) int {
	n := 0
	for _, row := range readTSV(t, path) {
		if knownDifferences[row[0]] {
			continue
		}
		n++
		_, err := Statement(row[0])
		if want := row[1] == "yes"; want != (err == nil) {
			t.Errorf("Flink takes it: %s\n  %s\n  ours: %v", row[1], row[0], err)
		}
	}
	return n
}

// The 262 statements of the dialect page: acceptance equals Flink's for every one.
func TestStatementVectors(t *testing.T) {
	if n := checkStatements(t, filepath.Join(vectors, "statements.tsv"), nil); n < 262 {
		t.Errorf("only %d statements", n)
	}
}

// Every expression that Flink's parser takes, whatever comes of it later, is taken here, and no other.
func TestExpressionVectors(t *testing.T) {
	for _, file := range []string{"expressions.tsv", "columns/expressions.tsv"} {
		rows := readTSV(t, filepath.Join(vectors, file))
		if len(rows) < 150 {
			t.Errorf("%s: only %d expressions", file, len(rows))
		}
		for _, row := range rows {
			x, err := Expression(row[0])
			if want := row[1] != "PARSE_ERROR"; want != (err == nil) {
				t.Errorf("%s: %s: %s\n  ours: %v", file, row[0], row[1], err)
			}
			if err == nil {
				checkTree(t, row[0], x)
				checkRoundTrip(t, row[0], x, func(s string) (ast.Node, error) { return Expression(s) })
			}
		}
	}
}

// checkTree checks that places are in order and each node lies inside its parent's span.
func checkTree(t *testing.T, src string, n ast.Node) {
	t.Helper()
	ast.Inspect(n, func(x ast.Node) bool {
		from, to := x.Pos(), x.End()
		if !from.IsValid() || to.Offset < from.Offset || from.Offset < n.Pos().Offset || to.Offset > n.End().Offset {
			t.Errorf("%T has place %d..%d in %q", x, from.Offset, to.Offset, src)
			return false
		}
		if from.Offset > len(src) || to.Offset > len(src) {
			t.Errorf("%T has place %d..%d after %q", x, from.Offset, to.Offset, src)
		}
		return true
	})
}

// checkRoundTrip checks that the tree's text parses to an equal tree.
func checkRoundTrip(t *testing.T, src string, n ast.Node, parse func(string) (ast.Node, error)) {
	t.Helper()
	text := ast.SQL(n)
	again, err := parse(text)
	if err != nil {
		t.Errorf("%s\n  printed as %s\n  %v", src, text, err)
		return
	}
	if !ast.Equal(n, again) {
		t.Errorf("%s\n  printed as %s\n  again as   %s", src, text, ast.SQL(again))
	}
}

func TestStatementsRoundTrip(t *testing.T) {
	for _, file := range []string{filepath.Join(vectors, "statements.tsv"), "testdata/grammar.tsv"} {
		for _, row := range readTSV(t, file) {
			s, err := Statement(row[0])
			if err != nil {
				continue
			}
			checkTree(t, row[0], s)
			checkRoundTrip(t, row[0], s, func(s string) (ast.Node, error) { return Statement(s) })
			// Each node has a text of its own, too, which is part of the whole.
			whole := ast.SQL(s)
			ast.Inspect(s, func(n ast.Node) bool {
				if part := ast.SQL(n); !strings.Contains(whole, part) {
					t.Errorf("%T prints as %q in %q", n, part, whole)
				}
				return true
			})
		}
	}
}
