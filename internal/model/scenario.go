package model

import "fmt"

// Config is one scenario: bounds, what the world may do, rules taken away.
type Config struct {
	Attempts, Offsets, PerCp int
	Tables, Splits           int  // 0 means 1; each split is read by a subtask of its own. With 2 and 2 each split goes to its own table, else all rows go to all tables
	Acks                     bool // the subtasks close their files and acknowledge one after the other, each in a step of its own
	LostReplies              bool // any append or rename may be answered by silence and land at any later time, again and again
	Losses                   int  // how many of them; 0 means any number
	LateMoves                bool // so may the moves of a rewind
	Takes                    int  // pending files an outsider deletes
	AcceptLost               bool // attempts from AcceptFrom on go on over a lost file
	AcceptFrom               int
	Repairers                int
	RewindBy, MaxRewinds     int  // from which attempt on one may be told to go back, how often in all
	Keep, KeepOnly           bool // going back may, or can only, keep newer output
	AnyTarget                bool // to any checkpoint of the log, superseded ones as well
	AfterEnd                 bool // also when the job has ended
	Savepoints               bool // every checkpoint was copied away by a person, who may go back to it
	PowerCuts, Damages       int
	Aborts                   int
	Cleaner                  bool // an idealised cleaner: it knows at every moment what is named
	Cleans                   int  // runs of the cleaning command, which lists, reads and deletes in steps of their own
	OtherDir, TakeOver       bool // attempts from OtherFrom (0 means 1) to before BackFrom have another checkpoint directory (and the first of them --take-over)
	OtherFrom, BackFrom      int
	OtherBegins              int  // begins that stand in the other directory's log already
	Copied                   bool // the other directory is a copy of the first one, made at any time
	FromTable                bool // the attempt in the other directory goes on from the tables' certificates
	RenameOverwrites         bool // HDFS client without the flag

	LogCleaning bool // old entries of both kinds of log are removed
	Retain      int  // checkpoints that the job's log retains; 0 means 1
	Compactor   bool // an outsider removes a visible file of a done checkpoint

	// Rules that are there when true.
	ListExact, RereadBeforeDamage, RewindTwoNames, RereadJob bool

	SafetyOnly bool // do not ask that somebody is left who finishes the job

	Reach func(*State) bool // look for such a state instead of a violation

	// Rules taken away: each must give a counterexample.
	UnknownIsOK, UnknownIsFailed, BlindAppend, RestoreFirst, LogOverwrites, LogUnsynced, NoList, ListFences, Overlap, CertLate, NoClaim, ClaimLate, ClaimIgnored, OldClaims,
	FreshUnchecked, ChainUnchecked, DoneByID, ReuseIDs, DoneEarly, DoneBeforeSync, TargetFirst, LookOnce, NoReread, RereadJobOnly, BothUnjudged,
	OldIfInvisible, OldIfUncertified, OldSilently, DamagedSilently, RewindSkipsPending, RewindSkipsStaged, RewindNotInTable, RewindOnePlace, RewindUnsynced, RewindNoCopy,
	RepairNewName, RepairIgnoresRewind, RepairUnsynced, CleanByEpoch bool
	// With several tables and subtasks.
	ClaimFirstOnly, ClaimsCross, NewestClaimOnly, EqualEpochs, DoneByOne, LostStopsAtOnce, AckMissing, RewindFirstTable, RewindNotFinished, SupersededUnseen, ForeignUnfinished, KeptUnfinished, FromGreatest bool
	// Cleaning.
	SegmentEarly, CleanLogsFirst, CleanIgnoresCompletes, CleanIgnoresSuperseded, CleanIgnoresCertificates, CleanOwnLog, CleanNewestClaim bool
}

// scenario is one exploration with what is expected of it.
type scenario struct {
	name, about string
	run         func(limit int) Result
	caught      bool // a violation, or a state to be reached, is expected
}

// proto explores the protocol with the bounds and rules of c.
func proto(c Config) func(int) Result {
	return func(limit int) Result { return explore[State](&Proto{c}, limit) }
}

// Unexpected says what is wrong with the outcome, or nothing. A search that was cut off proves nothing about a counterexample.
func (sc scenario) Unexpected(r Result) string {
	switch {
	case !sc.caught && r.Violation != "":
		return r.Violation
	case sc.caught && r.Violation == "" && r.Complete:
		return "no counterexample in the whole space"
	case sc.caught && r.Violation == "":
		return "no counterexample within the limit"
	}
	return ""
}

// Row is the scenario's line of the table in docs/design/model.md.
func (sc scenario) Row(r Result) string {
	verdict, whole := "holds", "yes"
	switch {
	case r.Violation != "":
		verdict, whole = fmt.Sprintf("%s (%d steps)", r.Violation, len(r.Trace)), "-"
	case !r.Complete:
		verdict, whole = "holds so far", "no"
	}
	if w := sc.Unexpected(r); w != "" {
		verdict = "**unexpected** " + verdict
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %d | %d | %s | %s |", sc.name, ruleOf[sc.name], sc.about, r.States, r.Edges, r.Depth, whole, verdict)
}
