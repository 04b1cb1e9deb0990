package fs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"staunch/fs"
	"staunch/fs/fstest"
	"staunch/fs/mem"
)

// one is a Resolver of one store.
type one struct{ fs.FS }

func (o one) Resolve(uri string) (fs.FS, string, error) { return o.FS, uri, nil }

// away is a store that fails with err.
type away struct {
	fs.FS
	err error
}

func (a *away) Stat(path string) (fs.Info, error) {
	if a.err != nil {
		return fs.Info{}, a.err
	}
	return a.FS.Stat(path)
}

func TestWatchIsAStore(t *testing.T) {
	n := 0
	w := &fs.Watch{Resolver: one{mem.New().Client("a")}, Now: time.Now, Away: func(string, time.Time, error) { t.Error("away") }, Back: func(string, time.Time) { t.Error("back") }}
	fstest.Run(t, func(t *testing.T) (fs.FS, string) {
		n++
		f, dir, err := w.Resolve(fmt.Sprintf("/%d", n))
		if err == nil {
			err = f.MkdirAll(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f, dir
	})
	if a, b := second(w.Resolve("/x")), second(w.Resolve("/y")); a != b {
		t.Error("one store has two wrappers")
	}
}

// mounted is a store with mounts.
type mounted struct{ fs.FS }

func (mounted) Movable(from, to string) error { return errors.New(from + " " + to) }

func TestWatchedStoresTellMounts(t *testing.T) {
	w := &fs.Watch{Resolver: one{mounted{mem.New().Client("a")}}, Now: time.Now, Away: func(string, time.Time, error) {}, Back: func(string, time.Time) {}}
	if err := fs.Movable(second(w.Resolve("/")), "/a", "/b"); err == nil || err.Error() != "/a /b" {
		t.Error(err)
	}
}

func second(f fs.FS, _ string, _ error) fs.FS { return f }

func TestWatchTellsOfOutages(t *testing.T) {
	store := &away{FS: mem.New().Client("a")}
	now := time.Unix(1000, 0)
	var told []string
	tell := func(what string, since time.Time) {
		told = append(told, fmt.Sprintf("%d %s since %d", now.Unix(), what, since.Unix()))
	}
	w := &fs.Watch{Resolver: one{store}, Now: func() time.Time { return now }, Back: func(_ string, since time.Time) { tell("back", since) },
		Away: func(_ string, since time.Time, err error) {
			if !errors.Is(err, fs.ErrUnavailable) {
				t.Error(err)
			}
			tell("away", since)
		}}
	f, _, err := w.Resolve("/")
	if err != nil {
		t.Fatal(err)
	}
	for ; now.Unix() < 1200; now = now.Add(10 * time.Second) {
		store.err = nil
		if s := now.Unix(); s >= 1020 && s < 1150 || s == 1180 {
			store.err = fmt.Errorf("stat: %w", fs.ErrUnavailable)
		}
		if _, err := f.Stat("/nothing"); err == nil || errors.Is(err, fs.ErrUnavailable) != (store.err != nil) {
			t.Errorf("%d: %v", now.Unix(), err)
		}
	}
	want := []string{"1020 away since 1020", "1080 away since 1020", "1140 away since 1020", "1150 back since 1020", "1180 away since 1180", "1190 back since 1180"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
