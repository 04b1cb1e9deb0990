// Package sim runs whole jobs, several attempts of them at once, from one seed: simulated clock, store, broker and scheduler; the engine is the
// production code. An oracle that knows every record looks at the table from outside and trusts no log of the engine.
//
//	sched.go    coroutines: who goes on is drawn from the seed; time passes only when nobody can
//	broker.go   a source with partitions, gaps, tombstones
//	world.go    one seed's world: processes, how they end, what that means
//	story.go    what happens: calls lost, refused, repeated late; kills, pauses, power cuts, outages; outsiders (back.go, leftovers.go: operators)
//	oracle.go   what must hold (logs.go: in the logs)
//	shrink.go   a failing seed's story, made as short as it can be
//	variant.go  the known-bad variants that the oracle must catch (bad.go: those that are no part of the engine)
//
// cases_test.go plays what public reports tell (test/cases) as scripts in such a world: one thing breaks, at one place.
package sim
