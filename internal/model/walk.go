package model

import "math/rand/v2"

// walk follows one schedule drawn from the seed to its end, or for most steps, where a space is too large to be seen whole. Who took a step mostly
// takes the next one as well, so that much gets done between two others' steps; how often not is drawn, too. It gives what broke and the schedule;
// nothing broke where the bounds of the arrays ended the walk.
func walk[S comparable](m Model[S], seed uint64, most int) (what string, schedule []string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := m.Init()
	last, switches := uint8(0), 2+rng.IntN(40)
	type step struct {
		to S
		l  Label
	}
	var next []step
	for range most {
		next = next[:0]
		m.Next(&s, func(n S, l Label) {
			if n != s {
				next = append(next, step{n, l})
			}
		})
		if len(next) == 0 {
			return m.Stuck(&s), schedule
		}
		if rng.IntN(switches) != 0 {
			own := next[:0:0]
			for _, c := range next {
				if c.l.Who == last {
					own = append(own, c)
				}
			}
			if len(own) > 0 {
				next = own
			}
		}
		c := next[rng.IntN(len(next))]
		last = c.l.Who
		schedule = append(schedule, m.Show(c.l))
		if what = m.CheckStep(&s, &c.to, c.l); what == "" {
			what = m.Check(&c.to)
		}
		if what == badNames[badBound] {
			return "", schedule
		}
		if what != "" {
			return what, schedule
		}
		s = c.to
	}
	return "", schedule
}

// walks are configurations with many things at once, by name.
func walks() map[string]Config {
	all := amended(Config{Attempts: 3, Offsets: 1, PerCp: 1, Tables: 2, LateMoves: true, RewindBy: 1, MaxRewinds: 2, Keep: true, AnyTarget: true, AfterEnd: true,
		Cleans: 1, Aborts: 1, LogCleaning: true, Retain: 2, Savepoints: true})
	return map[string]Config{
		"all":     all,
		"cut":     with(all, func(c *Config) { c.PowerCuts, c.LateMoves = 1, false }),
		"apart":   with(all, func(c *Config) { c.Splits, c.Acks, c.LateMoves = 2, true, false }),
		"dirs":    with(all, func(c *Config) { c.OtherDir, c.TakeOver, c.BackFrom, c.OtherBegins = true, true, 2, 1 }),
		"from":    with(all, func(c *Config) { c.OtherDir, c.TakeOver, c.FromTable = true, true, true }),
		"from2":   with(all, func(c *Config) { c.OtherDir, c.OtherFrom, c.TakeOver, c.FromTable, c.Tables = true, 2, true, true, 1 }),
		"copied":  with(all, func(c *Config) { c.OtherDir, c.TakeOver, c.BackFrom, c.Copied, c.Cleans = true, true, 2, true, 0 }),
		"one":     with(all, func(c *Config) { c.Tables, c.Offsets = 1, 2 }),
		"outside": with(all, func(c *Config) { c.Takes, c.AcceptLost, c.Compactor = 1, true, true }),
		"damage":  with(all, func(c *Config) { c.Damages, c.PowerCuts, c.LateMoves = 1, 1, false }),
	}
}
