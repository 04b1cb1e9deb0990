package dataflow

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
	"staunch/operator"
)

// quiet is a source whose splits have no record.
type quiet struct{ splits []connector.Split }

func (q *quiet) Enumerate(connector.Context, []byte) (connector.Enumerator, error) {
	return nil, errors.New("not asked for")
}

func (q *quiet) NewReader(_ connector.Context, s []connector.Split) (connector.Reader, error) {
	q.splits = s
	return q, nil
}

func (q *quiet) Bounded() bool                                   { return false }
func (q *quiet) Replayable() bool                                { return true }
func (q *quiet) Poll(*changelog.Batch) (connector.Status, error) { return connector.Waiting, nil }
func (q *quiet) Splits() []connector.Split                       { return q.splits }
func (q *quiet) Lag() int64                                      { return 0 }
func (q *quiet) Close() error                                    { return nil }

func (q *quiet) AddSplits(s []connector.Split) error {
	q.splits = append(q.splits, s...)
	return nil
}

func (q *quiet) Snapshot() ([]connector.Split, []account.Range, error) { return q.splits, nil, nil }

// acks collects snapshots.
type acks chan *Snapshot

func (a acks) Acked(_ *Subtask, _ account.CheckpointID, s *Snapshot) { a <- s }
func (a acks) InputEnded(*Subtask)                                   {}
func (a acks) Failed(_ *Subtask, err error)                          { panic(err) }
func (a acks) Broken(_ *Subtask, err error)                          { panic(err) }
func (a acks) Stopped(*Subtask)                                      {}

// TestSplitWithoutRecords: a split that has given nothing yet holds the watermark back, from the start and when it is added later, until its
// time-out. If its subtask counted as idle, the others' watermark would declare partitions complete that it still has rows for.
func TestSplitWithoutRecords(t *testing.T) {
	split := func(n int) connector.Split { return connector.Split{ID: fmt.Sprint("s-", n)} }
	for _, c := range []struct {
		name    string
		first   []connector.Split
		later   []connector.Split
		timeout time.Duration
		idle    bool
	}{
		{name: "none", idle: true},
		{name: "at the start", first: []connector.Split{split(0)}},
		{name: "added", later: []connector.Split{split(1)}},
		{name: "timed out", first: []connector.Split{split(0)}, timeout: time.Nanosecond, idle: true},
	} {
		got := make(acks, 1)
		src := &Source{Name: "q", Source: &quiet{}, IdleTimeout: c.timeout, NewWatermarker: func() (operator.Watermarker, error) { return nil, nil }}
		s, err := NewSubtask(src, 0, c.first, connector.Context{Env: &env.Real{}, Log: slog.New(slog.DiscardHandler)}, got, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.later) > 0 {
			s.AddSplits(c.later)
		}
		s.Barrier(1, false)
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
		if snap := <-got; snap.Idle != c.idle || snap.Watermark != changelog.MinWatermark {
			t.Errorf("%s: idle %v, watermark %d", c.name, snap.Idle, snap.Watermark)
		}
	}
}
