package json

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is how deep values may nest (as in the JSON library that Flink 2.3.0 uses).
const maxDepth = 1000

// Byte patterns for eight bytes at a time.
const (
	eachLow   = 0x0101010101010101
	eachHigh  = 0x8080808080808080
	eachQuote = 0x2222222222222222
	eachSlash = 0x5c5c5c5c5c5c5c5c
)

// tokenKind is what a JSON value is.
type tokenKind uint8

const (
	tokenString tokenKind = iota
	tokenNumber
	tokenTrue
	tokenFalse
	tokenNull
	tokenObject
	tokenArray
)

// token is one value of a record. Of a string, start and end enclose what is between the quotes.
type token struct {
	kind       tokenKind
	escaped    bool // a string with a backslash in it
	start, end int
}

// A scanFault is where and why the bytes are not JSON.
type scanFault struct {
	at  int
	why string
}

// Reasons why a record is not JSON.
const (
	whyEnd       = "the record ends in the middle of a value"
	whyUTF8      = "invalid UTF-8 in a string"
	whyEscape    = "invalid escape in a string"
	whyNumber    = "not a JSON number"
	whyValue     = "not a JSON value"
	whyDepth     = "nested deeper than 1000 levels"
	whyKey       = "expected a field name in quotes"
	whyColon     = "expected ':' after the field name"
	whyComma     = "expected ',' or '}' after the value"
	whyCommaList = "expected ',' or ']' after the value"
	whyObject    = "the record is not a JSON object"
	whyArray     = "the record is a JSON array; here each record must be one JSON object"
	whyTail      = "bytes behind the JSON object"
)

// skipSpace returns the place of the first byte at or behind p that is not JSON's white space.
func skipSpace(b []byte, p int) int {
	for p < len(b) && (b[p] == ' ' || b[p] == '\n' || b[p] == '\r' || b[p] == '\t') {
		p++
	}
	return p
}

// scanString finds the closing quote of the string whose first byte behind the opening quote is p. Raw control characters are part of
// the string (Flink accepts them). A fault has end < 0.
func scanString(b []byte, p int) (end int, escaped bool, fault scanFault) {
	start, high := p, uint64(0)
	for {
		if p+8 > len(b) {
			break
		}
		w := binary.LittleEndian.Uint64(b[p:])
		q, s := w^eachQuote, w^eachSlash
		// The lowest marked byte is right; those above it may be marked by a borrow.
		m := ((q-eachLow)&^q | (s-eachLow)&^s) & eachHigh
		if m == 0 {
			high |= w
			p += 8
			continue
		}
		n := bits.TrailingZeros64(m) >> 3
		high |= w & (1<<(8*n) - 1)
		p += n
		if b[p] == '"' {
			goto found
		}
		if p, fault = scanEscape(b, p); p < 0 {
			return -1, true, fault
		}
		escaped = true
	}
	for p < len(b) && b[p] != '"' {
		if b[p] == '\\' {
			if p, fault = scanEscape(b, p); p < 0 {
				return -1, true, fault
			}
			escaped = true
			continue
		}
		high |= uint64(b[p])
		p++
	}
	if p >= len(b) {
		return -1, escaped, scanFault{len(b), whyEnd}
	}
found:
	if high&eachHigh != 0 && !utf8.Valid(b[start:p]) {
		return -1, escaped, scanFault{start, whyUTF8}
	}
	return p, escaped, fault
}

// scanEscape checks the escape whose backslash is at p and returns the place behind it.
func scanEscape(b []byte, p int) (int, scanFault) {
	if p+1 >= len(b) {
		return -1, scanFault{len(b), whyEnd}
	}
	switch b[p+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return p + 2, scanFault{}
	case 'u':
		if p+6 > len(b) {
			return -1, scanFault{p, whyEscape}
		}
		if _, ok := hex4(b[p+2 : p+6]); ok {
			return p + 6, scanFault{}
		}
	}
	return -1, scanFault{p, whyEscape}
}

// hex4 reads four hexadecimal digits. REQUIRES: len(b) >= 4.
func hex4(b []byte) (rune, bool) {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unescape appends the text of a string that scanString has checked. Half a surrogate pair becomes '?', as in Flink, so that the text is
// always UTF-8.
func unescape(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		c := src[i]
		if c != '\\' {
			j := i + 1
			for j < len(src) && src[j] != '\\' {
				j++
			}
			dst = append(dst, src[i:j]...)
			i = j
			continue
		}
		switch src[i+1] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(src[i+2:])
			i += 6
			if r >= 0xdc00 && r < 0xe000 {
				dst = append(dst, '?')
				continue
			}
			if r >= 0xd800 && r < 0xdc00 {
				if i+6 <= len(src) && src[i] == '\\' && src[i+1] == 'u' {
					if low, _ := hex4(src[i+2:]); low >= 0xdc00 && low < 0xe000 {
						dst = utf8.AppendRune(dst, (r-0xd800)<<10+(low-0xdc00)+0x10000)
						i += 6
						continue
					}
				}
				dst = append(dst, '?')
				continue
			}
			dst = utf8.AppendRune(dst, r)
			continue
		default: // quote, backslash, slash
			dst = append(dst, src[i+1])
		}
		i += 2
	}
	return dst
}

