package fstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"staunch/fault"
	"staunch/fs"
)

// New gives a store and an existing empty folder of it, for one test.
type New func(t *testing.T) (fs.FS, string)

// Limit is something that a store cannot do by its nature.
type Limit uint8

// NoColon: it takes no name with a colon, and refuses it by a fault.User error.
const NoColon Limit = 1

// Run checks a store.
func Run(t *testing.T, create New, limits ...Limit) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, f fs.FS, dir string)
	}{
		{"create", testCreate},
		{"write-close", testWriteClose},
		{"read", testRead},
		{"rename", testRename},
		{"rename-missing", testRenameMissing},
		{"rename-folder-taken", testRenameFolderTaken},
		{"stat", testStat},
		{"list", testList},
		{"mkdir", testMkdir},
		{"delete", testDelete},
		{"delete-dir", testDeleteDir},
		{"sync-dir", testSyncDir},
		{"names", func(t *testing.T, f fs.FS, dir string) { testNames(t, f, dir, slices.Contains(limits, NoColon)) }},
		{"file-in-the-way", testFileInTheWay},
		{"open-while-moved", testOpenWhileMoved},
		{"concurrent-create", testConcurrentCreate},
		{"concurrent-rename", testConcurrentRename},
		{"error-text", testErrorText},
		{"probe", testProbe},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, dir := create(t)
			c.run(t, f, dir)
		})
	}
}

// Put makes a file with the given content, durable up to its name.
func Put(t testing.TB, f fs.FS, path, content string) {
	t.Helper()
	if err := put(f, path, content); err != nil {
		t.Fatal(err)
	}
}

func put(f fs.FS, path, content string) error {
	w, err := f.Create(path)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, content)
	return errors.Join(err, w.Sync(), w.Close())
}

