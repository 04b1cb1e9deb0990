package function

import (
	"fmt"
	"math"

	"staunch/function/datetime"
	"staunch/function/javanum"
	"staunch/kernel"
	"staunch/types"
)

// timeFunctions are the functions of dates and times.
var timeFunctions = []*Function{
	dateFormat(), extract("EXTRACT", ""), extract("YEAR", "YEAR"), extract("QUARTER", "QUARTER"), extract("MONTH", "MONTH"), extract("WEEK", "WEEK"),
	extract("DAYOFYEAR", "DOY"), extract("DAYOFMONTH", "DAY"), extract("DAYOFWEEK", "DOW"), extract("HOUR", "HOUR"), extract("MINUTE", "MINUTE"),
	extract("SECOND", "SECOND"), roundTo("FLOOR TO", false), roundTo("CEIL TO", true),
	timestampAdd(), timestampDiff(), minusDates(), toDate(), toTimestamp(), toTimestampLTZ(),
}

var (
	bigint       = types.New(types.BigInt)
	temporal     = family{"<TEMPORAL>", func(t types.Type) bool { return isDatetime(t) || t.IsInterval() }}
	pointsInTime = family{"<DATETIME>", isDatetime}
)

// extract is EXTRACT(unit FROM x), or a function named after its unit.
func extract(name, unit string) *Function {
	f := (&Function{Name: name}).signatures(sig{params: []family{temporal}, ret: strictly(bigint)})
	unitOf := func(c *Call) string {
		if unit != "" {
			return unit
		}
		return c.Unit
	}
	f.format = func(c *Call, args []string) string { return "EXTRACT(" + unitOf(c) + ", " + args[0] + ")" }
	f.op = func(c *Call, s Session) (Op, error) {
		get, err := extractor(unitOf(c), c.Args[0].Type(), s)
		if err != nil {
			return nil, err
		}
		return lift(func(r *kernel.Row) error {
			r.PutInt(get(r.Int(0)))
			return nil
		}), nil
	}
	return f
}

// extractor gives the function from a value of type t to a field of it; TIMESTAMP_LTZ is seen on the wall clock of the session's zone.
func extractor(name string, t types.Type, s Session) (func(int64) int64, error) {
	u, err := datetime.ParseUnit(name)
	if err != nil {
		return nil, err
	}
	units, zone := t.UnitsPerSecond(), s.zone()
	switch {
	case t.Kind == types.Date:
		return func(v int64) int64 { return datetime.ExtractDate(u, v) }, nil
	case t.Kind == types.Time && u <= datetime.Hour:
		return func(v int64) int64 { return datetime.ExtractTime(u, int32(v)) }, nil
	case t.Kind == types.Timestamp:
		return func(v int64) int64 { return datetime.ExtractTimestamp(u, v, units) }, nil
	case t.Kind == types.TimestampLTZ:
		return func(v int64) int64 {
			v, _ = zone.InstantToLocal(v, units)
			return datetime.ExtractTimestamp(u, v, units)
		}, nil
	case t.Kind == types.IntervalDayTime && u <= datetime.Day:
		return func(v int64) int64 { return datetime.ExtractDayTime(u, v) }, nil
	case t.Kind == types.IntervalYearMonth && u >= datetime.Month && u <= datetime.Millennium:
		return func(v int64) int64 { return datetime.ExtractYearMonth(u, int32(v)) }, nil
	}
	return nil, fmt.Errorf("cannot extract %s from %s", name, t.Nullable())
}

// roundTo is FLOOR(x TO unit) or CEIL(x TO unit), on the wall clock of the session's zone for TIMESTAMP_LTZ.
func roundTo(name string, ceil bool) *Function {
	f := (&Function{Name: name}).signatures(sig{params: []family{pointsInTime}, ret: asFirst})
	short := name[:len(name)-3]
	f.format = func(c *Call, args []string) string { return short + "(" + args[0] + ", " + c.Unit + ")" }
	f.op = func(c *Call, s Session) (Op, error) {
		u, err := datetime.ParseUnit(c.Unit)
		if err != nil || u < datetime.Millisecond || u > datetime.Millennium || c.T.Kind == types.Time && u > datetime.Day {
			return nil, fmt.Errorf("%s of %s has no unit %s", short, c.T.Nullable(), c.Unit)
		}
		if c.T.Kind == types.Time && u == datetime.Day {
			return nil, nil // measured: a TIME stays as it is
		}
		round := rounder(u, c.T, ceil)
		zone, units := s.zone(), c.T.UnitsPerSecond()
		return lift(func(r *kernel.Row) error {
			v, ok := r.Int(0), true
			if c.T.Kind == types.TimestampLTZ {
				v, ok = zone.InstantToLocal(v, units)
			}
			v = round(v)
			if ok && c.T.Kind == types.TimestampLTZ {
				v, ok = zone.LocalToInstant(v, units)
			}
			if !ok {
				return fmt.Errorf("%s: the result is out of range of %s", short, c.T.Nullable())
			}
			r.PutInt(v)
			return nil
		}), nil
	}
	return f
}

