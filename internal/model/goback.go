package model

// mayGoBack: is this attempt told to go back to an older state, and has the budget for that not been used up?
func (t *turn) mayGoBack() bool {
	return t.m.MaxRewinds > 0 && t.w >= t.m.RewindBy && int(t.s.Rewinds) < t.m.MaxRewinds
}

// open is the going back that attempt w has read in the job's log and that no complete behind it proves to be carried out.
func (m *Proto) open(s *State, w int) (e Entry, ref uint8, ok bool) {
	a, lg := &s.Att[w], m.logOf(w)
	j := s.job(lg, a.JR)
	if j.adopt == 0 || s.Log[lg][j.adopt-1].Kind == kFrom {
		return
	}
	return s.Log[lg][j.adopt-1], reference(lg, j.adopt-1), true
}

// halfDone is the rewind in table x's log that has no end mark yet, whichever job log ordered it.
func (m *Proto) halfDone(s *State, w, x int) (e Entry, ok bool) {
	n := s.Att[w].TR[x]
	for i := s.Cleaned[tab0+x]; i < n; i++ {
		e := s.Log[tab0+x][i]
		if e.Kind != kRewind || s.has(x, n, kRewound, e.Arg) {
			continue
		}
		if int(e.Arg>>5) != m.logOf(w) && m.ForeignUnfinished || e.Who != uint8(w)+1 && m.RewindNotFinished {
			continue
		}
		return e, true
	}
	return
}

// todo is what has to be done first before attempt w may choose a state: table by table, the order is put into the table's log (entry), or
// what that log says is superseded is moved (moves).
func (m *Proto) todo(s *State, w int) (e Entry, ref uint8, x int, entry, moves bool) {
	for x := range m.tables() {
		if e, ok := m.halfDone(s, w, x); ok {
			return e, e.Arg, x, false, true
		}
		if e, ref, ok := m.open(s, w); ok && m.needs(s, w, x, e, ref) && !(m.RewindFirstTable && x > 0) {
			return e, ref, x, true, false
		}
	}
	return
}

// needs: does table x's log, as attempt w has read it, lack the entry of a going back? One whose chain ends at the target needs none.
func (m *Proto) needs(s *State, w, x int, e Entry, ref uint8) bool {
	n := s.Att[w].TR[x]
	t := s.table(x, n)
	end := s.chainEnd(x, t, e.Arg)
	return t.tail != end && !s.has(x, n, e.Kind, ref)
}

// unfinished: is there an order to go back that attempt w knows of and that is not carried out?
func (m *Proto) unfinished(s *State, w int) bool {
	if m.RewindNotInTable {
		return s.Att[w].RDone < s.job(m.logOf(w), s.Att[w].JR).goings
	}
	_, _, _, entry, moves := m.todo(s, w)
	return entry || moves
}

// restore finishes what was ordered before, then chooses the state to go on from.
func (t *turn) restore() {
	if t.m.unfinished(t.s, t.w) {
		t.finish()
		return
	}
	a, s, m := t.a, t.s, t.m
	if m.RestoreFirst {
		t.adopt(a.Head)
		t.out(oRestore, a.Head)
		return
	}
	j := s.job(t.lg, a.JR)
	fresh := t.lg == job1 && j.cur == 0 && j.adopt == 0
	if own := s.Log[t.lg][a.JR-1]; t.mayGoBack() && !((own.Kind == kRewind || own.Kind == kKeep) && own.Who == uint8(t.w)+1) {
		t.goBack(j.cur, fresh)
		t.again()
	}
	t.goOn(j, fresh)
}

// finish puts the order into the next table's log, or begins to move what a table's log says is superseded.
func (t *turn) finish() {
	a, s, m := t.a, t.s, t.m
	if m.RewindNotInTable {
		e, slot := s.going(t.lg, a.RDone)
		a.Tab, a.RRef = 0, reference(t.lg, slot)
		t.startMoves(e)
		return
	}
	e, ref, x, entry, _ := m.todo(s, t.w)
	if !entry {
		a.Tab, a.RRef = uint8(x), ref
		t.startMoves(e)
		return
	}
	arg := e.X
	if e.Kind == kKeep {
		arg = t.view(x).tail
	}
	a.send(tab0+x, e.Kind, ref, arg)
	t.out(oRestore, e.Arg)
}

