package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/log/protocol"
)

// stillEnv is a world without time, whose randomness counts up from a start of its own.
type stillEnv struct{ drawn uint64 }

func (e *stillEnv) Now() time.Time          { return time.Time{} }
func (e *stillEnv) Go(string, func())       { panic("the log starts no activity") }
func (e *stillEnv) NewSignal() env.Signal   { return e }
func (e *stillEnv) Notify()                 {}
func (e *stillEnv) Wait(time.Duration) bool { return false }
func (e *stillEnv) Rand(b []byte) {
	e.drawn++
	clear(b)
	binary.BigEndian.PutUint64(b[len(b)-8:], e.drawn)
}

// choices enumerates all sequences of choices, depth first.
type choices struct {
	taken, of []int
	at        int
}

func (c *choices) choose(n int) int {
	if n <= 1 {
		return 0
	}
	if c.at == len(c.taken) {
		c.taken, c.of = append(c.taken, 0), append(c.of, n)
	}
	if c.of[c.at] != n {
		panic("a run is not determined by its choices")
	}
	c.at++
	return c.taken[c.at-1]
}

// next goes to the next sequence; false after the last.
func (c *choices) next() bool {
	c.at = 0
	for i := len(c.taken) - 1; i >= 0; i-- {
		if c.taken[i]++; c.taken[i] < c.of[i] {
			c.taken, c.of = c.taken[:i+1], c.of[:i+1]
			return true
		}
	}
	return false
}

// race is two processes that append one entry each to one log.
type race struct {
	// every: switch at every call; otherwise only where the other process can notice.
	every bool
	// faults, lates, kills are how many of each may happen.
	faults, lates, kills int
	variant              protocol.Variant
}

type actor struct {
	client *mem.Client
	next   func() (mem.Op, bool)
	stop   func()
	done   bool
	entry  Entry
	err    error
	shown  []Entry
}

// effects are what may happen to a rename. The last two are a client that tries again by itself after a lost answer.
var effects = []mem.Effect{{}, {Kind: mem.Fail}, {Kind: mem.Lost}, {Kind: mem.Refuse}, {Kind: mem.DoneRefuse},
	{Kind: mem.Lost, Err: fs.ErrNotExist}, {Kind: mem.Lost, Err: fs.ErrExist}}

// run makes one run; the error is the promise that was broken.
func (r race) run(c *choices, trace func(string)) error {
	s := mem.New()
	s.Trace = trace
	setup := s.Client("setup")
	if err := setup.MkdirAll("/t/log"); err != nil {
		return err
	}
	actors := make([]*actor, 2)
	current := 0
	var yield func(mem.Op) bool
	faults, lates, kills := r.faults, r.lates, r.kills
	s.Before = func(_ string, op mem.Op) {
		if r.every || op.Kind == mem.Rename || op.Kind == mem.List || op.Kind == mem.Delete || op.Kind == mem.Stat || op.Kind == mem.Open && !strings.Contains(op.Path, stagedPrefix) {
			yield(op)
		}
	}
	s.Fault = func(_ string, op mem.Op) mem.Effect {
		if faults > 0 && op.Kind == mem.Rename {
			e := effects[c.choose(len(effects))]
			if e.Kind != mem.None {
				faults--
			}
			return e
		}
		return mem.Effect{}
	}
	yields := make([]func(mem.Op) bool, 2)
	for i := range actors {
		a := &actor{client: s.Client(string(rune('a' + i)))}
		l := Open(&stillEnv{drawn: uint64(i+1) << 32}, a.client, "/t/log", "")
		l.rooted, l.Variant = true, r.variant
		a.next, a.stop = iter.Pull(func(y func(mem.Op) bool) {
			yields[i] = y
			a.entry, a.err = l.Append(Append{Kind: "begin", Body: []byte{byte('a' + i)}, OnTaken: func(e Entry) error {
				a.shown = append(a.shown, e)
				return nil
			}})
		})
		actors[i] = a
		defer a.stop()
	}
	step := func(i int) {
		current = i
		yield = func(op mem.Op) bool { return yields[current](op) }
		_, more := actors[i].next()
		actors[i].done = !more
	}
	for i := range actors {
		step(i)
	}
	for !actors[0].done || !actors[1].done {
		type move struct{ kind, i int }
		var moves []move
		for i, a := range actors {
			if !a.done {
				moves = append(moves, move{0, i})
			}
		}
		if lates > 0 {
			for i, call := range s.Late() {
				if call.Op.Kind == mem.Rename {
					moves = append(moves, move{1, i})
				}
			}
		}
		if kills > 0 && !actors[0].done {
			moves = append(moves, move{2, 0})
		}
		switch m := moves[c.choose(len(moves))]; m.kind {
		case 0:
			step(m.i)
		case 1:
			lates--
			s.Repeat(m.i) //nolint:errcheck // an answer that nobody gets
		case 2:
			kills--
			actors[0].client.Kill()
			step(0)
			for !actors[0].done {
				step(0)
			}
		}
	}
	s.Before, s.Fault = nil, nil
	if err := r.judge(s, actors); err != nil {
		return err
	}
	for range 2 { // whatever arrives late, creates and deletes of staged files too, changes nothing
		for i := range s.Late() {
			s.Repeat(i) //nolint:errcheck // see above
		}
	}
	if err := r.judge(s, actors); err != nil {
		return fmt.Errorf("after late calls: %w", err)
	}
	return nil
}

