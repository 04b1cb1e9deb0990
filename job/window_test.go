package job

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/env"
	"staunch/fault"
	"staunch/fs/mem"
	"staunch/metric"
)

// clock is a real world whose time the test sets.
type clock struct {
	env.Real
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

// topic is a source of one partition that keeps records for an hour; the record at offset n is of minute n after t0.
type topic struct {
	connector.Source
	clock *clock
	start int64
	err   error
	// asked is told of each Look; hold lets a Look wait until Close.
	asked chan []connector.Split
	hold  chan struct{}
}

var t0 = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func (s *topic) Expiry(connector.Context) (connector.Expiry, error) { return s, nil }

func (s *topic) Look(splits []connector.Split) (out []connector.Retention, err error) {
	if s.asked != nil {
		s.asked <- splits
	}
	if s.hold != nil {
		<-s.hold
		return nil, errors.New("closed")
	}
	for _, x := range splits {
		out = append(out, connector.Retention{Split: x.ID, Topic: "in", Position: x.Position, Start: s.start, End: 1000, MaxAge: time.Hour, MaxBytes: -1, SizeBytes: -1,
			AgeKey: "retention.ms", Time: t0.Add(time.Duration(x.Position) * time.Minute)})
	}
	return out, s.err
}

func (s *topic) Close() error {
	if s.hold != nil {
		close(s.hold)
	}
	return nil
}

// logged is a log that goroutines may write to.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// take gives what was logged since the last time.
func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	l.b.Reset()
	return s
}

func newGuarded(t *testing.T, s *topic, ttl time.Duration) (*Job, *logged, func(name string) float64) {
	t.Helper()
	out, reg := &logged{}, metric.NewRegistry()
	spec := Spec{ID: "job", Guard: GuardOptions{Interval: time.Hour, Alarm: 0.25},
		Graph: dataflow.Graph{Sources: []dataflow.Source{{Name: "src", Describe: "table src", Source: s}}}}
	if ttl > 0 {
		spec.Tables = map[string]Table{"/lake": {Name: "lake", Sink: perishable{ttl: ttl}}}
	}
	j := New(s.clock, spec, slog.New(slog.NewTextHandler(out, nil)), reg.Group("job_name", "job"))
	j.windows = newWindows(j)
	return j, out, func(name string) float64 {
		v := math.Inf(-1) // there is no such metric
		reg.Each(func(x metric.Sample) {
			if x.Name == name {
				v = x.Value
			}
		})
		return v
	}
}

// perishable is a table whose temporary files somebody removes.
type perishable struct {
	connector.FileTable
	ttl time.Duration
}

func (p perishable) TemporaryTTL() time.Duration { return p.ttl }

func at(position int64, triggered time.Time, files ...string) *checkpoint.Restored {
	r := &checkpoint.Restored{Metadata: checkpoint.Metadata{Triggered: triggered, Tables: map[string]checkpoint.Table{},
		Sources: map[string]checkpoint.Source{"src": {Splits: []connector.Split{{ID: "in-0", Position: position}}}}}}
	for _, f := range files {
		r.Tables["/lake"] = checkpoint.Table{Files: []account.File{{Pending: f}}}
	}
	return r
}

func saysAll(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q is not in %q", what, w, text)
		}
	}
	if len(words) == 0 && text != "" {
		t.Errorf("%s: it said %q", what, text)
	}
}

// TestWindows follows a job whose checkpoints stop: alarm, worse, lost, eased; what the metrics show between two looks.
func TestWindows(t *testing.T) {
	c := &clock{now: t0}
	s := &topic{clock: c}
	j, log, gauge := newGuarded(t, s, 0)
	w := j.windows
	w.look()
	if v := gauge("lossWindowSeconds"); v != math.Inf(-1) {
		t.Errorf("%v before anything is known", v)
	}
	w.from(at(0, t0))
	w.look()
	if v := gauge("lossWindowSeconds"); v != 3600 {
		t.Errorf("%v s", v)
	}
	c.pass(10 * time.Minute)
	if v := gauge("lossWindowSeconds"); v != 3000 {
		t.Errorf("between two looks the time runs on: %v s", v)
	}
	w.committed(at(10, t0), t0)
	w.look()
	if v := gauge("lossWindowSeconds"); v != 3600 {
		t.Errorf("%v s", v)
	}
	saysAll(t, "all is well", log.take())
	c.pass(50 * time.Minute)
	w.look()
	saysAll(t, "alarm", log.take(), "level=WARN", "loss window: offsets are about to leave", "left=10m", "kept=1h", "offset 10 of in-0", "990 offsets")
	if gauge("lossWindowAlarm") != 1 {
		t.Error("no alarm")
	}
	c.pass(time.Minute)
	w.look()
	saysAll(t, "told already", log.take())
	c.pass(5 * time.Minute)
	w.look()
	saysAll(t, "worse", log.take(), "level=WARN", "left=4m")
	s.start = 12
	c.pass(5 * time.Minute)
	w.look()
	saysAll(t, "lost", log.take(), "level=ERROR", "have left the topic", "in-0 from 10 to 11 (2)")
	w.committed(at(70, t0), t0)
	w.look()
	saysAll(t, "eased", log.take(), "level=INFO", "enough time is left again")
	if gauge("lossWindowAlarm") != 0 {
		t.Error("the alarm stays")
	}

	s.err = errors.New("the broker is away")
	for range 3 {
		w.look()
	}
	if text := log.take(); strings.Count(text, "the broker is away") != 1 {
		t.Errorf("%q", text)
	}
	c.pass(30 * time.Minute)
	if v := gauge("lossWindowSeconds"); v != 1740 {
		t.Errorf("while nothing is known the time runs on: %v s", v)
	}
	s.err = nil
	w.look()
	s.err = errors.New("away again")
	w.look()
	saysAll(t, "another outage", log.take(), "away again")
}

