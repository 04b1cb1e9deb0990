package kernel

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"staunch/changelog"
)

// LikePattern is a compiled pattern of LIKE: % stands for any text, _ for one character. Between the %s lie pieces, which are found from left
// to right; the first and the last are bound to the ends unless the pattern begins or ends with %.
type LikePattern struct {
	pieces             []likePiece
	openFront, openEnd bool
}

// likePiece is literal bytes, or runs of them with wildcards between: gaps[i] wildcards stand in front of runs[i].
type likePiece struct {
	runs [][]byte
	gaps []int
	tail int // wildcards behind the last run
}

// CompileLike compiles a pattern; escape is the character that takes the meaning from the one behind it, or 0 for none.
func CompileLike(pattern string, escape rune) (*LikePattern, error) {
	p := &LikePattern{}
	piece := likePiece{}
	var run []byte
	gap, any := 0, false
	flush := func() {
		if len(run) > 0 {
			piece.runs, piece.gaps = append(piece.runs, run), append(piece.gaps, gap)
			run, gap = nil, 0
		}
	}
	end := func() {
		flush()
		piece.tail = gap
		if any {
			p.pieces = append(p.pieces, piece)
		}
		piece, gap, any = likePiece{}, 0, false
	}
	rs := []rune(pattern)
	for i := 0; i < len(rs); i++ {
		c := rs[i]
		switch {
		case escape != 0 && c == escape:
			if i++; i == len(rs) || rs[i] != '%' && rs[i] != '_' && rs[i] != escape {
				return nil, fmt.Errorf("invalid escape sequence in the LIKE pattern '%s': behind '%c' stands '%%', '_' or '%c'", pattern, escape, escape)
			}
			run, any = utf8.AppendRune(run, rs[i]), true
		case c == '%':
			if i == 0 {
				p.openFront = true
			}
			end()
			p.openEnd = true
			continue
		case c == '_':
			flush()
			gap++
			any = true
		default:
			run, any = utf8.AppendRune(run, c), true
		}
		p.openEnd = false
	}
	end()
	return p, nil
}

// Match reports whether s is like the pattern.
func (p *LikePattern) Match(s []byte) bool {
	pieces := p.pieces
	if len(pieces) == 0 {
		return p.openFront || p.openEnd || len(s) == 0
	}
	if !p.openFront {
		n := pieces[0].prefix(s)
		if n < 0 {
			return false
		}
		s, pieces = s[n:], pieces[1:]
		if len(pieces) == 0 {
			return p.openEnd || len(s) == 0
		}
	}
	for i := range pieces {
		if i == len(pieces)-1 && !p.openEnd {
			return pieces[i].suffix(s)
		}
		at, n := pieces[i].find(s)
		if at < 0 {
			return false
		}
		s = s[at+n:]
	}
	return true
}

// prefix gives the length of the piece at the start of s, or -1.
func (l *likePiece) prefix(s []byte) int {
	at := 0
	for i, run := range l.runs {
		n := skipRunes(s[at:], l.gaps[i])
		if n < 0 || !bytes.HasPrefix(s[at+n:], run) {
			return -1
		}
		at += n + len(run)
	}
	n := skipRunes(s[at:], l.tail)
	if n < 0 {
		return -1
	}
	return at + n
}

// find gives place and length of the first piece in s, or -1.
func (l *likePiece) find(s []byte) (at, n int) {
	if len(l.runs) == 1 && l.gaps[0] == 0 && l.tail == 0 {
		return bytes.Index(s, l.runs[0]), len(l.runs[0])
	}
	for at = 0; ; {
		if n = l.prefix(s[at:]); n >= 0 {
			return at, n
		}
		if at == len(s) {
			return -1, 0
		}
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
}

// suffix reports whether s ends with the piece.
func (l *likePiece) suffix(s []byte) bool {
	if len(l.runs) == 1 && l.gaps[0] == 0 && l.tail == 0 {
		return bytes.HasSuffix(s, l.runs[0])
	}
	for at := 0; at <= len(s); {
		if n := l.prefix(s[at:]); n >= 0 && at+n == len(s) {
			return true
		}
		if at == len(s) {
			return false
		}
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return false
}

// skipRunes gives the length of the first n characters of s, or -1 if there are fewer.
func skipRunes(s []byte, n int) int {
	at := 0
	for range n {
		if at == len(s) {
			return -1
		}
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return at
}

// Like gives a LIKE p; NULL stays NULL.
func Like(dst *changelog.Column, a Vec, n int, p *LikePattern) {
	Make(dst, n)
	for i := range dst.B {
		dst.B[i] = p.Match(a.Col.Bytes(a.Index(i)))
	}
	Strict(dst, n, a)
}
