package audit

import (
	"time"

	"staunch/account"
)

// Verdict is what the audit says about a log or a table.
type Verdict string

// The verdicts, from best to worst.
const (
	// Clean: everything that was consumed is accounted for and every promised file is there as it was written.
	Clean Verdict = "clean"
	// Committing: clean, but the newest certificate has no done entry yet; each of its files is in one of its two places.
	Committing Verdict = "being committed"
	// Rewinding: clean, but superseded files are still being moved out of the table.
	Rewinding Verdict = "being rewound"
	// Wrong: there are problems.
	Wrong Verdict = "problems"
)

// Kind names a class of problems, for scripts.
type Kind string

// The kinds of problems.
const (
	EntryDamaged   Kind = "entry-damaged"    // an entry of the log cannot be read for what it was
	EntryMissing   Kind = "entry-missing"    // a number of the log is empty
	EntryUnknown   Kind = "entry-unknown"    // of a kind that this version does not know
	ArchiveDamaged Kind = "archive-damaged"  // an archive of former entries is missing or altered
	ChainBroken    Kind = "chain-broken"     // an entry names another certificate than the one that stands before it
	Order          Kind = "order"            // entries in an order that the protocol does not allow
	Fence          Kind = "fence"            // written by a process whose claim was over
	RangeGap       Kind = "range-gap"        // offsets between two certificates that none covers
	RangeOverlap   Kind = "range-overlap"    // offsets that two certificates cover
	RangeDamaged   Kind = "range-damaged"    // counts that cannot be
	AccountOpen    Kind = "account-open"     // rows in files are not what the account leaves
	OffsetsTwice   Kind = "offsets-twice"    // an offset in two files
	OffsetsOutside Kind = "offsets-outside"  // an offset in a file that its checkpoint did not consume
	FileOutside    Kind = "file-outside"     // a certificate names a place outside the table
	FileMissing    Kind = "file-missing"     // a committed file is gone
	FileChanged    Kind = "file-changed"     // a committed file has another length or content
	FileUnreadable Kind = "file-unreadable"  // it is there and cannot be read
	FileFooter     Kind = "file-contradicts" // rows or offsets in the file are not the certificate's
	FileLost       Kind = "file-lost"        // lost and not accepted
	FileAmended    Kind = "file-amended"     // taken out of the table on purpose, and there
	FileSuperseded Kind = "file-superseded"  // readers see a file of a checkpoint that a rewind took back, or it waits to become visible
	FileForeign    Kind = "file-foreign"     // readers see a file that no certificate names
	VerdictsWrong  Kind = "verdicts-wrong"   // the verdicts are not one for each file
	SuccessMissing Kind = "success-missing"  // a committed partition without its success file
	SuccessForeign Kind = "success-foreign"  // a success file for a partition that was not committed
	TwoJobs        Kind = "two-jobs"         // two jobs wrote the same offsets
	NoLog          Kind = "no-log"           // nothing to prove the table by

	CertificateDamaged Kind = "certificate-damaged" // the exported certificate of a partition is not what was written

	// Only with Options.JobLogs.
	LogBehind     Kind = "log-behind"      // the job's log names a certificate that the table's log does not have
	JobLogBehind  Kind = "job-log-behind"  // the table has newer checkpoints of a job's log than that log
	JobLogDamaged Kind = "job-log-damaged" // a job's log cannot be read: the end of the table's log is not proven

	// Only with Options.Broker.
	TopicContradicts Kind = "topic-contradicts" // the topic has something else at these offsets than the certificate says
	TopicUnknown     Kind = "topic-unknown"     // the table could not be compared with the topic
	PartitionAbsent  Kind = "partition-absent"  // the topic has records of a partition of which no job has an account
)

// SplitOffsets are offsets of one source split, as text: "0..99 120".
type SplitOffsets struct {
	Split   string `json:"split"`
	Offsets string `json:"offsets"`
	Count   int64  `json:"count"`
}

// Problem is one finding.
type Problem struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"`
	// Path of the file at fault.
	Path       string               `json:"path,omitempty"`
	Entry      int64                `json:"entry,omitempty"`
	Checkpoint account.CheckpointID `json:"checkpoint,omitempty"`
	Offsets    []SplitOffsets       `json:"offsets,omitempty"`
	// ToDo says what to do about it.
	ToDo string `json:"to_do,omitempty"`
}

// Split is the account of one source split and INSERT over all certificates.
type Split struct {
	Split  string `json:"split"`
	Insert string `json:"insert,omitempty"`
	// From <= o < To were consumed.
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	Rows     int64 `json:"rows"`
	Filtered int64 `json:"filtered"`
	Rejected int64 `json:"rejected"`
	Null     int64 `json:"null"`
	Gaps     int64 `json:"gaps"`
	Skipped  int64 `json:"skipped"`
	// Lost rows are among Rows, but in lost files.
	Lost int64 `json:"lost"`
	// Files that hold rows of the split.
	Files int64 `json:"files"`
	// Unproven offsets lie between certificates: a version without them wrote meanwhile.
	Unproven int64 `json:"unproven,omitempty"`
}

