package scenario

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sequence is a source of the numbers a to b at a rate, in order.
func sequence(a, b, perSecond int) string {
	return fmt.Sprintf("CREATE TABLE gen (id BIGINT) WITH ('connector'='datagen','rows-per-second'='%d','fields.id.kind'='sequence','fields.id.start'='%d','fields.id.end'='%d');\n",
		perSecond, a, b)
}

// table is a JSON table below the test's folder.
func table(name, columns string) string {
	return fmt.Sprintf("CREATE TABLE %s (%s) WITH ('connector'='filesystem','path'='$DIR/%s','format'='json');\n", name, columns, name)
}

// numbers is a job that writes the numbers 1 to last to the table lake. It would take twenty seconds, so that kills find it at work on any machine; what
// is left when they are over is done by ends, at once.
func numbers(t *testing.T) *script {
	t.Helper()
	return newScript(t, sequence(1, last, rate)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
}

const (
	last = 4000
	rate = 200 // numbers a second
)

// endless is that job over more numbers than any test waits for: for tests that do something to it while it runs, and stop it.
func endless(t *testing.T) *script {
	t.Helper()
	return newScript(t, sequence(1, 10_000_000, 1000)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
}

// sound wants the table of an endless job to have each number once, as far as the job has come, and the audit to agree.
func (s *script) sound() {
	s.t.Helper()
	got := ids(s.t, s.path("lake"))
	if len(got) == 0 {
		s.t.Error("the table is empty")
	}
	wantIDs(s.t, s.path("lake"), span(1, int64(len(got))))
	s.audited(s.path("lake"))
}

var perSecond = regexp.MustCompile(`'rows-per-second'='\d+'`)

// ends runs the job to its end, with a source that does not take its time any more.
func (s *script) ends(flags ...string) *process {
	s.t.Helper()
	b, err := os.ReadFile(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(s.file, perSecond.ReplaceAllString(string(b), "'rows-per-second'='1000000'"))
	return s.start(flags...).exits(0)
}

// interrupted is the job of numbers, killed when its third checkpoint was done.
func interrupted(t *testing.T) *script {
	t.Helper()
	s := numbers(t)
	s.start("STAUNCH_FAILPOINT=done.after:3").killed()
	if n := len(ids(t, s.path("lake"))); n == 0 || n == last {
		t.Fatalf("%d rows are visible when the job is killed", n)
	}
	return s
}

// finishes runs the job to its end: every number is there once, and the audit agrees.
func (s *script) finishes(flags ...string) {
	s.t.Helper()
	s.ends(flags...)
	wantIDs(s.t, s.path("lake"), span(1, last))
	s.audited(s.path("lake"))
}

// refuses runs the job, which must not go on: exit 1, words that say what is wrong, where, and what to do. No visible file changes.
func (s *script) refuses(words ...string) {
	s.t.Helper()
	before := files(s.t, s.path("lake"), "json")
	s.start().exits(1).says(words...)
	if after := files(s.t, s.path("lake"), "json"); !slices.Equal(before, after) {
		s.t.Errorf("visible files before: %v\nafter: %v", before, after)
	}
}

// TestTableRemoved: the table's folder is removed by hand; once it is back, the job goes on.
func TestTableRemoved(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	move(t, s.path("lake"), s.path("kept"))
	s.start().exits(1).says("table lake", s.path("lake"), "is gone", `job "job"`, "put the folder back", "pipeline.name")
	if _, err := os.Stat(s.path("lake")); err == nil {
		t.Error("the refused start made the table's folder anew")
	}
	move(t, s.path("kept"), s.path("lake"))
	s.finishes()
}

// TestTableLogRemoved: only the log inside the table is removed.
func TestTableLogRemoved(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	move(t, s.path("lake", "_staunch"), s.path("kept"))
	s.refuses(s.path("lake"), "log", "is gone", "put")
	if err := os.RemoveAll(s.path("lake", "_staunch")); err != nil { // the refused start's claim lies there
		t.Fatal(err)
	}
	move(t, s.path("kept"), s.path("lake", "_staunch"))
	s.finishes()
}

// TestCheckpointsRemoved: the checkpoint directory is removed; to read from the start would repeat everything.
func TestCheckpointsRemoved(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	move(t, s.path("checkpoints"), s.path("kept"))
	s.refuses(s.path("lake"), "checkpoint", "execution.checkpointing.dir")
	s.refuses(s.path("lake"), "checkpoint", "execution.checkpointing.dir") // a refused start must not open the way for the next
	if err := os.RemoveAll(s.path("checkpoints")); err != nil {
		t.Fatal(err)
	}
	move(t, s.path("kept"), s.path("checkpoints"))
	s.finishes()
}

// TestCheckpointsRemovedTakeOver: --take-over fences another log; it does not make a fresh start over output allowed.
func TestCheckpointsRemovedTakeOver(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	move(t, s.path("checkpoints"), s.path("kept"))
	before := files(t, s.path("lake"), "json")
	s.start("--take-over").exits(1).says(s.path("lake"), "would repeat it", "execution.checkpointing.dir")
	if after := files(t, s.path("lake"), "json"); !slices.Equal(before, after) {
		t.Errorf("visible files before: %v\nafter: %v", before, after)
	}
	if err := os.RemoveAll(s.path("checkpoints")); err != nil {
		t.Fatal(err)
	}
	move(t, s.path("kept"), s.path("checkpoints"))
	s.finishes("--take-over") // the refused run has claimed the table
}

// TestCheckpointsRestored: the checkpoint directory comes from an older copy; the table is newer than the state.
func TestCheckpointsRestored(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	copyTree(t, s.path("checkpoints"), s.path("old"))
	s.start("STAUNCH_FAILPOINT=done.after:2").killed()
	move(t, s.path("checkpoints"), s.path("kept"))
	move(t, s.path("old"), s.path("checkpoints"))
	s.refuses(s.path("lake"), "older", "newest checkpoint")
	s.refuses(s.path("lake"), "older", "newest checkpoint")
	if err := os.RemoveAll(s.path("checkpoints")); err != nil {
		t.Fatal(err)
	}
	move(t, s.path("kept"), s.path("checkpoints"))
	s.finishes()
}

// TestTableRestored: the table comes from an older copy; the state is newer than the table, so rows would be missing.
func TestTableRestored(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	copyTree(t, s.path("lake"), s.path("old"))
	s.start("STAUNCH_FAILPOINT=done.after:2").killed()
	move(t, s.path("lake"), s.path("kept"))
	move(t, s.path("old"), s.path("lake"))
	s.refuses(s.path("lake"), "checkpoint", "lose")
	s.refuses(s.path("lake"), "checkpoint", "lose")
	if err := os.RemoveAll(s.path("lake")); err != nil {
		t.Fatal(err)
	}
	move(t, s.path("kept"), s.path("lake"))
	s.finishes()
}

// TestOtherFile: another statement file, with nothing in common, has the same job name and checkpoint directory.
func TestOtherFile(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	other := s.path("other.sql")
	s.write(other, prelude+"SET 'pipeline.name' = 'job';\nCREATE TABLE letters (v STRING) WITH ('connector'='datagen','number-of-rows'='5');\n"+
		table("elsewhere", "v STRING")+"INSERT INTO elsewhere SELECT v FROM letters;\n")
	before := snapshot(t, s.dir)
	s.program("run", other).exits(1).says(`job "job"`, s.file, other, "no source and no sink in common", "pipeline.name")
	unchanged(t, s.dir, before)
	s.finishes()
}

// TestMovedFile: the same file at another place under the same job name goes on.
func TestMovedFile(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	if err := os.Mkdir(s.path("new"), 0o755); err != nil {
		t.Fatal(err)
	}
	move(t, s.file, s.path("new", "job.sql"))
	s.file = s.path("new", "job.sql")
	s.finishes()
}

// TestStartedTwice: the same file is started while the first process lives.
func TestStartedTwice(t *testing.T) {
	t.Parallel()
	s := endless(t)
	first := s.start()
	until(t, "four checkpoints", first, func() bool { return len(files(t, s.path("lake"), "json")) > 3 }) // its begin is cleaned away by then
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s.start().exits(1).says(`job "job" is running already`, host, fmt.Sprint("pid ", first.cmd.Process.Pid), "--take-over")
	second := s.start("--take-over")
	first.exits(1).says(fmt.Sprint("pid ", second.cmd.Process.Pid))
	second.awaits("checkpoint committed")
	second.stop()
	s.sound()
}

// TestStartedTwiceElsewhere: the same file with another checkpoint directory; the table's claim finds it out.
func TestStartedTwiceElsewhere(t *testing.T) {
	t.Parallel()
	s := endless(t)
	first := s.start()
	until(t, "a visible file", first, func() bool { return len(files(t, s.path("lake"), "json")) > 0 })
	s.start("-D", "execution.checkpointing.dir="+s.path("other")).exits(1).says(s.path("lake"), s.path("checkpoints"), fmt.Sprint("pid ", first.cmd.Process.Pid))
	first.stop()
	s.sound()
}

// damage is a way to spoil an entry of a log.
var damage = map[string]func(t *testing.T, file, foreign string){
	"empty": func(t *testing.T, file, _ string) { rewrite(t, file, func(b []byte) []byte { return nil }) },
	"half":  func(t *testing.T, file, _ string) { rewrite(t, file, func(b []byte) []byte { return b[:len(b)/2] }) },
	"head only": func(t *testing.T, file, _ string) {
		rewrite(t, file, func(b []byte) []byte { return b[:bytes.IndexByte(b, '\n')+1] })
	},
	"one byte": func(t *testing.T, file, _ string) {
		rewrite(t, file, func(b []byte) []byte { b[len(b)*2/3] ^= 1; return b })
	},
	"longer": func(t *testing.T, file, _ string) { rewrite(t, file, func(b []byte) []byte { return append(b, b...) }) },
	"zeros": func(t *testing.T, file, _ string) {
		rewrite(t, file, func(b []byte) []byte { return make([]byte, len(b)) })
	},
	"text": func(t *testing.T, file, _ string) {
		rewrite(t, file, func(b []byte) []byte { return []byte("hello\n") })
	},
	"another job's": func(t *testing.T, file, foreign string) {
		b, err := os.ReadFile(foreign)
		if err != nil {
			t.Fatal(err)
		}
		rewrite(t, file, func([]byte) []byte { return b })
	},
}

func rewrite(t *testing.T, file string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, f(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newest is the newest entry of a kind in a log.
func newest(t *testing.T, dir, ext, want string) string {
	t.Helper()
	es := entries(t, dir, ext)
	for _, e := range slices.Backward(es) {
		if kind(t, e) == want {
			return e
		}
	}
	t.Fatalf("%s has no %s", dir, want)
	return ""
}

// TestDamagedEntry is case 28, variant torn: the newest checkpoint, or an entry of the table's log, cannot be read. The job stops and names
// it, nothing is changed, and with the entry put back it goes on.
func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	foreign := interrupted(t)
	for _, log := range []struct{ dir, ext, kind, foreign string }{
		{"checkpoints/job/log", "", "complete", newest(t, foreign.path("checkpoints/job/log"), "", "complete")},
		{"lake/_staunch/job", ".staunch", "certificate", newest(t, foreign.path("lake/_staunch/job"), ".staunch", "certificate")},
	} {
		for name, spoil := range damage {
			t.Run(log.kind+" "+name, func(t *testing.T) {
				t.Parallel()
				c := numbers(t)
				c.start("STAUNCH_FAILPOINT=done.after:2").killed()
				file := newest(t, c.path(log.dir), log.ext, log.kind)
				good, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				spoil(t, file, log.foreign)
				before := snapshot(t, c.path("lake"))
				p := c.start().exits(1)
				p.says(filepath.Dir(file))
				if name == "another job's" && log.kind == "complete" {
					p.says("another log") // a sound entry: the table's claim tells that it is not this job's
				} else if !strings.Contains(p.text(), file) && !strings.Contains(p.text(), "entry "+strings.TrimSuffix(filepath.Base(file), log.ext)) {
					t.Errorf("the damaged entry %s is not named:\n%s", file, p.text())
				}
				if log.kind == "complete" {
					p.says("checkpoint")
					unchanged(t, c.path("lake"), before)
				}
				if err := os.WriteFile(file, good, 0o644); err != nil {
					t.Fatal(err)
				}
				c.finishes()
			})
		}
	}
}

// TestHalfWritten is case 28, main: the process dies while a checkpoint's entry is staged or just placed. What is incomplete is never chosen.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"ack.all:3", "log.staged:6", "log.placed:6", "log.staged:7", "log.placed:7", "complete.after:3", "certificate.after:3", "rename.before:3", "rename.all:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := numbers(t)
			s.start("STAUNCH_FAILPOINT=" + point).killed()
			s.finishes()
		})
	}
}

