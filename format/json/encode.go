package json

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/format"
	"staunch/function/datetime"
	"staunch/function/javanum"
	"staunch/types"
)

// flushBytes is how much a writer keeps before it writes to the file.
const flushBytes = 256 << 10

// fileFormat implements format.FileFormat.
type fileFormat struct {
	columns []outColumn
	options
}

// outColumn is one field as the encoder writes it.
type outColumn struct {
	// first and later are the quoted name with colon as it begins the object or follows another field.
	first, later string
	typ          types.Type
	units        int64
}

func newFileFormat(p format.Params, o options) (*fileFormat, error) {
	f := &fileFormat{options: o}
	for _, at := range p.Wanted {
		field := p.All[at]
		if field.Type.Physical() == types.PhysNested || field.Type.Physical() == types.PhysNone || field.Type.IsInterval() {
			return nil, fmt.Errorf("format json: column '%s' of type %s: this type is not available in JSON yet", field.Name, field.Type)
		}
		name := string(appendQuoted(nil, []byte(field.Name))) + ":"
		c := outColumn{first: "{" + name, later: "," + name, typ: field.Type}
		if field.Type.IsTimestamp() {
			c.units = field.Type.UnitsPerSecond()
		}
		f.columns = append(f.columns, c)
	}
	return f, nil
}

// Open implements format.FileFormat.
func (f *fileFormat) Open(w io.Writer) (format.FileWriter, error) {
	return &fileWriter{format: f, w: w}, nil
}

// fileWriter implements format.FileWriter: one object a line.
type fileWriter struct {
	format  *fileFormat
	w       io.Writer
	buf     []byte
	day     dayText
	written int64
	err     error
}

// Write implements format.FileWriter.
func (w *fileWriter) Write(cols []*changelog.Column, from, to int) error {
	if w.err != nil {
		return w.err
	}
	for i := from; i < to; i++ {
		w.buf = w.format.appendRow(w.buf, cols, i, &w.day)
		if len(w.buf) >= flushBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *fileWriter) flush() error {
	n, err := w.w.Write(w.buf)
	w.written += int64(n)
	// After a failed write the file's content is unknown: no later write may look as if all had gone well.
	w.err = err
	w.buf = w.buf[:0]
	if cap(w.buf) > 4*flushBytes {
		w.buf = nil // a huge row must not stay in memory behind it
	}
	return err
}

// Size implements format.FileWriter.
func (w *fileWriter) Size() int64 { return w.written + int64(len(w.buf)) }

// Buffered implements format.FileWriter.
func (w *fileWriter) Buffered() int64 { return int64(cap(w.buf)) }

// Finish implements format.FileWriter. JSON has no footer: meta is not stored.
func (w *fileWriter) Finish(map[string]string) error {
	if w.err != nil {
		return w.err
	}
	if len(w.buf) == 0 {
		return nil
	}
	return w.flush()
}

// appendRow appends row i as an object and a line feed.
func (f *fileFormat) appendRow(dst []byte, cols []*changelog.Column, i int, day *dayText) []byte {
	empty := true
	for j := range f.columns {
		c, col := &f.columns[j], cols[j]
		null := col.Nulls > 0 && col.IsNull(i)
		if null && f.ignoreNulls {
			continue
		}
		if empty {
			dst = append(dst, c.first...)
			empty = false
		} else {
			dst = append(dst, c.later...)
		}
		if null {
			dst = append(dst, "null"...)
		} else {
			dst = f.appendValue(dst, c, col, i, day)
		}
	}
	if empty {
		dst = append(dst, '{')
	}
	return append(dst, '}', '\n')
}

func (f *fileFormat) appendValue(dst []byte, c *outColumn, col *changelog.Column, i int, day *dayText) []byte {
	switch c.typ.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, col.B[i])
	case types.TinyInt, types.SmallInt, types.Int:
		return strconv.AppendInt(dst, int64(col.I32[i]), 10)
	case types.BigInt:
		return strconv.AppendInt(dst, col.I64[i], 10)
	case types.Float:
		return appendFloat(dst, float64(col.F32[i]), 32)
	case types.Double:
		return appendFloat(dst, col.F64[i], 64)
	case types.Decimal:
		return appendDecimal(dst, col.Dec[i], c.typ.Scale, f.plainDecimal)
	case types.Char, types.Varchar:
		return appendQuoted(dst, col.Bytes(i))
	case types.Binary, types.Varbinary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, col.Bytes(i))
		return append(dst, '"')
	case types.Date:
		dst = appendSign(append(dst, '"'), int64(col.I32[i]))
		return append(datetime.AppendDate(dst, col.I32[i]), '"')
	case types.Time:
		return appendTime(dst, int64(col.I32[i]))
	case types.Timestamp, types.TimestampLTZ:
		std := datetime.SQL
		if f.iso {
			std = datetime.ISO8601
		}
		v := col.I64[i]
		if c.units == 1000 && c.typ.Kind == types.Timestamp {
			return day.appendMillis(dst, v, f.iso)
		}
		dst = appendSign(append(dst, '"'), v/c.units/secondsPerDay)
		dst = datetime.AppendTimestampStandard(dst, v, c.units, std, c.typ.Kind == types.TimestampLTZ)
		return append(dst, '"')
	}
	return append(dst, "null"...)
}

