package fault

import (
	"errors"
	"fmt"
)

// Class says what an error means for the job.
type Class uint8

// The classes.
const (
	// Bug is an error that nobody classified: the job restarts by its strategy and reports it.
	Bug Class = iota
	// User is wrong input: SQL, options, the command line, a start that is refused. Never retried; exit code 2 before the start.
	User
	// Transient heals by a restart, which the restart strategy counts.
	Transient
	// Outage is a store or broker that does not answer: waited for, without using up an attempt of the restart strategy.
	Outage
	// Lost is data that is gone: a file in neither place, offsets that the source no longer has. Stops the job.
	Lost
	// Damage is stored data that contradicts the logs: a target of another length, a corrupt checkpoint. Stops the job.
	Damage
	// Fenced means that a newer attempt owns the job or the table: this process stops at once and touches nothing more.
	Fenced
)

var names = [...]string{"bug", "user", "transient", "outage", "lost", "damage", "fenced"}

// String is the class's name.
func (c Class) String() string { return names[c] }

// Error is an error with a class and what to do about it.
type Error struct {
	Class Class
	Err   error
	// Hint says what to do; it may be empty.
	Hint string
}

// Error gives the text and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n  " + e.Hint
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes a classified error from a format as fmt.Errorf has it.
func New(c Class, format string, args ...any) *Error {
	return &Error{Class: c, Err: fmt.Errorf(format, args...)}
}

// Userf is New(User, ...).
func Userf(format string, args ...any) *Error { return New(User, format, args...) }

// Lostf is New(Lost, ...).
func Lostf(format string, args ...any) *Error { return New(Lost, format, args...) }

// WithHint adds what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// ClassOf is the class of the outermost classified error in err's chain, or Bug.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Bug
}

// Retryable reports whether a restart may heal the error.
func (c Class) Retryable() bool { return c == Bug || c == Transient || c == Outage }
