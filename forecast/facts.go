package forecast

import "time"

// Facts are what is known of one job before it starts. The zero value of a field means that it is not known, unless it says otherwise.
type Facts struct {
	Now      time.Time
	Settings Settings
	Machine  Machine
	Sources  []Source
	Sinks    []Sink
}

// Settings are options of the job.
type Settings struct {
	// Interval, Timeout and MinPause of execution.checkpointing; IntervalSet: the user set the interval.
	Interval, Timeout, MinPause time.Duration
	IntervalSet                 bool
	// Tolerable failed checkpoints in a row.
	Tolerable int
	// Dir is where checkpoints go, as a URI; empty when it is not set.
	Dir         string
	Parallelism int
	// Zone is table.local-time-zone; ZoneSet: the user set it; MachineZone is the machine's.
	Zone, MachineZone string
	ZoneSet           bool
	Restart           Restart
	// Memory is the process's budget, Writers the part of it that one job's open files may take, in bytes.
	Memory, Writers int64
	// Metrics: there is an endpoint.
	Metrics bool
	// Bounded: the job ends by itself.
	Bounded bool
	// SegmentEvery and JoinArchives are how a table's log is archived: certificates an archive, archives of one age that become one.
	SegmentEvery, JoinArchives int
}

// Restart says what follows failures.
type Restart struct {
	// Strategy is none, fixed-delay or exponential-delay.
	Strategy string
	// Attempts before the job is given up.
	Attempts int
	// First and Max are the waits between attempts; Factor is from one to the next.
	First, Max time.Duration
	Factor     float64
}

// Machine is what the job runs on.
type Machine struct {
	CPUs int
	// Memory that the process may have, in bytes: the container's limit, or the machine's.
	Memory int64
}

// Source is one source table.
type Source struct {
	Table, Connector string
	// Surveyed: the source was asked; Splits, Topics and Group are known. Away: it did not answer, which is told elsewhere.
	Surveyed, Away bool
	Splits         []Split
	Topics         []Topic
	// RateOver is the time over which rates were taken, up to now.
	RateOver time.Duration
	// RateGiven: the user said how many records come.
	RateGiven bool

	// Group is the consumer group, Members how many consumers it has now, Others the jobs or tables of the same file that use it too.
	Group   string
	Members int
	Others  []string

	// StartMode is scan.startup.mode, Reset auto.offset.reset.
	StartMode, Reset string
	ReadCommitted    bool
	// Discovery of new partitions; 0 = never.
	Discovery time.Duration
	// IgnoreErrors: records that do not parse are left out, which IgnoreKey decides.
	IgnoreErrors bool
	IgnoreKey    string
	// FetchBytes is what one reader may hold of fetched records.
	FetchBytes int64

	// Watermark: the table has one; WatermarkLTZ: on a TIMESTAMP_LTZ column. IdleTimeout 0 = never idle.
	Watermark, WatermarkLTZ bool
	IdleTimeout             time.Duration

	// Sample is nil if no records were looked at.
	Sample *SourceSample
}

// Split is one partition of a source.
type Split struct {
	ID string
	// Subtask that reads it.
	Subtask int
	// Records that are there, and Rate at which they come, a second.
	Records int64
	Rate    float64
	// Newest is the time of the newest record, zero if there is none.
	Newest time.Time
	// Stuck are records that cannot be read yet because a transaction before them is open.
	Stuck int64
}

// Topic is what a broker says of a topic.
type Topic struct {
	Name string
	// Cleanup is cleanup.policy.
	Cleanup string
	// Replicas is the least number of copies of a partition, MinInSync min.insync.replicas, 0 if unknown. Unclean: unclean.leader.election.enable.
	Replicas, MinInSync int
	Unclean             bool
	// Transactional: transactions write to it.
	Transactional bool
}

// SourceSample is what reading recent records gave.
type SourceSample struct {
	Records, Rejected int64
	// Error is what reading or computing a record ended with, empty if nothing did; Fatal: the record itself is the reason.
	Error string
	Fatal bool
	// Event is the greatest watermark, NewestRecord the greatest time of a record in the same part of the topic; zero if not known.
	Event, NewestRecord time.Time
	// PerSecond is how many records one subtask went through a second, 0 if too few to say.
	PerSecond float64
}

// Sink is one INSERT.
type Sink struct {
	Table, Insert, Source, Connector string
	// Files: it writes files, and what follows is known.
	Files bool
	// Root is the table's folder as a URI.
	Root   string
	Keys   []string
	Roll   Roll
	Commit PartitionCommit
	// Set has the options that the user set, of those that matter here.
	Set map[string]bool
	// SinkParallelism is sink.parallelism, 0 if not set.
	SinkParallelism int
	// RoundTrip is how long the store takes for one look at a name.
	RoundTrip time.Duration
	// Sample is nil if no records were looked at.
	Sample *Sample
}

// Roll is when a file ends before a checkpoint.
type Roll struct {
	Size                        int64
	Rollover, Inactivity, Check time.Duration
}

// PartitionCommit is how partitions are declared complete.
type PartitionCommit struct {
	// Policy is empty when nothing is declared.
	Policy string
	// ByTime: by watermark and partition time, else by the clock.
	ByTime bool
	Delay  time.Duration
	// Zone is sink.partition-commit.watermark-time-zone.
	Zone               string
	Pattern, Formatter string
}

// Sample is what the job's own plan and writer made of recent records, for one INSERT.
type Sample struct {
	// Whole: each round was as many records as come between two checkpoints, so that files and memory were measured; otherwise they are computed
	// from fewer.
	Whole bool
	// Share is how much of the records between two checkpoints one round was on average, 1 if Whole.
	Share  float64
	Rounds int
	Tasks  []TaskSample
	// Times are of partitions.
	Times PartitionTimes
	// Values are examples of the partitions.
	Values [][]string
	// Defaults are rows whose partition value was NULL or empty.
	Defaults int64
}

// TaskSample is the part of one subtask.
type TaskSample struct {
	Subtask int
	// Read are offsets that were passed, with or without a record; Written rows.
	Read, Written int64
	// Files are all that the rounds made.
	Files []FileSample
	// Folders has the rows of each partition over all rounds.
	Folders []int64
	// Rows of each round, the most memory that the writer held in it and in its first half, and the partitions whose files were open at its end.
	Rows, Held, Half []int64
	Open             []int
}

// FileSample is one file.
type FileSample struct{ Rows, Bytes int64 }

// PartitionTimes are the times that the partitions' values give.
type PartitionTimes struct {
	Known bool
	// Oldest and Newest partition in the sample.
	Oldest, Newest time.Time
	// Bad is why a value gives no time, empty if all do.
	Bad string
	// Length of a partition, 0 if it cannot be told.
	Length time.Duration
}
