package datanode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// errChecksum: bytes of a replica are not those that were written.
var errChecksum = errors.New("checksum error: the replica is damaged")

// maxPacket bounds a packet of a DataNode, as Hadoop's own reader does.
const maxPacket = 16 << 20

// reading is the memory of one exchange.
type reading struct {
	in  *bufio.Reader
	buf []byte
}

var readings = sync.Pool{New: func() any { return &reading{in: bufio.NewReaderSize(nil, 4<<10)} }}

// replica is a range of a block that is read from one node.
type replica struct {
	*reading
	conn    net.Conn
	timeout time.Duration
	node    Node
	sum     Checksum
	chunk   int
	// at is the place in the block of the byte after data; data are verified bytes that were not handed out.
	at   uint64
	data []byte
	// end is where the range ends, skip what the first packet has too much in front (packets begin at chunks).
	end  uint64
	skip uint64
}

// openReplica asks n for the bytes from <= i < to of l. timeout is for each step.
func openReplica(o *Options, l Located, n Node, from, to uint64, timeout time.Duration) (*replica, error) {
	conn, err := o.Dial(o.addr(n), min(o.Connect, timeout))
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	r := &replica{reading: readings.Get().(*reading), conn: conn, timeout: timeout, node: n, end: to}
	r.in.Reset(conn)
	if err := r.begin(o, l, from, to); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// begin sends the request and reads the answer before the data.
func (r *replica) begin(o *Options, l Located, from, to uint64) error {
	if err := r.conn.SetDeadline(time.Now().Add(r.timeout)); err != nil {
		return err
	}
	if _, err := r.conn.Write(appendReadOp(nil, l.Block, l.Token, o.Client, from, to-from)); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	length, err := binary.ReadUvarint(r.in)
	if err == nil && length > maxFrame {
		err = errMalformed
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", atOnce(err))
	}
	if err := r.fill(int(length)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	a, err := parseOpResponse(r.buf)
	if err != nil {
		return err
	}
	if err := a.err(); err != nil {
		return err
	}
	known := a.sum == ChecksumNone || a.sum.table() != nil && a.chunk > 0 && a.chunk <= maxPacket
	if !known || a.chunkOffset > from || a.chunk > 0 && from-a.chunkOffset >= a.chunk {
		return fmt.Errorf("%w: %v in chunks of %d from %d on for a read at %d", errMalformed, a.sum, a.chunk, a.chunkOffset, from)
	}
	r.sum, r.chunk, r.at, r.skip = a.sum, int(max(a.chunk, 1)), a.chunkOffset, from-a.chunkOffset
	return nil
}

// fill reads n bytes into buf.
func (r *replica) fill(n int) error {
	if cap(r.buf) < n {
		r.buf = make([]byte, n+n/8)
	}
	r.buf = r.buf[:n]
	_, err := io.ReadFull(r.in, r.buf)
	return noEOF(err)
}

// noEOF: the end of a connection is never the end of a file.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// read copies the next bytes of the range, all verified; io.EOF at its end.
func (r *replica) read(p []byte) (int, error) {
	for len(r.data) == 0 {
		if r.at >= r.end {
			return 0, io.EOF
		}
		if err := r.packet(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// packet reads and verifies the next packet.
func (r *replica) packet() error {
	if err := r.conn.SetReadDeadline(time.Now().Add(r.timeout)); err != nil {
		return err
	}
	h, sums, data, err := r.receive()
	if err != nil {
		return err
	}
	if h.last || len(data) == 0 {
		return fmt.Errorf("the replica ends at %d of %d: %w", r.at, r.end, io.ErrUnexpectedEOF)
	}
	if h.offset != r.at {
		return fmt.Errorf("%w: a packet for %d in place of %d", errMalformed, h.offset, r.at)
	}
	if bad := r.sum.verify(sums, data, r.chunk); bad >= 0 {
		return fmt.Errorf("at %d: %w", r.at+uint64(bad), errChecksum)
	}
	r.at += uint64(len(data))
	if r.skip >= uint64(len(data)) {
		r.skip -= uint64(len(data))
		return nil
	}
	data, r.skip = data[r.skip:], 0
	if r.at > r.end { // up to the end of a chunk
		data = data[:uint64(len(data))-min(r.at-r.end, uint64(len(data)))]
	}
	r.data = data
	return nil
}

// receive reads one packet and takes it apart.
func (r *replica) receive() (h packetHeader, sums, data []byte, err error) {
	var head [6]byte
	if err := r.fill(len(head)); err != nil {
		return h, nil, nil, err
	}
	copy(head[:], r.buf)
	payload, header := int64(binary.BigEndian.Uint32(head[:]))-4, int(binary.BigEndian.Uint16(head[4:]))
	if payload < 0 || payload > maxPacket {
		return h, nil, nil, fmt.Errorf("%w: a packet of %d bytes", errMalformed, payload)
	}
	if err := r.fill(header + int(payload)); err != nil {
		return h, nil, nil, err
	}
	if err := h.parse(r.buf[:header]); err != nil {
		return h, nil, nil, err
	}
	body := r.buf[header:]
	if int64(h.dataLen) > payload || r.sum.size(int(h.dataLen), r.chunk) != int(payload)-int(h.dataLen) {
		return h, nil, nil, fmt.Errorf("%w: a packet of %d bytes with %d of data", errMalformed, payload, h.dataLen)
	}
	at := int(payload) - int(h.dataLen)
	return h, body[:at], body[at:], nil
}

// finish tells the node how it went, which it counts, and ends. It is a courtesy: an error changes nothing.
func (r *replica) finish(s status) {
	if r.conn.SetDeadline(time.Now().Add(time.Second)) == nil {
		if s == statusChecksumOK {
			if _, _, _, err := r.receive(); err != nil { // the empty packet at the end
				r.close()
				return
			}
		}
		_, _ = r.conn.Write(protowire.AppendBytes(nil, appendUint(nil, 1, uint64(s)))) // see above
	}
	r.close()
}

func (r *replica) close() {
	closeQuietly(r.conn)
	r.in.Reset(nil)
	readings.Put(r.reading)
	r.reading = nil
}
