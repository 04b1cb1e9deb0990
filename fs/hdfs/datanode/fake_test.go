package datanode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"staunch/fs"
	"staunch/fs/hdfs/wire"
)

// cluster is a NameNode for one file, and DataNodes, in this process. DataNodes follow the rules of Hadoop's where a writer depends on them:
// what a recovery demands of a replica and cuts off it, which packets are skipped, what stands in acknowledgements.
type cluster struct {
	mu    sync.Mutex
	nodes []*fakeNode
	// blocks are the file's, with their nodes, as the NameNode has them.
	blocks []Located
	nextID uint64
	gs     uint64
	// replication is how many nodes a block gets.
	replication int
	// notReplicated is how many times Complete says no.
	notReplicated int
	completed     bool
	addErr        error
	recoveries    int
	abandoned     int
	// over ends what stopped nodes wait for.
	over chan struct{}
	wg   sync.WaitGroup
}

func newCluster(n int) *cluster {
	c := &cluster{replication: n, over: make(chan struct{}), gs: 1000, nextID: 1 << 30}
	for i := range n {
		v := &fakeNode{c: c, at: i, replicas: map[uint64]*fakeReplica{}, conns: map[net.Conn]bool{}}
		v.Node = Node{IP: "10.0.0." + fmt.Sprint(i+1), Host: fmt.Sprintf("dn%d", i+1), Port: 9866, UUID: fmt.Sprint("u", i), StorageID: fmt.Sprint("DS-", i),
			StorageType: Disk}
		id := appendString(appendString(appendString(nil, 1, v.IP), 2, v.Host), 3, v.UUID)
		v.Raw = appendBytes(nil, 1, appendUint(id, 4, uint64(v.Port)))
		c.nodes = append(c.nodes, v)
	}
	return c
}

// end lets everything in the cluster return.
func (c *cluster) end() {
	close(c.over)
	for _, n := range c.nodes {
		n.die()
	}
	c.wg.Wait()
}

func (c *cluster) options() Options {
	return Options{Client: "writer", Dial: c.dial}
}

func (c *cluster) dial(addr string, timeout time.Duration) (net.Conn, error) {
	i := slices.IndexFunc(c.nodes, func(n *fakeNode) bool { return n.Addr() == addr })
	if i < 0 {
		return nil, fmt.Errorf("dial %s: no such node", addr)
	}
	near, far := net.Pipe()
	n := c.nodes[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.dead {
		return nil, syscall.ECONNREFUSED
	}
	n.conns[far] = true
	c.wg.Go(func() { n.serve(far) })
	return near, nil
}

var errNoNodes = fmt.Errorf("could only be written to 0 of the 1 minReplication nodes: %w", fs.ErrUnavailable)

func (c *cluster) AddBlock(previous *Block, exclude []Node) (Located, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.addErr != nil {
		return Located{}, c.addErr
	}
	if err := c.commit(previous); err != nil {
		return Located{}, err
	}
	l := Located{Block: Block{Pool: "BP-1", ID: c.nextID, Generation: c.gs}, Token: Token{}}
	c.nextID++
	c.gs++
	for i := range c.nodes {
		n := c.nodes[(i+int(c.nextID))%len(c.nodes)].Node
		if len(l.Nodes) < c.replication && !slices.ContainsFunc(exclude, func(x Node) bool { return x.UUID == n.UUID }) {
			l.Nodes = append(l.Nodes, n)
		}
	}
	if len(l.Nodes) == 0 {
		return Located{}, errNoNodes
	}
	if n := len(c.blocks); n > 0 {
		l.Offset = c.blocks[n-1].Offset + c.blocks[n-1].Block.Length
	}
	c.blocks = append(c.blocks, l)
	return l, nil
}

// commit takes the length of the last block.
func (c *cluster) commit(last *Block) error {
	n := len(c.blocks)
	if (last == nil) != (n == 0) {
		return fmt.Errorf("previous is %v, there are %d blocks", last, n)
	}
	if n == 0 {
		return nil
	}
	b := &c.blocks[n-1]
	if b.Block.ID != last.ID || b.Block.Generation != last.Generation {
		return fmt.Errorf("previous is %v, the last block %v", last, b.Block)
	}
	b.Block.Length = last.Length
	return nil
}

func (c *cluster) AbandonBlock(b Block) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned++
	n := len(c.blocks)
	if n == 0 || c.blocks[n-1].Block.ID != b.ID {
		return fmt.Errorf("abandon %v, which is not the last", b)
	}
	c.blocks = c.blocks[:n-1]
	return nil
}

