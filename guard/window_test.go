package guard

import (
	"math"
	"strings"
	"testing"
	"time"

	"staunch/connector"
)

var t0 = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// kept is a split of topic "in" with these offsets and no bound.
func kept(split string, position, start, end int64) connector.Retention {
	return connector.Retention{Split: split, Topic: "in", Position: position, Start: start, End: end, MaxAge: -1, MaxBytes: -1, SizeBytes: -1}
}

func aged(r connector.Retention, keeps, old time.Duration) connector.Retention {
	r.MaxAge, r.AgeKey = keeps, "retention.ms"
	if r.Position < r.End {
		r.Time = t0.Add(-old)
	}
	return r
}

func sized(r connector.Retention, most, size int64) connector.Retention {
	r.MaxBytes, r.BytesKey, r.SizeBytes = most, "retention.bytes", size
	return r
}

// one gives the only window of the looks, taken one after the other so far apart.
func one(t *testing.T, apart time.Duration, looks ...[]connector.Retention) (Window, time.Time) {
	t.Helper()
	w := Watch{Table: "src"}
	var out []Window
	now := t0
	for i, l := range looks {
		if i > 0 {
			now = now.Add(apart)
		}
		out = w.Add(now, l)
	}
	if len(out) != 1 || out[0].Table != "src" || out[0].Topic != "in" {
		t.Fatalf("%+v", out)
	}
	return out[0], now
}

type look = []connector.Retention

func TestAge(t *testing.T) {
	for name, c := range map[string]struct {
		look         look
		left, keeps  time.Duration
		split        string
		behind, lost int64
		words        string
	}{
		"behind":       {look{aged(kept("in-0", 5, 0, 9), time.Hour, 10*time.Minute)}, 50 * time.Minute, time.Hour, "in-0", 4, 0, "offset 5 of in-0 may leave in 50m (retention.ms); 4 offsets are not committed"},
		"at the end":   {look{aged(kept("in-0", 9, 0, 9), time.Hour, 0)}, time.Hour, time.Hour, "in-0", 0, 0, "everything is committed; what comes now stays 1h (retention.ms)"},
		"empty":        {look{aged(kept("in-0", 0, 0, 0), time.Hour, 0)}, time.Hour, time.Hour, "in-0", 0, 0, "everything is committed"},
		"overdue":      {look{aged(kept("in-0", 5, 0, 9), time.Hour, 2*time.Hour)}, 0, time.Hour, "in-0", 4, 0, "may leave in 0s"},
		"the first":    {look{aged(kept("in-0", 5, 0, 9), time.Hour, time.Minute), aged(kept("in-1", 7, 0, 9), time.Hour, 40*time.Minute), aged(kept("in-2", 9, 0, 9), time.Hour, 0)}, 20 * time.Minute, time.Hour, "in-1", 6, 0, "offset 7 of in-1"},
		"gone":         {look{aged(kept("in-1", 2, 6, 9), time.Hour, time.Minute), aged(kept("in-0", 5, 5, 9), time.Hour, time.Minute)}, 0, time.Hour, "", 7, 4, "4 offsets that no completed checkpoint has are gone: in-1 from 2 to 5 (4)"},
		"all gone":     {look{aged(kept("in-0", 2, 9, 9), time.Hour, 0)}, 0, time.Hour, "", 0, 7, "7 offsets that no completed checkpoint has are gone: in-0 from 2 to 8 (7)"},
		"none":         {look{kept("in-0", 2, 0, 9)}, math.MaxInt64, 0, "", 7, 0, "nothing leaves by age or size"},
		"kept nothing": {look{aged(kept("in-0", 2, 0, 9), 0, 0)}, 0, 1, "in-0", 7, 0, "may leave in 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			w, now := one(t, 0, c.look)
			if w.Left(now) != c.left || w.Keeps != c.keeps || w.Behind != c.behind || w.Lost() != c.lost || c.split != "" && w.Split != c.split || w.Measured {
				t.Errorf("left %v of %+v", w.Left(now), w)
			}
			if got := w.Text(now); !strings.Contains(got, c.words) {
				t.Errorf("%q lacks %q", got, c.words)
			}
		})
	}
}

