// Package filesystem is the file sink: Flink's `filesystem` connector for writing, with the layout and rules of docs/design (names, write,
// prepare).
//
// Before it on the record's path stands the last operator of a chain, behind it a format's file writer and the store. Rows go to one open
// file a partition value; files end by size, age, idleness and always at a barrier, so that no file ever lives across a checkpoint and none is
// reopened or truncated. What Prepare hands over names durable, closed files under `_DUMP_TEMPORARY`; making them visible is the committer's
// work.
//
//	<table>/_DUMP_TEMPORARY/cp-<id>/task-<subtask>/part-<job8>-<subtask>-<id>-<epoch>-<seq>-<rand>.<ext>.pending
//	<table>/<partition>/part-<job8>-<subtask>-<id>-<epoch>-<seq>-<rand>.<ext>
//
// A lost file is written again by Replace, under a name that no attempt has, directly below the temporary folder; putting it into its place is the
// committer's work, too.
//
// Invariants
//   - C4: nothing here deletes, overwrites, truncates or reopens. Every name has 96 random bits, so that a call which a store carries out late,
//     or twice, hits nothing that matters.
//   - C2: a committable counts only after durable() returned nil: bytes synced, then the names of file and new folders.
//   - P11: each file knows exactly which offsets of which split it holds; over all files of a checkpoint these sets are disjoint and their
//     union is what was written.
//   - A partition's folder is always one element a key, escaped as Hive does it, below the table's folder; what stands in its place and is no
//     folder (a symbolic link) is refused.
//   - A store's file is created only when the first bytes leave the writer's buffer. So many small partitions cost memory, which the budget
//     bounds (FlushLargest), and not open files; and an outage before the first byte is waited for without loss.
package filesystem