// rounder gives FLOOR or CEIL for values of type t on the wall clock.
func rounder(u datetime.Unit, t types.Type, ceil bool) func(int64) int64 {
	units := t.UnitsPerSecond()
	switch {
	case t.Kind == types.Date && ceil:
		return func(v int64) int64 { return datetime.CeilDate(u, v) }
	case t.Kind == types.Date:
		return func(v int64) int64 { return datetime.FloorDate(u, v) }
	case t.Kind == types.Time && ceil:
		return func(v int64) int64 { return int64(datetime.CeilTime(u, int32(v))) }
	case t.Kind == types.Time:
		return func(v int64) int64 { return int64(datetime.FloorTime(u, int32(v))) }
	case ceil:
		return func(v int64) int64 { return datetime.CeilTimestamp(u, v, units) }
	}
	return func(v int64) int64 { return datetime.FloorTimestamp(u, v, units) }
}

// timestampAdd is TIMESTAMPADD(unit, n, t): t + n * INTERVAL '1' unit. BindUnit gives the sum itself.
func timestampAdd() *Function {
	f := &Function{Name: "TIMESTAMPADD", form: "<UNIT>, <INTEGER>, <DATETIME>"}
	f.expand = func(unit string, args []Expr) (Expr, error) {
		if len(args) != 2 || !integer.has(args[0].Type()) || !isDatetime(args[1].Type()) {
			return nil, &ArgError{Func: f, Args: typesOf(args)}
		}
		u, err := datetime.ParseUnit(unit)
		if err != nil {
			return nil, err
		}
		var one *Literal
		t := args[1]
		if months, ok := u.Months(); ok {
			one = NewInt(types.New(types.IntervalYearMonth), months)
		} else if ms, ok := u.Millis(); ok {
			one = NewInt(types.Type{Kind: types.IntervalDayTime, Precision: 3}, ms)
			if u < datetime.Day && t.Type().Kind == types.Date {
				t = cast(t, types.NewTimestamp(6))
			}
		} else {
			return nil, fmt.Errorf("TIMESTAMPADD has no unit %s, the smallest is MILLISECOND", unit)
		}
		step, err := Lookup("*").Bind(one, args[0])
		if err != nil {
			return nil, err
		}
		return Lookup("+").Bind(t, step)
	}
	return f
}

// pairOfTimes casts two points of time to the same type and gives it; mixed allows a DATE with a TIMESTAMP.
func (f *Function) pairOfTimes(args []Expr, mixed bool) ([]Expr, types.Type, error) {
	if len(args) == 2 && isDatetime(args[0].Type()) && isDatetime(args[1].Type()) {
		a, b := args[0].Type(), args[1].Type()
		t, ok := a, false
		if a.Kind == b.Kind {
			t, ok = calcite(a, b)
		}
		switch {
		case ok || !mixed:
		case a.Kind == types.Date && b.IsTimestamp():
			t, ok = b, true
		case b.Kind == types.Date && a.IsTimestamp():
			t, ok = a, true
		}
		if ok {
			return []Expr{cast(args[0], t), cast(args[1], t)}, t, nil
		}
	}
	return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
}

// timestampDiff is TIMESTAMPDIFF(unit, a, b): the whole units from a to b, toward zero.
func timestampDiff() *Function {
	f := &Function{Name: "TIMESTAMPDIFF", form: "<UNIT>, <DATETIME>, <DATETIME>"}
	f.format = func(c *Call, args []string) string {
		return "TIMESTAMPDIFF(" + c.Unit + ", " + args[0] + ", " + args[1] + ")"
	}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		args, _, err := f.pairOfTimes(args, true)
		if err != nil {
			return nil, types.Type{}, err
		}
		return args, types.New(types.Int).WithNotNull(allNotNull(args)), nil
	}
	f.op = func(c *Call, s Session) (Op, error) {
		diff, err := differ(c.Unit, c.Args[0].Type(), s)
		if err != nil {
			return nil, err
		}
		return lift(func(r *kernel.Row) error {
			r.PutInt(int64(int32(diff(r.Int(0), r.Int(1)))))
			return nil
		}), nil
	}
	return f
}

