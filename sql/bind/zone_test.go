package bind_test

import (
	"testing"

	"staunch/changelog"
	"staunch/function"
	"staunch/function/datetime"
)

// TestZones is case 26: time zones, daylight saving, before 1970. TIMESTAMP_LTZ follows the session's zone, TIMESTAMP does not.
func TestZones(t *testing.T) {
	for zone, list := range map[string][][2]string{
		"Asia/Shanghai": {
			{"TO_TIMESTAMP('2024-01-01 00:00:00')", "2024-01-01 00:00:00.000"},
			{"TO_TIMESTAMP('2024-01-01')", "2024-01-01 00:00:00.000"},
			{"TO_TIMESTAMP('2024-02-30 00:00:00')", "2024-02-29 00:00:00.000"},
			{"TO_TIMESTAMP('10000-01-01 00:00:00')", "NULL"},
			{"TO_TIMESTAMP('bad')", "NULL"},
			{"TO_TIMESTAMP('2024-1-1 1:2:3')", "2024-01-01 01:02:03.000"},
			{"TO_TIMESTAMP('20240101','yyyyMMdd')", "2024-01-01 00:00:00.000"},
			{"CAST(TO_TIMESTAMP_LTZ(0,3) AS STRING)", "1970-01-01 08:00:00.000"},
			{"CAST(TO_TIMESTAMP_LTZ(-1,3) AS STRING)", "1970-01-01 07:59:59.999"},
			{"DATE_FORMAT(TO_TIMESTAMP_LTZ(1704067199999,3),'yyyy-MM-dd HH:mm')", "2024-01-01 07:59"},
			{"DATE_FORMAT(TIMESTAMP '2024-01-01 00:00:00','yyyy-MM-dd HH')", "2024-01-01 00"},
			{"CAST(TO_TIMESTAMP_LTZ(1704038400000,3) AS DATE)", "2024-01-01"},
			{"FROM_UNIXTIME(0)", "1970-01-01 08:00:00"},
			{"UNIX_TIMESTAMP('1969-12-31 00:00:00')", "-115200"},
			{"DATE_FORMAT('bad','yyyy-MM-dd')", "NULL"},
			{"DATE_FORMAT('2024-12-31','yyyy-MM-dd')", "NULL"},
			{"DATE_FORMAT(TIMESTAMP '2024-12-30 23:00:00.123','YYYY-MM-dd')", "2025-12-30"},
			{"DATE_FORMAT(TIMESTAMP '2024-12-30 23:00:00.123','yyyyMMddHHmmssSSS')", "20241230230000123"},
		},
		"America/New_York": {
			{"CAST(TIMESTAMP '2024-03-10 02:30:00' AS TIMESTAMP_LTZ(3)) = TO_TIMESTAMP_LTZ('2024-03-10 07:30:00')", "TRUE"},
			{"CAST(TIMESTAMP '2024-11-03 01:30:00' AS TIMESTAMP_LTZ(3)) = TO_TIMESTAMP_LTZ('2024-11-03 05:30:00')", "TRUE"},
			{"DATE_FORMAT(TO_TIMESTAMP_LTZ(1730611800000,3),'yyyy-MM-dd HH')", "2024-11-03 01"},
			{"DATE_FORMAT(TO_TIMESTAMP_LTZ(1730615400000,3),'yyyy-MM-dd HH')", "2024-11-03 01"},
			{"CONVERT_TZ('2024-11-03 01:30:00','America/New_York','UTC')", "2024-11-03 06:30:00"},
			{"CONVERT_TZ('2024-03-10 02:30:00','America/New_York','UTC')", "2024-03-10 07:30:00"},
			{"FLOOR(TIMESTAMP '1969-12-31 23:59:59.999' TO HOUR)", "1969-12-31 23:00:00.000"},
			{"EXTRACT(YEAR FROM TIMESTAMP '1969-12-31 23:59:59.999')", "1969"},
			{"EXTRACT(DAY FROM TIMESTAMP '1969-12-31 23:59:59.999')", "31"},
			{"EXTRACT(HOUR FROM TIMESTAMP '1969-12-31 23:59:59.999')", "23"},
		},
		"Asia/Kathmandu": { // +05:45: hours begin at a quarter past in UTC
			{"DATE_FORMAT(TO_TIMESTAMP_LTZ(1704068100000,3),'HH')", "06"},
			{"FLOOR(TO_TIMESTAMP_LTZ(1704068100000,3) TO HOUR)", "2024-01-01 06:00:00.000"},
			{"HOUR(TO_TIMESTAMP_LTZ(1704068100000,3))", "6"},
		},
	} {
		z, err := datetime.LoadZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		s := function.Session{Zone: z}
		for _, c := range list {
			if got := eval(t, c[0], nil, &changelog.Batch{Rows: 1}, s); got != c[1] {
				t.Errorf("%s: %s gives %s instead of %s", zone, c[0], got, c[1])
			}
		}
	}
}

// TestFormatCache: the texts of a column are those of its values one by one, whatever the zone and the order.
func TestFormatCache(t *testing.T) {
	patterns := []string{"yyyy-MM-dd", "HH", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss.SSS", "EEE ww", "'H'mm", "hh a"}
	for _, zone := range []string{"UTC", "Asia/Kathmandu", "America/New_York", "Africa/Monrovia", "Australia/Lord_Howe"} {
		z, err := datetime.LoadZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range patterns {
			for _, kind := range []string{"ts", "z"} {
				checkFormat(t, z, pattern, kind)
			}
		}
	}
}

func checkFormat(t *testing.T, z *datetime.Zone, pattern, kind string) {
	t.Helper()
	schema := changelog.Schema{col("ts", tsType), col("z", ltzType)}
	in := changelog.NewBatch(schema)
	// Steps of 7 minutes over changes of the clock, backwards and forwards, before 1970 too.
	for _, start := range []int64{1_730_600_000_000, 1_710_040_000_000, -1_000_000, 63_590_000_000, 1_712_400_000_000, -4_000_000_000_000} {
		for i := range 120 {
			for _, c := range in.Cols {
				c.AppendInt64(start + int64(i*i%97)*421_337)
			}
			in.Rows++
		}
	}
	got, _, err := compute("DATE_FORMAT("+kind+", '"+quoted(pattern)+"')", schema, in, function.Session{Zone: z})
	if err != nil {
		t.Fatal(err)
	}
	p, err := datetime.CompilePattern(pattern)
	if err != nil {
		t.Fatal(err)
	}
	zone := z
	if kind == "ts" {
		zone = nil
	}
	for i := range in.Rows {
		if want := string(p.Append(nil, in.Cols[0].I64[i], 0, zone)); string(got.Bytes(i)) != want {
			t.Fatalf("%s in %s: %d is %s instead of %s", pattern, z.Name(), in.Cols[0].I64[i], got.Bytes(i), want)
		}
	}
}
