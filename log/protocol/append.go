package protocol

import "errors"

// Variant takes a rule away. The zero value is the protocol; only simulations set anything else.
type Variant struct {
	// NoList: no listing after a success.
	NoList bool
	// TrustUnknownAsOk: an answer that says nothing is taken for success.
	TrustUnknownAsOk bool
	// TrustUnknownAsFailed: an answer that says nothing is taken for "nothing happened".
	TrustUnknownAsFailed bool
	// Overwrite: a taken slot is emptied first (carried out by the driver).
	Overwrite bool
	// NoSync: the entry's name is not made durable (carried out by the driver).
	NoSync bool
}

// Do is what the driver has to do.
type Do uint8

// The actions. Each is answered by one Event.
const (
	// Stage: write the entry with a new nonce to a new name, make it durable, read it back and compare. Exist: the name is taken. NotExist:
	// the folder is missing.
	Stage Do = iota + 1
	// Mkdir: make the log's folder.
	Mkdir
	// Place: move the staged file to number N without overwriting.
	Place
	// LookStage: is the newest staged file there? OK or NotExist.
	LookStage
	// Look: read number N. Event.Slot says what is there.
	Look
	// Taken: show the entry read at N to the caller. OK or Other with its error.
	Taken
	// Sync: make the folder durable.
	Sync
	// List: list the folder and ask the caller (Event.Verdict).
	List
	// CatchUp: show all entries listed above N to the caller; Event.N is the greatest number now listed.
	CatchUp
	// Drop: delete the staged file.
	Drop
	// Wait: sleep; Try counts from 1 since the store last answered.
	Wait
	// Done: the entry stands at N and counts.
	Done
	// Fail: give Err to the caller; Unknown says that the entry may stand or may still come to stand at N.
	Fail
)

var doNames = [...]string{"", "stage", "mkdir", "place", "look-stage", "look", "taken", "sync", "list", "catch-up", "drop", "wait", "done", "fail"}

// String is the action's name.
func (d Do) String() string { return doNames[d] }

// Answer is what a call said.
type Answer uint8

// The answers.
const (
	OK Answer = iota
	// Exist: the name is taken.
	Exist
	// NotExist: the file or its folder is missing.
	NotExist
	// Unavailable: no answer; waited for.
	Unavailable
	// Other is any other error.
	Other
)

// Slot is what Look found.
type Slot uint8

// The contents of a slot.
const (
	// Empty: no such file.
	Empty Slot = iota
	// Ours: an entry with a nonce of this append.
	Ours
	// Theirs: any other entry.
	Theirs
	// Stale: something that cannot be read, below a newer beginning of the log. [A late create and a late rename of a fenced process put an
	// empty file at a number that was cleaned.]
	Stale
)

// Verdict is the caller's judgement after the listing.
type Verdict uint8

// The verdicts.
const (
	// Fine: the entry counts.
	Fine Verdict = iota
	// Fenced: it lies below the log's beginning and the process must stop.
	Fenced
	// Again: it lies below the log's beginning and is appended again behind what now stands.
	Again
)

// Event is the answer to an action.
type Event struct {
	Answer  Answer
	Slot    Slot
	Verdict Verdict
	// N: see CatchUp.
	N int64
	// Err is the error behind an answer that is not OK.
	Err error
}

// Action is the next thing to do.
type Action struct {
	Do Do
	N  int64
	// Try: see Wait.
	Try int
	// Err, Unknown: see Fail. ErrFenced for a Fenced verdict.
	Err     error
	Unknown bool
}

// The errors that the machine itself finds.
var (
	// ErrFenced: the verdict was Fenced.
	ErrFenced = errors.New("the entry lies below the beginning of the log: a newer attempt has gone on meanwhile")
	// ErrVanished: the folder is gone, although entries were read in it.
	ErrVanished = errors.New("the folder is gone, although entries were read in it")
	// ErrTakenAndEmpty: the number is taken and cannot be read.
	ErrTakenAndEmpty = errors.New("the number is taken, but no file is found there")
	// ErrStale: the number holds something that cannot be read, and the caller does not take it for lying below the beginning.
	ErrStale = errors.New("the number holds no entry that can be read")
	// ErrAnswer: the driver's answer does not fit the action.
	ErrAnswer = errors.New("bug: unexpected answer")
)

