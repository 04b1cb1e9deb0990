//go:build peer

package scenario

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"staunch/test/peer"
)

// exact wants each record of a topic to be in a table once, as DuckDB reads it, and both proofs to agree.
func (s *script) exact(table string, partitions, each int) {
	s.t.Helper()
	launch(s.t, exec.Command(os.Getenv("TESTBED_PYTHON"), filepath.Join("..", "peer", "verify.py"), table, "--format", "json", "--key", "off",
		"--partitions", strconv.Itoa(partitions), "--per-partition", strconv.Itoa(each))).exits(0)
	s.verified(table)
}

// savepoint runs the job to a checkpoint with records 1 to 10 of partition 0, and on to 20, and stops it. It gives the first one's id.
func (k *topic) savepoint(s *script) string {
	k.t.Helper()
	k.fill(0, 1, 10)
	p := s.start(retained...)
	p.seen(s.path("lake"), 10)
	p.stop()
	all := s.checkpoints()
	id := all[len(all)-1].id
	k.fill(0, 11, 20)
	p = s.start(retained...)
	p.awaits("msg=restored")
	p.seen(s.path("lake"), 20)
	p.stop()
	return strconv.Itoa(id)
}

// TestCase04 goes back to an earlier checkpoint: to a fresh folder, over newer output with each choice, and killed at each step.
func TestCase04(t *testing.T) {
	t.Parallel()
	t.Run("fresh folder", func(t *testing.T) {
		t.Parallel()
		k := newTopic(t, 1)
		s := newScript(t, k.copyJob())
		id := k.savepoint(s)
		before := snapshot(t, s.path("lake"))
		b, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		s.write(s.file, replace(t, string(b), "/lake'", "/other'"))
		p := s.start(append(retained, "--from-savepoint", id)...)
		p.awaits("msg=restored")
		p.seen(s.path("other"), 10)
		p.stop()
		wantIDs(t, s.path("other"), span(11, 20))
		s.verified(s.path("other"))
		for f, text := range before {
			if now, err := os.ReadFile(f); filepath.Ext(f) == ".json" && (err != nil || string(now) != text) {
				t.Errorf("%s was changed: %v", f, err)
			}
		}
		s.write(s.file, string(b)) // the first folder again: it is ahead of the job
		s.start(retained...).exits(1).says(s.path("lake"), "--on-newer-output")
		k.fill(0, 21, 30)
		p = s.start(append(retained, "--on-newer-output", "rewind")...)
		p.awaits("msg=restored")
		p.seen(s.path("lake"), 20)
		p.stop()
		wantIDs(t, s.path("lake"), span(1, 10), span(21, 30)) // what lies between went to the other folder
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		k := newTopic(t, 1)
		s := newScript(t, k.copyJob())
		id := k.savepoint(s)
		s.refusesBack([]string{"--from-savepoint", id}, "newer output", s.path("lake"), "checkpoint "+id, "--on-newer-output rewind")
		p := s.start(retained...)
		k.fill(0, 21, 25)
		p.seen(s.path("lake"), 25)
		p.stop()
		s.exact(s.path("lake"), 1, 25)
	})
	t.Run("keep", func(t *testing.T) {
		t.Parallel()
		k := newTopic(t, 1)
		s := newScript(t, k.copyJob())
		id := k.savepoint(s)
		visible := files(t, s.path("lake"), "json")
		p := s.start(append(retained, "--from-savepoint", id, "--on-newer-output", "keep")...)
		p.awaits("msg=restored")
		p.seen(s.path("lake"), 30)
		p.stop()
		wantIDs(t, s.path("lake"), span(1, 20), span(11, 20))
		s.verified(s.path("lake"))
		for _, f := range visible {
			if !slices.Contains(files(t, s.path("lake"), "json"), f) {
				t.Errorf("%s is gone", f)
			}
		}
	})
	t.Run("rewind", func(t *testing.T) {
		t.Parallel()
		k := newTopic(t, 1)
		s := newScript(t, k.copyJob())
		id := k.savepoint(s)
		visible := files(t, s.path("lake"), "json")
		p := s.start(append(retained, "--from-savepoint", id, "--on-newer-output", "rewind")...)
		p.awaits("msg=restored")
		p.seen(s.path("lake"), 20)
		p.stop()
		s.exact(s.path("lake"), 1, 20)
		s.neverDeleted(visible)
	})
	for i, point := range []string{"rewind.before", "rewind.job", "rewind.table", "rewind.moved.one", "rewind.moved.all", "rewound.after", "restore.committed",
		"certificate.after", "rename.after", "done.after"} {
		t.Run("killed at "+point, func(t *testing.T) {
			t.Parallel()
			k := newTopic(t, 1)
			s := newScript(t, k.copyJob())
			id := k.savepoint(s)
			visible := files(t, s.path("lake"), "json")
			order := append(slices.Clone(retained), "--from-savepoint", id, "--on-newer-output", "rewind")
			s.start(append(order, "STAUNCH_FAILPOINT="+point)...).killed()
			if i%2 == 1 || i > 6 { // once something was completed, the same order would be another one
				order = retained
			}
			p := s.start(order...)
			p.awaits("msg=restored")
			p.seen(s.path("lake"), 20)
			k.fill(0, 21, 40)
			p.seen(s.path("lake"), 40)
			p.stop()
			s.exact(s.path("lake"), 1, 40)
			s.neverDeleted(visible)
		})
	}
}

