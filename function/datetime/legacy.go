package datetime

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// LegacyPattern is a compiled pattern of java.text.SimpleDateFormat in English: what Flink's functions on strings and seconds use
// (FROM_UNIXTIME, UNIX_TIMESTAMP, CONVERT_TZ, TO_DATE with a pattern, DATE_FORMAT of a string). Reading is lenient: blanks before a number
// are skipped, numbers may have any number of digits unless another number follows, values run over into the next field (32 January is
// 1 February) and text behind the match is ignored. The calendar is Julian before 15 October 1582. It is immutable.
//
// Letters: G y Y M L w W D d F E u a H k K h m s S z Z X. Reading by Y, w, W and F is refused.
type LegacyPattern struct {
	text  string
	elems []legacyElem
}

type legacyElem struct {
	letter byte // 0: literal
	n      int
	lit    string
	obey   bool // a number follows right behind: read n digits only
}

const legacyLetters = "GyYMLwWDdFEuaHkKhmsSzZX"

// CompileLegacyPattern compiles a SimpleDateFormat pattern. The error names the letter at fault.
func CompileLegacyPattern(pattern string) (*LegacyPattern, error) {
	p := &LegacyPattern{text: pattern}
	for i := 0; i < len(pattern); {
		ch := pattern[i]
		switch {
		case ch == '\'':
			lit, n, err := quoted(pattern[i:])
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			p.literal(lit)
			i += n
		case ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z':
			n := 1
			for i+n < len(pattern) && pattern[i+n] == ch {
				n++
			}
			if strings.IndexByte(legacyLetters, ch) < 0 {
				return nil, fmt.Errorf("pattern %q: unknown pattern letter: %c", pattern, ch)
			}
			if ch == 'X' && n > 3 {
				return nil, fmt.Errorf("pattern %q: at most three X", pattern)
			}
			if ch == 'z' && n > 3 {
				return nil, fmt.Errorf("pattern %q: full zone names (zzzz) are not supported, use z or XXX", pattern)
			}
			p.elems = append(p.elems, legacyElem{letter: ch, n: n})
			i += n
		default:
			_, n := utf8.DecodeRuneInString(pattern[i:])
			p.literal(pattern[i : i+n])
			i += n
		}
	}
	for i := range p.elems[:max(len(p.elems)-1, 0)] {
		p.elems[i].obey = p.elems[i+1].letter != 0
	}
	return p, nil
}

func (p *LegacyPattern) literal(s string) {
	if n := len(p.elems); n > 0 && p.elems[n-1].letter == 0 {
		p.elems[n-1].lit += s
		return
	}
	p.elems = append(p.elems, legacyElem{lit: s})
}

// String returns the pattern's source text.
func (p *LegacyPattern) String() string { return p.text }

// cutover is 1582-10-15, the first day of the Gregorian calendar in java.util.GregorianCalendar.
const cutover = -141427

// hybridDays returns the day of a date of the calendar that is Julian before the cutover; month and day may run over.
func hybridDays(year, month, day int) int64 {
	year += int(FloorDiv(int64(month-1), 12))
	month = int(FloorMod(int64(month-1), 12)) + 1
	g := DaysFromCivil(year, month, day)
	if year > 1582 || year == 1582 && g >= cutover {
		return g
	}
	return julianDays(year, month, day)
}

func julianDays(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y, m = y-1, m+12
	}
	return FloorDiv(1461*y, 4) + (153*(m-3)+2)/5 + int64(day) - 719471
}

// hybridCivil is the inverse of hybridDays.
func hybridCivil(days int64) (year, month, day int) {
	if days >= cutover {
		return CivilFromDays(days)
	}
	z := days + 719470
	y := FloorDiv(4*z+3, 1461)
	doy := z - FloorDiv(1461*y, 4)
	mp := (5*doy + 2) / 153
	day = int(doy-(153*mp+2)/5) + 1
	month = int(mp) + 3
	if mp >= 10 {
		month -= 12
		y++
	}
	return int(y), month, day
}

// Append prints the instant epochMillis in a zone, nil for UTC.
func (p *LegacyPattern) Append(dst []byte, epochMillis int64, zone *Zone) []byte {
	offset := int32(0)
	if zone != nil {
		offset = zone.legacyOffsetAt(FloorDiv(epochMillis, 1000))
	}
	wall := epochMillis + int64(offset)*1000
	days := FloorDiv(wall, MillisPerDay)
	l := local{days: days, nanosOfDay: (wall - days*MillisPerDay) * NanosPerMilli, offset: offset}
	l.year, l.month, l.day = hybridCivil(days)
	for i := range p.elems {
		if e := &p.elems[i]; e.letter == 0 {
			dst = append(dst, e.lit...)
		} else {
			dst = e.append(dst, &l, epochMillis, zone)
		}
	}
	return dst
}

