package bind

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"staunch/function"
	"staunch/function/datetime"
	"staunch/function/javanum"
	"staunch/sql/ast"
	"staunch/types"
)

// literal gives the constant that l means; negative is a minus sign in front of a number.
func literal(l *ast.Literal, negative bool) (function.Expr, error) {
	switch l.Kind {
	case ast.IntegerLit, ast.DecimalLit, ast.DoubleLit:
		return number(l, negative)
	case ast.StringLit, ast.UnicodeLit:
		return function.NewText(types.NewChar(utf8.RuneCountInString(l.Text)), l.Text), nil
	case ast.BinaryLit:
		b, err := hex.DecodeString(l.Text)
		if err != nil {
			return nil, fail(l, fmt.Sprintf("'%s' is not a row of pairs of hex digits", l.Text), "")
		}
		return function.NewText(types.Type{Kind: types.Binary, Length: len(b)}, string(b)), nil
	case ast.BooleanLit:
		if l.Text == "UNKNOWN" {
			return function.NewNull(types.New(types.Boolean)), nil
		}
		return function.NewBool(l.Text == "TRUE"), nil
	case ast.NullLit:
		return function.UntypedNull, nil
	case ast.IntervalLit:
		return interval(l)
	}
	return temporal(l)
}

func number(l *ast.Literal, negative bool) (function.Expr, error) {
	text := l.Text
	if negative {
		text = "-" + text
	}
	if l.Kind == ast.DoubleLit {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fail(l, fmt.Sprintf("numeric literal '%s' out of range", l.Text), "")
		}
		return function.NewDouble(v), nil
	}
	digits, frac, _ := strings.Cut(l.Text, ".")
	if frac == "" {
		v, err := strconv.ParseInt(strings.TrimSuffix(text, "."), 10, 64)
		if err != nil {
			return nil, fail(l, fmt.Sprintf("numeric literal '%s' out of range", l.Text), "write it as CAST('"+digits+"' AS DECIMAL(38, 0))")
		}
		t := types.New(types.BigInt)
		if v == int64(int32(v)) {
			t = types.New(types.Int)
		}
		return function.NewInt(t, v), nil
	}
	p := len(digits) + len(frac)
	if p > types.MaxDecimalPrecision {
		return nil, fail(l, fmt.Sprintf("numeric literal '%s' has more than %d digits", l.Text, types.MaxDecimalPrecision), "")
	}
	t := types.NewDecimal(p, len(frac))
	v, st := javanum.ParseDecimal([]byte(text), p, len(frac))
	if st != javanum.OK {
		return nil, fail(l, fmt.Sprintf("'%s' is not a number", l.Text), "")
	}
	return function.NewDecimal(t, v), nil
}

// temporal reads DATE, TIME and TIMESTAMP literals; the calendar must have them.
func temporal(l *ast.Literal) (function.Expr, error) {
	text := []byte(l.Text)
	switch l.Kind {
	case ast.DateLit:
		if days, ok := datetime.ParseDateLiteral(text); ok {
			return function.NewInt(types.New(types.Date), int64(days)), nil
		}
		return nil, fail(l, fmt.Sprintf("illegal DATE literal '%s': not in format 'yyyy-MM-dd'", l.Text), "")
	case ast.TimeLit:
		if ms, precision, ok := datetime.ParseTimeLiteral(text); ok {
			return function.NewInt(types.NewTime(min(precision, 9)), int64(ms)), nil
		}
		return nil, fail(l, fmt.Sprintf("illegal TIME literal '%s': not in format 'HH:mm:ss'", l.Text), "")
	}
	if days, nanos, precision, ok := datetime.ParseTimestampLiteral(text); ok {
		t := types.NewTimestamp(min(precision, 9))
		if v, ok := datetime.Join(days, nanos, t.UnitsPerSecond()); ok {
			return function.NewInt(t, v), nil
		}
		return nil, fail(l, fmt.Sprintf("TIMESTAMP literal '%s' is out of range of %s", l.Text, t), "write at most 6 digits of the fraction")
	}
	return nil, fail(l, fmt.Sprintf("illegal TIMESTAMP literal '%s': not in format 'yyyy-MM-dd HH:mm:ss'", l.Text), "")
}

// intervalType is the type of an interval whose first unit is u.
func intervalType(u *ast.IntervalUnit) types.Type {
	if unit, err := datetime.ParseUnit(u.From); err == nil {
		if _, ok := unit.Months(); ok {
			return types.New(types.IntervalYearMonth)
		}
	}
	return types.Type{Kind: types.IntervalDayTime, Precision: 3}
}

func interval(l *ast.Literal) (function.Expr, error) {
	from, err := datetime.ParseUnit(l.Unit.From)
	to := from
	if err == nil && l.Unit.To != "" {
		to, err = datetime.ParseUnit(l.Unit.To)
	}
	leading := l.Unit.Precision
	if leading < 0 {
		leading = datetime.DefaultLeadingPrecision
	}
	t := intervalType(l.Unit)
	var v int64
	switch {
	case err != nil:
	case t.Kind == types.IntervalYearMonth:
		var months int32
		months, err = datetime.ParseIntervalYearMonth(l.Text, from, to, leading)
		v = int64(months)
	default:
		v, err = datetime.ParseIntervalDayTime(l.Text, from, to, leading)
	}
	if err != nil {
		return nil, fail(l, "illegal interval literal: "+err.Error(), "")
	}
	if l.Negative {
		v = -v
	}
	return function.NewInt(t, v), nil
}

// intervalExpr is INTERVAL n UNIT with a number that is no text.
func (b *binder) intervalExpr(e *ast.IntervalExpr) (function.Expr, error) {
	x, err := b.expr(e.Value)
	if err != nil {
		return nil, err
	}
	unit, err := datetime.ParseUnit(e.Unit.From)
	if err != nil {
		return nil, fail(e, err.Error(), "")
	}
	one, ok := unit.Months()
	if !ok {
		one, _ = unit.Millis()
	}
	return b.call(e, "*", function.NewInt(intervalType(e.Unit), one), x)
}
