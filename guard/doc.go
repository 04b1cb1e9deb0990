// Package guard tells how much time is left until something that is not committed yet leaves the place where it is: offsets that retention removes
// from a topic, files that somebody's TTL removes from a table's temporary folder. It is pure: facts in, windows, verdicts and alarms out.
//
// Facts come from connector.Expiry and from the job's state. Job (while it runs) and `staunch check` (while it does not) ask for them.
//
// Invariants
//   - A window by age is never longer than it is in truth: it ends when the store may remove the record at the earliest.
//   - A window by size rests on measured rates and says so.
//   - What is not known is said to be unknown, never taken for safe.
//   - An alarm that is raised is eased, once; between the two it is repeated only when half of the time is gone that was left when it was last told.
//
// A sink with transactions or uploads that expire is one more kind of Window with an end of its own; there is none yet.
//
// See docs/operations/loss-window.md.
package guard
