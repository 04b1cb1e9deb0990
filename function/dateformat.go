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
		return formatColumn(p, t, s), nil
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

// textCache keeps the texts of spans of time; where a span is kept follows from the quarter of an hour that a value lies in, so that rows that
// go back and forth between some hours or days find theirs.
type textCache [64]struct {
	lo, hi int64
	text   []byte
}

// formatColumn formats a column with one pattern. The text of most patterns changes with the hour or the day only, so each span is formatted
// once: rows in the span of the row before copy its text, others look into the cache.
func formatColumn(p *datetime.Pattern, t types.Type, s Session) Op {
	units := t.UnitsPerSecond()
	perMilli := units / 1000
	zone := s.zone()
	if t.Kind != types.TimestampLTZ {
		zone = nil
	}
	cache := &textCache{}
	lookup := func(v int64) ([]byte, int64, int64) {
		ms := datetime.FloorDiv(v, perMilli)
		slot := &cache[datetime.FloorDiv(ms, 900_000)&63]
		if v < slot.lo || v >= slot.hi {
			lo, hi := p.Span(ms, zone)
			slot.lo, slot.hi = lo*perMilli, hi*perMilli
			slot.text = p.Append(slot.text[:0], ms, int32((v-ms*perMilli)*(1_000_000/perMilli)), zone)
		}
		return slot.text, slot.lo, slot.hi
	}
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.AppendSpans(dst, args[0], n, lookup)
		return nil
	}
}
