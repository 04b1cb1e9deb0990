// Package ast holds the syntax tree of Flink SQL's dialect as package parse builds it.
//
// Before it on its path: sql/parse (text -> tree). After it: the binder and planner (tree -> resolved statements).
// The tree says what was written, not what it means: names are unresolved, number literals keep their digits, types keep
// their spelling's precision, and constructs that the planner refuses (MATCH_RECOGNIZE, MERGE, ..) have nodes all the same,
// so that the refusal can name the place.
//
// Invariants:
//   - Every node knows where it starts and where it ends in the source ([Node]); a node lies inside its parent.
//   - Optional parts are nil (pointers, interfaces, slices) when they were not written; an optional number is -1.
//   - Keywords are kept in upper case, identifiers as written (identifiers are case-sensitive, keywords are not).
//   - Parentheses have no node: [SQL] puts back those that are needed. The exception is [Row], which is a value.
//   - [SQL] prints text that parses to an equal tree (positions aside).
//
// Nodes are plain data; the planner treats them as read-only.
package ast
