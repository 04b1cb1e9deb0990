package parquet

import (
	"encoding/binary"
	"math/bits"
)

// Limits of a dictionary: entries (16 bits of index at most) and how far a lookup may walk, so that values chosen to collide cost no more
// than a change to plain encoding.
const (
	maxDictEntries = 1 << 15
	maxDictProbes  = 64
)

// dictionary maps values to indices in order of first use. Its page is the entries in PLAIN encoding.
type dictionary struct {
	// page has the entries; at their places in it (strings only).
	page []byte
	at   []uint32
	// ints are the entries of integer columns.
	ints []int64
	// table is open addressing, entry index + 1; its length is a power of two.
	table []uint32
	count int

	lastInt   int64
	lastBytes []byte // aliases page
	last      uint32
}

func (d *dictionary) reset() {
	d.page, d.at, d.ints, d.count, d.lastBytes = d.page[:0], d.at[:0], d.ints[:0], 0, nil
	clear(d.table)
}

// release gives the memory back.
func (d *dictionary) release() { *d = dictionary{} }

func (d *dictionary) held() int64 {
	return int64(cap(d.page) + 4*cap(d.at) + 8*cap(d.ints) + 4*cap(d.table))
}

func mix(h uint64) uint64 {
	hi, lo := bits.Mul64(h, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

func hashBytes(b []byte) uint64 {
	h := uint64(len(b)) * 0xff51afd7ed558ccd
	for len(b) >= 8 {
		h = mix(h ^ binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) >= 4 {
		return mix(h ^ uint64(binary.LittleEndian.Uint32(b))<<32 ^ uint64(binary.LittleEndian.Uint32(b[len(b)-4:])) ^ 0x51)
	}
	var tail uint64
	for _, c := range b {
		tail = tail<<8 | uint64(c)
	}
	return mix(h ^ tail)
}

// int returns the index of v; ok is false if the dictionary is full.
func (d *dictionary) int(v int64, wide bool) (uint32, bool) {
	if d.count > 0 && v == d.lastInt {
		return d.last, true
	}
	if d.count*2 >= len(d.table) && !d.grow() {
		return 0, false
	}
	mask := uint64(len(d.table) - 1)
	h := mix(uint64(v)) & mask
	for range maxDictProbes {
		e := d.table[h]
		if e == 0 {
			d.ints = append(d.ints, v)
			if wide {
				d.page = binary.LittleEndian.AppendUint64(d.page, uint64(v))
			} else {
				d.page = binary.LittleEndian.AppendUint32(d.page, uint32(v))
			}
			d.count++
			d.table[h] = uint32(d.count)
			e = uint32(d.count)
		}
		if d.ints[e-1] == v {
			d.lastInt, d.last = v, e-1
			return e - 1, true
		}
		h = (h + 1) & mask
	}
	return 0, false
}

// bytes returns the index of v; ok is false if the dictionary is full.
func (d *dictionary) bytes(v []byte) (uint32, bool) {
	if d.lastBytes != nil && string(v) == string(d.lastBytes) {
		return d.last, true
	}
	if d.count*2 >= len(d.table) && !d.grow() {
		return 0, false
	}
	mask := uint64(len(d.table) - 1)
	h := hashBytes(v) & mask
	for range maxDictProbes {
		e := d.table[h]
		if e == 0 {
			d.at = append(d.at, uint32(len(d.page)))
			d.page = binary.LittleEndian.AppendUint32(d.page, uint32(len(v)))
			d.page = append(d.page, v...)
			d.count++
			d.table[h] = uint32(d.count)
			e = uint32(d.count)
		}
		if entry := d.entry(e - 1); string(entry) == string(v) {
			d.lastBytes, d.last = entry, e-1
			return e - 1, true
		}
		h = (h + 1) & mask
	}
	return 0, false
}

// entry is the string with index i.
func (d *dictionary) entry(i uint32) []byte {
	at := d.at[i]
	n := binary.LittleEndian.Uint32(d.page[at:])
	return d.page[at+4 : at+4+n : at+4+n]
}

// grow doubles the table; false if there are too many entries.
func (d *dictionary) grow() bool {
	if d.count >= maxDictEntries {
		return false
	}
	size := max(16, 2*len(d.table))
	d.table = make([]uint32, size)
	mask := uint64(size - 1)
	for i := range d.count {
		var h uint64
		if len(d.ints) > 0 {
			h = mix(uint64(d.ints[i])) & mask
		} else {
			h = hashBytes(d.entry(uint32(i))) & mask
		}
		for d.table[h] != 0 {
			h = (h + 1) & mask
		}
		d.table[h] = uint32(i + 1)
	}
	return true
}

// width is the number of bits of an index; at least one, since not every reader takes none.
func (d *dictionary) width() uint { return uint(max(1, bits.Len(uint(max(d.count-1, 0))))) }
