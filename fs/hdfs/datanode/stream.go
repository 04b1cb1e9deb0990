package datanode

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"staunch/fs"
)

// stream writes one file. All but the acknowledgements is done by the goroutine that calls the Writer: sending, waiting for room in the window,
// and the recovery of a pipeline that failed. One goroutine for each open block (acks) reads acknowledgements, notices silence, and sends
// heartbeats; it only notes a failure, and ends.
//
// What was not acknowledged stays in the window. So after a recovery, in which each remaining replica is cut to what that node acknowledged
// (at least to what all did), sending the window again puts back exactly what may be missing; what a node has already it skips.
type stream struct {
	ns   Namespace
	opt  Options
	path string

	// previous is the last finished block.
	previous *Block
	// open: a pipeline for block exists.
	open  bool
	block Block
	token Token
	nodes []Node
	pipe  *pipe
	// current is being filled, or nil.
	current *packet
	// offset is the place in the block behind what was sent for the first time.
	offset uint64
	seq    int64
	// ending: the block's last packet was sent.
	ending bool

	mu   sync.Mutex
	cond *sync.Cond
	// window holds packets that were sent and not acknowledged.
	window []*packet
	// acked is what all nodes acknowledged of the block, in bytes.
	acked uint64
	held  int
}

// add takes bytes of p and gives how many; none only with an error.
func (s *stream) add(p []byte) (int, error) {
	if s.current == nil {
		s.take(newPacket(&s.opt, s.offset))
	}
	n := s.current.add(p, s.opt.BlockSize)
	if !s.current.full(s.opt.BlockSize) {
		return n, nil
	}
	end := s.current.end() == s.opt.BlockSize
	if err := s.sendCurrent(); err != nil {
		return n, err
	}
	if end {
		return n, s.endBlock()
	}
	return n, nil
}

func (s *stream) take(p *packet) {
	s.current = p
	s.mu.Lock()
	s.held += p.memory()
	s.mu.Unlock()
}

// sendCurrent sends what was collected, if it is new.
func (s *stream) sendCurrent() error {
	p := s.current
	if p == nil {
		return nil
	}
	s.current = nil
	if p.n == p.dup {
		s.drop(p)
		return nil
	}
	s.offset = p.end()
	return s.send(p)
}

func (s *stream) drop(p *packet) {
	s.mu.Lock()
	s.held -= p.memory()
	s.mu.Unlock()
	p.free()
}

// send puts p into the window and on its way.
func (s *stream) send(p *packet) error {
	if !s.open {
		if err := s.allocate(); err != nil {
			s.drop(p)
			return err
		}
	}
	p.seal(&s.opt, s.seq)
	s.seq++
	if err := s.waitWindow(s.opt.Window - 1); err != nil {
		s.drop(p)
		return err
	}
	s.mu.Lock()
	s.window = append(s.window, p)
	s.mu.Unlock()
	if s.transmit(p) {
		return nil
	}
	return s.recover()
}

// transmit writes a packet of the window. Without success the pipeline has failed, or will be seen to have.
func (s *stream) transmit(p *packet) bool {
	s.mu.Lock()
	if s.pipe.err != nil || s.pipe.broken != nil {
		s.mu.Unlock()
		return false
	}
	p.sent, p.out = time.Now(), true
	s.pipe.wrote = p.sent
	s.mu.Unlock()
	err := s.pipe.send(p.wire, s.opt.answer(len(s.nodes)))
	s.mu.Lock()
	p.out = false
	if p.acked { // already, while Write was about to return
		s.held -= p.memory()
		p.free()
	}
	s.mu.Unlock()
	if err != nil {
		s.sawBroken(err)
	}
	return err == nil
}

// sawBroken notes that writing failed. Acknowledgements are read a moment longer: one may name the node that failed.
func (s *stream) sawBroken(err error) {
	s.mu.Lock()
	s.pipe.broken = err
	s.mu.Unlock()
	// An error here means that the connection is gone, which the reader sees by itself.
	_ = s.pipe.conn.SetReadDeadline(time.Now().Add(lastWords))
}

