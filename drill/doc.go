// Package drill breaks a job on purpose and says whether anything was lost or doubled by it.
//
// A drill runs the job undisturbed twice and records every operation on its stores. Then, for each distinct step and each fault that can meet it,
// it runs the job once more from nothing in a folder of its own: at that step the process is killed, or the store's answer is falsified, or the call
// is carried out twice, or later than it was answered, or a file is taken away. The job is started again until it has ended; what is late is carried
// out at the latest then; and what readers of the table see is held against the undisturbed run, row by row, besides the audit's own judgement.
//
// The job itself is a [Subject]: the ordinary program in child processes, or a model of a commit protocol in the tests. It meets its stores through
// [World.Resolve], which counts operations by kind and place and carries out the faults.
//
// # Invariants
//
//   - Nothing outside of the drill's own folder is changed: a call that would do so is refused, whoever makes it (World.guard).
//   - What the drill made is removed by exact names, file by file and empty folder by empty folder.
//   - A run counts as held only if it was looked at: a step that was not reached, or a run that did not end, is never "held".
//   - A fault strikes once a run. What it is to meet is named by kind, place and count, so that it is the same in every run.
package drill
