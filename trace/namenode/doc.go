// Package namenode reads the audit logs of HDFS NameNodes: who did what to which path, and when by the NameNode's clock.
//
// What an audit log does not have (HDFS 3.5, measured): a file's end (complete), its blocks, a call that was answered from the retry cache, the
// client's name and call id; and its times are local times without a zone. So a line is only ever a hint for a person, never the ground of a verdict.
//
// Lines come from log4j; what stands before `allowed=` depends on its configuration and version. A line that is no audit line is another logger's;
// one that is an audit line and cannot be read is counted and shown (Report), never dropped in silence.
package namenode
