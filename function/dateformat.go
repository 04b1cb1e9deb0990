package function

import (
	"fmt"

	"staunch/changelog"
	"staunch/function/datetime"
	"staunch/kernel"
	"staunch/types"
)

// dateFormat is DATE_FORMAT(timestamp, pattern) and DATE_FORMAT(text, pattern).
func dateFormat() *Function {
	f := (&Function{Name: "DATE_FORMAT", CanFail: true}).signatures(
		sig{params: []family{timestamp, character}, ret: nullable(types.String_)},
		sig{params: []family{character, character}, ret: nullable(types.String_)})
	f.op = func(c *Call, s Session) (Op, error) {
		t := c.Args[0].Type()
		if t.IsString() {
			return formatText(s), nil
		}
		text, ok := constText(c.Args[1])
		if !ok {
			return formatTimes(t, s), nil
		}
		p, err := compileFormat(text)
		if err != nil {
			// Flink fails when the first row comes; so does this.
			return lift(func(*kernel.Row) error { return err }), nil
		}
		return formatColumn(p, text, t, s), nil
	}
	return f
}

func compileFormat(text string) (*datetime.Pattern, error) {
	p, err := datetime.CompilePattern(text)
	if err == nil {
		err = p.Formattable()
	}
	if err != nil {
		return nil, fmt.Errorf("DATE_FORMAT: %w", err)
	}
	return p, nil
}

// formatTimes formats with a pattern per row; it remembers the last one.
func formatTimes(t types.Type, s Session) Op {
	local := localTime(t, s)
	var last *datetime.Pattern
	var lastText string
	return lift(func(r *kernel.Row) error {
		if text := r.Bytes(1); last == nil || string(text) != lastText {
			p, err := compileFormat(string(text))
			if err != nil {
				return err
			}
			last, lastText = p, string(text)
		}
		days, nanos, offset := local(r.Int(0))
		r.End(last.AppendLocal(r.Buffer(), days, nanos, offset))
		return nil
	})
}

// localTime gives the function from a value of type t to days and nanoseconds of the day on the wall clock, and the offset.
func localTime(t types.Type, s Session) func(v int64) (days, nanos int64, offset int32) {
	units := t.UnitsPerSecond()
	zone := s.zone()
	if t.Kind != types.TimestampLTZ {
		zone = nil
	}
	return func(v int64) (int64, int64, int32) {
		var offset int32
		if zone != nil {
			offset = zone.OffsetAt(datetime.FloorDiv(v, units))
			v += int64(offset) * units
		}
		days, nanos := datetime.Split(v, units)
		return days, nanos, offset
	}
}

// textCache is a direct-mapped cache from a span of time to its text.
const textCacheSize = 64

type textCache struct {
	bucket [textCacheSize]int64
	text   [textCacheSize][]byte
}

func newTextCache() *textCache {
	c := &textCache{}
	for i := range c.bucket {
		c.bucket[i] = 1<<63 - 1
	}
	return c
}

// formatColumn formats a column with one pattern. The text of most patterns changes with the hour or the day only, so each span is formatted
// once: rows in the span of the row before copy its text, others look into a small cache.
func formatColumn(p *datetime.Pattern, text string, t types.Type, s Session) Op {
	local := localTime(t, s)
	span := textSpan(text) * t.UnitsPerSecond()
	if t.Kind == types.TimestampLTZ {
		// Offsets are whole quarters of an hour today but were not always; a minute is safe wherever the offset is one of whole minutes.
		if _, fixed := s.zone().Fixed(); !fixed || span > 60*t.UnitsPerSecond() {
			span = min(span, 60*t.UnitsPerSecond())
		}
	}
	if span == 0 {
		return lift(func(r *kernel.Row) error {
			days, nanos, offset := local(r.Int(0))
			r.End(p.AppendLocal(r.Buffer(), days, nanos, offset))
			return nil
		})
	}
	cache := newTextCache()
	lookup := func(bucket, v int64) []byte {
		slot := bucket & (textCacheSize - 1)
		if cache.bucket[slot] != bucket {
			days, nanos, offset := local(v)
			cache.text[slot] = p.AppendLocal(cache.text[slot][:0], days, nanos, offset)
			cache.bucket[slot] = bucket
		}
		return cache.text[slot]
	}
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		in := args[0]
		if args[1].AllNull() || in.AllNull() {
			kernel.Broadcast(dst, nullOf(dst.Type), n)
			return nil
		}
		kernel.AppendSpans(dst, in, n, span, lookup)
		return nil
	}
}

// textSpan is the number of seconds within whose multiples the text of a pattern does not change; 0 if it changes with fractions.
func textSpan(pattern string) int64 {
	span, quoted := int64(86400), false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c == '\'' {
			quoted = !quoted
		}
		if quoted || c < 'A' || c > 'z' || c > 'Z' && c < 'a' {
			continue
		}
		switch c {
		case 'H', 'h', 'K', 'k', 'a':
			span = min(span, 3600)
		case 'm':
			span = min(span, 60)
		case 's':
			span = min(span, 1)
		case 'y', 'Y', 'u', 'M', 'L', 'd', 'D', 'E', 'e', 'c', 'G', 'Q', 'q', 'w', 'W', 'F':
		default:
			return 0
		}
	}
	return span
}
