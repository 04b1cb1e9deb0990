package connector

import "time"

// Surveyor is a Source that can be asked what is in it and how fast it grows before it is read.
type Surveyor interface {
	// Survey opens the way to ask. Nothing that is done by it changes anything: no offset is committed, no group is joined.
	Survey(ctx Context) (Survey, error)
}

// Survey asks a source. Its methods block, one call at a time.
type Survey interface {
	// Look describes the source as it is now.
	Look() (SourceSurvey, error)
	// Since gives, for each of the times, the first record of that time or later of each split, in the order of SourceSurvey.Splits; where there
	// is none, the split's end and a zero time. A record's time is the producer's or the broker's, as the topic says, and need not grow.
	Since(times []time.Time) ([][]Mark, error)
	// Read opens a reader of parts of splits, which ends by itself.
	Read(ctx Context, parts []Part) (SurveyReader, error)
	Close() error
}

// Mark is a place in a split and the time of the record there.
type Mark struct {
	Offset int64
	Time   time.Time
}

// Part is from <= offset < to of one split, by its index in SourceSurvey.Splits.
type Part struct {
	Split    int
	From, To int64
}

// SurveyReader is a Reader of parts.
type SurveyReader interface {
	Reader
	// Seen says what the part that was read was like.
	Seen() Seen
}

// Seen is what a reader noticed besides rows.
type Seen struct {
	// Newest is the greatest time of a record, zero if there was none.
	Newest time.Time
	// Transactional: a transaction wrote some of it.
	Transactional bool
	// Bytes of records.
	Bytes int64
}

// SourceSurvey describes a source.
type SourceSurvey struct {
	Splits []SplitSurvey
	Topics []TopicSurvey
	// Group is where offsets are committed to, Members how many consumers it has; -1 if that may not be asked.
	Group   string
	Members int
	// StartMode and Reset are where reading begins, and goes on when its position is gone, in the words of the table's options.
	StartMode, Reset string
	ReadCommitted    bool
	// Discovery of new splits, 0 = never.
	Discovery time.Duration
	// FetchBytes is what a reader may hold of what it has fetched.
	FetchBytes int64
}

// SplitSurvey describes a split: Start <= offset < End can be read. Stuck are offsets behind End that will be once open transactions have ended.
type SplitSurvey struct {
	ID string
	// Topic it is of, as TopicSurvey names it; empty where there are none.
	Topic             string
	Start, End, Stuck int64
	// Subtask gives the subtask among n that would read it.
	Subtask func(n int) int
	// Newest is the greatest time of a record, zero if there is none or it is not known.
	Newest time.Time
}

// TopicSurvey is what is set for a topic; zero values are not known.
type TopicSurvey struct {
	Name, Cleanup       string
	Replicas, MinInSync int
	Unclean             bool
}

// FileSurveyor is a FileTable that tells what it was told, for forecasts.
type FileSurveyor interface {
	FileSurvey() FileSurvey
	// PartitionTime gives the time of a partition by its values, nil for NULL. Without rules for partition commit it is an error.
	PartitionTime(values []*string) (time.Time, error)
}

// FileSurvey are the settings of a file table.
type FileSurvey struct {
	// RollSize in bytes and the times after which a file ends, as they are in effect.
	RollSize                    int64
	Rollover, Inactivity, Check time.Duration
	// Keys of PARTITIONED BY.
	Keys []string
	// Parallelism that the table asks for, 0 if it does not.
	Parallelism int
	// Commit is false if no partition is ever declared complete; the rest is how.
	Commit                    bool
	ByTime                    bool
	Delay                     time.Duration
	Zone, Pattern, TimeFormat string
	DefaultPartition          string
}
