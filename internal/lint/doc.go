// Package lint keeps the source tree in the shape that the simulation and the reader rely on.
//
// `go test ./internal/lint` reads every file once and reports:
//
//   - imports that go upwards or across, by layers.txt;
//   - time, chance, goroutines, disk and network met in any other way than through packages env and fs: one such call, and a
//     seed of the simulation does not replay;
//   - impure */protocol packages: they are state machines of events in and actions out, checked exhaustively elsewhere;
//   - packages without doc.go, files that gofmt would change;
//   - words that do not belong into a public source tree, by words.txt (paths of one machine, hosts of registries);
//   - tests that sleep, and tests against real servers that skip.
//
// Rules are syntactic: nothing is type-checked, so that a run takes well under a second. What they forbid in general and allow in
// one place is a line of layers.txt with its reason, never a comment in the code.
package lint
