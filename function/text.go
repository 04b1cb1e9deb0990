package function

import (
	"fmt"
	"unicode/utf8"

	"staunch/function/javanum"
	"staunch/function/text"
	"staunch/kernel"
	"staunch/types"
)

var (
	integerType = types.New(types.Int)
	booleanType = types.New(types.Boolean)
)

// textFunctions are the functions of characters.
var textFunctions = []*Function{
	row("CHAR_LENGTH", func(r *kernel.Row) error { r.PutInt(int64(text.CharLength(r.Bytes(0)))); return nil },
		sig{params: []family{character}, ret: strictly(integerType)}),
	casing("UPPER", text.AppendUpper), casing("LOWER", text.AppendLower), casing("INITCAP", text.AppendInitCap),
	trim("TRIM", true, true, varcharOfFirst), trim("LTRIM", true, false, varcharOfFirst), trim("RTRIM", false, true, varcharOfFirst),
	trim("BTRIM", true, true, strictly(types.String_)),
	substring("SUBSTRING"), substring("SUBSTR"), side("LEFT", text.Left), side("RIGHT", text.Right),
	position("POSITION"), position("LOCATE"), instr(),
	row("REPLACE", func(r *kernel.Row) error {
		r.End(text.AppendReplace(r.Buffer(), r.Bytes(0), r.Bytes(1), r.Bytes(2)))
		return nil
	}, sig{params: []family{character, character, character}, ret: strictly(types.String_)}),
	row("TRANSLATE", translate, sig{params: []family{character, character, character}, ret: strictly(types.String_)}),
	overlay(), pad("LPAD", text.AppendLPad), pad("RPAD", text.AppendRPad), repeatText(),
	row("REVERSE", func(r *kernel.Row) error { r.End(text.AppendReverse(r.Buffer(), r.Bytes(0))); return nil },
		sig{params: []family{character}, ret: nullable(types.String_)}),
	splitIndex(),
	row("ASCII", func(r *kernel.Row) error { r.PutInt(int64(text.ASCII(r.Bytes(0)))); return nil },
		sig{params: []family{character}, ret: strictly(integerType)}),
	row("CHR", func(r *kernel.Row) error { r.End(text.AppendChr(r.Buffer(), r.Int(0))); return nil },
		sig{params: []family{integer}, ret: nullable(types.String_)}),
	affix("STARTSWITH", func(s, x []byte) bool { return len(s) >= len(x) && string(s[:len(x)]) == string(x) }),
	affix("ENDSWITH", func(s, x []byte) bool { return len(s) >= len(x) && string(s[len(s)-len(x):]) == string(x) }),
	elt(), textTest("IS_ALPHA", text.IsAlpha, func(types.Type) bool { return false }), textTest("IS_DIGIT", text.IsDigit, types.Type.IsInteger),
	textTest("IS_DECIMAL", isDecimal, func(t types.Type) bool { return t.Kind != types.Decimal }),
}

// casing keeps the type; a result that is longer than CHAR(n) is cut, as in Flink.
func casing(name string, convert func(dst, s []byte) []byte) *Function {
	f := (&Function{Name: name}).signatures(sig{params: []family{character}, ret: asFirst})
	f.op = func(c *Call, _ Session) (Op, error) {
		return lift(func(r *kernel.Row) error {
			b := r.Buffer()
			start := len(b)
			b = convert(b, r.Bytes(0))
			if c.T.Kind == types.Char {
				b = append(b[:start], text.Truncate(b[start:], c.T.Length)...)
			}
			r.End(b)
			return nil
		}), nil
	}
	return f
}

// trim cuts a set of characters, blanks if none are given.
func trim(name string, leading, trailing bool, ret returns) *Function {
	return row(name, func(r *kernel.Row) error {
		chars := text.Space
		if r.Args() == 2 {
			chars = r.Bytes(1)
		}
		r.PutBytes(text.Trim(r.Bytes(0), chars, leading, trailing))
		return nil
	}, sig{params: []family{character, character}, opt: 1, ret: ret})
}

