// Package javanum has the numbers of Flink SQL as Java reads, prints and computes them: the text of DOUBLE and FLOAT, casts between strings
// and numbers, and DECIMAL arithmetic on unscaled 128-bit integers.
//
// Before it: bytes of records, SQL literals and columns of decimal128.Num, float64, int64. Behind it: the same. A decimal is its unscaled
// integer; precision and scale belong to its type and are passed along.
//
// Invariants:
//   - Decimals are exact: products and quotients are computed with 256 bits and rounded once, half up (away from zero), as
//     java.math.BigDecimal with Flink's 38 digits does; a result with more digits than its type has is Overflow (SQL: NULL), never wrapped.
//   - No function panics, whatever the bytes; math/big is used for the text of some rare doubles only.
//   - Functions that append allocate nothing but what append needs.
//
// Floating-point text is that of Java 17, on which the results were measured. Java 19 and later print fewer digits for some numbers
// (see java17.go); both read back as the same number.
//
// Source: Flink 2.3.0, DecimalDataUtils and BinaryStringDataUtil, and the measured rows in testdata.
package javanum

// Status says how a conversion or an operation ended.
type Status uint8

// The outcomes.
const (
	OK Status = iota
	// Invalid: the text is no number of this kind (SQL: the cast fails, TRY_CAST gives NULL).
	Invalid
	// Overflow: the number does not fit its type (decimals: NULL in arithmetic and numeric casts; casts of text fail).
	Overflow
	// DivideByZero: a division or remainder by zero (SQL: the job fails).
	DivideByZero
)

// String names the status for error texts.
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Overflow:
		return "overflow"
	case DivideByZero:
		return "division by zero"
	}
	return "invalid number"
}
