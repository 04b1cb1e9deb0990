package bind

import (
	"fmt"
	"strings"

	"staunch/config"
	"staunch/sql/ast"
	"staunch/types"
)

// CastType gives the type that a type name means in CAST: VARCHAR without a length is STRING, DECIMAL has at most 38 digits. An error is a
// *[parse.Error].
func CastType(t *ast.TypeName) (types.Type, error) { return typeOf(t, true) }

// ColumnType gives the type that a type name means in CREATE TABLE: VARCHAR without a length is VARCHAR(1). An error is a *[parse.Error].
func ColumnType(t *ast.TypeName) (types.Type, error) { return typeOf(t, false) }

var plainTypes = map[ast.TypeKind]types.Kind{
	ast.TypeBoolean: types.Boolean, ast.TypeTinyInt: types.TinyInt, ast.TypeSmallInt: types.SmallInt, ast.TypeInt: types.Int,
	ast.TypeBigInt: types.BigInt, ast.TypeFloat: types.Float, ast.TypeReal: types.Float, ast.TypeDouble: types.Double, ast.TypeDate: types.Date,
}

func typeOf(t *ast.TypeName, inCast bool) (types.Type, error) {
	out, err := bareType(t, inCast)
	if err != nil {
		return out, err
	}
	return out.WithNotNull(t.NotNull), nil
}

func bareType(t *ast.TypeName, inCast bool) (types.Type, error) {
	if k, ok := plainTypes[t.Kind]; ok {
		return types.New(k), nil
	}
	switch t.Kind {
	case ast.TypeString:
		return types.String_, nil
	case ast.TypeBytes:
		return types.Bytes, nil
	case ast.TypeChar:
		return lengthType(t, types.Char, 1)
	case ast.TypeBinary:
		return lengthType(t, types.Binary, 1)
	case ast.TypeVarChar, ast.TypeVarBinary:
		kind := types.Varchar
		if t.Kind == ast.TypeVarBinary {
			kind = types.Varbinary
		}
		otherwise := 1
		if inCast {
			otherwise = types.MaxLength
		}
		return lengthType(t, kind, otherwise)
	case ast.TypeDecimal:
		return decimalType(t, inCast)
	case ast.TypeTime:
		return precisionType(t, types.Time, 0)
	case ast.TypeTimestamp:
		return precisionType(t, types.Timestamp, 6)
	case ast.TypeTimestampLTZ:
		return precisionType(t, types.TimestampLTZ, 6)
	case ast.TypeInterval:
		return intervalType(t.Unit), nil
	}
	return nestedType(t, inCast)
}

// lengthType is a type with a length; 0 is allowed, as Flink's validator takes it.
func lengthType(t *ast.TypeName, k types.Kind, otherwise int) (types.Type, error) {
	n := t.Precision
	if n < 0 {
		n = otherwise
	}
	if n > types.MaxLength {
		return types.Type{}, fail(t, fmt.Sprintf("the length of %s must be at most %d", t.Kind, types.MaxLength), "")
	}
	return types.Type{Kind: k, Length: n}, nil
}

func decimalType(t *ast.TypeName, inCast bool) (types.Type, error) {
	p, s := t.Precision, max(t.Scale, 0)
	if p < 0 {
		p = 10
	}
	if inCast {
		p = min(p, types.MaxDecimalPrecision)
	}
	if p < 1 || p > types.MaxDecimalPrecision {
		return types.Type{}, fail(t, "the precision of DECIMAL must be between 1 and 38", "")
	}
	if s > p {
		return types.Type{}, fail(t, fmt.Sprintf("the scale of DECIMAL must be between 0 and its precision, %d", p), "")
	}
	return types.NewDecimal(p, s), nil
}

func precisionType(t *ast.TypeName, k types.Kind, otherwise int) (types.Type, error) {
	p := t.Precision
	if p < 0 {
		p = otherwise
	}
	if p > 9 {
		return types.Type{}, fail(t, fmt.Sprintf("the precision of %s must be between 0 and 9", t.Kind), "")
	}
	return types.Type{Kind: k, Precision: p}, nil
}

// typeWords are the names of types, for hints.
var typeWords = []string{"ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTES", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "MAP", "MULTISET", "ROW", "SMALLINT",
	"STRING", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TINYINT", "VARBINARY", "VARCHAR"}

func nestedType(t *ast.TypeName, inCast bool) (types.Type, error) {
	var out types.Type
	switch t.Kind {
	case ast.TypeArray:
		out.Kind = types.Array
	case ast.TypeMultiset:
		out.Kind = types.Multiset
	case ast.TypeMap:
		out.Kind = types.Map
	case ast.TypeRow:
		out.Kind = types.Row
	case ast.TypeUser:
		name := strings.Join(t.Name.Texts(), ".")
		hint := "Flink's types are " + strings.Join(typeWords, ", ")
		if near, ok := config.Nearest(strings.ToUpper(name), typeWords); ok {
			hint = "did you mean " + near + "?"
		}
		return out, fail(t, "no type "+name, hint)
	default:
		return out, notYet(t, "type "+string(t.Kind))
	}
	for _, part := range []struct {
		name *ast.TypeName
		to   **types.Type
	}{{t.Key, &out.Key}, {t.Elem, &out.Elem}} {
		if part.name == nil {
			continue
		}
		x, err := typeOf(part.name, inCast)
		if err != nil {
			return out, err
		}
		*part.to = &x
	}
	for _, f := range t.Fields {
		x, err := typeOf(f.Type, inCast)
		if err != nil {
			return out, err
		}
		out.Fields = append(out.Fields, types.Field{Name: f.Name.Text, Type: x})
	}
	return out, nil
}
