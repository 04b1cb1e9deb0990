package model

// Program counters of the cleaning command.
const (
	clIdle uint8 = iota
	clList
	clReadJob
	clReadTable
	clDelete
	clOver
)

// clean is one step of the command that removes pending files of ended attempts. It lists first and reads the logs after that: who may still
// complete a file that was listed stands in them. A file's name carries the number of its attempt's begin, not which job log that is in.
func (m *Proto) clean(s *State, emit func(State, Label)) {
	n := *s
	c := &n.Clean
	out := func(op, arg uint8) { emit(n, Label{op, 98, arg, c.Lg}) }
	switch c.PC {
	case clIdle:
		for lg := job0; lg <= job1; lg++ {
			if lg == job1 && !m.OtherDir {
				break
			}
			n = *s
			*c = Cleaning{PC: clList, Lg: uint8(lg)}
			if m.CleanLogsFirst {
				c.PC = clReadJob
			}
			out(oCleanRead, 0)
		}
	case clList:
		for i := range s.NFile {
			if s.File[i].Stage == 1 {
				c.Listed |= 1 << i
			}
		}
		c.PC = clReadJob
		if m.CleanLogsFirst {
			c.PC = clDelete
		}
		out(oListPending, c.Listed)
	case clReadJob:
		m.cleanReadsJob(&n)
		c.PC, c.Tab = clReadTable, 0
		out(oCleanRead, c.Epoch)
	case clReadTable:
		x := c.Tab
		m.cleanReadsTable(&n)
		out(oCleanTable, x)
	case clDelete:
		for i := range n.NFile {
			if c.Listed>>i&1 == 1 && c.Named>>i&1 == 0 && s.Att[s.File[i].Owner].Begin < c.Epoch {
				n.File[i].Flags |= lateDelete
			}
		}
		c.PC, c.Listed, c.Named, c.Epoch, c.Tab = clOver, 0, 0, 0, 0
		out(oClean, 0)
	}
}

// cleanReadsJob notes the newest begin, and the files that a complete or the copy of a going back names.
func (m *Proto) cleanReadsJob(n *State) {
	c := &n.Clean
	lg := int(c.Lg)
	end := n.end(lg)
	sup := n.job(lg, end).sup
	for i := range end {
		e := n.Log[lg][i]
		switch e.Kind {
		case kBegin:
			c.Epoch = i + 1
		case kComplete:
			if sup>>e.Arg&1 == 0 && !m.CleanIgnoresCompletes {
				c.Named |= n.Cp[e.Arg].Files
			}
		case kRewind, kKeep, kFrom:
			if e.Arg != 0 {
				c.Named |= n.Cp[e.Arg-1].Files
			}
		}
	}
}

// cleanReadsTable stops at another log's claim, and notes the files of certificates that are not done, or not yet moved away.
func (m *Proto) cleanReadsTable(n *State) {
	c := &n.Clean
	x := int(c.Tab)
	end := n.end(tab0 + x)
	t := n.table(x, end)
	foreign := false
	for i := range end {
		e := n.Log[tab0+x][i]
		foreign = foreign || e.Kind == kClaim && e.Arg != c.Lg
	}
	if m.CleanNewestClaim {
		foreign = t.claim.Kind != kNone && t.claim.Arg != c.Lg
	}
	if foreign && !m.CleanAnyLog {
		*c = Cleaning{PC: clOver, Lg: c.Lg}
		return
	}
	open := t.live &^ t.dones
	for i := n.Cleaned[tab0+x]; i < end; i++ {
		if e := n.Log[tab0+x][i]; e.Kind == kRewind && !n.has(x, end, kRewound, e.Arg) {
			open |= e.X
		}
	}
	if !m.CleanIgnoresCertificates {
		c.Named |= n.filesOf(open&t.certs, x)
	}
	c.Tab++
	if int(c.Tab) < m.tables() {
		return
	}
	c.PC = clDelete
	if m.CleanLogsFirst {
		c.PC = clList
	}
}
