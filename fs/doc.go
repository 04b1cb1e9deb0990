// Package fs is what Staunch needs of a file store, and no more: no call overwrites, no call removes more than one file or one empty
// folder. Implementations: fs/local, fs/mem (a store with HDFS's habits, for tests and simulation).
//
// Paths are absolute and slash-separated, without scheme; a store is chosen by the scheme before (see Resolver).
//
// Invariants
//   - F1: any call may take effect twice, the second time late, because stores' clients retry. Code must be right anyway.
//   - F2: no call overwrites or truncates.
//   - An error that is none of the sentinels below says nothing about whether the call took effect.
package fs
