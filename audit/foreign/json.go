package foreign

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"staunch/account"
	"staunch/fs"
)

// jsonRows reads a file of one JSON object a line. Of each object only the wanted fields are looked at; the rest is passed over, but must be JSON.
func jsonRows(ctx context.Context, r fs.Reader, c *columns, rows *fileRows) error {
	p := &jsonParser{rows: rows, fixed: c}
	for i, col := range c.all {
		if col.name != "" && !col.fixed {
			p.want[i] = strings.Split(col.name, ".")
		}
	}
	at := int64(0)
	err := textRows(ctx, r, func(b []byte, last bool) (int, error) {
		n := line(b, last)
		if n == 0 {
			return 0, nil
		}
		at++
		text := bytes.TrimSpace(b[:n])
		if len(text) == 0 {
			return n, nil
		}
		if !p.row(text) {
			return 0, damagedf("line %s is no JSON object: %.60q", account.Number(at), text)
		}
		return n, nil
	})
	return err
}

// jsonParser walks over one object.
type jsonParser struct {
	rows  *fileRows
	fixed *columns
	// want are the paths of partition, offset and topic; nil where not read.
	want [3][]string

	b  []byte
	at int
	// found and value are what stood there last; bad: it is no number.
	found, bad [3]bool
	value      [3]int64
	sample     string
	key        []byte
}

// maxDepth bounds nesting.
const maxDepth = 1000

// row takes in one line; false if it is no JSON object.
func (p *jsonParser) row(b []byte) bool {
	p.b, p.at = b, 0
	p.found, p.bad = [3]bool{}, [3]bool{}
	p.value = p.rows.fixed
	if p.peek() != '{' || !p.object(0, 0b111) {
		return false
	}
	p.space()
	if p.at != len(p.b) {
		return false
	}
	missing, wrong := false, false
	for i, path := range p.want {
		missing = missing || path != nil && !p.found[i]
		wrong = wrong || p.bad[i]
	}
	switch {
	case missing:
		p.rows.without()
	case wrong:
		p.rows.wrong(p.sample)
	default:
		p.rows.add(int32(p.value[2]), p.value[0], p.value[1])
	}
	return true
}

func (p *jsonParser) space() {
	for p.at < len(p.b) && (p.b[p.at] == ' ' || p.b[p.at] == '\t' || p.b[p.at] == '\r' || p.b[p.at] == '\n') {
		p.at++
	}
}

// peek gives the next byte behind space, 0 at the end.
func (p *jsonParser) peek() byte {
	p.space()
	if p.at == len(p.b) {
		return 0
	}
	return p.b[p.at]
}

// object passes over an object. on has a bit for each wanted path whose first depth names led here.
func (p *jsonParser) object(depth int, on uint8) bool {
	p.at++
	if depth > maxDepth {
		return false
	}
	if p.peek() == '}' {
		p.at++
		return true
	}
	for {
		if p.peek() != '"' {
			return false
		}
		key, ok := p.text()
		if !ok || p.peek() != ':' {
			return false
		}
		p.at++
		var here, below uint8
		for i, path := range p.want {
			if on>>i&1 == 0 || depth >= len(path) || path[depth] != string(key) {
				continue
			}
			if depth == len(path)-1 {
				here |= 1 << i
			} else {
				below |= 1 << i
				p.found[i], p.bad[i] = false, false // of a field that is there twice the last one counts
			}
		}
		if !p.any(depth+1, here, below) {
			return false
		}
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return true
		default:
			return false
		}
	}
}

// any passes over a value and takes it for the paths in here.
func (p *jsonParser) any(depth int, here, below uint8) bool {
	switch c := p.peek(); {
	case c == '{':
		if !p.object(depth, below) {
			return false
		}
		p.take(here, nil, false, false)
	case c == '[':
		if !p.array(depth) {
			return false
		}
		p.take(here, nil, false, false)
	case c == '"':
		b, ok := p.text()
		if !ok {
			return false
		}
		p.take(here, b, true, true)
	case c == 'n':
		if !p.word("null") {
			return false
		}
		for i := range p.want { // the last one counts, as Flink's and other readers have it
			if here>>i&1 == 1 {
				p.found[i] = false
			}
		}
	case c == 't':
		if !p.word("true") {
			return false
		}
		p.take(here, nil, false, false)
	case c == 'f':
		if !p.word("false") {
			return false
		}
		p.take(here, nil, false, false)
	default:
		b, ok := p.number()
		if !ok {
			return false
		}
		p.take(here, b, false, true)
	}
	return true
}

