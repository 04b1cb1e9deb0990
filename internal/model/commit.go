package model

// promised are the files that checkpoint k promises to table x: of a chain that is kept only where it is certified.
func (t *turn) promised(k uint8, x int) uint8 {
	if t.a.Kept>>k&1 == 1 && t.view(x).certs>>k&1 == 0 {
		return 0
	}
	return t.s.filesOf(1<<k, x)
}

// pick decides what comes next: commit what is owed, read on, or end.
func (t *turn) pick() {
	a, s, m := t.a, t.s, t.m
	if a.Owe != 0 && m.ClaimLate && a.Claimed == 0 {
		a.Claimed = 1
		a.TR[0] = s.end(tab0)
		a.send(tab0, kClaim, t.identity(), a.Begin)
		t.out(oReadTable, a.TR[0])
		return
	}
	owed := a.Owe
	if owed != 0 {
		t.pickCommit()
		if !m.Overlap || owed&(owed-1) != 0 {
			return
		}
		t.again()
	}
	t.readOn()
}

// pickCommit turns to the next table that the oldest owed checkpoint is not done in.
func (t *turn) pickCommit() {
	a, s, m := t.a, t.s, t.m
	k := uint8(0) // lineages grow by index, so the lowest is the oldest
	for a.Owe>>k&1 == 0 {
		k++
	}
	for ; int(a.Tab) < m.tables(); a.Tab++ {
		x := int(a.Tab)
		v, files := t.view(x), t.promised(k, x)
		done := v.dones>>k&1 == 1
		if m.DoneByID {
			for j := range s.NCp {
				done = done || v.dones>>j&1 == 1 && s.Cp[j].ID == s.Cp[k].ID
			}
		}
		if done || files == 0 || m.DoneByOne && x > 0 && t.view(0).dones>>k&1 == 1 {
			continue
		}
		a.CCp, a.CFile, a.CTry, a.CLost = k+1, next(files, 0), 0, 0
		if v.certs>>k&1 == 1 || m.CertLate {
			a.PC = pRename
		} else {
			a.send(tab0+x, kCert, k, 0)
		}
		t.out(oPick, k)
		return
	}
	t.settled(k)
	t.out(oPick, k)
}

// nextTable goes on behind the table that is done, or whose loss was told.
func (t *turn) nextTable() {
	a := t.a
	k := a.CCp - 1
	a.CFile, a.CTry, a.CLost = 0, 0, 0
	a.Tab++
	a.PC = pPick
	if int(a.Tab) == t.m.tables() {
		t.settled(k)
	}
}

// settled: all tables have what checkpoint k promises, or the job stops at a loss.
func (t *turn) settled(k uint8) {
	a, n := t.a, &t.n
	a.CCp, a.Tab, a.PC = 0, 0, pPick
	a.Owe &^= 1 << k
	a.Kept &^= 1 << k
	if a.CStop == 0 {
		return
	}
	a.PC = pLost
	for i := range n.NFile {
		f := &n.File[i]
		if n.Cp[k].Files>>i&1 == 1 && f.Final == 0 && n.Told>>i&1 == 0 && f.Flags&compacted == 0 && f.Sup == 0 && f.Stage == 1 {
			n.Bad = badLostFirst
		}
	}
}

// readOn makes a segment or a checkpoint, or ends.
func (t *turn) readOn() {
	a, s, m := t.a, t.s, t.m
	left := false
	for i := range m.splits() {
		left = left || int(a.Pos[i]) < m.Offsets
	}
	if !left {
		if a.Owe == 0 {
			a.send(t.lg, kEnd, 0, 0)
			t.out(oPoll, 0)
		}
		return
	}
	if m.LogCleaning && a.Owe == 0 && a.Head != 0 && (m.SegmentEarly || s.job(t.lg, a.JR).adopt == 0) { // a segment, before which entries may be removed
		for x := range m.tables() {
			seg := false
			for _, e := range s.Log[tab0+x] {
				seg = seg || e.Kind == kSegment
			}
			if !seg {
				a.send(tab0+x, kSegment, 0, 0)
				t.out(oPick, 0)
				t.again()
				a = t.a
			}
		}
	}
	if m.Acks {
		if t.newCheckpoint() {
			t.a.Acked, t.a.PC = 0, pAck
			t.out(oPoll, 0)
		}
		return
	}
	t.checkpoints()
	t.aborted()
}

