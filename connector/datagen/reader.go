package datagen

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/metric"
)

// batchRows is the most rows of a batch; tick how often rows are made at the most.
const (
	batchRows = 4096
	tick      = 10 * time.Millisecond
)

// splitState is connector.Split.State.
type splitState struct {
	Seed uint64 `json:"seed,string"`
	// Index of Of splits.
	Index int64 `json:"index"`
	Of    int64 `json:"of"`
	// Base is the time of row 0 in milliseconds since 1970.
	Base int64 `json:"base"`
}

// enumerator implements connector.Enumerator.
type enumerator struct{ ctx connector.Context }

// Enumerate implements connector.Source.
func (s *source) Enumerate(ctx connector.Context, _ []byte) (connector.Enumerator, error) {
	return &enumerator{ctx: ctx}, nil
}

// Discover implements connector.Enumerator: at a fresh start one split a subtask.
func (e *enumerator) Discover(known []connector.Split) ([]connector.Split, error) {
	if len(known) > 0 {
		return nil, nil
	}
	var seed [8]byte
	e.ctx.Env.Rand(seed[:])
	n := max(1, e.ctx.Parallelism)
	out := make([]connector.Split, n)
	for i := range out {
		state, err := json.Marshal(splitState{Seed: binary.LittleEndian.Uint64(seed[:]), Index: int64(i), Of: int64(n), Base: e.ctx.Env.Now().UnixMilli()})
		if err != nil {
			return nil, err
		}
		out[i] = connector.Split{ID: fmt.Sprintf("datagen-%d", i), State: state}
	}
	return out, nil
}

// Interval implements connector.Enumerator.
func (e *enumerator) Interval() time.Duration { return 0 }

// Assign implements connector.Enumerator.
func (e *enumerator) Assign(s connector.Split, n int) int {
	var st splitState
	if json.Unmarshal(s.State, &st) != nil || st.Index < 0 {
		return 0
	}
	return int(st.Index % int64(n))
}

// Snapshot implements connector.Enumerator.
func (e *enumerator) Snapshot() ([]byte, error) { return []byte(`{}`), nil }

// Committed implements connector.Enumerator.
func (e *enumerator) Committed([]connector.Split) error { return nil }

// Close implements connector.Enumerator.
func (e *enumerator) Close() error { return nil }

// split is one split being read.
type split struct {
	connector.Split
	origin
	// from is the position at the last snapshot, limit the number of rows.
	from, limit int64
	// begun and first are when and where this reader began it: what is due since then is counted from there.
	begun time.Time
	first int64
}

// reader implements connector.Reader.
type reader struct {
	ctx connector.Context
	src *source
	// fields are the generators of src.wanted: copies, because each has a buffer, and subtasks run side by side.
	fields []*field
	splits []*split
	// turn is the split to look at first.
	turn      int
	pacer     *pacer
	recordsIn *metric.Counter
}

// NewReader implements connector.Source.
func (s *source) NewReader(ctx connector.Context, splits []connector.Split) (connector.Reader, error) {
	r := &reader{ctx: ctx, src: s, fields: s.ownFields(), recordsIn: ctx.Metrics.Counter("numRecordsIn")}
	if err := r.AddSplits(splits); err != nil {
		return nil, err
	}
	r.pacer = newPacer(ctx)
	return r, nil
}

// ownFields are the generators of the wanted columns, one set a reader.
func (s *source) ownFields() (out []*field) {
	for _, column := range s.wanted {
		f := *s.fields[column]
		f.scratch = nil
		out = append(out, &f)
	}
	return out
}

// AddSplits implements connector.Reader.
func (r *reader) AddSplits(splits []connector.Split) error {
	for _, s := range splits {
		var st splitState
		if err := json.Unmarshal(s.State, &st); err != nil || st.Of < 1 || st.Index < 0 || st.Index >= st.Of || s.Position < 0 {
			return fault.New(fault.Damage, "state of split '%s' at %d cannot be read: %s", s.ID, s.Position, s.State)
		}
		r.splits = append(r.splits, &split{Split: s, from: s.Position, first: s.Position, begun: r.ctx.Env.Now(), limit: r.src.limit(st.Index, st.Of),
			origin: origin{seed: st.Seed, index: st.Index, n: st.Of, baseMillis: st.Base, nanosPerRow: 1e9 * float64(st.Of) / float64(r.src.perSecond)}})
	}
	return nil
}

