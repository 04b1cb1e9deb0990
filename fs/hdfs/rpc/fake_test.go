package rpc

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// seen is one request that a NameNode got.
type seen struct {
	client  string
	call    int32
	retry   int32
	method  string
	request []byte
	conn    net.Conn
}

// reply is what it does about it.
type reply struct {
	body []byte
	// class and text make it an exception, fatal one that ends the connection.
	class, text string
	fatal       bool
	code        uint64
	// silent: no answer. cut: the connection is closed instead of an answer.
	silent, cut bool
}

// nameNode is an in-process NameNode that speaks the framing. serve decides about each call, in order.
type nameNode struct {
	addr string

	mu    sync.Mutex
	calls []seen
	conns []net.Conn
	serve func(s seen) reply
	// refuse: nobody listens. deaf: connections are taken and nothing is ever read.
	refuse, deaf bool
	user         string
	protocol     string
	closed       int
}

// world is a network of NameNodes over pipes.
type world struct {
	t     testing.TB
	nodes map[string]*nameNode
	wg    sync.WaitGroup
}

func newWorld(t testing.TB, addrs ...string) *world {
	w := &world{t: t, nodes: map[string]*nameNode{}}
	for _, a := range addrs {
		w.nodes[a] = &nameNode{addr: a, serve: func(s seen) reply { return reply{body: s.request} }}
	}
	return w
}

// stop ends what the NameNodes still hold open.
func (w *world) stop() {
	for _, n := range w.nodes {
		n.cutAll()
	}
	w.wg.Wait()
}

func (w *world) dial(ctx context.Context, addr string) (net.Conn, error) {
	n := w.nodes[addr]
	if n == nil {
		return nil, errors.New("no such host")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	n.conns = append(n.conns, far)
	deaf := n.deaf
	w.wg.Go(func() {
		// A kernel takes the hello of a process that is stopped; a pipe has no buffer.
		if err := n.hello(far); err == nil && !deaf {
			n.run(far)
		}
	})
	return near, nil
}

func (n *nameNode) cutAll() {
	n.mu.Lock()
	conns := n.conns
	n.conns = nil
	n.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}

func (n *nameNode) set(serve func(s seen) reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serve = serve
}

func (n *nameNode) seen() []seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]seen(nil), n.calls...)
}

func (n *nameNode) hello(c net.Conn) error {
	var head [7]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	if string(head[:]) != "hrpc\x09\x00\x00" {
		return errors.New("not Hadoop's RPC")
	}
	header, parts, err := readPacket(c)
	if err != nil || header.call != callContext || len(parts) != 1 {
		return errors.New("no connection context")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return Fields(parts[0], func(f Field) error {
		switch f.Num {
		case 2:
			return Fields(f.Bytes, func(g Field) error { n.user = string(g.Bytes); return nil })
		case 3:
			n.protocol = string(f.Bytes)
		}
		return nil
	})
}

func (n *nameNode) run(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		s, parts, err := readPacket(r)
		if err != nil {
			n.mu.Lock()
			n.closed++
			n.mu.Unlock()
			return
		}
		if len(parts) != 2 {
			return
		}
		s.conn, s.request = c, parts[1]
		_ = Fields(parts[0], func(f Field) error {
			if f.Num == 1 {
				s.method = string(f.Bytes)
			}
			return nil
		})
		n.mu.Lock()
		n.calls = append(n.calls, s)
		serve := n.serve
		n.mu.Unlock()
		v := serve(s)
		if v.cut {
			return
		}
		if v.silent {
			continue
		}
		if _, err := c.Write(v.encode(s.call)); err != nil || v.fatal {
			return
		}
	}
}

func (v reply) encode(call int32) []byte {
	h := appendVarint(nil, 1, uint64(uint32(call)))
	status := uint64(statusOK)
	if v.class != "" {
		status = statusError
	}
	if v.fatal {
		status = statusFatal
	}
	h = appendVarint(h, 2, status)
	h = appendVarint(h, 3, 9)
	if v.class != "" {
		h = appendBytes(h, 4, []byte(v.class))
		h = appendBytes(h, 5, []byte(v.text))
		h = appendVarint(h, 6, v.code)
		return frame(h)
	}
	return frame(h, v.body)
}

// readPacket reads a packet and the header in it.
func readPacket(r io.Reader) (s seen, parts [][]byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return s, nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return s, nil, err
	}
	for len(b) > 0 {
		var p []byte
		if p, b, err = cut(b); err != nil {
			return s, nil, err
		}
		parts = append(parts, p)
	}
	err = Fields(parts[0], func(f Field) error {
		switch f.Num {
		case 3:
			s.call = int32(protowire.DecodeZigZag(f.Int))
		case 4:
			s.client = string(f.Bytes)
		case 5:
			s.retry = int32(protowire.DecodeZigZag(f.Int))
		}
		return nil
	})
	return s, parts[1:], err
}

// ended counts the connections that the client closed, opened those that are not cut.
func (n *nameNode) ended() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

func (n *nameNode) opened() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}
