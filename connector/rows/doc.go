// Package rows is a bounded source of rows that are computed when they are read: the read-only tables about jobs (staunch.trace and its like).
//
// What computes them may block, and runs beside the subtask, a bounded number of rows ahead of it. There is one split; its position is the number of
// rows that were given. The rows are not the same when they are computed again, so the source is not replayable, and is for top-level queries.
package rows