// dayText remembers the text of the last day, as days repeat.
type dayText struct {
	known bool
	days  int64
	text  [10]byte
}

// appendMillis prints a TIMESTAMP of milliseconds in quotes.
func (d *dayText) appendMillis(dst []byte, v int64, iso bool) []byte {
	days := datetime.FloorDiv(v, millisPerDay)
	if !d.known || d.days != days {
		if days < datetime.MinDay || days > datetime.MaxDay {
			std := datetime.SQL
			if iso {
				std = datetime.ISO8601
			}
			dst = appendSign(append(dst, '"'), days)
			return append(datetime.AppendTimestampStandard(dst, v, 1000, std, false), '"')
		}
		datetime.AppendDate(d.text[:0], int32(days))
		d.known, d.days = true, days
	}
	sep := byte(' ')
	if iso {
		sep = 'T'
	}
	rest := int(v - days*millisPerDay)
	dst = append(append(append(dst, '"'), d.text[:]...), sep)
	dst = appendTwo(dst, rest/3_600_000, ':')
	dst = appendTwo(dst, rest/60_000%60, ':')
	second, fraction := rest/1000%60, rest%1000
	switch {
	case fraction == 0:
		return appendTwo(dst, second, '"')
	case fraction%100 == 0:
		return append(appendTwo(dst, second, '.'), byte('0'+fraction/100), '"')
	case fraction%10 == 0:
		return appendTwo(appendTwo(dst, second, '.'), fraction/10, '"')
	}
	return append(appendTwo(appendTwo(dst, second, '.'), fraction/10, byte('0'+fraction%10)), '"')
}

// appendTwo appends two digits and a byte.
func appendTwo(dst []byte, v int, then byte) []byte {
	return append(dst, byte('0'+v/10), byte('0'+v%10), then)
}

// appendSign puts the plus sign before years beyond 9999, without which the text would not be read back.
func appendSign(dst []byte, days int64) []byte {
	if days > datetime.MaxDay {
		return append(dst, '+')
	}
	return dst
}

// appendTime prints a time of day with its fraction, if it has one.
func appendTime(dst []byte, millis int64) []byte {
	// As a timestamp of 1970-01-01, of which only the time is kept.
	at := len(dst)
	dst = datetime.AppendTimestampStandard(dst, datetime.FloorMod(millis, millisPerDay), 1000, datetime.SQL, false)
	dst[at+len("1970-01-01")] = '"'
	n := copy(dst[at:], dst[at+len("1970-01-01"):])
	return append(dst[:at+n], '"')
}

