package text

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

type likeKind uint8

const (
	likeExact likeKind = iota
	likePrefix
	likeSuffix
	likeContains
	likeBetween // prefix%suffix
	likeGeneral
)

// Like is a compiled LIKE pattern: % is any text, _ any one character. The common shapes are comparisons of bytes.
type Like struct {
	kind        likeKind
	head, tail  []byte
	parts       []likePart // general only
	minimumSize int
}

// likePart is a run of characters between two %.
type likePart struct {
	text []byte
	any  []int // byte positions in text where any character stands (a filler byte is there)
}

// CompileLike compiles a pattern without ESCAPE: the backslash is an ordinary character.
func CompileLike(pattern string) *Like {
	l, _ := compileLike(pattern, utf8.RuneError, false)
	return l
}

// CompileLikeEscape compiles a pattern with ESCAPE: escape must be one character, and before it may stand only %, _ and itself.
func CompileLikeEscape(pattern, escape string) (*Like, error) {
	r, w := utf8.DecodeRuneInString(escape)
	if w == 0 || w != len(escape) {
		return nil, fmt.Errorf("LIKE: the escape must be one character, not %q", escape)
	}
	return compileLike(pattern, r, true)
}

func compileLike(pattern string, escape rune, escaped bool) (*Like, error) {
	parts := []likePart{{}}
	for i := 0; i < len(pattern); {
		r, w := utf8.DecodeRuneInString(pattern[i:])
		last := &parts[len(parts)-1]
		switch {
		case escaped && r == escape:
			next, v := utf8.DecodeRuneInString(pattern[i+w:])
			if v == 0 || next != '%' && next != '_' && next != escape {
				return nil, fmt.Errorf("LIKE pattern %q: behind the escape %q at byte %d must stand %%, _ or the escape", pattern, escape, i)
			}
			last.text = append(last.text, pattern[i+w:i+w+v]...)
			w += v
		case r == '%':
			parts = append(parts, likePart{})
		case r == '_':
			last.any = append(last.any, len(last.text))
			last.text = append(last.text, '_')
		default:
			last.text = append(last.text, pattern[i:i+w]...)
		}
		i += w
	}
	return newLike(parts), nil
}

func newLike(parts []likePart) *Like {
	general := false
	size := 0
	for _, p := range parts {
		general = general || len(p.any) > 0
		size += len(p.text)
	}
	l := &Like{kind: likeGeneral, parts: parts, minimumSize: size}
	if general {
		return l
	}
	head, tail := parts[0].text, parts[len(parts)-1].text
	middle := [][]byte{}
	for i := 1; i < len(parts)-1; i++ {
		if len(parts[i].text) > 0 {
			middle = append(middle, parts[i].text)
		}
	}
	l.head, l.tail = head, tail
	switch {
	case len(parts) == 1:
		l.kind = likeExact
	case len(middle) == 1 && len(head) == 0 && len(tail) == 0:
		l.kind, l.head = likeContains, middle[0]
	case len(middle) > 0:
		l.kind = likeGeneral
	case len(tail) == 0:
		l.kind = likePrefix
	case len(head) == 0:
		l.kind = likeSuffix
	default:
		l.kind = likeBetween
	}
	return l
}

// Match reports whether all of s matches.
func (l *Like) Match(s []byte) bool {
	switch l.kind {
	case likeExact:
		return bytes.Equal(s, l.head)
	case likePrefix:
		return bytes.HasPrefix(s, l.head)
	case likeSuffix:
		return bytes.HasSuffix(s, l.tail)
	case likeContains:
		return bytes.Contains(s, l.head)
	case likeBetween:
		return len(s) >= len(l.head)+len(l.tail) && bytes.HasPrefix(s, l.head) && bytes.HasSuffix(s, l.tail)
	}
	return l.general(s)
}

// general takes the first part at the start, the last at the end and each one between at its first place: greedy is enough, since a % in
// front of a part takes any text.
func (l *Like) general(s []byte) bool {
	if len(s) < l.minimumSize {
		return false
	}
	n := l.parts[0].matchAt(s)
	if n < 0 {
		return false
	}
	if len(l.parts) == 1 {
		return n == len(s)
	}
	s = s[n:]
	last := len(l.parts) - 1
	for i := 1; i < last; i++ {
		from, n := l.parts[i].find(s)
		if from < 0 {
			return false
		}
		s = s[from+n:]
	}
	return l.parts[last].matchEnd(s)
}

// matchAt returns the bytes that the part takes at the start of s, -1 if it does not match.
func (p *likePart) matchAt(s []byte) int {
	if len(p.any) == 0 {
		if bytes.HasPrefix(s, p.text) {
			return len(p.text)
		}
		return -1
	}
	at, from := 0, 0
	for _, x := range p.any {
		lit := p.text[from:x]
		if !bytes.HasPrefix(s[at:], lit) {
			return -1
		}
		if at += len(lit); at >= len(s) {
			return -1
		}
		_, w := utf8.DecodeRune(s[at:])
		at += w
		from = x + 1
	}
	if !bytes.HasPrefix(s[at:], p.text[from:]) {
		return -1
	}
	return at + len(p.text) - from
}

func (p *likePart) find(s []byte) (from, n int) {
	if len(p.any) == 0 {
		return bytes.Index(s, p.text), len(p.text)
	}
	for {
		if n = p.matchAt(s[from:]); n >= 0 {
			return from, n
		}
		if from >= len(s) {
			return -1, 0
		}
		_, w := utf8.DecodeRune(s[from:])
		from += w
	}
}

// matchEnd matches the part as the end of s: it takes as many characters as it has, from the end.
func (p *likePart) matchEnd(s []byte) bool {
	if len(p.any) == 0 {
		return bytes.HasSuffix(s, p.text)
	}
	start := len(s)
	for n := utf8.RuneCount(p.text); n > 0; n-- {
		if start == 0 {
			return false
		}
		_, w := utf8.DecodeLastRune(s[:start])
		start -= w
	}
	return p.matchAt(s[start:]) == len(s)-start
}
