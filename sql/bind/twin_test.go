package bind_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"staunch/changelog"
	"staunch/function"
	"staunch/sql/bind"
	"staunch/sql/parse"
)

// generator writes random expressions by wanted kind: n number, s text, b boolean, t time.
type generator struct{ r *rand.Rand }

func (g generator) pick(s ...string) string { return s[g.r.IntN(len(s))] }

func (g generator) expr(kind string, depth int) string {
	if depth == 0 {
		return g.leaf(kind)
	}
	sub := func(k string) string { return g.expr(k, depth-1-g.r.IntN(2)*min(1, depth-1)) }
	switch kind {
	case "n":
		switch g.r.IntN(9) {
		case 0:
			return fmt.Sprintf("(%s %s %s)", sub("n"), g.pick("+", "-", "*", "/", "%"), sub("n"))
		case 1:
			return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s ELSE %s END", sub("b"), sub("n"), sub("b"), sub("n"), sub("n"))
		case 2:
			return fmt.Sprintf("COALESCE(%s, %s, %s)", sub("n"), sub("n"), sub("n"))
		case 3:
			return fmt.Sprintf("CAST(%s AS %s)", sub("s"), g.pick("INT", "BIGINT", "DOUBLE", "DECIMAL(10, 2)"))
		case 4:
			return fmt.Sprintf("TRY_CAST(%s AS %s)", sub("s"), g.pick("INT", "SMALLINT", "FLOAT", "DECIMAL(20, 5)"))
		case 5:
			return fmt.Sprintf("IF(%s, %s, %s)", sub("b"), sub("n"), sub("n"))
		case 6:
			return fmt.Sprintf("CAST(%s AS %s)", sub("n"), g.pick("TINYINT", "BIGINT", "FLOAT", "DECIMAL(6, 1)", "DOUBLE"))
		case 7:
			return fmt.Sprintf("%s(%s, %s)", g.pick("NULLIF", "GREATEST", "LEAST"), sub("n"), sub("n"))
		}
		return fmt.Sprintf("%s(%s)", g.pick("-", "ABS", "SIGN", "FLOOR", "ROUND"), sub("n"))
	case "b":
		switch g.r.IntN(8) {
		case 0:
			return fmt.Sprintf("(%s %s %s)", sub("n"), g.pick("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"), sub("n"))
		case 1:
			return fmt.Sprintf("(%s %s %s)", sub("s"), g.pick("=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM"), sub("s"))
		case 2, 3:
			return fmt.Sprintf("(%s %s %s)", sub("b"), g.pick("AND", "OR"), sub("b"))
		case 4:
			return fmt.Sprintf("(NOT %s)", sub("b"))
		case 5:
			return fmt.Sprintf("(%s IS %s)", sub("b"), g.pick("NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN"))
		case 6:
			return fmt.Sprintf("(%s IN (1, 0, -5, 42, %s))", sub("n"), sub("n"))
		}
		return fmt.Sprintf("(%s %s BETWEEN %s AND %s)", sub("n"), g.pick("", "NOT"), sub("n"), sub("n"))
	}
	switch g.r.IntN(5) {
	case 0:
		return fmt.Sprintf("(%s || %s)", sub("s"), sub("s"))
	case 1:
		return fmt.Sprintf("CAST(%s AS %s)", g.pick(sub("n"), sub("b"), "ts", "d1"), g.pick("STRING", "VARCHAR(3)", "CHAR(2)"))
	case 2:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", sub("b"), sub("s"), sub("s"))
	case 3:
		return fmt.Sprintf("DATE_FORMAT(ts, %s)", g.pick("'HH'", "'yyyy-MM-dd'", "s"))
	}
	return fmt.Sprintf("COALESCE(%s, %s)", sub("s"), sub("s"))
}

func (g generator) leaf(kind string) string {
	switch kind {
	case "n":
		return g.pick("ti", "si", "i", "bi", "f", "d", "`dec`", "big", "0", "1", "-5", "2.5", "1e0")
	case "b":
		return g.pick("b", "TRUE", "FALSE", "i > 0", "s = ''", "CAST(NULL AS BOOLEAN)")
	}
	return g.pick("s", "c", "num", "'42'", "''", "'x'")
}

