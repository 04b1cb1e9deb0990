package scenario

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lossOf runs the job into a loss of so many of its three files of a checkpoint, and gives the id to accept it.
func lossOf(t *testing.T, s *script, n int) (id string) {
	t.Helper()
	s.start("STAUNCH_FAILPOINT=certificate.before:3").killed()
	w := pending(t, s.path("lake"))
	if len(w) != 3 {
		t.Fatalf("%d files are pending, want 3: %v", len(w), w)
	}
	remove(t, w[:n]...)
	p := s.start().exits(1)
	p.says("--repair", "--accept-lost")
	return lossID.FindStringSubmatch(p.text())[1]
}

// proven wants both audits to find nothing, and all rows once.
func (s *script) proven() {
	s.t.Helper()
	wantIDs(s.t, s.path("lake"), span(1, last))
	s.audited(s.path("lake"))
	python, err := exec.LookPath("python3")
	if err != nil { // a machine without it has the test with the tag peer
		return
	}
	launch(s.t, exec.Command(python, filepath.Join("..", "verifier", "verify.py"), s.path("lake"))).exits(0)
}

// repair runs `staunch audit FILE --repair`; args may begin with variables.
func (s *script) repair(args ...string) *process {
	s.t.Helper()
	return s.program(append([]string{"audit", s.file, "--repair"}, args...)...)
}

// TestRepair: the job stops at a loss, the files are written again, and the job goes on without an accept.
func TestRepair(t *testing.T) {
	t.Parallel()
	s := three(t)
	lossOf(t, s, 2)
	before := snapshot(t, s.path("lake"))
	s.repair("--dry-run").exits(1).says("lost files: 2", "2 would be repaired", "nothing was changed", "file-lost")
	unchanged(t, s.path("lake"), before)
	p := s.repair("--why", "a script took them").exits(0)
	p.says("repaired: "+s.path("lake"), "lost files: 2", "it goes on from here without --accept-lost", "being committed", "a script took them")
	s.repair().exits(0).says("no file is lost")
	s.ends().silent("accept-lost")
	s.proven()
	s.program("trace", s.file, "--prefix", s.path("lake", "_DUMP_TEMPORARY", "repair-")).exits(0).says("repair", "create", "rename", "_DUMP_TEMPORARY/repair-")
	s.repair().exits(0).says("no file is lost")
}

// TestRepairAfterAccept: the job went on without the files; they come back later, also while it runs.
func TestRepairAfterAccept(t *testing.T) {
	t.Parallel()
	s := three(t)
	id := lossOf(t, s, 3)
	job := s.start("--accept-lost", id)
	job.awaits("checkpoint committed")
	var got struct {
		Repairs []struct {
			Files []struct {
				State    string
				Accepted bool
				Rows     int64
				Entry    int64
				XXH128   string
			}
		}
		Problems int
	}
	p := s.repair("--output", "json").exits(0)
	if err := json.Unmarshal([]byte(p.stdout()), &got); err != nil {
		t.Fatalf("%v\n%s", err, p.stdout())
	}
	if got.Problems != 0 || len(got.Repairs) != 1 || len(got.Repairs[0].Files) != 3 {
		t.Fatalf("%s", p.stdout())
	}
	for _, f := range got.Repairs[0].Files {
		if f.State != "repaired" || !f.Accepted || f.Rows == 0 || f.Entry == 0 || len(f.XXH128) != 32 {
			t.Errorf("%+v", f)
		}
	}
	job.stop()
	s.ends()
	s.proven()
}

// TestRepairKilled: a repair that is killed at any step is run again, and the rows are there once.
func TestRepairKilled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"write.created", "repair.staged", "log.placed", "repair.entry", "repair.placed", "repair.entry:2", "repair.synced:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := three(t)
			lossOf(t, s, 2)
			s.repair("STAUNCH_FAILPOINT=" + point).killed()
			s.repair().exits(0).says("being committed")
			s.ends()
			s.proven()
			// what the killed ones left goes by its rule
			s.program("clean", s.file, "--older-than", "0s").exits(0)
		})
	}
}

// TestRepairKilledThenRun: the job is started while a repair has not got to its end.
func TestRepairKilledThenRun(t *testing.T) {
	t.Parallel()
	s := three(t)
	lossOf(t, s, 1)
	s.repair("STAUNCH_FAILPOINT=repair.entry").killed()
	s.start().exits(1).says("--repair") // the replacement waits, and nothing but a repair moves it
	s.repair().exits(0).says("finished: "+s.path("lake"), "1 finished")
	s.ends()
	s.proven()
}

// TestRepairTwiceAtOnce: two operators at the same time, and the job is started meanwhile.
func TestRepairTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := three(t)
	id := lossOf(t, s, 3)
	a, b, job := s.repair(), s.repair(), s.start("--accept-lost", id)
	a.exits(0)
	b.exits(0)
	job.awaits("checkpoint committed")
	job.stop()
	s.ends()
	s.proven()
}

