package model

// Program counters of an attempt. It has one thread: one checkpoint at a time.
const (
	pIdle uint8 = iota
	pReadJob
	pAppend
	pLook
	pSyncLog
	pList
	pReadTable
	pRestore
	pMoveStage
	pMoveRep
	pMoveFinal
	pMoveLook
	pMoveSync
	pPick
	pAck
	pRename
	pSource
	pTarget
	pReread
	pSync
	pVerdict
	pExited
	pFenced
	pRefused
	pLost
	pDamage
	pDead
)

// Ops of the labels.
const (
	oNone uint8 = iota
	oStart
	oReadJob
	oAppend
	oGhost
	oAppendUnknown
	oAppendTaken
	oLook
	oSyncLog
	oList
	oReadTable
	oRestore
	oFrom
	oKeep
	oMoveStage
	oMoveRep
	oMoveFinal
	oMoveLook
	oMoveSync
	oPick
	oPoll
	oAck
	oAbort
	oRename
	oRenameFail
	oRenameUnknown
	oSource
	oTarget
	oReread
	oSync
	oVerdict
	oLateRename
	oLateDelete
	oLateAppend
	oLateRepair
	oLateMove
	oTake
	oCompact
	oClean
	oCleanPlan
	oCleanLog
	oCut
	oDamage
	oRepRead
	oRepEntry
	oRepRename
	oRepLook
	oRepSync
	oListPending
	oCleanRead
	oCleanTable
)

func (a *Att) alive() bool { return a.PC > pIdle && a.PC < pExited }

// Proto is the protocol with the rules and bounds of a scenario.
type Proto struct{ Config }

// Init is the world before the first attempt: empty, but for a begin that somebody made in the other directory.
func (m *Proto) Init() (s State) {
	for i := range m.OtherBegins {
		s.Log[job1][i] = Entry{kBegin, 0xf0, 0, uint8(i)}
		s.Disk[job1]++
	}
	return s
}

// logOf is the job log of attempt w.
func (m *Proto) logOf(w int) int {
	if m.OtherDir && w >= m.otherFrom() && (w < m.BackFrom || m.BackFrom == 0) {
		return job1
	}
	return job0
}

// otherFrom is the first attempt that runs in the other directory.
func (m *Proto) otherFrom() int { return max(m.OtherFrom, 1) }

// tables is the number of tables.
func (m *Proto) tables() int { return max(m.Tables, 1) }

// splits is the number of splits of the source, each read by a subtask of its own.
func (m *Proto) splits() int { return max(m.Splits, 1) }

// feeds: do the rows of a split go to table x? With as many tables as splits each table has its own source, else all rows go to all tables.
func (m *Proto) feeds(split, x int) bool {
	return m.tables() == 1 || m.splits() == 1 || split == x
}

// turn is one step of attempt w from state s: what it does is done to n.
type turn struct {
	m    *Proto
	s    *State
	n    State
	a    *Att
	w    int
	lg   int
	emit func(State, Label)
}

func (t *turn) out(op, arg uint8) { t.emit(t.n, Label{op, uint8(t.w), arg, t.a.Lg}) }

// again undoes what was done to n, for another outcome of the same step.
func (t *turn) again() { t.n = *t.s; t.a = &t.n.Att[t.w] }

// view is what attempt w has read of the log of table x.
func (t *turn) view(x int) Table { return t.s.table(x, t.s.Att[t.w].TR[x]) }

// Next emits every step from s.
func (m *Proto) Next(s *State, emit func(State, Label)) {
	if s.Bad != 0 {
		return
	}
	give := emit
	emit = func(n State, l Label) {
		m.canonical(&n)
		give(n, l)
	}
	for w := range m.Attempts {
		if m.local(s, w) { // touches nothing that others see: no other order need be tried
			m.step(s, w, emit)
			return
		}
	}
	for w := range m.Attempts {
		if s.Att[w].PC == pIdle {
			if w == 0 || s.Att[w-1].PC != pIdle {
				m.start(s, w, emit)
			}
			break
		}
		if s.Att[w].alive() {
			m.step(s, w, emit)
		}
	}
	for r := range m.Repairers {
		m.repairer(s, r, emit)
	}
	if m.Cleans > 0 {
		m.clean(s, emit)
	}
	m.world(s, emit)
}

// start lets a process begin by reading its job's log.
func (m *Proto) start(s *State, w int, emit func(State, Label)) {
	n := *s
	n.Att[w].PC = pReadJob
	if m.Reach != nil {
		emit(n, Label{oStart, uint8(w), 0, 0})
		return
	}
	m.step(&n, w, emit)
}

// local: the next step of attempt w only thinks about what it has read.
func (m *Proto) local(s *State, w int) bool {
	a := &s.Att[w]
	switch a.PC {
	case pVerdict:
		return m.Reach == nil
	case pPick:
		return a.Owe != 0 && !m.Overlap && !m.ClaimLate
	case pAck:
		return m.Cleans == 0
	case pSync, pMoveSync:
		return m.PowerCuts == 0 && m.Reach == nil
	case pRestore:
		return m.unfinished(s, w) || m.MaxRewinds == 0 && m.Damages == 0 && !m.LogCleaning && !m.UnknownIsFailed && !m.FromTable
	}
	return false
}

// step is one step of an attempt.
func (m *Proto) step(s *State, w int, emit func(State, Label)) {
	t := &turn{m: m, s: s, n: *s, w: w, lg: m.logOf(w), emit: emit}
	t.a = &t.n.Att[w]
	switch t.a.PC {
	case pReadJob:
		t.readJob()
	case pAppend:
		t.append()
	case pLook:
		t.lookBack()
	case pSyncLog:
		t.n.Disk[t.a.Lg] = s.end(int(t.a.Lg))
		t.listOr()
		t.out(oSyncLog, t.a.read())
	case pList:
		t.list()
	case pReadTable:
		t.readTable()
	case pRestore:
		t.restore()
	case pMoveStage, pMoveRep, pMoveFinal:
		t.move()
	case pMoveLook:
		t.moveLook()
	case pMoveSync:
		t.moveSync()
	case pPick:
		t.pick()
	case pAck:
		t.acknowledge()
	case pRename:
		t.rename()
	case pSource:
		t.source()
	case pTarget:
		t.target()
	case pReread:
		t.reread()
	case pSync:
		t.sync()
	case pVerdict:
		t.verdict()
	}
}
