package bind_test

import (
	"errors"
	"strings"
	"testing"

	"staunch/function"
	"staunch/sql/bind"
	"staunch/sql/parse"
)

// FuzzExpression: whatever the text, nothing panics; a refusal has a place, a failure has a row.
func FuzzExpression(f *testing.F) {
	for _, file := range []string{"expressions.tsv", "columns/expressions.tsv"} {
		for _, v := range readVectors(f, file) {
			f.Add(v.expr)
		}
	}
	schema, in := table(f)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToUpper(text), "REPEAT") || strings.Contains(strings.ToUpper(text), "PAD") {
			return // as much memory as they are asked for
		}
		e, err := parse.Expression(text)
		if err != nil {
			return
		}
		x, err := bind.Expr(e, bind.Scope{Schema: schema})
		if err != nil {
			var p *parse.Error
			if !errors.As(err, &p) || !p.Pos.IsValid() || p.Msg == "" {
				t.Fatalf("%s: %#v has no place", text, err)
			}
			return
		}
		if x.String() == "" {
			t.Fatalf("%s has no text", text)
		}
		xs := []function.Expr{x}
		if !x.Deterministic() {
			return
		}
		nested := false
		for _, i := range function.Columns(x) {
			nested = nested || schema[i].Type.IsNested()
		}
		if nested {
			return
		}
		checkRows(t, []string{text}, xs, in, alone(in))
	})
}
