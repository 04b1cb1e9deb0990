package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"staunch/fs"
)

// FS is the local disk. Use New.
type FS struct {
	mu    sync.Mutex
	links map[uint64]bool // by device: renameat2 with NOREPLACE is not known there
	// rename2 is renameat2(RENAME_NOREPLACE); tests replace it.
	rename2 func(src, dst string) error
}

// New gives the local disk.
func New() *FS { return &FS{links: map[uint64]bool{}, rename2: renameNoReplace} }

func renameNoReplace(src, dst string) error {
	return retry(func() error { return unix.Renameat2(unix.AT_FDCWD, src, unix.AT_FDCWD, dst, unix.RENAME_NOREPLACE) })
}

// retry repeats a call that a signal interrupted.
func retry(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}

// Create implements fs.FS.
func (s *FS) Create(path string) (fs.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, wrap("create", path, "", err)
	}
	return &file{f: f, path: path}, nil
}

// file is an open new file. The first failure is final.
type file struct {
	f      *os.File
	path   string
	err    error
	closed bool
}

func (f *file) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	f.err = wrap(op, f.path, "", err)
	return f.err
}

func (f *file) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.f.Write(b)
	return n, f.fail("write", err)
}

func (f *file) Sync() error {
	if f.err != nil {
		return f.err
	}
	return f.fail("sync", f.f.Sync())
}

func (f *file) Close() error {
	if f.closed {
		return f.err
	}
	f.closed = true
	err := f.f.Close()
	if f.err != nil {
		return f.err
	}
	return f.fail("close", err)
}

// Rename implements fs.FS.
func (s *FS) Rename(src, dst string) error {
	dev, known := device(dst)
	s.mu.Lock()
	link := known && s.links[dev]
	s.mu.Unlock()
	if !link {
		err := s.rename2(src, dst)
		if err != syscall.EINVAL && err != syscall.ENOSYS && err != syscall.EOPNOTSUPP {
			return wrap("rename", src, dst, err)
		}
		if isDir(src) { // EINVAL: below itself; or a folder where only files can be moved without overwriting
			return wrap("rename", src, dst, err)
		}
		if err := moveByLink(src, dst); err != nil {
			return err
		}
		if known {
			s.mu.Lock()
			s.links[dev] = true
			s.mu.Unlock()
		}
		return nil
	}
	return moveByLink(src, dst)
}

// Movable implements fs.Mover. The kernel compares the mounts of both folders before it looks for the file, so that a name too long to be anybody's
// asks about all files; a bind mount of the same disk is told, too, which no look at device numbers does.
func (s *FS) Movable(from, to string) error {
	name := "/" + strings.Repeat("n", 256)
	if err := renameNoReplace(from+name, to+name); err == syscall.EXDEV {
		return wrap("move files", from, to, err)
	}
	return nil
}

// moveByLink is a rename without overwriting for file systems that have no such call.
func moveByLink(src, dst string) error {
	// linkat without AT_SYMLINK_FOLLOW: a symbolic link is moved, not what it points to.
	if err := retry(func() error { return unix.Linkat(unix.AT_FDCWD, src, unix.AT_FDCWD, dst, 0) }); err != nil {
		e := wrap("rename", src, dst, err).(*fs.Error)
		switch err {
		case syscall.EPERM, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK:
			e.Kind, e.Why = fs.ErrUnsupported, "this file system can neither rename without overwriting nor make hard links, so nothing exactly once can be kept on it"
		}
		return e
	}
	// ENOENT: somebody else took the old name away meanwhile; the file is where it should be.
	if err := retry(func() error { return unix.Unlink(src) }); err != nil && err != syscall.ENOENT {
		e := wrap("rename", src, dst, err).(*fs.Error)
		e.Kind, e.Why = nil, "the file has its new name and could not be removed from the old one"
		return e
	}
	return nil
}

// device is the mount's device number of the folder that holds path.
func device(path string) (uint64, bool) {
	var st unix.Stat_t
	if unix.Stat(filepath.Dir(path), &st) != nil {
		return 0, false
	}
	return uint64(st.Dev), true
}

