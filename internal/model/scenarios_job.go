package model

// jobScenarios are those of whole jobs: several tables and subtasks, going back and keeping, starting from the tables, retention, cleaning.
func jobScenarios() []scenario {
	tables := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Tables: 2})
	apart := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Tables: 2, Splits: 2})
	subtasks := amended(Config{Attempts: 2, Offsets: 1, PerCp: 1, Splits: 2, Acks: true, Aborts: 1})
	rewind := with(tables, func(c *Config) { c.RewindBy, c.MaxRewinds = 1, 1 })
	keep := amended(Config{Attempts: 2, Offsets: 2, PerCp: 1, RewindBy: 1, MaxRewinds: 1, KeepOnly: true})
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
	good("ok-keep-tables", "2 tables, 3 attempts, going back once and keeping", with(keepTables, func(c *Config) { c.Attempts = 3 }))
	good("ok-keep-apart", "2 tables with a source each, going back once and keeping or rewinding", with(apart, func(c *Config) {
		c.RewindBy, c.MaxRewinds, c.Keep = 1, 1, true
	}))
	good("ok-from-table", "2 tables, the checkpoint directory is lost while the first attempt lives, the others go on from the tables", from)
	good("ok-from-apart", "the same, 2 attempts, a source for each table", fromApart)
	good("ok-from-table2", "the same, 1 table, 2 offsets", with(from, func(c *Config) { c.Tables, c.Offsets = 1, 2 }))
	_ = bad
	return out
}
