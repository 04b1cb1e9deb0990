package sim

import (
	"staunch/checkpoint"
	cp "staunch/checkpoint/protocol"
	"staunch/commit"
	"staunch/commit/protocol"
	"staunch/job"
	logp "staunch/log/protocol"
)

// Variant is the protocol with a rule taken away.
type Variant struct {
	Name string
	// Rule says what is missing.
	Rule string
	job  job.Variant
	// overlap: the next checkpoint is triggered before the one before is done.
	overlap bool
	// deleteFirst: each task empties its folder of the next checkpoint before it writes there.
	deleteFirst bool
}

// Protocol is the protocol as it is.
var Protocol = Variant{Name: "protocol", Rule: "nothing is missing"}

// KnownBad are the variants that the oracle must catch.
var KnownBad = []Variant{
	{Name: "delete-before-write", Rule: "P2: nothing is deleted so that it can be written", deleteFirst: true},
	{Name: "missing-is-done", Rule: "PROTOCOL.md 5.3: both places missing is lost, not done",
		job: job.Variant{Commit: commit.Variant{File: protocol.Variant{MissingIsDone: true}}}},
	{Name: "overlap", Rule: "K1: c+1 is triggered only when c is done", overlap: true},
	{Name: "no-fence", Rule: "P7: a newer begin or claim ends the older attempt",
		job: job.Variant{Commit: commit.Variant{NoFence: true}, Store: checkpoint.Variant{NoFence: true}}},
	{Name: "certificate-last", Rule: "PROTOCOL.md 5.2: the certificate stands before the first rename",
		job: job.Variant{Commit: commit.Variant{CertificateLast: true}}},
	{Name: "target-first", Rule: "PROTOCOL.md 5.3: the source is looked at first",
		job: job.Variant{Commit: commit.Variant{File: protocol.Variant{TargetFirst: true}}}},
	{Name: "no-list", Rule: "PROTOCOL.md 1: after an append the log is listed once",
		job: job.Variant{Commit: commit.Variant{Log: logp.Variant{NoList: true}}, Store: checkpoint.Variant{Log: logp.Variant{NoList: true}}}},
	{Name: "unknown-is-ok", Rule: "PROTOCOL.md 1: after an unknown outcome the slot is read",
		job: job.Variant{Commit: commit.Variant{Log: logp.Variant{TrustUnknownAsOk: true}}, Store: checkpoint.Variant{Log: logp.Variant{TrustUnknownAsOk: true}}}},
}

func (v Variant) options(o cp.Options) cp.Options {
	o.Overlap = v.overlap
	return o
}
