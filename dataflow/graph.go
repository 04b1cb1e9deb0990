package dataflow

import (
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/operator"
)

// Graph is the physical plan of one job.
type Graph struct {
	Sources     []Source
	Parallelism int
}

// Source is a source table with everything that reads it: one chain per subtask.
type Source struct {
	// Name of the source table; its state is kept under this name.
	Name string
	// Describe is "table events (kafka topic events)", for messages.
	Describe string
	Source   connector.Source
	Schema   changelog.Schema
	// NewWatermarker is nil without a WATERMARK clause.
	NewWatermarker func() (operator.Watermarker, error)
	// IdleTimeout after which a split without records no longer holds the watermark back; 0 = never.
	IdleTimeout time.Duration
	Branches    []Branch
}

// Branch is one INSERT that reads the source.
type Branch struct {
	// Insert is the INSERT's identity among those of the job, for accounts.
	Insert string
	// Table is the sink's key: a file table's resolved root, else its name.
	Table       string
	Sink        connector.Sink
	NewOperator func() (operator.Operator, error)
	// Volatile is the text of an expression whose value does not follow from the record alone (the current time, a random number), empty if there is
	// none: then the same record gives the same row whenever it is read.
	Volatile string
}

// BatchRows bounds the rows of a batch.
const BatchRows = 8192

// Snapshot is a subtask's part of a checkpoint.
type Snapshot struct {
	Splits []connector.Split
	// Watermark of the subtask; Idle when all its splits are idle.
	Watermark changelog.Watermark
	Idle      bool
	// Tables by the key of Branch.Table.
	Tables map[string]*TableSnapshot
	// Records read since the snapshot before.
	Records int64
}

// TableSnapshot is what a subtask hands over for one table.
type TableSnapshot struct {
	Committables []connector.Committable
	Ranges       []account.Range
}

// merge puts older, which was prepared for a checkpoint that was given up, before s.
func (s *Snapshot) merge(older *Snapshot) error {
	s.Records += older.Records
	for key, o := range older.Tables {
		t := s.Tables[key]
		if t == nil {
			s.Tables[key] = o
			continue
		}
		t.Committables = append(o.Committables, t.Committables...)
		joined := append([]account.Range(nil), o.Ranges...)
	next:
		for _, r := range t.Ranges {
			for i := range joined {
				if joined[i].Split == r.Split && joined[i].Insert == r.Insert {
					if err := joined[i].Join(r); err != nil {
						return err
					}
					continue next
				}
			}
			joined = append(joined, r)
		}
		t.Ranges = joined
	}
	return nil
}
