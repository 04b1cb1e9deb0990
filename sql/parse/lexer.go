package parse

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"staunch/sql/ast"
)

// lexer cuts source text into tokens, one at a time. It never fails: what is no token becomes a tokBad, which the parser
// reports when it gets there, so that an earlier mistake is reported first.
type lexer struct {
	src string
	pos ast.Pos
}

func newLexer(src string) *lexer {
	return &lexer{src: src, pos: ast.Pos{Line: 1, Col: 1}}
}

func (l *lexer) rest() string { return l.src[l.pos.Offset:] }

func (l *lexer) at(i int) byte {
	if o := l.pos.Offset + i; o < len(l.src) {
		return l.src[o]
	}
	return 0
}

// advance moves n bytes on and keeps line and column.
func (l *lexer) advance(n int) {
	s := l.src[l.pos.Offset : l.pos.Offset+n]
	l.pos.Offset += n
	for len(s) > 0 {
		if s[0] == '\n' {
			l.pos.Line++
			l.pos.Col = 1
			s = s[1:]
			continue
		}
		_, w := utf8.DecodeRuneInString(s)
		l.pos.Col++
		s = s[w:]
	}
}

// skipBlank skips white space and comments. It gives a tokBad for a comment without end.
func (l *lexer) skipBlank() *token {
	for l.pos.Offset < len(l.src) {
		c := l.at(0)
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			l.advance(1)
		case c == 0xEF && l.pos.Offset == 0 && strings.HasPrefix(l.src, "\uFEFF"): // byte order mark
			l.advance(3)
		case c == '-' && l.at(1) == '-', c == '/' && l.at(1) == '/':
			n := strings.IndexByte(l.rest(), '\n')
			if n < 0 {
				n = len(l.rest())
			}
			l.advance(n)
		case c == '/' && l.at(1) == '*' && l.at(2) != '+':
			start := l.pos
			// Comments do not nest. As in Flink, of "/***/" the third star belongs to the beginning: it has no end yet.
			i := 2
			if l.at(2) == '*' && l.at(3) != '/' {
				i = min(4, len(l.rest()))
			}
			n := strings.Index(l.rest()[i:], "*/")
			if n < 0 {
				l.advance(len(l.rest()))
				return &token{kind: tokBad, pos: start, end: l.pos, val: "comment has no end", hint: "close it with */"}
			}
			l.advance(i + n + 2)
		default:
			return nil
		}
	}
	return nil
}

// next gives the next token; at the end it gives tokEOF for ever.
func (l *lexer) next() token {
	if bad := l.skipBlank(); bad != nil {
		return *bad
	}
	start := l.pos
	if l.pos.Offset >= len(l.src) {
		return token{kind: tokEOF, pos: start, end: start}
	}
	t := l.scan()
	t.pos, t.end = start, l.pos
	return t
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// letters are the characters that Flink's parser takes in an unquoted name besides digits.
var letters = [][2]rune{
	{'$', '$'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}, {0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x1FFF}, {0x3040, 0x318F},
	{0x3300, 0x337F}, {0x3400, 0x3D2D}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF},
}

func isWordStart(r rune) bool {
	for _, l := range letters {
		if r >= l[0] && r <= l[1] {
			return true
		}
	}
	return false
}

func isWordPart(r rune) bool { return isWordStart(r) || r >= '0' && r <= '9' }

func (l *lexer) scan() token {
	c := l.at(0)
	switch {
	case isDigit(c), c == '.' && isDigit(l.at(1)):
		return l.number()
	case c == '\'':
		return l.quoted(tokString, 0, "")
	case c == '`':
		return l.backTick()
	case (c == 'x' || c == 'X') && l.at(1) == '\'':
		return l.quoted(tokBinary, 1, "")
	case (c == 'n' || c == 'N') && l.at(1) == '\'':
		return l.quoted(tokString, 1, "N")
	case (c == 'e' || c == 'E') && l.at(1) == '\'':
		return l.escaped()
	case (c == 'u' || c == 'U') && l.at(1) == '&' && l.at(2) == '\'':
		return l.quoted(tokUnicode, 2, "")
	}
	r, w := utf8.DecodeRuneInString(l.rest())
	if isWordStart(r) {
		return l.word()
	}
	if r == utf8.RuneError && w <= 1 {
		l.advance(1)
		return token{kind: tokBad, val: "text is not valid UTF-8", hint: "save the file as UTF-8"}
	}
	return l.operator(r, w)
}

func (l *lexer) word() token {
	n := 0
	for n < len(l.rest()) {
		r, w := utf8.DecodeRuneInString(l.rest()[n:])
		if !isWordPart(r) {
			break
		}
		n += w
	}
	s := l.rest()[:n]
	if s[0] == '_' && n < len(l.rest()) {
		// _UTF16'abc' is a string with a character set; its name may contain a hyphen.
		m := n
		for m < len(l.rest()) && (l.rest()[m] == '-' || l.rest()[m] == ':' || l.rest()[m] == '.' || isWordPart(rune(l.rest()[m]))) {
			m++
		}
		if m < len(l.rest()) && l.rest()[m] == '\'' && m > 1 {
			return l.quoted(tokString, m, l.rest()[1:m])
		}
	}
	l.advance(n)
	if s == "$" {
		return token{kind: tokOp, val: s}
	}
	return token{kind: tokWord, val: s, word: strings.ToUpper(s)}
}

