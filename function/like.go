package function

import (
	"fmt"
	"unicode/utf8"

	"staunch/changelog"
	"staunch/kernel"
	"staunch/types"
)

// likeOp is text LIKE pattern [ESCAPE c]. Without ESCAPE no character is special but % and _.
func likeOp() *Function {
	f := &Function{Name: "LIKE", CanFail: true, form: "<CHARACTER> LIKE <CHARACTER> [ESCAPE <CHARACTER>]"}
	f.format = func(_ *Call, args []string) string {
		s := args[0] + " LIKE " + args[1]
		if len(args) == 3 {
			s += " ESCAPE " + args[2]
		}
		return "(" + s + ")"
	}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) { return f.texts(args, types.New(types.Boolean)) }
	f.op = func(c *Call, _ Session) (Op, error) {
		pattern, constant := constText(c.Args[1])
		escape, escaped := "", true
		if len(c.Args) == 3 {
			escape, escaped = constText(c.Args[2])
		}
		if constant && escaped {
			p, err := compileLike(pattern, escape)
			if err != nil {
				return nil, err
			}
			return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
				kernel.Like(dst, args[0], n, p)
				return nil
			}, nil
		}
		return likeRows(), nil
	}
	return f
}

// texts checks that all arguments are texts; a NULL without type counts as one.
func (f *Function) texts(args []Expr, result types.Type) ([]Expr, types.Type, error) {
	out := make([]Expr, len(args))
	for i, a := range args {
		if t := a.Type(); !t.IsString() && t.Kind != types.Null {
			return nil, t, &ArgError{Func: f, Args: typesOf(args)}
		}
		out[i] = cast(a, orString(a.Type()))
	}
	return out, result.WithNotNull(allNotNull(out)), nil
}

func compileLike(pattern, escape string) (*kernel.LikePattern, error) {
	r := rune(0)
	if escape != "" {
		size := 0
		if r, size = utf8.DecodeRuneInString(escape); size != len(escape) {
			return nil, fmt.Errorf("the escape of LIKE must be one character, not '%s'", escape)
		}
	}
	return kernel.CompileLike(pattern, r)
}

// likeRows is LIKE with a pattern per row; the last one is kept.
func likeRows() Op {
	var last *kernel.LikePattern
	var pattern, escape string
	return lift(func(r *kernel.Row) error {
		esc := ""
		if r.Args() == 3 {
			esc = r.String(2)
		}
		if last == nil || r.String(1) != pattern || esc != escape {
			pattern, escape = string(r.Bytes(1)), string([]byte(esc))
			var err error
			if last, err = compileLike(pattern, escape); err != nil {
				last = nil
				return err
			}
		}
		r.PutBool(last.Match(r.Bytes(0)))
		return nil
	})
}
