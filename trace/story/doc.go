// Package story tells what became of a file, a folder, a checkpoint or a record: from a job's trace (package trace), the logs of its tables (package
// commit), the audit logs of the NameNodes (package trace/namenode) and a look at what is there now. It reads only.
//
// The tables' logs are proof; the trace is what the job saw; an audit log is what the NameNode did. Where they contradict each other the story says
// so and leaves the judgement to the reader. A cause is named with what speaks for it, and is called unknown where nothing does.
package story
