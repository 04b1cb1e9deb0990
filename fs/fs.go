package fs

import (
	"errors"
	"io"
	"time"
)

// The answers that callers branch on. Wrap them with the path.
var (
	// ErrExist: the name is taken.
	ErrExist = errors.New("already exists")
	// ErrNotExist: no such file, or (Create, Rename) no such parent folder.
	ErrNotExist = errors.New("does not exist")
	// ErrNotEmpty: DeleteDir of a folder that holds something.
	ErrNotEmpty = errors.New("folder is not empty")
	// ErrRefused: the store answered "false" without a reason (HDFS's rename). It may have been carried out by an earlier try.
	ErrRefused = errors.New("refused without a reason")
	// ErrUnavailable: no answer, connection lost, standby, safe mode. The call may have taken effect or may still do so.
	ErrUnavailable = errors.New("store does not answer")
	// ErrNoSpace: disk full or quota reached.
	ErrNoSpace = errors.New("no space left")
	// ErrNameTooLong: the store does not take a name of this length.
	ErrNameTooLong = errors.New("name too long")
	// ErrNotFile: what stands there is no plain file (a pipe, a device, a loop of links): nothing can be read from it, now or later.
	ErrNotFile = errors.New("not a regular file")
)

// FS is a file store. All methods may be called from any goroutine and may block.
type FS interface {
	// Create makes a new file for writing. ErrExist if the name is taken, ErrNotExist if the parent folder is missing.
	Create(path string) (File, error)
	// Rename moves a file without overwriting: ErrExist if dst is taken, ErrNotExist if src (or, as some stores answer, dst's folder) is
	// missing, ErrRefused. It is durable only after SyncDir of both folders.
	Rename(src, dst string) error
	// Stat describes a file or folder.
	Stat(path string) (Info, error)
	// Open opens a file for reading.
	Open(path string) (Reader, error)
	// List gives the entries of a folder in order of name; ErrNotExist if it is missing.
	List(dir string) ([]Info, error)
	// MkdirAll makes a folder and its parents; no error if it is there. Durable after SyncDir of the parents.
	MkdirAll(dir string) error
	// Delete removes one file. ErrNotExist if it is missing.
	Delete(path string) error
	// DeleteDir removes one empty folder: ErrNotEmpty, ErrNotExist.
	DeleteDir(dir string) error
	// SyncDir makes the folder's entries durable.
	SyncDir(dir string) error
}

// File is an open new file. It is durable only after Sync returned nil (which implies the bytes, not the name: see SyncDir).
type File interface {
	io.Writer
	// Sync makes what was written durable.
	Sync() error
	// Close ends writing. Its error means that the file may be incomplete.
	Close() error
}

// Aborter is a File that can be given up at once: nothing is waited for, and what is left of it is not complete. Found by type assertion.
type Aborter interface {
	Abort()
}

// Holder is a File that keeps what was written in this process until the store has it. Found by type assertion.
type Holder interface {
	// Memory is the number of bytes it holds. It may be asked for at any time.
	Memory() int64
}

// Buffering is a store whose open files hold bytes in this process (see Holder). Found by type assertion.
type Buffering interface {
	// HandleBytes is about what one open file holds while it is written to.
	HandleBytes() int64
}

// HandleBytes is what an open file of f holds, 0 for a store that keeps nothing back.
func HandleBytes(f FS) int64 {
	if b, ok := f.(Buffering); ok {
		return b.HandleBytes()
	}
	return 0
}

// Mover is a store in which not every place can be reached from every other by a rename: it has mounts below it. Found by type assertion; use
// Movable.
type Mover interface {
	// Movable fails if no file of the folder from can be moved into the folder to. Nothing is changed; nil also where that cannot be told.
	Movable(from, to string) error
}

// Movable fails if no file of the folder from can be moved into the folder to. Both must exist.
func Movable(f FS, from, to string) error {
	if m, ok := f.(Mover); ok {
		return m.Movable(from, to)
	}
	return nil
}

// GiveUp ends an open file that nobody is to use, without waiting if the store can do so.
func GiveUp(f File) {
	if a, ok := f.(Aborter); ok {
		a.Abort()
		return
	}
	_ = f.Close() // its error is about a file that does not count
}

// Reader is an open file.
type Reader interface {
	io.Reader
	io.ReaderAt
	io.Closer
	// Size is the length in bytes.
	Size() int64
}

// Info describes one entry.
type Info struct {
	// Name is the last element of the path.
	Name    string
	Size    int64
	Dir     bool
	Symlink bool
	ModTime time.Time
}

// Resolver finds the store of a path as users write it (`/a/b`, `file:///a/b`, `hdfs://ns/a/b`) and the absolute path inside it. Symbolic
// links in folders that exist are resolved, so that two spellings of one place give one path.
type Resolver interface {
	Resolve(uri string) (FS, string, error)
}

// ReadFile reads a whole file.
func ReadFile(f FS, path string) ([]byte, error) {
	r, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}