func (c *cluster) UpdateBlockForPipeline(b Block) (Located, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.Generation = c.gs
	c.gs++
	c.recoveries++
	return Located{Block: b, Token: Token{}}, nil
}

func (c *cluster) UpdatePipeline(old, fresh Block, nodes []Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.blocks[len(c.blocks)-1]
	if b.Block.ID != old.ID || b.Block.Generation != old.Generation || fresh.Generation <= old.Generation || fresh.ID != old.ID || len(nodes) == 0 {
		return fmt.Errorf("update %v to %v on %d nodes, the last block is %v", old, fresh, len(nodes), b.Block)
	}
	b.Block.Generation, b.Nodes = fresh.Generation, slices.Clone(nodes)
	return nil
}

func (c *cluster) Complete(last *Block) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.commit(last); err != nil {
		return false, err
	}
	if c.notReplicated > 0 {
		c.notReplicated--
		return false, nil
	}
	c.completed = true
	return true, nil
}

func (c *cluster) Locate() (File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := File{Blocks: slices.Clone(c.blocks), LastComplete: true}
	for i, b := range f.Blocks {
		f.Length += b.Block.Length
		f.Last = &f.Blocks[i]
	}
	return f, nil
}

// content reads the file off the replicas of the nodes that the NameNode knows and that live; they must all be the same, finished and on disk.
func (c *cluster) content() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []byte
	for i, b := range c.blocks {
		open := !c.completed && i == len(c.blocks)-1 // then its length is not known yet
		var one []byte
		found := false
		for _, n := range b.Nodes {
			f := c.nodes[slices.IndexFunc(c.nodes, func(f *fakeNode) bool { return f.UUID == n.UUID })]
			if f.dead || f.stopped {
				continue
			}
			r := f.replicas[b.Block.ID]
			switch {
			case r == nil:
				return nil, fmt.Errorf("%v has no replica on %s", b.Block, n.Host)
			case !r.finished || !r.synced:
				return nil, fmt.Errorf("%v on %s: finished %t, synced %t", b.Block, n.Host, r.finished, r.synced)
			case r.gs != b.Block.Generation || uint64(len(r.data)) != b.Block.Length && !open:
				return nil, fmt.Errorf("%v of %d bytes has on %s generation %d and %d bytes", b.Block, b.Block.Length, n.Host, r.gs, len(r.data))
			case found && !bytes.Equal(one, r.data):
				return nil, fmt.Errorf("%v: replicas differ", b.Block)
			}
			one, found = r.data, true
		}
		if !found {
			return nil, fmt.Errorf("%v has no replica that lives", b.Block)
		}
		all = append(all, one...)
	}
	return all, nil
}

// fakeReplica is a block on a node.
type fakeReplica struct {
	gs       uint64
	data     []byte
	acked    int
	finished bool
	synced   bool
	sum      Checksum
	chunk    int
	// session writes to it, or did.
	session *session
}

// session is one writing of a replica, which a recovery ends.
type session struct {
	conns []net.Conn
	done  chan struct{}
}

// fakeNode is a DataNode.
type fakeNode struct {
	Node
	c  *cluster
	at int
	// trouble, if not nil, is asked at each event and may answer "die", "stop", "cut" (the connection), "error" (a bad status), "mute" (no acknowledgement). Called with c.mu.
	trouble func(e event) string

	// Below: guarded by c.mu.
	dead, stopped bool
	replicas      map[uint64]*fakeReplica
	conns         map[net.Conn]bool
	// damage flips a bit of what is read; short lets replicas end early.
	damage, short bool
	reads, beats  int
}

// event is where trouble may come.
type event struct {
	// what: "setup", "packet" (received), "written" (on disk), "acknowledge" (about to), "finished" (the last one, not acknowledged), "read" (a packet goes out).
	what   string
	offset uint64
}

func (n *fakeNode) die() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.dead = true
	for c := range n.conns {
		c.Close()
	}
}

// revive lets a dead node run again, with what it had on disk.
func (n *fakeNode) revive() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.dead = false
}

var errGone = errors.New("gone")

// at lets trouble happen.
func (n *fakeNode) met(e event) (kind string, err error) {
	n.c.mu.Lock()
	if n.trouble != nil {
		kind = n.trouble(e)
	}
	if kind == "stop" {
		n.stopped = true
	}
	stopped := n.stopped
	n.c.mu.Unlock()
	switch {
	case kind == "die":
		n.die()
		return kind, errGone
	case kind == "cut":
		return kind, errGone
	case stopped:
		<-n.c.over
		return kind, errGone
	}
	return kind, nil
}

