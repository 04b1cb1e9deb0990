package nnproxy

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxFrame is Hadoop's default ipc.maximum.data.length.
const maxFrame = 128 << 20

// readFrame reads a length of four bytes and what follows it, and returns both.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes", n)
	}
	frame := make([]byte, 4+n)
	copy(frame, head[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// message cuts a message with its length before it off b.
func message(b []byte) (m, rest []byte, ok bool) {
	m, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil, false
	}
	return m, b[n:], true
}

// fields calls number or text for each field of m that is a varint or has a length; others are passed over.
func fields(m []byte, number func(protowire.Number, uint64), text func(protowire.Number, []byte)) bool {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return false
		}
		m = m[n:]
		switch typ {
		case protowire.VarintType:
			var v uint64
			if v, n = protowire.ConsumeVarint(m); n >= 0 && number != nil {
				number(num, v)
			}
		case protowire.BytesType:
			var b []byte
			if b, n = protowire.ConsumeBytes(m); n >= 0 && text != nil {
				text(num, b)
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, m)
		}
		if n < 0 {
			return false
		}
		m = m[n:]
	}
	return true
}

// parseCall reads a request: the RPC header (call id 3, client id 4, retry count 5), the request's header (method 1) and, of the
// request itself, the paths that are its first fields. A frame that belongs to the connection itself has a negative call id.
func parseCall(frame []byte) (c Call, ok bool) {
	head, rest, ok := message(frame[4:])
	ok = ok && fields(head, func(num protowire.Number, v uint64) {
		switch num {
		case 3:
			c.ID = protowire.DecodeZigZag(v & 0xffffffff)
		case 5:
			c.Retry = protowire.DecodeZigZag(v & 0xffffffff)
		}
	}, func(num protowire.Number, b []byte) {
		if num == 4 {
			c.Client = string(b)
		}
	})
	if !ok || c.ID < 0 {
		return c, ok
	}
	head, rest, ok = message(rest)
	ok = ok && fields(head, nil, func(num protowire.Number, b []byte) {
		if num == 1 {
			c.Method = string(b)
		}
	})
	if !ok {
		return c, false
	}
	if request, _, isRequest := message(rest); isRequest {
		fields(request, nil, func(num protowire.Number, b []byte) {
			switch s := string(b); {
			case !strings.HasPrefix(s, "/"):
			case num == 1:
				c.Path = s
			case num == 2 && strings.HasPrefix(c.Method, "rename"):
				c.To = s
			}
		})
	}
	return c, true
}

// parseReply reads a response's header: call id 1, status 2, exception 4, message 5.
func parseReply(frame []byte) (id int64, r Reply, ok bool) {
	head, _, ok := message(frame[4:])
	ok = ok && fields(head, func(num protowire.Number, v uint64) {
		switch num {
		case 1:
			id = int64(int32(v)) // a negative id comes as an unsigned one
		case 2:
			r.Failed = v != 0
		}
	}, func(num protowire.Number, b []byte) {
		switch num {
		case 4:
			r.Exception = string(b)
		case 5:
			r.Message = string(b)
		}
	})
	return id, r, ok
}

// reply is a successful response with this message.
func reply(id int64, message []byte) []byte {
	head := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(id))
	head = protowire.AppendVarint(protowire.AppendTag(head, 2, protowire.VarintType), 0)
	body := protowire.AppendBytes(protowire.AppendBytes(nil, head), message)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