// errGaveUp: no promise is broken, but the append should have succeeded.
var errGaveUp = errors.New("gave up")

// judge compares what the processes were told with what is there.
func (r race) judge(s *mem.Store, actors []*actor) error {
	stands := map[string][]int64{} // by body
	look := s.Client("judge")
	infos, err := look.List("/t/log")
	if err != nil {
		return err
	}
	for i := range int64(len(infos) + 2) {
		e, err := readEntry(look, fmt.Sprintf("/t/log/%d", i), i)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		stands[string(e.Body)] = append(stands[string(e.Body)], e.N)
		for _, a := range actors {
			if a.err == nil && a.entry.N == e.N && (a.entry.Nonce != e.Nonce || a.entry.SHA256 != e.SHA256) {
				return fmt.Errorf("%s was told that it has %d, where %s's entry is", a.client.Name(), e.N, e.Body)
			}
		}
	}
	for i, a := range actors {
		name := a.client.Name()
		at := stands[name]
		switch {
		case len(at) > 1:
			return fmt.Errorf("the entry of %s stands at %v", name, at)
		case a.err == nil && (len(at) != 1 || at[0] != a.entry.N):
			return fmt.Errorf("%s was told that it has %d, its entry stands at %v", name, a.entry.N, at)
		case a.err != nil && len(at) == 1 && !errors.Is(a.err, ErrUnknown) && !a.client.Dead():
			return fmt.Errorf("%s was told that it failed (%v), its entry stands at %v", name, a.err, at)
		case a.err != nil && !a.client.Dead():
			return fmt.Errorf("%w: %s: %w", errGaveUp, name, a.err)
		}
		if a.err == nil && a.entry.N > 1 {
			if len(a.shown) == 0 || string(a.shown[0].Body) != actors[1-i].client.Name() {
				return fmt.Errorf("%s has %d and was shown %v", name, a.entry.N, a.shown)
			}
		}
	}
	return nil
}

// all makes every run until one breaks a promise; giving up is one only if mayGiveUp is false.
func (r race) all(mayGiveUp bool) (runs int, c *choices, err error) {
	c = &choices{}
	for {
		runs++
		if err = r.run(c, nil); err != nil && !(mayGiveUp && errors.Is(err, errGaveUp)) {
			return runs, c, err
		}
		if !c.next() {
			return runs, c, nil
		}
	}
}

func (r race) trace(c *choices) string {
	c.at = 0
	var b strings.Builder
	err := r.run(c, func(l string) { b.WriteString("  " + l + "\n") })
	return fmt.Sprintf("%v\n%s", err, b.String())
}

