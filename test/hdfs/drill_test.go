//go:build peer

package hdfs

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

	"staunch/test/peer"
)

// TestDrillOnHDFS: the program is drilled over a real NameNode, in whose audit log every changing call of the drill is one below its own folder.
func TestDrillOnHDFS(t *testing.T) {
	h := peer.NewHDFS(t)
	root := fmt.Sprintf("/drilled-%d", os.Getpid())
	file := filepath.Join(t.TempDir(), "numbers.sql")
	sql := fmt.Sprintf(`SET 'execution.checkpointing.dir' = 'hdfs://testbed%[1]s/ck';
CREATE TABLE numbers (n BIGINT, k INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10000', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3000',
  'fields.k.min' = '1', 'fields.k.max' = '2');
CREATE TABLE files (n BIGINT, k INT) PARTITIONED BY (k) WITH ('connector' = 'filesystem', 'path' = 'hdfs://testbed%[1]s/table', 'format' = 'parquet',
  'sink.partition-commit.policy.kind' = 'success-file');
INSERT INTO files SELECT n, k FROM numbers;
`, root)
	if err := os.WriteFile(file, []byte(sql), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(user string, args ...string) (string, string, int) {
		cmd := exec.CommandContext(t.Context(), program(t), args...)
		cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+user)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		var x *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &x) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	h.Shell("-mkdir", root)
	h.Shell("-chmod", "777", root)
	if _, errs, code := run("etl", "run", file); code != 0 {
		t.Fatalf("the real job: %d\n%s", code, errs)
	}
	// another user may read what the real job wrote, and nothing else
	out, errs, code := run("drillmaster", "drill", file, "--records", "1000", "--steps", "rename pending file", "--faults", "kill-after,done-false,kill-late",
		"--output", "json")
	var rep struct {
		Drill struct {
			Runs []struct {
				Verdict string `json:"verdict"`
			} `json:"runs"`
		} `json:"drill"`
		Untouched []struct {
			What string `json:"what"`
			Same bool   `json:"same"`
		} `json:"untouched"`
	}
	if err := json.Unmarshal([]byte(out), &rep); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	n := map[string]int{}
	for _, r := range rep.Drill.Runs {
		n[r.Verdict]++
	}
	t.Log(n)
	if n["held"] != len(rep.Drill.Runs) || n["held"] != 3+2 { // and two in the process after a kill
		t.Errorf("%v", n)
	}
	for _, u := range rep.Untouched {
		if !u.Same {
			t.Errorf("%+v", u)
		}
	}
	changes := 0
	for _, line := range auditLines(t, h) {
		cmd := logField(line, "cmd=")
		if !strings.Contains(line, "ugi=drillmaster ") || cmd == "getfileinfo" || cmd == "open" || cmd == "listStatus" || cmd == "contentSummary" || cmd == "getServerDefaults" {
			continue
		}
		changes++
		for _, p := range []string{logField(line, "src="), logField(line, "dst=")} {
			if p != "null" && !strings.HasPrefix(p, root+"/.staunch-drill-") {
				t.Errorf("a call outside of the drill's folder: %s", line)
			}
		}
	}
	if changes < 50 {
		t.Errorf("%d changing calls in the audit logs", changes)
	}
	if list := h.Shell("-ls", root); strings.Contains(list, ".staunch-") {
		t.Errorf("left:\n%s", list)
	}
}

// auditLines are the lines of both NameNodes' audit logs.
func auditLines(t *testing.T, h *peer.HDFS) (out []string) {
	t.Helper()
	for _, name := range h.Audit {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		out = append(out, strings.Split(string(b), "\n")...)
	}
	return out
}

// logField is the value behind a name in a line of an audit log.
func logField(line, name string) string {
	_, rest, _ := strings.Cut(line, name)
	value, _, _ := strings.Cut(rest, "\t")
	return value
}
