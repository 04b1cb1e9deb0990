// Package trace keeps what a job did on outside storage: every create, close, rename, look, delete, new folder, log entry, prepare and commit,
// with time, attempt, checkpoint, task, paths, outcome and duration. It is what `staunch trace` and the tables staunch.* read.
//
// Before it: Recorder.Store wraps the stores of a job's log, its tables and its writers (package job); after it: Read, and package trace/story.
//
// # Where it lies
//
// In <checkpoints>/<job>/trace/<epoch>-<from>-<to>-<rand>.jsonl, so that it survives a take-over. Records of one process are numbered from 0; a file
// holds the records from <= n < to, one JSON object a line behind one line about the process. Every file is written once, closed, and never
// touched again: a store may show others nothing of an open file (HDFS shows a block when it has ended), and a killed process leaves no lease
// behind. A flush writes the new records as a small file; 64 of those, or a mebibyte, are written together as one file and then removed, by exact
// name. The bytes for that are still in memory: nothing is read back. A reader drops what it sees twice.
//
// # When it is written
//
// In the background, never by the one who records. Twice a checkpoint somebody waits for it, at most a second: before *complete*, so that it is known
// who wrote the files that are promised; and before *done*, so that what it speaks of is there. The second flush starts behind the last rename, and
// the folders are synced meanwhile. So a kill -9 costs at most operations of a checkpoint that counts for nothing, and the renames of a commit that
// the next attempt carries out again and records as skipped. Else what waits is written after ten seconds, or a quarter of a mebibyte. A power cut
// may cost more on a local disk, where only joined files are synced: nothing of a job depends on them.
//
// # Bounds
//
// Options.MaxBytes for all files of a job, and a thousand files; the oldest go first, never those with records behind the trigger of a checkpoint that is not *done*
// (its files are on their way), or of other attempts before this one has made their promises good. If these alone exceed twice the bound, new
// records are dropped, and counted. Memory: 4 MiB, then the same.
//
// INV: a trace never stops, delays or changes a job. What the store refuses is counted (Stats), told once, and tried again with the next flush.
package trace
