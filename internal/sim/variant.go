package sim

import (
	"staunch/checkpoint"
	cp "staunch/checkpoint/protocol"
	"staunch/clean"
	"staunch/commit"
	"staunch/commit/protocol"
	"staunch/connector"
	"staunch/job"
	logp "staunch/log/protocol"
)

// Variant is the protocol with a rule taken away.
type Variant struct {
	Name string
	// Rule is the number of the rule in docs/design/rules.md, Without what is missing.
	Rule, Without string
	job           job.Variant
	clean         clean.Variant
	// overlap: the next checkpoint is triggered before the one before is done.
	overlap bool
	// wrap goes around each sink, if not nil.
	wrap func(*world, *lake, connector.Sink) connector.Sink
}

// Protocol is the protocol as it is.
var Protocol = Variant{Name: "protocol", Without: "nothing"}

// KnownBad are the variants that the oracle must catch.
var KnownBad = []Variant{
	{Name: "delete-before-write", Rule: "4.1", Without: "nothing is deleted so that it can be written", wrap: func(w *world, l *lake, s connector.Sink) connector.Sink { return deleting{s, w, l} }},
	{Name: "missing-is-done", Rule: "5.4", Without: "both places missing is lost, not done",
		job: job.Variant{Commit: commit.Variant{File: protocol.Variant{MissingIsDone: true}}}},
	{Name: "overlap", Rule: "5.1", Without: "c+1 is triggered only when c is done", overlap: true},
	{Name: "no-fence", Rule: "1.3", Without: "a newer begin or claim ends the older attempt",
		job: job.Variant{Commit: commit.Variant{NoFence: true}, Store: checkpoint.Variant{NoFence: true}}},
	{Name: "certificate-last", Rule: "5.2", Without: "the certificate stands before the first rename",
		job: job.Variant{Commit: commit.Variant{CertificateLast: true}}},
	{Name: "target-first", Rule: "5.3", Without: "the source is looked at first",
		job: job.Variant{Commit: commit.Variant{File: protocol.Variant{TargetFirst: true}}}},
	{Name: "no-list", Rule: "1.4", Without: "after an append the log is listed once",
		job: job.Variant{Commit: commit.Variant{Log: logp.Variant{NoList: true}}, Store: checkpoint.Variant{Log: logp.Variant{NoList: true}}}},
	{Name: "unknown-is-ok", Rule: "1.2", Without: "after an unknown outcome the slot is read",
		job: job.Variant{Commit: commit.Variant{Log: logp.Variant{TrustUnknownAsOk: true}}, Store: checkpoint.Variant{Log: logp.Variant{TrustUnknownAsOk: true}}}},
	{Name: "clean-takes-named", Rule: "6.1", Without: "what a completed checkpoint or a certificate names is not cleaned up", clean: clean.Variant{Named: true}},
	{Name: "clean-takes-running", Rule: "6.1", Without: "files of the newest attempt are not cleaned up", clean: clean.Variant{Running: true}},
	{Name: "clean-own-log", Rule: "6.1", Without: "an epoch must be over in every log that has claimed the table", clean: clean.Variant{OwnLog: true}},
	{Name: "clean-logs-first", Rule: "6.1", Without: "the logs are read after the listing", clean: clean.Variant{LogsFirst: true}},
}

func (v Variant) options(o cp.Options) cp.Options {
	o.Overlap = v.overlap
	return o
}
