package datanode

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"staunch/fs/hdfs/wire"
)

// version is that of the Data Transfer Protocol since Hadoop 2.
const version = 28

// Operations: the byte after the version.
const (
	opWriteBlock = 80
	opReadBlock  = 81
)

// Stages of a pipeline (OpWriteBlockProto.BlockConstructionStage).
const (
	stageAppendRecovery    = 1 // go on with a replica of known length, finished or not
	stageStreamingRecovery = 3 // go on in the middle of a block
	stageCreate            = 6
)

// status is Hadoop's Status enum.
type status uint64

const (
	statusSuccess       status = 0
	statusError         status = 1
	statusErrorChecksum status = 2
	statusChecksumOK    status = 6
	statusInProgress    status = 12
)

var statusNames = map[status]string{0: "SUCCESS", 1: "ERROR", 2: "ERROR_CHECKSUM", 3: "ERROR_INVALID", 4: "ERROR_EXISTS", 5: "ERROR_ACCESS_TOKEN",
	6: "CHECKSUM_OK", 7: "ERROR_UNSUPPORTED", 8: "OOB_RESTART", 12: "IN_PROGRESS", 13: "ERROR_BLOCK_PINNED"}

func (s status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("status %d", uint64(s))
}

// appendOp adds version, operation and a message with its length.
func appendOp(dst []byte, op byte, msg []byte) []byte {
	dst = append(binary.BigEndian.AppendUint16(dst, version), op)
	return protowire.AppendBytes(dst, msg)
}

// header is a ClientOperationHeaderProto.
func header(b Block, token Token, client string) []byte {
	base := appendBytes(nil, 1, b.Append(nil))
	if token != nil {
		base = appendBytes(base, 2, token)
	}
	return appendString(appendBytes(nil, 1, base), 2, client)
}

// writeOp is what an OpWriteBlockProto says.
type writeOp struct {
	block  Block
	token  Token
	client string
	// nodes are the whole pipeline; the message goes to the first, which connects to the second.
	nodes []Node
	stage uint64
	// min and max bound the length of the replica that a recovery finds: what all acknowledged, and what was sent.
	min, max uint64
	// generation is the new one in a recovery, else 0.
	generation uint64
	sum        Checksum
	chunk      int
}

func (o writeOp) append(dst []byte) []byte {
	m := appendBytes(nil, 1, header(o.block, o.token, o.client))
	for _, n := range o.nodes[1:] {
		m = appendBytes(m, 2, n.Raw)
	}
	m = appendUint(m, 4, o.stage)
	m = appendUint(m, 5, uint64(len(o.nodes)))
	m = appendUint(m, 6, o.min)
	m = appendUint(m, 7, o.max)
	m = appendUint(m, 8, o.generation)
	m = appendBytes(m, 9, appendUint(appendUint(nil, 1, uint64(o.sum)), 2, uint64(o.chunk)))
	m = appendUint(m, 11, uint64(o.nodes[0].StorageType))
	for _, n := range o.nodes[1:] {
		m = appendUint(m, 12, uint64(n.StorageType))
	}
	if o.nodes[0].StorageID != "" {
		m = appendString(m, 16, o.nodes[0].StorageID)
		for _, n := range o.nodes[1:] {
			m = appendString(m, 17, n.StorageID)
		}
	}
	return appendOp(dst, opWriteBlock, m)
}

// appendReadOp adds the request to read length bytes of b from offset on.
func appendReadOp(dst []byte, b Block, token Token, client string, offset, length uint64) []byte {
	m := appendBytes(nil, 1, header(b, token, client))
	return appendOp(dst, opReadBlock, appendUint(appendUint(m, 2, offset), 3, length))
}

// opResponse is a BlockOpResponseProto.
type opResponse struct {
	status status
	// badLink is the address of the node to which the pipeline could not be made, "" if it is the answering one.
	badLink, message string
	// sum, chunk and chunkOffset come with the answer to a read: the first packet begins at chunkOffset.
	sum         Checksum
	chunk       uint64
	chunkOffset uint64
}

