//go:build peer

package chaos

import "staunch/test/peer"

// fault is something that happens to HDFS while the job runs.
type fault struct {
	name     string
	failover bool // another NameNode is active afterwards
	// begin returns when the fault is there; a failover's new active NameNode answers then. end makes good what is broken.
	begin func(h *peer.HDFS) (end func())
}

// faults are taken in turn.
var faults = []fault{
	{"graceful failover", true, func(h *peer.HDFS) func() {
		h.Failover()
		return func() {}
	}},
	{"active killed", true, func(h *peer.HDFS) func() {
		killed := h.KillActive()
		return func() { h.Restart(killed) }
	}},
	// the old one wakes up later, with calls that it had taken in and the belief that it is active
	{"active stopped", true, func(h *peer.HDFS) func() {
		stopped := h.Active()
		h.Kill(stopped, "STOP")
		h.Activate(peer.Other(stopped))
		return func() {
			h.Kill(stopped, "CONT")
			h.Demote(stopped)
		}
	}},
	{"DataNode killed", false, func(h *peer.HDFS) func() {
		h.Kill("dn2", "KILL")
		return func() { h.Restart("dn2") }
	}},
}
