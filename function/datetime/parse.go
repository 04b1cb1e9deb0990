package datetime

// trim cuts bytes up to and including space from both ends, as Java's String.trim.
func trim(s []byte) []byte {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

func indexByte(s []byte, c byte) int {
	for i, b := range s {
		if b == c {
			return i
		}
	}
	return -1
}

// smallInt reads an unsigned integer of ASCII digits with blanks around it; -1 if it is none or does not fit 31 bits.
func smallInt(s []byte) int {
	s = trim(s)
	if len(s) == 0 {
		return -1
	}
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return -1
		}
		if n = n*10 + int(c-'0'); n > 1<<31-1 {
			return -1
		}
	}
	return n
}

// two reads two digits at s[i]; a negative number if they are none.
func two(s []byte, i int) int {
	a, b := s[i]-'0', s[i+1]-'0'
	if a > 9 || b > 9 {
		return -1
	}
	return int(a)*10 + int(b)
}

func four(s []byte, i int) int {
	a, b := two(s, i), two(s, i+2)
	if a < 0 || b < 0 {
		return -1
	}
	return a*100 + b
}

// ParseDate reads DATE as CAST(.. AS DATE) and TO_DATE do: y[-m[-d]], any number of digits, blanks around each part; what follows a
// blank behind the first byte is ignored, so that the text of a timestamp gives its day. The date must exist.
func ParseDate(s []byte) (days int32, ok bool) {
	if len(s) == 10 && s[4] == '-' && s[7] == '-' {
		if y, m, d := four(s, 0), two(s, 5), two(s, 8); y >= 0 && m >= 0 && d >= 0 {
			if !ValidDate(y, m, d) {
				return 0, false
			}
			return int32(DaysFromCivil(y, m, d)), true
		}
	}
	if i := indexByte(s, ' '); i > 0 {
		s = s[:i]
	}
	y, m, d := 0, 1, 1
	if h := indexByte(s, '-'); h < 0 {
		y = smallInt(s)
	} else {
		y = smallInt(s[:h])
		s = s[h+1:]
		if h = indexByte(s, '-'); h < 0 {
			m = smallInt(s)
		} else {
			m, d = smallInt(s[:h]), smallInt(s[h+1:])
		}
	}
	if !ValidDate(y, m, d) {
		return 0, false
	}
	return int32(DaysFromCivil(y, m, d)), true
}

// ParseDateISO reads yyyy-MM-dd strictly: the DATE of JSON and CSV. 30 February is refused.
func ParseDateISO(s []byte) (days int32, ok bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	y, m, d := four(s, 0), two(s, 5), two(s, 8)
	if y < 0 || !ValidDate(y, m, d) {
		return 0, false
	}
	return int32(DaysFromCivil(y, m, d)), true
}

// civilTime is a parsed wall-clock time before its date is checked.
type civilTime struct {
	year, month, day int
	nanos            int64 // of the day; NanosPerDay for 24:00:00
}

// timestamp resolves as Java's "smart" style does: days 29 to 31 behind the end of their month become its last day, 24:00:00 the next
// midnight. ok is false for months and days that no month has, years outside 0 to 9999 and values the unit cannot hold.
func (c civilTime) timestamp(unitsPerSecond int64) (int64, bool) {
	if c.month < 1 || c.month > 12 || c.day < 1 || c.day > 31 || c.year < 0 || c.year > 9999 {
		return 0, false
	}
	day := min(c.day, DaysInMonth(c.year, c.month))
	days, nanos := DaysFromCivil(c.year, c.month, day), c.nanos
	if nanos == NanosPerDay {
		days, nanos = days+1, 0
	}
	return Join(days, nanos, unitsPerSecond)
}

