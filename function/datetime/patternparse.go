package datetime

import "fmt"

// Fields are the values that a Pattern read, resolved as Java's "smart" style does.
type Fields struct {
	values [fieldCount]int64
	set    uint32
}

func (f *Fields) has(x field) bool { return f.set&(1<<x) != 0 }

// put stores a value; false if the field already has another one.
func (f *Fields) put(x field, v int64) bool {
	if f.has(x) {
		return f.values[x] == v
	}
	f.values[x], f.set = v, f.set|1<<x
	return true
}

func (f *Fields) or(x field, otherwise int64) int64 {
	if f.has(x) {
		return f.values[x]
	}
	return otherwise
}

// Parse reads all of s. The error says where it stopped.
func (p *Pattern) Parse(s []byte) (Fields, error) {
	var f Fields
	pos, at := parseElements(p.elems, s, 0, &f)
	if pos < 0 {
		return f, fmt.Errorf("text %q does not match the pattern %q at byte %d", s, p.text, at)
	}
	if pos < len(s) {
		return f, fmt.Errorf("text %q goes on behind the pattern %q at byte %d", s, p.text, pos)
	}
	return f, nil
}

// parseElements reads elems from s[pos:]; the result is the next position, or -1 and where it failed.
func parseElements(elems []element, s []byte, pos int, f *Fields) (next, failed int) {
	for i := 0; i < len(elems); i++ {
		e := &elems[i]
		if e.kind == elemOptional {
			before := f.set // a field once set is never written again, so this is all that an attempt changes
			if n, _ := parseElements(elems[i+1:i+1+e.skip], s, pos, f); n >= 0 {
				pos = n
			} else {
				f.set = before
			}
			i += e.skip
			continue
		}
		n := e.parse(s, pos, f)
		if n < 0 {
			return -1, pos
		}
		pos = n
	}
	return pos, 0
}

func (e *element) parse(s []byte, pos int, f *Fields) int {
	switch e.kind {
	case elemLiteral:
		if len(s)-pos < len(e.lit) || string(s[pos:pos+len(e.lit)]) != e.lit {
			return -1
		}
		return pos + len(e.lit)
	case elemFraction, elemPointFraction:
		return e.parseFraction(s, pos, f)
	case elemText:
		return e.parseText(s, pos, f)
	case elemOffset:
		off, n := parseOffset(s[pos:], e.letter, int(e.min))
		if n < 0 || !f.put(fieldOffset, int64(off)) {
			return -1
		}
		return pos + n
	}
	return e.parseNumber(s, pos, f)
}

func (e *element) parseFraction(s []byte, pos int, f *Fields) int {
	if e.kind == elemPointFraction {
		if pos >= len(s) || s[pos] != '.' {
			return pos // without a point there is no fraction, and the field stays unset
		}
		pos++
	}
	rest := s[min(pos, len(s)):]
	if len(rest) > int(e.max) {
		rest = rest[:e.max]
	}
	nanos, n := fraction(rest)
	if n < int(e.min) || !f.put(fieldNano, nanos) {
		return -1
	}
	return pos + n
}

func (e *element) parseText(s []byte, pos int, f *Fields) int {
	lo, hi := textRange(e.field)
	best, value := -1, 0
	for v := lo; v <= hi; v++ {
		t := textOf(e.field, e.style, v)
		if len(t) > best && len(s)-pos >= len(t) && string(s[pos:pos+len(t)]) == t {
			best, value = len(t), v
		}
	}
	if best < 0 || !f.put(e.field, int64(value)) {
		return -1
	}
	return pos + best
}

// parseNumber follows Java's strict parsing of numbers: signs by style, at least min digits, and digits left over for the fixed-width
// numbers that follow.
func (e *element) parseNumber(s []byte, pos int, f *Fields) int {
	negative, plus := false, false
	if pos < len(s) && (s[pos] == '+' || s[pos] == '-') {
		negative, plus = s[pos] == '-', s[pos] == '+'
		if e.sign == signNotNegative || plus && e.sign == signNormal {
			return -1
		}
		pos++
	}
	limit := int(e.max) + max(int(e.following), 0)
	n := 0
	for n < limit && pos+n < len(s) && s[pos+n]-'0' <= 9 {
		n++
	}
	if e.following > 0 {
		n = max(int(e.min), n-int(e.following))
	}
	if n < int(e.min) || pos+n > len(s) {
		return -1
	}
	v := int64(0)
	for _, c := range s[pos : pos+n] {
		if c-'0' > 9 || v > (1<<63-1-9)/10 {
			return -1
		}
		v = v*10 + int64(c-'0')
	}
	switch {
	case negative && v == 0:
		return -1
	case negative:
		v = -v
	case e.sign == signExceedsPad && plus && n <= int(e.min), e.sign == signExceedsPad && !plus && n > int(e.min):
		return -1
	}
	if e.kind == elemReduced {
		v += 2000
	}
	if !f.put(e.field, v) {
		return -1
	}
	return pos + n
}

