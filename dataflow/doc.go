// Package dataflow runs chains: a reader, for each INSERT an operator and a writer, all in one subtask. What stands before it: plan makes the
// graph. What follows: job carries acknowledgements to the checkpoint machine.
//
// A subtask does everything in Step, one bounded piece of work at a time: first its mailbox (barriers, new splits, notices), then one batch. In
// production a goroutine calls Step and waits for its signal when nothing moved; in simulation a seeded scheduler does.
//
// Invariants
//   - D1: a barrier never overtakes data of its own subtask: mailbox and input are handled by one goroutine, between batches.
//   - D4: the mailbox holds few messages: a barrier for each checkpoint that was given up before the subtask came to it, and one more; batches
//     have at most BatchRows rows.
//   - C2: an acknowledgement is sent only after every writer's durable() has returned nil.
//   - Work that was prepared for a checkpoint which then was given up goes into the next one: nothing that was written is forgotten, and
//     accounts join without a gap.
package dataflow
