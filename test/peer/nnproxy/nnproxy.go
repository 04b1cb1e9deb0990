package nnproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Call is a request as it came from the client.
type Call struct {
	Client string // the client's 16 bytes, with which the NameNode knows a call that is tried again
	ID     int64
	Retry  int64  // how often it was tried before; Hadoop's clients begin with 0
	Method string // as in ClientProtocol: create, rename2, ...
	Path   string // the first path that it names, if any
	To     string // the target of a rename
	At     time.Time
	Conn   int // number of the connection, from 1
}

// Reply is what the NameNode answered.
type Reply struct {
	Failed    bool
	Exception string // Java class
	Message   string
}

// Action is what a rule does to a call.
type Action int

const (
	// Hold keeps the request. The client waits on an open connection, its other calls go through.
	Hold Action = iota
	// HoldAndCut keeps the request and closes the client's connection. That to the NameNode stays open for [Hit.Release].
	HoldAndCut
	// ForwardAndCut lets the NameNode execute the call and closes the client's connection when the reply comes: the reply is lost.
	ForwardAndCut
	// Cut closes both connections; the NameNode never sees the call.
	Cut
	answer // see [Proxy.Answer]
)

// Match picks calls.
type Match struct {
	Method string            // "" is each
	Path   func(string) bool // asked with Path and with To; nil is each
	Skip   int               // so many matching calls pass first
	Times  int               // the rule's length of life in calls; 0 is one, negative is no end
}

// Rule is a rule that is in force.
type Rule struct {
	match  Match
	action Action
	says   []byte // the proxy's own answer
	hits   []*Hit
	more   chan struct{} // has an element when hits may have one
	p      *Proxy
}

// Hit is a call that a rule met.
type Hit struct {
	Call
	frame    []byte
	link     *link
	held     bool
	says     []byte
	answered chan struct{}
	reply    Reply
	err      error // set before answered is closed
}

// Proxy listens for clients of one NameNode.
type Proxy struct {
	target string
	l      net.Listener
	done   sync.WaitGroup

	mu     sync.Mutex
	rules  []*Rule
	calls  []Call
	links  map[*link]bool
	conns  int
	closed bool
}

// Listen starts a proxy for target (host:port of a NameNode) on a free port of this machine.
func Listen(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for clients of %s: %w", target, err)
	}
	p := &Proxy{target: target, l: l, links: map[*link]bool{}}
	p.done.Add(1)
	go p.accept()
	return p, nil
}

// Addr returns the proxy's host:port, for the client's configuration.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Close ends all connections; what is held then is lost.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.l.Close()
	for k := range p.links {
		k.close()
	}
	p.mu.Unlock()
	p.done.Wait()
	return err
}

// On puts a rule in force. Of several rules that match, the oldest takes the call.
func (p *Proxy) On(match Match, action Action) *Rule {
	return p.rule(match, action, nil)
}

// Answer puts a rule in force by which the proxy answers in the NameNode's place, which never sees the call. message is the response's
// protocol buffer: {8, 0} is false.
func (p *Proxy) Answer(match Match, message []byte) *Rule {
	return p.rule(match, answer, message)
}

func (p *Proxy) rule(match Match, action Action, says []byte) *Rule {
	if match.Times == 0 {
		match.Times = 1
	}
	r := &Rule{match: match, action: action, says: says, more: make(chan struct{}, 1), p: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
	return r
}

// Off ends a rule; what it held stays held.
func (r *Rule) Off() {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.match.Times = 0
}

// Next waits for the next call that the rule met.
func (r *Rule) Next(ctx context.Context) (*Hit, error) {
	for {
		r.p.mu.Lock()
		if len(r.hits) > 0 {
			h := r.hits[0]
			r.hits = r.hits[1:]
			r.p.mu.Unlock()
			return h, nil
		}
		r.p.mu.Unlock()
		select {
		case <-r.more:
		case <-ctx.Done():
			return nil, fmt.Errorf("no call %s came to %s: %w", r.match.Method, r.p.target, ctx.Err())
		}
	}
}

// Calls returns what clients have sent so far, in the order of arrival, tries again included.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Call(nil), p.calls...)
}

// Release sends a held request to the NameNode and waits for the answer, which a client that still waits gets too.
func (h *Hit) Release(ctx context.Context) (Reply, error) {
	h.link.mu.Lock()
	held := h.held
	h.held = false
	h.link.mu.Unlock()
	if !held {
		return Reply{}, fmt.Errorf("%s %s is not held", h.Method, h.Path)
	}
	if err := h.link.send(h.frame); err != nil {
		h.link.answer(h, Reply{}, err)
		return Reply{}, fmt.Errorf("late %s %s: %w", h.Method, h.Path, err)
	}
	return h.Reply(ctx)
}

// ReleaseForgotten is Release at a time when the NameNode's retry cache has forgotten the call (ten minutes later, by default): it comes under
// another client's id, so the NameNode carries out what it has carried out before.
func (h *Hit) ReleaseForgotten(ctx context.Context) (Reply, error) {
	other := make([]byte, len(h.Client))
	if _, err := rand.Read(other); err != nil {
		return Reply{}, err
	}
	h.frame = bytes.Replace(h.frame, []byte(h.Client), other, 1)
	return h.Release(ctx)
}

// Reply waits for the NameNode's answer to a call that was let through.
func (h *Hit) Reply(ctx context.Context) (Reply, error) {
	select {
	case <-h.answered:
		if h.err != nil {
			return Reply{}, fmt.Errorf("answer to %s %s: %w", h.Method, h.Path, h.err)
		}
		return h.reply, nil
	case <-ctx.Done():
		return Reply{}, fmt.Errorf("no answer to %s %s: %w", h.Method, h.Path, ctx.Err())
	}
}

