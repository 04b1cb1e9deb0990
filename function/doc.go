// Package function has Flink SQL's scalar expressions: resolved trees of typed expressions, the functions and operators that they
// call, and compiled programs that compute them over batches.
//
// Before it on the data path: sql/bind turns syntax trees into [Expr] with [Function.Bind], which infers types and inserts implicit
// casts as Flink does. [Compile] makes a [Program] of expressions; operators run it with [Program.Eval] and [Program.Filter]. After
// it: kernel, the loops over columns; function/text, function/datetime and function/javanum, the algorithms on single values.
//
// A new function is one entry in the table of its family's file; list.go joins the tables.
//
// Invariants
//   - Types, NULLs and values are those that Flink 2.3.0 was measured to give (test/vectors/flink); what is deliberately different
//     has its reason beside it in agreed.txt.
//   - Strict evaluation: an expression that can fail is computed only for rows on which SQL needs it: a branch of CASE, COALESCE or IF
//     on the rows that take it, the right side of AND and OR where the left one does not decide.
//   - Equal deterministic subexpressions are computed once per batch.
//   - A Program belongs to one goroutine. What Eval gives lives in the program's memory, or is a column of the input, until the
//     next Eval.
package function
