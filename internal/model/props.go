package model

import "fmt"

// Check looks at what must hold in every state.
func (m *Proto) Check(s *State) string {
	if s.Bad != 0 {
		return badNames[s.Bad]
	}
	if m.Reach != nil {
		if m.Reach(s) {
			return "reached"
		}
		return ""
	}
	for x := range m.tables() {
		for off := range m.rows() {
			if s.visible(x, off) > m.allowed(s, x, off) {
				return m.where("offset %d is visible twice", off, x)
			}
		}
	}
	if what := m.lineages(s); what != "" {
		return what
	}
	for x := range m.tables() {
		if what := m.audit(s, x); what != "" {
			return what
		}
	}
	return m.ended(s)
}

// rows is the number of rows that the source has: all splits' offsets.
func (m *Proto) rows() uint8 { return uint8(m.splits() * m.Offsets) }

// goes: does this offset's row go to table x?
func (m *Proto) goes(off uint8, x int) bool { return m.feeds(int(off)/m.Offsets, x) }

func (m *Proto) where(what string, off uint8, x int) string {
	what = fmt.Sprintf(what, off)
	if m.tables() > 1 {
		what += fmt.Sprintf(", table %d", x+1)
	}
	return what
}

// allowed is how often the row of an offset may be visible in table x: once, and once more for each time that somebody went back behind it and
// kept what was there.
func (m *Proto) allowed(s *State, x int, off uint8) int {
	n := 1
	if !m.Keep && !m.KeepOnly {
		return n
	}
	split, o := int(off)/m.Offsets, off%uint8(m.Offsets)
	for i := range s.end(tab0 + x) {
		e := s.Log[tab0+x][i]
		if e.Kind != kKeep {
			continue
		}
		h := s.target(e.Arg)
		if h != 0 && o < s.Cp[h-1].Pos[split] {
			continue
		}
		behind := s.table(x, i).live &^ s.lineage(h)
		for f := range s.NFile {
			if s.File[f].Off == off && int(s.File[f].Tab) == x && behind>>s.File[f].Cp&1 == 1 {
				n++
				break
			}
		}
	}
	return n
}

// lineages: in each job's log every complete entry follows from the state before it.
func (m *Proto) lineages(s *State) string {
	for lg := job0; lg <= job1; lg++ {
		cur := uint8(0)
		for i := range s.end(lg) {
			if e := s.Log[lg][i]; e.Kind == kComplete && s.Cp[e.Arg].Parent != cur {
				return "two lineages complete"
			}
			cur = s.job(lg, i+1).cur
		}
	}
	return ""
}

// audit: a table's log tells the truth.
func (m *Proto) audit(s *State, x int) string {
	end := s.end(tab0 + x)
	t := s.table(x, end)
	var times [maxSplit * maxFile]int
	for i := range s.NFile {
		f := &s.File[i]
		k := f.Cp
		if int(f.Tab) != x {
			continue
		}
		if f.Final != 0 && t.certs>>k&1 == 0 {
			return m.where("audit: offset %d is visible and no certificate names its file", f.Off, x)
		}
		if t.live>>k&1 == 1 {
			if times[f.Off]++; times[f.Off] > m.allowed(s, x, f.Off) {
				return m.where("audit: two certificates claim offset %d", f.Off, x)
			}
			if t.dones>>k&1 == 1 && t.lost>>i&1 == 0 && f.Final == 0 && f.Flags&compacted == 0 {
				return m.where("offset %d is done and not visible", f.Off, x)
			}
		}
	}
	for i := range end {
		if e := s.Log[tab0+x][i]; e.Kind == kRewind && m.rewound(s, x, end, e.Arg) {
			files := s.filesOf(e.X&t.certs, x)
			for f := range s.NFile {
				if files>>f&1 == 1 && s.File[f].Final != 0 {
					return m.where("offset %d is visible behind the end mark of the rewind that took it back", s.File[f].Off, x)
				}
			}
		}
	}
	return ""
}

func (m *Proto) rewound(s *State, x int, end, ref uint8) bool {
	for i := range end {
		if e := s.Log[tab0+x][i]; e.Kind == kRewound && e.Arg == ref {
			return true
		}
	}
	return false
}

// ended: once the job has ended, each offset is visible, or its loss was reported and accepted and nobody repaired it, and nothing is half done.
func (m *Proto) ended(s *State) string {
	for lg := job0; lg <= job1; lg++ {
		if !s.job(lg, s.end(lg)).ended {
			continue
		}
		for x := range m.tables() {
			t := s.table(x, s.end(tab0+x))
			if t.claim.Kind != kNone && m.logOf(int(t.claim.Who)-1) != lg {
				continue
			}
			for off := range m.rows() {
				if !m.goes(off, x) || s.visible(x, off) > 0 {
					continue
				}
				if what := m.excused(s, x, off, t); what != "" {
					return what
				}
			}
			if t.live&^t.dones != 0 && !m.CertLate && !m.DoneEarly {
				return "the job ended and a certificate is not done"
			}
		}
	}
	return ""
}

// excused: why is this offset not visible at the end of the job?
func (m *Proto) excused(s *State, x int, off uint8, t Table) string {
	excused := false
	for i := range s.NFile {
		f := &s.File[i]
		if f.Off != off || int(f.Tab) != x {
			continue
		}
		if f.Flags&compacted != 0 {
			excused = true
		}
		if t.lost>>i&1 == 1 && t.live>>f.Cp&1 == 1 && s.Told>>i&1 == 1 {
			excused = true
			for r := range s.Rep {
				if p := s.Rep[r]; p.PC == rOver && p.Read != 0xff && p.File == i {
					return m.where("offset %d was repaired and is not visible", off, x)
				}
			}
		}
	}
	if !excused {
		return m.where("the job ended and offset %d is not visible", off, x)
	}
	return ""
}

// CheckStep: no visible row vanishes, except by an ordered rewind or when a power cut undoes a move that was not on disk yet.
func (m *Proto) CheckStep(from, to *State, l Label) string {
	if l.Op == oMoveFinal || l.Op == oLateMove || l.Op == oCompact || l.Op == oCut || m.Reach != nil {
		return ""
	}
	for x := range m.tables() {
		for off := range m.rows() {
			if from.visible(x, off) > to.visible(x, off) {
				return m.where("visible offset %d vanished", off, x)
			}
		}
	}
	return ""
}

// missing: is a row missing when nobody is left who would bring it?
func (m *Proto) missing(s *State) string {
	for x := range m.tables() {
		t := s.table(x, s.end(tab0+x))
		for off := range m.rows() {
			if m.goes(off, x) && s.visible(x, off) == 0 {
				if what := m.excused(s, x, off, t); what != "" {
					return what
				}
			}
		}
	}
	return ""
}

// Stuck judges a state in which nothing can happen any more.
func (m *Proto) Stuck(s *State) string {
	stopped := false
	for w := range m.Attempts {
		a := &s.Att[w]
		if a.alive() {
			return fmt.Sprintf("attempt %c waits for ever", 'A'+w)
		}
		stopped = stopped || a.PC == pRefused || a.PC == pLost
	}
	switch {
	case stopped, m.SafetyOnly && !s.job(job0, s.end(job0)).ended && !s.job(job1, s.end(job1)).ended:
		return ""
	case s.job(job0, s.end(job0)).ended || s.job(job1, s.end(job1)).ended:
		return m.missing(s)
	}
	return "all attempts stopped, none finished the job and none said why"
}
