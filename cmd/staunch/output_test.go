package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"staunch/account"
)

// visible are the subcommands that people call.
func visible() (out []*cobra.Command) {
	for _, c := range rootCmd().Commands() {
		if !c.Hidden {
			out = append(out, c)
		}
	}
	return out
}

const outputJob = `SET 'execution.checkpointing.dir' = '%[1]s/ck';
SHOW TABLES;
CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '10');
CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '%[1]s/table', 'format' = 'json');
INSERT INTO files SELECT n FROM numbers;
`

// TestFullOutput: whatever a subcommand writes to a standard output that takes nothing, it ends with exit code 1, soon, and says why.
func TestFullOutput(t *testing.T) {
	bin, dir := demoBinary(t), t.TempDir()
	put := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return p
	}
	run := func(out *os.File, args ...string) (string, int) {
		var stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "XDG_STATE_HOME="+dir+"/state"), &stderr
		if out != nil {
			cmd.Stdout = out
		}
		var x *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &x) {
			t.Fatal(err)
		}
		return stderr.String(), cmd.ProcessState.ExitCode()
	}
	job := put("job.sql", fmt.Sprintf(outputJob, dir))
	table := filepath.Join(dir, "table")
	if out, code := run(nil, "run", job); code != 0 {
		t.Fatal(code, out)
	}
	other := filepath.Join(dir, "other")
	if out, code := run(nil, "run", put("other.sql", fmt.Sprintf(outputJob, other))); code != 0 {
		t.Fatal(code, out)
	}
	put("other/table/before.json", "{\"n\":1}\n")
	put("foreign.json", "{\"p\":0,\"o\":0}\n")
	query := put("query.sql", "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '10'); SELECT n FROM numbers;")
	printed := put("print.sql", "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '10'); CREATE TABLE p (n BIGINT) WITH ('connector' = 'print'); INSERT INTO p SELECT n FROM numbers;")
	statement := put("show.sql", "SHOW TABLES;")
	calls := map[string][][]string{
		"run":     {{query}, {printed}, {statement}},
		"check":   {{job}, {job, "--output", "json"}, {statement}},
		"explain": {{job}},
		"audit": {{table}, {table, "--output", "json"}, {job}, {job, "--repair", "--dry-run"}, {dir, "--columns", "p,o", "--format", "json"}, {dir, "--names", "connect"},
			{table, "--export", "."}},
		"amend": {{other + "/table", "--adopt", "--younger", "--why", "it was there", "--dry-run"},
			{other + "/table", "--adopt", "--younger", "--why", "it was there", "--dry-run", "--output", "json"}},
		"clean": {{job, "--older-than", "1d"}, {job, "--older-than", "1d", "--output", "json"}},
		"trace": {{job}, {table}, {job, "--output", "json"}},
		"demo":  {{"--records", "1000"}},
		"drill": {{job, "--steps", "append done", "--faults", "kill-after"}},
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var all [][]string
	for _, c := range visible() {
		if len(calls[c.Name()]) == 0 {
			t.Errorf("nobody tries %s", c.Name())
		}
		for _, args := range append(calls[c.Name()], []string{"--help"}) {
			all = append(all, append([]string{c.Name()}, args...))
		}
	}
	for _, args := range append(all, []string{"--help"}, []string{"--version"}) {
		if out, code := run(full, args...); code != exitFailed || !strings.Contains(out, "write /dev/stdout: no space left on device") {
			t.Errorf("%q: exit code %d: %s", args, code, out)
		}
	}
}

// TestEmptyValues: an option or an argument that is given and empty is refused by its name, each of each subcommand.
func TestEmptyValues(t *testing.T) {
	for _, c := range visible() {
		refused := func(want string, args ...string) {
			root := rootCmd()
			root.SetArgs(append([]string{c.Name()}, args...))
			var x *exitError
			if err := root.Execute(); !errors.As(err, &x) || x.code != exitUsage || !strings.Contains(err.Error(), want+" is empty") {
				t.Errorf("%s %q: %v", c.Name(), args, err)
			}
		}
		var arg []string
		if strings.Contains(c.Use, " ") {
			arg = []string{"no.sql"}
			refused("argument 1", "")
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"string", "stringArray", "stringSlice"}, f.Value.Type()) {
				return
			}
			refused("--"+f.Name, append(arg, "--"+f.Name, "")...)
			refused("--"+f.Name, append(arg, "--"+f.Name+"= ")...)
			if f.Value.Type() == "stringArray" {
				refused("--"+f.Name, append(arg, "--"+f.Name, "x", "--"+f.Name, "")...)
			}
		})
	}
}

