package model

// repairer is one step of an operator's own process that replaces a file with verdict lost.
func (m *Proto) repairer(s *State, r int, emit func(State, Label)) {
	n := *s
	p := &n.Rep[r]
	who := uint8(r) + 10
	out := func(op, arg uint8) { emit(n, Label{op, who, arg, tab}) }
	f := &n.File[p.File]
	placed := func(slot uint8) {
		if m.PowerCuts > 0 && !m.LogUnsynced {
			n.Disk[tab] = s.end(tab)
			if slot >= n.Disk[tab] {
				n.Disk[tab] = slot + 1
			}
		}
		p.PC, p.ALate = rRename, 0
	}
	switch p.PC {
	case rIdle:
		if r > 0 && s.Rep[r-1].PC == rIdle {
			return
		}
		end := s.end(tab)
		t := s.table(end)
		for k := uint8(0); k < s.NCp; k++ {
			lost := t.lost & s.Cp[k].Files
			if lost == 0 || t.live>>k&1 == 0 {
				continue
			}
			n = *s
			p = &n.Rep[r]
			i := next(lost, 0) - 1
			*p = Rep{PC: rEntry, File: i, Read: end, Stage: 1}
			out(oRepRead, i)
		}
	case rEntry:
		slot := p.Read
		if slot >= maxLog {
			n.Bad = badBound
			out(oNone, 0)
			return
		}
		if s.Log[tab][slot].Kind == kNone {
			n.Log[tab][slot] = Entry{kRepair, who, p.File, 0}
			placed(slot)
			out(oRepEntry, slot)
			if m.LostReplies {
				n = *s
				p = &n.Rep[r]
				p.PC, p.ALate = rEntryLook, slot+1
				out(oRepEntry, slot)
			}
			return
		}
		if s.Log[tab][slot] == (Entry{kRepair, who, p.File, 0}) { // its own, landed late
			placed(slot)
			out(oRepEntry, slot)
			return
		}
		p.Read, p.ALate = s.end(tab), 0
		if s.table(p.Read).live>>f.Cp&1 == 0 && !m.RepairIgnoresRewind {
			p.PC, p.Stage = rOver, 0
		}
		out(oRepEntry, slot)
	case rEntryLook:
		slot := p.ALate - 1
		if s.Log[tab][slot] == (Entry{kRepair, who, p.File, 0}) {
			placed(slot)
		} else {
			p.PC, p.ALate = rEntry, 0
			if s.Log[tab][slot].Kind == kNone {
				p.ALate = slot + 1
			}
		}
		out(oRepEntry, slot)
	case rRename:
		if m.RepairNewName {
			p.Stage, p.Extra, p.PC = 0, 1, rOver
			out(oRepRename, p.File)
			return
		}
		if p.Stage == 1 && f.Final == 0 {
			p.Stage, f.Final, p.PC = 0, uint8(r)+2, rSync
			p.Unsync = 1
		} else {
			p.PC = rOwn
		}
		out(oRepRename, p.File)
		if m.LostReplies && s.Rep[r].Stage == 1 {
			n = *s
			p = &n.Rep[r]
			p.Late, p.PC = 1, rOwn
			out(oRepRename, p.File)
		}
	case rOwn:
		switch {
		case f.Final != 0:
			p.PC, p.Stage = rSync, 0
		case p.Stage == 0: // moved away by a rewind
			p.PC = rOver
		default:
			p.PC = rRename
		}
		out(oRepLook, p.File)
	case rSync:
		if !m.RepairUnsynced {
			for q := range n.Rep {
				if n.Rep[q].File == p.File {
					n.Rep[q].Unsync = 0
				}
			}
		}
		p.PC = rOver
		out(oRepSync, p.File)
	}
}

