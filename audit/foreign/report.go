package foreign

import (
	"time"

	"staunch/account"
	"staunch/audit/foreign/bitmap"
)

// Verdict is what the audit says about a table.
type Verdict string

// The verdicts.
const (
	// Clean: every offset between the first and the last one of each partition is there once, or the broker says why it is not.
	Clean Verdict = "clean"
	// Wrong: there are problems.
	Wrong Verdict = "problems"
)

// Kind names a class of problems, for scripts.
type Kind string

// The kinds of problems.
const (
	Gap             Kind = "gap"               // offsets that no row has, and no broker was asked about, or it did not answer
	RecordMissing   Kind = "record-missing"    // the topic has records that the table has not
	RecordGone      Kind = "record-gone"       // offsets that no row has and the topic has no more: it can no longer be known
	PartitionAbsent Kind = "partition-absent"  // the topic has records of a partition of which there is no row
	OffsetBeyond    Kind = "offset-beyond"     // rows with offsets that the topic has not come to
	OffsetBefore    Kind = "offset-before"     // rows with offsets in front of the one at which every partition must begin
	OffsetsTwice    Kind = "offsets-twice"     // rows that are there more than once
	FileUnreadable  Kind = "file-unreadable"   // it is there and cannot be read
	FileDamaged     Kind = "file-damaged"      // truncated, or not of the format that it should be
	FileUnknown     Kind = "file-unknown"      // of no format that is known here
	FileChanged     Kind = "file-changed"      // it was being written while it was read, or is not as long as Spark's log says
	FileMissing     Kind = "file-missing"      // Spark's log names it, and it is not there
	FileUnlisted    Kind = "file-unlisted"     // it is there, and Spark's log does not name it
	LogDamaged      Kind = "log-damaged"       // Spark's log cannot be followed
	LogElsewhere    Kind = "log-elsewhere"     // Spark's log names files outside of the table
	TableFormat     Kind = "table-format"      // Delta Lake, Iceberg, Hudi: the folder does not say which files are the table's
	FileVanished    Kind = "file-vanished"     // gone between listing and reading
	TableMoved      Kind = "table-moved"       // files that were read have gone since, or new ones never end
	ColumnMissing   Kind = "column-missing"    // a file has no such column, or not as numbers
	PositionMissing Kind = "position-missing"  // rows without partition or offset
	PositionBad     Kind = "position-bad"      // rows whose partition or offset is no number from 0 on
	NameUnknown     Kind = "name-unknown"      // a file whose name has no offsets
	NoRows          Kind = "no-rows"           // nothing to prove
	TopicMissing    Kind = "topic-missing"     // the broker has no such topic
	BrokerAway      Kind = "broker-away"       // no answer: gaps could not be judged
	FolderUnread    Kind = "folder-unreadable" // a folder cannot be listed, or is a symbolic link
)

// SplitOffsets are offsets of one topic partition.
type SplitOffsets struct {
	Split string `json:"split"`
	// Offsets as text, "0..99 120"; at most maxRuns runs. More runs are behind them.
	Offsets string `json:"offsets"`
	Count   int64  `json:"count"`
	More    int64  `json:"more_ranges,omitempty"`
}

// Problem is one finding.
type Problem struct {
	Kind    Kind           `json:"kind"`
	What    string         `json:"what"`
	Path    string         `json:"path,omitempty"`
	Files   []string       `json:"files,omitempty"`
	Offsets []SplitOffsets `json:"offsets,omitempty"`
	// Neighbours of missing offsets: the rows in front and behind, of the first gaps.
	Neighbours []Neighbour `json:"neighbours,omitempty"`
	ToDo       string      `json:"to_do,omitempty"`
}

