// Package parquet is the format parquet: a writer of whole Parquet files from columns, with the layout that Flink 2.3.0 writes.
//
// Before it on the path are the columns of a sink's batch (connector/filesystem); behind it are the bytes of a part file. Footer and schema
// are made by Arrow's Go library; pages are encoded here, because its column writers take values one slice header at a time, keep levels
// as one int16 per value and allocate per batch, which costs about twice the whole encoding below.
//
// How a file comes about: Write appends each value to its column's open page in PLAIN encoding (or as an index into a dictionary). A page
// that is full (8,192 rows or parquet.page.size) is compressed at once into the column's chunk, a chain of 64 KiB blocks. When the chunks
// of all columns together reach the row group size they are written to the file one behind the other. So work is spread over the calls,
// memory is about the compressed size of one row group, and what a file holds open is known exactly.
//
// Invariants
//   - The bytes of a file depend on its rows and options only: not on how rows were cut into Write calls as long as a row group is not
//     full, and not on files written before.
//   - Encodings are PLAIN and PLAIN_DICTIONARY, pages are version 1: every reader in the field reads them (Flink's own vectorized reader
//     knows no delta encodings).
//   - After a failed write nothing more is written and every call returns the error.
//   - Blocks go back to a pool when a row group is written; nothing is kept between files but that pool.
//
// Layout (as Flink's): decimals are FIXED_LEN_BYTE_ARRAY of the fewest bytes; TINYINT and SMALLINT are annotated INT32; timestamps are INT96
// unless write.int64.timestamp is set, and in local time unless utc-timezone is set. Differences: with utc-timezone INT64 columns of
// TIMESTAMP_LTZ are annotated as adjusted to UTC, which they are; local time of years before 1582 is reckoned in the Gregorian calendar and
// not in Java's mixed one, which shifts days.
package parquet
