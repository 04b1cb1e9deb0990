package javanum

import (
	"math"
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"
)

func TestDivModAgainstBig(t *testing.T) {
	limbs := rapid.Custom(func(t *rapid.T) u256 {
		n := rapid.IntRange(1, 4).Draw(t, "limbs")
		var u u256
		for i := range n {
			u[i] = rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 63, math.MaxUint64})).Draw(t, "limb")
		}
		return u
	})
	toBig := func(u u256) *big.Int {
		r := new(big.Int)
		for i := 3; i >= 0; i-- {
			r.Lsh(r, 64).Or(r, new(big.Int).SetUint64(u[i]))
		}
		return r
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := limbs.Draw(t, "a"), limbs.Draw(t, "b")
		if b.isZero() {
			return
		}
		q, r := a.divMod(b)
		wantQ, wantR := new(big.Int).QuoRem(toBig(a), toBig(b), new(big.Int))
		if toBig(q).Cmp(wantQ) != 0 || toBig(r).Cmp(wantR) != 0 {
			t.Fatalf("%v / %v = %v rest %v", a, b, q, r)
		}
		if p, ok := a.mul(b); ok != (new(big.Int).Mul(toBig(a), toBig(b)).BitLen() <= 256) || ok && toBig(p).Cmp(new(big.Int).Mul(toBig(a), toBig(b))) != 0 {
			t.Fatalf("%v * %v = %v %v", a, b, p, ok)
		}
		if d := a.digits(); !a.isZero() && d <= 77 && d != len(toBig(a).String()) {
			t.Fatalf("%v has %d digits", a, d)
		}
	})
}

// Rows of expressions.tsv and columns/expressions.tsv that fix the result types and the rounding functions.
func TestDecimalTypes(t *testing.T) {
	type rule func(p1, s1, p2, s2 int) (int, int)
	for _, c := range []struct {
		f              rule
		p1, s1, p2, s2 int
		p, s           int
	}{
		{AddType, 10, 2, 10, 3, 12, 3}, {AddType, 38, 18, 38, 10, 38, 9}, {AddType, 10, 2, 19, 0, 22, 2}, {AddType, 10, 2, 10, 0, 13, 2},
		{MulType, 10, 2, 10, 3, 21, 5}, {MulType, 38, 18, 38, 18, 38, 6}, {MulType, 38, 19, 38, 19, 38, 6}, {DivType, 10, 2, 10, 3, 24, 13},
		{DivType, 38, 0, 38, 0, 38, 6}, {DivType, 2, 1, 10, 0, 13, 12}, {DivType, 10, 0, 2, 1, 17, 6}, {DivType, 26, 6, 6, 3, 36, 13},
		{ModType, 2, 1, 10, 0, 2, 1}, {ModType, 5, 1, 5, 2, 5, 2}, {DivType, 6, 3, 10, 0, 17, 14},
	} {
		if p, s := c.f(c.p1, c.s1, c.p2, c.s2); p != c.p || s != c.s {
			t.Errorf("(%d,%d) (%d,%d): got (%d,%d), want (%d,%d)", c.p1, c.s1, c.p2, c.s2, p, s, c.p, c.s)
		}
	}
}