func (t *turn) startMoves(e Entry) {
	a := t.a
	a.RMask = t.s.filesOf(e.X&t.view(int(a.Tab)).certs, int(a.Tab))
	a.RFile = next(a.RMask, 0)
	a.PC = t.firstMove()
	if a.RFile == 0 {
		a.PC = pMoveSync
	}
	t.out(oRestore, t.s.target(a.RRef))
}

// goBack emits the choices of a person who orders this attempt back to an older state.
func (t *turn) goBack(cur uint8, fresh bool) {
	s := t.s
	base, h, from := cur, uint8(0), t.lg
	if fresh { // another directory: its newest checkpoint may be taken as well
		if base = s.job(job0, s.end(job0)).cur; base == 0 {
			return
		}
		h, from = base, job0
	} else if base == 0 {
		return
	} else {
		h = s.Cp[base-1].Parent
	}
	if t.m.AnyTarget { // also one that was superseded
		for i := range t.a.JR {
			if e := s.Log[t.lg][i]; e.Kind == kComplete && s.lineage(base)>>e.Arg&1 == 0 && t.readable(e.Arg, t.lg) {
				t.again()
				t.goBackTo(base, e.Arg+1)
			}
		}
	}
	for ; ; h = s.Cp[h-1].Parent {
		t.again()
		if h == 0 || s.Cp[h-1].Damaged == 0 && t.readable(h-1, from) {
			t.goBackTo(base, h)
		}
		if h == 0 {
			return
		}
	}
}

// readable: is the metadata of checkpoint k still there, in a job's log or as a copy?
func (t *turn) readable(k uint8, lg int) bool {
	return t.s.Cp[k].Gone>>lg&1 == 0 || t.s.Cp[k].Copied == 1 || t.m.Savepoints
}

func (t *turn) goBackTo(base, h uint8) {
	s, m := t.s, t.m
	newer := s.lineage(base) &^ s.lineage(h)
	live := uint8(0)
	for x := range m.tables() {
		v := t.view(x)
		end := s.chainEnd(x, v, h)
		if m.SupersededUnseen && h != 0 && v.live>>(h-1)&1 == 0 {
			end = s.Cp[h-1].Expect[x]
		}
		if end != 0 && v.live>>(end-1)&1 == 0 { // forked: the chain does not hold it
			return
		}
		if h != 0 && end != h && v.tail != end && s.filesOf(1<<(h-1), x) != 0 { // a promise is carried out at the chain's end only
			return
		}
		newer |= s.after(x, s.Att[t.w].TR[x], end)
		live |= v.live
	}
	if m.OldIfInvisible || m.OldIfUncertified || m.OldSilently {
		free := m.OldSilently || m.OldIfUncertified && live&newer == 0
		if m.OldIfInvisible {
			free = true
			for i := range s.NFile {
				if newer>>s.File[i].Cp&1 == 1 && s.File[i].Final != 0 {
					free = false
				}
			}
		}
		if free {
			t.n.Rewinds++
			t.adopt(h)
			t.out(oRestore, h)
		}
		return
	}
	if h != 0 && !m.RewindNoCopy {
		t.n.Cp[h-1].Copied = 1
	}
	if !m.KeepOnly {
		t.a.send(t.lg, kRewind, h, newer)
		t.out(oRestore, h)
	}
	if m.Keep || m.KeepOnly {
		t.a.send(t.lg, kKeep, h, newer)
		t.out(oKeep, h)
	}
}