// TestWindowsOfFiles: what is not visible is as old as the newest visible checkpoint's barrier at most.
func TestWindowsOfFiles(t *testing.T) {
	c := &clock{now: t0}
	j, log, gauge := newGuarded(t, &topic{clock: c}, 2*time.Hour)
	w := j.windows
	w.restored(at(1000, t0.Add(-100*time.Minute), "/lake/_DUMP_TEMPORARY/a"))
	w.look()
	saysAll(t, "promised", log.take(), "level=WARN", "files are about to be removed", "table lake", "left=20m", "/lake/_DUMP_TEMPORARY/a", "temporary-ttl = 2h")
	if gauge("temporaryWindowSeconds") != 1200 || gauge("temporaryWindowAlarm") != 1 {
		t.Error(gauge("temporaryWindowSeconds"), gauge("temporaryWindowAlarm"))
	}
	w.begun([]*source{{Source: &j.spec.Graph.Sources[0], known: []connector.Split{{ID: "in-0", Position: 1000}}}})
	w.look()
	saysAll(t, "promises are kept", log.take(), "level=INFO", "enough time is left again")
	w.prepared(&dataflow.Snapshot{Tables: map[string]*dataflow.TableSnapshot{"/lake": {Committables: []connector.Committable{{File: &account.File{Pending: "/lake/b"}}}}}})
	w.prepared(&dataflow.Snapshot{Tables: map[string]*dataflow.TableSnapshot{"/lake": {Committables: []connector.Committable{{File: &account.File{Pending: "/lake/c"}}}}}})
	c.pass(100 * time.Minute)
	w.look()
	saysAll(t, "no checkpoint for long", log.take(), "level=WARN", "/lake/b is removed in 20m at the earliest")
	w.committed(at(1000, c.Now()), c.Now().Add(-time.Minute))
	w.look()
	saysAll(t, "committed", log.take(), "level=INFO", "left=\"1h 59m\"")
}

// TestWindowsStop: the end of the job does not wait for a broker's answer.
func TestWindowsStop(t *testing.T) {
	c := &clock{now: t0}
	s := &topic{clock: c, asked: make(chan []connector.Split, 1), hold: make(chan struct{})}
	j, log, _ := newGuarded(t, s, 0)
	stop := j.windows.start()
	j.windows.from(at(10, t0)) // the first positions are looked at at once
	if got := <-s.asked; len(got) != 1 || got[0].Position != 10 {
		t.Errorf("%+v", got)
	}
	stop()
	c.Join()
	saysAll(t, "the end", log.take())
}

// TestWindowsOff: nothing is watched where nothing leaves, or nobody wants to know.
func TestWindowsOff(t *testing.T) {
	c := &clock{now: t0}
	j, _, _ := newGuarded(t, &topic{clock: c}, 0)
	j.spec.Guard.Interval = 0
	off := newWindows(j)
	j.spec.Guard.Interval, j.spec.Graph.Sources[0].Source = time.Minute, struct{ connector.Source }{}
	if none := newWindows(j); off != nil || none != nil {
		t.Error("it is watched")
	}
	off.from(at(1, t0))
	off.restored(at(1, t0))
	off.begun(nil)
	off.prepared(nil)
	off.committed(at(1, t0), t0)
	off.start()()
}

// TestCountGone: the error of one partition gets the count of all, from the newest checkpoint on.
func TestCountGone(t *testing.T) {
	c := &clock{now: t0}
	s := &topic{clock: c, start: 40}
	j, log, _ := newGuarded(t, s, 0)
	j.store = checkpoint.Open(c, mem.New().Client("a"), "/log", checkpoint.Variant{}, j.log)
	j.starts["src"] = checkpoint.Source{Splits: []connector.Split{{ID: "in-0", Position: 10}, {ID: "in-1", Position: 50}, {ID: "in-2", Position: 39}}}
	one := error(fault.New(fault.Lost, "table src: %w", &connector.ExpiredError{Split: "in-0", From: 20, To: 40, Err: errors.New("20 are lost")}))
	err := j.countGone(one)
	saysAll(t, "the error", err.Error(), "20 are lost", "31 offsets that no completed checkpoint has are gone: in-0 from 10 to 39 (30), in-2 from 39 to 39 (1)")
	if fault.ClassOf(err) != fault.Lost || !errors.Is(err, one) {
		t.Errorf("%v", err)
	}
	if other := errors.New("something else"); j.countGone(other) != other {
		t.Error("another error is counted")
	}
	s.start = 0
	if j.countGone(one) != one {
		t.Error("nothing is gone, and it is counted")
	}
	s.err = errors.New("no broker")
	if j.countGone(one) != one {
		t.Error("it counts without an answer")
	}
	saysAll(t, "no answer", log.take(), "no broker")
}