// legacyNumbers maps letters that are always numbers to fields.
var legacyNumbers = map[byte]field{'D': fieldDayOfYear, 'd': fieldDay, 'u': fieldDayOfWeek, 'H': fieldHour, 'k': fieldClockHour,
	'K': fieldHour12, 'h': fieldClockHour12, 'm': fieldMinute, 's': fieldSecond, 'w': fieldWeekOfYear, 'W': fieldWeekOfMonth}

func (e *legacyElem) append(dst []byte, l *local, epochMillis int64, zone *Zone) []byte {
	switch e.letter {
	case 'y', 'Y':
		year := l.get(fieldYearOfEra)
		if e.letter == 'Y' {
			year = l.hybridField(fieldWeekYear)
		}
		if e.n == 2 {
			return append2(dst, int(year%100))
		}
		return appendPadded(dst, year, e.n)
	case 'M', 'L':
		switch {
		case e.n >= 4:
			return append(dst, textOf(fieldMonth, styleFull, l.month)...)
		case e.n == 3:
			return append(dst, textOf(fieldMonth, styleShort, l.month)...)
		}
		return appendPadded(dst, int64(l.month), e.n)
	case 'E':
		style := styleShort
		if e.n >= 4 {
			style = styleFull
		}
		return append(dst, textOf(fieldDayOfWeek, style, DayOfWeek(l.days))...)
	case 'G':
		return append(dst, textOf(fieldEra, styleShort, int(l.get(fieldEra)))...)
	case 'a':
		return append(dst, textOf(fieldAmPm, styleShort, int(l.get(fieldAmPm)))...)
	case 'S':
		return appendPadded(dst, l.get(fieldNano)/NanosPerMilli, e.n)
	case 'F':
		return appendPadded(dst, int64(l.day-1)/7+1, e.n)
	case 'Z':
		return appendOffset(dst, 'x', 2, l.offset)
	case 'X':
		dst = appendOffset(dst, 'X', max(e.n, 2), l.offset)
		if e.n == 1 && l.offset != 0 {
			dst = dst[:len(dst)-2] // hours only
		}
		return dst
	case 'z':
		return appendZoneName(dst, zone, epochMillis, l.offset)
	}
	return appendPadded(dst, l.hybridField(legacyNumbers[e.letter]), e.n)
}

// hybridField is get with the fields that count days of the hybrid calendar.
func (l *local) hybridField(f field) int64 {
	switch f {
	case fieldDayOfYear:
		return l.days - hybridDays(l.year, 1, 1) + 1
	case fieldWeekYear, fieldWeekOfYear:
		next := hybridDays(l.year+1, 1, 1)
		if l.days >= next-int64(DayOfWeek(next)%7) {
			if f == fieldWeekYear {
				return int64(l.year + 1)
			}
			return 1
		}
		if f == fieldWeekYear {
			return int64(l.year)
		}
		first := hybridDays(l.year, 1, 1)
		return (l.days-(first-int64(DayOfWeek(first)%7)))/7 + 1
	case fieldWeekOfMonth:
		first := hybridDays(l.year, l.month, 1)
		return int64(l.day-1+DayOfWeek(first)%7)/7 + 1
	}
	return l.get(f)
}

// appendZoneName prints the short name of a zone, GMT+hh:mm for those without one.
func appendZoneName(dst []byte, zone *Zone, epochMillis int64, offset int32) []byte {
	if zone == nil || zone.name == "UTC" || zone.name == "Z" {
		return append(dst, "UTC"...)
	}
	if zone.loc != nil {
		name, _ := time.UnixMilli(epochMillis).In(zone.loc).Zone()
		if name != "" && name[0] >= 'A' {
			return append(dst, name...)
		}
	}
	dst = append(dst, "GMT"...)
	if offset == 0 {
		return dst
	}
	return appendOffset(dst, 'x', 3, offset)
}

// legacyFields are the values read, with the order in which they were read: of two ways to name an hour or a day the later one counts.
type legacyFields struct {
	year, month, day, doy          int
	era                            int // 0 is before Christ
	hour, hour12, ampm             int
	minute, second, milli          int
	monthAt, dayAt, doyAt          int
	hourAt, hour12At, ampmAt, step int
	offset                         int32
	hasOffset                      bool
	zone                           *Zone
}

