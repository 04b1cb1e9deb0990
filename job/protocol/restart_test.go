package protocol

import (
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestExponentialDelay follows Flink's formula: 1 s, 2 s, 4 s, ... capped, reset after a quiet time, failures in the pause merged.
func TestExponentialDelay(t *testing.T) {
	s := &ExponentialDelay{Initial: time.Second, Max: 10 * time.Second, Multiplier: 2, ResetThreshold: time.Hour}
	now := t0
	for i, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		d, ok := s.Failed(now, 0.5)
		if !ok || d != want*time.Second {
			t.Fatalf("failure %d: %s %v, want %ds", i, d, ok, want)
		}
		if again, ok := s.Failed(now.Add(d/2), 0.5); !ok || again != d-d/2 {
			t.Errorf("a failure in the pause: %s %v, want the rest of it, %s", again, ok, d-d/2)
		}
		now = now.Add(d + time.Minute)
	}
	if d, _ := s.Failed(now.Add(2*time.Hour), 0.5); d != time.Second {
		t.Errorf("after a quiet time: %s", d)
	}
}

func TestExponentialDelayJitterAndLimit(t *testing.T) {
	low, _ := (&ExponentialDelay{Initial: 10 * time.Second, Max: time.Minute, Multiplier: 2, Jitter: 0.1}).Failed(t0, 0)
	high, _ := (&ExponentialDelay{Initial: 10 * time.Second, Max: time.Minute, Multiplier: 2, Jitter: 0.1}).Failed(t0, 0.999999)
	if low != 10*time.Second || high < 10900*time.Millisecond || high > 11*time.Second {
		t.Errorf("10 s with a jitter of 0.1: %s to %s, want 10 s to 11 s", low, high)
	}
	s := &ExponentialDelay{Initial: time.Second, Max: time.Minute, Multiplier: 2, ResetThreshold: time.Hour, Attempts: 2}
	now := t0
	for i := range 3 {
		d, ok := s.Failed(now, 0.5)
		if ok != (i < 2) {
			t.Errorf("failure %d with two attempts: %v", i, ok)
		}
		now = now.Add(d + time.Minute)
	}
}

func TestFixedDelay(t *testing.T) {
	s := &FixedDelay{Attempts: 2, Delay: 3 * time.Second}
	for i := range 3 {
		d, ok := s.Failed(t0.Add(time.Duration(i)*24*time.Hour), 0)
		if ok != (i < 2) || ok && d != 3*time.Second {
			t.Errorf("failure %d: %s %v (the attempts are never counted anew)", i, d, ok)
		}
	}
	if _, ok := (None{}).Failed(t0, 0); ok {
		t.Error("none restarts")
	}
}
