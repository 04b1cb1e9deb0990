package function

import (
	"fmt"
	"strings"

	"staunch/kernel"
	"staunch/types"
)

var conditional = []*Function{caseOp(), coalesceOp("COALESCE"), coalesceOp("IFNULL"), ifOp(), nullIfOp(), extremum("GREATEST", 1), extremum("LEAST", -1)}

// caseOp is CASE with arguments condition, result, condition, result, .., else. The first condition that is TRUE decides; conditions and results
// are computed only on the rows that come to them.
func caseOp() *Function {
	f := &Function{Name: "CASE", lazy: compileCase}
	f.format = func(_ *Call, args []string) string { return "CASE(" + strings.Join(args, ", ") + ")" }
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		out := append([]Expr(nil), args...)
		var results []types.Type
		for i := range out {
			if i%2 == 1 || i == len(out)-1 {
				results = append(results, out[i].Type())
				continue
			}
			if k := out[i].Type().Kind; k != types.Boolean && k != types.Null {
				return nil, types.Type{}, fmt.Errorf("a condition of CASE must be BOOLEAN, not %s", out[i].Type().Nullable())
			}
			out[i] = cast(out[i], types.New(types.Boolean))
		}
		t, ok := commonType(results, calcite)
		if !ok {
			if allNull(results) {
				return nil, t, fmt.Errorf("a CASE needs one result that is not NULL")
			}
			return nil, t, errIllegalMix("CASE or COALESCE statement", results)
		}
		for i := range out {
			if i%2 == 1 || i == len(out)-1 {
				out[i] = cast(out[i], t)
			}
		}
		return out, t, nil
	}
	return f
}

func hasUntypedNull(args []Expr) bool {
	for _, a := range args {
		if a.Type().Kind == types.Null {
			return true
		}
	}
	return false
}

func allNull(ts []types.Type) bool {
	for _, t := range ts {
		if t.Kind != types.Null {
			return false
		}
	}
	return true
}

// caseBranch is a condition (nil for ELSE) and its result, each in the scope of the rows that come to it.
type caseBranch struct {
	cond, result           *node
	condScope, resultScope *scope
	left, taken            kernel.Mask
}

func compileCase(c *compiler, n *node, call *Call) error {
	var branches []*caseBranch
	at := n.scope
	for i := 0; i < len(call.Args); i += 2 {
		b := &caseBranch{}
		var err error
		if i+1 < len(call.Args) {
			b.condScope = at
			if b.cond, err = c.compile(call.Args[i], at); err != nil {
				return err
			}
			b.resultScope = at.branch()
			b.result, err = c.compile(call.Args[i+1], b.resultScope)
			at = at.branch()
		} else {
			b.resultScope = at
			b.result, err = c.compile(call.Args[i], at)
		}
		if err != nil {
			return err
		}
		branches = append(branches, b)
	}
	var pick []int32
	vecs := make([]kernel.Vec, len(branches))
	n.run = func(p *Program, n *node) (kernel.Vec, error) {
		pick = resizePick(pick, p.in.Rows)
		mask := n.scope.mask
		for k, b := range branches {
			if k > 0 {
				p.enter(b.scope(), mask)
			}
			if b.cond == nil {
				for i := range pick {
					if mask.Has(i) {
						pick[i] = int32(k)
					}
				}
				var err error
				if vecs[k], err = b.result.eval(p); err != nil {
					return vecs[k], err
				}
				break
			}
			v, err := b.cond.eval(p)
			if err != nil {
				return v, err
			}
			b.split(v, pick, int32(k), mask)
			p.enter(b.resultScope, b.taken)
			if vecs[k], err = b.result.eval(p); err != nil {
				return vecs[k], err
			}
			mask = b.left
		}
		kernel.Choose(&n.col, vecs, pick)
		return kernel.Vec{Col: &n.col}, nil
	}
	return nil
}

func resizePick(pick []int32, n int) []int32 {
	if cap(pick) < n {
		pick = make([]int32, n)
	}
	pick = pick[:n]
	for i := range pick {
		pick[i] = -1
	}
	return pick
}

// scope is where the branch begins: the rows that no earlier branch took.
func (b *caseBranch) scope() *scope {
	if b.cond == nil {
		return b.resultScope
	}
	return b.condScope
}

// split sends the rows of mask where v is TRUE to branch k and leaves the others.
func (b *caseBranch) split(v kernel.Vec, pick []int32, k int32, mask kernel.Mask) {
	n := len(pick)
	b.left = kernel.Active(b.left, n, mask)
	b.taken = kernel.Active(b.taken, n, mask)
	for i := range pick {
		bit := uint64(1) << (uint(i) & 63)
		if b.left[i>>6]&bit == 0 {
			continue
		}
		if v.Col.B[v.Index(i)] && !v.IsNull(i) {
			pick[i] = k
			b.left[i>>6] &^= bit
		} else {
			b.taken[i>>6] &^= bit
		}
	}
}