// newCheckpoint triggers one: its place, where it stands, nothing in it.
func (t *turn) newCheckpoint() bool {
	a, n, m := t.a, &t.n, t.m
	if n.NCp >= maxCp {
		n.Bad = badBound
		t.out(oNone, 0)
		return false
	}
	c := Cp{ID: a.NextID, Pos: a.Pos, Parent: a.Head}
	for x := range m.tables() {
		c.Expect[x] = t.view(x).tail
		if a.Owe != 0 {
			c.Expect[x] = a.Head
		}
	}
	n.Cp[n.NCp] = c
	n.NCp++
	a.Cur = n.NCp
	return true
}

// closes lets a subtask read k offsets of its split and close their files, one for each row and table.
func (t *turn) closes(split, k int) bool {
	a, n, m := t.a, &t.n, t.m
	c := &n.Cp[a.Cur-1]
	for i := range k {
		for x := range m.tables() {
			if !m.feeds(split, x) {
				continue
			}
			if n.NFile >= maxFile {
				n.Bad = badBound
				t.out(oNone, 0)
				return false
			}
			n.File[n.NFile] = File{Off: uint8(split*m.Offsets) + c.Pos[split] + uint8(i), Owner: uint8(t.w), Cp: a.Cur - 1, Tab: uint8(x), Stage: 1}
			c.Files |= 1 << n.NFile
			n.NFile++
		}
	}
	c.Pos[split] += uint8(k)
	return true
}

// checkpoints emits each way to read on in one step.
func (t *turn) checkpoints() {
	m := t.m
	most := [maxSplit]int{}
	for i := range m.splits() {
		most[i] = min(m.PerCp, m.Offsets-int(t.s.Att[t.w].Pos[i]))
	}
	for k1 := 0; k1 <= most[1]; k1++ {
		for k0 := 0; k0 <= most[0]; k0++ {
			if k0+k1 == 0 {
				continue
			}
			t.again()
			if !t.newCheckpoint() || !t.closes(0, k0) || !t.closes(1, k1) {
				return
			}
			t.a.send(t.lg, kComplete, t.n.NCp-1, 0)
			t.out(oPoll, uint8(k0+k1))
		}
	}
}

// acknowledge lets the next subtask close its files, make them durable and acknowledge; the last one completes the checkpoint.
func (t *turn) acknowledge() {
	s, m := t.s, t.m
	split := int(s.Att[t.w].Acked)
	most := min(m.PerCp, m.Offsets-int(s.Att[t.w].Pos[split]))
	least, empty := 0, s.Cp[s.Att[t.w].Cur-1].Files == 0
	if split+1 == m.splits() || int(s.Att[t.w].Pos[1]) == m.Offsets {
		least = 1 // a checkpoint without anything is not looked at
	}
	for k := 0; k <= most; k++ {
		if empty && k < least {
			continue
		}
		t.again()
		if !t.closes(split, k) {
			return
		}
		a := t.a
		a.Acked++
		c := &t.n.Cp[a.Cur-1]
		if m.AckMissing && k > 0 && split == 0 { // the other's position is taken for what it will acknowledge
			c.Pos[1] = uint8(min(m.Offsets, int(c.Pos[1])+m.PerCp))
			a.Acked = uint8(m.splits())
		}
		if int(a.Acked) == m.splits() {
			a.Acked = 0
			a.send(t.lg, kComplete, a.Cur-1, 0)
		}
		t.out(oAck, uint8(split))
	}
	if int(s.Aborts) < m.Aborts {
		t.again()
		t.a.PC, t.a.Cur, t.a.Acked = pPick, 0, 0
		t.n.Aborts++
		t.out(oAbort, 0)
	}
}

// aborted: a checkpoint that fails before its append leaves a file; its id may be given again.
func (t *turn) aborted() {
	if int(t.s.Aborts) >= t.m.Aborts {
		return
	}
	t.again()
	if t.n.NFile >= maxFile || !t.newCheckpoint() || !t.closes(0, 1) {
		return
	}
	t.a.Cur = 0
	t.n.Aborts++
	t.out(oAbort, 0)
}

func (t *turn) nextFile() {
	a := t.a
	a.CTry = 0
	a.CFile = next(t.promised(a.CCp-1, int(a.Tab)), a.CFile)
	a.PC = pRename
	if a.CFile == 0 {
		a.PC = pSync
		if t.m.DoneBeforeSync {
			a.PC = pVerdict
		}
	}
}

