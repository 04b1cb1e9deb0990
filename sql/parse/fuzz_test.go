package parse

import (
	"errors"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"staunch/sql/ast"
)

// FuzzScript: no text makes the parser panic or hang; every error has a place inside the text and renders; every statement
// taken has a sound tree and prints as text that parses to the same tree.
func FuzzScript(f *testing.F) {
	for _, file := range []string{filepath.Join(vectors, "statements.tsv"), "testdata/grammar.tsv"} {
		for _, row := range readTSV(f, file) {
			f.Add(row[0])
		}
	}
	for _, row := range readTSV(f, filepath.Join(vectors, "expressions.tsv")) {
		f.Add("SELECT " + row[0])
	}
	f.Add(mainJob)
	f.Fuzz(func(t *testing.T, src string) {
		stmts, err := Script(src)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %T", err)
			}
			if e.Pos.Line < 1 || e.Pos.Col < 1 || e.Pos.Offset < 0 || e.Pos.Offset > len(src) {
				t.Fatalf("place %+v of %v", e.Pos, e)
			}
			if out := Render(err, src, ""); !utf8.ValidString(out) {
				t.Fatalf("rendered as %q", out)
			}
		}
		for _, s := range stmts {
			checkTree(t, src, s)
			if _, ok := s.(*ast.BeginStatementSet); !ok && err == nil {
				checkScriptRoundTrip(t, s)
			}
		}
	})
}
