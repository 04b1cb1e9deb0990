package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var (
	errAny    = errors.New("any")
	errFenced = errors.New("fenced by the caller")
)

// step is an action that is expected and its answer.
type step struct {
	want string
	ev   Event
}

func show(a Action) string {
	switch a.Do {
	case Fail:
		return fmt.Sprintf("fail %d unknown=%v %v", a.N, a.Unknown, a.Err)
	case Stage, Mkdir, LookStage, Drop, Wait:
		return a.Do.String()
	}
	return fmt.Sprintf("%v %d", a.Do, a.N)
}

var (
	ok          = Event{}
	taken       = Event{Answer: Exist, Err: errAny}
	missing     = Event{Answer: NotExist, Err: errAny}
	unavailable = Event{Answer: Unavailable, Err: errAny}
	other       = Event{Answer: Other, Err: errAny}
	empty       = Event{Slot: Empty}
	ours        = Event{Slot: Ours}
	theirs      = Event{Slot: Theirs}
	stale       = Event{Slot: Stale}
)

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		name  string
		v     Variant
		last  int64
		steps []step
		end   string
	}{
		{"straight", Variant{}, 4, []step{{"stage", ok}, {"place 5", ok}, {"sync 5", ok}, {"list 5", ok}}, "done 5"},
		{"first of all", Variant{}, 0, []step{{"stage", missing}, {"mkdir", ok}, {"stage", ok}, {"place 1", ok}, {"sync 1", ok}, {"list 1", ok}}, "done 1"},
		{"folder gone", Variant{}, 4, []step{{"stage", missing}}, "fail 5 unknown=false " + ErrVanished.Error()},
		{"taken", Variant{}, 4, []step{{"stage", ok}, {"place 5", taken}, {"look 5", theirs}, {"taken 5", ok}, {"place 6", ok}, {"sync 6", ok}, {"list 6", ok}}, "done 6"},
		{"taken by who fences us", Variant{}, 4, []step{{"stage", ok}, {"place 5", taken}, {"look 5", theirs}, {"taken 5", Event{Answer: Other, Err: errFenced}}},
			"fail 5 unknown=false fenced by the caller"},
		{"answer lost", Variant{}, 4, []step{{"stage", ok}, {"place 5", unavailable}, {"look-stage", missing}, {"look 5", ours}, {"sync 5", ok}, {"list 5", ok}}, "done 5"},
		{"request lost", Variant{}, 4, []step{{"stage", ok}, {"place 5", unavailable}, {"look-stage", ok}, {"wait", ok}, {"place 5", ok}, {"sync 5", ok}, {"list 5", ok}}, "done 5"},
		{"request late", Variant{}, 4, []step{{"stage", ok}, {"place 5", unavailable}, {"look-stage", ok}, {"wait", ok}, {"place 5", missing}, {"look-stage", missing},
			{"look 5", ours}, {"sync 5", ok}, {"list 5", ok}}, "done 5"},
		{"linked, unlink unanswered", Variant{}, 4, []step{{"stage", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", taken}, {"look 5", ours}, {"sync 5", ok}, {"list 5", ok}},
			"done 5"},
		{"refused, lost race", Variant{}, 4, []step{{"stage", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", taken}, {"look 5", theirs}, {"taken 5", ok},
			{"place 6", ok}, {"sync 6", ok}, {"list 6", ok}}, "done 6"},
		{"staged file vanished", Variant{}, 4, []step{{"stage", ok}, {"place 5", missing}, {"look-stage", missing}, {"look 5", empty}, {"stage", ok}, {"place 5", ok}, {"sync 5", ok}, {"list 5", ok}},
			"done 5"},
		{"staged file vanished, taken", Variant{}, 4, []step{{"stage", ok}, {"place 5", missing}, {"look-stage", missing}, {"look 5", theirs}, {"taken 5", ok}, {"stage", ok}, {"place 6", ok},
			{"sync 6", ok}, {"list 6", ok}}, "done 6"},
		{"staged file vanishes for ever", Variant{}, 4, []step{{"stage", ok}, {"place 5", missing}, {"look-stage", missing}, {"look 5", empty}, {"stage", ok}, {"place 5", missing},
			{"look-stage", missing}, {"look 5", empty}}, "fail 5 unknown=false the staged file vanishes again and again"},
		{"refused for ever", Variant{}, 4, []step{{"stage", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", other},
			{"look-stage", ok}, {"wait", ok}, {"place 5", other}, {"drop", ok}, {"look 5", empty}}, "fail 5 unknown=false any"},
		{"refused for ever and carried out", Variant{}, 4, []step{{"stage", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", other},
			{"look-stage", ok}, {"wait", ok}, {"place 5", other}, {"drop", missing}, {"look 5", ours}, {"sync 5", ok}, {"list 5", ok}}, "done 5"},
		{"nothing can be known", Variant{}, 4, []step{{"stage", ok}, {"place 5", other}, {"look-stage", other}, {"wait", ok}, {"look-stage", other}, {"wait", ok}, {"look-stage", other}},
			"fail 5 unknown=true any"},
		{"drop refused", Variant{}, 4, []step{{"stage", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", other}, {"look-stage", ok}, {"wait", ok}, {"place 5", other},
			{"look-stage", ok}, {"wait", ok}, {"place 5", other}, {"drop", unavailable}, {"wait", ok}, {"drop", other}}, "fail 5 unknown=true any"},
		{"taken and empty", Variant{}, 4, []step{{"stage", ok}, {"place 5", taken}, {"look 5", empty}, {"wait", ok}, {"place 5", taken}, {"look 5", empty}, {"wait", ok}, {"place 5", taken},
			{"look 5", empty}, {"wait", ok}, {"place 5", taken}, {"look 5", empty}, {"drop", ok}, {"look 5", empty}}, "fail 5 unknown=false " + ErrTakenAndEmpty.Error()},
		{"outage everywhere", Variant{}, 0, []step{{"stage", unavailable}, {"wait", ok}, {"stage", missing}, {"mkdir", unavailable}, {"wait", ok}, {"mkdir", ok}, {"stage", ok},
			{"place 1", unavailable}, {"look-stage", unavailable}, {"wait", ok}, {"look-stage", missing}, {"look 1", unavailable}, {"wait", ok}, {"look 1", ours},
			{"sync 1", unavailable}, {"wait", ok}, {"sync 1", ok}, {"list 1", unavailable}, {"wait", ok}, {"list 1", ok}}, "done 1"},
		{"no wait while staging", Variant{}, 4, []step{{"stage", unavailable}, {"wait", other}}, "fail 5 unknown=false any"},
		{"no wait after place", Variant{}, 4, []step{{"stage", ok}, {"place 5", unavailable}, {"look-stage", ok}, {"wait", other}}, "fail 5 unknown=true any"},
		{"no wait before sync", Variant{}, 4, []step{{"stage", ok}, {"place 5", ok}, {"sync 5", unavailable}, {"wait", other}}, "fail 5 unknown=true any"},
		{"no space", Variant{}, 4, []step{{"stage", other}}, "fail 5 unknown=false any"},
		{"no space for a second staging", Variant{}, 4, []step{{"stage", ok}, {"place 5", missing}, {"look-stage", missing}, {"look 5", empty}, {"stage", other}}, "fail 5 unknown=false any"},
		{"damaged slot", Variant{}, 4, []step{{"stage", ok}, {"place 5", taken}, {"look 5", Event{Answer: Exist, Err: errAny}}}, "fail 5 unknown=false any"},
		{"fsync fails", Variant{}, 4, []step{{"stage", ok}, {"place 5", ok}, {"sync 5", other}}, "fail 5 unknown=true any"},
		{"below the beginning, fenced", Variant{}, 4, []step{{"stage", ok}, {"place 5", ok}, {"sync 5", ok}, {"list 5", Event{Verdict: Fenced}}}, "fail 5 unknown=true " + ErrFenced.Error()},
		{"below the beginning, again", Variant{}, 4, []step{{"stage", ok}, {"place 5", ok}, {"sync 5", ok}, {"list 5", Event{Verdict: Again}}, {"catch-up 5", unavailable}, {"wait", ok},
			{"catch-up 5", Event{N: 9}}, {"stage", ok}, {"place 10", ok}, {"sync 10", ok}, {"list 10", ok}}, "done 10"},
		{"below the beginning, again, fenced", Variant{}, 4, []step{{"stage", ok}, {"place 5", ok}, {"sync 5", ok}, {"list 5", Event{Verdict: Again}},
			{"catch-up 5", Event{Answer: Other, Err: errFenced}}}, "fail 5 unknown=false fenced by the caller"},
		{"unreadable below the beginning", Variant{}, 4, []step{{"stage", ok}, {"place 5", taken}, {"look 5", stale}, {"list 5", Event{Verdict: Again}}, {"catch-up 5", Event{N: 7}},
			{"place 8", ok}, {"sync 8", ok}, {"list 8", ok}}, "done 8"},
		{"unreadable below the beginning, fenced", Variant{}, 4, []step{{"stage", ok}, {"place 5", taken}, {"look 5", stale}, {"list 5", Event{Verdict: Fenced}}},
			"fail 5 unknown=false " + ErrFenced.Error()},
		{"unreadable, not below the beginning", Variant{}, 4, []step{{"stage", ok}, {"place 5", taken}, {"look 5", stale}, {"list 5", ok}}, "fail 5 unknown=false " + ErrStale.Error()},
		{"variant: no list", Variant{NoList: true}, 4, []step{{"stage", ok}, {"place 5", ok}, {"sync 5", ok}}, "done 5"},
		{"variant: unknown is ok", Variant{TrustUnknownAsOk: true}, 4, []step{{"stage", ok}, {"place 5", unavailable}, {"sync 5", ok}, {"list 5", ok}}, "done 5"},
		{"variant: unknown is failed", Variant{TrustUnknownAsFailed: true}, 4, []step{{"stage", ok}, {"place 5", unavailable}}, "fail 5 unknown=false any"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(c.v, c.last)
			act := m.Start()
			for i, s := range c.steps {
				if show(act) != s.want {
					t.Fatalf("step %d: %s, want %s", i, show(act), s.want)
				}
				act = m.On(s.ev)
			}
			if show(act) != c.end {
				t.Fatalf("ended with %s, want %s", show(act), c.end)
			}
		})
	}
}

// TestAllAnswers feeds every sequence of answers up to a length: the machine always has a next action, never acts after the end, never
// reports success without one of the two signs (INV L1), and never calls an outcome known against INV L3.
func TestAllAnswers(t *testing.T) {
	type world struct {
		// sent: a place of the file staged now got no clear answer. settled is what makes the outcome known afterwards.
		sent, gone bool
	}
	count := 0
	var walk func(path []Event, depth int)
	replay := func(path []Event) (Action, bool, world) {
		m := New(Variant{}, 3)
		act := m.Start()
		placed := false
		var w world
		for _, e := range path {
			switch act.Do {
			case Place:
				if e.Answer == OK {
					placed, w.sent = true, false
				} else if e.Answer != Exist {
					w.sent = true
				}
			case LookStage:
				w.gone = e.Answer == NotExist
			case Drop:
				w.gone = e.Answer == OK || e.Answer == NotExist
			case Stage:
				if e.Answer == OK {
					w = world{}
				}
			case Look:
				if e.Answer == OK {
					placed = e.Slot == Ours
					if e.Slot != Empty || w.gone {
						w.sent = false
					}
				}
			case CatchUp:
				placed = false
			case List:
				if e.Answer == OK && e.Verdict != Fine {
					placed = false
				}
			}
			act = m.On(e)
		}
		return act, placed, w
	}
	walk = func(path []Event, depth int) {
		act, placed, w := replay(path)
		count++
		switch act.Do {
		case Done:
			if !placed {
				t.Fatalf("done without a sign: %+v", path)
			}
			return
		case Fail:
			if act.Err == nil {
				t.Fatalf("failed without an error: %+v", path)
			}
			if !act.Unknown && (placed || w.sent) {
				t.Fatalf("called known (placed %v, sent %v): %+v", placed, w.sent, path)
			}
			return
		}
		if depth == 0 {
			return
		}
		var answers []Event
		switch act.Do {
		case Look:
			answers = []Event{empty, ours, theirs, stale, unavailable, other, taken}
		case List:
			answers = []Event{ok, {Verdict: Fenced}, {Verdict: Again}, unavailable, other}
		case CatchUp:
			answers = []Event{{N: act.N + 2}, unavailable, other}
		case Taken, Wait:
			answers = []Event{ok, other}
		case Sync, Mkdir:
			answers = []Event{ok, unavailable, other}
		case LookStage, Drop:
			answers = []Event{ok, missing, unavailable, other}
		default:
			answers = []Event{ok, taken, missing, unavailable, other}
		}
		for _, e := range answers {
			walk(append(path[:len(path):len(path)], e), depth-1)
		}
	}
	walk(nil, 10)
	t.Logf("%d sequences", count)
	if count < 10000 {
		t.Error("too few sequences")
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		listed []int64
		last   int64
		run    string
		gap    bool
	}{
		{nil, 0, "[]", false},
		{nil, 5, "[]", false},
		{[]int64{1, 2, 3}, 0, "[1 2 3]", false},
		{[]int64{3, 4}, 0, "[3 4]", false},
		{[]int64{1, 3, 4}, 0, "[3 4]", true},
		{[]int64{1, 3, 4, 6}, 0, "[6]", true},
		{[]int64{1, 2, 3}, 2, "[3]", false},
		{[]int64{1, 2, 3}, 3, "[]", false},
		{[]int64{7, 8}, 3, "[7 8]", true},
		{[]int64{3, 4, 7, 8}, 3, "[7 8]", true},
		{[]int64{1, 3, 4}, 2, "[3 4]", false},
		{[]int64{1, 3, 4}, 3, "[4]", false},
	} {
		run, gap := Run(c.listed, c.last)
		if got := strings.ReplaceAll(fmt.Sprint(run), "[]int64", ""); got != c.run || gap != c.gap {
			t.Errorf("%v behind %d: %v %v", c.listed, c.last, run, gap)
		}
	}
}
