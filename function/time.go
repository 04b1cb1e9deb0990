package function

import (
	"fmt"

	"staunch/function/datetime"
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

// wallClock gives the function from a value of a point of time to its day and nanosecond of the day on the wall clock.
func wallClock(t types.Type, s Session) func(v int64) (days, nanos int64) {
	switch t.Kind {
	case types.Date:
		return func(v int64) (int64, int64) { return v, 0 }
	case types.Time:
		return func(v int64) (int64, int64) { return 0, v * datetime.NanosPerMilli }
	}
	local := localTime(t, s)
	return func(v int64) (int64, int64) {
		days, nanos, _ := local(v)
		return days, nanos
	}
}

// extractor gives the function from a value of type t to a field of it.
func extractor(unit string, t types.Type, s Session) (func(int64) int64, error) {
	if t.IsInterval() {
		return intervalField(unit, t)
	}
	clock := wallClock(t, s)
	if unit == "EPOCH" {
		return func(v int64) int64 {
			if t.Kind == types.TimestampLTZ { // an instant, whatever the zone
				return datetime.FloorDiv(v, t.UnitsPerSecond())
			}
			days, nanos := clock(v)
			return days*datetime.SecondsPerDay + nanos/datetime.NanosPerSecond
		}, nil
	}
	if f := clockFields[unit]; f != nil {
		return func(v int64) int64 { _, nanos := clock(v); return f(nanos) }, nil
	}
	if f := dateFields[unit]; f != nil && t.Kind != types.Time {
		return func(v int64) int64 { days, _ := clock(v); return f(days) }, nil
	}
	return nil, fmt.Errorf("cannot extract %s from %s", unit, t.Nullable())
}

var clockFields = map[string]func(nanos int64) int64{
	"HOUR":        func(n int64) int64 { return n / (3600 * datetime.NanosPerSecond) },
	"MINUTE":      func(n int64) int64 { return n / (60 * datetime.NanosPerSecond) % 60 },
	"SECOND":      func(n int64) int64 { return n / datetime.NanosPerSecond % 60 },
	"MILLISECOND": func(n int64) int64 { return n % datetime.NanosPerSecond / datetime.NanosPerMilli },
	// Flink keeps milliseconds only in these two.
	"MICROSECOND": func(n int64) int64 { return n % datetime.NanosPerSecond / datetime.NanosPerMilli * 1000 },
	"NANOSECOND":  func(n int64) int64 { return n % datetime.NanosPerSecond / datetime.NanosPerMilli * 1_000_000 },
}

func civil(f func(y, m, d int64) int64) func(days int64) int64 {
	return func(days int64) int64 {
		y, m, d := datetime.CivilFromDays(days)
		return f(int64(y), int64(m), int64(d))
	}
}

// above counts periods of size years that begin with year 1.
func above(y, size int64) int64 {
	if y > 0 {
		return (y + size - 1) / size
	}
	return (y - size + 1) / size
}

var dateFields = map[string]func(days int64) int64{
	"YEAR":       civil(func(y, _, _ int64) int64 { return y }),
	"QUARTER":    civil(func(_, m, _ int64) int64 { return (m + 2) / 3 }),
	"MONTH":      civil(func(_, m, _ int64) int64 { return m }),
	"DAY":        civil(func(_, _, d int64) int64 { return d }),
	"DECADE":     civil(func(y, _, _ int64) int64 { return datetime.FloorDiv(y, 10) }),
	"CENTURY":    civil(func(y, _, _ int64) int64 { return above(y, 100) }),
	"MILLENNIUM": civil(func(y, _, _ int64) int64 { return above(y, 1000) }),
	"DOY": func(days int64) int64 {
		y, _, _ := datetime.CivilFromDays(days)
		return days - datetime.DaysFromCivil(y, 1, 1) + 1
	},
	"DOW":     func(days int64) int64 { return int64(datetime.DayOfWeek(days)%7 + 1) },
	"ISODOW":  func(days int64) int64 { return int64(datetime.DayOfWeek(days)) },
	"WEEK":    func(days int64) int64 { _, w := isoWeek(days); return w },
	"ISOYEAR": func(days int64) int64 { y, _ := isoWeek(days); return y },
}

// isoWeek gives the year and the week of ISO 8601: the week belongs to the year of its Thursday.
func isoWeek(days int64) (year, week int64) {
	thursday := days - int64(datetime.DayOfWeek(days)) + 4
	y, _, _ := datetime.CivilFromDays(thursday)
	return int64(y), (thursday-datetime.DaysFromCivil(y, 1, 1))/7 + 1
}

func intervalField(unit string, t types.Type) (func(int64) int64, error) {
	size := map[string][2]int64{"DAY": {86_400_000, 1 << 62}, "HOUR": {3_600_000, 24}, "MINUTE": {60_000, 60}, "SECOND": {1000, 60}, "MILLISECOND": {1, 1000}}
	if t.Kind == types.IntervalYearMonth {
		size = map[string][2]int64{"YEAR": {12, 1 << 62}, "MONTH": {1, 12}}
	}
	s, ok := size[unit]
	if !ok {
		return nil, fmt.Errorf("cannot extract %s from %s", unit, t.Nullable())
	}
	return func(v int64) int64 { return v / s[0] % s[1] }, nil
}

// spanNanos are the units shorter than a day.
var spanNanos = map[string]int64{"HOUR": 3600 * datetime.NanosPerSecond, "MINUTE": 60 * datetime.NanosPerSecond, "SECOND": datetime.NanosPerSecond,
	"MILLISECOND": datetime.NanosPerMilli}

// floorDay gives the first day of the period that a day lies in; weeks begin on Sunday.
func floorDay(unit string, days int64) (int64, bool) {
	y, m, _ := datetime.CivilFromDays(days)
	switch unit {
	case "DAY":
		return days, true
	case "WEEK":
		return days - int64(datetime.DayOfWeek(days)%7), true
	case "MONTH":
		return datetime.DaysFromCivil(y, m, 1), true
	case "QUARTER":
		return datetime.DaysFromCivil(y, (m-1)/3*3+1, 1), true
	case "YEAR":
		return datetime.DaysFromCivil(y, 1, 1), true
	case "DECADE":
		return datetime.DaysFromCivil(int(datetime.FloorDiv(int64(y), 10))*10, 1, 1), true
	case "CENTURY":
		return datetime.DaysFromCivil(int(datetime.FloorDiv(int64(y)-1, 100))*100+1, 1, 1), true
	case "MILLENNIUM":
		return datetime.DaysFromCivil(int(datetime.FloorDiv(int64(y)-1, 1000))*1000+1, 1, 1), true
	}
	return 0, false
}

// unitMonths are the units that are whole months.
var unitMonths = map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}

