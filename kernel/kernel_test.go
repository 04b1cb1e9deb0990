package kernel_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"staunch/changelog"
	"staunch/kernel"
	"staunch/types"
)

// lengths are those at the edges of bitmap words.
var lengths = []int{0, 1, 2, 63, 64, 65, 200}

// boxed is a value of a row: nil for NULL.
type boxed any

// column makes a column of n random values of which a share is NULL.
func column(r *rand.Rand, t types.Type, n int, nulls float64) *changelog.Column {
	c := changelog.NewColumn(t)
	for range n {
		if r.Float64() < nulls {
			c.AppendNull()
			continue
		}
		switch t.Physical() {
		case types.PhysBool:
			c.AppendBool(r.IntN(2) == 0)
		case types.PhysInt32:
			c.AppendInt32([]int32{0, 1, -1, 2, 7, math.MinInt32, math.MaxInt32}[r.IntN(7)])
		case types.PhysInt64:
			c.AppendInt64([]int64{0, 1, -1, 2, 7, math.MinInt64, math.MaxInt64}[r.IntN(7)])
		case types.PhysFloat64:
			c.AppendFloat64([]float64{0, 1, -1.5, math.NaN(), math.Inf(1), 1e300}[r.IntN(6)])
		case types.PhysBytes:
			c.AppendString([]string{"", "a", "ab", "b", "heartbeat"}[r.IntN(5)])
		}
	}
	return c
}

// get boxes row i of v.
func get(v kernel.Vec, i int) boxed {
	if v.Const {
		i = 0
	}
	c := v.Col
	if c.IsNull(i) {
		return nil
	}
	switch c.Type.Physical() {
	case types.PhysBool:
		return c.B[i]
	case types.PhysInt32:
		return c.I32[i]
	case types.PhysInt64:
		return c.I64[i]
	case types.PhysFloat64:
		return c.F64[i]
	}
	return string(c.Bytes(i))
}

// operands calls f for all kinds of pairs: two columns, a column and a constant, a constant and a column, each with and without NULLs.
func operands(t *testing.T, typ types.Type, f func(t *testing.T, a, b kernel.Vec, n int)) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, n := range lengths {
		for _, nulls := range []float64{0, 0.3, 1} {
			for shape := range 3 {
				t.Run(fmt.Sprintf("n=%d nulls=%v shape=%d", n, nulls, shape), func(t *testing.T) {
					a := kernel.Vec{Col: column(r, typ, n, nulls)}
					b := kernel.Vec{Col: column(r, typ, n, nulls)}
					if shape == 1 {
						b = kernel.Vec{Col: column(r, typ, 1, nulls), Const: true}
					}
					if shape == 2 {
						a = kernel.Vec{Col: column(r, typ, 1, nulls), Const: true}
					}
					f(t, a, b, n)
				})
			}
		}
	}
}

// same compares dst with the boxed twin.
func same(t *testing.T, dst *changelog.Column, a, b kernel.Vec, n int, twin func(x, y boxed) boxed) {
	t.Helper()
	if dst.N != n {
		t.Fatalf("%d rows instead of %d", dst.N, n)
	}
	nulls := 0
	for i := range n {
		x, y := get(a, i), get(b, i)
		want, got := twin(x, y), get(kernel.Vec{Col: dst}, i)
		if want == nil {
			nulls++
		}
		if f, ok := want.(float64); ok && math.IsNaN(f) {
			if g, ok := got.(float64); ok && math.IsNaN(g) {
				continue
			}
		}
		if got != want {
			t.Fatalf("row %d of %d: %v and %v give %v instead of %v", i, n, x, y, got, want)
		}
	}
	if dst.Nulls != nulls {
		t.Fatalf("%d NULLs counted, there are %d", dst.Nulls, nulls)
	}
}

// strict makes a twin that is NULL if a side is.
func strict(f func(x, y boxed) boxed) func(x, y boxed) boxed {
	return func(x, y boxed) boxed {
		if x == nil || y == nil {
			return nil
		}
		return f(x, y)
	}
}

