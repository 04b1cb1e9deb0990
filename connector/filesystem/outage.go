package filesystem

import (
	"errors"
	iofs "io/fs"
	"time"

	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// An outage is waited for inside the writer for a limited time: then the region gives up and is restarted once the store answers, which costs
// a replay and no attempt of the restart strategy.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
	maxWait    = time.Minute
)

// maxTries bounds the tries of a call whose failure is no outage. Each has a new name.
const maxTries = 5

// waiter waits through outages.
type waiter struct {
	env     env.Env
	stopped func() bool
}

func waiterOf(ctx connector.Context) waiter { return waiter{ctx.Env, ctx.Stopped} }

// through repeats call while the store does not answer. call must be right when it takes effect twice.
func (w waiter) through(call func() error) error {
	pause, start := firstPause, time.Time{}
	for {
		err := call()
		if err == nil || !errors.Is(err, fs.ErrUnavailable) {
			return err
		}
		now := w.env.Now()
		if start.IsZero() {
			start = now
		}
		if now.Sub(start) >= maxWait || w.stopped != nil && w.stopped() {
			return err
		}
		env.Sleep(w.env, pause)
		pause = min(2*pause, maxPause)
	}
}

// classify gives an error of the store its class and says what to do. verb and what describe the call.
func classify(err error, verb, what string) error {
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrUnavailable):
		return fault.New(fault.Outage, "%s %s: %w", verb, what, err)
	case errors.Is(err, fs.ErrNoSpace):
		return fault.New(fault.Transient, "%s %s: %w", verb, what, err).WithHint(
			"make room or raise the quota; nothing is lost: the rows are read again from the newest completed checkpoint")
	case errors.Is(err, fs.ErrNameTooLong):
		return fault.New(fault.User, "%s %s (%d bytes): %w", verb, what, len(what), err).WithHint("choose a shorter path")
	case errors.Is(err, iofs.ErrPermission):
		return fault.New(fault.Transient, "%s %s: %w", verb, what, err).WithHint("let this user write into the table's folder")
	}
	return fault.New(fault.Transient, "%s %s: %w", verb, what, err)
}