func isDir(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// Stat implements fs.FS. A symbolic link is described itself, not what it points to.
func (s *FS) Stat(path string) (fs.Info, error) {
	i, err := os.Lstat(path)
	if err != nil {
		return fs.Info{}, wrap("stat", path, "", err)
	}
	return info(i), nil
}

func info(i os.FileInfo) fs.Info {
	return fs.Info{Name: i.Name(), Size: i.Size(), Dir: i.IsDir(), Symlink: i.Mode()&os.ModeSymlink != 0, ModTime: i.ModTime()}
}

// Open implements fs.FS. Symbolic links are followed; what is no regular file is refused.
func (s *FS) Open(path string) (fs.Reader, error) {
	// O_NONBLOCK: a pipe of that name must not hold the caller for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, wrap("open", path, "", err)
	}
	i, err := f.Stat()
	if err == nil && !i.Mode().IsRegular() {
		err = fmt.Errorf("%w (%s)", fs.ErrNotFile, i.Mode().Type())
	}
	if err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, wrap("open", path, "", err)
	}
	return &reader{f: f, path: path, size: i.Size()}, nil
}

type reader struct {
	f    *os.File
	path string
	size int64
}

func (r *reader) Size() int64 { return r.size }

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.f.Read(b)
	return n, r.wrap(err)
}

func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.f.ReadAt(b, off)
	return n, r.wrap(err)
}

func (r *reader) Close() error { return wrap("close", r.path, "", r.f.Close()) }

// wrap leaves io.EOF alone, which callers compare.
func (r *reader) wrap(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return wrap("read", r.path, "", err)
	}
	return err
}

// List implements fs.FS. What vanishes while the folder is read is left out.
func (s *FS) List(dir string) ([]fs.Info, error) {
	list := []fs.Info{}
	err := s.EachEntry(dir, func(i fs.Info) error {
		list = append(list, i)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b fs.Info) int { return strings.Compare(a.Name, b.Name) })
	// A name that moves away and comes back while the folder is read may be seen twice.
	return slices.CompactFunc(list, func(a, b fs.Info) bool { return a.Name == b.Name }), nil
}

// EachEntry implements fs.Pager.
func (s *FS) EachEntry(dir string, visit func(fs.Info) error) error {
	// O_DIRECTORY: a pipe of that name must not hold the caller for ever.
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return wrap("list", dir, "", err)
	}
	defer d.Close()
	for {
		page, err := d.ReadDir(1024)
		for _, e := range page {
			i, err := e.Info()
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return wrap("list", dir, "", err)
			}
			if err := visit(info(i)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return wrap("list", dir, "", err)
		}
	}
}

// MkdirAll implements fs.FS. fs.ErrExist if something on the way is there and is no folder.
func (s *FS) MkdirAll(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		return nil
	}
	e, ok := wrap("make folder", dir, "", err).(*fs.Error)
	var p *os.PathError
	if ok && e.Err == syscall.ENOTDIR && errors.As(err, &p) {
		e.Kind, e.Why = fs.ErrExist, p.Path+" is there and is no folder"
	}
	return e
}

// Delete implements fs.FS. It never removes a folder.
func (s *FS) Delete(path string) error {
	return wrap("delete", path, "", retry(func() error { return unix.Unlink(path) }))
}

// DeleteDir implements fs.FS.
func (s *FS) DeleteDir(dir string) error {
	err := retry(func() error { return unix.Rmdir(dir) })
	if err == syscall.EEXIST { // POSIX allows it for ENOTEMPTY
		err = syscall.ENOTEMPTY
	}
	return wrap("delete folder", dir, "", err)
}

// SyncDir implements fs.FS.
func (s *FS) SyncDir(dir string) error {
	fd, err := -1, error(nil)
	err = retry(func() (err error) {
		fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return wrap("sync folder", dir, "", err)
	}
	err = retry(func() error { return unix.Fsync(fd) })
	if cerr := unix.Close(fd); err == nil && cerr != syscall.EINTR {
		err = cerr
	}
	if err == syscall.EINVAL || err == syscall.EOPNOTSUPP {
		e := wrap("sync folder", dir, "", err).(*fs.Error)
		e.Kind, e.Why = fs.ErrUnsupported, "this file system cannot make a folder's entries durable, so nothing exactly once can be kept on it"
		return e
	}
	return wrap("sync folder", dir, "", err)
}
