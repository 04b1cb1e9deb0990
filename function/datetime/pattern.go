package datetime

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Pattern is a compiled pattern of java.time.format.DateTimeFormatter with the English texts and the week rules of its locale "en" (weeks
// begin on Sunday, the first one has 1 January): what Flink's DATE_FORMAT prints and TO_TIMESTAMP reads. It is immutable.
//
// Supported letters: u y G M L Q q d D E e c a h H k K m s S n N A F w W Y g X x Z, text in quotes, [optional parts]. Refused with an
// error: B p v V z O, the reserved { } #, and unknown letters as in Java.
type Pattern struct {
	text  string
	elems []element
	fast  fastForm
	// grain is the longest span of local time, in milliseconds, within whose multiples the text does not change; 0 if finer than a
	// millisecond.
	grain int64
	// zoned: a letter prints the offset, which a timestamp without zone does not have.
	zoned bool
}

type elemKind uint8

const (
	elemLiteral elemKind = iota
	elemNumber
	elemReduced  // two digits of a year from 2000 to 2099
	elemFraction // of a second
	elemPointFraction
	elemText
	elemOffset
	elemOptional // next elements up to skip may be missing when parsing
)

type signStyle uint8

const (
	signNormal signStyle = iota
	signNotNegative
	signExceedsPad
)

// field is what an element carries.
type field uint8

const (
	fieldYearOfEra field = iota
	fieldYear
	fieldEra
	fieldQuarter
	fieldMonth
	fieldDay
	fieldDayOfYear
	fieldDayOfWeek      // 1 Monday
	fieldLocalDayOfWeek // 1 Sunday
	fieldDayOfWeekInMonth
	fieldWeekYear
	fieldWeekOfYear
	fieldWeekOfMonth
	fieldAmPm
	fieldHour        // 0-23
	fieldClockHour   // 1-24
	fieldHour12      // 0-11
	fieldClockHour12 // 1-12
	fieldMinute
	fieldSecond
	fieldNano
	fieldMilliOfDay
	fieldNanoOfDay
	fieldJulianDay
	fieldOffset
	fieldCount
)

type element struct {
	kind     elemKind
	field    field
	sign     signStyle
	min, max int8
	// following is the number of digits that fixed-width numbers right behind this one take; -1 if this one itself is fixed.
	following int8
	style     textStyle
	letter    byte
	skip      int // elemOptional: number of elements that belong to it
	lit       string
}

type fastForm uint8

const (
	fastNone        fastForm = iota
	fastDate                 // yyyy-MM-dd
	fastDateCompact          // yyyyMMdd
	fastHour                 // HH
	fastDateHour             // yyyy-MM-dd HH
	fastMinute               // yyyy-MM-dd HH:mm
	fastSecond               // yyyy-MM-dd HH:mm:ss
	fastMilli                // yyyy-MM-dd HH:mm:ss.SSS
)

var fastForms = map[string]fastForm{"yyyy-MM-dd": fastDate, "yyyyMMdd": fastDateCompact, "HH": fastHour, "yyyy-MM-dd HH": fastDateHour,
	"yyyy-MM-dd HH:mm": fastMinute, "yyyy-MM-dd HH:mm:ss": fastSecond, "yyyy-MM-dd HH:mm:ss.SSS": fastMilli}

// String returns the pattern's source text.
func (p *Pattern) String() string { return p.text }

// Formattable returns an error if the pattern prints the offset or zone, which DATE_FORMAT cannot (the value has none): Flink fails at
// run time, callers should fail at planning.
func (p *Pattern) Formattable() error {
	if p.zoned {
		return fmt.Errorf("pattern %q: a timestamp has no zone to print; remove the letters X, x and Z", p.text)
	}
	return nil
}

// defaultTimestamp reads what CAST and TO_TIMESTAMP without a pattern accept.
var defaultTimestamp = func() *Pattern {
	p := mustPattern("yyyy-[MM][M]-[dd][d][ [HH][H]:[mm][m]:[ss][s]]")
	// The fraction with its point has no pattern letter: put it at the end of the last optional part.
	last := 0
	for i, e := range p.elems {
		if e.kind == elemOptional && i+e.skip == len(p.elems)-1 {
			last = i
			break
		}
	}
	p.elems[last].skip++
	p.elems = append(p.elems, element{kind: elemPointFraction, field: fieldNano, max: 9})
	return p
}()

func mustPattern(s string) *Pattern {
	p, err := CompilePattern(s)
	if err != nil {
		panic(err) // constants of this package only
	}
	return p
}

// compiler collects the elements of a pattern.
type compiler struct {
	p *Pattern
	// base is the number in front of a run of adjacent fixed-width ones, -1 if there is none.
	base int
	open []int // positions of optional parts not closed yet
}

// CompilePattern compiles a DateTimeFormatter pattern. The error names the letter at fault.
func CompilePattern(pattern string) (*Pattern, error) {
	c := compiler{p: &Pattern{text: pattern, grain: 1 << 62}, base: -1}
	for i := 0; i < len(pattern); {
		ch := pattern[i]
		switch {
		case ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z':
			n := 1
			for i+n < len(pattern) && pattern[i+n] == ch {
				n++
			}
			if err := c.letter(ch, n); err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			i += n
		case ch == '\'':
			lit, n, err := quoted(pattern[i:])
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			c.literal(lit)
			i += n
		case ch == '[':
			c.open = append(c.open, len(c.p.elems))
			c.p.elems = append(c.p.elems, element{kind: elemOptional})
			c.base = -1
			i++
		case ch == ']':
			if len(c.open) == 0 {
				return nil, fmt.Errorf("pattern %q: ] without [", pattern)
			}
			c.closeOptional()
			i++
		case ch == '{' || ch == '}' || ch == '#':
			return nil, fmt.Errorf("pattern %q: reserved character %q", pattern, ch)
		default:
			_, n := utf8.DecodeRuneInString(pattern[i:])
			c.literal(pattern[i : i+n])
			i += n
		}
	}
	for len(c.open) > 0 {
		c.closeOptional()
	}
	c.p.fast = fastForms[pattern]
	return c.p, nil
}

func (c *compiler) closeOptional() {
	at := c.open[len(c.open)-1]
	c.open = c.open[:len(c.open)-1]
	c.p.elems[at].skip = len(c.p.elems) - at - 1
	c.base = -1
}

// quoted reads text in quotes at the start of s; two quotes are one.
func quoted(s string) (lit string, n int, err error) {
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			lit += s[i : i+1]
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			lit += "'"
			i++
			continue
		}
		if i == 1 {
			lit = "'"
		}
		return lit, i + 1, nil
	}
	return "", 0, errors.New("quote without an end")
}

