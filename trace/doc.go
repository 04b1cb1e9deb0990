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
// In the background, never by the one who records. A commit starts a flush behind its last rename and waits for it, at most a second, before it
// says *done*; the folders are synced meanwhile, so that it adds nothing where that is not free. So what a *done* speaks of is in the trace, and a
// kill -9 costs at most the records since the newest *done*: those of a checkpoint that counts for nothing, or whose promises the next attempt
// carries out again and records. A power cut may cost a little more on a local disk, where only joined files are synced.
//
// # Bounds
//
// Options.MaxBytes for all files of a job; the oldest go first, never those with records behind the trigger of a checkpoint that is not *done*
// (its files are on their way), or of other attempts before this one has made their promises good. If these alone exceed twice the bound, new
// records are dropped, and counted. Memory: 4 MiB, then the same.
//
// INV: a trace never stops, delays or changes a job. What the store refuses is counted (Stats), told once, and tried again with the next flush.
package trace
