//go:build peer

package hdfs

import (
	"errors"
	"flag"
	"io"
	"testing"
	"time"

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

var failovers = flag.Int("failovers", 6, "how many of the failovers in the middle of a call are made")

// middles are the calls in whose middle the NameNode goes away. The first six have each call once and each way twice.
var middles = []struct {
	method string
	how    way
}{
	{"create", switched}, {"addBlock", killed}, {"complete", stopped}, {"rename2", switched}, {"delete", killed}, {"getListing", stopped},
	{"create", stopped}, {"addBlock", switched}, {"complete", killed}, {"rename2", stopped}, {"delete", switched}, {"getListing", killed},
	{"create", killed}, {"addBlock", stopped}, {"complete", switched}, {"rename2", killed}, {"delete", stopped}, {"getListing", switched},
}

// TestFailoverInTheMiddle: the active NameNode goes away at the moment at which a call of a job has reached it: create, write, close, rename,
// delete, listing. No restart strategy is there: nothing of it may count as a failure.
//
// Beside it a file lies open without a record for more than a minute, which is how long DataNodes and the NameNode wait for a sign of life of a
// writer; the first renewal of its lease loses its reply.
func TestFailoverInTheMiddle(t *testing.T) {
	p := newPair(t)
	g := playedJob(t, p, hdfs.Options{})
	idle := idler(p, g.dir+"/idle")
	n := 0
	for _, c := range middles[:min(*failovers, len(middles))] {
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
	idle()
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

// idler opens a file, writes a little, and gives the function that goes on with it when more than a minute has passed.
func idler(p *pair, path string) func() {
	p.t.Helper()
	var rules []*nnproxy.Rule // whichever of the two is asked
	for _, x := range p.proxies {
		rules = append(rules, x.On(nnproxy.Match{Method: "renewLease"}, nnproxy.ForwardAndCut))
	}
	c := p.client(hdfs.Options{})
	f, err := c.Create(path)
	if err == nil {
		_, err = f.Write([]byte("one record"))
	}
	if err == nil {
		err = f.(interface{ Flush() error }).Flush()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	minute := time.After(65 * time.Second)
	return func() {
		p.t.Helper()
		<-minute
		_, err := f.Write([]byte(", and one more"))
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			p.t.Errorf("a file that lay idle: %v", err)
		}
		if met(rules...) == 0 {
			p.t.Error("no renewal of a lease was met")
		}
		r, err := c.Open(path)
		if err != nil {
			p.t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || string(b) != "one record, and one more" {
			p.t.Errorf("the idle file holds %q, %v", b, err)
		}
	}
}