func TestTwoAppenders(t *testing.T) {
	for name, r := range map[string]race{
		"every call":          {every: true},
		"one fault, one late": {faults: 1, lates: 1},
		"two faults":          {faults: 2},
		"killed":              {faults: 1, kills: 1},
		"killed, late":        {kills: 1, lates: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (r.every || r.faults > 1) {
				t.Skip("long")
			}
			runs, c, err := r.all(false)
			if err != nil {
				t.Fatalf("run %d: %s", runs, r.trace(c))
			}
			t.Logf("%d runs", runs)
			if runs < 20 {
				t.Error("too few runs")
			}
		})
	}
}

// TestVariantsAreCaught takes rules away: the same search must find a broken promise.
func TestVariantsAreCaught(t *testing.T) {
	for name, v := range map[string]protocol.Variant{
		"unknown is ok":     {TrustUnknownAsOk: true},
		"unknown is failed": {TrustUnknownAsFailed: true},
		"overwrite":         {Overwrite: true},
	} {
		r := race{faults: 1, lates: 1, variant: v}
		runs, c, err := r.all(true)
		if err == nil {
			t.Errorf("%s: %d runs and nothing found", name, runs)
			continue
		}
		t.Logf("%s: run %d: %s", name, runs, r.trace(c))
	}
}

// TestStaleAppender: A falls asleep, B goes on and cleans, A wakes up and finds its number free. Only the listing tells it.
func TestStaleAppender(t *testing.T) {
	prepare := func() (*mem.Store, *Log) {
		s := mem.New()
		a := Open(&stillEnv{drawn: 1 << 32}, s.Client("a"), "/log", "")
		b := Open(&stillEnv{drawn: 2 << 32}, s.Client("b"), "/log", "")
		appendTo(t, a, "begin", "a")
		if _, err := b.Read(); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"begin", "complete", "complete"} {
			appendTo(t, b, kind, "b")
		}
		for n := range int64(4) {
			if err := b.Remove(n); err != nil {
				t.Fatal(err)
			}
		}
		return s, a
	}

	s, a := prepare()
	_, err := a.Append(Append{Kind: "complete", Below: below(Fenced)})
	if fault.ClassOf(err) != fault.Fenced {
		t.Errorf("got %v", err)
	}
	if got := texts(read(t, Open(&stillEnv{}, s.Client("c"), "/log", ""))); got != "4 complete b\n" {
		t.Errorf("a reader sees\n%s", got)
	}

	_, a = prepare()
	a.Variant.NoList = true
	if e, err := a.Append(Append{Kind: "complete", Below: below(Fenced)}); err != nil || e.N != 2 {
		t.Errorf("without the listing it should believe that it won: %+v, %v", e, err)
	}

	s, a = prepare()
	var shown, heads []string
	e, err := a.Append(Append{Kind: "begin", Body: []byte("a2"), OnTaken: func(e Entry) error { shown = append(shown, fmt.Sprint(e.N, " ", e.Kind)); return nil },
		Below: func(own int64, all []Head) Below {
			heads = append(heads, fmt.Sprint(own, all))
			if BelowBeginning(own, all) {
				return Again
			}
			return Fine
		}})
	if err != nil || e.N != 5 {
		t.Errorf("%+v, %v", e, err)
	}
	if got := fmt.Sprint(shown, heads); got != "[4 complete] [2 [{2 begin} {4 complete}] 5 [{4 complete} {5 begin}]]" {
		t.Errorf("shown and asked: %s", got)
	}
	if got := texts(read(t, Open(&stillEnv{}, s.Client("c"), "/log", ""))); got != "4 complete b\n5 begin a2\n" {
		t.Errorf("a reader sees\n%s", got)
	}
}

