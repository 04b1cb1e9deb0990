// Package envtest has a world for tests that go through a protocol's waits and do not test them.
//
// Before it: env. After it: tests only.
//
// Invariant: a wait may end early, never late, and never with another answer than that nothing came; a protocol that reads its clock sees the
// system's.
package envtest
