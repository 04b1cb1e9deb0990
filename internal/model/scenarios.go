package model

// amended is the protocol with all its rules; every request may lose its reply.
func amended(c Config) Config {
	c.LostReplies = true
	c.ListExact, c.RereadBeforeDamage, c.RewindTwoNames = true, true, true
	c.RereadJob = true
	return c
}

// answered is c where every request is answered: where a counterexample needs no lost answer, it is found sooner.
func answered(c Config) Config {
	c.LostReplies = false
	return c
}

func with(c Config, f func(*Config)) Config { f(&c); return c }

func scenarios() []scenario {
	two := amended(Config{Attempts: 2, Offsets: 2, PerCp: 2})
	three := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1})
	three1 := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, RewindBy: 1, MaxRewinds: 2})
	cut := amended(Config{Attempts: 2, Offsets: 2, PerCp: 2, PowerCuts: 1})
	rewind := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, RewindBy: 1, MaxRewinds: 1})
	rewind3 := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, RewindBy: 1, MaxRewinds: 1})
	rewindCut := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, RewindBy: 1, MaxRewinds: 1, PowerCuts: 1})
	repair := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Takes: 1, AcceptLost: true, Repairers: 2})
	repairCut := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Takes: 1, AcceptLost: true, Repairers: 1, PowerCuts: 1})
	repairRewind := with(repair, func(c *Config) { c.RewindBy, c.MaxRewinds = 1, 1 })
	takeRewind := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, Takes: 1, RewindBy: 1, MaxRewinds: 1})
	clean := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, Cleaner: true, Aborts: 1})
	logClean := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, LogCleaning: true})
	logCleanRewind := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, LogCleaning: true, RewindBy: 1, MaxRewinds: 1})
	dirs := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, OtherDir: true})
	takeOver := amended(Config{Attempts: 2, Offsets: 2, PerCp: 2, OtherDir: true, TakeOver: true, Aborts: 1})
	takeOver3 := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, OtherDir: true, TakeOver: true})
	takeOverRewind := with(takeOver, func(c *Config) { c.RewindBy, c.MaxRewinds = 1, 1 })
	damaged := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, Damages: 1, RewindBy: 1, MaxRewinds: 1})
	over := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, RenameOverwrites: true})

	var out []scenario
	good := func(name, about string, c Config) { out = append(out, scenario{name, about, proto(c), false}) }
	bad := func(name, about string, c Config) { out = append(out, scenario{name, about, proto(c), true}) }

	good("ok-two", "2 attempts, 2 offsets, 1-2 files a checkpoint", two)
	good("ok-two3", "2 attempts, 3 offsets, 1-2 files a checkpoint", with(two, func(c *Config) { c.Offsets = 3 }))
	good("ok-three", "3 attempts, 1 offset", three)
	good("ok-three2", "3 attempts, 2 offsets", with(three, func(c *Config) { c.Offsets = 2 }))
	good("ok-three1", "3 attempts, 1 offset, everyone after the first may go back, twice in all", three1)
	good("ok-cut", "2 attempts, power cut", cut)
	good("ok-cut2", "3 attempts, 1 offset, two power cuts", with(cut, func(c *Config) { c.Attempts, c.Offsets, c.PerCp, c.PowerCuts = 3, 1, 1, 2 }))
	good("ok-rewind", "2 attempts, the second may go back", rewind)
	good("ok-rewind-files", "2 attempts, 2 offsets, 1-2 files a checkpoint, the second may go back, cleaning", with(rewind, func(c *Config) { c.PerCp, c.Cleaner = 2, true }))
	good("ok-rewind3", "3 attempts, 1 offset, going back once, stopping half-way", rewind3)
	good("ok-rewind-cut", "3 attempts, 1 offset, going back, power cut", rewindCut)
	good("ok-repair", "outsider deletes a pending file, loss accepted, two repairs, 1 offset", repair)
	good("ok-repair2", "the same with 2 offsets, one repair", with(repair, func(c *Config) { c.Offsets, c.PerCp, c.Repairers = 2, 2, 1 }))
	good("ok-repair-later", "the same, 1-2 files, only the second attempt accepts", with(repair, func(c *Config) { c.Offsets, c.PerCp, c.Repairers, c.AcceptFrom = 2, 2, 1, 1 }))
	good("ok-repair-rewind", "outsider, two repairs, the second attempt goes back, 1 offset", repairRewind)
	good("ok-repair-cut", "outsider, one repair, power cut, 1 offset", repairCut)
	good("ok-take-rewind", "outsider deletes a pending file, the second attempt goes back", takeRewind)
	good("ok-clean", "3 attempts, 1 offset, aborted checkpoint, late deletes of cleaning", clean)
	good("ok-logclean", "2 attempts, entries of both logs are cleaned away", logClean)
	good("ok-logclean-rewind", "2 attempts, entries are cleaned away, going back", logCleanRewind)
	good("ok-dirs", "second checkpoint directory", dirs)
	good("ok-takeover", "second checkpoint directory with --take-over, an aborted checkpoint, 1-2 files", takeOver)
	good("ok-takeover3", "the same, a third attempt in the first directory", takeOver3)
	good("ok-takeover-rewind", "second checkpoint directory with --take-over and going back", takeOverRewind)
	good("ok-damaged", "newest metadata damaged, the second attempt may go back", damaged)
	good("ok-compact", "3 attempts, 1 offset, an outsider rewrites what is done", with(three, func(c *Config) { c.Compactor = true }))
	good("ok-overwrite", "3 attempts, 1 offset, HDFS rename that overwrites", over)
	good("ok-overwrite-rewind", "2 attempts, HDFS rename that overwrites, going back, outsider", with(takeRewind, func(c *Config) { c.RenameOverwrites = true }))
	good("ok-all", "2 attempts, 1 offset: outsider, repair, going back, power cut, cleaning", with(repairRewind, func(c *Config) { c.Repairers, c.PowerCuts, c.Cleaner = 1, 1, true }))

	bad("bad-list-any", "a greater number after an append always means fenced: a repair stops the job", with(repair, func(c *Config) { c.ListExact = false }))
	bad("bad-list-claim", "a begin or claim that went below the log's beginning means fenced, too", with(logClean, func(c *Config) { c.ListFences = true }))
	bad("bad-damage", "a target of another length stops the process without reading the log again", with(repair, func(c *Config) { c.RereadBeforeDamage = false }))
	bad("bad-rewind-names", "both copies of a file go to one name under _superseded", with(rewindCut, func(c *Config) { c.Attempts = 2; c.RewindTwoNames = false }))
	bad("bad-reread-job", "before lost only the job's log is read again, --take-over", with(takeOverRewind, func(c *Config) { c.RereadJobOnly = true }))
	bad("bad-rewind-copy", "the target of a rewind is cleaned away by a late cleaner", with(logCleanRewind, func(c *Config) { c.RewindNoCopy = true }))
	bad("bad-repair-sync", "a repair's placement is not made durable before it reports", with(repairCut, func(c *Config) { c.RepairUnsynced = true }))
	bad("bad-old-claim", "a claim by an older epoch is placed behind a newer one", answered(with(three1, func(c *Config) { c.RewindBy, c.MaxRewinds = 2, 1; c.OldClaims = true })))

	ended := func(s *State) bool { return s.job(job0, s.end(job0)).ended }
	reach := func(name, about string, c Config, f func(*State) bool) {
		c.Reach = f
		bad(name, about, c)
	}
	reach("reach-skipped", "ends after a late rename overtook the second attempt's own", two, func(s *State) bool {
		return ended(s) && s.Att[1].PC == pExited && s.Att[0].alive() && s.File[0].Flags&lateRename != 0 && s.File[0].Final == 1
	})
	reach("reach-repaired", "ends with a replacement visible", repair, func(s *State) bool { return ended(s) && s.File[0].Final > 1 })
	reach("reach-second-repair", "ends, both repairs done, one replacement visible", repair, func(s *State) bool {
		return ended(s) && s.Rep[0].PC == rOver && s.Rep[1].PC == rOver && s.File[0].Final > 1
	})
	reach("reach-rewound", "ends by the third attempt after the second stood still in the middle of the moves", answered(rewind3), func(s *State) bool {
		return ended(s) && s.Att[1].PC == pMoveFinal && s.Att[2].PC == pExited
	})
	reach("reach-cut", "ends after a power cut undid a rename", cut, func(s *State) bool {
		return ended(s) && s.Cuts == 1 && s.Att[0].PC == pDead && s.Att[0].CCp == 1 && s.Att[1].PC == pExited
	})
	reach("reach-told", "the job stops and names the lost file", takeRewind, func(s *State) bool { return s.Told != 0 && s.Att[0].PC == pLost })
	reach("reach-ghost", "an append below the log's beginning is noticed by the listing", logClean, func(s *State) bool {
		return s.Att[0].PC == pFenced && s.Cleaned[job0] > 1 && s.Att[0].JR <= s.Cleaned[job0]
	})
	reach("reach-takeover", "taken over and ended in the second directory after going back", takeOverRewind, func(s *State) bool {
		j := s.job(job1, s.end(job1))
		return j.ended && j.goings == 1 && s.Att[0].alive()
	})

	bad("bad-unknown-ok", "no nonce read-back: unknown taken for success", with(two, func(c *Config) { c.UnknownIsOK = true }))
	bad("bad-unknown-failed", "no nonce read-back: unknown taken for failure", with(two, func(c *Config) { c.UnknownIsFailed = true }))
	bad("bad-blind-append", "append at the log's end without having read it", with(two, func(c *Config) { c.BlindAppend = true }))
	bad("bad-restore-first", "restore chosen before begin is appended", with(two, func(c *Config) { c.RestoreFirst = true }))
	bad("bad-log-overwrite", "log entries placed with overwrite", with(two, func(c *Config) { c.LogOverwrites = true }))
	bad("bad-log-unsynced", "an entry's place in the folder is not durable before acting on it", with(cut, func(c *Config) { c.LogUnsynced = true }))
	bad("bad-no-list", "no listing after append, old entries are cleaned away", with(logClean, func(c *Config) { c.NoList = true }))
	bad("bad-overlap", "c+1 triggered and completed before c is done", with(two, func(c *Config) { c.Overlap = true }))
	bad("bad-cert-late", "certificate after the renames", with(two, func(c *Config) { c.CertLate = true }))
	bad("bad-no-claim", "no claim, second checkpoint directory", with(dirs, func(c *Config) { c.NoClaim, c.FreshUnchecked = true, true }))
	bad("bad-claim-late", "claim not appended before reading, --take-over", with(takeOver, func(c *Config) { c.ClaimLate = true }))
	bad("bad-claim-ignored", "a newer claim is gone behind like any entry, --take-over", with(takeOver, func(c *Config) { c.ClaimIgnored = true }))
	bad("bad-fresh-unchecked", "fresh start over a table with certificates, --take-over", with(takeOver, func(c *Config) { c.FreshUnchecked = true }))
	bad("bad-done-by-id", "done believed by id, ids given again after going back", with(rewind, func(c *Config) { c.DoneByID, c.ReuseIDs = true, true }))
	good("note-done-by-id", "done believed by id, ids never given again: no fault", with(rewind, func(c *Config) { c.DoneByID = true }))
	good("note-reuse-ids", "ids given again, done believed by hash: no fault", with(rewind, func(c *Config) { c.ReuseIDs = true }))
	bad("bad-done-early", "c counts as done without a done entry", with(amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Takes: 0, Compactor: true}), func(c *Config) { c.DoneEarly = true }))
	bad("bad-done-unsynced", "done before the renames are durable", with(cut, func(c *Config) { c.DoneBeforeSync = true }))
	bad("bad-target-first", "target looked at before the source, looked once, log not read again", with(two, func(c *Config) { c.TargetFirst, c.LookOnce, c.NoReread = true, true, true }))
	good("note-target-first-twice", "target looked at before the source, but looked twice: no fault", with(three, func(c *Config) { c.TargetFirst = true }))
	good("note-source-first-once", "source first, looked once: no fault", with(three, func(c *Config) { c.LookOnce = true }))
	bad("bad-no-reread", "the log is not read again before lost", with(rewind, func(c *Config) { c.NoReread = true }))
	bad("bad-both-unjudged", "no verdict when source and target are both there", with(cut, func(c *Config) { c.BothUnjudged = true }))
	bad("bad-old-invisible", "going back without a rewind entry when nothing newer is visible", with(rewind3, func(c *Config) { c.OldIfInvisible = true }))
	bad("bad-old-uncertified", "going back without a rewind entry when nothing newer is certified", with(rewind3, func(c *Config) { c.OldIfUncertified = true }))
	bad("bad-old-silently", "going back without a rewind entry", with(rewind3, func(c *Config) { c.OldSilently = true }))
	bad("bad-damaged-silently", "the one before a damaged checkpoint is used without a word", with(damaged, func(c *Config) { c.DamagedSilently, c.MaxRewinds = true, 0 }))
	bad("bad-rewind-pending", "rewind ignores pending files", with(rewind, func(c *Config) { c.RewindSkipsPending = true }))
	bad("bad-rewind-staged", "rewind ignores staged replacements", with(repairRewind, func(c *Config) { c.Repairers = 1; c.RewindSkipsStaged = true }))
	bad("bad-rewind-table", "rewind has no entry in the table's log", with(rewind, func(c *Config) { c.RewindNotInTable = true }))
	bad("bad-rewind-one-place", "one successful move is enough", with(rewindCut, func(c *Config) { c.Attempts = 2; c.RewindOnePlace = true }))
	bad("bad-rewind-unsynced", "moves of a rewind are not made durable", answered(with(rewindCut, func(c *Config) { c.RewindUnsynced = true })))
	bad("bad-repair-name", "repair under a new name", with(repair, func(c *Config) { c.RepairNewName = true }))
	bad("bad-repair-rewind", "a repair does not heed a rewind in the table's log", with(repairRewind, func(c *Config) { c.Repairers = 1; c.RepairIgnoresRewind = true }))
	bad("bad-clean-epoch", "cleaning by epoch number only", answered(with(clean, func(c *Config) { c.CleanByEpoch = true })))
	return append(append(out, jobScenarios()...), regionScenarios()...)
}
