package audit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/env/envtest"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/local"
	"staunch/log"
)

// twoLogs is a table with the log of the job that writes it.
type twoLogs struct {
	*lake
	dir string
	log *checkpoint.Store
}

func withJobLog(t *testing.T) *twoLogs {
	l := newLake(t, "json", 2)
	x := &twoLogs{lake: l, dir: filepath.Join(filepath.Dir(l.root), "checkpoints", "log")}
	x.log = checkpoint.Open(&envtest.Quick{}, lazy{local.New()}, x.dir, checkpoint.Variant{}, slog.New(slog.DiscardHandler))
	l.must(x.log.Load())
	l.must(x.log.Begin(account.Begin{LogID: l.owner.LogID, Job: l.job}, false))
	x.owner.LogID, x.owner.Epoch, x.owner.TakeOver = x.log.LogID(), x.log.Epoch(), true
	x.open()
	l.must(x.table.Claim(nil))
	return x
}

// complete appends the complete of the next checkpoint.
func (x *twoLogs) complete() account.Certificate {
	x.t.Helper()
	c := x.write(40)
	r, err := x.log.Complete(checkpoint.Metadata{Job: x.job, ID: c.Checkpoint,
		Tables: map[string]checkpoint.Table{"key": {Expect: x.expect, Files: c.Files, Ranges: c.Ranges}}})
	x.must(err)
	c.Complete = r.Hash
	return c
}

func (x *twoLogs) steps(n int) {
	x.t.Helper()
	for range n {
		x.commit(x.complete())
		x.log.Clean(1)
	}
}

func (x *twoLogs) look() *Report {
	x.t.Helper()
	r, err := Table(context.Background(), &envtest.Quick{}, local.New(), x.root, Options{Fast: true, JobLogs: []JobLog{{Job: x.job, Store: local.New(), Dir: x.dir, Key: "key"}}})
	x.must(err)
	return r
}

func (x *twoLogs) snapshot(dir string) (back func()) {
	x.t.Helper()
	copy := dir + ".copy"
	x.must(os.CopyFS(copy, os.DirFS(dir)))
	return func() {
		x.t.Helper()
		x.must(os.RemoveAll(dir))
		x.must(os.Rename(copy, dir))
	}
}

func TestJobLog(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(x *twoLogs)
		want []Kind
		says string
	}{
		{name: "in step", do: func(x *twoLogs) { x.steps(4) }},
		{name: "complete and not certified", do: func(x *twoLogs) { x.steps(2); x.complete() }, says: "has no certificate here yet"},
		{name: "the first is complete and not certified", do: func(x *twoLogs) { x.complete() }, says: "has no certificate here yet"},
		{name: "older copy of the table", do: func(x *twoLogs) {
			x.steps(2)
			back := x.snapshot(x.root)
			x.steps(3)
			back()
		}, want: []Kind{LogBehind}, says: "ends with checkpoint 2 "},
		{name: "copy of the table that lacks one checkpoint", do: func(x *twoLogs) {
			x.steps(2)
			back := x.snapshot(x.root)
			x.steps(1)
			back()
		}, want: []Kind{LogBehind}, says: "6 of its 6 files"},
		{name: "end of the log cut off", do: func(x *twoLogs) {
			x.steps(5)
			n := x.numbers()
			for _, e := range n[len(n)-2:] {
				x.remove(x.entry(e))
			}
		}, want: []Kind{FileForeign}, says: "has no certificate here yet"},
		{name: "more of the log cut off", do: func(x *twoLogs) {
			x.steps(3)
			n := x.numbers()
			x.steps(2)
			for _, e := range x.numbers() {
				if !slices.Contains(n, e) {
					x.remove(x.entry(e))
				}
			}
		}, want: []Kind{FileForeign, LogBehind}, says: "its end was cut off"},
		{name: "no log in the table", do: func(x *twoLogs) { x.steps(2); x.remove(x.logDir()) }, want: []Kind{LogBehind, NoLog}, says: "has no certificate"},
		{name: "older copy of the job's log", do: func(x *twoLogs) {
			x.steps(2)
			back := x.snapshot(x.dir)
			x.steps(2)
			back()
		}, want: []Kind{JobLogBehind}, says: "the checkpoint directory is an older copy"},
		{name: "no job log", do: func(x *twoLogs) { x.steps(2); x.remove(x.dir) }, says: "there is no log of job"},
		{name: "damaged job log", do: func(x *twoLogs) {
			x.steps(2)
			for _, e := range x.jobEntries() {
				x.edit(e, flip)
			}
		}, want: []Kind{JobLogDamaged}, says: "cannot be read"},
		{name: "truncated job log", do: func(x *twoLogs) { x.steps(2); x.edit(x.newest(), func(b []byte) []byte { return b[:len(b)/2] }) }, want: []Kind{JobLogDamaged}, says: "cannot be read"},
		{name: "empty entry of the job log", do: func(x *twoLogs) { x.steps(2); x.edit(x.newest(), func([]byte) []byte { return nil }) }, want: []Kind{JobLogDamaged}, says: "cannot be read"},
		{name: "folder for an entry of the job log", do: func(x *twoLogs) { x.steps(2); p := x.newest(); x.remove(p); x.must(os.Mkdir(p, 0o777)) }, want: []Kind{JobLogDamaged}, says: "cannot be read"},
		{name: "job log of a newer version", do: func(x *twoLogs) {
			x.steps(2)
			x.edit(x.newest(), func(b []byte) []byte { return bytes.Replace(b, []byte("staunch-log 1"), []byte("staunch-log 2"), 1) })
		}, want: []Kind{JobLogDamaged}, says: "with the version that wrote it"},
		{name: "newer format of a checkpoint", do: func(x *twoLogs) { x.steps(2); x.append(account.KindComplete, `{"version":9}`) }, want: []Kind{JobLogDamaged}, says: "it has format 9"},
		{name: "entry of an unknown kind in the job log", do: func(x *twoLogs) { x.steps(2); x.append("other", `{}`) }, want: []Kind{JobLogDamaged}, says: "(other)"},
		{name: "file for the job log", do: func(x *twoLogs) { x.steps(2); x.remove(x.dir); x.must(os.WriteFile(x.dir, nil, 0o666)) }, want: []Kind{JobLogDamaged}, says: "is a file, not a folder"},
		{name: "file above the job log", do: func(x *twoLogs) {
			x.steps(2)
			x.remove(filepath.Dir(x.dir))
			x.must(os.WriteFile(filepath.Dir(x.dir), nil, 0o666))
		}, want: []Kind{JobLogDamaged}, says: "/checkpoints is a file, not a folder"},
		{name: "link to nowhere for the job log", do: func(x *twoLogs) { x.steps(2); x.remove(x.dir); x.must(os.Symlink("nowhere", x.dir)) }, want: []Kind{JobLogDamaged}, says: "leads to no folder"},
		{name: "damaged job log hides that the table is behind", do: func(x *twoLogs) {
			x.steps(2)
			back := x.snapshot(x.root)
			x.steps(3)
			back()
			x.edit(x.newest(), func(b []byte) []byte { return b[:len(b)/2] })
		}, want: []Kind{JobLogDamaged}, says: "not proven"},
		{name: "no checkpoint directory", do: func(x *twoLogs) { x.steps(2); x.remove(filepath.Dir(x.dir)) }, says: "there is no log of job"},
		{name: "another table of the job", do: func(x *twoLogs) {
			x.steps(2)
			_, err := x.log.Complete(checkpoint.Metadata{Job: x.job, ID: 9, Tables: map[string]checkpoint.Table{"other": {Expect: account.ChainEnd{Certificate: "x"}}}})
			x.must(err)
		}},
		{name: "gone back", do: func(x *twoLogs) {
			x.steps(4)
			n, err := x.log.Rewind(checkpoint.Rewind{Job: x.job, Mode: checkpoint.TakeBack, Greatest: 4})
			x.must(err)
			if n.Target != nil {
				x.t.Fatal("it has a target")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := withJobLog(t)
			c.do(x)
			r := x.look()
			if got := kinds(r); !slices.Equal(got, c.want) || !strings.Contains(text(r), c.says) {
				t.Errorf("found %v, expected %v and %q\n%s", got, c.want, c.says, text(r))
			}
		})
	}
}

