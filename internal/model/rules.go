package model

// ruleOf is the rule of docs/design/rules.md that a scenario takes away, by its number.
var ruleOf = map[string]string{
	"bad-log-overwrite": "1.1", "bad-unknown-ok": "1.2", "bad-unknown-failed": "1.2", "bad-blind-append": "1.3", "bad-claim-ignored": "1.3",
	"bad-list-any": "1.4", "bad-list-claim": "1.4", "bad-no-list": "1.4", "bad-log-unsynced": "1.5", "bad-rewind-copy": "7.6", "note-segment-early": "1.6",
	"bad-restore-first": "2.1", "bad-done-by-id": "2.2", "note-done-by-id": "2.2", "note-reuse-ids": "2.2", "bad-no-claim": "2.3", "bad-claim-late": "2.3",
	"bad-claim-first": "2.3", "bad-claims-cross": "2.3", "bad-claims-apart": "2.3", "bad-hidden-claim": "2.4", "bad-equal-epochs": "2.4", "bad-old-claim": "2.4", "bad-ack-missing": "4.3", "bad-overlap": "5.1", "bad-cert-late": "5.2",
	"bad-target-first": "5.3", "note-target-first-twice": "5.3", "note-source-first-once": "5.3", "bad-both-unjudged": "5.3", "bad-no-reread": "5.5", "bad-reread-job": "5.5",
	"bad-damage": "5.6", "bad-done-unsynced": "5.7", "bad-done-early": "5.8", "bad-done-by-one": "5.8", "bad-lost-first": "5.9",
	"bad-clean-epoch": "6.1", "bad-clean-completes": "6.1", "bad-clean-superseded": "6.1", "note-clean-certificates": "6.1", "bad-clean-own-log": "6.1",
	"bad-clean-newest-claim": "6.1", "bad-clean-logs-first": "6.1", "note-clean-logs-first": "6.1",
	"bad-old-invisible": "7.3", "bad-old-uncertified": "7.3", "bad-old-silently": "7.3", "bad-damaged-silently": "7.4", "bad-fresh-unchecked": "7.5",
	"bad-rewind-table": "7.6", "bad-rewind-one-table": "7.6", "bad-rewind-pending": "7.6", "bad-rewind-staged": "7.6", "bad-rewind-one-place": "7.6",
	"bad-rewind-names": "7.6", "bad-rewind-unsynced": "7.6", "bad-rewind-unfinished": "7.6", "bad-foreign-rewind": "7.6", "bad-superseded-unseen": "7.6", "bad-superseded-target": "7.6",
	"bad-keep-unfinished": "7.7", "bad-from-greatest": "7.8", "bad-repair-sync": "8.4", "bad-repair-name": "8.2", "bad-repair-rewind": "8.3",
	"bad-ack": "9", "bad-standin-aborted": "9", "bad-any-attempt": "9", "bad-no-wait": "9", "bad-restore-aborted": "9",
}
