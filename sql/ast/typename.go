package ast

// TypeKind is a type's name with aliases undone: INTEGER is INT, NUMERIC and DEC are DECIMAL, CHARACTER VARYING is VARCHAR,
// DOUBLE PRECISION is DOUBLE, TIMESTAMP WITH LOCAL TIME ZONE is TIMESTAMP_LTZ, BINARY VARYING is VARBINARY.
type TypeKind string

// The types that the parser knows.
const (
	TypeBoolean      TypeKind = "BOOLEAN"
	TypeTinyInt      TypeKind = "TINYINT"
	TypeSmallInt     TypeKind = "SMALLINT"
	TypeInt          TypeKind = "INT"
	TypeBigInt       TypeKind = "BIGINT"
	TypeFloat        TypeKind = "FLOAT"
	TypeDouble       TypeKind = "DOUBLE"
	TypeReal         TypeKind = "REAL"
	TypeDecimal      TypeKind = "DECIMAL"
	TypeChar         TypeKind = "CHAR"
	TypeVarChar      TypeKind = "VARCHAR"
	TypeString       TypeKind = "STRING"
	TypeBinary       TypeKind = "BINARY"
	TypeVarBinary    TypeKind = "VARBINARY"
	TypeBytes        TypeKind = "BYTES"
	TypeDate         TypeKind = "DATE"
	TypeTime         TypeKind = "TIME"
	TypeTimeLTZ      TypeKind = "TIME_LTZ" // TIME WITH LOCAL TIME ZONE; parses, has no such type
	TypeTimestamp    TypeKind = "TIMESTAMP"
	TypeTimestampLTZ TypeKind = "TIMESTAMP_LTZ"
	TypeInterval     TypeKind = "INTERVAL" // in CAST only
	TypeArray        TypeKind = "ARRAY"
	TypeMultiset     TypeKind = "MULTISET"
	TypeMap          TypeKind = "MAP"
	TypeRow          TypeKind = "ROW"
	TypeRaw          TypeKind = "RAW"
	TypeStructured   TypeKind = "STRUCTURED"
	TypeVariant      TypeKind = "VARIANT"
	TypeBitmap       TypeKind = "BITMAP"
	TypeNull         TypeKind = "NULL"
	TypeUser         TypeKind = "USER" // a named type, see TypeName.Name
)

// TypeName is a type as written.
type TypeName struct {
	Span
	Kind TypeKind
	// Precision is the length of CHAR and BINARY kinds, the precision of DECIMAL, TIME and TIMESTAMP kinds; -1: not written.
	Precision int
	// Scale is the scale of DECIMAL, -1: not written.
	Scale int
	// Elem is the element type of ARRAY and MULTISET and the value type of MAP.
	Elem *TypeName
	// Key is the key type of MAP.
	Key *TypeName
	// Fields are the fields of ROW and STRUCTURED.
	Fields []TypeField
	// Unit is the unit of INTERVAL.
	Unit *IntervalUnit
	// Name is the name of a user type.
	Name *Identifier
	// Args are class and snapshot of RAW, class of STRUCTURED.
	Args []string
	// NotNull is a written NOT NULL. Without it the type takes NULL.
	NotNull bool
}

// TypeField is a field of ROW.
type TypeField struct {
	Span
	Name    Name
	Type    *TypeName
	Comment *Literal // nil if not written
}
