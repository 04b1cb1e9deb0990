// Package protocol decides how one entry is appended to a log, and which of the numbers in its folder are the log (PROTOCOL.md 1). It is pure:
// answers of the store go in, the next thing to do comes out. Package log carries it out.
//
// # Append
//
//	Stage -> Place n -> Sync -> List -> Judge -> Done
//	           |  taken: Look n -> another's: Taken, then Place n+1; ours: Sync
//	           |  any other answer: LookStage -> still there: Place n again; gone: Look n -> ours: Sync; empty: Stage anew
//
// After an unknown answer the staged file is looked at before the slot: if it is still there the rename was not carried out (or, linked,
// answers "taken" the next time), and if it is gone, the slot read afterwards tells where it went. The other order can see neither while a
// rename takes effect late.
//
// Invariants
//   - L1: an entry counts as placed only by a positive answer or by its nonce in the slot.
//   - L2: the next number is tried only after another's entry was read in this one and handed to the caller.
//   - L3: a failure says whether the outcome is known. It is if nothing was ever placed, if another's entry stands in the slot, or if the
//     staged file was removed and the slot, read after that, is not ours.
//   - L4: each staging takes a new name and a new nonce, so a late create or delete hits nothing; all nonces of one append are ours.
//   - L5: nothing is done before the folder is durable and was listed once.
//
// Variant takes single rules away; the simulation must notice each.
package protocol