// Content is the content of a file.
func Content(t testing.TB, f fs.FS, path string) string {
	t.Helper()
	b, err := fs.ReadFile(f, path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func want(t *testing.T, what string, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Errorf("%s: got %v, want %v", what, err, sentinel)
	}
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func testCreate(t *testing.T, f fs.FS, dir string) {
	Put(t, f, dir+"/a", "one")
	_, err := f.Create(dir + "/a")
	want(t, "create of a taken name", err, fs.ErrExist)
	if got := Content(t, f, dir+"/a"); got != "one" {
		t.Errorf("after a refused create the file holds %q", got)
	}
	_, err = f.Create(dir + "/missing/a")
	want(t, "create in a missing folder", err, fs.ErrNotExist)
	if _, err := f.Stat(dir + "/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("create made the missing folder (%v)", err)
	}
	must(t, "mkdir", f.MkdirAll(dir+"/d"))
	_, err = f.Create(dir + "/d")
	want(t, "create over a folder", err, fs.ErrExist)
}

func testWriteClose(t *testing.T, f fs.FS, dir string) {
	w, err := f.Create(dir + "/a")
	must(t, "create", err)
	part := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	for range 10 {
		n, err := w.Write(part)
		must(t, "write", err)
		if n != len(part) {
			t.Fatalf("wrote %d of %d", n, len(part))
		}
	}
	part[0] = 'X' // the store must not keep the caller's memory
	must(t, "sync", w.Sync())
	must(t, "close", w.Close())
	if _, err := w.Write([]byte("more")); err == nil {
		t.Error("write after close succeeded")
	}
	if i, err := f.Stat(dir + "/a"); err != nil || i.Size != 160000 {
		t.Errorf("stat: %+v, %v", i, err)
	}
	if got := Content(t, f, dir+"/a"); got != strings.Repeat("0123456789abcdef", 10000) {
		t.Error("content differs")
	}
	w, err = f.Create(dir + "/empty")
	must(t, "create", err)
	must(t, "close", w.Close())
	if got := Content(t, f, dir+"/empty"); got != "" {
		t.Errorf("empty file holds %q", got)
	}
}

func testRead(t *testing.T, f fs.FS, dir string) {
	Put(t, f, dir+"/a", "0123456789")
	r, err := f.Open(dir + "/a")
	must(t, "open", err)
	if r.Size() != 10 {
		t.Errorf("size %d", r.Size())
	}
	b := make([]byte, 4)
	if n, err := r.ReadAt(b, 3); n != 4 || err != nil || string(b) != "3456" {
		t.Errorf("ReadAt 3: %d %v %q", n, err, b)
	}
	if n, err := r.ReadAt(b, 8); n != 2 || err != io.EOF || string(b[:n]) != "89" {
		t.Errorf("ReadAt over the end: %d %v %q", n, err, b[:n])
	}
	if n, err := r.ReadAt(b, 10); n != 0 || err != io.EOF {
		t.Errorf("ReadAt at the end: %d %v", n, err)
	}
	if n, err := r.ReadAt(b, -1); n != 0 || err == nil || err == io.EOF {
		t.Errorf("ReadAt -1: %d %v", n, err)
	}
	if n, err := io.ReadFull(r, b); n != 4 || err != nil || string(b) != "0123" {
		t.Errorf("Read after ReadAt: %d %v %q", n, err, b)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "456789" {
		t.Errorf("rest %q, %v", rest, err)
	}
	if n, err := r.Read(b); n != 0 || err != io.EOF {
		t.Errorf("Read at the end: %d %v", n, err)
	}
	must(t, "close", r.Close())
	_, err = f.Open(dir + "/b")
	want(t, "open of a missing file", err, fs.ErrNotExist)
	_, err = f.Open(dir)
	if err == nil {
		t.Error("open of a folder succeeded")
	}
}

func testRename(t *testing.T, f fs.FS, dir string) {
	must(t, "mkdir", f.MkdirAll(dir+"/d"))
	Put(t, f, dir+"/a", "one")
	Put(t, f, dir+"/b", "two")
	want(t, "rename over a file", f.Rename(dir+"/a", dir+"/b"), fs.ErrExist)
	want(t, "rename to itself", f.Rename(dir+"/a", dir+"/a"), fs.ErrExist)
	if a, b := Content(t, f, dir+"/a"), Content(t, f, dir+"/b"); a != "one" || b != "two" {
		t.Fatalf("a refused rename left %q and %q", a, b)
	}
	must(t, "rename", f.Rename(dir+"/a", dir+"/d/c"))
	_, err := f.Stat(dir + "/a")
	want(t, "stat of the old name", err, fs.ErrNotExist)
	if got := Content(t, f, dir+"/d/c"); got != "one" {
		t.Errorf("moved file holds %q", got)
	}
	// The freed name can be used again.
	Put(t, f, dir+"/a", "three")
	want(t, "rename over the moved file", f.Rename(dir+"/a", dir+"/d/c"), fs.ErrExist)
}

func testRenameMissing(t *testing.T, f fs.FS, dir string) {
	err := f.Rename(dir+"/a", dir+"/b")
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrRefused) {
		t.Errorf("rename of a missing file: %v", err)
	}
	Put(t, f, dir+"/b", "two")
	if err := f.Rename(dir+"/a", dir+"/b"); err == nil {
		t.Error("rename of a missing file over another succeeded")
	}
	Put(t, f, dir+"/a", "one")
	err = f.Rename(dir+"/a", dir+"/missing/a")
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrRefused) {
		t.Errorf("rename to a missing folder: %v", err)
	}
	if got := Content(t, f, dir+"/a"); got != "one" {
		t.Errorf("after a refused rename the file holds %q", got)
	}
	_, err = f.Stat(dir + "/missing")
	want(t, "stat of the missing folder", err, fs.ErrNotExist)
}

func testRenameFolderTaken(t *testing.T, f fs.FS, dir string) {
	// HDFS's rename moves into a folder of that name; here it must not.
	must(t, "mkdir", f.MkdirAll(dir+"/d"))
	Put(t, f, dir+"/a", "one")
	want(t, "rename to a folder's name", f.Rename(dir+"/a", dir+"/d"), fs.ErrExist)
	if got := Content(t, f, dir+"/a"); got != "one" {
		t.Errorf("after a refused rename the file holds %q", got)
	}
	if l, err := f.List(dir + "/d"); err != nil || len(l) != 0 {
		t.Errorf("the folder holds %v, %v", l, err)
	}
}

func testStat(t *testing.T, f fs.FS, dir string) {
	Put(t, f, dir+"/a", "12345")
	i, err := f.Stat(dir + "/a")
	if err != nil || i.Name != "a" || i.Size != 5 || i.Dir || i.Symlink {
		t.Errorf("file: %+v, %v", i, err)
	}
	must(t, "mkdir", f.MkdirAll(dir+"/d"))
	i, err = f.Stat(dir + "/d")
	if err != nil || i.Name != "d" || !i.Dir {
		t.Errorf("folder: %+v, %v", i, err)
	}
	_, err = f.Stat(dir + "/b")
	want(t, "stat of a missing file", err, fs.ErrNotExist)
	_, err = f.Stat(dir + "/b/c")
	want(t, "stat in a missing folder", err, fs.ErrNotExist)
}

func testList(t *testing.T, f fs.FS, dir string) {
	if l, err := f.List(dir); err != nil || len(l) != 0 {
		t.Errorf("empty folder: %v, %v", l, err)
	}
	names := []string{"10", "9", "b", "a", "A", ".hidden", "_x", "ä", "dt=2026-01-01", "a.b", "a-b"}
	for i, n := range names {
		if i%3 == 2 {
			must(t, "mkdir", f.MkdirAll(dir+"/"+n))
			Put(t, f, dir+"/"+n+"/inner", "x")
		} else {
			Put(t, f, dir+"/"+n, strings.Repeat("x", i))
		}
	}
	l, err := f.List(dir)
	must(t, "list", err)
	var got []string
	for _, i := range l {
		at := slices.Index(names, i.Name)
		if at < 0 {
			t.Errorf("listed %q", i.Name)
			continue
		}
		if i.Dir != (at%3 == 2) || !i.Dir && i.Size != int64(at) {
			t.Errorf("%+v", i)
		}
		got = append(got, i.Name)
	}
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("listed %q, want %q", got, names)
	}
	_, err = f.List(dir + "/missing")
	want(t, "list of a missing folder", err, fs.ErrNotExist)
}

