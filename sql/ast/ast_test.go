package ast

import (
	"fmt"
	"strings"
	"testing"
)

func name(s string) Name { return Name{Text: s} }

func id(parts ...string) *Identifier {
	x := &Identifier{}
	for _, p := range parts {
		x.Parts = append(x.Parts, name(p))
	}
	return x
}

func num(s string) *Literal { return &Literal{Kind: IntegerLit, Text: s} }

func bin(op BinaryOp, x, y Expr) Expr { return &Binary{Op: op, X: x, Y: y} }

// Parentheses are printed where the tree needs them and nowhere else.
func TestSQLParentheses(t *testing.T) {
	a, b, c := id("a"), id("b"), id("c")
	for _, x := range []struct {
		node Node
		want string
	}{
		{bin(OpAdd, bin(OpMul, a, b), c), "a * b + c"},
		{bin(OpMul, bin(OpAdd, a, b), c), "(a + b) * c"},
		{bin(OpSub, a, bin(OpSub, b, c)), "a - (b - c)"},
		{bin(OpSub, bin(OpSub, a, b), c), "a - b - c"},
		{bin(OpOr, bin(OpAnd, a, b), c), "a AND b OR c"},
		{bin(OpAnd, bin(OpOr, a, b), c), "(a OR b) AND c"},
		{bin(OpEq, a, &Unary{Op: OpNot, X: b}), "a = (NOT b)"},
		{&Unary{Op: OpNot, X: bin(OpEq, a, b)}, "NOT a = b"},
		{&Unary{Op: OpMinus, X: &Unary{Op: OpMinus, X: num("1")}}, "- - 1"},
		{&Is{X: bin(OpAnd, a, b), Not: true, What: "NULL"}, "(a AND b) IS NOT NULL"},
		{&Field{X: a, Name: name("x")}, "(a).x"},
		{&Subscript{X: bin(OpAdd, a, b), Index: num("1")}, "(a + b)[1]"},
		{&Between{X: a, Low: bin(OpOr, b, c), High: c}, "a BETWEEN (b OR c) AND c"},
		{&SetOp{Op: "INTERSECT", Left: &SetOp{Op: "UNION", Left: table("a"), Right: table("b")}, Right: table("c")}, "(TABLE a UNION TABLE b) INTERSECT TABLE c"},
		{&SetOp{Op: "UNION", Left: &SetOp{Op: "INTERSECT", Left: table("a"), Right: table("b")}, Right: table("c")}, "TABLE a INTERSECT TABLE b UNION TABLE c"},
		{&SetOp{Op: "UNION", Left: &Ordered{Query: table("a"), Limit: num("1")}, Right: table("b")}, "(TABLE a LIMIT 1) UNION TABLE b"},
	} {
		if got := SQL(x.node); got != x.want {
			t.Errorf("got %s, want %s", got, x.want)
		}
	}
}

func table(s string) Query { return &TableQuery{Table: id(s)} }

func TestQuoting(t *testing.T) {
	o := Option{Key: &Literal{Kind: StringLit, Text: "it's"}, Value: &Literal{Kind: UnicodeLit, Text: `a\b`}}
	if got := SQL(o); got != `'it''s' = U&'a\\b'` {
		t.Errorf("got %s", got)
	}
	if got := SQL(Name{Text: "a`b", Quoted: true}); got != "`a``b`" {
		t.Errorf("got %s", got)
	}
}

func TestInspect(t *testing.T) {
	s := &Select{Items: []SelectItem{{X: bin(OpAdd, id("a"), id("b"))}}, Where: id("c")}
	var kinds []string
	Inspect(s, func(n Node) bool {
		kinds = append(kinds, strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*"), "ast."))
		_, binary := n.(*Binary)
		return !binary
	})
	if got := strings.Join(kinds, " "); got != "Select SelectItem Binary Identifier Name" {
		t.Errorf("visited %s", got)
	}
	Inspect(nil, func(Node) bool { t.Error("nil has no nodes"); return false })
}

func TestEqual(t *testing.T) {
	a := bin(OpAdd, id("a"), num("1"))
	b := bin(OpAdd, id("a"), num("1"))
	b.(*Binary).Span = Span{Start: Pos{Line: 1, Col: 2, Offset: 1}}
	if !Equal(a, b) {
		t.Error("places must not count")
	}
	for _, other := range []Expr{bin(OpSub, id("a"), num("1")), bin(OpAdd, id("A"), num("1")), bin(OpAdd, id("a"), num("2")), id("a")} {
		if Equal(a, other) {
			t.Errorf("%s equals %s", SQL(a), SQL(other))
		}
	}
	if Equal(&In{X: id("a"), List: []Expr{num("1")}}, &In{X: id("a"), Query: table("t")}) {
		t.Error("a list equals a query")
	}
}

func TestPos(t *testing.T) {
	if s := (Pos{Line: 3, Col: 7}).String(); s != "3:7" {
		t.Error(s)
	}
	if s := (Pos{}).String(); s != "-" {
		t.Error(s)
	}
}
