package dataflow

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/metric"
	"staunch/operator"
)

// Events go from a subtask to its job. They are called from the subtask's goroutine or from one that made something durable, and do not block.
type Events interface {
	// Acked: the subtask's part of checkpoint id is durable.
	Acked(t *Subtask, id account.CheckpointID, s *Snapshot)
	// InputEnded: a bounded reader is at its end.
	InputEnded(t *Subtask)
	// Failed: the subtask has stopped.
	Failed(t *Subtask, err error)
	// Broken: the subtask runs on, but nothing that it does counts any more; it is to be cancelled.
	Broken(t *Subtask, err error)
	// Stopped: the subtask was cancelled and has closed its reader and writers.
	Stopped(t *Subtask)
}

// Subtask is one chain of one source.
type Subtask struct {
	Source   *Source
	Index    int
	ctx      connector.Context
	events   Events
	signal   env.Signal
	reader   connector.Reader
	branches []*branch
	batch    *changelog.Batch
	marker   operator.Watermarker
	marks    *watermarks
	budget   int64
	ended    bool // of input; said to the job
	final    bool // the last barrier has passed: nothing more is read
	pending  []prepared
	lastTick time.Time
	records  int64 // since the last snapshot

	mu          sync.Mutex
	mailbox     []message
	syncs       []syncing
	syncRunning bool

	read      atomic.Int64 // rows
	cancelled atomic.Bool
	numOut    *metric.Counter
	watermark atomic.Int64
	lag       atomic.Int64
}

type branch struct {
	*Branch
	op       operator.Operator
	writer   connector.Writer
	filtered []int64 // per split, since the last snapshot
}

// prepared is a snapshot whose checkpoint is not known to be complete.
type prepared struct {
	id account.CheckpointID
	s  *Snapshot
}

type messageKind uint8

const (
	barrier messageKind = iota
	completed
	addSplits
	cancel
)

type message struct {
	kind   messageKind
	id     account.CheckpointID
	final  bool
	splits []connector.Split
}

// NewSubtask opens the reader and writers of one chain. budget bounds the memory of its writers in bytes.
func NewSubtask(src *Source, index int, splits []connector.Split, ctx connector.Context, ev Events, budget int64) (*Subtask, error) {
	t := &Subtask{Source: src, Index: index, events: ev, signal: ctx.Env.NewSignal(), budget: budget,
		batch: changelog.NewBatch(src.Schema), marks: newWatermarks(src.IdleTimeout), lastTick: ctx.Env.Now(),
		numOut: ctx.Metrics.Counter("numRecordsOut")}
	ctx.Wake = t.signal.Notify
	ctx.Stopped = t.cancelled.Load
	t.ctx = ctx
	t.watermark.Store(int64(changelog.MinWatermark))
	var err error
	if src.NewWatermarker != nil {
		if t.marker, err = src.NewWatermarker(); err != nil {
			return nil, err
		}
	}
	if t.reader, err = src.Source.NewReader(ctx, splits); err != nil {
		return nil, fmt.Errorf("%s: %w", src.Describe, err)
	}
	t.marks.grow(len(splits), ctx.Env.Now()) // a split without a record yet holds the watermark back
	for i := range src.Branches {
		b := &branch{Branch: &src.Branches[i]}
		if b.op, err = b.NewOperator(); err == nil {
			b.writer, err = b.Sink.NewWriter(ctx)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("sink %s: %w", b.Table, err), t.close())
		}
		t.branches = append(t.branches, b)
	}
	return t, nil
}

// Name is "<source>-<index>".
func (t *Subtask) Name() string { return fmt.Sprintf("%s-%d", t.Source.Name, t.Index) }

// Watermark is the subtask's current watermark.
func (t *Subtask) Watermark() changelog.Watermark { return changelog.Watermark(t.watermark.Load()) }

// Records is the number of rows read so far.
func (t *Subtask) Records() int64 { return t.read.Load() }

// Lag is the number of records behind, -1 if unknown.
func (t *Subtask) Lag() int64 { return t.lag.Load() }

func (t *Subtask) post(m message) {
	t.mu.Lock()
	t.mailbox = append(t.mailbox, m)
	t.mu.Unlock()
	t.signal.Notify()
}

// Barrier asks for the subtask's part of checkpoint id. Nothing is read behind a final one.
func (t *Subtask) Barrier(id account.CheckpointID, final bool) {
	t.post(message{kind: barrier, id: id, final: final})
}

// Completed says that checkpoint id is complete: its committables are the committer's.
func (t *Subtask) Completed(id account.CheckpointID) { t.post(message{kind: completed, id: id}) }

// AddSplits hands over more splits.
func (t *Subtask) AddSplits(s []connector.Split) { t.post(message{kind: addSplits, splits: s}) }

