// Package conf reads the Hadoop client configuration that says where an HDFS is: core-site.xml and hdfs-site.xml of one folder, usually that of
// HADOOP_CONF_DIR.
//
// # Names
//
// A cluster is a name service (`hdfs://NS`, its NameNodes listed in the configuration) or one NameNode by address (`hdfs://host:port`). Two
// spellings of one place are one Cluster: `hdfs:///x` is the default file system's; the address of a NameNode that belongs to a configured name
// service means the name service, with failover. Several name services stay apart: each has its own NameNodes, and no call for one is ever sent
// to another.
//
// # What is read
//
// Properties with `${other}`, `${env.NAME}`, `${env.NAME:-default}` and `${env.NAME-default}` in their values; `final`, which later files do not
// override; the former names of some keys (fs.default.name, dfs.block.size).
// XInclude is refused, since leaving out what it names could lead to another cluster. Errors are fault.User and name file, key and what to set.
package conf
