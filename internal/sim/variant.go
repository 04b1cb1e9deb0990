package sim

import (
	"staunch/account"
	"staunch/checkpoint"
	cp "staunch/checkpoint/protocol"
	"staunch/clean"
	"staunch/commit"
	"staunch/commit/protocol"
	"staunch/connector"
	"staunch/fs"
	"staunch/job"
	logp "staunch/log/protocol"
)

// Variant is the protocol with a rule taken away, and with the checks in the engine that would notice it before a reader of the table does.
type Variant struct {
	Name string
	// Rule is the number of the rule in docs/design/rules.md, Without what is missing.
	Rule, Without string
	job           job.Variant
	clean         clean.Variant
	// overlap: the next checkpoint is triggered before the one before is done.
	overlap bool
	// wrap goes around each sink, store around each process's store, if not nil.
	wrap  func(*world, *lake, connector.Sink) connector.Sink
	store func(fs.FS) fs.FS
	// rewrites: success files are written anew. twoSinks: two INSERTs into one path are two sinks. assigned: see broker.
	rewrites, twoSinks, assigned bool
}

// Protocol is the protocol as it is.
var Protocol = Variant{Name: "protocol", Without: "nothing"}

// file, table, store, appending and prepare make variants of one package.
func file(v protocol.Variant) job.Variant { return table(commit.Variant{File: v}) }

func table(v commit.Variant) job.Variant { return job.Variant{Commit: v} }

func store(v checkpoint.Variant) job.Variant { return job.Variant{Store: v} }

func appending(v logp.Variant) job.Variant {
	return job.Variant{Commit: commit.Variant{Log: v}, Store: checkpoint.Variant{Log: v}}
}

type prepare = func(connector.Writer, connector.Context, account.CheckpointID) ([]connector.Committable, func() error, error)

func wrapped(p prepare) func(*world, *lake, connector.Sink) connector.Sink {
	return func(_ *world, _ *lake, s connector.Sink) connector.Sink { return preparing{s, p} }
}

// blind is without the check that a state fits the tables.
func blind(v job.Variant) job.Variant {
	v.Commit.NoChain = true
	return v
}

