package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// retained are the flags of a job that keeps some checkpoints to go back to.
var retained = []string{"-D", "execution.checkpointing.num-retained=10"}

// killedLate is the job of numbers with checkpoints to go back to, killed when its fifth one with rows was done. It gives the id of the third.
func killedLate(t *testing.T) (*script, string) {
	t.Helper()
	s := numbers(t)
	s.start(append(retained, "STAUNCH_FAILPOINT=done.after:5")...).killed()
	all := s.checkpoints()
	if len(all) < 5 {
		t.Fatalf("retained are %v", all)
	}
	return s, strconv.Itoa(all[len(all)-3].id)
}

// held is a completed checkpoint in the job's log.
type held struct {
	id   int
	path string
}

// checkpoints reads the completed checkpoints in the job's log, in order.
func (s *script) checkpoints() (out []held) {
	s.t.Helper()
	for _, p := range entries(s.t, s.log(), "") {
		if kind(s.t, p) != "complete" {
			continue
		}
		b, err := os.ReadFile(p)
		if err != nil {
			s.t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(b), "\n")
		var m struct {
			Checkpoint int `json:"checkpoint"`
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			s.t.Fatalf("%s: %v", p, err)
		}
		out = append(out, held{m.Checkpoint, p})
	}
	return out
}

// log is the folder of the job's log.
func (s *script) log() string { return s.path("checkpoints", "job", "log") }

// refusesBack wants a refusal that changes nothing at all.
func (s *script) refusesBack(flags []string, words ...string) *process {
	s.t.Helper()
	before := snapshot(s.t, s.dir)
	p := s.start(append(slices.Clone(retained), flags...)...).exits(1).says(words...)
	unchanged(s.t, s.dir, before)
	return p
}

// TestGoBackRefused: newer output is never written over without a word.
func TestGoBackRefused(t *testing.T) {
	t.Parallel()
	s, id := killedLate(t)
	s.refusesBack([]string{"--from-savepoint", id}, "going back to checkpoint "+id, "newer output", s.path("lake"), "the newest in the job's log is checkpoint",
		"--on-newer-output rewind", "--on-newer-output keep", "nothing was changed")
	s.refusesBack([]string{"--fresh"}, "going back to nothing (--fresh)", s.path("lake"), "--on-newer-output rewind")
	s.refusesBack([]string{"-D", "execution.savepoint.path=" + s.checkpoints()[0].path}, "going back to checkpoint", s.path("lake"))
	s.finishes(retained...)
}

// TestGoBack: keep gives every row at least once, rewind each once, from each way to name the checkpoint.
func TestGoBack(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(s *script, id string) string{
		"id":   func(_ *script, id string) string { return id },
		"file": func(s *script, id string) string { return s.entryOf(id) },
		"copy": func(s *script, id string) string {
			b, err := os.ReadFile(s.entryOf(id))
			if err == nil {
				err = os.WriteFile(s.path("kept.checkpoint"), b, 0o644)
			}
			if err != nil {
				s.t.Fatal(err)
			}
			return "file://" + s.path("kept.checkpoint")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, id := killedLate(t)
			visible := files(t, s.path("lake"), "json")
			p := s.ends(append(retained, "--from-savepoint", at(s, id), "--on-newer-output", "rewind")...)
			p.says("going back", "newer output was moved out of the table", s.path("lake", "_superseded"))
			wantIDs(t, s.path("lake"), span(1, last))
			s.audited(s.path("lake"))
			s.neverDeleted(visible)
			s.start(retained...).exits(0).says("has finished before")
		})
	}
	t.Run("keep", func(t *testing.T) {
		t.Parallel()
		s, id := killedLate(t)
		visible := snapshot(t, s.path("lake"))
		s.ends(append(retained, "--from-savepoint", id, "--on-newer-output", "keep")...).says("newer output stays")
		got := ids(t, s.path("lake"))
		if all := slices.Compact(slices.Clone(got)); !slices.Equal(all, span(1, last)) || len(got) == last {
			t.Errorf("%d rows, %d of them different", len(got), len(all))
		}
		for p, b := range visible {
			if now, err := os.ReadFile(p); strings.HasSuffix(p, ".json") && (err != nil || string(now) != b) {
				t.Errorf("%s was changed: %v", p, err)
			}
		}
		s.program("audit", s.path("lake")).exits(0).says("by order")
	})
}

