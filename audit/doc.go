// Package audit proves from a table's own logs and files that nothing is missing and nothing is there twice (P11): it reads what package commit
// wrote, and trusts neither the job's state nor its memory of what it did. test/verifier checks the same from the outside; the byte formats
// and the list of checks are in docs/design/08-audit.md.
//
// The way of a table: each job's log is read from its first entry on, through archives (history.go); every entry goes through one judge
// (judge.go), which checks the chain, fencing, accounts and offset sets (sets.go) and, once a certificate has its verdicts, each of its files
// (files.go, footer.go). Then the table is walked for files that no certificate names (walk.go). A running job is no hindrance.
//
// Invariants
//   - Nothing is written, moved or deleted.
//   - Damage is a finding, never an error: the rest of the table is judged all the same. Errors are stores that do not answer.
//   - Memory is bounded by one certificate, 16 bytes for every file ever committed, the splits and the partitions.
//   - What was not checked is said (Report.Fast), and a table without a log is never called clean.
package audit