func (n *fakeNode) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		n.c.mu.Lock()
		delete(n.conns, conn)
		n.c.mu.Unlock()
	}()
	in := bufio.NewReader(conn)
	var head [3]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || binary.BigEndian.Uint16(head[:]) != version {
		return
	}
	length, err := binary.ReadUvarint(in)
	if err != nil {
		return
	}
	msg := make([]byte, length)
	if _, err := io.ReadFull(in, msg); err != nil {
		return
	}
	n.c.mu.Lock()
	stopped := n.stopped
	n.c.mu.Unlock()
	if stopped {
		<-n.c.over
		return
	}
	switch head[2] {
	case opWriteBlock:
		n.write(conn, in, msg)
	case opReadBlock:
		n.read(conn, in, msg)
	}
}

// parseHeader reads a ClientOperationHeaderProto.
func parseHeader(b []byte) (blk Block, err error) {
	err = each(b, func(f wire.Field) error {
		if f.Num != 1 {
			return nil
		}
		return each(f.Bytes, func(f wire.Field) (err error) {
			if f.Num == 1 {
				blk, err = ParseBlock(f.Bytes)
			}
			return err
		})
	})
	return blk, err
}

func parseWriteOp(b []byte) (op writeOp, err error) {
	op.chunk = 512
	err = each(b, func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			op.block, err = parseHeader(f.Bytes)
		case 2:
			var n Node
			n, err = ParseNode(f.Bytes)
			op.nodes = append(op.nodes, n)
		case 4:
			op.stage = f.Int
		case 6:
			op.min = f.Int
		case 7:
			op.max = f.Int
		case 8:
			op.generation = f.Int
		case 9:
			return each(f.Bytes, func(f wire.Field) error {
				if f.Num == 1 {
					op.sum = Checksum(f.Int)
				} else {
					op.chunk = int(f.Int)
				}
				return nil
			})
		}
		return err
	})
	return op, err
}

func respond(conn net.Conn, s status, badLink, message string) {
	m := appendUint(nil, 1, uint64(s))
	m = appendString(m, 2, badLink)
	if message != "" {
		m = appendString(m, 5, message)
	}
	conn.Write(protowire.AppendBytes(nil, m))
}

// open prepares the replica as BlockReceiver does.
func (n *fakeNode) open(op writeOp) (*fakeReplica, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	r := n.replicas[op.block.ID]
	if r != nil && r.session != nil { // as stopWriter
		for _, c := range r.session.conns {
			c.Close()
		}
		n.c.mu.Unlock()
		<-r.session.done
		n.c.mu.Lock()
	}
	if op.stage == stageCreate {
		if r != nil {
			return nil, errors.New("ReplicaAlreadyExistsException")
		}
		r = &fakeReplica{gs: op.block.Generation, sum: op.sum, chunk: op.chunk}
		n.replicas[op.block.ID] = r
		return r, nil
	}
	if r == nil || r.gs < op.block.Generation || r.gs > op.generation {
		return nil, fmt.Errorf("ReplicaNotFoundException: %+v for %v", r, op.block)
	}
	if op.stage == stageAppendRecovery {
		if uint64(len(r.data)) != op.min || !r.finished && r.acked != len(r.data) {
			return nil, fmt.Errorf("append to %d bytes, %d acknowledged, in place of %d", len(r.data), r.acked, op.min)
		}
		r.finished, r.synced = false, false
	} else {
		if r.finished || uint64(r.acked) < op.min || uint64(len(r.data)) > op.max {
			return nil, fmt.Errorf("unmatched length: %d bytes, %d acknowledged, %d to %d wanted, finished %t", len(r.data), r.acked, op.min, op.max, r.finished)
		}
		r.data = r.data[:r.acked]
	}
	r.gs = op.generation
	return r, nil
}

// write is a pipeline's part on this node.
func (n *fakeNode) write(conn net.Conn, in *bufio.Reader, msg []byte) {
	op, err := parseWriteOp(msg)
	if err != nil {
		panic(err)
	}
	kind, err := n.met(event{what: "setup"})
	if err != nil {
		return
	}
	if kind == "error" {
		respond(conn, statusError, "", "no such luck")
		return
	}
	r, err := n.open(op)
	if err != nil {
		respond(conn, statusError, "", err.Error())
		return
	}
	var mirror net.Conn
	if len(op.nodes) > 0 {
		if mirror = n.mirror(conn, op); mirror == nil {
			return
		}
		defer mirror.Close()
	}
	w := &session{conns: []net.Conn{conn}, done: make(chan struct{})}
	if mirror != nil {
		w.conns = append(w.conns, mirror)
	}
	n.c.mu.Lock()
	r.session = w
	n.c.mu.Unlock()
	defer close(w.done)
	respond(conn, statusSuccess, "", "")
	n.receive(conn, in, mirror, r)
}

