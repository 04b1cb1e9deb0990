package json

import (
	"encoding/binary"
	"math"

	"staunch/function/datetime"
)

// The forms are those of java.time as Flink 2.3.0's JSON format builds them. SQL and ISO-8601 differ in more than the letter between date
// and time: the ISO form of TIMESTAMP is strict (no 30 February, no 24:00:00) and may leave out the seconds.

const (
	secondsPerDay = 86_400
	millisPerDay  = 86_400_000
)

// two reads two digits, or gives a number above 99.
func two(s []byte) int {
	a, b := s[0]-'0', s[1]-'0'
	if a > 9 || b > 9 {
		return 100
	}
	return int(a)*10 + int(b)
}

// parseDate reads yyyy-MM-dd (years beyond four digits with a sign) from the front of s. Unless strict, days up to 31 that a month does not
// have mean its last.
func parseDate(s []byte, strict bool) (days int64, rest []byte, ok bool) {
	sign, i := int64(1), 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		i = 1
	}
	begin, year := i, int64(0)
	for i < len(s) && s[i]-'0' < 10 && i-begin < 10 {
		year = year*10 + int64(s[i]-'0')
		i++
	}
	width := i - begin
	switch {
	case width < 4, begin == 0 && width > 4, year > 999_999_999:
		return 0, nil, false
	case begin == 1 && sign > 0 && width == 4, sign < 0 && year == 0:
		return 0, nil, false
	}
	year *= sign
	if len(s)-i < 6 || s[i] != '-' || s[i+3] != '-' {
		return 0, nil, false
	}
	month, day := two(s[i+1:]), two(s[i+4:])
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, nil, false
	}
	if last := datetime.DaysInMonth(int(year), month); day > last {
		if strict {
			return 0, nil, false
		}
		day = last
	}
	return datetime.DaysFromCivil(int(year), month, day), s[i+6:], true
}

// parseClock reads HH:mm:ss with up to nine digits of a second from the front of s. 24:00:00 is allowed unless strict: nanos is then a
// whole day. optionalSeconds allows HH:mm.
func parseClock(s []byte, strict, optionalSeconds bool) (nanos int64, rest []byte, ok bool) {
	if len(s) < 5 || s[2] != ':' {
		return 0, nil, false
	}
	hour, minute, second := two(s), two(s[3:]), 0
	s = s[5:]
	var fraction int64
	if len(s) >= 3 && s[0] == ':' {
		second = two(s[1:])
		s = s[3:]
		if len(s) > 0 && s[0] == '.' {
			s = s[1:]
			scale := int64(1e9)
			for len(s) > 0 && s[0]-'0' < 10 && scale > 1 {
				fraction = fraction*10 + int64(s[0]-'0')
				scale /= 10
				s = s[1:]
			}
			fraction *= scale
		}
	} else if !optionalSeconds {
		return 0, nil, false
	}
	if hour > 24 || minute > 59 || second > 59 || hour == 24 && (strict || minute|second != 0 || fraction != 0) {
		return 0, nil, false
	}
	return (int64(hour)*3600+int64(minute)*60+int64(second))*1e9 + fraction, s, true
}

// parseTimestamp reads a TIMESTAMP, or with zulu a TIMESTAMP_LTZ, whose form must end in Z.
func parseTimestamp(s []byte, iso, zulu bool) (days, nanos int64, ok bool) {
	strict := iso && !zulu
	days, s, ok = parseDate(s, strict)
	if !ok || len(s) == 0 {
		return 0, 0, false
	}
	switch {
	case !iso && s[0] == ' ', iso && s[0] == 'T', strict && s[0] == 't':
	default:
		return 0, 0, false
	}
	nanos, s, ok = parseClock(s[1:], strict, iso)
	if !ok {
		return 0, 0, false
	}
	if zulu {
		if len(s) != 1 || s[0] != 'Z' {
			return 0, 0, false
		}
	} else if len(s) != 0 {
		return 0, 0, false
	}
	return days, nanos, true
}

// joinTimestamp counts units since 1970-01-01 00:00:00. exact is false if digits were cut, ok if 64 bits do not reach the day.
func joinTimestamp(days, nanos, unitsPerSecond int64) (v int64, exact, ok bool) {
	perUnit := 1_000_000_000 / unitsPerSecond
	perDay := unitsPerSecond * secondsPerDay
	// One day of margin at either end spares the exact arithmetic of the bounds: nobody has data there.
	if limit := math.MaxInt64/perDay - 1; days > limit || days < -limit {
		return 0, false, false
	}
	return days*perDay + nanos/perUnit, nanos%perUnit == 0, true
}

// parseMillisFast reads "yyyy-MM-dd HH:mm:ss.SSS" (23 bytes, sep between date and time) and nothing else; ok is false for all other text,
// also for some that parseTimestamp knows. The day of the last call is remembered, as dates repeat.
func (m *dayMemo) parseMillisFast(s []byte, sep byte, strict bool) (millis int64, ok bool) {
	if len(s) != 23 || s[10] != sep || s[13] != ':' || s[16] != ':' || s[19] != '.' {
		return 0, false
	}
	a, b := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint16(s[8:])
	if a != m.text || b != m.tail {
		days, _, valid := parseDate(s[:10], strict)
		if !valid {
			return 0, false
		}
		m.text, m.tail, m.millis = a, b, days*millisPerDay
	}
	hour, minute, second := two(s[11:]), two(s[14:]), two(s[17:])
	frac, last := two(s[20:]), s[22]-'0'
	if hour > 23 || minute > 59 || second > 59 || frac > 99 || last > 9 {
		return 0, false
	}
	return m.millis + int64(hour)*3_600_000 + int64(minute)*60_000 + int64(second)*1000 + int64(frac)*10 + int64(last), true
}

// dayMemo remembers the last date: ten bytes of text and its midnight.
type dayMemo struct {
	text   uint64
	tail   uint16
	millis int64
}
