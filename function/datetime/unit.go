package datetime

import (
	"fmt"
	"strings"
)

// Unit is a part of a date, time or interval, as EXTRACT, FLOOR, TIMESTAMPADD and interval literals name it.
type Unit uint8

// The units.
const (
	Nanosecond Unit = iota
	Microsecond
	Millisecond
	Second
	Minute
	Hour
	Day
	Week
	Month
	Quarter
	Year
	Decade
	Century
	Millennium
	Epoch
	DayOfWeekUnit // DOW, 1 is Sunday
	ISODayOfWeek  // ISODOW, 1 is Monday
	DayOfYear     // DOY
	ISOYear
)

var unitNames = map[string]Unit{"NANOSECOND": Nanosecond, "MICROSECOND": Microsecond, "MILLISECOND": Millisecond, "SECOND": Second,
	"MINUTE": Minute, "HOUR": Hour, "DAY": Day, "WEEK": Week, "MONTH": Month, "QUARTER": Quarter, "YEAR": Year, "DECADE": Decade,
	"CENTURY": Century, "MILLENNIUM": Millennium, "EPOCH": Epoch, "DOW": DayOfWeekUnit, "ISODOW": ISODayOfWeek, "DOY": DayOfYear,
	"ISOYEAR": ISOYear, "SQL_TSI_MICROSECOND": Microsecond, "SQL_TSI_SECOND": Second, "SQL_TSI_MINUTE": Minute, "SQL_TSI_HOUR": Hour,
	"SQL_TSI_DAY": Day, "SQL_TSI_WEEK": Week, "SQL_TSI_MONTH": Month, "SQL_TSI_QUARTER": Quarter, "SQL_TSI_YEAR": Year}

// ParseUnit reads the SQL name of a unit, in any case.
func ParseUnit(name string) (Unit, error) {
	if u, ok := unitNames[strings.ToUpper(name)]; ok {
		return u, nil
	}
	return 0, fmt.Errorf("unknown time unit %q", name)
}

// String is the SQL name.
func (u Unit) String() string {
	for name, v := range unitNames {
		if v == u && !strings.HasPrefix(name, "SQL_") {
			return name
		}
	}
	return fmt.Sprintf("Unit(%d)", uint8(u))
}

// Millis returns the length of a unit from MILLISECOND to WEEK.
func (u Unit) Millis() (ms int64, ok bool) {
	switch u {
	case Millisecond:
		return 1, true
	case Second:
		return MillisPerSecond, true
	case Minute:
		return MillisPerMinute, true
	case Hour:
		return MillisPerHour, true
	case Day:
		return MillisPerDay, true
	case Week:
		return 7 * MillisPerDay, true
	}
	return 0, false
}

// Months returns the length of MONTH, QUARTER and YEAR.
func (u Unit) Months() (n int64, ok bool) {
	switch u {
	case Month:
		return 1, true
	case Quarter:
		return 3, true
	case Year:
		return 12, true
	}
	return 0, false
}

// isoWeek returns year and week of ISO 8601.
func isoWeek(days int64) (year, week int) {
	thursday := days - int64(DayOfWeek(days)) + 4
	year, _, _ = CivilFromDays(thursday)
	return year, int(thursday-DaysFromCivil(year, 1, 1))/7 + 1
}

// ExtractDate is EXTRACT(unit FROM date). Units below the day are 0.
func ExtractDate(u Unit, days int64) int64 {
	switch u {
	case Epoch:
		return days * SecondsPerDay
	case DayOfWeekUnit:
		return int64(DayOfWeek(days)%7) + 1
	case ISODayOfWeek:
		return int64(DayOfWeek(days))
	case Week:
		_, w := isoWeek(days)
		return int64(w)
	case ISOYear:
		y, _ := isoWeek(days)
		return int64(y)
	}
	y, m, d := CivilFromDays(days)
	switch u {
	case Year:
		return int64(y)
	case Quarter:
		return int64(m+2) / 3
	case Month:
		return int64(m)
	case Day:
		return int64(d)
	case DayOfYear:
		return days - DaysFromCivil(y, 1, 1) + 1
	case Decade:
		return int64(y / 10)
	case Century:
		return awayFromZero(y, 100)
	case Millennium:
		return awayFromZero(y, 1000)
	}
	return 0
}

// awayFromZero numbers spans of years: 2001 is in century 21, the year 0 in none.
func awayFromZero(year, span int) int64 {
	if year > 0 {
		return int64((year + span - 1) / span)
	}
	return int64((year - span + 1) / span)
}

// ExtractTimestamp is EXTRACT(unit FROM timestamp), flooring for times before 1970 (Flink 2.3 rounds toward zero there). MILLISECOND,
// MICROSECOND and NANOSECOND are the fraction of the second.
func ExtractTimestamp(u Unit, v, unitsPerSecond int64) int64 {
	if u == Epoch {
		return FloorDiv(v, unitsPerSecond)
	}
	days, nanos := Split(v, unitsPerSecond)
	if u >= Day {
		return ExtractDate(u, days)
	}
	return extractClock(u, nanos)
}

func extractClock(u Unit, nanosOfDay int64) int64 {
	secs, nanos := nanosOfDay/NanosPerSecond, nanosOfDay%NanosPerSecond
	switch u {
	case Nanosecond:
		return nanos
	case Microsecond:
		return nanos / 1_000
	case Millisecond:
		return nanos / NanosPerMilli
	case Second:
		return secs % 60
	case Minute:
		return secs / 60 % 60
	case Hour:
		return secs / 3600
	}
	return 0
}