// entryOf is the file of a checkpoint's entry.
func (s *script) entryOf(id string) string {
	s.t.Helper()
	for _, c := range s.checkpoints() {
		if strconv.Itoa(c.id) == id {
			return c.path
		}
	}
	s.t.Fatalf("checkpoint %s is not retained", id)
	return ""
}

// neverDeleted wants each file that was visible to be visible or under _superseded.
func (s *script) neverDeleted(visible []string) {
	s.t.Helper()
	for _, p := range visible {
		if _, err := os.Stat(p); err == nil {
			continue
		}
		rel, err := filepath.Rel(s.path("lake"), p)
		if err != nil {
			s.t.Fatal(err)
		}
		if m, err := filepath.Glob(s.path("lake", "_superseded", "*", rel+".superseded")); err != nil || len(m) != 1 {
			s.t.Errorf("%s is neither visible nor superseded: %v %v", p, m, err)
		}
	}
}

// TestGoBackKilled: killed at each step of going back, the job goes on, with the order or without, and each row is there once.
func TestGoBackKilled(t *testing.T) {
	t.Parallel()
	for i, point := range []string{"begin.before", "begin.after", "claim.after", "rewind.before", "rewind.job", "rewind.table", "rewind.moved.one", "rewind.moved.one:2",
		"rewind.moved.all", "rewound.after", "restore.committed", "log.staged", "log.placed", "log.placed:2", "log.placed:3", "log.placed:4", "log.placed:5"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s, id := killedLate(t)
			order := append(slices.Clone(retained), "--from-savepoint", id, "--on-newer-output", "rewind")
			s.start(append(order, "STAUNCH_FAILPOINT="+point)...).killed()
			again := order
			if i%2 == 1 {
				again = retained
			}
			s.finishes(again...)
		})
	}
	t.Run("keep.after", func(t *testing.T) {
		t.Parallel()
		s, id := killedLate(t)
		order := append(slices.Clone(retained), "--from-savepoint", id, "--on-newer-output", "keep")
		s.start(append(order, "STAUNCH_FAILPOINT=keep.after")...).killed()
		s.ends(order...)
		got := ids(t, s.path("lake"))
		want := slices.Clone(got)
		if want = slices.Compact(want); !slices.Equal(want, span(1, last)) || len(got) >= 2*last {
			t.Errorf("%d rows", len(got))
		}
		s.audited(s.path("lake"))
	})
}

// TestFresh: a start from nothing, with output of the job there.
func TestFresh(t *testing.T) {
	t.Parallel()
	t.Run("rewind", func(t *testing.T) {
		t.Parallel()
		s, _ := killedLate(t)
		visible := files(t, s.path("lake"), "json")
		s.finishes("--fresh", "--on-newer-output", "rewind")
		s.neverDeleted(visible)
	})
	t.Run("finished", func(t *testing.T) { // a job that had finished does all its work again
		t.Parallel()
		s := numbers(t)
		s.ends()
		s.start("--fresh", "--on-newer-output", "rewind").exits(0).silent("finished before")
		wantIDs(t, s.path("lake"), span(1, last))
		s.audited(s.path("lake"))
	})
	t.Run("table gone", func(t *testing.T) {
		t.Parallel()
		s, _ := killedLate(t)
		move(t, s.path("lake"), s.path("kept"))
		s.start().exits(1).says("is gone", "--fresh")
		s.ends("--fresh").says(`"newer output"=none`)
		wantIDs(t, s.path("lake"), span(1, last))
		s.audited(s.path("lake"))
	})
	t.Run("nothing there", func(t *testing.T) {
		t.Parallel()
		s := numbers(t)
		s.finishes("--fresh")
	})
}

