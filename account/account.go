package account

import (
	"fmt"
	"strings"
)

// CheckpointID numbers the checkpoints of a job, ascending, never given twice once completed.
type CheckpointID int64

// Epoch is the number of one run attempt: of its begin entry in the job's log.
type Epoch int64

// Verdict is what became of one committable at commit.
type Verdict string

// The verdicts (PROTOCOL.md 5).
const (
	Renamed Verdict = "renamed"
	Skipped Verdict = "skipped" // already there, and as the log records it
	Lost    Verdict = "lost"    // in neither place
)

// Offsets is the exact set of one source split's offsets that a file holds.
type Offsets struct {
	// Split is the split's identity, for Kafka "topic-partition".
	Split string `json:"split"`
	Set   Set    `json:"set"`
}

// File is the committable of a file sink: a written, closed, durable file that is not yet visible, and where it goes. Everything is fixed when
// the file is prepared, so that any process can commit it (C3, C4).
type File struct {
	// Insert names the INSERT of the job that the rows came by; set by the engine.
	Insert string `json:"insert,omitempty"`
	// Pending and Final are absolute paths inside the table's store.
	Pending string `json:"pending"`
	Final   string `json:"final"`
	// Partition is the partition's folder below the table ("dt=2026-11-29/hour=14"), empty without PARTITIONED BY.
	Partition string `json:"partition,omitempty"`
	// PartitionValues are its values in the order of the keys, unescaped, NULL as nil.
	PartitionValues []*string `json:"partition_values,omitempty"`
	// Length in bytes.
	Length int64 `json:"length"`
	Sums
	Rows int64 `json:"rows"`
	// Offsets has one entry a source split; empty for sources without positions.
	Offsets []Offsets `json:"offsets,omitempty"`
	// Attempt is "<epoch>.<attempt of the region>" of the writer.
	Attempt string `json:"attempt"`
}

// Temporary is the folder below a table in which files are written before they are visible.
const Temporary = "_DUMP_TEMPORARY"

// Stood is where the table stood when the file was written, which a table that was moved as a whole does not any more; "" if its names do not tell.
func (f *File) Stood() string {
	return f.Pending[:max(0, strings.LastIndex(f.Pending, "/"+Temporary+"/"))]
}

// Range is the account of one source split in one checkpoint for one INSERT.
type Range struct {
	Split  string `json:"split"`
	Insert string `json:"insert,omitempty"`
	// From and To bound the consumed offsets: From <= o < To.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Filtered rows did not satisfy WHERE; Rejected records did not parse and were skipped by order; Null records had no value; Gaps are
	// offsets that never held a record for this reader (transaction markers, aborted transactions, compaction).
	Filtered int64 `json:"filtered,omitempty"`
	Rejected int64 `json:"rejected,omitempty"`
	Null     int64 `json:"null,omitempty"`
	Gaps     int64 `json:"gaps,omitempty"`
	// Origin tells what the offsets number from a later source of the same name, as the source writes it (a topic's id, a generator's seed); empty if
	// the source does not say.
	Origin string `json:"origin,omitempty"`
	// Skipped offsets were given up by order of auto.offset.reset; they lie between From and To.
	Skipped int64 `json:"skipped,omitempty"`
}

// Rows is what must be in the files for the account to close.
func (r Range) Rows() int64 {
	return r.To - r.From - r.Filtered - r.Rejected - r.Null - r.Gaps - r.Skipped
}

// Join appends next, the account of the offsets that follow r's.
func (r *Range) Join(next Range) error {
	if next.From != r.To {
		return fmt.Errorf("account of %s: offsets %d..%d are followed by %d", r.Split, r.From, r.To-1, next.From)
	}
	r.To = next.To
	if r.Origin == "" {
		r.Origin = next.Origin
	}
	r.Filtered += next.Filtered
	r.Rejected += next.Rejected
	r.Null += next.Null
	r.Gaps += next.Gaps
	r.Skipped += next.Skipped
	return nil
}
