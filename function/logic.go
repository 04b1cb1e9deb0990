package function

import (
	"fmt"

	"staunch/changelog"
	"staunch/kernel"
	"staunch/types"
)

var logic = []*Function{
	junction("AND", false), junction("OR", true), notOp(),
	isNullOp("IS NULL", false), isNullOp("IS NOT NULL", true),
	isBoolOp("IS TRUE", true, false), isBoolOp("IS NOT TRUE", true, true),
	isBoolOp("IS FALSE", false, false), isBoolOp("IS NOT FALSE", false, true),
}

// checkBooleans refuses what is no BOOLEAN.
func (f *Function) checkBooleans(args []Expr) error {
	for _, a := range args {
		switch a.Type().Kind {
		case types.Boolean:
		case types.Null:
			return errUntypedNull
		default:
			return &ArgError{Func: f, Args: typesOf(args)}
		}
	}
	return nil
}

// junction is AND or OR; win is the value of one side that decides alone. The right side is computed only on rows that the left side does not
// decide, if it can fail.
func junction(name string, win bool) *Function {
	f := &Function{Name: name, format: infix, form: "<BOOLEAN> " + name + " <BOOLEAN>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if err := f.checkBooleans(args); err != nil {
			return nil, types.Type{}, err
		}
		return args, types.New(types.Boolean).WithNotNull(allNotNull(args)), nil
	}
	f.lazy = func(c *compiler, n *node, call *Call) error {
		left, err := c.compile(call.Args[0], n.scope)
		if err != nil {
			return err
		}
		branch := n.scope
		if canFail(call.Args[1]) {
			branch = n.scope.branch()
		}
		right, err := c.compile(call.Args[1], branch)
		if err != nil {
			return err
		}
		var open kernel.Mask
		n.run = func(p *Program, n *node) (kernel.Vec, error) {
			rows := p.in.Rows
			a, err := left.eval(p)
			if err != nil {
				return a, err
			}
			if branch != n.scope {
				open = undecided(open, a, rows, n.scope.mask, win)
				p.enter(branch, open)
			}
			b, err := right.eval(p)
			if err != nil {
				return b, err
			}
			if win {
				kernel.Or(&n.col, a, b, rows)
			} else {
				kernel.And(&n.col, a, b, rows)
			}
			return kernel.Vec{Col: &n.col}, nil
		}
		return nil
	}
	return f
}

// undecided gives the rows of mask on which a is NULL or not win.
func undecided(out kernel.Mask, a kernel.Vec, n int, mask kernel.Mask, win bool) kernel.Mask {
	out = kernel.Active(out, n, mask)
	for i := range n {
		if a.Col.B[a.Index(i)] == win && !a.IsNull(i) {
			out[i>>6] &^= 1 << (uint(i) & 63)
		}
	}
	return out
}

func notOp() *Function {
	f := &Function{Name: "NOT", form: "<BOOLEAN>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if err := f.checkBooleans(args); err != nil {
			return nil, types.Type{}, err
		}
		return args, args[0].Type(), nil
	}
	f.op = func(*Call, Session) (Op, error) {
		return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
			kernel.Not(dst, args[0], n)
			return nil
		}, nil
	}
	return f
}

func postfix(c *Call, args []string) string { return args[0] + " " + c.Func.Name }

func isNullOp(name string, not bool) *Function {
	f := &Function{Name: name, format: postfix}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		return []Expr{cast(args[0], orString(args[0].Type()))}, types.New(types.Boolean).Required(), nil
	}
	f.op = func(*Call, Session) (Op, error) {
		return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
			kernel.IsNull(dst, args[0], n, not)
			return nil
		}, nil
	}
	return f
}

// orString gives t, or STRING for a NULL without type.
func orString(t types.Type) types.Type {
	if t.Kind == types.Null {
		return types.String_
	}
	return t
}

func isBoolOp(name string, want, not bool) *Function {
	f := &Function{Name: name, format: postfix, form: "<BOOLEAN>"}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		return args, types.New(types.Boolean).Required(), f.checkBooleans(args)
	}
	f.op = func(*Call, Session) (Op, error) {
		return func(dst *changelog.Column, args []kernel.Vec, n int, _ kernel.Mask) error {
			kernel.IsBool(dst, args[0], n, want, not)
			return nil
		}, nil
	}
	return f
}

// errIllegalMix is the refusal of branches without a common type.
func errIllegalMix(what string, ts []types.Type) error {
	return fmt.Errorf("illegal mixing of types in %s: %s", what, typeList(ts))
}

func typeList(ts []types.Type) string {
	s := ""
	for i, t := range ts {
		if i > 0 {
			s += ", "
		}
		s += t.Nullable().String()
	}
	return s
}
