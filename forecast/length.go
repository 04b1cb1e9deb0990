package forecast

import (
	"slices"
	"strings"
	"time"
)

// Length tells how long the partitions of a table are, from the pattern or format of their time and an example of their values; 0 if it cannot
// be told. keys are the partition columns, values the example in their order.
func Length(c PartitionCommit, keys []string, values []string) time.Duration {
	text := c.Pattern
	if text == "" {
		if len(values) == 0 {
			return 0
		}
		if len(keys) > 1 || c.Formatter == "" && !isDate(values[0][:min(len(values[0]), 10)]) {
			return byName(keys, values)
		}
		text = "$" + keys[0]
	}
	if !strings.Contains(text, "$") {
		return 0
	}
	// The finest part of the time that a value fills in.
	marks := text
	for i, k := range keys {
		if i < len(values) {
			marks = strings.ReplaceAll(marks, "$"+k, strings.Map(mark, values[i]))
		}
	}
	if c.Formatter != "" {
		return finest(c.Formatter, marks)
	}
	date, clock, _ := strings.Cut(marks, " ")
	parts := strings.Split(clock, ":")
	for i := len(parts) - 1; i >= 0; i-- {
		if strings.ContainsRune(parts[i], filled) {
			return []time.Duration{time.Hour, time.Minute, time.Second}[min(i, 2)]
		}
	}
	parts = strings.Split(date, "-")
	for i := len(parts) - 1; i >= 0; i-- {
		if strings.ContainsRune(parts[i], filled) {
			return []time.Duration{year, month, day}[min(i, 2)]
		}
	}
	return 0
}

// The shortest month and year.
const (
	day   = 24 * time.Hour
	month = 28 * day
	year  = 365 * day
)

// filled stands for a digit that comes from a value.
const filled = '\u00b7'

func mark(r rune) rune {
	if r >= '0' && r <= '9' {
		return filled
	}
	return r
}

// finest is the unit of the last letter of a format under which a value stands; letters and text have to be of one length.
func finest(format, marks string) time.Duration {
	f, m := []rune(strings.ReplaceAll(format, "'", "")), []rune(marks)
	if len(f) != len(m) {
		m = nil // no telling which digit is which: all are taken to come from values
	}
	unit := time.Duration(0)
	for i, r := range f {
		if m != nil && m[i] != filled {
			continue
		}
		if u, ok := map[rune]time.Duration{'y': year, 'M': month, 'd': day, 'H': time.Hour, 'm': time.Minute, 's': time.Second}[r]; ok {
			unit = u
		}
	}
	return unit
}

// byName guesses from columns such as dt and hour.
func byName(keys, values []string) time.Duration {
	dated := false
	unit := time.Duration(0)
	for i, v := range values {
		if i >= len(keys) {
			break
		}
		switch name := strings.ToLower(keys[i]); {
		case isDate(v):
			dated, unit = true, max(unit, day)
		case dated && slices.Contains([]string{"hour", "hr", "hh", "h"}, name):
			unit = time.Hour
		case dated && slices.Contains([]string{"minute", "min", "mm"}, name):
			unit = time.Minute
		}
	}
	return unit
}

func isDate(v string) bool {
	for _, layout := range []string{"2006-01-02", "20060102"} {
		if _, err := time.Parse(layout, v); err == nil {
			return true
		}
	}
	return false
}
