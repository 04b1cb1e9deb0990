package checkpoint

import (
	"time"

	"staunch/account"
	"staunch/connector"
)

// Version of the metadata format.
const Version = 1

// Metadata is the state of the job at one completed checkpoint.
type Metadata struct {
	Version int                  `json:"version"`
	LogID   string               `json:"log_id"`
	Job     string               `json:"job"`
	Epoch   account.Epoch        `json:"epoch"`
	ID      account.CheckpointID `json:"checkpoint"`
	Time    time.Time            `json:"time"`
	// By is the begin of the attempt that made the checkpoint: the entry itself is cleaned away behind the completes.
	By *account.Begin `json:"by,omitempty"`
	// Previous is the hash of the complete entry before.
	Previous string `json:"previous,omitempty"`
	// Triggered is when the barrier was injected.
	Triggered time.Time `json:"triggered"`
	// Sources by the name of the source table.
	Sources map[string]Source `json:"sources"`
	// Tables by their resolved root: the file sinks of this checkpoint, removed ones that still hold files included.
	Tables map[string]Table `json:"tables,omitempty"`
	// Plan is a hash of the plan, SQL its text.
	Plan string `json:"plan"`
	SQL  string `json:"sql"`
	// AccountsClose: see account.Certificate.
	AccountsClose bool `json:"accounts_close"`
	// Final is set for the last checkpoint of a bounded job.
	Final bool `json:"final,omitempty"`
	// Counters of the files that the process which made the checkpoint had committed before it.
	Counters account.Counters `json:"counters"`
	// Records read by the job so far.
	Records int64 `json:"records"`
}

// Source is the state of one source table.
type Source struct {
	Enumerator []byte            `json:"enumerator,omitempty"`
	Splits     []connector.Split `json:"splits"`
	// Watermark is the least one over the subtasks, nil if unknown.
	Watermark *int64 `json:"watermark,omitempty"`
}

// Table is what one checkpoint promises to one table.
type Table struct {
	// Name in the statement file.
	Name string `json:"name"`
	// Expect is where the table's chain ended before this checkpoint.
	Expect account.ChainEnd `json:"expect"`
	Files  []account.File   `json:"files,omitempty"`
	Ranges []account.Range  `json:"ranges,omitempty"`
	// Directories are folders below the table's temporary one, absolute or `cp-<id>/task-<k>`: what a checkpoint of the directory-based protocol
	// has instead of Files. It is read, never written.
	Directories []string `json:"directories,omitempty"`
	// Partitions that are not committed yet.
	Partitions []PendingPartition `json:"partitions,omitempty"`
}

// Empty reports that the checkpoint says nothing about the table: no certificate is needed.
func (t Table) Empty() bool {
	for _, r := range t.Ranges {
		if r.From != r.To {
			return false
		}
	}
	return len(t.Files)+len(t.Directories) == 0 && len(t.due()) == 0
}

func (t Table) due() (out []string) {
	for _, p := range t.Partitions {
		if p.Due {
			out = append(out, p.Partition)
		}
	}
	return out
}

// Due are the partitions that this checkpoint commits.
func (t Table) Due() []string { return t.due() }

// PendingPartition is a partition that got rows and is not committed.
type PendingPartition struct {
	Partition string    `json:"partition"`
	Values    []*string `json:"values"`
	// FirstSeen in milliseconds since 1970, by the clock of the host that saw it first.
	FirstSeen int64 `json:"first_seen"`
	// Due is set from the checkpoint on that commits it until its success file stands.
	Due bool `json:"due,omitempty"`
	// Lost is set once a file of it is lost: it is never due then.
	Lost bool `json:"lost,omitempty"`
}
