package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"staunch/fault"
	"staunch/fs/hdfs/wire"
)

var (
	// errSilent: nothing at all came within a call's time limit.
	errSilent = errors.New("no answer")
	// errSlow: no answer came to this call, while others got theirs.
	errSlow = errors.New("no answer to this call")
)

// lost is the end of a connection.
type lost struct{ err error }

func (l *lost) Error() string { return "connection lost: " + l.err.Error() }
func (l *lost) Unwrap() error { return l.err }

// conn is one connection. Calls wait in pending for the reading goroutine; it ends when the connection does.
type conn struct {
	nc net.Conn
	// enough is how long it has to be silent to be taken for dead.
	enough time.Duration
	// sending is held by who writes: a channel, so that waiting for it has a time limit.
	sending chan struct{}

	mu      sync.Mutex
	pending map[int32]chan result
	// err is set when the connection has ended; dead is closed then.
	err  error
	dead chan struct{}
	// heard is when the newest answer came, used when the newest call began or ended.
	heard, used time.Time
}

type result struct {
	answer answer
	err    error
}

// open connects and says who speaks.
func (n *node) open(timeout time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	nc, err := n.client.opt.Dial(ctx, n.addr)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: not connected after %s", errSilent, timeout)
		}
		return nil, err
	}
	hello := append(append([]byte{}, preamble...), contextFrame(n.client.id[:], n.client.opt.User, n.client.opt.Protocol)...)
	if err := errors.Join(nc.SetWriteDeadline(time.Now().Add(timeout)), writeAll(nc, hello)); err != nil {
		return nil, errors.Join(&lost{err}, nc.Close())
	}
	c := &conn{nc: nc, enough: n.client.opt.CallTimeout / 2, sending: make(chan struct{}, 1), pending: map[int32]chan result{}, dead: make(chan struct{}), used: time.Now()}
	if !n.client.start(c.read) {
		return nil, errors.Join(errClosed, nc.Close())
	}
	return c, nil
}

func writeAll(nc net.Conn, b []byte) error {
	_, err := nc.Write(b)
	return err
}

// read hands out answers until the connection ends.
func (c *conn) read() {
	r := bufio.NewReader(c.nc)
	for {
		a, err := readAnswer(r)
		if err == nil && a.call == callSASL {
			if err = sasl(a); err == nil {
				continue
			}
		}
		if err == nil && a.status == statusFatal {
			err = fatal(a)
		}
		if err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		c.heard = time.Now()
		ch := c.pending[a.call]
		delete(c.pending, a.call)
		c.mu.Unlock()
		if ch != nil { // else its caller has gone
			ch <- result{answer: a}
		}
	}
}

// sasl judges an offer of the NameNode: nothing but "simple" is known here, and is what was said already.
func sasl(a answer) error {
	if a.status != statusOK {
		return fatal(a)
	}
	state, simple := uint64(saslSuccess), false
	var methods []string
	err := wire.Fields(a.body, func(f wire.Field) error {
		switch f.Num {
		case 2:
			state = f.Int
		case 4:
			return wire.Fields(f.Bytes, func(g wire.Field) error {
				if g.Num == 1 {
					methods = append(methods, string(g.Bytes))
					simple = simple || string(g.Bytes) == "SIMPLE"
				}
				return nil
			})
		}
		return nil
	})
	if err == nil && state != saslSuccess && !(state == saslNegotiate && simple) {
		err = needsKerberos(fmt.Sprintf("it offers %q", methods))
	}
	return err
}

func needsKerberos(said string) error {
	return fault.Userf("the NameNode asks for an authentication that is not supported yet (Kerberos): %s", said).
		WithHint("use a cluster without Kerberos; mounting the secured one on this machine (NFS gateway, FUSE) makes it a local path")
}

// fatal is an answer after which the NameNode closes the connection.
func fatal(a answer) error {
	switch {
	case short(a.class) == "AccessControlException" || short(a.class) == "SaslException":
		return needsKerberos(firstLine(a.text))
	case a.code == fatalUnauthorized:
		return fault.Userf("the NameNode refuses this user: %s: %s", short(a.class), firstLine(a.text)).WithHint("set HADOOP_USER_NAME, or let the user in on the cluster")
	case a.code == fatalVersion || a.code == errVersionMismatch:
		return fault.Userf("the NameNode speaks another version of Hadoop's RPC, 9 is supported: %s", a.text)
	}
	return fmt.Errorf("%s: %s", a.class, a.text)
}

// end ends the connection. All that wait for answers learn why.
func (c *conn) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = &lost{err}
	waiting := c.pending
	c.pending = nil
	c.mu.Unlock()
	close(c.dead)
	_ = c.nc.Close() // nothing is kept in it
	for _, ch := range waiting {
		ch <- result{err: c.err}
	}
}

// call sends one call and waits for its answer until the timer fires. A connection that said nothing in all that time is ended.
func (c *conn) call(id int32, packet []byte, timeout time.Duration) (answer, error) {
	start := time.Now()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	ch := make(chan result, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return answer{}, c.err
	}
	c.pending[id] = ch
	c.used = start
	c.mu.Unlock()
	defer c.forget(id)
	select {
	case c.sending <- struct{}{}:
	case <-c.dead:
		return answer{}, c.err
	case <-timer.C:
		return answer{}, c.silent(start, timeout)
	}
	err := errors.Join(c.nc.SetWriteDeadline(start.Add(timeout)), writeAll(c.nc, packet))
	<-c.sending
	if err != nil { // half a packet may be on its way
		return answer{}, c.broken(err)
	}
	select {
	case r := <-ch:
		return r.answer, r.err
	case <-timer.C:
		return answer{}, c.silent(start, timeout)
	}
}

// parting is how long the reading goroutine may still find out why the NameNode has closed a connection that takes no more bytes: it says so
// before (authentication, version).
const parting = 100 * time.Millisecond

// broken ends a connection that a packet could not be sent over.
func (c *conn) broken(err error) error {
	timer := time.NewTimer(parting)
	defer timer.Stop()
	select {
	case <-c.dead:
	case <-timer.C:
		c.end(err)
	}
	return c.err
}

func (c *conn) silent(since time.Time, timeout time.Duration) error {
	c.mu.Lock()
	// The last try of a call may be short, which says nothing about the connection.
	quiet := !c.heard.After(since) && timeout >= c.enough
	c.mu.Unlock()
	if !quiet {
		return fmt.Errorf("%w within %s", errSlow, timeout)
	}
	err := fmt.Errorf("%w within %s", errSilent, timeout)
	c.end(err)
	return err
}

func (c *conn) forget(id int32) {
	c.mu.Lock()
	delete(c.pending, id)
	c.used = time.Now()
	c.mu.Unlock()
}

// usable reports whether a new call may go over this connection. One that was idle for long is ended: a firewall or the NameNode may have
// dropped it without a word.
func (c *conn) usable(maxIdle time.Duration) bool {
	c.mu.Lock()
	alive := c.err == nil
	idle := len(c.pending) == 0 && time.Since(c.used) > maxIdle
	c.mu.Unlock()
	if alive && idle {
		c.end(errors.New("idle"))
	}
	return alive && !idle
}
