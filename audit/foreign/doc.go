// Package foreign audits tables that other tools write: Flink, Kafka Connect, Spark. There is no certificate to hold them against, but where each row
// carries the partition and the offset of its record, or where Kafka Connect put both into the files' names, a missing and a doubled record can be
// seen: every partition's offsets must be there without a gap, each once.
//
// Where Spark's streaming sink has left a log of its files, these are the table (log.go); a table whose log is not read here is never clean.
//
// The way of a table: its folders are listed page by page (walk.go); files are read side by side, only the position columns of them (parquet.go,
// lines.go, json.go, csv.go), or only their names (connect.go); each file's offsets become sets (rows.go) that are joined per partition, which shows
// what is there twice. Then the folders are listed again: a table that moved under the audit is said to have moved (table.go). Only if there are doubles,
// the files are read a second time to name those that hold them (doubles.go). A broker that is asked says what stands at the offsets that are missing
// (broker.go).
//
// Invariants
//   - Nothing is written, moved or deleted; no consumer group is joined.
//   - A file that cannot be read for what it should be is a finding with its name; the rest is judged all the same. Errors are stores that do not answer.
//   - No file is passed over in silence: hidden names and empty files are counted, everything else was read or is a finding.
//   - A gap that cannot be explained is a finding, and so is a table in which there is nothing to prove.
//   - Memory: 64 bytes or so for every file, at most a bit and a little for every offset, the largest page of the position columns for each reader.
package foreign
