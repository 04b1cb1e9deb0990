// Package wire reads messages of Hadoop's protocols field by field, for fs/hdfs/rpc and fs/hdfs/datanode. Nothing is copied: what a field holds is
// part of the message.
package wire
