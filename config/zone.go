package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the binary brings its own zones: a container without tzdata reads the same times
)

// ParseZone returns the time zone that text names as Flink does: "default" (the machine's), UTC, an IANA name, or an offset such
// as +08:00, GMT+8 or UTC-03:30.
func ParseZone(text string) (*time.Location, error) {
	text = strings.TrimSpace(text)
	switch text {
	case "default":
		return time.Local, nil
	case "UTC", "GMT", "Z":
		return time.UTC, nil
	}
	offset := strings.TrimPrefix(strings.TrimPrefix(text, "GMT"), "UTC")
	if offset != "" && (offset[0] == '+' || offset[0] == '-') {
		if seconds, ok := parseOffset(offset); ok {
			return time.FixedZone(text, seconds), nil
		}
	} else if loc, err := time.LoadLocation(text); err == nil && text != "" && text != "Local" {
		return loc, nil
	}
	return nil, fmt.Errorf("not a time zone; accepted is an IANA name such as Asia/Shanghai, UTC, an offset such as +08:00, or default")
}

// parseOffset reads +h, +hh, +hh:mm and +hhmm, up to 18 hours.
func parseOffset(s string) (seconds int, ok bool) {
	sign, digits := 1, s[1:]
	if s[0] == '-' {
		sign = -1
	}
	hours, minutes, colon := strings.Cut(digits, ":")
	if !colon && len(digits) == 4 {
		hours, minutes = digits[:2], digits[2:]
	} else if !colon {
		minutes = "00"
	}
	h, err1 := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	if err1 != nil || err2 != nil || len(hours) > 2 || len(minutes) != 2 || m > 59 || h*60+m > 18*60 {
		return 0, false
	}
	return sign * int(h*60+m) * 60, true
}

// PortRange is one part of a port list, both ends included.
type PortRange struct{ First, Last int }

// ParsePorts reads a port, a range or a list of both: "9250", "9250-9260", "9250,9300-9310". 0 = any free port.
func ParsePorts(text string) ([]PortRange, error) {
	var out []PortRange
	for _, part := range strings.Split(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, err1 := strconv.ParseUint(strings.TrimSpace(low), 10, 16)
		b, err2 := a, err1
		if isRange {
			b, err2 = strconv.ParseUint(strings.TrimSpace(high), 10, 16)
		}
		if err1 != nil || err2 != nil || b < a {
			return nil, fmt.Errorf("accepted is a port, or a range such as 9250-9260")
		}
		out = append(out, PortRange{int(a), int(b)})
	}
	return out, nil
}
