package job

import (
	"sync"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/env"
)

// loop is the mailbox of the control loop.
type loop struct {
	mu     sync.Mutex
	events []event
	stop   bool
	signal env.Signal
}

type event struct {
	kind     eventKind
	attempt  int
	task     *dataflow.Subtask
	id       account.CheckpointID
	snapshot *dataflow.Snapshot
	err      error
	restored *checkpoint.Restored
	counters account.Counters
	source   string
	splits   []connector.Split
}

type eventKind uint8

const (
	evAcked eventKind = iota
	evInputEnded
	evFailed  // the subtask has stopped
	evBroken  // the subtask runs but does not count any more
	evStopped // after Cancel
	evAppended
	evCommitted
	evDiscovered
)

func (l *loop) post(e event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	l.mu.Unlock()
	l.signal.Notify()
}

func (l *loop) take() (evs []event, stop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	evs, l.events = l.events, nil
	return evs, l.stop
}

// Stop asks for a last checkpoint and the end of Run with Stopped. It may be called from anywhere.
func (j *Job) Stop() {
	j.loop.mu.Lock()
	j.stop = true
	j.loop.mu.Unlock()
	j.loop.signal.Notify()
}

// taskEvents carries a subtask's events of one attempt into the loop.
type taskEvents struct {
	l       *loop
	attempt int
}

func (e taskEvents) Acked(t *dataflow.Subtask, id account.CheckpointID, s *dataflow.Snapshot) {
	e.l.post(event{kind: evAcked, attempt: e.attempt, task: t, id: id, snapshot: s})
}

func (e taskEvents) InputEnded(t *dataflow.Subtask) {
	e.l.post(event{kind: evInputEnded, attempt: e.attempt, task: t})
}

func (e taskEvents) Failed(t *dataflow.Subtask, err error) {
	e.l.post(event{kind: evFailed, attempt: e.attempt, task: t, err: err})
}

func (e taskEvents) Broken(t *dataflow.Subtask, err error) {
	e.l.post(event{kind: evBroken, attempt: e.attempt, task: t, err: err})
}

func (e taskEvents) Stopped(t *dataflow.Subtask) {
	e.l.post(event{kind: evStopped, attempt: e.attempt, task: t})
}
