package guard

import "time"

// Change is what is to be told of a window.
type Change uint8

// The changes.
const (
	// Same: nothing is to be told.
	Same Change = iota
	// Raised: less is left than the threshold.
	Raised
	// Worse: half of what was left when it was last told is gone, or more offsets are lost.
	Worse
	// Eased: enough is left again.
	Eased
)

// Alarms remembers which windows are in alarm.
type Alarms struct {
	// Part of what is kept below which an alarm is raised, 0 to 1.
	Part float64
	on   map[string]told
}

// told is what was said of a window last.
type told struct {
	left time.Duration
	lost int64
}

// threshold is the time below which the alarm is raised, and the greater one at which it is eased, so that it does not flicker.
func (a *Alarms) threshold(keeps time.Duration) (raise, ease time.Duration) {
	raise = time.Duration(a.Part * float64(keeps))
	return raise, raise + min(raise/4, (keeps-raise)/2)
}

// Low reports whether less is left than the threshold.
func (a *Alarms) Low(w *Window, now time.Time) bool {
	raise, _ := a.threshold(w.Keeps)
	return len(w.Gone) > 0 || !w.Until.IsZero() && w.Left(now) < raise
}

// On reports whether the window with this key is in alarm.
func (a *Alarms) On(key string) bool {
	_, on := a.on[key]
	return on
}

// Step takes the window's newest look and says what is to be told. A window of which nothing is known changes nothing.
func (a *Alarms) Step(w *Window, now time.Time) Change {
	if w.Blind {
		return Same
	}
	if a.on == nil {
		a.on = map[string]told{}
	}
	key, left, lost := w.Key(), w.Left(now), w.Lost()
	last, on := a.on[key]
	_, ease := a.threshold(w.Keeps)
	switch {
	case !on && a.Low(w, now):
		a.on[key] = told{left, lost}
		return Raised
	case on && (lost > last.lost || left < last.left/2):
		a.on[key] = told{left, lost}
		return Worse
	case on && lost == 0 && left >= ease:
		delete(a.on, key)
		return Eased
	}
	return Same
}
