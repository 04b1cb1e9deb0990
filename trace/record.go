package trace

import (
	"errors"
	iofs "io/fs"
	"time"

	"staunch/account"
	"staunch/fs"
)

// Op is what was done.
type Op string

// The operations. Those on the store first, then steps of the job that consist of several.
const (
	Create    Op = "create"    // a new file was opened
	Write     Op = "write"     // only if it failed
	Sync      Op = "sync"      // only if it failed
	Close     Op = "close"     // Bytes is the file's length, Took includes what was done to make it durable
	Abort     Op = "abort"     // an open file was given up
	Rename    Op = "rename"    // Path to To
	Stat      Op = "stat"      // a commit looked; Bytes is the length found
	Open      Op = "open"      // only if it failed otherwise than by a missing file
	List      Op = "list"      // only if it failed otherwise than by a missing folder
	Delete    Op = "delete"    // one file
	DeleteDir Op = "rmdir"     // one empty folder
	Mkdir     Op = "mkdir"     // a folder with its parents
	SyncDir   Op = "sync-dir"  // only if it failed
	Append    Op = "append"    // an entry of a log, of the kind Note, was placed
	Begin     Op = "begin"     // the process became the job's newest attempt
	Restore   Op = "restore"   // what Checkpoint promised is committed; reading goes on behind it
	Trigger   Op = "trigger"   // barriers were sent
	Prepare   Op = "prepare"   // Task handed over Files files, Bytes long
	Commit    Op = "commit"    // all tables; Files counts the files
	Verdict   Op = "verdict"   // on a file that was not simply renamed: Note is skipped or lost
	Partition Op = "partition" // a partition was declared complete
	Fail      Op = "fail"      // the attempt ended with an error
	End       Op = "end"       // the process ended in order
	Dropped   Op = "dropped"   // Files records could not be kept
)

// Outcome is how it went.
type Outcome string

// The outcomes. The store's are package fs's errors.
const (
	OK          Outcome = "" // written as nothing
	Exists      Outcome = "exists"
	Missing     Outcome = "missing"
	NotEmpty    Outcome = "not-empty"
	Refused     Outcome = "refused"
	Unavailable Outcome = "unavailable" // no answer: it may have been carried out, or still be
	NoSpace     Outcome = "no-space"
	NameTooLong Outcome = "name-too-long"
	Denied      Outcome = "denied"
	Failed      Outcome = "failed"
)

// String is "ok" for OK.
func (o Outcome) String() string {
	if o == OK {
		return "ok"
	}
	return string(o)
}

// outcomeOf classifies a store's error.
func outcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, fs.ErrExist):
		return Exists
	case errors.Is(err, fs.ErrUnavailable):
		return Unavailable
	case errors.Is(err, fs.ErrNotExist):
		return Missing
	case errors.Is(err, fs.ErrNotEmpty):
		return NotEmpty
	case errors.Is(err, fs.ErrRefused):
		return Refused
	case errors.Is(err, fs.ErrNoSpace):
		return NoSpace
	case errors.Is(err, fs.ErrNameTooLong):
		return NameTooLong
	case errors.Is(err, iofs.ErrPermission):
		return Denied
	}
	return Failed
}

// NoTask is the Task of what no subtask did.
const NoTask = -1

// Record is one operation.
type Record struct {
	// Time is its beginning, in microseconds since 1970 (UTC, the process's clock); Took its duration.
	Time int64
	Took time.Duration
	Op   Op
	// Path is the file or folder with its store's name (fs.URI), To the target of a rename.
	Path, To string
	// Checkpoint is the one that it was done for, 0 if none; Task the subtask, or NoTask; Attempt counts the restarts inside the epoch.
	Checkpoint account.CheckpointID
	Task       int
	Attempt    int
	Bytes      int64
	Files      int64
	Outcome    Outcome
	// Error is the store's text unless the Outcome says all; Note depends on Op.
	Error, Note string
}

// Header says whose records a file holds.
type Header struct {
	Version int           `json:"staunch_trace"`
	Job     string        `json:"job"`
	Epoch   account.Epoch `json:"epoch"`
	// As is what a process did that was no attempt of the job (its Epoch is 0).
	As   string `json:"as,omitempty"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	User string `json:"user,omitempty"`
	// First is the number of the first record, Behind that of the one behind the last.
	First  int64 `json:"from"`
	Behind int64 `json:"to"`
}

// Version of the format that is written.
const Version = 1
