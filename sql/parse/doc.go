// Package parse turns SQL text of Flink's dialect into the tree of package sql/ast.
//
// Before it on its path: the job file, the shell, the SQL gateway. After it: the binder and planner.
//
// It is written by hand: a lexer, a recursive-descent parser for statements and queries, operator precedence for
// expressions. What it accepts is what Flink 2.3.0's parser accepts; test/vectors/flink/statements.tsv has the measurements.
// What Flink refuses here, it refuses here, with a text that says what to write instead.
//
// Invariants:
//   - No input makes it panic, loop or use memory out of proportion: nesting is bounded (maxDepth), each token is read once
//     apart from bounded look-ahead.
//   - Every refusal is an [*Error] with a place; [Script] goes on after the next semicolon and gives all of them, [Errors].
//   - The tree is lossless for its meaning: [ast.SQL] of it parses to an equal tree.
//
// Non-obvious:
//   - Flink splits scripts in its client, not in its parser, and a few forms exist only there: [Script] takes them
//     (semicolons, SET key = value without quotes, BEGIN STATEMENT SET; .. END;), [Statement] does not.
//   - Words decide by place: only reserved words (keywords.go) need back-ticks, all others are names where a name may stand.
package parse
