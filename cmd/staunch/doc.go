// Command staunch runs Flink SQL ingestion jobs exactly once on one machine. See `staunch help`.
package main
