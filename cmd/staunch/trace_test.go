package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"staunch/trace/story"
)

const traceJob = `
SET 'execution.checkpointing.interval' = '200ms';
SET 'execution.checkpointing.dir' = '%[1]s/ck';
SET 'parallelism.default' = '2';
CREATE TABLE numbers (n BIGINT, part INT) WITH ('connector' = 'datagen', 'rows-per-second' = '20000',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '20000000', 'fields.part.min' = '1', 'fields.part.max' = '2');
CREATE TABLE files (n BIGINT, part INT) PARTITIONED BY (part) WITH ('connector' = 'filesystem', 'path' = '%[1]s/table', 'format' = 'json');
INSERT INTO files SELECT n, part FROM numbers WHERE n <> 7;
`

// traced is a job with its trace, run by the program itself.
type traced struct {
	t         *testing.T
	bin, file string
	dir       string
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	k := &traced{t: t, dir: t.TempDir()}
	k.bin, k.file = filepath.Join(k.dir, "staunch"), filepath.Join(k.dir, "numbers.sql")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", k.bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.WriteFile(k.file, fmt.Appendf(nil, traceJob, k.dir), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// run runs the program; code -1 means that it was killed.
func (k *traced) run(failpoint string, args ...string) (out string, code int) {
	k.t.Helper()
	cmd := exec.CommandContext(k.t.Context(), k.bin, args...)
	cmd.Env = append(os.Environ(), "STAUNCH_FAILPOINT="+failpoint)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var x *exec.ExitError
	if err != nil && !errors.As(err, &x) {
		k.t.Fatal(err)
	}
	return stdout.String() + stderr.String(), cmd.ProcessState.ExitCode()
}

// told is what `staunch trace --output json` says, by kind.
type told struct {
	grids  []story.Grid
	found  []story.Whereabouts
	files  []story.File
	events []story.Event
	causes []story.Cause
	notes  []string
}

func (k *traced) trace(args ...string) told {
	k.t.Helper()
	out, code := k.run("", append([]string{"trace", k.file, "--output", "json"}, args...)...)
	if code != 0 {
		k.t.Fatalf("exit code %d\n%s", code, out)
	}
	var all told
	for l := range strings.Lines(out) {
		var kind struct {
			Kind, Text string
		}
		err := json.Unmarshal([]byte(l), &kind)
		switch kind.Kind {
		case "grid":
			err = errors.Join(err, into(l, &all.grids))
		case "record":
			err = errors.Join(err, into(l, &all.found))
		case "file":
			err = errors.Join(err, into(l, &all.files))
		case "event":
			err = errors.Join(err, into(l, &all.events))
		case "cause":
			err = errors.Join(err, into(l, &all.causes))
		case "note":
			all.notes = append(all.notes, kind.Text)
		}
		if err != nil {
			k.t.Fatalf("%v: %s", err, l)
		}
	}
	return all
}

func into[T any](l string, list *[]T) error {
	var v T
	err := json.Unmarshal([]byte(l), &v)
	*list = append(*list, v)
	return err
}

// ops counts the events.
func (a *told) ops() map[string]int {
	out := map[string]int{}
	for _, e := range a.events {
		out[e.Op]++
	}
	return out
}

// TestTraceOfKilledJob: a job is killed behind its second certificate, a promised file is removed by somebody, and the next run stops. The trace
// tells all of it: who wrote the file and when, what its checkpoint wrote, which records are missing, and who took it.
func TestTraceOfKilledJob(t *testing.T) {
	k := newTraced(t)
	if out, code := k.run("certificate.after:2", "run", k.file); code != -1 {
		t.Fatalf("it was not killed: %d\n%s", code, out)
	}
	// Without a question: what is on its way, and everything that was done.
	all := k.trace()
	if len(all.files) == 0 || len(all.causes) != 0 {
		t.Fatalf("%d files on their way, %d causes, notes %q", len(all.files), len(all.causes), all.notes)
	}
	id := fmt.Sprint(all.files[0].Checkpoint)
	for _, f := range all.files {
		if f.State != story.Pending || f.Epoch != 1 {
			t.Errorf("%+v", f)
		}
	}
	at := k.trace("--checkpoint", id)
	if len(at.grids) != 1 || at.grids[0].Done != (time.Time{}) || len(at.grids[0].Tasks) != 2 {
		t.Fatalf("%+v", at.grids)
	}
	pending := 0
	for _, row := range at.grids[0].Cells {
		for _, c := range row {
			pending += c.Pending
		}
	}
	// The kill came behind *complete*: who wrote each promised file is in the trace of the killed process.
	if ops := at.ops(); pending != len(all.files) || ops["create"] < pending || ops["close"] != pending || ops["prepare"] != 2 || ops["rename"] != 0 {
		t.Errorf("%d files are pending, and the trace has %v", pending, ops)
	}

	victim := all.files[len(all.files)-1]
	if err := os.Remove(victim.Pending); err != nil {
		t.Fatal(err)
	}
	taken := time.Now()
	out, code := k.run("", "run", k.file)
	if code != exitFailed || !strings.Contains(out, victim.Final) {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	at = k.trace("--path", victim.Final)
	if len(at.causes) != 1 || at.causes[0].Kind != story.Unknown || at.files[0].State != story.Lost || at.ops()["verdict"] != 1 {
		t.Fatalf("%+v %+v %v", at.causes, at.files, at.ops())
	}
	grid := k.trace("--checkpoint", id).grids[0]
	if got := fmt.Sprint(grid.Cells); strings.Count(got, "LOST") != 1 || strings.Count(got, "renamed") != pending-1 {
		t.Error(got)
	}

	// The NameNode's log, an hour ahead, has all that the job did, and somebody's delete.
	log := k.auditLog(taken)
	at = k.trace("--path", victim.Pending, "--audit-log", log)
	c := at.causes[0]
	if c.Kind != story.Foreign || c.Who != "anna@10.0.0.9" || c.Time.Sub(taken).Abs() > time.Second || c.Rows != victim.Rows || len(c.Offsets) == 0 {
		t.Errorf("%+v", c)
	}
	text, _ := k.run("", "trace", k.file, "--path", victim.Pending, "--audit-log", log)
	for _, want := range []string{"most likely cause: foreign client", "<== foreign client", "anna@10.0.0.9", "operations of both", "1 broken", "LOST"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}

	// One of its records, one that was filtered, and one that was not read.
	for split, offsets := range victim.Offsets {
		var first int64
		if _, err := fmt.Sscanf(offsets, "%d", &first); err != nil {
			t.Fatal(offsets, err)
		}
		record := fmt.Sprintf("datagen:%s:%d", strings.TrimPrefix(split, "datagen-"), first)
		if found := k.trace("--record", record).found; len(found) != 1 || found[0].State != "lost" || found[0].File.Final != victim.Final {
			t.Errorf("%s: %+v", record, found)
		}
	}
	filtered := 0
	for _, split := range []string{"0", "1"} {
		for o := range 8 {
			if k.trace("--record", fmt.Sprintf("datagen:%s:%d", split, o)).found[0].State == "filtered" {
				filtered++
			}
		}
	}
	if found := k.trace("--record", "datagen:0:999999").found; filtered != 1 || found[0].State != "not consumed" {
		t.Errorf("%d records are filtered; %+v", filtered, found)
	}

	// The incident's own question is a query: who removed the folder, when, and which files had been written below it?
	query := filepath.Join(k.dir, "question.sql")
	if err := os.WriteFile(query, fmt.Appendf(nil, `SET 'staunch.hdfs-audit.logs' = '%s';
CREATE TABLE files (n BIGINT, part INT) PARTITIONED BY (part) WITH ('connector' = 'filesystem', 'path' = '%s/table', 'format' = 'json');
SELECT ts, ugi, ip FROM staunch.hdfs_audit WHERE cmd = 'delete' AND src LIKE '%%/_DUMP_TEMPORARY';`, log, k.dir), 0o600); err != nil {
		t.Fatal(err)
	}
	minute := func(off time.Duration) string { return taken.UTC().Add(off).Format("2006-01-02 15:04") } // the log's clock is found, and may be a little off
	if out, code := k.run("", "run", query); code != 0 || !strings.Contains(out, minute(-time.Second)) && !strings.Contains(out, minute(time.Second)) || !strings.Contains(out, "anna\t10.0.0.9") {
		t.Errorf("%d: %s", code, out)
	}
	for q, want := range map[string]string{
		"SELECT task, row_count, state FROM staunch.files WHERE path = '" + victim.Final + "'":                          fmt.Sprintf("%d\t%d\tlost", victim.Task, victim.Rows),
		"SELECT epoch, outcome, note FROM staunch.trace WHERE op = 'verdict' AND target = '" + victim.Final + "'":       "missing\tlost",
		"SELECT closed, filtered FROM staunch.accounts WHERE filtered > 0":                                              "TRUE\t1",
		"SELECT epoch, op FROM staunch.trace WHERE op = 'append' AND note = 'claim' AND epoch = 1":                      "1\tappend",
		"SELECT outcome FROM staunch.trace WHERE op = 'rename' AND outcome <> 'ok' AND path = '" + victim.Pending + "'": "missing",
		"SELECT COUNT FROM staunch.trace": "staunch: ",
	} {
		if err := os.WriteFile(query, fmt.Appendf(nil, "SET 'execution.checkpointing.dir' = '%s/ck';\n%s;\n", k.dir, q), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, _ := k.run("", "run", query); !strings.Contains(out, want) {
			t.Errorf("%s: %s", q, out)
		}
	}

	// As the answers show it, below the table, and by its name alone.
	for _, p := range []string{strings.TrimPrefix(victim.Final, k.dir+"/table/"), strings.TrimPrefix(victim.Pending, k.dir+"/table/"), filepath.Base(victim.Final), filepath.Base(victim.Pending)} {
		if at := k.trace("--path", p); len(at.files) != 1 || at.files[0].Final != victim.Final || at.ops()["verdict"] != 1 {
			t.Errorf("%s: %+v", p, at.files)
		}
	}
	other := filepath.Join(k.dir, "numbers.old.sql")
	if b, err := os.ReadFile(k.file); err != nil || os.WriteFile(other, b, 0o600) != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailed, "nothing that was read knows", []string{k.file, "--path", "part=1/none.json"}},
		{exitFailed, "nothing that was read knows", []string{k.file, "--path", "/somewhere/else"}},
		{exitFailed, "nothing that was read knows", []string{k.file, "--checkpoint", "999"}},
		{exitFailed, "datagen-0, datagen-1", []string{k.file, "--record", "gen:1:7"}},
		{exitFailed, "no job nobody here, but numbers", []string{k.file, "--job", "nobody"}},
		{exitUsage, "has no log of job numbers.old, but of numbers: name the job: -D pipeline.name='numbers'", []string{other, "--checkpoint", id}},
		{0, "LOST", []string{other, "--checkpoint", id, "-D", "pipeline.name=numbers"}},
	} {
		if out, code := k.run("", append([]string{"trace"}, c.args...)...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit code %d\n%s", c.args, code, out)
		}
	}

	// By the table's folder and by the job's, the same is found.
	for _, place := range []string{filepath.Join(k.dir, "table"), filepath.Join(k.dir, "ck", "numbers")} {
		if text, code := k.run("", "trace", place, "--checkpoint", id); code != 0 || !strings.Contains(text, "LOST") || !strings.Contains(text, "prepare") {
			t.Errorf("%s: %d\n%s", place, code, text)
		}
	}
}

// auditLog makes a NameNode's log of what the job did, by its trace, with a delete of all that is below the temporary folder, and a broken line.
func (k *traced) auditLog(taken time.Time) string {
	k.t.Helper()
	const form = "%s INFO FSNamesystem.audit: allowed=true\tugi=%s (auth:SIMPLE)\tip=/%s\tcmd=%s\tsrc=%s\tdst=%s\tperm=null\tproto=rpc\n"
	stamp := func(t time.Time) string { return t.UTC().Add(time.Hour).Format("2006-01-02 15:04:05,000") }
	var b strings.Builder
	told := false
	for _, e := range k.trace().events {
		if e.Time.After(taken) && !told {
			told = true
			fmt.Fprintf(&b, form, stamp(taken), "anna", "10.0.0.9", "delete", filepath.Join(k.dir, "table", "_DUMP_TEMPORARY"), "null")
			b.WriteString("2026-11-29 15:15:30,298 INFO FSNamesystem.audit: allowed=true\tugi=ro\n")
		}
		if e.Outcome != "ok" || e.Op != "create" && e.Op != "rename" {
			continue
		}
		to := e.To
		if to == "" {
			to = "null"
		}
		fmt.Fprintf(&b, form, stamp(e.Time), "etl", "10.0.0.1", e.Op, e.Path, to)
	}
	p := filepath.Join(k.dir, "audit.log")
	if err := os.WriteFile(p, []byte(b.String()), 0o600); err != nil {
		k.t.Fatal(err)
	}
	return p
}

// TestTraceRefuses: a question that is none is refused with what would be one.
func TestTraceRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--record", "orders:1"}, "topic:partition:offset"},
		{[]string{"--record", "orders:x:1"}, "topic:partition:offset"},
		{[]string{"--path", "/a", "--checkpoint", "3"}, "give one of"},
		{[]string{"--checkpoint", "-3"}, "above 0"},
		{[]string{"--since", "yesterday"}, "neither a time"},
		{[]string{"--output", "xml"}, "text or json"},
		{nil, "neither a statement file"},
	} {
		cmd := rootCmd()
		cmd.SetArgs(append([]string{"trace", t.TempDir()}, c.args...))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) || report(err) != exitUsage {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}