// maxTries is how often something that fails for another reason than an outage is tried before the append gives up.
const maxTries = 4

// Append is the state of one append.
type Append struct {
	v    Variant
	n    int64 // the number that is tried
	read bool  // entries were read in this folder

	doing Do
	after Do // what follows a Wait
	waits int
	tries int
	// gone: the staged file is no longer there.
	gone bool
	// unsure: a Place was answered by nothing that settles it.
	unsure bool
	// stale: number n holds something that cannot be read, below the log's beginning; the caller is asked as if our entry were there.
	stale bool
	// giveUp: the staged file was dropped because of this error.
	giveUp error
}

// New begins an append behind the entry with the number last (0: the log is empty).
func New(v Variant, last int64) *Append { return &Append{v: v, n: last + 1, read: last > 0} }

// Start is the first action.
func (a *Append) Start() Action { return a.do(Stage) }

func (a *Append) do(d Do) Action {
	a.doing = d
	return Action{Do: d, N: a.n}
}

func (a *Append) wait(then Do) Action {
	a.after = then
	a.waits++
	a.doing = Wait
	return Action{Do: Wait, N: a.n, Try: a.waits}
}

func (a *Append) fail(err error, unknown bool) Action {
	if err == nil {
		err, unknown = ErrAnswer, true
	}
	a.doing = Fail
	return Action{Do: Fail, N: a.n, Err: err, Unknown: unknown}
}

// again repeats d after an error that is no outage, a few times.
func (a *Append) again(d Do, err error) Action {
	if a.tries++; a.tries >= maxTries {
		return a.fail(err, true)
	}
	return a.wait(d)
}

// On takes the answer to the last action.
func (a *Append) On(e Event) Action {
	switch a.doing {
	case Stage:
		return a.onStage(e)
	case Mkdir:
		return a.onMkdir(e)
	case Place:
		return a.onPlace(e)
	case LookStage:
		return a.onLookStage(e)
	case Look:
		return a.onLook(e)
	case Taken:
		return a.onTaken(e)
	case Sync:
		return a.onSync(e)
	case List:
		return a.onList(e)
	case CatchUp:
		return a.onCatchUp(e)
	case Drop:
		return a.onDrop(e)
	case Wait:
		if e.Answer != OK { // the caller does not want to wait any longer
			return a.fail(e.Err, a.unsure || a.after == Sync || a.after == List || a.after == CatchUp)
		}
		return a.do(a.after)
	}
	return a.fail(ErrAnswer, true)
}

func (a *Append) onStage(e Event) Action {
	switch e.Answer {
	case OK:
		a.gone, a.waits = false, 0
		return a.do(Place)
	case Exist:
		if a.tries++; a.tries < maxTries {
			return a.do(Stage)
		}
	case NotExist:
		if a.read {
			return a.fail(ErrVanished, false)
		}
		if a.tries++; a.tries < maxTries {
			return a.do(Mkdir)
		}
	case Unavailable:
		return a.wait(Stage)
	}
	// INV L3: nothing that was staged before can come to stand: a new staging follows only the slot read without it.
	return a.fail(e.Err, false)
}

func (a *Append) onMkdir(e Event) Action {
	switch e.Answer {
	case OK:
		return a.do(Stage)
	case Unavailable:
		return a.wait(Mkdir)
	}
	return a.fail(e.Err, false)
}

func (a *Append) onPlace(e Event) Action {
	switch {
	case e.Answer == OK:
		a.tries, a.waits = 0, 0
		return a.do(Sync)
	case e.Answer == Exist:
		return a.do(Look)
	case a.v.TrustUnknownAsOk:
		return a.do(Sync)
	case a.v.TrustUnknownAsFailed:
		return a.fail(e.Err, false)
	}
	a.unsure = true
	if e.Answer != Unavailable {
		if a.tries++; a.tries >= maxTries {
			a.giveUp = e.Err
			return a.do(Drop)
		}
	}
	return a.do(LookStage)
}

