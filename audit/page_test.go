package audit

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the page of damages anew")

const page = "../docs/reference/damages.md"

// TestDamagesPage: the page of damages lists what TestDamages does, and what is found then.
func TestDamagesPage(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Damages that the audit finds\n\nGenerated from the table in `audit/damage_test.go`: `go test ./audit -run TestDamagesPage -rewrite`. Each of these %d is done to a table that the real sink and the\n"+
		"real committer wrote. `staunch audit` and the independent `test/verifier/verify.py` must find exactly these kinds, each at the damaged place. What the\nkinds mean: [design/08-audit.md](../design/08-audit.md#the-checks). "+
		"\"forged\" means that hashes and headers were made to fit again.\n\n| damage | table | found as | with `--fast`, if otherwise |\n|---|---|---|---|\n", len(damages))
	list := func(kinds []Kind) string {
		var out []string
		for _, k := range slices.Sorted(slices.Values(kinds)) {
			out = append(out, "`"+string(k)+"`")
		}
		return strings.Join(out, ", ")
	}
	seen := map[string]bool{}
	for _, d := range damages {
		if seen[d.name] {
			t.Errorf("%q stands there twice", d.name)
		}
		seen[d.name] = true
		format, fast := "JSON", ""
		switch {
		case d.both:
			format = "JSON, Parquet"
		case d.format == "parquet":
			format = "Parquet"
		}
		switch {
		case d.fast != nil && len(d.fast) == 0:
			fast = "not found"
		case d.fast != nil:
			fast = list(d.fast)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.name, format, list(d.want), fast)
	}
	b.WriteString("\nThree more are tests of their own: files, entries and archives that may not be read (`TestPermission`); a table or a job's log that is an older copy, or a job's log that cannot be read (`TestJobLog`,\n" +
		"`log-behind`, `job-log-behind` and `job-log-damaged`); a table of which the topic says otherwise (`TestAgainstBroker`, `topic-contradicts` and `topic-unknown`).\n")
	if *rewrite {
		if err := os.WriteFile(page, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil || string(have) != b.String() {
		t.Errorf("%s is not what the tests do (%v): go test ./audit -run TestDamagesPage -rewrite", page, err)
	}
}
