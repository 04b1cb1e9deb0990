package protocol

import "time"

// MaxNames is how many copies of one file may lie under _superseded.
const MaxNames = 100

// Withdraw takes one superseded file out of the table: from the temporary place first, then from the final one. A file leaves the temporary
// place once only, so that the late rename of an older attempt finds nothing there afterwards. It ends when both places were seen empty.
type Withdraw struct {
	// Delay belongs to Wait. Name is the number of the name, from 1, to which TakePending and TakeFinal move: a power cut may have taken back one
	// half of an earlier move, so that the file is in both places.
	Delay time.Duration
	Name  int
	// V takes rules away.
	V Variant

	asked   Ask
	after   Ask // what follows a Wait or ReadLog
	answer  Answer
	moved   bool
	looks   int // times that it was nowhere
	tries   int
	outages int
}

// The asks of a withdrawal, besides Wait, ReadLog and Fails.
const (
	MakeTaken   Ask = iota + 64 // make the folder under _superseded
	TakePending                 // move the pending file to its Name-th name there, without overwriting
	LookPending                 // is it in the temporary place?
	TakeFinal                   // move the visible file to its Name-th name there, without overwriting
	LookFinal                   // is it in the final place?
	LookTaken                   // is it under _superseded, by either name?
	IsMoved                     // it is out of the table
	IsGone                      // it is nowhere
)

// Start gives the first ask.
func (w *Withdraw) Start() Ask {
	w.Name = 1
	return w.ask(MakeTaken)
}

func (w *Withdraw) ask(a Ask) Ask { w.asked = a; return a }

func (w *Withdraw) wait(d time.Duration, then Ask) Ask {
	w.Delay, w.after = d, then
	return w.ask(Wait)
}

func backoff(n int) time.Duration { return min(50*time.Millisecond<<min(n, 10), MaxDelay) }

// Next takes the answer to the last ask and gives the next one.
func (w *Withdraw) Next(a Answer) Ask {
	move := w.asked == TakePending || w.asked == TakeFinal
	if a == Unavailable && !move { // outages are waited for without end
		w.outages++
		return w.wait(backoff(w.outages), w.asked)
	}
	switch w.asked {
	case Wait, ReadLog:
		return w.ask(w.after)
	case MakeTaken:
		if a != OK {
			return w.retry(MakeTaken)
		}
		w.Name = 1
		return w.ask(w.firstPlace())
	case TakePending, TakeFinal:
		w.answer = a
		if a == OK {
			w.moved = true
			return w.left()
		}
		if w.asked == TakePending {
			return w.ask(LookPending)
		}
		return w.ask(LookFinal)
	case LookPending:
		return w.saw(a, TakePending)
	case LookFinal:
		return w.saw(a, TakeFinal)
	case LookTaken:
		return w.sawTaken(a)
	}
	return w.ask(Fails)
}

// firstPlace is the one that is emptied first.
func (w *Withdraw) firstPlace() Ask {
	if w.V.FinalFirst || w.V.FinalOnly {
		return TakeFinal
	}
	return TakePending
}

// left goes on when the place that was asked about is empty.
func (w *Withdraw) left() Ask {
	switch pending := w.asked == TakePending || w.asked == LookPending; {
	case pending && !w.V.FinalFirst && !w.V.PendingOnly:
		w.Name = 1
		return w.ask(TakeFinal)
	case !pending && w.V.FinalFirst:
		w.Name = 1
		return w.ask(TakePending)
	}
	if w.moved {
		return w.ask(IsMoved)
	}
	return w.ask(LookTaken)
}

// saw takes what was found in a place after a move that did not succeed.
func (w *Withdraw) saw(a Answer, again Ask) Ask {
	switch {
	case a == Missing:
		return w.left()
	case a != OK:
		return w.retry(again)
	case w.answer == Exists && (w.Name == MaxNames || w.V.OneName):
		return w.ask(Fails)
	case w.answer == Exists: // an earlier move went to that name
		w.Name++
		return w.ask(again)
	case w.answer == Unavailable:
		w.outages++
		return w.wait(backoff(w.outages), again)
	}
	return w.retry(MakeTaken) // stores answer for a missing target folder as for a missing source
}

func (w *Withdraw) sawTaken(a Answer) Ask {
	switch {
	case a == OK:
		return w.ask(IsMoved)
	case a != Missing:
		return w.retry(LookTaken)
	}
	if w.looks++; w.looks < Looks {
		w.Name = 1
		return w.wait(SecondLook, w.firstPlace())
	}
	w.after = IsGone
	return w.ask(ReadLog)
}

// retry asks again after a while. Outages do not count, other failures do.
func (w *Withdraw) retry(again Ask) Ask {
	if w.tries++; w.tries > Refusals {
		return w.ask(Fails)
	}
	return w.wait(backoff(w.tries), again)
}
