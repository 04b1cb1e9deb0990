package parquet

import "encoding/binary"

// Encodings and page types of the format's Thrift definition (parquet.thrift: Encoding, PageType).
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3

	pageData       = 0
	pageDictionary = 2
)

// appendVarint appends an unsigned LEB128 number.
func appendVarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

// appendField32 appends a field of Thrift's compact protocol: an i32 whose id is delta higher than the field before it.
func appendField32(dst []byte, delta byte, v int32) []byte {
	const typeI32 = 5
	dst = append(dst, delta<<4|typeI32)
	return appendVarint(dst, uint64(uint32(v<<1)^uint32(v>>31)))
}

// appendPageHeader appends the PageHeader of a data or dictionary page of version 1.
func appendPageHeader(dst []byte, pageType, uncompressed, compressed, values, encoding int32) []byte {
	const typeStruct, stop = 12, 0
	dst = appendField32(dst, 1, pageType)
	dst = appendField32(dst, 1, uncompressed)
	dst = appendField32(dst, 1, compressed)
	if pageType == pageDictionary {
		dst = append(dst, 4<<4|typeStruct) // field 7
		dst = appendField32(dst, 1, values)
		dst = appendField32(dst, 1, encoding)
		return append(dst, stop, stop)
	}
	dst = append(dst, 2<<4|typeStruct) // field 5
	dst = appendField32(dst, 1, values)
	dst = appendField32(dst, 1, encoding)
	dst = appendField32(dst, 1, encodingRLE) // definition levels
	dst = appendField32(dst, 1, encodingRLE) // repetition levels
	return append(dst, stop, stop)
}

// appendLevels appends the definition levels of n rows, of which nulls are NULL by the bitmap valid: one run where all are the same, else
// the bitmap itself, which is what bit-packing with one bit gives.
func appendLevels(dst []byte, n, nulls int, valid []uint64) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	switch {
	case nulls == 0:
		dst = append(appendVarint(dst, uint64(n)<<1), 1)
	case nulls == n:
		dst = append(appendVarint(dst, uint64(n)<<1), 0)
	default:
		groups := (n + 7) / 8
		dst = appendVarint(dst, uint64(groups)<<1|1)
		for i := range groups {
			dst = append(dst, byte(valid[i>>3]>>(8*uint(i&7))))
		}
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendIndices appends dictionary indices in the hybrid of runs and bit-packing, headed by the bit width.
func appendIndices(dst []byte, idx []uint32, width uint) []byte {
	dst = append(dst, byte(width))
	literal := 0 // where the pending bit-packed values begin; always a multiple of 8 before i
	for i := 0; i < len(idx); {
		run := 1
		v := idx[i]
		for i+run < len(idx) && idx[i+run] == v {
			run++
		}
		if run >= 16 || run >= 8 && i+run == len(idx) {
			dst = appendPacked(dst, idx[literal:i], width)
			dst = appendVarint(dst, uint64(run)<<1)
			for b := uint(0); b < width; b += 8 {
				dst = append(dst, byte(v>>b))
			}
			i += run
			literal = i
			continue
		}
		i = min(i+8, len(idx))
	}
	return appendPacked(dst, idx[literal:], width)
}

// appendPacked appends one bit-packed run, filled up with zeros to a multiple of 8 values.
func appendPacked(dst []byte, idx []uint32, width uint) []byte {
	if len(idx) == 0 {
		return dst
	}
	groups := (len(idx) + 7) / 8
	dst = appendVarint(dst, uint64(groups)<<1|1)
	size := groups * int(width)
	at := len(dst)
	for cap(dst)-at < size+8 {
		dst = append(dst[:cap(dst)], 0)
	}
	dst = dst[:at+size+8]
	var acc uint64
	var bits uint
	p := at
	for _, v := range idx {
		acc |= uint64(v) << bits
		bits += width
		if bits >= 32 {
			binary.LittleEndian.PutUint32(dst[p:], uint32(acc))
			p += 4
			acc >>= 32
			bits -= 32
		}
	}
	binary.LittleEndian.PutUint64(dst[p:], acc)
	// Behind the last bits there may be old bytes up to the end of the last group.
	for p += 8; p < at+size; p++ {
		dst[p] = 0
	}
	return dst[:at+size]
}