func replace(t *testing.T, text, old, new string) string {
	t.Helper()
	before, after, ok := strings.Cut(text, old)
	if !ok {
		t.Fatalf("%q is not in %s", old, text)
	}
	return before + new + after
}

// TestCase05NoState starts from nothing over output of the job, under another consumer group.
func TestCase05NoState(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"keep", "rewind"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			k := newTopic(t, 1)
			s := newScript(t, k.copyJob())
			k.savepoint(s)
			before := snapshot(t, s.path("lake"))
			s.edit(replace(t, k.copyJob(), "'properties.group.id'='"+k.name+"'", "'properties.group.id'='another'"))
			s.refusesBack([]string{"--fresh"}, "newer output", s.path("lake"))
			p := s.start("--fresh", "--on-newer-output", mode)
			if mode == "rewind" {
				p.awaits("newer output was moved")
				p.seen(s.path("lake"), 20)
				p.stop()
				s.exact(s.path("lake"), 1, 20)
				return
			}
			p.seen(s.path("lake"), 40)
			p.stop()
			wantIDs(t, s.path("lake"), span(1, 20), span(1, 20))
			s.verified(s.path("lake"))
			for f, text := range before {
				if now, err := os.ReadFile(f); filepath.Ext(f) == ".json" && (err != nil || string(now) != text) {
					t.Errorf("%s was changed: %v", f, err)
				}
			}
		})
	}
}

// TestCase28Torn goes back past a newest checkpoint that cannot be read, with records from a topic.
func TestCase28Torn(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func(b []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTopic(t, 2)
			s := newScript(t, k.copyJob())
			k.fill(1, 1, 30)
			id := k.savepoint(s)
			all := s.checkpoints()
			torn := all[len(all)-1].path
			b, err := os.ReadFile(torn)
			if err == nil {
				err = os.WriteFile(torn, tear(b), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.refusesBack(nil, torn, "--from-savepoint")
			p := s.start(append(retained, "--from-savepoint", id, "--on-newer-output", "rewind")...)
			p.awaits("msg=restored")
			p.seen(s.path("lake"), 50)
			k.fill(0, 21, 30)
			p.seen(s.path("lake"), 60)
			p.stop()
			s.exact(s.path("lake"), 2, 30)
		})
	}
}

