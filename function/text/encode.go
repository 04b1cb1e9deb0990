package text

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendBase64 is TO_BASE64(s).
func AppendBase64(dst, s []byte) []byte { return base64.StdEncoding.AppendEncode(dst, s) }

// AppendFromBase64 is FROM_BASE64(s); padding may be missing. An error names the first byte at fault (SQL: the job fails).
func AppendFromBase64(dst, s []byte) ([]byte, error) {
	enc := base64.StdEncoding
	if len(s) > 0 && s[len(s)-1] != '=' {
		enc = base64.RawStdEncoding
	}
	for i, c := range s {
		if c == '\r' || c == '\n' {
			return dst, fmt.Errorf("FROM_BASE64: illegal base64 character %x at byte %d", c, i)
		}
	}
	out, err := enc.AppendDecode(dst, s)
	if err != nil {
		return dst, fmt.Errorf("FROM_BASE64: %w", err)
	}
	return out, nil
}

const upperHex = "0123456789ABCDEF"

// AppendHex is HEX(s): upper-case hexadecimal of the UTF-8 bytes.
func AppendHex(dst, s []byte) []byte {
	for _, c := range s {
		dst = append(dst, upperHex[c>>4], upperHex[c&15])
	}
	return dst
}

// AppendHexInt is HEX(n): the 64-bit two's complement without leading zeros.
func AppendHexInt(dst []byte, n int64) []byte {
	for shift := max(bits.Len64(uint64(n))-1, 0) &^ 3; shift >= 0; shift -= 4 {
		dst = append(dst, upperHex[uint64(n)>>shift&15])
	}
	return dst
}

// AppendUnhex is UNHEX(s); of an odd number of digits the first gives the byte 00, whatever it is (Flink's rule). ok is false (SQL: NULL)
// for other characters than hexadecimal digits.
func AppendUnhex(dst, s []byte) (out []byte, ok bool) {
	out = dst
	if len(s)%2 == 1 {
		if _, ok := hexDigit(s[0]); !ok {
			return dst, false
		}
		out, s = append(out, 0), s[1:]
	}
	for i := 0; i+1 < len(s); i += 2 {
		a, okA := hexDigit(s[i])
		b, okB := hexDigit(s[i+1])
		if !okA || !okB {
			return dst, false
		}
		out = append(out, a<<4|b)
	}
	return out, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// AppendBin is BIN(n): the 64-bit two's complement in binary without leading zeros.
func AppendBin(dst []byte, n int64) []byte { return strconv.AppendUint(dst, uint64(n), 2) }

// AppendURLEncode is URL_ENCODE(s): application/x-www-form-urlencoded.
func AppendURLEncode(dst, s []byte) []byte {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(".-*_", c) >= 0:
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// AppendURLDecode is URL_DECODE(s); ok is false (SQL: NULL) for a % without two hexadecimal digits. Bytes that make no UTF-8 become U+FFFD.
func AppendURLDecode(dst, s []byte) (out []byte, ok bool) {
	out = dst
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			out = append(out, ' ')
		case '%':
			if i+2 >= len(s) {
				return dst, false
			}
			a, okA := hexDigit(s[i+1])
			b, okB := hexDigit(s[i+2])
			if !okA || !okB {
				return dst, false
			}
			out = append(out, a<<4|b)
			i += 2
		default:
			out = append(out, s[i])
		}
	}
	if !utf8.Valid(out[len(dst):]) {
		out = append(out[:len(dst)], strings.ToValidUTF8(string(out[len(dst):]), "\uFFFD")...)
	}
	return out, true
}

// AppendMD5 is MD5(s), in lower-case hexadecimal.
func AppendMD5(dst, s []byte) []byte { d := md5.Sum(s); return hex.AppendEncode(dst, d[:]) }

// AppendSHA1 is SHA1(s), in lower-case hexadecimal.
func AppendSHA1(dst, s []byte) []byte { d := sha1.Sum(s); return hex.AppendEncode(dst, d[:]) }

