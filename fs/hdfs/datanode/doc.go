// Package datanode moves the bytes of HDFS files: a writer with pipeline recovery and a reader with checksums, over the Data Transfer
// Protocol (version 28) in pure Go.
//
// Before it stands fs/hdfs, which speaks with the NameNode and gives what is needed here as Namespace and Locator; behind it are the
// cluster's DataNodes. Protobuf messages are read and written by hand; the field numbers are those of Hadoop's hdfs.proto and
// datatransfer.proto.
//
// Invariants
//   - C2: Sync returns nil only after every DataNode of the pipeline has written its replica, finished it, and flushed data and folder to disk.
//   - A byte handed to Write stands in the file exactly once, in order, whatever DataNodes did meanwhile; or the writer has an error, which is
//     final, and the file is to be given up.
//   - No step on the network is without a deadline, so no call blocks for ever: a DataNode that is silent counts as lost.
//   - What the reader hands out was verified against the checksums of the replica (unless the file was written without).
//   - A writer or reader that ended leaves no goroutine and no connection.
//
// Limits
//   - Lost DataNodes are not replaced in an open block (Hadoop's replace-datanode-on-failure policy NEVER); the NameNode copies the block
//     once it is finished. A pipeline that lost its last node fails the writer.
//   - No SASL, encryption or Kerberos on the way to DataNodes: refused with a clear error. Block tokens are passed on.
//   - No erasure coding, no encryption zones, no short-circuit reads.
//   - A file that is being written is read up to the length that the NameNode knows.
package datanode