func (c *compiler) literal(s string) {
	c.p.elems = append(c.p.elems, element{kind: elemLiteral, lit: s})
	c.base = -1
}

// number appends a numeric element with Java's rule for adjacent values: fixed-width numbers right behind a number of free width
// reserve their digits.
func (c *compiler) number(e element) {
	at := len(c.p.elems)
	c.p.elems = append(c.p.elems, e)
	if c.base < 0 {
		c.base = at
		return
	}
	if e.min == e.max && e.sign == signNotNegative {
		if b := &c.p.elems[c.base]; b.following >= 0 {
			b.following += e.max
		}
		c.p.elems[at].following = -1
		return
	}
	c.p.elems[c.base].following = -1
	c.base = at
}

func (c *compiler) grain(ms int64) { c.p.grain = min(c.p.grain, ms) }

// plain holds the letters that are a number of one or two digits.
var plain = map[byte]struct {
	field field
	grain int64
}{'d': {fieldDay, MillisPerDay}, 'h': {fieldClockHour12, MillisPerHour}, 'H': {fieldHour, MillisPerHour},
	'k': {fieldClockHour, MillisPerHour}, 'K': {fieldHour12, MillisPerHour}, 'm': {fieldMinute, MillisPerMinute},
	's': {fieldSecond, MillisPerSecond}}

// value appends a number as Java's appendValue(field) or appendValue(field, 2) do.
func (c *compiler) value(f field, n int) {
	if n == 1 {
		c.number(element{kind: elemNumber, field: f, min: 1, max: 19, sign: signNormal})
		return
	}
	c.number(element{kind: elemNumber, field: f, min: int8(n), max: int8(n), sign: signNotNegative})
}