// clock reads HH:mm:ss[.f{0,9}] at the start of s: nanoseconds of the day (24:00:00 gives NanosPerDay if midnight24) and the bytes
// read; n < 0 if it is none. With optionalSeconds the seconds may be missing.
func clock(s []byte, midnight24, optionalSeconds bool) (nanos int64, n int) {
	if len(s) < 5 || s[2] != ':' {
		return 0, -1
	}
	h, m, sec := two(s, 0), two(s, 3), 0
	n = 5
	withSeconds := len(s) >= 8 && s[5] == ':'
	if withSeconds {
		sec = two(s, 6)
		n = 8
	} else if !optionalSeconds || len(s) > 5 && s[5] == ':' {
		return 0, -1
	}
	if h < 0 || h > 24 || m < 0 || m > 59 || sec < 0 || sec > 59 {
		return 0, -1
	}
	nanos = int64(h*3600+m*60+sec) * NanosPerSecond
	if withSeconds && len(s) > 8 && s[8] == '.' {
		f, k := fraction(s[9:])
		nanos += f
		n += 1 + k
	}
	if h == 24 && (!midnight24 || nanos != NanosPerDay) {
		return 0, -1
	}
	return nanos, n
}

// fraction reads up to nine digits as nanoseconds.
func fraction(s []byte) (nanos int64, n int) {
	for n < len(s) && n < 9 && s[n]-'0' <= 9 {
		nanos = nanos*10 + int64(s[n]-'0')
		n++
	}
	return nanos * pow10[9-n], n
}

// standardTimestamp reads the text of one of the two JSON standards up to the end of its clock part.
func standardTimestamp(s []byte, sep byte, optionalSeconds, midnight24 bool) (c civilTime, rest []byte, ok bool) {
	if len(s) < 16 || s[4] != '-' || s[7] != '-' || s[10] != sep {
		return c, nil, false
	}
	y, m, d := four(s, 0), two(s, 5), two(s, 8)
	if y < 0 || m < 0 || d < 0 {
		return c, nil, false
	}
	nanos, n := clock(s[11:], midnight24, optionalSeconds)
	if n < 0 {
		return c, nil, false
	}
	return civilTime{y, m, d, nanos}, s[11+n:], true
}

// ParseTimestampSQL reads TIMESTAMP in the SQL standard of JSON: yyyy-MM-dd HH:mm:ss[.f]. 30 February is the last of February and
// 24:00:00 the next day, as in Flink; T, a zone suffix, second 60 and text behind are refused. Digits beyond the unit are cut off.
func ParseTimestampSQL(s []byte, unitsPerSecond int64) (v int64, ok bool) {
	c, rest, ok := standardTimestamp(s, ' ', false, true)
	if !ok || len(rest) != 0 {
		return 0, false
	}
	return c.timestamp(unitsPerSecond)
}

// ParseTimestampISO reads TIMESTAMP in the ISO-8601 standard of JSON: yyyy-MM-ddTHH:mm[:ss[.f]]. Dates must exist.
func ParseTimestampISO(s []byte, unitsPerSecond int64) (v int64, ok bool) {
	c, rest, ok := standardTimestamp(s, 'T', true, false)
	if !ok || len(rest) != 0 || !ValidDate(c.year, c.month, c.day) {
		return 0, false
	}
	return c.timestamp(unitsPerSecond)
}

// ParseTimestampLTZ reads TIMESTAMP_LTZ of JSON: the text of TIMESTAMP in the given standard with a Z behind it, which is required; other
// zones are refused. v is the instant.
func ParseTimestampLTZ(s []byte, std Standard, unitsPerSecond int64) (v int64, ok bool) {
	sep := byte(' ')
	if std == ISO8601 {
		sep = 'T'
	}
	c, rest, ok := standardTimestamp(s, sep, std == ISO8601, true)
	if !ok || len(rest) != 1 || rest[0] != 'Z' {
		return 0, false
	}
	return c.timestamp(unitsPerSecond)
}

// ParseTimestampStandard is ParseTimestampSQL or ParseTimestampISO.
func ParseTimestampStandard(s []byte, std Standard, unitsPerSecond int64) (v int64, ok bool) {
	if std == ISO8601 {
		return ParseTimestampISO(s, unitsPerSecond)
	}
	return ParseTimestampSQL(s, unitsPerSecond)
}

// ParseTimeStandard reads TIME of JSON and CSV: HH:mm:ss[.f]; the result is in milliseconds of the day, 24:00:00 is 0.
func ParseTimeStandard(s []byte) (millis int32, ok bool) {
	nanos, n := clock(s, true, false)
	if n < 0 || n != len(s) {
		return 0, false
	}
	return int32(nanos % NanosPerDay / NanosPerMilli), true
}

