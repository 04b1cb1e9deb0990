package model

import (
	"fmt"
	"time"
	"unsafe"
)

// Model is what the checker explores: a finite graph of comparable states.
type Model[S comparable] interface {
	Init() S
	// Next emits every successor with a label for the schedule.
	Next(s *S, emit func(S, Label))
	// Check returns the name of a broken property, or "".
	Check(s *S) string
	// CheckStep returns the name of a property broken by one step, or "".
	CheckStep(from, to *S, l Label) string
	// Stuck returns a complaint when a state without successors is no proper end.
	Stuck(s *S) string
	Show(l Label) string
}

// Label names a step: what, by whom, on what.
type Label struct{ Op, Who, Arg, Arg2 uint8 }

// Result of one exploration.
type Result struct {
	States    int
	Edges     int
	Depth     int
	Complete  bool // the whole space was seen
	Violation string
	Trace     []string
	Took      time.Duration
}

// hash mixes the raw bytes of a state that has no pointers and no padding.
func hash[S comparable](s *S) uint64 {
	n := int(unsafe.Sizeof(*s))
	b := unsafe.Slice((*byte)(unsafe.Pointer(s)), n)
	h := uint64(0x9E3779B97F4A7C15)
	i := 0
	for ; i+8 <= n; i += 8 {
		h ^= *(*uint64)(unsafe.Pointer(&b[i]))
		h *= 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	for ; i < n; i++ {
		h ^= uint64(b[i])
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 29
	}
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	if h == 0 {
		h = 1
	}
	return h
}

// table is an open-addressed set of state hashes, each with the hash of the state it was first reached from.
type table struct {
	key, parent []uint64
	n           int
}

func newTable() *table { return &table{key: make([]uint64, 1<<16), parent: make([]uint64, 1<<16)} }

func (t *table) add(k, p uint64) bool {
	if t.n*10 > len(t.key)*6 {
		o := *t
		t.key, t.parent, t.n = make([]uint64, 2*len(o.key)), make([]uint64, 2*len(o.key)), 0
		for i, k := range o.key {
			if k != 0 {
				t.add(k, o.parent[i])
			}
		}
	}
	m := uint64(len(t.key) - 1)
	for i := k & m; ; i = (i + 1) & m {
		if t.key[i] == k {
			return false
		}
		if t.key[i] == 0 {
			t.key[i], t.parent[i] = k, p
			t.n++
			return true
		}
	}
}

func (t *table) get(k uint64) uint64 {
	m := uint64(len(t.key) - 1)
	for i := k & m; t.key[i] != 0; i = (i + 1) & m {
		if t.key[i] == k {
			return t.parent[i]
		}
	}
	return 0
}

// explore searches breadth first, so that the first violation found has a shortest schedule.
func explore[S comparable](m Model[S], limit int) Result {
	start := time.Now()
	seen := newTable()
	init := m.Init()
	seen.add(hash(&init), 0)
	frontier, next := []S{init}, []S(nil)
	r := Result{Complete: true}
	fail := func(s *S, what string, last *Label) Result {
		r.Violation, r.Complete = what, false
		r.Trace = trace(m, seen, hash(s))
		if last != nil {
			r.Trace = append(r.Trace, m.Show(*last))
		}
		r.States, r.Took = seen.n, time.Since(start)
		return r
	}
	for len(frontier) > 0 {
		next = next[:0]
		for i := range frontier {
			s := &frontier[i]
			h := hash(s)
			moved := false
			bad, badLabel := "", Label{}
			m.Next(s, func(n S, l Label) {
				if n == *s {
					return
				}
				moved = true
				r.Edges++
				if bad != "" {
					return
				}
				if w := m.CheckStep(s, &n, l); w != "" {
					bad, badLabel = w, l
					return
				}
				if seen.add(hash(&n), h) {
					if w := m.Check(&n); w != "" {
						bad, badLabel = w, l
						return
					}
					next = append(next, n)
				}
			})
			if bad != "" {
				return fail(s, bad, &badLabel)
			}
			if !moved {
				if w := m.Stuck(s); w != "" {
					return fail(s, w, nil)
				}
			}
		}
		frontier, next = next, frontier
		if len(frontier) > 0 {
			r.Depth++
		}
		if seen.n > limit {
			r.Complete = false
			break
		}
	}
	r.States, r.Took = seen.n, time.Since(start)
	return r
}

// trace rebuilds the schedule that leads to the state with hash h.
func trace[S comparable](m Model[S], seen *table, h uint64) []string {
	var path []uint64
	for ; h != 0; h = seen.get(h) {
		path = append(path, h)
	}
	var out []string
	s := m.Init()
	for i := len(path) - 2; i >= 0; i-- {
		var n S
		found := false
		m.Next(&s, func(c S, l Label) {
			if !found && hash(&c) == path[i] {
				n, found = c, true
				out = append(out, m.Show(l))
			}
		})
		if !found {
			return append(out, fmt.Sprintf("(schedule broken at step %d)", len(out)))
		}
		s = n
	}
	return out
}
