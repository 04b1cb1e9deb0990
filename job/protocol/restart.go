package protocol

import (
	"fmt"
	"math"
	"time"
)

// Strategy decides whether and when a failed job is started again.
type Strategy interface {
	// Failed records a failure at now and gives the delay until the restart, or ok = false: the job fails for good. jitter is a fresh random
	// number in [0, 1).
	Failed(now time.Time, jitter float64) (delay time.Duration, ok bool)
	// String names the strategy with its parameters, for messages.
	String() string
}

// None never restarts.
type None struct{}

// Failed implements Strategy.
func (None) Failed(time.Time, float64) (time.Duration, bool) { return 0, false }

func (None) String() string { return "none" }

// FixedDelay restarts a fixed number of times, never counted anew.
type FixedDelay struct {
	Attempts int
	Delay    time.Duration
	used     int
}

// Failed implements Strategy.
func (s *FixedDelay) Failed(time.Time, float64) (time.Duration, bool) {
	if s.used >= s.Attempts {
		return 0, false
	}
	s.used++
	return s.Delay, true
}

func (s *FixedDelay) String() string {
	return fmt.Sprintf("fixed-delay, %d of %d attempts used, delay %s", s.used, s.Attempts, s.Delay)
}

// ExponentialDelay doubles (or so) the delay with each failure and forgets after a quiet time.
type ExponentialDelay struct {
	Initial, Max   time.Duration
	Multiplier     float64
	ResetThreshold time.Duration
	// Jitter is the part of the delay by which it varies both ways, 0 to 1.
	Jitter float64
	// Attempts before the job fails for good; 0 = no limit.
	Attempts int

	k    int
	next time.Time
}

// Failed implements Strategy. A failure before the restart of the one before is merged with it.
func (s *ExponentialDelay) Failed(now time.Time, jitter float64) (time.Duration, bool) {
	if !s.next.IsZero() && !now.After(s.next) {
		return s.next.Sub(now), true
	}
	if !s.next.IsZero() && now.Sub(s.next) >= s.ResetThreshold {
		s.k = 0
	}
	if s.Attempts > 0 && s.k >= s.Attempts {
		return 0, false
	}
	base := float64(s.Initial) * math.Pow(s.Multiplier, float64(s.k))
	if base > float64(s.Max) || math.IsInf(base, 1) {
		base = float64(s.Max)
	}
	base += (2*jitter - 1) * s.Jitter * base
	delay := max(s.Initial, min(time.Duration(base), s.Max))
	s.next = now.Add(delay)
	s.k++
	return delay, true
}

func (s *ExponentialDelay) String() string {
	limit := "no limit"
	if s.Attempts > 0 {
		limit = fmt.Sprintf("at most %d", s.Attempts)
	}
	return fmt.Sprintf("exponential-delay, attempt %d (%s), %s to %s", s.k, limit, s.Initial, s.Max)
}
