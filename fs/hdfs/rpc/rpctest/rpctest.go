package rpctest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"staunch/fs/hdfs/wire"
)

// Call is one request that a NameNode got.
type Call struct {
	// Client, ID and Retry say which call it is, and which try of it.
	Client  string
	ID      int32
	Retry   int32
	Method  string
	Request []byte
}

// Str gives the first string or message in field n of the request; Int the first number.
func (c Call) Str(n protowire.Number) (s string) {
	c.each(n, func(f wire.Field) { s = string(f.Bytes) })
	return s
}

// Int gives a number of the request.
func (c Call) Int(n protowire.Number) (v uint64) {
	c.each(n, func(f wire.Field) { v = f.Int })
	return v
}

func (c Call) each(n protowire.Number, do func(wire.Field)) {
	_ = wire.Fields(c.Request, func(f wire.Field) error { // what is malformed reads as absent
		if f.Num == n {
			do(f)
		}
		return nil
	})
}

// Reply is what a NameNode does about a call. The zero value is an empty answer.
type Reply struct {
	Body []byte
	// Class and Text make it an exception, Fatal one that ends the connection, Code its RpcErrorCodeProto.
	Class, Text string
	Fatal       bool
	Code        uint64
	// Silent: no answer ever. Cut: the connection is closed instead of an answer.
	Silent, Cut bool
}

// NameNode is one address of a World.
type NameNode struct {
	mu    sync.Mutex
	calls []Call
	conns []net.Conn
	serve func(Call) Reply
	// refuse: nobody listens. deaf: connections are taken and nothing is read from them but the greeting.
	refuse, deaf   bool
	user, protocol string
	ended          int
}

// World is a network of NameNodes.
type World struct {
	nodes map[string]*NameNode
	wg    sync.WaitGroup
}

// New makes a network with a NameNode at each address. They answer each call with its own request.
func New(addrs ...string) *World {
	w := &World{nodes: map[string]*NameNode{}}
	for _, a := range addrs {
		w.nodes[a] = &NameNode{serve: func(c Call) Reply { return Reply{Body: c.Request} }}
	}
	return w
}

// Node gives the NameNode at an address.
func (w *World) Node(addr string) *NameNode { return w.nodes[addr] }

// Stop breaks all connections and waits for their goroutines.
func (w *World) Stop() {
	for _, n := range w.nodes {
		n.Break()
	}
	w.wg.Wait()
}

// Dial is rpc.Options.Dial.
func (w *World) Dial(_ context.Context, addr string) (net.Conn, error) {
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
		// The kernel takes the greeting for a process that is stopped; a pipe has no buffer.
		if err := n.hello(far); err == nil && !deaf {
			n.run(far)
		}
	})
	return near, nil
}

// Break breaks all connections.
func (n *NameNode) Break() {
	n.mu.Lock()
	conns := n.conns
	n.conns = nil
	n.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // a pipe's never fails
	}
}

// Serve says what it does about calls, which come one at a time on each connection.
func (n *NameNode) Serve(serve func(Call) Reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serve = serve
}

// Refuse switches whether new connections are refused.
func (n *NameNode) Refuse(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = on
}

// Deaf makes new connections those to a stopped process.
func (n *NameNode) Deaf() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deaf = true
}

// Calls gives the calls so far.
func (n *NameNode) Calls() []Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Call(nil), n.calls...)
}

// Conns counts the connections that it has not broken, and those that the client has ended.
func (n *NameNode) Conns() (opened, ended int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns), n.ended
}

// Speaker is who spoke last, and in which protocol.
func (n *NameNode) Speaker() (user, protocol string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.user, n.protocol
}

// callContext is the call number of the connection's context.
const callContext = -3

func (n *NameNode) hello(c net.Conn) error {
	var head [7]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	if string(head[:]) != "hrpc\x09\x00\x00" {
		return errors.New("not Hadoop's RPC")
	}
	header, parts, err := readPacket(c)
	if err != nil || header.ID != callContext || len(parts) != 1 {
		return errors.New("no connection context")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return wire.Fields(parts[0], func(f wire.Field) error {
		switch f.Num {
		case 2:
			return wire.Fields(f.Bytes, func(g wire.Field) error { n.user = string(g.Bytes); return nil })
		case 3:
			n.protocol = string(f.Bytes)
		}
		return nil
	})
}

func (n *NameNode) run(c net.Conn) {
	defer c.Close() //nolint:errcheck // a pipe's never fails
	r := bufio.NewReader(c)
	for {
		call, parts, err := readPacket(r)
		if err != nil {
			n.mu.Lock()
			n.ended++
			n.mu.Unlock()
			return
		}
		if len(parts) != 2 {
			return
		}
		call.Request = parts[0]
		call.Method = Call{Request: parts[0]}.Str(1)
		call.Request = parts[1]
		n.mu.Lock()
		n.calls = append(n.calls, call)
		serve := n.serve
		n.mu.Unlock()
		v := serve(call)
		if v.Cut {
			return
		}
		if v.Silent {
			continue
		}
		if _, err := c.Write(v.Packet(call.ID)); err != nil || v.Fatal {
			return
		}
	}
}

// Packet is the reply to a call as it is sent.
func (v Reply) Packet(call int32) []byte {
	num := func(b []byte, n protowire.Number, x uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), x)
	}
	str := func(b []byte, n protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
	}
	status := uint64(0)
	if v.Class != "" {
		status = 1
	}
	if v.Fatal {
		status = 2
	}
	h := num(num(num(nil, 1, uint64(uint32(call))), 2, status), 3, 9)
	if v.Class != "" {
		h = num(str(str(h, 4, v.Class), 5, v.Text), 6, v.Code)
	}
	b := protowire.AppendBytes(make([]byte, 4), h)
	if v.Class == "" {
		b = protowire.AppendBytes(b, v.Body)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// readPacket reads a packet: its header, and the messages behind it.
func readPacket(r io.Reader) (call Call, parts [][]byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return call, nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return call, nil, err
	}
	for len(b) > 0 {
		p, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return call, nil, protowire.ParseError(n)
		}
		parts, b = append(parts, p), b[n:]
	}
	if len(parts) == 0 {
		return call, nil, errors.New("empty packet")
	}
	err = wire.Fields(parts[0], func(f wire.Field) error {
		switch f.Num {
		case 3:
			call.ID = int32(protowire.DecodeZigZag(f.Int))
		case 4:
			call.Client = string(f.Bytes)
		case 5:
			call.Retry = int32(protowire.DecodeZigZag(f.Int))
		}
		return nil
	})
	return call, parts[1:], err
}
