package foreign

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/audit/foreign/bitmap"
)

// holder is a file that holds offsets which the table has more than once.
type holder struct {
	path string
	// rows of the file, held of them are among the doubled ones.
	rows, held int64
	splits     []heldSplit
}

type heldSplit struct {
	key splitKey
	// set are the doubled offsets in the file, within those that it has twice by itself.
	set, within *bitmap.Set
}

const (
	// maxHolders bounds the files that doubles are named with, maxSegments the runs that are looked at to tell which files share them.
	maxHolders  = 20_000
	maxSegments = 2_000_000
)

// again reads the files once more, to name those that hold doubled offsets and those that hold the neighbours of gaps. Of Parquet files only row groups are
// read whose statistics do not rule both out.
func (a *auditor) again(keys []splitKey) error {
	sought := &bitmap.Set{}
	for _, k := range keys {
		sought.Union(&a.splits[k].twice, nil)
		for o := range a.near[k] {
			sought.AddRun(o, o+1, nil)
		}
	}
	if sought.Count() == 0 {
		return nil
	}
	wanted := func(first, last int64) bool {
		return last < first || last == math.MaxInt64 || sought.Overlaps(first, last+1)
	}
	w := &walk{ctx: a.ctx, store: a.store, names: a.opts.Names, seen: seen{}, bad: func(string, string) {}} // it was reported
	err := a.files(w, func(f found) error {
		if _, known := a.seen[hashOf(f.path)]; !known {
			return nil // it came afterwards and is not in the account
		}
		rows, err := a.open(f, wanted)
		if err != nil || rows == nil {
			return err
		}
		a.hold(f.path, rows)
		a.meet(f, rows)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(a.holders, func(x, y *holder) int { return cmp.Compare(x.path, y.path) })
	a.share(keys)
	return nil
}

// hold keeps what a file has of the doubled offsets.
func (a *auditor) hold(p string, rows *fileRows) {
	h := &holder{path: p, rows: rows.total}
	for _, s := range rows.order {
		t := a.splits[s.key]
		if t == nil {
			continue
		}
		set := s.set.Intersect(&t.twice)
		if set.Count() == 0 {
			continue
		}
		h.held += set.Count()
		h.splits = append(h.splits, heldSplit{s.key, set, &s.twice})
	}
	if h.held == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.holders) == maxHolders {
		a.more++
		return
	}
	a.holders = append(a.holders, h)
}

// edge is where offsets of a holder begin or end.
type edge struct {
	at     int64
	holder int
	begin  bool
}

// group are offsets that the same files hold.
type group struct {
	holders []int
	splits  map[splitKey]*bitmap.Set
	count   int64
}

// share groups the doubled offsets by the files that hold them, and reports each group.
func (a *auditor) share(keys []splitKey) {
	groups := map[string]*group{}
	var order []*group
	get := func(ids []int) *group {
		var b strings.Builder
		for _, i := range ids {
			b.WriteString(strconv.Itoa(i) + " ")
		}
		g := groups[b.String()]
		if g == nil {
			g = &group{holders: slices.Clone(ids), splits: map[splitKey]*bitmap.Set{}}
			groups[b.String()] = g
			order = append(order, g)
		}
		return g
	}
	left := maxSegments
	for _, k := range keys {
		edges := a.edges(k, &left)
		var open []int
		for i, e := range edges {
			if e.begin {
				at, _ := slices.BinarySearch(open, e.holder)
				open = slices.Insert(open, at, e.holder)
			} else if at, ok := slices.BinarySearch(open, e.holder); ok {
				open = slices.Delete(open, at, at+1)
			}
			if len(open) > 1 && i+1 < len(edges) && edges[i+1].at > e.at {
				get(open).add(k, e.at, edges[i+1].at)
			}
		}
		for i, h := range a.holders {
			for _, s := range h.splits {
				if s.key == k && s.within.Count() > 0 {
					g := get([]int{i})
					s.within.Runs(func(from, to int64) bool { g.add(k, from, to); return true })
				}
			}
		}
	}
	slices.SortStableFunc(order, func(x, y *group) int { return cmp.Compare(y.count, x.count) })
	for _, g := range order {
		a.twice(g, keys)
	}
	a.unnamed(order, keys)
}

// edges gives the ends of all runs of one split, in order; ends come before beginnings.
func (a *auditor) edges(k splitKey, left *int) (out []edge) {
	for i, h := range a.holders {
		for _, s := range h.splits {
			if s.key != k {
				continue
			}
			s.set.Runs(func(from, to int64) bool {
				*left--
				if *left < 0 {
					return false
				}
				out = append(out, edge{from, i, true}, edge{to, i, false})
				return true
			})
		}
	}
	slices.SortFunc(out, func(x, y edge) int {
		switch {
		case x.at != y.at:
			return cmp.Compare(x.at, y.at)
		case x.begin != y.begin && x.begin:
			return 1
		case x.begin != y.begin:
			return -1
		}
		return cmp.Compare(x.holder, y.holder)
	})
	return out
}

func (g *group) add(k splitKey, from, to int64) {
	s := g.splits[k]
	if s == nil {
		s = &bitmap.Set{}
		g.splits[k] = s
	}
	before := s.Count()
	s.AddRun(from, to, nil)
	g.count += s.Count() - before
}

// twice reports one group.
func (a *auditor) twice(g *group, keys []splitKey) {
	p := Problem{Kind: OffsetsTwice, What: account.Plural(g.count, "record is", "records are") + " in each of " + account.Plural(int64(len(g.holders)), "file", "files"),
		ToDo: "find out which of the files is one too many; readers see its rows twice"}
	if len(g.holders) == 1 {
		p.What = account.Plural(g.count, "record is", "records are") + " more than once in one file"
		p.ToDo = "the writer wrote them twice: the file has to be written anew without them"
	}
	var only []string // files that have no other rows
	for _, i := range g.holders {
		h := a.holders[i]
		p.Files = append(p.Files, h.path)
		if h.rows == g.count {
			only = append(only, path.Base(h.path))
		}
	}
	switch {
	case len(g.holders) == 1:
	case len(only) == len(g.holders):
		p.What += ", which have no other rows: copies of each other"
	case len(only) > 0 && len(only) <= shownFiles:
		p.What += "; no other rows are in " + strings.Join(only, ", ")
	}
	for _, k := range keys {
		if s := g.splits[k]; s != nil {
			p.Offsets = append(p.Offsets, offsetsOf(a.name(k), s))
		}
	}
	a.rep.problem(p)
}

// unnamed reports doubled offsets that no group has: there are too many to name, or a file that held them has gone.
func (a *auditor) unnamed(groups []*group, keys []splitKey) {
	for _, k := range keys {
		t := &a.splits[k].twice
		named := &bitmap.Set{}
		for _, g := range groups {
			if s := g.splits[k]; s != nil {
				named.Union(s, nil)
			}
		}
		rest := &bitmap.Set{}
		t.Runs(func(from, to int64) bool {
			named.Gaps(from, to, func(f, t int64) bool {
				rest.AddRun(f, t, nil)
				return true
			})
			return true
		})
		if rest.Count() == 0 {
			continue
		}
		a.rep.problem(Problem{Kind: OffsetsTwice, What: account.Plural(rest.Count(), "record is", "records are") + " there more than once, in files that could not be named: too many, or gone meanwhile",
			Offsets: []SplitOffsets{offsetsOf(a.name(k), rest)}, ToDo: "audit a folder of the table alone"})
	}
}
