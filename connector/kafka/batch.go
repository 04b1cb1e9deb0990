package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// record is one record of a fetched partition. Its bytes alias the fetched batch and are good until the next call of batchReader.read.
type record struct {
	offset int64
	// timeMillis is the record's or, with log append time, the batch's time in milliseconds since 1970.
	timeMillis int64
	// value is nil for a tombstone.
	value []byte
}

// found says what batchReader.read came to.
type found uint8

const (
	foundRecord  found = iota // a data record
	foundEnd                  // the end of a batch: chunk.batchEnd is the first offset behind it
	foundNothing              // the end of the chunk
)

// The fixed places in a record batch of format 2 (Kafka protocol guide, "Record Batch").
const (
	atLength      = 8
	atEpoch       = 12
	atMagic       = 16
	atCRC         = 17
	atAttributes  = 21
	atLastDelta   = 23
	atBaseTime    = 27
	atMaxTime     = 35
	atProducerID  = 43
	atRecordCount = 57
	batchHeader   = 61
	// lengthBehind is what the length field does not count: base offset and the field itself.
	lengthBehind = 12
)

// Kafka's names of the meanings of a record's time.
const (
	createTime = "CreateTime"
	appendTime = "LogAppendTime"
	noTime     = "NoTimestampType"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// span gives the number of bytes of the batch (or old message) at the start of buf, and whether buf has all of them.
func span(buf []byte) (n int, whole bool) {
	if len(buf) < lengthBehind {
		return 0, false
	}
	n = int(int32(binary.BigEndian.Uint32(buf[atLength:]))) + lengthBehind
	return n, n >= atMagic+1 && n <= len(buf)
}

// behind gives the offset behind the last whole batch of buf by looking at batch headers only; next is returned when there is none. need is
// the size of a first batch that buf does not hold whole, else 0.
func behind(buf []byte, next int64) (offset int64, need int) {
	first := true
	for {
		n, whole := span(buf)
		if !whole {
			if first && n > 0 {
				need = n
			}
			return next, need
		}
		first = false
		base := int64(binary.BigEndian.Uint64(buf))
		end := base + 1 // formats 0 and 1: the offset of a wrapper is that of its last message
		if buf[atMagic] >= 2 && n >= batchHeader {
			end = base + int64(int32(binary.BigEndian.Uint32(buf[atLastDelta:]))) + 1
		}
		next = max(next, end)
		buf = buf[n:]
	}
}

// batchReader walks over the record batches of a chunk without making an object per record: records are parsed one by one out of the fetched
// bytes. Control batches and, under read_committed, batches of aborted transactions are passed over; the caller sees them as offsets without
// record.
type batchReader struct {
	// rest are the batches not opened yet.
	rest []byte
	// aborted has the first offsets of aborted transactions by producer, ascending; nil for read_uncommitted.
	aborted map[int64][]int64
	inflate *inflater

	// The open batch.
	records  []byte
	left     int
	base     int64
	baseTime int64
	maxTime  int64
	// appendTime: all records carry maxTime (attribute bit 3).
	appendTime bool
	// timeType is what a record's time means, in Kafka's words.
	timeType string
	// transactional: a transaction wrote one of the batches so far.
	transactional bool
	// epoch is the leader epoch under which the open batch was written, -1 if the format has none.
	epoch    int32
	batchEnd int64
	// old are records of message formats 0 and 1.
	old []*kgo.Record
}

// newAborted indexes the aborted transactions of a response.
func newAborted(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) map[int64][]int64 {
	if len(list) == 0 {
		return nil
	}
	m := map[int64][]int64{}
	for _, a := range list {
		m[a.ProducerID] = append(m[a.ProducerID], a.FirstOffset)
	}
	for _, offsets := range m {
		slices.Sort(offsets) // not every broker sends them in order
	}
	return m
}

// read finds the next data record, the end of a batch or the end of the chunk.
func (c *batchReader) read(r *record) (found, error) {
	switch {
	case c.left > 0:
		return foundRecord, c.parse(r)
	case len(c.old) > 0:
		o := c.old[0]
		c.old = c.old[1:]
		r.offset, r.timeMillis, r.value = o.Offset, o.Timestamp.UnixMilli(), o.Value
		switch o.Attrs.TimestampType() {
		case 0:
			c.timeType = createTime
		case 1:
			c.timeType = appendTime
		default:
			c.timeType, r.timeMillis = noTime, -1
		}
		return foundRecord, nil
	}
	n, whole := span(c.rest)
	if !whole {
		return foundNothing, nil // brokers may cut the last batch off
	}
	batch := c.rest[:n]
	c.rest = c.rest[n:]
	if err := c.open(batch); err != nil {
		return foundNothing, err
	}
	if c.left == 0 && len(c.old) == 0 {
		return foundEnd, nil
	}
	return c.read(r)
}

// finished reports whether the open batch has no more records: the offsets up to batchEnd are passed then.
func (c *batchReader) finished() bool { return c.left == 0 && len(c.old) == 0 }

var errShort = errors.New("the batch is cut short")

// open checks a whole batch and makes it the open one. A batch that holds no data records for this reader leaves none.
func (c *batchReader) open(b []byte) error {
	c.records, c.left, c.old = nil, 0, nil
	if b[atMagic] < 2 {
		return c.openOld(b)
	}
	if b[atMagic] != 2 {
		return fmt.Errorf("record batch of unknown format %d", b[atMagic])
	}
	if len(b) < batchHeader {
		return errShort
	}
	if want, is := binary.BigEndian.Uint32(b[atCRC:]), crc32.Checksum(b[atAttributes:], castagnoli); want != is {
		return fmt.Errorf("checksum of the batch is %08x, its header says %08x", is, want)
	}
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	c.base = int64(binary.BigEndian.Uint64(b))
	c.batchEnd = c.base + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:]))) + 1
	c.epoch = int32(binary.BigEndian.Uint32(b[atEpoch:]))
	c.baseTime = int64(binary.BigEndian.Uint64(b[atBaseTime:]))
	c.maxTime = int64(binary.BigEndian.Uint64(b[atMaxTime:]))
	c.appendTime, c.timeType = attributes>>3&1 == 1, createTime
	if c.appendTime {
		c.timeType = appendTime
	}
	count := int32(binary.BigEndian.Uint32(b[atRecordCount:]))
	producer := int64(binary.BigEndian.Uint64(b[atProducerID:]))
	if count < 0 || c.batchEnd <= c.base-1 {
		return fmt.Errorf("batch at offset %d with %d records ends at %d", c.base, count, c.batchEnd)
	}
	control, transactional := attributes>>5&1 == 1, attributes>>4&1 == 1
	c.transactional = c.transactional || transactional
	if transactional && !control && c.isAborted(producer) {
		return nil
	}
	records := b[batchHeader:]
	if codec := attributes & 7; codec != 0 {
		var err error
		if records, err = c.inflate.run(records, kgo.CompressionCodecType(codec)); err != nil {
			return fmt.Errorf("batch at offset %d: %w", c.base, err)
		}
	}
	if control {
		return c.control(records, count, producer)
	}
	c.records, c.left = records, int(count)
	return nil
}

