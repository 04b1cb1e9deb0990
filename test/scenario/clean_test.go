package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/clean"
)

// littered runs a job through kills that leave pending files and staged entries behind, and stops it before a certificate: the files of that
// checkpoint are promised and lie among the others. It gives what is promised.
func littered(t *testing.T, s *script) []string {
	t.Helper()
	for _, point := range []string{"done.after:2", "write.closed:2", "ack.all:2", "log.staged:9", "prepare.durable"} {
		s.start("STAUNCH_FAILPOINT=" + point).killed()
	}
	before := pending(t, s.path("lake"))
	if len(before) == 0 {
		t.Fatal("the kills left no file")
	}
	s.start("STAUNCH_FAILPOINT=certificate.before:2").killed()
	b, err := os.ReadFile(newest(t, s.path("checkpoints", "job", "log"), "", account.KindComplete))
	if err != nil {
		t.Fatal(err)
	}
	var promised []string
	for _, p := range pending(t, s.path("lake")) {
		if strings.Contains(string(b), filepath.Base(p)) {
			promised = append(promised, p)
		}
	}
	if len(promised) == 0 || len(promised) == len(pending(t, s.path("lake"))) {
		t.Fatalf("%d of %d pending files are promised", len(promised), len(pending(t, s.path("lake"))))
	}
	return promised
}

// cleaned runs `staunch clean` and gives what it says it did.
func (s *script) cleaned(code int, args ...string) clean.Report {
	s.t.Helper()
	p := s.program(append([]string{"clean", s.file, "--output", "json"}, args...)...).exits(code)
	var out struct{ Jobs []clean.Report }
	if err := json.Unmarshal([]byte(p.stdout()), &out); err != nil || len(out.Jobs) != 1 {
		s.t.Fatalf("%v:\n%s", err, p.shown())
	}
	return out.Jobs[0]
}

// counts gives the number of removals of each kind, and of what is left for each reason.
func counts(r clean.Report) (map[clean.Kind]int, map[clean.Reason]int64) {
	removed, left := map[clean.Kind]int{}, map[clean.Reason]int64{}
	for _, p := range r.Places {
		for _, i := range p.Removed {
			removed[i.Kind]++
		}
		for _, k := range p.Left {
			left[k.Reason] += k.Count
		}
	}
	return removed, left
}

// TestClean: what ended attempts left goes by exact name; what is promised, foreign, another job's or the newest attempt's stays (P3).
func TestClean(t *testing.T) {
	t.Parallel()
	s := three(t)
	promised := littered(t, s)
	tmp := s.path("lake", "_DUMP_TEMPORARY")
	foreign := []string{filepath.Join(tmp, "notes.txt"), filepath.Join(filepath.Dir(promised[0]), "task_dorado_111111111_0_3.1700000000000"),
		strings.Replace(promised[0], account.Job8("job"), account.Job8("other"), 1), s.path("lake", "_staunch", "job", "remarks")}
	for _, f := range foreign {
		s.write(f, "not ours")
	}
	staged, err := filepath.Glob(s.path("lake", "_staunch", "job", "staged-*"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(s.path("checkpoints", "job", "log", "staged-*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(staged)+len(own) == 0 {
		t.Fatal("no entry was staged and not placed")
	}
	long := time.Now().Add(-2 * time.Hour)
	for _, f := range append(staged, own...) { // a begin does not tell its epoch: it goes after an hour
		if err := os.Chtimes(f, long, long); err != nil {
			t.Fatal(err)
		}
	}

	if removed, left := counts(s.cleaned(0, "--older-than", "7d")); len(removed) > 0 && removed[clean.Folder] == 0 || len(removed) > 1 || left[clean.Young] == 0 {
		t.Errorf("of today's files it removed %v, left %v", removed, left)
	}
	before := snapshot(t, s.dir)
	dry, _ := counts(s.cleaned(0, "--older-than", "0s", "--dry-run"))
	unchanged(t, s.dir, before)

	r := s.cleaned(0, "--older-than", "0s")
	removed, left := counts(r)
	if removed[clean.Pending] == 0 || removed[clean.Staged] != len(staged)+len(own) || removed[clean.Pending] != dry[clean.Pending] || removed[clean.Folder] == 0 && dry[clean.Folder] > 0 {
		t.Errorf("removed %v; the dry run said %v; staged were %v %v", removed, dry, staged, own)
	}
	if left[clean.Foreign] != 3 || left[clean.OtherJob] != 1 || left[clean.Named] != int64(len(promised)) {
		t.Errorf("left %v, and %d are promised", left, len(promised))
	}
	after := snapshot(t, s.dir)
	for _, f := range append(foreign, promised...) {
		if _, ok := after[f]; !ok {
			t.Errorf("%s is gone", f)
		}
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			t.Errorf("%s was left by the cleaning itself", p)
		}
	}

	s.finishes()
	if again, left := counts(s.cleaned(0, "--older-than", "0s")); again[clean.Pending] > 0 || left[clean.Foreign] != 3 {
		t.Errorf("at rest it removed %v, left %v", again, left)
	}
}

// TestCleanWhileRunning: the job runs on under a cleaning that takes whatever it may, again and again, over some checkpoints.
func TestCleanWhileRunning(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=ack.all:3").killed()
	p := s.start()
	p.awaits("restored")
	before := len(files(t, s.path("lake"), "json"))
	until(t, "five more checkpoints", p, func() bool {
		s.program("clean", s.file, "--older-than", "0s").exits(0)
		return len(files(t, s.path("lake"), "json")) >= before+15
	})
	p.stop()
	s.finishes()
}

// TestCleanRefuses: without the job's log nothing is known, and nothing is removed.
func TestCleanRefuses(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.program("clean", s.file).exits(2).says("--older-than is needed")
	s.program("clean", s.file, "--older-than", "soon").exits(2).says("--older-than soon", "accepted is")
	s.program("clean", s.file, "--older-than", "7d").exits(2).says("has no log in", "execution.checkpointing.dir")
	s.start("STAUNCH_FAILPOINT=ack.all:3").killed()
	before := snapshot(t, s.dir)
	move(t, s.path("checkpoints"), s.path("elsewhere"))
	s.program("clean", s.file, "--older-than", "0s").exits(2).says("has no log in")
	move(t, s.path("elsewhere"), s.path("checkpoints"))
	unchanged(t, s.dir, before)

	complete := newest(t, s.path("checkpoints", "job", "log"), "", account.KindComplete)
	s.write(complete, "staunch-log 1 complete ")
	s.program("clean", s.file, "--older-than", "0s").exits(1).says(complete)
	if len(pending(t, s.path("lake"))) == 0 {
		t.Error("files were removed although the log cannot be read")
	}
}
