package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"staunch/config"
	"staunch/sql/parse"
)

// TestExplain compares with what Flink 2.3.0 answers to the same files: testdata/explain/x.sql, Flink's x.flink, ours x.plan. Where
// they differ, differences.txt says why; a line there of a plan that is the same is a failure too. ask_flink.py makes the .flink files.
func TestExplain(t *testing.T) {
	why := map[string]string{}
	data, err := os.ReadFile("testdata/explain/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if name, reason, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			why[name] = reason
		}
	}
	files, err := filepath.Glob("testdata/explain/*.sql")
	if err != nil || len(files) < 4 {
		t.Fatal("too few files", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		flink, err := os.ReadFile(strings.TrimSuffix(file, ".sql") + ".flink")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Plan(string(src), config.NewJob(), "x", noon, (&fakes{}).registry())
		if err != nil {
			t.Fatal(parse.Render(err, string(src), file))
		}
		theirs := strings.Split(strings.TrimRight(string(flink), "\n"), "\n\n== Abstract")
		for i := range theirs[1:] {
			theirs[i+1] = "== Abstract" + theirs[i+1]
		}
		var ours []string
		for _, i := range s.Items {
			ours = append(ours, strings.TrimRight(i.Text, "\n"))
		}
		if len(ours) != len(theirs) {
			t.Fatalf("%s: %d plans, Flink has %d", file, len(ours), len(theirs))
		}
		for i := range ours {
			name := fmt.Sprintf("%s %d", strings.TrimSuffix(filepath.Base(file), ".sql"), i+1)
			same := ours[i] == strings.TrimRight(theirs[i], "\n")
			if !same && why[name] == "" {
				t.Errorf("%s:\n%s", name, differing(ours[i], theirs[i]))
			}
			if same && why[name] != "" {
				t.Errorf("%s is as in Flink, but differences.txt says: %s", name, why[name])
			}
			delete(why, name)
		}
		golden, text := strings.TrimSuffix(file, ".sql")+".plan", strings.Join(ours, "\n\n")+"\n"
		if *rewrite {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != text {
			t.Errorf("%s:\n%s", golden, differing(text, string(want)))
		}
	}
	for name := range why {
		t.Errorf("differences.txt names %q, which there is not", name)
	}
}

// differing gives the lines that differ.
func differing(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	var out strings.Builder
	for i := range max(len(a), len(b)) {
		x, y := "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			fmt.Fprintf(&out, "line %d\n  got  %s\n  want %s\n", i+1, x, y)
		}
	}
	return out.String()
}

// EXPLAIN finds what would keep the job from being planned, and what is explained is planned the same.
func TestExplainIsTheJob(t *testing.T) {
	src, err := os.ReadFile("testdata/explain/orders.sql")
	if err != nil {
		t.Fatal(err)
	}
	explained, err := Plan(string(src), config.NewJob(), "x", noon, (&fakes{}).registry())
	if err != nil {
		t.Fatal(err)
	}
	job, err := Plan(strings.Replace(string(src), "EXPLAIN INSERT", "INSERT", 1), config.NewJob(), "x", noon, (&fakes{}).registry())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := Explain(explained), Explain(job); a != b || a == "" {
		t.Error(differing(a, b))
	}
	if len(explained.Jobs()) != 0 || len(job.Jobs()) != 1 {
		t.Error("EXPLAIN makes a job")
	}
}

// Every expression that can be bound can be explained.
func TestExplainTakesEveryExpression(t *testing.T) {
	data, err := os.ReadFile("../test/vectors/flink/expressions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(string(data), "\n") {
		text, _, ok := strings.Cut(line, "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		table := "CREATE TABLE t (b BOOLEAN, i INT) WITH ('connector' = 'datagen');\n"
		for _, src := range []string{"EXPLAIN SELECT " + text, table + "EXPLAIN SELECT " + text + " FROM t WHERE (" + text + ") IS NOT NULL OR b"} {
			s, err := Plan(src, config.NewJob(), "x", noon, (&fakes{}).registry())
			if err != nil {
				continue // refused; sql/bind tests which ones
			}
			n++
			if got := s.Items[0].Text; strings.Count(got, "\n== ") != 2 || strings.Contains(got, "%!") {
				t.Errorf("%s:\n%s", src, got)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d expressions were explained", n)
	}
}
