// Package failpoint names the steps of the protocol at which a process may be killed, and kills it there on request.
//
// Built with the tag `failpoint`, the variable STAUNCH_FAILPOINT=name[:n] makes the process end itself with SIGKILL when it reaches the
// point for the n-th time (default 1). Without the tag Hit is empty. Hits tells how often each was reached:
// the simulation prints it.
package failpoint
