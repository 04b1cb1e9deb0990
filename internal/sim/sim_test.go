package sim

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds  = flag.Int("seeds", 300, "seeds to play for the protocol")
	budget = flag.Duration("for", 0, "play seeds for this long instead")
	first  = flag.Uint64("first", 1, "first seed")
	one    = flag.Uint64("seed", 0, "play only this seed, with a trace")
	which  = flag.String("variant", "", "variant for -seed")
)

// TestSimSeed replays one seed with a trace of every call.
func TestSimSeed(t *testing.T) {
	if *one == 0 {
		return
	}
	v := Protocol
	for _, k := range KnownBad {
		if k.Name == *which {
			v = k
		}
	}
	stats, err := Run(*one, v, os.Stdout)
	t.Logf("%+v", stats)
	if err != nil {
		t.Fatal(err)
	}
}

// TestSimProtocol plays seeds of the protocol as it is: P1, P2, P5, P6, P7, P11 and liveness hold in every one.
func TestSimProtocol(t *testing.T) {
	var next, played atomic.Uint64
	next.Store(*first)
	var mu sync.Mutex
	var sum Stats
	end := time.Now().Add(*budget)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				n := next.Add(1) - 1
				if *budget > 0 && time.Now().After(end) || *budget == 0 && n >= *first+uint64(*seeds) || t.Failed() {
					return
				}
				stats, err := Run(n, Protocol, nil)
				mu.Lock()
				sum.add(stats)
				mu.Unlock()
				played.Add(1)
				if err != nil {
					t.Errorf("seed %d: %v\nreplay: go test ./internal/sim -run TestSimSeed -seed %d", n, err, n)
					return
				}
			}
		})
	}
	wg.Wait()
	n := max(int(played.Load()), 1)
	fmt.Printf("%d seeds: %+v\n", n, sum)
	if sum.Checkpoints < 3*n || sum.Attempts < n || n >= 100 && sum.Restarts < n/4 {
		t.Errorf("the seeds are too tame: %d checkpoints, %d attempts and %d restarts in %d seeds", sum.Checkpoints, sum.Attempts, sum.Restarts, n)
	}
}

func (s *Stats) add(o Stats) {
	s.Steps += o.Steps
	s.Attempts += o.Attempts
	s.Kills += o.Kills
	s.Pauses += o.Pauses
	s.Faults += o.Faults
	s.Repeats += o.Repeats
	s.PowerCuts += o.PowerCuts
	s.Removed += o.Removed
	s.Checkpoints += o.Checkpoints
	s.Files += o.Files
	s.Hard += o.Hard
	s.Restarts += o.Restarts
}

// TestSimKnownBad plays each variant until the oracle catches it: a simulator that finds nothing proves nothing.
func TestSimKnownBad(t *testing.T) {
	for _, v := range KnownBad {
		t.Run(v.Name, func(t *testing.T) {
			for seed := uint64(1); seed <= 3000; seed++ {
				if _, err := Run(seed, v, nil); err != nil {
					fmt.Printf("%-22s caught by seed %4d: %.150s\n", v.Name, seed, err)
					return
				}
			}
			t.Errorf("not caught: %s", v.Rule)
		})
	}
}
