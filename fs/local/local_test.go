package local

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"staunch/fs"
	"staunch/fs/fstest"
)

func TestConformance(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fs.FS, string) { return New(), t.TempDir() })
}

// withoutNoReplace is a disk whose file system does not know the flag.
func withoutNoReplace(answer syscall.Errno, calls *int) *FS {
	s := New()
	s.rename2 = func(string, string) error {
		*calls++
		return answer
	}
	return s
}

func TestConformanceByLink(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fs.FS, string) { return withoutNoReplace(syscall.EINVAL, new(int)), t.TempDir() })
}

func TestProbeOncePerMount(t *testing.T) {
	for _, answer := range []syscall.Errno{syscall.EINVAL, syscall.ENOSYS} {
		calls := 0
		s, dir := withoutNoReplace(answer, &calls), t.TempDir()
		for _, n := range []string{"a", "b", "c"} {
			fstest.Put(t, s, dir+"/"+n, n)
			if err := s.Rename(dir+"/"+n, dir+"/"+n+"2"); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 1 {
			t.Errorf("%v: renameat2 was tried %d times", answer, calls)
		}
	}
}

func TestRenameFolderBelowItself(t *testing.T) {
	s, dir := New(), t.TempDir()
	if err := s.MkdirAll(dir + "/d"); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(dir+"/d", dir+"/d/e"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v", err)
	}
	if len(s.links) != 0 {
		t.Error("that was taken for a file system without the flag")
	}
}

func TestOtherFileSystem(t *testing.T) {
	var a, b unix.Stat_t
	dir := t.TempDir()
	if unix.Stat("/dev/shm", &a) != nil || unix.Stat(dir, &b) != nil || a.Dev == b.Dev {
		t.Skip("no second file system on this machine")
	}
	other, err := os.MkdirTemp("/dev/shm", "staunch")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	s := New()
	fstest.Put(t, s, dir+"/a", "1")
	err = s.Rename(dir+"/a", other+"/a")
	if !errors.Is(err, syscall.EXDEV) || !strings.Contains(err.Error(), "different file systems") {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		t.Errorf("%v has a sentinel", err)
	}
	if err := fs.Movable(s, dir, other); !errors.Is(err, syscall.EXDEV) || !strings.Contains(err.Error(), "different file systems") || !strings.Contains(err.Error(), other) {
		t.Errorf("movable: %v", err)
	}
	for _, c := range [][2]string{{dir, dir + "/to"}, {dir, dir + "/missing"}, {dir + "/missing", other}} {
		if err := errors.Join(os.MkdirAll(dir+"/to", 0o755), fs.Movable(s, c[0], c[1])); err != nil {
			t.Errorf("movable from %s to %s: %v", c[0], c[1], err)
		}
	}
	for _, d := range []string{dir + "/to", other} {
		if l, err := os.ReadDir(d); err != nil || len(l) > 0 {
			t.Errorf("something is left in %s: %v, %v", d, l, err)
		}
	}
}

func TestSymlinks(t *testing.T) {
	s, dir := New(), t.TempDir()
	fstest.Put(t, s, dir+"/a", "12345")
	for link, to := range map[string]string{"l": "a", "dangling": "nowhere", "d": "."} {
		if err := os.Symlink(to, dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"l", "dangling", "d"} {
		if i, err := s.Stat(dir + "/" + link); err != nil || !i.Symlink || i.Dir {
			t.Errorf("%s: %+v, %v", link, i, err)
		}
	}
	if got := fstest.Content(t, s, dir+"/l"); got != "12345" {
		t.Errorf("read %q", got)
	}
	if _, err := s.Create(dir + "/dangling"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create through a dangling link: %v", err)
	}
	fstest.Put(t, s, dir+"/b", "")
	if err := s.Rename(dir+"/b", dir+"/dangling"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("rename over a dangling link: %v", err)
	}
	if err := s.Delete(dir + "/l"); err != nil {
		t.Error(err)
	}
	if got := fstest.Content(t, s, dir+"/a"); got != "12345" {
		t.Error("deleting a link deleted its file")
	}
	if err := moveByLink(dir+"/dangling", dir+"/moved"); err != nil {
		t.Error(err)
	}
	if i, err := s.Stat(dir + "/moved"); err != nil || !i.Symlink {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestOpenPipe(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/p", 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New().Open(dir + "/p"); !errors.Is(err, fs.ErrNotFile) {
		t.Errorf("got %v", err)
	}
	for _, to := range []string{"/dev/zero", "loop", dir} {
		if err := os.Symlink(to, dir+"/loop"); err != nil {
			t.Fatal(err)
		}
		if _, err := New().Open(dir + "/loop"); !errors.Is(err, fs.ErrNotFile) || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("link to %s: %v", to, err)
		}
		if err := os.Remove(dir + "/loop"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDiskFull(t *testing.T) {
	// /dev/full answers ENOSPC to every write.
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &file{f: f, path: "/x/full"}
	if _, err := w.Write([]byte("a")); !errors.Is(err, fs.ErrNoSpace) || !strings.Contains(err.Error(), "/x/full") {
		t.Errorf("write: %v", err)
	}
	if _, err := w.Write(nil); !errors.Is(err, fs.ErrNoSpace) {
		t.Errorf("second write: %v", err)
	}
	if err := w.Sync(); !errors.Is(err, fs.ErrNoSpace) {
		t.Errorf("sync after a failed write: %v", err)
	}
	if err := w.Close(); !errors.Is(err, fs.ErrNoSpace) {
		t.Errorf("close after a failed write: %v", err)
	}
}

func TestErrnos(t *testing.T) {
	for no, sentinel := range map[syscall.Errno]error{
		syscall.ENOSPC: fs.ErrNoSpace, syscall.EDQUOT: fs.ErrNoSpace, syscall.ENAMETOOLONG: fs.ErrNameTooLong, syscall.ENOENT: fs.ErrNotExist,
		syscall.ENOTDIR: fs.ErrNotExist, syscall.EEXIST: fs.ErrExist, syscall.ENOTEMPTY: fs.ErrNotEmpty, syscall.ESTALE: fs.ErrUnavailable,
		syscall.ENOTCONN: fs.ErrUnavailable, syscall.EROFS: iofs.ErrPermission,
	} {
		err := wrap("create", "/p", "", &os.PathError{Op: "open", Path: "/p", Err: no})
		if !errors.Is(err, sentinel) || !errors.Is(err, no) {
			t.Errorf("%v: %v", no, err)
		}
		if strings.Count(err.Error(), "/p") != 1 {
			t.Errorf("path named twice: %v", err)
		}
	}
	for _, no := range []syscall.Errno{syscall.EIO, syscall.EACCES, syscall.EROFS, syscall.EMFILE, syscall.EXDEV} {
		err := wrap("create", "/p", "", no)
		for _, s := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrUnavailable, fs.ErrRefused, fs.ErrNoSpace, fs.ErrNotEmpty} {
			if errors.Is(err, s) {
				t.Errorf("%v is taken for %v", no, s)
			}
		}
	}
}

func TestResolve(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := New()
	if err := s.MkdirAll(dir + "/real/sub"); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"abs": dir + "/real", "rel": "real/sub", "chain": "abs/sub", "gone": "later/on", "loop": "loop", "up": "real/sub/.."} {
		if err := os.Symlink(to, dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	fstest.Put(t, s, dir+"/file", "")
	for _, c := range []struct{ uri, want string }{
		{"file://" + dir + "/real", dir + "/real"},
		{"file:" + dir + "/real", dir + "/real"},
		{"FILE://localhost" + dir + "/real/", dir + "/real"},
		{dir + "//real/./sub/", dir + "/real/sub"},
		{"real", dir + "/real"},
		{"./a:b", dir + "/a:b"},
		{"x/a:b", dir + "/x/a:b"},
		{"new/folder", dir + "/new/folder"},
		{"abs/new", dir + "/real/new"},
		{"rel", dir + "/real/sub"},
		{"rel/..", dir + "/real"},
		{"chain/x", dir + "/real/sub/x"},
		{"gone/x", dir + "/later/on/x"},
		{"up/sub", dir + "/real/sub"},
		{"new/../abs", dir + "/real"},
		{"a%20b", dir + "/a%20b"},
		{"file", dir + "/file"},
		{"/", "/"},
		{"/../..", "/"},
		{".", dir},
	} {
		f, got, err := Resolver{FS: s, WorkDir: dir}.Resolve(c.uri)
		if err != nil || got != c.want || f != fs.FS(s) {
			t.Errorf("%s: %q, %v; want %q", c.uri, got, err, c.want)
		}
	}
	for uri, text := range map[string]string{
		"hdfs://ns/x": "hdfs:// is not supported yet", "s3a://b/x": "s3a:// is not supported yet", "": "empty path", "a:b": "a:// is not supported",
		"file:x": "relative", "file://tmp/x": "file:///tmp/x", "file://": "no path", "x\x00y": "NUL", "loop/x": "too many symbolic links",
		"file/x": "is no folder",
	} {
		if _, got, err := (Resolver{FS: s, WorkDir: dir}).Resolve(uri); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %q, %v", uri, got, err)
		}
	}
}

func TestResolvers(t *testing.T) {
	l := Resolver{FS: New(), WorkDir: "/"}
	all := fs.Resolvers{"": l, "file": l}
	if _, got, err := all.Resolve("file:///nowhere/x"); err != nil || got != "/nowhere/x" {
		t.Errorf("%q, %v", got, err)
	}
	_, _, err := all.Resolve("s3://b/x")
	if err == nil || !strings.Contains(err.Error(), "s3:// is not supported yet") || !strings.Contains(err.Error(), "supported: file://") {
		t.Error(err)
	}
}

func TestEachEntry(t *testing.T) {
	dir := t.TempDir()
	for i := range 2500 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), []byte("ab"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int64{}
	if err := New().EachEntry(dir, func(i fs.Info) error { seen[i.Name] += i.Size; return nil }); err != nil || len(seen) != 2500 || seen["f7"] != 2 {
		t.Errorf("%d entries, %v", len(seen), err)
	}
	stop, n := errors.New("enough"), 0
	if err := New().EachEntry(dir, func(fs.Info) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("visit's error: %v after %d", err, n)
	}
	if err := New().EachEntry(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}
