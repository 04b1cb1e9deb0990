package job

import (
	"log/slog"
	"time"

	"staunch/account"
	"staunch/checkpoint"
	cp "staunch/checkpoint/protocol"
	"staunch/commit"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/env"
	"staunch/fs"
	"staunch/job/protocol"
	"staunch/metric"
	"staunch/trace"
)

// Spec is everything that a job is made of.
type Spec struct {
	// ID is the job's identity over restarts.
	ID string
	// File is the absolute path of the statement file, SQL the text of the job's statements, Plan a hash of their plan.
	File, SQL, Plan string
	Graph           dataflow.Graph
	// Tables are the file sinks by key (Branch.Table).
	Tables map[string]Table
	// Sinks lists all sinks, Sources all sources, as begin entries name them.
	Sources, Sinks []string
	// AccountsClose: every INSERT turns one record into at most one row.
	AccountsClose bool
	Stores        fs.Resolver
	// CheckpointStore and CheckpointDir are where the job's log lies (the folder above <job>/log).
	CheckpointStore fs.FS
	CheckpointDir   string
	Retain          int
	Checkpoints     cp.Options
	Restart         protocol.Strategy
	// MemoryBudget for the writers of all subtasks, in bytes.
	MemoryBudget int64
	Process      Process
	TakeOver     bool
	// FromSavepoint names the checkpoint to go back to (see checkpoint.Finder), "" for the newest of the job's own log. Fresh begins anew;
	// FromTable makes the state of what the tables' certificates say, if the job's log is empty. At most one of the three is given.
	FromSavepoint string
	Fresh         bool
	FromTable     bool
	// OnNewerOutput says what becomes of output that is newer than the state.
	OnNewerOutput NewerOutput
	Accept        []string
	AcceptWho     string
	Version       string
	Variant       Variant
	// Guard says how the loss window is watched.
	Guard GuardOptions
	// Trace records what is done on the stores, nil: nothing is.
	Trace *trace.Recorder
}

// Table is one file sink.
type Table struct {
	Name string
	Sink connector.FileTable
}

// Process identifies this process, and tells whether another one that a log names is alive.
type Process struct {
	Host  string
	PID   int
	Start string
	// Alive reports whether the process that a begin entry names is surely alive (same host only).
	Alive func(b account.Begin) bool
}

// Variant takes rules of the protocol away; only the simulator sets others than the zero value.
type Variant struct {
	Commit commit.Variant
	Store  checkpoint.Variant
	// ReadFirst reads on before what the restored checkpoint promises is committed.
	ReadFirst bool
	// CommitFirst commits a checkpoint before its complete stands.
	CommitFirst bool
	// UnknownIsFailed gives a checkpoint up whose entry may stand.
	UnknownIsFailed bool
	// NoFresh begins from nothing over output.
	NoFresh bool
	// NoRecheck does not read the other tables' logs again after the last claim.
	NoRecheck bool
	// NoFinish leaves a rewind unfinished that another attempt began.
	NoFinish bool
	// ReuseIDs gives ids again that superseded checkpoints had.
	ReuseIDs bool
	// SuccessFirst declares partitions complete before their files are there, SuccessLost although a file is lost.
	SuccessFirst, SuccessLost bool
	// Discard removes the folder of a checkpoint that is given up.
	Discard bool
}

// Outcome says how a job ended without an error.
type Outcome uint8

// The outcomes.
const (
	// Finished: a bounded job has committed everything.
	Finished Outcome = iota
	// AlreadyFinished: it had finished before; nothing was done.
	AlreadyFinished
	// Stopped: ended by order, behind a last checkpoint that was committed. It goes on from there when it is run again.
	Stopped
)

// Status is a look at a running job.
type Status struct {
	Phase          string
	Records        int64
	Lag            int64
	LastCheckpoint account.CheckpointID
	LastDuration   time.Duration
	LastSize       int64
	Completed      int64
	FailedCount    int64
	Restarts       int64
	FilesVisible   int64
	Counters       account.Counters
	// FilesMissing are files of the checkpoint that is being committed that were in neither place at the last look.
	FilesMissing int
	Watermark    int64
}

// Job is one job of this process.
type Job struct {
	spec    Spec
	env     env.Env
	log     *slog.Logger
	metrics *metric.Group

	store  *checkpoint.Store
	tables map[string]*table
	begun  bool
	nonce  string // of this process, in its claims
	hasRun bool   // an attempt of this process got as far as reading
	unsure bool   // a complete that this process tried to append may still come to stand
	// back is what the start asks for, nil for the newest checkpoint; wentBack that nothing is left to do for it but to finish it.
	back     *back
	wentBack bool
	// starts is where sources began that the newest checkpoint does not have yet.
	starts map[string]checkpoint.Source

	windows *windows
	loop
	status status
	// commits and logs are for whom the stores' operations are traced.
	commitScope, logScope trace.Scope
}

// New prepares a job; nothing is done before Run.
func New(e env.Env, spec Spec, l *slog.Logger, m *metric.Group) *Job {
	j := &Job{spec: spec, env: e, log: l, metrics: m, tables: map[string]*table{}, starts: map[string]checkpoint.Source{}}
	j.loop.signal = e.NewSignal()
	j.nonce = env.RandomHex(e, 12)
	j.commitScope.Task, j.commitScope.Looks, j.logScope.Task = trace.NoTask, true, trace.NoTask
	j.registerMetrics()
	return j
}
