package function

import (
	"staunch/function/javanum"
	"staunch/types"
)

// asDecimal is the DECIMAL that an exact number counts as.
func asDecimal(t types.Type) types.Type {
	switch t.Kind {
	case types.TinyInt:
		return types.NewDecimal(3, 0)
	case types.SmallInt:
		return types.NewDecimal(5, 0)
	case types.Int:
		return types.NewDecimal(10, 0)
	case types.BigInt:
		return types.NewDecimal(19, 0)
	}
	return t.Nullable()
}

// arithmeticType is the type of a op b for two numbers, nullable.
func arithmeticType(op byte, a, b types.Type) types.Type {
	switch {
	case a.IsInteger() && b.IsInteger():
		if a.Kind > b.Kind {
			return a.Nullable()
		}
		return b.Nullable()
	case a.IsApprox() || b.IsApprox():
		return approxType(a, b)
	}
	a, b = asDecimal(a), asDecimal(b)
	typeOf := javanum.AddType
	switch op {
	case '*':
		typeOf = javanum.MulType
	case '/':
		typeOf = javanum.DivType
	case '%':
		typeOf = javanum.ModType
	}
	return types.NewDecimal(typeOf(a.Precision, a.Scale, b.Precision, b.Scale))
}

// approxType is the type of arithmetic of which one operand is FLOAT or DOUBLE: DOUBLE with DECIMAL; of FLOAT and DOUBLE the first decides.
func approxType(a, b types.Type) types.Type {
	switch {
	case a.Kind == types.Decimal || b.Kind == types.Decimal:
		return types.New(types.Double)
	case a.IsApprox():
		return types.New(a.Kind)
	}
	return types.New(b.Kind)
}

// commonType is the type that can hold values of all ts, nullable if one of them is; ok is false if there is none. NULLs without a type are
// left out and make it nullable. There are two kinds in Flink: the planner's (calcite) for operators, CASE and IF, and the one of its own
// functions (merged).
func commonType(ts []types.Type, rule func(a, b types.Type) (types.Type, bool)) (types.Type, bool) {
	var out types.Type
	first, notNull := true, true
	for _, t := range ts {
		if t.Kind == types.Null {
			notNull = false
			continue
		}
		notNull = notNull && t.NotNull
		if first {
			out, first = t, false
			continue
		}
		var ok bool
		if out, ok = rule(out, t); !ok {
			return out, false
		}
	}
	return out.WithNotNull(notNull && !first), !first
}

// merged is the common type for COALESCE, IFNULL, GREATEST, LEAST and ELT (Flink: LogicalTypeMerging).
func merged(a, b types.Type) (types.Type, bool) {
	switch {
	case a.IsTimestamp() && b.IsTimestamp() && a.Kind != b.Kind:
		return types.NewTimestampLTZ(max(a.Precision, b.Precision)), true
	case a.IsApprox() && b.IsApprox() && a.Kind != b.Kind:
		return types.New(types.Double), true
	case a.Kind == types.Decimal && b.Kind == types.Float:
		return types.New(types.Float), true
	}
	return calcite(a, b)
}

// calcite is the common type for operators, CASE and IF (Calcite: least restrictive type).
func calcite(a, b types.Type) (types.Type, bool) {
	switch {
	case a.Same(b):
		return a, true
	case a.IsInteger() && b.IsInteger():
		if a.Kind > b.Kind {
			return a, true
		}
		return b, true
	case a.IsExact() && b.IsExact():
		a, b = asDecimal(a), asDecimal(b)
		s := max(a.Scale, b.Scale)
		p := max(a.Precision-a.Scale, b.Precision-b.Scale) + s
		if p > types.MaxDecimalPrecision { // whole digits are kept
			p, s = types.MaxDecimalPrecision, max(s-(p-types.MaxDecimalPrecision), 0)
		}
		return types.NewDecimal(p, s), true
	case a.IsNumeric() && b.IsNumeric():
		return approxType(a, b), true
	case a.IsString() && b.IsString():
		return types.NewVarchar(max(a.Length, b.Length)), true
	case a.IsBinary() && b.IsBinary():
		return types.Type{Kind: types.Varbinary, Length: max(a.Length, b.Length)}, true
	case a.IsTimestamp() && b.IsTimestamp(): // of mixed ones the first decides
		a.Precision = max(a.Precision, b.Precision)
		return a, true
	case a.Kind == b.Kind && (a.Kind == types.Time || a.Kind == types.IntervalDayTime):
		a.Precision = max(a.Precision, b.Precision)
		return a, true
	}
	return a, false
}

// comparisonType is the type in which a and b are compared; ok is false if they are not comparable. Of FLOAT and DOUBLE the first decides for = and
// <>, else it is DOUBLE.
func comparisonType(a, b types.Type, first bool) (types.Type, bool) {
	if a.IsTimestamp() && b.IsTimestamp() || a.IsApprox() && b.IsApprox() && !first {
		return merged(a, b)
	}
	if t, ok := calcite(a, b); ok {
		return t, !t.IsNested()
	}
	// A text is compared as what stands on the other side.
	for _, t := range [2][2]types.Type{{a, b}, {b, a}} {
		if t[0].IsString() && (t[1].IsNumeric() || t[1].IsTimestamp() || t[1].Kind == types.Date || t[1].Kind == types.Time) {
			return t[1], true
		}
	}
	return a, false
}
