package mem

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"staunch/fs"
)

// Store is the store that all processes share. Hooks are set before it is used. Use New.
type Store struct {
	// Before is called before each call of a client; the simulator switches activities there.
	Before func(client string, op Op)
	// Fault decides what becomes of a call; nil means that all are carried out.
	Fault func(client string, op Op) Effect
	// Trace is told of every call and its answer, in one line.
	Trace func(line string)
	// Now gives the times of changes; nil means the zero time.
	Now func() time.Time
	// RenameMissingParent: a rename into a missing folder answers fs.ErrNotExist, as HDFS's rename2 does; otherwise fs.ErrRefused, as its
	// older rename does, which answers "false".
	RenameMissingParent bool
	// Leases: a file that is being written is 0 bytes long for all who look or read, as far as its writer did not sync it, until it is closed;
	// if its writer is dead, until LeaseLimit after its last write, when the store closes it behind its last synced byte.
	Leases bool

	mu      sync.Mutex
	root    *node
	clients []*Client
	late    []Call
	changes []*change // of names, oldest first; those that are durable are swept now and then
	durable int       // how many of changes are durable
	recent  []*change // of names, oldest first, of the last MaxLag
	by      string    // the client whose call is being carried out
	lag     time.Duration
}

const (
	// MaxLag bounds Effect.Lag.
	MaxLag = 10 * time.Second
	// LeaseLimit is how long the store waits for a writer that does not answer any more; HDFS's hard limit.
	LeaseLimit = 20 * time.Minute
)

// New gives an empty store with the folder "/".
func New() *Store { return &Store{root: &node{dir: true}} }

// node is a file or a folder.
type node struct {
	dir bool
	mod time.Time
	// file
	data   []byte
	synced int     // bytes that survive a power cut
	writer *Client // nil once the file is closed
	// folder: sorted names and what they stand for
	names []string
	kids  []*node
	// pending are the changes of names in this folder that are not durable.
	pending []*change
}

func (n *node) child(name string) *node {
	if i, ok := slices.BinarySearch(n.names, name); ok {
		return n.kids[i]
	}
	return nil
}

func (n *node) put(name string, kid *node) {
	i, _ := slices.BinarySearch(n.names, name)
	n.names = slices.Insert(n.names, i, name)
	n.kids = slices.Insert(n.kids, i, kid)
}

func (n *node) drop(name string) {
	if i, ok := slices.BinarySearch(n.names, name); ok {
		n.names = slices.Delete(n.names, i, i+1)
		n.kids = slices.Delete(n.kids, i, i+1)
	}
}

// next splits the first name off a path.
func next(path string) (name, rest string) {
	path = strings.TrimLeft(path, "/")
	name, rest, _ = strings.Cut(path, "/")
	return name, strings.TrimLeft(rest, "/")
}

const maxName = 255

// parent gives the folder that holds path and the last name. The error is why there is none, or that a name cannot be.
func (s *Store) parent(op Op, path string) (*node, string, error) {
	if !strings.HasPrefix(path, "/") || strings.Contains(path+"/", "/../") || strings.Contains(path+"/", "/./") {
		return nil, "", &opError{op: op, why: "the path is not absolute and clean"}
	}
	dir := s.root
	name, rest := next(path)
	for {
		if len(name) > maxName {
			return nil, "", &opError{op: op, kind: fs.ErrNameTooLong}
		}
		if rest == "" {
			break
		}
		dir = dir.child(name)
		if dir == nil || !dir.dir {
			return nil, "", notExist(op)
		}
		name, rest = next(rest)
	}
	return dir, name, nil
}

// find gives what is at path.
func (s *Store) find(op Op, path string) (*node, string, error) {
	dir, name, err := s.parent(op, path)
	if err != nil {
		return nil, "", err
	}
	if name == "" {
		return s.root, "/", nil
	}
	if n := dir.child(name); n != nil {
		return n, name, nil
	}
	return nil, "", notExist(op)
}

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Time{}
	}
	return s.Now()
}

// apply carries out a call that makes, moves or removes names. The node is a new file's.
func (s *Store) apply(op Op) (*node, error) {
	switch op.Kind {
	case Create:
		return s.create(op)
	case Rename:
		return nil, s.rename(op)
	case Mkdir:
		return nil, s.mkdir(op)
	case Delete:
		return nil, s.remove(op)
	default:
		return nil, s.removeDir(op)
	}
}

func (s *Store) create(op Op) (*node, error) {
	dir, name, err := s.parent(op, op.Path)
	if err != nil {
		return nil, err
	}
	if name == "" || dir.child(name) != nil {
		return nil, exist(op)
	}
	n := &node{mod: s.now()}
	dir.put(name, n)
	s.changed(&change{kind: Create, node: n, dst: dir, dstName: name})
	return n, nil
}

func (s *Store) rename(op Op) error {
	from, fromName, err := s.parent(op, op.Path)
	if err != nil {
		return err
	}
	n := from.child(fromName)
	if n == nil {
		return notExist(op)
	}
	to, toName, err := s.parent(op, op.To)
	if err != nil {
		if !s.RenameMissingParent && err.(*opError).kind == fs.ErrNotExist {
			return &opError{op: op, kind: fs.ErrRefused}
		}
		return err
	}
	if toName == "" || to.child(toName) != nil {
		return exist(op)
	}
	if n.dir && within(n, to) {
		return &opError{op: op, why: "the target lies below the source"}
	}
	from.drop(fromName)
	to.put(toName, n)
	s.changed(&change{kind: Rename, node: n, src: from, srcName: fromName, dst: to, dstName: toName})
	return nil
}

