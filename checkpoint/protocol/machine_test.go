package protocol

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func text(as []Action) string {
	names := map[Kind]string{Inject: "inject", Append: "append", Commit: "commit", Notify: "notify", Abort: "abort", Fail: "fail", Finish: "finish"}
	var out []string
	for _, a := range as {
		s := fmt.Sprintf("%s %d", names[a.Kind], a.ID)
		if a.Final && a.Kind == Inject {
			s += " final"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func machine(o Options) *Machine { return New(o, []Task{"a", "b"}, 7, t0) }

func expect(t *testing.T, what string, got []Action, want string) {
	t.Helper()
	if text(got) != want {
		t.Errorf("%s: %q, want %q", what, text(got), want)
	}
}

// TestOneCheckpoint follows a checkpoint from trigger to notice (K1): the next trigger waits for the commit.
func TestOneCheckpoint(t *testing.T) {
	m := machine(Options{Interval: 10 * time.Second, Timeout: time.Minute})
	expect(t, "before the interval", m.Tick(at(9.9)), "")
	expect(t, "at the interval", m.Tick(at(10)), "inject 7")
	expect(t, "one ack", m.Ack("a", 7), "")
	expect(t, "the same ack again", m.Ack("a", 7), "")
	expect(t, "of another checkpoint", m.Ack("b", 6), "")
	expect(t, "of an unknown task", m.Ack("c", 7), "")
	expect(t, "all acks", m.Ack("b", 7), "append 7")
	expect(t, "time passes while it is appended", m.Tick(at(200)), "")
	expect(t, "a late decline", m.Decline(7, "no", at(200)), "")
	expect(t, "appended", m.Appended(7), "commit 7")
	expect(t, "time passes while it is committed", m.Tick(at(300)), "")
	expect(t, "of another", m.Committed(6, at(300)), "")
	expect(t, "committed", m.Committed(7, at(300)), "notify 7")
	expect(t, "overdue", m.Tick(at(300)), "inject 8")
	if m.Current() != 8 || m.Next() != 9 || m.Phase() != Pending {
		t.Error(m.Current(), m.Next(), m.Phase())
	}
}

// TestMinPause: the pause counts from the end of the commit.
func TestMinPause(t *testing.T) {
	m := machine(Options{Interval: time.Second, Timeout: time.Minute, MinPause: 5 * time.Second})
	m.Tick(at(1))
	m.Ack("a", 7)
	m.Ack("b", 7)
	m.Appended(7)
	m.Committed(7, at(3))
	expect(t, "in the pause", m.Tick(at(7.9)), "")
	if d := m.Deadline(); !d.Equal(at(8)) {
		t.Error("deadline", d)
	}
	expect(t, "after it", m.Tick(at(8)), "inject 8")
}

// TestTolerableFailures: Flink's consecutive counter, reset by a success.
func TestTolerableFailures(t *testing.T) {
	m := machine(Options{Interval: time.Second, Timeout: 2 * time.Second, Tolerable: 1})
	m.Tick(at(1))
	expect(t, "expired", m.Tick(at(3)), "abort 7")
	expect(t, "again", m.Tick(at(4)), "inject 8")
	expect(t, "an ack of the expired one", m.Ack("a", 7), "")
	m.Ack("a", 8)
	m.Ack("b", 8)
	m.Appended(8)
	m.Committed(8, at(5))
	m.Tick(at(6))
	expect(t, "declined", m.Decline(9, "disk full", at(6)), "abort 9")
	m.Tick(at(7))
	m.Ack("a", 10)
	m.Ack("b", 10)
	expect(t, "append failed, the second in a row", m.AppendFailed(10, "disk full", at(7)), "abort 10, fail 10")
	if m.Phase() != Failed || m.Tick(at(100)) != nil {
		t.Error("goes on after it failed")
	}
}

// TestEnd: when all inputs have ended, or on order, a last checkpoint is taken without waiting for the interval, and then the job ends.
func TestEnd(t *testing.T) {
	for _, ask := range []func(m *Machine){
		func(m *Machine) { m.InputEnded("a"); m.InputEnded("b") },
		func(m *Machine) { m.Stop() },
	} {
		m := machine(Options{Interval: time.Hour, Timeout: time.Minute})
		m.InputEnded("a")
		expect(t, "one of two has ended", m.Tick(at(1)), "")
		ask(m)
		expect(t, "the last one", m.Tick(at(1)), "inject 7 final")
		m.Ack("a", 7)
		m.Ack("b", 7)
		m.Appended(7)
		expect(t, "committed", m.Committed(7, at(2)), "notify 7, finish 7")
		expect(t, "after the end", m.Tick(at(9999)), "")
	}
}

// TestStopMeanwhile: a stop during a checkpoint waits for it; the last one follows.
func TestStopMeanwhile(t *testing.T) {
	m := machine(Options{Interval: time.Second, Timeout: time.Minute})
	expect(t, "periodic", m.Tick(at(1)), "inject 7")
	m.Stop()
	m.Ack("a", 7)
	m.Ack("b", 7)
	m.Appended(7)
	expect(t, "not the last", m.Committed(7, at(1.5)), "notify 7")
	expect(t, "at once", m.Tick(at(1.5)), "inject 8 final")
	expect(t, "given up", m.Tick(at(70)), "abort 8, fail 8")
}

// TestRequest: a checkpoint that is asked for comes at once and does not move the periodic ones.
func TestRequest(t *testing.T) {
	m := machine(Options{Interval: 10 * time.Second, Timeout: time.Minute})
	m.Request()
	expect(t, "asked for", m.Tick(at(0)), "inject 7")
	m.Ack("a", 7)
	m.Ack("b", 7)
	m.Appended(7)
	m.Committed(7, at(1))
	expect(t, "before the interval", m.Tick(at(9)), "")
	expect(t, "at the interval", m.Tick(at(10)), "inject 8")
	m.Decline(8, "no", at(25))
}
