package text

import (
	"unicode"
	"unicode/utf8"
)

func isLetter(r rune) bool { return unicode.IsLetter(r) }

func isDecimalDigit(r rune) bool { return unicode.Is(unicode.Nd, r) }

// AppendUpper is UPPER(s) as Java 17 does it without a locale: ß becomes SS.
func AppendUpper(dst, s []byte) []byte {
	if !isASCII(s) {
		return appendUpperRunes(dst, s)
	}
	n := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[n:] {
		if c-'a' <= 'z'-'a' {
			dst[n+i] = c - ('a' - 'A')
		}
	}
	return dst
}

func appendUpperRunes(dst, s []byte) []byte {
	for len(s) > 0 {
		r, w := utf8.DecodeRune(s)
		switch t, special := upperExceptions[r]; {
		case r == utf8.RuneError && w <= 1:
			dst = append(dst, s[:w]...)
		case special:
			dst = append(dst, t...)
		default:
			dst = utf8.AppendRune(dst, unicode.ToUpper(r))
		}
		s = s[w:]
	}
	return dst
}

// AppendLower is LOWER(s) as Java 17 does it without a locale: a capital sigma at the end of a word becomes ς.
func AppendLower(dst, s []byte) []byte {
	if !isASCII(s) {
		return appendLowerRunes(dst, s)
	}
	n := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[n:] {
		if c-'A' <= 'Z'-'A' {
			dst[n+i] = c + ('a' - 'A')
		}
	}
	return dst
}

func appendLowerRunes(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRune(s[i:])
		switch t, special := lowerExceptions[r]; {
		case r == utf8.RuneError && w <= 1:
			dst = append(dst, s[i:i+w]...)
		case r == 'Σ':
			if finalSigma(s, i) {
				dst = append(dst, "ς"...)
			} else {
				dst = append(dst, "σ"...)
			}
		case special:
			dst = append(dst, t...)
		default:
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		i += w
	}
	return dst
}

// finalSigma reports whether the sigma at s[i] follows a cased letter of its word and no cased letter of the word follows it. One
// apostrophe, point or colon between letters does not end a word (Java's word boundaries).
func finalSigma(s []byte, i int) bool {
	mid := false
	for before := s[:i]; ; {
		r, w := utf8.DecodeLastRune(before)
		if w == 0 {
			return false
		}
		before = before[:len(before)-w]
		switch {
		case cased(r):
			return !casedFollows(s[i+len("Σ"):])
		case midLetter(r) && !mid:
			mid = true
		case !caseIgnorable(r):
			return false
		}
	}
}

func casedFollows(after []byte) bool {
	mid := false
	for len(after) > 0 {
		r, w := utf8.DecodeRune(after)
		after = after[w:]
		switch {
		case cased(r):
			return true
		case midLetter(r) && !mid:
			mid = true
		case !caseIgnorable(r):
			return false
		}
	}
	return false
}

func midLetter(r rune) bool { return r == '\'' || r == '.' || r == ':' || r == '·' || r == '’' }

func cased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) || unicode.Is(unicode.Other_Lowercase, r) ||
		unicode.Is(unicode.Other_Uppercase, r)
}

func caseIgnorable(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) }

// AppendInitCap is INITCAP(s): words are runs of ASCII letters and digits; the first letter of a word becomes large, the others small. Other
// characters stay.
func AppendInitCap(dst, s []byte) []byte {
	inside := false
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z':
			if !inside {
				c -= 'a' - 'A'
			}
			inside = true
		case c >= 'A' && c <= 'Z':
			if inside {
				c += 'a' - 'A'
			}
			inside = true
		case c >= '0' && c <= '9':
			inside = true
		default:
			inside = false
		}
		dst = append(dst, c)
	}
	return dst
}