// TestSize: 1000 offsets of 10 bytes are there; 20000 bytes are kept.
func TestSize(t *testing.T) {
	near := func(t *testing.T, got, want time.Duration) {
		t.Helper()
		if d := got - want; d < -time.Second || d > time.Second {
			t.Errorf("%v, want %v", got, want)
		}
	}
	at := func(position, end int64) look { return look{sized(kept("in-0", position, 0, end), 20_000, 10*end)} }
	t.Run("no rate", func(t *testing.T) {
		if w, _ := one(t, 0, at(500, 1000)); !w.Never() || w.Keeps != 0 {
			t.Errorf("%+v", w)
		}
	})
	t.Run("one look", func(t *testing.T) { // a thousand offsets came in 100 s: 100 B/s; 5000 bytes stand behind the position
		l := at(500, 1000)
		l[0].Oldest, l[0].Newest = t0.Add(-100*time.Second), t0
		w, now := one(t, 0, l)
		near(t, w.Left(now), 150*time.Second)
		near(t, w.Keeps, 200*time.Second)
		if !w.Measured || !strings.Contains(w.Text(now), "about 2m 30s (retention.bytes at 100 B/s)") {
			t.Error(w.Text(now))
		}
	})
	t.Run("two looks", func(t *testing.T) { // 1000 offsets in 10 s: 1000 B/s; 15000 bytes stand behind
		w, now := one(t, 10*time.Second, at(500, 1000), at(500, 2000))
		near(t, w.Left(now), 5*time.Second)
		near(t, w.Keeps, 20*time.Second)
	})
	t.Run("faster now", func(t *testing.T) { // the last step counts if it is faster than all together
		w, now := one(t, 10*time.Second, at(0, 1000), at(0, 1010), at(0, 1020), at(0, 1520))
		near(t, w.Left(now), 9600*time.Millisecond)
	})
	t.Run("over it", func(t *testing.T) {
		w, now := one(t, 10*time.Second, at(500, 1000), at(500, 9000))
		if w.Left(now) != 0 {
			t.Error(w.Left(now))
		}
	})
	t.Run("idle now", func(t *testing.T) { // what it was on the whole counts
		l := at(500, 1000)
		l[0].Oldest, l[0].Newest = t0.Add(-100*time.Second), t0
		w, now := one(t, 10*time.Second, l, l)
		near(t, w.Left(now), 150*time.Second)
	})
	t.Run("age first", func(t *testing.T) {
		l := at(500, 1000)
		l[0].Oldest, l[0].Newest = t0.Add(-100*time.Second), t0
		l[0] = aged(l[0], time.Minute, 30*time.Second)
		w, now := one(t, 0, l)
		if w.Measured || w.Left(now) != 30*time.Second || w.Keeps != time.Minute {
			t.Errorf("%+v", w)
		}
	})
	t.Run("size unknown", func(t *testing.T) {
		l := at(500, 1000)
		l[0].SizeBytes = -1
		w, now := one(t, 10*time.Second, l, l)
		if w.Unknown == "" || w.Left(now) != math.MaxInt64 {
			t.Errorf("a bound whose distance is not known is taken for none: %+v", w)
		}
	})
}

// TestStart: without the settings the first offset is watched.
func TestStart(t *testing.T) {
	at := func(start int64) look {
		r := kept("in-0", 600, start, 1000)
		r.Unknown = "not allowed"
		return look{r}
	}
	w, now := one(t, time.Minute, at(100))
	if !w.Until.IsZero() || w.Never() != true || w.Unknown != "not allowed" {
		t.Errorf("%+v", w)
	}
	w, now = one(t, time.Minute, at(0), at(0), at(300)) // 300 a minute at most
	if got := w.Left(now); got < 59*time.Second || got > 61*time.Second || !w.Measured || !strings.Contains(w.Text(now), "first offset moves by 5 a second") {
		t.Errorf("%v %s", got, w.Text(now))
	}
}

// TestDeleted: a topic that keeps everything, from which somebody deletes.
func TestDeleted(t *testing.T) {
	at := func(start int64) look { return look{kept("in-0", 600, start, 1000)} }
	if w, _ := one(t, time.Minute, at(0), at(0)); !w.Never() {
		t.Errorf("%+v", w)
	}
	if w, now := one(t, time.Minute, at(0), at(300)); w.Left(now) != time.Minute || w.Keeps != 140*time.Second {
		t.Errorf("%v of %+v", w.Left(now), w)
	}
}

// TestBlind: what does not answer is not taken for safe, and its history stays.
func TestBlind(t *testing.T) {
	r := kept("in-0", 600, 0, 1000)
	r.NoAnswer = "no leader"
	w, now := one(t, time.Minute, look{r})
	if !w.Blind || w.Never() || !strings.Contains(w.Text(now), "no leader") {
		t.Errorf("%+v", w)
	}
	other := aged(kept("in-1", 5, 0, 9), time.Hour, 10*time.Minute)
	w, now = one(t, 0, look{r, other})
	if w.Blind || w.Left(now) != 50*time.Minute || !strings.Contains(w.Unknown, "in-0") {
		t.Errorf("%+v", w)
	}
}

