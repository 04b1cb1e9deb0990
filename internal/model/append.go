package model

// send prepares an append of attempt a.
func (a *Att) send(lg int, kind, arg, x uint8) {
	a.PC, a.Lg, a.AKind, a.AArg, a.AX = pAppend, uint8(lg), kind, arg, x
}

func (a *Att) read() uint8 {
	if a.Lg >= tab0 {
		return a.TR[a.Lg-tab0]
	}
	return a.JR
}

func (a *Att) setRead(n uint8) {
	if a.Lg >= tab0 {
		a.TR[a.Lg-tab0] = n
	} else {
		a.JR = n
	}
}

// readJob reads the job's log before the attempt begins.
func (t *turn) readJob() {
	if t.m.Copied && t.lg == job1 && t.s.end(job1) == 0 {
		t.copies()
		return
	}
	t.a.JR = t.s.end(t.lg)
	if j := t.s.job(t.lg, t.a.JR); j.ended && !(t.m.AfterEnd && t.mayGoBack()) {
		t.a.PC = pExited
	} else {
		if t.m.RestoreFirst {
			t.a.Head = j.cur
		}
		t.a.send(t.lg, kBegin, 0, 0)
	}
	t.out(oReadJob, t.a.JR)
}

// copies begins with a copy of the other checkpoint directory, as it was at some time.
func (t *turn) copies() {
	for n := uint8(1); n <= t.s.end(job0); n++ {
		t.again()
		for i := range n {
			t.n.Log[job1][i] = t.s.Log[job0][i]
		}
		t.n.Disk[job1] = n
		t.a.JR = n
		renewed := uint8(0)
		if t.mayGoBack() && t.older(n) {
			renewed = 1
		}
		t.a.send(job1, kBegin, 0, renewed)
		t.out(oReadJob, n)
	}
}

// older: does a table's claim show that a copy with n entries is an older one of a log that went on?
func (t *turn) older(n uint8) bool {
	for x := range t.m.tables() {
		if c := t.s.table(x, t.s.end(tab0+x)).claim; c.Kind != kNone && c.Arg == job0 && c.X > n {
			return true
		}
	}
	return false
}

// identity of the attempt's job log: that of a copy is its original's, until somebody begins in it to go back and renews it.
func (t *turn) identity() uint8 {
	if !t.m.Copied {
		return uint8(t.lg)
	}
	for i := range t.a.JR {
		if e := t.s.Log[t.lg][i]; t.lg == job1 && e.Kind == kBegin && e.X == 1 {
			return job1
		}
	}
	return job0
}

// overrules: does this claim of the own log end the attempt? One of another process with the same number comes from another copy of the log.
func (t *turn) overrules(c Entry) bool {
	if c.X == t.a.Begin && c.Who != uint8(t.w)+1 && t.m.Copied && !t.m.EqualEpochs {
		return true
	}
	return c.X > t.a.Begin
}

// overruled: does a claim of a newer attempt stand in the log of table x, perhaps in front of another log's (hidden)?
func (t *turn) overruled(x int, hidden bool) bool {
	n := t.a.TR[x]
	c := t.s.table(x, n).claim
	for i := range n {
		if e := t.s.Log[tab0+x][i]; e.Kind == kClaim && e.Arg == t.identity() && (hidden || e == c) && t.overrules(e) {
			return true
		}
	}
	return false
}

// append tries to place the entry at the number behind the last one read.
func (t *turn) append() {
	a, s, m := t.a, t.s, t.m
	slot := a.read()
	if m.BlindAppend && a.AKind != kBegin && a.AKind != kClaim {
		slot = s.end(int(a.Lg))
	}
	if slot >= maxLog {
		t.n.Bad = badBound
		t.out(oNone, 0)
		return
	}
	e := Entry{a.AKind, uint8(t.w) + 1, a.AArg, a.AX}
	if slot < s.Cleaned[a.Lg] { // the slot is free again: the append succeeds, below the log's beginning
		a.setRead(slot + 1)
		a.PC = pList
		t.out(oGhost, slot)
		return
	}
	got := s.Log[a.Lg][slot]
	if got.Kind != kNone && !(m.LogOverwrites && got.Who != e.Who) {
		t.taken(slot, got, e)
		t.out(oAppendTaken, slot)
		return
	}
	t.n.Log[a.Lg][slot] = e
	t.placed(slot)
	t.out(oAppend, slot)
	if !t.mayLose() {
		return
	}
	t.loses()
	a = t.a
	switch {
	case m.UnknownIsOK:
		a.ALate = slot + 1
		a.setRead(slot + 1)
		t.appended()
	case m.UnknownIsFailed && a.AKind == kComplete:
		t.n.Log[a.Lg][slot] = e     // it did land
		t.n.Cp[a.Cur-1].Damaged = 1 // taken for aborted: its metadata is discarded
		a.PC, a.Cur = pPick, 0
	default:
		a.ALate = slot + 1
		a.PC = pLook
	}
	t.out(oAppendUnknown, slot)
}

// lookBack reads the slot after an append without an answer.
func (t *turn) lookBack() {
	a := t.a
	slot := a.ALate - 1
	e := Entry{a.AKind, uint8(t.w) + 1, a.AArg, a.AX}
	if got := t.s.Log[a.Lg][slot]; got.Kind == kNone || slot < t.s.Cleaned[a.Lg] {
		a.PC = pAppend
	} else {
		t.taken(slot, got, e)
	}
	t.out(oLook, slot)
}

