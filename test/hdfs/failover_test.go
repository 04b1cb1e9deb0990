//go:build peer

package hdfs

import (
	"testing"

	"staunch/fs/hdfs"
	"staunch/test/peer"
	"staunch/test/peer/nnproxy"
)

// way is how the active NameNode goes away while a call is before it.
type way string

const (
	switched way = "switched" // an administrator makes the other one active
	killed   way = "killed"   // SIGKILL, the other one takes over
	stopped  way = "stopped"  // SIGSTOP, the other one takes over by force; this one wakes up later and believes to be active
)

// TestFailoverInTheMiddle: the active NameNode goes away at the moment at which a call of a job has reached it: create, write, close, rename,
// delete, listing. No restart strategy is there: nothing of it may count as a failure.
func TestFailoverInTheMiddle(t *testing.T) {
	g := playedJob(t, newPair(t), hdfs.Options{})
	n := 0
	for _, c := range []struct {
		method string
		how    way
	}{{"create", switched}, {"addBlock", killed}, {"complete", stopped}, {"rename2", switched}, {"delete", killed}, {"getListing", stopped},
		{"complete", killed}, {"create", stopped}, {"rename2", killed}} {
		g.rows(5)
		before := g.Active()
		rule := g.proxies[peer.Index(before)].On(nnproxy.Match{Method: c.method, Path: below(g.dir)}, nnproxy.Hold)
		g.clock.forward()
		hit, err := rule.Next(deadline(t))
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.method, err, g.log)
		}
		settle := g.away(before, c.how, hit)
		g.committed(g.next)
		g.next++
		settle()
		if now := g.Active(); now != peer.Other(before) {
			t.Fatalf("%s %s: %s is active, as before", c.method, c.how, now)
		}
		n++
	}
	g.exact()
	t.Logf("failovers in the middle of a call: %d; restarts that used up no attempt: %d; rows %d", n, g.job.Status().Restarts, g.k.filled*partitions)
}

// away takes the active NameNode away, lets the call through that is held before it, and gives the function that heals what is left.
func (g *played) away(active string, how way, hit *nnproxy.Hit) (settle func()) {
	t := g.t
	t.Helper()
	switch how {
	case switched:
		g.Failover()
		if r, err := hit.Release(deadline(t)); err != nil || !r.Failed {
			t.Errorf("a standby answered %s with %+v, %v", hit.Method, r, err)
		}
		return func() {}
	case killed:
		g.KillActive()
		if r, err := hit.Release(deadline(t)); err == nil {
			t.Errorf("a dead NameNode answered %s with %+v", hit.Method, r)
		}
		return func() { g.Restart(active) }
	default:
		g.Kill(active, "STOP")
		answered := make(chan struct{})
		go func() { // the call waits in the sleeping NameNode's socket
			defer close(answered)
			_, _ = hit.Release(deadline(t)) // it may carry it out when it wakes up, find that it is fenced, or be gone
		}()
		g.Activate(peer.Other(active))
		return func() {
			g.Kill(active, "CONT")
			<-answered
			g.Demote(active)
		}
	}
}
