package filesystem

import "strings"

// escaped has the ASCII characters that stand as %XX in a partition folder's name: those of Hive's FileUtils, and '}' as Flink 2.3 has it.
// All bytes from 0x80 (UTF-8) stay.
var escaped = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	for _, c := range []byte("\"#%'*/:=?\\\x7f{}[]^") {
		t[c] = true
	}
	return t
}()

const hexDigits = "0123456789ABCDEF"

// Escape gives s as it stands in the name of a partition's folder.
func Escape(s string) string {
	n := 0
	for i := range len(s) {
		if escaped[s[i]] {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; escaped[c] {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// Unescape is the reverse of Escape; a '%' that two hexadecimal digits do not follow stands for itself, as in Hive.
func Unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if ok1 && ok2 {
				b = append(b, hi<<4|lo)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
