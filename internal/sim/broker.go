package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/types"
)

// broker is a topic whose records the oracle knows: record o of partition p appears at a time of its own, and its kind is a function of p and o.
type broker struct {
	topic      string
	s          *sched
	partitions int
	records    int64
	every      time.Duration
	began      time.Time
	latest     bool // reading starts at what is there when it is first asked for
	// appear is when each partition is added, after the beginning; nil: all are there. interval is how often a job looks.
	appear   []time.Duration
	interval time.Duration
	assigned bool // a variant: what was once found counts as assigned for ever

	// A scripted topic has one partition that holds what a test produces, and ends once it is closed.
	scripted bool
	script   []scriptedRecord
	closed   bool
	read     int64  // the position of the newest reader
	polled   func() // called before each Poll, if not nil
	group    int64  // the position that the group committed
}

// scriptedRecord is a record that a test produced.
type scriptedRecord struct {
	kind kind
	dt   string
	at   int64 // event time, milliseconds
}

// produce appends records to a scripted topic.
func (b *broker) produce(rs ...scriptedRecord) {
	b.script = append(b.script, rs...)
	b.records = int64(len(b.script))
}

// kind says what record o of partition p is.
func (b *broker) kind(p int, o int64) kind {
	if b.scripted {
		return b.script[o].kind
	}
	return kindOf(p, o)
}

// dt is the value of the column that the tables are partitioned by.
func (b *broker) dt(p int, o int64) string {
	if b.scripted {
		return b.script[o].dt
	}
	return fmt.Sprintf("d%d", (o/16+int64(p))%3)
}

type kind uint8

const (
	row kind = iota
	filtered
	rejected
	null
	gap
)

// kindOf says what record o of partition p is.
func kindOf(p int, o int64) kind {
	switch (o*7 + int64(p)*3) % 11 {
	case 1:
		return filtered
	case 3:
		return gap
	case 5:
		if o%2 == 0 {
			return rejected
		}
		return null
	}
	return row
}

var schema = changelog.Schema{
	{Name: "part", Type: types.New(types.Int)},
	{Name: "off", Type: types.New(types.BigInt)},
	{Name: "dt", Type: types.String_},
}

// available is the number of records of partition p that are there now.
func (b *broker) available(p int) int64 {
	if b.scripted {
		return b.records
	}
	return max(0, min(int64(b.s.now.Sub(b.began.Add(b.since(p)))/b.every), b.records))
}

// since is when partition p was added.
func (b *broker) since(p int) time.Duration {
	if b.appear == nil {
		return 0
	}
	return b.appear[p]
}

func (b *broker) Bounded() bool    { return true }
func (b *broker) Replayable() bool { return true }

func (b *broker) Enumerate(_ connector.Context, state []byte) (connector.Enumerator, error) {
	e := &enumerator{b: b}
	if b.assigned && state != nil {
		return e, json.Unmarshal(state, &e.found)
	}
	return e, nil
}

type enumerator struct {
	b     *broker
	found []string // if assigned
}

func (e *enumerator) Discover(known []connector.Split) ([]connector.Split, error) {
	have := map[string]bool{}
	for _, s := range known {
		have[s.ID] = true
	}
	for _, id := range e.found {
		have[id] = true
	}
	var out []connector.Split
	for p := range e.b.partitions {
		if id := fmt.Sprintf("%s-%d", e.b.topic, p); !have[id] && e.b.s.now.Sub(e.b.began) >= e.b.since(p) {
			state, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			at := int64(0)
			if e.b.latest {
				at = e.b.available(p)
			}
			if e.b.assigned {
				e.found = append(e.found, id)
			}
			out = append(out, connector.Split{ID: id, Position: at, State: state})
		}
	}
	return out, nil
}

func (e *enumerator) Interval() time.Duration { return e.b.interval }

func (e *enumerator) Assign(s connector.Split, n int) int { return int(s.ID[len(s.ID)-1]-'0') % n }

func (e *enumerator) Snapshot() ([]byte, error) {
	if e.b.assigned {
		return json.Marshal(e.found)
	}
	return nil, nil
}

