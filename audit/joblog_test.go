package audit

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/env/envtest"
	"staunch/fs/local"
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
		}, says: "cannot be read"},
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

func (x *twoLogs) jobEntries() []string {
	x.t.Helper()
	list, err := filepath.Glob(x.dir + "/[0-9]*")
	x.must(err)
	return list
}
