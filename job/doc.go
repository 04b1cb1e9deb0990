// Package job runs one job: begin, restore, commit what was promised, read on; checkpoints; failures and restarts (PROTOCOL.md 5 and 7).
//
// One control loop owns everything: the checkpoint machine (checkpoint/protocol), the subtasks' life, the tables. Slow work (appending,
// committing, discovery) runs beside it, one activity at a time for each kind, and its outcome comes back as an event.
//
//	attempt: load log -> claim tables -> commit the newest checkpoint's promises -> discover splits -> start subtasks -> checkpoints ...
//	                                                   failure: stop all, wait for outcomes, restart strategy, next attempt
//
// Beside the attempts, and also between them, window.go watches how long what is not committed stays where it is (package guard). It decides nothing.
//
// Invariants
//   - C5: on recovery all promised files are committed before the first Poll.
//   - K1, K3: see checkpoint/protocol. An attempt ends only after its append and commit have had their outcome.
//   - P7: fault.Fenced ends the process's job at once; nothing is written after it.
package job
