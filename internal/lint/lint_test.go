package lint

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

//go:embed layers.txt
var layersText string

//go:embed words.txt
var wordsText string

func TestRepository(t *testing.T) {
	findings, err := Run(os.DirFS("../.."), layersText, wordsText)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
	if _, err := os.Stat("../../ARCHITECTURE.md"); err != nil {
		t.Error(err)
	}
}

func TestArchitectureNamesEachFolder(t *testing.T) {
	tree := fstest.MapFS{"plan/doc.go": {Data: []byte(doc)}, "job/doc.go": {Data: []byte(doc)},
		"ARCHITECTURE.md": {Data: []byte("| folder | what |\n|---|---|\n| `plan/` | x |\n| `gone/` | y |\n")}}
	findings, err := Run(tree, layersText, wordsText)
	if err != nil || len(findings) != 2 || !strings.Contains(fmt.Sprint(findings), "names the folder gone/, which is not there") ||
		!strings.Contains(fmt.Sprint(findings), "does not name the folder job/") {
		t.Error(findings, err)
	}
}

const doc = "// Package x is there.\npackage x\n"

// TestEachRuleBites plants one fault in a tree that is otherwise clean.
func TestEachRuleBites(t *testing.T) {
	body := func(imports, code string) string {
		s := "package x\n\n"
		if imports != "" {
			s += "import \"" + imports + "\"\n\n"
		}
		return s + code
	}
	for name, c := range map[string]struct {
		path, text string
		want       string // "" = clean
	}{
		"clean":                     {"plan/a.go", body("strings", "var X = strings.ToUpper\n"), ""},
		"upwards":                   {"changelog/a.go", body("staunch/job", "var X = job.X\n"), "layer 1 must not import job of layer 4"},
		"engine imports plug-in":    {"plan/a.go", body("staunch/connector/kafka", "var X = kafka.X\n"), "no edge to connector/kafka"},
		"plug-in imports engine":    {"format/json/a.go", body("staunch/plan", "var X = plan.X\n"), "no edge to plan"},
		"plug-in imports plug-in":   {"connector/filesystem/a.go", body("staunch/format/json", "var X = json.X\n"), "no edge to format/json"},
		"plug-in and its own part":  {"connector/kafka/a.go", body("staunch/connector/kafka/wire", "var X = wire.X\n"), ""},
		"engine along an edge":      {"plan/a.go", body("staunch/sql/ast", "var X = ast.X\n"), ""},
		"engine against an edge":    {"sql/ast/a.go", body("staunch/plan", "var X = plan.X\n"), "no edge to plan"},
		"kit in the binary":         {"job/a.go", body("staunch/fs/fstest", "var X = fstest.X\n"), "layer 4 must not import fs/fstest of layer 7"},
		"a test is free":            {"changelog/a_test.go", body("staunch/job", "var X = job.X\n"), ""},
		"unknown package":           {"util/doc.go", "// Package util is there.\npackage util\n", "is in no layer"},
		"time.Now":                  {"plan/a.go", body("time", "var X = time.Now()\n"), "time.Now: time, chance"},
		"time.Now renamed":          {"plan/a.go", "package x\n\nimport clock \"time\"\n\nvar X = clock.Now()\n", "time.Now: time, chance"},
		"time as a local variable":  {"plan/a.go", body("", "type clock struct{}\n\nfunc (clock) Now() int { return 1 }\n\nfunc F() int {\n\ttime := clock{}\n\treturn time.Now()\n}\n"), ""},
		"time values":               {"plan/a.go", body("time", "var X = time.Second\n"), ""},
		"time.Now in env":           {"env/a.go", body("time", "var X = time.Now()\n"), ""},
		"context.WithTimeout":       {"job/a.go", body("context", "var X = context.WithTimeout\n"), "context.WithTimeout"},
		"math/rand":                 {"job/a.go", body("math/rand/v2", "var X = rand.Int()\n"), "imports math/rand/v2"},
		"crypto/rand":               {"checkpoint/a.go", body("crypto/rand", "var X = rand.Text()\n"), "imports crypto/rand"},
		"os.Rename":                 {"commit/a.go", body("os", "var X = os.Rename\n"), "os.Rename"},
		"os.ErrNotExist":            {"commit/a.go", body("os", "var X = os.ErrNotExist\n"), ""},
		"net.Dial":                  {"connector/filesystem/a.go", body("net", "var X = net.Dial\n"), "net.Dial"},
		"bare go":                   {"dataflow/a.go", body("", "func F() { go F() }\n"), "bare go statement"},
		"bare go in the Kafka one":  {"connector/kafka/a.go", body("", "func F() { go F() }\n"), ""},
		"WaitGroup":                 {"dataflow/a.go", body("sync", "var X sync.WaitGroup\n"), "sync.WaitGroup"},
		"init in an engine":         {"sql/parse/a.go", body("", "func init() {}\n"), ""},
		"init":                      {"format/csv/a.go", body("", "func init() {}\n"), "func init"},
		"protocol imports env":      {"checkpoint/protocol/a.go", body("staunch/env", "var errX = env.X\n"), "may not import staunch/env"},
		"protocol imports sync":     {"checkpoint/protocol/a.go", body("sync", "type X sync.Mutex\n"), "may not import sync"},
		"protocol has a channel":    {"job/protocol/a.go", body("", "type X chan int\n"), "may not have a channel"},
		"protocol asks the clock":   {"job/protocol/a.go", body("time", "func F() time.Duration { return time.Since(time.Time{}) }\n"), "may not have time.Since"},
		"protocol has time values":  {"job/protocol/a.go", body("time", "const X = 5 * time.Second\n"), ""},
		"protocol has a variable":   {"job/protocol/a.go", body("", "var counter int\n"), "package variable counter"},
		"protocol has a table":      {"job/protocol/a.go", body("", "var names = [...]string{\"a\"}\n"), ""},
		"not formatted":             {"plan/a.go", "package x\nvar  X = 1\n", "gofmt would change it"},
		"does not parse":            {"plan/a.go", "package x\nfunc {\n", "does not parse"},
		"no doc.go":                 {"server/rest/a.go", "package rest\n", "has no doc.go"},
		"a test that sleeps":        {"plan/a_test.go", body("time", "func f() { time.Sleep(1) }\n"), "never sleeps"},
		"a test in fake time":       {"plan/a_test.go", "package x\n\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\n\nfunc f() { synctest.Wait(); time.Sleep(1) }\n", ""},
		"a peer test that skips":    {"test/chaos/a_test.go", "//go:build peer\n\npackage x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Skip() }\n", "never skips"},
		"a benchmark that skips":    {"test/chaos/a_test.go", "//go:build peer\n\npackage x\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) { b.Skip() }\n", ""},
		"a path of a machine":       {"docs/a.md", "see /" + "root/x\n", "absolute path"},
		"another path of a machine": {"docs/a.md", "`/" + "work/x`\n", "absolute path"},
		"a path of a project":       {"docs/a.md", "at /tmp/work/x, ./root/x and hdfs://ns/root-x/work\n", ""},
		"a registry's host":         {"Makefile", "GOPROXY=https://proxy.example.org\n", "host of a registry"},
		"test data may be ugly":     {"sql/testdata/a.go", "package x\nvar  X = 1\n", ""},
	} {
		tree := fstest.MapFS{c.path: {Data: []byte(c.text)}}
		if strings.HasSuffix(c.path, ".go") && name != "no doc.go" && name != "unknown package" {
			dir := c.path[:strings.LastIndexByte(c.path, '/')]
			tree[dir+"/doc.go"] = &fstest.MapFile{Data: []byte(doc)}
		}
		findings, err := Run(tree, layersText, wordsText)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(findings) > 0 {
			t.Errorf("%s: %v", name, findings)
		}
		if c.want != "" && (len(findings) == 0 || len(findings) > 2 || !strings.Contains(fmt.Sprint(findings), c.want)) {
			t.Errorf("%s: want a finding with %q, got %v", name, c.want, findings)
		}
		for _, f := range findings {
			if !strings.HasPrefix(c.path, f.Path) {
				t.Errorf("%s: %v is another file than the planted one", name, f)
			}
		}
	}
}

func TestRulesFileErrors(t *testing.T) {
	for _, text := range []string{"layer x plan\n", "edge a b\n", "allow plan\n", "nonsense\n"} {
		if _, err := ParseRules(text); err == nil || !strings.Contains(err.Error(), "layers.txt:1") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Run(fstest.MapFS{}, "", "(\tx"); err == nil || !strings.Contains(err.Error(), "words.txt:1") {
		t.Error(err)
	}
}
