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
	oMoveStage
	oMoveRep
	oMoveFinal
	oMoveLook
	oMoveSync
	oPick
	oPoll
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
)

func (a *Att) alive() bool { return a.PC > pIdle && a.PC < pExited }

// Proto is the protocol for one table, with the rules and bounds of a scenario.
type Proto struct{ Config }

func (m *Proto) Init() State { return State{} }

func (m *Proto) logOf(w int) int {
	if m.OtherDir && w == 1 {
		return job1
	}
	return job0
}

func next(mask, after uint8) uint8 { // index+1 of the first file of mask at or behind after, or 0
	for i := after; i < maxFile; i++ {
		if mask>>i&1 == 1 {
			return i + 1
		}
	}
	return 0
}

func (m *Proto) Next(s *State, emit func(State, Label)) {
	if s.Bad != 0 {
		return
	}
	for w := 0; w < m.Attempts; w++ {
		if m.local(s, w) { // touches nothing that others see: no other order need be tried
			m.step(s, w, emit)
			return
		}
	}
	for w := 0; w < m.Attempts; w++ {
		if s.Att[w].PC == pIdle {
			if w == 0 || s.Att[w-1].PC != pIdle {
				n := *s
				n.Att[w].PC = pReadJob
				emit(n, Label{oStart, uint8(w), 0, 0})
			}
			break
		}
		if s.Att[w].alive() {
			m.step(s, w, emit)
		}
	}
	for r := 0; r < m.Repairers; r++ {
		m.repairer(s, r, emit)
	}
	m.world(s, emit)
}

// local: the next step of attempt w only thinks about what it has read.
func (m *Proto) local(s *State, w int) bool {
	a := &s.Att[w]
	switch a.PC {
	case pVerdict:
		return m.Reach == nil
	case pPick:
		return s.lineage(a.Head)&^a.Fin != 0 && !m.Overlap && !m.ClaimLate
	case pRestore:
		_, _, rewinds, _ := s.fold(m.logOf(w), a.JR)
		return a.RDone < rewinds || m.MaxRewinds == 0 && m.Damages == 0 && !m.LogCleaning && !m.UnknownIsFailed
	}
	return false
}

// send prepares an append of attempt a.
func (a *Att) send(lg int, kind, arg, x uint8) {
	a.PC, a.Lg, a.AKind, a.AArg, a.AX = pAppend, uint8(lg), kind, arg, x
}

func (a *Att) read() uint8 {
	if a.Lg == tab {
		return a.TR
	}
	return a.JR
}

func (a *Att) setRead(n uint8) {
	if a.Lg == tab {
		a.TR = n
	} else {
		a.JR = n
	}
}