// scanNumber checks the number that begins at p and returns the place behind it.
func scanNumber(b []byte, p int) (int, scanFault) {
	start := p
	if p < len(b) && b[p] == '-' {
		p++
	}
	switch {
	case p >= len(b):
		return -1, scanFault{start, whyNumber}
	case b[p] == '0':
		p++
	case b[p] >= '1' && b[p] <= '9':
		p = skipDigits(b, p)
	default:
		return -1, scanFault{start, whyNumber}
	}
	if p < len(b) && b[p] == '.' {
		digits := p + 1
		if p = skipDigits(b, digits); p == digits {
			return -1, scanFault{start, whyNumber}
		}
	}
	if p < len(b) && b[p]|0x20 == 'e' {
		p++
		if p < len(b) && (b[p] == '+' || b[p] == '-') {
			p++
		}
		digits := p
		if p = skipDigits(b, digits); p == digits {
			return -1, scanFault{start, whyNumber}
		}
	}
	return p, scanFault{}
}

func skipDigits(b []byte, p int) int {
	for p < len(b) && b[p]-'0' < 10 {
		p++
	}
	return p
}

// scanValue checks the value that begins at p (no white space before it) and returns the place behind it. depth is how many objects and
// arrays enclose it.
func scanValue(b []byte, p, depth int) (t token, next int, fault scanFault) {
	if p >= len(b) {
		return t, -1, scanFault{p, whyEnd}
	}
	t.start = p
	switch c := b[p]; c {
	case '"':
		t.kind, t.start = tokenString, p+1
		t.end, t.escaped, fault = scanString(b, p+1)
		if t.end < 0 {
			return t, -1, fault
		}
		return t, t.end + 1, fault
	case '{', '[':
		t.kind = tokenObject
		if c == '[' {
			t.kind = tokenArray
		}
		next, fault = scanContainer(b, p, depth+1)
	case 't':
		t.kind = tokenTrue
		next, fault = scanLiteral(b, p, "true")
	case 'f':
		t.kind = tokenFalse
		next, fault = scanLiteral(b, p, "false")
	case 'n':
		t.kind = tokenNull
		next, fault = scanLiteral(b, p, "null")
	default:
		if c != '-' && c-'0' > 9 {
			return t, -1, scanFault{p, whyValue}
		}
		t.kind = tokenNumber
		next, fault = scanNumber(b, p)
	}
	t.end = next
	return t, next, fault
}

func scanLiteral(b []byte, p int, literal string) (int, scanFault) {
	if len(b)-p < len(literal) || string(b[p:p+len(literal)]) != literal {
		return -1, scanFault{p, whyValue}
	}
	return p + len(literal), scanFault{}
}

// scanContainer checks an object or array, of which b[p] is the opening bracket.
func scanContainer(b []byte, p, depth int) (int, scanFault) {
	if depth > maxDepth {
		return -1, scanFault{p, whyDepth}
	}
	object := b[p] == '{'
	closing, whyNext := byte(']'), whyCommaList
	if object {
		closing, whyNext = '}', whyComma
	}
	var fault scanFault
	p = skipSpace(b, p+1)
	if p < len(b) && b[p] == closing {
		return p + 1, fault
	}
	for {
		if object {
			if p, _, fault = scanKey(b, p); p < 0 {
				return -1, fault
			}
		}
		if _, p, fault = scanValue(b, p, depth); p < 0 {
			return -1, fault
		}
		p = skipSpace(b, p)
		if p >= len(b) {
			return -1, scanFault{p, whyEnd}
		}
		switch b[p] {
		case closing:
			return p + 1, fault
		case ',':
			p = skipSpace(b, p+1)
		default:
			return -1, scanFault{p, whyNext}
		}
	}
}

// scanKey checks a field name and the colon behind it, of which p is the opening quote, and returns the place of the value.
func scanKey(b []byte, p int) (next int, name token, fault scanFault) {
	if p >= len(b) {
		return -1, name, scanFault{p, whyEnd}
	}
	if b[p] != '"' {
		return -1, name, scanFault{p, whyKey}
	}
	end, escaped, fault := scanString(b, p+1)
	if end < 0 {
		return -1, name, fault
	}
	name = token{kind: tokenString, escaped: escaped, start: p + 1, end: end}
	p = skipSpace(b, end+1)
	if p >= len(b) {
		return -1, name, scanFault{p, whyEnd}
	}
	if b[p] != ':' {
		return -1, name, scanFault{p, whyColon}
	}
	return skipSpace(b, p+1), name, fault
}
