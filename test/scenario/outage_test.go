//go:build peer

package scenario

import (
	"testing"
	"time"

	"staunch/test/peer"
)

// TestBrokerAway: the broker is killed in the middle, for a second and for ten. The job waits and goes on; with no restart strategy at all,
// any failure that counts would end it. The test does not run beside others of this package: their broker is away too.
func TestBrokerAway(t *testing.T) {
	k := newTopic(t, 2)
	k.fill(0, 1, 50)
	s := newScript(t, k.copyJob("'scan.topic-partition-discovery.interval'='1 s'"))
	p := s.start("-D", "restart-strategy.type=none", "-D", "metrics.reporter.prom.port=34000-34999")
	m := p.metrics()
	p.seen(s.path("lake"), 50)
	for i, away := range []time.Duration{time.Second, 10 * time.Second} {
		peer.KillKafka(t)
		select {
		case <-p.done:
			t.Fatalf("the job ended with the broker (%v):\n%s", p.cmd.ProcessState, p.shown())
		case <-time.After(away):
		}
		peer.RestartKafka(t)
		from := int64(51 + 50*i)
		k.fill(int32(i), from, from+49)
		p.seen(s.path("lake"), int(from)+49)
		if n := len(ids(t, s.path("lake"))); n != int(from)+49 {
			t.Errorf("%d rows after %v", n, away)
		}
	}
	if n := m.sum("numRestarts"); n != 0 {
		t.Logf("%v restarts without an attempt used up", n)
	}
	p.stop()
	wantIDs(t, s.path("lake"), span(1, 150))
	s.verified(s.path("lake"))
}

// TestStartWhileAway: a job with state is started while no broker runs: it says that it waits, and goes on when the broker is back.
func TestStartWhileAway(t *testing.T) {
	k := newTopic(t, 1)
	k.fill(0, 1, 20)
	s := newScript(t, k.copyJob())
	p := s.start()
	p.seen(s.path("lake"), 20)
	p.stop()
	s.edit(k.copyJob("'properties.default.api.timeout.ms'='1000'", "'properties.request.timeout.ms'='500'"))
	peer.KillKafka(t)
	p = s.start()
	p.awaits("level=WARN", "no Kafka broker answers; waiting for it", peer.Kafka(t))
	p.stop() // also without a broker
	p = s.start()
	p.awaits("level=WARN", "no Kafka broker answers; waiting for it")
	peer.RestartKafka(t)
	k.fill(0, 21, 40)
	p.seen(s.path("lake"), 40)
	p.stop()
	wantIDs(t, s.path("lake"), span(1, 40))
}
