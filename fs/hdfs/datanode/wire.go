package datanode

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"staunch/fs/hdfs/wire"
)

var errMalformed = errors.New("malformed message")

// next takes the first field off b.
func next(b []byte) (f wire.Field, rest []byte, err error) {
	if f, rest, err = wire.Next(b); err != nil {
		err = errMalformed
	}
	return f, rest, err
}

// each calls do for every field of b. A field of an unexpected type reads as zero or empty, which what follows has to stand.
func each(b []byte, do func(f wire.Field) error) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if err == nil {
			err = do(f)
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// varints appends the numbers of a repeated field, packed or not.
func varints(list []uint64, f wire.Field) ([]uint64, error) {
	if f.Type != protowire.BytesType {
		return append(list, f.Int), nil
	}
	for b := f.Bytes; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, errMalformed
		}
		list, b = append(list, v), b[n:]
	}
	return list, nil
}

func appendBytes(dst []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), v)
}

func appendString(dst []byte, num protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, num, protowire.BytesType), v)
}

func appendUint(dst []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}

// Append adds the block as ExtendedBlockProto.
func (b Block) Append(dst []byte) []byte {
	dst = appendString(dst, 1, b.Pool)
	dst = appendUint(dst, 2, b.ID)
	dst = appendUint(dst, 3, b.Generation)
	return appendUint(dst, 4, b.Length)
}

// ParseBlock reads an ExtendedBlockProto.
func ParseBlock(b []byte) (Block, error) {
	var v Block
	err := each(b, func(f wire.Field) error {
		switch f.Num {
		case 1:
			v.Pool = string(f.Bytes)
		case 2:
			v.ID = f.Int
		case 3:
			v.Generation = f.Int
		case 4:
			v.Length = f.Int
		}
		return nil
	})
	if err == nil && (v.Pool == "" || v.ID == 0) {
		err = errors.New("no pool or no number")
	}
	if err != nil {
		return Block{}, fmt.Errorf("block: %w", err)
	}
	return v, nil
}

// String is how a DataNode's log names the block.
func (b Block) String() string { return fmt.Sprintf("%s:blk_%d_%d", b.Pool, b.ID, b.Generation) }

// ParseNode reads a DatanodeInfoProto and keeps a copy of it. Storage is not part of the message: it stays empty, of type Disk.
func ParseNode(b []byte) (Node, error) {
	v := Node{Raw: append([]byte(nil), b...), StorageType: Disk}
	err := each(b, func(f wire.Field) error {
		if f.Num != 1 {
			return nil
		}
		return each(f.Bytes, func(f wire.Field) error {
			switch f.Num {
			case 1:
				v.IP = string(f.Bytes)
			case 2:
				v.Host = string(f.Bytes)
			case 3:
				v.UUID = string(f.Bytes)
			case 4:
				v.Port = uint32(f.Int)
			}
			return nil
		})
	})
	if err == nil && (v.IP == "" && v.Host == "" || v.Port == 0) {
		err = errors.New("no address")
	}
	if err != nil {
		return Node{}, fmt.Errorf("DataNode: %w", err)
	}
	return v, nil
}

// ParseLocated reads a LocatedBlockProto and keeps nothing of b.
func ParseLocated(b []byte) (Located, error) {
	var v Located
	var kinds []uint64
	var storages []string
	seen := false
	err := each(b, func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			seen = true
			v.Block, err = ParseBlock(f.Bytes)
		case 2:
			v.Offset = f.Int
		case 3:
			var n Node
			n, err = ParseNode(f.Bytes)
			v.Nodes = append(v.Nodes, n)
		case 4:
			v.Corrupt = f.Int != 0
		case 5:
			v.Token = append(Token{}, f.Bytes...)
		case 7:
			kinds, err = varints(kinds, f)
		case 8:
			storages = append(storages, string(f.Bytes))
		}
		return err
	})
	if err == nil && !seen {
		err = errors.New("no block")
	}
	if err != nil {
		return Located{}, fmt.Errorf("block's locations: %w", err)
	}
	for i := range v.Nodes {
		if i < len(kinds) {
			v.Nodes[i].StorageType = StorageType(kinds[i])
		}
		if i < len(storages) {
			v.Nodes[i].StorageID = storages[i]
		}
	}
	return v, nil
}

// ParseFile reads a LocatedBlocksProto and keeps nothing of b.
func ParseFile(b []byte) (File, error) {
	var v File
	err := each(b, func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			v.Length = f.Int
		case 2:
			var l Located
			l, err = ParseLocated(f.Bytes)
			v.Blocks = append(v.Blocks, l)
		case 3:
			v.UnderConstruction = f.Int != 0
		case 4:
			var l Located
			l, err = ParseLocated(f.Bytes)
			v.Last = &l
		case 5:
			v.LastComplete = f.Int != 0
		case 6:
			v.Encrypted = true
		case 7:
			v.Erasure = !replication(f.Bytes)
		}
		return err
	})
	if err != nil {
		return File{}, fmt.Errorf("file's blocks: %w", err)
	}
	return v, nil
}

// replication reports whether an ErasureCodingPolicyProto is the one that stands for plain replication (its id is 0).
func replication(b []byte) bool {
	id := uint64(1)
	err := each(b, func(f wire.Field) error {
		if f.Num == 4 {
			id = f.Int
		}
		return nil
	})
	return err == nil && id == 0
}
