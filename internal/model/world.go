package model

// world is everything that no process of ours decides.
func (m *Proto) world(s *State, emit func(State, Label)) {
	promised, ever := m.promises(s)
	for i := range s.NFile {
		m.fileWorld(s, i, promised>>i&1 == 1, ever>>i&1 == 1, emit)
	}
	for w := range s.Att {
		a := &s.Att[w]
		if a.ALate != 0 && s.Log[a.Lg][a.ALate-1].Kind == kNone && a.AKind != 0 {
			n := *s
			n.Log[a.Lg][a.ALate-1] = Entry{a.AKind, uint8(w) + 1, a.AArg, a.AX}
			emit(n, Label{oLateAppend, uint8(w), a.ALate - 1, a.Lg})
		}
		if m.LogCleaning {
			m.cleanJobLog(s, w, emit)
		}
	}
	if m.LogCleaning {
		m.cleanTableLogs(s, emit)
	}
	m.lateRepairs(s, emit)
	if int(s.Damages) < m.Damages {
		if cur := s.job(job0, s.end(job0)).cur; cur != 0 && s.Cp[cur-1].Damaged == 0 {
			n := *s
			n.Cp[cur-1].Damaged = 1
			n.Damages++
			emit(n, Label{oDamage, 99, cur - 1, 0})
		}
	}
	if int(s.Cuts) < m.PowerCuts {
		m.powerCut(s, emit)
	}
}

// promises are the files that some complete names: those that are still promised, and all.
func (m *Proto) promises(s *State) (promised, ever uint8) {
	for lg := job0; lg <= job1; lg++ {
		end := s.end(lg)
		sup := s.job(lg, end).sup
		for i := range end {
			if e := s.Log[lg][i]; e.Kind == kComplete {
				ever |= s.Cp[e.Arg].Files
				if sup>>e.Arg&1 == 0 {
					promised |= s.Cp[e.Arg].Files
				}
			}
		}
	}
	return
}

// fileWorld: late requests land on a file, outsiders take it.
func (m *Proto) fileWorld(s *State, i uint8, promised, ever bool, emit func(State, Label)) {
	f := &s.File[i]
	with := func(op, who uint8, change func(n *State, f *File)) {
		n := *s
		change(&n, &n.File[i])
		emit(n, Label{op, who, i, 0})
	}
	if f.Flags&lateRename != 0 && f.Stage == 1 && (f.Final == 0 || m.RenameOverwrites) {
		with(oLateRename, 99, func(_ *State, f *File) { f.Stage, f.Final, f.Unsync = 0, 1, fromStage })
	}
	if f.Flags&lateDelete != 0 && f.Stage == 1 {
		with(oLateDelete, 99, func(_ *State, f *File) { f.Stage = 0 })
	}
	if f.Flags&lateMoveStage != 0 && f.Stage == 1 && f.Sup == 0 {
		with(oLateMove, 99, func(_ *State, f *File) { f.Stage, f.Sup, f.Unsync = 0, 1, fromStage })
	}
	if f.Flags&lateMoveFinal != 0 && f.Final != 0 {
		with(oLateMove, 99, func(_ *State, f *File) { f.Final, f.Sup = 0, 1; f.Unsync |= fromFinal })
	}
	if int(s.Taken) < m.Takes && f.Stage == 1 && promised {
		with(oTake, 99, func(n *State, f *File) { f.Stage = 0; f.Flags |= takenAway; n.Taken++ })
	}
	if m.Compactor && f.Final != 0 {
		done := s.table(int(f.Tab), s.end(tab0+int(f.Tab))).dones
		for _, a := range s.Att {
			if m.DoneEarly && a.PC > pRestore {
				done |= s.lineage(a.Head) &^ a.Owe
			}
		}
		if done>>f.Cp&1 == 1 {
			with(oCompact, 99, func(_ *State, f *File) { f.Final = 0; f.Flags |= compacted })
		}
	}
	if m.Cleaner && f.Flags&lateDelete == 0 && f.Stage == 1 {
		ended := false
		for j := s.Att[f.Owner].Begin; j < maxLog && s.Att[f.Owner].Begin != 0; j++ {
			ended = ended || s.Log[m.logOf(int(f.Owner))][j].Kind == kBegin
		}
		if ended && (m.CleanByEpoch || !ever) {
			with(oClean, 98, func(_ *State, f *File) { f.Flags |= lateDelete })
		}
	}
}

// cleanJobLog: an attempt whose newest checkpoint is done removes what lies below the oldest state that is retained. It decides at one time and
// carries out at another, once in its life.
func (m *Proto) cleanJobLog(s *State, w int, emit func(State, Label)) {
	a, lg := &s.Att[w], m.logOf(w)
	if a.PC == pPick && a.Head != 0 && a.Owe == 0 && a.CleanTo == 0 { // done: older entries may go
		sup := s.job(lg, a.JR).sup
		retain, found := max(m.Retain, 1), 0
		for j := int(a.JR) - 1; j > int(s.Cleaned[lg]); j-- {
			e := s.Log[lg][j]
			if e.Kind == kComplete && sup>>e.Arg&1 == 0 || e.Kind == kRewind || e.Kind == kKeep || e.Kind == kFrom {
				found++
			} else {
				continue
			}
			if found == retain {
				n := *s
				n.Att[w].CleanTo = uint8(j)
				emit(n, Label{oCleanPlan, uint8(w), uint8(j), uint8(lg)})
				break
			}
		}
	}
	if a.CleanTo > s.Cleaned[lg] && int(a.CleanTo) < maxLog {
		n := *s
		n.Cleaned[lg] = a.CleanTo
		n.Att[w].CleanTo = maxLog
		for j := range a.CleanTo {
			if e := s.Log[lg][j]; e.Kind == kComplete {
				n.Cp[e.Arg].Gone |= 1 << lg
			}
		}
		emit(n, Label{oCleanLog, uint8(w), a.CleanTo, uint8(lg)})
	}
}

// cleanTableLogs removes what a segment has replaced.
func (m *Proto) cleanTableLogs(s *State, emit func(State, Label)) {
	for x := range m.tables() {
		lg := tab0 + x
		for j := range uint8(maxLog) {
			if s.Log[lg][j].Kind == kSegment && s.Cleaned[lg] < j {
				n := *s
				n.Cleaned[lg] = j
				emit(n, Label{oCleanLog, 98, j, uint8(lg)})
			}
		}
	}
}

func (m *Proto) lateRepairs(s *State, emit func(State, Label)) {
	for r := range s.Rep {
		p := &s.Rep[r]
		if p.ALate != 0 && p.PC < rRename && s.Log[tab0][p.ALate-1].Kind == kNone {
			n := *s
			n.Log[tab0][p.ALate-1] = Entry{kRepair, uint8(r) + 10, p.File, 0}
			emit(n, Label{oLateAppend, uint8(r) + 10, p.ALate - 1, tab0})
		}
		if p.Late == 1 && p.Stage == 1 && s.File[p.File].Final == 0 {
			n := *s
			n.Rep[r].Stage, n.Rep[r].Unsync = 0, 1
			n.File[p.File].Final = uint8(r) + 2
			emit(n, Label{oLateRepair, uint8(r) + 10, p.File, 0})
		}
	}
}
