package kernel

import "staunch/changelog"

// AppendSpans appends to the byte column dst a text for each of the n rows of the int64 column in. text gives the text of a value and the span
// [lo, hi) of values that have the same one; it is asked once per run of rows in a span.
func AppendSpans(dst *changelog.Column, in Vec, n int, text func(v int64) (text []byte, lo, hi int64)) {
	values, step := in.Col.I64, stride(in.Col.I64)
	off, data := append(dst.Off[:0], 0), dst.Data[:0]
	lo, hi := int64(0), int64(0) // the current run's span, empty at first
	var cur []byte
	hasNulls := in.Col.Nulls > 0
	for i := range n {
		if hasNulls && in.IsNull(i) {
			off = append(off, int32(len(data)))
			continue
		}
		if v := values[i&step]; v < lo || v >= hi {
			cur, lo, hi = text(v)
		}
		data = append(data, cur...)
		off = append(off, int32(len(data)))
	}
	dst.Off, dst.Data, dst.N = off, data, n
	Strict(dst, n, in)
}