func testMkdir(t *testing.T, f fs.FS, dir string) {
	must(t, "mkdir", f.MkdirAll(dir+"/x/y/z"))
	must(t, "mkdir again", f.MkdirAll(dir+"/x/y/z"))
	must(t, "mkdir of a parent", f.MkdirAll(dir+"/x"))
	Put(t, f, dir+"/x/y/z/a", "1")
	must(t, "mkdir of what holds something", f.MkdirAll(dir+"/x/y/z"))
	if got := Content(t, f, dir+"/x/y/z/a"); got != "1" {
		t.Error("mkdir lost a file")
	}
}

func testDelete(t *testing.T, f fs.FS, dir string) {
	Put(t, f, dir+"/a", "1")
	Put(t, f, dir+"/b", "2")
	must(t, "delete", f.Delete(dir+"/a"))
	want(t, "delete again", f.Delete(dir+"/a"), fs.ErrNotExist)
	want(t, "delete in a missing folder", f.Delete(dir+"/missing/a"), fs.ErrNotExist)
	if got := Content(t, f, dir+"/b"); got != "2" {
		t.Error("the other file is gone")
	}
	must(t, "mkdir", f.MkdirAll(dir+"/d"))
	if err := f.Delete(dir + "/d"); err == nil {
		t.Error("Delete of a folder succeeded")
	}
	if i, err := f.Stat(dir + "/d"); err != nil || !i.Dir {
		t.Errorf("after Delete of a folder: %+v, %v", i, err)
	}
}

