package job

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"staunch/checkpoint"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/env"
	"staunch/fault"
	"staunch/guard"
)

// GuardOptions say how the loss window is watched.
type GuardOptions struct {
	// Interval between two looks; 0: none are taken.
	Interval time.Duration
	// Alarm is the part of what is kept below which an alarm is raised, 0 to 1.
	Alarm float64
}

// windows watches how much time is left until something that no completed checkpoint has leaves its source, or a file that is not visible its
// table. It runs beside the attempts, since the time runs on while the job waits between them. Nothing here decides anything of the job. A nil
// one does nothing.
type windows struct {
	j       *Job
	sources []watched
	ttl     map[string]time.Duration // of tables, by key
	alarms  guard.Alarms
	said    map[string]bool // that it was said to be unknown, by key
	signal  env.Signal
	ended   env.Signal

	mu sync.Mutex
	// at is where each source is read on if the job dies now.
	at map[string][]connector.Split
	// Everything that is not visible yet was written behind since; files are the oldest ones with a name, by table.
	since time.Time
	files map[string]string
	// now are the windows of the last look, by key.
	now  map[string]shownWindow
	over bool
}

// shownWindow is what the metrics show.
type shownWindow struct {
	guard.Window
	alarm bool
}

// watched is a source whose records leave by themselves.
type watched struct {
	*dataflow.Source
	expiring connector.Expiring
	expiry   connector.Expiry
	watch    guard.Watch
}

// newWindows gives nil if nothing of the job leaves by itself, or no look is wanted.
func newWindows(j *Job) *windows {
	w := &windows{j: j, ttl: map[string]time.Duration{}, alarms: guard.Alarms{Part: j.spec.Guard.Alarm}, said: map[string]bool{}, at: map[string][]connector.Split{},
		files: map[string]string{}, now: map[string]shownWindow{}}
	for i := range j.spec.Graph.Sources {
		s := &j.spec.Graph.Sources[i]
		if e, ok := s.Source.(connector.Expiring); ok {
			w.sources = append(w.sources, watched{Source: s, expiring: e, watch: guard.Watch{Table: s.Name}})
		}
	}
	for key, t := range j.spec.Tables {
		if p, ok := t.Sink.(connector.Perishable); ok && p.TemporaryTTL() > 0 {
			w.ttl[key] = p.TemporaryTTL()
		}
	}
	if j.spec.Guard.Interval <= 0 || len(w.sources)+len(w.ttl) == 0 {
		return nil
	}
	w.signal, w.ended = j.env.NewSignal(), j.env.NewSignal()
	return w
}

// start begins to look, and gives what ends it and waits for the end.
func (w *windows) start() (stop func()) {
	if w == nil {
		return func() {}
	}
	w.j.env.Go("loss window", func() {
		defer w.ended.Notify()
		for !w.isOver() {
			w.look()
			w.signal.Wait(w.j.spec.Guard.Interval)
		}
	})
	return func() {
		w.mu.Lock()
		w.over = true
		for i := range w.sources { // ends a question that waits for an answer
			w.closeOne(&w.sources[i])
		}
		w.mu.Unlock()
		w.signal.Notify()
		w.ended.Wait(-1)
	}
}

func (w *windows) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// closeOne ends the way to a source. REQUIRES: mu.
func (w *windows) closeOne(s *watched) {
	if s.expiry == nil {
		return
	}
	if err := s.expiry.Close(); err != nil {
		w.j.log.Warn("closing what watches a source", "source", s.Describe, "error", err)
	}
	s.expiry = nil
}

// from notes the checkpoint that the job will go on from, if it can begin.
func (w *windows) from(r *checkpoint.Restored) {
	if w == nil || r == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.positions(r)
}

// restored notes a checkpoint whose promises are about to be carried out.
func (w *windows) restored(r *checkpoint.Restored) {
	if w == nil || r == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.positions(r)
	w.since = r.Triggered
	clear(w.files)
	for key, t := range r.Tables {
		if len(t.Files) > 0 {
			w.files[key] = t.Files[0].Pending
		}
	}
}

// positions takes the sources' positions of a checkpoint. REQUIRES: mu.
func (w *windows) positions(r *checkpoint.Restored) {
	for name, s := range r.Sources {
		w.position(name, s.Splits)
	}
}

// position takes a source's positions; the first ones are looked at at once. REQUIRES: mu.
func (w *windows) position(name string, splits []connector.Split) {
	if len(w.at[name]) == 0 {
		w.signal.Notify()
	}
	w.at[name] = splits
}

// begun notes that an attempt begins to read: all that was promised is visible.
func (w *windows) begun(sources []*source) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range sources {
		w.position(s.Name, slices.Clone(s.known))
	}
	w.since = w.j.env.Now()
	clear(w.files)
}

// prepared notes what a subtask handed over.
func (w *windows) prepared(s *dataflow.Snapshot) {
	if w == nil || s == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, t := range s.Tables {
		for _, c := range t.Committables {
			if c.File != nil && w.files[key] == "" {
				w.files[key] = c.File.Pending
			}
		}
	}
}

// committed notes that a checkpoint, triggered then, is visible.
func (w *windows) committed(r *checkpoint.Restored, triggered time.Time) {
	if w == nil || r == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.positions(r)
	w.since = triggered
	clear(w.files)
}

// look asks all sources once and tells what changed.
func (w *windows) look() {
	for i := range w.sources {
		s := &w.sources[i]
		answer, err := w.ask(s)
		if w.isOver() {
			return
		}
		now := w.j.env.Now()
		if err != nil {
			w.unknown("\x00"+s.Name, s.Describe, err.Error())
			continue
		}
		delete(w.said, "\x00"+s.Name)
		for _, x := range s.watch.Add(now, answer) {
			w.tell(x, s.Describe, now)
		}
	}
	w.lookAtFiles()
}