// coalesceOp gives the first argument that is not NULL; later ones are computed only where the earlier are NULL.
func coalesceOp(name string) *Function {
	f := &Function{Name: name, form: "<COMMON>, <COMMON>...", lazy: compileCoalesce}
	if name == "IFNULL" {
		f.form = "<COMMON>, <COMMON>"
	}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if len(args) == 0 || name == "IFNULL" && len(args) != 2 {
			return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
		}
		t, ok := commonType(typesOf(args), merged)
		if !ok {
			return nil, t, errIllegalMix(name, typesOf(args))
		}
		out := make([]Expr, len(args))
		notNull := false
		for i, a := range args {
			out[i] = cast(a, t)
			notNull = notNull || a.Type().NotNull
		}
		return out, t.WithNotNull(notNull), nil
	}
	return f
}

func compileCoalesce(c *compiler, n *node, call *Call) error {
	var args []*node
	var scopes []*scope
	at := n.scope
	for i, a := range call.Args {
		if i > 0 {
			at = at.branch()
		}
		x, err := c.compile(a, at)
		if err != nil {
			return err
		}
		args, scopes = append(args, x), append(scopes, at)
	}
	var pick []int32
	masks := make([]kernel.Mask, len(args))
	vecs := make([]kernel.Vec, len(args))
	n.run = func(p *Program, n *node) (kernel.Vec, error) {
		pick = resizePick(pick, p.in.Rows)
		mask := n.scope.mask
		for k, a := range args {
			if k > 0 {
				p.enter(scopes[k], mask)
			}
			var err error
			if vecs[k], err = a.eval(p); err != nil {
				return vecs[k], err
			}
			if k == 0 && vecs[0].Col.Nulls == 0 && !vecs[0].Const {
				return vecs[0], nil
			}
			masks[k] = kernel.Active(masks[k], len(pick), mask)
			for i := range pick {
				if masks[k].Has(i) && !vecs[k].IsNull(i) {
					pick[i] = int32(k)
					masks[k][i>>6] &^= 1 << (uint(i) & 63)
				}
			}
			mask = masks[k]
		}
		kernel.Choose(&n.col, vecs, pick)
		return kernel.Vec{Col: &n.col}, nil
	}
	return nil
}

// ifOp is IF(condition, then, else). Unlike CASE it may be NULL as soon as its condition may.
func ifOp() *Function {
	f := &Function{Name: "IF", form: "<BOOLEAN>, <COMMON>, <COMMON>", lazy: compileCase}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if len(args) != 3 || args[0].Type().Kind != types.Boolean && args[0].Type().Kind != types.Null {
			return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
		}
		if hasUntypedNull(args) {
			return nil, types.Type{}, errUntypedNull
		}
		t, ok := commonType(typesOf(args[1:]), calcite)
		if !ok {
			return nil, t, &ArgError{Func: f, Args: typesOf(args)}
		}
		out := []Expr{args[0], cast(args[1], t), cast(args[2], t)}
		return out, t.WithNotNull(allNotNull(args)), nil
	}
	return f
}

// nullIfOp is NULLIF(a, b): CASE WHEN a = b THEN NULL ELSE a END.
func nullIfOp() *Function {
	f := &Function{Name: "NULLIF", form: "<COMPARABLE_TYPE>, <COMPARABLE_TYPE>", lazy: compileCase}
	f.format = func(_ *Call, args []string) string { return "CASE(" + strings.Join(args, ", ") + ")" }
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if len(args) != 2 || args[0].Type().Kind == types.Null {
			return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
		}
		eq, err := Lookup("=").Bind(args...)
		if err != nil {
			return nil, types.Type{}, err
		}
		t := args[0].Type().Nullable()
		return []Expr{eq, NewNull(t), args[0]}, t, nil
	}
	return f
}

// extremum is GREATEST or LEAST: NULL if any argument is.
func extremum(name string, sign int) *Function {
	f := &Function{Name: name, form: "<COMPARABLE>..."}
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		if hasUntypedNull(args) {
			return nil, types.Type{}, errUntypedNull
		}
		t, ok := commonType(typesOf(args), merged)
		if len(args) == 0 || !ok || t.IsNested() {
			return nil, t, &ArgError{Func: f, Args: typesOf(args)}
		}
		out := make([]Expr, len(args))
		for i, a := range args {
			out[i] = cast(a, t)
		}
		return out, t, nil
	}
	f.op = func(c *Call, _ Session) (Op, error) {
		return lift(func(r *kernel.Row) error {
			best := 0
			for k := 1; k < r.Args(); k++ {
				if r.Compare(k, best)*sign > 0 {
					best = k
				}
			}
			r.PutArg(best)
			return nil
		}), nil
	}
	return f
}
