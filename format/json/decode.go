package json

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/format"
	"staunch/types"
)

// maxUnknown is how many names of fields that the table does not have are remembered, and maxUnknownLength how long they may be.
const (
	maxUnknown       = 1024
	maxUnknownLength = 128
)

// key is a field name that may come in records.
type key struct {
	// quoted is the name as it stands in the record most of the time: quotes and colon around it.
	quoted string
	// next is the key that followed this one in the last record.
	next *key
	// col is the index in Params.Wanted, or -1 for a field that is not wanted.
	col int
}

// column says how values of one wanted column are read.
type column struct {
	name string
	typ  types.Type
	read reader
	// units is the resolution of timestamps.
	units int64
	// min and max bound integers.
	min, max int64
}

// reader picks the fast path of a column.
type reader uint8

const (
	readSlow reader = iota
	readInt32
	readInt64
	readDecimal
	readString
	readTimestampMillis
)

// decoder implements format.Decoder.
type decoder struct {
	columns []column
	keys    map[string]*key
	unknown int
	// root stands before the first key of a record, so that its next is the expected first key.
	root key
	// other is the key of all names that are not remembered.
	other key

	iso, failOnMissing, ignore, strictTypes bool

	coerced []int64
	// changed are the columns to be counted in coerced if the record parses.
	changed []int
	memo    dayMemo
	scratch []byte
	err     format.RecordError
	// faultColumn is the wanted column at fault plus one, or 0.
	faultColumn int
}

// options of the decoder and the encoder, parsed.
type options struct {
	iso, failOnMissing, ignore, strictTypes bool
	plainDecimal, ignoreNulls               bool
}

func newDecoder(p format.Params, o options) (*decoder, error) {
	d := &decoder{keys: make(map[string]*key, len(p.All)), iso: o.iso, failOnMissing: o.failOnMissing, ignore: o.ignore,
		strictTypes: o.strictTypes, coerced: make([]int64, len(p.Wanted))}
	d.root.col, d.other.col = -1, -1
	for _, f := range p.All {
		d.keys[f.Name] = &key{quoted: quoteName(f.Name), col: -1}
	}
	for i, at := range p.Wanted {
		f := p.All[at]
		c, err := newColumn(f)
		if err != nil {
			return nil, err
		}
		d.columns = append(d.columns, c)
		d.keys[f.Name].col = i
	}
	// Before the first record the order of declaration is the best guess.
	prev := &d.root
	for _, f := range p.All {
		prev.next = d.keys[f.Name]
		prev = prev.next
	}
	return d, nil
}

// quoteName is the name in quotes with a colon, as nearly all producers write it. A name that needs escapes is never expected as it stands:
// its text is a byte that no field name begins with, so that the slow path finds it.
func quoteName(name string) string {
	if strings.ContainsAny(name, "\"\\") {
		return "\x00"
	}
	return `"` + name + `":`
}

func newColumn(f format.Field) (column, error) {
	c := column{name: f.Name, typ: f.Type}
	switch f.Type.Kind {
	case types.TinyInt:
		c.min, c.max = -1<<7, 1<<7-1
	case types.SmallInt:
		c.min, c.max = -1<<15, 1<<15-1
	case types.Int:
		c.read, c.min, c.max = readInt32, -1<<31, 1<<31-1
	case types.BigInt:
		c.read, c.min, c.max = readInt64, -1<<63, 1<<63-1
	case types.Decimal:
		c.read = readDecimal
	case types.Char, types.Varchar:
		c.read = readString
	case types.Timestamp:
		c.units = f.Type.UnitsPerSecond()
		if c.units == 1000 {
			c.read = readTimestampMillis
		}
	case types.TimestampLTZ:
		c.units = f.Type.UnitsPerSecond()
	case types.Boolean, types.Float, types.Double, types.Binary, types.Varbinary, types.Date, types.Time:
	default:
		return c, fmt.Errorf("format json: column '%s' of type %s: this type is not available in JSON yet; read it as STRING to keep its text", f.Name, f.Type)
	}
	return c, nil
}

// Coerced implements format.Decoder.
func (d *decoder) Coerced() []int64 { return d.coerced }

// Decode implements format.Decoder.
func (d *decoder) Decode(b []byte, cols []*changelog.Column) (skip bool, err error) {
	if len(b) == 0 {
		// A tombstone or an empty value is no row, in strict mode too (as in Flink).
		return true, nil
	}
	n := 0
	if len(cols) > 0 {
		n = cols[0].N
	}
	d.changed = d.changed[:0]
	if !d.record(b, cols, n) {
		for _, c := range cols {
			c.Truncate(n)
		}
		if d.ignore {
			return true, nil
		}
		e := d.err
		return false, &e
	}
	for _, j := range d.changed {
		d.coerced[j]++
	}
	return false, nil
}