// list looks once at the whole log: does the entry lie below its beginning?
func (t *turn) list() {
	a, m := t.a, t.m
	slot := a.read() - 1
	below := slot < t.s.Cleaned[a.Lg]
	switch {
	case m.NoList:
		t.appended()
	case m.ListExact && below && a.AKind == kBegin && !m.ListFences:
		a.PC, a.AKind = pReadJob, 0
	case m.ListExact && below && a.AKind == kClaim && !m.ListFences:
		a.PC, a.AKind = pReadTable, 0
	case m.ListExact && below, !m.ListExact && t.s.end(int(a.Lg)) > slot+1:
		a.PC, a.AKind = pFenced, 0
	default:
		t.appended()
	}
	t.out(oList, slot)
}

// placed notes that the entry stands in a slot; on a disk that can lose its folder's newest entries that is not enough.
func (t *turn) placed(slot uint8) {
	t.a.ALate = 0
	t.a.setRead(slot + 1)
	if t.m.PowerCuts > 0 && !t.m.LogUnsynced {
		t.a.PC = pSyncLog
		return
	}
	t.listOr()
}

func (t *turn) listOr() {
	if t.m.LogCleaning || t.m.Repairers > 0 && !t.m.ListExact {
		t.a.PC = pList
		return
	}
	t.appended()
}

// appended goes on after the entry is known to stand.
func (t *turn) appended() {
	a, n, m := t.a, &t.n, t.m
	kind := a.AKind
	a.AKind = 0
	switch kind {
	case kBegin:
		a.Begin = a.JR
		a.PC = pReadTable
	case kClaim:
		a.Claimed = 1
		switch {
		case m.ClaimLate:
			a.PC = pPick
		case int(a.Tab)+1 < m.tables():
			a.Tab++
			a.PC = pReadTable
		default:
			a.PC, a.Tab = pRestore, 0
		}
	case kRewind, kKeep, kFrom, kRewound:
		a.PC = pRestore
		if a.Lg < tab0 && kind != kFrom {
			n.Rewinds++
		}
	case kComplete:
		a.Head, a.Cur, a.PC = a.AArg+1, 0, pPick
		a.Pos = n.Cp[a.AArg].Pos
		a.Owe |= 1 << a.AArg
		a.NextID++
	case kCert:
		a.PC = pRename
		if m.CertLate {
			a.PC = pVerdict
		}
	case kAccept:
		a.send(int(a.Lg), kDone, a.CCp-1, a.CLost)
		return
	case kDone:
		t.nextTable()
	case kSegment:
		a.PC = pPick
	case kEnd:
		a.PC = pExited
	}
	a.AArg, a.AX = 0, 0
}

// taken decides what an occupied slot means for the append e.
func (t *turn) taken(slot uint8, got, e Entry) {
	a, m := t.a, t.m
	behind := func() { a.ALate, a.PC = 0, pAppend; a.setRead(slot + 1) }
	switch {
	case got == e:
		t.placed(slot)
	case e.Kind == kBegin && m.RestoreFirst:
		behind()
	case e.Kind == kBegin:
		a.ALate, a.AKind, a.PC = 0, 0, pReadJob
	case e.Kind == kClaim:
		a.ALate, a.AKind, a.PC = 0, 0, pReadTable
	case got.Kind == kBegin, got.Kind == kEnd, got.Kind == kClaim && !m.ClaimIgnored && (got.Arg != t.identity() || t.overrules(got)):
		a.PC, a.ALate, a.AKind = pFenced, 0, 0
	default:
		behind()
	}
}

// readTable reads the log of the table that is to be claimed.
func (t *turn) readTable() {
	a, s, m := t.a, t.s, t.m
	x := int(a.Tab)
	a.TR[x] = s.end(tab0 + x)
	c := s.table(x, a.TR[x]).claim
	switch {
	case m.NoClaim || m.ClaimFirstOnly && x > 0:
		a.PC = pRestore
		if x+1 < m.tables() {
			a.Tab++
			a.PC = pReadTable
		} else {
			a.Tab = 0
		}
	case !m.OldClaims && t.overruled(x, !m.NewestClaimOnly):
		a.PC = pFenced // a newer attempt has claimed it
	case c.Kind != kNone && c.Arg != t.identity() && !t.takesOver() && !s.job(int(c.Arg), s.end(int(c.Arg))).ended:
		a.PC = pRefused
	case x > 0 && c.Kind != kNone && c.Arg != t.identity() && !m.ClaimsCross && t.lostBefore(x):
		a.PC = pFenced // who has just claimed this table behind the others has them, too
	case m.ClaimLate && a.Pos[0] == 0 && a.Cur == 0:
		a.PC = pRestore
	default:
		a.send(tab0+x, kClaim, t.identity(), a.Begin)
	}
	t.out(oReadTable, a.TR[x])
}

// takesOver: was this attempt told to overrule another job log's claim?
func (t *turn) takesOver() bool {
	return t.m.TakeOver && (t.lg == job1 || t.m.BackFrom > 0 && t.w >= t.m.BackFrom)
}

// mayLose: may this request stay without an answer?
func (t *turn) mayLose() bool {
	return t.m.LostReplies && (t.m.Losses == 0 || int(t.s.Losses) < t.m.Losses)
}

// loses turns to the outcome in which it does.
func (t *turn) loses() {
	t.again()
	if t.m.Losses > 0 {
		t.n.Losses++
	}
}

// lostBefore reads the tables before x, which this attempt has claimed, again: has another log's claim come behind?
func (t *turn) lostBefore(x int) bool {
	for y := range x {
		if t.s.table(y, t.s.end(tab0+y)).claim.Arg != t.identity() {
			return true
		}
	}
	return false
}
