package parquet

import (
	"io"
	"sync"
)

// blockSize is the unit in which compressed pages are kept.
const blockSize = 64 << 10

// blockPool has blocks of blockSize bytes for all files.
var blockPool = sync.Pool{New: func() any { return new([blockSize]byte) }}

// blockChain is bytes in blocks: it grows without moving what it has, and its memory goes back to the pool.
type blockChain struct {
	blocks []*[blockSize]byte
	// used counts the bytes in the last block.
	used int
}

func (c *blockChain) append(b []byte) {
	for len(b) > 0 {
		if len(c.blocks) == 0 || c.used == blockSize {
			c.blocks = append(c.blocks, blockPool.Get().(*[blockSize]byte))
			c.used = 0
		}
		n := copy(c.blocks[len(c.blocks)-1][c.used:], b)
		c.used += n
		b = b[n:]
	}
}

func (c *blockChain) len() int64 {
	if len(c.blocks) == 0 {
		return 0
	}
	return int64(len(c.blocks)-1)*blockSize + int64(c.used)
}

// held is the memory of the chain.
func (c *blockChain) held() int64 { return int64(len(c.blocks)) * blockSize }

// writeTo writes the bytes and empties the chain, also after an error.
func (c *blockChain) writeTo(w io.Writer) error {
	var err error
	for i, b := range c.blocks {
		if err == nil {
			n := blockSize
			if i == len(c.blocks)-1 {
				n = c.used
			}
			_, err = w.Write(b[:n])
		}
		blockPool.Put(b)
		c.blocks[i] = nil
	}
	c.blocks, c.used = c.blocks[:0], 0
	return err
}
