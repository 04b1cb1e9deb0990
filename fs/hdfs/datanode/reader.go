package datanode

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"
	"time"

	"staunch/fault"
	"staunch/fs"
)

// Reader reads one file as it was when it was opened. ReadAt may be called from any goroutine, also beside Read; Read and Close from one.
type Reader struct {
	in   Locator
	path string
	opt  Options
	size int64

	mu     sync.Mutex
	blocks []Located
	// bad are nodes that failed, by address; they are tried last.
	bad    map[string]bool
	closed bool

	// pos is where Read goes on, stream what it reads from, or nil.
	pos    int64
	stream *replica
}

// NewReader opens a file. Its errors do not name the path.
func NewReader(in Locator, path string, opt Options) (*Reader, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	r := &Reader{in: in, path: path, opt: opt, bad: map[string]bool{}}
	blocks, err := r.locate()
	if err != nil {
		return nil, err
	}
	r.blocks = blocks
	if n := len(blocks); n > 0 {
		r.size = int64(blocks[n-1].Offset + blocks[n-1].Block.Length)
	}
	return r, nil
}

// locate asks for the file's blocks. A last block that is being written counts with the length that the NameNode knows.
func (r *Reader) locate() ([]Located, error) {
	f, err := r.in.Locate()
	if err != nil {
		return nil, err
	}
	if f.Encrypted {
		return nil, fault.Userf("the file lies in an encryption zone, which is not supported yet")
	}
	if f.Erasure {
		return nil, fault.Userf("the file is erasure coded, which is not supported yet")
	}
	blocks := f.Blocks
	if l := f.Last; l != nil && !f.LastComplete && (len(blocks) == 0 || blocks[len(blocks)-1].Block.ID != l.Block.ID) {
		blocks = append(blocks, *l)
	}
	at := uint64(0)
	for _, b := range blocks {
		if b.Offset != at || b.Block.Length > 1<<62 {
			return nil, fmt.Errorf("the NameNode told of block %v at %d with %d bytes, where %d comes next", b.Block, b.Offset, b.Block.Length, at)
		}
		at += b.Block.Length
	}
	return blocks, nil
}

// Size implements fs.Reader.
func (r *Reader) Size() int64 { return r.size }

// Close implements fs.Reader.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.drop()
	return nil
}

func (r *Reader) drop() {
	if r.stream != nil {
		r.stream.close()
		r.stream = nil
	}
}

func (r *Reader) wrap(err error) error { return fmt.Errorf("read %s: %w", r.path, err) }

// usable is nil while the file is open.
func (r *Reader) usable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.wrap(errClosed)
	}
	return nil
}

// ReadAt implements io.ReaderAt. Each call is one exchange with one DataNode for each block that it touches.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.usable(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, r.wrap(fmt.Errorf("negative offset %d", off))
	}
	if off >= r.size {
		return 0, io.EOF
	}
	want := int(min(int64(len(p)), r.size-off))
	for done := 0; done < want; {
		n, err := r.exchange(p[done:want], uint64(off)+uint64(done))
		done += n
		if err != nil {
			return done, r.wrap(err)
		}
	}
	if want < len(p) {
		return want, io.EOF
	}
	return want, nil
}

// exchange reads p, or what the block at off has of it.
func (r *Reader) exchange(p []byte, off uint64) (done int, err error) {
	err = r.attempt(off, func(l Located, n Node, timeout time.Duration) error {
		from := off + uint64(done) - l.Offset
		to := min(l.Block.Length, off+uint64(len(p))-l.Offset)
		s, err := openReplica(&r.opt, l, n, from, to, timeout)
		if err != nil {
			return err
		}
		for {
			n, err := s.read(p[done:])
			done += n
			if err == io.EOF {
				s.finish(statusChecksumOK)
				return nil
			}
			if err != nil {
				s.fail(err)
				return err
			}
		}
	})
	return done, err
}

