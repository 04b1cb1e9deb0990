package drill

import "slices"

// Fault is what goes wrong at one step.
type Fault string

// The faults. "Done" means that the store carries the call out.
const (
	// KillBefore and KillAfter end the process by SIGKILL before or after the call; of a write half of the bytes arrive.
	KillBefore Fault = "kill-before"
	KillAfter  Fault = "kill-after"
	// Unanswered and DoneUnanswered: the store does not answer, the call was not done or was done.
	Unanswered     Fault = "no-answer"
	DoneUnanswered Fault = "done-no-answer"
	// DoneFalse answers "false" although it was done, as HDFS's rename of a repeated request does.
	DoneFalse Fault = "done-false"
	// DoneError answers an error that says nothing although it was done; of a write half of the bytes arrive.
	DoneError Fault = "done-error"
	// Late answers nothing and is done a little later, in the same process; LateNextLife kills the process and is done while the next one works.
	Late         Fault = "late"
	LateNextLife Fault = "kill-late"
	// Twice does the call twice and gives the second answer; Again does it, and once more later.
	Twice Fault = "twice"
	Again Fault = "again-late"
	// Taken: somebody else deletes the file that is about to be renamed.
	Taken Fault = "taken"
	// FolderTaken: somebody else deletes the folder with all files on their way, as writers do that empty it before they write, and stores that
	// carry that out late: before a rename, or behind the close of a file that is not promised yet.
	FolderTaken Fault = "folder-taken"
)

// Faults are all, the plainest first.
var Faults = []Fault{KillAfter, KillBefore, DoneUnanswered, Unanswered, DoneFalse, DoneError, Late, LateNextLife, Twice, Again, Taken, FolderTaken}

// theft reports a fault that takes data away: the job cannot have it back, but must not keep silent.
func (f Fault) theft() bool { return f == Taken || f == FolderTaken }

// possible gives the faults that can meet a step.
func possible(k Key) []Fault {
	if k.Place == PlaceProbe && k.Op.changes() { // tried before any data is at stake
		return []Fault{KillAfter, DoneUnanswered, DoneError}
	}
	switch k.Op {
	case OpAppend:
		return without(Faults, Taken, FolderTaken)
	case OpRename:
		if k.Place == PlacePending {
			return Faults
		}
		return without(Faults, Taken, FolderTaken)
	case OpCreate:
		return without(Faults, Taken, FolderTaken, DoneFalse, KillBefore)
	case OpMkdir, OpDelete, OpRmdir:
		return without(Faults, Taken, FolderTaken, KillBefore)
	case OpWrite:
		return []Fault{KillAfter, Unanswered, DoneError}
	case OpSync, OpClose, OpSyncDir:
		list := []Fault{KillAfter, DoneUnanswered, Unanswered, DoneError}
		if k.Op == OpClose && k.Place == PlacePending {
			list = append(list, FolderTaken)
		}
		return list
	}
	return []Fault{Unanswered, DoneError} // reads
}

func without(list []Fault, out ...Fault) []Fault {
	return slices.DeleteFunc(slices.Clone(list), func(f Fault) bool { return slices.Contains(out, f) })
}
