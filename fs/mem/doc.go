// Package mem is a file store in memory with the habits of a remote one, for tests and the simulation: calls of different processes that
// interleave anywhere, answers that get lost, refusals that were carried out, calls that take effect again much later, processes that die in
// the middle of a call, and power cuts.
//
//	s := mem.New()
//	a, b := s.Client("a"), s.Client("b")   // one process each, implements fs.FS
//	s.Before = ...                         // the simulator switches activities here
//	s.Fault = ...                          // and decides here what happens to a call
//	s.Late(), s.Repeat(i)                  // a call that was made once takes effect now (again)
//	a.Kill()                               // every later call of a fails without effect
//	s.PowerCut(choose)                     // all processes end; what was not synced is kept or lost
//
// # Durability
//
// Bytes are durable after File.Sync, a name (made, moved or removed) after SyncDir of its folder. A power cut keeps any subset of what is not
// durable: bytes, cut anywhere between the synced length and the end; new files and folders (with everything in them); removals; and a
// rename whose folders were not both synced is seen at its source, at its target or at both, but never nowhere (no journal of a usual file
// system loses both).
//
// # Invariants
//
//   - The outcome depends on the calls and the hooks' answers only: no clock, no randomness, no map is iterated.
//   - Hooks are called without a lock held; the call takes effect in one step after them.
package mem
