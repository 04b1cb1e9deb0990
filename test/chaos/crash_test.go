//go:build peer

package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/fault/failpoint"
	"staunch/test/peer"
)

var (
	kills     = flag.Int("kills", 12, "kills of the process on each store, each at a failpoint or at a random moment")
	failovers = flag.Int("failovers", 0, "failovers of HDFS during them; 0: one for each 12 kills, at least 2")
	thefts    = flag.Int("thefts", 0, "how often promised files are deleted by somebody else, and repaired; 0: once for each 12 kills, at least once a format")
	stores    = flag.String("store", "local,hdfs", "where the table and its checkpoints lie")
	seed      = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random moments")
)

// rate is how many records a second come into the topic while the job is killed.
const rate = 5000

// TestCrash kills the process at each failpoint and at random, on the local disk and on HDFS, whose NameNodes fail over meanwhile
// behind a network that loses and delays calls. Somebody else deletes promised files between the kills, and repairs that are killed too
// write them again (P1, P4, P5).
func TestCrash(t *testing.T) {
	for _, store := range strings.Split(*stores, ",") {
		t.Run(store, func(t *testing.T) {
			began := time.Now()
			c := &campaign{t: t, at: newPlace(t, store), rng: rand.New(rand.NewPCG(*seed, uint64(len(store)))), turn: int(*seed % 1000),
				met: map[string]int{}, faults: map[string]int{}}
			t.Logf("seed %d", *seed)
			want := *failovers
			if want == 0 {
				want = max(2, *kills/12)
			}
			if c.at.hdfs == nil {
				want = 0
			} else {
				c.net = newNetwork(t, c.at.hdfs)
				t.Setenv("HADOOP_CONF_DIR", c.net.conf)
			}
			formats := []string{"parquet", "json"}
			stops := *thefts
			if stops == 0 {
				stops = max(len(formats), *kills/12)
			}
			for i, format := range formats {
				share := func(n int) int { return (n + len(formats) - 1 - i) / len(formats) }
				if !t.Run(format, func(t *testing.T) { c.attack(t, format, share(*kills), share(want), share(stops)) }) {
					break
				}
			}
			t.Logf("on %s: %s; %v", store, c, time.Since(began).Round(time.Second))
			if c.settled < want {
				t.Errorf("%d settled failovers, want %d", c.settled, want)
			}
			if l := c.loss; l.stops < stops || l.files < stops || l.ended == 0 {
				t.Errorf("want files to be taken away %d times, and a repair to be killed: %+v", stops, l)
			}
		})
	}
}

// campaign is the attack on one store, and its counts.
type campaign struct {
	t    *testing.T
	at   place
	rng  *rand.Rand
	turn int // places in the lists of failpoints and faults
	next int

	kills, brokers, settled int
	met                     map[string]int // kills at each failpoint that was passed
	faults                  map[string]int
	net                     *network // nil on the local disk
	loss                    losses
	verdict
	watched
}

func (c *campaign) String() string {
	var unmet []string
	for _, p := range points {
		if c.met[p] == 0 {
			unmet = append(unmet, p)
		}
	}
	return fmt.Sprintf("%d kills, %d of %d failpoints met (not: %v), %d failovers settled, faults of HDFS %v, calls to it %v, broker killed %d times; "+
		"%d files with %d rows taken away at %d stops, %d repairs, %d of them killed; %d rows in %d files, lost %d, doubled %d, unexpected %d; "+
		"concurrent reader: %d reads, %d rows, doubled %d, torn %d, gone %d",
		c.kills, len(c.met), len(points), unmet, c.settled, c.faults, c.calls(), c.brokers,
		c.loss.files, c.loss.rows, c.loss.stops, c.loss.repairs, c.loss.ended, c.rows, c.files, c.lost, c.doubled, c.unexpected,
		c.Reads, c.Rows, c.Doubled, c.Torn, c.Gone)
}

// calls counts what the network did to calls.
func (c *campaign) calls() map[string]int {
	if c.net == nil {
		return nil
	}
	return c.net.end(c.rng)
}

// points are the failpoints that a job without an end passes.
var points = slices.DeleteFunc(slices.Clone(failpoint.Points), func(p string) bool { return p == failpoint.EndBefore })

// event is what a step of an attack does, besides kills.
type event string

const (
	failover event = "failover"
	broker   event = "broker"
	theft    event = "theft"
)

// schedule lays n events of a kind evenly over the steps that have none, or behind them.
func schedule(steps []event, n int, e event) []event {
	all := len(steps)
	for j := range n {
		i := (2*j + 1) * all / (2 * n)
		for i < len(steps) && steps[i] != "" {
			i++
		}
		if i == len(steps) {
			steps = append(steps, "")
		}
		steps[i] = e
	}
	return steps
}

