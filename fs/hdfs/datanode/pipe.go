package datanode

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"staunch/fs"
)

// nodeError is a failure of a pipeline, and of which of its nodes.
type nodeError struct {
	// bad are indices into the pipeline's nodes, never none.
	bad []int
	// silent: they did not answer, or could not be reached in time.
	silent bool
	err    error
}

func (e *nodeError) Error() string { return e.err.Error() }
func (e *nodeError) Unwrap() error { return e.err }

// blame makes a nodeError for one node.
func blame(nodes []Node, i int, verb string, err error) *nodeError {
	return &nodeError{bad: []int{i}, silent: timedOut(err), err: fmt.Errorf("DataNode %s: %s: %w", nodes[i].Addr(), verb, err)}
}

// errClosedAtOnce is what a DataNode that wants SASL does to a client that does not speak it, and a dying one to any.
var errClosedAtOnce = errors.New("it closed the connection without an answer; if the cluster encrypts or authenticates data transfer " +
	"(dfs.encrypt.data.transfer, dfs.data.transfer.protection): that needs Kerberos, which is not supported yet")

// atOnce explains the end of a connection before an answer; with a request that was not read it is a reset.
func atOnce(err error) error {
	if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("%w (%w)", errClosedAtOnce, err)
	}
	return err
}

// pipe is one connection to the first node of a pipeline.
type pipe struct {
	conn  net.Conn
	in    frames
	nodes []Node
	// writing is held by whoever writes to conn.
	writing chan struct{}
	// done is closed when the goroutine that reads acknowledgements has ended.
	done chan struct{}

	// Below: guarded by the stream's mu.

	// err is the first failure.
	err *nodeError
	// finished: the block's last packet was acknowledged, after which nothing more is read.
	finished bool
	// broken is what writing said; the cause, and who it was, may stand in an acknowledgement that is still to be read.
	broken error
	// heard is when the last acknowledgement came.
	heard time.Time
	// wrote is when something was sent.
	wrote time.Time
}

// connect makes a pipeline through nodes. The failed connection is closed.
func connect(o *Options, op writeOp) (*pipe, *nodeError) {
	conn, err := o.Dial(o.addr(op.nodes[0]), o.Connect)
	if err != nil {
		return nil, blame(op.nodes, 0, "connect", err)
	}
	p := &pipe{conn: conn, nodes: op.nodes, writing: make(chan struct{}, 1), in: frames{conn: conn}}
	if bad := p.setUp(o, op); bad != nil {
		closeQuietly(conn)
		return nil, bad
	}
	return p, nil
}

// closeQuietly ends a connection of which nothing is awaited any more.
func closeQuietly(c net.Conn) { _ = c.Close() } // what was sent is known by acknowledgements, not by a good end

// setUp sends op and reads the answer, which comes when all nodes are connected.
func (p *pipe) setUp(o *Options, op writeOp) *nodeError {
	start := time.Now()
	if err := p.conn.SetWriteDeadline(start.Add(o.answer(len(p.nodes)))); err != nil {
		return blame(p.nodes, 0, "set a deadline", err)
	}
	if _, err := p.conn.Write(op.append(nil)); err != nil {
		return blame(p.nodes, 0, "send", err)
	}
	for {
		b, err := p.in.next(time.Now().Add(o.Silence))
		switch {
		case err == nil:
			return p.setUpAnswer(b)
		case !timedOut(err):
			return blame(p.nodes, 0, "set up", atOnce(err))
		}
		if bad := p.silent(o, op.block, op.token, time.Since(start)); bad != nil {
			return bad
		}
	}
}

func (p *pipe) setUpAnswer(b []byte) *nodeError {
	r, err := parseOpResponse(b)
	if err != nil {
		return blame(p.nodes, 0, "set up", err)
	}
	if r.status == statusInProgress {
		return blame(p.nodes, 0, "set up", errors.New("it answered that it is still at work, which only reading may"))
	}
	if err := r.err(); err != nil {
		i := max(0, slices.IndexFunc(p.nodes, func(n Node) bool { return r.badLink == n.Addr() || r.badLink == n.HostAddr() }))
		if hint := saslHint(r.message); hint != "" {
			err = fmt.Errorf("%w (%s)", err, hint)
		}
		return blame(p.nodes, i, "set up", err)
	}
	return nil
}

func saslHint(message string) string {
	if strings.Contains(message, "SASL") || strings.Contains(message, "token") {
		return "a secured cluster needs Kerberos, which is not supported yet"
	}
	return ""
}

// silent decides about a pipeline that owes an answer since a while. The nodes acknowledge in a row, so the silence of one is that of all: each
// is asked by itself. Nil: wait on, because all live (a disk may be slow), or none does (a lost network may come back), and the time is not over.
func (p *pipe) silent(o *Options, b Block, token Token, since time.Duration) *nodeError {
	dead := probe(o, p.nodes, b, token)
	err := fmt.Errorf("no answer for %v: %w", since.Round(time.Millisecond), fs.ErrUnavailable)
	if len(dead) > 0 && len(dead) < len(p.nodes) {
		e := blame(p.nodes, dead[0], "wait", err)
		e.bad, e.silent = dead, true
		return e
	}
	if since >= o.answer(len(p.nodes)) {
		e := blame(p.nodes, 0, "wait", err)
		e.silent = true
		return e
	}
	return nil
}

// probe asks each node for nothing of block b and gives those that do not answer at all in half of the time of silence.
func probe(o *Options, nodes []Node, b Block, token Token) (dead []int) {
	answers := make([]chan bool, len(nodes))
	for i, n := range nodes {
		answers[i] = make(chan bool, 1)
		go func() { answers[i] <- alive(o, n, b, token) }()
	}
	for i, a := range answers {
		if !<-a {
			dead = append(dead, i)
		}
	}
	return dead
}

// alive reports whether a DataNode answers anything. The kernel takes connections for a process that is stopped, so an answer it must be.
func alive(o *Options, n Node, b Block, token Token) bool {
	conn, err := o.Dial(o.addr(n), min(o.Connect, o.Silence/2))
	if err != nil {
		return false
	}
	defer closeQuietly(conn)
	if conn.SetDeadline(time.Now().Add(o.Silence/2)) != nil {
		return false
	}
	if _, err := conn.Write(appendReadOp(nil, b, token, o.Client, 0, 0)); err != nil {
		return false
	}
	one := make([]byte, 1)
	_, err = io.ReadFull(conn, one)
	return err == nil
}

// send writes a packet. One writer at a time.
func (p *pipe) send(wire []byte, timeout time.Duration) error {
	p.writing <- struct{}{}
	defer func() { <-p.writing }()
	return p.sendHeld(wire, timeout)
}

func (p *pipe) sendHeld(wire []byte, timeout time.Duration) error {
	if err := p.conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := p.conn.Write(wire)
	return err
}

// heartbeat tells an idle pipeline that the writer lives. While somebody writes none is needed.
func (p *pipe) heartbeat(timeout time.Duration) error {
	select {
	case p.writing <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-p.writing }()
	h := packetHeader{seq: heartbeatSeq}
	return p.sendHeld(h.append(make([]byte, 0, headRoom), 0), timeout)
}