// differ gives the function that counts the whole units from a to b.
func differ(name string, t types.Type, s Session) (func(a, b int64) int64, error) {
	u, err := datetime.ParseUnit(name)
	if err != nil {
		return nil, err
	}
	if _, ok := datetime.Diff(u, 0, 0, 1000); !ok {
		return nil, fmt.Errorf("TIMESTAMPDIFF with the unit %s is not supported yet", name)
	}
	units, zone := t.UnitsPerSecond(), s.zone()
	months, isMonths := u.Months()
	return func(a, b int64) int64 {
		switch t.Kind {
		case types.Date:
			if isMonths {
				return datetime.DiffMonthsDate(a, b) / months
			}
			a, b = a*datetime.MillisPerDay, b*datetime.MillisPerDay
		case types.TimestampLTZ:
			a, _ = zone.InstantToLocal(a, units)
			b, _ = zone.InstantToLocal(b, units)
		}
		n, _ := datetime.Diff(u, a, b, units)
		return n
	}, nil
}

// minusDates is (a - b) UNIT, an interval.
func minusDates() *Function {
	f := &Function{Name: "MINUS DATES", form: "<DATETIME>, <DATETIME>"}
	f.expand = func(unit string, args []Expr) (Expr, error) {
		args, _, err := f.pairOfTimes(args, false)
		if err != nil {
			return nil, err
		}
		c := &Call{Func: f, Unit: unit, Args: args, T: types.Type{Kind: types.IntervalDayTime, Precision: 3}}
		if u, err := datetime.ParseUnit(unit); err != nil {
			return nil, err
		} else if _, ok := u.Months(); ok {
			c.T = types.New(types.IntervalYearMonth)
		}
		c.T.NotNull = allNotNull(args)
		_, err = f.op(c, Session{})
		return c, err
	}
	f.format = func(c *Call, args []string) string { return "-(" + args[0] + ", " + args[1] + ")" }
	f.op = func(c *Call, s Session) (Op, error) {
		unit := "MILLISECOND"
		if c.T.Kind == types.IntervalYearMonth {
			unit = "MONTH"
		}
		diff, err := differ(unit, c.Args[0].Type(), s)
		if err != nil {
			return nil, err
		}
		return lift(func(r *kernel.Row) error {
			r.PutInt(diff(r.Int(1), r.Int(0)))
			return nil
		}), nil
	}
	return f
}

// toDate is TO_DATE(text[, pattern]).
func toDate() *Function {
	f := (&Function{Name: "TO_DATE", CanFail: true}).signatures(
		sig{params: []family{character, character}, opt: 1, ret: nullable(types.New(types.Date))})
	f.op = func(*Call, Session) (Op, error) {
		var known legacyPatterns
		return lift(func(r *kernel.Row) error {
			v, ok := int32(0), false
			if r.Args() == 1 {
				v, ok = datetime.ParseDate(r.Bytes(0))
			} else {
				p, err := known.get(r.Bytes(1), f.Name)
				if err != nil {
					return err
				}
				v, ok = datetime.ParseDatePattern(r.Bytes(0), p)
			}
			if ok {
				r.PutInt(int64(v))
			}
			return nil
		}), nil
	}
	return f
}

// patterns remembers the patterns that a call came across, so that each is compiled once.
type patterns struct {
	last *datetime.Pattern
	text string
	err  error
}

func (p *patterns) get(text []byte) (*datetime.Pattern, error) {
	if p.last == nil && p.err == nil || string(text) != p.text {
		p.text = string(text)
		p.last, p.err = datetime.CompilePattern(p.text)
	}
	return p.last, p.err
}

