package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/klauspost/compress/s2"

	"staunch/changelog"
)

// levelGap is left free before a page's values, so that the levels of a page without NULL are put there and nothing is moved: four bytes of
// length, up to five of the run's header, one of the level.
const levelGap = 10

// dictTrial is the number of distinct values at which a chunk's dictionary is given up, unless each came twice by then.
const dictTrial = 1024

// maxStatBytes is the longest string that stands in statistics; beyond it they are left out, as parquet-hadoop does.
const maxStatBytes = 256

// encoder compresses pages; one for each writer.
type encoder struct {
	codec  compress.Codec
	level  int
	snappy bool
}

// encode compresses src into dst, which is long enough.
func (e *encoder) encode(dst, src []byte) []byte {
	if e.snappy {
		// The codec's own choice of encoder compresses a few percent better in nearly twice the time.
		return s2.EncodeSnappy(dst, src)
	}
	return e.codec.EncodeLevel(dst, src, e.level)
}

// scratchPool has buffers for a page's body and its compressed form, which live only within one call.
var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

type scratch struct{ body, packed []byte }

// column writes one column of one file.
type column struct {
	*field
	o    *options
	enc  encoder
	zone localZone

	// The open page: values in PLAIN encoding behind levelGap bytes, or dictionary indices.
	vals  []byte
	idx   []uint32
	valid []uint64
	rows  int
	nulls int

	// The open chunk.
	chunk                    blockChain
	chunkRows, chunkNulls    int64
	uncompressed, compressed int64 // of data pages with their headers
	plainPages, dictPages    int32
	dictMode, dictFull       bool
	dict                     dictionary
	stat                     stats
}

// stats are the smallest and largest value of the chunk's plain pages; those of a dictionary are its entries'.
type stats struct {
	any        bool
	minI, maxI int64
	minF, maxF float64
	nan        bool
	minD, maxD decimal128.Num
	minB, maxB []byte
}

func (s *stats) reset() { *s = stats{minB: s.minB[:0], maxB: s.maxB[:0]} }

func (c *column) startChunk() {
	c.chunkRows, c.chunkNulls, c.uncompressed, c.compressed, c.plainPages, c.dictPages = 0, 0, 0, 0, 0, 0
	c.stat.reset()
	c.dictMode = false
	if c.o.dictionary && (c.store == storeInt32 || c.store == storeInt64 || c.store == storeBytes) {
		c.dictMode = true
		c.dict.reset()
	}
}

// held is the memory of the column.
func (c *column) held() int64 {
	return int64(cap(c.vals)+4*cap(c.idx)+8*cap(c.valid)) + c.chunk.held() + c.dict.held()
}

// open estimates what the open page and the dictionary will add to the file.
func (c *column) open() int64 {
	raw := int64(c.rows) / 8
	if c.dictMode {
		raw += int64(len(c.idx))*int64(c.dict.width())/8 + int64(len(c.dict.page))
	} else {
		raw += int64(max(0, len(c.vals)-levelGap))
	}
	if c.uncompressed > 0 {
		return raw * c.compressed / c.uncompressed
	}
	if c.enc.codec != nil {
		return raw / 2
	}
	return raw
}

// write appends rows from <= i < to.
func (c *column) write(col *changelog.Column, from, to int) error {
	if c.required && col.Nulls > 0 {
		for i := from; i < to; i++ {
			if col.IsNull(i) {
				return fmt.Errorf("column '%s' is NOT NULL and has a NULL", c.name)
			}
		}
	}
	for from < to {
		n, err := c.appendRows(col, from, min(to, from+c.room()))
		if err != nil {
			return err
		}
		from += n
		switch {
		case c.dictFull && c.dictPages == 0:
			c.undoDict()
		case c.dictFull:
			// The page so far keeps its indices, the rest of the chunk is plain.
			c.endPage()
			c.leaveDict()
		case c.rows >= c.o.pageRows || c.full():
			c.endPage()
		}
	}
	return nil
}

// full reports whether the page has its bytes.
func (c *column) full() bool { return len(c.vals) >= c.o.pageBytes+levelGap }

