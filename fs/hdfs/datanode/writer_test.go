package datanode

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"staunch/fault"
	"staunch/fs"
)

// bytesOf gives n bytes of a seed.
func bytesOf(seed uint64, n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	rng.Read(b)
	return b
}

// inCluster runs a test in a world of its own, with its own time.
func inCluster(t *testing.T, n int, run func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(n)
		defer c.end()
		run(t, c)
	})
}

func newWriter(t *testing.T, c *cluster, opt Options) *Writer {
	t.Helper()
	w, err := NewWriter(c, "/f", opt)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestWriteSizes(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, 65535, 65536, 65537, 131072, 200000} {
		for _, o := range []Options{{}, {BlockSize: 65536}, {BlockSize: 1024, ChunkSize: 512}, {Checksum: ChecksumCRC32}, {NoChecksum: true},
			{ChunkSize: 100, BlockSize: 70000}, {ChunkSize: 100_000, BlockSize: 100_000}} {
			inCluster(t, 3, func(t *testing.T, c *cluster) {
				c.notReplicated = 3
				opt := c.options()
				opt.BlockSize, opt.ChunkSize, opt.Checksum, opt.NoChecksum = o.BlockSize, o.ChunkSize, o.Checksum, o.NoChecksum
				w := newWriter(t, c, opt)
				data := bytesOf(uint64(size), size)
				for left := data; len(left) > 0; {
					n := min(len(left), 10_000)
					if k, err := w.Write(left[:n]); k != n || err != nil {
						t.Fatal(k, err)
					}
					left = left[n:]
				}
				must(t, "sync", w.Sync())
				if got, err := c.content(); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %+v: after Sync %d bytes, %v", size, o, len(got), err)
				}
				must(t, "close", w.Close())
				if !c.completed || w.Memory() != 0 || c.recoveries != 0 {
					t.Error(c.completed, w.Memory(), c.recoveries)
				}
				if want := o.BlockSize; want > 0 && len(c.blocks) != (size+int(want)-1)/int(want) {
					t.Errorf("%d blocks of %d for %d bytes", len(c.blocks), want, size)
				}
				if _, err := w.Write([]byte("x")); err == nil {
					t.Error("write after close")
				}
				must(t, "close again", w.Close())
			})
		}
	}
}

// TestFlushEverywhere: after each Flush all nodes have all bytes, though chunks are sent in parts.
func TestFlushEverywhere(t *testing.T) {
	for seed := range uint64(40) {
		inCluster(t, 3, func(t *testing.T, c *cluster) {
			rng := rand.New(rand.NewPCG(seed, 1))
			opt := c.options()
			opt.BlockSize = 512 * (1 + rng.Uint64N(300))
			w := newWriter(t, c, opt)
			data := bytesOf(seed, 1+rng.IntN(150_000))
			for done := 0; done < len(data); {
				n := min(1+rng.IntN(3000), len(data)-done)
				if k, err := w.Write(data[done : done+n]); k != n || err != nil {
					t.Fatal(k, err)
				}
				done += n
				if rng.IntN(3) == 0 {
					must(t, "flush", w.Flush())
					for _, n := range c.nodes {
						have := 0
						for _, b := range c.blocks {
							have += len(n.replicas[b.Block.ID].data)
						}
						if have != done {
							t.Fatalf("seed %d: %s has %d of %d bytes after Flush", seed, n.Host, have, done)
						}
					}
				}
			}
			must(t, "close", w.Close())
			if got, err := c.content(); err != nil || !bytes.Equal(got, data) {
				t.Errorf("seed %d: %d bytes of %d, %v", seed, len(got), len(data), err)
			}
		})
	}
}

// mishap is one planned trouble.
type mishap struct {
	node, countdown int
	what, kind      string
}

// plant lets the mishaps happen. Each happens once.
func plant(c *cluster, list []mishap) (happened func() int) {
	count := 0
	for i, n := range c.nodes {
		n.trouble = func(e event) string {
			for k := range list {
				m := &list[k]
				if m.node != i || m.what != e.what || m.countdown < 0 {
					continue
				}
				m.countdown--
				if m.countdown < 0 {
					count++
					return m.kind
				}
			}
			return ""
		}
	}
	return func() int { return count }
}