func testDeleteDir(t *testing.T, f fs.FS, dir string) {
	must(t, "mkdir", f.MkdirAll(dir+"/d/e"))
	Put(t, f, dir+"/d/e/a", "1")
	want(t, "delete of a folder with a file", f.DeleteDir(dir+"/d/e"), fs.ErrNotEmpty)
	want(t, "delete of a folder with a folder", f.DeleteDir(dir+"/d"), fs.ErrNotEmpty)
	if got := Content(t, f, dir+"/d/e/a"); got != "1" {
		t.Error("the file is gone")
	}
	if err := f.DeleteDir(dir + "/d/e/a"); err == nil {
		t.Error("DeleteDir of a file succeeded")
	}
	must(t, "delete", f.Delete(dir+"/d/e/a"))
	must(t, "delete folder", f.DeleteDir(dir+"/d/e"))
	want(t, "delete folder again", f.DeleteDir(dir+"/d/e"), fs.ErrNotExist)
	_, err := f.List(dir + "/d/e")
	want(t, "list", err, fs.ErrNotExist)
}

func testSyncDir(t *testing.T, f fs.FS, dir string) {
	Put(t, f, dir+"/a", "1")
	must(t, "sync", f.SyncDir(dir))
	must(t, "sync again", f.SyncDir(dir))
	want(t, "sync of a missing folder", f.SyncDir(dir+"/missing"), fs.ErrNotExist)
}

func testNames(t *testing.T, f fs.FS, dir string, noColon bool) {
	if noColon {
		if _, err := f.Create(dir + "/a:b"); fault.ClassOf(err) != fault.User {
			t.Errorf("create with a colon: %v", err)
		}
	} else {
		Put(t, f, dir+"/a:b", "")
	}
	for _, name := range []string{"with blank", "percent%41", "tab\there", "line\nend", "ünï", "back\\slash", "a*b?[c]", "..x", "'q\"", strings.Repeat("n", 255)} {
		Put(t, f, dir+"/"+name, name)
		if got := Content(t, f, dir+"/"+name); got != name {
			t.Errorf("%q holds %q", name, got)
		}
	}
	_, err := f.Create(dir + "/" + strings.Repeat("n", 256))
	want(t, "create with 256 letters", err, fs.ErrNameTooLong)
	want(t, "rename to 256 letters", f.Rename(dir+"/with blank", dir+"/"+strings.Repeat("m", 256)), fs.ErrNameTooLong)
	want(t, "mkdir with 256 letters", f.MkdirAll(dir+"/"+strings.Repeat("m", 256)+"/x"), fs.ErrNameTooLong)
}

func testFileInTheWay(t *testing.T, f fs.FS, dir string) {
	Put(t, f, dir+"/a", "1")
	want(t, "mkdir over a file", f.MkdirAll(dir+"/a"), fs.ErrExist)
	want(t, "mkdir below a file", f.MkdirAll(dir+"/a/b/c"), fs.ErrExist)
	_, err := f.Create(dir + "/a/b")
	want(t, "create below a file", err, fs.ErrNotExist)
	_, err = f.Stat(dir + "/a/b")
	want(t, "stat below a file", err, fs.ErrNotExist)
	_, err = f.List(dir + "/a")
	want(t, "list of a file", err, fs.ErrNotExist)
	if got := Content(t, f, dir+"/a"); got != "1" {
		t.Errorf("the file holds %q", got)
	}
}

func testOpenWhileMoved(t *testing.T, f fs.FS, dir string) {
	w, err := f.Create(dir + "/a")
	must(t, "create", err)
	_, err = io.WriteString(w, "begin ")
	must(t, "write", err)
	must(t, "rename", f.Rename(dir+"/a", dir+"/b"))
	_, err = io.WriteString(w, "end")
	must(t, "write", err)
	must(t, "close", w.Close())
	r, err := f.Open(dir + "/b")
	must(t, "open", err)
	must(t, "rename", f.Rename(dir+"/b", dir+"/c"))
	if b, err := io.ReadAll(r); err != nil || string(b) != "begin end" {
		t.Errorf("read %q, %v", b, err)
	}
	must(t, "close", r.Close())
}