// shown is a report with texts wherever a report may have them.
type shown struct {
	Name   string
	List   []string
	Inner  []struct{ Path string }
	At     *shown
	Map    map[string]any
	Count  int64
	own    string
	Bytes  []byte
	Fixed  [2]string
	Nobody *shown
}

// TestPrintableReport: every text of a report is changed, in a copy, and what has nothing to be changed is not copied.
func TestPrintableReport(t *testing.T) {
	const bad, good = "a\n\x1b[2J", `a\n\x1b[2J`
	r := &shown{Name: bad, List: []string{"x", bad}, Inner: []struct{ Path string }{{bad}}, At: &shown{Name: bad, own: bad}, Map: map[string]any{bad: bad, "list": []string{bad}, "nil": nil},
		Count: 7, Bytes: []byte(bad), Fixed: [2]string{"", bad}}
	p := printable(r)
	if text := fmt.Sprintf("%s %s %+v", p.Name, p.List, *p.At) + fmt.Sprint(p.Map, p.Inner, p.Fixed); strings.Count(text, good) != 7+1 || strings.Count(text, bad) != 1 {
		t.Errorf("%q", text)
	}
	if p.Count != 7 || string(p.Bytes) != bad || p.At.own != bad || p.Nobody != nil {
		t.Errorf("%+v", p)
	}
	if r.Name != bad || r.At.Name != bad || r.List[1] != bad || r.Map[bad] != bad {
		t.Error("the report itself was changed")
	}
	if r := (&shown{Name: "x", List: []string{account.Number(1)}}); printable(r) != r {
		t.Error("it was copied for nothing")
	}
}

// TestReportsArePrintable: there is one way by which reports come out.
func TestReportsArePrintable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{".Text(out)", ".Text(os.", ".Text(log)", "fmt.Print"} {
			if !strings.HasSuffix(f, "_test.go") && f != "printable.go" && bytes.Contains(b, []byte(word)) {
				t.Errorf("%s has %s: reports are written by writeText, other texts by say", f, word)
			}
		}
	}
}

