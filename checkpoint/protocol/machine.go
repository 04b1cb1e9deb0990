package protocol

import (
	"fmt"
	"time"
)

// ID numbers checkpoints.
type ID int64

// Task names one subtask of the job.
type Task string

// Options are the rules of execution.checkpointing.*.
type Options struct {
	// Interval between triggers; 0 = only final and requested ones.
	Interval time.Duration
	// Timeout from trigger until all acknowledgements are there. Commit time does not count.
	Timeout time.Duration
	// MinPause between the end of one checkpoint (its commit) and the next periodic trigger.
	MinPause time.Duration
	// Tolerable is how many checkpoints in a row may fail; one more fails the job.
	Tolerable int
	// Overlap lets c+1 be triggered while c is being committed. Only the simulator sets it: a known-bad variant.
	Overlap bool
}

// Phase is the state of the machine.
type Phase uint8

// The phases.
const (
	Idle Phase = iota
	Pending
	Appending
	Committing
	Ended
	Failed
)

// String names the phase.
func (p Phase) String() string {
	return [...]string{"idle", "pending", "appending", "committing", "ended", "failed"}[p]
}

// Kind says what is to be done.
type Kind uint8

// The kinds of actions.
const (
	Inject Kind = iota // put barrier ID into every source; Final: it is the last one
	Append             // append complete ID to the job's log, then call Appended or AppendFailed
	Commit             // commit what ID promises, then call Committed or the job fails
	Notify             // tell the subtasks that ID is completed and committed
	Abort              // tell the subtasks that ID is given up; Reason says why
	Fail               // the job fails: Reason
	Finish             // the final checkpoint is committed: the job may end
)

// Action is one thing to do.
type Action struct {
	Kind   Kind
	ID     ID
	Final  bool
	Reason string
}

// Machine is the coordinator's state. Make it with New for each attempt of the job.
type Machine struct {
	opts      Options
	tasks     map[Task]bool // value: its input has ended
	phase     Phase
	next      ID
	current   ID
	final     bool // the pending or committing checkpoint is the last one
	wantFinal bool // all inputs have ended, or a stop was asked for
	requested bool // one was asked for by hand
	acked     map[Task]bool
	deadline  time.Time
	due       time.Time // of the next periodic trigger
	notBefore time.Time
	failures  int
	overlap   []ID // Overlap: checkpoints being committed while others run
}

// New starts a machine for an attempt whose subtasks are tasks; next is the id that the next checkpoint gets: the greatest in log, tables and
// restored state, plus one. The first trigger comes one interval after now.
func New(opts Options, tasks []Task, next ID, now time.Time) *Machine {
	m := &Machine{opts: opts, tasks: map[Task]bool{}, next: next, acked: map[Task]bool{}}
	for _, t := range tasks {
		m.tasks[t] = false
	}
	m.due = now.Add(opts.Interval)
	return m
}

// Phase is the machine's state.
func (m *Machine) Phase() Phase { return m.phase }

// Current is the checkpoint that is pending, being appended or committed.
func (m *Machine) Current() ID { return m.current }

// Next is the id that the next trigger gives.
func (m *Machine) Next() ID { return m.next }

