package datetime

// literalNumber reads an integer of up to nine digits at the start of s, blanks before it skipped; n is 0 if there is none.
func literalNumber(s []byte) (v, n int) {
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	start := n
	for n < len(s) && n < start+9 && s[n]-'0' <= 9 {
		v = v*10 + int(s[n]-'0')
		n++
	}
	if n == start {
		return 0, 0
	}
	return v, n
}

// literalParts reads three numbers with separators; the rest follows the third.
func literalParts(s []byte, sep byte) (parts [3]int, rest []byte, ok bool) {
	for i := range parts {
		if i > 0 {
			if len(s) == 0 || s[0] != sep {
				return parts, nil, false
			}
			s = s[1:]
		}
		v, n := literalNumber(s)
		if n == 0 {
			return parts, nil, false
		}
		parts[i], s = v, s[n:]
	}
	return parts, s, true
}

// ParseDateLiteral reads the text of DATE '...': y-m-d, which must exist; 24-1-1 is the year 24, the year 0 is refused.
func ParseDateLiteral(s []byte) (days int32, ok bool) {
	p, rest, ok := literalParts(s, '-')
	if !ok || len(rest) != 0 || p[0] == 0 || !ValidDate(p[0], p[1], p[2]) {
		return 0, false
	}
	return int32(DaysFromCivil(p[0], p[1], p[2])), true
}

// literalClock reads h:m:s[.f] up to the end: nanoseconds of the day and the digits of the fraction, which make the literal's precision.
func literalClock(s []byte) (nanos int64, precision int, ok bool) {
	p, rest, ok := literalParts(s, ':')
	if !ok || p[0] > 23 || p[1] > 59 || p[2] > 59 {
		return 0, 0, false
	}
	nanos = int64(p[0]*3600+p[1]*60+p[2]) * NanosPerSecond
	if len(rest) == 0 {
		return nanos, 0, true
	}
	if rest[0] != '.' {
		return 0, 0, false
	}
	f, n := fraction(rest[1:])
	return nanos + f, n, n == len(rest)-1
}

// ParseTimeLiteral reads the text of TIME '...': h:m:s[.f]; values are kept to the millisecond.
func ParseTimeLiteral(s []byte) (millis int32, precision int, ok bool) {
	nanos, precision, ok := literalClock(s)
	return int32(nanos / NanosPerMilli), precision, ok
}

// ParseTimestampLiteral reads the text of TIMESTAMP '...': y-m-d h:m:s[.f], the date alone being midnight. The result is as Split gives it
// (see Join), the precision is the number of digits written.
func ParseTimestampLiteral(s []byte) (days, nanosOfDay int64, precision int, ok bool) {
	p, rest, ok := literalParts(s, '-')
	if !ok || p[0] == 0 || !ValidDate(p[0], p[1], p[2]) {
		return 0, 0, 0, false
	}
	if len(rest) > 0 {
		if rest[0] != ' ' {
			return 0, 0, 0, false
		}
		if nanosOfDay, precision, ok = literalClock(rest[1:]); !ok {
			return 0, 0, 0, false
		}
	}
	return DaysFromCivil(p[0], p[1], p[2]), nanosOfDay, precision, true
}
