package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	acceptsDuration   = "a duration such as 500 ms, 5 s, 10 min, 1 h, 1 d or PT5S (without a unit: milliseconds)"
	acceptsMemorySize = "a size such as 64 kb, 128MB or 1 gb (without a unit: bytes)"
)

// durationUnits has every unit label that Flink's TimeUtils knows, in lower case.
var durationUnits = unitTable(map[time.Duration][]string{
	24 * time.Hour:   {"d", "day", "days"},
	time.Hour:        {"h", "hour", "hours"},
	time.Minute:      {"min", "m", "minute", "minutes"},
	time.Second:      {"s", "sec", "secs", "second", "seconds"},
	time.Millisecond: {"ms", "milli", "millis", "millisecond", "milliseconds", ""},
	time.Microsecond: {"µs", "μs", "micro", "micros", "microsecond", "microseconds"},
	time.Nanosecond:  {"ns", "nano", "nanos", "nanosecond", "nanoseconds"},
})

// memoryUnits has every unit label that Flink's MemorySize knows, in lower case.
var memoryUnits = unitTable(map[int64][]string{
	1:       {"", "b", "bytes"},
	1 << 10: {"k", "kb", "kibibytes"},
	1 << 20: {"m", "mb", "mebibytes"},
	1 << 30: {"g", "gb", "gibibytes"},
	1 << 40: {"t", "tb", "tebibytes"},
})

func unitTable[F comparable](byFactor map[F][]string) map[string]F {
	t := map[string]F{}
	for f, labels := range byFactor {
		for _, l := range labels {
			t[l] = f
		}
	}
	return t
}

// splitUnit cuts "128 MB" into its digits and its unit in lower case.
func splitUnit(text string) (digits, unit string) {
	text = strings.TrimSpace(text)
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return text[:n], strings.ToLower(strings.TrimSpace(text[n:]))
}

// ParseDuration reads a duration in Flink's spelling: digits and a unit, by default milliseconds, or ISO-8601. A sign, a
// fraction or two units ("1 h 30 min") are errors, as in Flink; so is what does not fit into 292 years.
func ParseDuration(text string) (time.Duration, error) {
	if s := strings.ToUpper(strings.TrimSpace(text)); strings.HasPrefix(s, "P") {
		return parseISODuration(s)
	}
	digits, unit := splitUnit(text)
	factor, known := durationUnits[unit]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !known || errors.Is(err, strconv.ErrSyntax) {
		return 0, errors.New("accepted is " + acceptsDuration)
	}
	if err != nil || n > math.MaxInt64/int64(factor) {
		return 0, errors.New("the duration is too long")
	}
	return time.Duration(n) * factor, nil
}

// parseISODuration reads PnDTnHnMn.nS, the part of ISO-8601 that java.time.Duration knows, without signs.
func parseISODuration(s string) (time.Duration, error) {
	bad := errors.New("accepted is an ISO-8601 duration such as PT5S, PT1H30M or P1D")
	rest, inTime, total, seen := s[1:], false, time.Duration(0), 0
	order := []struct {
		unit byte
		time bool
		span time.Duration
	}{{'D', false, 24 * time.Hour}, {'H', true, time.Hour}, {'M', true, time.Minute}, {'S', true, time.Second}}
	next := 0
	for rest != "" {
		if rest[0] == 'T' && !inTime {
			inTime, rest = true, rest[1:]
			if rest == "" {
				return 0, bad
			}
		}
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if n <= 0 {
			return 0, bad
		}
		for next < len(order) && (order[next].unit != rest[n] || order[next].time != inTime) {
			next++
		}
		if next == len(order) || (strings.Contains(rest[:n], ".") && rest[n] != 'S') {
			return 0, bad
		}
		f, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, bad
		}
		v := f * float64(order[next].span)
		if v > math.MaxInt64-float64(total) {
			return 0, errors.New("the duration is too long")
		}
		total, rest, seen, next = total+time.Duration(math.Round(v)), rest[n+1:], seen+1, next+1
	}
	if seen == 0 {
		return 0, bad
	}
	return total, nil
}

// FormatDuration writes d as Flink's documentation does: the largest unit that divides it.
func FormatDuration(d time.Duration) string {
	for _, u := range []struct {
		span time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d != 0 && d%u.span == 0 {
			return fmt.Sprintf("%d %s", d/u.span, u.name)
		}
	}
	if d == 0 {
		return "0 ms"
	}
	return fmt.Sprintf("%d ns", d)
}

// ParseMemorySize reads a size in Flink's spelling and returns bytes; all units are powers of 1024.
func ParseMemorySize(text string) (bytes int64, err error) {
	digits, unit := splitUnit(text)
	factor, known := memoryUnits[unit]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !known || errors.Is(err, strconv.ErrSyntax) {
		return 0, errors.New("accepted is " + acceptsMemorySize)
	}
	if err != nil || n > math.MaxInt64/factor {
		return 0, errors.New("the size does not fit into 64 bits")
	}
	return n * factor, nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToUpper(text) {
	case "TRUE":
		return true, nil
	case "FALSE":
		return false, nil
	}
	return false, errors.New("accepted is true or false")
}

func parseInt(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("the number does not fit into %d bits", bits)
	}
	if err != nil {
		return 0, errors.New("accepted is a whole number")
	}
	return n, nil
}

func parseDouble(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, errors.New("accepted is a number such as 1.5")
	}
	return f, nil
}

// parseEnum returns the accepted value that equals text but for case.
func parseEnum(text string, accepted []string) (string, error) {
	for _, a := range accepted {
		if strings.EqualFold(a, strings.TrimSpace(text)) {
			return a, nil
		}
	}
	msg := "accepted is one of " + strings.Join(accepted, ", ")
	if near, ok := Nearest(strings.ToLower(text), lower(accepted)); ok {
		msg += "; did you mean " + accepted[indexOf(lower(accepted), near)] + "?"
	}
	return "", errors.New(msg)
}

// parseList cuts text at ';' and trims the parts; empty parts are dropped, as Flink does.
func parseList(text string) []string {
	var out []string
	for _, p := range strings.Split(text, ";") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func parseMap(text string) (map[string]string, error) {
	m := map[string]string{}
	for _, p := range strings.Split(text, ",") {
		if strings.TrimSpace(p) == "" {
			continue
		}
		k, v, ok := strings.Cut(p, ":")
		if !ok {
			return nil, fmt.Errorf("accepted are pairs such as k1:v1,k2:v2; %q has no ':'", strings.TrimSpace(p))
		}
		m[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return m, nil
}

func lower(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = strings.ToLower(s)
	}
	return out
}

func indexOf(in []string, s string) int {
	for i := range in {
		if in[i] == s {
			return i
		}
	}
	return -1
}
