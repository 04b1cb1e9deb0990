// Package peer gives tests the real servers and the outside readers of the test bed.
//
// The scripts beside it install and start the servers: install.sh (once), kafka.sh, hdfs.sh, flink.sh, and with_peers.sh, which runs a command
// with servers of its own on free ports and stops them afterwards. `make test` runs all tests with tag peer below it:
//
//	test/peer/with_peers.sh kafka hdfs -- go test -tags peer ./test/...
//
// Kafka and HDFS are running then; Flink is started by the first test that asks for it. Nothing here skips: a server that is not there fails
// the test. Files are judged by verify.py (DuckDB), which shares no code with Staunch.
package peer
