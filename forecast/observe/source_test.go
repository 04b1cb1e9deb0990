package observe

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"staunch/connector"
	"staunch/env"
	"staunch/forecast"
)

// line is a source whose splits have one record each step from a beginning on.
type line struct {
	start time.Time
	step  []time.Duration // of each split, 0 = no records
	n     []int64
}

func (l *line) at(split int, offset int64) time.Time {
	return l.start.Add(time.Duration(offset) * l.step[split])
}

func (l *line) Look() (out connector.SourceSurvey, err error) {
	for i := range l.step {
		x := connector.SplitSurvey{ID: string(rune('a' + i)), End: l.n[i], Subtask: func(n int) int { return i % n }}
		if l.n[i] > 0 {
			x.Newest = l.at(i, l.n[i]-1)
		}
		out.Splits = append(out.Splits, x)
	}
	return out, nil
}

func (l *line) Since(times []time.Time) (out [][]connector.Mark, err error) {
	for _, at := range times {
		row := make([]connector.Mark, len(l.step))
		for i := range l.step {
			for row[i].Offset < l.n[i] && l.at(i, row[i].Offset).Before(at) {
				row[i].Offset++
			}
			if row[i].Offset < l.n[i] {
				row[i].Time = l.at(i, row[i].Offset)
			}
		}
		out = append(out, row)
	}
	return out, nil
}

func (l *line) Read(connector.Context, []connector.Part) (connector.SurveyReader, error) {
	return nil, errors.New("not to be read")
}

func (l *line) Close() error { return nil }

// fixed is a world that stands still.
type fixed struct {
	env.Real
	now time.Time
}