// racers runs f at once n times and counts its successes; every other answer must be sentinel.
func racers(t *testing.T, n int, sentinel error, f func(i int) error) (won []int) {
	t.Helper()
	start := make(chan struct{})
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	for i, err := range errs {
		if err == nil {
			won = append(won, i)
		} else if !errors.Is(err, sentinel) {
			t.Errorf("racer %d: %v", i, err)
		}
	}
	return won
}

func testConcurrentCreate(t *testing.T, f fs.FS, dir string) {
	for round := range 20 {
		path := fmt.Sprintf("%s/%d", dir, round)
		won := racers(t, 8, fs.ErrExist, func(i int) error { return put(f, path, fmt.Sprint(i)) })
		if len(won) != 1 {
			t.Fatalf("%d creators of one name won", len(won))
		}
		if got := Content(t, f, path); got != fmt.Sprint(won[0]) {
			t.Errorf("creator %d won and the file holds %q", won[0], got)
		}
	}
}

func testConcurrentRename(t *testing.T, f fs.FS, dir string) {
	for round := range 20 {
		src := func(i int) string { return fmt.Sprintf("%s/src-%d-%d", dir, round, i) }
		for i := range 8 {
			Put(t, f, src(i), fmt.Sprint(i))
		}
		dst := fmt.Sprintf("%s/%d", dir, round)
		won := racers(t, 8, fs.ErrExist, func(i int) error { return f.Rename(src(i), dst) })
		if len(won) != 1 {
			t.Fatalf("%d renames to one name won", len(won))
		}
		if got := Content(t, f, dst); got != fmt.Sprint(won[0]) {
			t.Errorf("rename %d won and the file holds %q", won[0], got)
		}
		for i := range 8 {
			if _, err := f.Stat(src(i)); (err == nil) == (i == won[0]) {
				t.Errorf("source %d after rename %d won: %v", i, won[0], err)
			}
		}
	}
}

func testErrorText(t *testing.T, f fs.FS, dir string) {
	_, err := f.Create(dir + "/missing/a")
	if err == nil || !strings.Contains(err.Error(), dir+"/missing/a") || !strings.Contains(err.Error(), "create") {
		t.Errorf("create: %v", err)
	}
	err = f.Rename(dir+"/from", dir+"/to")
	if err == nil || !strings.Contains(err.Error(), dir+"/from") || !strings.Contains(err.Error(), dir+"/to") {
		t.Errorf("rename: %v", err)
	}
}

// overwriting is a store whose rename overwrites.
type overwriting struct{ fs.FS }

func (o overwriting) Rename(src, dst string) error {
	if err := o.Delete(dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return o.FS.Rename(src, dst)
}

func testProbe(t *testing.T, f fs.FS, dir string) {
	must(t, "probe", fs.Probe(f, dir, "probe-1"))
	want(t, "probe of a store that overwrites", fs.Probe(overwriting{f}, dir, "probe-2"), fs.ErrUnsupported)
	want(t, "probe of a missing folder", fs.Probe(f, dir+"/missing", "probe-3"), fs.ErrNotExist)
	want(t, "probe with a long name", fs.Probe(f, dir, strings.Repeat("n", 254)), fs.ErrNameTooLong)
	must(t, "make a folder", fs.MayMake(f, dir, ".probe-5"))
	want(t, "make a folder with a long name", fs.MayMake(f, dir, strings.Repeat("n", 256)), fs.ErrNameTooLong)
	if l, err := f.List(dir); err != nil || len(l) != 0 {
		t.Errorf("probes left %v, %v", l, err)
	}
}
