package model

import (
	"flag"
	"strings"
	"testing"
)

var (
	whole    = flag.Bool("whole", false, "look at all spaces, up to -limit states each; takes minutes")
	only     = flag.String("only", "", "comma-separated prefixes of scenario names; empty = all")
	limit    = flag.Int("limit", 6_000_000, "with -whole: end a search after about so many states")
	schedule = flag.Bool("schedule", false, "print the schedules found")
)

// quick is where a search ends without -whole.
const quick = 150_000

func TestScenarios(t *testing.T) {
	most := quick
	if *whole {
		most = *limit
	}
	for _, sc := range scenarios() {
		if !wanted(sc.name) {
			continue
		}
		n := most
		if sc.caught { // a counterexample is found however deep it lies
			n = *limit
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			r := sc.run(n)
			t.Log(sc.Row(r))
			if what := sc.Unexpected(r); what != "" {
				t.Errorf("%s\n%s", what, strings.Join(r.Trace, "\n"))
			} else if *schedule && r.Violation != "" {
				t.Log(strings.Join(r.Trace, "\n"))
			}
		})
	}
}

func wanted(name string) bool {
	if *only == "" {
		return true
	}
	for p := range strings.SplitSeq(*only, ",") {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
