package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// encodeBatch makes a record batch of format 2 with values at the given offset deltas; a nil value is a tombstone.
func encodeBatch(base int64, attributes int16, last int32, deltas []int32, values [][]byte) []byte {
	var records []byte
	for i, d := range deltas {
		r := kmsg.Record{OffsetDelta: d, TimestampDelta64: int64(i), Value: values[i], Key: []byte("k"),
			Headers: []kmsg.Header{{Key: "h", Value: []byte("v")}}}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		if r.Length > 63 { // the length itself takes two bytes then
			r.Length--
		}
		records = r.AppendTo(records)
	}
	b := kmsg.RecordBatch{FirstOffset: base, PartitionLeaderEpoch: 7, Magic: 2, Attributes: attributes, LastOffsetDelta: last, FirstTimestamp: 1000,
		MaxTimestamp: 5000, ProducerID: 3, NumRecords: int32(len(deltas)), Records: records}
	out := b.AppendTo(nil)
	return seal(out)
}

// seal sets length and checksum of a batch.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-lengthBehind))
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
	return b
}

func testInflater(t testing.TB) *inflater {
	t.Helper()
	f, err := newInflater()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDecompressionBomb: a batch that says that it is 1 GiB large is refused before the memory is taken.
func TestDecompressionBomb(t *testing.T) {
	b := encodeBatch(10, int16(kgo.CodecSnappy), 0, nil, nil)
	b = binary.AppendUvarint(b, 1<<30)
	b = seal(append(b, 1, 2, 3, 4))
	c := batchReader{rest: b, inflate: testInflater(t)}
	var r record
	if _, err := c.read(&r); err == nil || !strings.Contains(err.Error(), "256 MiB") || !strings.Contains(err.Error(), "offset 10") {
		t.Error(err)
	}
	if cap(c.inflate.buf) != 0 {
		t.Errorf("%d bytes taken", cap(c.inflate.buf))
	}
}

// TestBatchReader reads batches with holes, times of both kinds and a tail without records.
func TestBatchReader(t *testing.T) {
	buf := encodeBatch(10, 0, 9, []int32{0, 3, 5}, [][]byte{[]byte("a"), nil, make([]byte, 500)})
	buf = append(buf, encodeBatch(20, 1<<3, 0, []int32{0}, [][]byte{[]byte("b")})...)
	buf = append(buf, encodeBatch(25, 0, 4, nil, nil)...)
	if next, need := behind(buf, 0); next != 30 || need != 0 {
		t.Errorf("behind: %d, %d", next, need)
	}
	if next, need := behind(buf[:70], 4); next != 4 || need != len(encodeBatch(10, 0, 9, []int32{0, 3, 5}, [][]byte{[]byte("a"), nil, make([]byte, 500)})) {
		t.Errorf("behind a cut batch: %d, %d", next, need)
	}
	c := batchReader{rest: buf, inflate: testInflater(t)}
	type step struct {
		kind   found
		offset int64
		millis int64
		size   int
	}
	var r record
	for i, want := range []step{{foundRecord, 10, 1000, 1}, {foundRecord, 13, 1001, -1}, {foundRecord, 15, 1002, 500}, {foundRecord, 20, 5000, 1}, {foundEnd, 30, 0, 0}, {foundNothing, 0, 0, 0}} {
		kind, err := c.read(&r)
		if err != nil || kind != want.kind {
			t.Fatalf("step %d: %d, %v", i, kind, err)
		}
		switch kind {
		case foundRecord:
			size := len(r.value)
			if r.value == nil {
				size = -1
			}
			if r.offset != want.offset || r.timeMillis != want.millis || size != want.size || c.epoch != 7 {
				t.Errorf("step %d: %+v of epoch %d, want %+v", i, r, c.epoch, want)
			}
		case foundEnd:
			if c.batchEnd != want.offset {
				t.Errorf("end %d", c.batchEnd)
			}
		}
	}
}

// FuzzBatchReader reads arbitrary bytes, the first batch with the right length and checksum: errors, never a panic or an endless loop.
func FuzzBatchReader(f *testing.F) {
	f.Add(encodeBatch(10, 0, 9, []int32{0, 3, 5}, [][]byte{[]byte("a"), nil, make([]byte, 500)}))
	f.Add(encodeBatch(10, 1<<5|1<<4, 0, []int32{0}, [][]byte{[]byte("a")}))
	for codec := range int16(5) {
		f.Add(encodeBatch(10, codec, 0, []int32{0}, [][]byte{[]byte("a")}))
	}
	f.Add(make([]byte, 40))
	inflate := testInflater(f)
	f.Fuzz(func(t *testing.T, buf []byte) {
		if len(buf) >= batchHeader {
			buf = seal(append([]byte(nil), buf...))
		}
		c := batchReader{rest: buf, inflate: inflate, aborted: map[int64][]int64{3: {0}}}
		behind(buf, 0)
		lastEpoch(buf, 0)
		var r record
		for n := 0; ; n++ {
			kind, err := c.read(&r)
			if err != nil || kind == foundNothing {
				return
			}
			if n > len(buf) {
				t.Fatal("more records than bytes")
			}
		}
	})
}