// room is how many rows the open page takes at most before it must be looked at again: it ends with the row that fills it, however rows come.
func (c *column) room() int {
	n := c.o.pageRows - c.rows
	if w := c.plainWidth(); w > 0 && !c.dictMode {
		left := c.o.pageBytes + levelGap - max(len(c.vals), levelGap)
		n = min(n, (left+w-1)/w)
	}
	return n
}

// plainWidth is the bytes of one value in PLAIN encoding, 0 where values differ (strings look at the limit themselves).
func (c *column) plainWidth() int {
	switch c.store {
	case storeBytes:
		return 0
	case storeBool:
		return 1
	case storeInt32, storeFloat:
		return 4
	case storeInt96:
		return 12
	case storeDecimal:
		return c.width
	}
	return 8
}

// appendRows appends rows to the open page, all or, if the page is full before, some: it returns how many.
func (c *column) appendRows(col *changelog.Column, from, to int) (int, error) {
	if len(c.vals) == 0 && !c.dictMode {
		c.vals = append(c.vals, make([]byte, levelGap)...)
	}
	if col.Nulls == 0 {
		n, err := c.appendValues(col, from, to)
		c.markValid(n)
		return n, err
	}
	// Stretches without NULL go the same way; at most a page of rows is looked at.
	begin := from
	for from < to {
		end := from
		for end < to && !col.IsNull(end) {
			end++
		}
		if end > from {
			n, err := c.appendValues(col, from, end)
			c.markValid(n)
			if from += n; err != nil || from < end || c.full() {
				return from - begin, err
			}
			continue
		}
		c.markNull()
		from++
	}
	return from - begin, nil
}

// markValid counts n rows with values. The bitmap exists only from the first NULL of a page on.
func (c *column) markValid(n int) {
	if c.nulls > 0 {
		for i := range n {
			c.setBit(c.rows+i, true)
		}
	}
	c.rows += n
}

func (c *column) markNull() {
	if c.nulls == 0 {
		c.valid = c.valid[:0]
		for i := range c.rows {
			c.setBit(i, true)
		}
	}
	c.setBit(c.rows, false)
	c.nulls++
	c.rows++
}

func (c *column) setBit(i int, v bool) {
	if i&63 == 0 {
		c.valid = append(c.valid[:i>>6], 0)
	}
	if v {
		c.valid[i>>6] |= 1 << (uint(i) & 63)
	}
}

// appendValues appends values, none of which is NULL, and returns how many the page took.
func (c *column) appendValues(col *changelog.Column, from, to int) (int, error) {
	if c.dictMode {
		n := c.appendDict(col, from, to)
		c.dictFull = n < to-from
		return n, nil
	}
	return c.appendPlain(col, from, to)
}

// appendDict appends indices until the dictionary is full or, among the first of a chunk, seen to be of no use.
func (c *column) appendDict(col *changelog.Column, from, to int) int {
	d := &c.dict
	for i := from; i < to; i++ {
		var x uint32
		var ok bool
		switch c.store {
		case storeInt32:
			x, ok = d.int(int64(col.I32[i]), false)
		case storeInt64:
			x, ok = d.int(col.I64[i], true)
		default:
			v := col.Bytes(i)
			if ok = len(v) <= c.o.dictionaryBytes/16; ok {
				x, ok = d.bytes(v)
			}
		}
		if !ok || len(d.page) > c.o.dictionaryBytes || d.count == dictTrial && c.dictPages == 0 && len(c.idx) < 2*dictTrial {
			return i - from
		}
		c.idx = append(c.idx, x)
	}
	return to - from
}

// leaveDict ends the use of the dictionary in this chunk. Pages that have indices keep it.
func (c *column) leaveDict() {
	c.dictMode, c.dictFull = false, false
	if c.dictPages == 0 {
		c.dict.release()
	}
}

