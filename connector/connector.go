package connector

import (
	"log/slog"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/config"
	"staunch/env"
	"staunch/format"
	"staunch/fs"
	"staunch/metric"
	"staunch/types"
)

// Column is one column that a source is asked for.
type Column struct {
	Name string
	Type types.Type
	// Metadata is the metadata key (`METADATA FROM 'offset'`), empty for a physical column.
	Metadata string
}

// Table describes one table of the statement file to a factory.
type Table struct {
	// Name as in CREATE TABLE.
	Name string
	// Columns are a source's wanted columns (only those that the plan uses, in the order of the batches), or a sink's physical columns in
	// order of declaration (partition keys included).
	Columns []Column
	// PartitionKeys of PARTITIONED BY.
	PartitionKeys []string
	// Options is the WITH clause; Staunch holds the `staunch.table.<name>.` options without that prefix.
	Options, Staunch config.Values
	// AllColumns are all physical columns of the declaration (formats need them, e.g. for fail-on-missing-field).
	AllColumns []Column
	// Zone is table.local-time-zone.
	Zone *time.Location
	// Stores resolves paths; Formats finds formats by name.
	Stores  fs.Resolver
	Formats func(name string) (format.Factory, bool)
}

// Factory makes the sources and sinks of one connector. Source or Sink is nil if there is none.
type Factory struct {
	Name    string
	Options []config.Option
	// Own are options that Flink does not know, set by SET 'staunch.table.<table>.<option>'.
	Own []config.Option
	// Metadata names the metadata keys and their types.
	Metadata map[string]types.Type
	Source   func(Table) (Source, error)
	Sink     func(Table) (Sink, error)
}

// Context is what a reader, writer or enumerator gets from its task.
type Context struct {
	Env     env.Env
	Log     *slog.Logger
	Metrics *metric.Group
	// Job is the job's id, Subtask the index among Parallelism.
	Job                  string
	Subtask, Parallelism int
	Epoch                account.Epoch
	// Attempt counts the region's restarts inside the epoch.
	Attempt int
	// Wake makes the subtask's next Step come soon: a reader calls it (from any goroutine) when Poll may have something after Waiting.
	Wake func()
	// NextCheckpoint is the id that the next barrier will probably carry, for names only.
	NextCheckpoint func() account.CheckpointID
	// Stopped reports whether the subtask is being cancelled: waiting for a store that does not answer ends then. Nil means never.
	Stopped func() bool
	// Traced gives a store that records what is done to it for this task, nil: nothing is recorded.
	Traced func(fs.FS) fs.FS
	// Leftovers gives, of paths that were listed in the temporary folder of a table (by fs.URI) *before* the call, those that may be deleted by
	// exact name: files of ended attempts of this job that nothing names. It reads logs and may wait for a store until stopped (nil: never) says
	// so. Nil: not known, nothing is deleted.
	Leftovers func(table string, listed []string, stopped func() bool) ([]string, error)
}

// Split is one replayable part of a source, and where reading it stands.
type Split struct {
	// ID is its identity over restarts, for Kafka "topic-partition".
	ID string `json:"id"`
	// Position is the next offset to read.
	Position int64 `json:"position"`
	// State is what else the source needs (stopping offset, seed, topic id), opaque to the engine.
	State []byte `json:"state,omitempty"`
}

// Source is a table that can be read.
type Source interface {
	// Enumerate opens the job-wide side, from the state that Enumerator.Snapshot gave, or nil at a fresh start.
	Enumerate(ctx Context, state []byte) (Enumerator, error)
	// NewReader opens the reader of one subtask for its splits, which may be none.
	NewReader(ctx Context, splits []Split) (Reader, error)
	// Bounded reports whether reading ends by itself.
	Bounded() bool
	// Replayable reports whether splits can be read again from a position: without it the job is at most at-least-once.
	Replayable() bool
}

// Enumerator finds splits, outside the data path; its methods may block. One call of a method at a time; but while a Discover after the first or
// a Committed is under way, the control loop may call any other but Close.
type Enumerator interface {
	// Discover returns the splits that known does not have. It is called once before the first Poll of the attempt (known: all restored
	// splits) and then every Interval.
	Discover(known []Split) ([]Split, error)
	// Interval between discoveries; 0 = never again.
	Interval() time.Duration
	// Assign says which of n subtasks reads the split.
	Assign(s Split, n int) int
	// Snapshot gives the enumerator's state as of the last Discover.
	Snapshot() ([]byte, error)
	// Committed is told the positions of a checkpoint once it is done everywhere (Kafka: group offsets). Best effort.
	Committed(splits []Split) error
	Close() error
}