// parseOffset reads an offset from UTC in seconds as the letters X, x and Z of a DateTimeFormatter print it.
func parseOffset(s []byte, letter byte, n int) (offset int32, read int) {
	if letter == 'Z' {
		switch {
		case n <= 3:
			letter, n = 'x', 2
		case n == 4:
			if len(s) < 3 || string(s[:3]) != "GMT" {
				return 0, -1
			}
			off, r := looseOffset(s[3:])
			return off, 3 + r
		default:
			letter = 'X'
		}
	}
	if letter == 'X' && len(s) > 0 && s[0] == 'Z' {
		return 0, 1
	}
	colon := n == 3 || n == 5
	return fixedOffset(s, colon, n > 1, n >= 4)
}

// fixedOffset reads +hh, +hhmm or +hh:mm, with seconds if they are allowed.
func fixedOffset(s []byte, colon, needMinutes, seconds bool) (offset int32, read int) {
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, -1
	}
	h := two(s, 1)
	if h < 0 || h > 18 {
		return 0, -1
	}
	total, pos := h*3600, 3
	part := func(unit int) bool {
		p := pos
		if colon {
			if p >= len(s) || s[p] != ':' {
				return false
			}
			p++
		}
		if p+2 > len(s) {
			return false
		}
		v := two(s, p)
		if v < 0 || v > 59 {
			return false
		}
		total += v * unit
		pos = p + 2
		return true
	}
	if got := part(60); !got && needMinutes {
		return 0, -1
	} else if got && seconds {
		part(1)
	}
	if total > 18*3600 {
		return 0, -1
	}
	if s[0] == '-' {
		total = -total
	}
	return int32(total), pos
}

// looseOffset reads nothing, +h, +hh, +h:mm or +hh:mm.
func looseOffset(s []byte) (offset int32, read int) {
	if len(s) < 2 || s[0] != '+' && s[0] != '-' || s[1]-'0' > 9 {
		return 0, 0
	}
	h, pos := int(s[1]-'0'), 2
	if len(s) > 2 && s[2]-'0' <= 9 {
		h, pos = h*10+int(s[2]-'0'), 3
	}
	m := 0
	if len(s) >= pos+3 && s[pos] == ':' {
		if v := two(s, pos+1); v >= 0 && v < 60 {
			m, pos = v, pos+3
		}
	}
	total := h*3600 + m*60
	if s[0] == '-' {
		total = -total
	}
	return int32(total), pos
}

// Timestamp resolves the fields to a wall-clock timestamp; missing parts are those of 1970-01-01 00:00:00 (Flink's rule). ok is false where
// a field is out of its range, fields contradict each other, the year is outside 0 to 9999 or the unit cannot hold the value. A parsed
// offset is ignored, as Flink does.
func (f *Fields) Timestamp(unitsPerSecond int64) (v int64, ok bool) {
	c, ok := f.civil()
	if !ok {
		return 0, false
	}
	return c.timestamp(unitsPerSecond)
}

// Offset returns a parsed offset from UTC in seconds.
func (f *Fields) Offset() (seconds int32, ok bool) {
	return int32(f.values[fieldOffset]), f.has(fieldOffset)
}

func (f *Fields) civil() (civilTime, bool) {
	year, hasYear, ok := f.resolveYear()
	if !ok || year < 0 || year > 9999 {
		return civilTime{}, false
	}
	month, day := f.or(fieldMonth, 1), f.or(fieldDay, 1)
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return civilTime{}, false
	}
	c := civilTime{year: int(year), month: int(month), day: int(day)}
	switch {
	case f.has(fieldJulianDay):
		days := f.values[fieldJulianDay] - 40587
		if days < MinDay || days > MaxDay {
			return c, false
		}
		c.year, c.month, c.day = CivilFromDays(days)
	case hasYear && f.has(fieldDayOfYear) && !(f.has(fieldMonth) && f.has(fieldDay)):
		doy := f.values[fieldDayOfYear]
		if doy < 1 || doy > 366 || doy == 366 && !IsLeapYear(c.year) {
			return c, false
		}
		c.year, c.month, c.day = CivilFromDays(DaysFromCivil(c.year, 1, 1) + doy - 1)
	}
	if c.nanos, ok = f.clock(); !ok {
		return c, false
	}
	complete := hasYear && (f.has(fieldMonth) && f.has(fieldDay) || f.has(fieldDayOfYear)) || f.has(fieldJulianDay)
	if !complete && !f.within(dateRanges[:]) || complete && !f.consistent(c) {
		return c, false
	}
	return c, true
}

