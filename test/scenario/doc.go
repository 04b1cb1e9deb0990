// Package scenario runs the real program as a user does, from a statement file, and looks at what the user sees: the exit code, the messages,
// the files. Each test is one thing that a user does or that happens to them. Nothing of the program is called from inside.
//
// Files without a build tag need no server (their source is datagen); those with the tag peer read a real Kafka, which test/peer starts. Rows
// are read from the visible files by the standard library, which shares no code with the program. A case of test/cases says which test runs it.
package scenario