func (c *compiler) letter(ch byte, n int) error {
	tooMany := func(most int) error {
		if n > most {
			return fmt.Errorf("too many pattern letters: %c (%d, at most %d)", ch, n, most)
		}
		return nil
	}
	if f, ok := plain[ch]; ok {
		c.grain(f.grain)
		c.value(f.field, n)
		return tooMany(2)
	}
	switch ch {
	case 'u', 'y', 'Y':
		c.year(ch, n)
		return tooMany(19)
	case 'M', 'L', 'Q', 'q', 'E', 'e', 'c':
		return c.textOrNumber(ch, n)
	case 'G':
		c.text(fieldEra, [...]textStyle{styleShort, styleShort, styleShort, styleFull, styleNarrow}[min(n, 5)-1])
		return tooMany(5)
	case 'a':
		c.grain(12 * MillisPerHour)
		c.text(fieldAmPm, styleShort)
		return tooMany(1)
	case 'S':
		c.grain([]int64{0, 100, 10, 1, 0}[min(n, 4)])
		c.number(element{kind: elemFraction, field: fieldNano, min: int8(min(n, 9)), max: int8(min(n, 9)), sign: signNotNegative})
		return tooMany(9)
	case 'D':
		c.grain(MillisPerDay)
		if n == 1 {
			c.value(fieldDayOfYear, 1)
		} else {
			c.number(element{kind: elemNumber, field: fieldDayOfYear, min: int8(min(n, 3)), max: 3, sign: signNotNegative})
		}
		return tooMany(3)
	case 'F', 'W', 'w':
		return c.week(ch, n)
	case 'A', 'n', 'N', 'g':
		return c.wide(ch, n)
	case 'X', 'x', 'Z':
		c.p.zoned = true
		c.base = -1
		c.p.elems = append(c.p.elems, element{kind: elemOffset, field: fieldOffset, letter: ch, min: int8(min(n, 5))})
		return tooMany(5)
	case 'B', 'p', 'v', 'V', 'z', 'O':
		return fmt.Errorf("pattern letter %c is not supported", ch)
	}
	return fmt.Errorf("unknown pattern letter: %c", ch)
}

func (c *compiler) year(ch byte, n int) {
	c.grain(MillisPerDay)
	f := map[byte]field{'u': fieldYear, 'y': fieldYearOfEra, 'Y': fieldWeekYear}[ch]
	switch {
	case n == 2:
		c.number(element{kind: elemReduced, field: f, min: 2, max: 2, sign: signNotNegative})
	case n < 4:
		c.number(element{kind: elemNumber, field: f, min: int8(n), max: 19, sign: signNormal})
	default:
		c.number(element{kind: elemNumber, field: f, min: int8(min(n, 19)), max: 19, sign: signExceedsPad})
	}
}

func (c *compiler) textOrNumber(ch byte, n int) error {
	c.grain(MillisPerDay)
	f := map[byte]field{'M': fieldMonth, 'L': fieldMonth, 'Q': fieldQuarter, 'q': fieldQuarter, 'E': fieldDayOfWeek,
		'e': fieldDayOfWeek, 'c': fieldDayOfWeek}[ch]
	switch {
	case n > 5:
		return fmt.Errorf("too many pattern letters: %c (%d, at most 5)", ch, n)
	case n == 2 && ch == 'c':
		return errors.New("invalid pattern cc")
	case n <= 2 && (ch == 'e' || ch == 'c'):
		c.number(element{kind: elemNumber, field: fieldLocalDayOfWeek, min: int8(n), max: 2, sign: signNotNegative})
	case n <= 2 && ch != 'E':
		c.value(f, n)
	default:
		c.text(f, [...]textStyle{styleShort, styleShort, styleShort, styleFull, styleNarrow}[n-1])
	}
	return nil
}

func (c *compiler) week(ch byte, n int) error {
	c.grain(MillisPerDay)
	f, most := fieldDayOfWeekInMonth, 1
	switch ch {
	case 'W':
		f = fieldWeekOfMonth
	case 'w':
		f, most = fieldWeekOfYear, 2
	}
	if n > most {
		return fmt.Errorf("too many pattern letters: %c (%d, at most %d)", ch, n, most)
	}
	if ch == 'F' {
		c.value(f, 1)
		return nil
	}
	c.number(element{kind: elemNumber, field: f, min: int8(n), max: 2, sign: signNotNegative})
	return nil
}