// record reads one record into row n and reports whether it parsed; if not, d.err says why.
func (d *decoder) record(b []byte, cols []*changelog.Column, n int) bool {
	p := 0
	if len(b) >= 3 && b[0] == 0xef && b[1] == 0xbb && b[2] == 0xbf {
		p = 3
	}
	p = skipSpace(b, p)
	if p >= len(b) || b[p] != '{' {
		if p < len(b) && b[p] == '[' {
			return d.fail(scanFault{p, whyArray})
		}
		return d.fail(scanFault{p, whyObject})
	}
	p++
	if p < len(b) && b[p] <= ' ' {
		p = skipSpace(b, p)
	}
	if p < len(b) && b[p] == '}' {
		return d.finish(b, p+1, cols, n)
	}
	prev := &d.root
	var fault scanFault
	for {
		k := prev.next
		if k != nil && len(b)-p > len(k.quoted) && string(b[p:p+len(k.quoted)]) == k.quoted {
			p += len(k.quoted)
			if b[p] <= ' ' {
				p = skipSpace(b, p)
			}
		} else if p, k, fault = d.readKey(b, p, prev); p < 0 {
			return d.fail(fault)
		}
		if k.col < 0 {
			_, p, fault = scanValue(b, p, 1)
		} else {
			c := cols[k.col]
			if c.N != n {
				c.Truncate(n) // a repeated key: the last value wins
			}
			p, fault = d.value(b, p, k.col, c)
		}
		if p < 0 {
			return d.fail(fault)
		}
		if p < len(b) && b[p] <= ' ' {
			p = skipSpace(b, p)
		}
		if p >= len(b) {
			return d.fail(scanFault{p, whyEnd})
		}
		if b[p] == '}' {
			return d.finish(b, p+1, cols, n)
		}
		if b[p] != ',' {
			return d.fail(scanFault{p, whyComma})
		}
		p++
		if p < len(b) && b[p] <= ' ' {
			p = skipSpace(b, p)
		}
		prev = k
	}
}

// finish checks what is behind the object and gives the columns that were not in it their NULL.
func (d *decoder) finish(b []byte, p int, cols []*changelog.Column, n int) bool {
	if p != len(b) {
		if p = skipSpace(b, p); p != len(b) {
			return d.fail(scanFault{p, whyTail})
		}
	}
	for j, c := range cols {
		if c.N == n {
			if d.failOnMissing {
				d.faultColumn = j + 1
				return d.fail(scanFault{p, "the field is missing and 'json.fail-on-missing-field' is set"})
			}
			c.AppendNull()
		}
	}
	return true
}

// fail notes why the record does not parse.
func (d *decoder) fail(f scanFault) bool {
	d.err = format.RecordError{At: f.at, Msg: f.why}
	if d.faultColumn > 0 {
		d.err.Column = d.columns[d.faultColumn-1].name
		d.faultColumn = 0
	}
	return false
}

// readKey reads a field name that was not the expected one and learns it as the follower of prev.
func (d *decoder) readKey(b []byte, p int, prev *key) (next int, k *key, fault scanFault) {
	next, t, fault := scanKey(b, p)
	if next < 0 {
		return next, nil, fault
	}
	name := b[t.start:t.end]
	if t.escaped {
		d.scratch = unescape(d.scratch[:0], name)
		name = d.scratch
	}
	k = d.keys[string(name)]
	if k == nil {
		k = &d.other
		if d.unknown < maxUnknown && len(name) <= maxUnknownLength {
			d.unknown++
			k = &key{quoted: quoteName(string(name)), col: -1}
			d.keys[string(name)] = k
		}
	}
	if prev != &d.other && k != &d.other {
		prev.next = k
	}
	return next, k, fault
}