// due is the row behind the last one that is due at now. The first is due at once.
func (s *split) due(now time.Time) int64 {
	rows := float64(now.Sub(s.begun)) / s.nanosPerRow
	if rows >= math.MaxInt64/2 {
		return s.limit
	}
	return min(s.limit, s.first+1+int64(rows))
}

// at is when row is due.
func (s *split) at(row int64) time.Time {
	return s.begun.Add(time.Duration(float64(row-s.first) * s.nanosPerRow))
}

// Poll implements connector.Reader.
func (r *reader) Poll(b *changelog.Batch) (connector.Status, error) {
	b.Reset()
	now := r.ctx.Env.Now()
	var next time.Time
	open := false
	for range r.splits {
		i := r.turn
		s := r.splits[i]
		r.turn = (r.turn + 1) % len(r.splits)
		if s.Position >= s.limit {
			continue
		}
		open = true
		if to := min(s.due(now), s.Position+batchRows); to > s.Position {
			r.make(b, s, to)
			b.Split = i
			return connector.More, nil
		}
		if at := s.at(s.Position); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if !open && r.src.Bounded() {
		return connector.Ended, nil
	}
	if open {
		if soonest := now.Add(tick); next.Before(soonest) {
			next = soonest
		}
		r.pacer.wakeAt(next)
	}
	return connector.Waiting, nil
}

// make appends the rows of s up to, not including, row to.
func (r *reader) make(b *changelog.Batch, s *split, to int64) {
	for i, f := range r.fields {
		f.append(b.Cols[i], &s.origin, s.Position, to)
	}
	for row := s.Position; row < to; row++ {
		b.Offsets = append(b.Offsets, row)
	}
	b.Rows = int(to - s.Position)
	r.recordsIn.Add(int64(b.Rows))
	s.Position = to
}

// Splits implements connector.Reader.
func (r *reader) Splits() []connector.Split {
	out := make([]connector.Split, len(r.splits))
	for i, s := range r.splits {
		out[i] = s.Split
	}
	return out
}

// Snapshot implements connector.Reader.
func (r *reader) Snapshot() ([]connector.Split, []account.Range, error) {
	ranges := make([]account.Range, len(r.splits))
	for i, s := range r.splits {
		ranges[i] = account.Range{Split: s.ID, From: s.from, To: s.Position, Origin: string(s.State)}
		s.from = s.Position
	}
	return r.Splits(), ranges, nil
}

// Lag implements connector.Reader: the rows that are due.
func (r *reader) Lag() (n int64) {
	now := r.ctx.Env.Now()
	for _, s := range r.splits {
		n += max(0, s.due(now)-s.Position)
	}
	return n
}

// Close implements connector.Reader.
func (r *reader) Close() error {
	if r.pacer != nil {
		r.pacer.close()
	}
	return nil
}

// pacer wakes the subtask at a time.
type pacer struct {
	ctx    connector.Context
	signal env.Signal
	mu     sync.Mutex
	at     time.Time
	closed bool
}

func newPacer(ctx connector.Context) *pacer {
	p := &pacer{ctx: ctx, signal: ctx.Env.NewSignal()}
	ctx.Env.Go("datagen pacer", p.run)
	return p
}

func (p *pacer) wakeAt(t time.Time) {
	p.mu.Lock()
	p.at = t
	p.mu.Unlock()
	p.signal.Notify()
}

func (p *pacer) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.signal.Notify()
}

func (p *pacer) run() {
	for {
		wait := time.Duration(-1)
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return
		}
		if !p.at.IsZero() {
			if wait = p.at.Sub(p.ctx.Env.Now()); wait <= 0 {
				p.at, wait = time.Time{}, -1
				p.ctx.Wake()
			}
		}
		p.mu.Unlock()
		p.signal.Wait(wait)
	}
}