func (l *lexer) number() token {
	s, n, kind := l.rest(), 0, tokInt
	digits := func() {
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		kind = tokDecimal
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if m < len(s) && isDigit(s[m]) {
			n, kind = m, tokDouble
			digits()
		}
	}
	l.advance(n)
	return token{kind: kind, val: s[:n]}
}

// quoted reads '..' after a prefix of n bytes; a doubled quote inside stands for one.
func (l *lexer) quoted(kind tokenKind, n int, charset string) token {
	s := l.rest()
	var b strings.Builder
	for i := n + 1; i < len(s); {
		j := strings.IndexByte(s[i:], '\'')
		if j < 0 {
			break
		}
		b.WriteString(s[i : i+j])
		i += j + 1
		if i < len(s) && s[i] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		if !utf8.ValidString(s[:i]) {
			l.advance(i)
			return token{kind: tokBad, val: "string is not valid UTF-8", hint: "save the file as UTF-8, or write the bytes as X'..'"}
		}
		l.advance(i)
		return token{kind: kind, val: b.String(), charset: charset}
	}
	return l.endless("string", "'")
}

// escaped reads E'..' with backslash escapes.
func (l *lexer) escaped() token {
	s := l.rest()
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] != '\'':
		case i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			l.advance(i + 1)
			v, msg := undoEscapes(s[2:i])
			if msg != "" {
				return token{kind: tokBad, val: msg, hint: "write a plain '..' string, where a backslash stands for itself"}
			}
			return token{kind: tokString, val: v}
		}
	}
	return l.endless("string", "'")
}

// endless is the error of a quote that is never closed. It takes the rest of the line only, so that a script's next
// statements can still be looked at.
func (l *lexer) endless(what, quote string) token {
	n := strings.IndexByte(l.rest(), '\n')
	if n < 0 {
		n = len(l.rest())
	}
	l.advance(n)
	return token{kind: tokBad, val: what + " has no closing " + quote, hint: "a " + quote + " inside is written twice: " + quote + quote}
}

func (l *lexer) backTick() token {
	s := l.rest()
	var b strings.Builder
	for i := 1; i < len(s); {
		j := strings.IndexAny(s[i:], "`\n")
		if j < 0 || s[i+j] == '\n' {
			break
		}
		b.WriteString(s[i : i+j])
		i += j + 1
		if i < len(s) && s[i] == '`' {
			b.WriteByte('`')
			i++
			continue
		}
		if b.Len() == 0 {
			break
		}
		l.advance(i)
		return token{kind: tokQuoted, val: b.String()}
	}
	if strings.HasPrefix(s, "``") {
		l.advance(2)
		return token{kind: tokBad, val: "a name may not be empty", hint: "write the name between the back-ticks"}
	}
	return l.endless("name", "`")
}

// operators in the order in which they are tried: longer ones first. Some exist only to be refused with advice.
var operators = []string{
	"<=>", "||", "<>", "<=", ">=", "=>", "->", "::", "!=", "==", "&&", "**", "<<", "*/",
	"(", ")", "[", "]", "{", "}", ",", ".", ";", "+", "-", "*", "/", "%", "=", "<", ">", ":", "?", "|", "^",
}

func (l *lexer) operator(r rune, w int) token {
	s := l.rest()
	if strings.HasPrefix(s, "/*+") {
		l.advance(3)
		return token{kind: tokOp, val: "/*+"}
	}
	for _, o := range operators {
		if !strings.HasPrefix(s, o) {
			continue
		}
		l.advance(len(o))
		return token{kind: tokOp, val: o}
	}
	if r == '"' {
		return l.doubleQuoted()
	}
	l.advance(w)
	t := token{kind: tokBad, val: "unexpected character " + quoteRune(r)}
	switch r {
	case '\u2018', '\u2019', '\u201C', '\u201D':
		t.hint = "this is a typographic quote: strings go in plain single quotes ('text')"
	case '&':
		t.hint = "there is no bitwise operator; AND is written AND"
	case '!':
		t.hint = "negation is written NOT, inequality <>"
	case '\u00a0':
		t.val = "unexpected no-break space"
		t.hint = "replace it by an ordinary space"
	}
	return t
}

// doubleQuoted is the error of "..", up to the closing quote in the line.
func (l *lexer) doubleQuoted() token {
	t := token{kind: tokBad, val: "double quotes are not used in this dialect"}
	line, _, _ := strings.Cut(l.rest(), "\n")
	n := strings.IndexByte(line[1:], '"')
	if n < 0 || n > 40 {
		l.advance(1)
		t.hint = "names go in back-ticks (`name`), strings in single quotes ('text')"
		return t
	}
	text := line[1 : n+1]
	t.hint = "a name goes in back-ticks: `" + text + "`, a string in single quotes: '" + text + "'"
	l.advance(n + 2)
	return t
}

func quoteRune(r rune) string {
	if unicode.IsPrint(r) {
		return "'" + string(r) + "'"
	}
	return fmt.Sprintf("U+%04X", r)
}
