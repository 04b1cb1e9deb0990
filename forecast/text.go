package forecast

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// size prints bytes.
func size(n float64) string {
	for _, u := range []struct {
		name string
		of   float64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if n >= u.of {
			return figures(n/u.of) + " " + u.name
		}
	}
	return figures(n) + " bytes"
}

// count prints a number of things with thousands marked.
func count(n float64) string {
	if n < 10 && n != math.Trunc(n) {
		return figures(n)
	}
	s := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// figures prints about three of them.
func figures(n float64) string {
	switch a := math.Abs(n); {
	case a >= 100:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case a >= 10:
		return trim(strconv.FormatFloat(n, 'f', 1, 64))
	}
	return trim(strconv.FormatFloat(n, 'f', 2, 64))
}

func trim(s string) string { return strings.TrimRight(strings.TrimRight(s, "0"), ".") }

// span prints a time as people say it: 90 s, 1.5 h.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	for _, u := range []struct {
		name string
		of   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		least := u.of
		if u.of == 24*time.Hour {
			least *= 2
		}
		if d >= least && (d%u.of == 0 || d >= 2*u.of || u.of == time.Millisecond || u.of == time.Second) {
			return figures(float64(d)/float64(u.of)) + " " + u.name
		}
	}
	if d == 0 {
		return "0 s"
	}
	return "below 1 ms"
}

// round1 rounds a time up to one that people would set.
func round1(d time.Duration) time.Duration {
	for _, x := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute} {
		if d <= x {
			return x
		}
	}
	return time.Hour
}

// Text are the lines of a forecast for people.
func (p Forecast) Text() []string {
	basis := "measured on a sample of whole checkpoints"
	if !p.Measured {
		basis = "extrapolated from a sample of part of a checkpoint"
	}
	out := []string{
		fmt.Sprintf("%s rows/s, a checkpoint every %s; %s", count(p.Rate), span(p.Cycle), basis),
		fmt.Sprintf("%s files an hour (%s a checkpoint) of %s", count(p.FilesPerHour), count(p.FilesPerCheckpoint), size(p.FileBytes)),
		fmt.Sprintf("%s open files, which hold %s before a checkpoint", count(p.OpenFiles), size(p.OpenBytes)),
		fmt.Sprintf("%s objects and %s a day", count(p.ObjectsPerDay), size(p.BytesPerDay)),
		fmt.Sprintf("a row is visible at most %s after its record, after a failed checkpoint %s", span(p.Visible), span(p.AfterFailure)),
	}
	if p.PartitionsPerDay > 0 {
		out[3] += fmt.Sprintf(", in %s new partitions", count(p.PartitionsPerDay))
	}
	if p.Complete > 0 {
		out = append(out, fmt.Sprintf("a partition is declared complete at most %s after its end", span(p.Complete)))
	}
	return out
}
