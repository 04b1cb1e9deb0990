package datetime

// Cursor prints many timestamps by one pattern and remembers the last text with the span of time it holds for: a column of events
// mostly stays within one day or hour, and then a text is a comparison and a copy. It belongs to one goroutine.
type Cursor struct {
	p      *Pattern
	zone   *Zone
	lo, hi int64 // milliseconds since 1970-01-01 UTC for which text holds
	text   []byte
}

// NewCursor returns a cursor for a zone, nil for UTC.
func (p *Pattern) NewCursor(zone *Zone) *Cursor { return &Cursor{p: p, zone: zone} }

// Append prints a timestamp as Pattern.Append does.
func (c *Cursor) Append(dst []byte, epochMillis int64, nanos int32) []byte {
	if epochMillis >= c.lo && epochMillis < c.hi {
		return append(dst, c.text...)
	}
	if c.p.grain < MillisPerSecond {
		return c.p.Append(dst, epochMillis, nanos, c.zone)
	}
	c.lo, c.hi = c.p.Span(epochMillis, c.zone)
	c.text = c.p.Append(c.text[:0], epochMillis, nanos, c.zone)
	return append(dst, c.text...)
}

// Text returns the text of a timestamp; it is valid until the next call. Two calls in a row with same true gave the same text, which lets a
// caller reuse what it made of it.
func (c *Cursor) Text(epochMillis int64, nanos int32) (text []byte, same bool) {
	if epochMillis >= c.lo && epochMillis < c.hi {
		return c.text, true
	}
	c.text = c.p.Append(c.text[:0], epochMillis, nanos, c.zone)
	c.lo, c.hi = c.p.Span(epochMillis, c.zone)
	return c.text, false
}

// Span returns the milliseconds [lo, hi) around an instant for which the pattern prints the same text; empty if it prints parts of a
// millisecond.
func (p *Pattern) Span(epochMillis int64, zone *Zone) (lo, hi int64) {
	if p.grain <= 0 {
		return 0, 0
	}
	offset, from, to := int64(0), int64(-1<<53), int64(1<<53)
	if zone != nil {
		off, f, t := zone.span(FloorDiv(epochMillis, 1000))
		offset, from, to = int64(off)*1000, max(f, from), min(t, to)
	}
	if p.grain > 1<<60 {
		return from * 1000, to * 1000
	}
	lo = epochMillis + offset
	lo -= FloorMod(lo, p.grain)
	lo -= offset
	return max(lo, from*1000), min(lo+p.grain, to*1000)
}
