// Package commit makes what a completed checkpoint promises visible, table by table: claim, certificate, one rename and one verdict a file,
// done (PROTOCOL.md 2 and 5). It decides nothing about names: they are fixed in the committables.
//
// Before it: checkpoint has appended complete c to the job's log. After it: group offsets, cleaning, the next trigger.
//
// Invariants
//   - C1: committing again gives the same outcome; each file gets exactly one verdict or an error.
//   - C4: nothing is overwritten or deleted, except one empty folder of an id that is over.
//   - P7: a newer claim in the table's log stops this process before its next append, rename verdicts included.
//   - done c is appended only when the renames are durable, and never over an unaccepted loss.
package commit