// resolveYear merges the year letters.
func (f *Fields) resolveYear() (year int64, has, ok bool) {
	year, has = f.or(fieldYear, 1970), f.has(fieldYear)
	if f.has(fieldEra) && !f.has(fieldYearOfEra) {
		return year, has, true
	}
	if f.has(fieldYearOfEra) {
		y := f.values[fieldYearOfEra]
		if y < 1 {
			return 0, false, false
		}
		if f.has(fieldEra) && f.values[fieldEra] == 0 {
			y = 1 - y
		}
		if has && year != y {
			return 0, false, false
		}
		year = y
	}
	return year, has || f.has(fieldYearOfEra), true
}

type fieldRange struct {
	field  field
	lo, hi int64
}

// dateRanges are the limits of date fields that cannot be merged to a date.
var dateRanges = [...]fieldRange{{fieldQuarter, 1, 4}, {fieldDayOfYear, 1, 366}, {fieldLocalDayOfWeek, 1, 7}, {fieldWeekOfYear, 1, 53},
	{fieldWeekOfMonth, 0, 6}, {fieldDayOfWeekInMonth, 1, 7}}

var clockRanges = [...]fieldRange{{fieldHour, 0, 24}, {fieldClockHour, 1, 24}, {fieldHour12, 0, 11}, {fieldClockHour12, 1, 12},
	{fieldMinute, 0, 59}, {fieldSecond, 0, 59}, {fieldNano, 0, NanosPerSecond - 1}, {fieldMilliOfDay, 0, MillisPerDay - 1},
	{fieldNanoOfDay, 0, NanosPerDay - 1}}

func (f *Fields) within(ranges []fieldRange) bool {
	for _, r := range ranges {
		if f.has(r.field) && (f.values[r.field] < r.lo || f.values[r.field] > r.hi) {
			return false
		}
	}
	return true
}

// consistent checks the fields that a complete date implies.
func (f *Fields) consistent(c civilTime) bool {
	days := DaysFromCivil(c.year, c.month, min(c.day, DaysInMonth(c.year, c.month)))
	l := newLocal(days, 0, 0)
	for _, x := range [...]field{fieldQuarter, fieldMonth, fieldDayOfYear, fieldDayOfWeek, fieldLocalDayOfWeek, fieldDayOfWeekInMonth,
		fieldWeekYear, fieldWeekOfYear, fieldWeekOfMonth} {
		if f.has(x) && f.values[x] != l.get(x) {
			return false
		}
	}
	return true
}

// clock merges the time letters to nanoseconds of the day.
func (f *Fields) clock() (nanos int64, ok bool) {
	if !f.within(clockRanges[:]) {
		return 0, false
	}
	switch {
	case f.has(fieldNanoOfDay):
		return f.values[fieldNanoOfDay], true
	case f.has(fieldMilliOfDay):
		return f.values[fieldMilliOfDay] * NanosPerMilli, true
	}
	hour := f.or(fieldHour, -1)
	merge := func(h int64) bool {
		if hour >= 0 && hour != h {
			return false
		}
		hour = h
		return true
	}
	if f.has(fieldClockHour) && !merge(f.values[fieldClockHour]%24) {
		return 0, false
	}
	if f.has(fieldAmPm) && (f.has(fieldHour12) || f.has(fieldClockHour12)) {
		h := f.or(fieldHour12, f.values[fieldClockHour12]%12)
		if !merge(f.values[fieldAmPm]*12 + h) {
			return 0, false
		}
	}
	minute, second, nano := f.or(fieldMinute, 0), f.or(fieldSecond, 0), f.or(fieldNano, 0)
	nanos = (max(hour, 0)*3600+minute*60+second)*NanosPerSecond + nano
	if hour == 24 && nanos != NanosPerDay {
		return 0, false
	}
	return nanos, true
}

