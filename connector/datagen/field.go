package datagen

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/connector"
	"staunch/types"
)

// field makes the values of one column.
type field struct {
	typ types.Type
	// column is the number of the column in the table, part of the seed.
	column uint64
	// nullBelow: a value is NULL if the first draw is below it.
	nullBelow uint64
	sequence  bool
	start     int64
	end       int64

	lo, hi       int64   // integers, intervals
	flo, fhi     float64 // FLOAT, DOUBLE
	dlo          decimal128.Num
	dspan        *big.Int
	length       int
	varLen       bool
	maxPast      int64 // milliseconds
	zone         *time.Location
	scratch      []byte
	scaleFactors decimal128.Num
}

// newField checks the options of a column and makes its generator.
func newField(t connector.Table, c connector.Column, column int) (*field, error) {
	f := &field{typ: c.Type, column: uint64(column), zone: t.Zone}
	if f.zone == nil {
		f.zone = time.UTC
	}
	o := fieldOptions{t: t, name: c.Name}
	kind, err := t.Options.Enum(o.key("kind"))
	if err != nil {
		return nil, err
	}
	if c.Type.IsNested() || c.Type.Physical() == types.PhysNone {
		return nil, fmt.Errorf("table %s: column '%s': datagen makes no %s", t.Name, c.Name, c.Type)
	}
	rate, err := t.Options.Double(o.key("null-rate"))
	if err != nil {
		return nil, err
	}
	if rate > 0 && c.Type.NotNull {
		return nil, o.errorf("null-rate", "the column is NOT NULL")
	}
	if rate >= 1 {
		f.nullBelow = math.MaxUint64
	} else {
		f.nullBelow = uint64(rate * (1 << 63) * 2)
	}
	if kind == "sequence" {
		return f, f.readSequence(o)
	}
	return f, f.readRandom(o)
}

// fieldOptions are the options of one column.
type fieldOptions struct {
	t    connector.Table
	name string
}

func (o fieldOptions) key(k string) string { return "fields." + o.name + "." + k }

func (o fieldOptions) has(k string) bool { return o.t.Options.Has(o.key(k)) }

func (o fieldOptions) text(k string) string { return strings.TrimSpace(o.t.Options.String(o.key(k))) }

func (o fieldOptions) errorf(k, format string, args ...any) error {
	return o.t.Options.Errorf(o.key(k), format, args...)
}

// only refuses options that do not fit the column's type or kind.
func (o fieldOptions) only(what string, allowed ...string) error {
	var errs []error
	for _, k := range []string{"min", "max", "max-past", "length", "var-len", "start", "end"} {
		fits := false
		for _, a := range allowed {
			fits = fits || a == k
		}
		if o.has(k) && !fits {
			errs = append(errs, o.errorf(k, "is not possible for %s", what))
		}
	}
	return errors.Join(errs...)
}

// intRange is the range of an integer type.
func intRange(t types.Type) (lo, hi int64) {
	switch t.Kind {
	case types.TinyInt:
		return math.MinInt8, math.MaxInt8
	case types.SmallInt:
		return math.MinInt16, math.MaxInt16
	case types.Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func (o fieldOptions) int(k string, def, lo, hi int64) (int64, error) {
	if !o.has(k) {
		return def, nil
	}
	n, err := strconv.ParseInt(o.text(k), 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, o.errorf(k, "accepted is a whole number from %d to %d", lo, hi)
	}
	return n, nil
}

func (f *field) readSequence(o fieldOptions) error {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	switch {
	case f.typ.IsInteger():
		lo, hi = intRange(f.typ)
	case f.typ.Kind == types.Decimal:
		digits := min(f.typ.Precision-f.typ.Scale, 18)
		hi = pow10(digits) - 1
		lo = -hi
		f.scaleFactors = decimal128.FromBigInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.typ.Scale)), nil))
	case !f.typ.IsApprox() && !f.typ.IsString():
		return o.errorf("kind", "there is no sequence of %s", f.typ)
	}
	for _, k := range []string{"start", "end"} {
		if !o.has(k) {
			return o.errorf(k, "is missing; a sequence needs it")
		}
	}
	var err1, err2 error
	f.sequence = true
	f.start, err1 = o.int("start", 0, lo, hi)
	f.end, err2 = o.int("end", 0, lo, hi)
	if err := errors.Join(err1, err2, o.only("a sequence", "start", "end")); err != nil {
		return err
	}
	if f.end < f.start {
		return o.errorf("end", "is below the start %d", f.start)
	}
	if uint64(f.end)-uint64(f.start) >= math.MaxInt64 {
		return o.errorf("end", "the sequence is too long")
	}
	return nil
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// count is the number of values of a sequence.
func (f *field) count() int64 { return f.end - f.start + 1 }