func TestArithmeticTwins(t *testing.T) {
	ints := map[string]struct {
		run  func(dst, a, b []int32)
		twin func(x, y int32) int32
	}{
		"+": {kernel.Add[int32], func(x, y int32) int32 { return x + y }},
		"-": {kernel.Sub[int32], func(x, y int32) int32 { return x - y }},
		"*": {kernel.Mul[int32], func(x, y int32) int32 { return x * y }},
	}
	for name, k := range ints {
		t.Run("int "+name, func(t *testing.T) {
			operands(t, types.New(types.Int), func(t *testing.T, a, b kernel.Vec, n int) {
				dst := changelog.NewColumn(types.New(types.Int))
				kernel.Make(dst, n)
				k.run(dst.I32, a.Col.I32, b.Col.I32)
				kernel.Strict(dst, n, a, b)
				same(t, dst, a, b, n, strict(func(x, y boxed) boxed { return k.twin(x.(int32), y.(int32)) }))
			})
		})
	}
	floats := map[string]struct {
		run  func(dst, a, b []float64)
		twin func(x, y float64) float64
	}{
		"/": {kernel.DivFloat[float64], func(x, y float64) float64 { return x / y }},
		"-": {kernel.Sub[float64], func(x, y float64) float64 { return x - y }},
	}
	for name, k := range floats {
		t.Run("double "+name, func(t *testing.T) {
			operands(t, types.New(types.Double), func(t *testing.T, a, b kernel.Vec, n int) {
				dst := changelog.NewColumn(types.New(types.Double))
				kernel.Make(dst, n)
				k.run(dst.F64, a.Col.F64, b.Col.F64)
				kernel.Strict(dst, n, a, b)
				same(t, dst, a, b, n, strict(func(x, y boxed) boxed { return k.twin(x.(float64), y.(float64)) }))
			})
		})
	}
}

func TestDivisionTwins(t *testing.T) {
	operands(t, types.New(types.BigInt), func(t *testing.T, a, b kernel.Vec, n int) {
		dst := changelog.NewColumn(types.New(types.BigInt))
		kernel.Make(dst, n)
		first := -1
		for i := range n {
			if x, y := get(a, i), get(b, i); x != nil && y == boxed(int64(0)) {
				first = i
				break
			}
		}
		err := kernel.DivInt(dst.I64, a.Col.I64, b.Col.I64, kernel.Active(nil, n, nil, a, b))
		var row *kernel.RowError
		switch {
		case first < 0 && err != nil:
			t.Fatal(err)
		case first >= 0 && (!errors.As(err, &row) || row.Row != first || !errors.Is(err, kernel.ErrDivisionByZero)):
			t.Fatalf("division by zero in row %d gives %v", first, err)
		case first >= 0:
			// With that row and its like masked out the rest is computed.
			mask := kernel.Active(nil, n, nil, a, b)
			for i := range n {
				if get(b, i) == boxed(int64(0)) {
					mask[i>>6] &^= 1 << (i & 63)
				}
			}
			if err := kernel.DivInt(dst.I64, a.Col.I64, b.Col.I64, mask); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if mask.Has(i) && dst.I64[i] != get(a, i).(int64)/get(b, i).(int64) {
					t.Fatalf("row %d", i)
				}
			}
			return
		}
		kernel.Strict(dst, n, a, b)
		same(t, dst, a, b, n, strict(func(x, y boxed) boxed { return x.(int64) / y.(int64) }))
	})
}

