package datetime

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines without zone data of their own
)

// Zone is a time zone with its transitions in a table. It is immutable and safe for concurrent use.
type Zone struct {
	name string
	// offset in seconds, of a fixed zone always and of others before the first transition.
	offset int32
	// raw is the present standard offset, which java.util.TimeZone takes for all times before 1900.
	raw   int32
	at    []int64 // seconds since 1970-01-01 UTC, ascending
	after []int32 // offset from at[i] on
	loc   *time.Location
}

// UTC is the zone without offset.
var UTC = &Zone{name: "UTC"}

// tableEnd is the second up to which transitions are in the table: 2200-01-01. Beyond, the rules of package time are asked.
const tableEnd = 7258118400

// tableStart lies before the first transition of every zone: 1800-01-01.
const tableStart = -5364662400

// Name returns the zone's id as it was given.
func (z *Zone) Name() string { return z.name }

// Fixed reports whether the offset never changes, and the offset in seconds.
func (z *Zone) Fixed() (offset int32, ok bool) { return z.offset, z.loc == nil }

func fixedZone(name string, offset int32) *Zone {
	return &Zone{name: name, offset: offset, raw: offset}
}

// start1900 is 1900-01-01 00:00:00 UTC.
const start1900 = -2208988800

// legacyOffsetAt is OffsetAt as java.util.TimeZone sees it.
func (z *Zone) legacyOffsetAt(sec int64) int32 {
	if sec < start1900 {
		return z.raw
	}
	return z.OffsetAt(sec)
}

func newZone(name string, loc *time.Location) *Zone {
	z := &Zone{name: name, loc: loc}
	t := time.Unix(tableStart, 0).In(loc)
	_, off := t.Zone()
	z.offset = int32(off)
	last := z.offset
	for {
		_, end := t.ZoneBounds()
		if end.IsZero() || end.Unix() >= tableEnd {
			break
		}
		if !end.After(t) {
			// Package time reports a bound of the last days of leap years that is the time itself: no change, go on.
			end = t.Add(24 * time.Hour)
		}
		t = end
		if _, off = t.Zone(); int32(off) != last {
			last = int32(off)
			z.at, z.after = append(z.at, end.Unix()), append(z.after, last)
		}
	}
	// Summer time is ahead, so the smaller offset of a year is the standard one.
	const year2025 = 1735689600
	z.raw = z.OffsetAt(year2025)
	for week := range int64(52) {
		z.raw = min(z.raw, z.OffsetAt(year2025+week*7*SecondsPerDay))
	}
	return z
}

// OffsetAt returns the offset from UTC in seconds at an instant given in seconds since 1970-01-01 UTC.
func (z *Zone) OffsetAt(sec int64) int32 {
	off, _, _ := z.span(sec)
	return off
}

// span returns the offset at an instant and the seconds [from, to) for which it holds at least.
func (z *Zone) span(sec int64) (offset int32, from, to int64) {
	const forever = 1 << 62
	if z.loc == nil {
		return z.offset, -forever, forever
	}
	if sec >= tableEnd {
		_, off := time.Unix(sec, 0).In(z.loc).Zone()
		return int32(off), sec, sec + 1
	}
	i := sort.Search(len(z.at), func(i int) bool { return z.at[i] > sec })
	offset, from, to = z.offset, -forever, tableEnd
	if i > 0 {
		offset, from = z.after[i-1], z.at[i-1]
	}
	if i < len(z.at) {
		to = z.at[i]
	}
	return offset, from, to
}

// before returns the offsets in force before and after the transition nearest to a local time; they are equal when no transition within a
// day makes the local time doubtful (skipped or doubled).
func (z *Zone) around(localSec int64) (before, after int32) {
	if z.loc == nil {
		return z.offset, z.offset
	}
	// An offset is less than a day, so the true instant lies within a day of the local reading.
	a, b := z.OffsetAt(localSec-SecondsPerDay), z.OffsetAt(localSec+SecondsPerDay)
	if a == b {
		// Two transitions within two days that cancel out do not occur in the data of any zone with offsets this far apart; but the
		// offset between may differ, so ask at the reading itself.
		m := z.OffsetAt(localSec - int64(a))
		if m == a {
			return a, a
		}
		b = m
	}
	// a holds for instants before the transition, b from it on.
	asBefore, asAfter := localSec-int64(a), localSec-int64(b)
	validBefore, validAfter := z.OffsetAt(asBefore) == a, z.OffsetAt(asAfter) == b
	switch {
	case validBefore && !validAfter:
		return a, a
	case validAfter && !validBefore:
		return b, b
	}
	return a, b // both: the hour is doubled; none: it is skipped
}

// LocalToInstant returns the instant of a wall-clock time as Flink's CAST(TIMESTAMP AS TIMESTAMP_LTZ) does (java.time): a doubled time is
// the earlier one, a skipped one is moved on by the length of the gap. ok is false on overflow.
func (z *Zone) LocalToInstant(v, unitsPerSecond int64) (int64, bool) {
	before, _ := z.around(FloorDiv(v, unitsPerSecond))
	r := v - int64(before)*unitsPerSecond
	return r, (r > v) == (before < 0) || before == 0
}

