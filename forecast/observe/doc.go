// Package observe gathers what package forecast judges: the options of a planned job, what its sources say of themselves, and what the job's own
// plan, operators and writers make of a bounded sample of recent records.
//
// The sample goes into a store in memory, through the same writers as in a running job, round by round: each round is the records that came
// between two checkpoints, as far as the sample's bound allows. So the number of files, their sizes and the memory of open files are measured and
// not modelled. Nothing outside is changed: no offset is committed, no group joined, no file made.
//
// Invariants:
//
//   - What cannot be asked is left out of the facts; only a configuration that cannot be read is an error.
//   - The sample ends at its bound of records, its time limit or its end, whatever comes first; what it holds is at most one round's files.
package observe
