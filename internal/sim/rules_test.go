package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "TestVariants writes seeds and findings into docs/design/rules.md")

const rulesPage = "../../docs/design/rules.md"

// ruleRow is a row of the page: rule, what holds, without it, variant, seed, finding.
var ruleRow = regexp.MustCompile("(?m)^\\| ([0-9.]+) \\| (.+) \\| (.+) \\| `([a-z-]+)` \\| (-|[0-9]+) \\| (.+) \\|$")

// TestRulesPage: the page names the rules and variants that are played, and no others.
func TestRulesPage(t *testing.T) {
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, m := range ruleRow.FindAllSubmatch(page, -1) {
		name := string(m[4])
		if have[name] != "" {
			t.Errorf("%s stands in the page twice", name)
		}
		have[name] = string(m[1])
	}
	for _, v := range KnownBad {
		if have[v.Name] != v.Rule {
			t.Errorf("%s: rule %q in the page, %q in the list", v.Name, have[v.Name], v.Rule)
		}
		delete(have, v.Name)
	}
	for _, v := range MadeUpFor {
		if !bytes.Contains(page, []byte("`"+v.Name+"`")) {
			t.Errorf("%s does not stand in the page", v.Name)
		}
	}
	for name := range have {
		t.Errorf("%s stands in the page and is not played", name)
	}
}

// recordedSeeds are those that the page names.
func recordedSeeds(t *testing.T) map[string]uint64 {
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{}
	for _, m := range ruleRow.FindAllSubmatch(page, -1) {
		if n, err := strconv.ParseUint(string(m[5]), 10, 64); err == nil {
			out[string(m[4])] = n
		}
	}
	return out
}

// rewriteRules writes what caught the variants into the page.
func rewriteRules(all []caughtBy) error {
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		return err
	}
	by := map[string]caughtBy{}
	for _, c := range all {
		by[c.v.Name] = c
	}
	page = ruleRow.ReplaceAllFunc(page, func(row []byte) []byte {
		m := ruleRow.FindSubmatch(row)
		c, played := by[string(m[4])]
		if !played || c.err == nil {
			return row
		}
		what, _, _ := strings.Cut(c.err.Error(), ":")
		return bytes.Join([][]byte{[]byte("| " + string(m[1])), m[2], m[3], []byte("`" + string(m[4]) + "`"), []byte(fmt.Sprint(c.seed)), []byte(what + " |")}, []byte(" | "))
	})
	return os.WriteFile(rulesPage, page, 0o644)
}