func substring(name string) *Function {
	return row(name, func(r *kernel.Row) error {
		if r.Args() == 2 {
			r.PutBytes(text.Substring(r.Bytes(0), r.Int(1)))
		} else if s, ok := text.SubstringFor(r.Bytes(0), r.Int(1), r.Int(2)); ok {
			r.PutBytes(s)
		}
		return nil
	}, sig{params: []family{character, intOrLess, intOrLess}, opt: 1, ret: nullableOf(varcharOfFirst)})
}

func side(name string, f func(s []byte, n int64) []byte) *Function {
	return row(name, func(r *kernel.Row) error {
		r.PutBytes(f(r.Bytes(0), r.Int(1)))
		return nil
	}, sig{params: []family{character, intOrLess}, ret: nullableOf(varcharOfFirst)})
}

// position finds its first argument in the second; a third says where to begin.
func position(name string) *Function {
	return row(name, func(r *kernel.Row) error {
		if r.Args() == 3 {
			r.PutInt(int64(text.PositionFrom(r.Bytes(0), r.Bytes(1), r.Int(2))))
		} else {
			r.PutInt(int64(text.Position(r.Bytes(0), r.Bytes(1))))
		}
		return nil
	}, sig{params: []family{character, character, intOrLess}, opt: 1, ret: strictly(integerType)})
}

// instr is INSTR(text, sub[, start[, nth]]): the place of the nth sub from a place on, a negative one counting from the end and searching
// backwards. Places are code points from 1; finds may overlap.
func instr() *Function {
	f := row("INSTR", func(r *kernel.Row) error {
		start, nth := int64(1), int64(1)
		if r.Args() > 2 {
			start = r.Int(2)
		}
		if r.Args() > 3 {
			nth = r.Int(3)
		}
		if nth < 1 {
			return fmt.Errorf("INSTR: the number of the find must be positive, not %d", nth)
		}
		r.PutInt(findNth(r.Bytes(1), r.Bytes(0), start, nth))
		return nil
	}, sig{params: []family{character, character, intOrLess, intOrLess}, opt: 2, ret: strictly(integerType)})
	f.CanFail = true
	return f
}

func findNth(sub, s []byte, start, nth int64) int64 {
	switch {
	case len(sub) == 0:
		return 1
	case start == 0:
		return 0
	case start > 0:
		for at := start; ; at++ {
			if at = int64(text.PositionFrom(sub, s, at)); at == 0 {
				return 0
			}
			if nth--; nth == 0 {
				return at
			}
		}
	}
	for at := int64(text.CharLength(s)) + start + 1; at > 0; at-- {
		if rest := text.Substring(s, at); len(rest) >= len(sub) && string(rest[:len(sub)]) == string(sub) {
			if nth--; nth == 0 {
				return at
			}
		}
	}
	return 0
}

func translate(r *kernel.Row) error {
	r.End(text.AppendTranslate(r.Buffer(), r.Bytes(0), r.Bytes(1), r.Bytes(2)))
	return nil
}

func overlay() *Function {
	return row("OVERLAY", func(r *kernel.Row) error {
		if r.Args() == 3 {
			r.End(text.AppendOverlayAll(r.Buffer(), r.Bytes(0), r.Bytes(1), r.Int(2)))
		} else {
			r.End(text.AppendOverlay(r.Buffer(), r.Bytes(0), r.Bytes(1), r.Int(2), r.Int(3)))
		}
		return nil
	}, sig{params: []family{character, character, integer, integer}, opt: 1, ret: func(args []Expr) types.Type {
		n := min(args[0].Type().Length+args[1].Type().Length, types.MaxLength)
		return types.NewVarchar(n).WithNotNull(allNotNull(args))
	}})
}

func pad(name string, f func(dst, s []byte, n int64, pad []byte) ([]byte, bool)) *Function {
	return row(name, func(r *kernel.Row) error {
		if out, ok := f(r.Buffer(), r.Bytes(0), r.Int(1), r.Bytes(2)); ok {
			r.End(out)
		}
		return nil
	}, sig{params: []family{character, intOrLess, character}, ret: strictly(types.String_)})
}