func (f *field) readRandom(o fieldOptions) error {
	switch {
	case f.typ.IsInteger():
		return f.readInts(o)
	case f.typ.IsApprox():
		return f.readFloats(o)
	case f.typ.Kind == types.Decimal:
		return f.readDecimals(o)
	case f.typ.IsString() || f.typ.IsBinary():
		return f.readLength(o)
	case f.typ.IsTimestamp():
		past, err := o.t.Options.Duration(o.key("max-past"))
		f.maxPast = past.Milliseconds()
		return errors.Join(err, o.only(f.typ.String(), "max-past"))
	case f.typ.Kind == types.IntervalYearMonth:
		f.hi = 120_000
	case f.typ.Kind == types.IntervalDayTime:
		f.hi = (10_000 * 24 * time.Hour).Milliseconds()
	}
	return o.only(f.typ.String())
}

func (f *field) readInts(o fieldOptions) error {
	lo, hi := intRange(f.typ)
	var err1, err2 error
	f.lo, err1 = o.int("min", lo, lo, hi)
	f.hi, err2 = o.int("max", hi, lo, hi)
	if err := errors.Join(err1, err2, o.only(f.typ.String(), "min", "max")); err != nil {
		return err
	}
	if f.hi < f.lo {
		return o.errorf("max", "is below the minimum %d", f.lo)
	}
	return nil
}

// readFloats: the smallest value is by default the smallest positive one, as in Flink (Java's Double.MIN_VALUE).
func (f *field) readFloats(o fieldOptions) error {
	f.flo, f.fhi = math.SmallestNonzeroFloat64, math.MaxFloat64
	if f.typ.Kind == types.Float {
		f.flo, f.fhi = math.SmallestNonzeroFloat32, math.MaxFloat32
	}
	for k, p := range map[string]*float64{"min": &f.flo, "max": &f.fhi} {
		if !o.has(k) {
			continue
		}
		v, err := strconv.ParseFloat(o.text(k), 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || f.typ.Kind == types.Float && math.Abs(v) > math.MaxFloat32 {
			return o.errorf(k, "accepted is a number such as 1.5")
		}
		*p = v
	}
	if f.fhi < f.flo {
		return o.errorf("max", "is below the minimum %g", f.flo)
	}
	return o.only(f.typ.String(), "min", "max")
}

func (f *field) readDecimals(o fieldOptions) error {
	hi := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.typ.Precision)), nil)
	hi.Sub(hi, big.NewInt(1))
	bounds := map[string]*big.Int{"min": big.NewInt(0), "max": hi}
	for k := range bounds {
		if !o.has(k) {
			continue
		}
		r, ok := new(big.Rat).SetString(o.text(k))
		if !ok {
			return o.errorf(k, "accepted is a number such as 1.5")
		}
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.typ.Scale)), nil)))
		v := new(big.Int).Quo(r.Num(), r.Denom())
		if v.CmpAbs(hi) > 0 {
			return o.errorf(k, "does not fit into %s", f.typ)
		}
		bounds[k] = v
	}
	if bounds["max"].Cmp(bounds["min"]) < 0 {
		return o.errorf("max", "is below the minimum")
	}
	f.dlo = decimal128.FromBigInt(bounds["min"])
	f.dspan = new(big.Int).Add(new(big.Int).Sub(bounds["max"], bounds["min"]), big.NewInt(1))
	return o.only(f.typ.String(), "min", "max")
}

func (f *field) readLength(o fieldOptions) error {
	fixed := f.typ.Kind == types.Char || f.typ.Kind == types.Binary
	if fixed {
		f.length = f.typ.Length
		return o.only(f.typ.String())
	}
	n, err := o.t.Options.Int(o.key("length"))
	if err != nil {
		return err
	}
	if !o.has("length") && f.typ.Length != types.MaxLength {
		n = f.typ.Length
	}
	if n > f.typ.Length {
		return o.errorf("length", "is more than %s has room for", f.typ)
	}
	f.length = n
	f.varLen, err = o.t.Options.Bool(o.key("var-len"))
	return errors.Join(err, o.only(f.typ.String(), "length", "var-len"))
}

// draw is a stream of random numbers for one value (splitmix64).
type draw uint64

// mix is splitmix64's finalizer.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

const golden = 0x9e3779b97f4a7c15

func newDraw(seed, column, row uint64) draw {
	return draw(mix(mix(seed+golden*(column+1)) + golden*(row+1)))
}

func (d *draw) next() uint64 {
	*d += golden
	return mix(uint64(*d))
}

// below gives a number 0 <= x < n, or any if n is 0.
func (d *draw) below(n uint64) uint64 {
	r := d.next()
	if n == 0 {
		return r
	}
	hi, _ := bits.Mul64(r, n)
	return hi
}

// between gives lo <= x <= hi.
func (d *draw) between(lo, hi int64) int64 { return lo + int64(d.below(uint64(hi)-uint64(lo)+1)) }

// uniform gives 0 <= x < 1.
func (d *draw) uniform() float64 { return float64(d.next()>>11) / (1 << 53) }

// origin is what a split's values depend on besides the row.
type origin struct {
	seed uint64
	// index of n splits.
	index, n int64
	// baseMillis is the time of row 0, nanosPerRow the time between rows.
	baseMillis  int64
	nanosPerRow float64
}

// millis is when a row is due.
func (o *origin) millis(row int64) int64 {
	return o.baseMillis + int64(float64(row)*o.nanosPerRow/1e6)
}