// nextDay gives the first day of the period behind the one that begins with first.
func nextDay(unit string, first int64) int64 {
	switch unit {
	case "DAY":
		return first + 1
	case "WEEK":
		return first + 7
	}
	return addMonthsToDay(first, unitMonths[unit])
}

// roundTo is FLOOR(x TO unit) or CEIL(x TO unit), on the wall clock of the session's zone for TIMESTAMP_LTZ.
func roundTo(name string, ceil bool) *Function {
	f := (&Function{Name: name}).signatures(sig{params: []family{pointsInTime}, ret: asFirst})
	short := name[:len(name)-3]
	f.format = func(c *Call, args []string) string { return short + "(" + args[0] + ", FLAG(" + c.Unit + "))" }
	f.op = func(c *Call, s Session) (Op, error) {
		t := c.T
		span, isSpan := spanNanos[c.Unit]
		if _, isDays := floorDay(c.Unit, 0); !isSpan && (!isDays || t.Kind == types.Time) {
			return nil, fmt.Errorf("%s of %s has no unit %s", short, t.Nullable(), c.Unit)
		}
		clock := wallClock(t, s)
		zone := s.zone()
		return lift(func(r *kernel.Row) error {
			days, nanos := clock(r.Int(0))
			if isSpan {
				rest := nanos % span
				if nanos -= rest; ceil && rest > 0 {
					nanos += span
				}
			} else {
				first, _ := floorDay(c.Unit, days)
				if ceil && (days > first || nanos > 0) {
					first = nextDay(c.Unit, first)
				}
				days, nanos = first, 0
			}
			switch t.Kind {
			case types.Date:
				r.PutInt(days)
				return nil
			case types.Time:
				r.PutInt(nanos / datetime.NanosPerMilli % datetime.MillisPerDay)
				return nil
			}
			if nanos >= datetime.NanosPerDay {
				days, nanos = days+1, nanos-datetime.NanosPerDay
			}
			v, ok := datetime.Join(days, nanos, t.UnitsPerSecond())
			if ok && t.Kind == types.TimestampLTZ {
				v, ok = zone.LocalToInstant(v, t.UnitsPerSecond())
			}
			if !ok {
				return fmt.Errorf("%s: the result is out of range of %s", short, t.Nullable())
			}
			r.PutInt(v)
			return nil
		}), nil
	}
	return f
}