func TestComparisonTwins(t *testing.T) {
	boolean := types.New(types.Boolean)
	kernels := map[string]struct {
		run  func(dst []bool, a, b []float64)
		twin func(x, y float64) bool
	}{
		"=":  {kernel.Eq[float64], func(x, y float64) bool { return x == y }},
		"<>": {kernel.Ne[float64], func(x, y float64) bool { return x != y }},
		"<":  {kernel.Lt[float64], func(x, y float64) bool { return x < y }},
		"<=": {kernel.Le[float64], func(x, y float64) bool { return x <= y }},
	}
	for name, k := range kernels {
		t.Run(name, func(t *testing.T) {
			operands(t, types.New(types.Double), func(t *testing.T, a, b kernel.Vec, n int) {
				dst := changelog.NewColumn(boolean)
				kernel.Make(dst, n)
				k.run(dst.B, a.Col.F64, b.Col.F64)
				kernel.Strict(dst, n, a, b)
				same(t, dst, a, b, n, strict(func(x, y boxed) boxed { return k.twin(x.(float64), y.(float64)) }))
			})
		})
	}
	texts := map[string]struct {
		run  func(dst []bool, a, b kernel.Vec)
		twin func(x, y []byte) bool
	}{
		"=":  {func(d []bool, a, b kernel.Vec) { kernel.EqBytes(d, a, b, false) }, bytes.Equal},
		"<>": {func(d []bool, a, b kernel.Vec) { kernel.EqBytes(d, a, b, true) }, func(x, y []byte) bool { return !bytes.Equal(x, y) }},
		"<":  {kernel.LtBytes, func(x, y []byte) bool { return bytes.Compare(x, y) < 0 }},
		"<=": {kernel.LeBytes, func(x, y []byte) bool { return bytes.Compare(x, y) <= 0 }},
	}
	for name, k := range texts {
		t.Run("text "+name, func(t *testing.T) {
			operands(t, types.String_, func(t *testing.T, a, b kernel.Vec, n int) {
				dst := changelog.NewColumn(boolean)
				kernel.Make(dst, n)
				k.run(dst.B, a, b)
				kernel.Strict(dst, n, a, b)
				same(t, dst, a, b, n, strict(func(x, y boxed) boxed { return k.twin([]byte(x.(string)), []byte(y.(string))) }))
			})
		})
	}
}

// TestSlicedText compares texts of a column whose offsets do not begin at 0.
func TestSlicedText(t *testing.T) {
	c := changelog.NewColumn(types.String_)
	for _, s := range []string{"xx", "heartbeat", "view", "heartbeat", ""} {
		c.AppendString(s)
	}
	sliced := &changelog.Column{Type: c.Type, N: 4, Off: c.Off[1:], Data: c.Data}
	want := changelog.NewColumn(types.String_)
	want.AppendString("heartbeat")
	dst := make([]bool, 4)
	kernel.EqBytes(dst, kernel.Vec{Col: sliced}, kernel.Vec{Col: want, Const: true}, false)
	if fmt.Sprint(dst) != "[true false true false]" {
		t.Fatal(dst)
	}
}

func TestThreeValuedTwins(t *testing.T) {
	junction := func(win bool) func(x, y boxed) boxed {
		return func(x, y boxed) boxed {
			switch {
			case x == boxed(win) || y == boxed(win):
				return win
			case x == nil || y == nil:
				return nil
			}
			return !win
		}
	}
	operands(t, types.New(types.Boolean), func(t *testing.T, a, b kernel.Vec, n int) {
		dst := changelog.NewColumn(types.New(types.Boolean))
		kernel.And(dst, a, b, n)
		same(t, dst, a, b, n, junction(false))
		kernel.Or(dst, a, b, n)
		same(t, dst, a, b, n, junction(true))
		kernel.Not(dst, a, n)
		same(t, dst, a, b, n, func(x, _ boxed) boxed {
			if x == nil {
				return nil
			}
			return !x.(bool)
		})
		for _, not := range []bool{false, true} {
			kernel.IsNull(dst, a, n, not)
			same(t, dst, a, b, n, func(x, _ boxed) boxed { return (x == nil) != not })
			kernel.IsBool(dst, a, n, true, not)
			same(t, dst, a, b, n, func(x, _ boxed) boxed { return (x == boxed(true)) != not })
			kernel.IsBool(dst, a, n, false, not)
			same(t, dst, a, b, n, func(x, _ boxed) boxed { return (x == boxed(false)) != not })
		}
		keep := make([]uint64, kernel.Words(n)+1)
		keep[len(keep)-1] = 0xABCD
		kernel.Keep(keep, a, n)
		for i := range n {
			if got := keep[i>>6]>>(i&63)&1 != 0; got != (get(a, i) == boxed(true)) {
				t.Fatalf("keep row %d: %v", i, got)
			}
		}
		if keep[len(keep)-1] != 0xABCD {
			t.Fatal("a word behind the rows was written")
		}
	})
}

