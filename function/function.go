package function

import (
	"errors"
	"fmt"
	"strings"

	"staunch/types"
)

// Function is a scalar function or operator: its signature, and how its calls are computed.
type Function struct {
	// Name is the SQL name in upper case, or the operator's sign.
	Name string
	// Volatile functions give another value on each call with the same arguments.
	Volatile bool
	// CanFail functions can fail on a row, or are too dear to be computed for rows that do not need them.
	CanFail bool

	// form is what the arguments should be, for messages: "<CHARACTER>, <INTEGER>".
	form string
	// resolve checks the arguments, casts them where Flink does so implicitly, and gives the result type.
	resolve func(args []Expr) ([]Expr, types.Type, error)
	// volatile says of a call whether it gives another value each time, for functions that are Volatile in one form only.
	volatile func(c *Call) bool
	// expand gives another expression instead of a call, for functions that are made of others.
	expand func(unit string, args []Expr) (Expr, error)
	// op makes the computation of a call; nil gives the first argument as it is.
	op func(c *Call, s Session) (Op, error)
	// lazy computes calls whose arguments are not all computed for all rows.
	lazy func(c *compiler, n *node, call *Call) error
	// format prints a call whose text is not NAME(args).
	format func(c *Call, args []string) string
}

// ArgError says that a function does not take arguments of these types.
type ArgError struct {
	Func *Function
	Args []types.Type
	// Reason says more, if there is more to say.
	Reason string
}

// Error names the function, the types and the forms that are supported.
func (e *ArgError) Error() string {
	t := make([]string, len(e.Args))
	for i, a := range e.Args {
		t[i] = "<" + a.Nullable().String() + ">"
	}
	sep := ", "
	call := e.Func.Name + "(" + strings.Join(t, sep) + ")"
	if !isName(e.Func.Name) && len(t) == 2 {
		call = t[0] + " " + e.Func.Name + " " + t[1]
	}
	s := fmt.Sprintf("cannot apply '%s' to arguments of type '%s'", e.Func.Name, call)
	if e.Reason != "" {
		return s + ": " + e.Reason
	}
	if e.Func.form != "" {
		s += "; supported form(s): " + e.Func.forms()
	}
	return s
}

func (f *Function) forms() string {
	var out []string
	for _, form := range strings.Split(f.form, " | ") {
		if isName(f.Name) {
			form = f.Name + "(" + form + ")"
		}
		out = append(out, "'"+form+"'")
	}
	return strings.Join(out, ", ")
}

func isName(s string) bool { return s[0] >= 'A' && s[0] <= 'Z' }

// Bind gives the call of f with args: types checked, implicit casts inserted. The error is an *[ArgError], or says why the call can never
// be computed.
func (f *Function) Bind(args ...Expr) (Expr, error) { return f.BindUnit("", args...) }

// BindUnit is [Function.Bind] for functions with a time unit: EXTRACT, FLOOR and CEIL TO, TIMESTAMPDIFF.
func (f *Function) BindUnit(unit string, args ...Expr) (Expr, error) {
	if f.expand != nil {
		return f.expand(unit, args)
	}
	call := &Call{Func: f, Unit: unit}
	var err error
	call.Args, call.T, err = f.resolve(args)
	if err != nil {
		return nil, err
	}
	if f.lazy == nil {
		// Making the operation finds constant arguments that can never work.
		if _, err := f.op(call, Session{}); err != nil {
			return nil, err
		}
	}
	return call, nil
}

func typesOf(args []Expr) []types.Type {
	t := make([]types.Type, len(args))
	for i, a := range args {
		t[i] = a.Type()
	}
	return t
}

// family is a set of types that a parameter takes.
type family struct {
	name string
	has  func(types.Type) bool
}

var (
	character = family{"<CHARACTER>", types.Type.IsString}
	binary    = family{"<BINARY>", types.Type.IsBinary}
	numeric   = family{"<NUMERIC>", types.Type.IsNumeric}
	integer   = family{"<INTEGER>", types.Type.IsInteger}
	// intOrLess leaves out BIGINT, for which the code that Flink generates for these parameters does not compile.
	intOrLess = family{"<INT>", func(t types.Type) bool { return t.IsInteger() && t.Kind != types.BigInt }}
	boolean   = family{"<BOOLEAN>", func(t types.Type) bool { return t.Kind == types.Boolean }}
	timestamp = family{"<TIMESTAMP>", types.Type.IsTimestamp}
)

