package model

import (
	"fmt"
	"strings"
)

// opNames tell a step; %d is the argument, %s the log.
var opNames = map[uint8]string{
	oNone: "bound reached", oStart: "starts", oReadJob: "reads its job log (%d entries)", oAppend: "appends to %s at slot %d", oGhost: "appends to %s at slot %d, which was cleaned away",
	oAppendUnknown: "sends its append to %s at slot %d, the reply is lost", oAppendTaken: "finds %s slot %d taken and reads it", oLook: "reads %s slot %d back", oSyncLog: "fsyncs the folder of %s (%d entries)",
	oList: "lists %s behind slot %d", oReadTable: "reads the table's log (%d entries)", oRestore: "restores or goes back (checkpoint index+1: %d)",
	oMoveStage: "tries temporary place -> superseded, file %d", oMoveRep: "moves staged replacements of file %d to superseded", oMoveFinal: "tries final place -> superseded, file %d",
	oMoveLook: "looks for file %d in all places", oMoveSync: "makes the moves durable: rewind finished", oPick: "turns to checkpoint index %d", oPoll: "reads %d offsets, closes their files (0 = wants to end)",
	oAbort: "aborts a checkpoint before its append", oRename: "renames file %d to its final name", oRenameFail: "tries to rename file %d: refused", oRenameUnknown: "sends the rename of file %d, the reply is lost",
	oSource: "looks at the source of file %d", oTarget: "looks at the target of file %d", oReread: "reads the log again before a verdict on file %d-1", oSync: "fsyncs folders of checkpoint index %d-1 (whole or half)",
	oVerdict: "has all verdicts of checkpoint index %d", oLateRename: "a late rename of file %d lands", oLateDelete: "a late delete of file %d lands", oLateAppend: "its late append to %s lands in slot %d",
	oLateRepair: "its late rename to the final name of file %d lands", oTake: "an outsider deletes pending file %d", oCompact: "an outsider rewrites visible file %d", oClean: "cleaning sends its deletes", oCleanPlan: "decides to clean %s below slot %d",
	oCleanLog: "entries of %s below slot %d are removed", oCut: "power cut; all processes end", oDamage: "metadata of checkpoint index %d is damaged",
	oRepRead: "reads the table's log: file %d is lost; stages its replacement", oRepEntry: "repair entry for slot %d (or finds it taken, or no reply)", oRepRename: "renames the replacement to the final name of file %d (or no reply)",
	oFrom: "puts a state together from the tables (index+1: %d; 0: refused)", oKeep: "goes back and keeps what is there (checkpoint index+1: %d)", oAck: "subtask %d closes its files and acknowledges",
	oLateMove: "a late move of file %d to superseded lands", oListPending: "cleaning lists the pending files (mask %d)", oCleanRead: "cleaning looks at %s (newest begin %d)", oCleanTable: "cleaning reads the log of table index %d",
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
	if l.Arg2 < logCount {
		t = strings.Replace(t, "%s", []string{"the job log", "the other job log", "the table's log", "the second table's log"}[l.Arg2], 1)
	}
	t = strings.Replace(t, "%d", fmt.Sprint(l.Arg), 1)
	if who == "" {
		return t
	}
	return who + " " + t
}
