package sim

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"staunch/env"
)

// sched runs coroutines one at a time. Which one goes on is drawn from the seed, so that a seed is one history.
type sched struct {
	rng      *rand.Rand
	now      time.Time
	procs    []*process
	runnable []*coroutine
	sleeping []*coroutine // with a deadline, not sorted: there are few
	cur      *coroutine
	steps    int
}

// process is one simulated operating-system process: an Env.
type process struct {
	s     *sched
	name  string
	dead  bool
	until time.Time // paused until then
	all   []*coroutine
}

// coroutine is one activity of a process.
type coroutine struct {
	p        *process
	name     string
	next     func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	deadline time.Time
	timed    bool
	waiting  *signal
	done     bool
	panicked any
}

// killed unwinds a coroutine of a process that was killed.
type killed struct{}

func newSched(rng *rand.Rand) *sched {
	return &sched{rng: rng, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (s *sched) process(name string) *process {
	p := &process{s: s, name: name}
	s.procs = append(s.procs, p)
	return p
}

// Go implements env.Env.
func (p *process) Go(name string, f func()) {
	if p.dead {
		return
	}
	c := &coroutine{p: p, name: name}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					c.panicked = r
				}
			}
		}()
		f()
	})
	p.all = append(p.all, c)
	p.s.runnable = append(p.s.runnable, c)
}

// Now implements env.Env.
func (p *process) Now() time.Time { return p.s.now }

// Rand implements env.Env.
func (p *process) Rand(b []byte) {
	for i := range b {
		b[i] = byte(p.s.rng.Uint32())
	}
}

// NewSignal implements env.Env.
func (p *process) NewSignal() env.Signal { return &signal{p: p} }

type signal struct {
	p      *process
	raised bool
	waiter *coroutine
}

func (g *signal) Notify() {
	g.raised = true
	if c := g.waiter; c != nil {
		g.waiter = nil
		g.p.s.wake(c)
	}
}

func (s *sched) wake(c *coroutine) {
	if c.done || c.p.dead {
		return
	}
	c.waiting = nil
	if c.timed {
		c.timed = false
		if i := slices.Index(s.sleeping, c); i >= 0 {
			s.sleeping = slices.Delete(s.sleeping, i, i+1)
		}
	}
	s.runnable = append(s.runnable, c)
}

func (g *signal) Wait(timeout time.Duration) bool {
	s := g.p.s
	if g.raised {
		g.raised = false
		return true
	}
	if timeout == 0 {
		return false
	}
	c := s.cur
	g.waiter, c.waiting = c, g
	if timeout > 0 {
		c.deadline, c.timed = s.now.Add(timeout), true
		s.sleeping = append(s.sleeping, c)
	}
	s.park()
	g.waiter = nil
	was := g.raised
	g.raised = false
	return was
}

// park gives control back to the scheduler; the coroutine is in one of its lists, or waits for a signal.
func (s *sched) park() {
	c := s.cur
	if !c.yield(struct{}{}) {
		panic(killed{})
	}
}

// pass lets others go on: every outside call of the engine begins with it.
func (s *sched) pass() {
	if s.cur == nil || s.cur.p.dead {
		return
	}
	s.runnable = append(s.runnable, s.cur)
	s.park()
}

// sleep makes the running coroutine wait.
func (s *sched) sleep(d time.Duration) {
	if s.cur == nil {
		return
	}
	c := s.cur
	c.deadline, c.timed = s.now.Add(d), true
	s.sleeping = append(s.sleeping, c)
	s.park()
}

// kill ends a process without any clean-up.
func (p *process) kill() {
	if p.dead {
		return
	}
	p.dead = true
	gone := func(c *coroutine) bool { return c.p == p }
	p.s.runnable = slices.DeleteFunc(p.s.runnable, gone)
	p.s.sleeping = slices.DeleteFunc(p.s.sleeping, gone)
	for _, c := range p.all {
		if c != p.s.cur {
			c.stop()
		}
	}
}

// alive reports whether the process has an activity left.
func (p *process) alive() bool {
	if p.dead {
		return false
	}
	for _, c := range p.all {
		if !c.done {
			return true
		}
	}
	return false
}

// step lets one coroutine go on, or time pass. false: nothing can happen any more.
func (s *sched) step() (bool, error) {
	s.steps++
	ready := s.runnable
	var blocked []*coroutine
	for _, c := range ready {
		if c.p.until.After(s.now) {
			blocked = append(blocked, c)
		}
	}
	if len(blocked) == len(ready) {
		return s.passTime(blocked), nil
	}
	i := s.rng.IntN(len(ready))
	for ready[i].p.until.After(s.now) {
		i = (i + 1) % len(ready)
	}
	c := ready[i]
	s.runnable[i] = s.runnable[len(s.runnable)-1]
	s.runnable = s.runnable[:len(s.runnable)-1]
	s.cur = c
	_, more := c.next()
	s.cur = nil
	if more && c.p.dead { // it was killed in the middle
		c.stop()
		more = false
	}
	if !more {
		c.done = true
		c.p.all = slices.DeleteFunc(c.p.all, func(x *coroutine) bool { return x == c })
	}
	if c.panicked != nil {
		return false, fmt.Errorf("panic in %s of %s: %v", c.name, c.p.name, c.panicked)
	}
	return true, nil
}

// passTime moves the clock to the next deadline.
func (s *sched) passTime(blocked []*coroutine) bool {
	var first time.Time
	for _, c := range s.sleeping {
		if first.IsZero() || c.deadline.Before(first) {
			first = c.deadline
		}
	}
	for _, c := range blocked {
		if first.IsZero() || c.p.until.Before(first) {
			first = c.p.until
		}
	}
	if first.IsZero() {
		return false
	}
	if first.After(s.now) {
		s.now = first
	}
	due := s.sleeping
	s.sleeping = nil
	for _, c := range due {
		if c.deadline.After(s.now) {
			s.sleeping = append(s.sleeping, c)
			continue
		}
		c.timed = false
		if c.waiting != nil {
			c.waiting.waiter = nil
			c.waiting = nil
		}
		s.runnable = append(s.runnable, c)
	}
	return true
}