func (p *Proxy) accept() {
	defer p.done.Done()
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", p.target)
		if err != nil { // the NameNode is away, and so is the proxy for the client
			_ = c.Close() // nothing was exchanged on it
			continue
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			_, _ = c.Close(), up.Close()
			return
		}
		p.conns++
		k := &link{p: p, client: c, up: up, number: p.conns, pending: map[int64]*Hit{}}
		p.links[k] = true
		p.done.Add(2)
		p.mu.Unlock()
		go k.requests()
		go k.replies()
	}
}

// take notes a call and returns the hit of the rule that takes it, or nil.
func (p *Proxy) take(c Call, frame []byte, k *link) (*Hit, Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	for _, r := range p.rules {
		m := &r.match
		if m.Times == 0 || m.Method != "" && m.Method != c.Method || m.Path != nil && !m.Path(c.Path) && !m.Path(c.To) {
			continue
		}
		if m.Skip > 0 {
			m.Skip--
			continue
		}
		if m.Times > 0 {
			m.Times--
		}
		h := &Hit{Call: c, frame: frame, link: k, says: r.says, held: r.action == Hold || r.action == HoldAndCut, answered: make(chan struct{})}
		k.expect(h)
		r.hits = append(r.hits, h)
		select {
		case r.more <- struct{}{}:
		default:
		}
		return h, r.action
	}
	return nil, 0
}

// link is a client's connection with that to the NameNode. The latter outlives the former while a call of it is held or not answered.
type link struct {
	p          *Proxy
	client, up net.Conn
	number     int

	mu      sync.Mutex
	pending map[int64]*Hit // by call id
	gone    bool           // the client's connection is closed
	cut     *Hit           // its reply ends the client's connection
	sending sync.Mutex     // one frame at a time to the NameNode
	telling sync.Mutex     // and to the client
}

func (k *link) expect(h *Hit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending[h.ID] = h
}

func (k *link) send(frame []byte) error {
	k.sending.Lock()
	defer k.sending.Unlock()
	_, err := k.up.Write(frame)
	return err
}

func (k *link) reply(frame []byte) error {
	k.telling.Lock()
	defer k.telling.Unlock()
	_, err := k.client.Write(frame)
	return err
}

// answer ends the wait for a call's reply.
func (k *link) answer(h *Hit, r Reply, err error) {
	k.mu.Lock()
	if k.pending[h.ID] == h {
		delete(k.pending, h.ID)
	}
	select {
	case <-h.answered:
	default:
		h.reply, h.err = r, err
		close(h.answered)
	}
	idle := k.gone && len(k.pending) == 0
	k.mu.Unlock()
	if idle {
		_ = k.up.Close() // nobody waits for more
	}
}

// clientGone closes the client's side, and the NameNode's when no call of it is awaited.
func (k *link) clientGone() {
	k.mu.Lock()
	k.gone = true
	idle := len(k.pending) == 0
	k.mu.Unlock()
	_ = k.client.Close()
	if idle {
		_ = k.up.Close()
	}
}

func (k *link) close() {
	_, _ = k.client.Close(), k.up.Close()
}

// requests carries frames from the client to the NameNode.
func (k *link) requests() {
	defer k.p.done.Done()
	defer k.clientGone()
	r := bufio.NewReader(k.client)
	hello := make([]byte, 7) // "hrpc", version, service class, authentication
	if _, err := io.ReadFull(r, hello); err != nil || k.send(hello) != nil {
		return
	}
	for {
		frame, err := readFrame(r)
		if err != nil {
			return
		}
		call, ok := parseCall(frame)
		if ok && call.ID >= 0 {
			call.Conn, call.At = k.number, time.Now()
			if h, action := k.p.take(call, frame, k); h != nil {
				switch action {
				case Hold:
					continue
				case HoldAndCut:
					return
				case answer:
					k.answer(h, Reply{}, nil)
					if k.reply(reply(call.ID, h.says)) != nil {
						return
					}
					continue
				case Cut:
					k.answer(h, Reply{}, io.ErrClosedPipe)
					return
				case ForwardAndCut:
					k.mu.Lock()
					k.cut = h
					k.mu.Unlock()
				}
			}
		}
		if k.send(frame) != nil {
			return
		}
	}
}

// replies carries frames from the NameNode to the client, and on to nobody when the client is gone.
func (k *link) replies() {
	defer k.p.done.Done()
	r := bufio.NewReader(k.up)
	var err error
	for {
		var frame []byte
		if frame, err = readFrame(r); err != nil {
			break
		}
		id, reply, ok := parseReply(frame)
		k.mu.Lock()
		h := k.pending[id]
		lost := h != nil && h == k.cut
		gone := k.gone
		k.mu.Unlock()
		if ok && h != nil {
			if lost {
				k.clientGone()
			}
			k.answer(h, reply, nil)
		}
		if !lost && !gone {
			if k.reply(frame) != nil {
				k.clientGone()
			}
		}
	}
	_ = k.client.Close()
	k.mu.Lock()
	waiting := make([]*Hit, 0, len(k.pending))
	for _, h := range k.pending {
		waiting = append(waiting, h)
	}
	k.mu.Unlock()
	for _, h := range waiting {
		k.answer(h, Reply{}, fmt.Errorf("the NameNode's connection ended: %w", err))
	}
	k.p.mu.Lock()
	delete(k.p.links, k)
	k.p.mu.Unlock()
}
