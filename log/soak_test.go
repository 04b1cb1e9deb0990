package log

import (
	"errors"
	"fmt"
	"iter"
	"math/rand"
	"strings"
	"testing"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/log/protocol"
)

// soak is one run of several lives of a job that take turns, one after the other fencing the one before, over a store that misbehaves.
type soak struct {
	r       *rand.Rand
	s       *mem.Store
	variant protocol.Variant
	trace   []string
	// placed are the entries that a life was told are its own and count, by number.
	placed map[int64]record
	// denied are the bodies of entries that were said not to stand.
	denied map[string]bool
	broken error
	yields []func() bool
	turn   int
}

type record struct {
	life int
	kind string
}

const soakDir = "/cp/job/log"

func (k *soak) failf(format string, args ...any) {
	if k.broken == nil {
		k.broken = fmt.Errorf(format, args...)
	}
}

// below is the job log's rule.
func below(verdict Below) func(int64, []Head) Below {
	return func(own int64, all []Head) Below {
		if BelowBeginning(own, all) {
			return verdict
		}
		return Fine
	}
}

// life is one attempt: begin, some completes, cleaning in between.
func (k *soak) life(n int, c *mem.Client) error {
	l := Open(&stillEnv{drawn: uint64(n+1) << 32}, c, soakDir, "")
	l.Variant = k.variant
	if _, err := l.Read(); err != nil {
		return err
	}
	deny := func(body []byte, err error) error {
		if !errors.Is(err, ErrUnknown) && !c.Dead() {
			k.denied[string(body)] = true
		}
		return err
	}
	body := fmt.Appendf(nil, "%d 0", n)
	e, err := l.Append(Append{Kind: "begin", Body: body, Below: below(Again)})
	if err != nil {
		return deny(body, err)
	}
	k.won(e, n)
	epoch := e.N
	for i := range 3 {
		body := fmt.Appendf(nil, "%d %d %d", n, epoch, i)
		e, err := l.Append(Append{Kind: "complete", Body: body, Below: below(Fenced), OnTaken: func(o Entry) error {
			var life int
			of := o.N
			if o.Kind != "begin" {
				fmt.Sscan(string(o.Body), &life, &of) //nolint:errcheck // written below
			}
			if of > epoch {
				return fault.New(fault.Fenced, "a newer attempt began at %d", o.N)
			}
			return nil
		}})
		if err != nil {
			return deny(body, err)
		}
		k.won(e, n)
		for i := e.N - 1; i > 0 && i > e.N-6; i-- {
			if err := l.Remove(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *soak) won(e Entry, life int) {
	if o, ok := k.placed[e.N]; ok {
		k.failf("number %d was won by life %d (%s) and by life %d (%s)", e.N, o.life, o.kind, life, e.Kind)
	}
	k.placed[e.N] = record{life, e.Kind}
}

// fault makes one call in eight go wrong.
func (k *soak) fault(_ string, op mem.Op) mem.Effect {
	if k.r.Intn(8) > 0 {
		return mem.Effect{}
	}
	switch op.Kind {
	case mem.Rename:
		return effects[k.r.Intn(len(effects))]
	case mem.Write, mem.Sync, mem.Close:
		if k.r.Intn(2) == 0 {
			return mem.Effect{Kind: mem.Fail, Err: fs.ErrNoSpace}
		}
	case mem.SyncDir:
		if k.r.Intn(8) == 0 {
			return mem.Effect{Kind: mem.Fail, Err: errors.New("input/output error")}
		}
	}
	return mem.Effect{Kind: mem.Fail + mem.EffectKind(k.r.Intn(2))} // not done, or done and not answered
}

func runSoak(seed int64, variant protocol.Variant) *soak {
	k := &soak{r: rand.New(rand.NewSource(seed)), s: mem.New(), variant: variant, placed: map[int64]record{}, denied: map[string]bool{}}
	k.s.RenameMissingParent = k.r.Intn(2) == 0
	k.s.Trace = func(line string) { k.trace = append(k.trace, line) }
	k.s.Before = func(string, mem.Op) { k.yields[k.turn]() }
	k.s.Fault = k.fault
	const lives = 5
	var next []func() (struct{}, bool)
	var clients []*mem.Client
	alive := map[int]bool{}
	for steps := 0; steps < 4000 && k.broken == nil; steps++ {
		if len(next) < lives && (len(alive) == 0 || k.r.Intn(40) == 0) {
			n := len(next)
			c := k.s.Client(fmt.Sprintf("life%d", n))
			k.yields = append(k.yields, nil)
			resume, stop := iter.Pull(func(y func(struct{}) bool) {
				k.yields[n] = func() bool { return y(struct{}{}) }
				err := k.life(n, c)
				if fault.ClassOf(err) == fault.Damage || err != nil && fault.ClassOf(err) == fault.Bug {
					k.failf("life %d: %w", n, err)
				}
				k.trace = append(k.trace, fmt.Sprintf("life%d ends: %v", n, err))
			})
			defer stop()
			next, clients = append(next, resume), append(clients, c)
			alive[n] = true
		}
		if len(alive) == 0 {
			break
		}
		switch x := k.r.Intn(60); {
		case x == 0 && k.s.LateCount() > 0:
			k.s.Repeat(k.r.Intn(k.s.LateCount())) //nolint:errcheck // an answer that nobody gets
		case x == 1 && k.r.Intn(4) == 0:
			clients[k.r.Intn(len(clients))].Kill()
		case x == 2 && k.r.Intn(20) == 0:
			k.s.PowerCut(func() bool { return k.r.Intn(2) == 0 })
		}
		k.turn = k.r.Intn(len(next))
		if k.r.Intn(3) > 0 { // mostly one goes on while others sleep
			k.turn = (steps / 50) % len(next)
		}
		if alive[k.turn] {
			if _, more := next[k.turn](); !more {
				delete(alive, k.turn)
			}
		}
	}
	k.s.Before, k.s.Fault = nil, nil
	k.s.PowerCut(func() bool { return k.r.Intn(2) == 0 })
	k.judge()
	return k
}

// judge reads the log as the next life would.
func (k *soak) judge() {
	list, err := Open(&stillEnv{}, k.s.Client("judge"), soakDir, "").Read()
	if err != nil {
		k.failf("the log cannot be read: %w", err)
		return
	}
	all := map[int64]record{}
	last := int64(0)
	for n, r := range k.placed {
		all[n] = r
		last = max(last, n)
	}
	begins := int64(0) // what lies below the newest complete may be anything that came late
	for _, e := range list {
		if e.Kind == "complete" {
			begins = e.N
		}
	}
	for _, e := range list {
		if e.N < begins {
			continue
		}
		if k.denied[string(e.Body)] {
			k.failf("%d (%s, %s) stands and was said not to", e.N, e.Kind, e.Body)
		}
		var life int
		fmt.Sscan(string(e.Body), &life) //nolint:errcheck // written by life
		if r, ok := k.placed[e.N]; ok && r != (record{life, e.Kind}) {
			k.failf("%d was won by life %d and holds %s of life %d", e.N, r.life, e.Kind, life)
		}
		all[e.N] = record{life, e.Kind}
		last = max(last, e.N)
	}
	owner := -1
	for n := int64(1); n <= last; n++ {
		r, ok := all[n]
		if !ok {
			continue
		}
		if r.kind == "begin" {
			owner = r.life
		} else if _, told := k.placed[n]; told && r.life != owner {
			k.failf("complete %d of life %d stands behind the begin of life %d", n, r.life, owner)
		}
		if n >= begins && !contains(list, n) {
			k.failf("%d was won by life %d and is not in the log, which begins at or before %d", n, r.life, begins)
		}
	}
}

func contains(list []Entry, n int64) bool {
	for _, e := range list {
		if e.N == n {
			return true
		}
	}
	return false
}

func TestSoak(t *testing.T) {
	runs, won := 3000, 0
	if testing.Short() {
		runs = 300
	}
	for seed := range int64(runs) {
		k := runSoak(seed, protocol.Variant{})
		if k.broken != nil {
			t.Fatalf("seed %d: %v\n%s", seed, k.broken, strings.Join(k.trace, "\n"))
		}
		won += len(k.placed)
	}
	t.Logf("%d runs, %d entries won", runs, won)
	if won < 5*runs {
		t.Errorf("only %d entries in %d runs", won, runs)
	}
}

func TestSoakCatchesVariants(t *testing.T) {
	for name, v := range map[string]protocol.Variant{"no list": {NoList: true}, "overwrite": {Overwrite: true}, "unknown is ok": {TrustUnknownAsOk: true},
		"unknown is failed": {TrustUnknownAsFailed: true}} {
		found := ""
		for seed := range int64(3000) {
			if k := runSoak(seed, v); k.broken != nil {
				found = fmt.Sprintf("seed %d: %v", seed, k.broken)
				break
			}
		}
		if found == "" {
			t.Errorf("%s: nothing found", name)
		}
		t.Logf("%s: %s", name, found)
	}
}