// mirrorTimeout is how long a node waits for the next one.
const mirrorTimeout = 60 * time.Second

// mirror connects to the next node; nil when that failed, which was answered.
func (n *fakeNode) mirror(conn net.Conn, op writeOp) net.Conn {
	next := op.nodes[0]
	m, err := n.c.dial(next.Addr(), 0)
	badLink := next.Addr()
	if err == nil {
		m.SetDeadline(time.Now().Add(mirrorTimeout))
		var b []byte
		if _, err = m.Write(op.append(nil)); err == nil {
			b, err = (&frames{conn: m}).next(time.Now().Add(mirrorTimeout))
		}
		if err == nil {
			var a opResponse
			if a, err = parseOpResponse(b); err == nil && a.err() != nil {
				err = a.err()
				if a.badLink != "" {
					badLink = a.badLink
				}
			}
		}
		m.SetDeadline(time.Time{})
	}
	if err != nil {
		if m != nil {
			m.Close()
		}
		respond(conn, statusError, badLink, err.Error())
		return nil
	}
	return m
}

// receive takes packets. Acknowledgements of the next node come on their own, so a second goroutine sends those of this one.
func (n *fakeNode) receive(conn net.Conn, in *bufio.Reader, mirror net.Conn, r *fakeReplica) {
	type owed struct {
		h    packetHeader
		kind string
	}
	queue := make(chan owed, 1000)
	done := make(chan struct{})
	n.c.wg.Go(func() {
		defer close(done)
		down := &frames{conn: mirror}
		for o := range queue {
			replies := []status{statusSuccess}
			if o.kind == "error" {
				replies[0] = statusErrorChecksum
			}
			if mirror != nil {
				var a ack
				b, err := down.next(time.Now().Add(mirrorTimeout))
				if err == nil {
					err = a.parse(b)
				}
				if err == nil && a.seq != o.h.seq {
					panic(fmt.Sprint("acknowledgement ", a.seq, " for ", o.h.seq))
				}
				if err != nil {
					a.replies = []status{statusError}
				}
				replies = append(replies, a.replies...)
			}
			if !n.acknowledge(conn, r, o.h, replies) {
				conn.Close()
				return
			}
		}
	})
	endQueue := sync.OnceFunc(func() { close(queue) })
	defer func() {
		endQueue()
		if mirror != nil {
			mirror.Close()
		}
		conn.Close()
		<-done
	}()
	for {
		raw, h, sums, data, err := receivePacket(in, r.sum, r.chunk)
		if err != nil {
			return
		}
		kind := ""
		if h.seq == heartbeatSeq {
			n.c.mu.Lock()
			n.beats++
			n.c.mu.Unlock()
		} else if kind, err = n.met(event{"packet", h.offset}); err != nil {
			return
		}
		if bad := r.sum.verify(sums, data, r.chunk); bad >= 0 {
			panic(fmt.Sprintf("%s got a bad checksum at %d", n.Host, h.offset+uint64(bad)))
		}
		if mirror != nil {
			if _, err := mirror.Write(raw); err != nil {
				mirror.Close() // the responder will say so
			}
		}
		if h.seq != heartbeatSeq {
			n.store(r, h, data)
			if _, err := n.met(event{"written", h.offset}); err != nil {
				return
			}
		}
		queue <- owed{h, kind}
		if h.last {
			endQueue()
			<-done
			return
		}
	}
}

// store is BlockReceiver.receivePacket: what is there already is skipped.
func (n *fakeNode) store(r *fakeReplica, h packetHeader, data []byte) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	end := int(h.offset) + len(data)
	if int(h.offset) > len(r.data) {
		panic(fmt.Sprintf("%s: packet at %d after %d bytes", n.Host, h.offset, len(r.data)))
	}
	if len(data) > 0 && int(h.offset)%r.chunk != 0 {
		panic(fmt.Sprintf("packet at %d, which is in a chunk", h.offset))
	}
	if end > len(r.data) {
		if !bytes.Equal(r.data[h.offset:], data[:len(r.data)-int(h.offset)]) {
			panic("a packet is sent again with other bytes")
		}
		r.data = append(r.data, data[len(r.data)-int(h.offset):]...)
	}
	if h.last && h.sync {
		r.synced = true
	}
}

