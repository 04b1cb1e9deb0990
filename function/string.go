package function

import (
	"staunch/changelog"
	"staunch/kernel"
	"staunch/types"
)

// stringFunctions are the functions of texts and bytes.
var stringFunctions = []*Function{
	concatOp(), concat(), concatWS(), likeOp(),
}

// row makes a function of signatures and of the computation of one row.
func row(name string, f func(r *kernel.Row) error, sigs ...sig) *Function {
	fn := (&Function{Name: name}).signatures(sigs...)
	fn.op = func(*Call, Session) (Op, error) { return lift(f), nil }
	return fn
}

// concatOp is ||; its type adds the lengths, CHAR stays CHAR.
func concatOp() *Function {
	f := &Function{Name: "||", form: "<STRING> || <STRING>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		a, b := args[0].Type(), args[1].Type()
		if a.Kind == types.Null || b.Kind == types.Null {
			return nil, a, errUntypedNull
		}
		var t types.Type
		switch {
		case a.IsString() && b.IsString():
			t.Kind = types.Varchar
			if a.Kind == types.Char && b.Kind == types.Char {
				t.Kind = types.Char
			}
		case a.IsBinary() && b.IsBinary():
			t.Kind = types.Varbinary
			if a.Kind == types.Binary && b.Kind == types.Binary {
				t.Kind = types.Binary
			}
		default:
			return nil, a, &ArgError{Func: f, Args: typesOf(args)}
		}
		t.Length = min(a.Length+b.Length, types.MaxLength)
		return args, t.WithNotNull(allNotNull(args)), nil
	}
	f.op = func(*Call, Session) (Op, error) { return concatenate, nil }
	return f
}

// concatenate joins all arguments; NULL if one is.
func concatenate(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
	kernel.Make(dst, n)
	dst.N = n
	kernel.Strict(dst, n, args...)
	off, data := append(dst.Off[:0], 0), dst.Data[:0]
	for i := range n {
		if !dst.IsNull(i) {
			for _, a := range args {
				data = append(data, a.Col.Bytes(a.Index(i))...)
			}
		}
		off = append(off, int32(len(data)))
	}
	dst.Off, dst.Data = off, data
	return nil
}

func concat() *Function {
	f := (&Function{Name: "CONCAT"}).signatures(sig{params: []family{character}, more: true, ret: strictly(types.String_)},
		sig{params: []family{binary}, more: true, ret: strictly(types.Bytes)})
	f.op = func(*Call, Session) (Op, error) { return concatenate, nil }
	return f
}

// concatWS joins the values that are not NULL.
func concatWS() *Function {
	f := (&Function{Name: "CONCAT_WS"}).signatures(sig{params: []family{character, character}, opt: 1, more: true, ret: strictly(types.String_)})
	f.op = func(*Call, Session) (Op, error) {
		return liftNullable(func(r *kernel.Row) error {
			if r.Null(0) {
				return nil
			}
			b := r.Buffer()
			first := true
			for k := 1; k < r.Args(); k++ {
				if r.Null(k) {
					continue
				}
				if !first {
					b = append(b, r.Bytes(0)...)
				}
				b = append(b, r.Bytes(k)...)
				first = false
			}
			r.End(b)
			return nil
		}), nil
	}
	return f
}
