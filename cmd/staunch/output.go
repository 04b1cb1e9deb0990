package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// writeJSON writes v for programs.
func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// audited is the report of an audit.
type audited interface {
	Text(out io.Writer) error
	Count() int64
}

// writeAudited writes a report, in JSON as the only one of a list with this name. Problems are an error.
func writeAudited(out io.Writer, list string, r audited, output string) error {
	write := r.Text
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