// isAborted reports whether a batch of producer at c.base belongs to an aborted transaction. The first entry of a producer is its oldest
// aborted transaction that has not ended yet.
func (c *batchReader) isAborted(producer int64) bool {
	first := c.aborted[producer]
	return len(first) > 0 && c.base >= first[0]
}

// control reads the marker that ends a transaction: an abort marker ends the producer's oldest aborted transaction.
func (c *batchReader) control(records []byte, count int32, producer int64) error {
	if count == 0 || !c.isAborted(producer) {
		return nil
	}
	p := parser{b: records}
	p.skipHead()
	key := p.bytes()
	if p.bad {
		return errShort
	}
	if len(key) >= 4 && key[2] == 0 && key[3] == 0 {
		c.aborted[producer] = c.aborted[producer][1:]
	}
	return nil
}

// openOld reads a message (set) of format 0 or 1, which only brokers before 4.0 still hold, through franz-go.
func (c *batchReader) openOld(b []byte) error {
	base := int64(binary.BigEndian.Uint64(b))
	fp, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{}, &kmsg.FetchResponseTopicPartition{RecordBatches: b}, kgo.DefaultDecompressor(), nil)
	if fp.Err != nil {
		return fmt.Errorf("message at offset %d: %w", base, fp.Err)
	}
	c.base, c.epoch, c.batchEnd, c.old = base, -1, max(next, base+1), fp.Records
	return nil
}

