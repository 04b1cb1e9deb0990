package datanode

import (
	"bytes"
	"hash/crc32"
	"net"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

func nodeBytes(ip, host, uuid string, port uint64) []byte {
	id := appendUint(appendString(appendString(appendString(nil, 1, ip), 2, host), 3, uuid), 4, port)
	return appendUint(appendBytes(nil, 1, id), 2, 123) // 2: capacity, of no interest
}

func locatedBytes(b Block, offset uint64, token []byte, packed bool, nodes ...[]byte) []byte {
	m := appendUint(appendBytes(nil, 1, b.Append(nil)), 2, offset)
	for _, n := range nodes {
		m = appendBytes(m, 3, n)
	}
	m = appendBytes(appendUint(m, 4, 1), 5, token)
	var kinds []byte
	for i := range nodes {
		if packed {
			kinds = protowire.AppendVarint(kinds, uint64(i+1))
		} else {
			m = appendUint(m, 7, uint64(i+1))
		}
	}
	if packed {
		m = appendBytes(m, 7, kinds)
	}
	for i := range nodes {
		m = appendString(m, 8, string(rune('a'+i)))
	}
	return m
}

func TestParseLocated(t *testing.T) {
	b := Block{Pool: "BP-1", ID: 1<<63 + 5, Generation: 1001, Length: 77}
	for _, packed := range []bool{false, true} {
		n1, n2 := nodeBytes("10.0.0.1", "one", "u1", 9866), nodeBytes("fd00::1", "two", "u2", 9867)
		msg := locatedBytes(b, 128, []byte("tok"), packed, n1, n2)
		l, err := ParseLocated(msg)
		if err != nil {
			t.Fatal(err)
		}
		clear(msg) // nothing of it is kept
		want := Located{Block: b, Offset: 128, Token: Token("tok"), Corrupt: true, Nodes: []Node{
			{Raw: n1, IP: "10.0.0.1", Host: "one", Port: 9866, UUID: "u1", StorageID: "a", StorageType: 1},
			{Raw: n2, IP: "fd00::1", Host: "two", Port: 9867, UUID: "u2", StorageID: "b", StorageType: 2}}}
		if !reflect.DeepEqual(l, want) {
			t.Errorf("%+v", l)
		}
		if l.Nodes[1].Addr() != "[fd00::1]:9867" || l.Nodes[1].HostAddr() != "two:9867" {
			t.Error(l.Nodes[1].Addr(), l.Nodes[1].HostAddr())
		}
		if back, err := ParseBlock(l.Block.Append(nil)); back != b || err != nil {
			t.Error(back, err)
		}
	}
}

func TestParseFile(t *testing.T) {
	b := locatedBytes(Block{Pool: "p", ID: 1, Length: 5}, 0, nil, false, nodeBytes("1.1.1.1", "", "u", 1))
	m := appendBytes(appendBytes(appendUint(nil, 1, 5), 2, b), 4, b)
	f, err := ParseFile(appendUint(appendUint(m, 3, 1), 5, 1))
	if err != nil || f.Length != 5 || len(f.Blocks) != 1 || !f.UnderConstruction || f.Last == nil || !f.LastComplete || f.Encrypted || f.Erasure {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = ParseFile(appendBytes(m, 6, nil)); err != nil || !f.Encrypted {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = ParseFile(appendBytes(m, 7, appendUint(appendString(nil, 1, "RS-6-3-1024k"), 4, 1))); err != nil || !f.Erasure {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = ParseFile(appendBytes(m, 7, appendUint(nil, 4, 0))); err != nil || f.Erasure {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestBadMessages: each prefix of a good message is refused or read, without a panic.
func TestBadMessages(t *testing.T) {
	located := locatedBytes(Block{Pool: "p", ID: 1}, 0, []byte("t"), true, nodeBytes("1.1.1.1", "h", "u", 1))
	file := appendBytes(appendBytes(nil, 2, located), 4, located)
	for n := range len(located) {
		_, _ = ParseLocated(located[:n])
	}
	for n := range len(file) {
		_, _ = ParseFile(file[:n])
	}
	for what, b := range map[string][]byte{"empty": nil, "no block": appendUint(nil, 2, 5), "block without pool": appendBytes(nil, 1, appendUint(nil, 2, 5)),
		"node without port": locatedBytes(Block{Pool: "p", ID: 1}, 0, nil, false, appendBytes(nil, 1, appendString(nil, 1, "1.1.1.1"))), "noise": {0xff, 0xff}} {
		if l, err := ParseLocated(b); err == nil {
			t.Errorf("%s: %+v", what, l)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(locatedBytes(Block{Pool: "p", ID: 1}, 0, []byte("t"), true, nodeBytes("1.1.1.1", "h", "u", 1)))
	f.Add(appendUint(appendUint(nil, 1, 4), 2, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a ack
		var h packetHeader
		if a.parse(b) == nil && len(a.replies) > maxPipeline {
			t.Error(len(a.replies))
		}
		_ = h.parse(b)
		_, _ = ParseFile(b)
		_, _ = parseOpResponse(b)
		if l, err := ParseLocated(b); err == nil {
			if back, err := ParseBlock(l.Block.Append(nil)); back != l.Block || err != nil {
				t.Error(back, err)
			}
		}
	})
}

func TestPacketForm(t *testing.T) {
	o := Options{Client: "c", ChunkSize: 4, BlockSize: 1 << 20}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	for _, sync := range []bool{false, true} {
		p := newPacket(&o, 8)
		p.sync = sync
		p.add([]byte("abcdefghij"), o.BlockSize)
		p.seal(&o, 3)
		raw, h, sums, data, err := receivePacket(bytes.NewReader(p.wire), ChecksumCRC32C, 4)
		if err != nil || len(raw) != len(p.wire) || h != (packetHeader{offset: 8, seq: 3, dataLen: 10, sync: sync}) || string(data) != "abcdefghij" {
			t.Errorf("%+v %q %v", h, data, err)
		}
		if bad := ChecksumCRC32C.verify(sums, data, 4); bad != -1 {
			t.Error(bad)
		}
		data[9] ^= 1
		if bad := ChecksumCRC32C.verify(sums, data, 4); bad != 8 {
			t.Error(bad)
		}
	}
}

// TestKnownChecksums: the standard's check values, so that both kinds are what HDFS means.
func TestKnownChecksums(t *testing.T) {
	for c, want := range map[Checksum]uint32{ChecksumCRC32: 0xcbf43926, ChecksumCRC32C: 0xe3069283} {
		if got := crc32.Checksum([]byte("123456789"), c.table()); got != want {
			t.Errorf("%v: %x", c, got)
		}
	}
}

// TestFramesInPieces: messages are found however they arrive, and a deadline loses nothing.
func TestFramesInPieces(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	var all []byte
	for i := range 300 {
		all = protowire.AppendBytes(all, bytes.Repeat([]byte{byte(i)}, i))
	}
	go func() {
		defer far.Close()
		for i, b := range all {
			if _, err := far.Write([]byte{b}); err != nil && i < len(all) {
				return
			}
		}
	}()
	f := &frames{conn: near}
	for i := range 300 {
		if b, err := f.next(time.Now().Add(-time.Second)); !timedOut(err) {
			t.Fatalf("%d bytes after the deadline, %v", len(b), err)
		}
		b, err := f.next(time.Now().Add(time.Minute))
		if err != nil || len(b) != i {
			t.Fatalf("message %d: %d bytes, %v", i, len(b), err)
		}
	}
	if _, err := (&frames{conn: near}).next(time.Now().Add(time.Minute)); err == nil {
		t.Error("a message after the end")
	}
}

func TestFrameTooLong(t *testing.T) {
	f := &frames{buf: []byte{0xff, 0xff, 0xff, 0xff, 0x7f}, w: 5}
	if _, err := f.take(); err == nil {
		t.Error("a message of 34 GB was taken")
	}
	f = &frames{buf: bytes.Repeat([]byte{0xff}, 11), w: 11}
	if _, err := f.take(); err == nil {
		t.Error("a length without end was taken")
	}
}
