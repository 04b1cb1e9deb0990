package model

// jobScenarios are those of whole jobs: several tables and subtasks, going back and keeping, starting from the tables, retention, cleaning.
func jobScenarios() []scenario {
	tables := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Tables: 2})
	apart := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Tables: 2, Splits: 2})
	subtasks := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Splits: 2, Acks: true, Aborts: 1})
	rewind := with(tables, func(c *Config) { c.RewindBy, c.MaxRewinds = 1, 1 })
	keep := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, RewindBy: 1, MaxRewinds: 1, KeepOnly: true})
	anyTarget := with(keep, func(c *Config) {
		c.Attempts, c.Offsets, c.MaxRewinds, c.KeepOnly, c.Keep, c.AnyTarget = 3, 1, 2, false, true, true
	})
	keepTables := with(rewind, func(c *Config) { c.KeepOnly = true })
	from := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, Tables: 2, OtherDir: true, TakeOver: true, FromTable: true})
	fromApart := with(from, func(c *Config) { c.Attempts, c.Splits = 2, 2 })

	var out []scenario
	good := func(name, about string, c Config) { out = append(out, scenario{name, about, proto(c), false}) }
	bad := func(name, about string, c Config) { out = append(out, scenario{name, about, proto(c), true}) }

	good("ok-tables", "2 tables, 2 attempts, 1 offset", tables)
	good("ok-tables2", "2 tables, 2 attempts, 2 offsets", with(tables, func(c *Config) { c.Offsets = 2 }))
	good("ok-tables-apart", "2 tables with a source each, so that a checkpoint may have nothing for one of them", apart)
	good("ok-tables-take", "2 tables, outsider deletes a pending file, nobody accepts", with(tables, func(c *Config) { c.Takes = 1 }))
	good("ok-tables-rewind", "2 tables, the second attempt may go back", rewind)
	good("ok-tables-rewind3", "2 tables, 3 attempts, going back once, stopping half-way", with(rewind, func(c *Config) { c.Attempts = 3 }))
	good("ok-tables-apart-rewind", "2 tables with a source each, going back", with(apart, func(c *Config) { c.RewindBy, c.MaxRewinds = 1, 1 }))
	good("ok-tables-takeover", "2 tables, second checkpoint directory with --take-over", with(tables, func(c *Config) { c.OtherDir, c.TakeOver = true, true }))
	good("ok-subtasks", "2 subtasks that acknowledge one after the other, a checkpoint given up", subtasks)
	good("ok-late-moves", "moves of a rewind may land late and again", with(rewind, func(c *Config) { c.Tables, c.LateMoves, c.Attempts = 1, true, 3 }))
	good("ok-keep", "the second attempt may go back and keep", keep)
	good("ok-keep3", "3 attempts, going back and keeping or rewinding, twice in all", with(keep, func(c *Config) {
		c.Attempts, c.Offsets, c.MaxRewinds, c.KeepOnly, c.Keep = 3, 1, 2, false, true
	}))
	good("ok-any-target", "the same, to superseded checkpoints as well, at most 2 lost answers", with(anyTarget, func(c *Config) { c.Losses = 2 }))
	good("ok-any-target2", "the same, 2 attempts, 2 offsets, any number of lost answers", with(anyTarget, func(c *Config) { c.Attempts, c.Offsets = 2, 2 }))
	good("ok-keep-tables", "2 tables, 3 attempts, going back once and keeping", with(keepTables, func(c *Config) { c.Attempts = 3 }))
	good("ok-keep-apart", "2 tables with a source each, going back once and keeping or rewinding", with(apart, func(c *Config) {
		c.RewindBy, c.MaxRewinds, c.Keep = 1, 1, true
	}))
	good("ok-from-table", "2 tables, the checkpoint directory is lost while the first attempt lives, the others go on from the tables", from)
	good("ok-from-apart", "the same, 2 attempts, a source for each table", fromApart)
	good("ok-from-table2", "the same, 1 table, 2 offsets", with(from, func(c *Config) { c.Tables, c.Offsets = 1, 2 }))

	logs := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, LogCleaning: true, Retain: 2, RewindBy: 1, MaxRewinds: 1, Keep: true})
	clean := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, Cleans: 1, Aborts: 1})
	cleanTables := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Tables: 2, Splits: 2, Acks: true, Cleans: 1, Aborts: 1})
	cleanBack := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Tables: 2, Cleans: 1, RewindBy: 1, MaxRewinds: 1, Keep: true})
	cleanDirs := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, Cleans: 1, OtherDir: true, BackFrom: 2, TakeOver: true, OtherBegins: 3})
	cleanFrom := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, Cleans: 1, OtherDir: true, TakeOver: true, FromTable: true, OtherBegins: 1})
	foreign := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, OtherDir: true, OtherFrom: 2, TakeOver: true, FromTable: true, RewindBy: 1, MaxRewinds: 1})

	takeBack := with(tables, func(c *Config) { c.Attempts, c.OtherDir, c.TakeOver, c.BackFrom = 3, true, true, 2 })
	copied := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, OtherDir: true, BackFrom: 2, Copied: true})

	good("ok-retain", "2 attempts, 2 offsets, entries are cleaned away, 2 checkpoints retained, going back and keeping or rewinding", logs)
	good("ok-retain-segment", "the same, 1 offset, 3 attempts", with(logs, func(c *Config) { c.Attempts, c.Offsets = 3, 1 }))
	good("ok-savepoint", "the same, to copies that no cleaning reaches, 1 retained", with(logs, func(c *Config) { c.Savepoints, c.Retain = true, 1 }))
	good("ok-after-end", "going back when the job has ended", with(logs, func(c *Config) { c.LogCleaning, c.AfterEnd = false, true }))
	good("ok-foreign-rewind", "a rewind under the first directory is half done when the third attempt goes on from the table in another one", foreign)
	good("ok-clean-command", "the cleaning command while 3 attempts run, an aborted checkpoint", clean)
	good("ok-clean-tables", "the same, 2 attempts, 2 tables and subtasks", cleanTables)
	good("ok-clean-back", "the cleaning command while the second attempt goes back, 2 tables", cleanBack)
	good("ok-clean-dirs", "the cleaning command, a second checkpoint directory with greater epochs takes over, the first one takes back", cleanDirs)
	good("ok-clean-from", "the cleaning command, going on from the table in another directory", cleanFrom)
	good("note-segment-early", "a segment is made before a checkpoint completes behind a going back: the order is put into the table's log again", with(logs, func(c *Config) { c.Attempts, c.SegmentEarly = 3, true }))
	good("note-clean-certificates", "the cleaning command ignores what certificates name: their completes name it", with(cleanBack, func(c *Config) { c.CleanIgnoresCertificates = true }))
	good("note-clean-logs-first", "the cleaning command reads the logs before it lists, one checkpoint directory: no fault", with(clean, func(c *Config) { c.CleanLogsFirst = true }))

	good("ok-tables-takeback", "2 tables, a second checkpoint directory takes over, the first one takes back at the same time", takeBack)
	good("ok-tables-takeback-rewind", "the same, and one of them may go back, at most 1 lost answer", with(takeBack, func(c *Config) { c.RewindBy, c.MaxRewinds, c.Losses = 1, 1, 1 }))
	good("ok-tables-logclean", "2 tables, entries of all logs are cleaned away, going back", with(rewind, func(c *Config) { c.LogCleaning, c.Keep = true, true }))
	good("ok-retain3", "3 attempts, 2 offsets, 3 checkpoints retained, going back and keeping", with(logs, func(c *Config) { c.Offsets, c.Retain, c.KeepOnly, c.Attempts = 2, 3, true, 3 }))
	good("ok-copied", "the second attempt goes on from a copy of the checkpoint directory, the third with the original", copied)
	good("ok-copied2", "the same, the second and third with the copy, 2 offsets", with(copied, func(c *Config) { c.BackFrom, c.Offsets = 0, 2 }))

	good("ok-tables-cut", "2 tables, 2 attempts, power cut", with(tables, func(c *Config) { c.PowerCuts = 1 }))
	good("ok-tables-rewind-cut", "2 tables, 3 attempts, going back once, power cut, at most 2 lost answers", with(rewind, func(c *Config) { c.Attempts, c.PowerCuts, c.Losses = 3, 1, 2 }))
	good("ok-keep-cut", "going back and keeping, 3 attempts, 1 offset, power cut", with(keep, func(c *Config) { c.Attempts, c.Offsets, c.PowerCuts = 3, 1, 1 }))
	good("ok-keep-take", "going back and keeping, outsider deletes a pending file, losses are accepted", with(keep, func(c *Config) { c.Takes, c.AcceptLost = 1, true }))
	good("ok-from-cut", "2 tables, going on from the tables, power cut, at most 2 lost answers", with(from, func(c *Config) { c.PowerCuts, c.Losses = 1, 2 }))
	good("ok-subtasks-cut", "2 subtasks, the second attempt may go back, power cut", with(subtasks, func(c *Config) { c.PowerCuts, c.RewindBy, c.MaxRewinds = 1, 1, 1 }))

	good("ok-copied-rewind", "the second attempt may go back from a copy, the third takes over with the original", with(copied, func(c *Config) {
		c.TakeOver, c.RewindBy, c.MaxRewinds, c.Keep = true, 1, 1, true
	}))
	good("ok-copied-rewind2", "the second and third attempt may go back from a copy, 2 offsets, at most 1 lost answer", with(copied, func(c *Config) {
		c.TakeOver, c.RewindBy, c.MaxRewinds, c.BackFrom, c.Offsets, c.Losses = true, 1, 1, 0, 2, 1
	}))

	bad("bad-claims-cross", "a take-over does not look again at the tables that it claimed first", answered(with(takeBack, func(c *Config) { c.ClaimsCross = true })))
	bad("bad-claims-apart", "the same with going back: B claims the first table, C both, and ends; B claims the second", answered(with(takeBack, func(c *Config) {
		c.ClaimsCross, c.RewindBy, c.MaxRewinds, c.SafetyOnly = true, 1, 1, true
	})))
	bad("bad-hidden-claim", "a newer attempt's claim is not seen behind another log's, two take-overs at the same time", answered(with(takeBack, func(c *Config) { c.Tables, c.NewestClaimOnly = 1, true })))
	bad("bad-equal-epochs", "a claim of another process with the same epoch, from a copy of the log, is gone behind", answered(with(copied, func(c *Config) { c.EqualEpochs = true })))
	bad("bad-claim-first", "only the first table is claimed", with(rewind, func(c *Config) { c.ClaimFirstOnly = true }))
	bad("bad-done-by-one", "done in one table counts for all", with(tables, func(c *Config) { c.DoneByOne = true }))
	bad("bad-lost-first", "a lost file stops the job before the other tables' files are committed", with(tables, func(c *Config) { c.Takes, c.LostStopsAtOnce = 1, true }))
	bad("bad-ack-missing", "a checkpoint completes without a subtask's acknowledgement", with(subtasks, func(c *Config) { c.AckMissing = true }))
	bad("bad-rewind-one-table", "a rewind has an entry in the first table's log only", with(rewind, func(c *Config) { c.RewindFirstTable, c.ChainUnchecked = true, true }))
	bad("bad-rewind-unfinished", "a restart does not finish a rewind", answered(with(rewind, func(c *Config) { c.Attempts, c.Tables, c.RewindNotFinished = 3, 1, true })))
	bad("bad-foreign-rewind", "a rewind that another job log ordered is not finished", answered(with(foreign, func(c *Config) { c.ForeignUnfinished = true })))
	bad("bad-superseded-unseen", "a checkpoint whose certificate a rewind took back is restored as if it had not been certified yet", answered(with(takeBack, func(c *Config) {
		c.Tables, c.RewindBy, c.MaxRewinds, c.SupersededUnseen = 1, 1, 1, true
	})))
	bad("bad-superseded-target", "the same with a person who goes back to such a checkpoint", answered(with(anyTarget, func(c *Config) { c.SupersededUnseen = true })))
	bad("bad-keep-unfinished", "a certificate that is kept and not done is left as it is", with(keep, func(c *Config) { c.KeptUnfinished = true }))
	bad("bad-from-greatest", "from the tables: the greatest position of any table counts", with(from, func(c *Config) { c.FromGreatest = true }))
	bad("bad-clean-completes", "the cleaning command ignores what completes name", with(clean, func(c *Config) { c.Attempts, c.CleanIgnoresCompletes = 2, true }))
	bad("bad-clean-superseded", "the cleaning command ignores completes that a going back superseded", answered(with(cleanBack, func(c *Config) { c.KeepOnly, c.CleanIgnoresSuperseded = true, true })))
	bad("bad-clean-own-log", "the cleaning command asks its own job log only", answered(with(cleanDirs, func(c *Config) { c.CleanOwnLog = true })))
	bad("bad-clean-newest-claim", "the cleaning command asks the job log of the newest claim only", with(cleanDirs, func(c *Config) { c.LostReplies, c.CleanNewestClaim = false, true }))
	bad("bad-clean-logs-first", "the cleaning command reads the logs before it lists, two checkpoint directories", answered(with(cleanDirs, func(c *Config) { c.CleanLogsFirst = true })))

	reach := func(name, about string, c Config, f func(*State) bool) {
		c.Reach = f
		bad(name, about, c)
	}
	reach("reach-kept-twice", "ends with an offset visible twice because somebody kept it", keep, func(s *State) bool {
		return s.job(job0, s.end(job0)).ended && s.visible(0, 1) == 2
	})
	reach("reach-apart", "goes on from tables whose chains end at different checkpoints, and ends", fromApart, func(s *State) bool {
		return s.job(job1, s.end(job1)).ended && s.Cp[s.Att[1].Head-1].Parent != 0 && s.Cp[0].Expect != s.Cp[s.Cp[s.Att[1].Head-1].Parent-1].Expect
	})
	reach("reach-from-refused", "refuses to go on from tables that do not agree", from, func(s *State) bool {
		return s.Att[1].PC == pRefused && s.Att[1].TR[1] != 0
	})
	reach("reach-between-tables", "ends after an attempt died between the rewinds of the two tables", with(rewind, func(c *Config) { c.Attempts, c.LostReplies = 3, false }), func(s *State) bool {
		b := &s.Att[1]
		return s.job(job0, s.end(job0)).ended && b.PC == pAppend && b.AKind == kRewind && b.Lg == tab0+1 && s.Att[2].PC == pExited
	})
	reach("reach-fenced-in-one", "is fenced in the second table after its commit to the first was done", tables, func(s *State) bool {
		return s.Att[0].PC == pFenced && s.Att[0].Tab == 1
	})
	reach("reach-cleaned", "a file of an ended attempt is removed and the job ends", with(clean, func(c *Config) { c.Attempts = 2 }), func(s *State) bool {
		if !s.job(job0, s.end(job0)).ended {
			return false
		}
		for i := range s.NFile {
			if f := &s.File[i]; f.Flags&lateDelete != 0 && f.Stage == 0 && f.Final == 0 {
				return true
			}
		}
		return false
	})
	return out
}
