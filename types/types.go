package types

import (
	"fmt"
	"strings"
)

// Kind is the root of a logical type (Flink: LogicalTypeRoot).
type Kind uint8

// The kinds. Null is the type of the bare literal NULL and is never a column's type.
const (
	Null Kind = iota
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	Varchar // STRING is Varchar with Length MaxLength
	Binary
	Varbinary // BYTES is Varbinary with Length MaxLength
	Date
	Time
	Timestamp
	TimestampLTZ
	IntervalYearMonth
	IntervalDayTime
	Array
	Map
	Multiset
	Row
)

// MaxLength is the length of STRING and BYTES (Flink: VarCharType.MAX_LENGTH).
const MaxLength = 1<<31 - 1

// MaxDecimalPrecision is the largest precision of DECIMAL.
const MaxDecimalPrecision = 38

// Type is a logical type. The zero value is the type of NULL.
type Type struct {
	Kind    Kind
	NotNull bool
	// Length of CHAR, VARCHAR, BINARY, VARBINARY in characters or bytes.
	Length int
	// Precision of DECIMAL (digits), TIME, TIMESTAMP, TIMESTAMP_LTZ, day-time interval (fraction digits).
	Precision int
	// Scale of DECIMAL.
	Scale int
	// Elem is the element of ARRAY and MULTISET and the value of MAP; Key the key of MAP.
	Elem, Key *Type
	// Fields of ROW.
	Fields []Field
}

// Field is one named field of a ROW.
type Field struct {
	Name string
	Type Type
}

// Physical says which slice of a changelog.Column holds the values.
type Physical uint8

// The storage classes. Temporal kinds ride on Int32 and Int64, so that kernels exist once per class.
const (
	PhysNone    Physical = iota
	PhysBool             // []bool
	PhysInt32            // []int32: TINYINT, SMALLINT, INT, DATE (days), TIME (milliseconds of day), year-month interval (months)
	PhysInt64            // []int64: BIGINT, TIMESTAMP and TIMESTAMP_LTZ (see Type.Unit), day-time interval (milliseconds)
	PhysFloat32          // []float32
	PhysFloat64          // []float64
	PhysDecimal          // []decimal128.Num, unscaled
	PhysBytes            // offsets []int32 and data []byte: CHAR, VARCHAR (UTF-8), BINARY, VARBINARY
	PhysNested           // children
)

// Physical returns the storage class of t.
func (t Type) Physical() Physical {
	switch t.Kind {
	case Boolean:
		return PhysBool
	case TinyInt, SmallInt, Int, Date, Time, IntervalYearMonth:
		return PhysInt32
	case BigInt, Timestamp, TimestampLTZ, IntervalDayTime:
		return PhysInt64
	case Float:
		return PhysFloat32
	case Double:
		return PhysFloat64
	case Decimal:
		return PhysDecimal
	case Char, Varchar, Binary, Varbinary:
		return PhysBytes
	case Array, Map, Multiset, Row:
		return PhysNested
	}
	return PhysNone
}

// UnitsPerSecond is the resolution of a TIMESTAMP or TIMESTAMP_LTZ value counted from 1970-01-01 00:00:00: 1,000 for
// precision 0 to 3, 1,000,000 for 4 to 6, 1,000,000,000 for 7 to 9. Nanoseconds reach from 1677 to 2262 only: whoever makes
// such a value checks the range and reports what lies outside.
func (t Type) UnitsPerSecond() int64 {
	switch {
	case t.Precision <= 3:
		return 1_000
	case t.Precision <= 6:
		return 1_000_000
	}
	return 1_000_000_000
}

// IsString reports CHAR and VARCHAR.
func (t Type) IsString() bool { return t.Kind == Char || t.Kind == Varchar }

// IsBinary reports BINARY and VARBINARY.
func (t Type) IsBinary() bool { return t.Kind == Binary || t.Kind == Varbinary }

// IsInteger reports TINYINT to BIGINT.
func (t Type) IsInteger() bool { return t.Kind >= TinyInt && t.Kind <= BigInt }

// IsApprox reports FLOAT and DOUBLE.
func (t Type) IsApprox() bool { return t.Kind == Float || t.Kind == Double }

// IsExact reports integers and DECIMAL.
func (t Type) IsExact() bool { return t.IsInteger() || t.Kind == Decimal }

// IsNumeric reports integers, DECIMAL, FLOAT and DOUBLE.
func (t Type) IsNumeric() bool { return t.IsExact() || t.IsApprox() }