// ParseTimestamp reads TIMESTAMP as CAST and TO_TIMESTAMP(text) do: yyyy-m-d[ h:m:s[.f]] with one or two digits each. 30 February is
// the last of February, 24:00:00 the next day; blanks around, T and zones are refused. The fraction is cut to precision digits.
func ParseTimestamp(s []byte, unitsPerSecond int64, precision int) (v int64, ok bool) {
	if v, ok = ParseTimestampSQL(s, unitsPerSecond); !ok {
		if v, ok = dateOnly(s, unitsPerSecond); ok {
			return v, true
		}
		f, err := defaultTimestamp.Parse(s)
		if err != nil {
			return 0, false
		}
		if v, ok = f.Timestamp(unitsPerSecond); !ok {
			return 0, false
		}
	} else if len(s) >= 4 && s[0] == '0' && s[1] == '0' && s[2] == '0' && s[3] == '0' {
		return 0, false // the pattern letter y has no year 0
	}
	return Truncate(v, unitsPerSecond, precision), true
}

// dateOnly is the fast way of yyyy-MM-dd for ParseTimestamp; ok is false where the slow way must decide.
func dateOnly(s []byte, unitsPerSecond int64) (v int64, ok bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	c := civilTime{year: four(s, 0), month: two(s, 5), day: two(s, 8)}
	if c.year < 1 {
		return 0, false
	}
	return c.timestamp(unitsPerSecond)
}

// ParseTime reads TIME as CAST(.. AS TIME(precision)) does: h[:m[:s[.f]]] with blanks around each part, and an offset behind it which,
// as in Flink, is added for + and subtracted for -; where Flink then leaves the day, the time wraps. The fraction is rounded half up to
// milliseconds, then cut to precision digits.
func ParseTime(s []byte, precision int) (millis int32, ok bool) {
	sign, zone := -1, indexByte(s, '-')
	if zone < 0 {
		sign, zone = 1, indexByte(s, '+')
	}
	zoneHour, zoneMinute, end := 0, 0, len(s)
	if zone >= 0 {
		end = zone
		off := s[zone+1:]
		if c := indexByte(off, ':'); c < 0 {
			zoneHour = smallInt(off)
		} else {
			zoneHour, zoneMinute = smallInt(off[:c]), smallInt(off[c+1:])
		}
		if zoneHour < 0 || zoneMinute < 0 {
			return 0, false
		}
	}
	h, m, sec, milli, ok := lenientClock(s[:end])
	if !ok || h > 23 || m > 59 || sec > 59 {
		return 0, false
	}
	total := int64(h)*MillisPerHour + int64(m)*MillisPerMinute + int64(sec)*MillisPerSecond + int64(milli)
	total = min(total, MillisPerDay-1) // 23:59:59.9999 does not become the next midnight
	total = FloorMod(total+int64(sign)*(int64(zoneHour)*MillisPerHour+int64(zoneMinute)*MillisPerMinute), MillisPerDay)
	if precision < 3 {
		total -= total % pow10[3-max(precision, 0)]
	}
	return int32(total), true
}

func lenientClock(s []byte) (h, m, sec, milli int, ok bool) {
	c := indexByte(s, ':')
	if c < 0 {
		h = smallInt(s)
		return h, 0, 0, 0, h >= 0
	}
	h = smallInt(s[:c])
	s = s[c+1:]
	if c = indexByte(s, ':'); c < 0 {
		m = smallInt(s)
		return h, m, 0, 0, h >= 0 && m >= 0
	}
	m = smallInt(s[:c])
	s = s[c+1:]
	if c = indexByte(s, '.'); c >= 0 {
		milli = roundedMillis(trim(s[c+1:]))
		s = s[:c]
	}
	sec = smallInt(s)
	return h, m, sec, milli, h >= 0 && m >= 0 && sec >= 0
}

// roundedMillis reads a fraction of a second; bytes that are no digits count as 0, the fourth rounds the third.
func roundedMillis(s []byte) int {
	r, f := 0, 100
	for i, c := range s {
		if c >= '0' && c <= '9' {
			r += f * int(c-'0')
		}
		if f == 1 {
			if i+1 < len(s) && s[i+1] >= '5' {
				r++
			}
			break
		}
		f /= 10
	}
	return r
}
