// Package clean finds what ended attempts of a job left behind and removes it by exact name, one file a delete: pending files, probe files,
// staged log entries, archives that no segment names, and then folders that are empty (PROTOCOL.md 6). Nothing needs it: what it removes is
// ignored by everybody.
//
// Before it: any number of attempts that were killed. Behind it: disk space. It may run while the job runs, starts, is taken over or cleaned by
// somebody else, and while an attempt that has been replaced still sleeps.
//
// # Why that is safe
//
// Judge, which is pure, gets a listing and what the logs say. The logs are read *after* the listing. A pending file is removed only if
//
//   - its name is this job's, in its full form and in the folder that the name tells;
//   - every job log that has claimed the table says that the epoch in the name is over: a newer begin stands in it, or its end;
//   - no complete entry in those logs and no certificate in the table's log names it; nor does it lie in a folder that such a complete names
//     as a whole;
//   - it is older than the limit, by the store's clock.
//
// A file comes to count only by a complete entry that names it. Its attempt E is the only one that ever knows the name. Once a begin behind E
// stands, an append of E finds it, or a complete behind it, and is fenced, however long E slept: so the set of files that E's completes name
// is fixed from then on, and was read. What a complete names leads to a certificate, or is named by the newest complete until it does: an
// older complete is done in every table before the next one is triggered, and its files have left the temporary folder. So a file that passes
// is named by nothing and never will be, and its name, which has 96 random bits, is not given again: the delete may come late, or twice.
//
// Listing first is what closes the gap: whoever wrote a file that was listed had claimed the table and begun before; so a reading afterwards
// knows its log and its epoch. An attempt that begins later has files that were not listed. With the logs read first, the file of an attempt
// under another checkpoint directory, which claims in between, would look like an old one of an epoch that is long over here.
//
// Names carry no log's identity. Where several job logs have claimed a table (--take-over, a copied checkpoint directory) an epoch has to be
// over in each. A log that cannot be read, or is no longer the one that claimed, might still name every epoch that it claimed: those are left,
// until a segment of the table's log has dropped the claim, 128 certificates on, when its states are refused as another history anyway.
//
// A staged entry is a file that its writer might still place. Removing it is what the writer's own Drop does: the writer looks at the slot
// and stages again. So nothing depends on the rule there; age and epoch only spare a running attempt the trouble. An archive is needed by the
// segment entry that directly follows its last entry, and by none if another entry stands there.
//
// A staged replacement of a lost file is read by nobody until a repair renames it, which the entry that names it allows for as long as its place is
// empty and its certificate counts: it is left then. Any other goes at an hour's age at least; a repair that misses one makes another.
//
// # Invariants
//
//   - One delete is one file by exact name, or one folder that the store finds empty. A folder that still is to be written has an id above
//     the newest complete's and is left; a writer that misses one makes it again. Nor does it go while what was
//     renamed out of it may not be durable.
//   - What is not known to be this job's is never touched: it is counted and shown.
//   - Nothing is removed when a log cannot be read or holds a kind of entry that is not known.
package clean
