package account

import "time"

// The kinds of entries of the two logs (PROTOCOL.md 2).
const (
	KindBegin       = "begin"
	KindComplete    = "complete"
	KindEnd         = "end"
	KindClaim       = "claim"
	KindCertificate = "certificate"
	KindDone        = "done"
	KindPartition   = "partition"
	KindAccept      = "accept"
	KindSegment     = "segment"
	KindRewind      = "rewind"    // job's log: going back to an older checkpoint
	KindKeep        = "keep"      // table's log: going back, and what is newer stays
	KindSupersede   = "supersede" // table's log: going back, and what is newer is taken out of the chain
	KindRewound     = "rewound"   // table's log: the superseded files are out of the table
	KindRepair      = "repair"    // table's log: a replacement of a lost file is staged and goes to its place
	KindAmend       = "amend"     // table's log: files were rewritten on purpose
)

// Begin opens a run attempt; its number in the job's log is the attempt's epoch.
type Begin struct {
	// LogID is the random identity of this job log, drawn by its first entry and repeated by every other.
	LogID string    `json:"log_id"`
	Job   string    `json:"job"`
	File  string    `json:"file"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Start string    `json:"start"` // identifies the process among those that had the pid (Linux: start time in ticks)
	Time  time.Time `json:"time"`
	// Sources and Sinks say what the file reads and writes (source table and its topic or path; sink's resolved path).
	Sources []string `json:"sources"`
	Sinks   []string `json:"sinks"`
	Version string   `json:"version"`
	// Renewed: the log that this begin continues is an older copy, and has the identity LogID from here on.
	Renewed bool `json:"renewed,omitempty"`
}

// End closes a job's log: the bounded job has finished.
type End struct {
	LogID      string       `json:"log_id"`
	Epoch      Epoch        `json:"epoch"`
	Checkpoint CheckpointID `json:"checkpoint"`
	Time       time.Time    `json:"time"`
}

// Claim says that from here on only this epoch of this job log may commit to the table.
type Claim struct {
	LogID string `json:"log_id"`
	Job   string `json:"job"`
	Epoch Epoch  `json:"epoch"`
	Log   string `json:"log"` // the job log's folder, for people
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	// Nonce is drawn by the process. [Two copies of one checkpoint directory give the same epoch, and two containers the same host name and pid.]
	Nonce string    `json:"nonce,omitempty"`
	Time  time.Time `json:"time"`
	// TakeOver is set when another job log's claim was overruled by order.
	TakeOver bool `json:"take_over,omitempty"`
}

// Certificate is what one completed checkpoint promises for one table.
type Certificate struct {
	LogID      string       `json:"log_id"`
	Job        string       `json:"job"`
	Epoch      Epoch        `json:"epoch"`
	Checkpoint CheckpointID `json:"checkpoint"`
	// Complete is the SHA-256 of the entry in the job's log that this certificate was made from.
	Complete string    `json:"complete"`
	Time     time.Time `json:"time"`
	// Previous is the SHA-256 of the certificate before, empty for the first.
	Previous string `json:"previous"`
	// Plan is a hash of the plan of the INSERTs, SQL their text.
	Plan   string  `json:"plan"`
	SQL    string  `json:"sql"`
	Files  []File  `json:"files"`
	Ranges []Range `json:"ranges"`
	// AccountsClose says that one record gives at most one row in this plan, so that Range.Rows can be held against the files.
	AccountsClose bool `json:"accounts_close"`
	// Watermark of the checkpoint in milliseconds, nil if unknown.
	Watermark *int64 `json:"watermark,omitempty"`
	// Partitions that this checkpoint commits.
	Partitions []string `json:"partitions,omitempty"`
	// Final is set for the last checkpoint of a bounded job.
	Final bool `json:"final,omitempty"`
	// FromDirectories are the folders, below the table's root, that a checkpoint of the directory-based protocol names instead of files: Files are
	// what stood there, MissingDirectories those that were not there. Such a certificate proves that its files are there, no more: they have no
	// hashes, rows or offsets, and its ranges are positions only (From = To).
	FromDirectories    []string `json:"from_directories,omitempty"`
	MissingDirectories []string `json:"missing_directories,omitempty"`
	// DirectoriesEpoch is the epoch of the attempt that wrote into those folders. It is not recorded.
	DirectoriesEpoch Epoch `json:"-"`
}

// Done says that every file of a certificate has its verdict and that what is visible is durable.
type Done struct {
	LogID       string       `json:"log_id"`
	Epoch       Epoch        `json:"epoch"`
	Checkpoint  CheckpointID `json:"checkpoint"`
	Certificate string       `json:"certificate"`
	Time        time.Time    `json:"time"`
	Verdicts    []Verdict    `json:"verdicts"` // in the order of the certificate's files
	Counters    Counters     `json:"counters"`
}

// Counters are the file counters. Created = Renamed + Skipped + Lost.
type Counters struct {
	Created      int64 `json:"numFilesCreated"`
	Renamed      int64 `json:"numFilesRenamed"`
	Skipped      int64 `json:"numFilesSkipped"`
	Lost         int64 `json:"numFilesLost"`
	DirtyIgnored int64 `json:"numFilesDirtyIgnored"`
}

// Add adds d.
func (c *Counters) Add(d Counters) {
	c.Created += d.Created
	c.Renamed += d.Renamed
	c.Skipped += d.Skipped
	c.Lost += d.Lost
	c.DirtyIgnored += d.DirtyIgnored
}

// Partition says that partitions were committed (their success files stand).
type Partition struct {
	LogID       string       `json:"log_id"`
	Checkpoint  CheckpointID `json:"checkpoint"`
	Certificate string       `json:"certificate"`
	Partitions  []string     `json:"partitions"`
	Time        time.Time    `json:"time"`
}

// Accept says that a person has taken note of a lost file and lets the job go on without it.
type Accept struct {
	LogID       string       `json:"log_id"`
	Checkpoint  CheckpointID `json:"checkpoint"`
	Certificate string       `json:"certificate"`
	// ID is what the person named: "<checkpoint>-<first 8 digits of a hash over the certificate and Files>".
	ID string `json:"id"`
	// Files are the final paths of the lost files that are accepted, sorted. Empty in entries of earlier versions: all that were lost then.
	Files []string  `json:"files,omitempty"`
	Who   string    `json:"who"`
	Why   string    `json:"why"`
	Time  time.Time `json:"time"`
}

// Segment replaces the entries before it: they lie, unchanged, in archive files beside the log.
type Segment struct {
	LogID string `json:"log_id"`
	Epoch Epoch  `json:"epoch"`
	// Archives in order; each holds the entries From..To of the log.
	Archives []Archive `json:"archives"`
	// Chain is the newest certificate, done.
	Chain ChainEnd `json:"chain"`
	// LogID of the newest certificate, and the source splits that the archived certificates cover.
	ChainLogID string `json:"chain_log_id,omitempty"`
	// Complete is the hash of the complete that the newest certificate names: another log may have a checkpoint of the same id.
	Complete string   `json:"complete,omitempty"`
	Splits   []string `json:"splits,omitempty"`
	// Claim is the claim in force.
	Claim Claim     `json:"claim"`
	Time  time.Time `json:"time"`
	// Greatest id of a checkpoint that any certificate before names, superseded ones too.
	Greatest CheckpointID `json:"greatest,omitempty"`
	// Others: see Keep.
	Others []string `json:"others,omitempty"`
}

// Branch is where a job that goes back leaves a table's chain.
type Branch struct {
	// Target is the chain's end as the restored state knows it, Chain its end when the job went back.
	Target ChainEnd `json:"target"`
	Chain  ChainEnd `json:"chain"`
	// Left is set for a table that the statement file no longer names: its newer output stays in any mode, and the restored job knows nothing of it.
	Left bool `json:"left,omitempty"`
}

// Keep says that the job went back to an older state while the table's newer output stays: the chain goes on at its end, and offsets that come
// again are excused.
type Keep struct {
	LogID string `json:"log_id"`
	Epoch Epoch  `json:"epoch"`
	// Rewind is the SHA-256 of the rewind entry in the job's log; empty if only Others are excused.
	Rewind string `json:"rewind,omitempty"`
	Branch
	// Others are jobs whose logs in this table may cover the same offsets, by the names of their folders.
	Others []string  `json:"others,omitempty"`
	Time   time.Time `json:"time"`
}

// Supersede says that the chain ends at the target from here on. Every file of the superseded certificates is then moved to
// `_superseded/<number of this entry>/`.
type Supersede struct {
	LogID string `json:"log_id"`
	Epoch Epoch  `json:"epoch"`
	// Rewind is the SHA-256 of the rewind entry in the job's log.
	Rewind string `json:"rewind"`
	Branch
	// TargetLogID is the job log of the certificate at which the chain ends now; Splits are those that the rest of the chain covers.
	TargetLogID string   `json:"target_log_id,omitempty"`
	Splits      []string `json:"splits,omitempty"`
	// Certificates are the SHA-256 of those that are superseded, the newest first.
	Certificates []string  `json:"certificates"`
	Time         time.Time `json:"time"`
}

// Rewound says that no superseded file is left in the table, durably.
type Rewound struct {
	LogID string `json:"log_id"`
	Epoch Epoch  `json:"epoch"`
	// Supersede is the SHA-256 of the entry that is carried out by this.
	Supersede string `json:"supersede"`
	// Moved counts the files; Gone are the final names of those that were in no place.
	Moved int64     `json:"moved"`
	Gone  []string  `json:"gone,omitempty"`
	Time  time.Time `json:"time"`
}

// Repair says that a replacement of a file with verdict lost is staged, durable, and goes to the lost file's own final name (PROTOCOL.md 8). It
// is placed without overwriting: a second repair, and a late rename of the original, find the name taken. Its appender holds no claim.
type Repair struct {
	// LogID, Job and Checkpoint are the certificate's.
	LogID      string       `json:"log_id"`
	Job        string       `json:"job"`
	Checkpoint CheckpointID `json:"checkpoint"`
	// Certificate is the SHA-256 of the certificate that names the lost file, Final the file's final path in it.
	Certificate string `json:"certificate"`
	Final       string `json:"final"`
	// Staged is the absolute path of the replacement in the table's temporary folder; Length, Sums and Rows are its own. Its rows have the
	// offsets of the lost file.
	Staged string `json:"staged"`
	Length int64  `json:"length"`
	Sums
	Rows int64 `json:"rows"`
	// Who ordered it, where and why.
	Who  string    `json:"who"`
	Host string    `json:"host"`
	Why  string    `json:"why,omitempty"`
	Time time.Time `json:"time"`
}

// Amend says that files of the table were rewritten on purpose (a delete that the law asks for, a compaction from outside): Removed are no longer
// there and Added stand for them.
type Amend struct {
	// Removed are final paths that certificates, repairs or earlier amends of this log name.
	Removed []string `json:"removed"`
	// Added are the files that have their rows, or what is left of them. Only Final, Partition, Length, Sums, Rows and, if they are known, Offsets are set.
	Added []File `json:"added,omitempty"`
	// RowsRemoved is how many rows went on purpose: rows of Removed less rows of Added.
	RowsRemoved int64     `json:"rows_removed"`
	Who         string    `json:"who"`
	Host        string    `json:"host"`
	Why         string    `json:"why"`
	Time        time.Time `json:"time"`
}

// Archive is one immutable file of former entries: each entry file's bytes, one after the other, preceded by a line
// "<number> <length>\n".
type Archive struct {
	Name   string `json:"name"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	SHA256 string `json:"sha256"`
	Length int64  `json:"length"`
}

// ChainEnd names the newest certificate of a chain.
type ChainEnd struct {
	Certificate string       `json:"certificate,omitempty"`
	Checkpoint  CheckpointID `json:"checkpoint,omitempty"`
}

// Short is the first 8 digits of a hash, by which people name an entry; "(none)" for no hash.
func Short(hash string) string {
	switch {
	case hash == "":
		return "(none)"
	case len(hash) > 8:
		return hash[:8]
	}
	return hash
}
