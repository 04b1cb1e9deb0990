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