// TestRepairCompletesPartition: a partition with a lost file is not declared complete; when the file is there again, the next run declares it.
func TestRepairCompletesPartition(t *testing.T) {
	t.Parallel()
	s := newScript(t, apart+sequence(1, last, rate)+"CREATE TABLE lake (id BIGINT, m BIGINT) PARTITIONED BY (m) WITH ('connector'='filesystem','path'='$DIR/lake','format'='json',"+
		"'sink.partition-commit.policy.kind'='success-file','sink.partition-commit.trigger'='process-time','sink.partition-commit.delay'='1 h');\n"+
		"INSERT INTO lake SELECT id, MOD(id, 3) FROM gen;\n")
	id := lossOf(t, s, 1)
	s.start("--accept-lost", id, "STAUNCH_FAILPOINT=done.after:3").killed()
	s.repair().exits(0)
	s.ends().says("the lost files of a partition are there again")
	for _, m := range []string{"0", "1", "2"} {
		if _, err := os.Stat(s.path("lake", "m="+m, "_SUCCESS")); err != nil {
			t.Error(err)
		}
	}
	s.audited(s.path("lake"))
}

// TestRepairRefused: a statement that was changed cannot write the file again; both are shown, and the table is as it was.
func TestRepairRefused(t *testing.T) {
	t.Parallel()
	s := three(t)
	lossOf(t, s, 1)
	b, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.file, strings.Replace(string(b), "SELECT id, MOD", "SELECT id + 0, MOD", 1))
	before := snapshot(t, s.path("lake"))
	s.repair().exits(1).says("refused: ", "another statement", "SELECT id, MOD(id, 3)", "SELECT id + 0, MOD(id, 3)", "what to do: ", "still lost: 1")
	unchanged(t, s.path("lake"), before)
	for _, args := range [][]string{{"audit", s.path("lake"), "--repair"}, {"audit", s.file, "--dry-run"}, {"audit", s.file, "--why", "x"}} {
		s.program(args...).exits(2).says("--repair")
	}
}

// TestAmend: a rewrite on purpose is recorded, so that audits expect it; what would hide a loss or double rows is refused.
func TestAmend(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=done.after:3").killed() // so that a partition has several files
	s.ends()
	found, err := filepath.Glob(s.path("lake", "m=1", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string // two with several rows each: the first checkpoint may have come upon a single one
	lines := ""
	for _, f := range found {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(b), "\n") > 1 && len(all) < 2 {
			all = append(all, f)
			lines += string(b)
		}
	}
	if len(all) < 2 {
		t.Fatalf("of %v only %v have several rows", found, all)
	}
	first, rest, _ := strings.Cut(lines, "\n")
	amend := func(args ...string) *process { return s.program(append([]string{"amend", s.path("lake")}, args...)...) }
	rel := func(f string) string { return strings.TrimPrefix(f, s.path("lake")+"/") }
	both := []string{"--removed", rel(all[0]), "--removed", all[1], "--added", "m=1/joined.json", "--why", "request 4711"}
	amend(both...).exits(2).says("joined.json is not there")
	s.write(s.path("lake", "m=1", "joined.json"), rest)
	amend(both...).exits(2).says(all[0]+" is still there", "nothing was written")
	move(t, all[0], s.path("a"))
	move(t, all[1], s.path("b"))
	s.program("audit", s.path("lake")).exits(1).says("file-missing")
	amend("--removed", rel(all[0]), "--added", "m=1/joined.json", "--why", "x").exits(2).says("rows more than the removed ones")
	amend("--removed", "m=1/other.json", "--why", "x").exits(2).says("no certificate names")
	amend("--removed", filepath.Base(all[0]), "--added", "m=1/joined.json", "--why", "x").exits(2).says("no certificate names", "by the paths that staunch audit shows")
	amend("--removed", rel(all[0]), "--added", "m=2/joined.json", "--why", "x").exits(2).says("another partition")
	amend(both[:6]...).exits(2).says("a reason is needed")
	amend(append(both, "--job", "other")...).exits(2).says("job 'other' has not written")
	amend(append(both, "--dry-run")...).exits(0).says("would be recorded", "rows that went on purpose: 1")
	amend(both...).exits(0).says("recorded as entry", "rows that went on purpose: 1")
	amend(both...).exits(0).says("records this rewrite already")
	amend("--removed", rel(all[0]), "--why", "again").exits(2).says("taken out of the table before")
	if out := s.audited(s.path("lake")); !strings.Contains(out, "request 4711") {
		t.Errorf("the audit does not tell of it:\n%s", out)
	}
	if python, err := exec.LookPath("python3"); err == nil {
		launch(t, exec.Command(python, filepath.Join("..", "verifier", "verify.py"), s.path("lake"))).exits(0)
	}
	// the new file is guarded as the old ones were, and may be rewritten under its own name
	s.write(s.path("lake", "m=1", "joined.json"), first+"\n"+rest)
	s.program("audit", s.path("lake")).exits(1).says("joined.json")
	amend("--removed", "m=1/joined.json", "--added", "m=1/joined.json", "--why", "taken back").exits(2).says("1 rows more")
	_, less, _ := strings.Cut(rest, "\n")
	s.write(s.path("lake", "m=1", "joined.json"), less)
	amend("--removed", "m=1/joined.json", "--added", "m=1/joined.json", "--why", "request 4712", "--output", "json").exits(0).says(`"rows_removed": 1`)
	s.audited(s.path("lake"))
}
