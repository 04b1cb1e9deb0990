package protocol

import "time"

// Answer is what the store said to one call.
type Answer uint8

// The answers.
const (
	OK          Answer = iota // done; for a look: it is there
	Exists                    // the target's name is taken
	Missing                   // not there (for a rename: the source, or the target's folder)
	Refused                   // "false", without a reason
	Unavailable               // no answer; it may have been carried out
	Other                     // any other error
)

// Ask is what is to be done next.
type Ask uint8

// The asks.
const (
	MakeParent Ask = iota // make the target's folder
	Rename                // rename source to target without overwriting
	LookSource            // is the source there?
	LookTarget            // is the target there, and how long is it?
	ReadLog               // read the table's log again (a newer claim ends this process), then call Next: Exists if it holds a repair of the file, else OK
	Wait                  // wait Delay, then call Next(OK)
	IsRenamed             // verdict
	IsSkipped             // verdict
	IsLost                // verdict
	IsDamaged             // the target has another length: no verdict, the job stops
	Fails                 // the rename was refused again and again while source and target stand as before: an error for the restart strategy
)

// Variant takes rules away. The zero value is the protocol; only the simulator sets others.
type Variant struct {
	// MissingIsDone takes source and target missing for done (as other tools do).
	MissingIsDone bool
	// TargetFirst looks at the target before the source, once, and does not read the log again.
	TargetFirst bool
	// LookOnce calls a file lost at the first look that finds both places empty.
	LookOnce bool
	// NoReread does not read the log again before it calls a file lost or damaged.
	NoReread bool
	// PendingOnly and FinalOnly take a superseded file out of one place only, FinalFirst out of the final place first; OneName has one name for
	// all its copies.
	PendingOnly, FinalOnly, FinalFirst, OneName bool
	// AnyLength takes a target of another length for the file.
	AnyLength bool
}

// The bounds of patience.
const (
	// SecondLook is the time between two looks before a file is called lost.
	SecondLook = 3 * time.Second
	// Looks is how often a file must be in neither place, SecondLook apart, before it is called lost. Two would do if every look showed this
	// moment. [Looks lag, by less than SecondLook: the first does not show the file at its source yet; then a rename that was refused takes
	// effect, and the second shows neither the source nor, yet, the target.] A file moves there once, so the third shows it.
	Looks = 3
	// Refusals is how many times a rename may fail for no visible reason.
	Refusals = 8
	// MaxDelay is the longest wait between two tries.
	MaxDelay = 10 * time.Second
)

// File is the judgement of one file.
type File struct {
	v Variant
	// Delay belongs to Wait.
	Delay time.Duration

	asked   Ask
	answer  Answer // of the last rename
	source  bool   // was at the source at the last look
	looks   int    // times that both were missing
	tries   int
	after   Ask // what follows a Wait or ReadLog
	outages int
	// repaired: the log, read before the verdict, holds a repair, and the target is looked at once more.
	repaired bool
	verdict  Ask
}

// New begins a judgement.
func New(v Variant) *File { return &File{v: v} }

func (f *File) ask(a Ask) Ask { f.asked = a; return a }

// Start gives the first ask.
func (f *File) Start() Ask { return f.ask(MakeParent) }

func (f *File) wait(d time.Duration, then Ask) Ask {
	f.Delay, f.after = d, then
	return f.ask(Wait)
}

func (f *File) backoff(n int) time.Duration {
	return min(50*time.Millisecond<<min(n, 10), MaxDelay)
}

// Next takes the answer to the last ask and gives the next one. sameLength matters for LookTarget only: the target is as long as recorded.
func (f *File) Next(a Answer, sameLength bool) Ask {
	if a == Unavailable && f.asked != Rename { // outages are waited for without end
		f.outages++
		return f.wait(f.backoff(f.outages), f.asked)
	}
	switch f.asked {
	case Wait:
		return f.ask(f.after)
	case ReadLog:
		if a == Exists { // its replacement is another file than was looked for, or is on its way
			f.repaired, f.verdict = true, f.after
			return f.ask(LookTarget)
		}
		return f.ask(f.after)
	case MakeParent:
		if a != OK {
			return f.retry()
		}
		return f.ask(Rename)
	case Rename:
		f.answer = a
		if a == OK && f.v.AnyLength {
			return f.ask(IsRenamed)
		}
		if a == OK {
			return f.ask(LookTarget) // [Somebody removed the source, and a create of its name that was late made an empty file there.]
		}
		if f.v.TargetFirst {
			return f.ask(LookTarget)
		}
		return f.ask(LookSource)
	case LookSource:
		return f.sawSource(a)
	case LookTarget:
		return f.sawTarget(a, sameLength)
	}
	return f.ask(Fails)
}

func (f *File) sawSource(a Answer) Ask {
	if a != OK && a != Missing {
		return f.retry()
	}
	f.source = a == OK
	if f.v.TargetFirst {
		if f.source {
			return f.retry()
		}
		return f.ask(IsLost)
	}
	if f.source && f.answer != Exists && (f.tries < Refusals || f.answer == Unavailable) {
		return f.retry()
	}
	// Behind the last refusal, which an outage is none of, the target is looked at although the source is there. [Both places hold the file, and the answer is "false" for ever,
	// or that the two are on different file systems: no restart would ever come past it.]
	return f.ask(LookTarget)
}

func (f *File) sawTarget(a Answer, sameLength bool) Ask {
	if f.repaired {
		return f.sawRepaired(a, sameLength)
	}
	switch {
	case f.answer == OK && (a == OK && sameLength || a == Missing): // missing: the look lags, or somebody has taken it away already
		return f.ask(IsRenamed)
	case f.answer == OK && a != OK:
		return f.lookAgain()
	case a == OK && (sameLength || f.v.AnyLength):
		return f.ask(IsSkipped)
	case a == OK && f.v.NoReread:
		return f.ask(IsDamaged)
	case a == OK:
		f.after = IsDamaged
		return f.ask(ReadLog)
	case a != Missing:
		return f.retry()
	case f.v.TargetFirst:
		return f.ask(LookSource)
	case f.source:
		return f.retry()
	case f.v.MissingIsDone:
		return f.ask(IsSkipped)
	}
	if f.looks++; f.looks < Looks && !f.v.LookOnce {
		return f.wait(SecondLook, LookSource)
	}
	if f.v.NoReread {
		return f.ask(IsLost)
	}
	f.after = IsLost
	return f.ask(ReadLog)
}

// sawRepaired takes the look at the target behind a reading of the log that found a repair of the file.
func (f *File) sawRepaired(a Answer, sameLength bool) Ask {
	switch {
	case a != OK && a != Missing:
		return f.lookAgain()
	case a == OK && sameLength:
		return f.ask(IsSkipped)
	case a == OK:
		return f.ask(IsDamaged)
	case f.verdict == IsLost: // the replacement is not there yet, or will never be
		return f.ask(IsLost)
	}
	f.repaired = false // what was there, of another length, has gone
	return f.retry()
}

// lookAgain looks once more at a target that a rename has just made. Outages do not count, other failures do.
func (f *File) lookAgain() Ask {
	if f.tries++; f.tries > Refusals {
		return f.ask(Fails)
	}
	return f.wait(f.backoff(f.tries), LookTarget)
}

// retry waits and renames again. Outages do not count, other failures do.
func (f *File) retry() Ask {
	if f.asked == LookSource && f.answer == Unavailable {
		f.outages++
		return f.wait(f.backoff(f.outages), MakeParent)
	}
	if f.tries++; f.tries > Refusals {
		return f.ask(Fails)
	}
	return f.wait(f.backoff(f.tries), MakeParent)
}
