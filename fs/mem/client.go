package mem

import (
	"errors"
	"io"
	"slices"

	"staunch/fs"
)

// Client is the store as one process sees it. It implements fs.FS.
type Client struct {
	store *Store
	name  string
	dead  bool // guarded by store.mu
	cut   bool // by a power cut, which leaves nothing under way
}

// Client gives a handle for a new process. Names may repeat; they are for hooks and traces.
func (s *Store) Client(name string) *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Client{store: s, name: name}
	s.clients = append(s.clients, c)
	return c
}

// Name is the process's name.
func (c *Client) Name() string { return c.name }

// Kill ends the process: every later call, and one that waits in Before, answers ErrDead and has no effect (but see Store.Repeat).
func (c *Client) Kill() {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.dead = true
}

// Dead reports whether the process was killed.
func (c *Client) Dead() bool {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return c.dead
}

// call runs one call through the hooks.
func (c *Client) call(op Op, run func() error) error {
	s := c.store
	if c.Dead() {
		return &opError{op: op, kind: ErrDead}
	}
	if s.Before != nil {
		s.Before(c.name, op)
	}
	var eff Effect
	if s.Fault != nil && !c.Dead() {
		eff = s.Fault(c.name, op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dead { // the request may still be under way: it can take effect late
		return c.answer(op, false, &opError{op: op, kind: ErrDead}, "")
	}
	if eff.Kind == Fail || eff.Kind == Refuse {
		return c.answer(op, false, eff.err(op), " (not done)")
	}
	s.by, s.lag = c.name, eff.Lag
	err := run()
	s.by, s.lag = "", 0
	if eff.Kind == None {
		return c.answer(op, err == nil, err, "")
	}
	note := " (done)"
	if err != nil {
		note = " (could not be done)"
	}
	return c.answer(op, err == nil, eff.err(op), note)
}

func (e Effect) err(op Op) error {
	switch {
	case e.Kind == Refuse || e.Kind == DoneRefuse:
		return &opError{op: op, kind: fs.ErrRefused}
	case e.Err == nil:
		return &opError{op: op, kind: fs.ErrUnavailable}
	}
	return &opError{op: op, kind: e.Err}
}

// answer records the call and what the process is told.
func (c *Client) answer(op Op, done bool, err error, note string) error {
	s := c.store
	if op.Kind.Names() && !c.cut {
		s.late = append(s.late, Call{Client: c.name, Op: op, Done: done, Answer: err})
	}
	if s.Trace != nil {
		s.Trace(line(c.name, op, err, note))
	}
	return err
}

func (c *Client) apply(op Op) error {
	return c.call(op, func() error {
		_, err := c.store.apply(op)
		return err
	})
}

// Create implements fs.FS.
func (c *Client) Create(path string) (fs.File, error) {
	op := Op{Kind: Create, Path: path}
	var n *node
	err := c.call(op, func() (err error) {
		n, err = c.store.create(op)
		return err
	})
	if err != nil {
		return nil, err
	}
	n.writer = c
	return &file{client: c, path: path, node: n}, nil
}

// Rename implements fs.FS.
func (c *Client) Rename(src, dst string) error { return c.apply(Op{Kind: Rename, Path: src, To: dst}) }

// MkdirAll implements fs.FS.
func (c *Client) MkdirAll(dir string) error { return c.apply(Op{Kind: Mkdir, Path: dir}) }

// Delete implements fs.FS.
func (c *Client) Delete(path string) error { return c.apply(Op{Kind: Delete, Path: path}) }

// DeleteDir implements fs.FS.
func (c *Client) DeleteDir(dir string) error { return c.apply(Op{Kind: DeleteDir, Path: dir}) }

// SyncDir implements fs.FS.
func (c *Client) SyncDir(dir string) error {
	op := Op{Kind: SyncDir, Path: dir}
	return c.call(op, func() error {
		n, err := c.folder(op)
		if err == nil {
			c.store.syncDir(n)
		}
		return err
	})
}

// folder finds the folder that op is about.
func (c *Client) folder(op Op) (*node, error) {
	n, _, err := c.store.find(op, op.Path)
	if err == nil && !n.dir {
		err = notExist(op)
	}
	return n, err
}

// Stat implements fs.FS.
func (c *Client) Stat(path string) (fs.Info, error) {
	op := Op{Kind: Stat, Path: path}
	var i fs.Info
	err := c.call(op, func() error {
		n, name, err := c.seen(op)
		if err == nil {
			i = c.store.info(n, name)
		}
		return err
	})
	if err != nil {
		return fs.Info{}, err
	}
	return i, nil
}

// seen finds what a look at op.Path shows, now or some time ago.
func (c *Client) seen(op Op) (*node, string, error) {
	s := c.store
	if s.lag == 0 {
		return s.find(op, op.Path)
	}
	dir, name, err := s.parent(op, op.Path)
	if err != nil || name == "" {
		return s.root, "/", err
	}
	names, kids := s.was(dir, c.name, s.lag)
	if i, ok := slices.BinarySearch(names, name); ok {
		return kids[i], name, nil
	}
	return nil, "", notExist(op)
}

func (s *Store) info(n *node, name string) fs.Info {
	return fs.Info{Name: name, Size: int64(len(s.content(n))), Dir: n.dir, ModTime: n.mod}
}

// content is what others see of a file.
func (s *Store) content(n *node) []byte {
	if !s.Leases || n.writer == nil {
		return n.data[:len(n.data):len(n.data)]
	}
	if n.writer.dead && s.now().Sub(n.mod) >= LeaseLimit {
		n.data, n.writer = n.data[:n.synced], nil
		return n.data[:len(n.data):len(n.data)]
	}
	return n.data[:n.synced:n.synced]
}

// List implements fs.FS.
func (c *Client) List(dir string) ([]fs.Info, error) {
	op := Op{Kind: List, Path: dir}
	var list []fs.Info
	err := c.call(op, func() error {
		n, err := c.folder(op)
		if err != nil {
			return err
		}
		names, kids := n.names, n.kids
		if c.store.lag > 0 {
			names, kids = c.store.was(n, c.name, c.store.lag)
		}
		list = make([]fs.Info, len(kids))
		for i, k := range kids {
			list[i] = c.store.info(k, names[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Open implements fs.FS. The reader sees what is there now.
func (c *Client) Open(path string) (fs.Reader, error) {
	op := Op{Kind: Open, Path: path}
	var data []byte
	err := c.call(op, func() error {
		n, _, err := c.store.find(op, path)
		if err == nil && n.dir {
			err = &opError{op: op, why: "it is a folder"}
		}
		if err == nil {
			data = c.store.content(n)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &reader{client: c, path: path, data: data}, nil
}

// file is an open new file.
type file struct {
	client *Client
	path   string
	node   *node
	closed bool
	err    error // the first failure: it is final
}

var errClosed = errors.New("the file is closed")

func (f *file) call(op Op, run func()) error {
	if f.err == nil && f.closed {
		f.err = &opError{op: op, kind: errClosed}
	}
	if f.err != nil {
		return f.err
	}
	f.err = f.client.call(op, func() error {
		run()
		return nil
	})
	return f.err
}

func (f *file) Write(b []byte) (int, error) {
	err := f.call(Op{Kind: Write, Path: f.path, Bytes: len(b)}, func() {
		f.node.data, f.node.mod = append(f.node.data, b...), f.client.store.now()
	})
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f *file) Sync() error {
	return f.call(Op{Kind: Sync, Path: f.path}, func() { f.node.synced = len(f.node.data) })
}

func (f *file) Close() error {
	if f.closed {
		return f.err
	}
	err := f.call(Op{Kind: Close, Path: f.path}, func() { f.node.writer = nil })
	f.closed = true
	return err
}

// reader is an open file.
type reader struct {
	client *Client
	path   string
	data   []byte
	at     int64
}

func (r *reader) Size() int64 { return int64(len(r.data)) }

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.ReadAt(b, r.at)
	r.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	op := Op{Kind: Open, Path: r.path}
	if r.client.Dead() {
		return 0, &opError{op: op, kind: ErrDead}
	}
	if off < 0 {
		return 0, &opError{op: op, why: "negative offset"}
	}
	if off >= int64(len(r.data)) {
		return 0, io.EOF
	}
	n := copy(b, r.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (r *reader) Close() error { return nil }