// needsEscape marks the bytes that are not written as they are: quote, backslash, control characters, and the first byte of characters
// behind U+FFFF, which Flink writes as an escaped surrogate pair.
var needsEscape = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	for c := 0xf0; c <= 0xff; c++ {
		t[c] = true
	}
	return t
}()

const hexDigits = "0123456789ABCDEF"

// appendQuoted appends s in quotes. What is not UTF-8 becomes U+FFFD, since the file would not be JSON otherwise.
func appendQuoted(dst, s []byte) []byte {
	start := len(dst)
	dst = append(dst, '"')
	at := 0
	var high byte
	for i := 0; i < len(s); i++ {
		for i+8 <= len(s) && plainEight(s[i:]) {
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		high |= c
		if !needsEscape[c] {
			continue
		}
		dst = append(dst, s[at:i]...)
		at = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			if c < 0x20 {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
				break
			}
			r, n := utf8.DecodeRune(s[i:])
			if n < 4 {
				dst = append(dst, c) // not UTF-8: replaced below
				break
			}
			hi, lo := utf16.EncodeRune(r)
			dst = appendUnicodeEscape(appendUnicodeEscape(dst, hi), lo)
			i += n - 1
			at = i + 1
		}
	}
	dst = append(append(dst, s[at:]...), '"')
	if high >= 0x80 && !utf8.Valid(dst[start:]) {
		return append(dst[:start], bytes.ToValidUTF8(dst[start:], []byte("\ufffd"))...)
	}
	return dst
}

// plainEight reports whether the first eight bytes are ASCII without quote, backslash and control characters.
func plainEight(s []byte) bool {
	w := binary.LittleEndian.Uint64(s)
	q, b := w^eachQuote, w^eachSlash
	return ((q-eachLow)&^q|(b-eachLow)&^b|(w-0x20*eachLow)&^w|w)&eachHigh == 0
}

func appendUnicodeEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// appendFloat prints as Java does; what is not a number is text.
func appendFloat(dst []byte, f float64, size int) []byte {
	switch {
	case f != f:
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	if size == 32 {
		return javanum.AppendFloat32(dst, float32(f))
	}
	return javanum.AppendFloat64(dst, f)
}

// appendDecimal prints v / 10^scale: plain with all its digits, otherwise without trailing zeros as
// java.math.BigDecimal.stripTrailingZeros().toString() does, where whole numbers that end in zeros get an exponent (1E+2) and so do numbers
// below 10^-6.
func appendDecimal(dst []byte, v decimal128.Num, scale int, plain bool) []byte {
	if v.Sign() < 0 {
		dst = append(dst, '-')
		v = v.Negate()
	}
	var buf [40]byte
	digits := decimalDigits(&buf, uint64(v.HighBits()), v.LowBits())
	if !plain {
		if v.Sign() == 0 {
			return append(dst, '0')
		}
		for len(digits) > 1 && digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
			scale--
		}
	}
	adjusted := len(digits) - 1 - scale
	switch {
	case scale == 0:
		return append(dst, digits...)
	case !plain && (scale < 0 || adjusted < -6):
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = append(dst, 'E')
		if adjusted >= 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(adjusted), 10)
	case adjusted < 0:
		dst = append(dst, '0', '.')
		for range -adjusted - 1 {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	whole := len(digits) - scale
	dst = append(dst, digits[:whole]...)
	dst = append(dst, '.')
	return append(dst, digits[whole:]...)
}

// decimalDigits prints an unsigned 128-bit number below 10^38 into buf.
func decimalDigits(buf *[40]byte, hi, lo uint64) []byte {
	if hi == 0 {
		return strconv.AppendUint(buf[:0], lo, 10)
	}
	// hi < 10^19 holds for every DECIMAL(38), so one division gives two groups of 19 digits.
	q, r := bits.Div64(hi, lo, 1e19)
	out := strconv.AppendUint(buf[:0], q, 10)
	at := len(out)
	out = out[:at+19]
	for i := at + 18; i >= at; i-- {
		out[i] = byte('0' + r%10)
		r /= 10
	}
	return out
}
