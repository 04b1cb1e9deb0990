package fs

import (
	"errors"
	"strings"
)

// Error is a failed call.
type Error struct {
	// Op is the verb ("create", "rename").
	Op string
	// Store is the store's name before its paths ("hdfs://NS"), "" for the local disk. Path is what it was about, To the other path of a rename or "".
	Store, Path, To string
	// Kind is the sentinel of this package, or nil.
	Kind error
	// Err is what the store said; nil if it said no more than the kind.
	Err error
	// Why explains the answer; it may be empty.
	Why string
}

// Error gives verb, path, kind and the store's words.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op + " " + e.Store + e.Path)
	if e.To != "" {
		b.WriteString(" to " + e.To)
	}
	b.WriteString(": ")
	switch {
	case e.Kind != nil && e.Err != nil && !errors.Is(e.Err, e.Kind):
		b.WriteString(e.Kind.Error() + " (" + e.Err.Error() + ")")
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	case e.Kind != nil:
		b.WriteString(e.Kind.Error())
	}
	if e.Why != "" {
		b.WriteString(": " + e.Why)
	}
	return b.String()
}

// Unwrap gives the sentinel and the cause.
func (e *Error) Unwrap() []error {
	var list []error
	if e.Kind != nil {
		list = append(list, e.Kind)
	}
	if e.Err != nil {
		list = append(list, e.Err)
	}
	return list
}
