package function

import "staunch/types"

// Assign gives e as the value of a column of type t in INSERT: cast where Flink casts implicitly (a text is cut or padded to its length, a number
// rounded to its scale), or ok = false where Flink refuses the INSERT. NULL into NOT NULL is not looked at. Measured: assign.tsv of the vectors.
func Assign(e Expr, t types.Type) (x Expr, ok bool) {
	from := e.Type()
	if from.Kind == types.Null {
		return NewNull(t), true
	}
	if !assignable(from, t) {
		return nil, false
	}
	return cast(e, t), true
}

// assignable is Flink's table of implicit casts.
func assignable(from, to types.Type) bool {
	switch {
	case from.Kind == to.Kind:
		return !from.IsNested() || from.Same(to)
	case from.IsNumeric() && to.Kind == types.Decimal, from.IsNumeric() && to.Kind == types.Double:
		return true
	case from.IsInteger() && to.IsInteger():
		return from.Kind < to.Kind
	case to.Kind == types.Float:
		return from.IsExact()
	case to.Kind == types.Varchar:
		return from.Kind == types.Char
	case to.Kind == types.Varbinary:
		return from.Kind == types.Binary
	case from.IsTimestamp():
		return to.IsTimestamp() || from.Kind == types.Timestamp && (to.Kind == types.Date || to.Kind == types.Time)
	}
	return false
}