// take notes a value for the wanted fields of here.
func (p *jsonParser) take(here uint8, b []byte, text, scalar bool) {
	for i := range p.want {
		if here>>i&1 == 0 {
			continue
		}
		p.found[i], p.bad[i] = true, false
		if i == 2 && text {
			p.value[i] = int64(p.rows.topic(b))
			continue
		}
		n, ok := digits(b)
		if !ok || !scalar || i == 2 {
			p.bad[i] = true
			p.sample = p.want[i][len(p.want[i])-1] + " " + string(b[:min(len(b), 40)])
			continue
		}
		p.value[i] = n
	}
}

func (p *jsonParser) array(depth int) bool {
	p.at++
	if depth > maxDepth {
		return false
	}
	if p.peek() == ']' {
		p.at++
		return true
	}
	for {
		if !p.any(depth+1, 0, 0) {
			return false
		}
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return true
		default:
			return false
		}
	}
}

func (p *jsonParser) word(w string) bool {
	if !bytes.HasPrefix(p.b[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	return true
}

// number passes over a number.
func (p *jsonParser) number() ([]byte, bool) {
	from := p.at
	if p.at < len(p.b) && p.b[p.at] == '-' {
		p.at++
	}
	whole := p.digits()
	if whole == 0 || whole > 1 && p.b[p.at-whole] == '0' {
		return nil, false
	}
	if p.at < len(p.b) && p.b[p.at] == '.' {
		p.at++
		if p.digits() == 0 {
			return nil, false
		}
	}
	if p.at < len(p.b) && p.b[p.at]|0x20 == 'e' {
		p.at++
		if p.at < len(p.b) && (p.b[p.at] == '+' || p.b[p.at] == '-') {
			p.at++
		}
		if p.digits() == 0 {
			return nil, false
		}
	}
	return p.b[from:p.at], true
}

func (p *jsonParser) digits() (n int) {
	for p.at < len(p.b) && p.b[p.at] >= '0' && p.b[p.at] <= '9' {
		p.at, n = p.at+1, n+1
	}
	return n
}

// text passes over a string and gives its characters, good until the next call.
func (p *jsonParser) text() ([]byte, bool) {
	p.at++
	from := p.at
	for ; p.at < len(p.b); p.at++ {
		switch c := p.b[p.at]; {
		case c == '"':
			p.at++
			return p.b[from : p.at-1], true
		case c == '\\':
			return p.escaped(from)
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// escaped goes on in a string that has escapes.
func (p *jsonParser) escaped(from int) ([]byte, bool) {
	p.key = append(p.key[:0], p.b[from:p.at]...)
	for p.at < len(p.b) {
		c := p.b[p.at]
		p.at++
		switch {
		case c == '"':
			return p.key, true
		case c < ' ':
			return nil, false
		case c != '\\':
			p.key = append(p.key, c)
			continue
		case p.at == len(p.b):
			return nil, false
		}
		e := p.b[p.at]
		p.at++
		if i := strings.IndexByte(`"\/bfnrt`, e); i >= 0 {
			p.key = append(p.key, "\"\\/\b\f\n\r\t"[i])
			continue
		}
		if e != 'u' {
			return nil, false
		}
		r, ok := p.hex()
		if !ok {
			return nil, false
		}
		if utf16.IsSurrogate(r) && bytes.HasPrefix(p.b[p.at:], []byte(`\u`)) {
			p.at += 2
			low, ok := p.hex()
			if !ok {
				return nil, false
			}
			r = utf16.DecodeRune(r, low)
		}
		p.key = utf8.AppendRune(p.key, r)
	}
	return nil, false
}

func (p *jsonParser) hex() (r rune, ok bool) {
	if len(p.b)-p.at < 4 {
		return 0, false
	}
	for _, c := range p.b[p.at : p.at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	p.at += 4
	return r, true
}