// append adds the values of rows from <= row < to.
func (f *field) append(c *changelog.Column, o *origin, from, to int64) {
	for row := from; row < to; row++ {
		d := newDraw(o.seed+uint64(o.index)*golden, f.column, uint64(row))
		if f.nullBelow > 0 && d.next() < f.nullBelow {
			c.AppendNull()
			continue
		}
		if f.sequence {
			f.appendSequence(c, f.start+o.index+row*o.n)
			continue
		}
		f.appendRandom(c, o, row, &d)
	}
}

func (f *field) appendSequence(c *changelog.Column, v int64) {
	switch c.Type.Physical() {
	case types.PhysInt32:
		c.AppendInt32(int32(v))
	case types.PhysInt64:
		c.AppendInt64(v)
	case types.PhysFloat32:
		c.AppendFloat32(float32(v))
	case types.PhysFloat64:
		c.AppendFloat64(float64(v))
	case types.PhysDecimal:
		c.AppendDecimal(decimal128.FromI64(v).Mul(f.scaleFactors))
	case types.PhysBytes:
		f.scratch = strconv.AppendInt(f.scratch[:0], v, 10)
		if n := f.typ.Length; len(f.scratch) > n {
			f.scratch = f.scratch[:n]
		}
		for f.typ.Kind == types.Char && len(f.scratch) < f.typ.Length {
			f.scratch = append(f.scratch, ' ')
		}
		c.AppendBytes(f.scratch)
	}
}

func (f *field) appendRandom(c *changelog.Column, o *origin, row int64, d *draw) {
	switch f.typ.Kind {
	case types.Boolean:
		c.AppendBool(d.next()&1 == 1)
	case types.Float:
		c.AppendFloat32(float32(f.flo + d.uniform()*(f.fhi-f.flo)))
	case types.Double:
		u := d.uniform()
		c.AppendFloat64(f.flo*(1-u) + f.fhi*u) // the difference of the bounds may not fit
	case types.Decimal:
		c.AppendDecimal(f.dlo.Add(f.decimal(d)))
	case types.Char, types.Varchar:
		f.appendHex(c, d)
	case types.Binary, types.Varbinary:
		c.AppendBytes(f.bytes(f.size(d), d))
	case types.Date:
		c.AppendInt32(int32(floorDiv(f.local(o.millis(row)), 86_400_000)))
	case types.Time:
		ms := f.local(o.millis(row))
		ms -= floorDiv(ms, 86_400_000) * 86_400_000
		step := pow10(3 - min(f.typ.Precision, 3))
		c.AppendInt32(int32(ms / step * step))
	case types.Timestamp, types.TimestampLTZ:
		c.AppendInt64(f.timestamp(o.millis(row), d))
	default:
		v := d.between(f.lo, f.hi)
		if f.typ.Physical() == types.PhysInt32 {
			c.AppendInt32(int32(v))
		} else {
			c.AppendInt64(v)
		}
	}
}

// timestamp is a time of at most maxPast before ms, in the column's unit and precision.
func (f *field) timestamp(ms int64, d *draw) int64 {
	if f.maxPast > 0 {
		ms -= d.between(0, f.maxPast)
	}
	if f.typ.Kind == types.Timestamp {
		ms = f.local(ms)
	}
	if f.typ.Precision < 3 {
		step := pow10(3 - f.typ.Precision)
		ms = floorDiv(ms, step) * step
	}
	return ms * (f.typ.UnitsPerSecond() / 1000)
}

// local is the wall clock of an instant in the session's zone.
func (f *field) local(ms int64) int64 {
	if f.zone == time.UTC {
		return ms
	}
	_, offset := time.UnixMilli(ms).In(f.zone).Zone()
	return ms + int64(offset)*1000
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (f *field) decimal(d *draw) decimal128.Num {
	if f.dspan.IsUint64() {
		return decimal128.FromU64(d.below(f.dspan.Uint64()))
	}
	r := new(big.Int).SetUint64(d.next())
	r.Lsh(r, 64).Or(r, new(big.Int).SetUint64(d.next()))
	return decimal128.FromBigInt(r.Mod(r, f.dspan))
}

// size is the length of a value.
func (f *field) size(d *draw) int {
	if f.varLen {
		return 1 + int(d.below(uint64(f.length)))
	}
	return f.length
}

func (f *field) bytes(n int, d *draw) []byte {
	f.scratch = f.scratch[:0]
	for len(f.scratch) < n {
		r := d.next()
		f.scratch = append(f.scratch, byte(r), byte(r>>8), byte(r>>16), byte(r>>24), byte(r>>32), byte(r>>40), byte(r>>48), byte(r>>56))
	}
	return f.scratch[:n]
}

// appendHex adds a string of hexadecimal digits.
func (f *field) appendHex(c *changelog.Column, d *draw) {
	n := f.size(d)
	at := len(c.Data)
	c.Data = hex.AppendEncode(c.Data, f.bytes((n+1)/2, d))
	c.Data = c.Data[:at+n]
	c.EndBytes()
}
