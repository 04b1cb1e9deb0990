package datetime

import (
	"bytes"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2024-02-29 12:34:56.789", "2024-2-9", "24:00:00", "12:30+1:2", "2024-02-29T12:34Z", "-1", "1:2:3.é5", "GMT+8:00", "1582-10-10"} {
		for _, p := range []string{"yyyy-MM-dd HH:mm:ss", "yyyyMMddHHmmssSSS", "[yyyy][MM", "EEE, d MMM yyyy hh:mm a X", "D n N A Q e w W F g G u"} {
			f.Add([]byte(s), p, int64(1709210096789))
		}
	}
	zones := []*Zone{nil, LegacyZone("America/New_York"), LegacyZone("Asia/Shanghai")}
	f.Fuzz(func(t *testing.T, s []byte, pattern string, v int64) {
		for _, unit := range []int64{1_000, 1_000_000, NanosPerSecond} {
			if ts, ok := ParseTimestamp(s, unit, 9); ok {
				text := AppendTimestamp(nil, ts, unit, 0)
				if back, ok := ParseTimestamp(text, unit, 9); !ok || back != ts {
					t.Fatalf("%q: %q does not read back", s, text)
				}
			}
			if ts, ok := ParseTimestampSQL(s, unit); ok {
				text := AppendTimestampStandard(nil, ts, unit, ISO8601, true)
				if back, ok := ParseTimestampLTZ(text, ISO8601, unit); !ok || back != ts {
					t.Fatalf("%q: %q does not read back", s, text)
				}
			}
			AppendTimestamp(nil, v, unit, int(v&15))
			AppendTimestampStandard(nil, v, unit, SQL, false)
			FloorTimestamp(Month, v, unit)
			ExtractTimestamp(Week, v, unit)
			DiffMonths(v, v/2, unit)
			AddMonthsTimestamp(v, unit, v)
			ParseTimestampISO(s, unit)
		}
		if d, ok := ParseDate(s); ok {
			if back, ok := ParseDate(AppendDate(nil, d)); !ok || back != d {
				t.Fatalf("%q does not read back", s)
			}
		}
		ParseDateISO(s)
		ParseTime(s, int(v&3))
		ParseTimeStandard(s)
		ParseDateLiteral(s)
		ParseTimeLiteral(s)
		ParseTimestampLiteral(s)
		ParseIntervalDayTime(string(s), Day, Second, 2)
		ParseIntervalYearMonth(string(s), Year, Month, 2)
		LoadZone(string(s))
		LegacyZone(string(s))
		if p, err := CompilePattern(pattern); err == nil {
			p.ParseTimestamp(s, 1000)
			c := p.NewCursor(zones[1])
			for _, ms := range []int64{v, v + 1, v + 1000, v - 3600_000, v + 86400_000} {
				if got, want := c.Append(nil, ms, 0), p.Append(nil, ms, 0, zones[1]); !bytes.Equal(got, want) {
					t.Fatalf("pattern %q at %d: cursor %q, pattern %q", pattern, ms, got, want)
				}
			}
		}
		if p, err := CompileLegacyPattern(pattern); err == nil {
			for _, z := range zones {
				p.Append(nil, v, z)
				if p.Readable() == nil {
					p.Parse(s, z)
				}
			}
		}
	})
}

// The tables of a zone must say what package time says.
func TestZoneAgainstTime(t *testing.T) {
	for _, id := range []string{"America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Asia/Shanghai", "Pacific/Apia", "Africa/Casablanca"} {
		z, err := LoadZone(id)
		if err != nil {
			t.Fatal(err)
		}
		loc, _ := time.LoadLocation(id)
		for sec := int64(-5e9); sec < 8e9; sec += 1_234_567 {
			_, want := time.Unix(sec, 0).In(loc).Zone()
			if got := z.OffsetAt(sec); int(got) != want {
				t.Fatalf("%s at %d: got %d, want %d", id, sec, got, want)
			}
			for i, at := range z.at {
				if i%17 == 0 && (z.OffsetAt(at) != z.after[i] || z.OffsetAt(at-1) == z.after[i]) {
					t.Fatalf("%s: transition %d", id, i)
				}
			}
		}
	}
}

