// Package changelog has the data that moves between operators: columns in Apache Arrow's memory layout, batches of rows of one
// source split, and watermarks.
//
// A Column is a typed growable buffer laid out as an Arrow array (validity bitmap, values, offsets), so that a reader can wrap it
// without copying (Column.Arrow) and a decoder can take back a bad record by truncating (Column.Truncate), which Arrow's builders
// cannot. A Batch never mixes rows of two source splits: with it travel the split's index and each row's offset, the hidden columns
// from which files learn exactly which source records they hold.
//
// Invariants
//   - O2: a batch is immutable from the moment it is emitted until its consumer has returned; the producer may reuse its memory
//     for the next batch after that. Whoever keeps rows longer copies them.
//   - All columns of a batch, Offsets included, have Rows entries.
package changelog
