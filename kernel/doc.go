// Package kernel has the loops over columns that expressions are made of.
//
// Before it on the data path: function, which resolves types and decides which kernel runs. After it: nothing; a kernel
// knows no names, no SQL and no plan.
//
// An operand is a [Vec]: a column of as many rows as the batch, or a constant of one row that stands for all. The kernels
// of the first tier work on the bare value slices, the operation in the body of the loop; a slice of length 1 is a
// constant. The long tail of functions is lifted from one row to columns by [Lift].
//
// Invariants
//   - Strict kernels compute every row and then AND the validity bitmaps of their operands ([Strict]); values at NULL rows
//     are undefined, bytes at NULL rows are empty.
//   - Kernels that can fail look at a row only if it is in the [Mask] and none of its operands is NULL, so that a branch of
//     a CASE that is not taken cannot fail. The first failing row is reported as a *[RowError].
//   - Results live in memory that the caller reuses for the next batch: no allocation per row in the steady state.
//   - Integers wrap as in Java; TINYINT and SMALLINT are computed as int32 and narrowed afterwards ([Narrow]).
//
// Where Flink means something else than Arrow's compute functions (arrow/compute is not used):
//
//	what                          Arrow                          here, as Flink               test
//	integer + - * that overflows  wraps or fails, by function    wraps                        TestArithmeticTwins
//	smallest integer / -1         fails                          wraps to itself              TestDivisionTwins
//	integer / 0                   fails the whole array          fails the row, if asked for  TestDivisionTwins
//	DOUBLE to integer             fails when it does not fit     saturates, NaN is 0          TestTruncAsJava
//	integer to narrower integer   fails when it does not fit     wraps                        TestTruncAsJava
//	AND, OR with NULL             NULL, or Kleene by function    Kleene                       TestThreeValuedTwins
//	filter by NULL                drops, or emits NULL           drops                        TestThreeValuedTwins
package kernel