// TestRowsAreIndependent: a batch gives what its rows give one by one; it fails if one of them fails. This holds branches, short cuts and shared
// subexpressions against the plain meaning.
func TestRowsAreIndependent(t *testing.T) {
	schema, base := table(t)
	in := repeat(schema, base, 70)
	single := alone(base)
	bound := 0
	for seed := range uint64(3000) {
		g := generator{rand.New(rand.NewPCG(seed, 5))}
		texts := []string{g.expr(g.pick("n", "b", "s"), 1+g.r.IntN(4)), g.expr(g.pick("n", "b", "s"), 2)}
		xs, err := bindAll(texts, schema)
		if err != nil {
			continue
		}
		bound++
		checkRows(t, texts, xs, in, single)
	}
	t.Logf("%d of 3000 pairs of expressions were bound", bound)
	if bound < 1000 {
		t.Errorf("only %d of 3000 random expressions were bound", bound)
	}
}

func bindAll(texts []string, schema changelog.Schema) ([]function.Expr, error) {
	var xs []function.Expr
	for _, text := range texts {
		e, err := parse.Expression(text)
		if err != nil {
			return nil, err
		}
		x, err := bind.Expr(e, bind.Scope{Schema: schema})
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

func checkRows(t *testing.T, texts []string, xs []function.Expr, in *changelog.Batch, single []*changelog.Batch) {
	t.Helper()
	run := func(b *changelog.Batch) ([]*changelog.Column, error) {
		p, err := function.Compile(xs, session)
		if err != nil {
			t.Fatalf("%v: %v", texts, err)
		}
		out := make([]*changelog.Column, len(xs))
		return out, p.Eval(b, out)
	}
	var want [][]string
	var failed error
	for _, b := range single {
		out, err := run(b)
		if err != nil {
			failed = err
			break
		}
		var vs []string
		for _, c := range out {
			vs = append(vs, valueText(c, 0, nil))
		}
		want = append(want, vs)
	}
	out, err := run(in)
	var row *function.RowError
	switch {
	case (err != nil) != (failed != nil):
		t.Fatalf("%s\n as a batch: %v, row by row: %v", strings.Join(texts, "\n"), err, failed)
	case err != nil:
		if !errors.As(err, &row) || row.Row < 0 || row.Row >= in.Rows {
			t.Fatalf("%v: %v names no row", texts, err)
		}
		if _, err := run(oneRow(in, row.Row)); err == nil {
			t.Fatalf("%v: row %d is named but does not fail", texts, row.Row)
		}
		return
	}
	for i := range in.Rows {
		for k, c := range out {
			if c.N != in.Rows || c.Type.Kind != xs[k].Type().Kind {
				t.Fatalf("%s: %d rows of %s", texts[k], c.N, c.Type)
			}
			if got := valueText(c, i, nil); got != want[i%len(single)][k] {
				t.Fatalf("%s: row %d gives %s in a batch and %s alone", texts[k], i, got, want[i%len(single)][k])
			}
		}
	}
}

// repeat makes a batch of n rows that goes round the rows of b.
func repeat(schema changelog.Schema, b *changelog.Batch, n int) *changelog.Batch {
	out := changelog.NewBatch(schema)
	for i := range n {
		for k, c := range out.Cols {
			c.AppendFrom(b.Cols[k], i%b.Rows)
		}
		out.Rows++
	}
	return out
}

// oneRow makes a batch of row i of b.
func oneRow(b *changelog.Batch, i int) *changelog.Batch {
	out := &changelog.Batch{Split: changelog.NoSplit, Rows: 1}
	for _, c := range b.Cols {
		d := changelog.NewColumn(c.Type)
		d.AppendFrom(c, i)
		out.Cols = append(out.Cols, d)
	}
	return out
}

// alone makes a batch of each row of b.
func alone(b *changelog.Batch) []*changelog.Batch {
	out := make([]*changelog.Batch, b.Rows)
	for i := range out {
		out[i] = oneRow(b, i)
	}
	return out
}
