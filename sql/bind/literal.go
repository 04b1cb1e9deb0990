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
	precision := min(l.FractionDigits(), 9)
	switch l.Kind {
	case ast.DateLit:
		if days, ok := dateLiteral(text); ok {
			return function.NewInt(types.New(types.Date), int64(days)), nil
		}
		return nil, fail(l, fmt.Sprintf("illegal DATE literal '%s': not in format 'yyyy-MM-dd'", l.Text), "")
	case ast.TimeLit:
		if ms, ok := timeLiteral(text); ok {
			return function.NewInt(types.NewTime(precision), int64(ms)), nil
		}
		return nil, fail(l, fmt.Sprintf("illegal TIME literal '%s': not in format 'HH:mm:ss'", l.Text), "")
	}
	t := types.NewTimestamp(precision)
	date, clock, ok := strings.Cut(l.Text, " ")
	if ok {
		_, dateOK := dateLiteral([]byte(date))
		_, timeOK := timeLiteral([]byte(clock))
		ok = dateOK && timeOK
	}
	if ok {
		// The parser wants years of four digits.
		for strings.IndexByte(date, '-') < 4 {
			date = "0" + date
		}
		var v int64
		if v, ok = datetime.ParseTimestamp([]byte(date+" "+clock), t.UnitsPerSecond(), precision); ok {
			return function.NewInt(t, v), nil
		}
	}
	return nil, fail(l, fmt.Sprintf("illegal TIMESTAMP literal '%s': not in format 'yyyy-MM-dd HH:mm:ss'", l.Text), "")
}

// dateLiteral takes y-m-d with any number of digits.
func dateLiteral(s []byte) (int32, bool) {
	if strings.Count(string(s), "-") != 2 || strings.ContainsRune(string(s), ' ') {
		return 0, false
	}
	return datetime.ParseDate(s)
}

// timeLiteral takes h:m:s[.f] within a day.
func timeLiteral(s []byte) (int32, bool) {
	if strings.Count(string(s), ":") != 2 || strings.ContainsAny(string(s), " +-") {
		return 0, false
	}
	return datetime.ParseTime(s, 9)
}

// unitMillis are the lengths of the units of day-time intervals.
var unitMillis = map[string]int64{"WEEK": 7 * 86_400_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}

// unitMonths are the lengths of the units of year-month intervals.
var unitMonths = map[string]int64{"YEAR": 12, "QUARTER": 3, "MONTH": 1}

// intervalType is the type of an interval of unit u.
func intervalType(u *ast.IntervalUnit) types.Type {
	if unitMonths[u.From] != 0 {
		return types.New(types.IntervalYearMonth)
	}
	return types.Type{Kind: types.IntervalDayTime, Precision: 3}
}

func interval(l *ast.Literal) (function.Expr, error) {
	text, neg := l.Text, l.Negative
	switch {
	case strings.HasPrefix(text, "-"):
		text, neg = text[1:], !neg
	case strings.HasPrefix(text, "+"):
		text = text[1:]
	}
	v, ok := intervalValue(text, l.Unit)
	if !ok {
		unit := l.Unit.From
		if l.Unit.To != "" {
			unit += " TO " + l.Unit.To
		}
		return nil, fail(l, fmt.Sprintf("illegal interval literal '%s': not in the format of INTERVAL %s", l.Text, unit), "")
	}
	if neg {
		v = -v
	}
	t := intervalType(l.Unit)
	if t.Kind == types.IntervalYearMonth && v != int64(int32(v)) {
		return nil, fail(l, fmt.Sprintf("interval literal '%s' out of range", l.Text), "")
	}
	return function.NewInt(t, v), nil
}

// intervalFields are the fields of a day-time interval in order.
var intervalFields = []string{"DAY", "HOUR", "MINUTE", "SECOND"}

// intervalValue gives months or milliseconds.
func intervalValue(text string, u *ast.IntervalUnit) (int64, bool) {
	if months := unitMonths[u.From]; months != 0 {
		if u.To == "" {
			v, ok := field(text, 1<<40)
			return v * months, ok
		}
		years, rest, found := strings.Cut(text, "-")
		y, ok1 := field(years, 1<<40)
		m, ok2 := field(rest, 11)
		return y*12 + m, found && ok1 && ok2
	}
	if u.To == "" && u.From != "SECOND" {
		v, ok := field(text, 1<<40)
		return v * unitMillis[u.From], ok
	}
	to := u.To
	if to == "" {
		to = "SECOND"
	}
	total, rest, inside := int64(0), text, false
	limits := map[string]int64{"HOUR": 23, "MINUTE": 59, "SECOND": 59}
	for _, name := range intervalFields {
		if name != u.From && !inside {
			continue
		}
		limit := limits[name]
		if !inside {
			limit = 1 << 40
		}
		inside = true
		if name == to {
			v, ok := lastField(rest, name, limit)
			return total + v, ok
		}
		sep := ":"
		if name == "DAY" {
			sep = " "
		}
		head, tail, found := strings.Cut(rest, sep)
		v, ok := field(head, limit)
		if !found || !ok {
			return 0, false
		}
		total += v * unitMillis[name]
		rest = tail
	}
	return 0, false
}

// lastField is the last number; seconds may have a fraction, of which milliseconds are kept.
func lastField(s, name string, limit int64) (int64, bool) {
	frac := ""
	if name == "SECOND" {
		s, frac, _ = strings.Cut(s, ".")
	}
	v, ok := field(s, limit)
	if !ok {
		return 0, false
	}
	v *= unitMillis[name]
	if frac == "" {
		return v, true
	}
	if _, ok := field(frac, 1<<40); !ok || len(frac) > 9 {
		return 0, false
	}
	ms, _ := field((frac + "00")[:3], 999)
	return v + ms, true
}

// field reads a number of digits only.
func field(s string, limit int64) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && v <= limit
}

// intervalExpr is INTERVAL n UNIT with a number that is no text.
func (b *binder) intervalExpr(e *ast.IntervalExpr) (function.Expr, error) {
	x, err := b.expr(e.Value)
	if err != nil {
		return nil, err
	}
	t := intervalType(e.Unit)
	one := unitMonths[e.Unit.From]
	if t.Kind == types.IntervalDayTime {
		one = unitMillis[e.Unit.From]
	}
	return b.call(e, "*", function.NewInt(t, one), x)
}