func TestDecimalRounding(t *testing.T) {
	type cut func(n decimal128.Num, p, s, d int) (decimal128.Num, Status)
	for _, c := range []struct {
		f         cut
		in        string
		p, s, dig int
		want      string
	}{
		{Round, "2.5", 2, 1, 0, "3"}, {Round, "-2.5", 2, 1, 0, "-3"}, {Round, "2.345", 4, 3, 2, "2.35"}, {Round, "-2.345", 4, 3, 2, "-2.35"},
		{Round, "1234.567", 7, 3, -2, "1200"}, {Round, "12345678901234567890.123456", 26, 6, 0, "12345678901234567890"},
		{Round, "-1.500000", 26, 6, 0, "-2"}, {Round, "-0.005", 6, 3, 1, "0.0"}, {Round, "123.456", 6, 3, 1, "123.5"}, {Round, "9.99", 3, 2, 1, "10.0"},
		{Round, "9.99", 3, 2, 2, "9.99"}, {Round, "55", 2, 0, -2, "100"}, {Round, "45", 2, 0, -2, "0"}, {Round, "45", 2, 0, -100, "0"},
		{Truncate, "42.324", 5, 3, 2, "42.32"}, {Truncate, "42.324", 5, 3, -1, "40"}, {Truncate, "-42.999", 5, 3, 0, "-42"},
	} {
		n, st := c.f(num(t, c.in, c.s), c.p, c.s, c.dig)
		_, s := RoundType(c.p, c.s, c.dig)
		if got := decimalText(n, st, s); got != c.want {
			t.Errorf("%s to %d: got %s, want %s", c.in, c.dig, got, c.want)
		}
	}
	for in, want := range map[string][2]string{"1.2": {"1", "2"}, "-1.2": {"-2", "-1"}, "0.0": {"0", "0"}, "3.0": {"3", "3"}, "-0.5": {"-1", "0"}} {
		n := num(t, in, 1)
		if f, c := decimalText(Floor(n, 1), OK, 0), decimalText(Ceil(n, 1), OK, 0); f != want[0] || c != want[1] {
			t.Errorf("%s: floor %s, ceil %s, want %v", in, f, c, want)
		}
	}
}

func TestFloatRounding(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		round  float64
		trunc  float64
	}{
		{2.675, 2, 2.68, 2.67}, {0.5, 0, 1, 0}, {42.324, 2, 42.32, 42.32}, {-42.326, 2, -42.33, -42.32}, {float64(float32(1.05)), 1, 1.0, 1.0},
		{1234.5, -2, 1200, 1200}, {99.95, 1, 100, 99.9}, {0.04, 1, 0, 0}, {5, -1, 10, 0}, {4, -1, 0, 0}, {1e300, 2, 1e300, 1e300}, {0.1, 2, 0.1, 0.1},
	} {
		if r, tr := RoundFloat64(c.v, c.digits), TruncateFloat64(c.v, c.digits); r != c.round || tr != c.trunc {
			t.Errorf("%v to %d: got %v %v, want %v %v", c.v, c.digits, r, tr, c.round, c.trunc)
		}
	}
}

func TestFloatToInteger(t *testing.T) {
	for _, c := range []struct {
		v    float64
		i64  int64
		i32  int32
		text string
	}{
		{1e20, math.MaxInt64, math.MaxInt32, "1.0E20"}, {math.NaN(), 0, 0, "NaN"}, {-1.9, -1, -1, "-1.9"}, {3e9, 3000000000, math.MaxInt32, "3.0E9"},
		{-1e20, math.MinInt64, math.MinInt32, "-1.0E20"}, {math.Inf(1), math.MaxInt64, math.MaxInt32, "Infinity"},
		{math.Inf(-1), math.MinInt64, math.MinInt32, "-Infinity"}, {math.Copysign(0, -1), 0, 0, "-0.0"}, {0.0015, 0, 0, "0.0015"}, {1e10, 1e10, math.MaxInt32, "1.0E10"},
	} {
		if a, b := Float64ToInt64(c.v), Float64ToInt32(c.v); a != c.i64 || b != c.i32 {
			t.Errorf("%v: got %d %d", c.v, a, b)
		}
		if got := string(AppendFloat64(nil, c.v)); got != c.text {
			t.Errorf("got %s, want %s", got, c.text)
		}
	}
	if got := string(AppendFloat32(nil, 2147483647)); got != "2.14748365E9" {
		t.Error(got)
	}
}