// goOn restores the newest state, or refuses to.
func (t *turn) goOn(j Job, fresh bool) {
	a, s, m := t.a, t.s, t.m
	chains, output := true, false
	for x := range m.tables() {
		chains = chains && t.chainOK(x, j)
		output = output || t.view(x).certs != 0
	}
	switch {
	case fresh && output && m.FromTable:
		t.fromTables()
		return
	case fresh && output && !m.FreshUnchecked:
		a.PC = pRefused
	case j.cur != 0 && s.Cp[j.cur-1].Damaged == 1:
		a.PC = pRefused
		if m.UnknownIsFailed {
			t.n.Bad = badHalf
		}
		if m.DamagedSilently {
			t.adopt(s.Cp[j.cur-1].Parent)
		}
	case !fresh && !chains && !m.ChainUnchecked:
		a.PC = pRefused
	default:
		t.adopt(j.cur)
	}
	t.out(oRestore, j.cur)
}

// chainOK: does the chain of table x end where the newest state says?
func (t *turn) chainOK(x int, j Job) bool {
	v := t.view(x)
	if j.adopt != 0 && t.s.Log[t.lg][j.adopt-1].Kind == kKeep {
		if end, ok := t.s.kept(x, t.s.Att[t.w].TR[x], reference(t.lg, j.adopt-1)); ok {
			return v.tail == end
		}
	}
	if v.tail == j.cur {
		return true
	}
	// A promise is carried out at the chain's end, unless it was already, and a rewind took it back.
	return j.cur != 0 && v.tail == t.s.Cp[j.cur-1].Expect[x] && (v.certs>>(j.cur-1)&1 == 0 || t.m.SupersededUnseen)
}

// fromTables puts a state together from the tables' certificates, if they agree about each split.
func (t *turn) fromTables() {
	s, m, n := t.s, t.m, &t.n
	c := Cp{}
	for split := range m.splits() {
		first := true
		for x := range m.tables() {
			if !m.feeds(split, x) {
				continue
			}
			to, v := uint8(0), t.view(x)
			for k := range s.NCp {
				if v.live>>k&1 == 1 {
					to = max(to, s.Cp[k].Pos[split])
				}
			}
			if !first && to != c.Pos[split] && !m.FromGreatest {
				t.a.PC = pRefused
				t.out(oFrom, 0)
				return
			}
			c.Pos[split] = max(c.Pos[split], to)
			first = false
		}
	}
	for x := range m.tables() {
		c.Expect[x] = t.view(x).tail
		c.Parent = max(c.Parent, c.Expect[x])
	}
	if n.NCp >= maxCp {
		n.Bad = badBound
		t.out(oNone, 0)
		return
	}
	if c.Parent != 0 {
		c.ID = s.Cp[c.Parent-1].ID
	}
	n.Cp[n.NCp] = c
	n.NCp++
	t.a.send(t.lg, kFrom, n.NCp, 0)
	t.out(oFrom, n.NCp)
}

// adopt makes head the state; only the newest completed checkpoint can have output in flight, or where a chain that is kept ends.
func (t *turn) adopt(head uint8) {
	a, s, m := t.a, &t.n, t.m
	a.Head, a.Pos, a.Owe, a.Kept, a.PC, a.Tab = head, [maxSplit]uint8{}, 0, 0, pPick, 0
	id := uint8(0)
	up := func(k uint8) { id = max(id, s.Cp[k].ID) }
	if head != 0 {
		a.Pos = s.Cp[head-1].Pos
		a.Owe = 1 << (head - 1)
		up(head - 1)
		if s.Cp[head-1].Gone>>t.lg&1 == 1 && s.Cp[head-1].Copied == 0 {
			s.Bad = badGone
			for i := a.Begin; i < maxLog; i++ {
				if s.Log[t.lg][i].Kind == kBegin { // a newer attempt went on: this one cannot read its state, and finds itself fenced
					s.Bad, a.PC = badNone, pFenced
				}
			}
		}
	}
	if j := s.job(t.lg, a.JR); j.adopt != 0 && s.Log[t.lg][j.adopt-1].Kind != kRewind && !m.KeptUnfinished {
		for x := range m.tables() {
			if v := s.table(x, a.TR[x]); v.tail != 0 && v.tail != head && v.dones>>(v.tail-1)&1 == 0 {
				a.Kept |= 1 << (v.tail - 1)
			}
		}
		a.Owe |= a.Kept
	}
	if !m.ReuseIDs {
		for lg := range s.Log {
			for _, e := range s.Log[lg] {
				if e.Kind == kComplete && lg == t.lg || e.Kind == kCert {
					up(e.Arg)
				}
			}
		}
	}
	a.NextID = id + 1
}