// TestTorn is case 28: the newest completed checkpoint cannot be read. The start names it and the newest good one, and goes back by order.
func TestTorn(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func(b []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"gone":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := killedLate(t)
			all := s.checkpoints()
			torn, good := all[len(all)-1], strconv.Itoa(all[len(all)-2].id)
			b, err := os.ReadFile(torn.path)
			if err == nil && tear != nil {
				err = os.WriteFile(torn.path, tear(b), 0o644)
			} else if err == nil {
				err = os.Remove(torn.path)
			}
			if err != nil {
				t.Fatal(err)
			}
			if tear != nil {
				s.refusesBack(nil, torn.path, "--from-savepoint "+good, "nothing was changed")
			} else {
				s.start(retained...).exits(1).says(s.path("lake"), "--on-newer-output rewind")
			}
			s.refusesBack([]string{"--from-savepoint", good}, "newer output", s.path("lake"))
			s.start(append(retained, "--from-savepoint", good, "--on-newer-output", "rewind", "STAUNCH_FAILPOINT=rewind.job")...).killed()
			s.finishes(retained...)
		})
	}
}

// TestFromTable: the checkpoint directory is lost; the table's certificates say where the job stood.
func TestFromTable(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"", "rewind.before", "rewind.job", "restore.committed"} {
		t.Run("killed at "+point, func(t *testing.T) {
			t.Parallel()
			s := interrupted(t)
			if err := os.RemoveAll(s.path("checkpoints")); err != nil {
				t.Fatal(err)
			}
			s.start().exits(1).says(s.path("lake"), "--from-table", "--fresh")
			if point != "" {
				s.start("--from-table", "STAUNCH_FAILPOINT="+point).killed()
			}
			s.finishes("--from-table")
		})
	}
	t.Run("nothing there", func(t *testing.T) {
		t.Parallel()
		s := numbers(t)
		s.start("--from-table").exits(1).says("no table has output", `job "job"`)
	})
	t.Run("not needed", func(t *testing.T) {
		t.Parallel()
		s := interrupted(t)
		s.ends("--from-table").says("--from-table has no effect")
		wantIDs(t, s.path("lake"), span(1, last))
	})
}

// TestOtherDirectory: going back from a checkpoint of another directory, whose log has not ended.
func TestOtherDirectory(t *testing.T) {
	t.Parallel()
	s, id := killedLate(t)
	from := s.entryOf(id)
	there := []string{"-D", "execution.checkpointing.dir=" + s.path("elsewhere"), "--from-savepoint", from}
	s.start(there...).exits(1).says("belongs to job", "--take-over")
	there = append(there, "--take-over")
	s.start(there...).exits(1).says("newer output")
	s.finishes(append(there, "--on-newer-output", "rewind")...)
}

