package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const auditSQL = `
CREATE TABLE events (id BIGINT, v STRING) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = '127.0.0.1:1',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE a (id BIGINT, v STRING) PARTITIONED BY (v) WITH ('connector' = 'filesystem', 'path' = 'DIR/a', 'format' = 'json',
  'sink.partition-commit.policy.kind' = 'success-file', 'sink.partition-commit.success-file.name' = 'READY');
CREATE TABLE b (id BIGINT, v STRING) WITH ('connector' = 'filesystem', 'path' = 'DIR/b', 'format' = 'json');
CREATE TABLE c (id BIGINT, v STRING) WITH ('connector' = 'filesystem', 'path' = 'DIR/c', 'format' = 'json');
EXECUTE STATEMENT SET BEGIN
INSERT INTO a SELECT id, v FROM events;
INSERT INTO b SELECT id, v FROM events;
INSERT INTO b SELECT id, v FROM events WHERE id > 3;
END;
`

// TestRepairOfOtherName: a table that has only logs of other jobs is no table without a loss.
func TestRepairOfOtherName(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "job.sql")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(auditSQL, "DIR", dir)), 0o666); err != nil {
		t.Fatal(err)
	}
	_, s, err := auditTargets(&scriptFlags{logFormat: "text"}, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := knownJobs(s); err != nil {
		t.Error(err)
	}
	if err := os.MkdirAll(dir+"/b/_staunch/or%2Fders", 0o777); err != nil {
		t.Fatal(err)
	}
	var x *exitError
	if err := knownJobs(s); !errors.As(err, &x) || x.code != exitUsage || !strings.Contains(err.Error(), "no log of job job, but of or/ders") {
		t.Error(err)
	}
	if err := os.MkdirAll(dir+"/b/_staunch/job", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := knownJobs(s); err != nil {
		t.Error(err)
	}
}

func TestAuditTargets(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "job.sql")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(auditSQL, "DIR", dir)), 0o666); err != nil {
		t.Fatal(err)
	}
	targets, _, err := auditTargets(&scriptFlags{logFormat: "text"}, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range targets {
		if len(x.opts.JobLogs) != 1 || x.opts.JobLogs[0].Key != x.root || !strings.HasSuffix(x.opts.JobLogs[0].Dir, "/job/log") {
			t.Errorf("%+v", x.opts.JobLogs)
		}
	}
	if len(targets) != 2 || targets[0].root != dir+"/a" || targets[0].opts.Success != "READY" || targets[1].root != dir+"/b" || targets[1].opts.Success != "_SUCCESS" {
		t.Errorf("%+v", targets)
	}
	away := "SET 'execution.checkpointing.dir' = 's3://x/ck';\n" + strings.ReplaceAll(auditSQL, "DIR", dir)
	if err := os.WriteFile(dir+"/away.sql", []byte(away), 0o666); err != nil {
		t.Fatal(err)
	}
	targets, _, err = auditTargets(&scriptFlags{logFormat: "text"}, dir+"/away.sql")
	if err != nil || len(targets) != 2 {
		t.Fatal(err, targets)
	}
	for _, x := range targets {
		if len(x.opts.JobLogs) != 1 || x.opts.JobLogs[0].Err == nil {
			t.Errorf("a job's log that cannot be looked at must be said: %+v", x.opts.JobLogs)
		}
	}
	for _, bad := range []string{dir + "/missing.sql", "hdfs://a/b"} {
		var x *exitError
		if _, _, err := auditTargets(&scriptFlags{logFormat: "text"}, bad); !errors.As(err, &x) || x.code != exitUsage {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := os.WriteFile(dir+"/text", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := auditTargets(&scriptFlags{}, dir+"/text"); err == nil {
		t.Error("a file is taken for a table")
	}
}

func TestAuditOutput(t *testing.T) {
	dir := t.TempDir()
	targets, _, err := auditTargets(&scriptFlags{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var x *exitError
	if err := auditAll(context.Background(), &out, targets, false, "json", nil); !errors.As(err, &x) || x.code != exitFailed {
		t.Errorf("a folder without a log: %v", err)
	}
	var got struct {
		Problems int
		Tables   []struct{ Verdict string }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Problems != 1 || got.Tables[0].Verdict != "problems" {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	if err := auditAll(context.Background(), &out, targets, false, "text", nil); err == nil || !strings.Contains(out.String(), "PROBLEM no-log") {
		t.Errorf("%v\n%s", err, &out)
	}
	for _, args := range [][]string{{"audit", dir, "--columns", "part"}, {"audit", dir, "--repair"}, {"audit", dir, "--against-broker"},
		{"audit", dir, "--against-broker", "--bootstrap-server", "nothing"}, {"audit", dir, "--export", "x", "--certificate", "y"},
		{"audit", dir, "--certificate", dir + "/none"}, {"audit", dir, "--export", "x", "--names", "connect"}, {"audit", dir, "--output", "xml"}} {
		c := rootCmd()
		c.SetArgs(args)
		if err := c.Execute(); !errors.As(err, &x) || x.code != exitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestExportRefused: an export that is refused writes no certificate, and its report as it was asked for; the empty file is told from a damaged one.
func TestExportRefused(t *testing.T) {
	dir := t.TempDir()
	targets, _, err := auditTargets(&scriptFlags{logFormat: "text"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"text", "json"} {
		var out, log bytes.Buffer
		err := (&exportFlags{partition: "."}).export(context.Background(), &out, &log, targets, false, output)
		var report struct{ Problems int }
		if isJSON := json.Unmarshal(log.Bytes(), &report) == nil && report.Problems == 1; err == nil || out.Len() > 0 || isJSON != (output == "json") {
			t.Errorf("%s: %v, %q, %q", output, err, &out, &log)
		}
	}
	file := filepath.Join(dir, "cert.json")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var x *exitError
	err = (&exportFlags{certificate: file}).verify(context.Background(), nil, &scriptFlags{logFormat: "text"}, dir, false, "text")
	if !errors.As(err, &x) || x.code != exitUsage || !strings.Contains(err.Error(), "is empty: its export was refused") {
		t.Error(err)
	}
}
