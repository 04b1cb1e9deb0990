package model

// canonical makes states equal that no later step and no check can tell apart, so that they are looked at once. What a scenario wants to reach is
// told from any field: then nothing is changed.
func (m *Proto) canonical(s *State) {
	if m.Reach != nil {
		return
	}
	for w := range m.Attempts {
		if a := &s.Att[w]; a.PC >= pExited { // nobody asks what an ended process knew, but for what its name and its cleaning do
			*a = Att{PC: a.PC, Begin: a.Begin, CleanTo: a.CleanTo}
		}
	}
	if m.PowerCuts > 0 {
		return
	}
	for i := range s.NFile {
		f := &s.File[i]
		f.Unsync = 0
		if f.Stage == 0 { // for good: late calls that start there find nothing
			f.Flags &^= lateRename | lateDelete | lateMoveStage
			if f.Final == 0 {
				f.Flags &^= lateMoveFinal
			}
		}
	}
	if !m.Cleaner && m.Cleans == 0 && m.Repairers == 0 {
		m.forget(s)
	}
}

// forget drops checkpoints that were never completed and whose attempt has ended: their files are named by nothing.
func (m *Proto) forget(s *State) {
	for s.NCp > 0 {
		k := s.NCp - 1
		for _, a := range s.Att {
			if a.Cur == s.NCp || a.Head == s.NCp || a.AKind != 0 && (a.AKind == kComplete && a.AArg == k || a.AKind == kFrom && a.AArg == s.NCp) {
				return
			}
		}
		for lg := range s.Log {
			for _, e := range s.Log[lg] {
				switch e.Kind {
				case kComplete, kCert, kDone, kAccept:
					if e.Arg == k {
						return
					}
				case kRewind, kKeep, kFrom:
					if lg < tab0 && e.Arg == s.NCp {
						return
					}
				}
			}
		}
		s.Cp[k] = Cp{}
		s.NCp--
		for s.NFile > 0 && s.File[s.NFile-1].Cp == k {
			s.NFile--
			s.File[s.NFile] = File{}
		}
	}
}