// TestSuperseded: what a rewind took back is no state any more.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	s, id := killedLate(t)
	all := s.checkpoints()
	newest := all[len(all)-1]
	b, err := os.ReadFile(newest.path)
	if err == nil {
		err = os.WriteFile(s.path("kept"), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.start(append(retained, "--from-savepoint", id, "--on-newer-output", "rewind", "STAUNCH_FAILPOINT=done.after:2")...).killed()
	for _, mode := range []string{"refuse", "keep", "rewind"} {
		s.refusesBack([]string{"--from-savepoint", s.path("kept"), "--on-newer-output", mode}, "another history, or superseded", s.path("lake"))
	}
	s.refusesBack([]string{"--from-savepoint", strconv.Itoa(newest.id)}, "has no checkpoint "+strconv.Itoa(newest.id), "retained by this job", id)
	s.finishes(retained...)
}

// TestBadSavepoint: what is no checkpoint of this job is named, with what can be named instead.
func TestBadSavepoint(t *testing.T) {
	t.Parallel()
	s, id := killedLate(t)
	s.write(s.path("text"), "no entry\n")
	b, err := os.ReadFile(s.entryOf(id))
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.path("half"), string(b[:len(b)/2]))
	s.write(s.path("version"), strings.Replace(string(b), "staunch-log 1", "staunch-log 9", 1))
	if err := os.Mkdir(s.path("empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	hint := regexp.MustCompile(`retained by this job: \d+ \(`)
	for _, c := range []struct {
		at    string
		words []string
	}{
		{"999", []string{"has no checkpoint 999"}},
		{s.path("nowhere"), []string{"there is no checkpoint at " + s.path("nowhere")}},
		{s.path("text"), []string{"cannot be read", "not a log entry of Staunch"}},
		{s.path("half"), []string{"cannot be read", "truncated"}},
		{s.path("version"), []string{"cannot be read", `version "9"`}},
		{s.path("empty"), []string{"is no folder of a job's log"}},
		{entries(t, s.log(), "")[0], nil},
	} {
		p := s.refusesBack([]string{"--from-savepoint", c.at}, c.words...)
		if c.words != nil && !hint.MatchString(p.text()) {
			t.Errorf("%s: the retained checkpoints are not named:\n%s", c.at, p.shown())
		}
	}
	s.refusesBack([]string{"--from-savepoint", s.entryOf(id), "-D", "pipeline.name=other"}, `of job "job", and this is job "other"`, "SET 'pipeline.name' = 'job'")
	s.start("--fresh", "--from-table").exits(2).says("from-table", "fresh")
	s.start("--on-newer-output", "overwrite").exits(2).says("refuse, keep or rewind")
	s.finishes(retained...)
}

// TestOlderBackup: the checkpoint directory is an older copy: by order the job goes on from it.
func TestOlderBackup(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	copyTree(t, s.path("checkpoints"), s.path("old"))
	s.start("STAUNCH_FAILPOINT=done.after:2").killed()
	if err := os.RemoveAll(s.path("checkpoints")); err != nil {
		t.Fatal(err)
	}
	move(t, s.path("old"), s.path("checkpoints"))
	s.refuses(s.path("lake"), "older", "--on-newer-output")
	s.finishes("--on-newer-output", "rewind")
}

// TestSeveralJobs: an id names a checkpoint of one job; a folder of checkpoints is one for each.
func TestSeveralJobs(t *testing.T) {
	t.Parallel()
	s := newScript(t, sequence(1, last, rate)+table("lake", "id BIGINT")+table("pond", "id BIGINT")+
		"SET 'pipeline.name' = 'one';\nINSERT INTO lake SELECT id FROM gen;\nSET 'pipeline.name' = 'two';\nINSERT INTO pond SELECT id FROM gen;\n")
	s.start(append(retained, "STAUNCH_FAILPOINT=done.after:6")...).killed()
	s.start(append(retained, "--from-savepoint", "2")...).exits(2).says("2 jobs", "folder of checkpoints")
	s.ends(append(retained, "--from-savepoint", s.path("checkpoints"))...)
	for _, name := range []string{"lake", "pond"} {
		wantIDs(t, s.path(name), span(1, last))
		s.audited(s.path(name))
	}
}

// TestDamagedRewind: the rewind entry itself cannot be read. What it superseded stays superseded; the job goes on from its target by order.
func TestDamagedRewind(t *testing.T) {
	t.Parallel()
	s, id := killedLate(t)
	newest := s.checkpoints()[len(s.checkpoints())-1].id
	s.start(append(retained, "--from-savepoint", id, "--on-newer-output", "rewind", "STAUNCH_FAILPOINT=restore.committed")...).killed()
	all := entries(t, s.log(), "")
	rewind := all[len(all)-1]
	if k := kind(t, rewind); k != "rewind" {
		t.Fatalf("the newest entry is a %s", k)
	}
	if err := os.Truncate(rewind, 200); err != nil {
		t.Fatal(err)
	}
	s.refusesBack(nil, rewind, "--from-savepoint "+strconv.Itoa(newest))
	s.refusesBack([]string{"--from-savepoint", strconv.Itoa(newest), "--on-newer-output", "keep"}, "superseded by a rewind")
	s.finishes(append(retained, "--from-savepoint", id)...)
}

// TestTornOnly: no retained checkpoint can be read. The table says where the job stood.
func TestTornOnly(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	all := s.checkpoints()
	for _, c := range all {
		if err := os.Truncate(c.path, 100); err != nil {
			t.Fatal(err)
		}
	}
	s.start().exits(1).says(all[0].path, "--from-table", "--fresh")
	s.start("--from-table", "STAUNCH_FAILPOINT=begin.after").killed()
	s.finishes("--from-table")
}

// TestTornFromTable: --from-table does not read over damage behind a checkpoint that can be read.
func TestTornFromTable(t *testing.T) {
	t.Parallel()
	s, _ := killedLate(t)
	all := s.checkpoints()
	if err := os.Truncate(all[len(all)-1].path, 100); err != nil {
		t.Fatal(err)
	}
	s.refusesBack([]string{"--from-table"}, all[len(all)-1].path, "--from-savepoint "+strconv.Itoa(all[len(all)-2].id))
	s.finishes(append(retained, "--from-savepoint", strconv.Itoa(all[len(all)-2].id), "--on-newer-output", "rewind")...)
}