// ParseTimestamp reads TO_TIMESTAMP(text, pattern): by the pattern, and if that fails as yyyy-[m]m-[d]d[ h:m:s[.f]] of any values, the
// overflow of one field going into the next (2024-02-30 is 1 March then). The result is cut to milliseconds.
func (p *Pattern) ParseTimestamp(s []byte, unitsPerSecond int64) (v int64, ok bool) {
	if v, ok = p.parseFast(s, unitsPerSecond); ok {
		return v, true
	}
	f, err := p.Parse(s)
	if err == nil {
		v, ok = f.Timestamp(unitsPerSecond)
	}
	if !ok {
		v, ok = parseJDBC(trim(s), unitsPerSecond)
	}
	return Truncate(v, unitsPerSecond, 3), ok
}

// parseFast reads the commonest patterns where the text has just their width; ok is false where the slow way must decide.
func (p *Pattern) parseFast(s []byte, unitsPerSecond int64) (v int64, ok bool) {
	switch {
	case p.fast == fastSecond && len(s) == 19, p.fast == fastMilli && len(s) == 23 && s[19] == '.':
		c, rest, ok := standardTimestamp(s, ' ', false, true)
		if !ok || len(rest) != 0 || c.year == 0 {
			return 0, false
		}
		return c.timestamp(unitsPerSecond)
	case p.fast == fastDate:
		return dateOnly(s, unitsPerSecond)
	case p.fast == fastDateCompact && len(s) == 8:
		c := civilTime{year: four(s, 0), month: two(s, 4), day: two(s, 6)}
		if c.year < 1 {
			return 0, false
		}
		return c.timestamp(unitsPerSecond)
	}
	return 0, false
}

// parseJDBC reads what java.sql.Timestamp.valueOf and, without a blank, java.sql.Date.valueOf accept.
func parseJDBC(s []byte, unitsPerSecond int64) (v int64, ok bool) {
	date, clock := s, []byte(nil)
	sp := indexByte(s, ' ')
	if sp >= 0 {
		date, clock = s[:sp], s[sp+1:]
	}
	d1 := indexByte(date, '-')
	if d1 != 4 {
		return 0, false
	}
	d2 := indexByte(date[5:], '-') + 5
	if d2 < 6 || d2 > 7 || len(date)-d2-1 < 1 || len(date)-d2-1 > 2 {
		return 0, false
	}
	year, month, day := signedInt(date[:4]), signedInt(date[5:d2]), signedInt(date[d2+1:])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > 31 { // Java makes year 1 of year 0
		return 0, false
	}
	days, nanos := DaysFromCivil(year, month, day), int64(0)
	if sp >= 0 {
		secs, fraction, ok := jdbcClock(clock)
		if !ok {
			return 0, false
		}
		days += FloorDiv(secs, SecondsPerDay)
		nanos = FloorMod(secs, SecondsPerDay)*NanosPerSecond + fraction
	}
	if days < MinDay || days > MaxDay {
		return 0, false
	}
	return Join(days, nanos, unitsPerSecond)
}

func jdbcClock(s []byte) (secs, nanos int64, ok bool) {
	c1 := indexByte(s, ':')
	if c1 < 1 {
		return 0, 0, false
	}
	c2 := indexByte(s[c1+1:], ':') + c1 + 1
	if c2 <= c1+1 || c2 == len(s)-1 {
		return 0, 0, false
	}
	end := len(s)
	if p := indexByte(s[c2:], '.'); p >= 0 {
		end = c2 + p
		f, n := fraction(s[end+1:])
		if n == 0 || end+1+n != len(s) {
			return 0, 0, false
		}
		nanos = f
	}
	const bad = -1 << 40
	h, m, sec := signedInt(s[:c1]), signedInt(s[c1+1:c2]), signedInt(s[c2+1:end])
	if h <= bad || m <= bad || sec <= bad {
		return 0, 0, false
	}
	return int64(h)*3600 + int64(m)*60 + int64(sec), nanos, true
}

// signedInt reads what Java's Integer.parseInt does; a number below -2^40 if it is none.
func signedInt(s []byte) int {
	const bad = -1 << 41
	neg := len(s) > 0 && s[0] == '-'
	if neg || len(s) > 0 && s[0] == '+' {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 10 {
		return bad
	}
	n := 0
	for _, c := range s {
		if c-'0' > 9 {
			return bad
		}
		n = n*10 + int(c-'0')
	}
	if n > 1<<31-1 {
		return bad
	}
	if neg {
		return -n
	}
	return n
}
