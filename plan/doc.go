// Package plan turns the statements of a file into jobs: tables, bound and typed INSERTs, pruned sources, chains (dataflow.Graph). What it makes
// runs in package job. Plug-ins are handed in (Registry).
//
// Rules
//   - The INSERTs of one STATEMENT SET are one job; each INSERT outside is a job of its own.
//   - A source table is read once a job, whatever the number of INSERTs; only columns that somebody uses are decoded.
//   - What is not there yet is refused by name and place; what Flink refuses is refused too.
package plan
