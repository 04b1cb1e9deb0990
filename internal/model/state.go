package model

// Bounds of the arrays; what a scenario really uses is smaller (see Config).
const (
	maxAtt   = 3
	maxRep   = 2
	maxTab   = 2
	maxSplit = 2
	maxLog   = 16
	maxCp    = 8
	maxFile  = 8
)

// Kinds of log entries. A job's log holds begin, complete, rewind, keep, from and end; a table's the others, and its own rewinds and keeps.
const (
	kNone uint8 = iota
	kBegin
	kComplete
	kRewind
	kKeep
	kFrom // the state was put together from the tables' certificates
	kEnd
	kClaim
	kCert
	kDone
	kAccept
	kRepair
	kRewound
	kSegment
)

// Entry of a log; Kind 0 is an empty slot. Kind, Who, Arg and X together are the nonce.
//
//	complete, certificate, done, accept   Arg: index of the checkpoint; X of done and accept: mask of lost files
//	rewind, keep, from (job's log)        Arg: index+1 of the target, 0 for a fresh start; X: mask of superseded checkpoints
//	rewind, keep, rewound (table's log)   Arg: reference to the entry of the job's log; X of rewind: as there; X of keep: where the kept chain ends
//	claim                                 Arg: the job log; X: the epoch
//	repair                                Arg: the file
type Entry struct{ Kind, Who, Arg, X uint8 }

// The logs: two job logs (the second belongs to another checkpoint directory) and one for each table.
const (
	job0 = iota
	job1
	tab0
	logCount = tab0 + maxTab
)

// reference names an entry of a job's log.
func reference(lg int, slot uint8) uint8 { return uint8(lg)<<5 | slot }

// target is the index+1 of the checkpoint that the entry of the job's log behind a reference goes back to.
func (s *State) target(ref uint8) uint8 { return s.Log[ref>>5][ref&31].Arg }

// Cp is the metadata of one checkpoint, complete or not. Its index stands for its certificate's hash.
type Cp struct {
	ID      uint8
	Pos     [maxSplit]uint8 // next offset to read after it
	Parent  uint8           // index+1 of the checkpoint it was made after
	Expect  [maxTab]uint8   // index+1 of the checkpoint in whose certificate the table's chain ended when it was made
	Files   uint8           // mask: its files
	Damaged uint8
	Gone    uint8 // mask of job logs that its entry and state were cleaned away from
	Copied  uint8 // who went back to it made a copy
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
	lateMoveStage
	lateMoveFinal
)

// File of one row. Its names are its own: nothing else is ever created under them, except a repair.
type File struct {
	Off, Owner, Cp uint8 // Off: the split's number times the offsets of a split, plus the offset
	Tab            uint8
	Stage          uint8
	Final          uint8 // 0 none, 1 the original, 2.. the replacement of repairer n-2
	Sup            uint8
	Unsync         uint8
	Flags          uint8
}

// Att is one attempt: a process that can stand still anywhere for as long as it likes (so a crash needs no step of its own).
type Att struct {
	PC, Begin, Head, NextID    uint8
	Cur, Acked                 uint8 // index+1 of the checkpoint that is being made; subtasks that acknowledged it
	Owe, Kept                  uint8 // masks of checkpoints that are still to be committed; Kept: only where they are certified
	Pos                        [maxSplit]uint8
	JR                         uint8 // how far it has read the job's log
	TR                         [maxTab]uint8
	Lg, AKind, AArg, AX, ALate uint8 // the append under way; ALate = slot+1 of a request that may still land
	RDone, RRef, RMask         uint8 // rewind under way: RRef its reference
	RFile, RTry                uint8
	Tab                        uint8 // the table that is being claimed, moved away from, committed to
	CCp, CFile, CTry           uint8 // commit under way
	CLost, CStop               uint8
	Claimed, CleanTo           uint8
}

// Rep is one repairer.
type Rep struct{ PC, File, Read, Stage, Late, ALate, Extra, Unsync uint8 }

// Cleaning is one run of the command that removes pending files of ended attempts.
type Cleaning struct {
	PC, Lg uint8
	Listed uint8 // mask of the pending files that it saw
	Logs   uint8 // mask of the job logs that are to be asked
	Epoch  uint8 // the least of their newest begins
	Named  uint8 // mask of files that something names
	Tab    uint8
}

// State of the whole world.
type State struct {
	Log     [logCount][maxLog]Entry
	Disk    [logCount]uint8 // entries of each log whose place in the folder is on disk
	Cleaned [logCount]uint8 // entries that were removed: their slots are free again
	Cp      [maxCp]Cp
	File    [maxFile]File
	Att     [maxAtt]Att
	Rep     [maxRep]Rep
	Clean   Cleaning
	NCp     uint8
	NFile   uint8
	Taken   uint8
	Cuts    uint8
	Aborts  uint8
	Damages uint8
	Rewinds uint8
	Losses  uint8
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
	badLostFirst
)

