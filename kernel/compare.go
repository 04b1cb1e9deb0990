package kernel

import (
	"bytes"
	"cmp"

	"staunch/changelog"
)

// Eq gives a = b. A slice of length 1 is a constant.
func Eq[T comparable](dst []bool, a, b []T) {
	switch {
	case len(b) == 1:
		y := b[0]
		if len(a) == 1 {
			fillN(dst, a[0] == y)
			return
		}
		for i, x := range a[:len(dst)] {
			dst[i] = x == y
		}
	case len(a) == 1:
		Eq(dst, b, a)
	default:
		b = b[:len(dst)]
		for i, x := range a[:len(dst)] {
			dst[i] = x == b[i]
		}
	}
}

// Ne gives a <> b. A slice of length 1 is a constant.
func Ne[T comparable](dst []bool, a, b []T) {
	switch {
	case len(b) == 1:
		y := b[0]
		if len(a) == 1 {
			fillN(dst, a[0] != y)
			return
		}
		for i, x := range a[:len(dst)] {
			dst[i] = x != y
		}
	case len(a) == 1:
		Ne(dst, b, a)
	default:
		b = b[:len(dst)]
		for i, x := range a[:len(dst)] {
			dst[i] = x != b[i]
		}
	}
}

// Lt gives a < b. A slice of length 1 is a constant.
func Lt[T cmp.Ordered](dst []bool, a, b []T) {
	switch {
	case len(b) == 1:
		y := b[0]
		if len(a) == 1 {
			fillN(dst, a[0] < y)
			return
		}
		for i, x := range a[:len(dst)] {
			dst[i] = x < y
		}
	case len(a) == 1:
		x := a[0]
		for i, y := range b[:len(dst)] {
			dst[i] = x < y
		}
	default:
		b = b[:len(dst)]
		for i, x := range a[:len(dst)] {
			dst[i] = x < b[i]
		}
	}
}

// Le gives a <= b. A slice of length 1 is a constant.
func Le[T cmp.Ordered](dst []bool, a, b []T) {
	switch {
	case len(b) == 1:
		y := b[0]
		if len(a) == 1 {
			fillN(dst, a[0] <= y)
			return
		}
		for i, x := range a[:len(dst)] {
			dst[i] = x <= y
		}
	case len(a) == 1:
		x := a[0]
		for i, y := range b[:len(dst)] {
			dst[i] = x <= y
		}
	default:
		b = b[:len(dst)]
		for i, x := range a[:len(dst)] {
			dst[i] = x <= b[i]
		}
	}
}

// LtBool gives a < b with FALSE before TRUE.
func LtBool(dst, a, b []bool) {
	sa, sb := stride(a), stride(b)
	for i := range dst {
		dst[i] = !a[i&sa] && b[i&sb]
	}
}

// LeBool gives a <= b with FALSE before TRUE.
func LeBool(dst, a, b []bool) {
	sa, sb := stride(a), stride(b)
	for i := range dst {
		dst[i] = !a[i&sa] || b[i&sb]
	}
}

// EqBytes gives a = b, bytes for bytes (trailing blanks count), negated if ne.
func EqBytes(dst []bool, a, b Vec, ne bool) {
	if a.Const && !b.Const {
		a, b = b, a
	}
	if a.Const {
		fillN(dst, bytes.Equal(a.Col.Bytes(0), b.Col.Bytes(0)) != ne)
		return
	}
	if b.Const {
		eqConst(dst, a.Col, b.Col.Bytes(0), ne)
		return
	}
	n := len(dst)
	ao, bo, ad, bd := a.Col.Off[:n+1], b.Col.Off[:n+1], a.Col.Data, b.Col.Data
	for i := range dst {
		x, y := ad[ao[i]:ao[i+1]], bd[bo[i]:bo[i+1]]
		dst[i] = (string(x) == string(y)) != ne
	}
}

// eqConst compares lengths by the offsets alone and looks at the bytes only where they agree.
func eqConst(dst []bool, a *changelog.Column, y []byte, ne bool) {
	n := len(dst)
	off, data, want := a.Off[:n+1], a.Data, int32(len(y))
	lo := off[0]
	for i := range dst {
		hi := off[i+1]
		dst[i] = (hi-lo == want && string(data[lo:hi]) == string(y)) != ne
		lo = hi
	}
}

// LtBytes gives a < b in byte order (for UTF-8: the order of code points).
func LtBytes(dst []bool, a, b Vec) {
	for i := range dst {
		dst[i] = bytes.Compare(a.Col.Bytes(a.Index(i)), b.Col.Bytes(b.Index(i))) < 0
	}
}

// LeBytes gives a <= b in byte order.
func LeBytes(dst []bool, a, b Vec) {
	for i := range dst {
		dst[i] = bytes.Compare(a.Col.Bytes(a.Index(i)), b.Col.Bytes(b.Index(i))) <= 0
	}
}