// appendPlain appends values in PLAIN encoding.
func (c *column) appendPlain(col *changelog.Column, from, to int) (int, error) {
	switch c.store {
	case storeBool:
		for _, v := range col.B[from:to] {
			c.vals = append(c.vals, b2i(v)) // packed when the page ends
			c.stat.addInt(int64(b2i(v)))
		}
	case storeInt32:
		src := col.I32[from:to]
		at := c.extend(4 * len(src))
		lo, hi := c.stat.bounds(int64(src[0]))
		for i, v := range src {
			binary.LittleEndian.PutUint32(c.vals[at+4*i:], uint32(v))
			lo, hi = min(lo, int64(v)), max(hi, int64(v))
		}
		c.stat.minI, c.stat.maxI = lo, hi
	case storeInt64:
		src := col.I64[from:to]
		at := c.extend(8 * len(src))
		lo, hi := c.stat.bounds(src[0])
		for i, v := range src {
			binary.LittleEndian.PutUint64(c.vals[at+8*i:], uint64(v))
			lo, hi = min(lo, v), max(hi, v)
		}
		c.stat.minI, c.stat.maxI = lo, hi
	case storeFloat:
		for _, v := range col.F32[from:to] {
			c.vals = binary.LittleEndian.AppendUint32(c.vals, math.Float32bits(v))
			c.stat.addFloat(float64(v))
		}
	case storeDouble:
		for _, v := range col.F64[from:to] {
			c.vals = binary.LittleEndian.AppendUint64(c.vals, math.Float64bits(v))
			c.stat.addFloat(v)
		}
	case storeBytes:
		return c.appendStrings(col, from, to), nil
	case storeDecimal:
		c.appendDecimals(col.Dec[from:to])
	case storeMillis, storeInt96:
		return to - from, c.appendTimestamps(col.I64[from:to])
	}
	return to - from, nil
}