// TestSilence: a split that was known once keeps its window while it does not answer.
func TestSilence(t *testing.T) {
	silent := kept("in-0", 5, 0, 0)
	silent.NoAnswer = "no leader"
	w, now := one(t, 10*time.Minute, look{aged(kept("in-0", 5, 0, 9), time.Hour, 10*time.Minute)}, look{silent}, look{silent})
	if w.Blind || w.Left(now) != 30*time.Minute || !strings.Contains(w.Unknown, "no leader") {
		t.Errorf("left %v of %+v", w.Left(now), w)
	}
}

// TestNext: the partition whose offsets leave first may be one that has none behind; a job that stands still gets some.
func TestNext(t *testing.T) {
	w, now := one(t, 0, look{aged(kept("in-0", 9, 0, 9), time.Minute, 0), aged(kept("in-1", 3, 0, 9), time.Hour, 0)})
	if !w.Next || w.Left(now) != time.Minute || !strings.Contains(w.Text(now), "what comes to in-0 now stays 1m") {
		t.Errorf("%+v %s", w, w.Text(now))
	}
}

// TestEnded: what is not to be read any more has all the time of the world.
func TestEnded(t *testing.T) {
	over := aged(kept("in-0", 9, 12, 20), time.Minute, 0)
	over.Ended = true
	w, now := one(t, 0, look{over})
	if !w.Ended || !w.Never() || len(w.Gone) > 0 || w.Text(now) != "everything that was to be read is committed" {
		t.Errorf("%+v", w)
	}
	if w, now = one(t, 0, look{over, aged(kept("in-1", 5, 0, 9), time.Hour, 10*time.Minute)}); w.Ended || w.Left(now) != 50*time.Minute || w.Keeps != time.Hour {
		t.Errorf("%+v", w)
	}
}

func TestTopics(t *testing.T) {
	b := aged(kept("b-0", 1, 0, 9), time.Minute, 0)
	b.Topic = "b"
	watch := Watch{Table: "src"}
	out := watch.Add(t0, look{b, aged(kept("in-0", 1, 0, 9), time.Hour, 0)})
	if len(out) != 2 || out[0].Topic != "b" || out[1].Topic != "in" || out[0].Key() == out[1].Key() || out[0].Keeps != time.Minute || out[1].Keeps != time.Hour {
		t.Errorf("%+v", out)
	}
	if len(watch.Add(t0, nil)) != 0 {
		t.Error("a window of no split")
	}
}

func TestAlarms(t *testing.T) {
	a := Alarms{Part: 0.25}
	w := func(left time.Duration, gone ...Gone) *Window {
		return &Window{Table: "src", Topic: "in", Until: t0.Add(left), Keeps: 100 * time.Minute, Gone: gone}
	}
	for i, s := range []struct {
		w    *Window
		want Change
	}{
		{w(100 * time.Minute), Same},
		{w(26 * time.Minute), Same},
		{w(24 * time.Minute), Raised},
		{w(26 * time.Minute), Same}, // not enough to ease
		{w(13 * time.Minute), Same},
		{w(11 * time.Minute), Worse},
		{w(6 * time.Minute), Same},
		{w(5 * time.Minute), Worse},
		{w(0), Worse},
		{w(0), Same},
		{w(0, Gone{Split: "in-0", From: 3, To: 5}), Worse},
		{w(0, Gone{Split: "in-0", From: 3, To: 5}), Same},
		{w(0, Gone{Split: "in-0", From: 3, To: 9}), Worse},
		{&Window{Table: "src", Topic: "in", Blind: true}, Same},
		{w(90*time.Minute, Gone{Split: "in-0", From: 3, To: 9}), Same}, // what is gone stays gone
		{w(32 * time.Minute), Eased},
		{w(32 * time.Minute), Same},
		{w(time.Minute, Gone{Split: "in-0", From: 3, To: 9}), Raised},
		{&Window{Table: "src", Topic: "in"}, Eased}, // kept for ever now
		{&Window{Table: "src", Topic: "in"}, Same},
	} {
		if got := a.Step(s.w, t0); got != s.want {
			t.Errorf("step %d, left %v: %v, want %v", i, s.w.Left(t0), got, s.want)
		}
	}
	for _, part := range []float64{0, 0.9, 1} { // all of it is enough to ease any alarm but that of part 1
		a := Alarms{Part: part}
		if got := a.Step(w(0), t0); (got == Raised) != (part > 0) {
			t.Errorf("part %v: %v", part, got)
		}
		if got := a.Step(w(100*time.Minute), t0); (got == Eased) != (part > 0) {
			t.Errorf("part %v: %v", part, got)
		}
	}
}

