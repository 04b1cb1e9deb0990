package datanode

import (
	"fmt"
	"io"
	"time"
)

// acknowledge reads the acknowledgements of one pipeline until the block's last packet has its own, or something fails. It is the goroutine of
// an open block, and ends with the connection.
func (s *stream) acknowledge(p *pipe) {
	defer close(p.done)
	bad := s.readAcks(p)
	if bad == nil {
		return
	}
	s.mu.Lock()
	p.err = bad
	s.mu.Unlock()
	closeQuietly(p.conn) // a writer that is blocked in it returns
	s.cond.Broadcast()
}

func (s *stream) readAcks(p *pipe) *nodeError {
	var a ack
	tick := min(s.opt.Silence, s.opt.Heartbeat) / 4
	for {
		s.mu.Lock()
		broken := p.broken
		s.mu.Unlock()
		wait := tick
		if broken != nil {
			wait = lastWords
		}
		b, err := p.in.next(time.Now().Add(wait))
		switch {
		case err == nil:
			last, bad := s.onAck(p, &a, b)
			if last || bad != nil {
				return bad
			}
		case timedOut(err):
			if bad := s.onQuiet(p); bad != nil {
				return bad
			}
		case err == io.EOF:
			return blame(p.nodes, 0, "read acknowledgements", io.ErrUnexpectedEOF)
		default:
			return blame(p.nodes, 0, "read acknowledgements", err)
		}
	}
}

// onAck takes one acknowledgement. last: the block is finished.
func (s *stream) onAck(p *pipe, a *ack, b []byte) (last bool, bad *nodeError) {
	if err := a.parse(b); err != nil {
		return false, blame(p.nodes, 0, "read acknowledgements", err)
	}
	// From the end: a node whose successor failed reports both.
	for i := min(len(a.replies), len(p.nodes)) - 1; i >= 0; i-- {
		if r := a.replies[i]; r != statusSuccess {
			return false, blame(p.nodes, i, "acknowledge", fmt.Errorf("answered %v", r))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.heard = time.Now()
	if a.seq == heartbeatSeq {
		return false, nil
	}
	if len(a.replies) != len(p.nodes) {
		return false, blame(p.nodes, 0, "acknowledge", fmt.Errorf("%d answers of %d nodes", len(a.replies), len(p.nodes)))
	}
	if len(s.window) == 0 || s.window[0].seq != a.seq || s.window[0].sent.IsZero() {
		return false, blame(p.nodes, 0, "acknowledge", fmt.Errorf("packet %d, which is not the oldest on its way", a.seq))
	}
	front := s.window[0]
	n := copy(s.window, s.window[1:])
	s.window[n] = nil
	s.window = s.window[:n]
	s.acked = max(s.acked, front.end())
	last = front.last
	p.finished = last
	if front.out {
		front.acked = true
	} else {
		s.held -= front.memory()
		front.free()
	}
	s.cond.Broadcast()
	return last, nil
}

// onQuiet is called when nothing came for a while.
func (s *stream) onQuiet(p *pipe) *nodeError {
	now := time.Now()
	s.mu.Lock()
	broken, idle := p.broken, now.Sub(p.wrote)
	waiting := len(s.window) > 0 && !s.window[0].sent.IsZero()
	since := p.heard
	if waiting && s.window[0].sent.After(since) {
		since = s.window[0].sent
	}
	s.mu.Unlock()
	switch {
	case broken != nil:
		return blame(p.nodes, 0, "write", broken)
	case waiting && now.Sub(since) >= s.opt.Silence:
		return p.silent(&s.opt, s.block, s.token, now.Sub(since))
	case idle >= s.opt.Heartbeat:
		if err := p.heartbeat(s.opt.answer(len(p.nodes))); err != nil {
			return blame(p.nodes, 0, "write a heartbeat", err)
		}
		s.mu.Lock()
		p.wrote = now
		s.mu.Unlock()
	}
	return nil
}