// step is one step of an attempt.
func (m *Proto) step(s *State, w int, emit func(State, Label)) {
	n := *s
	a := &n.Att[w]
	lg := m.logOf(w)
	me := uint8(w) + 1
	out := func(op, arg uint8) { emit(n, Label{op, uint8(w), arg, a.Lg}) }
	back := func() { n = *s; a = &n.Att[w] }
	switch a.PC {
	case pReadJob:
		a.JR = s.end(lg)
		if _, _, _, ended := s.fold(lg, a.JR); ended {
			a.PC = pExited
		} else {
			if m.RestoreFirst {
				a.Head, _, _, _ = s.fold(lg, a.JR)
			}
			a.send(lg, kBegin, 0, 0)
		}
		out(oReadJob, a.JR)
	case pAppend:
		slot := a.read()
		if m.BlindAppend && a.AKind != kBegin && a.AKind != kClaim {
			slot = s.end(int(a.Lg))
		}
		if slot >= maxLog {
			n.Bad = badBound
			out(oNone, 0)
			return
		}
		e := Entry{a.AKind, me, a.AArg, a.AX}
		if slot < s.Cleaned[a.Lg] { // the slot is free again: the append succeeds, below the log's beginning
			a.setRead(slot + 1)
			a.PC = pList
			out(oGhost, slot)
			return
		}
		got := s.Log[a.Lg][slot]
		if got.Kind == kNone || m.LogOverwrites && got.Who != me {
			n.Log[a.Lg][slot] = e
			m.placed(&n, w, slot)
			out(oAppend, slot)
			if m.LostReplies {
				back()
				switch {
				case m.UnknownIsOK:
					a.ALate = slot + 1
					a.setRead(slot + 1)
					m.appended(&n, w)
				case m.UnknownIsFailed && a.AKind == kComplete:
					n.Log[a.Lg][slot] = e     // it did land
					n.Cp[a.Cur-1].Damaged = 1 // taken for aborted: its metadata is discarded
					a.PC, a.Cur = pPick, 0
				default:
					a.ALate = slot + 1
					a.PC = pLook
				}
				out(oAppendUnknown, slot)
			}
			return
		}
		m.taken(&n, w, slot, got, e)
		out(oAppendTaken, slot)
	case pLook:
		slot := a.ALate - 1
		e := Entry{a.AKind, me, a.AArg, a.AX}
		if got := s.Log[a.Lg][slot]; got.Kind == kNone || slot < s.Cleaned[a.Lg] {
			a.PC = pAppend
		} else {
			m.taken(&n, w, slot, got, e)
		}
		out(oLook, slot)
	case pSyncLog:
		n.Disk[a.Lg] = s.end(int(a.Lg))
		m.listOr(&n, w)
		out(oSyncLog, a.read())
	case pList:
		slot := a.read() - 1
		switch {
		case m.NoList:
			m.appended(&n, w)
		case m.ListExact && slot < s.Cleaned[a.Lg] && a.AKind == kBegin && !m.ListFences:
			a.PC, a.AKind = pReadJob, 0
		case m.ListExact && slot < s.Cleaned[a.Lg] && a.AKind == kClaim && !m.ListFences:
			a.PC, a.AKind = pReadTable, 0
		case m.ListExact && slot < s.Cleaned[a.Lg], !m.ListExact && s.end(int(a.Lg)) > slot+1:
			a.PC, a.AKind = pFenced, 0
		default:
			m.appended(&n, w)
		}
		out(oList, slot)
	case pReadTable:
		a.TR = s.end(tab)
		c := s.table(a.TR).claim
		switch {
		case m.NoClaim:
			a.PC = pRestore
		case c.Kind != kNone && int(c.Arg) == lg && c.X > a.Begin && !m.OldClaims:
			a.PC = pFenced // a newer attempt has claimed it
		case c.Kind != kNone && int(c.Arg) != lg && !(m.TakeOver && w == 1):
			if _, _, _, ended := s.fold(int(c.Arg), s.end(int(c.Arg))); !ended {
				a.PC = pRefused
				break
			}
			fallthrough
		default:
			if m.ClaimLate && a.Pos == 0 && a.Cur == 0 {
				a.PC = pRestore
			} else {
				a.send(tab, kClaim, uint8(lg), a.Begin)
			}
		}
		out(oReadTable, a.TR)
	case pRestore:
		m.restore(s, w, emit)
	case pMoveStage, pMoveRep, pMoveFinal:
		i := a.RFile - 1
		f := &n.File[i]
		ok := false
		op := oMoveStage
		switch a.PC {
		case pMoveStage:
			if f.Stage == 1 && f.Sup == 0 {
				f.Stage, f.Sup, f.Unsync, ok = 0, 1, fromStage, true
			}
			a.PC = pMoveFinal
			if m.Repairers > 0 && !m.RewindSkipsStaged {
				a.PC = pMoveRep
			}
		case pMoveRep:
			op = oMoveRep
			for r := range n.Rep {
				if s.named(a.TR, r, i) {
					n.Rep[r].Stage, n.Rep[r].Unsync = 0, 0
				}
			}
			a.PC = pMoveFinal
		default:
			op = oMoveFinal
			if f.Final != 0 && (f.Sup == 0 || m.RewindTwoNames) {
				f.Final, f.Sup, ok = 0, 1, true
				f.Unsync |= fromFinal
			}
			a.PC = pMoveLook
		}
		if ok && m.RewindOnePlace {
			m.nextMove(&n, a)
		}
		out(op, i)
	case pMoveLook:
		i := a.RFile - 1
		f := &s.File[i]
		staged := false
		for r := range s.Rep {
			staged = staged || !m.RewindSkipsStaged && s.Rep[r].Stage == 1 && s.named(a.TR, r, i)
		}
		switch {
		case m.RewindSkipsPending:
			m.nextMove(&n, a)
		case f.Final != 0 && f.Sup == 1 && !m.RewindTwoNames:
			return // both places held it and only one name is there under _superseded: refused for ever
		case f.Stage == 1 && f.Sup == 0 || f.Final != 0 || staged:
			a.PC, a.RTry = pMoveStage, 0
		case f.Sup == 1 || a.RTry == 1:
			m.nextMove(&n, a)
		default:
			a.RTry, a.PC = 1, pMoveStage
		}
		out(oMoveLook, i)
	case pMoveSync:
		if !m.RewindUnsynced {
			for i := range n.File {
				if n.File[i].Sup == 1 {
					n.File[i].Unsync = 0
				}
			}
		}
		a.RDone++
		a.PC, a.RMask, a.RFile, a.RTry = pRestore, 0, 0, 0
		out(oMoveSync, 0)
	case pPick:
		m.pick(s, w, emit)
	case pRename:
		i := a.CFile - 1
		f := &n.File[i]
		after := pSource
		if m.TargetFirst {
			after = pTarget
		}
		if f.Stage == 1 && (f.Final == 0 || m.RenameOverwrites) {
			f.Stage, f.Final, f.Unsync = 0, 1, fromStage
			m.nextFile(&n, a)
			out(oRename, i)
		} else {
			a.PC = after
			out(oRenameFail, i)
		}
		if m.LostReplies && s.File[i].Stage == 1 {
			back()
			n.File[i].Flags |= lateRename
			a.PC = after
			out(oRenameUnknown, i)
		}
	case pSource:
		i := a.CFile - 1
		f := &s.File[i]
		switch {
		case f.Stage == 1 && f.Final != 0 && !m.BothUnjudged:
			m.nextFile(&n, a)
		case f.Stage == 1 && f.Final != 0 && !m.RenameOverwrites:
			return
		case f.Stage == 1:
			a.PC = pRename
		case m.TargetFirst:
			m.missing(&n, w)
		default:
			a.PC = pTarget
		}
		out(oSource, i)
	case pTarget:
		i := a.CFile - 1
		switch {
		case s.File[i].Final > 1 && s.table(a.TR).repaired>>i&1 == 0:
			if m.RereadBeforeDamage { // another length than this process knows of
				a.PC = pReread
			} else {
				a.PC, n.Bad = pDamage, badFalseDamage
			}
		case s.File[i].Final != 0:
			m.nextFile(&n, a)
		case m.TargetFirst:
			a.PC = pSource
		default:
			m.missing(&n, w)
		}
		out(oTarget, i)
	case pReread:
		m.reread(s, w, emit)
	case pSync:
		files := n.Cp[a.CCp-1].Files
		for i := range n.File {
			if files>>i&1 == 1 && n.File[i].Final != 0 {
				n.File[i].Unsync = 0
			}
		}
		a.PC = pVerdict
		if m.DoneEarly {
			a.PC = pPick
			a.Fin |= 1 << (a.CCp - 1)
			a.CCp, a.CLost = 0, 0
		}
		out(oSync, a.CCp)
		if m.PowerCuts > 0 { // between the target folder's fsync and the source folder's
			back()
			for i := range n.File {
				if files>>i&1 == 1 && n.File[i].Unsync == fromStage && n.File[i].Final != 0 {
					n.File[i].Unsync |= targetSynced
				}
			}
			out(oSync, a.CCp)
		}
	case pVerdict:
		k := a.CCp - 1
		n.Told |= a.CLost
		switch {
		case a.CLost != 0 && !(m.AcceptLost && w >= m.AcceptFrom):
			a.PC = pLost
		case a.CLost != 0 && a.AKind == 0:
			a.send(tab, kAccept, k, a.CLost)
		case m.CertLate && s.table(a.TR).certs>>k&1 == 0:
			a.send(tab, kCert, k, 0)
		default:
			a.send(tab, kDone, k, a.CLost)
		}
		out(oVerdict, k)
	}
}

