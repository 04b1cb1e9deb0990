package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"staunch/fs/hdfs/wire"
)

// Field numbers and constants of Hadoop's RpcHeader, IpcConnectionContext and ProtobufRpcEngine messages.
const (
	kindProtobuf  = 2 // RpcKindProto
	finalPacket   = 0 // OperationProto
	callContext   = -3
	callSASL      = -33
	statusOK      = 0 // RpcStatusProto
	statusFatal   = 2
	saslSuccess   = 0 // SaslState
	saslNegotiate = 1

	errNoSuchMethod    = 2 // RpcErrorCodeProto
	errNoSuchProtocol  = 3
	errVersionMismatch = 6
	fatalVersion       = 14
	fatalUnauthorized  = 15
)

// maxFrame bounds an answer, as the NameNode's own clients do (ipc.maximum.response.length).
const maxFrame = 128 << 20

var errShort = errors.New("the message ends in the middle")

// preamble begins a connection: magic, version, service class, and 0 for no SASL.
var preamble = []byte{'h', 'r', 'p', 'c', 9, 0, 0}

// delimited appends a message with its length before it.
func delimited(dst, msg []byte) []byte {
	return append(protowire.AppendVarint(dst, uint64(len(msg))), msg...)
}

func appendVarint(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}

func appendBytes(dst []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), v)
}

// requestHeader is RpcRequestHeaderProto.
func requestHeader(client []byte, call, retry int32) []byte {
	b := appendVarint(nil, 1, kindProtobuf)
	b = appendVarint(b, 2, finalPacket)
	b = appendVarint(b, 3, protowire.EncodeZigZag(int64(call)))
	b = appendBytes(b, 4, client)
	return appendVarint(b, 5, protowire.EncodeZigZag(int64(retry)))
}

// frame makes one packet of two delimited messages or three.
func frame(parts ...[]byte) []byte {
	b := make([]byte, 4)
	for _, p := range parts {
		b = delimited(b, p)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// contextFrame says who speaks and which protocol.
func contextFrame(client []byte, user, protocol string) []byte {
	who := appendBytes(nil, 1, []byte(user))
	ctx := appendBytes(nil, 2, who)
	ctx = appendBytes(ctx, 3, []byte(protocol))
	return frame(requestHeader(client, callContext, -1), ctx)
}

// callFrame is one call.
func callFrame(client []byte, call, retry int32, protocol, method string, request []byte) []byte {
	h := appendBytes(nil, 1, []byte(method))
	h = appendBytes(h, 2, []byte(protocol))
	h = appendVarint(h, 3, 1)
	return frame(requestHeader(client, call, retry), h, request)
}

// answer is a response.
type answer struct {
	call   int32
	status uint64
	code   uint64
	class  string
	text   string
	body   []byte
}

// readAnswer reads one frame. The body is the caller's own.
func readAnswer(r io.Reader) (answer, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return answer{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return answer{}, fmt.Errorf("an answer of %d bytes (is this the port of a NameNode's RPC?)", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return answer{}, err
	}
	return parseAnswer(b)
}

func parseAnswer(b []byte) (answer, error) {
	head, rest, err := cut(b)
	if err != nil {
		return answer{}, err
	}
	a := answer{}
	err = wire.Fields(head, func(f wire.Field) error {
		switch f.Num {
		case 1:
			a.call = int32(uint32(f.Int & math.MaxUint32))
		case 2:
			a.status = f.Int
		case 4:
			a.class = string(f.Bytes)
		case 5:
			a.text = string(f.Bytes)
		case 6:
			a.code = f.Int
		}
		return nil
	})
	if err != nil || a.status != statusOK || len(rest) == 0 {
		return a, err
	}
	a.body, _, err = cut(rest)
	return a, err
}

// cut takes a delimited message off b.
func cut(b []byte) (msg, rest []byte, err error) {
	n, k := protowire.ConsumeVarint(b)
	if k < 0 || n > uint64(len(b)-k) {
		return nil, nil, errShort
	}
	return b[k : k+int(n)], b[k+int(n):], nil
}
