// Command bench compares Staunch with Apache Flink and with the bare loop of bench/limit, over one Kafka topic, and measures what a user waits
// for besides: start, restart after kill -9, the delay until an event is visible.
//
//	make bench RECORDS=10000000 ROUNDS=3
//	test/peer/with_peers.sh kafka flink -- go run ./bench -records 1000000 -rounds 1 -jobs b
//	make bench-hdfs RECORDS=10000000 ROUNDS=3
//
// The last one compares jobs b and c on HDFS with the local disk.
//
// How it measures:
//
//   - The unit is records per CPU-second of all processes of an engine (the broker is not counted): it says what one core does, and holds on a
//     machine that has other work too. Records per second of wall clock stand beside it.
//   - The jobs are those of test/peer/sql, the same file for Flink and for Staunch. Staunch is the real program, a child process whose CPU time
//     and peak memory the kernel reports when it ends; start and final commit are part of its run. Flink's are the CPU times of JobManager and
//     TaskManager during the job, which runs in a cluster that is up.
//   - Each round runs all three one after the other; the first round is discarded; medians are reported.
//   - A run that did not read every record is an error; the files of the discarded run are read by DuckDB, which must find each record once. A measurement that failed is shown as missing, with the reason.
//
// The table goes to the terminal and to bench/RESULTS.md; in that file everything from the heading "Notes" on is kept as it is.
package main
