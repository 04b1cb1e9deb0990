// Package parity runs one unchanged statement file on Staunch and on a real Flink cluster and compares the committed rows with DuckDB:
// with the table on the local disk and on HDFS.
package parity
