package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shrunk is the smallest story found that still ends in the same kind of finding.
type Shrunk struct {
	Seed   uint64
	Limits Limits
	Events []Event
	Stats  Stats
	Err    error
	// Tries is how many stories were told to find it.
	Tries int
}

// Shrink makes the story of a failing seed smaller: fewer disturbances (faults, kills, starts), records, partitions, tables, subtasks. It tells
// at most budget stories.
func Shrink(seed uint64, v Variant, budget int) Shrunk {
	best := Shrunk{Seed: seed}
	best.Stats, best.Events, best.Err = Play(seed, v, Limits{}, nil)
	kind := findingOf(best.Err)
	try := func(l Limits) bool {
		if best.Tries >= budget || best.Err == nil {
			return false
		}
		best.Tries++
		stats, events, err := Play(seed, v, l, nil)
		if err == nil || findingOf(err) != kind {
			return false
		}
		best.Stats, best.Events, best.Err, best.Limits = stats, events, err, l
		return true
	}
	l := Limits{Keep: keys(best.Events)}
	l.Keep["lag"] = true
	if !try(l) { // what was not told cannot be left out: another order of the same
		l.Keep = nil
	}
	for again := true; again && best.Tries < budget; {
		again = shrinkEvents(&best, try) || shrinkWorld(&best, try)
	}
	return best
}

func keys(events []Event) map[string]bool {
	out := map[string]bool{}
	for _, e := range events {
		out[e.Key] = true
	}
	return out
}

// shrinkEvents leaves out disturbances, half of them at once first, then ever fewer.
func shrinkEvents(best *Shrunk, try func(Limits) bool) (did bool) {
	for size := (len(best.Limits.Keep) + 1) / 2; size >= 1; size /= 2 {
		for at := 0; at < len(best.Limits.Keep); {
			all := slices.Sorted(maps.Keys(best.Limits.Keep))
			l := best.Limits
			l.Keep = maps.Clone(l.Keep)
			for _, k := range all[at:min(at+size, len(all))] {
				delete(l.Keep, k)
			}
			if try(l) {
				did = true
			} else {
				at += size
			}
		}
	}
	return did
}

// shrinkWorld makes the world smaller.
func shrinkWorld(best *Shrunk, try func(Limits) bool) (did bool) {
	for _, change := range []func(*Limits){
		func(l *Limits) { l.Tables = 1 },
		func(l *Limits) { l.Parallelism = 1 },
		func(l *Limits) { l.Partitions = 1 },
		func(l *Limits) { l.Partitions = 2 },
		func(l *Limits) { l.Plain = true },
		func(l *Limits) { l.Records = max(1, records(*l)/2) },
		func(l *Limits) { l.Records = max(1, records(*l)*3/4) },
	} {
		for {
			l := best.Limits
			change(&l)
			if sameWorld(l, best.Limits) || !try(l) {
				break
			}
			did = true
		}
	}
	return did
}

func records(l Limits) int {
	if l.Records == 0 {
		return 160
	}
	return l.Records
}

func sameWorld(a, b Limits) bool {
	return a.Records == b.Records && a.Partitions == b.Partitions && a.Tables == b.Tables && a.Parallelism == b.Parallelism && a.Plain == b.Plain
}

// Flags are the flags of TestSimSeed that tell the story again.
func (s Shrunk) Flags(v Variant) string {
	out := fmt.Sprintf("-seed %d", s.Seed)
	if v.Name != Protocol.Name {
		out += " -variant " + v.Name
	}
	if s.Limits.Keep != nil {
		out += " -keep 'none," + strings.Join(slices.Sorted(maps.Keys(s.Limits.Keep)), ",") + "'"
	}
	return out + " -world " + s.Limits.world()
}

// world is the bounds of the world as text: records,partitions,tables,parallelism,plain.
func (l Limits) world() string {
	plain := 0
	if l.Plain {
		plain = 1
	}
	return fmt.Sprintf("%d,%d,%d,%d,%d", l.Records, l.Partitions, l.Tables, l.Parallelism, plain)
}

// String tells the story.
func (s Shrunk) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, made smaller in %d tries: %d records, %d attempts, %d checkpoints, %d disturbances\n", s.Seed, s.Tries, s.Stats.Records,
		s.Stats.Attempts, s.Stats.Checkpoints, len(s.Events))
	for _, e := range s.Events {
		fmt.Fprintf(&b, "  %s  %-8s %s\n", e.At.Format("15:04:05.000"), e.Key, e.What)
	}
	fmt.Fprintf(&b, "  %v", s.Err)
	return b.String()
}
