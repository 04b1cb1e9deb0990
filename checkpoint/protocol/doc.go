// Package protocol decides when checkpoints are triggered, completed, committed and given up: a pure state machine without I/O, clock or
// goroutine. Events go in with the time at which they happened; actions come out, to be carried out in their order.
//
// One checkpoint at a time, from its trigger until it is committed (PROTOCOL.md 5):
//
//	Idle --Trigger--> Pending --all acks--> Appending --appended--> Committing --committed--> Idle
//	                     |  time-out, decline, failed task               (an outcome always comes: K3)
//	                     +--> aborted --> Idle
//
// Invariants
//   - K1: Commit(n) only after the log holds complete n. The next trigger only after n is committed.
//   - K2: ids grow; the id of a completed checkpoint is never given again.
//   - K3: from Append on a checkpoint is neither aborted nor given up until its outcome is known.
//   - An acknowledgement counts only for the running attempt and the pending checkpoint.
//
// Formulas: Flink's CheckpointCoordinator, CheckpointFailureManager.
package protocol