// Expiring is a Source whose records leave it by themselves after a while, read or not.
type Expiring interface {
	// Expiry opens the way to ask how long they stay. It is used beside the enumerators and readers of the source, from one goroutine.
	Expiry(ctx Context) (Expiry, error)
}

// Expiry asks how long records stay.
type Expiry interface {
	// Look gives one entry for each split, in their order; the positions are those from which reading would go on if the job died now. It
	// changes nothing, blocks, and ends within some seconds when there is no answer. What is not known of one split is said in its entry; the
	// error is about all of them.
	Look(splits []Split) ([]Retention, error)
	// Close may be called while a Look is under way, which then ends soon.
	Close() error
}

// Retention is what bounds the life of the records of one split.
type Retention struct {
	// Split is the split's id; Topic is what it is a part of, for people and metrics.
	Split, Topic string
	// Position is where reading would go on. Start <= o < End are the offsets that are there; for a bounded read End is where it ends. A
	// position below Start has lost the offsets between.
	Position, Start, End int64
	// Ended: nothing more of the split will be read.
	Ended bool
	// MaxAge is how long a record is kept behind its time, and MaxBytes what is kept of the split at least; negative: without such a bound.
	MaxAge   time.Duration
	MaxBytes int64
	// AgeKey and BytesKey are the settings behind these bounds, for people.
	AgeKey, BytesKey string
	// Compacted: older values of a key may leave as well, which is no loss.
	Compacted bool
	// Time is the greatest time of the records up to Position: the record there stays until MaxAge behind it at least. Zero if there is no
	// record at Position yet, or it was not asked for since MaxAge is negative.
	Time time.Time
	// SizeBytes is the size of what is there now, negative if that is not known.
	SizeBytes int64
	// Oldest and Newest are times of the first record and the latest one, zero if they are not known; they are asked for with MaxBytes only.
	Oldest, Newest time.Time
	// Skips says why reading goes on, and counts what it skips, if Position is gone; empty: it stops.
	Skips string
	// Unknown says why the bounds could not be read, empty if they were: MaxAge and MaxBytes are negative then. NoAnswer says why nothing is
	// known of the split, empty if something is.
	Unknown, NoAnswer string
}

// ExpiredError is in the chain of the error of a Reader whose position has left the source by retention: the offsets From <= o < To are gone.
type ExpiredError struct {
	Split    string
	From, To int64
	Err      error
}

// Error is the cause's.
func (e *ExpiredError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ExpiredError) Unwrap() error { return e.Err }

// Perishable is a FileTable whose files are removed by something outside of the job while they are not visible yet.
type Perishable interface {
	// TemporaryTTL is the age at which that happens; 0: it does not.
	TemporaryTTL() time.Duration
}

// Synthetic is a Source whose splits are not records that another job could also write (datagen).
type Synthetic interface{ Synthetic() bool }

// Rereader is a Source of which given offsets can be read once more, by somebody who is no attempt of the job (repair).
type Rereader interface {
	// Reread opens a reader of the offsets from <= o < to of a split, which ends behind the last one. origin is Range.Origin of their account. What is no
	// longer there is passed over and stands in the ranges of the reader's Snapshot; records of another origin are an error.
	Reread(ctx Context, split, origin string, from, to int64) (Reader, error)
}

// Beginner is a Reader that knows where a split of which it passed offsets over begins now.
type Beginner interface {
	Beginning(split string) (first int64, ok bool)
}

// Status says what a Poll found.
type Status uint8

// The statuses.
const (
	// More: the batch has rows, or the next Poll has a good chance to.
	More Status = iota
	// Waiting: nothing now; Context.Wake will be called.
	Waiting
	// Ended: every split of a bounded source is at its end.
	Ended
)

