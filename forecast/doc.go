// Package forecast says, before a job is started, what it will do: how many files an hour and of which size, how much memory its open files
// take, when a record becomes visible at the latest, how many objects the table gains a day; and which of its settings contradict each other,
// the data or the machine.
//
// It is pure: [Facts] in, [Report] out. What gathers the facts (options, what the source says of itself, what the job's own plan and writer make
// of a sample of recent records) is package forecast/observe. A fact that is not known is left out, and then nothing is said that needs it.
//
// Invariants:
//
//   - Each finding has a code of [Rules], says why with the figures it rests on, and, unless it is a pass, names the option to change.
//   - A finding is a fail only if the job as configured stops, never delivers, or delivers wrongly; what is merely unwise is a warning.
//   - Same facts, same report, in the same order.
package forecast
