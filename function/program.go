package function

import (
	"strings"
	"time"

	"staunch/changelog"
	"staunch/function/datetime"
	"staunch/kernel"
	"staunch/types"
)

// RowError is the failure of one row: a cast that does not work, a division by zero.
type RowError = kernel.RowError

// Session has the settings that values depend on.
type Session struct {
	// Zone is table.local-time-zone; nil is UTC.
	Zone *datetime.Zone
	// Now is the time for CURRENT_TIMESTAMP and its kin, asked once per batch. Nil: such functions fail.
	Now func() time.Time
	// Database is the current database.
	Database string
}

func (s Session) zone() *datetime.Zone {
	if s.Zone == nil {
		return datetime.UTC
	}
	return s.Zone
}

// Op computes a call over n rows into dst, which has the call's type and is empty. Rows outside mask need no value and must not fail.
type Op func(dst *changelog.Column, args []kernel.Vec, n int, mask kernel.Mask) error

// Program computes expressions over batches. It keeps its memory; it is for one goroutine.
type Program struct {
	roots []*node
	root  *scope
	epoch uint64
	in    *changelog.Batch
	full  []*changelog.Column
	// now is the time of the batch, zero until it is asked for.
	now time.Time
}

// scope is a set of rows on which expressions are computed: all rows, or those that take a branch.
type scope struct {
	parent *scope
	nodes  map[string]*node
	mask   kernel.Mask
	epoch  uint64
}

// node computes one expression in one scope, at most once per epoch of the scope.
type node struct {
	expr  Expr
	scope *scope
	args  []*node
	run   func(p *Program, n *node) (kernel.Vec, error)
	vecs  []kernel.Vec
	col   changelog.Column
	res   kernel.Vec
	epoch uint64
}

// Compile makes a program of expressions. Constant subexpressions are computed now; one that fails is left to fail on the first row that
// needs it, as in Flink.
func Compile(exprs []Expr, session Session) (*Program, error) {
	p := &Program{root: &scope{nodes: map[string]*node{}}}
	if clock := session.Now; clock != nil {
		session.Now = func() time.Time {
			if p.now.IsZero() {
				p.now = clock()
			}
			return p.now
		}
	}
	c := &compiler{session: session, root: p.root}
	for _, e := range exprs {
		n, err := c.compile(Fold(e, session), p.root)
		if err != nil {
			return nil, err
		}
		p.roots = append(p.roots, n)
		p.full = append(p.full, changelog.NewColumn(e.Type()))
	}
	return p, nil
}

// Eval computes all expressions over in; out gets one column of in.Rows rows for each. A column that is only referred to is the input's own.
// The failure of a row is a *[RowError]. The columns are valid until the next Eval or Filter and as long as in is.
func (p *Program) Eval(in *changelog.Batch, out []*changelog.Column) error {
	p.begin(in)
	for i, n := range p.roots {
		v, err := n.eval(p)
		if err != nil {
			return err
		}
		if v.Const {
			if f := p.full[i]; f.N < in.Rows || !isLiteral(n.expr) {
				kernel.Broadcast(f, v.Col, in.Rows)
			} else {
				f.Truncate(in.Rows)
			}
			v.Col = p.full[i]
		}
		out[i] = v.Col
	}
	return nil
}

func isLiteral(e Expr) bool { _, ok := e.(*Literal); return ok }

// Filter computes the program's only expression, a BOOLEAN, and puts into keep the rows where it is TRUE (bit i%64 of word i/64); keep has
// at least (in.Rows+63)/64 words.
func (p *Program) Filter(in *changelog.Batch, keep []uint64) error {
	p.begin(in)
	v, err := p.roots[0].eval(p)
	if err != nil {
		return err
	}
	kernel.Keep(keep, v, in.Rows)
	return nil
}

func (p *Program) begin(in *changelog.Batch) {
	p.in, p.now = in, time.Time{}
	p.enter(p.root, nil)
}

// enter begins a new computation of the scope's nodes for the rows of mask.
func (p *Program) enter(s *scope, mask kernel.Mask) {
	p.epoch++
	s.epoch, s.mask = p.epoch, mask
}

func (n *node) eval(p *Program) (kernel.Vec, error) {
	if n.epoch == n.scope.epoch {
		return n.res, nil
	}
	v, err := n.run(p, n)
	if err != nil {
		return v, err
	}
	if err := kernel.CheckBytes(v.Col, kernel.MaxBytes); err != nil {
		return v, err
	}
	n.res, n.epoch = v, n.scope.epoch
	return v, nil
}

// evalArgs computes the arguments.
func (n *node) evalArgs(p *Program) ([]kernel.Vec, error) {
	n.vecs = n.vecs[:0]
	for _, a := range n.args {
		v, err := a.eval(p)
		if err != nil {
			return nil, err
		}
		n.vecs = append(n.vecs, v)
	}
	return n.vecs, nil
}

type compiler struct {
	session Session
	root    *scope
}

