package guard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"staunch/connector"
)

// Kind is what leaves.
type Kind uint8

// The kinds.
const (
	// Offsets of a topic that no completed checkpoint has.
	Offsets Kind = iota
	// Files that are written, but not visible.
	Files
)

// Gone are offsets From <= o < To of a split that were not committed and are not there any more.
type Gone struct {
	Split    string
	From, To int64
	// Skips says why reading goes on behind them and counts them as skipped; empty: it stops.
	Skips string
}

// Window is the time that is left to one topic of a source, or to one table.
type Window struct {
	Kind  Kind
	Table string
	// Topic of offsets. Split and Position are the offset that leaves first; File is the temporary file that does, if it has a name.
	Topic, Split string
	Position     int64
	File         string
	// Behind counts the offsets that are there and not committed, over all splits.
	Behind int64
	// Until is when the first may leave; zero: never. While nothing is behind it is when something that came now would.
	Until time.Time
	// Keeps is how long the place keeps what comes now; 0: for ever.
	Keeps time.Duration
	// Next: the offset that leaves first has not come yet, nothing of its split is behind.
	Next bool
	// Because names the setting, and the rate where one was measured.
	Because string
	// Measured: Until rests on a rate.
	Measured bool
	// Compacted: older values of a key may leave by compaction, which is no loss.
	Compacted bool
	// Gone is what is lost already, in order of split.
	Gone []Gone
	// Unknown says what could not be found out, empty if nothing. The window is of what could.
	Unknown string
	// Ended: everything that was to be read is committed.
	Ended bool
	// Blind: nothing at all is known.
	Blind bool
}

// Key identifies the window over looks.
func (w *Window) Key() string { return fmt.Sprintf("%d\x00%s\x00%s", w.Kind, w.Table, w.Topic) }

// Never reports that nothing leaves by itself.
func (w *Window) Never() bool { return w.Until.IsZero() && len(w.Gone) == 0 && !w.Blind }

// Left is the time until the window's end, not below 0. It is the longest duration if there is none, or none is known.
func (w *Window) Left(now time.Time) time.Duration {
	switch {
	case len(w.Gone) > 0:
		return 0
	case w.Until.IsZero():
		return math.MaxInt64
	}
	return max(0, w.Until.Sub(now))
}

// Stops reports that reading cannot go on from the newest checkpoint.
func (w *Window) Stops() bool {
	return slices.ContainsFunc(w.Gone, func(g Gone) bool { return g.Skips == "" })
}

// Lost counts the offsets that are gone.
func (w *Window) Lost() (n int64) {
	for _, g := range w.Gone {
		n += g.To - g.From
	}
	return n
}

// OfFiles is the window of a table whose temporary files are removed at the age of ttl. Nothing that is not visible is older than since; file is
// the oldest one with a name, or "".
func OfFiles(table, file string, since time.Time, ttl time.Duration) Window {
	return Window{Kind: Files, Table: table, File: file, Until: since.Add(ttl), Keeps: ttl, Because: "temporary-ttl = " + Span(ttl)}
}

// remembered is how many looks rates are taken over.
const remembered = 16

// Watch turns looks at one source into windows. It remembers the last looks for the sake of rates, and the last answer for each split for the
// time when there is none.
type Watch struct {
	Table string
	past  map[string][]sample
	last  map[string]connector.Retention
}

type sample struct {
	at         time.Time
	start, end int64
}

// Add takes a look and gives one window a topic, in order of name.
func (w *Watch) Add(now time.Time, look []connector.Retention) []Window {
	past, last := map[string][]sample{}, map[string]connector.Retention{}
	topics := map[string]*Window{}
	for i := range look {
		r := &look[i]
		t := topics[r.Topic]
		if t == nil {
			t = &Window{Table: w.Table, Topic: r.Topic, Blind: true, Ended: true}
			topics[r.Topic] = t
		}
		if r.NoAnswer != "" {
			past[r.Split], t.Ended = w.past[r.Split], false
			t.unknown(fmt.Sprintf("nothing is known of %s: %s", r.Split, r.NoAnswer))
			if l, ok := w.last[r.Split]; ok { // time runs on; the record at a later position is not older
				l.Position = r.Position
				last[r.Split] = l
				t.add(&l, now, past[r.Split])
			}
			continue
		}
		last[r.Split] = *r
		h := append(slices.Clip(w.past[r.Split]), sample{now, r.Start, r.End})
		past[r.Split] = h[max(0, len(h)-remembered):]
		t.add(r, now, past[r.Split])
	}
	w.past, w.last = past, last
	out := make([]Window, 0, len(topics))
	for _, t := range topics {
		slices.SortFunc(t.Gone, func(a, b Gone) int { return cmp.Compare(a.Split, b.Split) })
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Window) int { return cmp.Compare(a.Topic, b.Topic) })
	return out
}

func (w *Window) unknown(why string) {
	if w.Unknown == "" {
		w.Unknown = why
	}
}