// Parse reads the start of s and returns the instant in milliseconds; wall-clock time without an offset of its own is in the zone, nil
// for UTC. ok is false where s does not match.
func (p *LegacyPattern) Parse(s []byte, zone *Zone) (epochMillis int64, ok bool) {
	f := legacyFields{year: 1970, month: 1, day: 1, era: 1}
	pos := 0
	for i := range p.elems {
		e := &p.elems[i]
		if e.letter == 0 {
			if len(s)-pos < len(e.lit) || string(s[pos:pos+len(e.lit)]) != e.lit {
				return 0, false
			}
			pos += len(e.lit)
			continue
		}
		start := pos
		for pos < len(s) && (s[pos] == ' ' || s[pos] == '\t') {
			pos++
		}
		if pos >= len(s) {
			return 0, false
		}
		f.step++
		n := e.parse(s, start, pos, &f)
		if n < 0 {
			return 0, false
		}
		pos = n
	}
	return f.instant(zone)
}

// Readable returns an error if Parse cannot read by the pattern's letters.
func (p *LegacyPattern) Readable() error {
	for _, e := range p.elems {
		if e.letter == 'Y' || e.letter == 'w' || e.letter == 'W' || e.letter == 'F' {
			return fmt.Errorf("pattern %q: reading by weeks (letter %c) is not supported; use y, M and d", p.text, e.letter)
		}
	}
	return nil
}

// parse reads one element; blanks from start to pos are skipped, but names do not stand behind blanks and the digits of a number that
// another one follows are counted from start.
func (e *legacyElem) parse(s []byte, start, pos int, f *legacyFields) int {
	named := e.letter == 'E' || e.letter == 'G' || e.letter == 'a' || (e.letter == 'M' || e.letter == 'L') && e.n >= 3
	if named && start < pos {
		return -1
	}
	switch e.letter {
	case 'M', 'L':
		if e.n >= 3 {
			v, n := foldedText(s[pos:], fieldMonth)
			if n < 0 {
				return -1
			}
			f.month, f.monthAt = v, f.step
			return pos + n
		}
	case 'E':
		_, n := foldedText(s[pos:], fieldDayOfWeek)
		if n < 0 {
			return -1
		}
		return pos + n
	case 'G', 'a':
		x := fieldAmPm
		if e.letter == 'G' {
			x = fieldEra
		}
		v, n := foldedText(s[pos:], x)
		if n < 0 {
			return -1
		}
		if e.letter == 'G' {
			f.era = v
		} else {
			f.ampm, f.ampmAt = v, f.step
		}
		return pos + n
	case 'z', 'Z', 'X':
		return e.parseZone(s, pos, f)
	}
	v, n := e.parseNumber(s, start, pos)
	if n < 0 {
		return -1
	}
	f.put(e, v, n-pos, s[pos:n])
	return n
}

// parseNumber reads an integer with an optional minus sign; up to start+n where another field follows right behind.
func (e *legacyElem) parseNumber(s []byte, start, pos int) (v, next int) {
	if e.obey {
		if start+e.n > len(s) || start+e.n < pos {
			return 0, -1
		}
		s = s[:start+e.n]
	}
	i, neg := pos, false
	if i < len(s) && s[i] == '-' {
		neg = true
		i++
	}
	first := i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		if v < 1<<40 {
			v = v*10 + int(s[i]-'0')
		}
	}
	if i == first {
		return 0, -1
	}
	if neg {
		v = -v
	}
	return int(int32(v)), i
}

// twoDigitPivot: two-digit years lie from 80 years before to 20 years after the present; the present is taken as 2025, so that a text
// means the same whenever it is read.
const twoDigitPivot = 1945

func (f *legacyFields) put(e *legacyElem, v, length int, text []byte) {
	switch e.letter {
	case 'y':
		if e.n <= 2 && length == 2 && text[0] != '-' {
			v += twoDigitPivot / 100 * 100
			if v < twoDigitPivot {
				v += 100
			}
		}
		f.year = v
	case 'M', 'L':
		f.month, f.monthAt = v, f.step
	case 'd':
		f.day, f.dayAt = v, f.step
	case 'D':
		f.doy, f.doyAt = v, f.step
	case 'H', 'k':
		if e.letter == 'k' && v == 24 {
			v = 0
		}
		f.hour, f.hourAt = v, f.step
	case 'K', 'h':
		if e.letter == 'h' && v == 12 {
			v = 0
		}
		f.hour12, f.hour12At = v, f.step
	case 'm':
		f.minute = v
	case 's':
		f.second = v
	case 'S':
		f.milli = v
	}
}

// foldedText reads the full or short name of a field's value in any case, the longest that fits.
func foldedText(s []byte, x field) (value, n int) {
	lo, hi := textRange(x)
	n = -1
	for v := lo; v <= hi; v++ {
		for _, style := range [...]textStyle{styleFull, styleShort} {
			if x == fieldEra && style == styleFull {
				continue
			}
			t := textOf(x, style, v)
			if len(t) > n && len(s) >= len(t) && foldEqual(s[:len(t)], t) {
				value, n = v, len(t)
			}
		}
	}
	return value, n
}