// world is everything that no process of ours decides.
func (m *Proto) world(s *State, emit func(State, Label)) {
	promised := uint8(0) // files that some complete entry names and no rewind took back
	everPromised := uint8(0)
	for lg := job0; lg <= job1; lg++ {
		end := s.end(lg)
		_, sup, _, _ := s.fold(lg, end)
		for i := uint8(0); i < end; i++ {
			if e := s.Log[lg][i]; e.Kind == kComplete {
				everPromised |= s.Cp[e.Arg].Files
				if sup>>e.Arg&1 == 0 {
					promised |= s.Cp[e.Arg].Files
				}
			}
		}
	}
	for i := uint8(0); i < s.NFile; i++ {
		f := &s.File[i]
		if f.Flags&lateRename != 0 && f.Stage == 1 && (f.Final == 0 || m.RenameOverwrites) {
			n := *s
			g := &n.File[i]
			g.Stage, g.Final, g.Unsync = 0, 1, fromStage
			emit(n, Label{oLateRename, 99, i, 0})
		}
		if f.Flags&lateDelete != 0 && f.Stage == 1 {
			n := *s
			n.File[i].Stage = 0
			emit(n, Label{oLateDelete, 99, i, 0})
		}
		if int(s.Taken) < m.Takes && f.Stage == 1 && promised>>i&1 == 1 {
			n := *s
			n.File[i].Stage = 0
			n.File[i].Flags |= takenAway
			n.Taken++
			emit(n, Label{oTake, 99, i, 0})
		}
		if m.Compactor && f.Final != 0 {
			for w := range s.Att {
				if a := &s.Att[w]; a.PC > pRestore && s.lineage(a.Head)&a.Fin>>f.Cp&1 == 1 {
					n := *s
					n.File[i].Final = 0
					n.File[i].Flags |= compacted
					emit(n, Label{oCompact, 99, i, 0})
				}
			}
		}
		if m.Cleaner && f.Flags&lateDelete == 0 && f.Stage == 1 {
			ended := false
			for j := s.Att[f.Owner].Begin; j < maxLog && s.Att[f.Owner].Begin != 0; j++ {
				ended = ended || s.Log[m.logOf(int(f.Owner))][j].Kind == kBegin
			}
			if ended && (m.CleanByEpoch || everPromised>>i&1 == 0) {
				n := *s
				n.File[i].Flags |= lateDelete
				emit(n, Label{oClean, 98, i, 0})
			}
		}
	}
	for w := range s.Att {
		a := &s.Att[w]
		if a.ALate != 0 && s.Log[a.Lg][a.ALate-1].Kind == kNone && a.AKind != 0 {
			n := *s
			n.Log[a.Lg][a.ALate-1] = Entry{a.AKind, uint8(w) + 1, a.AArg, a.AX}
			emit(n, Label{oLateAppend, uint8(w), a.ALate - 1, a.Lg})
		}
		if m.LogCleaning {
			lg := m.logOf(w)
			if a.PC == pPick && a.Head != 0 && s.lineage(a.Head)&^a.Fin == 0 && a.CleanTo == 0 { // done: older entries may go
				for j := uint8(0); j < a.JR; j++ {
					if e := s.Log[lg][j]; e.Kind == kComplete && e.Arg == a.Head-1 && j > s.Cleaned[lg] {
						n := *s
						n.Att[w].CleanTo = j
						emit(n, Label{oCleanPlan, uint8(w), j, uint8(lg)})
					}
				}
			}
			if a.CleanTo > s.Cleaned[lg] && int(a.CleanTo) < maxLog {
				n := *s
				n.Cleaned[lg] = a.CleanTo
				n.Att[w].CleanTo = maxLog
				for j := uint8(0); j < a.CleanTo; j++ {
					if e := s.Log[lg][j]; e.Kind == kComplete {
						n.Cp[e.Arg].Gone = 1
					}
				}
				emit(n, Label{oCleanLog, uint8(w), a.CleanTo, uint8(lg)})
			}
		}
	}
	if m.LogCleaning {
		for j := uint8(0); j < maxLog; j++ {
			if s.Log[tab][j].Kind == kSegment && s.Cleaned[tab] < j {
				n := *s
				n.Cleaned[tab] = j
				emit(n, Label{oCleanLog, 98, j, tab})
			}
		}
	}
	for r := range s.Rep {
		p := &s.Rep[r]
		if p.ALate != 0 && p.PC < rRename && s.Log[tab][p.ALate-1].Kind == kNone {
			n := *s
			n.Log[tab][p.ALate-1] = Entry{kRepair, uint8(r) + 10, p.File, 0}
			emit(n, Label{oLateAppend, uint8(r) + 10, p.ALate - 1, tab})
		}
		if p.Late == 1 && p.Stage == 1 && s.File[p.File].Final == 0 {
			n := *s
			n.Rep[r].Stage, n.Rep[r].Unsync = 0, 1
			n.File[p.File].Final = uint8(r) + 2
			emit(n, Label{oLateRepair, uint8(r) + 10, p.File, 0})
		}
	}
	if int(s.Damages) < m.Damages {
		cur, _, _, _ := s.fold(job0, s.end(job0))
		if cur != 0 && s.Cp[cur-1].Damaged == 0 {
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

// powerCut ends every process and undoes any choice of what was not on disk.
func (m *Proto) powerCut(s *State, emit func(State, Label)) {
	base := *s
	base.Cuts++
	for w := range base.Att {
		if base.Att[w].alive() {
			base.Att[w].PC = pDead
		}
		base.Att[w].ALate = 0
	}
	for r := range base.Rep {
		p := &base.Rep[r]
		p.Late, p.ALate = 0, 0
		if p.PC != rIdle && p.PC != rOver {
			p.PC = rOver
			p.Read = 0xff // was interrupted: it told nobody that it had finished
		}
	}
	if base.Att[m.Attempts-1].PC != pIdle {
		return // the last attempt must be there to finish
	}
	var logs func(st State, lg int)
	logs = func(st State, lg int) {
		if lg > tab {
			emit(st, Label{oCut, 99, 0, 0})
			return
		}
		for end := st.end(lg); ; end-- {
			logs(st, lg+1)
			if end == 0 || end <= st.Disk[lg] {
				return
			}
			st.Log[lg][end-1] = Entry{}
		}
	}
	var rec func(st State, i uint8)
	rec = func(st State, i uint8) {
		if i == st.NFile {
			logs(st, 0)
			return
		}
		f := st.File[i]
		g := &st.File[i]
		g.Flags &^= lateRename | lateDelete
		u := f.Unsync
		g.Unsync = 0
		if f.Final > 1 {
			p := &st.Rep[f.Final-2]
			if p.Unsync == 1 {
				p.Unsync = 0
				rec(st, i+1)
				p.Stage, g.Final = 1, 0
				rec(st, i+1)
				return
			}
		}
		rec(st, i+1) // everything reached the disk
		if u == 0 {
			return
		}
		switch {
		case f.Final != 0: // renamed from the temporary place
			g.Stage = 1
			if u&targetSynced == 0 {
				g.Final = 0
			}
			rec(st, i+1)
		case f.Sup == 1 && u&fromFinal != 0:
			g.Sup, g.Final = 0, 1
			rec(st, i+1)
			if u&fromStage != 0 {
				g.Final, g.Stage = 0, 1
				rec(st, i+1)
			}
		case f.Sup == 1:
			g.Sup, g.Stage = 0, 1
			rec(st, i+1)
		}
	}
	rec(base, 0)
}