// TestRecovery lets up to two of three nodes fail, anywhere and in any way, and wants a file that is whole and durable on those that are left.
func TestRecovery(t *testing.T) {
	seeds := uint64(500)
	if testing.Short() {
		seeds = 200
	}
	met := map[string]int{}
	recovered := 0
	for seed := range seeds {
		inCluster(t, 3, func(t *testing.T, c *cluster) {
			rng := rand.New(rand.NewPCG(seed, 2))
			whats := []string{"setup", "packet", "written", "acknowledge", "finished"}
			kinds := []string{"die", "stop", "cut", "error"}
			list := []mishap{}
			for _, node := range rng.Perm(3)[:1+rng.IntN(2)] {
				m := mishap{node: node, countdown: rng.IntN(12), what: whats[rng.IntN(len(whats))], kind: kinds[rng.IntN(len(kinds))]}
				if m.what == "setup" || m.what == "finished" {
					m.countdown = rng.IntN(3)
				}
				list = append(list, m)
			}
			plan := fmt.Sprint(list)
			happened := plant(c, list)
			opt := c.options()
			opt.BlockSize = 512 * (1 + rng.Uint64N(500))
			opt.Window = 1 + rng.IntN(16)
			w := newWriter(t, c, opt)
			data := bytesOf(seed, rng.IntN(500_000))
			start := time.Now()
			for done := 0; done < len(data); {
				n := min(1+rng.IntN(100_000), len(data)-done)
				k, err := w.Write(data[done : done+n])
				if err != nil || k != n {
					t.Fatalf("seed %d %s: %v", seed, plan, err)
				}
				done += n
				if rng.IntN(5) == 0 {
					if err := w.Flush(); err != nil {
						t.Fatalf("seed %d %s: flush: %v", seed, plan, err)
					}
				}
			}
			if err := w.Sync(); err != nil {
				t.Fatalf("seed %d %s: sync: %v", seed, plan, err)
			}
			if err := w.Close(); err != nil {
				t.Fatalf("seed %d %s: close: %v", seed, plan, err)
			}
			took := time.Since(start)
			if got, err := c.content(); err != nil || !bytes.Equal(got, data) {
				t.Errorf("seed %d %s: %d bytes of %d, %v", seed, plan, len(got), len(data), err)
			}
			if w.Memory() != 0 || took > 3*time.Minute {
				t.Errorf("seed %d %s: holds %d bytes after %v", seed, plan, w.Memory(), took)
			}
			if happened() > 0 {
				recovered += c.recoveries
				for _, m := range list {
					if m.countdown < 0 {
						met[m.what+" "+m.kind]++
					}
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Log(met, recovered)
	for _, what := range []string{"setup", "packet", "written", "acknowledge", "finished"} {
		for _, kind := range []string{"die", "stop", "cut", "error"} {
			if kind == "error" && what != "packet" && what != "setup" {
				continue // only there a node can say so
			}
			if met[what+" "+kind] == 0 && !testing.Short() {
				t.Errorf("no seed met %s %s", what, kind)
			}
		}
	}
}

// TestLastNode: without a node that is left the writer fails for good, says so, and gives all back.
func TestLastNode(t *testing.T) {
	for _, kind := range []string{"die", "stop", "cut", "error"} {
		inCluster(t, 1, func(t *testing.T, c *cluster) {
			plant(c, []mishap{{node: 0, what: "packet", countdown: 3, kind: kind}})
			w := newWriter(t, c, c.options())
			var err error
			for i := 0; i < 100 && err == nil; i++ {
				_, err = w.Write(make([]byte, 10_000))
			}
			if err == nil {
				err = w.Sync()
			}
			if !errors.Is(err, fs.ErrUnavailable) || !strings.Contains(err.Error(), "/f") || !strings.Contains(err.Error(), "10.0.0.1:9866") {
				t.Fatalf("%s: %v", kind, err)
			}
			if again := w.Sync(); again != err {
				t.Errorf("sync says %v", again)
			}
			if again := w.Close(); again != err || c.completed || w.Memory() != 0 {
				t.Errorf("close says %v", again)
			}
		})
	}
}

func TestSilenceIsFound(t *testing.T) {
	inCluster(t, 3, func(t *testing.T, c *cluster) {
		last := c.nodes[2]
		plant(c, []mishap{{node: 2, what: "packet", countdown: 2, kind: "stop"}})
		w := newWriter(t, c, c.options())
		start := time.Now()
		for range 50 {
			_, err := w.Write(make([]byte, 10_000))
			must(t, "write", err)
		}
		must(t, "sync", w.Sync())
		if took := time.Since(start); took > 40*time.Second {
			t.Errorf("a stopped node cost %v", took)
		}
		if b := c.blocks[0]; len(b.Nodes) != 2 || slices.ContainsFunc(b.Nodes, func(n Node) bool { return n.UUID == last.UUID }) {
			t.Errorf("the pipeline is %v", b.Nodes)
		}
		must(t, "close", w.Close())
	})
}

// TestSuspects: what one file found out about a silent node saves the others' time, for a minute; after it the node may be back.
func TestSuspects(t *testing.T) {
	inCluster(t, 3, func(t *testing.T, c *cluster) {
		opt := c.options()
		opt.Suspects = &Suspects{}
		write := func() time.Duration {
			t.Helper()
			c.blocks, c.completed = nil, false
			start := time.Now()
			w := newWriter(t, c, opt)
			_, err := w.Write([]byte("x"))
			must(t, "write", err)
			must(t, "close", w.Close())
			if got, err := c.content(); string(got) != "x" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			return time.Since(start)
		}
		c.nodes[1].stopped = true
		if took := write(); took < 10*time.Second || took > 20*time.Second {
			t.Errorf("the first file took %v", took)
		}
		for range 3 {
			if took := write(); took > time.Second {
				t.Errorf("a later file took %v", took)
			}
		}
		c.nodes[1].stopped = false
		time.Sleep(suspectFor)
		if took := write(); took > time.Second || len(c.blocks[0].Nodes) != 3 {
			t.Errorf("after it is back a file took %v on %d nodes", took, len(c.blocks[0].Nodes))
		}
	})
}

// TestIdle: a writer with nothing to do is not forgotten, and goes on after an hour.
func TestIdle(t *testing.T) {
	inCluster(t, 3, func(t *testing.T, c *cluster) {
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("begin"))
		must(t, "write", err)
		must(t, "flush", w.Flush())
		time.Sleep(time.Hour)
		_, err = w.Write([]byte(" end"))
		must(t, "write", err)
		must(t, "close", w.Close())
		if got, err := c.content(); string(got) != "begin end" || err != nil || c.recoveries != 0 {
			t.Errorf("%q, %v, %d recoveries", got, err, c.recoveries)
		}
		for _, n := range c.nodes {
			if n.beats < 100 {
				t.Errorf("%s got %d heartbeats in an hour", n.Host, n.beats)
			}
		}
	})
}

// TestIdleNodeDies: what happens while nobody writes is noticed, and dealt with at the next call.
func TestIdleNodeDies(t *testing.T) {
	inCluster(t, 2, func(t *testing.T, c *cluster) {
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("begin"))
		must(t, "write", err)
		must(t, "flush", w.Flush())
		c.nodes[1].die()
		time.Sleep(time.Hour)
		_, err = w.Write([]byte(" end"))
		must(t, "write", err)
		must(t, "sync", w.Sync())
		must(t, "close", w.Close())
		if got, err := c.content(); string(got) != "begin end" || err != nil || c.recoveries != 1 {
			t.Errorf("%q, %v, %d recoveries", got, err, c.recoveries)
		}
	})
}

// TestAllNodesAwayAtFirst: a block is tried again until a node is there.
func TestAllNodesAwayAtFirst(t *testing.T) {
	inCluster(t, 2, func(t *testing.T, c *cluster) {
		for _, n := range c.nodes {
			n.die()
		}
		back := time.AfterFunc(20*time.Second, func() {
			for _, n := range c.nodes {
				n.revive()
			}
		})
		defer back.Stop()
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("x"))
		must(t, "write", err)
		must(t, "sync", w.Sync())
		must(t, "close", w.Close())
		if got, err := c.content(); string(got) != "x" || err != nil || c.abandoned == 0 {
			t.Errorf("%q, %v", got, err)
		}
	})
	inCluster(t, 2, func(t *testing.T, c *cluster) {
		for _, n := range c.nodes {
			n.die()
		}
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("x"))
		must(t, "write", err)
		start := time.Now()
		if err := w.Sync(); !errors.Is(err, fs.ErrUnavailable) {
			t.Error(err)
		}
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("gave up after %v", took)
		}
	})
}

