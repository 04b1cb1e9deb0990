package datanode

import (
	"sync"
	"time"
)

// packet is a piece of a block on its way. Its memory holds room for the head, then for the checksums, then the data; seal writes head and
// checksums right before the data, so that one write sends all of it.
type packet struct {
	mem []byte
	// dataAt is where data begins in mem.
	dataAt int
	// wire is what is sent, once sealed.
	wire []byte
	seq  int64
	// offset is the packet's place in the block, n its bytes; the first dup of them were sent before, in a chunk that was not full then.
	offset     uint64
	n, dup     int
	last, sync bool
	// sent is when it went out on the pipeline of now, or zero. out: somebody is writing it. acked: all nodes have it. Guarded by the
	// stream's mu; whoever finds the packet neither out nor in the window gives it back.
	sent       time.Time
	out, acked bool
}

// packets keeps packets for all writers.
var packets = sync.Pool{New: func() any { return new(packet) }}

// newPacket gives an empty packet with room for data bytes in chunks.
func newPacket(o *Options, offset uint64) *packet {
	p := packets.Get().(*packet)
	data := o.packetData()
	at := headRoom + o.Checksum.size(data, o.ChunkSize)
	if cap(p.mem) < at+data {
		p.mem = make([]byte, at+data)
	}
	*p = packet{mem: p.mem[:at+data], dataAt: at, offset: offset}
	return p
}

// newMark gives a packet without data.
func newMark(offset uint64) *packet {
	p := packets.Get().(*packet)
	if cap(p.mem) < headRoom {
		p.mem = make([]byte, headRoom)
	}
	*p = packet{mem: p.mem[:headRoom], dataAt: headRoom, offset: offset}
	return p
}

func (p *packet) free() { packets.Put(p) }

// memory is what the packet holds.
func (p *packet) memory() int { return cap(p.mem) }

func (p *packet) data() []byte { return p.mem[p.dataAt : p.dataAt+p.n] }

// end is the offset in the block behind the packet.
func (p *packet) end() uint64 { return p.offset + uint64(p.n) }

// add copies what fits of b, up to the block offset limit.
func (p *packet) add(b []byte, limit uint64) int {
	room := min(uint64(len(p.mem)-p.dataAt-p.n), limit-p.end())
	n := copy(p.mem[p.dataAt+p.n:], b[:min(uint64(len(b)), room)])
	p.n += n
	return n
}

// full reports whether it must be sent before more can be added.
func (p *packet) full(limit uint64) bool { return p.dataAt+p.n == len(p.mem) || p.end() == limit }

// seal gives the packet its number and its form on the wire.
func (p *packet) seal(o *Options, seq int64) {
	p.seq = seq
	sums := o.Checksum.size(p.n, o.ChunkSize)
	h := packetHeader{offset: p.offset, seq: seq, last: p.last, dataLen: uint32(p.n), sync: p.sync}
	head := headRoom
	if !h.sync {
		head -= 2
	}
	at := p.dataAt - sums - head
	h.append(p.mem[at:at], sums)
	o.Checksum.fill(p.mem[p.dataAt-sums:p.dataAt], p.data(), o.ChunkSize)
	p.wire = p.mem[at : p.dataAt+p.n]
}
