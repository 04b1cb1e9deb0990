package envtest

import (
	"time"

	"staunch/env"
)

// Longest is the longest that anybody waits in a quick world.
const Longest = 20 * time.Millisecond

// Quick is the real world, but nothing is waited for long: what a protocol waits between two looks is not what is tested there. Who waits for
// something looks early whether it came.
type Quick struct{ env.Real }

// NewSignal implements env.Env.
func (q *Quick) NewSignal() env.Signal { return soon{q.Real.NewSignal()} }

type soon struct{ env.Signal }

// Wait implements env.Signal.
func (s soon) Wait(d time.Duration) bool {
	if d > 0 {
		d = min(d, Longest)
	}
	return s.Signal.Wait(d)
}
