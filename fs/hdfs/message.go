package hdfs

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"staunch/fs"
	"staunch/fs/hdfs/datanode"
	"staunch/fs/hdfs/wire"
)

// message builds a request of Hadoop's ClientProtocol. The field numbers are those of Hadoop's messages.
type message []byte

func (m message) str(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

func (m message) num(field protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

func (m message) flag(field protowire.Number, b bool) message {
	return m.num(field, protowire.EncodeBool(b))
}

// perm is an FsPermissionProto.
func (m message) perm(field protowire.Number, mode uint32) message {
	return m.bytes(field, message(nil).num(1, uint64(mode)))
}

func (m message) block(field protowire.Number, b datanode.Block) message {
	return m.bytes(field, b.Append(nil))
}

// one gives field number want of an answer: the last of that number, and whether there is one.
func one(b []byte, want protowire.Number) (f wire.Field, found bool, err error) {
	err = wire.Fields(b, func(g wire.Field) error {
		if g.Num == want {
			f, found = g, true
		}
		return nil
	})
	return f, found, err
}

// status is what HdfsFileStatusProto tells that is needed here.
type status struct {
	info fs.Info
	id   uint64
}

// Values of HdfsFileStatusProto.FileType.
const (
	isDir     = 1
	isSymlink = 3
)

func parseStatus(b []byte) (status, error) {
	var s status
	err := wire.Fields(b, func(f wire.Field) error {
		switch f.Num {
		case 1:
			s.info.Dir, s.info.Symlink = f.Int == isDir, f.Int == isSymlink
		case 2:
			s.info.Name = string(f.Bytes)
		case 3:
			s.info.Size = int64(f.Int)
		case 7:
			s.info.ModTime = time.UnixMilli(int64(f.Int))
		case 13:
			s.id = f.Int
		}
		return nil
	})
	if err == nil && s.info.Size < 0 {
		err = fmt.Errorf("a length of %d", s.info.Size)
	}
	return s, err
}

// defaults is FsServerDefaultsProto.
type defaults struct {
	blockSize        int64
	bytesPerChecksum int
	packetSize       int
	replication      int
	// checksum is ChecksumTypeProto: 0 NULL, 1 CRC32, 2 CRC32C.
	checksum  int
	encrypted bool
}

func parseDefaults(b []byte) (defaults, error) {
	d := defaults{checksum: 1}
	f, found, err := one(b, 1)
	if err == nil && !found {
		err = fmt.Errorf("no defaults in the answer")
	}
	if err != nil {
		return d, err
	}
	err = wire.Fields(f.Bytes, func(f wire.Field) error {
		switch f.Num {
		case 1:
			d.blockSize = int64(f.Int)
		case 2:
			d.bytesPerChecksum = int(f.Int)
		case 3:
			d.packetSize = int(f.Int)
		case 4:
			d.replication = int(f.Int)
		case 6:
			d.encrypted = f.Int != 0
		case 8:
			d.checksum = int(f.Int)
		}
		return nil
	})
	return d, err
}
