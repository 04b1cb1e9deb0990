//go:build peer

package hdfs

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"staunch/clean"
	"staunch/test/peer"
)

// killedAt runs the job until the failpoint kills it.
func (s *script) killedAt(point string) {
	s.t.Helper()
	bin := os.Getenv("STAUNCH_FAILPOINT_BIN")
	if bin == "" {
		s.t.Fatal("STAUNCH_FAILPOINT_BIN is not set: run `make peers`")
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "run", s.file)
	cmd.Env = append(append(os.Environ(), "STAUNCH_FAILPOINT="+point), s.env...)
	out, err := cmd.CombinedOutput()
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGKILL || ctx.Err() != nil {
		s.t.Fatalf("%s: %v, want SIGKILL by the failpoint:\n%s", point, err, out)
	}
}

// cleaned cleans up and gives what was done.
func (s *script) cleaned(flags ...string) clean.Report {
	s.t.Helper()
	cmd := exec.Command(program(s.t), append([]string{"clean", s.file, "--output", "json"}, flags...)...)
	cmd.Env = append(cmd.Environ(), s.env...)
	b, err := cmd.Output()
	var out struct{ Jobs []clean.Report }
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil || len(out.Jobs) != 1 {
		s.t.Fatalf("clean: %v\n%s", err, b)
	}
	return out.Jobs[0]
}

// TestLeftovers: a job on HDFS, with both settings of temporary-cleanup in turn, is killed where it leaves files behind, open ones too; they are
// cleaned up while it stands and while it runs. Each row is there once, and nothing of the job's own is left.
func TestLeftovers(t *testing.T) {
	h := peer.NewHDFS(t)
	dir := folder(t)
	table := dir + "/lake"
	k := newTopic(t, 1)
	k.fill(200)
	sql := copyTo(k, uri(table))
	conf := []string{"HADOOP_CONF_DIR=" + h.ConfDir}
	swept := false
	var s *script
	for i, point := range []string{"done.after", "write.created", "write.closed", "ack.all", "log.staged:3", "certificate.before", "write.closed"} {
		s = newScript(t, "leftover", uri(dir+"/checkpoints"), []string{"", "SET 'staunch.table.lake.temporary-cleanup' = 'before-write';\n"}[i%2]+sql, conf...)
		k.fill(50)
		if point == "ack.all" { // see what the setting does
			p := s.start("run")
			p.awaits("checkpoint committed")
			swept = swept || strings.Contains(p.text(), "were deleted before the first write")
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.done
			k.fill(50)
		}
		s.killedAt(point)
	}
	before := s.cleaned("--older-than", "0s", "--dry-run")
	if n := len(before.Places[0].Removed); n == 0 {
		t.Errorf("the kills left nothing: %+v", before.Places[0])
	}
	p := s.start("run")
	p.awaits("checkpoint committed")
	k.fill(50)
	for range 3 {
		r := s.cleaned("--older-than", "0s")
		for _, place := range r.Places {
			if len(place.Failed) > 0 {
				t.Errorf("%+v", place.Failed)
			}
		}
	}
	want := k.filled
	until(t, "all rows", func() bool { return read(t, table, "json").Rows >= want })
	p.stop()
	if got := read(t, table, "json"); got.Rows != want || got.Distinct != want {
		t.Errorf("%+v, want %d rows, each once", got, want)
	}
	judged(t, table)
	// One more begin ends the newest attempt.
	last := s.start("run")
	last.awaits("restored")
	last.stop()
	s.cleaned("--older-than", "0s")
	for p := range tree(t, h, table) {
		if strings.HasSuffix(p, ".pending") {
			t.Errorf("left: %s", p)
		}
	}
	if !swept {
		t.Error("before-write deleted nothing")
	}
}