// named: does an entry of the table's log before n name the staged replacement of repairer r for file i?
func (s *State) named(n uint8, r int, i uint8) bool {
	for j := uint8(0); j < n; j++ {
		if e := s.Log[tab][j]; e.Kind == kRepair && e.Who == uint8(r)+10 && e.Arg == i {
			return true
		}
	}
	return false
}

func (m *Proto) nextFile(n *State, a *Att) {
	a.CTry = 0
	a.CFile = next(n.Cp[a.CCp-1].Files, a.CFile)
	a.PC = pRename
	if a.CFile == 0 {
		a.PC = pSync
		if m.DoneBeforeSync {
			a.PC = pVerdict
		}
	}
}

func (m *Proto) nextMove(n *State, a *Att) {
	a.RTry = 0
	a.RFile = next(a.RMask, a.RFile)
	a.PC = m.firstMove()
	if a.RFile == 0 {
		a.PC = pMoveSync
	}
}

func (m *Proto) firstMove() uint8 {
	if m.RewindSkipsPending {
		return pMoveFinal
	}
	return pMoveStage
}

// missing: source and target were both missing, in the order of the rule.
func (m *Proto) missing(n *State, w int) {
	a := &n.Att[w]
	if a.CTry == 0 && !m.LookOnce {
		a.CTry = 1
		a.PC = pSource
		if m.TargetFirst {
			a.PC = pTarget
		}
		return
	}
	a.PC = pReread
	if m.NoReread {
		m.lost(n, w)
	}
}

