package text

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrUnsupported marks regular expressions that Java takes but that cannot be run here with the same meaning. Any other error of
// CompileRegexp means that Java refuses the pattern too.
var ErrUnsupported = errors.New("not supported in regular expressions")

// Regexp is a compiled regular expression with Java's meaning, run in linear time. Match, Extract, Instr and Substr allocate only what
// package regexp needs for the ends of one match. Differences that remain: $ matches at the very end only, not
// before a last line end, and \b knows ASCII words only.
type Regexp struct {
	re *regexp.Regexp
	// emptyAnywhere: an empty match is possible at every position.
	emptyAnywhere bool
}

// CompileRegexp compiles a java.util.regex pattern.
func CompileRegexp(pattern string) (*Regexp, error) {
	t := translator{in: pattern}
	err := t.run()
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", pattern, err)
	}
	re, err := regexp.Compile(t.out.String())
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", pattern, err)
	}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", pattern, err)
	}
	return &Regexp{re: re, emptyAnywhere: emptyEverywhere(tree)}, nil
}

// translator rewrites Java's syntax to that of package regexp.
type translator struct {
	in     string
	at     int
	out    strings.Builder
	dotAll bool
}

func (t *translator) run() error {
	for t.at < len(t.in) {
		rest := t.in[t.at:]
		var err error
		switch c := rest[0]; {
		case c == '\\':
			err = t.escape(false)
		case c == '[':
			err = t.class()
		case c == '(':
			err = t.group()
		case c == '.':
			t.at++
			if t.dotAll {
				t.out.WriteString("(?s:.)")
			} else {
				t.out.WriteString(`[^\n\r\x{85}\x{2028}\x{2029}]`)
			}
		case c == '{':
			n := repetition(rest)
			if n == 0 {
				return fmt.Errorf("illegal repetition at byte %d", t.at)
			}
			t.out.WriteString(rest[:n])
			t.at += n
		case c == '+' && t.afterQuantifier():
			err = fmt.Errorf("%w: possessive quantifier at byte %d", ErrUnsupported, t.at)
		default:
			_, w := utf8.DecodeRuneInString(rest)
			t.out.WriteString(rest[:w])
			t.at += w
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repetition returns the length of {n}, {n,} or {n,m} at the start of s, 0 if there is none: Java has no literal brace.
func repetition(s string) int {
	end := strings.IndexByte(s, '}')
	if end < 2 || s[1] == ',' {
		return 0
	}
	commas := 0
	for i := 1; i < end; i++ {
		if s[i] == ',' {
			commas++
		} else if s[i] < '0' || s[i] > '9' {
			return 0
		}
	}
	if commas > 1 {
		return 0
	}
	return end + 1
}

// afterQuantifier reports whether the byte before is an unescaped quantifier.
func (t *translator) afterQuantifier() bool {
	if t.at == 0 || strings.IndexByte("?*+}", t.in[t.at-1]) < 0 {
		return false
	}
	backslashes := 0
	for i := t.at - 2; i >= 0 && t.in[i] == '\\'; i-- {
		backslashes++
	}
	return backslashes%2 == 0
}

func (t *translator) group() error {
	rest := t.in[t.at:]
	for _, p := range [...]string{"(?=", "(?!", "(?<=", "(?<!", "(?>"} {
		if strings.HasPrefix(rest, p) {
			return fmt.Errorf("%w: %s at byte %d (look-around and atomic groups)", ErrUnsupported, p, t.at)
		}
	}
	if strings.HasPrefix(rest, "(?P") {
		return fmt.Errorf("unknown group at byte %d", t.at)
	}
	if end := strings.IndexAny(rest, ":)"); strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?<") && end > 0 {
		flags := rest[2:end]
		if i := strings.IndexAny(flags, "dxuU"); i >= 0 {
			return fmt.Errorf("%w: flag %c at byte %d", ErrUnsupported, flags[i], t.at)
		}
		on, _, _ := strings.Cut(flags, "-")
		if strings.Contains(flags, "s") {
			// The dot is rewritten, so its flag must hold for all that follows.
			if rest[end] == ':' || !strings.Contains(on, "s") || t.at != 0 {
				return fmt.Errorf("%w: the flag s other than at the start", ErrUnsupported)
			}
			t.dotAll = true
		}
	}
	t.out.WriteByte('(')
	t.at++
	return nil
}

// Classes of Java that package regexp has not or means otherwise; the inner form is for use within brackets.
var javaClasses = map[byte]string{'s': `\t\n\x0B\f\r `, 'h': `\t \x{A0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}`,
	'v': `\n\x0B\f\r\x{85}\x{2028}\x{2029}`}

var javaEscapes = map[byte]string{'e': `\x1B`, 'Z': `(?:\z)`, 'R': `(?:\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}])`}

var posix = map[string]string{"Lower": "a-z", "Upper": "A-Z", "ASCII": `\x00-\x7F`, "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9",
	"Punct": `!-/:-@\[-` + "`" + `{-~`, "Graph": "!-~", "Print": " -~", "Blank": ` \t`, "Cntrl": `\x00-\x1F\x7F`, "XDigit": "0-9a-fA-F",
	"Space": `\t\n\x0B\f\r `, "IsAlphabetic": `\p{L}\p{Nl}`, "IsLetter": `\p{L}`, "IsDigit": `\p{Nd}`, "IsUppercase": `\p{Lu}`, "IsLowercase": `\p{Ll}`}

// escape rewrites what begins with a backslash; inside tells that it stands within brackets.
func (t *translator) escape(inside bool) error {
	if t.at+1 >= len(t.in) {
		return errors.New("backslash at the end")
	}
	c := t.in[t.at+1]
	rest := t.in[t.at+2:]
	emit := func(s string, n int) error {
		t.out.WriteString(s)
		t.at += n
		return nil
	}
	if set, ok := javaClasses[c|0x20]; ok {
		return t.namedClass(set, c < 'a', inside, 2)
	}
	switch {
	case c == 'Q':
		lit, _, found := strings.Cut(rest, `\E`)
		n := len(lit) + 2
		if found {
			n += 2
		}
		return emit(regexp.QuoteMeta(lit), n)
	case c == 'E':
		return emit("", 2)
	case c == 'u' && len(rest) >= 4:
		if _, err := strconv.ParseUint(rest[:4], 16, 32); err != nil {
			return fmt.Errorf("illegal Unicode escape at byte %d", t.at)
		}
		return emit(`\x{`+rest[:4]+`}`, 6)
	case c == '0':
		n := 0
		for n < 3 && n < len(rest) && rest[n] >= '0' && rest[n] <= '7' {
			n++
		}
		v, err := strconv.ParseUint(rest[:n], 8, 32)
		if err != nil || v > 0xff {
			return fmt.Errorf("illegal octal escape at byte %d", t.at)
		}
		return emit(fmt.Sprintf(`\x{%x}`, v), 2+n)
	case c >= '1' && c <= '9', c == 'k':
		return fmt.Errorf("%w: back reference at byte %d", ErrUnsupported, t.at)
	case c == 'p' || c == 'P':
		return t.property(c == 'P', inside)
	case strings.IndexByte("dDwW", c) >= 0, strings.IndexByte("bBAz", c) >= 0 && !inside, strings.IndexByte("tnrfa", c) >= 0:
		return emit(t.in[t.at:t.at+2], 2)
	case c == 'x':
		n := 2
		if strings.HasPrefix(rest, "{") {
			n = strings.IndexByte(rest, '}') + 1
		}
		if n == 0 || n > len(rest) {
			return fmt.Errorf("illegal hexadecimal escape at byte %d", t.at)
		}
		return emit(t.in[t.at:t.at+2+n], 2+n)
	case c >= utf8.RuneSelf:
		_, w := utf8.DecodeRuneInString(t.in[t.at+1:])
		return emit(t.in[t.at+1:t.at+1+w], 1+w)
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		if s, ok := javaEscapes[c]; ok && (!inside || c == 'e') {
			return emit(s, 2)
		}
		if strings.IndexByte("cGNX", c) >= 0 {
			return fmt.Errorf("%w: \\%c at byte %d", ErrUnsupported, c, t.at)
		}
		return fmt.Errorf("illegal escape \\%c at byte %d", c, t.at)
	}
	if c <= ' ' || c == 0x7f || c == '_' {
		return emit(string(rune(c)), 2)
	}
	return emit(t.in[t.at:t.at+2], 2) // punctuation
}

func (t *translator) namedClass(set string, negated, inside bool, n int) error {
	if inside && negated {
		return fmt.Errorf("%w: negated class within brackets at byte %d", ErrUnsupported, t.at)
	}
	switch {
	case inside:
		t.out.WriteString(set)
	case negated:
		t.out.WriteString("[^" + set + "]")
	default:
		t.out.WriteString("[" + set + "]")
	}
	t.at += n
	return nil
}

func (t *translator) property(negated, inside bool) error {
	rest := t.in[t.at+2:]
	name, n := "", 0
	if strings.HasPrefix(rest, "{") {
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return fmt.Errorf("unclosed property at byte %d", t.at)
		}
		name, n = rest[1:end], end+3
	} else if rest != "" {
		_, w := utf8.DecodeRuneInString(rest)
		name, n = rest[:w], 2+w
	}
	if set, ok := posix[name]; ok {
		return t.namedClass(set, negated, inside, n)
	}
	script := strings.TrimPrefix(strings.TrimPrefix(name, "script="), "Is")
	form := `\p{` + script + `}`
	if negated {
		form = `\P{` + script + `}`
	}
	if _, err := regexp.Compile(form); err != nil {
		return fmt.Errorf("%w: property %q at byte %d", ErrUnsupported, name, t.at)
	}
	t.out.WriteString(form)
	t.at += n
	return nil
}

// class rewrites a set in brackets.
func (t *translator) class() error {
	start := t.at
	t.out.WriteByte('[')
	t.at++
	if strings.HasPrefix(t.in[t.at:], "^") {
		t.out.WriteByte('^')
		t.at++
	}
	for first := true; ; first = false {
		if t.at >= len(t.in) {
			return fmt.Errorf("unclosed character class at byte %d", start)
		}
		rest := t.in[t.at:]
		switch {
		case rest[0] == ']' && !first:
			t.out.WriteByte(']')
			t.at++
			return nil
		case rest[0] == ']': // Java takes it as a member here
			t.out.WriteString(`\]`)
			t.at++
		case rest[0] == '[':
			return fmt.Errorf("%w: class within a class at byte %d (write \\[ for a bracket)", ErrUnsupported, t.at)
		case strings.HasPrefix(rest, "&&"):
			return fmt.Errorf("%w: intersection of classes at byte %d", ErrUnsupported, t.at)
		case rest[0] == '\\':
			if err := t.escape(true); err != nil {
				return err
			}
		default:
			_, w := utf8.DecodeRuneInString(rest)
			t.out.WriteString(rest[:w])
			t.at += w
		}
	}
}

// Match is REGEXP(s, pattern): whether the pattern matches anywhere in s. (REGEXP with an empty pattern is FALSE, which is the caller's
// part.)
func (r *Regexp) Match(s []byte) bool { return r.re.Match(s) }

// AppendReplace is REGEXP_REPLACE(s, pattern, with): every match is replaced; with is taken literally.
func (r *Regexp) AppendReplace(dst, s, with []byte) []byte {
	copied := 0
	r.each(s, func(loc []int) {
		dst = append(append(dst, s[copied:loc[0]]...), with...)
		copied = loc[1]
	})
	return append(dst, s[copied:]...)
}

// each calls f with the ends of each match from left to right. Where package regexp leaves out an empty match right behind a match, Java has
// it.
func (r *Regexp) each(s []byte, f func(loc []int)) {
	last := -1
	for _, loc := range r.re.FindAllSubmatchIndex(s, -1) {
		if r.emptyAnywhere && last >= 0 && loc[0] > last {
			f(r.emptyAt(last))
		}
		f(loc)
		if last = loc[1]; loc[0] == loc[1] {
			last = -1
		}
	}
	if r.emptyAnywhere && last >= 0 {
		f(r.emptyAt(last))
	}
}

// emptyAt is an empty match in which no group took part.
func (r *Regexp) emptyAt(at int) []int {
	loc := make([]int, 2*(r.re.NumSubexp()+1))
	for i := range loc {
		loc[i] = -1
	}
	loc[0], loc[1] = at, at
	return loc
}

// emptyEverywhere reports whether a pattern matches the empty text at every position: nothing in it needs a character or a place.
func emptyEverywhere(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpPlus, syntax.OpCapture:
		return emptyEverywhere(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || emptyEverywhere(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !emptyEverywhere(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if emptyEverywhere(sub) {
				return true
			}
		}
	}
	return false
}

// Extract is REGEXP_EXTRACT(s, pattern, group): the group of the first match; ok is false (SQL: NULL) without a match, for a group that the
// pattern has not or that did not take part.
func (r *Regexp) Extract(s []byte, group int64) (part []byte, ok bool) {
	if group < 0 || group > int64(r.re.NumSubexp()) {
		return nil, false
	}
	loc := r.re.FindSubmatchIndex(s)
	if loc == nil || loc[2*group] < 0 {
		return nil, false
	}
	return s[loc[2*group]:loc[2*group+1]], true
}

// Groups returns the number of groups of the pattern.
func (r *Regexp) Groups() int { return r.re.NumSubexp() }

// ExtractAll is REGEXP_EXTRACT_ALL(s, pattern, group): yields the group of every match. ok is false (SQL: NULL) where the pattern has no such
// group.
func (r *Regexp) ExtractAll(s []byte, group int64, yield func(part []byte)) (ok bool) {
	if group < 0 || group > int64(r.re.NumSubexp()) {
		return false
	}
	r.each(s, func(loc []int) {
		if loc[2*group] < 0 {
			yield(nil)
		} else {
			yield(s[loc[2*group]:loc[2*group+1]])
		}
	})
	return true
}

// Count is REGEXP_COUNT(s, pattern).
func (r *Regexp) Count(s []byte) int {
	n := 0
	r.each(s, func([]int) { n++ })
	return n
}

// Instr is REGEXP_INSTR(s, pattern): the 1-based code point of the first match, 0 without one.
func (r *Regexp) Instr(s []byte) int {
	loc := r.re.FindIndex(s)
	if loc == nil {
		return 0
	}
	return CharLength(s[:loc[0]]) + 1
}

// Substr is REGEXP_SUBSTR(s, pattern): the first match; ok is false (SQL: NULL) without one.
func (r *Regexp) Substr(s []byte) (part []byte, ok bool) {
	loc := r.re.FindIndex(s)
	if loc == nil {
		return nil, false
	}
	return s[loc[0]:loc[1]], true
}
