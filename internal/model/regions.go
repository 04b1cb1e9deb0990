package model

import "fmt"

// Regions is a second, smaller model: one process, two regions with a partition each, checkpoints in which a region that is down is stood in for.
type Regions struct {
	Offsets, Checkpoints, Failures int

	// Rules taken away.
	StandInAborted bool // stand-in: the newest snapshot of its own, even of an aborted checkpoint
	AnyAttempt     bool // an acknowledgement of an older attempt counts
	NoWait         bool // a region restarts while the completion of a checkpoint that it acknowledged is being written
	KeepAck        bool // an acknowledgement stays valid although its region failed before the completion is written
	RestoreAborted bool // a failed region restarts from the newest snapshot of its own
}

const maxOff = 3

// Snap: rows in [From,To) are in files closed for it and not committed yet.
type Snap struct{ From, To, Ok uint8 }

// Region is one region; Late is an acknowledgement of an older attempt still under way.
type Region struct {
	Up, From, Pos      uint8
	Ack, Last, Late    Snap // of the checkpoint being made; newest of its own; late one
	Completed, Waiting uint8
}

// RegState: Phase 0 none, 1 collecting, 2 the complete entry is being written.
type RegState struct {
	R            [2]Region
	Vis          [2][maxOff]uint8
	Phase, Cps   uint8
	Failed, Over uint8
}

func (m *Regions) Init() RegState {
	var s RegState
	for r := range s.R {
		s.R[r].Up = 1
	}
	return s
}

func (m *Regions) commit(s *RegState, r int, p Snap) {
	for o := p.From; o < p.To; o++ {
		s.Vis[r][o]++
	}
}

func (m *Regions) Next(s *RegState, emit func(RegState, Label)) {
	for r := range s.R {
		g := &s.R[r]
		do := func(op uint8, f func(n *RegState, g *Region)) {
			n := *s
			f(&n, &n.R[r])
			emit(n, Label{op, uint8(r), 0, 0})
		}
		snap := Snap{g.From, g.Pos, 1}
		if g.Up == 1 {
			if int(g.Pos) < m.Offsets {
				do(1, func(n *RegState, g *Region) { g.Pos++ })
			}
			if s.Phase == 1 && g.Ack.Ok == 0 {
				do(2, func(n *RegState, g *Region) { g.Ack, g.Last = snap, snap })
			}
			if int(s.Failed) < m.Failures {
				do(3, func(n *RegState, g *Region) {
					g.Up = 0
					n.Failed++
					if n.Phase == 1 && !m.KeepAck {
						g.Ack = Snap{}
					}
				})
				if s.Phase == 1 && g.Ack.Ok == 0 { // its upload is still running
					do(4, func(n *RegState, g *Region) { g.Up = 0; n.Failed++; g.Late = snap })
				}
			}
		} else {
			waits := s.Phase == 2 && g.Ack.Ok == 1 && !m.NoWait
			if !waits {
				do(5, func(n *RegState, g *Region) {
					g.Up, g.From, g.Pos = 1, g.Completed, g.Completed
					if m.RestoreAborted && g.Last.Ok == 1 {
						g.From, g.Pos = g.Last.To, g.Last.To
					}
				})
			}
		}
		if g.Late.Ok == 1 && s.Phase == 1 && g.Ack.Ok == 0 && m.AnyAttempt {
			do(6, func(n *RegState, g *Region) { g.Ack, g.Late = g.Late, Snap{} })
		}
	}
	switch s.Phase {
	case 0:
		if int(s.Cps) < m.Checkpoints {
			n := *s
			n.Phase = 1
			n.Cps++
			emit(n, Label{7, 9, 0, 0})
		}
	case 1:
		n := *s
		n.Phase = 0
		for r := range n.R {
			n.R[r].Ack = Snap{}
		}
		emit(n, Label{8, 9, 0, 0})
		for r := range s.R { // complete if each region acknowledged or is down
			if s.R[r].Ack.Ok == 0 && s.R[r].Up == 1 {
				return
			}
		}
		n = *s
		n.Phase = 2
		emit(n, Label{9, 9, 0, 0})
	case 2:
		n := *s
		n.Phase = 0
		for r := range n.R {
			g := &n.R[r]
			p := g.Ack
			if p.Ok == 0 && m.StandInAborted {
				p = g.Last
			}
			if p.Ok == 1 {
				m.commit(&n, r, p)
				if g.Up == 1 && g.From < p.To && g.Pos >= p.To {
					g.From = p.To
				}
				g.Completed = p.To
				g.Last = Snap{}
			}
			g.Ack = Snap{}
		}
		emit(n, Label{10, 9, 0, 0})
	}
}

func (m *Regions) Check(s *RegState) string {
	for r := range s.Vis {
		for o, v := range s.Vis[r] {
			if v > 1 {
				return fmt.Sprintf("region %d: offset %d is visible twice", r+1, o)
			}
			if o < int(s.R[r].Completed) && v == 0 {
				return fmt.Sprintf("region %d: offset %d is behind the completed position and not visible", r+1, o)
			}
		}
	}
	return ""
}

func (m *Regions) CheckStep(from, to *RegState, l Label) string { return "" }
func (m *Regions) Stuck(s *RegState) string                     { return "" }

func (m *Regions) Show(l Label) string {
	t := []string{"", "reads an offset", "acknowledges", "fails", "fails while its snapshot is still being uploaded", "restarts", "(older attempt): its acknowledgement arrives",
		"a checkpoint is triggered", "the checkpoint is aborted", "the complete entry is being written", "the complete entry is known to stand; files become visible"}[l.Op]
	if l.Who == 9 {
		return t
	}
	return fmt.Sprintf("region %d %s", l.Who+1, t)
}

func regionScenarios() []scenario {
	base := Regions{Offsets: 3, Checkpoints: 4, Failures: 3}
	mk := func(name, about string, caught bool, f func(*Regions)) scenario {
		return scenario{name, about, func(limit int) Result {
			m := base
			f(&m)
			return explore[RegState](&m, limit)
		}, caught}
	}
	return []scenario{
		mk("ok-regions", "2 regions, 3 offsets each, 4 checkpoints, 3 failures", false, func(*Regions) {}),
		mk("bad-ack", "an acknowledgement still counts after its region failed", true, func(m *Regions) { m.KeepAck = true }),
		mk("bad-standin-aborted", "stand-in from an aborted checkpoint", true, func(m *Regions) { m.StandInAborted = true }),
		mk("bad-any-attempt", "acknowledgement of an older attempt counts", true, func(m *Regions) { m.AnyAttempt = true }),
		mk("bad-no-wait", "region restarts while its checkpoint's completion is being written", true, func(m *Regions) { m.NoWait = true }),
		mk("bad-restore-aborted", "failed region restarts from its newest own snapshot", true, func(m *Regions) { m.RestoreAborted = true }),
	}
}