func (t *turn) firstMove() uint8 {
	if t.m.RewindSkipsPending {
		return pMoveFinal
	}
	return pMoveStage
}

// move takes a superseded file out of one place. An answer that gets lost changes nothing: the places are looked at afterwards anyway, and a
// late move finds nothing, or what belongs away.
func (t *turn) move() {
	a, s, n, m := t.a, t.s, &t.n, t.m
	i := a.RFile - 1
	f := &n.File[i]
	ok, op, late := false, oMoveStage, uint8(0)
	after := func() {
		switch {
		case s.Att[t.w].PC == pMoveStage && m.Repairers > 0 && !m.RewindSkipsStaged:
			t.a.PC = pMoveRep
		case s.Att[t.w].PC == pMoveFinal:
			t.a.PC = pMoveLook
		default:
			t.a.PC = pMoveFinal
		}
	}
	switch a.PC {
	case pMoveStage:
		if f.Stage == 1 && f.Sup == 0 {
			f.Stage, f.Sup, f.Unsync, ok = 0, 1, fromStage, true
			late = lateMoveStage
		}
	case pMoveRep:
		op = oMoveRep
		for r := range n.Rep {
			if s.named(a.TR[0], r, i) {
				n.Rep[r].Stage, n.Rep[r].Unsync = 0, 0
			}
		}
	default:
		op = oMoveFinal
		if f.Final != 0 && (f.Sup == 0 || m.RewindTwoNames) {
			f.Final, f.Sup, ok = 0, 1, true
			f.Unsync |= fromFinal
			late = lateMoveFinal
		}
	}
	after()
	if ok && m.RewindOnePlace {
		t.nextMove()
	}
	t.out(op, i)
	if late != 0 && m.LateMoves && t.mayLose() && s.File[i].Flags&late == 0 {
		t.loses()
		t.n.File[i].Flags |= late
		after()
		t.out(op, i)
	}
}

// moveLook looks for the file in all places.
func (t *turn) moveLook() {
	a, s, m := t.a, t.s, t.m
	i := a.RFile - 1
	f := &s.File[i]
	staged := false
	for r := range s.Rep {
		staged = staged || !m.RewindSkipsStaged && s.Rep[r].Stage == 1 && s.named(a.TR[0], r, i)
	}
	switch {
	case m.RewindSkipsPending:
		t.nextMove()
	case f.Final != 0 && f.Sup == 1 && !m.RewindTwoNames:
		return // both places held it and only one name is there under _superseded: refused for ever
	case f.Stage == 1 && f.Sup == 0 || f.Final != 0 || staged:
		a.PC, a.RTry = pMoveStage, 0
	case f.Sup == 1 || a.RTry == 1:
		t.nextMove()
	default:
		a.RTry, a.PC = 1, pMoveStage
	}
	t.out(oMoveLook, i)
}

func (t *turn) nextMove() {
	a := t.a
	a.RTry = 0
	a.RFile = next(a.RMask, a.RFile)
	a.PC = t.firstMove()
	if a.RFile == 0 {
		a.PC = pMoveSync
	}
}

// moveSync makes the moves durable; then the end mark may be written.
func (t *turn) moveSync() {
	a, n, m := t.a, &t.n, t.m
	if !m.RewindUnsynced {
		for i := range n.File {
			if n.File[i].Sup == 1 && n.File[i].Tab == a.Tab {
				n.File[i].Unsync = 0
			}
		}
	}
	ref, x := a.RRef, int(a.Tab)
	a.PC, a.RMask, a.RFile, a.RTry, a.RRef, a.Tab = pRestore, 0, 0, 0, 0, 0
	if m.RewindNotInTable {
		a.RDone++
	} else {
		a.send(tab0+x, kRewound, ref, 0)
	}
	t.out(oMoveSync, 0)
}
