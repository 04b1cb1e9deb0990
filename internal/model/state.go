package model

// Bounds of the arrays; what a scenario really uses is smaller (see Config).
const (
	maxAtt  = 3
	maxRep  = 2
	maxLog  = 14
	maxCp   = 8
	maxFile = 8
)

// Kinds of log entries. A job's log holds begin, complete, rewind, end; the table's the others, and its own rewinds.
const (
	kNone uint8 = iota
	kBegin
	kComplete
	kRewind
	kEnd
	kClaim
	kCert
	kDone
	kAccept
	kRepair
	kSegment
)

// Entry of a log; Kind 0 is an empty slot. Kind, Who, Arg and X together are the nonce.
type Entry struct{ Kind, Who, Arg, X uint8 }

// The logs: two job logs (the second belongs to another checkpoint directory) and the table's.
const (
	job0 = iota
	job1
	tab
)

// Cp is the metadata of one checkpoint, complete or not. Its index stands for its certificate's hash.
type Cp struct {
	ID      uint8
	Pos     uint8 // next offset to read after it
	Parent  uint8 // index+1 of the checkpoint it was made after
	Files   uint8 // mask: its files
	Damaged uint8
	Gone    uint8 // its entry and state were cleaned away
	Copied  uint8 // a rewind to it has its own copy
}

// Where an unsynced move came from.
const (
	fromStage uint8 = 1 << iota
	fromFinal
	targetSynced // the target's folder is on disk, the source's is not
)

// Flags of a file: requests on their way, which may take effect at any later time and any number of times.
const (
	lateRename uint8 = 1 << iota
	lateDelete
	takenAway // the outside actor deleted it
	compacted // the outside actor rewrote it after its checkpoint was done
)

// File of one row. Its names are its own: nothing else is ever created under them, except a repair.
type File struct {
	Off, Owner, Cp uint8
	Stage          uint8
	Final          uint8 // 0 none, 1 the original, 2.. the replacement of repairer n-2
	Sup            uint8
	Unsync         uint8
	Flags          uint8
}

// Att is one attempt: a process that can stand still anywhere for as long as it likes (so a crash needs no step of its own).
type Att struct {
	PC, Begin, Head, Pos, Fin, NextID, Cur uint8
	JR, TR                                 uint8 // how far it has read the job's and the table's log
	Lg, AKind, AArg, AX, ALate             uint8 // the append under way; ALate = slot+1 of a request that may still land
	RDone, RMask, RFile, RTry              uint8 // rewind under way
	CCp, CFile, CTry, CLost                uint8 // commit under way
	Claimed, CleanTo                       uint8
}

// Rep is one repairer.
type Rep struct{ PC, File, Read, Stage, Late, ALate, Extra, Unsync uint8 }

// State of the whole world.
type State struct {
	Log     [3][maxLog]Entry
	Disk    [3]uint8 // entries of each log whose place in the folder is on disk
	Cleaned [3]uint8 // entries that were removed: their slots are free again
	Cp      [maxCp]Cp
	File    [maxFile]File
	Att     [maxAtt]Att
	Rep     [maxRep]Rep
	NCp     uint8
	NFile   uint8
	Taken   uint8
	Cuts    uint8
	Aborts  uint8
	Damages uint8
	Rewinds uint8
	Told    uint8 // mask of files reported lost
	Bad     uint8 // set by a step that is a violation in itself
}

const (
	badNone uint8 = iota
	badFalseLost
	badFalseDamage
	badBound
	badHalf
	badGone
)

var badNames = []string{"", "a file was called lost although nobody took it away", "a repaired file was called damaged", "model bound too small",
	"a checkpoint whose metadata was discarded had to be restored", "the checkpoint to be restored was cleaned away"}

func (s *State) end(lg int) uint8 {
	n := uint8(0)
	for n < maxLog && s.Log[lg][n].Kind != kNone {
		n++
	}
	return n
}

// fold reads the first n entries of a job's log: the newest state, what rewinds superseded, and the number of rewinds.
func (s *State) fold(lg int, n uint8) (cur, sup, rewinds uint8, ended bool) {
	for i := uint8(0); i < n; i++ {
		e := s.Log[lg][i]
		switch e.Kind {
		case kComplete:
			cur = e.Arg + 1
		case kRewind:
			cur, sup = e.Arg, sup|e.X
			rewinds++
		case kEnd:
			ended = true
		}
	}
	return
}

// Table is what the table's log says.
type Table struct {
	tail               uint8 // index+1 of the checkpoint in whose certificate the chain ends
	certs, live, dones uint8
	lost               uint8 // mask of files
	repaired           uint8 // mask of files
	claim              Entry
}

func (s *State) table(n uint8) (t Table) {
	for i := uint8(0); i < n; i++ {
		e := s.Log[tab][i]
		switch e.Kind {
		case kClaim:
			t.claim = e
		case kCert:
			t.certs |= 1 << e.Arg
			t.live |= 1 << e.Arg
			t.tail = e.Arg + 1
		case kDone:
			t.dones |= 1 << e.Arg
			t.lost |= e.X
		case kRewind:
			t.live &^= e.X
			t.tail = e.Arg & 15
		case kRepair:
			t.repaired |= 1 << e.Arg
		}
	}
	return
}

// filesOf a mask of checkpoints
func (s *State) filesOf(cps uint8) (m uint8) {
	for k := uint8(0); k < s.NCp; k++ {
		if cps>>k&1 == 1 {
			m |= s.Cp[k].Files
		}
	}
	return
}

// lineage is the mask of a checkpoint and all it descends from.
func (s *State) lineage(head uint8) (m uint8) {
	for ; head != 0 && m>>(head-1)&1 == 0; head = s.Cp[head-1].Parent {
		m |= 1 << (head - 1)
	}
	return
}

func (s *State) visible(off uint8) (n int) {
	for i := uint8(0); i < s.NFile; i++ {
		if s.File[i].Off == off && s.File[i].Final != 0 {
			n++
		}
	}
	for r := range s.Rep {
		if s.Rep[r].Extra != 0 && s.File[s.Rep[r].File].Off == off {
			n++
		}
	}
	return
}
