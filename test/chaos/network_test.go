//go:build peer

package chaos

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"staunch/test/peer"
	"staunch/test/peer/nnproxy"
)

// network stands between the job and the NameNodes and does what networks do to calls, often to those of a process that is killed in the
// same moment: its request arrives seconds later, when the next process is at work, or its answer never.
type network struct {
	conf    string // HADOOP_CONF_DIR of the job
	proxies [2]*nnproxy.Proxy

	mu    sync.Mutex
	rules []armed
	done  map[string]int // calls by what happened to them
	held  sync.WaitGroup // late calls on their way
}

type armed struct {
	*nnproxy.Rule
	action nnproxy.Action
}

// victims are the calls by which a job changes anything, and two by which it looks.
var victims = []string{"create", "addBlock", "complete", "rename2", "delete", "mkdirs", "getFileInfo", "getListing"}

func newNetwork(t *testing.T, h *peer.HDFS) *network {
	t.Helper()
	n := &network{done: map[string]int{}}
	for i, target := range h.NameNodes {
		p, err := nnproxy.Listen(target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() }) // it ends what is open
		n.proxies[i] = p
	}
	n.conf = h.ProxyConf(n.proxies[0].Addr(), n.proxies[1].Addr())
	return n
}

// disturb sees to what the last process left in the network and prepares what happens to the next one's calls.
func (n *network) disturb(rng *rand.Rand) {
	n.settle(rng)
	for range 2 {
		a := armed{action: []nnproxy.Action{nnproxy.ForwardAndCut, nnproxy.HoldAndCut, nnproxy.Cut}[rng.IntN(3)]}
		m := nnproxy.Match{Method: victims[rng.IntN(len(victims))], Skip: rng.IntN(12)}
		for _, p := range n.proxies { // only the active one lets much through
			a.Rule = p.On(m, a.action)
			n.rules = append(n.rules, a)
		}
	}
}

// settle counts what the rules have met, ends them, and lets held requests through within the next two seconds.
func (n *network) settle(rng *rand.Rand) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for _, a := range n.rules {
		a.Off()
		for hit, err := a.Next(now); err == nil; hit, err = a.Next(now) {
			switch a.action {
			case nnproxy.ForwardAndCut:
				n.count("reply lost")
			case nnproxy.Cut:
				n.count("request lost")
			case nnproxy.HoldAndCut:
				n.held.Add(1)
				time.AfterFunc(time.Duration(rng.IntN(2000))*time.Millisecond, func() { n.release(hit) })
			}
		}
	}
	n.rules = nil
}

func (n *network) release(hit *nnproxy.Hit) {
	defer n.held.Done()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := hit.Release(ctx); err != nil {
		n.count("request lost") // with its NameNode
		return
	}
	n.count("request late")
}

func (n *network) count(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.done[what]++
}

// end waits for the last late calls and gives the counts.
func (n *network) end(rng *rand.Rand) map[string]int {
	n.settle(rng)
	n.held.Wait()
	return n.done
}
