package model

// Program counters of a repairer.
const (
	rIdle uint8 = iota
	rEntry
	rEntryLook
	rRename
	rOwn
	rSync
	rOver
)

// repair is one step of an operator's own process that replaces a file of the first table with verdict lost.
type repair struct {
	m    *Proto
	s    *State
	n    State
	p    *Rep
	r    int
	emit func(State, Label)
}

func (t *repair) who() uint8 { return uint8(t.r) + 10 }

func (t *repair) out(op, arg uint8) { t.emit(t.n, Label{op, t.who(), arg, tab0}) }

func (t *repair) again() { t.n = *t.s; t.p = &t.n.Rep[t.r] }

func (t *repair) entry() Entry { return Entry{kRepair, t.who(), t.p.File, 0} }

func (m *Proto) repairer(s *State, r int, emit func(State, Label)) {
	t := &repair{m: m, s: s, n: *s, r: r, emit: emit}
	t.p = &t.n.Rep[r]
	switch t.p.PC {
	case rIdle:
		t.begin()
	case rEntry:
		t.append()
	case rEntryLook:
		t.lookBack()
	case rRename:
		t.place()
	case rOwn:
		f := &t.n.File[t.p.File]
		switch {
		case f.Final != 0:
			t.p.PC, t.p.Stage = rSync, 0
		case t.p.Stage == 0: // moved away by a rewind
			t.p.PC = rOver
		default:
			t.p.PC = rRename
		}
		t.out(oRepLook, t.p.File)
	case rSync:
		if !m.RepairUnsynced {
			for q := range t.n.Rep {
				if t.n.Rep[q].File == t.p.File {
					t.n.Rep[q].Unsync = 0
				}
			}
		}
		t.p.PC = rOver
		t.out(oRepSync, t.p.File)
	}
}

// begin finds a lost file and stages its replacement.
func (t *repair) begin() {
	s := t.s
	if t.r > 0 && s.Rep[t.r-1].PC == rIdle {
		return
	}
	end := s.end(tab0)
	v := s.table(0, end)
	for k := range s.NCp {
		lost := v.lost & s.Cp[k].Files
		if lost == 0 || v.live>>k&1 == 0 {
			continue
		}
		t.again()
		i := next(lost, 0) - 1
		*t.p = Rep{PC: rEntry, File: i, Read: end, Stage: 1}
		t.out(oRepRead, i)
	}
}

func (t *repair) placed(slot uint8) {
	if t.m.PowerCuts > 0 && !t.m.LogUnsynced {
		t.n.Disk[tab0] = max(t.s.end(tab0), slot+1)
	}
	t.p.PC, t.p.ALate = rRename, 0
}

// append places the repair entry.
func (t *repair) append() {
	s, m := t.s, t.m
	slot := t.p.Read
	switch got := s.Log[tab0][min(slot, maxLog-1)]; {
	case slot >= maxLog:
		t.n.Bad = badBound
		t.out(oNone, 0)
	case got.Kind == kNone:
		t.n.Log[tab0][slot] = t.entry()
		t.placed(slot)
		t.out(oRepEntry, slot)
		if m.LostReplies {
			t.again()
			t.p.PC, t.p.ALate = rEntryLook, slot+1
			t.out(oRepEntry, slot)
		}
	case got == t.entry(): // its own, landed late
		t.placed(slot)
		t.out(oRepEntry, slot)
	default:
		t.p.Read, t.p.ALate = s.end(tab0), 0
		if s.table(0, t.p.Read).live>>s.File[t.p.File].Cp&1 == 0 && !m.RepairIgnoresRewind {
			t.p.PC, t.p.Stage = rOver, 0
		}
		t.out(oRepEntry, slot)
	}
}

func (t *repair) lookBack() {
	slot := t.p.ALate - 1
	got := t.s.Log[tab0][slot]
	if got == t.entry() {
		t.placed(slot)
	} else {
		t.p.PC, t.p.ALate = rEntry, 0
		if got.Kind == kNone {
			t.p.ALate = slot + 1
		}
	}
	t.out(oRepEntry, slot)
}

// place renames the replacement to the lost file's own final name.
func (t *repair) place() {
	s, m := t.s, t.m
	f := &t.n.File[t.p.File]
	if m.RepairNewName {
		t.p.Stage, t.p.Extra, t.p.PC = 0, 1, rOver
		t.out(oRepRename, t.p.File)
		return
	}
	if t.p.Stage == 1 && f.Final == 0 {
		t.p.Stage, f.Final, t.p.PC = 0, uint8(t.r)+2, rSync
		t.p.Unsync = 1
	} else {
		t.p.PC = rOwn
	}
	t.out(oRepRename, t.p.File)
	if m.LostReplies && s.Rep[t.r].Stage == 1 {
		t.again()
		t.p.Late, t.p.PC = 1, rOwn
		t.out(oRepRename, t.p.File)
	}
}

// named: does an entry of the first table's log before n name the staged replacement of repairer r for file i?
func (s *State) named(n uint8, r int, i uint8) bool {
	for j := range n {
		if e := s.Log[tab0][j]; e.Kind == kRepair && e.Who == uint8(r)+10 && e.Arg == i {
			return true
		}
	}
	return false
}
