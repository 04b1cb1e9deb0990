package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"staunch/account"
	"staunch/commit"
)

// older writes a checkpoint as a version does that records folders instead of files, with names of its own, and gives the certificate that is asked
// for then. moved files are visible already, and of them the folders are gone.
func (l *lake) older(n int64, moved func(task int) bool) account.Certificate {
	l.t.Helper()
	c := l.write(n)
	dirs := map[string]bool{}
	for i, f := range c.Files {
		task := 0
		dir := filepath.Dir(f.Pending)
		if _, err := fmt.Sscanf(filepath.Base(dir), "task-%d", &task); err != nil {
			l.t.Fatal(err)
		}
		if _, seen := dirs[dir]; !seen {
			c.FromDirectories = append(c.FromDirectories, fmt.Sprintf("cp-%d/task-%d", l.id, task))
		}
		to := filepath.Join(dir, f.Partition)
		if moved(task) {
			to = filepath.Join(l.root, f.Partition)
		}
		l.must(os.MkdirAll(to, 0o777))
		l.must(os.Rename(f.Pending, filepath.Join(to, fmt.Sprintf("task_dorado_1_%d_%d.17%d%s", task, l.id, i, filepath.Ext(f.Final)))))
		dirs[dir] = moved(task)
	}
	for dir, gone := range dirs {
		if gone {
			l.must(os.RemoveAll(dir)) // as that version does
		}
	}
	for i := range c.Ranges {
		c.Ranges[i] = account.Range{Split: c.Ranges[i].Split, From: c.Ranges[i].To, To: c.Ranges[i].To}
	}
	c.Files, c.AccountsClose = nil, false
	return c
}

// settle commits in a bubble: two listings are seconds apart.
func (l *lake) settle(c account.Certificate) (res commit.Result) {
	l.t.Helper()
	synctest.Test(l.t, func(*testing.T) { res = l.commit(c) })
	return res
}

func none(int) bool { return false }

// TestFromDirectories: a table that went from the directory-based protocol to this one, and back and forth once.
func TestFromDirectories(t *testing.T) {
	l := newLake(t, "json", 0)
	l.older(40, func(int) bool { return true }) // before there was any log
	if res := l.settle(l.older(40, none)); res.Counters.Renamed == 0 || res.Counters.Renamed != res.Counters.Created {
		t.Errorf("%+v", res.Counters)
	}
	l.checkpoints(2)
	r := l.audit(Options{})
	if r.Verdict != Clean || len(r.Jobs[0].Problems) > 0 {
		t.Errorf("%s", text(r))
	}
	for _, want := range []string{"without hashes and offsets", "files that no certificate names: a version without certificates"} {
		if !strings.Contains(text(r), want) {
			t.Errorf("%q is missing in:\n%s", want, text(r))
		}
	}

	l.older(40, func(int) bool { return true }) // committed by the version before, without a certificate
	l.settle(l.older(40, func(task int) bool { return task == 1 }))
	l.checkpoints(2)
	r = l.audit(Options{})
	if r.Verdict != Clean || !strings.Contains(text(r), "1 of the 2 folders of checkpoint 6 were not there") {
		t.Errorf("%s", text(r))
	}
	for _, s := range r.Jobs[0].Splits {
		if s.Unproven != 80 || s.To-s.From != s.Rows+s.Filtered+s.Null+s.Gaps+s.Unproven {
			t.Errorf("%+v", s)
		}
	}
	if r = l.audit(Options{Fast: true}); r.Verdict != Clean {
		t.Errorf("%s", text(r))
	}
}

// TestFromDirectoriesParquet: the files are readable, and nothing is held against their footers.
func TestFromDirectoriesParquet(t *testing.T) {
	l := newLake(t, "parquet", 0)
	l.settle(l.older(40, none))
	l.checkpoints(2)
	if r := l.audit(Options{}); r.Verdict != Clean {
		t.Errorf("%s", text(r))
	}
	l.edit(l.file(0, 0).Final, flip)
	if r := l.audit(Options{}); r.Verdict != Clean { // no hash was recorded
		t.Errorf("%s", text(r))
	}
	l.edit(l.file(0, 0).Final, func(b []byte) []byte { copy(b[len(b)-4:], "none"); return b })
	if r := l.audit(Options{}); r.Verdict != Wrong || kinds(r)[0] != FileFooter {
		t.Errorf("%s", text(r))
	}
}

// TestFromDirectoriesDamaged: what such a certificate proves, it proves.
func TestFromDirectoriesDamaged(t *testing.T) {
	for name, x := range map[string]struct {
		do   func(l *lake, f account.File)
		want Kind
	}{
		"gone":   {func(l *lake, f account.File) { l.must(os.Remove(f.Final)) }, FileMissing},
		"longer": {func(l *lake, f account.File) { l.edit(f.Final, func(b []byte) []byte { return append(b, 'x') }) }, FileChanged},
		"a link": {func(l *lake, f account.File) { l.must(os.Symlink(f.Final, filepath.Join(l.root, "x.json"))) }, FileForeign},
		"a staunch file": {func(l *lake, f account.File) {
			l.copy(l.file(1, 0).Final, filepath.Join(l.root, strings.Replace(filepath.Base(l.file(1, 0).Final), "-0-2-", "-0-9-", 1)))
		}, FileForeign},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLake(t, "json", 0)
			c := l.older(40, none)
			l.settle(c)
			l.checkpoints(1)
			x.do(l, l.file(0, 0))
			if r := l.audit(Options{}); r.Verdict != Wrong || len(kinds(r)) != 1 || kinds(r)[0] != x.want {
				t.Errorf("want %s:\n%s", x.want, text(r))
			}
		})
	}
}