func TestChooseAndBroadcast(t *testing.T) {
	for _, typ := range []types.Type{types.New(types.Boolean), types.New(types.Int), types.New(types.BigInt), types.New(types.Double), types.String_} {
		operands(t, typ, func(t *testing.T, a, b kernel.Vec, n int) {
			pick := make([]int32, n)
			for i := range pick {
				pick[i] = int32(i%3) - 1
			}
			dst := changelog.NewColumn(typ)
			kernel.Choose(dst, []kernel.Vec{a, b}, pick)
			i := -1
			same(t, dst, a, b, n, func(x, y boxed) boxed {
				i++
				return []boxed{nil, x, y}[pick[i]+1]
			})
			if b.Const {
				kernel.Broadcast(dst, b.Col, n)
				same(t, dst, a, b, n, func(_, y boxed) boxed { return y })
			}
		})
	}
}

func TestTruncAsJava(t *testing.T) {
	in := []float64{1.9, -1.9, math.NaN(), math.Inf(1), math.Inf(-1), 3e9, -3e9, 0}
	out := make([]int32, len(in))
	kernel.Trunc(out, in, math.MinInt32, math.MaxInt32)
	if want := "[1 -1 0 2147483647 -2147483648 2147483647 -2147483648 0]"; fmt.Sprint(out) != want {
		t.Fatal(out)
	}
	long := make([]int64, len(in))
	kernel.Trunc(long, in, math.MinInt64, math.MaxInt64)
	if want := "[1 -1 0 9223372036854775807 -9223372036854775808 3000000000 -3000000000 0]"; fmt.Sprint(long) != want {
		t.Fatal(long)
	}
	narrow := []int32{128, -129, 300}
	kernel.Narrow(narrow, 8)
	if fmt.Sprint(narrow) != "[-128 127 44]" {
		t.Fatal(narrow)
	}
}

func TestSpans(t *testing.T) {
	operands(t, types.New(types.BigInt), func(t *testing.T, a, b kernel.Vec, n int) {
		dst := changelog.NewColumn(types.String_)
		calls := 0
		kernel.AppendSpans(dst, a, n, func(v int64) ([]byte, int64, int64) {
			calls++
			q := v / 10
			if v%10 < 0 {
				q--
			}
			return fmt.Append(nil, q), q * 10, q*10 + 10
		})
		same(t, dst, a, b, n, func(x, _ boxed) boxed {
			if x == nil {
				return nil
			}
			v := x.(int64)
			q := v / 10
			if v%10 < 0 {
				q--
			}
			return fmt.Sprint(q)
		})
		if calls > n {
			t.Fatal("more texts than rows")
		}
	})
}

// TestTooLong: texts that do not fit are an error that names the first row, not other texts.
func TestTooLong(t *testing.T) {
	c := changelog.NewColumn(types.String_)
	for _, s := range []string{"abc", "", "defg", "h"} {
		c.AppendString(s)
	}
	if err := kernel.CheckBytes(c, 8); err != nil {
		t.Fatal(err)
	}
	var row *kernel.RowError
	if err := kernel.CheckBytes(c, 6); !errors.As(err, &row) || row.Row != 2 || !errors.Is(err, kernel.ErrTooLong) {
		t.Fatal(err)
	}
	c.Off[2] = -5 // as an offset beyond 32 bits wraps
	if err := kernel.CheckBytes(c, 6); !errors.As(err, &row) || row.Row != 1 {
		t.Fatal(err)
	}
}
