package datetime

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// AddMonths adds months to a day; a day behind the end of its month becomes the last. ok is false outside the years 0 to 9999.
func AddMonths(days int64, months int64) (r int64, ok bool) {
	y, m, d := CivilFromDays(days)
	if months > 12*20000 || months < -12*20000 {
		return 0, false
	}
	total := int64(y)*12 + int64(m) - 1 + months
	y, m = int(FloorDiv(total, 12)), int(FloorMod(total, 12))+1
	if y < 0 || y > 9999 {
		return 0, false
	}
	return DaysFromCivil(y, m, min(d, DaysInMonth(y, m))), true
}

// AddMonthsTimestamp is AddMonths for a timestamp; the time of the day stays.
func AddMonthsTimestamp(v, unitsPerSecond, months int64) (r int64, ok bool) {
	days, nanos := Split(v, unitsPerSecond)
	if days, ok = AddMonths(days, months); !ok {
		return 0, false
	}
	return Join(days, nanos, unitsPerSecond)
}

// AddMillisDate adds a day-time interval to a day; hours that make no whole day are dropped.
func AddMillisDate(days, millis int64) (r int64, ok bool) {
	r = days + millis/MillisPerDay
	return r, r >= MinDay && r <= MaxDay
}

// AddMillisTime adds a day-time interval to a time; it wraps at midnight.
func AddMillisTime(millis int32, interval int64) int32 {
	return int32(FloorMod(int64(millis)+interval%MillisPerDay, MillisPerDay))
}

// AddMillisTimestamp adds a day-time interval to a timestamp. ok is false on overflow.
func AddMillisTimestamp(v, unitsPerSecond, interval int64) (r int64, ok bool) {
	f := unitsPerSecond / MillisPerSecond
	if hi, lo := bits.Mul64(uint64(abs(interval)), uint64(f)); hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	d := interval * f
	r = v + d
	return r, (r > v) == (d > 0) || d == 0
}

// DiffMonths returns the whole months from one timestamp to another, as TIMESTAMPDIFF(MONTH, from, to) counts them: the month is whole when
// the day is reached, the last day of a short month counting as the day. For a negative span Flink compares the times of the day the
// same way as for a positive one, which is kept.
func DiffMonths(from, to, unitsPerSecond int64) int64 {
	d1, n1 := Split(from, unitsPerSecond)
	d0, n0 := Split(to, unitsPerSecond)
	x := DiffMonthsDate(d1, d0)
	if d2 := shiftMonths(d1, x); d2 == d0 && n0 < n1 {
		x--
	}
	return x
}

// DiffMonthsDate is DiffMonths for days.
func DiffMonthsDate(from, to int64) int64 {
	if to < from {
		return -DiffMonthsDate(to, from)
	}
	y0, m0, _ := CivilFromDays(to)
	y1, m1, _ := CivilFromDays(from)
	m := int64(y0-y1)*12 + int64(m0-m1)
	if shiftMonths(from, m) > to {
		m--
	}
	return m
}

// shiftMonths is AddMonths without its range.
func shiftMonths(days, months int64) int64 {
	y, m, d := CivilFromDays(days)
	total := int64(y)*12 + int64(m) - 1 + months
	y, m = int(FloorDiv(total, 12)), int(FloorMod(total, 12))+1
	return DaysFromCivil(y, m, min(d, DaysInMonth(y, m)))
}

// Diff is TIMESTAMPDIFF(unit, from, to) of timestamps: whole units, rounded toward zero; ok is false for units it does not have.
func Diff(u Unit, from, to, unitsPerSecond int64) (n int64, ok bool) {
	if k, ok := u.Months(); ok {
		return DiffMonths(from, to, unitsPerSecond) / k, true
	}
	d := to - from
	switch u {
	case Microsecond:
		if unitsPerSecond < 1_000_000 {
			return d * (1_000_000 / unitsPerSecond), true
		}
		return d / (unitsPerSecond / 1_000_000), true
	case Millisecond:
		return d / (unitsPerSecond / MillisPerSecond), true
	}
	ms, ok := u.Millis()
	if !ok {
		return 0, false
	}
	return d / (ms / MillisPerSecond * unitsPerSecond), true
}

// AppendYearMonth prints an interval of months: +1-02.
func AppendYearMonth(dst []byte, months int32) []byte {
	v, sign := int64(months), byte('+')
	if v < 0 {
		v, sign = -v, '-'
	}
	dst = strconv.AppendInt(append(dst, sign), v/12, 10)
	return append2(append(dst, '-'), int(v%12))
}

// AppendDayTime prints an interval of milliseconds: +1 02:03:04.005.
func AppendDayTime(dst []byte, millis int64) []byte {
	sign, v := byte('+'), uint64(millis)
	if millis < 0 {
		sign, v = '-', -v
	}
	dst = strconv.AppendUint(append(dst, sign), v/MillisPerDay, 10)
	ms := v % MillisPerDay
	dst = appendHMS(append(dst, ' '), int(ms/1000))
	return appendPadded(append(dst, '.'), int64(ms%1000), 3)
}

