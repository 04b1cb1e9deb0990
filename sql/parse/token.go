package parse

import "staunch/sql/ast"

// tokenKind says what a token is.
type tokenKind uint8

const (
	tokEOF     tokenKind = iota
	tokWord              // keyword or unquoted name
	tokQuoted            // `name`
	tokInt               // 42
	tokDecimal           // 1.5
	tokDouble            // 1e3
	tokString            // '..' with or without N, E, _charset
	tokUnicode           // U&'..', escapes still in val
	tokBinary            // X'..'
	tokOp                // operator or punctuation
	tokBad               // not a token; val is the message, hint what to do
)

// token is one word of the source.
type token struct {
	kind tokenKind
	// val: name or string without quotes, digits of a number, an operator's text, a message for tokBad.
	val string
	// word is the upper-case form of a tokWord, for keywords.
	word    string
	charset string // of a tokString
	hint    string // of a tokBad
	pos     ast.Pos
	end     ast.Pos
}

// is tells whether t is the keyword w (upper case).
func (t *token) is(w string) bool { return t.kind == tokWord && t.word == w }

// op tells whether t is the operator s.
func (t *token) op(s string) bool { return t.kind == tokOp && t.val == s }