// lyingConn says that a write failed whose bytes arrived.
type lyingConn struct {
	net.Conn
	lie func(b []byte) bool
}

func (c lyingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil && c.lie(b) {
		err = syscall.ECONNRESET
	}
	return n, err
}

// TestWriteFailsAfterDelivery: the packet that is said to be lost is acknowledged nevertheless, the last one of a block too.
func TestWriteFailsAfterDelivery(t *testing.T) {
	for lie := range 8 {
		inCluster(t, 2, func(t *testing.T, c *cluster) {
			opt := c.options()
			opt.BlockSize = 200_192
			writes := 0
			opt.Dial = func(addr string, timeout time.Duration) (net.Conn, error) {
				conn, err := c.dial(addr, timeout)
				return lyingConn{conn, func(b []byte) bool { writes++; return writes == lie+1 }}, err
			}
			w := newWriter(t, c, opt)
			data := bytesOf(uint64(lie), 300_000)
			_, err := w.Write(data)
			must(t, "write", err)
			must(t, "sync", w.Sync())
			must(t, "close", w.Close())
			if got, err := c.content(); err != nil || !bytes.Equal(got, data) {
				t.Errorf("lie %d: %d bytes, %v", lie, len(got), err)
			}
		})
	}
}

// TestSecuredCluster: DataNodes that want SASL close the connection; the error says what it may be.
func TestSecuredCluster(t *testing.T) {
	inCluster(t, 1, func(t *testing.T, c *cluster) {
		written(t, c, []byte("x"), c.options())
		deaf := c.options()
		deaf.Dial = func(string, time.Duration) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = far.Read(make([]byte, 1000))
				far.Close()
			}()
			return near, nil
		}
		_, err := newReader(t, c, deaf).Read(make([]byte, 1))
		if err == nil || !strings.Contains(err.Error(), "needs Kerberos, which is not supported yet") {
			t.Error(err)
		}
		c.blocks = nil
		w := newWriter(t, c, deaf)
		_, err = w.Write([]byte("x"))
		must(t, "write", err)
		if err := w.Sync(); err == nil || !strings.Contains(err.Error(), "needs Kerberos, which is not supported yet") {
			t.Error(err)
		}
	})
}