func foldEqual(s []byte, t string) bool {
	for i := range len(t) {
		if s[i]|0x20 != t[i]|0x20 {
			return false
		}
	}
	return true
}

func (e *legacyElem) parseZone(s []byte, pos int, f *legacyFields) int {
	t := s[pos:]
	if e.letter == 'X' {
		off, n := isoOffset(t, e.n)
		if n < 0 {
			return -1
		}
		f.offset, f.hasOffset = off, true
		return pos + n
	}
	if t[0] == '+' || t[0] == '-' {
		off, n := generalOffset(t, false)
		if n < 0 {
			return -1
		}
		f.offset, f.hasOffset = off, true
		return pos + n
	}
	if len(t) >= 3 && foldEqual(t[:3], "GMT") {
		f.offset, f.hasOffset = 0, true
		if len(t) > 3 && (t[3] == '+' || t[3] == '-') {
			off, n := generalOffset(t[3:], true)
			if n < 0 {
				return -1
			}
			f.offset = off
			return pos + 3 + n
		}
		return pos + 3
	}
	n := 0
	for n < len(t) && (t[n] >= 'A' && t[n] <= 'Z') {
		n++
	}
	if z, ok := zoneAbbreviations[string(t[:n])]; ok {
		f.offset, f.hasOffset = z, true
		return pos + n
	}
	return -1
}

// zoneAbbreviations are the names that Java reads as a zone and that mean one offset only.
var zoneAbbreviations = map[string]int32{"UTC": 0, "PST": -8 * 3600, "PDT": -7 * 3600, "MST": -7 * 3600, "MDT": -6 * 3600,
	"CST": -6 * 3600, "CDT": -5 * 3600, "EST": -5 * 3600, "EDT": -4 * 3600, "JST": 9 * 3600}

// isoOffset reads Z, +hh, +hhmm or +hh:mm by the number of X.
func isoOffset(s []byte, n int) (offset int32, read int) {
	if s[0] == 'Z' {
		return 0, 1
	}
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, -1
	}
	h, m, read := two(s, 1), 0, 3
	if n >= 2 {
		if n == 3 {
			if len(s) < 4 || s[3] != ':' {
				return 0, -1
			}
			read++
		}
		if len(s) < read+2 {
			return 0, -1
		}
		m = two(s, read)
		read += 2
	}
	if h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, -1
	}
	offset = int32(h*3600 + m*60)
	if s[0] == '-' {
		offset = -offset
	}
	return offset, read
}

// generalOffset reads +hhmm, +hmm; with a colon (required behind GMT) +h:mm and +hh:mm.
func generalOffset(s []byte, colon bool) (offset int32, read int) {
	i := 1
	for i < len(s) && s[i]-'0' <= 9 && i < 5 {
		i++
	}
	n := 0
	for _, c := range s[1:i] {
		n = n*10 + int(c-'0')
	}
	digits := i - 1
	h, m := n/100, n%100
	if colon {
		if digits < 1 || digits > 2 || i+3 > len(s) || s[i] != ':' {
			return 0, -1
		}
		h, m = n, two(s, i+1)
		i += 3
	} else if digits < 4 {
		return 0, -1
	}
	if h > 23 || m < 0 || m > 59 {
		return 0, -1
	}
	offset = int32(h*3600 + m*60)
	if s[0] == '-' {
		offset = -offset
	}
	return offset, i
}

// instant merges the fields; each may be far out of its range.
func (f *legacyFields) instant(zone *Zone) (epochMillis int64, ok bool) {
	year := f.year
	if f.era == 0 {
		year = 1 - year
	}
	const far = 1 << 30
	for _, v := range [...]int{year, f.month, f.day, f.doy, f.hour, f.hour12, f.minute, f.second} {
		if v > far || v < -far {
			return 0, false
		}
	}
	var days int64
	if f.doyAt > max(f.dayAt, f.monthAt) {
		days = hybridDays(year, 1, 1) + int64(f.doy) - 1
	} else {
		days = hybridDays(year, f.month, 1) + int64(f.day) - 1
		if d := hybridDays(year, f.month, f.day); f.day >= 1 && f.day <= 31 {
			days = d
		}
	}
	hour := f.hour
	if both := f.hour12At > 0 && f.ampmAt > 0 && max(f.hour12At, f.ampmAt) > f.hourAt; both || f.hourAt == 0 && f.hour12At+f.ampmAt > 0 {
		hour = f.hour12 + 12*f.ampm
	}
	wall := days*MillisPerDay + int64(hour)*MillisPerHour + int64(f.minute)*MillisPerMinute + int64(f.second)*MillisPerSecond + int64(f.milli)
	switch {
	case f.hasOffset:
		return wall - int64(f.offset)*1000, true
	case zone == nil:
		return wall, true
	}
	return zone.LegacyLocalToInstant(wall, MillisPerSecond)
}