// TestEntryIsDurable cuts the power right after an append: the entry and the folders that lead to it are there.
func TestEntryIsDurable(t *testing.T) {
	for made := range 2 {
		for bits := range 1 << 10 {
			s := mem.New()
			if made == 1 { // by another process, which died before it synced anything
				if err := s.Client("b").MkdirAll("/base/job/log"); err != nil {
					t.Fatal(err)
				}
			}
			l := Open(&stillEnv{}, s.Client("a"), "/base/job/log", "")
			appendTo(t, l, "begin", "1")
			appendTo(t, l, "complete", "2")
			asked := 0
			s.PowerCut(func() bool { asked++; return bits>>(asked-1)&1 == 0 })
			got, err := Open(&stillEnv{}, s.Client("c"), "/base/job/log", "").Read()
			if err != nil || texts(got) != "1 begin 1\n2 complete 2\n" {
				t.Fatalf("choices %b: %v\n%s", bits, err, texts(got))
			}
		}
	}
}

// TestNoGapAfterPowerCut: A places an entry and dies before its folder is durable, B goes on behind it and dies in the same place. Whatever a
// power cut keeps is a log that can be read.
func TestNoGapAfterPowerCut(t *testing.T) {
	seen := map[string]bool{}
	for _, reads := range []bool{false, true} {
		for bits := range 1 << 8 {
			s := mem.New()
			l := Open(&stillEnv{}, s.Client("setup"), "/log", "")
			appendTo(t, l, "begin", "0")
			placed := map[string]bool{}
			s.Fault = func(client string, op mem.Op) mem.Effect {
				placed[client] = placed[client] || op.To == map[string]string{"a": "/log/2", "b": "/log/3"}[client] && op.To != ""
				if placed[client] && op.Kind == mem.SyncDir {
					return mem.Effect{Kind: mem.Fail, Err: errors.New("dead")}
				}
				return mem.Effect{}
			}
			for i, name := range []string{"a", "b"} {
				l := Open(&stillEnv{drawn: uint64(i+1) << 32}, s.Client(name), "/log", "")
				if reads {
					read(t, l)
				}
				if _, err := l.Append(Append{Kind: "begin", Body: []byte(name)}); !errors.Is(err, ErrUnknown) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			asked := 0
			s.PowerCut(func() bool { asked++; return bits>>(asked-1)&1 == 0 })
			got, err := Open(&stillEnv{}, s.Client("c"), "/log", "").Read()
			if err != nil {
				t.Fatalf("choices %b: %v", bits, err)
			}
			seen[texts(got)] = true
		}
	}
	// A's entry is durable before B's is placed.
	if !seen["1 begin 0\n2 begin a\n"] || !seen["1 begin 0\n2 begin a\n3 begin b\n"] || len(seen) != 2 {
		t.Errorf("seen %v", seen)
	}
}

// TestOwnUnknownEntryIsDurable: an append ends at a call that fails. Whether its entry stands is not known, and the same process reads the log
// again before it goes on: what it finds there outlives a power cut, and while it cannot be made durable, it is not read.
func TestOwnUnknownEntryIsDurable(t *testing.T) {
	found := 0
	for at := 1; ; at++ {
		for bits := range 1 << 6 {
			s := mem.New()
			l := Open(&stillEnv{}, s.Client("a"), "/log", "")
			appendTo(t, l, "begin", "1")
			calls, broken := 0, false
			s.Fault = func(_ string, op mem.Op) mem.Effect {
				if calls++; calls == at || broken && op.Kind == mem.SyncDir {
					broken = true
					return mem.Effect{Kind: mem.Fail, Err: errors.New("input/output error")}
				}
				return mem.Effect{}
			}
			if _, err := l.Append(Append{Kind: "complete", Body: []byte("2")}); err == nil {
				if found == 0 {
					t.Error("no failure left an entry that stands")
				}
				return
			}
			if got, err := l.Read(); err == nil && len(got) > 0 {
				t.Fatalf("call %d: an entry was read that is not durable:\n%s", at, texts(got))
			}
			s.Fault = nil
			got := read(t, l)
			found += len(got)
			asked := 0
			s.PowerCut(func() bool { asked++; return bits>>(asked-1)&1 == 0 })
			if after := texts(read(t, Open(&stillEnv{}, s.Client("c"), "/log", ""))); after != "1 begin 1\n"+texts(got) {
				t.Fatalf("call %d, choices %b: it had read\n%s, and behind the power cut there is\n%s", at, bits, texts(got), after)
			}
		}
	}
}