func (a *Append) onLookStage(e Event) Action {
	switch e.Answer {
	case OK:
		return a.wait(Place)
	case NotExist:
		a.gone = true
		return a.do(Look)
	case Unavailable:
		return a.wait(LookStage)
	}
	return a.again(LookStage, e.Err)
}

func (a *Append) onLook(e Event) Action {
	switch e.Answer {
	case OK:
	case Unavailable:
		return a.wait(Look)
	case NotExist: // Look says Empty instead
		return a.fail(ErrAnswer, true)
	case Exist: // an entry that cannot be read: damage, not a passing error
		return a.fail(e.Err, a.unsure)
	default:
		return a.again(Look, e.Err)
	}
	a.waits = 0
	if e.Slot == Ours {
		a.tries = 0
		return a.do(Sync)
	}
	if a.giveUp != nil { // INV L3: the staged file is gone and the slot is not ours
		return a.fail(a.giveUp, false)
	}
	if e.Slot == Stale {
		a.unsure, a.tries, a.stale = false, 0, true
		return a.do(List)
	}
	if e.Slot == Theirs {
		// INV L3: whatever was sent for this number finds it taken.
		a.unsure = false
		a.tries = 0
		return a.do(Taken)
	}
	if a.gone {
		// INV L3: gone first, slot empty after that: it went nowhere.
		a.unsure = false
		if a.tries++; a.tries >= maxTries {
			return a.fail(errors.New("the staged file vanishes again and again"), false)
		}
		return a.do(Stage)
	}
	// Taken a moment ago and empty now: a cleaner took it, or it is no file.
	if a.tries++; a.tries >= maxTries {
		a.giveUp = ErrTakenAndEmpty
		return a.do(Drop)
	}
	return a.wait(Place)
}

func (a *Append) onTaken(e Event) Action {
	if e.Answer != OK {
		return a.fail(e.Err, false)
	}
	a.read = true
	a.n++
	if a.gone {
		return a.do(Stage)
	}
	return a.do(Place)
}

func (a *Append) onSync(e Event) Action {
	switch e.Answer {
	case OK:
		a.waits = 0
		if a.v.NoList {
			return a.do(Done)
		}
		return a.do(List)
	case Unavailable:
		return a.wait(Sync)
	}
	// A failed fsync is not repeated: the next one could succeed without having written.
	return a.fail(e.Err, true)
}

func (a *Append) onList(e Event) Action {
	switch e.Answer {
	case OK:
	case Unavailable:
		return a.wait(List)
	case Exist: // see onLook
		return a.fail(e.Err, !a.stale)
	default:
		return a.again(List, e.Err)
	}
	switch e.Verdict {
	case Fine:
		if a.stale {
			return a.fail(ErrStale, false)
		}
		return a.do(Done)
	case Again:
		a.gone = !a.stale // it was placed, below the beginning
		return a.do(CatchUp)
	}
	// INV L3: not known, since what stands above may be not durable yet, and lost by a power cut, after which ours counts.
	return a.fail(ErrFenced, !a.stale)
}

func (a *Append) onCatchUp(e Event) Action {
	switch e.Answer {
	case OK:
		a.n = max(a.n, e.N) + 1
		a.unsure, a.stale, a.read, a.tries, a.waits = false, false, true, 0, 0
		if a.gone {
			return a.do(Stage)
		}
		return a.do(Place)
	case Unavailable:
		return a.wait(CatchUp)
	}
	return a.fail(e.Err, false)
}

func (a *Append) onDrop(e Event) Action {
	switch e.Answer {
	case OK, NotExist:
		a.gone = true
		return a.do(Look)
	case Unavailable:
		return a.wait(Drop)
	}
	return a.fail(a.giveUp, true)
}
