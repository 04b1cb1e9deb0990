package audit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"staunch/account"
	"staunch/commit"
)

// back lets a newer epoch claim the table and find what is newer than the i-th certificate (from 0; -1: than nothing).
func (l *lake) back(i int) commit.Back {
	l.t.Helper()
	l.begin(9)
	x := commit.Target{Fresh: i < 0}
	next := [2]int64{1000, 0}
	if i >= 0 {
		_, c := l.certificate(i)
		x = commit.Target{Checkpoint: c.Checkpoint, Complete: c.Complete, LogID: c.LogID, Known: true, Expect: account.ChainEnd{Certificate: c.Previous}}
		next = [2]int64{c.Ranges[0].To, c.Ranges[1].To}
	}
	b, err := l.table.Back(x)
	l.must(err)
	if b.Forked || len(b.Newer) == 0 {
		l.t.Fatalf("%+v", b)
	}
	l.next = next
	return b
}

// rewind takes back all behind the i-th certificate.
func (l *lake) rewind(i int) *commit.Withdrawn {
	l.t.Helper()
	b := l.back(i)
	l.must(l.table.Supersede("rewind", b))
	w, err := l.table.Withdraw()
	l.must(err)
	l.expect = l.table.State().Chain
	return w
}

// keep goes back to the i-th certificate and keeps all behind it.
func (l *lake) keep(i int) {
	l.t.Helper()
	l.must(l.table.Keep("rewind", l.back(i).Branch))
	l.expect = l.table.State().Chain
}

// taken is a file under _superseded.
func (l *lake) taken() (out string) {
	l.t.Helper()
	l.must(filepath.WalkDir(filepath.Join(l.root, "_superseded"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && out == "" {
			out = p
		}
		return err
	}))
	return out
}

// TestRewound: what was taken back is out of the account, and the rest closes, with and without segments between.
func TestRewound(t *testing.T) {
	for _, every := range []int{0, 2, 3} {
		for i := -1; i < 4; i++ {
			l := standard(t, "json", every)
			total := 5
			if every > 0 && i >= 0 { // the certificates of the log's end alone can be named here
				i = max(i, 0)
				if n := len(l.table.State().Certificates); i >= n-1 {
					continue
				}
				total = len(l.table.State().Certificates)
			}
			w := l.rewind(i)
			if w.Checkpoints != total-1-i || w.Moved != int64(6*w.Checkpoints) || len(w.Gone) > 0 {
				t.Errorf("every %d, to %d: %+v", every, i, w)
			}
			if r := l.audit(Options{}); r.Verdict != Clean || r.Jobs[0].Superseded != int64(w.Checkpoints) || r.Jobs[0].Certificates != int64(5-w.Checkpoints) {
				t.Fatalf("every %d, to %d:\n%s", every, i, text(r))
			}
			l.checkpoints(4)
			r := l.audit(Options{})
			if r.Verdict != Clean || r.Jobs[0].Certificates != int64(9-w.Checkpoints) || r.Jobs[0].Splits[0].To != 1000+40*r.Jobs[0].Certificates {
				t.Fatalf("every %d, to %d, and on:\n%s", every, i, text(r))
			}
			if again, err := l.table.Withdraw(); again != nil || err != nil {
				t.Errorf("a second time: %+v %v", again, err)
			}
		}
	}
}

// TestRewinding: until the last file is out, the table is being rewound, wherever the files are.
func TestRewinding(t *testing.T) {
	l := standard(t, "parquet", 0)
	l.must(l.table.Supersede("rewind", func() commit.Back { b := l.back(2); return b }()))
	r := l.audit(Options{})
	if r.Verdict != Rewinding || r.Count() != 0 || r.Jobs[0].Certificates != 3 || r.Jobs[0].Superseded != 2 {
		t.Fatal(text(r))
	}
	l.open() // as another process
	f := l.file(4, 0).Final
	l.must(os.Rename(f, l.root+"/../aside"))
	l.must(os.Remove(l.file(3, 0).Final))
	if r := l.audit(Options{}); r.Verdict != Rewinding {
		t.Fatal(text(r))
	}
	l.must(os.Rename(l.root+"/../aside", f))
	w, err := l.table.Withdraw()
	l.must(err)
	if w.Moved != 11 || len(w.Gone) != 1 || w.Gone[0] != l.file(3, 0).Final || len(w.Declared) != 1 {
		t.Errorf("%+v", w)
	}
	if r := l.audit(Options{}); r.Verdict != Clean || !strings.Contains(text(r), "was in no place") {
		t.Fatal(text(r))
	}
}

// TestKept: offsets that come again by order are no fault, once.
func TestKept(t *testing.T) {
	for _, every := range []int{0, 2} {
		for _, i := range []int{-1, 0} {
			if every > 0 && i == 0 {
				continue // it is behind a segment
			}
			l := standard(t, "json", every)
			l.keep(i)
			l.checkpoints(6)
			r := l.audit(Options{})
			if r.Verdict != Clean || r.Jobs[0].Certificates != 11 || !strings.Contains(text(r), "may be there twice, by order") {
				t.Fatalf("every %d, to %d:\n%s", every, i, text(r))
			}
		}
	}
}

// TestKeptThenRewound: a chain that was kept can be taken back later, to before or behind the place where it was kept.
func TestKeptThenRewound(t *testing.T) {
	for _, i := range []int{1, 3} {
		l := standard(t, "json", 0)
		l.keep(2)
		l.checkpoints(2)
		l.begin(20)
		_, c := l.certificate(i)
		b, err := l.table.Back(commit.Target{Checkpoint: c.Checkpoint, Complete: c.Complete, LogID: c.LogID, Known: true})
		l.must(err)
		if len(b.Newer) != 6-i {
			t.Fatalf("%+v", b)
		}
		l.must(l.table.Supersede("again", b))
		_, err = l.table.Withdraw()
		l.must(err)
		l.expect, l.next = l.table.State().Chain, [2]int64{c.Ranges[0].To, c.Ranges[1].To}
		l.checkpoints(2)
		if r := l.audit(Options{}); r.Verdict != Clean || r.Jobs[0].Certificates != int64(i+3) {
			t.Fatalf("to %d:\n%s", i, text(r))
		}
	}
}

// TestOtherJobExcused: two jobs over the same records, by order.
func TestOtherJobExcused(t *testing.T) {
	l := standard(t, "json", 0)
	other := openLake(t, l.root, "copy", "json", 0)
	l.must(other.table.CheckOthers([]string{"events-0"}, true, false))
	other.checkpoints(1)
	if r := l.audit(Options{}); r.Verdict != Clean {
		t.Fatal(text(r))
	}
	other.open()
	l.must(other.table.CheckOthers([]string{"events-0"}, false, true)) // it stays so
}

// TestPlace: what a job went back to is named as its checkpoint, or as nothing before it.
func TestPlace(t *testing.T) {
	if got := place(account.ChainEnd{}); got != "its beginning" {
		t.Error(got)
	}
	if got := place(account.ChainEnd{Certificate: "x", Checkpoint: 4}); got != "checkpoint 4" {
		t.Error(got)
	}
}
