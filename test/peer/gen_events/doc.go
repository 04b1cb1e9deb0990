// Command gen_events fills a Kafka topic with reproducible user_behavior events in JSON.
//
// Each partition has its own generator, seeded by (seed, partition), and writes seq = 0..N-1, so that any reader can check that every
// (part, seq) arrived exactly once. Event time starts at -start and is spread evenly over -span, with up to two seconds of disorder.
//
//	go run ./test/peer/gen_events -brokers 127.0.0.1:19092 -topic events -records 10000000 -partitions 4
package main