// ask asks one source; no splits are known before its first discovery.
func (w *windows) ask(s *watched) ([]connector.Retention, error) {
	w.mu.Lock()
	splits := slices.Clone(w.at[s.Name])
	e := s.expiry
	w.mu.Unlock()
	if len(splits) == 0 {
		return nil, nil
	}
	if e == nil {
		var err error
		if e, err = s.expiring.Expiry(w.j.sourceContext()); err != nil {
			return nil, err
		}
		w.mu.Lock()
		s.expiry = e
		if w.over {
			w.closeOne(s)
		}
		w.mu.Unlock()
	}
	return e.Look(splits)
}

// sourceContext is for asking a source beside its readers.
func (j *Job) sourceContext() connector.Context {
	return connector.Context{Env: j.env, Log: j.log, Job: j.spec.ID, Parallelism: j.spec.Graph.Parallelism, Wake: func() {}}
}

// lookAtFiles looks at the tables whose files somebody else removes.
func (w *windows) lookAtFiles() {
	now := w.j.env.Now()
	for key, ttl := range w.ttl {
		w.mu.Lock()
		since, file := w.since, w.files[key]
		w.mu.Unlock()
		if !since.IsZero() {
			w.tell(guard.OfFiles(w.j.spec.Tables[key].Name, file, since, ttl), "table "+w.j.spec.Tables[key].Name, now)
		}
	}
}

// tell keeps a window for the metrics, and says in the log what is new about it.
func (w *windows) tell(x guard.Window, what string, now time.Time) {
	key := x.Key()
	if x.Unknown != "" {
		w.unknown(key, what, x.Unknown)
	} else {
		delete(w.said, key)
	}
	change := w.alarms.Step(&x, now)
	w.mu.Lock()
	_, known := w.now[key]
	w.now[key] = shownWindow{x, w.alarms.On(key)}
	w.mu.Unlock()
	if !known {
		w.register(key, x)
	}
	args := []any{"job", w.j.spec.ID, "of", what, "left", guard.Span(x.Left(now)), "kept", guard.Span(x.Keeps), "what", x.Text(now)}
	switch {
	case change == guard.Same:
	case change == guard.Eased:
		w.j.log.Info("loss window: enough time is left again", args...)
	case len(x.Gone) > 0 && !x.Stops():
		w.j.log.Warn("loss window: offsets that are not committed have left the topic; what was not read yet is skipped and counted", args...)
	case len(x.Gone) > 0:
		w.j.log.Error("loss window: offsets that are not committed have left the topic; the newest checkpoint cannot be gone on from any more", args...)
	case x.Kind == guard.Files:
		w.j.log.Warn("loss window: files are about to be removed before they are visible; see what holds the checkpoints back", args...)
	default:
		w.j.log.Warn("loss window: offsets are about to leave the topic before they are committed; see what holds the job back, or lengthen the retention", args...)
	}
}

// unknown says once what cannot be found out.
func (w *windows) unknown(key, what, why string) {
	if w.said[key] {
		return
	}
	w.said[key] = true
	w.j.log.Warn("the loss window is not known in full; nothing depends on it", "job", w.j.spec.ID, "of", what, "error", why)
}

// register makes the metrics of a window.
func (w *windows) register(key string, x guard.Window) {
	g, name := w.j.metrics.With("table", x.Table, "topic", x.Topic), "lossWindow"
	if x.Kind == guard.Files {
		g, name = w.j.metrics.With("table", x.Table), "temporaryWindow"
	}
	now := func() shownWindow {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now[key]
	}
	g.Gauge(name+"Seconds", func() float64 {
		x := now()
		switch left := x.Left(w.j.env.Now()); {
		case x.Blind || x.Never() && x.Unknown != "":
			return math.NaN()
		case left == math.MaxInt64:
			return math.Inf(1)
		default:
			return left.Seconds()
		}
	})
	g.Gauge(name+"Alarm", func() float64 {
		if now().alarm {
			return 1
		}
		return 0
	})
}

// countGone adds to the error of a reader whose offsets are gone what is lost in all: of every partition, from the position of the newest
// checkpoint on. The reader knows one partition, and the job gives up what it has read since.
func (j *Job) countGone(err error) error {
	var e *connector.ExpiredError
	if !errors.As(err, &e) {
		return err
	}
	var gone []guard.Gone
	for i := range j.spec.Graph.Sources {
		s := &j.spec.Graph.Sources[i]
		x, ok := s.Source.(connector.Expiring)
		if !ok {
			continue
		}
		found, xerr := j.goneFrom(s, x)
		if xerr != nil {
			j.log.Warn("could not count what is gone in all", "job", j.spec.ID, "source", s.Describe, "error", xerr)
		}
		gone = append(gone, found...)
	}
	if len(gone) == 0 {
		return err
	}
	return fault.New(fault.Lost, "%w", err).WithHint("%s", guard.GoneText(gone))
}

// goneFrom asks a source for what it does not have any more of what no completed checkpoint has.
func (j *Job) goneFrom(s *dataflow.Source, x connector.Expiring) (gone []guard.Gone, err error) {
	splits := j.starts[s.Name].Splits
	if newest := j.store.Newest(); newest != nil {
		if st, ok := newest.Sources[s.Name]; ok {
			splits = st.Splits
		}
	}
	expiry, err := x.Expiry(j.sourceContext())
	if err != nil {
		return nil, err
	}
	look, err := expiry.Look(splits)
	watch := guard.Watch{Table: s.Name}
	for _, w := range watch.Add(j.env.Now(), look) {
		gone = append(gone, w.Gone...)
	}
	return gone, errors.Join(err, expiry.Close())
}