func (c *compiler) wide(ch byte, n int) error {
	if n > 19 {
		return fmt.Errorf("too many pattern letters: %c (%d, at most 19)", ch, n)
	}
	e := element{kind: elemNumber, min: int8(n), max: 19, sign: signNotNegative}
	switch ch {
	case 'A':
		e.field = fieldMilliOfDay
		c.grain(1)
	case 'n':
		e.field = fieldNano
		c.grain(0)
	case 'N':
		e.field = fieldNanoOfDay
		c.grain(0)
	case 'g':
		e.field, e.sign = fieldJulianDay, signNormal
		c.grain(MillisPerDay)
	}
	c.number(e)
	return nil
}

func (c *compiler) text(f field, s textStyle) {
	c.grain(MillisPerDay)
	c.base = -1
	c.p.elems = append(c.p.elems, element{kind: elemText, field: f, style: s})
}

// Append prints a timestamp: the instant epochMillis plus nanos (0 to 999,999) in the given zone, nil for UTC (a TIMESTAMP without zone
// is printed as if it were UTC).
func (p *Pattern) Append(dst []byte, epochMillis int64, nanos int32, zone *Zone) []byte {
	offset := int32(0)
	if zone != nil {
		offset = zone.OffsetAt(FloorDiv(epochMillis, 1000))
		epochMillis += int64(offset) * 1000
	}
	days := FloorDiv(epochMillis, MillisPerDay)
	nanosOfDay := (epochMillis-days*MillisPerDay)*NanosPerMilli + int64(nanos)
	return p.AppendLocal(dst, days, nanosOfDay, offset)
}

// AppendLocal prints a wall-clock time given as Split gives it; offset in seconds is for the letters X, x and Z.
func (p *Pattern) AppendLocal(dst []byte, days, nanosOfDay int64, offset int32) []byte {
	if p.fast != fastNone && days >= MinDay+366 && days <= MaxDay {
		return p.appendFast(dst, days, nanosOfDay)
	}
	l := newLocal(days, nanosOfDay, offset)
	for i := range p.elems {
		dst = p.elems[i].append(dst, &l)
	}
	return dst
}

func (p *Pattern) appendFast(dst []byte, days, nanosOfDay int64) []byte {
	secs := int(nanosOfDay / NanosPerSecond)
	if p.fast == fastHour {
		return append2(dst, secs/3600)
	}
	y, m, d := CivilFromDays(days)
	dst = appendYear(dst, y)
	if p.fast == fastDateCompact {
		return append2(append2(dst, m), d)
	}
	dst = append(dst, '-', digits2[m*2], digits2[m*2+1], '-', digits2[d*2], digits2[d*2+1])
	if p.fast == fastDate {
		return dst
	}
	dst = append2(append(dst, ' '), secs/3600)
	if p.fast == fastDateHour {
		return dst
	}
	dst = append2(append(dst, ':'), secs/60%60)
	if p.fast == fastMinute {
		return dst
	}
	dst = append2(append(dst, ':'), secs%60)
	if p.fast == fastMilli {
		dst = appendPadded(append(dst, '.'), nanosOfDay%NanosPerSecond/NanosPerMilli, 3)
	}
	return dst
}

// local is a wall-clock time with its date cut up.
type local struct {
	days, nanosOfDay int64
	year, month, day int
	offset           int32
}

func newLocal(days, nanosOfDay int64, offset int32) local {
	l := local{days: days, nanosOfDay: nanosOfDay, offset: offset}
	l.year, l.month, l.day = CivilFromDays(days)
	return l
}

// get returns the value of a field of l.
func (l *local) get(f field) int64 {
	secs := l.nanosOfDay / NanosPerSecond
	switch f {
	case fieldYearOfEra:
		if l.year < 1 {
			return int64(1 - l.year)
		}
		return int64(l.year)
	case fieldYear:
		return int64(l.year)
	case fieldEra:
		if l.year < 1 {
			return 0
		}
		return 1
	case fieldAmPm:
		return secs / 43200
	case fieldHour:
		return secs / 3600
	case fieldClockHour:
		return (secs/3600+23)%24 + 1
	case fieldHour12:
		return secs / 3600 % 12
	case fieldClockHour12:
		return (secs/3600+11)%12 + 1
	case fieldMinute:
		return secs / 60 % 60
	case fieldSecond:
		return secs % 60
	case fieldNano:
		return l.nanosOfDay % NanosPerSecond
	case fieldMilliOfDay:
		return l.nanosOfDay / NanosPerMilli
	case fieldNanoOfDay:
		return l.nanosOfDay
	case fieldJulianDay:
		return l.days + 40587
	case fieldOffset:
		return int64(l.offset)
	}
	return l.dateField(f)
}

