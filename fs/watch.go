package fs

import (
	"errors"
	"sync"
	"time"
)

// Watch is a Resolver whose stores say when they do not answer and when they do again, whoever asks them, so that a person who looks at a job that
// waits through an outage sees what it waits for. Errors pass through unchanged.
type Watch struct {
	Resolver
	// Away is told of the first call that a store did not answer, and of one each minute after. Back is told of the first answer after that.
	// Both may be called from any goroutine. name is the store (URI of its root).
	Away func(name string, since time.Time, err error)
	Back func(name string, since time.Time)
	// Now is the clock.
	Now func() time.Time

	mu     sync.Mutex
	stores map[FS]*watched
}

// again is how often Away is told of one outage.
const again = time.Minute

// Resolve implements Resolver. One store is always wrapped by one.
func (w *Watch) Resolve(uri string) (FS, string, error) {
	f, path, err := w.Resolver.Resolve(uri)
	if err != nil {
		return nil, "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stores[f]
	if s == nil {
		if w.stores == nil {
			w.stores = map[FS]*watched{}
		}
		s = &watched{FS: f, w: w}
		w.stores[f] = s
	}
	return s, path, nil
}

// watched is a store under watch.
type watched struct {
	FS
	w *Watch

	mu sync.Mutex
	// since is when the outage began, zero if there is none; told is when Away was told last.
	since, told time.Time
}

// URI implements Named.
func (s *watched) URI(path string) string { return URI(s.FS, path) }

// HandleBytes implements Buffering.
func (s *watched) HandleBytes() int64 { return HandleBytes(s.FS) }

// Movable implements Mover.
func (s *watched) Movable(from, to string) error { return Movable(s.FS, from, to) }

// see looks at an answer and passes it on.
func (s *watched) see(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, ErrUnavailable) {
		if !s.since.IsZero() {
			s.w.Back(s.URI("/"), s.since)
			s.since = time.Time{}
		}
		return err
	}
	now := s.w.Now()
	first := s.since.IsZero()
	if first {
		s.since = now
	}
	if first || now.Sub(s.told) >= again {
		s.told = now
		s.w.Away(s.URI("/"), s.since, err)
	}
	return err
}

func (s *watched) Create(path string) (File, error) {
	f, err := s.FS.Create(path)
	return f, s.see(err)
}

func (s *watched) Rename(src, dst string) error { return s.see(s.FS.Rename(src, dst)) }

func (s *watched) Stat(path string) (Info, error) {
	i, err := s.FS.Stat(path)
	return i, s.see(err)
}

func (s *watched) Open(path string) (Reader, error) {
	r, err := s.FS.Open(path)
	return r, s.see(err)
}

func (s *watched) List(dir string) ([]Info, error) {
	l, err := s.FS.List(dir)
	return l, s.see(err)
}

// EachEntry implements Pager. What visit says is not the store's answer.
func (s *watched) EachEntry(dir string, visit func(Info) error) error {
	var own error
	err := Each(s.FS, dir, func(i Info) error {
		own = visit(i)
		return own
	})
	if own != nil {
		return own
	}
	return s.see(err)
}

func (s *watched) MkdirAll(dir string) error  { return s.see(s.FS.MkdirAll(dir)) }
func (s *watched) Delete(path string) error   { return s.see(s.FS.Delete(path)) }
func (s *watched) DeleteDir(dir string) error { return s.see(s.FS.DeleteDir(dir)) }
func (s *watched) SyncDir(dir string) error   { return s.see(s.FS.SyncDir(dir)) }