// program runs the program in a folder of its own.
func program(t *testing.T, bin, dir, shell string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", shell)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+dir+"/state", "S="+bin)
	b, err := cmd.CombinedOutput()
	var x *exec.ExitError
	if err != nil && !errors.As(err, &x) {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// TestAuditLogQueries: a query over audit logs says about them what a trace does, and ends at once where one is missing or cut; so does a job whose
// standard output is read no more, by the signal that ends programs then.
func TestAuditLogQueries(t *testing.T) {
	bin, dir := demoBinary(t), t.TempDir()
	good, err := os.ReadFile("../../trace/namenode/testdata/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(good); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"good.log": string(good), "broken.log": string(good) + "2026-11-29 15:15:38,000 INFO FSNamesystem.audit: allowed=true\tugi=x\n",
		"cut.log.gz": packed.String()[:packed.Len()/2], "bad.log.gz": string(good)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		shell string
		code  int
		says  []string
	}{
		{`echo "SET 'staunch.hdfs-audit.logs' = 'broken.log;good.log;./good.log'; SELECT 'line', line, cmd FROM staunch.hdfs_audit WHERE line = 9" > q.sql; $S run q.sql`, 0,
			[]string{"line\t9\tdelete\n", "audit log broken.log: 1 of 43 lines cannot be read; line 43: it lacks a field", "good.log: 17 of its operations are in a log", "./good.log was given more than once"}},
		{`echo "SET 'staunch.hdfs-audit.logs' = 'good.log;none.log'; SELECT cmd FROM staunch.hdfs_audit" > q.sql; $S run q.sql`, 1, []string{"audit log none.log", "does not exist"}},
		{`echo "SET 'staunch.hdfs-audit.logs' = 'good.log;cut.log.gz'; SELECT cmd FROM staunch.hdfs_audit" > q.sql; $S run q.sql`, 1, []string{"cut.log.gz is cut or damaged behind line", "copy it again"}},
		{`echo "SET 'staunch.hdfs-audit.logs' = 'bad.log.gz'; SELECT cmd FROM staunch.hdfs_audit" > q.sql; $S run q.sql`, 1, []string{"not packed by gzip"}},
		{`$S trace / --path /_DUMP_TEMPORARY/cp-4608/task-2/part-2-4608 --audit-log good.log --audit-log ./good.log --audit-log cut.log.gz`, 0,
			[]string{"late delete", "note: audit log cut.log.gz is cut or damaged behind line", "the same path 1.158s before"}},
		{`$S trace / --path /a --audit-log none.log`, 2, []string{"none.log"}},
		{`echo "CREATE TABLE n (n BIGINT) WITH ('connector' = 'datagen'); SELECT n FROM n" > s.sql; $S run s.sql | read; exit ${PIPESTATUS[0]}`, 141, []string{""}},
		{`echo "CREATE TABLE n (n BIGINT) WITH ('connector' = 'datagen'); CREATE TABLE p (n BIGINT) WITH ('connector' = 'print'); INSERT INTO p SELECT n FROM n" > p.sql; $S run p.sql | read; exit ${PIPESTATUS[0]}`,
			141, []string{""}},
	} {
		out, code := program(t, bin, dir, x.shell)
		for _, want := range x.says {
			if code != x.code || !strings.Contains(out, want) || strings.Contains(out, "NameNode changed") || strings.Contains(out, "starts again") {
				t.Errorf("%s: exit code %d, want %d and %q:\n%s", x.shell, code, x.code, want, out)
			}
		}
	}
}

// TestRawNames: no report for people has a raw character of a file's name, of a reason or of an audit log that a terminal acts on.
func TestRawNames(t *testing.T) {
	bin, dir := demoBinary(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.sql"), fmt.Appendf(nil, outputJob, dir), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, code := program(t, bin, dir, "$S run job.sql"); code != 0 {
		t.Fatal(out)
	}
	const raw, name = "x\n\x1b[2J\n  PROBLEM none", `x\n\x1b[2J\n  PROBLEM none`
	for p, text := range map[string]string{"table/" + raw + ".json": "{\"n\":1}\n", "other/" + raw + ".json": "no JSON\n",
		"a.log": "2026-11-29 15:15:30,298 INFO FSNamesystem.audit: allowed=true\tugi=x\x1b[2J (auth:SIMPLE)\tip=/127.0.0.1\tcmd=create\tsrc=/t/a\x1b[2Jb\tdst=null\tperm=null\tproto=rpc\n"} {
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ shell, want string }{
		{`$S audit table`, name},
		{`$S audit table --export .`, name},
		{`$S audit other --columns p,o`, name},
		{`$S clean job.sql --older-than 1d`, "job"},
		{`$S amend table --adopt --younger --why $'a\nb\033[31m'`, "1"},
		{`$S audit table`, "not proven by offsets"},
		{`$S trace table --path table/$'x\n\033[2J\n  PROBLEM none'.json`, name},
		{`rm -r table/x*; $S audit table`, name},
		{`$S trace table`, "a"},
		{`$S trace / --prefix /t --audit-log a.log`, `x\x1b[2J@127.0.0.1`},
		{`$S audit $'no\033[2J.sql'`, `no\x1b[2J.sql`},
	} {
		out, _ := program(t, bin, dir, x.shell)
		if strings.ContainsAny(out, "\x1b") || strings.Contains(out, "\n  PROBLEM none") || !strings.Contains(out, x.want) {
			t.Errorf("%s, want %s:\n%q", x.shell, x.want, out)
		}
	}
}
