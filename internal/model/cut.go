package model

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
	if base.Clean.PC != clIdle {
		base.Clean = Cleaning{PC: clOver}
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
		if lg == logCount {
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
		g.Flags &^= lateRename | lateDelete | lateMoveStage | lateMoveFinal
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