// Split is what the table has of one topic partition.
type Split struct {
	Split string `json:"split"`
	// First and Last offset of a row, -1 if there is none.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// From is where the account of gaps begins: First, unless it is known that there must be offsets in front of it.
	From  int64 `json:"from"`
	Rows  int64 `json:"rows"`
	Files int64 `json:"files"`
	// Doubled is the number of offsets that more than one row has, Extra the rows too many.
	Doubled int64 `json:"doubled"`
	Extra   int64 `json:"extra"`
	// Missing is the number of offsets from From to Last that no row has, in Gaps runs.
	Missing int64 `json:"missing"`
	Gaps    int64 `json:"gaps"`
	Broker  *Held `json:"broker,omitempty"`
}

// Held is what the broker said about the offsets that no row has.
type Held struct {
	// First <= o < End are the topic's offsets; Committed is the group's, -1 if it has none or none was named.
	First     int64 `json:"first"`
	End       int64 `json:"end"`
	Committed int64 `json:"committed"`
	// From <= o < To were expected in the table.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// What stands at those that are not there.
	Records int64 `json:"records"`
	Nulls   int64 `json:"nulls"`
	Markers int64 `json:"markers"`
	Aborted int64 `json:"aborted"`
	Absent  int64 `json:"compacted"`
	Gone    int64 `json:"gone"`
	Open    int64 `json:"open"`
	Beyond  int64 `json:"beyond"`
}

// Report is the result for one table.
type Report struct {
	Table   string    `json:"table"`
	Time    time.Time `json:"time"`
	Verdict Verdict   `json:"verdict"`
	// Between: the verdict is about offsets between each partition's first and last only: it is not known what should be in front or behind.
	Between bool `json:"between"`
	// By says where offsets were read: "columns part, off", "names".
	By string `json:"by"`
	// Log is the one by which files are the table's, if there is one.
	Log string `json:"log,omitempty"`
	// Names: no file was opened, what the verdict says is by names and lengths only.
	Names bool `json:"names_only,omitempty"`
	// Files that were read (with names: counted), their Bytes and Rows.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	Rows  int64 `json:"rows"`
	// Empty files have no row, Hidden names begin with _ or . and are not read, as Flink, Spark and Hive do not read them.
	Empty  int64 `json:"empty"`
	Hidden int64 `json:"hidden"`
	// Appeared files came while the audit ran; they were read.
	Appeared int64     `json:"appeared,omitempty"`
	Splits   []*Split  `json:"splits"`
	Problems []Problem `json:"problems,omitempty"`
	// More problems were found than are listed.
	More  int64    `json:"more,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Counts are all problems by kind, also those that are not listed.
	Counts map[Kind]int64 `json:"counts,omitempty"`
}

const (
	// maxListed bounds the problems of one kind that a report lists.
	maxListed = 1000
	// maxRuns bounds the runs of offsets that are written out. People are shown fewer.
	maxRuns = 10_000
)

func (r *Report) problem(p Problem) {
	r.Verdict = Wrong
	r.Counts[p.Kind]++
	if r.Counts[p.Kind] > maxListed {
		r.More++
		return
	}
	r.Problems = append(r.Problems, p)
}

// Count is the number of problems.
func (r *Report) Count() int64 { return int64(len(r.Problems)) + r.More }

// offsetsOf writes out a set.
func offsetsOf(split string, s *bitmap.Set) SplitOffsets {
	l := &runList{}
	s.Runs(func(from, to int64) bool {
		l.add(from, to)
		return true
	})
	return l.offsets(split)
}

// runList are runs of offsets of any length, of which only the first are kept: what is missing may be far more than what is there.
type runList struct {
	head  account.Set
	runs  int64
	count int64
	end   int64
}

// add adds a run that begins at or behind the end of the last one.
func (l *runList) add(from, to int64) {
	if l.runs == 0 || from > l.end {
		l.runs++
	}
	l.count, l.end = l.count+to-from, to
	if l.runs <= maxRuns {
		l.head.AddRun(from, to)
	}
}

func (l *runList) offsets(split string) SplitOffsets {
	return SplitOffsets{split, l.head.Text(), l.count, max(l.runs-maxRuns, 0)}
}
