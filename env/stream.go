package env

import (
	"io"
	"os"
)

// Stdout is the process's standard output, for connectors that print.
func Stdout() io.Writer { return os.Stdout }

// Stderr is the process's standard error.
func Stderr() io.Writer { return os.Stderr }