func (l *local) dateField(f field) int64 {
	switch f {
	case fieldQuarter:
		return int64(l.month+2) / 3
	case fieldMonth:
		return int64(l.month)
	case fieldDay:
		return int64(l.day)
	case fieldDayOfYear:
		return l.days - DaysFromCivil(l.year, 1, 1) + 1
	case fieldDayOfWeek:
		return int64(DayOfWeek(l.days))
	case fieldLocalDayOfWeek:
		return int64(DayOfWeek(l.days)%7 + 1)
	case fieldDayOfWeekInMonth:
		return int64(l.day-1)%7 + 1
	case fieldWeekYear, fieldWeekOfYear:
		y, w := sundayWeek(l.year, l.days)
		if f == fieldWeekYear {
			return int64(y)
		}
		return int64(w)
	case fieldWeekOfMonth:
		first := DaysFromCivil(l.year, l.month, 1)
		return int64(l.day-1+DayOfWeek(first)%7)/7 + 1
	}
	return 0
}

// sundayWeek returns week-based year and week where weeks begin on Sunday and week 1 has 1 January.
func sundayWeek(year int, days int64) (weekYear, week int) {
	next := DaysFromCivil(year+1, 1, 1)
	if days >= next-int64(DayOfWeek(next)%7) {
		return year + 1, 1
	}
	first := DaysFromCivil(year, 1, 1)
	return year, int(days-(first-int64(DayOfWeek(first)%7)))/7 + 1
}

func (e *element) append(dst []byte, l *local) []byte {
	switch e.kind {
	case elemLiteral:
		return append(dst, e.lit...)
	case elemReduced:
		return append2(dst, int(abs(l.get(e.field))%100))
	case elemFraction:
		return appendPadded(dst, l.get(fieldNano)/pow10[9-e.max], int(e.max))
	case elemPointFraction:
		return appendFraction(dst, l.get(fieldNano), NanosPerSecond, 0)
	case elemText:
		return append(dst, textOf(e.field, e.style, int(l.get(e.field)))...)
	case elemOffset:
		return appendOffset(dst, e.letter, int(e.min), l.offset)
	case elemNumber:
		v := l.get(e.field)
		if e.sign == signExceedsPad && e.min < 19 && v >= 0 {
			if strLen(v) > int(e.min) {
				dst = append(dst, '+')
			}
		}
		if v < 0 {
			dst = append(dst, '-')
			v = -v
		}
		return appendPadded(dst, v, int(e.min))
	}
	return dst // elemOptional: its elements follow and are always printed
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

func strLen(v int64) int {
	var b [20]byte
	return len(strconv.AppendInt(b[:0], v, 10))
}

// appendOffset prints an offset from UTC in seconds: X and x as +hh[mm], +hhmm, +hh:mm, +hhmm[ss], +hh:mm[:ss] by the number of letters,
// X with Z for zero; Z is +hhmm, GMT+h:mm for four letters.
func appendOffset(dst []byte, letter byte, n int, offset int32) []byte {
	if letter == 'Z' {
		switch {
		case n <= 3:
			letter, n = 'x', 2
		case n == 4:
			return appendGMT(dst, offset)
		default:
			letter = 'X'
		}
	}
	if offset == 0 && letter == 'X' {
		return append(dst, 'Z')
	}
	sign, o := byte('+'), int(offset)
	if o < 0 {
		sign, o = '-', -o
	}
	h, m, s := o/3600%100, o/60%60, o%60
	dst = append2(append(dst, sign), h)
	if n == 1 && m == 0 {
		return dst
	}
	colon := n == 3 || n == 5
	if colon {
		dst = append(dst, ':')
	}
	dst = append2(dst, m)
	if n >= 4 && s != 0 {
		if colon {
			dst = append(dst, ':')
		}
		dst = append2(dst, s)
	}
	return dst
}

func appendGMT(dst []byte, offset int32) []byte {
	dst = append(dst, "GMT"...)
	if offset == 0 {
		return dst
	}
	sign, o := byte('+'), int64(offset)
	if o < 0 {
		sign, o = '-', -o
	}
	dst = strconv.AppendInt(append(dst, sign), o/3600, 10)
	if o%3600 != 0 {
		dst = append2(append(dst, ':'), int(o/60%60))
	}
	return dst
}
