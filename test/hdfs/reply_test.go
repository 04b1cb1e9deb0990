//go:build peer

package hdfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"staunch/fs/hdfs"
	"staunch/test/peer/nnproxy"
)

// text is reproducible bytes that do not repeat.
func text(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// write makes a file of this content, in pieces, durable in the middle.
func write(c *hdfs.Client, p, content string) error {
	f, err := c.Create(p)
	if err != nil {
		return err
	}
	half := len(content) / 2
	_, err = f.Write([]byte(content[:half]))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.Write([]byte(content[half:]))
	}
	return errors.Join(err, f.Close())
}

// mutation is a call that changes something, what a client does to make it, and what must be there afterwards.
type mutation struct {
	method string
	dial   func() dial // how DataNodes are reached
	before func(c *hdfs.Client, dir string) error
	do     func(c *hdfs.Client, dir string) error
	after  map[string]string
}

// long is more than two blocks of the test's size.
var long = text(200_000, 7)

const blockSize = 64 << 10

func mutations() []mutation {
	file := func(c *hdfs.Client, dir string) error { return write(c, dir+"/f", long) }
	one := map[string]string{"/f": long}
	small := func(c *hdfs.Client, dir string) error { return write(c, dir+"/a", "small") }
	return []mutation{
		{method: "mkdirs", do: func(c *hdfs.Client, dir string) error { return c.MkdirAll(dir + "/x/y") }, after: map[string]string{"/x": "/", "/x/y": "/"}},
		{method: "create", do: file, after: one},
		{method: "addBlock", do: file, after: one},
		{method: "complete", do: file, after: one},
		{method: "rename2", before: small, do: func(c *hdfs.Client, dir string) error { return c.Rename(dir+"/a", dir+"/b") }, after: map[string]string{"/b": "small"}},
		{method: "delete", before: small, do: func(c *hdfs.Client, dir string) error { return c.Delete(dir + "/a") }, after: map[string]string{}},
		{method: "abandonBlock", dial: refused, do: file, after: one},
		{method: "updateBlockForPipeline", dial: breaks, do: file, after: one},
		{method: "updatePipeline", dial: breaks, do: file, after: one},
		{method: "recoverLease", before: orphan, do: recovered, after: map[string]string{"/left": "of a dead writer"}},
	}
}

// broken is a connection that breaks after so many bytes were sent, unless another one has used up the fault.
type broken struct {
	net.Conn
	left int
	used *atomic.Bool
}

// Write implements net.Conn.
func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 && !b.used.Swap(true) {
		return 0, errors.Join(errors.New("the connection broke"), b.Close())
	}
	return b.Conn.Write(p)
}

type dial = func(addr string, timeout time.Duration) (net.Conn, error)

// refused is that the first connection to a DataNode is.
func refused() dial {
	var done atomic.Bool
	return func(addr string, timeout time.Duration) (net.Conn, error) {
		if !done.Swap(true) {
			return nil, errors.New("no way to this DataNode")
		}
		return net.DialTimeout("tcp", addr, timeout)
	}
}

// breaks is that the first connection over which a lot of bytes go breaks in the middle.
func breaks() dial {
	used := new(atomic.Bool)
	return func(addr string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout("tcp", addr, timeout)
		if err != nil {
			return nil, err
		}
		return &broken{c, 40_000, used}, nil
	}
}

// orphan leaves a file open, as a process that dies does.
func orphan(c *hdfs.Client, dir string) error {
	f, err := c.Create(dir + "/left")
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte("of a dead writer")); err != nil {
		return err
	}
	if err := f.(interface{ Flush() error }).Flush(); err != nil {
		return err
	}
	f.(interface{ Abort() }).Abort()
	return nil
}

// recovered closes the file that orphan left; the NameNode says when that is done.
func recovered(c *hdfs.Client, dir string) error {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if closed, err := c.RecoverLease(dir + "/left"); closed || err != nil {
			return err
		}
	}
	return errors.New("the lease is not recovered")
}

// actions are what happens to the first call of a kind: executed and its reply lost; never executed; arriving late, after the client's next try
// had success; and so late that the NameNode has forgotten that it carried the call out, and does so again.
var actions = map[string]nnproxy.Action{"reply lost": nnproxy.ForwardAndCut, "request lost": nnproxy.Cut, "request late": nnproxy.HoldAndCut,
	forgotten: nnproxy.HoldAndCut}

const forgotten = "request late and forgotten"

// release lets a held request through.
func release(ctx context.Context, name string, h *nnproxy.Hit) (nnproxy.Reply, error) {
	if name == forgotten {
		return h.ReleaseForgotten(ctx)
	}
	return h.Release(ctx)
}

// TestMutations: whatever happens to a mutating call's first try, the client gets its answer by a second one under the same client and call id,
// and the state is as promised, once.
func TestMutations(t *testing.T) {
	root, all := folder(t), newPair(t)
	for _, m := range mutations() {
		for _, name := range slices.Sorted(maps.Keys(actions)) {
			t.Run(m.method+" "+name, func(t *testing.T) {
				p := all.in(t)
				opt := hdfs.Options{}
				if opt.Data.BlockSize = blockSize; m.dial != nil {
					opt.Data.Dial = m.dial()
				}
				c, other := p.client(opt), p.client(hdfs.Options{})
				dir := fmt.Sprintf("%s/%s-%s", root, m.method, strings.ReplaceAll(name, " ", "-"))
				err := other.MkdirAll(dir)
				if err == nil && m.before != nil {
					err = m.before(other, dir)
				}
				if err != nil {
					t.Fatal(err)
				}
				rule := p.active().On(nnproxy.Match{Method: m.method}, actions[name])
				if err := m.do(c, dir); err != nil {
					t.Fatal(err)
				}
				hit, err := rule.Next(deadline(t))
				if err != nil {
					t.Fatal(err)
				}
				again := false
				for _, x := range p.calls(m.method) {
					again = again || x.Client == hit.Client && x.ID == hit.ID && x.Retry > hit.Retry
				}
				if !again {
					t.Errorf("no second try of call %d was seen: %v", hit.ID, p.calls(m.method))
				}
				p.holds(dir, m.after)
				if actions[name] == nnproxy.HoldAndCut {
					r, err := release(deadline(t), name, hit)
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("the late request failed: %v", r.Failed)
					p.holds(dir, m.after)
				}
			})
		}
	}
}

// holds wants exactly this below a folder.
func (p *pair) holds(dir string, want map[string]string) {
	p.t.Helper()
	got := tree(p.t, p.HDFS, dir)
	for name, content := range want {
		have, ok := got[dir+name]
		delete(got, dir+name)
		if !ok {
			p.t.Errorf("%s is missing", name)
		} else if have != content {
			p.t.Errorf("%s: %d bytes of another content than the %d wanted", name, len(have), len(content))
		}
	}
	for name, content := range got {
		p.t.Errorf("%s is too many (%d bytes)", name, len(content))
	}
}
