package trace

import (
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"staunch/account"
	"staunch/fs"
	"staunch/log"
)

// Scope says for whom operations are done. The checkpoint may change while they run.
type Scope struct {
	// Task is the subtask, or NoTask.
	Task int
	// Looks: Stat is recorded. A commit's looks say what it found; a writer's are noise.
	Looks bool
	id    atomic.Int64
}

// For sets the checkpoint that operations are done for from here on.
func (s *Scope) For(id account.CheckpointID) { s.id.Store(int64(id)) }

// checkpoint is the one of For, else what the path says: files on their way lie in a folder `cp-<checkpoint>`.
func (s *Scope) checkpoint(p string) account.CheckpointID {
	if id := s.id.Load(); id != 0 {
		return account.CheckpointID(id)
	}
	_, rest, ok := strings.Cut(p, "/_DUMP_TEMPORARY/cp-")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return account.CheckpointID(id)
}

// Store gives f with everything that is done to it recorded; f itself if r is nil. Answers pass through unchanged.
func (r *Recorder) Store(f fs.FS, s *Scope) fs.FS {
	if r == nil {
		return f
	}
	return &store{FS: f, r: r, scope: s}
}

// store records operations.
type store struct {
	fs.FS
	r     *Recorder
	scope *Scope

	mu sync.Mutex
	// staged are the kinds of log entries that were written and not placed yet, by path.
	staged map[string]string
}

// URI implements fs.Named.
func (s *store) URI(p string) string { return fs.URI(s.FS, p) }

// record begins a record of an operation on a path.
func (s *store) record(op Op, p string) Record {
	return Record{Time: s.r.now(), Op: op, Path: s.URI(p), Checkpoint: s.scope.checkpoint(p), Task: s.scope.Task}
}

// end ends a record with the answer.
func (s *store) end(x *Record, err error) {
	x.Took = micros(s.r.now() - x.Time)
	if x.Outcome = outcomeOf(err); x.Outcome == Unavailable || x.Outcome == Failed || x.Outcome == Denied || x.Outcome == NoSpace || x.Outcome == Refused {
		x.Error = err.Error()
	}
	s.r.Add(*x)
}

// Create implements fs.FS. What is written of a log entry before it is placed is not recorded: its placing is.
func (s *store) Create(p string) (fs.File, error) {
	x := s.record(Create, p)
	f, err := s.FS.Create(p)
	staged := log.Staged(path.Base(p))
	if !staged || unusual(err) {
		s.end(&x, err)
	}
	if err != nil {
		return nil, err
	}
	return &handle{File: f, s: s, path: p, staged: staged}, nil
}

// Rename implements fs.FS.
func (s *store) Rename(src, dst string) error {
	x := s.record(Rename, src)
	x.To = s.URI(dst)
	if log.Staged(path.Base(src)) {
		x.Op, x.Path, x.To = Append, x.To, ""
		s.mu.Lock()
		x.Note = s.staged[src]
		s.mu.Unlock()
	}
	err := s.FS.Rename(src, dst)
	if err == nil && x.Op == Append {
		s.forget(src)
	}
	s.end(&x, err)
	return err
}

func (s *store) forget(p string) {
	s.mu.Lock()
	delete(s.staged, p)
	s.mu.Unlock()
}

// Stat implements fs.FS.
func (s *store) Stat(p string) (fs.Info, error) {
	x := s.record(Stat, p)
	i, err := s.FS.Stat(p)
	x.Bytes = i.Size
	if s.scope.Looks || unusual(err) {
		s.end(&x, err)
	}
	return i, err
}

// unusual reports an error that is no plain answer to a look.
func unusual(err error) bool {
	o := outcomeOf(err)
	return o != OK && o != Missing
}

// Open implements fs.FS.
func (s *store) Open(p string) (fs.Reader, error) {
	x := s.record(Open, p)
	f, err := s.FS.Open(p)
	if unusual(err) {
		s.end(&x, err)
	}
	return f, err
}

// List implements fs.FS.
func (s *store) List(dir string) ([]fs.Info, error) {
	x := s.record(List, dir)
	l, err := s.FS.List(dir)
	if unusual(err) {
		s.end(&x, err)
	}
	return l, err
}

// MkdirAll implements fs.FS.
func (s *store) MkdirAll(dir string) error {
	x := s.record(Mkdir, dir)
	err := s.FS.MkdirAll(dir)
	s.end(&x, err)
	return err
}

// Delete implements fs.FS.
func (s *store) Delete(p string) error {
	x := s.record(Delete, p)
	err := s.FS.Delete(p)
	if log.Staged(path.Base(p)) {
		s.forget(p)
		if err == nil {
			return nil
		}
	}
	s.end(&x, err)
	return err
}

// DeleteDir implements fs.FS.
func (s *store) DeleteDir(dir string) error {
	x := s.record(DeleteDir, dir)
	err := s.FS.DeleteDir(dir)
	s.end(&x, err)
	return err
}

// SyncDir implements fs.FS.
func (s *store) SyncDir(dir string) error {
	x := s.record(SyncDir, dir)
	err := s.FS.SyncDir(dir)
	if err != nil {
		s.end(&x, err)
	}
	return err
}

// handle is an open file.
type handle struct {
	fs.File
	s      *store
	path   string
	length int64
	staged bool
	ended  bool
	// synced is the time that Sync took, which is told with the close.
	synced time.Duration
}

// Write implements fs.File.
func (h *handle) Write(b []byte) (int, error) {
	if h.staged && h.length == 0 {
		if kind := log.KindOf(b); kind != "" {
			h.s.mu.Lock()
			if h.s.staged == nil || len(h.s.staged) > 1000 { // those that were never placed
				h.s.staged = map[string]string{}
			}
			h.s.staged[h.path] = kind
			h.s.mu.Unlock()
		}
	}
	n, err := h.File.Write(b)
	h.length += int64(n)
	if err != nil {
		h.failed(Write, err)
	}
	return n, err
}

func (h *handle) failed(op Op, err error) {
	x := h.s.record(op, h.path)
	x.Bytes = h.length
	h.s.end(&x, err)
}

// Sync implements fs.File.
func (h *handle) Sync() error {
	began := h.s.r.now()
	err := h.File.Sync()
	h.synced += micros(h.s.r.now() - began)
	if err != nil {
		h.failed(Sync, err)
	}
	return err
}

// Close implements fs.File.
func (h *handle) Close() error {
	x := h.s.record(Close, h.path)
	x.Bytes = h.length
	err := h.File.Close()
	if !h.ended && (!h.staged || err != nil) {
		x.Time -= h.synced.Microseconds()
		h.s.end(&x, err)
	}
	h.ended = true
	return err
}

// Abort implements fs.Aborter.
func (h *handle) Abort() {
	x := h.s.record(Abort, h.path)
	x.Bytes = h.length
	fs.GiveUp(h.File)
	if !h.ended {
		h.s.end(&x, nil)
	}
	h.ended = true
}

// Memory implements fs.Holder.
func (h *handle) Memory() int64 {
	if m, ok := h.File.(fs.Holder); ok {
		return m.Memory()
	}
	return 0
}
