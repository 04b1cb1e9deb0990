package ast

import "fmt"

// Pos is a place in the source text. The zero Pos means "no place" (a node that was made, not parsed).
type Pos struct {
	Line   int // 1-based
	Col    int // 1-based, counted in characters (Unicode code points), a tab counts one
	Offset int // 0-based, counted in bytes: src[Offset:] begins here
}

// IsValid tells whether p names a place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String gives "line:col", or "-" for no place.
func (p Pos) String() string {
	if !p.IsValid() {
		return "-"
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Col)
}

// Node is any part of the tree.
type Node interface {
	Pos() Pos // first character
	End() Pos // just after the last character
}

// Span is embedded by every node and gives it its place.
type Span struct{ Start, Stop Pos }

// Pos gives the place of the first character.
func (s Span) Pos() Pos { return s.Start }

// End gives the place just after the last character.
func (s Span) End() Pos { return s.Stop }

// Expr is an expression node.
type Expr interface {
	Node
	exprNode()
}

// Statement is a whole statement. Queries are statements too.
type Statement interface {
	Node
	stmtNode()
}

// Query is anything that gives rows: [Select], [SetOp], [Values], [TableQuery], [Ordered], [With].
type Query interface {
	Statement
	queryNode()
}

// TableRef is an item of a FROM clause.
type TableRef interface {
	Node
	tableNode()
}

// TableElement is an element of a table's column list: [Column], [Watermark] or [Constraint].
type TableElement interface {
	Node
	elementNode()
}

// Name is one part of an identifier.
type Name struct {
	Span
	Text   string // without back-ticks, `` undone
	Quoted bool   // written in back-ticks
}

// Identifier is a path of names: a column, a.b.c, or a table's [catalog.][database.]name. It is also an expression.
type Identifier struct {
	Span
	Parts []Name // at least one
}

// Texts gives the parts' texts.
func (id *Identifier) Texts() []string {
	out := make([]string, len(id.Parts))
	for i, p := range id.Parts {
		out[i] = p.Text
	}
	return out
}

// Last gives the last part's text, the object's own name.
func (id *Identifier) Last() string { return id.Parts[len(id.Parts)-1].Text }

// Hint is one hint of a /*+ .. */ comment, as OPTIONS('k'='v') or BROADCAST(a, b).
type Hint struct {
	Span
	Name    string    // as written
	Options []Option  // 'k'='v' arguments
	Args    []HintArg // other arguments
}

// HintArgKind says what a hint's argument is.
type HintArgKind int

// The kinds of hint arguments.
const (
	HintName HintArgKind = iota + 1
	HintString
	HintNumber
)

// HintArg is an argument of a hint that is no option.
type HintArg struct {
	Span
	Kind HintArgKind
	Text string // a string without quotes, a name without back-ticks
}

// Option is a 'key' = 'value' pair of a WITH clause, SET list or hint; both literals have their own place.
type Option struct {
	Span
	Key   *Literal
	Value *Literal
}
