package datanode

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// drain is a DataNode that takes packets from a real connection, throws them away and acknowledges them.
func drain(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 256<<10)
	var head [3]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return
	}
	if _, err := in.Discard(int(n)); err != nil {
		return
	}
	respond(conn, statusSuccess, "", "")
	buf := make([]byte, 0, 64)
	for {
		b, err := in.Peek(6)
		if err != nil {
			return
		}
		var h packetHeader
		hlen := int(binary.BigEndian.Uint16(b[4:]))
		if b, err = in.Peek(6 + hlen); err != nil {
			return
		}
		if err = h.parse(b[6 : 6+hlen]); err != nil {
			return
		}
		if _, err := in.Discard(int(binary.BigEndian.Uint32(b)) - 4 + hlen + 6); err != nil {
			return
		}
		m := protowire.AppendVarint(append(buf[:1], 1<<3), protowire.EncodeZigZag(h.seq))
		m = appendUint(m, 2, 0)
		m[0] = byte(len(m) - 1)
		if _, err := conn.Write(m); err != nil {
			return
		}
	}
}

// oneNode is a NameNode that always gives the same node.
type oneNode struct{ blocks uint64 }

func (o *oneNode) AddBlock(*Block, []Node) (Located, error) {
	o.blocks++
	return Located{Block: Block{Pool: "p", ID: o.blocks}, Nodes: []Node{{IP: "10.0.0.1", Port: 1, Raw: []byte{}}}}, nil
}
func (o *oneNode) AbandonBlock(Block) error                      { return nil }
func (o *oneNode) UpdateBlockForPipeline(Block) (Located, error) { return Located{}, errGone }
func (o *oneNode) UpdatePipeline(Block, Block, []Node) error     { return errGone }
func (o *oneNode) Complete(*Block) (bool, error)                 { return true, nil }

func benchmarkWrite(b *testing.B, size int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go drain(c)
		}
	}()
	w, err := NewWriter(&oneNode{}, "/f", Options{Client: "c", Dial: func(string, time.Duration) (net.Conn, error) {
		return net.Dial("tcp", l.Addr().String())
	}})
	if err != nil {
		b.Fatal(err)
	}
	p := bytesOf(1, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.Memory()), "held-B")
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWrite1M(b *testing.B)  { benchmarkWrite(b, 1<<20) }
func BenchmarkWrite64K(b *testing.B) { benchmarkWrite(b, 64<<10) }
func BenchmarkWrite1K(b *testing.B)  { benchmarkWrite(b, 1<<10) }

func BenchmarkChecksum(b *testing.B) {
	p, sums := bytesOf(1, packetSize), make([]byte, 512)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		ChecksumCRC32C.fill(sums, p, 512)
	}
}
