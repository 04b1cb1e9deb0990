package datetime

import "math"

// legacyDefault is the pattern of functions on strings when none is given.
var legacyDefault = func() *LegacyPattern {
	p, err := CompileLegacyPattern("yyyy-MM-dd HH:mm:ss")
	if err != nil {
		panic(err) // a constant of this package
	}
	return p
}()

// legacyDateTime is the fast way of reading yyyy-MM-dd HH:mm:ss from 1583 on; ok is false where the slow way must decide.
func legacyDateTime(s []byte) (millis int64, ok bool) {
	if len(s) != 19 || s[0] == '0' || s[0] == '1' && s[1] < '6' {
		return 0, false
	}
	c, rest, ok := standardTimestamp(s, ' ', false, false)
	if !ok || len(rest) != 0 || !ValidDate(c.year, c.month, c.day) {
		return 0, false
	}
	return c.timestamp(MillisPerSecond)
}

// UnixTimestamp is UNIX_TIMESTAMP(text[, pattern]): seconds since 1970-01-01 UTC of a wall-clock text in a zone; nil for the pattern is
// yyyy-MM-dd HH:mm:ss. Text that does not match gives the smallest int64, as in Flink.
func UnixTimestamp(s []byte, p *LegacyPattern, zone *Zone) int64 {
	ms, ok := parseLegacy(s, p, zone)
	if !ok {
		return math.MinInt64
	}
	return ms / 1000
}

func parseLegacy(s []byte, p *LegacyPattern, zone *Zone) (epochMillis int64, ok bool) {
	if p == nil || p == legacyDefault {
		if v, ok := legacyDateTime(s); ok {
			if zone == nil {
				return v, true
			}
			return zone.LegacyLocalToInstant(v, MillisPerSecond)
		}
		p = legacyDefault
	}
	return p.Parse(s, zone)
}

// AppendFromUnixTime is FROM_UNIXTIME(seconds[, pattern]); nil for the pattern is yyyy-MM-dd HH:mm:ss. Seconds beyond an int64 of
// milliseconds wrap, as in Flink.
func AppendFromUnixTime(dst []byte, seconds int64, p *LegacyPattern, zone *Zone) []byte {
	if p == nil {
		p = legacyDefault
	}
	return p.Append(dst, seconds*1000, zone)
}

// AppendConvertTZ is CONVERT_TZ(text, from, to) for zones of LegacyZone; ok is false (SQL: NULL) where the text is no yyyy-MM-dd HH:mm:ss.
func AppendConvertTZ(dst, s []byte, from, to *Zone) (out []byte, ok bool) {
	ms, ok := parseLegacy(s, nil, from)
	if !ok {
		return dst, false
	}
	return legacyDefault.Append(dst, ms, to), true
}

// AppendReformat is DATE_FORMAT(text, pattern): reads yyyy-MM-dd HH:mm:ss and prints it by the pattern, both in the zone of table.local-time-zone; ok is
// false (SQL: NULL) where the text is none.
func AppendReformat(dst, s []byte, p *LegacyPattern, zone *Zone) (out []byte, ok bool) {
	ms, ok := parseLegacy(s, nil, zone)
	if !ok {
		return dst, false
	}
	return p.Append(dst, ms, zone), true
}

// ParseDatePattern is TO_DATE(text, pattern); ok is false (SQL: NULL) where the text does not match or the day is outside the years 0 to 9999.
func ParseDatePattern(s []byte, p *LegacyPattern) (days int32, ok bool) {
	ms, ok := p.Parse(s, nil)
	if !ok {
		return 0, false
	}
	d := FloorDiv(ms, MillisPerDay)
	if d < MinDay || d > MaxDay {
		return 0, false
	}
	return int32(d), true
}

// Bounds of TO_TIMESTAMP_LTZ: years 0 to 9999.
const (
	minEpochSeconds = MinDay * SecondsPerDay
	maxEpochSeconds = (MaxDay+1)*SecondsPerDay - 1
)

// InstantOfNumber is TO_TIMESTAMP_LTZ(number, precision): number counts units of 10^-precision seconds, precision from 0 to 9. The result
// has unitsPerSecond; ok is false (SQL: NULL) outside the years 0 to 9999 and where the unit cannot hold it.
func InstantOfNumber(number int64, precision int, unitsPerSecond int64) (v int64, ok bool) {
	if precision < 0 || precision > 9 {
		return 0, false
	}
	per := pow10[precision]
	secs, rest := FloorDiv(number, per), FloorMod(number, per)
	if secs < minEpochSeconds || secs > maxEpochSeconds {
		return 0, false
	}
	days := FloorDiv(secs, SecondsPerDay)
	return Join(days, FloorMod(secs, SecondsPerDay)*NanosPerSecond+rest*(NanosPerSecond/per), unitsPerSecond)
}

// ParseInstant reads TO_TIMESTAMP_LTZ(text) and CAST(text AS TIMESTAMP_LTZ): a wall-clock text as ParseTimestamp takes it, in the zone.
func ParseInstant(s []byte, unitsPerSecond int64, precision int, zone *Zone) (v int64, ok bool) {
	if v, ok = ParseTimestamp(s, unitsPerSecond, precision); !ok || zone == nil {
		return v, ok
	}
	return zone.LocalToInstant(v, unitsPerSecond)
}
