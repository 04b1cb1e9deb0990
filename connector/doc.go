// Package connector has the contracts of sources and sinks.
//
// A source is split into partitions ("splits") that can be read again from a recorded position. A sink's writers make output that no reader
// sees; what becomes visible, and when, is decided by package commit from the committables that the writers hand over at a barrier.
//
// Order of calls, per subtask, all from the subtask's goroutine: Source.NewReader / Sink.NewWriter; then Poll, Write, AddSplits, Tick in any
// order; Snapshot and Prepare at a barrier; Close once. A reader or writer is not used again after an error other than what the method says.
package connector
