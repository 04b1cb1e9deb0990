package guard

import (
	"fmt"
	"strings"
	"time"
)

// Level says how good a window is.
type Level uint8

// The levels.
const (
	Pass Level = iota
	Warn
	Fail
)

// Needs is what the job takes in the worst case from the reading of a record to its commit, if nothing but that one checkpoint fails.
type Needs struct {
	// Interval between checkpoints, Timeout of one, Restart the longest wait before a restart.
	Interval, Timeout, Restart time.Duration
}

// Total is the sum.
func (n Needs) Total() time.Duration { return n.Interval + n.Timeout + n.Restart }

// String shows the sum and its parts.
func (n Needs) String() string {
	return fmt.Sprintf("%s (interval %s + time-out %s + wait before a restart %s)", Span(n.Total()), Span(n.Interval), Span(n.Timeout), Span(n.Restart))
}

// Verdict is what Judge says of a window: how good it is, why, and what to change, empty if nothing.
type Verdict struct {
	Level       Level
	Why, Change string
}

// Judge says how good a window is for a job with these needs that is stopped now, or is about to be.
func (a *Alarms) Judge(w *Window, needs Needs, now time.Time) Verdict {
	switch {
	case w.Blind:
		return Verdict{Warn, w.Unknown, "see whether the topic is there and its partitions have leaders, and ask again"}
	case len(w.Gone) > 0 && !w.Stops():
		return Verdict{Warn, fmt.Sprintf("%s; a start skips and counts them (%s)", w.goneText(), w.Gone[0].Skips), ""}
	case w.Stops():
		return Verdict{Fail, w.goneText() + "; a start stops with that",
			"bring the records from elsewhere; to go on without them, set 'properties.auto.offset.reset' = 'earliest': they are counted as skipped"}
	case w.Never() && w.Unknown != "":
		return Verdict{Warn, w.Unknown + "; how long records stay is not known", "give this client that right"}
	case w.Never():
		return Verdict{Pass, w.neverText(), ""}
	case w.Keeps < needs.Total():
		return Verdict{Warn, fmt.Sprintf("%s; only %s are kept, and one checkpoint that fails takes up to %s", w.leftText(now), Span(w.Keeps), needs),
			"lengthen " + w.setting() + ", or shorten 'execution.checkpointing.timeout'"}
	case a.Low(w, now) || w.Left(now) < needs.Total():
		return Verdict{Warn, fmt.Sprintf("%s; %s are kept", w.leftText(now), Span(w.Keeps)), "start the job, see what holds it back, or lengthen " + w.setting()}
	case w.Unknown != "":
		return Verdict{Warn, w.leftText(now) + "; " + w.Unknown, "give this client that right"}
	}
	return Verdict{Pass, w.leftText(now) + w.mayStop(now), ""}
}

// setting names what the window hangs on.
func (w *Window) setting() string {
	name, _, ok := strings.Cut(w.Because, " ")
	if !ok {
		return "what is kept"
	}
	return "'" + name + "'"
}

// mayStop says until when the job may be down.
func (w *Window) mayStop(now time.Time) string {
	if w.Kind == Files && w.File == "" { // a job that is stopped has no others
		return ""
	}
	if w.Measured { // a rate is no promise
		return fmt.Sprintf("; stopped now, the job may stay so for about %s", Span(w.Left(now)))
	}
	return fmt.Sprintf("; stopped now, the job may stay so until %s", w.Until.UTC().Format(time.RFC3339))
}

// neverText says that nothing leaves by itself.
func (w *Window) neverText() string {
	switch {
	case w.Ended:
		return "everything that was to be read is committed"
	case w.Compacted:
		return "nothing leaves by age or size; older values of a key leave by compaction, which is counted as gaps"
	}
	return "nothing leaves by age or size"
}

// leftText says what leaves first, and when.
func (w *Window) leftText(now time.Time) string {
	var b strings.Builder
	about := ""
	if w.Measured {
		about = "about "
	}
	left := Span(w.Left(now))
	switch {
	case w.Kind == Files && w.File != "":
		fmt.Fprintf(&b, "%s is removed in %s at the earliest (%s)", w.File, left, w.Because)
	case w.Kind == Files && w.Left(now) >= w.Keeps:
		fmt.Fprintf(&b, "no file waits to become visible; one that is written now is removed in %s at the earliest (%s)", left, w.Because)
	case w.Kind == Files:
		fmt.Fprintf(&b, "files that are not visible yet are removed in %s at the earliest (%s)", left, w.Because)
	case w.Behind == 0:
		fmt.Fprintf(&b, "everything is committed; what comes now stays %s%s (%s)", about, left, w.Because)
	case w.Next:
		fmt.Fprintf(&b, "what comes to %s now stays %s%s (%s); %d offsets of other partitions are not committed, and stay longer", w.Split, about, left, w.Because, w.Behind)
	default:
		fmt.Fprintf(&b, "offset %d of %s may leave in %s%s (%s); %d offsets are not committed", w.Position, w.Split, about, left, w.Because, w.Behind)
	}
	return b.String()
}

// shown bounds how many ranges a text names.
const shown = 8

// goneText names what is lost.
func (w *Window) goneText() string { return GoneText(w.Gone) }

// GoneText counts what is lost and names the ranges, both ends included.
func GoneText(gone []Gone) string {
	var n int64
	var names []string
	for i, g := range gone {
		n += g.To - g.From
		if i < shown {
			names = append(names, fmt.Sprintf("%s from %d to %d (%d)", g.Split, g.From, g.To-1, g.To-g.From))
		}
	}
	if more := len(gone) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and %d more partitions", more))
	}
	return fmt.Sprintf("%d offsets that no completed checkpoint has are gone: %s", n, strings.Join(names, ", "))
}

// Text says what leaves first, and when; or what is gone.
func (w *Window) Text(now time.Time) string {
	switch {
	case w.Blind:
		return w.Unknown
	case len(w.Gone) > 0:
		return w.goneText()
	case w.Never():
		return w.neverText()
	}
	return w.leftText(now)
}
