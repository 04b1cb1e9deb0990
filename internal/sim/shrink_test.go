package sim

import (
	"reflect"
	"testing"
)

// TestReplay: a seed is one history.
func TestReplay(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		stats, events, err := Play(seed, Protocol, Limits{}, nil)
		stats2, events2, err2 := Play(seed, Protocol, Limits{}, nil)
		if stats != stats2 || !reflect.DeepEqual(events, events2) || (err == nil) != (err2 == nil) {
			t.Errorf("seed %d: %+v, %v and %+v, %v", seed, stats, err, stats2, err2)
		}
	}
}

// TestShrink: a failing seed's story gets shorter, ends in the same kind of finding, and is told again exactly by what the report says.
func TestShrink(t *testing.T) {
	v := named("missing-is-done")
	seed := uint64(1)
	for ; ; seed++ {
		if _, err := Run(seed, v, nil); err != nil {
			break
		}
	}
	_, whole, first := Play(seed, v, Limits{}, nil)
	s := Shrink(seed, v, 80)
	if len(s.Events) >= len(whole) || findingOf(s.Err) != findingOf(first) || s.Tries > 80 {
		t.Errorf("%d disturbances of %d, %v, first %v, in %d tries", len(s.Events), len(whole), s.Err, first, s.Tries)
	}
	stats, events, err := Play(seed, v, s.Limits, nil)
	if stats != s.Stats || !reflect.DeepEqual(events, s.Events) || err == nil || err.Error() != s.Err.Error() {
		t.Errorf("told again: %+v\n%v\nbefore: %+v\n%v", stats, err, s.Stats, s.Err)
	}
	t.Log(s)
}