// rename moves a file to its final name, without overwrite.
func (t *turn) rename() {
	a, s, m := t.a, t.s, t.m
	i := a.CFile - 1
	f := &t.n.File[i]
	after := pSource
	if m.TargetFirst {
		after = pTarget
	}
	if f.Stage == 1 && (f.Final == 0 || m.RenameOverwrites) {
		f.Stage, f.Final, f.Unsync = 0, 1, fromStage
		t.nextFile()
		t.out(oRename, i)
	} else {
		a.PC = after
		t.out(oRenameFail, i)
	}
	if t.mayLose() && s.File[i].Stage == 1 {
		t.loses()
		t.n.File[i].Flags |= lateRename
		t.a.PC = after
		t.out(oRenameUnknown, i)
	}
}

// source looks at the temporary place.
func (t *turn) source() {
	a, m := t.a, t.m
	i := a.CFile - 1
	f := &t.s.File[i]
	switch {
	case f.Stage == 1 && f.Final != 0 && !m.BothUnjudged:
		t.nextFile()
	case f.Stage == 1 && f.Final != 0 && !m.RenameOverwrites:
		return
	case f.Stage == 1:
		a.PC = pRename
	case m.TargetFirst:
		t.missing()
	default:
		a.PC = pTarget
	}
	t.out(oSource, i)
}

// target looks at the final place.
func (t *turn) target() {
	a, m := t.a, t.m
	i := a.CFile - 1
	switch {
	case t.s.File[i].Final > 1 && t.view(int(a.Tab)).repaired>>i&1 == 0:
		if m.RereadBeforeDamage { // another length than this process knows of
			a.PC = pReread
		} else {
			a.PC, t.n.Bad = pDamage, badFalseDamage
		}
	case t.s.File[i].Final != 0:
		t.nextFile()
	case m.TargetFirst:
		a.PC = pSource
	default:
		t.missing()
	}
	t.out(oTarget, i)
}

// missing: source and target were both missing, in the order of the rule.
func (t *turn) missing() {
	a, m := t.a, t.m
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
		t.lost()
	}
}

func (t *turn) lost() {
	i := t.a.CFile - 1
	if t.n.File[i].Flags&takenAway == 0 {
		t.n.Bad = badFalseLost
	}
	t.a.CLost |= 1 << i
	t.nextFile()
}

// reread looks for a newer epoch before a verdict of lost (or damaged).
func (t *turn) reread() {
	a, s, m := t.a, t.s, t.m
	fenced := false
	if m.RereadJob {
		for i := a.Begin; i < maxLog; i++ {
			fenced = fenced || s.Log[t.lg][i].Kind == kBegin
		}
	}
	if !m.RereadJobOnly {
		for i := a.TR[a.Tab]; i < maxLog; i++ {
			fenced = fenced || s.Log[tab0+a.Tab][i].Kind == kClaim
		}
	}
	if fenced {
		a.PC = pFenced
	} else {
		t.lost()
	}
	t.out(oReread, a.CFile)
}

// sync makes the renames durable: the targets' folders, then the sources'.
func (t *turn) sync() {
	n, m := &t.n, t.m
	files := t.promised(t.a.CCp-1, int(t.a.Tab))
	for i := range n.File {
		if files>>i&1 == 1 && n.File[i].Final != 0 {
			n.File[i].Unsync = 0
		}
	}
	t.a.PC = pVerdict
	if m.DoneEarly {
		t.settled(t.a.CCp - 1)
	}
	t.out(oSync, t.s.Att[t.w].CCp)
	if m.PowerCuts == 0 {
		return
	}
	t.again() // between the target folder's fsync and the source folder's
	for i := range n.File {
		if files>>i&1 == 1 && n.File[i].Unsync == fromStage && n.File[i].Final != 0 {
			n.File[i].Unsync |= targetSynced
		}
	}
	t.out(oSync, t.a.CCp)
}

// verdict says what became of the checkpoint's files in one table.
func (t *turn) verdict() {
	a, m := t.a, t.m
	k, lg := a.CCp-1, tab0+int(a.Tab)
	t.n.Told |= a.CLost
	switch {
	case a.CLost != 0 && !(m.AcceptLost && t.w >= m.AcceptFrom):
		a.CStop = 1
		if m.LostStopsAtOnce {
			t.settled(k)
		} else {
			t.nextTable()
		}
	case a.CLost != 0 && a.AKind == 0:
		a.send(lg, kAccept, k, a.CLost)
	case m.CertLate && t.view(int(a.Tab)).certs>>k&1 == 0:
		a.send(lg, kCert, k, 0)
	default:
		a.send(lg, kDone, k, a.CLost)
	}
	t.out(oVerdict, k)
}
