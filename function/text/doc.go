// Package text has Flink SQL's string functions as pure functions over UTF-8 bytes, append style: LIKE and SIMILAR TO, case, trimming,
// substrings, padding, regular expressions, encodings, digests and URLs.
//
// Before it on the path: byte slices of string columns. Behind it: the bytes appended to a column. Where a function may be NULL for
// arguments that are not, it returns ok = false and dst unchanged.
//
// Invariants:
//   - Positions and lengths count code points (CHAR_LENGTH, SUBSTRING, LEFT, RIGHT, POSITION, INSTR, LOCATE, REVERSE), but UTF-16 units in
//     LPAD, RPAD and OVERLAY, as Flink 2.3 does; half a surrogate pair that these cut off becomes '?'.
//   - No function panics, whatever the bytes; bytes that are no UTF-8 count as one character each and are kept.
//   - Functions that append allocate nothing but what append needs. Compiled patterns are immutable and may be shared.
//
// Source: Flink 2.3.0, SqlFunctionUtils, BinaryStringDataUtil and SqlLikeUtils, and the measured rows in expressions.tsv.
package text
