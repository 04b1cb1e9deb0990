package commit

import "testing"

func TestUnescape(t *testing.T) {
	for _, job := range []string{"orders", ".hidden", "a/b c%", "ü", "", "%41"} {
		if got, ok := Unescape(Escape(job)); !ok || got != job {
			t.Errorf("%q: %q %v", job, got, ok)
		}
	}
	for _, name := range []string{"%", "%4", "%zz", "a b", "%41", "%2f", ".x"} {
		if got, ok := Unescape(name); ok {
			t.Errorf("%q is read as %q", name, got)
		}
	}
}
