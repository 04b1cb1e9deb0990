package kernel_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"staunch/kernel"
)

// TestLikeTwin holds LIKE against the regular expression it stands for.
func TestLikeTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	text := func(alphabet []string, n int) string {
		var b strings.Builder
		for range r.IntN(n + 1) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	matched := 0
	for range 40_000 {
		pattern := text([]string{"a", "b", "é", "%", "_", "%", "!%", "!_", "!!"}, 7)
		s := text([]string{"a", "b", "é", "%", "_", "!", "\n"}, 8)
		p, err := kernel.CompileLike(pattern, '!')
		if err != nil {
			t.Fatal(err)
		}
		var re strings.Builder
		re.WriteString("(?s)^")
		rs := []rune(pattern)
		for i := 0; i < len(rs); i++ {
			switch rs[i] {
			case '!':
				i++
				re.WriteString(regexp.QuoteMeta(string(rs[i])))
			case '%':
				re.WriteString(".*")
			case '_':
				re.WriteString(".")
			default:
				re.WriteString(regexp.QuoteMeta(string(rs[i])))
			}
		}
		re.WriteString("$")
		want := regexp.MustCompile(re.String()).MatchString(s)
		if got := p.Match([]byte(s)); got != want {
			t.Fatalf("%q LIKE %q ESCAPE '!' is %v instead of %v", s, pattern, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 2000 {
		t.Errorf("only %d texts matched", matched)
	}
	for _, bad := range []string{"a!", "!a"} {
		if _, err := kernel.CompileLike(bad, '!'); err == nil {
			t.Errorf("pattern %q is taken", bad)
		}
	}
}