// AppendSHA2 is SHA224, SHA256, SHA384, SHA512 and SHA2(s, bits), in lower-case hexadecimal. Other lengths are an error.
func AppendSHA2(dst, s []byte, length int64) ([]byte, error) {
	switch length {
	case 224:
		d := sha256.Sum224(s)
		return hex.AppendEncode(dst, d[:]), nil
	case 256:
		d := sha256.Sum256(s)
		return hex.AppendEncode(dst, d[:]), nil
	case 384:
		d := sha512.Sum384(s)
		return hex.AppendEncode(dst, d[:]), nil
	case 512:
		d := sha512.Sum512(s)
		return hex.AppendEncode(dst, d[:]), nil
	}
	return dst, fmt.Errorf("SHA2: length %d: use 224, 256, 384 or 512", length)
}

// Charset is a character set of ENCODE and DECODE.
type Charset uint8

// The character sets that every Java has.
const (
	UTF8 Charset = iota
	USASCII
	Latin1
	UTF16 // big endian, written with a byte order mark
	UTF16BE
	UTF16LE
)

// ParseCharset reads the name of a character set, in any case.
func ParseCharset(name string) (Charset, error) {
	switch strings.ToUpper(name) {
	case "UTF-8", "UTF8":
		return UTF8, nil
	case "US-ASCII", "ASCII":
		return USASCII, nil
	case "ISO-8859-1", "ISO8859-1", "LATIN1":
		return Latin1, nil
	case "UTF-16", "UTF16":
		return UTF16, nil
	case "UTF-16BE":
		return UTF16BE, nil
	case "UTF-16LE":
		return UTF16LE, nil
	}
	return 0, fmt.Errorf("character set %q is not supported: use UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE or UTF-16LE", name)
}

// AppendEncode is ENCODE(s, charset); characters the set has not become ?.
func AppendEncode(dst, s []byte, c Charset) []byte {
	switch c {
	case UTF8:
		return append(dst, s...)
	case UTF16:
		if len(s) == 0 {
			return dst
		}
		dst = append(dst, 0xfe, 0xff)
	}
	for len(s) > 0 {
		r, w := utf8.DecodeRune(s)
		s = s[w:]
		switch {
		case c == USASCII && r > 0x7f, c == Latin1 && r > 0xff:
			dst = append(dst, '?')
		case c == USASCII || c == Latin1:
			dst = append(dst, byte(r))
		case r > 0xffff:
			a, b := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, a, c), b, c)
		default:
			dst = appendUnit(dst, r, c)
		}
	}
	return dst
}

func appendUnit(dst []byte, u rune, c Charset) []byte {
	if c == UTF16LE {
		return append(dst, byte(u), byte(u>>8))
	}
	return append(dst, byte(u>>8), byte(u))
}

// AppendDecode is DECODE(s, charset); bytes that the set has not become U+FFFD.
func AppendDecode(dst, s []byte, c Charset) []byte {
	switch c {
	case UTF8:
		for len(s) > 0 {
			r, w := utf8.DecodeRune(s)
			dst = utf8.AppendRune(dst, r)
			s = s[w:]
		}
		return dst
	case USASCII, Latin1:
		for _, b := range s {
			if r := rune(b); c == USASCII && b > 0x7f {
				dst = append(dst, "\uFFFD"...)
			} else {
				dst = utf8.AppendRune(dst, r)
			}
		}
		return dst
	}
	little := c == UTF16LE
	if c == UTF16 && len(s) >= 2 && (s[0] == 0xfe && s[1] == 0xff || s[0] == 0xff && s[1] == 0xfe) {
		little, s = s[0] == 0xff, s[2:]
	}
	unit := func(i int) rune {
		if little {
			return rune(s[i]) | rune(s[i+1])<<8
		}
		return rune(s[i])<<8 | rune(s[i+1])
	}
	i := 0
	for ; i+1 < len(s); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) {
			if i+3 < len(s) {
				if pair := utf16.DecodeRune(r, unit(i+2)); pair != utf8.RuneError {
					dst = utf8.AppendRune(dst, pair)
					i += 2
					continue
				}
			}
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
	}
	if i < len(s) {
		dst = append(dst, "\uFFFD"...)
	}
	return dst
}