// value reads the value at p into column j. What the fast path of its type does not know goes the slow way; only the fast paths advance by
// themselves, and they append nothing before the value is known to be whole.
func (d *decoder) value(b []byte, p, j int, c *changelog.Column) (int, scanFault) {
	switch col := &d.columns[j]; col.read {
	case readInt32:
		if v, q, ok := fastInt(b, p); ok && v >= col.min && v <= col.max {
			if c.Nulls == 0 {
				c.I32 = append(c.I32, int32(v))
				c.N++
			} else {
				c.AppendInt32(int32(v))
			}
			return q, scanFault{}
		}
	case readInt64:
		if v, q, ok := fastInt(b, p); ok {
			if c.Nulls == 0 {
				c.I64 = append(c.I64, v)
				c.N++
			} else {
				c.AppendInt64(v)
			}
			return q, scanFault{}
		}
	case readDecimal:
		if v, q, ok := fastDecimal(b, p, col.typ.Precision, col.typ.Scale); ok {
			if c.Nulls == 0 {
				c.Dec = append(c.Dec, decimal128.FromI64(v))
				c.N++
			} else {
				c.AppendDecimal(decimal128.FromI64(v))
			}
			return q, scanFault{}
		}
	case readString:
		if p < len(b) && b[p] == '"' {
			end, escaped, fault := scanString(b, p+1)
			if end < 0 {
				return -1, fault
			}
			if escaped {
				c.Data = unescape(c.Data, b[p+1:end])
			} else {
				c.Data = append(c.Data, b[p+1:end]...)
			}
			if c.Nulls == 0 {
				c.Off = append(c.Off, int32(len(c.Data)))
				c.N++
			} else {
				c.EndBytes()
			}
			return end + 1, scanFault{}
		}
	case readTimestampMillis:
		if len(b)-p > 25 && b[p] == '"' && b[p+24] == '"' {
			sep := byte(' ')
			if d.iso {
				sep = 'T'
			}
			if v, ok := d.memo.parseMillisFast(b[p+1:p+24], sep, d.iso); ok {
				if c.Nulls == 0 {
					c.I64 = append(c.I64, v)
					c.N++
				} else {
					c.AppendInt64(v)
				}
				return p + 25, scanFault{}
			}
		}
	}
	t, next, fault := scanValue(b, p, 1)
	if next < 0 {
		return -1, fault
	}
	why, coerced := d.convert(b, t, j, c)
	if why == "" && coerced {
		if !d.strictTypes {
			d.changed = append(d.changed, j)
			return next, fault
		}
		c.Truncate(c.N - 1)
		why = "value would be changed to fit the column and 'staunch.json.coercion' is fail"
	}
	if why != "" {
		if !d.ignore {
			return -1, d.describe(b, t, j, why)
		}
		d.changed = append(d.changed, j)
		c.AppendNull()
	}
	return next, fault
}

// fastInt reads an integer of up to 18 digits that ends at a comma, brace or white space.
func fastInt(b []byte, p int) (v int64, next int, ok bool) {
	neg := false
	if p < len(b) && b[p] == '-' {
		neg = true
		p++
	}
	start := p
	for p < len(b) {
		d := b[p] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		p++
	}
	width := p - start
	if width == 0 || width > 18 || p >= len(b) || b[start] == '0' && width > 1 {
		return 0, 0, false
	}
	// Only these may follow: others make a number with fraction or exponent, or an error.
	if c := b[p]; c != ',' && c != '}' && c > ' ' {
		return 0, 0, false
	}
	if neg {
		v = -v
	}
	return v, p, true
}

// fastDecimal reads a number without exponent of up to 18 digits that fits DECIMAL(precision, scale) without rounding, unscaled.
func fastDecimal(b []byte, p, precision, scale int) (v int64, next int, ok bool) {
	neg := false
	if p < len(b) && b[p] == '-' {
		neg = true
		p++
	}
	start := p
	for p < len(b) && b[p]-'0' < 10 {
		v = v*10 + int64(b[p]-'0')
		p++
	}
	width, fraction := p-start, 0
	if width == 0 || width > 18 || b[start] == '0' && width > 1 {
		return 0, 0, false
	}
	if p < len(b) && b[p] == '.' {
		p++
		first := p
		for p < len(b) && b[p]-'0' < 10 {
			v = v*10 + int64(b[p]-'0')
			p++
		}
		if fraction = p - first; fraction == 0 {
			return 0, 0, false
		}
		width += fraction
	}
	fill := scale - fraction
	if p >= len(b) || fill < 0 || width > 18 || width+fill > min(precision, 18) {
		return 0, 0, false
	}
	if c := b[p]; c != ',' && c != '}' && c > ' ' {
		return 0, 0, false
	}
	v *= int64(pow10[fill])
	if neg {
		v = -v
	}
	return v, p, true
}

// describe says which value of which column does not convert, with its beginning.
func (d *decoder) describe(b []byte, t token, j int, why string) scanFault {
	const most = 40
	text := b[t.start:t.end]
	dots := ""
	if len(text) > most {
		text, dots = text[:most], "..."
	}
	d.faultColumn = j + 1
	return scanFault{t.start, fmt.Sprintf("%s: found %q%s for type %s", why, text, dots, d.columns[j].typ)}
}
