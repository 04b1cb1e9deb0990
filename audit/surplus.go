package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"staunch/account"
	"staunch/fs"
)

// Surplus is what an added file of an amend holds beyond what the removed files held.
type Surplus struct {
	// File is its index among the added ones.
	File  int
	Split string
	Set   account.Set
}

// FindSurplus finds the offsets that more of the added files hold than of the removed ones. It counts files rather than offsets, since two INSERTs
// may write the same offsets.
func FindSurplus(removed, added []account.File) (out []Surplus) {
	type edge struct{ at, n int64 }
	edges := map[string][]edge{}
	take := func(files []account.File, n int64) {
		for i := range files {
			for _, o := range files[i].Offsets {
				for _, r := range o.Set.Runs {
					edges[o.Split] = append(edges[o.Split], edge{r.From, n}, edge{r.To, -n})
				}
			}
		}
	}
	take(removed, -1)
	take(added, 1)
	for _, split := range slices.Sorted(maps.Keys(edges)) {
		list := edges[split]
		slices.SortFunc(list, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
		var more account.Set
		n := int64(0)
		for i, e := range list {
			if n > 0 && i > 0 && list[i-1].at < e.at {
				more.AddRun(list[i-1].at, e.at)
			}
			n += e.n
		}
		if len(more.Runs) == 0 {
			continue
		}
		for i := range added {
			for _, o := range added[i].Offsets {
				if o.Split != split {
					continue
				}
				if both := common(o.Set.Runs, more.Runs); len(both.Runs) > 0 {
					out = append(out, Surplus{File: i, Split: split, Set: both})
				}
			}
		}
	}
	return out
}

// common are the offsets that both have.
func common(a, b []account.Run) (out account.Set) {
	for len(a) > 0 && len(b) > 0 {
		if from, to := max(a[0].From, b[0].From), min(a[0].To, b[0].To); from < to {
			out.AddRun(from, to)
		}
		if a[0].To < b[0].To {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// Unseen reports whether readers of a table pass over the file with this path below its root.
func Unseen(rel string) bool {
	for dir := false; rel != "." && rel != "/"; dir = true {
		if fs.Hidden(fs.Info{Name: path.Base(rel), Dir: dir}) {
			return true
		}
		rel = path.Dir(rel)
	}
	return false
}

// doubt keeps, for each file that an amend added, whether it holds rows of other files: as far as the log tells, and to be told if the file is there.
func (j *judge) doubt(n int64, a *account.Amend) {
	var removed []account.File
	count, known := map[account.Sums]int{}, true
	add := func(s account.Sums, n int) {
		for sum := range s.Each() {
			count[sum] += n
		}
	}
	for _, p := range a.Removed {
		f, ok := j.left[p]
		known = known && ok && f.Recorded() // not of a version that recorded no files
		removed = append(removed, f)
		add(f.Sums, -1)
		for _, s := range j.replaced[p] {
			add(s, -1)
		}
	}
	for i := range a.Added {
		f := &a.Added[i]
		add(f.Sums, 1)
		delete(j.doubts, f.Final)
		delete(j.fresh, f.Final)
		if j.past.mended.Removed[f.Final] > 0 {
			j.left[f.Final] = *f
		}
	}
	for i := range a.Added {
		f := &a.Added[i]
		fresh := len(a.Removed) > 0 && f.Length > 0
		for sum := range f.Each() { // the removed ones may have only one of them
			fresh = fresh && count[sum] > 0
		}
		if fresh {
			j.fresh[f.Final] = n
		}
	}
	if len(a.Removed) == 0 || !known {
		return
	}
	for _, s := range FindSurplus(removed, a.Added) {
		j.doubts[a.Added[s.File].Final] = Problem{Kind: OffsetsTwice, Entry: n, Offsets: offsetsOf([]account.Offsets{{Split: s.Split, Set: s.Set}}),
			What: fmt.Sprintf("an amend (entry %d) put the file into the table, and it holds offsets of %s that the files it stands for did not hold, or that another one holds too: "+
				"their rows are there twice", n, s.Split), ToDo: copyAdvice}
	}
}

const copyAdvice = "find out where the rows of the files that it stands for went; write the file again from those, and record that (staunch amend)"

// visible is a file that readers see, as a log says. by is the number of the entry that names it.
type visible struct {
	job       *jobLog
	final     string
	by        int64
	certified bool
}

// doubles finds files of amends that have the bytes of another visible file. Those that were adopted were there before, and are not doubted.
func (t *table) doubles() error {
	fresh := map[account.Sums][]visible{}
	for _, l := range t.logs {
		for final, n := range l.judge.fresh {
			if f, ok := l.judge.past.mended.Added[final]; ok && l.judge.counted[final] {
				for sum := range f.Each() {
					fresh[sum] = append(fresh[sum], visible{job: l, final: final, by: n})
				}
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	told := map[string]bool{}
	see := func(s account.Sums, v visible) {
		for sum := range s.Each() {
			for _, f := range fresh[sum] {
				if f.final == v.final || told[f.final] || v.job == f.job && v.certified && v.by > f.by { // what the job wrote later is no copy
					continue
				}
				told[f.final] = true
				f.job.judge.rep.problem(Problem{Kind: OffsetsTwice, Entry: f.by, Path: f.job.judge.files.now(f.final), ToDo: copyAdvice,
					What: fmt.Sprintf("an amend (entry %d) put the file into the table, and it is a copy of %s: its rows are there twice", f.by, v.final)})
			}
		}
	}
	for _, l := range t.logs {
		past := l.judge.past
		m := &past.mended
		for final, f := range m.Added {
			if l.judge.counted[final] {
				see(f.Sums, visible{job: l, final: final})
			}
		}
		for r := range m.Each {
			if m.Removed[r.Final] == 0 && !past.superseded(r.Certificate) {
				see(r.Sums, visible{job: l, final: r.Final, by: r.N, certified: true})
			}
		}
		h := &history{ctx: t.ctx, store: t.store, dir: l.history.dir, visit: func(it item) {
			var c account.Certificate
			if it.entry == nil || it.entry.Kind != account.KindCertificate || past.superseded(it.entry.SHA256) || json.Unmarshal(it.entry.Body, &c) != nil {
				return
			}
			for i := range c.Files {
				if f := &c.Files[i]; m.Removed[f.Final] == 0 {
					see(f.Sums, visible{job: l, final: f.Final, by: it.entry.N, certified: true})
				}
			}
		}}
		if err := h.read(); err != nil {
			return err
		}
	}
	return nil
}