// toTimestamp is TO_TIMESTAMP(text[, pattern]): NULL for what cannot be read.
func toTimestamp() *Function {
	f := (&Function{Name: "TO_TIMESTAMP", CanFail: true}).signatures(sig{params: []family{character, character}, opt: 1, ret: nullable(types.NewTimestamp(3))})
	f.op = func(c *Call, _ Session) (Op, error) {
		var known patterns
		return lift(func(r *kernel.Row) error {
			if r.Args() == 1 {
				if v, ok := datetime.ParseTimestamp(r.Bytes(0), 1000, 3); ok {
					r.PutInt(v)
				}
				return nil
			}
			p, err := known.get(r.Bytes(1))
			if err != nil {
				return fmt.Errorf("TO_TIMESTAMP: %w", err)
			}
			if v, ok := p.ParseTimestamp(r.Bytes(0), 1000); ok {
				r.PutInt(v)
			}
			return nil
		}), nil
	}
	return f
}

// toTimestampLTZ is TO_TIMESTAMP_LTZ(number[, precision]) and TO_TIMESTAMP_LTZ(text[, pattern[, zone]]); the zone is UTC if not given.
func toTimestampLTZ() *Function {
	f := &Function{Name: "TO_TIMESTAMP_LTZ", CanFail: true}
	ofNumber := func(args []Expr) types.Type {
		p := int64(3)
		if len(args) == 2 {
			if v, ok := constInt(args[1]); ok {
				p = max(3, min(v, 9))
			}
		}
		return types.NewTimestampLTZ(int(p))
	}
	f.signatures(
		sig{params: []family{numeric, {"<INT>", func(t types.Type) bool { return t.Kind == types.Int }}}, opt: 1, ret: ofNumber},
		sig{params: []family{character, character, character}, opt: 2, ret: nullable(types.NewTimestampLTZ(3))})
	check := f.resolve
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		args, t, err := check(args)
		if err == nil && args[0].Type().IsExact() {
			args = append([]Expr{cast(args[0], bigint)}, args[1:]...)
		}
		return args, t, err
	}
	f.op = func(c *Call, _ Session) (Op, error) {
		if c.Args[0].Type().IsNumeric() {
			return epochToLTZ(c)
		}
		return textToLTZ(), nil
	}
	return f
}

// epochToLTZ counts 10^-precision seconds since 1970.
func epochToLTZ(c *Call) (Op, error) {
	if len(c.Args) == 2 {
		if p, ok := constInt(c.Args[1]); ok && (p < 0 || p > 9) {
			return nil, fmt.Errorf("the precision of TO_TIMESTAMP_LTZ must be between 0 and 9, not %d", p)
		}
	}
	units := c.T.UnitsPerSecond()
	approx := c.Args[0].Type().IsApprox()
	return lift(func(r *kernel.Row) error {
		p := int64(3)
		if r.Args() == 2 {
			if p = r.Int(1); p < 0 || p > 9 {
				return fmt.Errorf("the precision of TO_TIMESTAMP_LTZ must be between 0 and 9, not %d", p)
			}
		}
		number := int64(0)
		switch {
		case !approx:
			number = r.Int(0)
		default: // a fraction counts to the millisecond, rounded down
			number = javanum.Float64ToInt64(math.Floor(r.Float(0) * float64(pow10Int(int(max(p, 3)-p)))))
			p = max(p, 3)
		}
		if v, ok := datetime.InstantOfNumber(number, int(p), units); ok {
			r.PutInt(v)
		}
		return nil
	}), nil
}

func textToLTZ() Op {
	var known patterns
	var zone *datetime.Zone
	return lift(func(r *kernel.Row) error {
		v, ok := int64(0), false
		if r.Args() == 1 {
			v, ok = datetime.ParseTimestamp(r.Bytes(0), 1000, 3)
		} else {
			p, err := known.get(r.Bytes(1))
			if err != nil {
				return fmt.Errorf("TO_TIMESTAMP_LTZ: %w", err)
			}
			if fields, err := p.Parse(r.Bytes(0)); err == nil {
				v, ok = fields.Timestamp(1000)
			}
		}
		if ok && r.Args() == 3 {
			if zone == nil || zone.Name() != r.String(2) {
				z, err := datetime.LoadZone(string(r.Bytes(2)))
				if err != nil {
					return fmt.Errorf("TO_TIMESTAMP_LTZ: %w", err)
				}
				zone = z
			}
			v, ok = zone.LocalToInstant(v, 1000)
		}
		if !ok {
			return fmt.Errorf("TO_TIMESTAMP_LTZ: '%s' cannot be read as a timestamp", clip(r.Bytes(0)))
		}
		r.PutInt(v)
		return nil
	})
}
