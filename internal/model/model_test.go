package model

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var (
	whole    = flag.Bool("whole", false, "look at all spaces, up to -limit states each; takes minutes")
	only     = flag.String("only", "", "comma-separated prefixes of scenario names; empty = all")
	limit    = flag.Int("limit", 6_000_000, "with -whole: end a search after about so many states")
	schedule = flag.Bool("schedule", false, "print the schedules found")
	rewrite  = flag.Bool("rewrite", false, "with -whole: write the table into docs/design/model.md")
)

const (
	// quick is where the search for a violation of the protocol ends without -whole.
	quick = 150_000
	page  = "../../docs/design/model.md"
	from  = "<!-- results: make model -->\n"
	to    = "<!-- end of results -->\n"
	head  = "| scenario | rule | what | states | steps | depth | whole space | result |\n|---|---|---|---:|---:|---:|---|---|\n"
)

// TestScenarios looks for a schedule that breaks a promise, and for one that does where a rule is missing.
func TestScenarios(t *testing.T) {
	all := scenarios()
	rows := make([]string, len(all))
	start := time.Now()
	t.Run("all", func(t *testing.T) {
		for i, sc := range all {
			if !wanted(sc.name) {
				continue
			}
			most := *limit
			if !sc.caught && !*whole { // a counterexample is looked for however deep it lies
				most = quick
			}
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				r := sc.run(most)
				rows[i] = sc.Row(r)
				t.Log(rows[i])
				if what := sc.Unexpected(r); what != "" {
					t.Errorf("%s\n%s", what, strings.Join(r.Trace, "\n"))
				} else if *schedule && r.Violation != "" {
					t.Log(strings.Join(r.Trace, "\n"))
				}
			})
		}
	})
	if *whole && *only == "" {
		table := head + strings.Join(rows, "\n") + "\n"
		fmt.Print(table)
		if *rewrite {
			write(t, table, time.Since(start))
		}
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

// write puts the table between the marks of the page.
func write(t *testing.T, table string, took time.Duration) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(b, []byte(from))
	_, after, ok2 := bytes.Cut(rest, []byte(to))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the results", page)
	}
	when := fmt.Sprintf("%s, limit %d states, %s on a machine with other work.\n\n", time.Now().UTC().Format("2006-01-02"), *limit, took.Round(time.Second))
	out := string(before) + from + when + table + to + string(after)
	if err := os.WriteFile(page, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestScenariosAreListed: the page names every scenario, and every rule that is taken away has its number.
func TestScenariosAreListed(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range scenarios() {
		if !bytes.Contains(b, []byte("| "+sc.name+" |")) {
			t.Errorf("%s does not name %s: run make model", page, sc.name)
		}
		if strings.HasPrefix(sc.name, "bad-") && ruleOf[sc.name] == "" {
			t.Errorf("%s takes no rule away", sc.name)
		}
	}
}

// TestSchedulesReplay: a violation comes with a shortest schedule that leads to it.
func TestSchedulesReplay(t *testing.T) {
	for _, sc := range scenarios() {
		if sc.name != "bad-overlap" {
			continue
		}
		r := sc.run(quick)
		if r.Violation == "" || len(r.Trace) != r.Depth+1 || strings.Contains(strings.Join(r.Trace, ""), "broken") {
			t.Errorf("%s: %q in %d steps at depth %d\n%s", sc.name, r.Violation, len(r.Trace), r.Depth, strings.Join(r.Trace, "\n"))
		}
	}
}

// TestRulesAreNumbered: every rule that a scenario names stands in the page of the rules.
func TestRulesAreNumbered(t *testing.T) {
	b, err := os.ReadFile("../../docs/design/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, rule := range ruleOf {
		number, _, _ := strings.Cut(rule, " ")
		if !bytes.Contains(b, []byte("\n| "+number+" |")) && !bytes.Contains(b, []byte("\n| "+number+":")) {
			t.Errorf("%s takes away rule %s, which docs/design/rules.md does not have", name, rule)
		}
		if !strings.HasPrefix(name, "bad-") && !strings.HasPrefix(name, "note-") {
			t.Errorf("%s: only bad- and note- scenarios take rules away", name)
		}
	}
}

// TestWalks: many things at once, along schedules drawn from seeds.
func TestWalks(t *testing.T) {
	for name, c := range walks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, steps := uint64(400), 0
			if *whole {
				n = 20_000
			}
			for seed := range n {
				what, schedule := walk[State](&Proto{c}, seed, 400)
				steps += len(schedule)
				if what != "" {
					t.Fatalf("seed %d: %s\n%s", seed, what, strings.Join(schedule, "\n"))
				}
			}
			t.Logf("%d walks, %d steps", n, steps)
		})
	}
}

// TestWalksFind: a rule taken away is found on the way, too.
func TestWalksFind(t *testing.T) {
	for name, c := range map[string]Config{
		"superseded": with(walks()["one"], func(c *Config) { c.SupersededUnseen = true }),
		"unsynced":   with(walks()["cut"], func(c *Config) { c.DoneBeforeSync = true }),
		"overlap":    with(walks()["one"], func(c *Config) { c.Overlap = true }),
		"no-list":    with(walks()["one"], func(c *Config) { c.BlindAppend = true }),
	} {
		found := ""
		for seed := uint64(0); seed < 40_000 && found == ""; seed++ {
			found, _ = walk[State](&Proto{c}, seed, 400)
		}
		if found == "" {
			t.Errorf("%s: not found", name)
		}
		t.Logf("%s: %s", name, found)
	}
}
