// Package blackhole is Flink's `blackhole` connector: rows are counted and dropped. It is for measuring everything before the sink.
package blackhole
