package foreign

import "time"

// Neighbour is the row in front of or behind a gap, and the file that holds it: the lost file was written beside these, and about then.
type Neighbour struct {
	Split  string    `json:"split"`
	Offset int64     `json:"offset"`
	Path   string    `json:"path"`
	Time   time.Time `json:"time"`
}

// maxNear bounds the gaps of one partition whose neighbours are looked for.
const maxNear = 20

// seek notes the neighbours of a partition's first gaps.
func (a *auditor) seek(k splitKey, s *split) {
	n := 0
	s.set.Gaps(s.rep.From, s.rep.Last+1, func(from, to int64) bool {
		if n++; n > maxNear {
			return false
		}
		if a.near[k] == nil {
			a.near[k] = map[int64]found{}
		}
		for _, o := range []int64{from - 1, to} {
			if o >= s.rep.First && o <= s.rep.Last {
				a.near[k][o] = found{}
			}
		}
		return true
	})
}

// meet keeps a file that holds neighbours.
func (a *auditor) meet(f found, rows *fileRows) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range rows.order {
		for o, by := range a.near[s.key] {
			if s.set.Overlaps(o, o+1) && (by.path == "" || f.path < by.path) {
				a.near[s.key][o] = f
			}
		}
	}
}

// neighbours gives what stands beside the runs of a list.
func (a *auditor) neighbours(k splitKey, l *runList) (out []Neighbour) {
	for _, r := range l.head.Runs {
		for _, o := range []int64{r.From - 1, r.To} {
			if f := a.near[k][o]; f.path != "" {
				out = append(out, Neighbour{a.name(k), o, f.path, f.info.ModTime.UTC()})
			}
		}
	}
	return out
}
