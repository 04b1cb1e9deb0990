package metric

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Label is one name and value.
type Label struct{ Name, Value string }

// Counter only grows.
type Counter struct{ v atomic.Int64 }

// Add adds n.
func (c *Counter) Add(n int64) { c.v.Add(n) }

// Value is the count.
func (c *Counter) Value() int64 { return c.v.Load() }

// Sample is one metric at one moment.
type Sample struct {
	Name    string
	Labels  []Label
	Value   float64
	Counter bool
}

// Registry holds the metrics of a process.
type Registry struct {
	mu       sync.Mutex
	counters map[string]*entry
}

type entry struct {
	name    string
	labels  []Label
	counter *Counter
	// view has the gauge's value at its place at.
	view *view
	at   int
}

// view gives the values of one or several gauges at one moment.
type view struct{ values func() []float64 }

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{counters: map[string]*entry{}} }

// Group returns the group with these labels: name, value, name, value.
func (r *Registry) Group(labels ...string) *Group { return (&Group{r: r}).With(labels...) }

// Each gives every metric in order of name and labels.
func (r *Registry) Each(f func(Sample)) {
	r.mu.Lock()
	keys := make([]string, 0, len(r.counters))
	for k := range r.counters {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	all := make([]*entry, len(keys))
	for i, k := range keys {
		all[i] = r.counters[k]
	}
	r.mu.Unlock()
	views := map[*view][]float64{}
	for _, e := range all {
		s := Sample{Name: e.name, Labels: e.labels, Counter: e.counter != nil}
		if e.counter != nil {
			s.Value = float64(e.counter.Value())
		} else {
			if _, looked := views[e.view]; !looked {
				views[e.view] = e.view.values()
			}
			s.Value = views[e.view][e.at]
		}
		f(s)
	}
}

// Group is metrics with common labels. A nil group counts into nowhere.
type Group struct {
	r      *Registry
	labels []Label
}

// With returns a group with more labels.
func (g *Group) With(labels ...string) *Group {
	if g == nil {
		return nil
	}
	n := &Group{r: g.r, labels: slices.Clone(g.labels)}
	for i := 0; i+1 < len(labels); i += 2 {
		n.labels = append(n.labels, Label{labels[i], labels[i+1]})
	}
	return n
}

func (g *Group) key(name string) string {
	var b strings.Builder
	b.WriteString(name)
	for _, l := range g.labels {
		b.WriteString("\x00" + l.Name + "\x01" + l.Value)
	}
	return b.String()
}

// Counter returns the counter called name, the same one each time.
func (g *Group) Counter(name string) *Counter {
	if g == nil {
		return &Counter{}
	}
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	k := g.key(name)
	e := g.r.counters[k]
	if e == nil || e.counter == nil {
		e = &entry{name: name, labels: g.labels, counter: &Counter{}}
		g.r.counters[k] = e
	}
	return e.counter
}

// Gauge sets the function that gives the value called name; a later one replaces it.
func (g *Group) Gauge(name string, f func() float64) {
	g.Gauges([]string{name}, func() []float64 { return []float64{f()} })
}

// Gauges sets the function that gives the values called names, which are of one moment whenever all metrics are read: what adds up does so there, too.
func (g *Group) Gauges(names []string, values func() []float64) {
	if g == nil {
		return
	}
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	v := &view{values}
	for i, name := range names {
		g.r.counters[g.key(name)] = &entry{name: name, labels: g.labels, view: v, at: i}
	}
}
