// Package kafka reads Kafka topics.
//
// Partitions are read directly, without membership in a consumer group. The enumerator resolves where each partition starts and, for a bounded
// read, ends; both are kept in the split. Each subtask's reader has a client of its own; a fetcher sends one fetch request at a time to each
// leader and queues the answers, which are parsed in Poll record by record out of the fetched bytes: no object per record is made.
//
// The requests are made here, over franz-go's connections, rather than by franz-go's consumer, for three reasons. The position behind a fetched
// batch is known, also if its last offsets are markers, aborted records or holes, so that every offset is accounted for and a bounded read ends.
// Errors that a consumer would heal by moving on (offsets gone, a topic created anew) stop the job with what was lost. What is buffered is
// bounded in bytes, and is small.
//
// Invariants
//   - To - From = rows + Rejected + Null + Gaps + Skipped of a partition's account, after every Poll.
//   - The position is behind the last row emitted, and moves over offsets without record as soon as the batch that shows them is read.
//   - A partition is at its end when the position is, whatever the last offsets hold.
//   - Offsets that the broker no longer has end the job (fault.Lost), unless properties.auto.offset.reset says where to go on: then they are
//     counted as skipped. A log that is shorter than what was read ends the job always.
//   - A split keeps the id of its topic: a topic that was deleted and created anew is not read in the old one's place.
//   - Reread reads given offsets once more, for a repair: without a group, and over what retention took, which it counts.
//   - Memory: answers held and under way take at most fetchLimits.bufferBytes, plus one batch if that alone is larger; plus one decompressed batch.
//
// Limits: keys and headers are not read; of SASL there are PLAIN and SCRAM; message formats 0 and 1 (before Kafka 0.11) are read but slowly. Tried with Apache
// Kafka 4.4.0.
package kafka
