package connectortest

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
	"staunch/metric"
)

// pollLimit is how long one Poll may take before it counts as blocking. It is generous: a Poll decodes up to a batch of rows on a machine that
// may be busy.
const pollLimit = 4 * time.Second

// Task stands for the subtask that a reader runs in: it waits where the reader says Waiting and checks each answer.
type Task struct {
	t      testing.TB
	Reader connector.Reader
	// Metrics is the registry of the context's metrics.
	Metrics *metric.Registry
	ctx     connector.Context
	signal  env.Signal
	batch   *changelog.Batch
	// Limit is how long one Next may wait.
	Limit time.Duration
}

// NewContext makes the context of the first of two subtasks in the real world, which logs to w.
func NewContext(w io.Writer) (connector.Context, env.Signal, *metric.Registry) {
	e := &env.Real{}
	signal, metrics := e.NewSignal(), metric.NewRegistry()
	ctx := connector.Context{Env: e, Log: slog.New(slog.NewTextHandler(w, nil)), Metrics: metrics.Group(), Job: "test", Parallelism: 2,
		Wake: signal.Notify, NextCheckpoint: func() account.CheckpointID { return 1 }}
	return ctx, signal, metrics
}

// testWriter writes log lines to the test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Helper()
	w.t.Log(string(b))
	return len(b), nil
}

// NewTask opens a reader of src for splits. The test's end closes it.
func NewTask(t testing.TB, src connector.Source, schema changelog.Schema, splits []connector.Split, log io.Writer) *Task {
	t.Helper()
	return NewTaskOf(t, schema, log, func(ctx connector.Context) (connector.Reader, error) { return src.NewReader(ctx, splits) })
}

// NewTaskOf opens a reader by open. The test's end closes it.
func NewTaskOf(t testing.TB, schema changelog.Schema, log io.Writer, open func(connector.Context) (connector.Reader, error)) *Task {
	t.Helper()
	if log == nil {
		log = io.Discard
	}
	ctx, signal, metrics := NewContext(log)
	r, err := open(ctx)
	if err != nil {
		t.Fatalf("open a reader: %v", err)
	}
	k := &Task{t: t, Reader: r, Metrics: metrics, ctx: ctx, signal: signal, batch: changelog.NewBatch(schema), Limit: 30 * time.Second}
	t.Cleanup(k.Close)
	return k
}

// Close closes the reader; it may be called again.
func (k *Task) Close() {
	if k.Reader == nil {
		return
	}
	if err := k.Reader.Close(); err != nil {
		k.t.Errorf("Close: %v", err)
	}
	k.Reader = nil
}

// Poll polls once and checks that it did not block and that the batch is well formed.
func (k *Task) Poll() (*changelog.Batch, connector.Status, error) {
	k.t.Helper()
	begin := time.Now()
	status, err := k.Reader.Poll(k.batch)
	if took := time.Since(begin); took > pollLimit {
		k.t.Fatalf("Poll took %s: it must not block", took)
	}
	if err == nil {
		k.check(k.batch)
	}
	return k.batch, status, err
}

// check checks a batch: columns of equal length, ascending offsets below the split's position.
func (k *Task) check(b *changelog.Batch) {
	k.t.Helper()
	for i, c := range b.Cols {
		if c.N != b.Rows {
			k.t.Fatalf("column %d has %d rows, the batch %d", i, c.N, b.Rows)
		}
	}
	if b.Rows == 0 {
		return
	}
	splits := k.Reader.Splits()
	if b.Split < 0 || b.Split >= len(splits) {
		k.t.Fatalf("batch of split %d, there are %d", b.Split, len(splits))
	}
	if len(b.Offsets) != b.Rows {
		k.t.Fatalf("%d offsets for %d rows", len(b.Offsets), b.Rows)
	}
	for i := 1; i < b.Rows; i++ {
		if b.Offsets[i] <= b.Offsets[i-1] {
			k.t.Fatalf("offset %d follows %d", b.Offsets[i], b.Offsets[i-1])
		}
	}
	if last, at := b.Offsets[b.Rows-1], splits[b.Split].Position; last >= at {
		k.t.Fatalf("position %d of %s is not behind the last row's offset %d", at, splits[b.Split].ID, last)
	}
}

// Next polls until there are rows, the source has ended, or an error; it waits for Wake in between.
func (k *Task) Next() (*changelog.Batch, connector.Status, error) {
	k.t.Helper()
	deadline := time.Now().Add(k.Limit)
	for {
		b, status, err := k.Poll()
		if err != nil || status == connector.Ended || b.Rows > 0 {
			return b, status, err
		}
		if status == connector.Waiting && !k.signal.Wait(time.Until(deadline)) {
			k.t.Fatalf("nothing came within %s", k.Limit)
		}
	}
}

// Discard reads to the end of a bounded source and returns the number of rows.
func (k *Task) Discard() (rows int64) {
	k.t.Helper()
	for {
		b, status, err := k.Next()
		if err != nil {
			k.t.Fatalf("Poll: %v", err)
		}
		rows += int64(b.Rows)
		if status == connector.Ended {
			return rows
		}
	}
}

// Discover opens an enumerator and returns what it finds.
func Discover(t testing.TB, src connector.Source, state []byte, known []connector.Split) []connector.Split {
	t.Helper()
	ctx, _, _ := NewContext(testWriter{t})
	e, err := src.Enumerate(ctx, state)
	if err != nil {
		t.Fatalf("Enumerate: %v", err)
	}
	defer e.Close()
	splits, err := e.Discover(known)
	if err != nil {
		t.Fatalf("Discover: %v", err)
	}
	return splits
}