func repeatText() *Function {
	f := row("REPEAT", func(r *kernel.Row) error {
		out, ok := text.AppendRepeat(r.Buffer(), r.Bytes(0), r.Int(1))
		if !ok {
			return fmt.Errorf("REPEAT: %d times %d bytes are too long for a STRING", r.Int(1), len(r.Bytes(0)))
		}
		r.End(out)
		return nil
	}, sig{params: []family{character, intOrLess}, ret: strictly(types.String_)})
	f.CanFail = true
	return f
}

func affix(name string, f func(s, x []byte) bool) *Function {
	return row(name, func(r *kernel.Row) error { r.PutBool(f(r.Bytes(0), r.Bytes(1))); return nil },
		sig{params: []family{character, character}, ret: strictly(booleanType)}, sig{params: []family{binary, binary}, ret: strictly(booleanType)})
}

// elt is ELT(index, values..): the value at a place from 1.
func elt() *Function {
	f := &Function{Name: "ELT", form: "<INTEGER>, <CHARACTER>... | <INTEGER>, <BINARY>..."}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if len(args) < 2 || !intOrLess.has(args[0].Type()) {
			return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
		}
		t, ok := commonType(typesOf(args[1:]), merged)
		if !ok || !t.IsString() && !t.IsBinary() {
			return nil, t, &ArgError{Func: f, Args: typesOf(args)}
		}
		if v, ok := constInt(args[0]); ok && v < 0 {
			return nil, t, fmt.Errorf("the index of ELT must not be negative")
		}
		return args, t.Nullable(), nil
	}
	f.op = func(*Call, Session) (Op, error) {
		return liftNullable(func(r *kernel.Row) error {
			if r.Null(0) {
				return nil
			}
			if k := r.Int(0); k >= 1 && k < int64(r.Args()) && !r.Null(int(k)) {
				r.PutBytes(r.Bytes(int(k)))
			}
			return nil
		}), nil
	}
	return f
}

// textTest is a test of a text that is FALSE for NULL; of other types the type alone decides, as in Flink, NULL or not.
func textTest(name string, f func([]byte) bool, other func(types.Type) bool) *Function {
	notNull := func([]Expr) types.Type { return booleanType.Required() }
	fn := (&Function{Name: name}).signatures(sig{params: []family{character}, ret: notNull}, sig{params: []family{numeric}, ret: notNull})
	fn.op = func(c *Call, _ Session) (Op, error) {
		if t := c.Args[0].Type(); !t.IsString() {
			yes := other(t)
			return liftNullable(func(r *kernel.Row) error { r.PutBool(yes); return nil }), nil
		}
		return liftNullable(func(r *kernel.Row) error {
			r.PutBool(!r.Null(0) && f(r.Bytes(0)))
			return nil
		}), nil
	}
	return fn
}

func isDecimal(s []byte) bool {
	_, st := javanum.ParseFloat64(s)
	return st != javanum.Invalid
}

// splitIndex is SPLIT_INDEX(text, separator, index); the separator may be the code of a character.
func splitIndex() *Function {
	f := (&Function{Name: "SPLIT_INDEX"}).signatures(
		sig{params: []family{character, character, intOrLess}, ret: nullable(types.String_)},
		sig{params: []family{character, intOrLess, intOrLess}, ret: nullable(types.String_)})
	f.op = func(c *Call, _ Session) (Op, error) {
		byCode := c.Args[1].Type().IsInteger()
		var sep []byte
		return lift(func(r *kernel.Row) error {
			if byCode {
				if code := r.Int(1); code < 1 || code > 255 {
					return nil
				}
				sep = utf8.AppendRune(sep[:0], rune(r.Int(1)))
			} else {
				sep = r.Bytes(1)
			}
			if part, ok := text.SplitIndex(r.Bytes(0), sep, r.Int(2)); ok {
				r.PutBytes(part)
			}
			return nil
		}), nil
	}
	return f
}