func (m *Proto) lost(n *State, w int) {
	a := &n.Att[w]
	i := a.CFile - 1
	if n.File[i].Flags&takenAway == 0 {
		n.Bad = badFalseLost
	}
	a.CLost |= 1 << i
	m.nextFile(n, a)
}

// reread looks for a newer epoch before a verdict of lost (or damaged).
func (m *Proto) reread(s *State, w int, emit func(State, Label)) {
	n := *s
	a := &n.Att[w]
	fenced := false
	if m.RereadJob {
		for i := a.Begin; i < maxLog; i++ {
			fenced = fenced || s.Log[m.logOf(w)][i].Kind == kBegin
		}
	}
	if !m.RereadJobOnly {
		for i := a.TR; i < maxLog; i++ {
			fenced = fenced || s.Log[tab][i].Kind == kClaim
		}
	}
	if fenced {
		a.PC = pFenced
	} else {
		m.lost(&n, w)
	}
	emit(n, Label{oReread, uint8(w), a.CFile, 0})
}

// placed notes that the entry of attempt w stands in a slot; on a disk that can lose its folder's newest entries that is not enough.
func (m *Proto) placed(n *State, w int, slot uint8) {
	a := &n.Att[w]
	a.ALate = 0
	a.setRead(slot + 1)
	if m.PowerCuts > 0 && !m.LogUnsynced {
		a.PC = pSyncLog
		return
	}
	m.listOr(n, w)
}

func (m *Proto) listOr(n *State, w int) {
	if m.LogCleaning || m.Repairers > 0 && !m.ListExact {
		n.Att[w].PC = pList
		return
	}
	m.appended(n, w)
}

// appended goes on after the entry of attempt w is known to stand.
func (m *Proto) appended(n *State, w int) {
	a := &n.Att[w]
	kind := a.AKind
	a.AKind = 0
	switch kind {
	case kBegin:
		a.Begin = a.JR
		a.PC = pReadTable
	case kClaim:
		a.Claimed = 1
		a.PC = pRestore
		if m.ClaimLate {
			a.PC = pPick
		}
	case kRewind:
		a.PC = pRestore
		if a.Lg != tab {
			n.Rewinds++
		}
	case kComplete:
		a.Head, a.Cur, a.PC = a.AArg+1, 0, pPick
		a.Pos = n.Cp[a.AArg].Pos
		a.Fin &^= 1 << a.AArg
		a.NextID++
	case kCert:
		a.PC = pRename
		if m.CertLate {
			a.PC = pVerdict
		}
	case kAccept:
		a.send(tab, kDone, a.CCp-1, a.CLost)
		return
	case kDone:
		a.Fin |= 1 << (a.CCp - 1)
		a.CCp, a.CFile, a.CTry, a.CLost = 0, 0, 0, 0
		a.PC = pPick
	case kSegment:
		a.PC = pPick
	case kEnd:
		a.PC = pExited
	}
	a.AArg, a.AX = 0, 0
}

// taken decides what an occupied slot means for the append e of attempt w.
func (m *Proto) taken(n *State, w int, slot uint8, got, e Entry) {
	a := &n.Att[w]
	behind := func() { a.ALate, a.PC = 0, pAppend; a.setRead(slot + 1) }
	switch {
	case got == e:
		m.placed(n, w, slot)
	case e.Kind == kBegin && m.RestoreFirst:
		behind()
	case e.Kind == kBegin:
		a.ALate, a.AKind, a.PC = 0, 0, pReadJob
	case e.Kind == kClaim:
		a.ALate, a.AKind, a.PC = 0, 0, pReadTable
	case got.Kind == kBegin, got.Kind == kEnd, got.Kind == kClaim && !m.ClaimIgnored && (int(got.Arg) != m.logOf(w) || got.X > a.Begin):
		a.PC, a.ALate, a.AKind = pFenced, 0, 0
	default:
		behind()
	}
}