// IsTimestamp reports TIMESTAMP and TIMESTAMP_LTZ.
func (t Type) IsTimestamp() bool { return t.Kind == Timestamp || t.Kind == TimestampLTZ }

// IsInterval reports both interval families.
func (t Type) IsInterval() bool { return t.Kind == IntervalYearMonth || t.Kind == IntervalDayTime }

// IsNested reports ARRAY, MAP, MULTISET and ROW.
func (t Type) IsNested() bool { return t.Physical() == PhysNested }

// Nullable returns t with NULL allowed.
func (t Type) Nullable() Type { t.NotNull = false; return t }

// Required returns t with NULL forbidden.
func (t Type) Required() Type { t.NotNull = true; return t }

// WithNotNull returns t with the given nullability.
func (t Type) WithNotNull(notNull bool) Type { t.NotNull = notNull; return t }

// New returns a nullable type without parameters (BOOLEAN, the integers, FLOAT, DOUBLE, DATE, year-month interval).
func New(k Kind) Type { return Type{Kind: k} }

// String_ is STRING, that is VARCHAR(2147483647).
var String_ = Type{Kind: Varchar, Length: MaxLength}

// Bytes is BYTES, that is VARBINARY(2147483647).
var Bytes = Type{Kind: Varbinary, Length: MaxLength}

// NewDecimal returns DECIMAL(p, s). REQUIRES: 1 <= p <= 38, 0 <= s <= p.
func NewDecimal(p, s int) Type { return Type{Kind: Decimal, Precision: p, Scale: s} }

// NewTimestamp returns TIMESTAMP(p).
func NewTimestamp(p int) Type { return Type{Kind: Timestamp, Precision: p} }

// NewTimestampLTZ returns TIMESTAMP_LTZ(p).
func NewTimestampLTZ(p int) Type { return Type{Kind: TimestampLTZ, Precision: p} }

// NewTime returns TIME(p).
func NewTime(p int) Type { return Type{Kind: Time, Precision: p} }

// NewChar returns CHAR(n).
func NewChar(n int) Type { return Type{Kind: Char, Length: n} }

// NewVarchar returns VARCHAR(n).
func NewVarchar(n int) Type { return Type{Kind: Varchar, Length: n} }

// Equal reports whether both are the same type, nullability included.
func (t Type) Equal(u Type) bool { return t.NotNull == u.NotNull && t.Same(u) }

// Same reports whether both are the same type but for their own nullability.
func (t Type) Same(u Type) bool {
	if t.Kind != u.Kind || t.Length != u.Length || t.Precision != u.Precision || t.Scale != u.Scale || len(t.Fields) != len(u.Fields) {
		return false
	}
	ptr := func(a, b *Type) bool { return a == nil && b == nil || a != nil && b != nil && a.Equal(*b) }
	if !ptr(t.Elem, u.Elem) || !ptr(t.Key, u.Key) {
		return false
	}
	for i, f := range t.Fields {
		if f.Name != u.Fields[i].Name || !f.Type.Equal(u.Fields[i].Type) {
			return false
		}
	}
	return true
}

// String is Flink's text of the type.
func (t Type) String() string {
	s := t.bare()
	if t.NotNull {
		s += " NOT NULL"
	}
	return s
}

var plain = map[Kind]string{Null: "NULL", Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT",
	BigInt: "BIGINT", Float: "FLOAT", Double: "DOUBLE", Date: "DATE", IntervalYearMonth: "INTERVAL MONTH"}

func (t Type) bare() string {
	if s, ok := plain[t.Kind]; ok {
		return s
	}
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Char:
		return fmt.Sprintf("CHAR(%d)", t.Length)
	case Varchar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length)
	case Binary:
		return fmt.Sprintf("BINARY(%d)", t.Length)
	case Varbinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return fmt.Sprintf("VARBINARY(%d)", t.Length)
	case Time:
		return fmt.Sprintf("TIME(%d)", t.Precision)
	case Timestamp:
		return fmt.Sprintf("TIMESTAMP(%d)", t.Precision)
	case TimestampLTZ:
		return fmt.Sprintf("TIMESTAMP_LTZ(%d)", t.Precision)
	case IntervalDayTime:
		return fmt.Sprintf("INTERVAL SECOND(%d)", t.Precision)
	case Array:
		return "ARRAY<" + t.Elem.String() + ">"
	case Multiset:
		return "MULTISET<" + t.Elem.String() + ">"
	case Map:
		return "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case Row:
		var b strings.Builder
		b.WriteString("ROW<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("`" + strings.ReplaceAll(f.Name, "`", "``") + "` " + f.Type.String())
		}
		return b.String() + ">"
	}
	return "?"
}