// attack kills a job so often, with so many failovers of its store, and so many times with files taken away.
func (c *campaign) attack(t *testing.T, format string, kills, failovers, stops int) {
	k := newTable(t, c.at, format)
	eye := k.watch()
	live := peer.FillLive(t, k.topic, partitions, rate)
	k.produced()
	before, late := c.kills, 0
	steps := schedule(make([]event, kills), stops, theft)
	steps = schedule(steps, failovers, failover)
	steps = schedule(steps, max(1, kills/20), broker)
	for i, now := range steps { // each step is one kill or two
		c.rattle()
		switch {
		case now == failover:
			for !c.disturb(k) {
			}
		case now == broker:
			c.killBroker(k)
		case now == theft:
			c.takeAway(k)
		case i%3 == 2:
			k.start().killedAfter(c, "random", c.moment())
		default:
			c.killAtPoint(k)
		}
		if k.committed() > 0 {
			late++
		}
	}
	if c.net != nil {
		c.net.settle(c.rng) // what is late arrives while the last process is at work
	}
	records := k.finish(live)
	seen := eye.end(t)
	v := k.judge(records)
	t.Logf("%d of %d kills after the first visible file; %d records; DuckDB: %+v; reader: %+v", late, c.kills-before, records, v, seen)
	if kills >= 10 && late*2 < kills {
		t.Errorf("only %d of %d kills came after the first visible file", late, kills)
	}
	c.sum(v, seen)
}

func (c *campaign) sum(v verdict, seen watched) {
	c.files, c.rows, c.doubled, c.lost, c.unexpected = c.files+v.files, c.rows+v.rows, c.doubled+v.doubled, c.lost+v.lost, c.unexpected+v.unexpected
	c.Reads, c.Rows, c.Doubled, c.Torn, c.Gone = c.Reads+seen.Reads, c.Rows+seen.Rows, c.Doubled+seen.Doubled, c.Torn+seen.Torn, c.Gone+seen.Gone
}

// moment draws how long a process lives.
func (c *campaign) moment() time.Duration {
	return time.Duration(700+c.rng.IntN(2500)) * time.Millisecond
}

// killedAfter kills the process after a time.
func (r *run) killedAfter(c *campaign, what string, life time.Duration) {
	r.k.t.Helper()
	select {
	case <-r.done:
	case <-time.After(life):
	}
	r.kill(what)
	c.kills++
}

// killAtPoint lets the job kill itself at the next failpoint in turn; a point that this run does not pass is killed all the same.
func (c *campaign) killAtPoint(k *table) {
	c.turn++
	point, times := points[c.turn%len(points)], 1+c.rng.IntN(3)
	switch step, _, _ := strings.Cut(point, "."); step {
	case "begin", "claim", "restore", "partition": // passed once a run, or seldom
		times = 1
	}
	r := k.start(fmt.Sprintf("STAUNCH_FAILPOINT=%s:%d", point, times))
	select {
	case <-r.done:
		r.wasKilled(point)
		c.kills++
		c.met[point]++
	case <-time.After(6 * time.Second):
		r.killedAfter(c, point, 0)
	}
}

// killBroker ends Kafka under the running job, and the job some time after Kafka is back.
func (c *campaign) killBroker(k *table) {
	r := k.start()
	r.advances("progress before the broker's death")
	peer.KillKafka(k.t)
	peer.RestartKafka(k.t)
	c.brokers++
	r.killedAfter(c, "broker killed", c.moment())
}

// disturb lets the next fault happen to HDFS in the middle of the job's work. A failover counts when the job makes progress with the
// new active NameNode before anything else happens; every other time the job is killed between the two. It returns whether it was one.
func (c *campaign) disturb(k *table) (failover bool) {
	h, now := c.at.hdfs, faults[c.next%len(faults)]
	c.next++
	r := k.start()
	r.advances("progress before: " + now.name)
	select {
	case <-r.done:
	case <-time.After(c.moment() / 4):
	}
	end := now.begin(h)
	c.faults[now.name]++
	if c.rng.IntN(2) == 0 {
		r.killedAfter(c, now.name, c.moment()/2)
		r = k.start()
	}
	r.advances("progress after: " + now.name) // perhaps of a checkpoint that was on its way
	r.advances("more progress after: " + now.name)
	if now.failover {
		c.settled++
	}
	end()
	r.killedAfter(c, now.name, c.moment())
	return now.failover
}