// Cancel makes the subtask close everything and stop.
func (t *Subtask) Cancel() {
	t.cancelled.Store(true)
	t.post(message{kind: cancel})
}

// Run steps until the subtask stops.
func (t *Subtask) Run() {
	for {
		moved, err := t.Step()
		if errors.Is(err, errStopped) {
			if cerr := t.close(); cerr != nil {
				t.ctx.Log.Warn("closing a cancelled subtask", "subtask", t.Name(), "error", cerr)
			}
			t.events.Stopped(t)
			return
		}
		if err != nil {
			err = errors.Join(err, t.close())
			t.events.Failed(t, err)
			return
		}
		if !moved {
			t.signal.Wait(time.Second)
		}
	}
}

var errStopped = errors.New("stopped")

func (t *Subtask) close() error {
	var errs []error
	if t.reader != nil {
		errs = append(errs, t.reader.Close())
	}
	for _, b := range t.branches {
		if b.writer != nil {
			errs = append(errs, b.writer.Close())
		}
	}
	return errors.Join(errs...)
}

// Step does one bounded piece of work: all messages, or one batch. moved is false when there is nothing to do until the signal is raised.
func (t *Subtask) Step() (moved bool, err error) {
	t.mu.Lock()
	box := t.mailbox
	t.mailbox = nil
	t.mu.Unlock()
	for _, m := range box {
		if err := t.handle(m); err != nil {
			return true, err
		}
	}
	now := t.ctx.Env.Now()
	if now.Sub(t.lastTick) >= time.Second {
		t.lastTick = now
		if err := t.tick(now); err != nil {
			return true, err
		}
	}
	if t.final {
		return len(box) > 0, nil
	}
	more, err := t.poll(now)
	return more || len(box) > 0, err
}

func (t *Subtask) handle(m message) error {
	switch m.kind {
	case cancel:
		return errStopped
	case addSplits:
		if err := t.reader.AddSplits(m.splits); err != nil {
			return fmt.Errorf("%s: %w", t.Source.Describe, err)
		}
		t.marks.grow(len(t.reader.Splits()), t.ctx.Env.Now())
	case completed:
		n := 0
		for _, p := range t.pending {
			if p.id > m.id {
				t.pending[n] = p
				n++
			}
		}
		t.pending = t.pending[:n]
	case barrier:
		t.final = t.final || m.final
		return t.snapshot(m.id)
	}
	return nil
}

func (t *Subtask) tick(now time.Time) error {
	for _, b := range t.branches {
		if err := b.writer.Tick(now); err != nil {
			return fmt.Errorf("sink %s: %w", b.Table, err)
		}
	}
	t.lag.Store(t.reader.Lag())
	w, _ := t.marks.combine(now)
	t.watermark.Store(int64(w))
	return nil
}

func (t *Subtask) poll(now time.Time) (bool, error) {
	t.batch.Reset()
	status, err := t.reader.Poll(t.batch)
	if err != nil {
		return true, fmt.Errorf("%s: %w", t.Source.Describe, err)
	}
	if t.batch.Rows > 0 {
		if err := t.process(t.batch, now); err != nil {
			return true, err
		}
	}
	if status == connector.Ended && !t.ended {
		t.ended = true
		t.marks.end()
		t.watermark.Store(int64(changelog.MaxWatermark))
		t.events.InputEnded(t)
	}
	return status == connector.More || t.batch.Rows > 0, nil
}

func (t *Subtask) process(in *changelog.Batch, now time.Time) error {
	t.read.Add(int64(in.Rows))
	t.records += int64(in.Rows)
	splits := t.reader.Splits()
	t.marks.grow(len(splits), now)
	if t.marker != nil {
		w, ok, err := t.marker.Max(in)
		if err != nil {
			return t.rowError(err, in, splits, "WATERMARK")
		}
		t.marks.saw(in.Split, w, ok, now)
	}
	for _, b := range t.branches {
		out, err := b.op.Process(in)
		if err != nil {
			return t.rowError(err, in, splits, b.Insert)
		}
		if gone := in.Rows - out.Rows; gone > 0 && in.Split >= 0 {
			for len(b.filtered) <= in.Split {
				b.filtered = append(b.filtered, 0)
			}
			b.filtered[in.Split] += int64(gone)
		}
		if out.Rows == 0 {
			continue
		}
		t.numOut.Add(int64(out.Rows))
		if err := b.writer.Write(out, splits); err != nil {
			return fmt.Errorf("sink %s: %w", b.Table, err)
		}
	}
	return t.reduce()
}

