package parse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// undoEscapes replaces the backslash escapes of an E'..' string; msg says what is wrong.
func undoEscapes(s string) (out, msg string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\'' && i+1 < len(s) && s[i+1] == '\'' {
			i++
		}
		if c != '\\' || i+1 >= len(s) {
			b.WriteByte(c)
			continue
		}
		i++
		switch e := s[i]; e {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'x', 'u', 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[e]
			if i+n >= len(s) {
				return "", fmt.Sprintf("escape \\%c needs %d hex digits", e, n)
			}
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil || v > utf8.MaxRune {
				return "", fmt.Sprintf("escape \\%c needs %d hex digits of a character", e, n)
			}
			b.WriteRune(rune(v))
			i += n
		default:
			b.WriteByte(e)
		}
	}
	if !utf8.ValidString(b.String()) {
		return "", "string is not valid UTF-8"
	}
	return b.String(), ""
}

// undoUnicode replaces the escapes of a U&'..' string: \0041, and \\ for the escape character itself.
func undoUnicode(s string, escape rune) (out, msg string) {
	var units []uint16
	var b strings.Builder
	flush := func() {
		for _, r := range utf16.Decode(units) {
			b.WriteRune(r)
		}
		units = units[:0]
	}
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r != escape {
			flush()
			b.WriteString(s[i : i+w])
			i += w
			continue
		}
		i += w
		if n, w2 := utf8.DecodeRuneInString(s[i:]); w2 > 0 && n == escape {
			flush()
			b.WriteRune(escape)
			i += w2
			continue
		}
		if i+4 > len(s) {
			return "", fmt.Sprintf("escape %c needs four hex digits", escape)
		}
		v, err := strconv.ParseUint(s[i:i+4], 16, 16)
		if err != nil || s[i] == '+' {
			return "", fmt.Sprintf("escape %c needs four hex digits", escape)
		}
		units = append(units, uint16(v))
		i += 4
	}
	flush()
	return b.String(), ""
}
