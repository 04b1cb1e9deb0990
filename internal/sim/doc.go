// Package sim runs whole jobs, several attempts of them at once, from one seed: simulated clock, store, broker and scheduler; the engine is the
// production code. An oracle that knows every record looks at the table from outside and trusts no log of the engine.
//
//	sched.go    coroutines: who goes on is drawn from the seed; time passes only when nobody can
//	broker.go   a source with partitions, gaps, tombstones
//	world.go    one seed's story: attempts started, killed, paused; calls lost, refused, repeated late; an outsider
//	oracle.go   what must hold
//	variant.go  the known-bad variants that the oracle must catch
//
// cases_test.go plays what public reports tell (test/cases) as scripts in such a world: one thing breaks, at one place.
package sim
