// Package log is a folder of numbered entries 1, 2, 3, ... that serializes everything which must exclude each other (PROTOCOL.md 1). A job has
// one in its checkpoint directory, and one in each table that it writes.
//
// log/protocol decides, this package carries out: it stages an entry under a unique name, makes it durable, reads it back, places it at the
// next number without overwriting, makes the folder durable and lists it once. Outages of the store are waited for.
//
// Three rules that are easily missed, each found by a random or exhaustive test here:
//
//   - What other processes placed is made durable before an entry is placed behind it. [A places 3 and dies, B places 4 and dies, the power
//     fails and keeps 4 only: a gap that looks like damage.]
//   - What was read after a listing counts only if a listing after that shows no greater number. [A lists 4 and 5, its own and B's complete;
//     B completes 6, removes 5, a late begin of C comes to lie at 5; A reads that and takes its own entry for good.]
//   - What cannot be read below a beginning of the log is not damage. [A late create and a late rename of a dead process put an empty file at
//     a number that was cleaned.]
//
// # An entry's file
//
//	staunch-log 1 <kind> <nonce> <SHA-256 of the body in hex>\n
//	<body>\n
//
// It is named by its number and the log's extension (`17`, `17.staunch`). Other names in the folder are left alone: `staged-*` are entries
// that were never placed.
//
// # What is read
//
// The newest unbroken run of numbers. If something lies below a gap, the run must hold an entry at which a log may begin
// (protocol.Beginning); else entries are missing, which is damage. An entry below the newest such one that cannot be read is left out.
//
// # Failures
//
//   - fault.Damage: an entry is truncated, altered, foreign or missing. Names path and reason.
//   - fault.Fenced: the caller said so (Append.OnTaken, Append.Below). The process touches nothing more.
//   - ErrUnknown, wrapped: the entry may stand or still come to stand. The attempt must end as if it had been killed: no commit, no abort,
//     no discard. The next attempt reads what became of it.
//   - anything else: nothing was appended.
//
// A process that dies anywhere in Append leaves a staged file, or an entry, and nothing in between.
package log
