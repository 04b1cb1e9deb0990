package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/connector"
	"staunch/fs"
	"staunch/fs/local"
)

// inFolder is a table of files in a store.
type inFolder struct {
	connector.FileTable
	store fs.FS
}

func (t inFolder) Store() fs.FS { return t.store }

// counting is a store whose calls are counted, and that may not answer.
type counting struct {
	fs.FS
	calls int
	err   error
}

func (c *counting) List(dir string) ([]fs.Info, error) {
	c.calls++
	if c.err != nil {
		return nil, c.err
	}
	return c.FS.List(dir)
}

func (c *counting) Stat(p string) (fs.Info, error) {
	c.calls++
	return c.FS.Stat(p)
}

// TestOldestOfMany: the oldest file on its way is found wherever it stands among however many, in few calls; files that are visible or of nobody do
// not count.
func TestOldestOfMany(t *testing.T) {
	store, dir, now := &counting{FS: local.New()}, t.TempDir(), time.Now().Truncate(time.Second)
	put := func(p string, age time.Duration) {
		err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, nil, 0o600), os.Chtimes(p, now.Add(-age), now.Add(-age)))
		if err != nil {
			t.Fatal(err)
		}
	}
	var table checkpoint.Table
	for i := range 2500 {
		p := fmt.Sprintf("%s/cp-7/a-%d/f-%d.pending", dir, i%3, i)
		table.Files = append(table.Files, account.File{Pending: p})
		if i%2 == 0 { // the others are visible
			put(p, time.Duration(i)*time.Second)
		}
	}
	put(dir+"/cp-7/a-0/of-nobody.pending", 24*time.Hour)
	table.Files = append(table.Files, account.File{Pending: dir + "/cp-8/gone.pending"})
	l := &loss{newest: &checkpoint.Restored{Metadata: checkpoint.Metadata{Tables: map[string]checkpoint.Table{"t": table}}}}
	name, since, err := l.oldest(inFolder{store: store}, "t", now)
	if want := fs.URI(store.FS, table.Files[2498].Pending); err != nil || name != want || !since.Equal(now.Add(-2498*time.Second)) {
		t.Errorf("%s since %s, %v; want %s", name, since, err, want)
	}
	if store.calls > 10 {
		t.Errorf("%d calls of the store", store.calls)
	}
	store.err = errors.New("no answer")
	if _, _, err := l.oldest(inFolder{store: store}, "t", now); !errors.Is(err, store.err) {
		t.Errorf("a store that does not answer: %v", err)
	}
	if name, since, err := (&loss{}).oldest(inFolder{store: store}, "t", now); name != "" || !since.Equal(now) || err != nil {
		t.Errorf("without a checkpoint: %s %s %v", name, since, err)
	}
}
