package main

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/fault"
	"staunch/function"
)

// collector prints the rows of a top-level SELECT, one line a row, columns separated by tabs.
type collector struct {
	mu     sync.Mutex
	out    *bufio.Writer
	headed bool
}

func newCollector(w io.Writer) *collector { return &collector{out: bufio.NewWriter(w)} }

func (c *collector) sink(s changelog.Schema) connector.Sink { return &selectSink{c, s} }

type selectSink struct {
	c *collector
	s changelog.Schema
}

// NewWriter implements connector.Sink.
func (s *selectSink) NewWriter(connector.Context) (connector.Writer, error) {
	return &selectWriter{s}, nil
}

type selectWriter struct{ s *selectSink }

func (w *selectWriter) Write(b *changelog.Batch, _ []connector.Split) error {
	c := w.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.headed {
		c.headed = true
		var names []string
		for _, f := range w.s.s {
			names = append(names, f.Name)
		}
		c.out.WriteString(strings.Join(names, "\t") + "\n")
	}
	for i := range b.Rows {
		for k, col := range b.Cols {
			if k > 0 {
				c.out.WriteByte('\t')
			}
			c.out.WriteString(function.FormatValue(col, i, nil))
		}
		c.out.WriteByte('\n')
	}
	if err := c.out.Flush(); err != nil { // full, or whoever read it has gone: starting again does not help
		return fault.New(fault.User, "%w", err).WithHint("its rows cannot be printed: run it again with a standard output that takes them")
	}
	return nil
}

func (w *selectWriter) Tick(time.Time) error { return nil }

func (w *selectWriter) Prepare(account.CheckpointID) ([]connector.Committable, func() error, error) {
	return nil, nil, nil
}

func (w *selectWriter) Close() error { return nil }

func (w *selectWriter) SizeBytes() int64 { return 0 }
