package failpoint

// The points, in the order in which a checkpoint passes them.
const (
	BeginBefore       = "begin.before"       // before the job's log has the attempt's begin
	BeginAfter        = "begin.after"        // the epoch exists, nothing is claimed
	ClaimBefore       = "claim.before"       // before a table's log has the claim
	ClaimAfter        = "claim.after"        // the table is claimed, nothing is recovered
	RestoreCommitted  = "restore.committed"  // what the restored checkpoint promises is committed, nothing was read
	WriteCreated      = "write.created"      // a pending file exists and is empty
	WriteClosed       = "write.closed"       // a pending file is closed and not yet durable
	PrepareDurable    = "prepare.durable"    // a subtask's files are durable, not acknowledged
	AckedAll          = "ack.all"            // all subtasks acknowledged, complete not written
	LogStaged         = "log.staged"         // an entry is staged, not placed
	LogPlaced         = "log.placed"         // an entry is placed, its folder not synced
	CompleteAfter     = "complete.after"     // complete stands in the job's log
	CertificateBefore = "certificate.before" // before a table's log has the certificate
	CertificateAfter  = "certificate.after"  // the certificate stands, nothing was renamed
	RenameBefore      = "rename.before"      // before each file's rename
	RenameAfter       = "rename.after"       // after each file's rename
	RenamedAll        = "rename.all"         // all renamed, not synced
	SyncedAll         = "rename.synced"      // all renames durable, done not written
	DoneAfter         = "done.after"         // done stands in the table's log
	PartitionBefore   = "partition.before"   // before a partition's success file
	PartitionAfter    = "partition.after"    // success file there, entry not written
	GroupCommit       = "group.commit"       // before the group's offsets are committed
	CleanBefore       = "clean.before"       // before an older checkpoint's entries and files are removed
	EndBefore         = "end.before"         // a bounded job is committed, end not written

	// Going back passes these between ClaimAfter and RestoreCommitted.
	RewindBefore   = "rewind.before"    // every table is claimed, the job's log has no rewind
	RewindJob      = "rewind.job"       // rewind stands in the job's log, in no table's
	RewindTable    = "rewind.table"     // supersede stands in a table's log, nothing was moved
	RewindMovedOne = "rewind.moved.one" // after each superseded file
	RewindMovedAll = "rewind.moved.all" // all superseded files are moved, rewound not written
	RewoundAfter   = "rewound.after"    // rewound stands in a table's log
	KeepAfter      = "keep.after"       // keep stands in a table's log

	// A repair of a lost file passes these.
	RepairStaged = "repair.staged" // a replacement is staged and durable, no entry names it
	RepairEntry  = "repair.entry"  // repair stands in the table's log, nothing was renamed
	RepairPlaced = "repair.placed" // the replacement is in its place, not synced
	RepairSynced = "repair.synced" // it is there durably, and not reported
)

// Back lists the points that only a job that goes back passes, in order.
var Back = []string{RewindBefore, RewindJob, RewindTable, RewindMovedOne, RewindMovedAll, RewoundAfter, KeepAfter}

// Mending lists the points that only a repair passes, in order.
var Mending = []string{RepairStaged, RepairEntry, RepairPlaced, RepairSynced}

// Points lists all of them in order.
var Points = []string{BeginBefore, BeginAfter, ClaimBefore, ClaimAfter, RestoreCommitted, WriteCreated, WriteClosed, PrepareDurable,
	AckedAll, LogStaged, LogPlaced, CompleteAfter, CertificateBefore, CertificateAfter, RenameBefore, RenameAfter, RenamedAll, SyncedAll,
	DoneAfter, PartitionBefore, PartitionAfter, GroupCommit, CleanBefore, EndBefore}