// Reader reads the splits of one subtask.
type Reader interface {
	// Poll fills b (which is reset) with rows of one split and never blocks; b.Split is the split's index in Splits. A batch without rows may
	// still have moved a position.
	Poll(b *changelog.Batch) (Status, error)
	// Splits are the reader's splits; an index stays what it is.
	Splits() []Split
	// AddSplits hands over more splits, found later.
	AddSplits([]Split) error
	// Snapshot gives all splits with positions exactly behind the last row that Poll returned, and what was consumed since the last
	// Snapshot, per split (From = position at the last Snapshot or at the start, To = position now; Filtered is the engine's).
	Snapshot() ([]Split, []account.Range, error)
	// Lag is the number of records behind the end, -1 if unknown.
	Lag() int64
	Close() error
}

// Sink is a table that can be written.
type Sink interface {
	// NewWriter opens the writer of one subtask.
	NewWriter(ctx Context) (Writer, error)
}

// Writer writes the rows of one subtask. Nothing that it does is visible to readers of the table.
type Writer interface {
	// Write takes rows; cols has one entry a physical column of the sink; the memory is the caller's again after return. splits names the
	// source splits by their index.
	Write(b *changelog.Batch, splits []Split) error
	// Tick is called about once a second, for rolling by time.
	Tick(now time.Time) error
	// Prepare ends everything that was written since the last Prepare. The committables count once durable (if not nil) has returned nil; it
	// runs outside the subtask's goroutine, while the writer already writes on for the next checkpoint.
	Prepare(id account.CheckpointID) (out []Committable, durable func() error, err error)
	// Close gives up what was not prepared. It deletes nothing.
	Close() error
	// SizeBytes is the memory held by open files and buffers.
	SizeBytes() int64
}

// Flusher is a Writer whose memory can be reduced: it closes the largest open file (the memory budget asks for it).
type Flusher interface {
	// FlushLargest ends the largest open file and reports whether there was one.
	FlushLargest() (bool, error)
}

// Committable is what a writer hands over at a barrier.
type Committable struct {
	// File is set by file sinks.
	File *account.File `json:"file,omitempty"`
	// Opaque is the committable of other sinks.
	Opaque []byte `json:"opaque,omitempty"`
}

// FileTable is a Sink whose committables are files and whose log lies in the table's own folder.
type FileTable interface {
	Sink
	// Store and Root are where the table lies.
	Store() fs.FS
	Root() string
	// Extension of visible files, without dot.
	Extension() string
	// PartitionCommit gives the rule and policy of partition commit, or nil.
	PartitionCommit() PartitionCommit
}

// Replacer is a FileTable that can write a lost file again.
type Replacer interface {
	FileTable
	// Replace opens a replacement of lost, under a name of its own in the temporary folder, which no attempt has. Traced of ctx is used, Job and Log too.
	Replace(ctx Context, lost account.File) (Replacement, error)
}

// Replacement is a lost file that is being written again. Nothing that it does is visible to readers of the table.
type Replacement interface {
	// Write takes those rows of b whose offsets the lost file has, in any order of splits; the others are left out. A row that no longer belongs to the
	// file's partition is an error. The memory is the caller's again after return.
	Write(b *changelog.Batch, splits []Split) error
	// SizeBytes is the memory held.
	SizeBytes() int64
	// Finish ends the file and makes it durable, and gives what it is: Pending is where it stands, Offsets are those of the rows that were taken.
	Finish() (*account.File, error)
	// Close gives up a file that is not finished. It deletes nothing.
	Close() error
}

// PartitionReader is a FileTable that reads a partition's values off its folder below the root, for files of a version that did not record them.
type PartitionReader interface {
	// PartitionValues gives the values in the order of the keys, NULL as nil; ok is false if the folder is none of a partition.
	PartitionValues(folder string) (values []*string, ok bool)
}

// PartitionCommit decides when a partition is complete and says so to the world.
type PartitionCommit interface {
	// Due reports whether a partition first seen at firstSeen (milliseconds) is to be committed at the watermark and wall clock (milliseconds)
	// of a checkpoint. values are the partition's values in the order of the keys.
	Due(values []*string, firstSeen int64, watermark changelog.Watermark, now int64) (bool, error)
	// Commit tells the world that the partition (its folder below the table's root) is complete. It may be repeated.
	Commit(partition string, values []*string) error
}

// Prober is a Source or Sink that can find out early whether it will work: names that resolve, permissions, what the store can do.
type Prober interface {
	Probe(ctx Context) error
}

// Guarantee describes how exactly a sink delivers.
type Guarantee interface {
	// Guarantee is "exactly-once", "at-least-once" or "none", and why.
	Guarantee() (level, reason string)
}
