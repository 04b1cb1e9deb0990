// Package json is the format json: newline-free JSON objects to rows and rows to newline-delimited JSON, with the options and the
// coercions of Flink 2.3.0.
//
// On its path the decoder stands between a source's record bytes (connector/kafka) and the columns of a batch; the encoder between the
// columns of a sink and the bytes of a part file (connector/filesystem).
//
// The decoder is one pass over the bytes, directed by the schema. A general parser first makes a tree or a map and then asks it for
// columns; that costs several times the scan. Here each key is compared with the one that followed its predecessor in the last record
// (keys come in the same order nearly always), the value is read straight into the column, and whatever the fast paths of a column's
// type do not know (quotes around numbers, exponents, escapes) goes through a full tokenizer with conversion.
//
// Invariants
//   - Strict: a record is one object and nothing but white space behind it; numbers, literals, escapes, nesting and UTF-8 are checked also
//     inside values that no column wants. What does not parse is an error or, with ignore-parse-errors, a skipped and counted record.
//   - A record leaves exactly one value in each column or none: what was appended before an error is taken back.
//   - No value is changed silently: what Flink's rules cut, round or turn into NULL is counted by column (Decoder.Coerced).
//   - No allocation per record once buffers have grown; no panic, whatever the bytes.
//
// Differences from Flink 2.3.0, each because Flink loses or falsifies data there: of a repeated key the last value wins and later fields
// stay; bytes behind the object are an error, and so is an object or array in a column that is not a STRING; numbers with a fraction or exponent in BIGINT columns are read exactly and not through a
// double; the text of numbers inside objects and arrays read as STRING is kept; invalid UTF-8 includes overlong forms and encoded surrogates. An
// array of objects as one record, which Flink reads as many rows, is refused.
package json
