package model

// Program counters of the cleaning command.
const (
	clIdle uint8 = iota
	clList
	clReadTable
	clReadJob
	clDelete
	clOver
)

// clean is one step of the command that removes pending files of ended attempts. It lists first and reads the logs after that: whoever may still
// complete a file that was listed stands in them. A file's name carries the number of its attempt's begin, not which job log that is in, so that
// every job log that has claimed the table has to say that the number is over.
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
			*c = Cleaning{PC: clList, Lg: uint8(lg), Epoch: 0xff, Logs: 1 << lg}
			if m.CleanLogsFirst {
				c.PC = clReadTable
			}
			out(oCleanRead, 0)
		}
	case clList:
		for i := range s.NFile {
			if s.File[i].Stage == 1 {
				c.Listed |= 1 << i
			}
		}
		c.PC = clReadTable
		if m.CleanLogsFirst {
			c.PC = clDelete
		}
		out(oListPending, c.Listed)
	case clReadTable:
		x := c.Tab
		m.cleanReadsTable(&n)
		out(oCleanTable, x)
	case clReadJob:
		lg := job0
		for c.Logs>>lg&1 == 0 {
			lg++
		}
		m.cleanReadsJob(&n, lg)
		if c.Logs &^= 1 << lg; c.Logs == 0 {
			c.PC = clDelete
			if m.CleanLogsFirst {
				c.PC = clList
			}
		}
		out(oCleanRead, c.Epoch)
	case clDelete:
		for i := range n.NFile {
			if c.Listed>>i&1 == 1 && c.Named>>i&1 == 0 && s.Att[s.File[i].Owner].Begin < c.Epoch {
				n.File[i].Flags |= lateDelete
			}
		}
		n.Clean = Cleaning{PC: clOver}
		out(oClean, 0)
	}
}

// cleanReadsTable notes which job logs have claimed the table, and the files of certificates that are not done, or not yet moved away.
func (m *Proto) cleanReadsTable(n *State) {
	c := &n.Clean
	x := int(c.Tab)
	end := n.end(tab0 + x)
	t := n.table(x, end)
	for i := range end {
		if e := n.Log[tab0+x][i]; e.Kind == kClaim && !m.CleanOwnLog && (!m.CleanNewestClaim || e == t.claim) {
			c.Logs |= 1 << e.Arg
		}
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
	if c.Tab++; int(c.Tab) == m.tables() {
		c.PC, c.Tab = clReadJob, 0
	}
}

// cleanReadsJob notes the newest begin of a job log, and the files that a complete, superseded or not, or the copy of a going back
// names.
func (m *Proto) cleanReadsJob(n *State, lg int) {
	c := &n.Clean
	end := n.end(lg)
	sup := n.job(lg, end).sup
	newest := uint8(0)
	for i := range end {
		e := n.Log[lg][i]
		switch e.Kind {
		case kBegin:
			newest = i + 1
		case kComplete:
			if !m.CleanIgnoresCompletes && !(sup>>e.Arg&1 == 1 && m.CleanIgnoresSuperseded) {
				c.Named |= n.Cp[e.Arg].Files
			}
		case kRewind, kKeep, kFrom:
			if e.Arg != 0 && !m.CleanIgnoresCompletes {
				c.Named |= n.Cp[e.Arg-1].Files
			}
		}
	}
	c.Epoch = min(c.Epoch, newest)
}