func (e *enumerator) Close() error { return nil }

func (e *enumerator) Committed(splits []connector.Split) error {
	for _, s := range splits {
		e.b.group = s.Position
	}
	return nil
}

func (b *broker) NewReader(ctx connector.Context, splits []connector.Split) (connector.Reader, error) {
	r := &reader{b: b, ctx: ctx}
	return r, r.AddSplits(splits)
}

type reader struct {
	b      *broker
	ctx    connector.Context
	splits []connector.Split
	parts  []int
	since  []account.Range
	next   int
}

func (r *reader) Splits() []connector.Split { return r.splits }

func (r *reader) AddSplits(s []connector.Split) error {
	for _, x := range s {
		var p int
		if err := json.Unmarshal(x.State, &p); err != nil {
			return err
		}
		r.splits = append(r.splits, x)
		r.b.read = x.Position
		r.parts = append(r.parts, p)
		r.since = append(r.since, account.Range{Split: x.ID, From: x.Position, To: x.Position})
	}
	return nil
}

// Poll gives a few records of one partition.
func (r *reader) Poll(b *changelog.Batch) (connector.Status, error) {
	if r.b.polled != nil {
		r.b.polled()
	}
	ended := r.whole()
	for range r.splits {
		i := r.next % len(r.splits)
		r.next++
		s, p := &r.splits[i], r.parts[i]
		ended = ended && s.Position >= r.b.records && (!r.b.scripted || r.b.closed)
		n := min(r.b.available(p)-s.Position, int64(1+r.b.s.rng.IntN(8)))
		if n <= 0 {
			continue
		}
		b.Split = i
		for range n {
			o := s.Position
			switch r.b.kind(p, o) {
			case rejected:
				r.since[i].Rejected++
			case null:
				r.since[i].Null++
			case gap:
				r.since[i].Gaps++
			default:
				b.Cols[0].AppendInt32(int32(p))
				b.Cols[1].AppendInt64(o)
				b.Cols[2].AppendString(r.b.dt(p, o))
				b.Offsets = append(b.Offsets, o)
				b.Rows++
			}
			s.Position++
			r.since[i].To = s.Position
		}
		r.b.read = s.Position
		return connector.More, nil
	}
	if ended {
		return connector.Ended, nil
	}
	return connector.Waiting, nil
}

// whole reports whether the reader has every partition that will ever be its own. Before that a bounded topic has not ended.
func (r *reader) whole() bool {
	mine := 0
	for p := range r.b.partitions {
		if p%r.ctx.Parallelism == r.ctx.Subtask {
			mine++
		}
	}
	return r.b.appear == nil || r.b.assigned || len(r.splits) >= mine
}

func (r *reader) Snapshot() ([]connector.Split, []account.Range, error) {
	splits := append([]connector.Split(nil), r.splits...)
	ranges := append([]account.Range(nil), r.since...)
	for i := range r.since {
		r.since[i] = account.Range{Split: r.splits[i].ID, From: r.splits[i].Position, To: r.splits[i].Position}
	}
	return splits, ranges, nil
}

func (r *reader) Lag() int64   { return -1 }
func (r *reader) Close() error { return nil }

// where leaves out the records that an INSERT does not take.
type where struct {
	b     *broker
	out   *changelog.Batch
	takes func(kind) bool
}

func newWhere(b *broker, takes func(kind) bool) *where {
	return &where{b, changelog.NewBatch(schema), takes}
}

func (w *where) Process(in *changelog.Batch) (*changelog.Batch, error) {
	w.out.Reset()
	w.out.Split = in.Split
	for i := range in.Rows {
		if !w.takes(w.b.kind(int(in.Cols[0].I32[i]), in.Offsets[i])) {
			continue
		}
		for k, c := range in.Cols {
			w.out.Cols[k].AppendFrom(c, i)
		}
		w.out.Offsets = append(w.out.Offsets, in.Offsets[i])
		w.out.Rows++
	}
	return w.out, nil
}