// compile gives the node for e in scope s: an equal one of s or of a scope around it, if there is one.
func (c *compiler) compile(e Expr, s *scope) (*node, error) {
	if s != c.root && !canFail(e) {
		s = c.root
	}
	shared := e.Deterministic()
	var key string
	if shared {
		key = keyOf(e)
		for at := s; at != nil; at = at.parent {
			if n := at.nodes[key]; n != nil {
				return n, nil
			}
		}
	}
	n := &node{expr: e, scope: s}
	n.col.Type = e.Type()
	n.col.Reset()
	if err := c.fill(n); err != nil {
		return nil, err
	}
	if shared {
		s.nodes[key] = n
	}
	return n, nil
}

func (c *compiler) fill(n *node) error {
	switch e := n.expr.(type) {
	case *ColumnRef:
		i := e.Index
		n.run = func(p *Program, _ *node) (kernel.Vec, error) { return kernel.Vec{Col: p.in.Cols[i]}, nil }
		return nil
	case *Literal:
		v := kernel.Vec{Col: e.Value, Const: true}
		n.run = func(*Program, *node) (kernel.Vec, error) { return v, nil }
		return nil
	case *Cast:
		op, err := castOp(e.Arg.Type(), e.T, e.Try, c.session)
		if err != nil {
			return err
		}
		return c.fillOp(n, op, []Expr{e.Arg})
	}
	call := n.expr.(*Call)
	if call.Func.lazy != nil {
		return call.Func.lazy(c, n, call)
	}
	op, err := call.Func.op(call, c.session)
	if err != nil {
		return err
	}
	return c.fillOp(n, op, call.Args)
}

// fillOp makes n compute its arguments and then op.
func (c *compiler) fillOp(n *node, op Op, args []Expr) error {
	if op == nil { // the argument itself
		a, err := c.compile(args[0], n.scope)
		if err != nil {
			return err
		}
		n.run = func(p *Program, n *node) (kernel.Vec, error) {
			v, err := a.eval(p)
			if err != nil {
				return v, err
			}
			t := n.col.Type
			n.col = *v.Col // the same memory under another type
			n.col.Type = t
			return kernel.Vec{Col: &n.col, Const: v.Const}, nil
		}
		return nil
	}
	for _, a := range args {
		x, err := c.compile(a, n.scope)
		if err != nil {
			return err
		}
		n.args = append(n.args, x)
	}
	n.run = func(p *Program, n *node) (kernel.Vec, error) {
		vecs, err := n.evalArgs(p)
		if err != nil {
			return kernel.Vec{}, err
		}
		rows := p.in.Rows
		n.col.Reset()
		if !n.scope.mask.Any(rows) {
			kernel.Broadcast(&n.col, nullOf(n.col.Type), rows)
			return kernel.Vec{Col: &n.col}, nil
		}
		if err := op(&n.col, vecs, rows, n.scope.mask); err != nil {
			return kernel.Vec{}, err
		}
		return kernel.Vec{Col: &n.col}, nil
	}
	return nil
}

// branch makes a scope for the rows that take a branch of s.
func (s *scope) branch() *scope { return &scope{parent: s, nodes: map[string]*node{}} }

// canFail reports whether some row can fail to compute e, or whether computing it for rows that do not need it is dear.
func canFail(e Expr) bool {
	fails := false
	Walk(e, func(e Expr) bool {
		switch e := e.(type) {
		case *Call:
			fails = fails || e.Func.CanFail
		case *Cast:
			fails = fails || castCanFail(e.Arg.Type(), e.T, e.Try)
		}
		return !fails
	})
	return fails
}

// nullOf gives a NULL constant of type t.
func nullOf(t types.Type) *changelog.Column {
	c := changelog.NewColumn(t)
	c.AppendNull()
	return c
}

// Fold computes the constant parts of e; a part that fails to compute is left as it is.
func Fold(e Expr, session Session) Expr {
	return Rewrite(e, func(e Expr) Expr {
		switch x := e.(type) {
		case *ColumnRef, *Literal:
			return e
		case *Call:
			if !x.Deterministic() {
				return e
			}
			for _, a := range x.Args {
				if !isLiteral(a) {
					return e
				}
			}
		case *Cast:
			if !isLiteral(x.Arg) {
				return e
			}
		}
		if l := constant(e, session); l != nil {
			return l
		}
		return e
	})
}

// constant computes an expression over literals, or gives nil if that fails.
func constant(e Expr, session Session) *Literal {
	p := &Program{root: &scope{nodes: map[string]*node{}}}
	c := &compiler{session: session, root: p.root}
	n, err := c.compile(e, p.root)
	if err != nil {
		return nil
	}
	p.begin(&changelog.Batch{Rows: 1})
	v, err := n.eval(p)
	if err != nil || v.Col.Type.IsNested() {
		return nil
	}
	out := changelog.NewColumn(e.Type())
	out.AppendFrom(v.Col, 0)
	return &Literal{Value: out}
}

// Explain gives the expressions' plan text, joined by commas, as in Flink's Calc(select=[..]).
func Explain(exprs []Expr) string {
	s := make([]string, len(exprs))
	for i, e := range exprs {
		s[i] = e.String()
	}
	return strings.Join(s, ", ")
}