var badNames = []string{"", "a file was called lost although nobody took it away", "a repaired file was called damaged", "model bound too small",
	"a checkpoint whose metadata was discarded had to be restored", "the checkpoint to be restored was cleaned away",
	"the job stopped at a lost file before the checkpoint's other files were committed"}

func (s *State) end(lg int) uint8 {
	n := uint8(0)
	for n < maxLog && s.Log[lg][n].Kind != kNone {
		n++
	}
	return n
}

// Job is what a job's log says.
type Job struct {
	cur    uint8 // index+1 of the newest state
	sup    uint8 // mask of checkpoints that a rewind superseded
	goings uint8 // rewinds and keeps
	adopt  uint8 // slot+1 of the rewind, keep or from behind which nothing completed
	ended  bool
}

// job reads the first n entries of a job's log.
func (s *State) job(lg int, n uint8) (j Job) {
	for i := uint8(0); i < n; i++ {
		e := s.Log[lg][i]
		switch e.Kind {
		case kBegin:
			j.ended = false
		case kComplete:
			j.cur, j.adopt = e.Arg+1, 0
		case kRewind, kKeep:
			j.cur, j.sup, j.adopt = e.Arg, j.sup|e.X, i+1
			j.goings++
		case kFrom:
			j.cur, j.adopt = e.Arg, i+1
		case kEnd:
			j.ended = true
		}
	}
	return
}

// going is the k-th rewind or keep of a job's log.
func (s *State) going(lg int, k uint8) (Entry, uint8) {
	for i := uint8(0); i < maxLog; i++ {
		if e := s.Log[lg][i]; e.Kind == kRewind || e.Kind == kKeep {
			if k == 0 {
				return e, i
			}
			k--
		}
	}
	return Entry{}, 0
}

// Table is what a table's log says.
type Table struct {
	tail               uint8 // index+1 of the checkpoint in whose certificate the chain ends
	certs, live, dones uint8
	lost               uint8 // mask of files
	repaired           uint8 // mask of files
	claim              Entry
}

// table reads the first n entries of the log of table x.
func (s *State) table(x int, n uint8) (t Table) {
	for i := uint8(0); i < n; i++ {
		e := s.Log[tab0+x][i]
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
			t.tail = s.chainEnd(x, t, s.target(e.Arg))
		case kRepair:
			t.repaired |= 1 << e.Arg
		}
	}
	return
}

// chainEnd is where the chain of table x ends in the state of the checkpoint head-1: at its own certificate, or where it ended before it.
func (s *State) chainEnd(x int, t Table, head uint8) uint8 {
	if head == 0 || t.certs>>(head-1)&1 == 1 {
		return head
	}
	return s.Cp[head-1].Expect[x]
}

// after is the mask of live certificates behind the chain's link end (0: all) among the first n entries of table x's log.
func (s *State) after(x int, n, end uint8) (m uint8) {
	live, found := s.table(x, n).live, end == 0
	for i := uint8(0); i < n; i++ {
		if e := s.Log[tab0+x][i]; e.Kind == kCert {
			if found && live>>e.Arg&1 == 1 {
				m |= 1 << e.Arg
			}
			found = found || e.Arg+1 == end
		}
	}
	return m
}

// has reports whether table x's log holds an entry of this kind with this reference among the first n. A segment does not repeat those before it.
func (s *State) has(x int, n, kind, ref uint8) bool {
	for i := s.Cleaned[tab0+x]; i < n; i++ {
		if e := s.Log[tab0+x][i]; e.Kind == kind && e.Arg == ref {
			return true
		}
	}
	return false
}

// kept is where the chain ended that a keep with this reference kept in table x, and whether there is such an entry among the first n.
func (s *State) kept(x int, n, ref uint8) (uint8, bool) {
	for i := s.Cleaned[tab0+x]; i < n; i++ {
		if e := s.Log[tab0+x][i]; e.Kind == kKeep && e.Arg == ref {
			return e.X, true
		}
	}
	return 0, false
}

// filesOf a mask of checkpoints in table x.
func (s *State) filesOf(cps uint8, x int) (m uint8) {
	for i := uint8(0); i < s.NFile; i++ {
		if int(s.File[i].Tab) == x && cps>>s.File[i].Cp&1 == 1 && s.Cp[s.File[i].Cp].Files>>i&1 == 1 {
			m |= 1 << i
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

// visible counts the rows of an offset in table x.
func (s *State) visible(x int, off uint8) (n int) {
	for i := uint8(0); i < s.NFile; i++ {
		if s.File[i].Off == off && int(s.File[i].Tab) == x && s.File[i].Final != 0 {
			n++
		}
	}
	for r := range s.Rep {
		if f := &s.File[s.Rep[r].File]; s.Rep[r].Extra != 0 && f.Off == off && int(f.Tab) == x {
			n++
		}
	}
	return
}

// next is the index+1 of the first file of mask at or behind after, or 0.
func next(mask, after uint8) uint8 {
	for i := after; i < maxFile; i++ {
		if mask>>i&1 == 1 {
			return i + 1
		}
	}
	return 0
}
