//go:build peer

package datanode_test

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"staunch/env"
	"staunch/fs"
	"staunch/fs/hdfs"
	"staunch/fs/hdfs/conf"
	"staunch/fs/hdfs/datanode"
	"staunch/test/peer"
)

// rig is the run's HDFS, with files on three nodes in blocks of 4 MiB, and a folder of the test's own.
type rig struct {
	*peer.HDFS
	client *hdfs.Client
	dir    string
}

func newRig(t *testing.T) *rig { return newRigWith(t, datanode.Options{}) }

func newRigWith(t *testing.T, o datanode.Options) *rig {
	o.Silence = 3 * time.Second
	h := peer.NewHDFS(t)
	k, err := conf.Load(h.Conf(map[string]string{"dfs.replication": "3", "dfs.blocksize": "4194304"}), os.Getenv)
	must(t, "configuration", err)
	cluster, err := k.Cluster("testbed")
	must(t, "cluster", err)
	r := &rig{HDFS: h, client: hdfs.New(cluster, hdfs.Options{Data: o})}
	t.Cleanup(r.client.Close)
	r.dir = "/fs-hdfs-datanode-" + env.RandomHex(&env.Real{}, 6)
	must(t, "mkdir", r.client.MkdirAll(r.dir))
	return r
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	rng := rand.NewChaCha8(key)
	rng.Read(b)
	return b
}

// write makes a file durable and calls at when the given offset was handed over.
func (r *rig) write(t *testing.T, path string, data []byte, offset int, at func()) {
	t.Helper()
	f, err := r.client.Create(path)
	must(t, "create", err)
	for done := 0; done < len(data); {
		n := min(50_000, len(data)-done)
		if done <= offset && offset < done+n {
			at()
		}
		_, err := f.Write(data[done : done+n])
		must(t, "write", err)
		done += n
	}
	if offset >= len(data) {
		at()
	}
	must(t, "sync", f.Sync())
	must(t, "close", f.Close())
}

// check reads a file back.
func (r *rig) check(t *testing.T, path string, data []byte) {
	t.Helper()
	got, err := fs.ReadFile(r.client, path)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s: %d bytes of %d, %v", path, len(got), len(data), err)
	}
}

// TestJavaReads: Hadoop's own client finds the same bytes, over block ends and in each kind of checksum.
func TestJavaReads(t *testing.T) {
	r := newRig(t)
	data := noise(1, 9_000_001)
	r.write(t, r.dir+"/a", data, 0, func() {})
	out := r.Shell("-checksum", r.dir+"/a")
	if !strings.Contains(out, "CRC32C") {
		t.Errorf("checksum: %s", out)
	}
	local := t.TempDir() + "/a"
	r.Shell("-get", "-crc", r.dir+"/a", local)
	got, err := os.ReadFile(local)
	must(t, "read", err)
	want, sum := md5.Sum(data), md5.Sum(got)
	if want != sum {
		t.Errorf("Java read %d bytes with MD5 %s", len(got), hex.EncodeToString(sum[:]))
	}
	// and the other way round
	r.Shell("-put", local, r.dir+"/b")
	r.check(t, r.dir+"/b", data)
}

// TestDataNodeLost kills and stops each of the three nodes in the middle of a block. Not a byte is lost or doubled, and the file is there at once.
func TestDataNodeLost(t *testing.T) {
	for _, signal := range []string{"KILL", "STOP"} {
		for i, node := range []string{"dn1", "dn2", "dn3"} {
			t.Run(signal+"-"+node, func(t *testing.T) {
				r := newRig(t) // its end brings the node back
				data := noise(uint64(i), 14_000_000)
				start := time.Now()
				r.write(t, r.dir+"/a", data, 6_000_000, func() { r.Kill(node, signal) })
				t.Logf("%v", time.Since(start))
				r.check(t, r.dir+"/a", data)
				start = time.Now()
				r.write(t, r.dir+"/b", data, 0, func() {}) // the NameNode still believes in the node, the client does not
				t.Logf("the next file: %v", time.Since(start))
				r.check(t, r.dir+"/b", data)
			})
		}
	}
}

