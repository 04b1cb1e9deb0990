package print

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
)

const (
	keyIdentifier  = "print-identifier"
	keyError       = "standard-error"
	keyParallelism = "sink.parallelism"
)

var options = []config.Option{
	{Key: "connector", Type: config.TypeString, Required: true, Doc: "print."},
	{Key: keyIdentifier, Type: config.TypeString, Doc: "A word before each row: id> +I[..], or id:2> +I[..] of the second of several subtasks."},
	{Key: keyError, Type: config.TypeBool, Default: "false", Doc: "Whether rows go to standard error."},
	{Key: keyParallelism, Type: config.TypeInt, Doc: "The number of writers; it must be the job's parallelism.",
		Validate: func(s string) error {
			if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n < 1 {
				return errors.New("accepted is a whole number above 0")
			}
			return nil
		}},
}

// Factory makes the sinks of `'connector' = 'print'`.
var Factory = connector.Factory{Name: "print", Options: options, Sink: func(t connector.Table) (connector.Sink, error) {
	return newSink(t, env.Stdout(), env.Stderr())
}}

// sink is one table.
type sink struct {
	name        string
	identifier  string
	parallelism int
	// mu keeps the lines of subtasks apart.
	mu  sync.Mutex
	out io.Writer
}

var _ connector.Guarantee = (*sink)(nil)

func newSink(t connector.Table, stdout, stderr io.Writer) (*sink, error) {
	v, _, err := t.Options.Check(options)
	if err != nil {
		return nil, &fault.Error{Class: fault.User, Err: err}
	}
	s := &sink{name: t.Name, identifier: v.String(keyIdentifier), out: stdout}
	// After Check the getters of an option's own type cannot fail.
	s.parallelism, _ = v.Int(keyParallelism)
	if toError, _ := v.Bool(keyError); toError {
		s.out = stderr
	}
	return s, nil
}

// Guarantee implements connector.Guarantee.
func (s *sink) Guarantee() (level, reason string) {
	return "at-least-once", "rows are printed when they come; after a restart those since the newest checkpoint appear again"
}

// NewWriter implements connector.Sink.
func (s *sink) NewWriter(ctx connector.Context) (connector.Writer, error) {
	if s.parallelism != 0 && s.parallelism != ctx.Parallelism {
		return nil, fault.Userf("table %s: option '%s' = %d, and the job runs with parallelism %d: rows are printed where they are read", s.name,
			keyParallelism, s.parallelism, ctx.Parallelism).WithHint("remove the option, or set 'parallelism.default' to the same number")
	}
	prefix := s.identifier
	if ctx.Parallelism > 1 {
		if prefix != "" {
			prefix += ":"
		}
		prefix += strconv.Itoa(ctx.Subtask + 1)
	}
	if prefix != "" {
		prefix += "> "
	}
	return &writer{sink: s, prefix: prefix}, nil
}

// chunk is what is printed in one call.
const chunk = 64 << 10

type writer struct {
	sink   *sink
	prefix string
	buf    []byte
}

// Write implements connector.Writer: the rows are printed when it returns.
func (w *writer) Write(b *changelog.Batch, _ []connector.Split) error {
	for i := range b.Rows {
		kind := changelog.Insert
		if len(b.Kinds) > 0 {
			kind = b.Kinds[i]
		}
		w.buf = append(w.buf, w.prefix...)
		w.buf = append(AppendRow(w.buf, b.Cols, i, kind), '\n')
		if len(w.buf) >= chunk {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	_, err := w.sink.out.Write(w.buf)
	w.buf = w.buf[:0]
	if err != nil { // full, or whoever read it has gone: starting again does not help
		return fault.New(fault.User, "table %s: print: %w", w.sink.name, err).
			WithHint("its rows cannot be printed: run it again with a standard output and a standard error that take them; nothing that was committed is lost")
	}
	return nil
}

// Tick implements connector.Writer.
func (w *writer) Tick(time.Time) error { return nil }

// Prepare implements connector.Writer: nothing is left to do.
func (w *writer) Prepare(account.CheckpointID) ([]connector.Committable, func() error, error) {
	return nil, nil, nil
}

// Close implements connector.Writer.
func (w *writer) Close() error { return nil }

// SizeBytes implements connector.Writer.
func (w *writer) SizeBytes() int64 { return int64(cap(w.buf)) }
