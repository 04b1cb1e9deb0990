package account

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable writes what a terminal does not show as itself in Go's escapes, a line's end as \n: a name or a reason in a report can then neither clear the
// screen nor look like a line of the report.
func Printable(s string) string { return PrintableBut(s, "") }

// PrintableBut leaves the characters of keep as they are, such as the line ends of a whole text.
func PrintableBut(s, keep string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if bad := r == utf8.RuneError && n == 1; bad || !strconv.IsPrint(r) && !strings.ContainsRune(keep, r) {
			quoted := strconv.Quote(s[i : i+n])
			b.WriteString(s[done:i])
			b.WriteString(quoted[1 : len(quoted)-1])
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// Plural writes n of something.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Number writes n with commas.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}