// TestEntryMissing: an entry in the middle of a log was removed by hand.
func TestEntryMissing(t *testing.T) {
	t.Parallel()
	for _, log := range []struct{ dir, ext string }{{"checkpoints/job/log", ""}, {"lake/_staunch/job", ".staunch"}} {
		t.Run(log.dir, func(t *testing.T) {
			t.Parallel()
			s := interrupted(t)
			s.start("STAUNCH_FAILPOINT=claim.after").killed()
			s.start("STAUNCH_FAILPOINT=claim.after").killed()
			es := entries(t, s.path(log.dir), log.ext)
			gone := es[len(es)-2]
			move(t, gone, s.path("kept"))
			s.refuses(s.path(log.dir))
			if _, err := os.Stat(gone); err == nil {
				t.Fatalf("the refused start filled the hole %s", gone)
			}
			move(t, s.path("kept"), gone)
			s.finishes()
		})
	}
}

// TestNewestMissing: the newest checkpoint was removed; what remains is older than the table.
func TestNewestMissing(t *testing.T) {
	t.Parallel()
	s := newScript(t, "SET 'execution.checkpointing.num-retained' = '3';\n"+sequence(1, last, rate)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
	s.start("STAUNCH_FAILPOINT=done.after:4").killed()
	gone := newest(t, s.path("checkpoints/job/log"), "", "complete")
	move(t, gone, s.path("kept"))
	s.refuses(s.path("lake"), "newest checkpoint")
	es := entries(t, s.path("checkpoints/job/log"), "")
	if e := es[len(es)-1]; kind(t, e) != "begin" || e != gone {
		t.Fatalf("the refused start left %s", e)
	}
	move(t, s.path("kept"), gone) // over the begin of the refused start
	s.finishes()
}

// TestStrangers: files of others in the log folders and in the table are left alone.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := interrupted(t)
	strangers := []string{s.path("checkpoints/job/log/README"), s.path("checkpoints/job/log/12.bak"), s.path("lake/_staunch/job/notes.txt"),
		s.path("lake/_hidden"), s.path("lake/_DUMP_TEMPORARY/mine")}
	for _, f := range strangers {
		if err := os.WriteFile(f, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.finishes()
	for _, f := range strangers {
		if b, err := os.ReadFile(f); err != nil || string(b) != "mine" {
			t.Errorf("%s was touched: %q %v", f, b, err)
		}
	}
}

// TestNoFolder: the table's or the checkpoints' place cannot be a folder. That is said at once, whatever the restart strategy.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"lake", "checkpoints"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := numbers(t)
			if err := os.WriteFile(s.path(place), []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
			s.start("-D", "restart-strategy.type=exponential-delay").exits(1).says(s.path(place), "is no folder").silent("starts again")
			if b, err := os.ReadFile(s.path(place)); err != nil || string(b) != "mine" {
				t.Errorf("the file was touched: %q %v", b, err)
			}
			remove(t, s.path(place))
			s.finishes()
		})
	}
	t.Run("under a file", func(t *testing.T) {
		t.Parallel()
		s := newScript(t, sequence(1, 5, 1000)+strings.Replace(table("lake", "id BIGINT"), "$DIR/lake", "$DIR/file/lake", 1)+"INSERT INTO lake SELECT id FROM gen;\n")
		if err := os.WriteFile(s.path("file"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s.start().exits(2).says(s.path("file"), "is no folder")
	})
	t.Run("another store", func(t *testing.T) {
		t.Parallel()
		s := newScript(t, sequence(1, 5, 1000)+strings.Replace(table("lake", "id BIGINT"), "$DIR/lake", "s3://bucket/lake", 1)+"INSERT INTO lake SELECT id FROM gen;\n")
		s.start().exits(2).says("s3://", "not supported yet", "supported: file://")
	})
}

// TestLogRemoved: the table's data files are there, its log and the checkpoints are not (a copy that left out names with an underscore). A start
// from nothing would repeat all of them.
func TestLogRemoved(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=done.after:2").killed()
	for _, d := range []string{s.path("lake", "_staunch"), s.path("checkpoints")} {
		if err := os.RemoveAll(d); err != nil {
			t.Fatal(err)
		}
	}
	s.start().exits(1).says("that no certificate names", s.path("lake", "_staunch", "job"), "--on-newer-output keep")
}

// TestTableBehindALink: the table was moved while a checkpoint's files were on their way, and a link stands in its place. Nothing is written to
// its log by two names; moved back, the job goes on.
func TestTableBehindALink(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("STAUNCH_FAILPOINT=complete.after:3").killed()
	move(t, s.path("lake"), s.path("real"))
	if err := os.Symlink(s.path("real"), s.path("lake")); err != nil {
		t.Fatal(err)
	}
	s.start().exits(1).says("are one folder", s.path("real"))
	remove(t, s.path("lake"))
	move(t, s.path("real"), s.path("lake"))
	s.finishes()
}

// TestEmptySavepoint: an empty variable in a script is no order to go on from the newest checkpoint.
func TestEmptySavepoint(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.start("--from-savepoint", "").exits(2).says("--from-savepoint is empty")
}
