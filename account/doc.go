// Package account has the types in which Staunch states what it did: offset sets, files, accounts, certificates, verdicts. They are kept in
// checkpoint state, in a table's log and (the offset sets) in the footers of data files, and are read by audit and by the independent
// verifier.
//
// Invariants (P11)
//   - An account closes: To - From = Filtered + Rejected + Null + Gaps + rows in files, for each source partition.
//   - The offset sets of a certificate's files are disjoint and lie in the accounts' ranges.
package account