// lastWords is how long a broken connection is read for an acknowledgement that says why.
const lastWords = time.Second

// waitWindow waits until at most n packets are on their way, and recovers pipelines that fail meanwhile.
func (s *stream) waitWindow(n int) error {
	for {
		s.mu.Lock()
		for len(s.window) > n && s.pipe.err == nil {
			s.cond.Wait()
		}
		done := len(s.window) <= n
		s.mu.Unlock()
		if done {
			return nil
		}
		if err := s.recover(); err != nil {
			return err
		}
	}
}

// flush sends what was collected and waits until all nodes have it (hflush). A chunk that was not full is sent again with the bytes that follow,
// because DataNodes take chunks from their beginning.
func (s *stream) flush() error {
	if s.current == nil || s.current.n == s.current.dup {
		return s.waitOpen()
	}
	tail := s.current.n % s.opt.ChunkSize
	var next *packet
	if tail > 0 {
		next = newPacket(&s.opt, s.current.end()-uint64(tail))
		next.add(s.current.data()[s.current.n-tail:], s.opt.BlockSize)
		next.dup = tail
	}
	err := s.sendCurrent()
	if err == nil {
		err = s.waitOpen()
	}
	if next != nil {
		s.take(next)
	}
	return err
}

func (s *stream) waitOpen() error {
	if !s.open {
		return nil
	}
	return s.waitWindow(0)
}

// endBlock sends what was collected and finishes the block; the nodes flush replica and folder to disk before they answer.
func (s *stream) endBlock() error {
	if err := s.sendCurrent(); err != nil || !s.open {
		return err
	}
	// The last packet goes alone: with it nodes finish their replicas, of which a recovery must know the length.
	if err := s.waitWindow(0); err != nil {
		return err
	}
	last := newMark(s.offset)
	last.last, last.sync = true, true
	s.mu.Lock()
	s.held += last.memory()
	s.mu.Unlock()
	s.ending = true
	err := s.send(last)
	if err == nil {
		err = s.waitWindow(0)
	}
	if err != nil {
		return err
	}
	s.hangUp()
	s.block.Length = s.offset
	done := s.block
	s.previous, s.open, s.ending, s.offset = &done, false, false, 0
	return nil
}

// hangUp ends the connection and the goroutine that reads from it.
func (s *stream) hangUp() {
	if s.pipe != nil {
		closeQuietly(s.pipe.conn)
		<-s.pipe.done
		s.pipe = nil
	}
}

// allocate gets the next block and makes a pipeline for it. Nodes that cannot be reached are left out at the next try.
func (s *stream) allocate() error {
	start, pause := time.Now(), firstPause
	exclude := s.opt.Suspects.list()
	var failed *nodeError // the newest
	for try := 1; ; try++ {
		l, err := s.ns.AddBlock(s.previous, exclude)
		if err == nil && len(l.Nodes) == 0 {
			err = fmt.Errorf("the NameNode gave no DataNode: %w", fs.ErrUnavailable)
		}
		if err == nil {
			s.block, s.token, s.nodes = l.Block, l.Token, l.Nodes
			s.block.Length, s.acked, s.seq = 0, 0, 0
			bad := s.connect(stageCreate, 0)
			if bad == nil {
				s.open = true
				s.listen()
				return nil
			}
			s.suspect(bad)
			for _, i := range bad.bad {
				exclude = append(exclude, s.nodes[i])
			}
			failed, err = bad, fmt.Errorf("%w (%w)", bad, fs.ErrUnavailable)
			if abandon := s.ns.AbandonBlock(l.Block); abandon != nil {
				return errors.Join(err, abandon)
			}
		} else if !errors.Is(err, fs.ErrUnavailable) {
			return err
		} else {
			exclude = nil // there is nothing else; they may be back
			s.opt.Suspects.clear()
		}
		if time.Since(start) > s.opt.Patience && try >= minTries {
			if failed != nil && !errors.Is(err, failed) {
				err = fmt.Errorf("%w; before: %w", err, failed)
			}
			return fmt.Errorf("new block after %d tries: %w", try, err)
		}
		rest(pause)
		pause = min(2*pause, maxPause)
	}
}