// Deadline is when Tick must be called next at the latest; zero when only other events can bring anything about.
func (m *Machine) Deadline() time.Time {
	switch m.phase {
	case Pending:
		return m.deadline
	case Idle:
		if m.wantFinal || m.requested {
			return m.notBefore
		}
		if m.opts.Interval > 0 {
			return latest(m.due, m.notBefore)
		}
	}
	return time.Time{}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Tick lets time pass.
func (m *Machine) Tick(now time.Time) []Action {
	if m.phase == Pending && !now.Before(m.deadline) {
		return m.abort(now, fmt.Sprintf("not acknowledged within %s (execution.checkpointing.timeout)", m.opts.Timeout), true)
	}
	if m.phase != Idle {
		return nil
	}
	if m.wantFinal || m.requested || m.opts.Interval > 0 && !now.Before(m.due) && !now.Before(m.notBefore) {
		return m.trigger(now)
	}
	return nil
}

func (m *Machine) trigger(now time.Time) []Action {
	m.current, m.next = m.next, m.next+1
	m.phase, m.final, m.requested = Pending, m.wantFinal, false
	clear(m.acked)
	m.deadline = now.Add(m.opts.Timeout)
	if m.opts.Interval > 0 {
		for !m.due.After(now) { // one that was asked for does not move the periodic ones
			m.due = m.due.Add(m.opts.Interval)
		}
	}
	return []Action{{Kind: Inject, ID: m.current, Final: m.final}}
}

// Request asks for a checkpoint as soon as possible.
func (m *Machine) Request() { m.requested = true }

// Stop asks for a last checkpoint; Finish follows once it is committed. A stop while one is under way waits for that one first.
func (m *Machine) Stop() { m.wantFinal = true }

// InputEnded says that the task's input has ended. When all have, a last checkpoint is triggered.
func (m *Machine) InputEnded(t Task) {
	if _, known := m.tasks[t]; known {
		m.tasks[t] = true
	}
	for _, ended := range m.tasks {
		if !ended {
			return
		}
	}
	m.wantFinal = true
}

// Ack says that the task's part of the checkpoint is durable. One of another checkpoint is void.
func (m *Machine) Ack(t Task, id ID) []Action {
	if _, known := m.tasks[t]; !known || m.phase != Pending || id != m.current {
		return nil
	}
	m.acked[t] = true
	if len(m.acked) < len(m.tasks) {
		return nil
	}
	m.phase = Appending
	return []Action{{Kind: Append, ID: id, Final: m.final}}
}

// Decline says that a task could not take part; the checkpoint is given up and the failure counts.
func (m *Machine) Decline(id ID, reason string, now time.Time) []Action {
	if m.phase != Pending || id != m.current {
		return nil
	}
	return m.abort(now, reason, true)
}

func (m *Machine) abort(now time.Time, reason string, counts bool) []Action {
	id := m.current
	m.phase = Idle
	m.notBefore = now.Add(m.opts.MinPause)
	out := []Action{{Kind: Abort, ID: id, Reason: reason}}
	if counts {
		m.failures++
		if m.failures > m.opts.Tolerable {
			m.phase = Failed
			out = append(out, Action{Kind: Fail, ID: id, Reason: fmt.Sprintf(
				"checkpoint %d failed (%s) and is number %d in a row, more than execution.checkpointing.tolerable-failed-checkpoints = %d allows",
				id, reason, m.failures, m.opts.Tolerable)})
		}
	}
	return out
}

// Appended says that complete ID stands in the job's log.
func (m *Machine) Appended(id ID) []Action {
	if m.phase != Appending || id != m.current {
		return nil
	}
	m.failures = 0
	if m.opts.Overlap && !m.final {
		m.overlap = append(m.overlap, id)
		m.phase = Idle
	} else {
		m.phase = Committing
	}
	return []Action{{Kind: Commit, ID: id, Final: m.final}}
}

// AppendFailed says that complete ID certainly does not stand in the log and never will; the failure counts.
func (m *Machine) AppendFailed(id ID, reason string, now time.Time) []Action {
	if m.phase != Appending || id != m.current {
		return nil
	}
	return m.abort(now, reason, true)
}

// Committed says that everything that ID promises is visible and recorded as done.
func (m *Machine) Committed(id ID, now time.Time) []Action {
	if m.opts.Overlap && len(m.overlap) > 0 && m.overlap[0] == id {
		m.overlap = m.overlap[1:]
		return []Action{{Kind: Notify, ID: id}}
	}
	if m.phase != Committing || id != m.current {
		return nil
	}
	m.phase = Idle
	m.notBefore = now.Add(m.opts.MinPause)
	out := []Action{{Kind: Notify, ID: id}}
	if m.final {
		m.phase = Ended
		out = append(out, Action{Kind: Finish, ID: id})
	}
	return out
}