func TestJudge(t *testing.T) {
	a := Alarms{Part: 0.25}
	needs := Needs{Interval: 10 * time.Second, Timeout: 10 * time.Minute, Restart: time.Minute}
	ret := func(keeps, old time.Duration) Window {
		r := aged(kept("in-0", 5, 0, 9), keeps, old)
		r.AgeKey = "retention.ms = x"
		w, _ := one(t, 0, look{r})
		return w
	}
	gone, _ := one(t, 0, look{aged(kept("in-0", 1, 5, 9), time.Hour, 0)})
	past := aged(kept("in-0", 1, 5, 9), time.Hour, 0)
	past.Skips = "by order"
	skips, _ := one(t, 0, look{past})
	mixed, _ := one(t, 0, look{past, aged(kept("in-1", 1, 5, 9), time.Hour, 0)})
	never, _ := one(t, 0, look{kept("in-0", 1, 0, 9)})
	compacted := kept("in-0", 1, 0, 9)
	compacted.Compacted = true
	compact, _ := one(t, 0, look{compacted})
	refused := kept("in-0", 1, 0, 9)
	refused.Unknown = "grant DESCRIBE_CONFIGS"
	unknown, _ := one(t, 0, look{refused})
	for name, c := range map[string]struct {
		w     Window
		level Level
		words string
		hint  string
	}{
		"good":      {ret(24*time.Hour, time.Hour), Pass, "offset 5 of in-0 may leave in 23h (retention.ms = x); 4 offsets are not committed; stopped now, the job may stay so until 2026-12-01T11:00:00Z", ""},
		"low":       {ret(24*time.Hour, 20*time.Hour), Warn, "in 4h (retention.ms = x); 4 offsets are not committed; 1d are kept", "start the job, see what holds it back, or lengthen 'retention.ms'"},
		"needs":     {ret(14*time.Minute, 4*time.Minute), Warn, "in 10m", "start the job"},
		"too short": {ret(10*time.Minute, 0), Warn, "one checkpoint that fails takes up to 11m 10s (interval 10s + time-out 10m + wait before a restart 1m)", "lengthen 'retention.ms', or shorten 'execution.checkpointing.timeout'"},
		"gone":      {gone, Fail, "4 offsets that no completed checkpoint has are gone: in-0 from 1 to 4 (4); a start stops with that", "auto.offset.reset"},
		"skips":     {skips, Warn, "4 offsets that no completed checkpoint has are gone: in-0 from 1 to 4 (4); a start skips and counts them (by order)", ""},
		"mixed":     {mixed, Fail, "8 offsets", "auto.offset.reset"},
		"never":     {never, Pass, "nothing leaves", ""},
		"compact":   {compact, Pass, "counted as gaps", ""},
		"unknown":   {unknown, Warn, "grant DESCRIBE_CONFIGS", "right"},
		"blind":     {Window{Blind: true, Unknown: "no leader"}, Warn, "no leader", "ask again"},
		"files":     {OfFiles("lake", "/lake/_DUMP_TEMPORARY/x", t0.Add(-time.Hour), 24*time.Hour), Pass, "x is removed in 23h at the earliest (temporary-ttl = 1d)", ""},
		"no files":  {OfFiles("lake", "", t0, 24*time.Hour), Pass, "no file waits to become visible; one that is written now is removed in 1d", ""},
		"old files": {OfFiles("lake", "", t0.Add(-23*time.Hour), 24*time.Hour), Warn, "not visible yet are removed in 1h", "lengthen 'temporary-ttl'"},
	} {
		got := a.Judge(&c.w, needs, t0)
		if got.Level != c.level || !strings.Contains(got.Why, c.words) || (c.hint == "") != (got.Change == "") || !strings.Contains(got.Change, c.hint) {
			t.Errorf("%s: %+v, want %v, %q and %q", name, got, c.level, c.words, c.hint)
		}
	}
}

func TestGoneText(t *testing.T) {
	var gone []Gone
	for i := range int64(11) {
		gone = append(gone, Gone{Split: "in-" + string(rune('a'+i)), From: 10, To: 11 + i})
	}
	if got := GoneText(gone); !strings.HasPrefix(got, "66 offsets") || !strings.Contains(got, "in-b from 10 to 11 (2)") || !strings.HasSuffix(got, "and 3 more partitions") {
		t.Error(got)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 300 * time.Millisecond: "300ms", 1500 * time.Millisecond: "1.5s", 59600 * time.Millisecond: "59s", 75 * time.Second: "1m 15s",
		time.Hour: "1h", time.Hour + 5*time.Second: "1h", 3*time.Hour + 12*time.Minute + 4*time.Second: "3h 12m", 7 * 24 * time.Hour: "7d", 50*time.Hour + time.Minute: "2d 2h",
		24*time.Hour + 3*time.Minute: "1d", math.MaxInt64: "for ever", -time.Minute: "-1m", 9999 * time.Millisecond: "9.9s"} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", int64(d), got, want)
		}
	}
}
