package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Similar is a compiled SIMILAR TO pattern: a regular expression with % for any text and _ for any one character that must match the whole.
type Similar struct{ re *regexp.Regexp }

// similarSpecials are the characters that have a meaning in SIMILAR TO and may be escaped.
const similarSpecials = "_%^$[]|()*+?{}-"

// CompileSimilar compiles a SIMILAR TO pattern; escape is one character, or empty for none.
func CompileSimilar(pattern, escape string) (*Similar, error) {
	esc, w := utf8.DecodeRuneInString(escape)
	if w != len(escape) {
		return nil, fmt.Errorf("SIMILAR TO: the escape must be one character, not %q", escape)
	}
	var b strings.Builder
	for i := 0; i < len(pattern); {
		r, n := utf8.DecodeRuneInString(pattern[i:])
		switch {
		case escape != "" && r == esc:
			next, v := utf8.DecodeRuneInString(pattern[i+n:])
			if v == 0 || next != esc && !strings.ContainsRune(similarSpecials, next) {
				return nil, fmt.Errorf("SIMILAR TO pattern %q: illegal escape at byte %d", pattern, i)
			}
			b.WriteString(regexp.QuoteMeta(string(next)))
			n += v
		case r == '_':
			b.WriteByte('.')
		case r == '%':
			b.WriteString(`[\x{0}-\x{10FFFF}]*`)
		case r == '[':
			set, v, err := similarSet(pattern[i:], esc, escape != "")
			if err != nil {
				return nil, fmt.Errorf("SIMILAR TO pattern %q: %w at byte %d", pattern, err, i)
			}
			b.WriteString(set)
			n = v
		case r == ']':
			return nil, fmt.Errorf("SIMILAR TO pattern %q: ] without [ at byte %d", pattern, i)
		case r == '\\' || r == '$':
			b.WriteString(`\` + string(r))
		default:
			b.WriteString(pattern[i : i+n])
		}
		i += n
	}
	t := translator{in: `^(?:` + b.String() + `)`}
	if err := t.run(); err != nil {
		return nil, fmt.Errorf("SIMILAR TO pattern %q: %w", pattern, err)
	}
	re, err := regexp.Compile(t.out.String() + `\z`)
	if err != nil {
		return nil, fmt.Errorf("SIMILAR TO pattern %q: %w", pattern, err)
	}
	return &Similar{re}, nil
}

// similarClasses are the named sets of SQL.
var similarClasses = map[string]string{"[:ALPHA:]": `\p{Alpha}`, "[:UPPER:]": `\p{Upper}`, "[:LOWER:]": `\p{Lower}`, "[:DIGIT:]": `\d`,
	"[:SPACE:]": " ", "[:WHITESPACE:]": `\s`, "[:ALNUM:]": `\p{Alnum}`}

// similarSet rewrites a set in brackets at the start of s and returns its length.
func similarSet(s string, esc rune, escaped bool) (set string, n int, err error) {
	var b strings.Builder
	b.WriteByte('[')
	for i := 1; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == ']':
			b.WriteByte(']')
			return b.String(), i + 1, nil
		case escaped && r == esc:
			next, v := utf8.DecodeRuneInString(s[i+w:])
			if v == 0 || next != esc && !strings.ContainsRune(similarSpecials, next) {
				return "", 0, fmt.Errorf("illegal escape in a set")
			}
			b.WriteString(`\` + string(next))
			w += v
		case strings.HasPrefix(s[i:], "[:"):
			end := strings.Index(s[i:], ":]")
			if end < 0 {
				return "", 0, fmt.Errorf("unclosed class in a set")
			}
			class, ok := similarClasses[strings.ToUpper(s[i:i+end+2])]
			if !ok {
				return "", 0, fmt.Errorf("unknown class %s", s[i:i+end+2])
			}
			b.WriteString(class)
			w = end + 2
		case r == '-' || r == '^':
			b.WriteRune(r)
		case strings.ContainsRune(similarSpecials+`\&`, r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteString(s[i : i+w])
		}
		i += w
	}
	return "", 0, fmt.Errorf("unclosed set")
}

// Match reports whether all of s matches.
func (p *Similar) Match(s []byte) bool { return p.re.Match(s) }
