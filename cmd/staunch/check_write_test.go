package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const deniedJob = `
SET 'execution.checkpointing.dir' = '%s';
CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '10');
CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json');
INSERT INTO files SELECT n FROM numbers;
`

// TestDenied: where nothing can be written, a check says so and leaves nothing behind, and a start ends at once, with class user. Root may write
// anywhere, so that its program runs as another user.
func TestDenied(t *testing.T) {
	const nobody = 65534
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 {
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	dir, err := os.MkdirTemp("/tmp", "denied") // the test's own folder is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // best effort
	bin := filepath.Join(dir, "staunch")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range []string{"", "/open", "/closed", "/there", "/there/_DUMP_TEMPORARY", "/split"} {
		if err := os.MkdirAll(dir+d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir+d, 0o755); err != nil { //nolint:gosec // others are to look
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/closed", 0o555); err != nil { //nolint:gosec // others are to look
		t.Fatal(err)
	}
	for _, d := range []string{"/open", "/there", "/there/_DUMP_TEMPORARY", "/split"} {
		if as == nil {
			break // they are this user's
		}
		if err := os.Chown(dir+d, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/afile", nil, 0o644); err != nil { //nolint:gosec // others are to look
		t.Fatal(err)
	}
	// a temporary folder on another file system: nothing written there can become visible
	if err := os.Symlink("/proc", dir+"/split/_DUMP_TEMPORARY"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, checkpoints, table, want string }{
		{"temporary folder elsewhere", "/open/ck6", "/split", "different file systems"},
		{"table", "/open/ck1", "/closed/lake", "/closed"},
		{"table that is there", "/open/ck2", "/closed", "/closed"},
		{"checkpoints", "/closed/ck", "/open/lake", "/closed"},
		{"checkpoints are a file", "/afile", "/open/lake", "/afile"},
		{"checkpoints nowhere", "/../../proc/ck", "/open/lake", "/proc"},
		{"no such place", "/open/ck3", "/../../proc/lake", "/proc"},
		{"nothing", "/open/ck4", "/there", ""},
		{"nothing yet", "/open/ck5", "/open/lake2", ""},
	} {
		file := filepath.Join(dir, "job.sql")
		if err := os.WriteFile(file, fmt.Appendf(nil, deniedJob, filepath.Clean(dir+c.checkpoints), filepath.Clean(dir+c.table)), 0o644); err != nil { //nolint:gosec // another user reads it
			t.Fatal(err)
		}
		run := func(command string) (string, int) {
			cmd := exec.CommandContext(t.Context(), bin, command, file)
			cmd.SysProcAttr = as
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		out, code := run("check")
		if bad := c.want != ""; bad != (code == 1) || bad && (!strings.Contains(out, "fail") || !strings.Contains(out, c.want)) {
			t.Errorf("%s: check: exit code %d\n%s", c.name, code, out)
		}
		for _, d := range []string{"/open", "/there", "/there/_DUMP_TEMPORARY"} {
			l, err := os.ReadDir(dir + d)
			for _, i := range l {
				if strings.HasPrefix(i.Name(), ".staunch") || strings.HasPrefix(i.Name(), "probe") || i.Name() == filepath.Base(c.table) {
					t.Errorf("%s: check left %s (%v)", c.name, i.Name(), err)
				}
			}
		}
		if out, code := run("run"); c.want != "" && (code != 1 || !strings.Contains(out, "class=user") || !strings.Contains(out, c.want)) || c.want == "" && code != 0 {
			t.Errorf("%s: run: exit code %d\n%s", c.name, code, out)
		}
	}
}
