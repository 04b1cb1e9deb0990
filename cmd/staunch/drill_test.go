package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/drill"
)

const drillSQL = `SET 'execution.checkpointing.interval' = '100 ms';
SET 'execution.checkpointing.dir' = 'DIR/checkpoints';
CREATE TABLE events (id BIGINT, k INT, off BIGINT METADATA FROM 'offset' VIRTUAL) WITH ('connector' = 'kafka', 'topic' = 'events',
  'properties.bootstrap.servers' = 'BROKER', 'properties.group.id' = 'real', 'scan.startup.mode' = 'STARTUP'BOUNDED, 'format' = 'json');
CREATE TABLE lake (id BIGINT, off BIGINT, k INT) PARTITIONED BY (k) WITH ('connector' = 'filesystem', 'path' = 'DIR/lake', 'format' = 'parquet',
  'sink.partition-commit.policy.kind' = 'success-file');
CREATE TABLE odd (id BIGINT) WITH ('connector' = 'filesystem', 'path' = 'DIR/odd', 'format' = 'json');
EXECUTE STATEMENT SET BEGIN
INSERT INTO lake SELECT id, off, k FROM events WHERE id >= 0;
INSERT INTO odd SELECT id FROM events WHERE k = 1;
END;
`

// drillBed is a broker with a topic, a statement file, and the table that the real job has written.
type drillBed struct {
	t    *testing.T
	bin  string
	dir  string
	file string
	cl   *kgo.Client
	adm  *kadm.Client
}