// adopt makes head the state of a; only the newest completed checkpoint can have output in flight.
func (m *Proto) adopt(s *State, w int, head uint8) {
	a, own := &s.Att[w], m.logOf(w)
	a.Head, a.Pos, a.Fin, a.PC = head, 0, 0xff, pPick
	id := uint8(0)
	up := func(k uint8) {
		if s.Cp[k].ID > id {
			id = s.Cp[k].ID
		}
	}
	if head != 0 {
		a.Pos = s.Cp[head-1].Pos
		a.Fin = ^(uint8(1) << (head - 1))
		up(head - 1)
		if s.Cp[head-1].Gone == 1 && s.Cp[head-1].Copied == 0 {
			s.Bad = badGone
		}
	}
	if !m.ReuseIDs {
		for lg := range s.Log {
			for _, e := range s.Log[lg] {
				if e.Kind == kComplete && lg == own || e.Kind == kCert {
					up(e.Arg)
				}
			}
		}
	}
	a.NextID = id + 1
}

// restore finishes the rewinds that were ordered and chooses the state to go on from.
func (m *Proto) restore(s *State, w int, emit func(State, Label)) {
	n := *s
	a := &n.Att[w]
	lg := m.logOf(w)
	out := func(arg uint8) { emit(n, Label{oRestore, uint8(w), arg, 0}) }
	cur, _, rewinds, _ := s.fold(lg, a.JR)
	t := s.table(a.TR)
	if a.RDone < rewinds { // every restart finishes them first
		nr, e, slot := uint8(0), Entry{}, uint8(0)
		for i := uint8(0); i < a.JR; i++ {
			if s.Log[lg][i].Kind == kRewind {
				if nr == a.RDone {
					e, slot = s.Log[lg][i], i
				}
				nr++
			}
		}
		arg := e.Arg | slot<<4
		if !m.RewindNotInTable {
			there := false
			for i := uint8(0); i < a.TR; i++ {
				x := s.Log[tab][i]
				there = there || x.Kind == kRewind && x.Arg == arg && x.X == e.X
			}
			if !there {
				a.send(tab, kRewind, arg, e.X)
				out(e.Arg)
				return
			}
		}
		a.RMask = s.filesOf(e.X & t.certs)
		a.RFile = next(a.RMask, 0)
		a.PC = m.firstMove()
		if a.RFile == 0 {
			a.PC = pMoveSync
		}
		out(e.Arg)
		return
	}
	if m.RestoreFirst {
		m.adopt(&n, w, a.Head)
		out(a.Head)
		return
	}
	base := cur
	fresh := m.OtherDir && w == 1 && cur == 0 && rewinds == 0
	if fresh {
		base = t.tail
	}
	own := s.Log[lg][a.JR-1]
	if m.MaxRewinds > 0 && w >= m.RewindBy && int(s.Rewinds) < m.MaxRewinds && (base != 0 || fresh && t.live != 0) && !(own.Kind == kRewind && own.Who == uint8(w)+1) {
		for h := base; h != 0; {
			h = s.Cp[h-1].Parent
			n = *s
			a = &n.Att[w]
			if h != 0 && (s.Cp[h-1].Damaged == 1 || s.Cp[h-1].Gone == 1 && s.Cp[h-1].Copied == 0) {
				continue
			}
			newer := (s.lineage(base) | t.live) &^ s.lineage(h)
			if m.OldIfInvisible || m.OldIfUncertified || m.OldSilently {
				free := m.OldSilently || m.OldIfUncertified && t.live&newer == 0
				if m.OldIfInvisible {
					free = true
					for i := uint8(0); i < s.NFile; i++ {
						if newer>>s.File[i].Cp&1 == 1 && s.File[i].Final != 0 {
							free = false
						}
					}
				}
				if free {
					n.Rewinds++
					m.adopt(&n, w, h)
					out(h)
				}
				continue
			}
			if h != 0 && !m.RewindNoCopy {
				n.Cp[h-1].Copied = 1
			}
			a.send(lg, kRewind, h, newer)
			out(h)
		}
		n = *s
		a = &n.Att[w]
	}
	switch {
	case fresh && t.certs != 0 && !m.FreshUnchecked:
		a.PC = pRefused
	case cur != 0 && s.Cp[cur-1].Damaged == 1:
		a.PC = pRefused
		if m.UnknownIsFailed {
			n.Bad = badHalf
		}
		if m.DamagedSilently {
			m.adopt(&n, w, s.Cp[cur-1].Parent)
		}
	case !fresh && t.tail != cur && (cur == 0 || t.tail != s.Cp[cur-1].Parent) && !m.ChainUnchecked:
		a.PC = pRefused
	default:
		m.adopt(&n, w, cur)
	}
	out(cur)
}

