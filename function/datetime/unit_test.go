package datetime

import (
	"strconv"
	"testing"
)

func TestUnitsMeasured(t *testing.T) {
	unit := func(s string) Unit {
		u, err := ParseUnit(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	n := func(v int64) (string, bool) { return strconv.FormatInt(v, 10), false }
	measured(t, "testdata/units.tsv", func(f []string, want string) (string, bool) {
		switch f[0] {
		case "extractDate":
			return n(ExtractDate(unit(f[1]), atoi(f[2])))
		case "floorDate":
			return n(FloorDate(unit(f[1]), atoi(f[2])))
		case "ceilDate":
			return n(CeilDate(unit(f[1]), atoi(f[2])))
		case "floorTs":
			return n(FloorTimestamp(unit(f[1]), atoi(f[2]), 1000))
		case "ceilTs":
			return n(CeilTimestamp(unit(f[1]), atoi(f[2]), 1000))
		case "addMonths":
			v, ok := AddMonths(atoi(f[1]), atoi(f[2]))
			got, _ := n(v)
			return got, !ok
		case "diffMonths":
			return n(DiffMonths(atoi(f[1]), atoi(f[2]), 1000))
		case "ym":
			return string(AppendYearMonth(nil, int32(atoi(f[1])))), false
		case "dt":
			return string(AppendDayTime(nil, atoi(f[1]))), false
		}
		t.Fatalf("unknown line %v", f)
		return "", false
	})
}

func literal(t *testing.T, s string) int64 {
	days, nanos, _, ok := ParseTimestampLiteral([]byte(s))
	if !ok {
		t.Fatalf("literal %s", s)
	}
	v, ok := Join(days, nanos, 1_000_000)
	if !ok {
		t.Fatalf("literal %s out of range", s)
	}
	return v
}

// Rows of expressions.tsv.
func TestExtractTimestamp(t *testing.T) {
	for _, c := range []struct {
		unit, in string
		want     int64
	}{
		{"EPOCH", "1970-01-02 00:00:00", 86400}, {"HOUR", "2024-01-01 13:14:15.678", 13}, {"MILLISECOND", "2024-01-01 13:14:15.678", 678},
		{"MICROSECOND", "2024-01-01 13:14:15.678", 678000}, {"MINUTE", "1994-09-27 13:14:15", 14}, {"SECOND", "1994-09-27 13:14:15", 15},
		// Before 1970 Flink 2.3 says 1970, 1, 1, 0 and -1.
		{"YEAR", "1969-12-31 23:59:59.999", 1969}, {"MONTH", "1969-12-31 23:59:59.999", 12}, {"DAY", "1969-12-31 23:59:59.999", 31},
		{"HOUR", "1969-12-31 23:59:59.999", 23}, {"MILLISECOND", "1969-12-31 23:59:59.999", 999}, {"EPOCH", "1969-12-31 23:59:59.999", -1},
		{"YEAR", "0001-01-01 00:00:00", 1},
	} {
		u, _ := ParseUnit(c.unit)
		if got := ExtractTimestamp(u, literal(t, c.in), 1_000_000); got != c.want {
			t.Errorf("%s of %s: got %d, want %d", c.unit, c.in, got, c.want)
		}
	}
	if got := ExtractDate(Hour, 19723); got != 0 {
		t.Error(got)
	}
	if got := ExtractDayTime(Day, 10*MillisPerDay+2*MillisPerHour); got != 10 {
		t.Error(got)
	}
	if got := ExtractTime(Second, 13*MillisPerHour+14*MillisPerMinute+15000); got != 15 {
		t.Error(got)
	}
}

func TestFloorCeilTimestamp(t *testing.T) {
	for _, c := range []struct {
		ceil           bool
		unit, in, want string
	}{
		{false, "MINUTE", "2024-05-15 13:44:31.5", "2024-05-15 13:44:00"}, {false, "DAY", "2024-05-15 13:44:31.5", "2024-05-15 00:00:00"},
		{false, "MONTH", "2024-05-15 13:44:31", "2024-05-01 00:00:00"}, {false, "YEAR", "2024-05-15 13:44:31", "2024-01-01 00:00:00"},
		{false, "HOUR", "1969-12-31 23:59:59.999", "1969-12-31 23:00:00"}, {true, "HOUR", "2024-05-15 13:44:31", "2024-05-15 14:00:00"},
		{true, "DAY", "2024-05-15 00:00:00", "2024-05-15 00:00:00"}, {true, "DAY", "1969-12-31 23:59:59.999", "1970-01-01 00:00:00"},
		{false, "MONTH", "1969-12-31 23:59:59.999", "1969-12-01 00:00:00"},
	} {
		u, _ := ParseUnit(c.unit)
		f := FloorTimestamp
		if c.ceil {
			f = CeilTimestamp
		}
		if got := string(AppendTimestamp(nil, f(u, literal(t, c.in), 1_000_000), 1_000_000, 0)); got != c.want {
			t.Errorf("%s to %s: got %s, want %s", c.in, c.unit, got, c.want)
		}
	}
	if FloorTime(Minute, 45871000) != 45840000 || CeilTime(Minute, 45871000) != 45900000 {
		t.Error("12:44:31 to the minute")
	}
}

func TestTimestampDiff(t *testing.T) {
	for _, c := range []struct {
		unit, from, to string
		want           int64
	}{
		{"DAY", "2003-01-02 10:00:00", "2003-01-03 09:00:00", 0}, {"DAY", "2003-01-03 10:00:00", "2003-01-02 10:00:00", -1},
		{"MONTH", "2024-01-31", "2024-02-29", 1}, {"MONTH", "2024-01-31", "2024-03-31", 2}, {"YEAR", "2020-02-29", "2021-02-28", 1},
		{"SECOND", "2024-01-01 00:00:00", "2024-01-01 00:01:00.999", 60}, {"MINUTE", "2024-01-01 00:00:00", "2024-01-01 01:00:30", 60},
		{"HOUR", "2024-01-01", "2024-01-02 05:00:00", 29}, {"WEEK", "2024-01-01", "2024-01-15", 2}, {"QUARTER", "2024-01-01", "2024-07-01", 2},
		{"DAY", "1969-12-31 23:59:59.999", "2024-03-01 00:00:00", 19783}, {"MONTH", "1969-12-31", "2024-03-31", 651},
	} {
		u, _ := ParseUnit(c.unit)
		if got, ok := Diff(u, literal(t, c.from), literal(t, c.to), 1_000_000); !ok || got != c.want {
			t.Errorf("%s from %s to %s: got %d, want %d", c.unit, c.from, c.to, got, c.want)
		}
	}
}

func TestAddMonths(t *testing.T) {
	for _, c := range []struct {
		in     string
		months int64
		want   string
	}{
		{"2024-01-31", 1, "2024-02-29"}, {"2024-11-30", 3, "2025-02-28"}, {"2024-02-29", 12, "2025-02-28"}, {"2024-03-31", -1, "2024-02-29"},
		{"2024-01-31", -5, "2023-08-31"}, {"2024-01-31", 1 << 31, ""}, {"9999-12-31", 1, ""},
	} {
		d, _ := ParseDateLiteral([]byte(c.in))
		r, ok := AddMonths(int64(d), c.months)
		got := ""
		if ok {
			got = string(AppendDate(nil, int32(r)))
		}
		if got != c.want {
			t.Errorf("%s and %d months: got %q, want %q", c.in, c.months, got, c.want)
		}
	}
	if d, ok := AddMillisDate(0, 36*MillisPerHour); d != 1 || !ok {
		t.Error("36 hours are one day")
	}
	if got := AddMillisTime(84600000, MillisPerHour); got != 1800000 {
		t.Error(got)
	}
}

func TestIntervalLiterals(t *testing.T) {
	for _, c := range []struct{ text, from, to, want string }{
		{"1", "DAY", "DAY", "+1 00:00:00.000"}, {"10 01:02:03.004", "DAY", "SECOND", "+10 01:02:03.004"}, {"-5", "MINUTE", "MINUTE", "-0 00:05:00.000"},
		{"1:30", "MINUTE", "SECOND", "+0 00:01:30.000"}, {"36", "HOUR", "HOUR", "+1 12:00:00.000"}, {"10 02", "DAY", "HOUR", "+10 02:00:00.000"},
		{"1.5", "SECOND", "SECOND", "+0 00:00:01.500"}, {"2", "WEEK", "WEEK", "+14 00:00:00.000"}, {"+3", "DAY", "DAY", "+3 00:00:00.000"},
		{"100", "DAY", "DAY", ""}, {"1 24", "DAY", "HOUR", ""}, {"1:60", "MINUTE", "SECOND", ""}, {"", "DAY", "DAY", ""}, {"x", "DAY", "DAY", ""},
		{"1 ", "DAY", "DAY", ""}, {"1.", "SECOND", "SECOND", ""}, {"1-1", "DAY", "DAY", ""}, {"99999999999999999999", "DAY", "DAY", ""}, {"1", "HOUR", "DAY", ""},
		{"0100", "DAY", "DAY", ""},
	} {
		from, _ := ParseUnit(c.from)
		to, _ := ParseUnit(c.to)
		ms, err := ParseIntervalDayTime(c.text, from, to, DefaultLeadingPrecision)
		got := ""
		if err == nil {
			got = string(AppendDayTime(nil, ms))
		}
		if got != c.want {
			t.Errorf("'%s' %s TO %s: got %q (%v), want %q", c.text, c.from, c.to, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, from, to, want string }{
		{"2-10", "YEAR", "MONTH", "+2-10"}, {"-2-10", "YEAR", "MONTH", "-2-10"}, {"14", "MONTH", "MONTH", "+1-02"}, {"1", "YEAR", "YEAR", "+1-00"},
		{"1-12", "YEAR", "MONTH", ""}, {"1", "YEAR", "MONTH", ""}, {"2", "QUARTER", "QUARTER", "+0-06"},
	} {
		from, _ := ParseUnit(c.from)
		to, _ := ParseUnit(c.to)
		m, err := ParseIntervalYearMonth(c.text, from, to, DefaultLeadingPrecision)
		got := ""
		if err == nil {
			got = string(AppendYearMonth(nil, m))
		}
		if got != c.want {
			t.Errorf("'%s' %s TO %s: got %q (%v), want %q", c.text, c.from, c.to, got, err, c.want)
		}
	}
}

func TestLiterals(t *testing.T) {
	for in, want := range map[string]string{"2024-01-01": "2024-01-01 00:00:00", "2024-01-01 1:2:3": "2024-01-01 01:02:03",
		"2024-01-01 12:00": "", "2024-01-01 12:00:00.": "2024-01-01 12:00:00", "2024-1-1 00:00:00.12": "2024-01-01 00:00:00.12",
		"02024-01-01 00:00:00": "2024-01-01 00:00:00", "2024-02-30 00:00:00": "", " 2024-01-01 00:00:00": "2024-01-01 00:00:00",
		"2024-01-01 25:00:00": "", "0000-01-01": "", "10000-01-01": "", "24-1-1": "0024-01-01 00:00:00", "2024-02-29 12:34:56.123456789": "2024-02-29 12:34:56.123456789"} {
		days, nanos, precision, ok := ParseTimestampLiteral([]byte(in))
		got := ""
		if ok {
			v, _ := Join(days, nanos, 1_000_000)
			if precision > 6 {
				v, _ = Join(days, nanos, NanosPerSecond)
				got = string(AppendTimestamp(nil, v, NanosPerSecond, precision))
			} else {
				got = string(AppendTimestamp(nil, v, 1_000_000, precision))
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if ms, p, ok := ParseTimeLiteral([]byte("12:00:00.123")); ms != 43200123 || p != 3 || !ok {
		t.Error(ms, p, ok)
	}
	if _, _, ok := ParseTimeLiteral([]byte("24:00:00")); ok {
		t.Error("24:00:00 is no literal")
	}
}
