// Package checkpoint has a job's own log: run attempts and completed checkpoints (PROTOCOL.md 2). A checkpoint's metadata is the log entry
// itself, so that it counts whole or not at all (P8).
//
// Layout: <execution.checkpointing.dir>/<job>/log/<n>.
//
// Invariants
//   - K4: the log decides. An attempt that finds a newer begin has been fenced and appends nothing more.
//   - Only the newest complete entry is restored. Never removed: the newest entry, the retained completes and what follows the oldest of them.
package checkpoint
