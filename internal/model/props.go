package model

import (
	"fmt"
	"strings"
)

// Check looks at what must hold in every state.
func (m *Proto) Check(s *State) string {
	if s.Bad != 0 {
		return badNames[s.Bad]
	}
	if m.Reach != nil {
		if m.Reach(s) {
			return "reached"
		}
		return ""
	}
	for off := uint8(0); int(off) < m.Offsets; off++ {
		if s.visible(off) > 1 {
			return fmt.Sprintf("offset %d is visible twice", off)
		}
	}
	if m.RowsOnly {
		return m.ended(s)
	}
	// One linear history: every complete entry follows from the state before it.
	for lg := job0; lg <= job1; lg++ {
		cur := uint8(0)
		for i := uint8(0); i < s.end(lg); i++ {
			if e := s.Log[lg][i]; e.Kind == kComplete && s.Cp[e.Arg].Parent != cur {
				return "two lineages complete"
			}
			cur, _, _, _ = s.fold(lg, i+1)
		}
	}
	// The table's log tells the truth.
	t := s.table(s.end(tab))
	var offs uint8
	for k := uint8(0); k < s.NCp; k++ {
		certified := t.certs>>k&1 == 1
		for i := uint8(0); i < s.NFile; i++ {
			f := &s.File[i]
			if s.Cp[k].Files>>i&1 == 0 {
				continue
			}
			if f.Final != 0 && !certified {
				return fmt.Sprintf("audit: offset %d is visible and no certificate names its file", f.Off)
			}
			if t.live>>k&1 == 1 {
				if offs>>f.Off&1 == 1 {
					return fmt.Sprintf("audit: two certificates claim offset %d", f.Off)
				}
				offs |= 1 << f.Off
				if t.dones>>k&1 == 1 && t.lost>>i&1 == 0 && f.Final == 0 && f.Flags&compacted == 0 {
					return fmt.Sprintf("offset %d is done and not visible", f.Off)
				}
			}
		}
	}
	return m.ended(s)
}

// ended: once the job has ended, each offset is visible exactly once, or its loss was reported and accepted and nobody repaired it.
func (m *Proto) ended(s *State) string {
	t := s.table(s.end(tab))
	for lg := job0; lg <= job1; lg++ {
		_, _, _, ended := s.fold(lg, s.end(lg))
		if !ended || t.claim.Kind != kNone && int(t.claim.Arg) != lg {
			continue
		}
		for off := uint8(0); int(off) < m.Offsets; off++ {
			if s.visible(off) == 1 {
				continue
			}
			excused := false
			for i := uint8(0); i < s.NFile; i++ {
				if s.File[i].Off == off && s.File[i].Flags&compacted != 0 {
					excused = true
				}
				if s.File[i].Off == off && t.lost>>i&1 == 1 && t.live>>s.File[i].Cp&1 == 1 && s.Told>>i&1 == 1 {
					excused = true
					for r := range s.Rep {
						if p := s.Rep[r]; p.PC == rOver && p.Read != 0xff && p.File == i {
							return fmt.Sprintf("offset %d was repaired and is not visible", off)
						}
					}
				}
			}
			if !excused {
				return fmt.Sprintf("the job ended and offset %d is not visible", off)
			}
		}
	}
	return ""
}

// CheckStep: no visible row vanishes, except by an ordered rewind or when a power cut undoes a move that was not on disk yet.
func (m *Proto) CheckStep(from, to *State, l Label) string {
	if l.Op == oMoveFinal || l.Op == oCompact || l.Op == oCut || m.Reach != nil {
		return ""
	}
	for off := uint8(0); int(off) < m.Offsets; off++ {
		if from.visible(off) > 0 && to.visible(off) == 0 {
			return fmt.Sprintf("visible offset %d vanished", off)
		}
	}
	return ""
}

// Stuck judges a state in which nothing can happen any more.
func (m *Proto) Stuck(s *State) string {
	stopped := false
	for w := 0; w < m.Attempts; w++ {
		a := &s.Att[w]
		if a.alive() {
			return fmt.Sprintf("attempt %c waits for ever", 'A'+w)
		}
		switch a.PC {
		case pRefused, pLost:
			stopped = true
		}
	}
	for lg := job0; lg <= job1; lg++ {
		if _, _, _, ended := s.fold(lg, s.end(lg)); ended {
			return ""
		}
	}
	if !stopped {
		return "all attempts stopped, none finished the job and none said why"
	}
	return ""
}

var opNames = map[uint8]string{
	oNone: "bound reached", oStart: "starts", oReadJob: "reads its job log (%d entries)", oAppend: "appends to %s at slot %d", oGhost: "appends to %s at slot %d, which was cleaned away",
	oAppendUnknown: "sends its append to %s at slot %d, the reply is lost", oAppendTaken: "finds %s slot %d taken and reads it", oLook: "reads %s slot %d back", oSyncLog: "fsyncs the folder of %s (%d entries)",
	oList: "lists %s behind slot %d", oReadTable: "reads the table's log (%d entries)", oRestore: "restores or goes back (checkpoint index+1: %d)",
	oMoveStage: "tries temporary place -> superseded, file %d", oMoveRep: "moves staged replacements of file %d to superseded", oMoveFinal: "tries final place -> superseded, file %d",
	oMoveLook: "looks for file %d in all places", oMoveSync: "makes the moves durable: rewind finished", oPick: "turns to checkpoint index %d", oPoll: "reads %d offsets, closes their files (0 = wants to end)",
	oAbort: "aborts a checkpoint before its append", oRename: "renames file %d to its final name", oRenameFail: "tries to rename file %d: refused", oRenameUnknown: "sends the rename of file %d, the reply is lost",
	oSource: "looks at the source of file %d", oTarget: "looks at the target of file %d", oReread: "reads the log again before a verdict on file %d-1", oSync: "fsyncs folders of checkpoint index %d-1 (whole or half)",
	oVerdict: "has all verdicts of checkpoint index %d", oLateRename: "a late rename of file %d lands", oLateDelete: "a late delete of file %d lands", oLateAppend: "its late append to %s lands in slot %d",
	oLateRepair: "its late rename to the final name of file %d lands", oTake: "an outsider deletes pending file %d", oCompact: "an outsider rewrites visible file %d", oClean: "cleaning sends the delete of file %d", oCleanPlan: "decides to clean %s below slot %d",
	oCleanLog: "entries of %s below slot %d are removed", oCut: "power cut; all processes end", oDamage: "metadata of checkpoint index %d is damaged",
	oRepRead: "reads the table's log: file %d is lost; stages its replacement", oRepEntry: "repair entry for slot %d (or finds it taken, or no reply)", oRepRename: "renames the replacement to the final name of file %d (or no reply)",
	oRepLook: "looks at the final name of file %d and at its own replacement", oRepSync: "makes the placement of file %d durable",
}

func (m *Proto) Show(l Label) string {
	who := ""
	switch {
	case l.Who < maxAtt:
		who = string(rune('A' + l.Who))
	case l.Who >= 10 && l.Who < 10+maxRep:
		who = fmt.Sprintf("repair %d", l.Who-9)
	}
	t := opNames[l.Op]
	if l.Arg2 <= tab {
		t = strings.Replace(t, "%s", []string{"the job log", "the other job log", "the table's log"}[l.Arg2], 1)
	}
	t = strings.Replace(t, "%d", fmt.Sprint(l.Arg), 1)
	if who == "" {
		return t
	}
	return who + " " + t
}