func TestNeverReplicated(t *testing.T) {
	inCluster(t, 1, func(t *testing.T, c *cluster) {
		c.notReplicated = 1 << 30
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("x"))
		must(t, "write", err)
		if err := w.Close(); !errors.Is(err, fs.ErrUnavailable) || !strings.Contains(err.Error(), "may be incomplete") {
			t.Error(err)
		}
	})
}

func TestNameNodeSaysNo(t *testing.T) {
	inCluster(t, 1, func(t *testing.T, c *cluster) {
		c.addErr = fs.ErrNoSpace
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("x"))
		must(t, "write", err)
		if err := w.Sync(); !errors.Is(err, fs.ErrNoSpace) || w.Memory() != 0 {
			t.Error(err, w.Memory())
		}
	})
}

func TestAbort(t *testing.T) {
	inCluster(t, 2, func(t *testing.T, c *cluster) {
		for _, flush := range []bool{false, true} {
			w := newWriter(t, c, c.options())
			_, err := w.Write(make([]byte, 300_000))
			must(t, "write", err)
			if flush {
				must(t, "flush", w.Flush())
			}
			if w.Memory() == 0 {
				t.Error("holds nothing")
			}
			w.Abort()
			w.Abort()
			synctest.Wait()
			if n := len(c.nodes[0].conns) + len(c.nodes[1].conns); n != 0 || w.Memory() != 0 {
				t.Errorf("%d connections and %d bytes are left", n, w.Memory())
			}
			if _, err := w.Write([]byte("x")); !errors.Is(err, errGivenUp) {
				t.Error(err)
			}
			if err := w.Close(); !errors.Is(err, errGivenUp) || c.completed {
				t.Error(err)
			}
			c.blocks = nil
		}
	})
}

// TestWindowIsBounded: however much is written, no more waits than the window and the packet being filled.
func TestWindowIsBounded(t *testing.T) {
	packets = sync.Pool{New: packets.New} // those of other tests have room for other chunks
	inCluster(t, 1, func(t *testing.T, c *cluster) {
		c.nodes[0].trouble = func(e event) string {
			if e.what == "acknowledge" {
				return "mute"
			}
			return ""
		}
		opt := c.options()
		opt.Window = 4
		w := newWriter(t, c, opt)
		most := make(chan int64)
		go func() {
			time.Sleep(30 * time.Second) // nothing was acknowledged
			most <- w.Memory()
		}()
		_, err := w.Write(make([]byte, 2<<20))
		if got := <-most; got < 4*packetSize || got > 5*(packetSize+1024) {
			t.Errorf("holds %d bytes", got)
		}
		if !errors.Is(err, fs.ErrUnavailable) {
			t.Error(err)
		}
	})
}

// TestForgottenWriter: one that nobody ends stops its goroutine and connection when it is collected.
func TestForgottenWriter(t *testing.T) {
	c := newCluster(1)
	defer c.end()
	func() {
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("x"))
		must(t, "write", err)
		must(t, "flush", w.Flush())
	}()
	for late := time.Now().Add(time.Minute); time.Now().Before(late); {
		runtime.GC()
		c.mu.Lock()
		open := len(c.nodes[0].conns)
		c.mu.Unlock()
		if open == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("the connection of a writer that nobody has any more is open")
}

func TestOptionErrors(t *testing.T) {
	for _, o := range []Options{{BlockSize: 1000}, {ChunkSize: -1}, {ChunkSize: 2 << 20}, {ChunkSize: 100}} {
		if _, err := NewWriter(nil, "/f", o); fault.ClassOf(err) != fault.User {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
