//go:build peer

package hdfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"staunch/test/peer"
)

// TestTraceNamesWhoTookTheFile: a job on HDFS is killed behind its second certificate, another user removes the folder of a promised file, and the
// next run stops. By the NameNodes' own audit logs the trace names the delete, its client, its time and the records.
func TestTraceNamesWhoTookTheFile(t *testing.T) {
	h := peer.NewHDFS(t)
	dir := t.TempDir()
	bin, file := filepath.Join(dir, "staunch"), filepath.Join(dir, "traced.sql")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, "staunch/cmd/staunch").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	base := fmt.Sprintf("hdfs://testbed/traced-%d", os.Getpid())
	sql := fmt.Sprintf(`SET 'execution.checkpointing.interval' = '500ms';
SET 'execution.checkpointing.dir' = '%[1]s/ck';
CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '100000');
CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '%[1]s/table', 'format' = 'json');
INSERT INTO files SELECT n FROM numbers;
`, base)
	if err := os.WriteFile(file, []byte(sql), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(failpoint string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Env = append(os.Environ(), "HADOOP_USER_NAME=etl", "STAUNCH_FAILPOINT="+failpoint)
		var b bytes.Buffer
		cmd.Stdout, cmd.Stderr = &b, &b
		var x *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &x) {
			t.Fatal(err)
		}
		return b.String(), cmd.ProcessState.ExitCode()
	}
	root := strings.TrimPrefix(base, "hdfs://testbed")
	h.Shell("-mkdir", root)
	h.Shell("-chmod", "777", root)
	if out, code := run("certificate.after:2", "run", file); code != -1 {
		t.Fatalf("it was not killed: %d\n%s", code, out)
	}
	pending, _ := run("", "trace", file)
	at := strings.Index(pending, "written as ")
	if at < 0 {
		t.Fatalf("nothing is on its way:\n%s", pending)
	}
	victim := base + "/table/" + strings.Fields(pending[at:])[2]
	h.Shell("-chmod", "-R", "777", root)
	t.Setenv("HADOOP_USER_NAME", "anna")
	h.Shell("-rm", "-r", "-skipTrash", path.Dir(strings.TrimPrefix(victim, "hdfs://testbed")))
	if err := os.Unsetenv("HADOOP_USER_NAME"); err != nil { // put back when the test ends
		t.Fatal(err)
	}
	if out, code := run("", "run", file); code != 1 || !strings.Contains(out, "class=lost") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	out, code := run("", "trace", file, "--path", victim, "--audit-log", h.Audit[0], "--audit-log", h.Audit[1])
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, want := range []string{"most likely cause: foreign client", "<== foreign client", "anna@", "not the client that wrote the job's files (etl@", "datagen-0 offsets", "operations of both"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(out, "cannot be read") {
		t.Error("lines of a real audit log cannot be read")
	}
	t.Log(out)
}
