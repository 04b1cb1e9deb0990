// Command limit is the bare loop that an engine is measured against: franz-go fetches, the JSON decoder fills columns, and these are
// thrown away (job a), written as Parquet by day and hour (job b) or as JSON by day and hour (job c). It has no engine, no checkpoints, no
// exactly-once; two goroutines share the partitions. What Staunch needs more than this is the price of the engine.
//
//	limit a|b|c -brokers 127.0.0.1:19092 -topic events [-dir out]
//
// It reads what the topic holds when it starts, then prints one JSON object: records, CPU seconds of the process, wall seconds, peak
// resident memory in bytes, and records per second of both.
package main
