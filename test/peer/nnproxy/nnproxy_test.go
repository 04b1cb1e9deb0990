package nnproxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// nameNode executes calls: it notes them and answers, "fail" with an exception.
type nameNode struct {
	l        net.Listener
	mu       sync.Mutex
	executed []string
}

func startNameNode(t *testing.T) *nameNode {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nameNode{l: l}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { n.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return n
}

func (n *nameNode) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	if hello := make([]byte, 7); func() error { _, err := io.ReadFull(r, hello); return err }() != nil || string(hello[:4]) != "hrpc" {
		return
	}
	for {
		frame, err := readFrame(r)
		if err != nil {
			return
		}
		call, ok := parseCall(frame)
		if !ok {
			return
		}
		if call.ID < 0 { // the connection's context has no answer
			continue
		}
		n.mu.Lock()
		n.executed = append(n.executed, call.Method+" "+call.Path)
		n.mu.Unlock()
		head := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(call.ID))
		status := uint64(0)
		if call.Method == "fail" {
			status = 1
		}
		head = protowire.AppendVarint(protowire.AppendTag(head, 2, protowire.VarintType), status)
		if status == 1 {
			head = protowire.AppendString(protowire.AppendTag(head, 4, protowire.BytesType), "java.io.IOException")
			head = protowire.AppendString(protowire.AppendTag(head, 5, protowire.BytesType), "no")
		}
		if _, err := c.Write(framed(protowire.AppendBytes(nil, head))); err != nil {
			return
		}
	}
}

func (n *nameNode) did() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.executed)
}

func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// request is a frame as Hadoop's client sends it.
func request(id, retry int64, method string, paths ...string) []byte {
	varint := func(b []byte, num protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
	}
	text := func(b []byte, num protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
	}
	sint := func(v int64) uint64 { return protowire.EncodeZigZag(v) & 0xffffffff }
	head := varint(varint(varint(nil, 1, 2), 2, 0), 3, sint(id))
	head = varint(text(head, 4, "0123456789abcdef"), 5, sint(retry))
	body := protowire.AppendBytes(nil, head)
	if id >= 0 {
		body = protowire.AppendBytes(body, varint(text(text(nil, 1, method), 2, "ClientProtocol"), 3, 1))
		var m []byte
		for i, p := range paths {
			m = text(m, protowire.Number(i+1), p)
		}
		body = protowire.AppendBytes(body, m)
	}
	return framed(body)
}

// client is a connection through the proxy.
type client struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	k := &client{t, c, bufio.NewReader(c)}
	k.send([]byte("hrpc\x09\x00\x00"))
	k.send(request(-3, -1, ""))
	return k
}

func (k *client) send(b []byte) {
	k.t.Helper()
	if _, err := k.c.Write(b); err != nil {
		k.t.Fatal(err)
	}
}

// reply returns the id of the next answer, or the error that ended the connection.
func (k *client) reply() (int64, error) {
	if err := k.c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, err
	}
	frame, err := readFrame(k.r)
	if err != nil {
		return 0, err
	}
	id, _, ok := parseReply(frame)
	if !ok {
		return 0, errors.New("no reply")
	}
	return id, nil
}

func (k *client) wants(id int64) {
	k.t.Helper()
	if got, err := k.reply(); err != nil || got != id {
		k.t.Fatalf("reply %d, %v; want %d", got, err, id)
	}
}

func (k *client) ended() {
	k.t.Helper()
	if id, err := k.reply(); err == nil {
		k.t.Fatalf("reply %d; want the connection's end", id)
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		k.t.Fatal("the connection was not cut")
	}
}