// acknowledge sends one upstream and reports whether the pipeline goes on.
func (n *fakeNode) acknowledge(conn net.Conn, r *fakeReplica, h packetHeader, replies []status) bool {
	if kind, err := n.met(event{"acknowledge", h.offset}); err != nil || kind == "mute" {
		return err == nil
	}
	good := !slices.ContainsFunc(replies, func(s status) bool { return s != statusSuccess })
	if good && h.seq != heartbeatSeq {
		n.c.mu.Lock()
		r.acked = max(r.acked, int(h.offset)+int(h.dataLen))
		if h.last {
			r.finished = true
		}
		n.c.mu.Unlock()
		if h.last {
			if _, err := n.met(event{"finished", h.offset}); err != nil {
				return false
			}
		}
	}
	m := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), protowire.EncodeZigZag(h.seq))
	for _, s := range replies {
		m = appendUint(m, 2, uint64(s))
	}
	_, err := conn.Write(protowire.AppendBytes(nil, m))
	return err == nil && good
}

// receivePacket reads a packet and takes it apart.
func receivePacket(in io.Reader, sum Checksum, chunk int) (raw []byte, h packetHeader, sums, data []byte, err error) {
	head := make([]byte, 6)
	if _, err = io.ReadFull(in, head); err != nil {
		return
	}
	length := int(binary.BigEndian.Uint32(head)) - 4
	hlen := int(binary.BigEndian.Uint16(head[4:]))
	raw = append(head, make([]byte, hlen+length)...)
	if _, err = io.ReadFull(in, raw[6:]); err != nil {
		return
	}
	if err = h.parse(raw[6 : 6+hlen]); err != nil {
		return
	}
	body := raw[6+hlen:]
	if n := sum.size(int(h.dataLen), chunk); n != len(body)-int(h.dataLen) {
		panic(fmt.Sprintf("%d bytes of checksums for %d of data", len(body)-int(h.dataLen), h.dataLen))
	} else {
		sums, data = body[:n], body[n:]
	}
	return
}

// read serves a range, from the chunk that holds its beginning to the end of the one with its end.
func (n *fakeNode) read(conn net.Conn, in *bufio.Reader, msg []byte) {
	var from, length uint64
	var blk Block
	if err := each(msg, func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			blk, err = parseHeader(f.Bytes)
		case 2:
			from = f.Int
		case 3:
			length = f.Int
		}
		return err
	}); err != nil {
		panic(err)
	}
	n.c.mu.Lock()
	n.reads++
	r := n.replicas[blk.ID]
	var data []byte
	if r != nil {
		data = slices.Clone(r.data)
	}
	damage, short := n.damage, n.short
	n.c.mu.Unlock()
	if r == nil || from+length > uint64(len(data)) || r.gs < blk.Generation {
		respond(conn, statusError, "", "no such replica")
		return
	}
	begin := from / uint64(r.chunk) * uint64(r.chunk)
	end := min(uint64(len(data)), (from+length+uint64(r.chunk)-1)/uint64(r.chunk)*uint64(r.chunk))
	if short {
		end -= (end - begin) / 2 / uint64(r.chunk) * uint64(r.chunk)
	}
	info := appendBytes(nil, 1, appendUint(appendUint(nil, 1, uint64(r.sum)), 2, uint64(r.chunk)))
	m := appendBytes(appendUint(nil, 1, 0), 4, appendUint(info, 2, begin))
	if _, err := conn.Write(protowire.AppendBytes(nil, m)); err != nil {
		return
	}
	size := uint64(max(1, 4096/r.chunk) * r.chunk)
	for seq := int64(0); ; seq++ {
		if _, err := n.met(event{"read", begin}); err != nil {
			return
		}
		stop := min(begin+size, end)
		if _, err := conn.Write(plainPacket(r, begin, data[begin:stop], seq, damage)); err != nil {
			return
		}
		if begin = stop; begin == end {
			conn.Write(plainPacket(r, end, nil, seq+1, false))
			if _, err := binary.ReadUvarint(in); err != nil && err != io.EOF && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
				panic(err)
			}
			return
		}
	}
}

// plainPacket makes a packet by another way than the writer's.
func plainPacket(r *fakeReplica, offset uint64, data []byte, seq int64, damage bool) []byte {
	var sums []byte
	for at := 0; at < len(data) && r.sum != ChecksumNone; at += r.chunk {
		t := crc32.MakeTable(crc32.Castagnoli)
		if r.sum == ChecksumCRC32 {
			t = crc32.IEEETable
		}
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[at:min(at+r.chunk, len(data))], t))
	}
	h := packetHeader{offset: offset, seq: seq, last: len(data) == 0, dataLen: uint32(len(data))}
	b := append(h.append(nil, len(sums)), sums...)
	at := len(b)
	b = append(b, data...)
	if damage && len(data) > 0 {
		b[at+len(data)/2] ^= 1
	}
	return b
}
