package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"staunch/account"
)

// firm is a writer that keeps its first error, for texts that are written piece by piece: a report that could not be written is no success.
type firm struct {
	out io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (f *firm) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.out.Write(p)
	f.err = err
	return n, err
}

// failed is the exit that the first error asks for, nil without one.
func (f *firm) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return nil
	}
	return &exitError{exitFailed, f.err}
}

// say writes a text for people, whose line ends are its own.
func say(out io.Writer, text string) error {
	if _, err := io.WriteString(out, account.PrintableBut(text, "\n\t")); err != nil {
		return &exitError{exitFailed, err}
	}
	return nil
}

// writeJSON writes v for programs.
func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// audited is the report of an audit.
type audited interface {
	texter
	Count() int64
}

// writeAudited writes a report, in JSON as the only one of a list with this name. Problems are an error.
func writeAudited(out io.Writer, list string, r audited, output string) error {
	write := func(out io.Writer) error { return writeText(out, r) }
	if output == "json" {
		write = func(out io.Writer) error {
			return writeJSON(out, map[string]any{list: []any{r}, "problems": r.Count()})
		}
	}
	if err := write(out); err != nil {
		return &exitError{exitFailed, err}
	}
	if n := r.Count(); n > 0 {
		return &exitError{exitFailed, fmt.Errorf("audit: problems found: %d", n)}
	}
	return nil
}