// TestJobLogPermission: a job's log that may not be read is a finding with its place, also if it would be seen only when it is looked at again.
func TestJobLogPermission(t *testing.T) {
	x := withJobLog(t)
	x.steps(2)
	back := x.snapshot(x.dir)
	x.steps(2)
	for _, later := range []bool{false, true} {
		if later {
			back() // the table is ahead: the job's log is read again
		}
		r, err := Table(context.Background(), &envtest.Quick{}, local.New(), x.root,
			Options{Fast: true, JobLogs: []JobLog{{Job: x.job, Store: &forbidden{FS: local.New(), later: later}, Dir: x.dir, Key: "key"}}})
		x.must(err)
		if got := kinds(r); r.Verdict != Wrong || !slices.Equal(got, []Kind{JobLogDamaged}) || r.Problems[0].Path != x.dir {
			t.Errorf("found %v\n%s", got, text(r))
		}
	}
}

// TestJobLogNowhere: also if it cannot be said where the job's log lies, the end of the table's log is not proven.
func TestJobLogNowhere(t *testing.T) {
	x := withJobLog(t)
	x.steps(2)
	r, err := Table(context.Background(), &envtest.Quick{}, local.New(), x.root, Options{Fast: true, JobLogs: []JobLog{{Job: x.job, Key: "key", Err: fault.Userf("no such store").WithHint("name another")}}})
	x.must(err)
	if got := kinds(r); r.Verdict != Wrong || !slices.Equal(got, []Kind{JobLogDamaged}) || !strings.Contains(text(r), "no such store; name another\n") {
		t.Errorf("found %v\n%s", got, text(r))
	}
}

// forbidden is a store whose entries may not be read, or no longer once they have been.
type forbidden struct {
	fs.FS
	later  bool
	opened map[string]bool
}

func (f *forbidden) Open(p string) (fs.Reader, error) {
	if f.later && !f.opened[p] {
		if f.opened == nil {
			f.opened = map[string]bool{}
		}
		f.opened[p] = true
		return f.FS.Open(p)
	}
	return nil, fmt.Errorf("open %s: %w", p, os.ErrPermission)
}

// newest is the file of the job log's newest entry.
func (x *twoLogs) newest() string {
	x.t.Helper()
	at, most := "", int64(0)
	for _, p := range x.jobEntries() {
		if n := log.Number(filepath.Base(p), ""); n > most {
			at, most = p, n
		}
	}
	return at
}

// append appends an entry to the job's log as another version might.
func (x *twoLogs) append(kind, body string) {
	x.t.Helper()
	l := log.Open(&envtest.Quick{}, local.New(), x.dir, "")
	_, err := l.Read()
	x.must(err)
	_, err = l.Append(log.Append{Kind: kind, Body: []byte(body)})
	x.must(err)
}

func (x *twoLogs) jobEntries() []string {
	x.t.Helper()
	list, err := filepath.Glob(x.dir + "/[0-9]*")
	x.must(err)
	return list
}
