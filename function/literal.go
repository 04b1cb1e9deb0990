package function

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/types"
)

// NewLiteral gives a constant of type t whose value put appends.
func NewLiteral(t types.Type, put func(*changelog.Column)) *Literal {
	c := changelog.NewColumn(t.Required())
	put(c)
	return &Literal{Value: c}
}

// NewInt gives an integer constant of type t, or another constant that lies in int32 or int64.
func NewInt(t types.Type, v int64) *Literal {
	return NewLiteral(t, func(c *changelog.Column) {
		if t.Physical() == types.PhysInt64 {
			c.AppendInt64(v)
			return
		}
		c.AppendInt32(int32(v))
	})
}

// NewBool gives a BOOLEAN constant.
func NewBool(v bool) *Literal {
	return NewLiteral(types.New(types.Boolean), func(c *changelog.Column) { c.AppendBool(v) })
}

// NewDouble gives a DOUBLE constant.
func NewDouble(v float64) *Literal {
	return NewLiteral(types.New(types.Double), func(c *changelog.Column) { c.AppendFloat64(v) })
}

// NewDecimal gives a DECIMAL constant of type t by its unscaled value.
func NewDecimal(t types.Type, v decimal128.Num) *Literal {
	return NewLiteral(t, func(c *changelog.Column) { c.AppendDecimal(v) })
}

// NewText gives a constant of a string or binary type.
func NewText(t types.Type, v string) *Literal {
	return NewLiteral(t, func(c *changelog.Column) { c.AppendString(v) })
}

// UntypedNull is the bare word NULL; it takes a type from where it stands.
var UntypedNull = NewNull(types.Type{})