func start(t *testing.T) (*Proxy, *nameNode, context.Context) {
	t.Helper()
	n := startNameNode(t)
	p, err := Listen(n.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return p, n, ctx
}

func hit(t *testing.T, ctx context.Context, r *Rule) *Hit {
	t.Helper()
	h, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestWithoutARuleAllGoesThrough(t *testing.T) {
	p, n, _ := start(t)
	k := dial(t, p)
	k.send(request(7, 0, "rename2", "/a", "/b"))
	k.wants(7)
	k.send(request(8, 2, "delete", "/a"))
	k.wants(8)
	if got := n.did(); !slices.Equal(got, []string{"rename2 /a", "delete /a"}) {
		t.Errorf("executed %q", got)
	}
	calls := p.Calls()
	if len(calls) != 2 || calls[0].To != "/b" || calls[1].Retry != 2 || calls[1].Client != "0123456789abcdef" || calls[1].Conn != 1 || calls[0].At.IsZero() {
		t.Errorf("calls %+v", calls)
	}
}

// TestALateDelete: the first request is held and its connection cut, the second one is executed, and then the first.
func TestALateDelete(t *testing.T) {
	p, n, ctx := start(t)
	rule := p.On(Match{Method: "delete"}, HoldAndCut)
	first := dial(t, p)
	first.send(request(1, 0, "delete", "/x"))
	first.ended()
	h := hit(t, ctx, rule)
	second := dial(t, p)
	second.send(request(1, 1, "delete", "/x"))
	second.wants(1)
	second.send(request(2, 0, "create", "/x/y"))
	second.wants(2)
	if r, err := h.Release(ctx); err != nil || r.Failed {
		t.Fatal(r, err)
	}
	if got := n.did(); !slices.Equal(got, []string{"delete /x", "create /x/y", "delete /x"}) {
		t.Errorf("executed %q", got)
	}
	if _, err := h.Release(ctx); err == nil {
		t.Error("released twice")
	}
}

func TestAHeldCallStopsOnlyItself(t *testing.T) {
	p, _, ctx := start(t)
	rule := p.On(Match{Method: "complete"}, Hold)
	k := dial(t, p)
	k.send(request(1, 0, "complete", "/x"))
	h := hit(t, ctx, rule)
	k.send(request(2, 0, "mkdirs", "/y"))
	k.wants(2)
	if _, err := h.Release(ctx); err != nil {
		t.Fatal(err)
	}
	k.wants(1)
}

func TestALostReply(t *testing.T) {
	p, n, ctx := start(t)
	rule := p.On(Match{Method: "fail", Path: func(s string) bool { return strings.HasSuffix(s, "/b") }, Skip: 1, Times: 2}, ForwardAndCut)
	k := dial(t, p)
	k.send(request(1, 0, "fail", "/a"))
	k.wants(1)
	k.send(request(2, 0, "fail", "/b"))
	k.wants(2) // skipped
	k.send(request(3, 0, "fail", "/b"))
	k.ended()
	again := dial(t, p)
	again.send(request(3, 1, "fail", "/a", "/b"))
	again.wants(3) // the second path of a call that is no rename is not looked at
	again.send(request(4, 0, "fail", "/b"))
	again.ended()
	last := dial(t, p)
	last.send(request(5, 0, "fail", "/b"))
	last.wants(5)
	for range 2 {
		r, err := hit(t, ctx, rule).Reply(ctx)
		if err != nil || !r.Failed || r.Exception != "java.io.IOException" || r.Message != "no" {
			t.Errorf("%+v %v", r, err)
		}
	}
	if n := len(n.did()); n != 6 {
		t.Errorf("%d calls executed, want 6", n)
	}
}

func TestACutCallIsNeverExecuted(t *testing.T) {
	p, n, ctx := start(t)
	rule := p.On(Match{Times: -1}, Cut)
	for range 3 {
		k := dial(t, p)
		k.send(request(1, 0, "create", "/x"))
		k.ended()
		if _, err := hit(t, ctx, rule).Reply(ctx); err == nil {
			t.Error("an answer to a call that was cut")
		}
	}
	rule.Off()
	k := dial(t, p)
	k.send(request(2, 0, "create", "/y"))
	k.wants(2)
	if got := n.did(); !slices.Equal(got, []string{"create /y"}) {
		t.Errorf("executed %q", got)
	}
}

func TestARuleThatMeetsNothingSaysSo(t *testing.T) {
	p, _, _ := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.On(Match{Method: "append"}, Hold).Next(ctx); err == nil || !strings.Contains(err.Error(), "append") {
		t.Error(err)
	}
}

// TestWhatIsHeldWhenTheNameNodeDies is answered with an error, not never.
func TestWhatIsHeldWhenTheNameNodeDies(t *testing.T) {
	p, _, ctx := start(t)
	rule := p.On(Match{Method: "create"}, HoldAndCut)
	k := dial(t, p)
	k.send(request(1, 0, "create", "/x"))
	h := hit(t, ctx, rule)
	h.link.up.Close()
	if _, err := h.Release(ctx); err == nil {
		t.Error("released into a closed connection")
	}
}

// FuzzFrames: bytes that are no Hadoop RPC are carried on and never panic.
func FuzzFrames(f *testing.F) {
	f.Add(request(3, 1, "rename2", "/a", "/b"))
	f.Add(request(-3, -1, ""))
	f.Add([]byte{0, 0, 0, 1, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 4 {
			return
		}
		parseCall(b)
		parseReply(b)
	})
}

// TestAnAnswerOfItsOwn: the NameNode does not see the call; others go through.
func TestAnAnswerOfItsOwn(t *testing.T) {
	p, n, ctx := start(t)
	rule := p.Answer(Match{Method: "complete"}, []byte{8, 0})
	k := dial(t, p)
	k.send(request(1, 0, "complete", "/x"))
	k.wants(1)
	k.send(request(2, 0, "complete", "/x"))
	k.wants(2)
	if h := hit(t, ctx, rule); h.Path != "/x" || h.ID != 1 {
		t.Errorf("%+v", h.Call)
	}
	if got := n.did(); !slices.Equal(got, []string{"complete /x"}) {
		t.Errorf("executed %q", got)
	}
}

// TestAForgottenCall: it comes late under another client's id, and is the same call else.
func TestAForgottenCall(t *testing.T) {
	p, n, ctx := start(t)
	rule := p.On(Match{Method: "delete"}, HoldAndCut)
	k := dial(t, p)
	k.send(request(1, 0, "delete", "/x"))
	h := hit(t, ctx, rule)
	if _, err := h.ReleaseForgotten(ctx); err != nil {
		t.Fatal(err)
	}
	if got := n.did(); !slices.Equal(got, []string{"delete /x"}) {
		t.Errorf("executed %q", got)
	}
	if c, ok := parseCall(h.frame); !ok || c.Client == h.Client || len(c.Client) != 16 || c.ID != h.ID {
		t.Errorf("%+v", c)
	}
}
