package account

import (
	"strings"
	"testing"
)

// TestText: a set's text has all its runs, what people are shown has 64 of them.
func TestText(t *testing.T) {
	for n := range 200 {
		var s Set
		for i := range n {
			s.AddRun(int64(10*i), int64(10*i+1+i%3))
		}
		text := s.Text()
		if got := len(strings.Fields(text)); got != n {
			t.Errorf("%d runs: %q", n, text)
		}
		if short := Shorten(text); short != s.String() {
			t.Errorf("%d runs: %q is not %q", n, short, s)
		}
		if cut := strings.HasSuffix(s.String(), " more ranges"); cut != (n > 64) {
			t.Errorf("%d runs: %q", n, s)
		}
	}
	if s := (Set{[]Run{{0, 1}, {4, 6}}}); s.Text() != "0 4..5" {
		t.Error(s.Text())
	}
}

// TestPrintable: what is shown is what was there, unless a terminal would act on it.
func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{"": "", "dt=2026-01-01/part-1": "dt=2026-01-01/part-1", "größe 数 \\n \"": "größe 数 \\n \"", "a\nb": `a\nb`, "\x1b[2J\x1b[31mx": `\x1b[2J\x1b[31mx`,
		"a\x80b": `a\x80b`, "\u202etxt.exe": `\u202etxt.exe`, "a\u0085\u009b": `a\u0085\u009b`, "\r\t\x7f": `\r\t\x7f`, "\x00\uFFFD": "\\x00\uFFFD"} {
		if got := Printable(s); got != want {
			t.Errorf("%q: %s, not %s", s, got, want)
		}
	}
	if got := PrintableBut("a\n\tb\x1b\n", "\n"); got != "a\n\\tb\\x1b\n" {
		t.Errorf("%q", got)
	}
}