// parse reads the next record of the open batch.
func (c *batchReader) parse(r *record) error {
	size, n := varint(c.records)
	if n <= 0 || size < 0 || size > int64(len(c.records)-n) {
		return errShort
	}
	p := parser{b: c.records[n : n+int(size)]}
	c.records = c.records[n+int(size):]
	c.left--
	p.skip(1) // attributes, unused
	delta := p.varint()
	r.offset = c.base + p.varint()
	r.timeMillis = c.baseTime + delta
	if c.appendTime {
		r.timeMillis = c.maxTime
	}
	p.bytes()
	r.value = p.bytes()
	if p.bad {
		return errShort
	}
	return nil
}

// parser reads the fields of one record.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) skip(n int) {
	if n > len(p.b) {
		p.bad = true
		return
	}
	p.b = p.b[n:]
}

// skipHead passes length, attributes, time and offset.
func (p *parser) skipHead() {
	p.varint()
	p.skip(1)
	p.varint()
	p.varint()
}

func (p *parser) varint() int64 {
	v, n := varint(p.b)
	if n <= 0 {
		p.bad = true
		return 0
	}
	p.b = p.b[n:]
	return v
}

// bytes reads a length and as many bytes; length -1 is nil.
func (p *parser) bytes() []byte {
	n := p.varint()
	if n < 0 {
		return nil
	}
	if p.bad || n > int64(len(p.b)) {
		p.bad = true
		return nil
	}
	v := p.b[:n:n]
	p.b = p.b[n:]
	return v
}

// varint reads a zigzag varint; the one and two byte forms, which nearly all fields have, without a loop.
func varint(b []byte) (int64, int) {
	if len(b) > 1 {
		if b[0] < 0x80 {
			return int64(b[0]>>1) ^ -int64(b[0]&1), 1
		}
		if b[1] < 0x80 {
			u := uint64(b[0]&0x7f) | uint64(b[1])<<7
			return int64(u>>1) ^ -int64(u&1), 2
		}
	}
	return binary.Varint(b)
}

// maxBatchBytes is how large a batch may be after decompression. The sizes in compressed data are only claims: without a bound twenty bytes can
// ask for two gigabytes.
const maxBatchBytes = 256 << 20

// inflater decompresses batches into one buffer that the next batch takes over: memory is bounded by the largest batch.
type inflater struct {
	buf []byte
	d   kgo.Decompressor
}

// newInflater takes the decompressor out of a client, the only way to have one of franz-go's with a bound. Nothing is sent.
func newInflater() (*inflater, error) {
	f := &inflater{}
	cl, err := kgo.NewClient(kgo.DisableClientMetrics(), kgo.WithDecompressor(kgo.DefaultDecompressor(f)), kgo.MaxDecompressBatchBytes(maxBatchBytes))
	if err != nil {
		return nil, fmt.Errorf("decompressor: %w", err)
	}
	defer cl.Close()
	d, ok := cl.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
	if !ok {
		return nil, errors.New("decompressor: franz-go gives none")
	}
	f.d = d
	return f, nil
}

// GetDecompressBytes implements kgo.PoolDecompressBytes. A buffer that one large batch has left is given up when a small one follows.
func (f *inflater) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	if cap(f.buf) > 4<<20 && cap(f.buf)/32 > len(compressed) {
		f.buf = nil
	}
	return f.buf[:0]
}

// PutDecompressBytes implements kgo.PoolDecompressBytes; it is called after a failure only.
func (f *inflater) PutDecompressBytes([]byte) {}

func (f *inflater) run(b []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	out, err := f.d.Decompress(b, codec)
	if errors.Is(err, kgo.ErrMaxDecompress) {
		return nil, fmt.Errorf("%d compressed bytes say that they hold more than %d MiB", len(b), maxBatchBytes>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	f.buf = out
	return out, nil
}

// lastEpoch gives the leader epoch of the last whole batch of buf, or before if there is none.
func lastEpoch(buf []byte, before int32) int32 {
	for {
		n, whole := span(buf)
		if !whole {
			return before
		}
		if buf[atMagic] >= 2 {
			before = int32(binary.BigEndian.Uint32(buf[atEpoch:]))
		}
		buf = buf[n:]
	}
}