// returns gives the result type for checked arguments.
type returns func(args []Expr) types.Type

// sig is a signature: the parameters' families, of which the last opt may be left out, and the result. Several signatures of a function are
// tried in order.
type sig struct {
	params []family
	opt    int
	more   bool // the last parameter may be repeated
	ret    returns
}

// signatures sets form and resolve of a function.
func (f *Function) signatures(sigs ...sig) *Function {
	var forms []string
	for _, s := range sigs {
		for n := len(s.params) - s.opt; n <= len(s.params); n++ {
			names := make([]string, n)
			for i := range names {
				names[i] = s.params[i].name
			}
			if s.more && n == len(s.params) {
				names = append(names, "...")
			}
			forms = append(forms, strings.Join(names, ", "))
		}
	}
	f.form = strings.Join(forms, " | ")
	f.resolve = func(args []Expr) ([]Expr, types.Type, error) {
		for _, s := range sigs {
			if s.takes(args) {
				return args, s.ret(args), nil
			}
		}
		for _, a := range args {
			if a.Type().Kind == types.Null {
				return nil, types.Type{}, fmt.Errorf("illegal use of NULL as an argument of '%s': write CAST(NULL AS type)", f.Name)
			}
		}
		return nil, types.Type{}, &ArgError{Func: f, Args: typesOf(args)}
	}
	return f
}

func (s sig) takes(args []Expr) bool {
	n := len(s.params)
	if len(args) < n-s.opt || len(args) > n && !s.more {
		return false
	}
	for i, a := range args {
		if !s.params[min(i, n-1)].has(a.Type()) {
			return false
		}
	}
	return true
}

func allNotNull(args []Expr) bool {
	for _, a := range args {
		if !a.Type().NotNull {
			return false
		}
	}
	return true
}

// strictly gives t, NOT NULL if all arguments are.
func strictly(t types.Type) returns {
	return func(args []Expr) types.Type { return t.WithNotNull(allNotNull(args)) }
}

// nullable gives t that may be NULL whatever the arguments are.
func nullable(t types.Type) returns {
	return func([]Expr) types.Type { return t.Nullable() }
}

// asFirst gives the first argument's type, NOT NULL if all arguments are.
func asFirst(args []Expr) types.Type { return args[0].Type().WithNotNull(allNotNull(args)) }

// varcharOfFirst gives VARCHAR of the first argument's length.
func varcharOfFirst(args []Expr) types.Type {
	return types.NewVarchar(args[0].Type().Length).WithNotNull(allNotNull(args))
}

func nullableOf(r returns) returns {
	return func(args []Expr) types.Type { return r(args).Nullable() }
}

// errUntypedNull is the refusal of a bare NULL where nothing gives it a type.
var errUntypedNull = errors.New("illegal use of NULL: write CAST(NULL AS type)")

// NewNull gives a NULL of type t.
func NewNull(t types.Type) *Literal { return &Literal{Value: nullOf(t.Nullable())} }

// cast gives e as t (with e's nullability) unless it has that type already.
func cast(e Expr, t types.Type) Expr {
	if e.Type().Kind == types.Null {
		return NewNull(t)
	}
	t = t.WithNotNull(e.Type().NotNull)
	if e.Type().Equal(t) {
		return e
	}
	c := &Cast{Arg: e, T: t, Implicit: true}
	if _, ok := lit(e); ok && !e.Type().IsString() && t.Kind != types.TimestampLTZ {
		if l := constant(c, Session{}); l != nil {
			return l
		}
	}
	return c
}

// lit gives the literal e, if it is one.
func lit(e Expr) (*Literal, bool) {
	l, ok := e.(*Literal)
	return l, ok
}

// constText gives the text of a literal string that is not NULL.
func constText(e Expr) (string, bool) {
	if l, ok := lit(e); ok && !l.IsNull() && l.Type().IsString() {
		return string(l.Value.Bytes(0)), true
	}
	return "", false
}

// constInt gives the value of a literal integer that is not NULL.
func constInt(e Expr) (int64, bool) {
	l, ok := lit(e)
	if !ok || l.IsNull() || !l.Type().IsInteger() {
		return 0, false
	}
	if l.Type().Kind == types.BigInt {
		return l.Value.I64[0], true
	}
	return int64(l.Value.I32[0]), true
}
