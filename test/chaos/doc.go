// Package chaos kills the real program on real servers: at each failpoint of the protocol and at random, with the broker restarted in between
// and a reader of the table watching. What counts is what readers that are not ours find at the end (DuckDB, the independent verifier).
package chaos
