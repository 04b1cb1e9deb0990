package function

import (
	"strings"

	"staunch/changelog"
	"staunch/function/text"
	"staunch/kernel"
	"staunch/types"
)

// likeOp is text LIKE pattern [ESCAPE c]. Without ESCAPE no character is special but % and _.
func likeOp() *Function {
	f := &Function{Name: "LIKE", CanFail: true, form: "<CHARACTER> LIKE <CHARACTER> [ESCAPE <CHARACTER>]"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) { return f.texts(args, types.New(types.Boolean)) }
	f.op = func(c *Call, _ Session) (Op, error) {
		pattern, constant := constText(c.Args[1])
		var escape *string
		if len(c.Args) == 3 {
			e, ok := constText(c.Args[2])
			escape, constant = &e, constant && ok
		}
		if !constant {
			return likeRows(), nil
		}
		p, err := compileLike(pattern, escape)
		if err != nil {
			return nil, err
		}
		return matchAll(p.Match), nil
	}
	return f
}

// matchAll tests each row's first argument, a text, also where it is NULL and the result is not used.
func matchAll(match func([]byte) bool) Op {
	return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
		kernel.Make(dst, n)
		a := args[0]
		for i := range dst.B {
			dst.B[i] = match(a.Col.Bytes(a.Index(i)))
		}
		kernel.Strict(dst, n, args...)
		return nil
	}
}

// texts checks that all arguments are texts.
func (f *Function) texts(args []Expr, result types.Type) ([]Expr, types.Type, error) {
	for _, a := range args {
		switch t := a.Type(); {
		case t.Kind == types.Null:
			return nil, t, errUntypedNull
		case !t.IsString():
			return nil, t, &ArgError{Func: f, Args: typesOf(args)}
		}
	}
	return args, result.WithNotNull(allNotNull(args)), nil
}

// compileLike compiles a pattern; nil for the escape is none, and so is an empty one.
func compileLike(pattern string, escape *string) (*text.Like, error) {
	if escape == nil || *escape == "" {
		return text.CompileLike(pattern), nil
	}
	return text.CompileLikeEscape(pattern, *escape)
}

// likeRows is LIKE with a pattern per row; the last one is kept.
func likeRows() Op {
	var last *text.Like
	var pattern, escape string
	return lift(func(r *kernel.Row) error {
		esc := ""
		var given *string
		if r.Args() == 3 {
			esc = r.String(2)
			given = &esc
		}
		if last == nil || r.String(1) != pattern || esc != escape {
			pattern, escape = strings.Clone(r.String(1)), strings.Clone(esc)
			var err error
			if last, err = compileLike(pattern, given); err != nil {
				last = nil
				return err
			}
		}
		r.PutBool(last.Match(r.Bytes(0)))
		return nil
	})
}
