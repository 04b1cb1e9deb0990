package text

import (
	"bytes"
	"unicode/utf8"
)

// isASCII reports whether all bytes are below 0x80.
func isASCII(s []byte) bool {
	for len(s) >= 8 {
		if (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&0x80 != 0 {
			return false
		}
		s = s[8:]
	}
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// CharLength is CHAR_LENGTH(s): code points.
func CharLength(s []byte) int { return utf8.RuneCount(s) }

// offset returns the byte position of code point n, len(s) if s is shorter.
func offset(s []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, w := utf8.DecodeRune(s[i:])
		i += w
	}
	return i
}

// Substring is SUBSTRING(s FROM start): start 0 is 1, negative starts count from the end, before the beginning it is empty.
func Substring(s []byte, start int64) []byte {
	r, _ := SubstringFor(s, start, 1<<62)
	return r
}

// SubstringFor is SUBSTRING(s FROM start FOR length); ok is false (SQL: NULL) for a negative length. The result shares memory with s.
func SubstringFor(s []byte, start, length int64) (sub []byte, ok bool) {
	if length < 0 {
		return nil, false
	}
	switch {
	case start > 0:
		start--
	case start < 0:
		if start += int64(CharLength(s)); start < 0 {
			return s[:0], true
		}
	}
	if start >= int64(len(s)) {
		return s[:0], true
	}
	s = s[offset(s, int(start)):]
	if length >= int64(len(s)) {
		return s, true
	}
	return s[:offset(s, int(length))], true
}

// Left is LEFT(s, n), empty for n <= 0.
func Left(s []byte, n int64) []byte {
	if n <= 0 {
		return s[:0]
	}
	if n >= int64(len(s)) {
		return s
	}
	return s[:offset(s, int(n))]
}

// Right is RIGHT(s, n), empty for n <= 0.
func Right(s []byte, n int64) []byte {
	if n <= 0 {
		return s[:0]
	}
	if c := int64(CharLength(s)); n < c {
		return s[offset(s, int(c-n)):]
	}
	return s
}

// Truncate cuts s to n code points (CAST to VARCHAR(n)).
func Truncate(s []byte, n int) []byte { return Left(s, int64(n)) }

// AppendPadTo appends s cut or padded with spaces to n code points (CAST to CHAR(n)).
func AppendPadTo(dst, s []byte, n int) []byte {
	s = Left(s, int64(n))
	dst = append(dst, s...)
	for i := CharLength(s); i < n; i++ {
		dst = append(dst, ' ')
	}
	return dst
}

// Position is POSITION(sub IN s): the 1-based code point where sub begins, 0 if nowhere, 1 for an empty sub.
func Position(sub, s []byte) int { return PositionFrom(sub, s, 1) }

// PositionFrom is POSITION(sub IN s FROM from) and LOCATE(sub, s, from): the search begins at code point from, 1 if it is smaller.
func PositionFrom(sub, s []byte, from int64) int {
	if len(sub) == 0 {
		return 1
	}
	if from > int64(len(s)) {
		return 0
	}
	start := offset(s, int(max(from, 1)-1))
	i := bytes.Index(s[start:], sub)
	if i < 0 {
		return 0
	}
	return CharLength(s[:start+i]) + 1
}

// AppendReverse is REVERSE(s), by code point.
func AppendReverse(dst, s []byte) []byte {
	for len(s) > 0 {
		_, w := utf8.DecodeLastRune(s)
		dst = append(dst, s[len(s)-w:]...)
		s = s[:len(s)-w]
	}
	return dst
}

// AppendReplace is REPLACE(s, search, with); an empty search puts with before each character and at the end.
func AppendReplace(dst, s, search, with []byte) []byte {
	if len(search) == 0 {
		for len(s) > 0 {
			_, w := utf8.DecodeRune(s)
			dst = append(append(dst, with...), s[:w]...)
			s = s[w:]
		}
		return append(dst, with...)
	}
	for {
		i := bytes.Index(s, search)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), with...)
		s = s[i+len(search):]
	}
}

// AppendRepeat is REPEAT(s, n), empty for n <= 0. ok is false where the result would be longer than a string may be.
func AppendRepeat(dst, s []byte, n int64) (out []byte, ok bool) {
	if n <= 0 || len(s) == 0 {
		return dst, true
	}
	if n > maxBytes/int64(len(s)) {
		return dst, false
	}
	for ; n > 0; n-- {
		dst = append(dst, s...)
	}
	return dst, true
}

