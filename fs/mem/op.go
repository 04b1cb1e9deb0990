package mem

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"staunch/fs"
)

// ErrDead: the process that calls was killed. Nothing took effect.
var ErrDead = errors.New("this process is dead")

// OpKind is a kind of call.
type OpKind uint8

// The calls.
const (
	Create OpKind = iota + 1
	Write
	Sync
	Close
	Rename
	Stat
	Open
	List
	Mkdir
	Delete
	DeleteDir
	SyncDir
)

var opNames = [...]string{"", "create", "write", "sync", "close", "rename", "stat", "open", "list", "make folder", "delete", "delete folder", "sync folder"}

// String is the call's verb.
func (k OpKind) String() string { return opNames[k] }

// Names reports whether the call makes, moves or removes names; these are what can take effect late.
func (k OpKind) Names() bool {
	switch k {
	case Create, Rename, Mkdir, Delete, DeleteDir:
		return true
	}
	return false
}

// Op is one call.
type Op struct {
	Kind OpKind
	Path string
	// To is the target of a rename.
	To string
	// Bytes is the length of a write.
	Bytes int
}

// String is the call as it stands in a trace.
func (o Op) String() string {
	switch o.Kind {
	case Rename:
		return fmt.Sprintf("rename %s to %s", o.Path, o.To)
	case Write:
		return fmt.Sprintf("write %s %d", o.Path, o.Bytes)
	}
	return o.Kind.String() + " " + o.Path
}

// EffectKind is what becomes of a call.
type EffectKind uint8

// The effects.
const (
	// None: the call is carried out and answered as it should be.
	None EffectKind = iota
	// Fail: nothing happens; the answer is Effect.Err.
	Fail
	// Lost: the call is carried out (if it can be); the answer is Effect.Err.
	Lost
	// Refuse: nothing happens; the answer is fs.ErrRefused.
	Refuse
	// DoneRefuse: the call is carried out (if it can be); the answer is fs.ErrRefused.
	DoneRefuse
)

// Effect is what becomes of a call.
type Effect struct {
	Kind EffectKind
	// Err is the answer of Fail and Lost; nil means fs.ErrUnavailable.
	Err error
	// Lag: a Stat or List that is carried out tells what was there that long ago, as a standby that follows does; but what this client
	// changed itself it sees. Store.Now must be set.
	Lag time.Duration
}

// Call is a call that makes, moves or removes names and reached the store, or was under way when its process died.
type Call struct {
	Client string
	Op     Op
	// Done: it took effect.
	Done bool
	// Answer is what the process was told; ErrDead if it was killed before.
	Answer error
}

// opError is a failed call. It is formatted only when somebody looks.
type opError struct {
	op   Op
	kind error
	why  string
}

func (e *opError) Error() string {
	var b strings.Builder
	if e.op.Kind == Write {
		b.WriteString("write " + e.op.Path)
	} else {
		b.WriteString(e.op.String())
	}
	if e.kind != nil {
		b.WriteString(": " + e.kind.Error())
	}
	if e.why != "" {
		b.WriteString(": " + e.why)
	}
	return b.String()
}

func (e *opError) Unwrap() error { return e.kind }

func exist(op Op) error    { return &opError{op: op, kind: fs.ErrExist} }
func notExist(op Op) error { return &opError{op: op, kind: fs.ErrNotExist} }
