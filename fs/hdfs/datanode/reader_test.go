package datanode

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"staunch/fault"
	"staunch/fs"
)

// written makes a file of data in c.
func written(t *testing.T, c *cluster, data []byte, opt Options) {
	t.Helper()
	w := newWriter(t, c, opt)
	_, err := w.Write(data)
	must(t, "write", err)
	must(t, "close", w.Close())
}

func newReader(t *testing.T, c Locator, opt Options) *Reader {
	t.Helper()
	r, err := NewReader(c, "/f", opt)
	must(t, "open", err)
	return r
}

func TestReadEverywhere(t *testing.T) {
	for seed := range uint64(30) {
		inCluster(t, 3, func(t *testing.T, c *cluster) {
			rng := rand.New(rand.NewPCG(seed, 3))
			opt := c.options()
			opt.ChunkSize = 1 + rng.IntN(1000)
			opt.BlockSize = uint64(opt.ChunkSize) * (1 + rng.Uint64N(100))
			opt.Checksum = Checksum(1 + rng.IntN(2))
			opt.NoChecksum = rng.IntN(4) == 0
			data := bytesOf(seed, rng.IntN(100_000))
			written(t, c, data, opt)
			r := newReader(t, c, c.options())
			if r.Size() != int64(len(data)) {
				t.Errorf("size %d of %d", r.Size(), len(data))
			}
			for range 30 {
				off := rng.IntN(len(data) + 10)
				p := make([]byte, rng.IntN(5000))
				n, err := r.ReadAt(p, int64(off))
				want := data[min(off, len(data)):min(off+len(p), len(data))]
				if !bytes.Equal(p[:n], want) || (err == io.EOF) != (n < len(p) || off >= len(data)) || err != nil && err != io.EOF {
					t.Fatalf("seed %d: ReadAt(%d, %d): %d, %v", seed, len(p), off, n, err)
				}
			}
			var got []byte
			for {
				p := make([]byte, 1+rng.IntN(3000))
				n, err := r.Read(p)
				got = append(got, p[:n]...)
				if err == io.EOF {
					break
				}
				must(t, "read", err)
			}
			if !bytes.Equal(got, data) {
				t.Errorf("seed %d: read %d bytes of %d", seed, len(got), len(data))
			}
			must(t, "close", r.Close())
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, errClosed) {
				t.Error(err)
			}
			if _, err := r.ReadAt(make([]byte, 1), 0); !errors.Is(err, errClosed) {
				t.Error(err)
			}
		})
	}
}

// TestReadExchanges: a stream needs one connection a block, ReadAt one a call.
func TestReadExchanges(t *testing.T) {
	inCluster(t, 1, func(t *testing.T, c *cluster) {
		opt := c.options()
		opt.BlockSize = 1 << 20
		written(t, c, bytesOf(1, 2<<20), opt)
		r := newReader(t, c, c.options())
		p := make([]byte, 100)
		for {
			if _, err := r.Read(p); err == io.EOF {
				break
			}
		}
		if n := c.nodes[0].reads; n != 2 {
			t.Errorf("a stream over 2 blocks took %d connections", n)
		}
		_, err := r.ReadAt(p, 2<<20-100)
		must(t, "ReadAt", err)
		if n := c.nodes[0].reads; n != 3 {
			t.Errorf("ReadAt took %d connections", n-2)
		}
		must(t, "close", r.Close())
	})
}

// TestReadAnotherReplica: whatever one or two of three nodes do, the third has the bytes.
func TestReadAnotherReplica(t *testing.T) {
	troubles := map[string]func(n *fakeNode){
		"dead":    func(n *fakeNode) { n.die() },
		"stopped": func(n *fakeNode) { n.stopped = true },
		"damage":  func(n *fakeNode) { n.damage = true },
		"short":   func(n *fakeNode) { n.short = true },
		"missing": func(n *fakeNode) { clear(n.replicas) },
		"dies in the middle": func(n *fakeNode) {
			n.trouble = func(e event) string {
				if e.what == "read" && e.offset > 10_000 {
					return "die"
				}
				return ""
			}
		},
		"stops in the middle": func(n *fakeNode) {
			n.trouble = func(e event) string {
				if e.what == "read" && e.offset > 10_000 {
					return "stop"
				}
				return ""
			}
		},
	}
	for name, trouble := range troubles {
		for _, two := range []bool{false, true} {
			inCluster(t, 3, func(t *testing.T, c *cluster) {
				data := bytesOf(7, 50_000)
				written(t, c, data, c.options())
				trouble(c.nodes[1])
				if two {
					trouble(c.nodes[2])
				}
				start := time.Now()
				for range 3 {
					r := newReader(t, c, c.options())
					got, err := io.ReadAll(r)
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("%s: %d bytes, %v", name, len(got), err)
					}
					p := make([]byte, 30_000)
					if n, err := r.ReadAt(p, 1000); n != len(p) || err != nil || !bytes.Equal(p, data[1000:31_000]) {
						t.Errorf("%s: ReadAt: %d, %v", name, n, err)
					}
					must(t, "close", r.Close())
				}
				if took := time.Since(start); took > 2*time.Minute {
					t.Errorf("%s: took %v", name, took)
				}
			})
		}
	}
}