// TestTwoDataNodesLost leaves one of three.
func TestTwoDataNodesLost(t *testing.T) {
	r := newRig(t)
	data := noise(5, 14_000_000)
	r.write(t, r.dir+"/a", data, 6_000_000, func() {
		r.Kill("dn1", "KILL")
		r.Kill("dn3", "STOP")
	})
	r.check(t, r.dir+"/a", data)
}

// TestBothLost kills a DataNode and the active NameNode, which the recovery needs, together.
func TestBothLost(t *testing.T) {
	r := newRig(t)
	data := noise(30, 14_000_000)
	killed := make(chan string)
	r.write(t, r.dir+"/a", data, 6_000_000, func() {
		go func() { killed <- r.KillActive() }()
		r.Kill("dn1", "KILL")
	})
	<-killed
	r.check(t, r.dir+"/a", data)
}

// TestDataNodeLostAtTheEnd kills a node about when a block is being finished (TestCutConnections meets that moment exactly).
func TestDataNodeLostAtTheEnd(t *testing.T) {
	r := newRig(t)
	for i := range 3 {
		data := noise(uint64(100+i), 100_000)
		node := fmt.Sprint("dn", 1+i%3)
		killed := make(chan struct{})
		path := fmt.Sprintf("%s/%d", r.dir, i)
		r.write(t, path, data, len(data), func() {
			go func() { r.Kill(node, "KILL"); close(killed) }()
		})
		<-killed
		r.check(t, path, data)
		r.Restart(node)
	}
}

// TestReadThroughLosses reads a file whose nodes are stopped and killed meanwhile, all but one.
func TestReadThroughLosses(t *testing.T) {
	r := newRig(t)
	data := noise(11, 12_000_000)
	r.write(t, r.dir+"/a", data, 0, func() {})
	r.Shell("-setrep", "-w", "3", r.dir+"/a") // a node that was slow left the pipeline: its replica comes behind the close
	f, err := r.client.Open(r.dir + "/a")
	must(t, "open", err)
	got := make([]byte, len(data))
	half := got[:len(got)/2]
	_, err = io.ReadFull(f, half)
	must(t, "read", err)
	r.Kill("dn1", "STOP")
	r.Kill("dn2", "KILL")
	_, err = io.ReadFull(f, got[len(half):])
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("read: %v, equal %t", err, bytes.Equal(got, data))
	}
	tail := make([]byte, 1000)
	if _, err := f.ReadAt(tail, int64(len(data)-len(tail))); err != nil || !bytes.Equal(tail, data[len(data)-len(tail):]) {
		t.Errorf("ReadAt: %v", err)
	}
	must(t, "close", f.Close())
}

// TestReadDamaged flips a bit in the replicas of two nodes, on their disks. The third has the bytes; without it the reader says what is wrong.
func TestReadDamaged(t *testing.T) {
	r := newRig(t)
	data := noise(rand.Uint64(), 1_234_567)
	r.write(t, r.dir+"/a", data, 0, func() {})
	r.Shell("-setrep", "-w", "3", r.dir+"/a") // the NameNode knows all of them
	replicas := r.replicas(t, data)
	if len(replicas) != 3 {
		t.Fatalf("replicas: %v", replicas)
	}
	for i, path := range replicas {
		b, err := os.ReadFile(path)
		must(t, "read", err)
		b[700_000] ^= 4
		must(t, "damage", os.WriteFile(path, b, 0o644))
		if i < 2 {
			r.check(t, r.dir+"/a", data)
		}
	}
	got, err := fs.ReadFile(r.client, r.dir+"/a")
	if err == nil || len(got) > 700_000 || !bytes.Equal(got, data[:len(got)]) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%d bytes of damaged replicas, %v", len(got), err)
	}
}