// TestFromTableKafka goes on from the table's certificates when the checkpoint directory is lost. A partition that was added meanwhile is read from its
// beginning, also with start-up mode latest-offset, as any that is found while a job runs.
func TestFromTableKafka(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 2)
	s := newScript(t, replace(t, k.copyJob(), "'earliest-offset'", "'latest-offset'"))
	p := s.start(retained...)
	p.awaits("checkpoint committed") // latest means from here on
	k.fill(0, 1, 20)
	k.fill(1, 1, 20)
	p.seen(s.path("lake"), 40)
	p.kill()
	if err := os.RemoveAll(s.path("checkpoints")); err != nil {
		t.Fatal(err)
	}
	k.grow(3)
	k.fill(0, 21, 30)
	k.fill(1, 21, 30)
	k.fill(2, 1, 30)
	s.start().exits(1).says("--from-table", s.path("lake"))
	s.start("--from-table", "STAUNCH_FAILPOINT=rewind.job").killed()
	p = s.start("--from-table")
	p.seen(s.path("lake"), 90)
	p.stop()
	s.exact(s.path("lake"), 3, 30)
}

// TestGoBackHDFS goes back with tables and checkpoints on a pair of NameNodes, killed at each step, and from a lost checkpoint directory.
func TestGoBackHDFS(t *testing.T) {
	t.Parallel()
	peer.NewHDFS(t)
	place := "hdfs://testbed/scenario/" + strconv.FormatInt(time.Now().UnixNano(), 36)
	for _, point := range []string{"rewind.before", "rewind.job", "rewind.table", "rewind.moved.one", "rewind.moved.all", "rewound.after", "log.placed:3"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			k := newTopic(t, 1)
			dir := place + "/" + strings.ReplaceAll(point, ":", "-")
			s := newScript(t, strings.ReplaceAll(k.copyJob(), "$DIR/lake", dir+"/lake"))
			flags := append(slices.Clone(retained), "-D", "execution.checkpointing.dir="+dir+"/checkpoints")
			b, err := os.ReadFile(s.file)
			if err != nil {
				t.Fatal(err)
			}
			s.write(s.file, replace(t, string(b), "SET 'execution.checkpointing.dir' = '"+s.path("checkpoints")+"';\n", ""))
			k.fill(0, 1, 10)
			p := s.start(flags...)
			id := p.hasRead(10)
			k.fill(0, 11, 20)
			p.hasRead(20)
			p.stop()
			order := append(slices.Clone(flags), "--from-savepoint", id)
			s.start(order...).exits(1).says("newer output", dir+"/lake", dir+"/checkpoints/job/log/")
			order = append(order, "--on-newer-output", "rewind")
			s.start(append(order, "STAUNCH_FAILPOINT="+point)...).killed()
			p = s.start(order...)
			p.hasRead(10) // at least
			p.stop()
			s.exact(dir+"/lake", 1, 20)
			s.program("clean", s.file, "-D", "execution.checkpointing.dir="+dir+"/checkpoints", "--older-than", "0 s", "--superseded").exits(0).says("_superseded")
			s.exact(dir+"/lake", 1, 20)
		})
	}
}

var committed = regexp.MustCompile(`checkpoint committed.* checkpoint=(\d+) .*records=(\d+) lag=0`)

// hasRead waits for a committed checkpoint behind so many records, and all there are, and gives its id.
func (p *process) hasRead(records int) (id string) {
	p.t.Helper()
	until(p.t, strconv.Itoa(records)+" records", p, func() bool {
		for _, m := range committed.FindAllStringSubmatch(p.text(), -1) {
			if n, err := strconv.Atoi(m[2]); err == nil && n >= records {
				id = m[1]
				return true
			}
		}
		return false
	})
	return id
}

// TestCopiedFileKept lets a copy of the statement file under another name write the same records again, by order; without it, it goes on so.
func TestCopiedFileKept(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	k.fill(0, 1, 20)
	s := newScript(t, k.copyJob())
	p := s.start()
	p.seen(s.path("lake"), 20)
	p.stop()
	copied := s.path("copy.sql")
	s.write(copied, prelude+k.copyJob())
	s.program("run", copied).exits(1).says("already has the records", "--on-newer-output keep")
	p = s.program("run", copied, "--on-newer-output", "keep")
	p.seen(s.path("lake"), 40)
	p.stop()
	k.fill(0, 21, 30)
	p = s.program("run", copied)
	p.seen(s.path("lake"), 50)
	p.stop()
	wantIDs(t, s.path("lake"), span(1, 20), span(1, 30))
	s.verified(s.path("lake"))
}
