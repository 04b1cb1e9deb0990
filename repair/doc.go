// Package repair writes lost files again (PROTOCOL.md 8): each from the records at exactly its offsets, read from the source once more and brought
// through the plan that its certificate records.
//
// Before it: a commit has found that a file is in neither of its places, and the table's log says which offsets it held. Behind it: package commit
// records the replacement and puts it under the lost file's own final name, without overwriting anything, so that a second repair, a second operator
// and a late rename of the original do no harm.
//
//	certificate -> may it be made again? -> read the offsets -> the INSERT's operator -> staged file, durable -> the same offsets? -> commit.Repairer
//
// # Invariants
//
//   - A replacement has the rows of the lost file's offsets, all of them and no others, or it is not used: what cannot be exact is refused, with the
//     offsets that are missing and the reason.
//   - The plan is the one of the certificate: statement, types, formats and zone (plan.Job.Hash). A plan whose rows do not follow from the records
//     alone (the current time, random numbers) is refused.
//   - The records are those of the certificate: of the same topic, by its id (account.Range.Origin), not of one that was made anew under the name.
//   - Nothing is changed before the replacement is durable. It holds no claim, stops no attempt and joins no consumer group; the job may run, be stopped
//     at the loss, or have ended.
//   - Memory is bounded: at most maxFiles files and maxBytes are written at a time, and one batch is read. Many lost files of one checkpoint take few
//     passes over its records.
package repair
