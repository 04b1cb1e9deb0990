package rpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"staunch/fault"
	"staunch/fs"
)

// Options of a Client. Zero values mean the defaults.
type Options struct {
	// User is who acts; required.
	User string
	// Protocol is the Java name of the protocol; "": the NameNode's ClientProtocol.
	Protocol string
	// CallTimeout bounds one try of one call; 10 s.
	CallTimeout time.Duration
	// ConnectTimeout bounds connecting; 5 s.
	ConnectTimeout time.Duration
	// Patience bounds a call with all its tries; 30 s.
	Patience time.Duration
	// MaxIdle is how long a connection without calls is kept; 10 s.
	MaxIdle time.Duration
	// Dial makes a connection; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

const (
	clientProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

// Node names one NameNode.
type Node struct {
	// ID is its id in the name service; it may be empty.
	ID string
	// Addr is host:port.
	Addr string
}

// String is how errors name it.
func (n Node) String() string {
	if n.ID == "" {
		return n.Addr
	}
	return n.ID + " (" + n.Addr + ")"
}

// RemoteError is an exception of the NameNode.
type RemoteError struct {
	// Class is the exception's Java class, Text its first line.
	Class, Text string
	// Node answered.
	Node Node
}

// Error names the NameNode, the exception and its text.
func (e *RemoteError) Error() string {
	return "NameNode " + e.Node.String() + ": " + e.Short() + ": " + e.Text
}

// Short is the class without its package and outer class.
func (e *RemoteError) Short() string { return short(e.Class) }

func short(class string) string {
	return class[strings.LastIndexAny(class, ".$")+1:]
}

// Client calls the NameNodes of one name service. It may be used from any goroutine.
type Client struct {
	opt   Options
	id    [16]byte
	nodes []*node
	wg    sync.WaitGroup
	// stop is closed by Close.
	stop chan struct{}

	mu sync.Mutex
	// active is the index of the NameNode that is asked first; call is the newest call's number.
	active int
	call   int32
	closed bool
}

// node is one NameNode and the connection to it.
type node struct {
	Node
	addr   string
	client *Client

	mu   sync.Mutex
	conn *conn
	// opening is closed when an attempt to connect, by whichever call, has ended.
	opening chan struct{}
	// failed is why the newest attempt did.
	failed error
	// silent is when it was last found silent, zero since it answered.
	silent time.Time
}

// avoided reports whether it was silent a short while ago: each question would cost a call its time limit, while the other one may become
// active at any moment.
func (n *node) avoided() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.silent.IsZero() && time.Since(n.silent) < n.client.opt.CallTimeout
}

// heard notes whether it answered; other errors than silence say nothing.
func (n *node) heard(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil:
		n.silent = time.Time{}
	case errors.Is(err, errSilent):
		n.silent = time.Now()
	}
}

// New makes a client. Nothing is connected before the first call.
func New(nodes []Node, opt Options) *Client {
	opt.CallTimeout = cmp.Or(opt.CallTimeout, 10*time.Second)
	opt.ConnectTimeout = cmp.Or(opt.ConnectTimeout, 5*time.Second)
	opt.Patience = cmp.Or(opt.Patience, 30*time.Second)
	opt.MaxIdle = cmp.Or(opt.MaxIdle, 10*time.Second)
	opt.Protocol = cmp.Or(opt.Protocol, clientProtocol)
	if opt.Dial == nil {
		opt.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	c := &Client{opt: opt, stop: make(chan struct{})}
	if _, err := rand.Read(c.id[:]); err != nil {
		panic("rpc: the system gives no randomness: " + err.Error())
	}
	for _, n := range nodes {
		c.nodes = append(c.nodes, &node{Node: n, addr: n.Addr, client: c})
	}
	return c
}

// Close ends all connections and waits for their goroutines. Calls that wait fail.
func (c *Client) Close() {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if first {
		close(c.stop)
	}
	for _, n := range c.nodes {
		n.mu.Lock()
		if n.conn != nil {
			n.conn.end(errClosed)
		}
		n.mu.Unlock()
	}
	c.wg.Wait()
}

var errClosed = errors.New("the client is closed")

// Nodes names the NameNodes for errors.
func (c *Client) Nodes() string {
	var names []string
	for _, n := range c.nodes {
		names = append(names, n.String())
	}
	return strings.Join(names, ", ")
}

// Call carries out one call and gives the answer's message. The error is a *RemoteError, wraps fs.ErrUnavailable, or is a fault.User error if
// the NameNode cannot be spoken to at all.
func (c *Client) Call(method string, request []byte) ([]byte, error) {
	return c.CallPatiently(method, request, c.opt.Patience)
}

// CallPatiently is Call with a patience of its own.
func (c *Client) CallPatiently(method string, request []byte, patience time.Duration) ([]byte, error) {
	t := try{c: c, method: method, request: request, end: time.Now().Add(patience), patience: patience, causes: make([]error, len(c.nodes)), asked: make([]bool, len(c.nodes))}
	c.mu.Lock()
	c.call = (c.call + 1) & (1<<31 - 1)
	t.id, t.at = c.call, c.active
	c.mu.Unlock()
	t.at = c.choose(t.at)
	return t.run()
}

// try is one call and where its tries have got to.
type try struct {
	c        *Client
	method   string
	request  []byte
	id       int32
	end      time.Time
	patience time.Duration
	// at is the NameNode that is asked next; retries counts the tries, rounds the pauses.
	at, retries, rounds int
	// asked says which NameNodes were asked since the newest pause.
	asked []bool
	// again: the NameNode at was asked once more since its connection was lost.
	again bool
	// causes is what each NameNode last said.
	causes []error
}

func (t *try) run() ([]byte, error) {
	for {
		left := time.Until(t.end)
		if left <= 0 {
			return nil, t.unavailable()
		}
		n := t.c.nodes[t.at]
		a, reused, err := n.call(t.id, int32(t.retries), t.method, t.request, min(left, t.c.opt.CallTimeout))
		t.retries++
		n.heard(err)
		switch {
		case err == nil && a.status == statusOK:
			t.c.prefer(t.at)
			return a.body, nil
		case err == nil:
			err = &RemoteError{Class: a.class, Text: firstLine(a.text), Node: n.Node}
			if out, final := t.judge(a, err); final {
				t.c.prefer(t.at)
				return nil, out
			}
		case errors.Is(err, errClosed):
			return nil, fmt.Errorf("%s: %w", t.method, errClosed)
		case fault.ClassOf(err) == fault.User:
			return nil, fmt.Errorf("NameNode %s: %w", n, err)
		case reused && !t.again && !errors.Is(err, errSilent) && !errors.Is(err, errSlow):
			// It was closed while nobody used it, or this NameNode has just been started anew: ask it once more over a new connection.
			t.causes[t.at], t.again = err, true
			continue
		default:
			t.causes[t.at] = err
			t.next()
		}
		if t.asked[t.at] && !t.pause() {
			return nil, t.unavailable()
		}
	}
}

// judge says what an exception means for the call: its answer (final), or another try.
func (t *try) judge(a answer, err error) (out error, final bool) {
	t.causes[t.at] = err
	switch short(a.class) {
	case "StandbyException", "ObserverRetryOnActiveException":
		t.next()
		return nil, false
	case "RetriableException", "SafeModeException":
		// The text of a standby that is wrapped in it would say the same to the other one.
		t.asked[t.at] = true
		return nil, false
	}
	switch a.code {
	case errNoSuchMethod, errNoSuchProtocol, errVersionMismatch:
		return fault.New(fault.User, "the NameNode does not know what is asked: %w", err), true
	}
	return err, true
}

// next turns to another NameNode, for this call and, as long as no other has moved on, for all.
func (t *try) next() {
	from := t.at
	t.asked[from], t.again = true, false
	t.at = t.c.choose((from + 1) % len(t.c.nodes))
	t.c.mu.Lock()
	if t.c.active == from {
		t.c.active = t.at
	}
	t.c.mu.Unlock()
}

// pause waits before the next round; false when patience is over.
func (t *try) pause() bool {
	d := min(firstPause<<min(t.rounds, 10), maxPause)
	d = d/2 + mrand.N(d/2+1)
	t.rounds++
	clear(t.asked)
	left := time.Until(t.end)
	if left <= 0 {
		return false
	}
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.c.stop:
		return false
	}
}