// maxBytes is the longest value a column can hold.
const maxBytes = 1<<31 - 1

// utf16Len counts UTF-16 units.
func utf16Len(s []byte) int {
	n := 0
	for i := 0; i < len(s); {
		w := 1
		if s[i] >= utf8.RuneSelf {
			if _, w = utf8.DecodeRune(s[i:]); w == 4 {
				n++
			}
		}
		n++
		i += w
	}
	return n
}

// appendUnits appends the UTF-16 units [from, to) of s; half a pair becomes '?'.
func appendUnits(dst, s []byte, from, to int) []byte {
	at := 0
	for i := 0; i < len(s) && at < to; {
		w, units := 1, 1
		if s[i] >= utf8.RuneSelf {
			if _, w = utf8.DecodeRune(s[i:]); w == 4 {
				units = 2
			}
		}
		switch {
		case at >= from && at+units <= to:
			dst = append(dst, s[i:i+w]...)
		case at+units > from:
			dst = append(dst, '?')
		}
		at += units
		i += w
	}
	return dst
}

// AppendLPad is LPAD(s, n, pad): s cut or padded in front to n UTF-16 units. ok is false (SQL: NULL) for a negative n, an empty pad and
// results longer than a string may be.
func AppendLPad(dst, s []byte, n int64, pad []byte) (out []byte, ok bool) {
	if n < 0 || len(pad) == 0 || n > maxBytes {
		return dst, false
	}
	have := utf16Len(s)
	if int(n) <= have {
		return appendUnits(dst, s, 0, int(n)), true
	}
	return append(appendPadding(dst, pad, int(n)-have), s...), true
}

// AppendRPad is RPAD(s, n, pad), as AppendLPad behind s.
func AppendRPad(dst, s []byte, n int64, pad []byte) (out []byte, ok bool) {
	if n < 0 || len(pad) == 0 || n > maxBytes {
		return dst, false
	}
	have := utf16Len(s)
	if int(n) <= have {
		return appendUnits(dst, s, 0, int(n)), true
	}
	return appendPadding(append(dst, s...), pad, int(n)-have), true
}

func appendPadding(dst, pad []byte, n int) []byte {
	for units := utf16Len(pad); n >= units; n -= units {
		dst = append(dst, pad...)
	}
	return appendUnits(dst, pad, 0, n)
}

// AppendOverlay is OVERLAY(s PLACING with FROM start FOR length), counted in UTF-16 units: s unchanged for a start below 1 or behind s; a
// length that reaches behind s or is not positive replaces the rest.
func AppendOverlay(dst, s, with []byte, start, length int64) []byte {
	n := int64(utf16Len(s))
	if start <= 0 || start > n {
		return append(dst, s...)
	}
	dst = append(appendUnits(dst, s, 0, int(start-1)), with...)
	if length <= 0 || length > n-start {
		return dst
	}
	return appendUnits(dst, s, int(start-1+length), int(n))
}

// AppendOverlayAll is OVERLAY(s PLACING with FROM start): as many units are replaced as with has, all if it is empty (Flink's rule).
func AppendOverlayAll(dst, s, with []byte, start int64) []byte {
	return AppendOverlay(dst, s, with, start, int64(utf16Len(with)))
}

// SplitIndex is SPLIT_INDEX(s, sep, index), 0-based; ok is false (SQL: NULL) for an empty s, a negative index and one behind the last
// part. An empty sep splits at white space.
func SplitIndex(s, sep []byte, index int64) (part []byte, ok bool) {
	if index < 0 || len(s) == 0 {
		return nil, false
	}
	for ; ; index-- {
		i, w := bytes.Index(s, sep), len(sep)
		if w == 0 {
			i, w = bytes.IndexAny(s, " \t\n\v\f\r\x1c\x1d\x1e\x1f"), 1
		}
		if index == 0 {
			if i < 0 {
				return s, true
			}
			return s[:i], true
		}
		if i < 0 {
			return nil, false
		}
		s = s[i+w:]
	}
}