// add takes one split into its topic's window: the one that leaves first counts.
func (w *Window) add(r *connector.Retention, now time.Time, past []sample) {
	w.Blind = false
	if r.Ended {
		return
	}
	w.Ended = false
	w.Compacted = w.Compacted || r.Compacted
	if why := unknown(r); why != "" {
		w.unknown(why)
	}
	if r.Position < r.Start {
		w.Gone = append(w.Gone, Gone{Split: r.Split, From: r.Position, To: r.Start, Skips: r.Skips})
	}
	behind := max(0, r.End-max(r.Position, r.Start))
	w.Behind += behind
	for _, b := range bounds(r, behind, now, past) {
		if w.Keeps == 0 || b.keeps < w.Keeps {
			w.Keeps = b.keeps
		}
		if w.Until.IsZero() || b.until.Before(w.Until) {
			w.Until, w.Split, w.Position, w.Because, w.Measured, w.Next = b.until, r.Split, max(r.Position, r.Start), b.because, b.measured, behind == 0
		}
	}
	if len(w.Gone) > 0 && w.Split == "" {
		w.Split, w.Position = r.Split, r.Position
	}
}

// unknown says which rule's distance cannot be told.
func unknown(r *connector.Retention) string {
	if r.Unknown == "" && r.MaxBytes >= 0 && r.SizeBytes < 0 && r.End > r.Start {
		return fmt.Sprintf("%s counts for %s, whose size is not known: this client needs DESCRIBE on the cluster for that", r.BytesKey, r.Split)
	}
	return r.Unknown
}

// bound is one rule's word on a split.
type bound struct {
	until    time.Time
	keeps    time.Duration
	because  string
	measured bool
}

func bounds(r *connector.Retention, behind int64, now time.Time, past []sample) (out []bound) {
	if r.MaxAge >= 0 {
		b := bound{until: now.Add(r.MaxAge), keeps: max(r.MaxAge, 1), because: r.AgeKey}
		if behind > 0 && !r.Time.IsZero() {
			b.until = r.Time.Add(r.MaxAge)
		}
		out = append(out, b)
	}
	if r.MaxBytes >= 0 {
		if b, ok := bySize(r, behind, now, past); ok {
			out = append(out, b)
		}
	}
	if unknown(r) != "" || len(out) == 0 { // nothing leaves by a rule: does somebody delete records?
		if b, ok := byStart(r, now, past); ok {
			out = append(out, b)
		}
	}
	return out
}

// bySize: the oldest segments leave while what is left without them is MaxBytes or more, so that the record at the position stays at least until
// MaxBytes stand behind it. How many stand there now follows from the size of the whole and the share of the offsets.
func bySize(r *connector.Retention, behind int64, now time.Time, past []sample) (bound, bool) {
	held := r.End - r.Start
	if r.SizeBytes <= 0 || held <= 0 {
		return bound{}, false
	}
	each := float64(r.SizeBytes) / float64(held)
	rate := growth(past, func(s sample) int64 { return s.end })
	if span := r.Newest.Sub(r.Oldest); !r.Oldest.IsZero() && !r.Newest.IsZero() && span > 0 {
		rate = max(rate, float64(held)/span.Seconds())
	}
	rate *= each
	if rate <= 0 {
		return bound{}, false
	}
	b := bound{keeps: max(1, seconds(float64(r.MaxBytes)/rate)), because: fmt.Sprintf("%s at %s/s", r.BytesKey, bytes(rate)), measured: true}
	b.until = now.Add(max(0, seconds((float64(r.MaxBytes)-each*float64(behind))/rate)))
	return b, true
}

// byStart: where the rules are not known, or there are none, the first offset may be seen to move.
func byStart(r *connector.Retention, now time.Time, past []sample) (bound, bool) {
	rate := growth(past, func(s sample) int64 { return s.start })
	if rate <= 0 {
		return bound{}, false
	}
	return bound{until: now.Add(seconds(float64(max(0, r.Position-r.Start)) / rate)), keeps: max(1, seconds(float64(r.End-r.Start)/rate)),
		because: fmt.Sprintf("the topic's first offset moves by %.3g a second", rate), measured: true}, true
}

// growth is the faster of the growth of f a second over all that is remembered and over the last step.
func growth(past []sample, f func(sample) int64) (rate float64) {
	for _, from := range []int{0, len(past) - 2} {
		if from < 0 || from >= len(past)-1 {
			continue
		}
		a, b := past[from], past[len(past)-1]
		if d := b.at.Sub(a.at).Seconds(); d > 0 {
			rate = max(rate, float64(f(b)-f(a))/d)
		}
	}
	return rate
}

// seconds is a duration of so many seconds, at most a hundred years.
func seconds(s float64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	return time.Duration(min(max(s, -century), century) * float64(time.Second))
}

// bytes writes a number of bytes in the unit that fits.
func bytes(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for ; n >= 1000 && i < len(units)-1; i++ {
		n /= 1000
	}
	return fmt.Sprintf("%.3g %s", n, units[i])
}

// Span writes a duration in its two largest units, cut off and never rounded up: 6d 3h, 4m 30s, 1.5s.
func Span(d time.Duration) string {
	switch {
	case d == math.MaxInt64:
		return "for ever"
	case d < 0:
		return "-" + Span(-d)
	case d < time.Second:
		return d.Truncate(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Truncate(100 * time.Millisecond).String()
	}
	left := d.Truncate(time.Second)
	var out []string
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := left / u.unit; n > 0 && len(out) < 2 {
			out = append(out, fmt.Sprintf("%d%s", n, u.name))
			left -= n * u.unit
		} else if len(out) > 0 {
			break // the units in between are 0, or two stand there
		}
	}
	return strings.Join(out, " ")
}
