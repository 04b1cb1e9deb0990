// Package bind gives expressions their meaning: it resolves the names, functions and types of a syntax tree against a schema.
//
// Before it on its path: sql/parse. After it: the planner, which gets [function.Expr], and function.Compile.
//
// Invariants
//   - What Flink 2.3.0 refuses is refused here, with line and column; what Flink takes and Staunch has not yet is refused by name.
//   - The types are Flink's, NOT NULL, precision and scale included (measured: test/vectors/flink).
//   - Identifiers are case-sensitive, function names are not.
//   - Nothing is computed here except the values of literals.
package bind