// Split is SPLIT(s, sep): yields the parts; an empty s has none, an empty sep splits into characters. It stops when yield returns false.
func Split(s, sep []byte, yield func(part []byte) bool) {
	if len(s) == 0 {
		return
	}
	for {
		i := bytes.Index(s, sep)
		if len(sep) == 0 {
			_, i = utf8.DecodeRune(s)
			if i == len(s) {
				i = -1
			}
		}
		if i < 0 {
			yield(s)
			return
		}
		if !yield(s[:i]) {
			return
		}
		s = s[i+len(sep):]
	}
}

// AppendConcatWS is CONCAT_WS(sep, parts...) without the parts that are NULL (nil slices).
func AppendConcatWS(dst, sep []byte, parts ...[]byte) []byte {
	first := true
	for _, p := range parts {
		if p == nil {
			continue
		}
		if !first {
			dst = append(dst, sep...)
		}
		first = false
		dst = append(dst, p...)
	}
	return dst
}

// Elt is ELT(index, parts...), 1-based; ok is false (SQL: NULL) out of range.
func Elt(index int64, parts ...[]byte) (part []byte, ok bool) {
	if index < 1 || index > int64(len(parts)) {
		return nil, false
	}
	return parts[index-1], true
}

// ASCII is ASCII(s): the first byte as a signed number, 0 for an empty string.
func ASCII(s []byte) int32 {
	if len(s) == 0 {
		return 0
	}
	return int32(int8(s[0]))
}

// AppendChr is CHR(n): the character of the low byte of n, nothing for a negative n.
func AppendChr(dst []byte, n int64) []byte {
	if n < 0 {
		return dst
	}
	return utf8.AppendRune(dst, rune(n&0xff))
}

// AppendTranslate is TRANSLATE(s, from, to): each character of from becomes the one at its place in to, or is left out where to is
// shorter; of doubled characters in from the first counts.
func AppendTranslate(dst, s, from, to []byte) []byte {
	for len(s) > 0 {
		_, w := utf8.DecodeRune(s)
		dst = appendMapped(dst, s[:w], from, to)
		s = s[w:]
	}
	return dst
}

func appendMapped(dst, char, from, to []byte) []byte {
	for len(from) > 0 {
		_, w := utf8.DecodeRune(from)
		_, v := utf8.DecodeRune(to)
		if len(to) == 0 {
			v = 0
		}
		if bytes.Equal(from[:w], char) {
			return append(dst, to[:v]...)
		}
		from, to = from[w:], to[v:]
	}
	return append(dst, char...)
}

// Trim is TRIM(BOTH | LEADING | TRAILING chars FROM s): chars is a set of characters. The result shares memory with s.
func Trim(s, chars []byte, leading, trailing bool) []byte {
	if leading {
		s = TrimLeft(s, chars)
	}
	if trailing {
		s = TrimRight(s, chars)
	}
	return s
}

// Space is the set of characters that TRIM, LTRIM, RTRIM and BTRIM cut without an argument.
var Space = []byte{' '}

// TrimLeft is LTRIM(s, chars).
func TrimLeft(s, chars []byte) []byte {
	for len(s) > 0 {
		_, w := utf8.DecodeRune(s)
		if !bytes.Contains(chars, s[:w]) {
			break
		}
		s = s[w:]
	}
	return s
}

// TrimRight is RTRIM(s, chars).
func TrimRight(s, chars []byte) []byte {
	for len(s) > 0 {
		_, w := utf8.DecodeLastRune(s)
		if !bytes.Contains(chars, s[len(s)-w:]) {
			break
		}
		s = s[:len(s)-w]
	}
	return s
}

// IsAlpha is IS_ALPHA(s) for text: not empty and letters only.
func IsAlpha(s []byte) bool { return all(s, isLetter) }

// IsDigit is IS_DIGIT(s) for text: not empty and decimal digits only.
func IsDigit(s []byte) bool { return all(s, isDecimalDigit) }

func all(s []byte, is func(rune) bool) bool {
	if len(s) == 0 {
		return false
	}
	for len(s) > 0 {
		r, w := utf8.DecodeRune(s)
		if !is(r) {
			return false
		}
		s = s[w:]
	}
	return true
}

// StartsWith is STARTSWITH(s, prefix); the empty prefix is TRUE.
func StartsWith(s, prefix []byte) bool { return bytes.HasPrefix(s, prefix) }

// EndsWith is ENDSWITH(s, suffix); the empty suffix is TRUE.
func EndsWith(s, suffix []byte) bool { return bytes.HasSuffix(s, suffix) }