// DefaultLeadingPrecision is the number of digits the first field of an interval literal may have when the type does not say.
const DefaultLeadingPrecision = 2

// ParseIntervalYearMonth reads the text of INTERVAL 'text' YEAR, QUARTER, MONTH or YEAR TO MONTH: [+-]y, [+-]m or [+-]y-m.
func ParseIntervalYearMonth(s string, from, to Unit, leadingPrecision int) (months int32, err error) {
	p := intervalText{text: s, rest: s, from: from, to: to}
	neg := p.sign()
	lead := p.number(leadingPrecision, math.MaxInt32)
	var total int64
	switch {
	case from == Year && to == Month:
		p.separator('-')
		total = lead*12 + p.number(2, 11)
	case from == to && (from == Year || from == Quarter || from == Month):
		n, _ := from.Months()
		total = lead * n
	default:
		return 0, fmt.Errorf("interval %q: %v TO %v is no year-month interval", s, from, to)
	}
	if err = p.end(); err != nil {
		return 0, err
	}
	if total > math.MaxInt32 {
		return 0, fmt.Errorf("interval %q: more than %d months", s, math.MaxInt32)
	}
	if neg {
		total = -total
	}
	return int32(total), nil
}

// ParseIntervalDayTime reads the text of INTERVAL 'text' from [TO to] for WEEK and DAY to SECOND: [+-]d h:m:s.f cut to the fields named. The
// fraction is cut to milliseconds.
func ParseIntervalDayTime(s string, from, to Unit, leadingPrecision int) (millis int64, err error) {
	if from == Week && to == Week {
		from, to = Day, Day
		if millis, err = ParseIntervalDayTime(s, from, to, leadingPrecision); err == nil {
			millis *= 7
		}
		return millis, err
	}
	if from > Day || to < Second || to > from {
		return 0, fmt.Errorf("interval %q: %v TO %v is no day-time interval", s, from, to)
	}
	p := intervalText{text: s, rest: s, from: from, to: to}
	neg := p.sign()
	for u := from; u >= to; u-- {
		n := int64(0)
		if u == from {
			n = p.number(leadingPrecision, 9_999_999_999)
		} else {
			p.separator(map[Unit]byte{Hour: ' ', Minute: ':', Second: ':'}[u])
			n = p.number(2, map[Unit]int64{Hour: 23, Minute: 59, Second: 59}[u])
		}
		ms, _ := u.Millis()
		millis += n * ms
	}
	if to == Second {
		millis += p.fraction()
	}
	if err = p.end(); err != nil {
		return 0, err
	}
	if neg {
		millis = -millis
	}
	return millis, nil
}

// intervalText reads an interval literal; the first fault stays.
type intervalText struct {
	text, rest string
	from, to   Unit
	fault      string
}

func (p *intervalText) sign() (neg bool) {
	if p.rest != "" && (p.rest[0] == '-' || p.rest[0] == '+') {
		neg = p.rest[0] == '-'
		p.rest = p.rest[1:]
	}
	return neg
}

func (p *intervalText) fail(format string, args ...any) {
	if p.fault == "" {
		p.fault = fmt.Sprintf(format, args...)
	}
}

func (p *intervalText) number(digits int, limit int64) int64 {
	n := 0
	v := int64(0)
	for n < len(p.rest) && p.rest[n]-'0' <= 9 {
		if n < 18 {
			v = v*10 + int64(p.rest[n]-'0')
		}
		n++
	}
	switch {
	case n == 0:
		p.fail("a number is missing")
	case n > max(digits, 1) && v >= int64(math.Pow10(min(max(digits, 1), 18))):
		p.fail("%s has more than %d digits", p.rest[:n], digits)
	case n > 18 || v > limit:
		p.fail("%s is more than %d", p.rest[:n], limit)
	}
	p.rest = p.rest[n:]
	return v
}

func (p *intervalText) separator(c byte) {
	if p.rest == "" || p.rest[0] != c {
		p.fail("%q is missing", c)
		return
	}
	p.rest = p.rest[1:]
}

func (p *intervalText) fraction() (millis int64) {
	if p.rest == "" || p.rest[0] != '.' {
		return 0
	}
	nanos, n := fraction([]byte(p.rest[1:]))
	if n == 0 {
		p.fail("no digits behind the point")
	}
	p.rest = p.rest[1+n:]
	return nanos / NanosPerMilli
}

func (p *intervalText) end() error {
	if p.fault == "" && p.rest != "" {
		p.fail("%q is too much", p.rest)
	}
	if p.fault == "" {
		return nil
	}
	span := p.from.String()
	if p.to != p.from {
		span += " TO " + p.to.String()
	}
	return fmt.Errorf("illegal interval literal '%s' %s: %s", p.text, span, p.fault)
}
