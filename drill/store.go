package drill

import (
	"errors"
	"path"

	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// store is an fs.FS that misbehaves as ordered.
type store struct {
	fs.FS
	w *World
}

// errTold is what a falsified answer says.
var errTold = errors.New("falsified by the drill")

// URI implements fs.Named.
func (s *store) URI(p string) string { return fs.URI(s.FS, p) }

// guard refuses what would change something that is not the drill's.
func (s *store) guard(op Op, paths ...string) error {
	for _, p := range paths {
		if _, ok := below(s.URI(p), s.w.o.Guard); !ok {
			return fault.Userf("the drill refuses to %s %s: it is not below its own folder %s", op, s.URI(p), s.w.o.Guard)
		}
	}
	return nil
}

func (s *store) away(op Op, p string) error {
	return &fs.Error{Op: string(op), Path: s.URI(p), Kind: fs.ErrUnavailable, Why: errTold.Error()}
}

func (s *store) wrong(op Op, p string) error {
	return &fs.Error{Op: string(op), Path: s.URI(p), Err: errTold}
}

// change carries out a call that changes names. taken deletes what it is about.
func (s *store) change(op Op, p, to, kind string, call, taken func() error) error {
	uri, dst := s.URI(p), ""
	if to != "" {
		dst = s.URI(to)
	}
	f := s.w.enter(op, uri, dst, kind)
	switch f {
	case DoneFalse:
		_ = call()
		return &fs.Error{Op: string(op), Path: uri, To: dst, Kind: fs.ErrRefused, Why: errTold.Error()}
	case Late:
		s.w.later(op, uri, dst, 0, lateAfter)
	case LateNextLife:
		s.w.later(op, uri, dst, 1, nextLifeAfter)
		s.w.die()
	case Twice:
		_ = call()
		return call()
	case Again:
		err := call()
		s.w.later(op, uri, dst, 0, repeatedAfter)
		return err
	case Taken:
		return errors.Join(taken(), call())
	case FolderTaken:
		return errors.Join(s.takeFolder(path.Dir(p)), call())
	}
	return s.met(f, op, p, call)
}

// met carries out a call that changes something, or not, and answers, as a fault says that any such call can meet.
func (s *store) met(f Fault, op Op, p string, call func() error) error {
	switch f {
	case "":
		return call()
	case KillBefore:
		s.w.die()
	case KillAfter:
		_ = call()
		s.w.die()
	case DoneUnanswered:
		_ = call()
	case DoneError:
		_ = call()
		return s.wrong(op, p)
	}
	return s.away(op, p)
}

// takeFolder deletes a folder and all files in it, as another client does.
func (s *store) takeFolder(dir string) error {
	if err := s.guard(OpDelete, dir); err != nil {
		return err
	}
	s.keepFolder(dir)
	return remove(s.FS, dir)
}

// keepFolder copies the files of a folder, as keep does.
func (s *store) keepFolder(dir string) {
	infos, err := s.FS.List(dir)
	if err != nil {
		return
	}
	for _, i := range infos {
		if p := path.Join(dir, i.Name); i.Dir && !i.Symlink {
			s.keepFolder(p)
		} else {
			s.keep(p)
		}
	}
}

// keep copies a file that is about to be taken away, so that it can be told afterwards which rows were in it. Of one that cannot be read, since it is
// being written, there is a part, or an empty copy.
func (s *store) keep(p string) {
	to, ok := s.w.o.Places.takenFrom(s.URI(p))
	if !ok {
		return
	}
	b, err := fs.ReadFile(s.FS, p)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	f, at, err := s.w.inner.Resolve(to)
	if err == nil {
		err = errors.Join(f.MkdirAll(path.Dir(at)), replace(f, at, b))
	}
	if err != nil {
		s.w.mu.Lock()
		s.w.err = errors.Join(s.w.err, err)
		s.w.mu.Unlock()
	}
}

// replace writes a file, in the place of one that may be there.
func replace(f fs.FS, p string, b []byte) error {
	if err := f.Delete(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	h, err := f.Create(p)
	if err != nil {
		return err
	}
	_, err = h.Write(b)
	return errors.Join(err, h.Close())
}

func none() error { return nil }

// answer is what is answered to a call that only looks, instead of its own answer; nil for that one.
func (s *store) answer(op Op, p string) error {
	switch s.w.enter(op, s.URI(p), "", "") {
	case "", KillBefore:
		return nil
	case Unanswered, DoneUnanswered:
		return s.away(op, p)
	}
	return s.wrong(op, p)
}

// Create implements fs.FS.
func (s *store) Create(p string) (fs.File, error) {
	if err := s.guard(OpCreate, p); err != nil {
		return nil, err
	}
	var f fs.File
	err := s.change(OpCreate, p, "", "", func() error {
		if f != nil { // of the first of two
			fs.GiveUp(f)
		}
		var err error
		f, err = s.FS.Create(p)
		return err
	}, none)
	if err != nil {
		if f != nil {
			fs.GiveUp(f)
		}
		return nil, err
	}
	return &handle{File: f, s: s, path: p, staged: log.Staged(path.Base(p))}, nil
}

// Rename implements fs.FS.
func (s *store) Rename(src, dst string) error {
	if err := s.guard(OpRename, src, dst); err != nil {
		return err
	}
	return s.change(OpRename, src, dst, s.w.kind(s.URI(src)), func() error { return s.FS.Rename(src, dst) }, func() error {
		s.keep(src)
		return s.FS.Delete(src)
	})
}

// MkdirAll implements fs.FS.
func (s *store) MkdirAll(dir string) error {
	if err := s.guard(OpMkdir, dir); err != nil {
		return err
	}
	return s.change(OpMkdir, dir, "", "", func() error { return s.FS.MkdirAll(dir) }, none)
}

// Delete implements fs.FS.
func (s *store) Delete(p string) error {
	if err := s.guard(OpDelete, p); err != nil {
		return err
	}
	return s.change(OpDelete, p, "", s.w.kind(s.URI(p)), func() error { return s.FS.Delete(p) }, none)
}

// DeleteDir implements fs.FS.
func (s *store) DeleteDir(dir string) error {
	if err := s.guard(OpRmdir, dir); err != nil {
		return err
	}
	return s.change(OpRmdir, dir, "", "", func() error { return s.FS.DeleteDir(dir) }, none)
}

// effect carries out a call that makes something durable or ends it.
func (s *store) effect(op Op, p, kind string, call func() error) error {
	f := s.w.enter(op, s.URI(p), "", kind)
	if f == FolderTaken {
		return errors.Join(call(), s.takeFolder(path.Dir(p)))
	}
	return s.met(f, op, p, call)
}

// SyncDir implements fs.FS.
func (s *store) SyncDir(dir string) error {
	return s.effect(OpSyncDir, dir, "", func() error { return s.FS.SyncDir(dir) })
}

// Stat implements fs.FS.
func (s *store) Stat(p string) (fs.Info, error) {
	if err := s.answer(OpStat, p); err != nil {
		return fs.Info{}, err
	}
	return s.FS.Stat(p)
}

// Open implements fs.FS.
func (s *store) Open(p string) (fs.Reader, error) {
	if err := s.answer(OpOpen, p); err != nil {
		return nil, err
	}
	return s.FS.Open(p)
}

// List implements fs.FS.
func (s *store) List(dir string) ([]fs.Info, error) {
	if err := s.answer(OpList, dir); err != nil {
		return nil, err
	}
	return s.FS.List(dir)
}

// kind is that of a log's entry on its way.
func (w *World) kind(uri string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.staged[uri]
}

// handle is an open file.
type handle struct {
	fs.File
	s      *store
	path   string
	staged bool
	kind   string
}

// Write implements fs.File.
func (h *handle) Write(b []byte) (int, error) {
	if h.staged && h.kind == "" {
		h.kind = log.KindOf(b)
		h.s.w.mu.Lock()
		h.s.w.staged[h.s.URI(h.path)] = h.kind
		h.s.w.mu.Unlock()
	}
	half := func() int {
		n, _ := h.File.Write(b[:len(b)/2])
		return n
	}
	switch h.s.w.enter(OpWrite, h.s.URI(h.path), "", h.kind) {
	case "":
		return h.File.Write(b)
	case KillAfter:
		half()
		_ = h.File.Sync() // what arrived stays
		h.s.w.die()
	case Unanswered:
		return 0, h.s.away(OpWrite, h.path)
	}
	return half(), h.s.wrong(OpWrite, h.path)
}

// Sync implements fs.File.
func (h *handle) Sync() error {
	return h.s.effect(OpSync, h.path, h.kind, h.File.Sync)
}

// Close implements fs.File. A file whose end was not answered is given up, as its owner cannot do more with it.
func (h *handle) Close() error {
	done := false
	err := h.s.effect(OpClose, h.path, h.kind, func() error { done = true; return h.File.Close() })
	if !done {
		fs.GiveUp(h.File)
	}
	return err
}

// Abort implements fs.Aborter.
func (h *handle) Abort() { fs.GiveUp(h.File) }

// Memory implements fs.Holder.
func (h *handle) Memory() int64 {
	if m, ok := h.File.(fs.Holder); ok {
		return m.Memory()
	}
	return 0
}
