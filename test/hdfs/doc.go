// Package hdfs runs jobs on a real HDFS pair of NameNodes and takes things away from them: replies, calls, NameNodes, DataNodes, space. It is
// where the incident of docs/design/01-origin.md is played back: a delete that arrives late, before the old protocol and before this one.
//
//	incident_test.go   the incident, before and after
//	reply_test.go      each mutating call of the client: reply lost, request lost, request late, late and forgotten
//	job_test.go        the same in jobs; pipelines that break
//	failover_test.go   the active NameNode goes away in the middle of a call; a file that lies idle
//	away_test.go       both NameNodes, DataNodes, safe mode, quotas
//	case02_test.go     a file that the NameNode does not find complete
//	refuse_test.go     places where no table can be; several writers of one table
//
// Jobs run in this process where a test needs to hold one of their calls (rig), and as the real program elsewhere (program). What a table
// holds is counted by DuckDB over WebHDFS, which shares no code with Staunch.
//
// Nothing here sleeps for a while and hopes: a test awaits what it needs (a call seen by the proxy, the NameNode's answer to it, a
// committed checkpoint), and the clock of a job that is to take its next checkpoint is set forward.
package hdfs
