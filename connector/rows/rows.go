package rows

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/types"
)

// Row has a value a column of the table, in their order: nil, string, bool, int64, int (BIGINT and smaller) or time.Time (timestamps).
type Row []any

// errEnough ends the computing of rows that nobody reads any more.
var errEnough = errors.New("the reader is closed")

// Read computes the rows of a table and gives each to yield, whose error ends it and is returned. It may keep nothing of a row.
type Read func(yield func(Row) error) error

// New makes a source. all are the columns of the rows, wanted those that are asked for.
func New(all, wanted []connector.Column, read Read) (connector.Source, error) {
	s := &source{read: read}
	for _, w := range wanted {
		at := -1
		for i, c := range all {
			if c.Name == w.Name {
				at = i
			}
		}
		if at < 0 {
			return nil, fault.New(fault.Bug, "column %s is none of the table's", w.Name)
		}
		s.columns = append(s.columns, at)
	}
	return s, nil
}

// source implements connector.Source.
type source struct {
	read    Read
	columns []int
}

// Bounded implements connector.Source.
func (*source) Bounded() bool { return true }

// Replayable implements connector.Source.
func (*source) Replayable() bool { return false }

// Synthetic implements connector.Synthetic.
func (*source) Synthetic() bool { return true }

// Enumerate implements connector.Source.
func (*source) Enumerate(connector.Context, []byte) (connector.Enumerator, error) {
	return enumerator{}, nil
}

// enumerator has one split.
type enumerator struct{}

// Discover implements connector.Enumerator.
func (enumerator) Discover(known []connector.Split) ([]connector.Split, error) {
	if len(known) > 0 {
		return nil, nil
	}
	return []connector.Split{{ID: "rows-0"}}, nil
}

// Interval implements connector.Enumerator.
func (enumerator) Interval() time.Duration { return 0 }

// Assign implements connector.Enumerator.
func (enumerator) Assign(connector.Split, int) int { return 0 }

// Snapshot implements connector.Enumerator.
func (enumerator) Snapshot() ([]byte, error) { return []byte("{}"), nil }

// Committed implements connector.Enumerator.
func (enumerator) Committed([]connector.Split) error { return nil }

// Close implements connector.Enumerator.
func (enumerator) Close() error { return nil }

const (
	// chunk rows are handed over at once, ahead chunks may wait.
	chunk = 256
	ahead = 4
)

// reader implements connector.Reader.
type reader struct {
	ctx    connector.Context
	src    *source
	splits []connector.Split
	from   int64 // position at the last snapshot

	mu     sync.Mutex
	queue  [][]Row
	ended  bool
	closed bool
	err    error
	room   env.Signal
}

// NewReader implements connector.Source.
func (s *source) NewReader(ctx connector.Context, splits []connector.Split) (connector.Reader, error) {
	r := &reader{ctx: ctx, src: s, room: ctx.Env.NewSignal()}
	return r, r.AddSplits(splits)
}

// AddSplits implements connector.Reader.
func (r *reader) AddSplits(splits []connector.Split) error {
	for _, s := range splits {
		if len(r.splits) > 0 {
			return fault.New(fault.Bug, "a second split %s", s.ID)
		}
		r.splits, r.from = append(r.splits, s), s.Position
		skip := s.Position
		r.ctx.Env.Go("rows", func() { r.compute(skip) })
	}
	return nil
}

// compute runs beside the reader.
func (r *reader) compute(skip int64) {
	var rows []Row
	err := r.src.read(func(x Row) error {
		if skip > 0 {
			skip--
			return nil
		}
		mine := make(Row, len(r.src.columns))
		for i, c := range r.src.columns {
			mine[i] = x[c]
		}
		if rows = append(rows, mine); len(rows) < chunk {
			return nil
		}
		out := rows
		rows = nil
		return r.hand(out)
	})
	if err == nil && len(rows) > 0 {
		err = r.hand(rows)
	}
	r.mu.Lock()
	r.ended = true
	if !errors.Is(err, errEnough) {
		r.err = err
	}
	r.mu.Unlock()
	r.ctx.Wake()
}

// hand puts rows into the queue, and waits while it is full.
func (r *reader) hand(rows []Row) error {
	for {
		r.mu.Lock()
		switch {
		case r.closed:
			r.mu.Unlock()
			return errEnough
		case len(r.queue) < ahead:
			r.queue = append(r.queue, rows)
			r.mu.Unlock()
			r.ctx.Wake()
			return nil
		}
		r.mu.Unlock()
		r.room.Wait(-1)
	}
}

// Poll implements connector.Reader.
func (r *reader) Poll(b *changelog.Batch) (connector.Status, error) {
	b.Reset()
	if len(r.splits) == 0 {
		return connector.Ended, nil
	}
	r.mu.Lock()
	if len(r.queue) == 0 {
		defer r.mu.Unlock()
		switch {
		case r.err != nil:
			return 0, r.err
		case r.ended:
			return connector.Ended, nil
		}
		return connector.Waiting, nil
	}
	rows := r.queue[0]
	r.queue = r.queue[1:]
	r.mu.Unlock()
	r.room.Notify()
	b.Split = 0
	for _, x := range rows {
		for i, v := range x {
			if err := appendValue(b.Cols[i], v); err != nil {
				return 0, err
			}
		}
		b.Offsets = append(b.Offsets, r.splits[0].Position)
		b.Rows++
		r.splits[0].Position++
	}
	return connector.More, nil
}

// appendValue adds a value to its column.
func appendValue(c *changelog.Column, v any) error {
	physical := c.Type.Physical()
	switch x := v.(type) {
	case nil:
		c.AppendNull()
		return nil
	case string:
		if physical == types.PhysBytes {
			c.AppendString(x)
			return nil
		}
	case bool:
		if physical == types.PhysBool {
			c.AppendBool(x)
			return nil
		}
	case int:
		return appendValue(c, int64(x))
	case int64:
		switch physical {
		case types.PhysInt64:
			c.AppendInt64(x)
			return nil
		case types.PhysInt32:
			c.AppendInt32(int32(x))
			return nil
		}
	case time.Time:
		if x.IsZero() {
			c.AppendNull()
			return nil
		}
		if c.Type.IsTimestamp() {
			switch c.Type.UnitsPerSecond() {
			case 1_000:
				c.AppendInt64(x.UnixMilli())
			case 1_000_000:
				c.AppendInt64(x.UnixMicro())
			default:
				c.AppendInt64(x.UnixNano())
			}
			return nil
		}
	}
	return fault.New(fault.Bug, "a value %v for a column of type %s", fmt.Sprintf("%T", v), c.Type)
}

// Splits implements connector.Reader.
func (r *reader) Splits() []connector.Split { return r.splits }

// Snapshot implements connector.Reader.
func (r *reader) Snapshot() ([]connector.Split, []account.Range, error) {
	if len(r.splits) == 0 {
		return nil, nil, nil
	}
	to := r.splits[0].Position
	out := []account.Range{{Split: r.splits[0].ID, From: r.from, To: to}}
	r.from = to
	return []connector.Split{r.splits[0]}, out, nil
}

// Lag implements connector.Reader.
func (r *reader) Lag() int64 { return -1 }

// Close implements connector.Reader.
func (r *reader) Close() error {
	r.mu.Lock()
	r.closed, r.queue = true, nil
	r.mu.Unlock()
	r.room.Notify()
	return nil
}