// replicas gives the files on the nodes' disks that are a block with these bytes.
func (r *rig) replicas(t *testing.T, data []byte) (list []string) {
	t.Helper()
	root := filepath.Join(os.Getenv("TESTBED_RUN"), "hdfs-"+os.Getenv("HDFS_PORT"))
	must(t, "walk", filepath.WalkDir(root, func(path string, d iofs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "blk_") {
			return nil // what is not there any more is no replica
		}
		if i, err := d.Info(); err == nil && i.Size() == int64(len(data)) {
			if b, err := os.ReadFile(path); err == nil && bytes.Equal(b, data) {
				list = append(list, path)
			}
		}
		return nil
	}))
	return list
}

// TestRollingRestart ends one node after the other in good order while one file is written.
func TestRollingRestart(t *testing.T) {
	r := newRig(t)
	f, err := r.client.Create(r.dir + "/a")
	must(t, "create", err)
	data := noise(9, 30_000_000)
	nodes := []string{"dn1", "dn2", "dn3"}
	for done := 0; done < len(data); {
		n := min(100_000, len(data)-done)
		_, err := f.Write(data[done : done+n])
		must(t, "write", err)
		if done += n; done%8_000_000 == 0 && len(nodes) > 0 {
			r.Kill(nodes[0], "TERM")
			r.Restart(nodes[0])
			nodes = slices.Delete(nodes, 0, 1)
		}
	}
	must(t, "sync", f.Sync())
	must(t, "close", f.Close())
	r.check(t, r.dir+"/a", data)
}

// cutter cuts connections to DataNodes in the middle of what is written. It keeps to one connection at a time.
type cutter struct {
	mu sync.Mutex
	// packets is how many go through before the cut; negative: none is to come. last: count only packets that end a block.
	packets int
	last    bool
	// deliver lets the packet of the cut go through.
	deliver bool
	cuts    int
}

func (c *cutter) dial(addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, c: c}, nil
}

type cutConn struct {
	net.Conn
	c      *cutter
	writes int
	deaf   atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	c.writes++
	if c.writes == 1 || len(b) < 25 { // an operation, or the end of reading
		return c.Conn.Write(b)
	}
	const lastFlag = 6 + 9 + 9 + 1 // behind lengths, offset and number
	c.c.mu.Lock()
	if !c.c.last || b[lastFlag] == 1 {
		c.c.packets--
	}
	cut := c.c.packets == -1
	deliver := c.c.deliver
	if cut {
		c.c.cuts++
	}
	c.c.mu.Unlock()
	if !cut {
		return c.Conn.Write(b)
	}
	if deliver {
		c.deaf.Store(true) // all of it arrives, but the answer does not
		return c.Conn.Write(b)
	}
	c.Conn.Close()
	return 0, net.ErrClosed
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.deaf.Load() {
		c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// TestCutConnections: connections break where it is worst, all nodes live: before and after a packet in the middle, and the one that ends a block.
func TestCutConnections(t *testing.T) {
	c := &cutter{}
	r := newRigWith(t, datanode.Options{Dial: c.dial})
	data := noise(77, 5_000_000)
	for i := range 24 {
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		c.mu.Lock()
		c.last, c.deliver, c.cuts = i%2 == 0, i/2%2 == 0, 0
		c.packets = rng.IntN(70)
		if c.last {
			c.packets = rng.IntN(2)
		}
		c.mu.Unlock()
		path := fmt.Sprintf("%s/%d", r.dir, i)
		r.write(t, path, data, 0, func() {})
		if c.cuts != 1 {
			t.Errorf("%d cuts", c.cuts)
		}
		r.check(t, path, data)
	}
}

// TestAllDataNodesLost: a writer without a node says so and ends. It stands last: behind it the NameNode needs a while to place three replicas again.
func TestAllDataNodesLost(t *testing.T) {
	r := newRig(t)
	f, err := r.client.Create(r.dir + "/a")
	must(t, "create", err)
	data := noise(7, 1_000_000)
	_, err = f.Write(data)
	must(t, "write", err)
	for _, n := range []string{"dn1", "dn2", "dn3"} {
		r.Kill(n, "KILL")
	}
	for range 100 {
		if _, err = f.Write(data); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil || !strings.Contains(err.Error(), fs.ErrUnavailable.Error()) {
		t.Error(err)
	}
	if again := f.Close(); again == nil {
		t.Error("closed")
	}
}
