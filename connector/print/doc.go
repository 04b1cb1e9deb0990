// Package print is Flink's `print` connector: each row as a line on standard output or standard error, for looking at a stream.
//
//	+I[1, abc, 2024-01-02T03:04]
//	id:2> -D[null]
//
// The text of a row is that of Flink's Row: values as Java's objects print themselves. A batch of rows is written at once, and lines of
// subtasks never mix.
//
// Rows are printed when they come, before any checkpoint. So after a restart those since the newest checkpoint appear again: at least once.
// Where the output takes nothing any more, because its disk is full or whoever read it has gone, the job ends: starting again would not help.
package print