// Loss is a file that was in neither place.
type Loss struct {
	Path       string               `json:"path"`
	Checkpoint account.CheckpointID `json:"checkpoint"`
	Rows       int64                `json:"rows"`
	Offsets    []SplitOffsets       `json:"offsets,omitempty"`
	// Accepted names who let the job go on without it, empty if nobody did.
	Accepted string `json:"accepted,omitempty"`
	// Repairing names who began to repair it, if its replacement is not in its place.
	Repairing string `json:"repairing,omitempty"`
}

// Repaired is a lost file whose replacement stands in its place.
type Repaired struct {
	Path       string               `json:"path"`
	Checkpoint account.CheckpointID `json:"checkpoint"`
	Rows       int64                `json:"rows"`
	Offsets    []SplitOffsets       `json:"offsets,omitempty"`
	// Who repaired it, and when; Why is what they said.
	Who string `json:"who"`
	Why string `json:"why,omitempty"`
	// Entry of the log that records it.
	Entry int64 `json:"entry"`
}

// Job is the result of one job's log in the table.
type Job struct {
	Job          string               `json:"job"`
	Log          string               `json:"log"`
	Verdict      Verdict              `json:"verdict"`
	Entries      int64                `json:"entries"`
	Certificates int64                `json:"certificates"`
	First        account.CheckpointID `json:"first_checkpoint"`
	Last         account.CheckpointID `json:"last_checkpoint"`
	// Chain is the hash of the newest certificate: who keeps it can tell later that the log's end was cut off.
	Chain string `json:"chain"`
	// Files and Bytes that are visible.
	Files    int64            `json:"files"`
	Bytes    int64            `json:"bytes"`
	Rows     int64            `json:"rows"`
	Counters account.Counters `json:"counters"`
	// Pending is how many files of a certificate that is being committed are still in the temporary place.
	Pending int64 `json:"pending"`
	// Left is how many pending files stand beside their visible ones although their checkpoint is done. No reader sees them.
	Left int64 `json:"pending_left,omitempty"`
	// Superseded certificates are out of the account: the job went back to a state before them.
	Superseded int64 `json:"superseded,omitempty"`
	// AccountsClose is false if the accounts of a certificate need not close (one record may give several rows).
	AccountsClose bool    `json:"accounts_close"`
	Splits        []Split `json:"splits"`
	// Topics is how the splits compare with what their topics have now, if that was asked for.
	Topics []Topic `json:"topics,omitempty"`
	// Partitions that were committed.
	Partitions int64  `json:"partitions_committed"`
	Losses     []Loss `json:"losses,omitempty"`
	// Repairs are lost files that were replaced: their rows are there. RowsAmended were taken out on purpose, in all amends.
	Repairs     []Repaired `json:"repairs,omitempty"`
	RowsAmended int64      `json:"rows_amended,omitempty"`
	// Adopted files, with AdoptedRows, stood in the table before the job wrote to it: they are among Files and Rows, and no offsets prove them.
	Adopted     int64     `json:"adopted_files,omitempty"`
	AdoptedRows int64     `json:"adopted_rows,omitempty"`
	Problems    []Problem `json:"problems,omitempty"`
	// More problems and losses were found than are listed.
	More  int64    `json:"more,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// Report is the result for one table.
type Report struct {
	Table   string    `json:"table"`
	Time    time.Time `json:"time"`
	Verdict Verdict   `json:"verdict"`
	// Fast is set when contents were not hashed and lines not counted.
	Fast bool   `json:"fast"`
	Jobs []*Job `json:"jobs"`
	// Problems of the table that belong to no job.
	Problems []Problem `json:"problems,omitempty"`
	More     int64     `json:"more,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// maxListed bounds the problems, losses and notes that a report keeps of one job.
const maxListed = 1000

func (j *Job) problem(p Problem) {
	j.Verdict = Wrong
	if len(j.Problems) == maxListed {
		j.More++
		return
	}
	j.Problems = append(j.Problems, p)
}

func (j *Job) note(text string) {
	if len(j.Notes) < maxListed {
		j.Notes = append(j.Notes, text)
	}
}

func (r *Report) problem(p Problem) {
	r.Verdict = Wrong
	if len(r.Problems) == maxListed {
		r.More++
		return
	}
	r.Problems = append(r.Problems, p)
}

// Count is the number of problems.
func (r *Report) Count() int64 {
	n := int64(len(r.Problems)) + r.More
	for _, j := range r.Jobs {
		n += int64(len(j.Problems)) + j.More
	}
	return n
}

func offsetsOf(sets []account.Offsets) (out []SplitOffsets) {
	for _, o := range sets {
		out = append(out, SplitOffsets{o.Split, o.Set.Text(), o.Set.Count()})
	}
	return out
}

func span(split string, from, to int64) []SplitOffsets {
	return []SplitOffsets{{split, account.Set{Runs: []account.Run{{From: from, To: to}}}.String(), to - from}}
}