func newDrillBed(t *testing.T) *drillBed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	var list []*kgo.Record
	for i := range 600 {
		list = append(list, &kgo.Record{Topic: "events", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d,"k":%d}`, i, i%3)})
	}
	for ; len(list) > 0; list = list[50:] {
		if err := cl.ProduceSync(t.Context(), list[:50]...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	b := &drillBed{t: t, bin: demoBinary(t), dir: dir, file: filepath.Join(dir, "job.sql"), cl: cl, adm: kadm.NewClient(cl)}
	sql := strings.NewReplacer("DIR", dir, "BROKER", cluster.ListenAddrs()[0]).Replace(drillSQL)
	bounded := filepath.Join(dir, "bounded.sql")
	b.write(bounded, strings.NewReplacer("STARTUP", "earliest-offset", "BOUNDED", ", 'scan.bounded.mode' = 'latest-offset'").Replace(sql))
	b.write(b.file, strings.NewReplacer("STARTUP", "group-offsets", "BOUNDED", "").Replace(sql))
	if out, err := exec.Command(b.bin, "run", bounded, "-D", "pipeline.name=job").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return b
}

func (b *drillBed) write(file, text string) {
	b.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run runs the program and gives exit code, output and errors.
func (b *drillBed) run(args ...string) (int, string, string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.bin, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+b.t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var x *exec.ExitError
	if err != nil && !errors.As(err, &x) {
		b.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// state is everything of the user's: files with their contents, ends of the topic, offsets of all groups.
func (b *drillBed) state() string {
	b.t.Helper()
	var s strings.Builder
	err := filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&s, p)
			return err
		}
		data, err := os.ReadFile(p)
		fmt.Fprintf(&s, "%s %x\n", p, data)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ends, err := b.adm.ListEndOffsets(b.t.Context(), "events")
	if err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprintln(&s, ends.Offsets().Sorted())
	groups, err := b.adm.ListGroups(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, g := range groups.Sorted() {
		o, err := b.adm.FetchOffsets(b.t.Context(), g.Group)
		if err != nil {
			b.t.Fatal(err)
		}
		fmt.Fprintln(&s, g.Group, o.Offsets().Sorted())
	}
	return s.String()
}

// TestDrill: the ordinary program, killed and lied to at the steps around a rename, holds, and leaves everything of the real job as it was (P4, P6).
func TestDrill(t *testing.T) {
	b := newDrillBed(t)
	before := b.state()
	if !strings.Contains(before, "real [") || !strings.Contains(before, "lake/k=1/part-") {
		t.Fatalf("the real job has written nothing:\n%s", before)
	}
	faults := strings.TrimSuffix(faultNames(), fmt.Sprintf(", %s, %s", drill.Taken, drill.FolderTaken)) // the job waits to be sure of a loss: with the real servers
	code, out, errs := b.run("drill", b.file, "--records", "400", "--steps", "rename pending file", "--faults", strings.ReplaceAll(faults, ", ", ","), "--output", "json")
	if code != exitOK {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	var rep drillReport
	if err := json.Unmarshal([]byte(out), &rep); err != nil {
		t.Fatal(err)
	}
	n := rep.Report.Count()
	t.Log(n, rep.Report.Took)
	if want := len(drill.Faults) - 2; !rep.Held || n[drill.Held] < want+2 || n[drill.Held] != len(rep.Report.Runs) {
		t.Errorf("%v", n)
	}
	if u := rep.Report.Undisturbed; u.Rows != 400+133 || !rep.Report.Alike { // of the newest 400, a third has k = 1
		t.Errorf("undisturbed: %d rows", u.Rows)
	}
	killed := 0
	for _, r := range rep.Report.Runs {
		if r.Fault == drill.KillAfter {
			killed++
			if want := 1 + r.Step.Life; r.Restarts != want {
				t.Errorf("%s: %d restarts, want %d", r.Step, r.Restarts, want)
			}
		}
	}
	if killed != 2 {
		t.Errorf("killed in %d lives", killed)
	}
	if len(rep.Untouched) != 4 {
		t.Errorf("%d things were looked at", len(rep.Untouched))
	}
	for _, u := range rep.Untouched {
		if !u.Same || u.Values == 0 {
			t.Errorf("%+v", u)
		}
	}
	if after := b.state(); after != before {
		t.Errorf("something of the user's was changed. Before:\n%s\nAfter:\n%s", before, after)
	}
	b.kept()
	b.refused()
	b.taken()
}

// taken: a file of the user's that goes away during a drill, and that no running job has removed, is told and is exit code 1.
func (b *drillBed) taken() {
	t := b.t
	files, err := filepath.Glob(filepath.Join(b.dir, "lake", "k=1", "part-*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	cmd := exec.CommandContext(t.Context(), b.bin, "drill", b.file, "--records", "100", "--steps", "append done", "--faults", "kill-after")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	gone := false
	for sc := bufio.NewScanner(pipe); sc.Scan(); fmt.Fprintln(&out, sc.Text()) {
		if !gone && strings.HasPrefix(sc.Text(), "runs ") { // it has looked
			if gone = true; os.Remove(files[0]) != nil {
				t.Error("the file cannot be removed")
			}
		}
	}
	var x *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &x) {
		t.Fatal(err)
	}
	want := "CHANGED, by whom is not known  table lake"
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(out.String(), want) || !strings.Contains(out.String(), filepath.Base(files[0])+": gone") {
		t.Errorf("exit %d, want %q\n%s", code, want, &out)
	}
}

// TestDrillBesideTheJob: the job that is drilled reads, commits, stops and starts again meanwhile: all that it changes is explained by its logs.
func TestDrillBesideTheJob(t *testing.T) {
	b := newDrillBed(t)
	text, err := os.ReadFile(filepath.Join(b.dir, "bounded.sql"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(b.dir, "live")
	file := filepath.Join(dir, "live.sql")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.write(file, strings.NewReplacer(b.dir, dir, ", 'scan.bounded.mode' = 'latest-offset'", "").Replace(string(text)))
	start := func() *exec.Cmd {
		c := exec.Command(b.bin, "run", file)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	stop := func(c *exec.Cmd) {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // exit code 3
	}
	job := start()
	t.Cleanup(func() { stop(job) })
	visible := func() int {
		files, err := filepath.Glob(filepath.Join(dir, "lake", "k=1", "part-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	produce := func() {
		if err := b.cl.ProduceSync(t.Context(), &kgo.Record{Topic: "events", Value: []byte(`{"id":1,"k":1}`)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	commits := func(files int) { // until the job, which reads what comes, has made so many files visible
		late := time.After(3 * time.Minute)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ; visible() < files; produce() {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("the job has made %d files visible, not %d", visible(), files)
			}
		}
	}
	commits(3) // so that it also renames and removes what was there before
	cmd := exec.CommandContext(t.Context(), b.bin, "drill", file, "--records", "400", "--steps", "rename pending file", "--faults", "kill-after,twice,late")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := 0
	for sc := bufio.NewScanner(pipe); sc.Scan(); fmt.Fprintln(&out, sc.Text()) {
		if lines++; lines%3 == 0 {
			commits(visible() + 1) // what was started is seen at work before it is stopped
			stop(job)
			job = start()
		}
		produce()
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s\n%s", err, &out, &errs)
	}
	for _, what := range []string{"table lake", "checkpoints of job live", "table events"} {
		if !strings.Contains(out.String(), "changed by a running job  "+what) {
			t.Errorf("nothing of the job is told of %s:\n%s", what, &out)
		}
	}
}

// TestDrillBeside: what the real job does meanwhile is explained by its logs, and what happens to its files besides is not.
func TestDrillBeside(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "numbers.sql")
	sql := "SET 'pipeline.name' = 'real';\nSET 'execution.checkpointing.dir' = 'DIR/checkpoints';\nSET 'execution.checkpointing.interval' = '100 ms';\n" + ruleSQL
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(sql, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &drillSetup{drillFlags: &drillFlags{records: 500}, out: &firm{out: io.Discard}}
	s.logFormat = "text"
	if err := s.plan(file); err != nil {
		t.Fatal(err)
	}
	look := func() []drill.Exhibit {
		x, err := s.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	against := func(before, after []drill.Exhibit) (u drill.Untouched) {
		others, err := drill.FindOthers(t.Context(), s.stores(), before, after)
		if err != nil {
			t.Fatal(err)
		}
		for i := range after {
			x := after[i].Against(before[i], others, s.name)
			u.Added, u.Harmed, u.Unexplained = u.Added+x.Added, u.Harmed+x.Harmed, u.Unexplained+x.Unexplained
			u.Examples = append(u.Examples, x.Examples...)
		}
		return u
	}
	before := look()
	if out, err := exec.Command(demoBinary(t), "run", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	after := look()
	if u := against(before, after); u.Added < 6 || u.Unexplained != 0 {
		t.Errorf("the job ran: %+v", u)
	}
	files, err := filepath.Glob(filepath.Join(dir, "files", "k=*", "part-*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	if err := errors.Join(os.Remove(files[0]), os.WriteFile(files[1], []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if u := against(after, look()); u.Harmed != 2 {
		t.Errorf("one file is gone and another changed: %+v", u)
	}
}

// kept: with --keep everything stays, and a table of the drill can be audited by hand.
func (b *drillBed) kept() {
	t := b.t
	scratch := filepath.Join(b.dir, "kept")
	code, out, errs := b.run("drill", b.file, "--records", "100", "--steps", "append done", "--faults", "kill-after", "--keep", "--scratch", scratch)
	if code != exitOK || !strings.Contains(out, "no row was lost or doubled") {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	if code, out, errs := b.run("audit", filepath.Join(scratch, "run-0002", "table-1")); code != exitOK || !strings.Contains(out, ": clean") {
		t.Errorf("audit of the kept table: exit %d\n%s\n%s", code, out, errs)
	}
	if code, _, errs := b.run("drill", b.file, "--scratch", scratch); code != exitUsage || !strings.Contains(errs, "is there already") {
		t.Errorf("a scratch folder that is there: exit %d, %s", code, errs)
	}
}

// refused: what cannot be drilled is exit code 2 and says why.
func (b *drillBed) refused() {
	t := b.t
	none := filepath.Join(b.dir, "none.sql")
	b.write(none, "CREATE TABLE g (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5');\nCREATE TABLE p (a INT) WITH ('connector' = 'print');\nINSERT INTO p SELECT a FROM g;\n")
	away := filepath.Join(b.dir, "away.sql")
	b.write(away, "CREATE TABLE g (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '0');\nCREATE TABLE p (a INT) WITH ('connector' = 'filesystem', 'path' = '"+
		b.dir+"/p', 'format' = 'json');\nINSERT INTO p SELECT a FROM g;\n")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"there is nothing to drill", []string{none}},
		{"wrote no row", []string{away}},
		{"no fault \"explode\"", []string{b.file, "--faults", "explode"}},
		{"--records is from", []string{b.file, "--records", "0"}},
		{"nothing was tried", []string{b.file, "--records", "50", "--steps", "no such step"}},
		{"nothing was tried", []string{b.file, "--records", "50", "--for", "1ns"}},
		{"lies in table", []string{b.file, "--scratch", filepath.Join(b.dir, "lake", "x")}},
	} {
		if code, out, errs := b.run(append([]string{"drill"}, c.args...)...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d, %s%s", c.args, code, out, errs)
		}
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, ".staunch-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestDrillTells: a run that did not hold is shown with what is wrong and where to look, and something of the user's that was touched is never called untouched.
func TestDrillTells(t *testing.T) {
	var b bytes.Buffer
	s := &drillSetup{drillFlags: &drillFlags{}, out: &firm{out: &b}, expected: 100}
	bad := &drill.Run{Step: drill.Key{Op: drill.OpRename, Place: drill.PlacePending}, Fault: drill.KillAfter, Nth: 2, Of: 4, Restarts: 1, Verdict: drill.Lost, Kept: "/lake/kept", Log: "/tmp/job.log",
		Error: "the job's last words", Sight: drill.Sight{Rows: 97, Lost: 3, Problems: []string{"audit: file-missing: a file"}}}
	s.tellRun(bad)
	s.tellRun(&drill.Run{Verdict: drill.NotTried})
	before := drill.Exhibit{Values: map[string]string{"a": "1"}}
	u := drill.Exhibit{What: "table t", Values: map[string]string{"a": "1", "part-drill-1": "2"}}.Against(before, nil, "drill-1")
	o := drill.Exhibit{What: "table o", Values: map[string]string{"a": "2"}}.Against(before, nil, "drill-1")
	s.tellEnd(&drill.Report{Runs: []*drill.Run{bad, {Verdict: drill.NotTried}}}, []drill.Untouched{u, o})
	for _, want := range []string{"rename pending file (2 of 4) ", "97      3       0  LOST\n", "audit: file-missing", "the job's last words", "/lake/kept, /tmp/job.log", "TOUCHED  table t",
		"CHANGED, by whom is not known  table o: 0 new, 1 changed, 0 gone, of which no running job explains 1: a: 1 -> 2", "2 runs in", "1 LOST", "1 not tried"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	s.tellEnd(&drill.Report{}, nil) // nothing was tried, so that nothing is said of rows
	for _, never := range []string{"no row was lost", "untouched", "by others", "nothing of it by the drill"} {
		if strings.Contains(b.String(), never) {
			t.Errorf("%q in:\n%s", never, b.String())
		}
	}
}