func TestDecimalToIntegerAndBack(t *testing.T) {
	for in, want := range map[string]int64{"123.456": 123, "-1.999": -1, "0.999": 0, "-0.005": 0} {
		if got := ToInt64(num(t, in, 3), 3); got != want {
			t.Errorf("%s: got %d", in, got)
		}
	}
	if n, st := FromInt64(math.MinInt64, 38, 2); decimalText(n, st, 2) != "-9223372036854775808.00" {
		t.Error(decimalText(n, st, 2))
	}
	if _, st := FromInt64(300, 4, 2); st != Overflow {
		t.Error("300 fits DECIMAL(4, 2)")
	}
	if c := Compare(num(t, "1.50", 2), 2, num(t, "1.5", 1), 1); c != 0 {
		t.Error(c)
	}
	if c := Compare(num(t, "-1.51", 2), 2, num(t, "-1.5", 1), 1); c != -1 {
		t.Error(c)
	}
}

func TestIntegerRounding(t *testing.T) {
	for _, c := range []struct {
		v            int64
		digits       int
		round, trunc int64
	}{{1234, -2, 1200, 1200}, {12345, -2, 12300, 12300}, {-1250, -2, -1300, -1200}, {50, -2, 100, 0}, {49, -2, 0, 0}, {7, 3, 7, 7}, {5, -30, 0, 0},
		{math.MaxInt64, -1, math.MinInt64 + 2, math.MaxInt64 - 7}} {
		if r, tr := RoundInt64(c.v, c.digits), TruncateInt64(c.v, c.digits); r != c.round || tr != c.trunc {
			t.Errorf("%d to %d: got %d %d", c.v, c.digits, r, tr)
		}
	}
	if !IsDecimal([]byte("-1e5")) || IsDecimal([]byte("abc")) || IsDecimal(nil) {
		t.Error("IS_DECIMAL")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1.5", "-1e10", "0x1p3", "NaN", "1e-99999999999", ".", "99999999999999999999999999999999999999.5", "1e2147483647", "12.9"} {
		f.Add([]byte(s), uint8(10), uint8(2))
	}
	f.Fuzz(func(t *testing.T, s []byte, p, sc uint8) {
		precision := int(p)%38 + 1
		scale := int(sc) % (precision + 1)
		n, st := ParseDecimal(s, precision, scale)
		if st == OK {
			text := AppendDecimal(nil, n, scale)
			if m, st := ParseDecimal(text, precision, scale); st != OK || m != n {
				t.Fatalf("%q: %q does not read back", s, text)
			}
			if l, st := ParseDecimalCast(s, precision, scale); st != OK || l != n {
				t.Fatalf("%q: the lenient form differs", s)
			}
		}
		if v, st := ParseFloat64(s); st == OK && v == v {
			if w, st := ParseFloat64(AppendFloat64(nil, v)); st != OK || w != v {
				t.Fatalf("%q: %v does not read back", s, v)
			}
			RoundFloat64(v, int(p)-128)
			FromFloat64(v, precision, scale)
		}
		if v, st := ParseFloat32(s); st == OK && v == v {
			if w, st := ParseFloat32(AppendFloat32(nil, v)); st != OK || w != v {
				t.Fatalf("%q: %v does not read back", s, v)
			}
		}
		ParseInt(s, 64)
		ParseBool(s)
	})
}

var sink int

func BenchmarkParseDecimal(b *testing.B) {
	s := []byte("1234567.891")
	b.ReportAllocs()
	for b.Loop() {
		n, _ := ParseDecimal(s, 18, 2)
		sink += int(n.LowBits())
	}
}

func BenchmarkAppendDecimal(b *testing.B) {
	n := decimal128.FromI64(123456789)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendDecimal(buf[:0], n, 2)
	}
}

func BenchmarkAppendFloat64(b *testing.B) {
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendFloat64(buf[:0], 1234.5678)
	}
}

func BenchmarkParseFloat64(b *testing.B) {
	s := []byte("1234.5678")
	b.ReportAllocs()
	for b.Loop() {
		v, _ := ParseFloat64(s)
		sink += int(v)
	}
}

func BenchmarkMul(b *testing.B) {
	x, y := decimal128.FromI64(123456789), decimal128.FromI64(987654)
	b.ReportAllocs()
	for b.Loop() {
		n, _ := Mul(x, 2, y, 3, 28, 5)
		sink += int(n.LowBits())
	}
}