// LegacyLocalToInstant is LocalToInstant as Flink's string functions do it (java.util.Calendar): a doubled time is the later one.
func (z *Zone) LegacyLocalToInstant(v, unitsPerSecond int64) (int64, bool) {
	sec := FloorDiv(v, unitsPerSecond)
	before, after := z.around(sec)
	off := before
	if sec-int64(z.raw) < start1900 {
		off, after = z.raw, z.raw
		before = z.raw
	}
	if before > after { // doubled
		off = after
	}
	r := v - int64(off)*unitsPerSecond
	return r, (r > v) == (off < 0) || off == 0
}

// InstantToLocal returns the wall-clock time of an instant. ok is false on overflow.
func (z *Zone) InstantToLocal(v, unitsPerSecond int64) (int64, bool) {
	off := int64(z.OffsetAt(FloorDiv(v, unitsPerSecond)))
	r := v + off*unitsPerSecond
	return r, (r < v) == (off < 0) || off == 0
}

var zones sync.Map // name -> *Zone, only of names that exist

// LoadZone returns the zone of an id as java.time.ZoneId.of takes it: a region ("Asia/Shanghai"), "Z", an offset ("+08:00", "+8",
// "-0530"), or one behind UTC, GMT or UT ("GMT+8"). This is what table.local-time-zone may hold.
func LoadZone(id string) (*Zone, error) {
	if z, ok := zones.Load(id); ok {
		return z.(*Zone), nil
	}
	z, err := loadZone(id)
	if err != nil {
		return nil, err
	}
	actual, _ := zones.LoadOrStore(id, z)
	return actual.(*Zone), nil
}

func loadZone(id string) (*Zone, error) {
	rest := id
	for _, p := range [...]string{"UTC", "GMT", "UT"} {
		if strings.HasPrefix(id, p) {
			rest = id[len(p):]
			break
		}
	}
	switch {
	case id == "Z", rest == "" && id != "":
		return fixedZone(id, 0), nil
	case rest != "" && (rest[0] == '+' || rest[0] == '-'):
		if off, ok := zoneOffset(rest); ok {
			return fixedZone(id, off), nil
		}
		return nil, fmt.Errorf("time zone %q: not an offset like +08:00 within 18 hours", id)
	case id == "Local" || id == "":
		// package time gives these a meaning of its own
	default:
		if loc, err := time.LoadLocation(id); err == nil {
			return newZone(id, loc), nil
		}
	}
	return nil, fmt.Errorf("unknown time zone %q: use a region such as Asia/Shanghai, or an offset such as +08:00", id)
}

// zoneOffset reads +h, +hh, +hh:mm, +hhmm, +hh:mm:ss or +hhmmss.
func zoneOffset(s string) (offset int32, ok bool) {
	if len(s) == 2 {
		s = s[:1] + "0" + s[1:]
	}
	for _, colon := range [...]bool{false, true} {
		if off, n := fixedOffset([]byte(s), colon, false, true); n == len(s) {
			return off, true
		}
	}
	return 0, false
}

// legacyShort are the three-letter ids of java.util.TimeZone that package time does not know or knows as something else.
var legacyShort = map[string]string{"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
	"ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare",
	"CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris",
	"IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
	"NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
	"SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh"}

// LegacyZone returns the zone of an id as java.util.TimeZone.getTimeZone does, which CONVERT_TZ uses: regions, three-letter ids, GMT+h,
// GMT+hh:mm and GMT+hhmm. Any other text is GMT, never an error (Flink's behaviour).
func LegacyZone(id string) *Zone {
	if region, ok := legacyShort[id]; ok {
		id = region
	}
	if strings.HasPrefix(id, "GMT") && len(id) > 3 {
		if off, ok := gmtOffset(id[3:]); ok {
			return fixedZone(id, off)
		}
		return UTC
	}
	if strings.HasPrefix(id, "UTC+") || strings.HasPrefix(id, "UTC-") || strings.HasPrefix(id, "UT+") || strings.HasPrefix(id, "UT-") ||
		strings.HasPrefix(id, "+") || strings.HasPrefix(id, "-") {
		return UTC
	}
	if z, err := LoadZone(id); err == nil {
		return z
	}
	return UTC
}

// gmtOffset reads +h, +hh, +h:mm, +hh:mm, +hmm or +hhmm with hours below 24.
func gmtOffset(s string) (offset int32, ok bool) {
	digits := strings.Replace(s[1:], ":", "", 1)
	colon := strings.IndexByte(s[1:], ':')
	if s[0] != '+' && s[0] != '-' || len(digits) == 0 || len(digits) > 4 || colon >= 0 && len(digits)-colon != 2 || colon == 0 {
		return 0, false
	}
	n := 0
	for i := range len(digits) {
		if digits[i]-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(digits[i]-'0')
	}
	h, m := n, 0
	if len(digits) > 2 {
		h, m = n/100, n%100
	}
	if h > 23 || m > 59 {
		return 0, false
	}
	off := int32(h*3600 + m*60)
	if s[0] == '-' {
		off = -off
	}
	return off, true
}
