package datanode

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Checksum is the kind of checksum that stands beside each chunk of a block (ChecksumTypeProto).
type Checksum uint64

// The kinds that HDFS has.
const (
	ChecksumNone   Checksum = 0
	ChecksumCRC32  Checksum = 1
	ChecksumCRC32C Checksum = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c Checksum) String() string {
	switch c {
	case ChecksumNone:
		return "NULL"
	case ChecksumCRC32:
		return "CRC32"
	case ChecksumCRC32C:
		return "CRC32C"
	}
	return fmt.Sprintf("checksum type %d", uint64(c))
}

// table is nil for a kind without checksums.
func (c Checksum) table() *crc32.Table {
	switch c {
	case ChecksumCRC32:
		return crc32.IEEETable
	case ChecksumCRC32C:
		return castagnoli
	}
	return nil
}

// size is the length of the checksums of n bytes.
func (c Checksum) size(n, chunk int) int {
	if c == ChecksumNone {
		return 0
	}
	return (n + chunk - 1) / chunk * 4
}

// fill writes the checksums of data to sums, which has the right size.
func (c Checksum) fill(sums, data []byte, chunk int) {
	t := c.table()
	if t == nil {
		return
	}
	for len(data) > 0 {
		n := min(chunk, len(data))
		binary.BigEndian.PutUint32(sums, crc32.Update(0, t, data[:n]))
		sums, data = sums[4:], data[n:]
	}
}

// verify compares data with its checksums and gives the place of the first wrong chunk, or -1.
func (c Checksum) verify(sums, data []byte, chunk int) int {
	t := c.table()
	if t == nil {
		return -1
	}
	for at := 0; at < len(data); at += chunk {
		n := min(chunk, len(data)-at)
		if binary.BigEndian.Uint32(sums) != crc32.Update(0, t, data[at:at+n]) {
			return at
		}
		sums = sums[4:]
	}
	return -1
}