// choose gives the first NameNode from i on that is not avoided, or i itself if all are.
func (c *Client) choose(i int) int {
	for k := range c.nodes {
		if at := (i + k) % len(c.nodes); !c.nodes[at].avoided() {
			return at
		}
	}
	return i
}

// prefer remembers the NameNode that answered.
func (c *Client) prefer(i int) {
	c.mu.Lock()
	c.active = i
	c.mu.Unlock()
}

// unavailable is the end of patience.
func (t *try) unavailable() error {
	var said []string
	for i, n := range t.c.nodes {
		why := "not asked"
		if err := t.causes[i]; err != nil {
			why = err.Error()
			var r *RemoteError
			if errors.As(err, &r) {
				why = r.Short() + ": " + r.Text
			}
		}
		said = append(said, "NameNode "+n.String()+": "+why)
	}
	return fmt.Errorf("%w: %s not answered within %s (%d tries); %s", fs.ErrUnavailable, t.method, t.patience, t.retries, strings.Join(said, "; "))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// call makes one try. reused: it went over a connection that an earlier call had opened.
func (n *node) call(id, retry int32, method string, request []byte, timeout time.Duration) (a answer, reused bool, err error) {
	start := time.Now()
	c, reused, err := n.connect(min(timeout, n.client.opt.ConnectTimeout))
	if err != nil {
		return answer{}, false, err
	}
	left := timeout - time.Since(start)
	packet := callFrame(n.client.id[:], id, retry, n.client.opt.Protocol, method, request)
	a, err = c.call(id, packet, left)
	return a, reused, err
}

// connect gives the connection, and opens one if there is none. Only one call at a time opens it; others wait for that, within their own limit.
func (n *node) connect(timeout time.Duration) (c *conn, reused bool, err error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		n.mu.Lock()
		if n.client.isClosed() {
			n.mu.Unlock()
			return nil, false, errClosed
		}
		if n.conn != nil && n.conn.usable(n.client.opt.MaxIdle) {
			c := n.conn
			n.mu.Unlock()
			return c, true, nil
		}
		n.conn = nil
		wait := n.opening
		if wait == nil {
			n.opening = make(chan struct{})
			n.mu.Unlock()
			return n.reopen(timeout)
		}
		n.mu.Unlock()
		select {
		case <-wait:
		case <-timer.C:
			return nil, false, fmt.Errorf("%w: not connected after %s", errSilent, timeout)
		}
		n.mu.Lock()
		failed := n.failed
		n.mu.Unlock()
		if failed != nil {
			return nil, false, failed
		}
	}
}

func (n *node) reopen(timeout time.Duration) (*conn, bool, error) {
	c, err := n.open(timeout)
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.opening)
	n.opening, n.failed, n.conn = nil, err, c
	if err == nil && n.client.isClosed() { // Close has not seen this connection
		c.end(errClosed)
		return nil, false, errClosed
	}
	return c, false, err
}

// start runs f as a goroutine that Close waits for, unless the client is closed.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.wg.Go(f)
	}
	return !c.closed
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