// pick decides what comes next: commit what is owed, read on, or end.
func (m *Proto) pick(s *State, w int, emit func(State, Label)) {
	n := *s
	a := &n.Att[w]
	lg := m.logOf(w)
	out := func(op, arg uint8) { emit(n, Label{op, uint8(w), arg, a.Lg}) }
	back := func() { n = *s; a = &n.Att[w] }
	owed := s.lineage(a.Head) &^ a.Fin
	if owed != 0 && m.ClaimLate && a.Claimed == 0 {
		a.Claimed = 1
		a.TR = s.end(tab)
		a.send(tab, kClaim, uint8(lg), a.Begin)
		out(oReadTable, a.TR)
		return
	}
	if owed != 0 {
		k := uint8(0) // lineages grow by index, so the lowest is the oldest
		for owed>>k&1 == 0 {
			k++
		}
		t := s.table(a.TR)
		done := t.dones>>k&1 == 1
		if m.DoneByID {
			for j := uint8(0); j < s.NCp; j++ {
				done = done || t.dones>>j&1 == 1 && s.Cp[j].ID == s.Cp[k].ID
			}
		}
		switch {
		case done:
			a.Fin |= 1 << k
		default:
			a.CCp, a.CFile, a.CTry, a.CLost = k+1, next(s.Cp[k].Files, 0), 0, 0
			if t.certs>>k&1 == 1 || m.CertLate {
				a.PC = pRename
			} else {
				a.send(tab, kCert, k, 0)
			}
		}
		out(oPick, k)
		if !m.Overlap || owed&(owed-1) != 0 {
			return
		}
		back()
	}
	if int(a.Pos) == m.Offsets {
		if owed == 0 {
			a.send(lg, kEnd, 0, 0)
			out(oPoll, 0)
		}
		return
	}
	if m.LogCleaning && owed == 0 { // a segment, before which entries may be removed
		seg := false
		for _, e := range s.Log[tab] {
			seg = seg || e.Kind == kSegment
		}
		if !seg && a.Head != 0 {
			a.send(tab, kSegment, 0, 0)
			out(oPick, 0)
			back()
		}
	}
	for k := 1; k <= m.PerCp && int(a.Pos)+k <= m.Offsets; k++ {
		back()
		if int(n.NFile)+k > maxFile || n.NCp >= maxCp {
			n.Bad = badBound
			out(oNone, 0)
			return
		}
		c := &n.Cp[n.NCp]
		*c = Cp{ID: a.NextID, Pos: a.Pos + uint8(k), Parent: a.Head}
		for i := 0; i < k; i++ {
			n.File[n.NFile] = File{Off: a.Pos + uint8(i), Owner: uint8(w), Cp: n.NCp, Stage: 1}
			c.Files |= 1 << n.NFile
			n.NFile++
		}
		n.NCp++
		a.Cur = n.NCp
		a.send(lg, kComplete, n.NCp-1, 0)
		out(oPoll, uint8(k))
	}
	if int(s.Aborts) < m.Aborts { // a checkpoint that fails before its append leaves a file; its id may be given again
		back()
		if n.NFile < maxFile && n.NCp < maxCp {
			n.Cp[n.NCp] = Cp{ID: a.NextID, Pos: a.Pos + 1, Parent: a.Head, Files: 1 << n.NFile}
			n.File[n.NFile] = File{Off: a.Pos, Owner: uint8(w), Cp: n.NCp, Stage: 1}
			n.NFile++
			n.NCp++
			n.Aborts++
			out(oAbort, 0)
		}
	}
}
