package datetime

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// measured calls f with the fields of each line of a file of results measured with Flink 2.3.0 on Java 17; the last field is the result.
func measured(t *testing.T, file string, f func(fields []string, want string) (got string, skip bool)) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n, bad := 0, 0
	for sc := bufio.NewScanner(in); sc.Scan(); {
		fields := strings.Split(sc.Text(), "\t")
		want := fields[len(fields)-1]
		if strings.HasPrefix(want, "ERR ") {
			want = "ERR"
		}
		got, skip := f(fields[:len(fields)-1], want)
		if skip {
			continue
		}
		n++
		if got != want {
			if bad++; bad <= 30 {
				t.Errorf("%s: got %s, want %s", strings.Join(fields[:len(fields)-1], " | "), got, fields[len(fields)-1])
			}
		}
	}
	if n == 0 {
		t.Fatalf("%s: no line checked", file)
	}
	t.Logf("%s: %d checked, %d wrong", file, n, bad)
}

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// nanosText prints a nanosecond timestamp as the measured files do: milliseconds and nanoseconds of the millisecond.
func splitText(days, nanosOfDay int64) string {
	return fmt.Sprintf("%d %d", days*MillisPerDay+nanosOfDay/NanosPerMilli, nanosOfDay%NanosPerMilli)
}

// civilOf reads a timestamp in the finest unit that holds it: the measured texts reach from year 1 to 9999.
func parsedText(parse func(unitsPerSecond int64) (int64, bool)) (string, bool) {
	ms, ok := parse(1000)
	if !ok {
		return "", false
	}
	days, nanos := Split(ms, 1000)
	if us, ok := parse(1_000_000); ok {
		days, nanos = Split(us, 1_000_000)
	}
	if ns, ok := parse(NanosPerSecond); ok {
		days, nanos = Split(ns, NanosPerSecond)
	}
	return splitText(days, nanos), true
}

func TestPatternsMeasured(t *testing.T) {
	measured(t, "testdata/patterns.tsv", func(f []string, want string) (string, bool) {
		switch f[0] {
		case "fmt":
			p, err := CompilePattern(f[3])
			if err != nil || p.Formattable() != nil {
				return "ERR", false
			}
			z, err := LoadZone(f[4])
			if err != nil {
				t.Fatal(err)
			}
			return string(p.Append(nil, atoi(f[1]), int32(atoi(f[2])), z)), false
		case "toTs":
			p, err := CompilePattern(f[2])
			if err != nil {
				t.Fatal(err)
			}
			v, ok := p.ParseTimestamp([]byte(f[1]), 1000)
			if !ok {
				// Flink fails on an impossible month or day of an incomplete date and takes year 0 for year 1; here both are NULL.
				return `\N`, beyond9999(want) || want == "ERR" || f[1] == "0000-1-1"
			}
			return splitText(Split(v, 1000)), !strings.HasSuffix(want, " 0")
		case "castTs":
			got, ok := parsedText(func(u int64) (int64, bool) { return ParseTimestamp([]byte(f[1]), u, int(atoi(f[2]))) })
			if !ok {
				return "ERR", beyond9999(want)
			}
			// Nanoseconds of years they cannot hold are cut to microseconds here.
			return got, !strings.HasPrefix(f[1], "19") && !strings.HasPrefix(f[1], "20") && !strings.HasSuffix(want, "000")
		case "parseDate", "castDate":
			d, ok := ParseDate([]byte(f[1]))
			if !ok && f[0] == "parseDate" && want == "ERR" {
				return "ERR", false
			}
			if !ok {
				return map[string]string{"parseDate": "null", "castDate": "ERR"}[f[0]], false
			}
			return strconv.Itoa(int(d)), false
		case "castTime":
			v, ok := ParseTime([]byte(f[1]), int(atoi(f[2])))
			if !ok {
				return "ERR", false
			}
			return strconv.Itoa(int(v)), want != "ERR" && (atoi(want) < 0 || atoi(want) >= MillisPerDay)
		case "json":
			return jsonText(f[1], []byte(f[2])), beyond9999Year(want) || f[1] == "SQL_TIME_FORMAT" && strings.ContainsAny(f[2], ".")
		}
		t.Fatalf("unknown line %v", f)
		return "", false
	})
}

// beyond9999: Java goes on where Flink's own text forms end; such years are refused here.
func beyond9999(want string) bool {
	ms, _, _ := strings.Cut(want, " ")
	v := atoi(ms)
	return v >= (MaxDay+1)*MillisPerDay || v < MinDay*MillisPerDay
}

func beyond9999Year(want string) bool {
	return strings.HasPrefix(want, "+") || strings.HasPrefix(want, "-")
}

func jsonText(format string, s []byte) string {
	parse := map[string]func(u int64) (int64, bool){
		"SQL_TIMESTAMP_FORMAT":                         func(u int64) (int64, bool) { return ParseTimestampSQL(s, u) },
		"ISO8601_TIMESTAMP_FORMAT":                     func(u int64) (int64, bool) { return ParseTimestampISO(s, u) },
		"SQL_TIMESTAMP_WITH_LOCAL_TIMEZONE_FORMAT":     func(u int64) (int64, bool) { return ParseTimestampLTZ(s, SQL, u) },
		"ISO8601_TIMESTAMP_WITH_LOCAL_TIMEZONE_FORMAT": func(u int64) (int64, bool) { return ParseTimestampLTZ(s, ISO8601, u) },
	}[format]
	if parse == nil {
		ms, ok := ParseTimeStandard(s)
		if !ok {
			return "ERR"
		}
		return fmt.Sprintf("null %d", int64(ms)*NanosPerMilli)
	}
	v, ok := parse(1000)
	if !ok {
		return "ERR"
	}
	days, nanos := Split(v, 1000)
	if v, ok = parse(NanosPerSecond); ok {
		days, nanos = Split(v, NanosPerSecond)
	} else if v, ok = parse(1_000_000); ok {
		days, nanos = Split(v, 1_000_000)
	}
	return fmt.Sprintf("%s %d", AppendDate(nil, int32(days)), nanos)
}