// fail ends a replica that gave an error.
func (r *replica) fail(err error) {
	if errors.Is(err, errChecksum) {
		r.finish(statusErrorChecksum)
		return
	}
	r.close()
}

// Read implements io.Reader. It streams: a connection lasts to the end of its block.
func (r *Reader) Read(p []byte) (int, error) {
	if err := r.usable(); err != nil {
		return 0, err
	}
	if r.pos >= r.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.stream != nil {
		n, err := r.stream.read(p)
		r.pos += int64(n)
		switch {
		case err == nil:
			return n, nil
		case err == io.EOF:
			r.stream.finish(statusChecksumOK)
		default:
			r.blame(r.stream.node, err)
			r.stream.fail(err)
		}
		r.stream = nil
	}
	n := 0
	err := r.attempt(uint64(r.pos), func(l Located, node Node, timeout time.Duration) error {
		s, err := openReplica(&r.opt, l, node, uint64(r.pos)-l.Offset, l.Block.Length, timeout)
		if err != nil {
			return err
		}
		if n, err = s.read(p); err != nil {
			s.fail(err)
			return err
		}
		r.stream = s
		return nil
	})
	if err != nil {
		return 0, r.wrap(err)
	}
	r.pos += int64(n)
	return n, nil
}

// attempt runs do with one replica after the other of the block at off until it succeeds: those that never failed first. When all did, the
// NameNode is asked once where the block is now, and they are tried again.
func (r *Reader) attempt(off uint64, do func(l Located, n Node, timeout time.Duration) error) error {
	var failed error
	damaged := 0
	for round := range 2 {
		l := r.find(off)
		nodes := r.order(l.Nodes)
		for i, n := range nodes {
			timeout := r.opt.Silence
			if round > 0 || len(nodes) == 1 || i == len(nodes)-1 {
				timeout = r.opt.Answer
			}
			err := do(l, n, timeout)
			if err == nil {
				return nil
			}
			if errors.Is(err, errChecksum) {
				damaged++
			}
			r.blame(n, err)
			failed = errors.Join(failed, fmt.Errorf("block %v from DataNode %s: %w", l.Block, n.Addr(), err))
		}
		if round == 0 {
			if err := r.refresh(); err != nil {
				return errors.Join(failed, err)
			}
		}
	}
	if l := r.find(off); failed == nil || len(l.Nodes) == 0 {
		failed = errors.Join(failed, fmt.Errorf("block %v: no DataNode that has it is alive", l.Block))
	} else if damaged >= 2*len(l.Nodes) {
		return fmt.Errorf("every replica is damaged: %w", failed)
	}
	return fmt.Errorf("%w: %w", fs.ErrUnavailable, failed)
}

// find gives the block that holds the byte at off, which is below the size.
func (r *Reader) find(off uint64) Located {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].Offset+r.blocks[i].Block.Length > off })
	return r.blocks[i]
}

// order gives the nodes with those that failed last.
func (r *Reader) order(nodes []Node) []Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Node, 0, len(nodes))
	for _, bad := range []bool{false, true} {
		for _, n := range nodes {
			if (r.bad[n.Addr()] || r.opt.Suspects.has(n)) == bad {
				list = append(list, n)
			}
		}
	}
	return list
}

func (r *Reader) blame(n Node, err error) {
	if timedOut(err) {
		r.opt.Suspects.add(n)
	}
	r.mu.Lock()
	r.bad[n.Addr()] = true
	r.mu.Unlock()
}

// refresh asks again where the blocks are. A file that is another now, or shorter, is an error: bytes of two files must not be mixed.
func (r *Reader) refresh() error {
	blocks, err := r.locate()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, b := range r.blocks {
		if i >= len(blocks) || blocks[i].Block.ID != b.Block.ID || blocks[i].Block.Length < b.Block.Length {
			return fmt.Errorf("the file is not the one that was opened: block %v is gone or shorter", b.Block)
		}
		blocks[i].Block.Length = b.Block.Length // the size stays what it was
	}
	r.blocks = blocks[:len(r.blocks)]
	return nil
}