func parseOpResponse(b []byte) (opResponse, error) {
	v := opResponse{status: statusError}
	seen := false
	err := each(b, func(f wire.Field) error {
		switch f.Num {
		case 1:
			v.status, seen = status(f.Int), true
		case 2:
			v.badLink = string(f.Bytes)
		case 4:
			return each(f.Bytes, v.checksumInfo)
		case 5:
			v.message = string(f.Bytes)
		}
		return nil
	})
	if err == nil && !seen {
		err = errors.New("no status")
	}
	if err != nil {
		return v, fmt.Errorf("answer: %w", err)
	}
	return v, nil
}

// checksumInfo takes a field of a ReadOpChecksumInfoProto.
func (v *opResponse) checksumInfo(f wire.Field) error {
	if f.Num == 2 {
		v.chunkOffset = f.Int
	}
	if f.Num != 1 {
		return nil
	}
	return each(f.Bytes, func(f wire.Field) error {
		switch f.Num {
		case 1:
			v.sum = Checksum(f.Int)
		case 2:
			v.chunk = f.Int
		}
		return nil
	})
}

// err is nil for a success.
func (v opResponse) err() error {
	switch {
	case v.status == statusSuccess:
		return nil
	case v.message != "":
		return fmt.Errorf("answered %v: %s", v.status, v.message)
	}
	return fmt.Errorf("answered %v", v.status)
}

// maxPipeline bounds the replies of an acknowledgement that are looked at; HDFS's largest replication is 512 and seldom above 10.
const maxPipeline = 512

// ack is a PipelineAckProto.
type ack struct {
	seq int64
	// replies are one status for each node of the pipeline, in its order.
	replies []status
}

// parse reads b into a, whose memory it uses again.
func (a *ack) parse(b []byte) error {
	a.seq, a.replies = 0, a.replies[:0]
	seen := false
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch {
		case f.Num == 1:
			a.seq, seen = protowire.DecodeZigZag(f.Int), true
		case f.Num == 2 && f.Type != protowire.BytesType:
			a.replies = append(a.replies, status(f.Int))
		case f.Num == 2:
			for p := f.Bytes; len(p) > 0; {
				v, n := protowire.ConsumeVarint(p)
				if n < 0 {
					return errMalformed
				}
				a.replies, p = append(a.replies, status(v)), p[n:]
			}
		}
		if len(a.replies) > maxPipeline {
			return errMalformed
		}
	}
	if !seen {
		return errMalformed
	}
	return nil
}

// packetHeader is a PacketHeaderProto.
type packetHeader struct {
	offset  uint64
	seq     int64
	last    bool
	dataLen uint32
	sync    bool
}

// heartbeatSeq is the number of packets that only keep a connection alive.
const heartbeatSeq = -1

// headRoom is the longest packet head: 4 bytes of length, 2 of the header's length, the header.
const headRoom = 4 + 2 + 27

// append adds the packet's lengths and header; sums is the length of its checksums in bytes.
func (h packetHeader) append(dst []byte, sums int) []byte {
	n := uint16(25)
	if h.sync {
		n = 27
	}
	dst = binary.BigEndian.AppendUint32(dst, 4+uint32(sums)+h.dataLen)
	dst = binary.BigEndian.AppendUint16(dst, n)
	dst = protowire.AppendFixed64(append(dst, 1<<3|byte(protowire.Fixed64Type)), h.offset)
	dst = protowire.AppendFixed64(append(dst, 2<<3|byte(protowire.Fixed64Type)), uint64(h.seq))
	dst = append(dst, 3<<3, boolByte(h.last))
	dst = protowire.AppendFixed32(append(dst, 4<<3|byte(protowire.Fixed32Type)), h.dataLen)
	if h.sync {
		dst = append(dst, 5<<3, 1)
	}
	return dst
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (h *packetHeader) parse(b []byte) error {
	*h = packetHeader{}
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch f.Num {
		case 1:
			h.offset = f.Int
		case 2:
			h.seq = int64(f.Int)
		case 3:
			h.last = f.Int != 0
		case 4:
			h.dataLen = uint32(f.Int)
		case 5:
			h.sync = f.Int != 0
		}
	}
	return nil
}