// within reports whether n is root or below it.
func within(root, n *node) bool {
	return root == n || slices.ContainsFunc(root.kids, func(k *node) bool { return k.dir && within(k, n) })
}

func (s *Store) mkdir(op Op) error {
	if _, _, err := s.parent(op, op.Path); err != nil && err.(*opError).kind != fs.ErrNotExist {
		return err
	}
	dir := s.root
	for name, rest := next(op.Path); name != ""; name, rest = next(rest) {
		if len(name) > maxName {
			return &opError{op: op, kind: fs.ErrNameTooLong}
		}
		n := dir.child(name)
		if n == nil {
			n = &node{dir: true, mod: s.now()}
			dir.put(name, n)
			s.changed(&change{kind: Mkdir, node: n, dst: dir, dstName: name})
		}
		if !n.dir {
			return &opError{op: op, kind: fs.ErrExist, why: name + " is no folder"}
		}
		dir = n
	}
	return nil
}

func (s *Store) remove(op Op) error {
	dir, name, err := s.parent(op, op.Path)
	if err != nil {
		return err
	}
	n := dir.child(name)
	if n == nil {
		return notExist(op)
	}
	if n.dir {
		return &opError{op: op, why: "it is a folder"}
	}
	dir.drop(name)
	s.changed(&change{kind: Delete, node: n, src: dir, srcName: name})
	return nil
}

func (s *Store) removeDir(op Op) error {
	dir, name, err := s.parent(op, op.Path)
	if err != nil {
		return err
	}
	n := dir.child(name)
	switch {
	case name == "":
		return &opError{op: op, why: "it is the root"}
	case n == nil || !n.dir:
		return notExist(op)
	case len(n.names) > 0:
		return &opError{op: op, kind: fs.ErrNotEmpty}
	}
	dir.drop(name)
	s.changed(&change{kind: DeleteDir, node: n, src: dir, srcName: name})
	return nil
}

// Late lists the calls that make, move or remove names, in the order in which they reached the store, since the beginning or the last power
// cut. Any of them may take effect again: see Repeat.
func (s *Store) Late() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.late)
}

// LateCount is the number of calls that Late lists.
func (s *Store) LateCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.late)
}

// LateCall is call i of Late, without the copy of all.
func (s *Store) LateCall(i int) Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late[i]
}

// Repeat lets call i of Late take effect now, as a request that arrives late or twice: if what it needs holds now. Nobody gets its answer; it
// is returned for the test's eyes.
func (s *Store) Repeat(i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.late[i]
	_, err := s.apply(c.Op)
	if s.Trace != nil {
		s.Trace(line("late "+c.Client, c.Op, err, ""))
	}
	return err
}

func line(client string, op Op, answer error, note string) string {
	text := "ok"
	if answer != nil {
		text = strings.TrimPrefix(answer.Error(), op.String()+": ")
	}
	return client + " " + op.String() + note + ": " + text
}

// Tree lists all paths in order, folders with a slash at the end, files with their length; for golden tests.
func (s *Store) Tree() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		for i, k := range n.kids {
			p := path + "/" + n.names[i]
			if k.dir {
				list = append(list, p+"/")
				walk(p, k)
			} else {
				list = append(list, fmt.Sprintf("%s %d", p, len(k.data)))
			}
		}
	}
	walk("", s.root)
	return list
}

// Found is a file and its length.
type Found struct {
	Path string
	Size int
}

// Files lists the files below dir in order, past all hooks: it is for judges.
func (s *Store) Files(dir string) (found []Found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _, err := s.find(Op{}, dir)
	if err != nil {
		return nil
	}
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		for i, k := range n.kids {
			if p := path + "/" + n.names[i]; k.dir {
				walk(p, k)
			} else {
				found = append(found, Found{p, len(k.data)})
			}
		}
	}
	walk(strings.TrimSuffix(dir, "/"), n)
	return found
}

// Content is what stands in a file, past all hooks; nil if it is not there.
func (s *Store) Content(path string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _, err := s.find(Op{}, path)
	if err != nil || n.dir {
		return nil
	}
	return slices.Clone(n.data)
}

// Put makes a file durably what data is, past all hooks: somebody outside does it, or a disk decays.
func (s *Store) Put(path string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	op := Op{Kind: Write, Path: path}
	dir, name, err := s.parent(op, path)
	if err != nil {
		return err
	}
	n := dir.child(name)
	if n == nil {
		n = &node{}
		dir.put(name, n)
	}
	if n.dir || name == "" {
		return &opError{op: op, why: "it is a folder"}
	}
	n.data, n.synced, n.mod, n.writer = slices.Clone(data), len(data), s.now(), nil
	return nil
}

// Take removes a file durably, past all hooks.
func (s *Store) Take(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	op := Op{Kind: Delete, Path: path}
	dir, name, err := s.parent(op, path)
	if err != nil {
		return err
	}
	n := dir.child(name)
	if n == nil || n.dir {
		return notExist(op)
	}
	dir.drop(name)
	return nil
}