// ExtractTime is EXTRACT(unit FROM time) for units below the day; EPOCH is the second of the day.
func ExtractTime(u Unit, millis int32) int64 {
	if u == Epoch {
		return int64(millis) / 1000
	}
	return extractClock(u, int64(millis)*NanosPerMilli)
}

// ExtractDayTime is EXTRACT(unit FROM interval DAY TO SECOND); parts of a negative interval are negative.
func ExtractDayTime(u Unit, millis int64) int64 {
	switch u {
	case Epoch:
		return millis / 1000
	case Day:
		return millis / MillisPerDay
	case Hour:
		return millis % MillisPerDay / MillisPerHour
	case Minute:
		return millis % MillisPerHour / MillisPerMinute
	case Second:
		return millis % MillisPerMinute / MillisPerSecond
	case Millisecond:
		return millis % MillisPerSecond
	case Microsecond:
		return millis % MillisPerSecond * 1_000
	case Nanosecond:
		return millis % MillisPerSecond * NanosPerMilli
	}
	return 0
}

// ExtractYearMonth is EXTRACT(unit FROM interval YEAR TO MONTH).
func ExtractYearMonth(u Unit, months int32) int64 {
	m := int64(months)
	switch u {
	case Millennium:
		return m / 12000
	case Century:
		return m / 1200
	case Decade:
		return m / 120
	case Year:
		return m / 12
	case Quarter:
		return m%12/3 + 1
	case Month:
		return m % 12
	}
	return 0
}

// FloorDate is FLOOR(date TO unit). Weeks begin on Sunday.
func FloorDate(u Unit, days int64) int64 {
	y, m, _ := CivilFromDays(days)
	switch u {
	case Millennium:
		return DaysFromCivil(1000*((y+999)/1000)-999, 1, 1)
	case Century:
		return DaysFromCivil(100*((y+99)/100)-99, 1, 1)
	case Decade:
		return DaysFromCivil(10*(y/10), 1, 1)
	case Year:
		return DaysFromCivil(y, 1, 1)
	case Quarter:
		return DaysFromCivil(y, (m+2)/3*3-2, 1)
	case Month:
		return DaysFromCivil(y, m, 1)
	case Week:
		return days - int64(DayOfWeek(days)%7)
	}
	return days
}

// CeilDate is CEIL(date TO unit) as Flink does it: the first day of a quarter other than the first goes on to the next quarter, and from
// DECADE up the next span always begins.
func CeilDate(u Unit, days int64) int64 {
	y, m, d := CivilFromDays(days)
	first := m == 1 && d == 1
	switch u {
	case Millennium:
		return DaysFromCivil(1000*((y+999)/1000)+1, 1, 1)
	case Century:
		return DaysFromCivil(100*((y+99)/100)+1, 1, 1)
	case Decade:
		return DaysFromCivil(10*(1+y/10), 1, 1)
	case Year:
		if !first {
			y++
		}
		return DaysFromCivil(y, 1, 1)
	case Quarter:
		q := (m + 2) / 3
		if !first {
			q++
		}
		return DaysFromCivil(y, q*3-2, 1)
	case Month:
		if d > 1 {
			m++
		}
		return DaysFromCivil(y, m, 1)
	case Week:
		return days + FloorMod(-int64(DayOfWeek(days)), 7)
	}
	return days
}

// step returns the length of a unit up to the day in units of a timestamp, 0 for longer ones.
func (u Unit) step(unitsPerSecond int64) int64 {
	switch u {
	case Nanosecond:
		return max(unitsPerSecond/NanosPerSecond, 1)
	case Microsecond:
		return max(unitsPerSecond/1_000_000, 1)
	case Millisecond:
		return max(unitsPerSecond/1_000, 1)
	case Second, Minute, Hour, Day:
		ms, _ := u.Millis()
		return ms / MillisPerSecond * unitsPerSecond
	}
	return 0
}

// FloorTimestamp is FLOOR(timestamp TO unit).
func FloorTimestamp(u Unit, v, unitsPerSecond int64) int64 {
	if step := u.step(unitsPerSecond); step > 0 {
		return v - FloorMod(v, step)
	}
	perDay := unitsPerSecond * SecondsPerDay
	return FloorDate(u, FloorDiv(v, perDay)) * perDay
}

// CeilTimestamp is CEIL(timestamp TO unit). From WEEK up only the day counts, as in Flink: a time on the first day of a month is
// already at its ceiling.
func CeilTimestamp(u Unit, v, unitsPerSecond int64) int64 {
	if step := u.step(unitsPerSecond); step > 0 {
		if r := FloorMod(v, step); r != 0 {
			return v - r + step
		}
		return v
	}
	perDay := unitsPerSecond * SecondsPerDay
	return CeilDate(u, FloorDiv(v, perDay)) * perDay
}

// FloorTime is FLOOR(time TO unit).
func FloorTime(u Unit, millis int32) int32 {
	if step := u.step(MillisPerSecond); step > 0 {
		return millis - millis%int32(step)
	}
	return 0
}

// CeilTime is CEIL(time TO unit); midnight of the next day is 24:00:00 as in Flink, which prints 24 hours.
func CeilTime(u Unit, millis int32) int32 {
	if step := int32(u.step(MillisPerSecond)); step > 0 && millis%step != 0 {
		return millis - millis%step + step
	}
	return millis
}
