package foreign

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"staunch/account"
)

// TestRuns: a report has the runs of offsets up to its bound, and people are shown 64 of them.
func TestRuns(t *testing.T) {
	for _, n := range []int64{1, 64, 65, 200, maxRuns, maxRuns + 7} {
		var l runList
		for i := range n {
			l.add(2*i, 2*i+1)
		}
		o := l.offsets("events-0")
		if runs := int64(len(strings.Fields(o.Offsets))); runs != min(n, maxRuns) || o.More != n-runs || o.Count != n {
			t.Errorf("%d: %d runs, %d more, %d offsets", n, runs, o.More, o.Count)
		}
		var b bytes.Buffer
		r := &Report{Verdict: Wrong, Problems: []Problem{{Kind: Gap, Offsets: []SplitOffsets{o}}}}
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(" 126 and %s more ranges (%s)", account.Number(n-64), account.Number(n))
		if n > 64 != strings.Contains(b.String(), " more ranges") || n > maxRuns && !strings.Contains(b.String(), want) {
			t.Errorf("%d: %q, want %q", n, &b, want)
		}
	}
}
