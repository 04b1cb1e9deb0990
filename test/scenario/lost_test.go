package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// pending lists the files that are written and not yet visible.
func pending(t *testing.T, table string) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(table, "_DUMP_TEMPORARY", "*", "*", "*.pending"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func remove(t *testing.T, files ...string) {
	t.Helper()
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// apart keeps checkpoints apart, so that there are rows for each of three partitions between any two of them: behind a late one the next would be due
// at once.
const apart = "SET 'execution.checkpointing.min-pause' = '100 ms';\n"

// three is a job whose checkpoints have three files each, one a partition. Like numbers it would take twenty seconds.
func three(t *testing.T) *script {
	t.Helper()
	return newScript(t, apart+sequence(1, last, rate)+"CREATE TABLE lake (id BIGINT, m BIGINT) PARTITIONED BY (m) WITH ('connector'='filesystem','path'='$DIR/lake','format'='json');\n"+
		"INSERT INTO lake SELECT id, MOD(id, 3) FROM gen;\n")
}

var (
	lossID  = regexp.MustCompile(`--accept-lost (\S+)`)
	lostAt  = regexp.MustCompile(`datagen-0 offsets (.+)`)
	logLine = regexp.MustCompile(`(?m)^time=.*\n`)
)

// TestLostFile is W1: a file that the checkpoint names is removed before its commit. The known dump counted it as skipped and went on.
func TestLostFile(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=certificate.before:3").killed()
	waiting := pending(t, s.path("lake"))
	if len(waiting) != 3 {
		t.Fatalf("%d files are pending, want 3: %v", len(waiting), waiting)
	}
	b, err := os.ReadFile(waiting[1])
	if err != nil {
		t.Fatal(err)
	}
	gone := strings.Count(string(b), "\n")
	visible := len(files(t, s.path("lake"), "json"))
	remove(t, waiting[1])

	p := s.start().exits(1)
	p.says("1 of 3 files", s.path("lake"), "in neither place", waiting[1], "the other files of the checkpoint are committed", "--accept-lost")
	if n := len(files(t, s.path("lake"), "json")); n != visible+2 {
		t.Errorf("%d files are visible, want %d: the others of the checkpoint", n, visible+2)
	}
	at := lostAt.FindStringSubmatch(p.text())
	id := lossID.FindStringSubmatch(p.text())
	if at == nil || id == nil {
		t.Fatalf("no offsets or id:\n%s", p.text())
	}
	number, _, _ := strings.Cut(id[1], "-")
	p.says("checkpoint " + number)
	if n := len(strings.Fields(at[1])); n != gone { // each third number: no two of them make a run
		t.Errorf("%d offsets are named, want %d: %s", n, gone, at[1])
	}

	// it stays so, also with another id, and nothing more is read
	again := s.start().exits(1)
	if a, b := logLine.ReplaceAllString(p.text(), ""), logLine.ReplaceAllString(again.text(), ""); a != b {
		t.Errorf("the second refusal differs:\n%s\n%s", a, b)
	}
	s.start("--accept-lost", "99-deadbeef").exits(1).says("--accept-lost "+id[1]+" (not 99-deadbeef, which names no loss", waiting[1])
	s.program("audit", s.path("lake")).exits(1).says("lost")

	s.start("--accept-lost", id[1], "STAUNCH_FAILPOINT=done.after:2").killed()
	s.ends() // once accepted, the id need not be given again
	if n := len(ids(t, s.path("lake"))); n != last-gone {
		t.Errorf("%d rows are visible, want %d", n, last-gone)
	}
	s.program("audit", s.path("lake")).exits(0).says("accepted loss", "checkpoint "+number, filepath.Base(strings.TrimSuffix(waiting[1], ".pending")), at[1])
}

// TestLostPutBack: the file comes back before anyone accepts the loss.
func TestLostPutBack(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=certificate.before:3").killed()
	waiting := pending(t, s.path("lake"))
	for i, w := range waiting {
		move(t, w, s.path(string(rune('a'+i))))
	}
	s.start().exits(1).says("3 of 3 files", "in neither place")
	for i, w := range waiting {
		move(t, s.path(string(rune('a'+i))), w)
	}
	s.finishes()
}

// TestLostAfterRename: a visible file is removed by hand after its commit. That is not the job's business; the audit finds it.
func TestLostAfterRename(t *testing.T) {
	t.Parallel()
	s := three(t)
	p := s.start("--accept-lost", "1-00000000", "STAUNCH_FAILPOINT=done.after:3")
	p.killed()
	p.says("no loss has this id")
	gone := files(t, s.path("lake"), "json")[0]
	move(t, gone, s.path("kept"))
	s.ends("--accept-lost", "1-00000000").says("no loss has this id")
	s.program("audit", s.path("lake")).exits(1).says(gone)
	move(t, s.path("kept"), gone)
	wantIDs(t, s.path("lake"), span(1, last))
	s.audited(s.path("lake"))
}

// TestTargetTaken: somebody else's file of another length stands at the final place: that is damage, nothing is overwritten.
func TestTargetTaken(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=rename.before:8").killed()
	w := pending(t, s.path("lake"))
	if len(w) == 0 {
		t.Fatal("nothing is pending")
	}
	taken := ""
	for _, f := range w {
		base := filepath.Base(strings.TrimSuffix(f, ".pending"))
		for _, m := range []string{"0", "1", "2"} {
			at := s.path("lake", "m="+m, base)
			if _, err := os.Stat(at); err == nil {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), `"m"`) {
				t.Fatalf("the partition column stands in the file: %.100s", b)
			}
			var first int
			if _, err := fmt.Sscanf(string(b), `{"id":%d`, &first); err != nil {
				t.Fatal(err)
			}
			if m == string(rune('0'+first%3)) && taken == "" {
				taken = at
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(taken), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(taken, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start().exits(1).says(taken, "3 bytes", "move it away")
	if b, err := os.ReadFile(taken); err != nil || string(b) != "{}\n" {
		t.Errorf("the file of somebody else was touched: %q %v", b, err)
	}
	remove(t, taken)
	s.finishes()
}

// TestNextCheckpointFails is W2: the rows of a checkpoint that is not complete stay invisible, also when the one before is committed late,
// and come once.
func TestNextCheckpointFails(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"prepare.durable:5", "ack.all:3", "rename.before:5", "done.after:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := three(t)
			s.start("STAUNCH_FAILPOINT=" + point).killed()
			seen := ids(t, s.path("lake"))
			s.start("STAUNCH_FAILPOINT=" + point).killed()
			now := map[int64]int{}
			for _, id := range ids(t, s.path("lake")) {
				if now[id]++; now[id] > 1 {
					t.Errorf("row %d is there twice", id)
				}
			}
			for _, id := range seen {
				if now[id] == 0 {
					t.Errorf("row %d was visible and is gone", id)
				}
			}
			s.finishes()
		})
	}
}

// TestLateDelete is W4: a delete of what an earlier life wrote, replayed late, hits nothing of a later one.
func TestLateDelete(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=ack.all:2").killed()
	first := pending(t, s.path("lake"))
	s.start("STAUNCH_FAILPOINT=certificate.before").killed() // the same checkpoint id again: complete, nothing renamed
	second := map[string]bool{}
	for _, f := range pending(t, s.path("lake")) {
		second[f] = true
	}
	for _, f := range first {
		delete(second, f)
	}
	if len(first) == 0 || len(second) == 0 {
		t.Fatalf("first life: %v, second: %v", first, second)
	}
	for _, f := range first {
		_ = os.Remove(f) // some may be gone already
	}
	s.finishes()
}

// TestSecondSignal: the first signal asks for a clean stop, another one ends the process at once, here while it still looks for a file that
// is gone (some seconds, then exit 1). Nothing is lost by that.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=certificate.before:3").killed()
	w := pending(t, s.path("lake"))[0]
	move(t, w, s.path("kept"))
	p := s.start()
	p.awaits("msg=checkpoints")
	p.signal(syscall.SIGTERM)
	p.awaits("a second signal ends at once")
	until(t, "the end", nil, func() bool {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // tools send it twice, so that one right behind the first does not count
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
	p.exits(3).silent("in neither place")
	move(t, s.path("kept"), w)
	s.finishes()
}
