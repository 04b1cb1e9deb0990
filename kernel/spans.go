package kernel

import "staunch/changelog"

// AppendSpans appends to the byte column dst, for each of the n rows of the int64 column in, the text of the span of time that the value lies in:
// text(bucket, v) is called once per run of equal buckets, a bucket being v/span floored; its result must be the same for all v of a bucket.
func AppendSpans(dst *changelog.Column, in Vec, n int, span int64, text func(bucket, v int64) []byte) {
	values, step := in.Col.I64, stride(in.Col.I64)
	off := append(dst.Off[:0], 0)
	data := dst.Data[:0]
	lo, hi := int64(0), int64(0) // the current run's span, empty at first
	var cur []byte
	hasNulls := in.Col.Nulls > 0
	for i := range n {
		if hasNulls && in.IsNull(i) {
			off = append(off, int32(len(data)))
			continue
		}
		if v := values[i&step]; v < lo || v >= hi {
			bucket := v / span
			if v%span < 0 {
				bucket--
			}
			lo = bucket * span
			hi = lo + span
			cur = text(bucket, v)
		}
		data = append(data, cur...)
		off = append(off, int32(len(data)))
	}
	dst.Off, dst.Data, dst.N = off, data, n
	Strict(dst, n, in)
}