func b2i(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// extend makes room for n more bytes and returns their place.
func (c *column) extend(n int) int {
	at := len(c.vals)
	if cap(c.vals)-at < n {
		grown := make([]byte, at, max(2*cap(c.vals), at+n))
		copy(grown, c.vals)
		c.vals = grown
	}
	c.vals = c.vals[:at+n]
	return at
}

// appendStrings stops when the page has its bytes.
func (c *column) appendStrings(col *changelog.Column, from, to int) int {
	limit := c.o.pageBytes + levelGap
	dst := c.vals
	for i := from; i < to; i++ {
		if len(dst) >= limit {
			to = i
			break
		}
		v := col.Data[col.Off[i]:col.Off[i+1]]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
		dst = append(dst, v...)
		c.stat.addBytes(v)
	}
	c.vals = dst
	return to - from
}

// appendDecimals appends the low bytes of each number, most significant first.
func (c *column) appendDecimals(src []decimal128.Num) {
	w := c.width
	at := c.extend(w*len(src) + 8)
	if w <= 8 {
		lo, hi := c.stat.bounds(int64(src[0].LowBits()))
		for i, v := range src {
			n := int64(v.LowBits())
			// The bytes behind the value are overwritten by the next one, and the eight of room by none.
			binary.BigEndian.PutUint64(c.vals[at+w*i:], uint64(n)<<(64-8*uint(w)))
			lo, hi = min(lo, n), max(hi, n)
		}
		c.stat.minI, c.stat.maxI = lo, hi
	} else {
		for i, v := range src {
			var b [16]byte
			binary.BigEndian.PutUint64(b[:], uint64(v.HighBits()))
			binary.BigEndian.PutUint64(b[8:], v.LowBits())
			copy(c.vals[at+w*i:], b[16-w:])
			c.stat.addDecimal(v)
		}
	}
	c.vals = c.vals[:at+w*len(src)]
}

// appendTimestamps converts to the stored unit or to INT96, in local time if asked for.
func (c *column) appendTimestamps(src []int64) error {
	units := c.typ.UnitsPerSecond()
	for _, v := range src {
		seconds := floorDiv(v, units)
		nanos := (v - seconds*units) * (1e9 / units)
		if !c.o.utc {
			seconds -= c.zone.toUTC(seconds)
		}
		if c.store == storeInt96 {
			const julianEpoch, secondsPerDay = 2440588, 86_400
			day := floorDiv(seconds, secondsPerDay)
			if day+julianEpoch != int64(int32(day+julianEpoch)) {
				return c.rangeError()
			}
			c.vals = binary.LittleEndian.AppendUint64(c.vals, uint64((seconds-day*secondsPerDay)*1e9+nanos))
			c.vals = binary.LittleEndian.AppendUint32(c.vals, uint32(day+julianEpoch))
			continue
		}
		per := c.o.unitsPerSecond
		if limit := math.MaxInt64/per - 1; seconds > limit || seconds < -limit {
			return c.rangeError()
		}
		out := seconds*per + nanos/(1e9/per)
		c.vals = binary.LittleEndian.AppendUint64(c.vals, uint64(out))
		c.stat.addInt(out)
	}
	return nil
}

func (c *column) rangeError() error {
	return fmt.Errorf("column '%s': a timestamp is out of the range of the file's type; option 'parquet.timestamp.time.unit' (with 'parquet.write.int64.timestamp') sets one that reaches further", c.name)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// endPage compresses the open page into the chunk.
func (c *column) endPage() {
	if c.rows == 0 {
		return
	}
	if c.dictMode && c.dictPages == 0 && c.dict.count*4 > len(c.idx) {
		c.undoDict()
	}
	if c.store == storeBool {
		c.packBools()
	}
	if len(c.vals) == 0 {
		// Only with a dictionary: a page of NULLs alone has no index and is plain.
		c.vals = append(c.vals, make([]byte, levelGap)...)
	}
	s := scratchPool.Get().(*scratch)
	encoding := int32(encodingPlain)
	body := c.vals
	switch {
	case len(c.idx) > 0:
		encoding = encodingPlainDictionary
		s.body = c.appendPageLevels(s.body[:0])
		s.body = appendIndices(s.body, c.idx, c.dict.width())
		body = s.body
		c.dictPages++
	case c.required:
		body = c.vals[levelGap:]
	case c.nulls == 0:
		var levels [levelGap]byte
		l := appendLevels(levels[:0], c.rows, 0, nil)
		body = c.vals[levelGap-len(l):]
		copy(body, l)
	default:
		s.body = append(c.appendPageLevels(s.body[:0]), c.vals[levelGap:]...)
		body = s.body
	}
	if encoding == encodingPlain {
		c.plainPages++
	}
	head, data := c.pack(s, body, pageData, int32(c.rows), encoding)
	c.chunk.append(head)
	c.chunk.append(data)
	c.uncompressed += int64(len(head) + len(body))
	c.compressed += int64(len(head) + len(data))
	c.chunkRows += int64(c.rows)
	c.chunkNulls += int64(c.nulls)
	c.rows, c.nulls = 0, 0
	c.vals, c.idx = c.vals[:0], c.idx[:0]
	// A value far larger than a page must not stay in memory behind it.
	if cap(c.vals) > 4*c.o.pageBytes {
		c.vals = nil
	}
	if cap(s.body)+cap(s.packed) < 16<<20 {
		scratchPool.Put(s)
	}
}

func (c *column) appendPageLevels(dst []byte) []byte {
	if c.required {
		return dst
	}
	return appendLevels(dst, c.rows, c.nulls, c.valid)
}

// pack compresses a page's body and returns it with its header; both live until s is used again.
func (c *column) pack(s *scratch, body []byte, pageType, values, encoding int32) (head, data []byte) {
	data = body
	if c.enc.codec != nil {
		if bound := int(c.enc.codec.CompressBound(int64(len(body)))); cap(s.packed) < bound {
			s.packed = make([]byte, bound)
		}
		data = c.enc.encode(s.packed[:cap(s.packed)], body)
	}
	head = appendPageHeader(make([]byte, 0, 64), pageType, int32(len(body)), int32(len(data)), values, encoding)
	return head, data
}

// packBools turns one byte a value into one bit a value.
func (c *column) packBools() {
	src := c.vals[levelGap:]
	n := (len(src) + 7) / 8
	for i := range n {
		var b byte
		for j, v := range src[8*i : min(8*i+8, len(src))] {
			b |= v << uint(j)
		}
		src[i] = b
	}
	c.vals = c.vals[:levelGap+n]
}

// undoDict writes the open page, the first of its chunk, as plain values after all.
func (c *column) undoDict() {
	c.vals = append(c.vals[:0], make([]byte, levelGap)...)
	for _, x := range c.idx {
		switch c.store {
		case storeInt32:
			c.vals = binary.LittleEndian.AppendUint32(c.vals, uint32(c.dict.ints[x]))
			c.stat.addInt(c.dict.ints[x])
		case storeInt64:
			c.vals = binary.LittleEndian.AppendUint64(c.vals, uint64(c.dict.ints[x]))
			c.stat.addInt(c.dict.ints[x])
		default:
			v := c.dict.entry(x)
			c.vals = binary.LittleEndian.AppendUint32(c.vals, uint32(len(v)))
			c.vals = append(c.vals, v...)
			c.stat.addBytes(v)
		}
	}
	c.idx = nil
	c.leaveDict()
}

// bounds starts or goes on with integer statistics.
func (s *stats) bounds(first int64) (lo, hi int64) {
	if !s.any {
		s.any, s.minI, s.maxI = true, first, first
	}
	return s.minI, s.maxI
}

func (s *stats) addInt(v int64) {
	lo, hi := s.bounds(v)
	s.minI, s.maxI = min(lo, v), max(hi, v)
}

func (s *stats) addFloat(v float64) {
	if v != v {
		s.nan = true
		return
	}
	if !s.any {
		s.any, s.minF, s.maxF = true, v, v
	}
	s.minF, s.maxF = min(s.minF, v), max(s.maxF, v)
}

func (s *stats) addDecimal(v decimal128.Num) {
	if !s.any {
		s.any, s.minD, s.maxD = true, v, v
	}
	if v.Less(s.minD) {
		s.minD = v
	}
	if s.maxD.Less(v) {
		s.maxD = v
	}
}

func (s *stats) addBytes(v []byte) {
	if !s.any {
		s.any = true
		s.minB, s.maxB = append(s.minB[:0], v...), append(s.maxB[:0], v...)
		return
	}
	if bytes.Compare(v, s.minB) < 0 {
		s.minB = append(s.minB[:0], v...)
	} else if bytes.Compare(v, s.maxB) > 0 {
		s.maxB = append(s.maxB[:0], v...)
	}
}

// statistics are those of the chunk for the footer.
func (c *column) statistics() metadata.EncodedStatistics {
	s := &c.stat
	if c.dictPages > 0 {
		for i := range c.dict.count {
			if c.store == storeBytes {
				s.addBytes(c.dict.entry(uint32(i)))
			} else {
				s.addInt(c.dict.ints[i])
			}
		}
	}
	out := metadata.EncodedStatistics{HasNullCount: true, NullCount: c.chunkNulls, Signed: c.store != storeBytes}
	if !s.any || s.nan || c.store == storeInt96 {
		return out
	}
	switch c.store {
	case storeBool:
		out.Min, out.Max = []byte{byte(s.minI)}, []byte{byte(s.maxI)}
	case storeInt32:
		out.Min, out.Max = binary.LittleEndian.AppendUint32(nil, uint32(s.minI)), binary.LittleEndian.AppendUint32(nil, uint32(s.maxI))
	case storeInt64, storeMillis:
		out.Min, out.Max = binary.LittleEndian.AppendUint64(nil, uint64(s.minI)), binary.LittleEndian.AppendUint64(nil, uint64(s.maxI))
	case storeFloat, storeDouble:
		out.Min, out.Max = c.floatBounds()
	case storeDecimal:
		if c.width <= 8 {
			s.minD, s.maxD = decimal128.FromI64(s.minI), decimal128.FromI64(s.maxI)
		}
		out.Min, out.Max = fixedBytes(s.minD, c.width), fixedBytes(s.maxD, c.width)
	case storeBytes:
		if len(s.minB) > maxStatBytes || len(s.maxB) > maxStatBytes {
			return out
		}
		out.Min, out.Max = bytes.Clone(s.minB), bytes.Clone(s.maxB)
	}
	out.HasMin, out.HasMax = true, true
	return out
}

// floatBounds follows the format's rule for zeros: a smallest zero is written as -0, a largest as +0.
func (c *column) floatBounds() (lo, hi []byte) {
	minF, maxF := c.stat.minF, c.stat.maxF
	if minF == 0 {
		minF = math.Copysign(0, -1)
	}
	if maxF == 0 {
		maxF = 0
	}
	if c.store == storeFloat {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(minF))), binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(maxF)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(minF)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(maxF))
}

// fixedBytes are the low width bytes of v, most significant first.
func fixedBytes(v decimal128.Num, width int) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(b[8:], v.LowBits())
	return bytes.Clone(b[16-width:])
}
