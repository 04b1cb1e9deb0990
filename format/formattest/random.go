package formattest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"staunch/changelog"
	"staunch/format"
	"staunch/types"
)

// AtomicFields are one nullable column of each atomic type, and more than one where precision decides about storage.
func AtomicFields() []format.Field {
	list := []types.Type{types.New(types.Boolean), types.New(types.TinyInt), types.New(types.SmallInt), types.New(types.Int), types.New(types.BigInt),
		types.New(types.Float), types.New(types.Double), types.NewDecimal(5, 2), types.NewDecimal(9, 0), types.NewDecimal(10, 2), types.NewDecimal(18, 4),
		types.NewDecimal(19, 3), types.NewDecimal(38, 18), types.NewChar(3), types.NewVarchar(20), types.String_, {Kind: types.Binary, Length: 4}, types.Bytes,
		types.New(types.Date), types.NewTime(0), types.NewTime(3), types.NewTimestamp(0), types.NewTimestamp(3), types.NewTimestamp(6), types.NewTimestamp(9),
		types.NewTimestampLTZ(3), types.NewTimestampLTZ(6)}
	fields := make([]format.Field, len(list))
	for i, t := range list {
		fields[i] = format.Field{Name: fmt.Sprintf("c%d_%s", i, strings.ToLower(strings.Map(onlyLetters, t.String()))), Type: t}
	}
	return fields
}

func onlyLetters(r rune) rune {
	if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// Columns makes rows of random values for the fields: a third of the columns without NULL, some nearly full of them, values small and
// extreme, few and many distinct ones. The same seed gives the same columns.
func Columns(fields []format.Field, rows int, seed uint64) []*changelog.Column {
	r := rand.New(rand.NewPCG(seed, 17))
	cols := make([]*changelog.Column, len(fields))
	for i, f := range fields {
		cols[i] = changelog.NewColumn(f.Type)
		nulls := [3]float64{0, 0.1, 0.95}[r.IntN(3)]
		distinct := [3]int{1, 5, 1 << 30}[r.IntN(3)]
		for range rows {
			if !f.Type.NotNull && r.Float64() < nulls {
				cols[i].AppendNull()
				continue
			}
			AppendValue(cols[i], rand.New(rand.NewPCG(seed+uint64(i), uint64(r.IntN(distinct)))))
		}
	}
	return cols
}

// AppendValue appends a value drawn from r.
func AppendValue(c *changelog.Column, r *rand.Rand) {
	switch c.Type.Kind {
	case types.Boolean:
		c.AppendBool(r.IntN(2) == 1)
	case types.TinyInt:
		c.AppendInt32(int32(int8(r.Uint32())))
	case types.SmallInt:
		c.AppendInt32(int32(int16(r.Uint32())))
	case types.Int:
		c.AppendInt32(int32(skewed(r)))
	case types.BigInt:
		c.AppendInt64(skewed(r))
	case types.Float:
		c.AppendFloat32([]float32{0, 1.5, float32(r.NormFloat64()), math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(-1))}[r.IntN(6)])
	case types.Double:
		c.AppendFloat64([]float64{0, 0.1, r.NormFloat64(), math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1)}[r.IntN(6)])
	case types.Decimal:
		c.AppendDecimal(randomDecimal(r, c.Type.Precision))
	case types.Char, types.Varchar:
		c.AppendString(randomText(r, c.Type.Length))
	case types.Binary, types.Varbinary:
		b := make([]byte, r.IntN(min(c.Type.Length, 40)+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		c.AppendBytes(b)
	case types.Date:
		// Years 1 to 9999.
		c.AppendInt32(int32(r.IntN(2932896+719162) - 719162))
	case types.Time:
		c.AppendInt32(int32(r.IntN(86_400_000)))
	case types.Timestamp, types.TimestampLTZ:
		c.AppendInt64(randomTimestamp(r, c.Type))
	}
}

// skewed is small most of the time and now and then any number of 64 bits.
func skewed(r *rand.Rand) int64 {
	switch r.IntN(8) {
	case 0:
		return int64(r.Uint64())
	case 1:
		return []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, 0, -1}[r.IntN(6)]
	}
	return r.Int64N(20_000) - 10_000
}

func randomDecimal(r *rand.Rand, precision int) decimal128.Num {
	limit := decimal128.GetScaleMultiplier(precision)
	v := decimal128.New(int64(r.Uint64()>>1), r.Uint64())
	if _, rest := v.Div(limit); true {
		v = rest
	}
	if r.IntN(8) == 0 {
		v = limit.Sub(decimal128.FromI64(1))
	}
	if r.IntN(2) == 0 {
		v = v.Negate()
	}
	return v
}

// randomText has ASCII, several scripts, quotes, control characters, NUL.
func randomText(r *rand.Rand, limit int) string {
	alphabet := []rune("abcdefghijklmnop 0123456789\"\\/\n\t\x00\x01éß中文字😀")
	n := r.IntN(min(limit, 30) + 1)
	if r.IntN(50) == 0 {
		n = min(limit, 2000)
	}
	text := make([]rune, n)
	for i := range text {
		text[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(text)
}

// randomTimestamp lies in the years 1 to 9999, or where nanoseconds reach.
func randomTimestamp(r *rand.Rand, t types.Type) int64 {
	units := t.UnitsPerSecond()
	var seconds int64
	switch {
	case units == 1e9:
		seconds = r.Int64N(2*9_000_000_000) - 9_000_000_000
	case r.IntN(2) == 0:
		seconds = r.Int64N(315_537_897_600) - 62_135_596_800
	default:
		seconds = 1_767_225_600 + r.Int64N(86_400*365)
	}
	v := seconds*units + r.Int64N(units)
	// Digits behind the precision are zero.
	step := units
	for range t.Precision {
		step /= 10
	}
	if t.Precision == 0 {
		step = units
	}
	if step > 1 {
		v -= v % step
	}
	return v
}
