package datetime

// Lengths used all over the package.
const (
	MillisPerSecond = 1_000
	MillisPerMinute = 60_000
	MillisPerHour   = 3_600_000
	MillisPerDay    = 86_400_000

	NanosPerSecond = 1_000_000_000
	NanosPerMilli  = 1_000_000
	NanosPerDay    = 86_400 * NanosPerSecond

	SecondsPerDay = 86_400
)

// Bounds of what Flink's text forms cover, in days since 1970-01-01: 0000-01-01 and 9999-12-31.
const (
	MinDay = -719528
	MaxDay = 2932896
)

// FloorDiv is x / y rounded toward negative infinity. REQUIRES: y > 0.
func FloorDiv(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

// FloorMod is x - FloorDiv(x, y) * y, in [0, y). REQUIRES: y > 0.
func FloorMod(x, y int64) int64 {
	r := x % y
	if r < 0 {
		r += y
	}
	return r
}

// IsLeapYear reports whether year has a 29 February in the proleptic Gregorian calendar.
func IsLeapYear(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

var monthLength = [13]int8{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// DaysInMonth returns the length of a month. REQUIRES: 1 <= month <= 12.
func DaysInMonth(year, month int) int {
	if month == 2 && IsLeapYear(year) {
		return 29
	}
	return int(monthLength[month])
}

// DaysFromCivil returns the days from 1970-01-01 to the given date of the proleptic Gregorian calendar. Month may be any number (13 is
// January of the next year) and day too, so that it does the arithmetic of lenient parsers as well.
func DaysFromCivil(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m < 1 || m > 12 {
		y += FloorDiv(m-1, 12)
		m = FloorMod(m-1, 12) + 1
	}
	// Years begin in March, so that the leap day is the last of a year and months have a formula.
	if m <= 2 {
		y--
		m += 9
	} else {
		m -= 3
	}
	era := FloorDiv(y, 400)
	yoe := y - era*400
	doy := (153*m + 2) / 5
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy + int64(day) - 1 - 719468
}

// CivilFromDays is the inverse of DaysFromCivil.
func CivilFromDays(days int64) (year, month, day int) {
	z := days + 719468
	era := FloorDiv(z, 146097)
	doe := uint32(z - era*146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d := doy - (153*mp+2)/5 + 1
	y := int64(yoe) + era*400
	m := mp + 3
	if mp >= 10 {
		m = mp - 9
		y++
	}
	return int(y), int(m), int(d)
}

// ValidDate reports whether the date exists and Flink's text forms cover it (years 0 to 9999).
func ValidDate(year, month, day int) bool {
	return year >= 0 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= DaysInMonth(year, month)
}

// DayOfWeek returns 1 (Monday) to 7 (Sunday) as ISO 8601 counts.
func DayOfWeek(days int64) int { return int(FloorMod(days+3, 7)) + 1 }

// Split cuts a timestamp into days since 1970-01-01 and nanoseconds of the day.
func Split(v, unitsPerSecond int64) (days, nanosOfDay int64) {
	perDay := unitsPerSecond * SecondsPerDay
	days = FloorDiv(v, perDay)
	return days, (v - days*perDay) * (NanosPerSecond / unitsPerSecond)
}

// Join is the inverse of Split: the timestamp in units, finer digits cut off. ok is false where int64 cannot hold it
// (nanoseconds reach from 1677-09-21 to 2262-04-11 only).
func Join(days, nanosOfDay, unitsPerSecond int64) (v int64, ok bool) {
	perDay := unitsPerSecond * SecondsPerDay
	rest := nanosOfDay / (NanosPerSecond / unitsPerSecond)
	const maxInt64, minInt64 = 1<<63 - 1, -1 << 63
	if days > maxInt64/perDay || days < minInt64/perDay-1 {
		return 0, false
	}
	if days >= 0 {
		v = days * perDay
		if v > maxInt64-rest {
			return 0, false
		}
		return v + rest, true
	}
	// Near the lower end days*perDay alone may not fit although the sum does: go one day up and count back.
	v = (days + 1) * perDay
	if back := perDay - rest; v < minInt64+back {
		return 0, false
	}
	return v - (perDay - rest), true
}

// Rescale changes the unit of a timestamp, flooring when digits are lost. ok is false on overflow.
func Rescale(v, from, to int64) (int64, bool) {
	switch {
	case from == to:
		return v, true
	case from > to:
		return FloorDiv(v, from/to), true
	}
	f := to / from
	r := v * f
	return r, r/f == v
}

// Truncate cuts a timestamp's fraction to precision digits, flooring (CAST to a smaller TIMESTAMP(p)).
func Truncate(v, unitsPerSecond int64, precision int) int64 {
	step := unitsPerSecond / pow10[min(max(precision, 0), 9)]
	if step <= 1 {
		return v
	}
	return v - FloorMod(v, step)
}

var pow10 = [10]int64{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}

// TimestampToDate returns the day of a timestamp, flooring (Flink 2.3 gives the day after for times with a fraction of the last
// second before 1970).
func TimestampToDate(v, unitsPerSecond int64) int32 {
	return int32(FloorDiv(v, unitsPerSecond*SecondsPerDay))
}

// TimestampToTime returns the milliseconds of the day of a timestamp.
func TimestampToTime(v, unitsPerSecond int64) int32 {
	return int32(FloorMod(v, unitsPerSecond*SecondsPerDay) / (unitsPerSecond / MillisPerSecond))
}

// DateToTimestamp returns midnight of a day. ok is false where the unit cannot reach the day.
func DateToTimestamp(days int32, unitsPerSecond int64) (int64, bool) {
	return Join(int64(days), 0, unitsPerSecond)
}
