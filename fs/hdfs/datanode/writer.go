package datanode

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"staunch/fs"
)

// Writer writes one new file. It is for one goroutine at a time; Memory may be called from any.
//
// An error is final: every later call but Abort gives it again, and nothing may be said about the file but that it is not complete.
type Writer struct {
	s *stream
	// err is the first failure.
	err    error
	closed bool
}

var (
	errClosed  = errors.New("the file is closed")
	errGivenUp = errors.New("the file was given up")
)

var (
	_ fs.File    = (*Writer)(nil)
	_ fs.Aborter = (*Writer)(nil)
	_ fs.Holder  = (*Writer)(nil)
	_ fs.Reader  = (*Reader)(nil)
)

// NewWriter starts a file that the NameNode has just made and that is empty. path is for messages. It does nothing on the network yet.
func NewWriter(ns Namespace, path string, opt Options) (*Writer, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	s := &stream{ns: ns, opt: opt, path: path}
	s.cond = sync.NewCond(&s.mu)
	w := &Writer{s: s}
	// Somebody who gives up a file without a word leaves no connection, and no goroutine that tells DataNodes for ever that he lives.
	runtime.AddCleanup(w, func(s *stream) { s.abort() }, s)
	return w, nil
}

// Write takes all of p or fails. It returns before the bytes are on any node; it waits while too much is on its way, and for the recovery of a
// pipeline.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.usable("write"); err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) {
		n, err := w.s.add(p[done:])
		done += n
		if err != nil {
			return done, w.fail("write", err)
		}
	}
	return done, nil
}

// Flush waits until all nodes of the pipeline have what was written, so that new readers can see it (hflush). It is not on disk.
func (w *Writer) Flush() error {
	if err := w.usable("flush"); err != nil {
		return err
	}
	return w.fail("flush", w.s.flush())
}

// Sync makes what was written durable on each node of its pipeline: it ends the block, with which the nodes flush replica and folder to disk
// (as Hadoop's hsync with END_BLOCK; every block ends in this way). A file may go on after it, in one block more.
func (w *Writer) Sync() error {
	if err := w.usable("sync"); err != nil {
		return err
	}
	return w.fail("sync", w.s.endBlock())
}

// Close sends what is left and completes the file. It waits until the NameNode knows of enough replicas.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err != nil {
		return w.err
	}
	err := w.s.endBlock()
	if err == nil {
		err = w.s.complete()
	}
	if w.fail("close", err) == nil {
		w.s.abort() // only memory is left
	}
	return w.err
}

// Abort implements fs.Aborter: it gives the file up without a word to the NameNode. After Close it does nothing.
func (w *Writer) Abort() {
	if !w.closed && w.err == nil {
		w.err = fmt.Errorf("write %s: %w", w.s.path, errGivenUp)
	}
	w.closed = true
	w.s.abort()
}

// Memory implements fs.Holder: packets that are being filled, or not acknowledged yet.
func (w *Writer) Memory() int64 {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return int64(w.s.held)
}

func (w *Writer) usable(verb string) error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return fmt.Errorf("%s %s: %w", verb, w.s.path, errClosed)
	}
	return nil
}

// fail keeps the first error and gives the file up.
func (w *Writer) fail(verb string, err error) error {
	if err == nil {
		return nil
	}
	w.err = fmt.Errorf("%s %s: %w", verb, w.s.path, err)
	w.s.abort()
	return w.err
}

// complete closes the file at the NameNode.
func (s *stream) complete() error {
	start, pause := time.Now(), firstComplete
	for {
		done, err := s.ns.Complete(s.previous)
		if done || err != nil {
			return err
		}
		if since := time.Since(start); since > s.opt.Patience {
			return fmt.Errorf("the last block is on too few DataNodes for %v, the file may be incomplete: %w", since.Round(time.Second), fs.ErrUnavailable)
		}
		rest(pause)
		pause = min(2*pause, maxPause)
	}
}

// firstComplete is the pause before complete is asked again: DataNodes report a finished block within milliseconds.
const firstComplete = 2 * time.Millisecond
