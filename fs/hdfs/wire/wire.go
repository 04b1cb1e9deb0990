package wire

import "google.golang.org/protobuf/encoding/protowire"

// Field is one field of a message. Int holds numbers, Bytes what has a length. A field of another type than the reader expects reads as zero or
// empty.
type Field struct {
	Num   protowire.Number
	Type  protowire.Type
	Int   uint64
	Bytes []byte
}

// Next takes the first field off b.
func Next(b []byte) (f Field, rest []byte, err error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, nil, protowire.ParseError(n)
	}
	f.Num, f.Type, b = num, typ, b[n:]
	switch typ {
	case protowire.VarintType:
		f.Int, n = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.Int = uint64(v)
	case protowire.Fixed64Type:
		f.Int, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.Bytes, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	if n < 0 {
		return f, nil, protowire.ParseError(n)
	}
	return f, b[n:], nil
}

// Fields calls do for each field of a message in order. Unknown fields are the callee's to ignore.
func Fields(b []byte, do func(Field) error) error {
	for len(b) > 0 {
		f, rest, err := Next(b)
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