func (f *fixed) Now() time.Time { return f.now }

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func looked(t *testing.T, l *line, o Options, set forecast.Settings) *run {
	t.Helper()
	set.Interval = max(set.Interval, time.Second)
	r := &run{l: &Looker{Env: &fixed{now: noon}, Log: slog.New(slog.DiscardHandler), Options: o}, out: &forecast.Source{}, survey: l, set: set}
	if err := r.look(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *run) records() (n []int64) {
	for _, parts := range r.rounds {
		k := int64(0)
		for _, p := range parts {
			k += p.To - p.From
		}
		n = append(n, k)
	}
	return n
}

func about(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got < want*0.97 || got > want*1.03 {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

func TestRates(t *testing.T) {
	minute, ten := 60*time.Second, 10*time.Minute
	for name, x := range map[string]struct {
		line
		want []float64
		over time.Duration
	}{
		"ten minutes are enough": {line{noon.Add(-time.Hour), []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, []int64{36_000, 18_000}}, []float64{10, 5}, ten},
		"a topic of one minute":  {line{noon.Add(-minute), []time.Duration{10 * time.Millisecond, 0}, []int64{6000, 0}}, []float64{100, 0}, minute},
		"slow, over an hour":     {line{noon.Add(-2 * time.Hour), []time.Duration{2 * time.Second, 4 * time.Second}, []int64{3600, 1800}}, []float64{0.5, 0.25}, time.Hour},
		"very slow, over a day":  {line{noon.Add(-48 * time.Hour), []time.Duration{5 * time.Minute, 0}, []int64{48 * 12, 0}}, []float64{1. / 300, 0}, 24 * time.Hour},
		"long ago":               {line{noon.Add(-72 * time.Hour), []time.Duration{time.Second, 0}, []int64{3600, 0}}, []float64{0, 0}, 24 * time.Hour},
		"producers eight hours ahead": {line{noon.Add(7 * time.Hour), []time.Duration{100 * time.Millisecond, 100 * time.Millisecond}, []int64{36_000, 36_000}},
			[]float64{10, 10}, ten},
	} {
		t.Run(name, func(t *testing.T) {
			r := looked(t, &x.line, Options{}, forecast.Settings{Parallelism: 1})
			for i, want := range x.want {
				about(t, "rate", r.out.Splits[i].Rate, want)
			}
			about(t, "over", r.out.RateOver.Seconds(), x.over.Seconds())
			if len(r.rounds) != 0 {
				t.Error("no sample was asked for")
			}
		})
	}
}

func TestRounds(t *testing.T) {
	live := func() *line {
		return &line{noon.Add(-20 * time.Minute), []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}, []int64{120_000, 120_000}} // 200 a second
	}
	set := func(every time.Duration) forecast.Settings { return forecast.Settings{Parallelism: 1, Interval: every} }
	t.Run("whole", func(t *testing.T) {
		r := looked(t, live(), Options{Records: 50_000}, set(10*time.Second))
		if !r.whole || r.share != 1 || r.length != 10*time.Second || len(r.rounds) != few {
			t.Fatalf("%+v", r)
		}
		for _, n := range r.records() {
			about(t, "records", float64(n), 2000)
		}
	})
	t.Run("part", func(t *testing.T) {
		r := looked(t, live(), Options{Records: 10_000}, set(5*time.Minute)) // of 60,000
		n := r.records()
		if r.whole || len(n) != 2 {
			t.Fatalf("%+v", r)
		}
		about(t, "a quarter", float64(n[0]), 2500)
		about(t, "the rest", float64(n[1]), 7500)
		about(t, "share", r.share, 1./12)
	})
	t.Run("a topic younger than the interval", func(t *testing.T) {
		r := looked(t, &line{noon.Add(-time.Minute), []time.Duration{10 * time.Millisecond}, []int64{6000}}, Options{Records: 100_000}, set(5*time.Minute))
		if r.whole {
			t.Fatalf("%+v", r)
		}
		about(t, "share", r.share, 0.1)
	})
	t.Run("another rate", func(t *testing.T) {
		r := looked(t, live(), Options{Records: 50_000, Rate: 2000}, set(10*time.Second))
		about(t, "rate", sum(r.out.Splits), 2000)
		if !r.whole || len(r.rounds) != 2 {
			t.Fatalf("%+v", r)
		}
		for _, n := range r.records() {
			about(t, "records", float64(n), 20_000)
		}
	})
	t.Run("another rate, old records", func(t *testing.T) {
		l := &line{noon.Add(-72 * time.Hour), []time.Duration{time.Second, time.Second, 0}, []int64{3600, 3600, 0}}
		r := looked(t, l, Options{Records: 5000, Rate: 100}, set(10*time.Second))
		about(t, "rate of a split", r.out.Splits[0].Rate, 50)
		if !r.whole || len(r.rounds) != 5 || r.out.Splits[2].Rate != 0 {
			t.Fatalf("%d rounds, %+v", len(r.rounds), r.out.Splits)
		}
		for k, n := range r.records() {
			about(t, "records", float64(n), 1000)
			if want := int64(3600 - 500*(5-k)); r.rounds[k][0].From != want {
				t.Errorf("round %d begins at %d, want %d", k, r.rounds[k][0].From, want)
			}
		}
	})
	t.Run("old records", func(t *testing.T) {
		r := looked(t, &line{noon.Add(-72 * time.Hour), []time.Duration{time.Second}, []int64{3600}}, Options{Records: 1000}, set(10*time.Second))
		if n := r.records(); len(n) != 1 || n[0] != 1000 || r.out.Splits[0].Rate != 0 {
			t.Fatalf("%v %+v", n, r.out.Splits)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		if r := looked(t, &line{noon, []time.Duration{0}, []int64{0}}, Options{Records: 1000}, set(10*time.Second)); len(r.rounds) != 0 {
			t.Fatalf("%+v", r.rounds)
		}
	})
}

func TestZoneName(t *testing.T) {
	for want, z := range map[string]*time.Location{"UTC": time.UTC, "UTC+05:30": time.FixedZone("Local", 19800), "UTC-03:00": time.FixedZone("Local", -10800), "+08:00": time.FixedZone("+08:00", 28800)} {
		if got := zoneName(z); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