// rowError names the source record of a row that could not be processed. A restart meets it again, so it ends the job.
func (t *Subtask) rowError(err error, in *changelog.Batch, splits []connector.Split, where string) error {
	var r *operator.RowError
	if !errors.As(err, &r) {
		return fmt.Errorf("%s: %w", where, err)
	}
	at := ""
	if in.Split >= 0 && in.Split < len(splits) && r.Row < len(in.Offsets) {
		at = fmt.Sprintf(" at %s offset %d", splits[in.Split].ID, in.Offsets[r.Row])
	}
	return fault.Userf("%s: record of %s%s: %w", where, t.Source.Name, at, r.Err)
}

// reduce keeps the writers' memory under the budget by ending the largest open files (P9).
func (t *Subtask) reduce() error {
	for {
		total := int64(0)
		for _, b := range t.branches {
			total += b.writer.SizeBytes()
		}
		if t.budget <= 0 || total <= t.budget {
			return nil
		}
		var largest *branch
		for _, b := range t.branches {
			if _, ok := b.writer.(connector.Flusher); ok && (largest == nil || b.writer.SizeBytes() > largest.writer.SizeBytes()) {
				largest = b
			}
		}
		if largest == nil {
			return nil
		}
		did, err := largest.writer.(connector.Flusher).FlushLargest()
		if err != nil {
			return fmt.Errorf("sink %s: %w", largest.Table, err)
		}
		if !did {
			return nil
		}
	}
}

// snapshot is the synchronous part of a checkpoint; what must become durable goes on beside.
func (t *Subtask) snapshot(id account.CheckpointID) error {
	splits, ranges, err := t.reader.Snapshot()
	if err != nil {
		return fmt.Errorf("%s: snapshot: %w", t.Source.Describe, err)
	}
	now := t.ctx.Env.Now()
	s := &Snapshot{Splits: splits, Tables: map[string]*TableSnapshot{}, Records: t.records}
	s.Watermark, s.Idle = t.marks.combine(now)
	if t.ended {
		s.Watermark, s.Idle = changelog.MaxWatermark, false
	}
	t.records = 0
	var durables []func() error
	index := map[string]int{}
	for i, sp := range t.reader.Splits() {
		index[sp.ID] = i
	}
	for _, b := range t.branches {
		out, durable, err := b.writer.Prepare(id)
		if err != nil {
			return fmt.Errorf("sink %s: prepare checkpoint %d: %w", b.Table, id, err)
		}
		if durable != nil {
			durables = append(durables, durable)
		}
		ts := s.Tables[b.Table]
		if ts == nil {
			ts = &TableSnapshot{}
			s.Tables[b.Table] = ts
		}
		for _, c := range out {
			if c.File != nil {
				c.File.Insert = b.Insert
			}
			ts.Committables = append(ts.Committables, c)
		}
		for _, r := range ranges {
			r.Insert = b.Insert
			if i, ok := index[r.Split]; ok && i < len(b.filtered) {
				r.Filtered = b.filtered[i]
			}
			ts.Ranges = append(ts.Ranges, r)
		}
		clear(b.filtered)
	}
	if len(t.pending) > 0 {
		if err := s.merge(t.pending[len(t.pending)-1].s); err != nil {
			return err
		}
		t.pending = t.pending[:0]
	}
	t.pending = append(t.pending, prepared{id, s})
	t.makeDurable(syncing{id, s, durables})
	return nil
}

// syncing is a snapshot whose files are not durable yet.
type syncing struct {
	id       account.CheckpointID
	s        *Snapshot
	durables []func() error
}

// makeDurable acknowledges a snapshot when it is durable. One activity takes them in order, because a snapshot contains those before it whose
// checkpoints were given up (C2).
func (t *Subtask) makeDurable(w syncing) {
	t.mu.Lock()
	t.syncs = append(t.syncs, w)
	running := t.syncRunning
	t.syncRunning = true
	t.mu.Unlock()
	if running {
		return
	}
	t.ctx.Env.Go("durable "+t.Name(), func() {
		for {
			t.mu.Lock()
			if len(t.syncs) == 0 {
				t.syncRunning = false
				t.mu.Unlock()
				return
			}
			w := t.syncs[0]
			t.syncs = t.syncs[1:]
			t.mu.Unlock()
			for _, d := range w.durables {
				if err := d(); err != nil {
					// What could not be made durable must not be acknowledged by a later checkpoint either: the chain starts over, and
					// syncRunning stays set so that nothing more is acknowledged.
					t.events.Broken(t, fmt.Errorf("checkpoint %d of %s: %w", w.id, t.Name(), err))
					return
				}
			}
			t.ack(w.id, w.s)
		}
	})
}

func (t *Subtask) ack(id account.CheckpointID, s *Snapshot) {
	failpoint.Hit(failpoint.PrepareDurable)
	t.events.Acked(t, id, s)
}