// Pauses between tries, and how many there are at least.
const (
	firstPause = 20 * time.Millisecond
	maxPause   = time.Second
	minTries   = 3
)

func rest(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

// suspect notes nodes of the pipeline that were silent.
func (s *stream) suspect(bad *nodeError) {
	if !bad.silent {
		return
	}
	for _, i := range bad.bad {
		s.opt.Suspects.add(s.nodes[i])
	}
}

// connect makes a pipeline through s.nodes. generation is 0 for a new block.
func (s *stream) connect(stage, generation uint64) *nodeError {
	op := writeOp{block: s.block, token: s.token, client: s.opt.Client, nodes: s.nodes, stage: stage, min: s.acked, max: s.offset,
		generation: generation, sum: s.opt.Checksum, chunk: s.opt.ChunkSize}
	op.block.Length = s.opt.BlockSize // as Hadoop's client: the most that it can become
	p, bad := connect(&s.opt, op)
	if bad != nil {
		return bad
	}
	s.pipe = p
	return nil
}

// listen starts to read acknowledgements.
func (s *stream) listen() {
	p := s.pipe
	p.done = make(chan struct{})
	p.heard, p.wrote = time.Now(), time.Now()
	go s.acknowledge(p)
}

// recover goes on with the nodes that are left after a failure, under a new generation stamp, and sends the window again.
func (s *stream) recover() error {
	for {
		s.mu.Lock()
		for s.pipe.err == nil && !s.pipe.finished {
			s.cond.Wait() // sawBroken: the reader is about to say more
		}
		bad := s.pipe.err
		s.mu.Unlock()
		if bad == nil {
			return nil // the write failed only after all of it had arrived
		}
		s.hangUp()
		if err := s.reopen(bad); err != nil {
			return err
		}
		if s.resend() {
			return nil
		}
	}
}

// reopen makes a new pipeline without the bad nodes of the old one.
func (s *stream) reopen(bad *nodeError) error {
	for {
		s.suspect(bad)
		s.nodes = without(s.nodes, bad.bad)
		if len(s.nodes) == 0 {
			return fmt.Errorf("block %v lost its last DataNode: %w (%w)", s.block, bad, fs.ErrUnavailable)
		}
		old := s.block
		old.Length = s.acked
		l, err := s.ns.UpdateBlockForPipeline(old)
		if err != nil {
			return fmt.Errorf("recover block %v after %q: %w", s.block, bad, err)
		}
		stage := uint64(stageStreamingRecovery)
		if s.ending {
			// Nodes may have finished their replicas. The stage that Hadoop's client takes here (PIPELINE_CLOSE_RECOVERY) would leave open
			// whether they are on disk; this one opens them again, and the last packet is repeated.
			stage = stageAppendRecovery
		}
		s.token = l.Token
		if bad = s.connect(stage, l.Block.Generation); bad != nil {
			continue
		}
		fresh := old
		fresh.Generation = l.Block.Generation
		if err := s.ns.UpdatePipeline(old, fresh, s.nodes); err != nil {
			closeQuietly(s.pipe.conn)
			s.pipe = nil
			return fmt.Errorf("recover block %v after %q: %w", s.block, bad, err)
		}
		s.block.Generation = fresh.Generation
		return nil
	}
}

// resend sends the window on a new pipeline, and reports whether that went well.
func (s *stream) resend() bool {
	s.mu.Lock()
	again := slices.Clone(s.window)
	for _, p := range again {
		p.sent = time.Time{}
	}
	s.mu.Unlock()
	s.listen()
	for _, p := range again {
		if !s.transmit(p) {
			return false
		}
	}
	return true
}

func without(nodes []Node, bad []int) []Node {
	var left []Node
	for i, n := range nodes {
		if !slices.Contains(bad, i) {
			left = append(left, n)
		}
	}
	return left
}

// abort ends the connection and gives all memory back. It may be repeated.
func (s *stream) abort() {
	s.hangUp()
	s.open = false
	if s.current != nil {
		s.current.free()
		s.current = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.window {
		p.free()
	}
	s.window, s.held = nil, 0
}
