// Package model checks the commit protocol exhaustively within small bounds: every schedule of a few attempts, tables and files, breadth first, so
// that what breaks a promise comes with a shortest schedule. It checks the rules of docs/design/rules.md, not the product's code, which
// internal/sim runs; a rule is changed here first.
//
//	check.go      breadth-first search, hashed states, schedules
//	state.go      the world: job logs, table logs, checkpoints, files, attempts, operators
//	proto.go      an attempt: what it may do next
//	world.go      what no attempt decides: late and repeated requests, outsiders, damage
//	props.go      what must hold; show.go how a schedule is told
//	regions.go    a model of its own: regions, stand-ins, aborted checkpoints
//	append.go     placing an entry, claims; goback.go going back; commit.go certificate to done
//	clean.go      the cleaning command; repair.go operators who replace lost files; cut.go power cuts
//	canonical.go  states that nobody can tell apart
//	walk.go       schedules drawn from seeds, where a space is too large to be seen whole
//	scenarios.go  bounds of each scenario; scenarios_job.go several tables, going back, cleaning; rules.go the rule that is taken away
//
// Scenarios are named by what is expected of them: ok- the protocol; bad- a rule taken away, which must give a counterexample, or the model is too
// weak; note- a rule taken away that another rule makes up for; reach- proof that an interesting state is reached at all.
//
// `go test ./internal/model` looks at the small spaces whole and at the beginning of the large ones; `make model` looks at all of them and writes
// the table of docs/design/model.md, which also says what is modelled and what is not.
package model