func TestReadNoReplica(t *testing.T) {
	inCluster(t, 2, func(t *testing.T, c *cluster) {
		data := bytesOf(7, 50_000)
		written(t, c, data, c.options())
		c.nodes[0].damage, c.nodes[1].damage = true, true
		r := newReader(t, c, c.options())
		_, err := r.ReadAt(make([]byte, 10), 0)
		if err == nil || errors.Is(err, fs.ErrUnavailable) || !errors.Is(err, errChecksum) || !strings.Contains(err.Error(), "every replica is damaged") ||
			!strings.Contains(err.Error(), "/f") {
			t.Errorf("damage on all: %v", err)
		}
		c.nodes[0].die()
		c.nodes[1].die()
		_, err = r.Read(make([]byte, 10))
		if !errors.Is(err, fs.ErrUnavailable) || !strings.Contains(err.Error(), "10.0.0.1:9866") || !strings.Contains(err.Error(), "10.0.0.2:9866") {
			t.Errorf("all dead: %v", err)
		}
		c.mu.Lock()
		c.blocks[0].Nodes = nil
		c.mu.Unlock()
		if _, err = newReader(t, c, c.options()).Read(make([]byte, 10)); !errors.Is(err, fs.ErrUnavailable) {
			t.Errorf("no node: %v", err)
		}
		must(t, "close", r.Close())
	})
}

// TestReadMoved: the NameNode's newer answer is used when all nodes of the first one fail.
func TestReadMoved(t *testing.T) {
	inCluster(t, 2, func(t *testing.T, c *cluster) {
		data := bytesOf(7, 5000)
		c.replication = 1
		written(t, c, data, c.options())
		r := newReader(t, c, c.options())
		old := c.blocks[0].Nodes[0]
		var from, to *fakeNode
		for _, n := range c.nodes {
			if n.UUID == old.UUID {
				from = n
			} else {
				to = n
			}
		}
		to.replicas = from.replicas
		from.die()
		c.mu.Lock()
		c.blocks[0].Nodes = []Node{to.Node}
		c.mu.Unlock()
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		must(t, "close", r.Close())
	})
}

// TestReadOtherFile: a file that was replaced under the same name is not mixed with the one that was opened.
func TestReadOtherFile(t *testing.T) {
	inCluster(t, 1, func(t *testing.T, c *cluster) {
		written(t, c, bytesOf(7, 5000), c.options())
		r := newReader(t, c, c.options())
		c.mu.Lock()
		id := c.blocks[0].Block.ID
		c.blocks[0].Block.ID++
		c.nodes[0].replicas = map[uint64]*fakeReplica{id + 1: c.nodes[0].replicas[id]}
		c.mu.Unlock()
		if got, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "not the one that was opened") {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		must(t, "close", r.Close())
	})
}

func TestReadWhileWritten(t *testing.T) {
	inCluster(t, 1, func(t *testing.T, c *cluster) {
		w := newWriter(t, c, c.options())
		_, err := w.Write([]byte("0123456789"))
		must(t, "write", err)
		must(t, "flush", w.Flush())
		open := locator(func() (File, error) {
			f, err := c.Locate()
			last := f.Blocks[0]
			last.Block.Length = 7 // what the NameNode was told
			return File{UnderConstruction: true, Last: &last}, err
		})
		got, err := io.ReadAll(newReader(t, open, c.options()))
		if err != nil || string(got) != "0123456" {
			t.Errorf("%q, %v", got, err)
		}
		must(t, "close", w.Close())
	})
}

type locator func() (File, error)

func (l locator) Locate() (File, error) { return l() }

func TestReadRefused(t *testing.T) {
	for _, f := range []File{{Encrypted: true}, {Erasure: true}} {
		if _, err := NewReader(locator(func() (File, error) { return f, nil }), "/f", Options{Client: "c"}); fault.ClassOf(err) != fault.User {
			t.Errorf("%+v: %v", f, err)
		}
	}
	gap := File{Blocks: []Located{{Block: Block{Pool: "p", ID: 1, Length: 5}}, {Offset: 6, Block: Block{Pool: "p", ID: 2}}}, LastComplete: true}
	if _, err := NewReader(locator(func() (File, error) { return gap, nil }), "/f", Options{Client: "c"}); err == nil {
		t.Error("a gap between blocks was taken")
	}
}

func TestReadConcurrently(t *testing.T) {
	inCluster(t, 3, func(t *testing.T, c *cluster) {
		opt := c.options()
		opt.BlockSize = 51_200
		data := bytesOf(9, 500_000)
		written(t, c, data, opt)
		c.nodes[0].die()
		r := newReader(t, c, c.options())
		var wg sync.WaitGroup
		for g := range uint64(8) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(g, 1))
				for range 20 {
					off := rng.IntN(len(data) - 1000)
					p := make([]byte, 1000)
					if _, err := r.ReadAt(p, int64(off)); err != nil || !bytes.Equal(p, data[off:off+1000]) {
						t.Error(err)
					}
				}
			})
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		wg.Wait()
		must(t, "close", r.Close())
	})
}