// The rows of case 26 with their zones.
func TestZoneChoice(t *testing.T) {
	ny, err := LoadZone("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"2024-03-10 02:30:00": "2024-03-10 07:30:00", "2024-11-03 01:30:00": "2024-11-03 05:30:00"} {
		v, ok := ParseInstant([]byte(in), 1000, 3, ny)
		if got := string(AppendTimestamp(nil, v, 1000, 0)); !ok || got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got, ok := AppendConvertTZ(nil, []byte("2024-11-03 01:30:00"), ny, UTC); string(got) != "2024-11-03 06:30:00" || !ok {
		t.Errorf("CONVERT_TZ: %s", got)
	}
	sh := LegacyZone("Asia/Shanghai")
	if got := UnixTimestamp([]byte("1969-12-31 00:00:00"), nil, sh); got != -115200 {
		t.Errorf("UNIX_TIMESTAMP: %d", got)
	}
	if got := string(AppendFromUnixTime(nil, 0, nil, sh)); got != "1970-01-01 08:00:00" {
		t.Errorf("FROM_UNIXTIME: %s", got)
	}
	p, _ := CompilePattern("YYYY-MM-dd")
	v, _ := ParseTimestampSQL([]byte("2024-12-30 23:00:00.123"), 1000)
	if got := string(p.Append(nil, v, 0, nil)); got != "2025-12-30" {
		t.Error(got)
	}
	if _, ok := AppendReformat(nil, []byte("2024-12-31"), legacyDefault, sh); ok {
		t.Error("DATE_FORMAT takes a date for a timestamp")
	}
}

func TestInstantOfNumber(t *testing.T) {
	for _, c := range []struct {
		n         int64
		precision int
		want      string
	}{{100, 0, "1970-01-01 00:01:40.000000"}, {100123, 3, "1970-01-01 00:01:40.123000"}, {100, 1, "1970-01-01 00:00:10.000000"},
		{100, 6, "1970-01-01 00:00:00.000100"}, {-5, 3, "1969-12-31 23:59:59.995000"}, {1 << 62, 0, ""}, {253402300800, 0, ""}, {253402300799, 0, "9999-12-31 23:59:59.000000"}} {
		v, ok := InstantOfNumber(c.n, c.precision, 1_000_000)
		got := ""
		if ok {
			got = string(AppendTimestamp(nil, v, 1_000_000, 6))
		}
		if got != c.want {
			t.Errorf("%d of 10^-%d s: got %q, want %q", c.n, c.precision, got, c.want)
		}
	}
}

func TestTimeText(t *testing.T) {
	for _, c := range []struct {
		ms        int32
		precision int
		want      string
	}{{43200123, 3, "12:00:00.123"}, {43200100, 3, "12:00:00.1"}, {43200000, 3, "12:00:00.0"}, {86399000, 0, "23:59:59"}, {-1000, 0, "23:59:59"}} {
		if got := string(AppendTime(nil, c.ms, c.precision)); got != c.want {
			t.Errorf("%d: got %s, want %s", c.ms, got, c.want)
		}
	}
	if got := string(AppendTimestampStandard(nil, 1704067200120, 1000, SQL, true)); got != "2024-01-01 00:00:00.12Z" {
		t.Error(got)
	}
}

var sink int64

func BenchmarkAppendTimestamp(b *testing.B) {
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendTimestamp(buf[:0], 1767225600123, 1000, 3)
	}
}

func BenchmarkParseTimestampSQL(b *testing.B) {
	s := []byte("2026-01-01 00:00:00.123")
	b.ReportAllocs()
	for b.Loop() {
		v, _ := ParseTimestampSQL(s, 1000)
		sink += v
	}
}

func BenchmarkParseTimestampLenient(b *testing.B) {
	s := []byte("2026-1-1 0:0:0.123")
	b.ReportAllocs()
	for b.Loop() {
		v, _ := ParseTimestamp(s, 1000, 3)
		sink += v
	}
}

func BenchmarkDateFormat(b *testing.B) {
	zone := LegacyZone("Asia/Shanghai")
	for _, pattern := range []string{"yyyy-MM-dd", "HH", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "EEE, d MMM yyyy hh:mm a"} {
		p, err := CompilePattern(pattern)
		if err != nil {
			b.Fatal(err)
		}
		var buf []byte
		ms := int64(1767225600123)
		b.Run(pattern, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf = p.Append(buf[:0], ms, 0, zone)
				ms += 7
			}
		})
		b.Run(pattern+"/cursor", func(b *testing.B) {
			c := p.NewCursor(zone)
			b.ReportAllocs()
			for b.Loop() {
				buf = c.Append(buf[:0], ms, 0)
				ms += 7
			}
		})
	}
}
