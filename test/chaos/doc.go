// Package chaos kills the real program on real servers, with its table on the local disk and on HDFS: at each failpoint of the protocol and at
// random, while NameNodes fail over in each of three ways, a DataNode and the Kafka broker are killed, and a reader watches the table. Somebody
// deletes promised files before they are visible: the job stops with exactly those, and repairs, which are killed too, write them again. What counts is
// what readers that are not ours find at the end and all the time (DuckDB, the independent verifier, both by WebHDFS).
package chaos
