package env

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

// Env is a world to run in.
type Env interface {
	// Now is the wall clock.
	Now() time.Time
	// Go starts f as an activity of its own. The name is for reports.
	Go(name string, f func())
	// NewSignal makes a wake-up for one waiter.
	NewSignal() Signal
	// Rand fills b with randomness that no other attempt draws (in simulation: of the seed).
	Rand(b []byte)
}

// Signal wakes one waiting activity. Notifications do not add up: one that finds the signal raised changes nothing.
type Signal interface {
	// Notify raises the signal; it never blocks and may be called from anywhere.
	Notify()
	// Wait blocks until the signal is raised, takes it down and returns true; after timeout (if not negative) it returns false.
	Wait(timeout time.Duration) bool
}

// Sleep blocks for d.
func Sleep(e Env, d time.Duration) { e.NewSignal().Wait(d) }

// RandomHex returns n random bytes as hexadecimal digits.
func RandomHex(e Env, n int) string {
	b := make([]byte, n)
	e.Rand(b)
	return hex.EncodeToString(b)
}

// Real is the production world: the system's clock, goroutines and randomness.
type Real struct{ wg sync.WaitGroup }

// Now implements Env.
func (*Real) Now() time.Time { return time.Now() }

// Go implements Env.
func (r *Real) Go(_ string, f func()) { r.wg.Go(f) }

// Join waits until every started activity has returned.
func (r *Real) Join() { r.wg.Wait() }

// Rand implements Env.
func (*Real) Rand(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("env: the system gives no randomness: " + err.Error())
	}
}

// NewSignal implements Env.
func (*Real) NewSignal() Signal { return signal(make(chan struct{}, 1)) }

type signal chan struct{}

func (s signal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func (s signal) Wait(timeout time.Duration) bool {
	if timeout < 0 {
		<-s
		return true
	}
	select {
	case <-s:
		return true
	default:
	}
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-s:
		return true
	case <-t.C:
		return false
	}
}
