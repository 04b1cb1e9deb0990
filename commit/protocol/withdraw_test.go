package protocol

import (
	"fmt"
	"testing"
)

// place is a file of a superseded checkpoint and where its copies lie, with an older attempt that may move it from pending to final at any time.
type places struct {
	pending, final bool
	taken          map[string]bool
	late           bool // an older attempt's rename is still to come
}

// step carries an ask out. how says what is answered: as it is, or done but not answered, or not done.
func (p *places) step(w *Withdraw, ask Ask, how Answer) Answer {
	name := func(kind string) string { return fmt.Sprint(kind, w.Name) }
	move := func(from *bool, to string) Answer {
		switch {
		case how == Other || how == Refused:
			return how
		case !*from:
			return Missing
		case p.taken[to]:
			return Exists
		}
		*from, p.taken[to] = false, true
		return how
	}
	look := func(there bool) Answer {
		switch {
		case how == Unavailable || how == Other:
			return how
		case there:
			return OK
		}
		return Missing
	}
	switch ask {
	case TakePending:
		return move(&p.pending, name("pending"))
	case TakeFinal:
		return move(&p.final, name("final"))
	case LookPending:
		return look(p.pending)
	case LookFinal:
		return look(p.final)
	case LookTaken:
		return look(len(p.taken) > 0)
	case MakeTaken:
		return how
	}
	return OK
}

// TestWithdraw plays every beginning with every answer to the first calls and an older attempt's late rename before any of them: at the end no
// place holds the file, and what was there is under _superseded.
func TestWithdraw(t *testing.T) {
	hows := []Answer{OK, Unavailable, Refused, Other}
	const depth = 5
	runs := 0
	for start := range 16 {
		for code := range pow(len(hows), depth) {
			for late := -1; late < 8; late++ {
				p := places{pending: start&1 > 0, final: start&2 > 0, taken: map[string]bool{}, late: late >= 0}
				if start&4 > 0 {
					p.taken["pending1"] = true
				}
				if start&8 > 0 {
					p.taken["final1"] = true
				}
				was := p.pending || p.final || len(p.taken) > 0
				copies := len(p.taken) + btoi(p.pending) + btoi(p.final)
				end, asks := drive(&p, code, late, hows, depth)
				runs++
				if p.pending || p.final {
					t.Fatalf("start %b, answers %d, late %d: ended with %d, pending %v, final %v: %v", start, code, late, end, p.pending, p.final, asks)
				}
				if len(p.taken) != copies || (end == IsMoved) != was {
					t.Fatalf("start %b, answers %d, late %d: ended with %d, %d copies, %d were: %v", start, code, late, end, len(p.taken), copies, asks)
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

// drive carries a withdrawal out. An older attempt's rename takes effect before call late.
func drive(p *places, code, late int, hows []Answer, depth int) (Ask, []Ask) {
	var w Withdraw
	ask := w.Start()
	var asks []Ask
	for n, calls := 0, 0; ; n++ {
		if n > 400 {
			return ask, asks
		}
		asks = append(asks, ask)
		how := OK
		switch ask {
		case IsMoved, IsGone, Fails:
			return ask, asks
		case Wait, ReadLog:
			ask = w.Next(OK)
			continue
		}
		if calls == late && p.pending && !p.final {
			p.pending, p.final = false, true
		}
		if calls < depth {
			how = hows[code%len(hows)]
			code /= len(hows)
		}
		calls++
		ask = w.Next(p.step(&w, ask, how))
	}
}

func pow(a, n int) int {
	out := 1
	for range n {
		out *= a
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestWithdrawGivesUp: a move that is refused again and again while the file stays is an error for the restart strategy; an outage is not.
func TestWithdrawGivesUp(t *testing.T) {
	for _, a := range []Answer{Refused, Other, Missing} {
		var w Withdraw
		ask := w.Start()
		n := 0
		for ; ask != Fails && n < 1000; n++ {
			switch ask {
			case TakePending:
				ask = w.Next(a)
			default:
				ask = w.Next(OK)
			}
		}
		if ask != Fails || n > 100 {
			t.Errorf("answer %d: %d after %d asks", a, ask, n)
		}
	}
	var w Withdraw
	ask := w.Start()
	for range 1000 {
		if ask == Fails || ask == IsMoved || ask == IsGone {
			t.Fatalf("an outage ends with %d", ask)
		}
		if ask == TakePending {
			ask = w.Next(Unavailable)
		} else {
			ask = w.Next(OK)
		}
	}
}

// TestWithdrawTakenNames: a name that is taken again and again ends, too.
func TestWithdrawTakenNames(t *testing.T) {
	var w Withdraw
	ask := w.Start()
	for n := 0; ask != Fails; n++ {
		if n > 1000 {
			t.Fatal("no end")
		}
		if ask == TakePending {
			ask = w.Next(Exists)
		} else {
			ask = w.Next(OK)
		}
	}
	if w.Name != MaxNames {
		t.Errorf("ended at name %d", w.Name)
	}
}