// KnownBad are the variants that the oracle must catch.
var KnownBad = []Variant{
	{Name: "overwrite", Rule: "1.1", Without: "an entry is placed without overwriting", job: appending(logp.Variant{Overwrite: true})},
	{Name: "unknown-is-ok", Rule: "1.2", Without: "after an unknown outcome the slot is read: it counts as success", job: appending(logp.Variant{TrustUnknownAsOk: true})},
	{Name: "unknown-is-failed", Rule: "1.2", Without: "after an unknown outcome the slot is read: it counts as failure", job: appending(logp.Variant{TrustUnknownAsFailed: true})},
	{Name: "no-fence", Rule: "1.3", Without: "a newer begin or claim ends the older attempt",
		job: job.Variant{Commit: commit.Variant{NoFence: true}, Store: checkpoint.Variant{NoFence: true}}},
	{Name: "no-fence-job", Rule: "1.3", Without: "a newer begin ends the older attempt", job: store(checkpoint.Variant{NoFence: true})},
	{Name: "no-list", Rule: "1.4", Without: "after an append the log is listed once", job: appending(logp.Variant{NoList: true})},
	{Name: "below-fences", Rule: "1.4", Without: "a begin or claim below the log's beginning is appended again: the attempt ends",
		job: job.Variant{Commit: commit.Variant{BelowFences: true}, Store: checkpoint.Variant{BelowFences: true}}},
	{Name: "number-fences", Rule: "1.4", Without: "an operator's entry behind one's own is no fence", job: table(commit.Variant{NumberFences: true})},
	{Name: "log-unsynced", Rule: "1.5", Without: "the log's folder is durable before an entry is acted on", job: appending(logp.Variant{NoSync: true})},
	{Name: "clean-newest", Rule: "1.6", Without: "cleaning keeps the newest complete and what follows",
		job: blind(job.Variant{NoFresh: true, Commit: commit.Variant{AnyLog: true}, Store: checkpoint.Variant{CleanNewest: true}})},
	{Name: "unknown-given-up", Rule: "1.7", Without: "nothing is given up while an append's outcome is unknown", job: job.Variant{UnknownIsFailed: true}},

	{Name: "restore-first", Rule: "2.1", Without: "begin stands before what is restored is chosen", job: blind(store(checkpoint.Variant{RestoreFirst: true}))},
	{Name: "done-by-id", Rule: "2.2", Without: "done counts for the certificate that it names, and completed ids are never given again",
		job: job.Variant{Commit: commit.Variant{DoneByID: true}, ReuseIDs: true}},
	{Name: "no-claim", Rule: "2.3", Without: "an attempt claims each table before it reads or commits", job: table(commit.Variant{NoClaim: true, NoChain: true})},
	{Name: "no-recheck", Rule: "2.3", Without: "after the last claim every table is still this attempt's", job: job.Variant{NoRecheck: true}},
	{Name: "old-claim", Rule: "2.4", Without: "an older epoch does not claim behind a newer one", job: table(commit.Variant{NoOlder: true})},
	{Name: "any-log", Rule: "2.5", Without: "another log's claim is refused", job: table(commit.Variant{AnyLog: true})},
	{Name: "other-jobs", Rule: "2.6", Without: "another job over the same splits is refused", job: table(commit.Variant{NoOthers: true})},
	{Name: "two-sinks", Rule: "2.7", Without: "all INSERTs into one path are one sink", twoSinks: true, job: job.Variant{Commit: commit.Variant{AnyFiles: true}}},

	{Name: "plain-names", Rule: "3.1", Without: "only visible files end in .<ext>", wrap: wrapped(plainNames.prepare),
		store: func(s fs.FS) fs.FS { return renamingStore{s, plainNames} }},
	{Name: "same-names", Rule: "3.2", Without: "names have the epoch and a random part", wrap: wrapped(sameNames.prepare),
		store: func(s fs.FS) fs.FS { return renamingStore{s, sameNames} }},
	{Name: "commit-folder", Rule: "3.3", Without: "commit moves only what the state names", job: table(commit.Variant{ListFolder: true})},

	{Name: "delete-before-write", Rule: "4.1", Without: "nothing is deleted so that it can be written",
		wrap: func(w *world, l *lake, s connector.Sink) connector.Sink { return deleting{s, w, l} }},
	{Name: "keep-open", Rule: "4.2", Without: "every file ends at the barrier", wrap: wrapped(keepOpen)},
	{Name: "ack-first", Rule: "4.3", Without: "files are durable before the acknowledgement", wrap: wrapped(ackFirst)},
	{Name: "same-create", Rule: "4.4", Without: "after a lost create the name is a new one", store: func(s fs.FS) fs.FS { return againStore{s} }},

	{Name: "overlap", Rule: "5.1", Without: "c+1 is triggered only when c is done", overlap: true},
	{Name: "commit-first", Rule: "5.2", Without: "complete stands before the certificate",
		job: blind(job.Variant{CommitFirst: true, Commit: commit.Variant{Early: true}})},
	{Name: "certificate-last", Rule: "5.2", Without: "the certificate stands before the first rename", job: table(commit.Variant{CertificateLast: true})},
	{Name: "target-first", Rule: "5.3", Without: "the source is looked at first", job: file(protocol.Variant{TargetFirst: true})},
	{Name: "look-once", Rule: "5.3", Without: "a file is lost only when it was missing three times", job: file(protocol.Variant{LookOnce: true})},
	{Name: "missing-is-done", Rule: "5.4", Without: "both places missing is lost, not done", job: file(protocol.Variant{MissingIsDone: true})},
	{Name: "no-reread", Rule: "5.5", Without: "the table's log is read again before a file is called lost or damaged", job: file(protocol.Variant{NoReread: true})},
	{Name: "any-length", Rule: "5.6", Without: "a target of another length is damage", job: file(protocol.Variant{AnyLength: true})},
	{Name: "done-unsynced", Rule: "5.7", Without: "renames are durable before done", job: table(commit.Variant{NoSync: true})},
	{Name: "done-ignored", Rule: "5.8", Without: "what is done stands", job: table(commit.Variant{IgnoreDone: true})},
	{Name: "lost-goes-on", Rule: "5.9", Without: "a loss stops the job", job: table(commit.Variant{LostGoesOn: true})},
	{Name: "lost-first", Rule: "5.9", Without: "the other files of the checkpoint are committed before a loss is reported", job: table(commit.Variant{LostFirst: true})},
	{Name: "success-first", Rule: "5.10", Without: "a partition is declared complete only after its files are there", job: job.Variant{SuccessFirst: true}},
	{Name: "success-lost", Rule: "5.10", Without: "a partition with a lost file is not declared complete", job: job.Variant{SuccessLost: true}},
	{Name: "success-rewritten", Rule: "5.10", Without: "a success file is never rewritten", rewrites: true},

	{Name: "clean-takes-named", Rule: "6.1", Without: "what a completed checkpoint or a certificate names is not cleaned up", clean: clean.Variant{Named: true}},
	{Name: "clean-takes-running", Rule: "6.1", Without: "files of the newest attempt are not cleaned up", clean: clean.Variant{Running: true}},
	{Name: "clean-own-log", Rule: "6.1", Without: "an epoch must be over in every log that has claimed the table", clean: clean.Variant{OwnLog: true}},
	{Name: "clean-logs-first", Rule: "6.1", Without: "the logs are read after the listing", clean: clean.Variant{LogsFirst: true}},
	{Name: "discard", Rule: "6.2", Without: "no folder with files is deleted", job: job.Variant{Discard: true}},

	{Name: "read-first", Rule: "7.1", Without: "what the restored checkpoint promises is committed before the first poll", job: job.Variant{ReadFirst: true}},
	{Name: "assigned-for-ever", Rule: "7.2", Without: "what is assigned is derived from the readers' own lists", assigned: true},
	{Name: "older-silently", Rule: "7.3", Without: "only the newest complete is restored without a word", job: blind(store(checkpoint.Variant{Older: true}))},
	{Name: "past-damage", Rule: "7.4", Without: "a damaged newest checkpoint stops the job", job: blind(store(checkpoint.Variant{PastDamage: true}))},
	{Name: "fresh-over-output", Rule: "7.5", Without: "a start from nothing over output is refused", job: job.Variant{NoFresh: true}},

	{Name: "rewind-no-copy", Rule: "7.6", Without: "a rewind has a copy of its target", job: store(checkpoint.Variant{NoCopy: true})},
	{Name: "rewind-no-entry", Rule: "7.6", Without: "the table's log has the rewind before anything moves", job: blind(table(commit.Variant{NoSupersede: true}))},
	{Name: "rewind-final-only", Rule: "7.6", Without: "superseded files leave the temporary place, too", job: file(protocol.Variant{FinalOnly: true})},
	{Name: "rewind-pending-only", Rule: "7.6", Without: "superseded files leave the final place, too", job: file(protocol.Variant{PendingOnly: true})},
	{Name: "rewind-unsynced", Rule: "7.6", Without: "a rewind's moves are durable before it counts as carried out", job: table(commit.Variant{WithdrawUnsynced: true})},
	{Name: "rewind-unfinished", Rule: "7.6", Without: "an unfinished rewind is finished first", job: blind(job.Variant{NoFinish: true})},
	{Name: "rewind-skips-staged", Rule: "7.6", Without: "replacements that repairs staged leave the temporary place, too", job: table(commit.Variant{RewindSkipsStaged: true})},
	{Name: "keep-no-entry", Rule: "7.7", Without: "a keep entry excuses the overlap", job: blind(table(commit.Variant{NoKeep: true}))},

	{Name: "ranges-only", Rule: "8.1", Without: "files have exact sets of offsets", wrap: wrapped(rangesOnly)},
	{Name: "repair-new-name", Rule: "8.2", Without: "a replacement goes to the lost file's own name", job: table(commit.Variant{RepairNewName: true})},
	{Name: "repair-no-entry", Rule: "8.2", Without: "an entry names the replacement before it goes to its place", job: table(commit.Variant{RepairNoEntry: true})},
	{Name: "repair-over-rewind", Rule: "8.3", Without: "a rewind in the table's log stops a repair", job: table(commit.Variant{RepairIgnoresRewind: true})},
	{Name: "repair-unsynced", Rule: "8.4", Without: "a replacement is durable in its place before that is reported", job: table(commit.Variant{RepairUnsynced: true})},
	{Name: "copy", Rule: "12", Without: "a file becomes visible whole", job: table(commit.Variant{Copy: true})},
}

// MadeUpFor are variants that do no harm, since another rule makes up for the one that is missing; docs/design/rules.md says which.
var MadeUpFor = []Variant{
	{Name: "rewind-final-first", Rule: "7.6", Without: "superseded files leave the temporary place first", job: file(protocol.Variant{FinalFirst: true})},
}

func (v Variant) options(o cp.Options) cp.Options {
	o.Overlap = v.overlap
	return o
}