// unitMillis are the units of day-time intervals.
var unitMillis = map[string]int64{"WEEK": 7 * 86_400_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLISECOND": 1}

// timestampAdd is TIMESTAMPADD(unit, n, t): t + n * INTERVAL '1' unit. BindUnit gives the sum itself.
func timestampAdd() *Function {
	f := &Function{Name: "TIMESTAMPADD", form: "<UNIT>, <INTEGER>, <DATETIME>"}
	f.expand = func(unit string, args []Expr) (Expr, error) {
		if len(args) != 2 || !integer.has(args[0].Type()) || !isDatetime(args[1].Type()) {
			return nil, &ArgError{Func: f, Args: typesOf(args)}
		}
		var one *Literal
		t := args[1]
		switch {
		case unitMonths[unit] != 0:
			one = NewInt(types.New(types.IntervalYearMonth), unitMonths[unit])
		case unitMillis[unit] != 0:
			one = NewInt(types.Type{Kind: types.IntervalDayTime, Precision: 3}, unitMillis[unit])
			if unitMillis[unit] < 86_400_000 && t.Type().Kind == types.Date {
				t = cast(t, types.NewTimestamp(0))
			}
		default:
			return nil, fmt.Errorf("TIMESTAMPADD with the unit %s is not supported yet", unit)
		}
		step, err := Lookup("*").Bind(one, args[0])
		if err != nil {
			return nil, err
		}
		return Lookup("+").Bind(t, step)
	}
	return f
}

// pairOfTimes casts two points of time to the same type and gives it.
func (f *Function) pairOfTimes(args []Expr) ([]Expr, types.Type, error) {
	if len(args) == 2 && isDatetime(args[0].Type()) && isDatetime(args[1].Type()) {
		a, b := args[0].Type(), args[1].Type()
		t, ok := common2(a, b)
		switch {
		case ok:
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
		args, _, err := f.pairOfTimes(args)
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
func differ(unit string, t types.Type, s Session) (func(a, b int64) int64, error) {
	clock := wallClock(t, s)
	if months := unitMonths[unit]; months != 0 {
		return func(a, b int64) int64 { return monthsBetween(clock, a, b) / months }, nil
	}
	size := unitMillis[unit] * datetime.NanosPerMilli
	if size == 0 {
		return nil, fmt.Errorf("TIMESTAMPDIFF with the unit %s is not supported yet", unit)
	}
	return func(a, b int64) int64 {
		ad, an := clock(a)
		bd, bn := clock(b)
		// Whole days and the rest apart, so that nothing overflows.
		days, nanos := bd-ad, bn-an
		if size >= datetime.NanosPerDay {
			switch {
			case days > 0 && nanos < 0:
				days--
			case days < 0 && nanos > 0:
				days++
			}
			return days / (size / datetime.NanosPerDay)
		}
		perDay := datetime.NanosPerDay / size
		q, rest := days*perDay+nanos/size, nanos%size
		switch {
		case q > 0 && rest < 0:
			q--
		case q < 0 && rest > 0:
			q++
		}
		return q
	}, nil
}

// monthsBetween counts the months that can be added to a without going past b; a day that a month does not have counts as its last.
func monthsBetween(clock func(int64) (int64, int64), a, b int64) int64 {
	ad, an := clock(a)
	bd, bn := clock(b)
	sign := int64(1)
	if ad > bd || ad == bd && an > bn {
		ad, an, bd, bn = bd, bn, ad, an
		sign = -1
	}
	ay, am, _ := datetime.CivilFromDays(ad)
	by, bm, _ := datetime.CivilFromDays(bd)
	n := int64(by-ay)*12 + int64(bm-am)
	if end := addMonthsToDay(ad, n); end > bd || end == bd && an > bn {
		n--
	}
	return sign * n
}

// minusDates is (a - b) UNIT, an interval.
func minusDates() *Function {
	f := &Function{Name: "MINUS DATES", form: "<DATETIME>, <DATETIME>"}
	f.expand = func(unit string, args []Expr) (Expr, error) {
		args, _, err := f.pairOfTimes(args)
		if err != nil {
			return nil, err
		}
		c := &Call{Func: f, Unit: unit, Args: args, T: types.Type{Kind: types.IntervalDayTime, Precision: 3}}
		if unitMonths[unit] != 0 {
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
			fields, err := p.Parse(r.Bytes(0))
			if err != nil {
				return nil
			}
			if v, ok := fields.Timestamp(1000); ok {
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
		sig{params: []family{numeric, integer}, opt: 1, ret: ofNumber},
		sig{params: []family{character, character, character}, opt: 2, ret: nullable(types.NewTimestampLTZ(3))})
	check := f.resolve
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		args, t, err := check(args)
		if err == nil && args[0].Type().IsNumeric() {
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
	return lift(func(r *kernel.Row) error {
		p := int64(3)
		if r.Args() == 2 {
			if p = r.Int(1); p < 0 || p > 9 {
				return fmt.Errorf("the precision of TO_TIMESTAMP_LTZ must be between 0 and 9, not %d", p)
			}
		}
		if v, ok := datetime.InstantOfNumber(r.Int(0), int(p), units); ok {
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
