package ast

// LiteralKind says what a literal is.
type LiteralKind int

// The kinds of literal. Numbers keep their digits: the binder decides INT, BIGINT or "out of range".
const (
	IntegerLit   LiteralKind = iota + 1 // 42
	DecimalLit                          // 1.50, .5
	DoubleLit                           // 1e3
	StringLit                           // 'it''s', N'..', _UTF16'..', 'a' 'b' (joined), e'..'
	UnicodeLit                          // U&'\00e9': Text has the escapes undone
	BinaryLit                           // X'1F2e': Text holds the hex digits, an even number of them
	DateLit                             // DATE '2024-02-29'
	TimeLit                             // TIME '12:00:00.123'
	TimestampLit                        // TIMESTAMP '2024-02-29 12:34:56.789'
	IntervalLit                         // INTERVAL [-]'1' DAY
	BooleanLit                          // TRUE, FALSE, UNKNOWN
	NullLit                             // NULL
)

var literalKindNames = map[LiteralKind]string{
	IntegerLit: "integer", DecimalLit: "decimal", DoubleLit: "double", StringLit: "string", UnicodeLit: "unicode string",
	BinaryLit: "binary", DateLit: "date", TimeLit: "time", TimestampLit: "timestamp", IntervalLit: "interval",
	BooleanLit: "boolean", NullLit: "null",
}

// String names the kind.
func (k LiteralKind) String() string { return literalKindNames[k] }

// Literal is a constant.
type Literal struct {
	Span
	Kind LiteralKind
	// Text is the value's text. Numbers: as written. Strings: quotes removed and '' undone. Typed literals: the quoted
	// text, not yet checked against a calendar. Booleans: TRUE, FALSE or UNKNOWN. NULL: empty.
	Text string
	// Charset is the N or _NAME prefix of a string ("N", "UTF16"), empty without one.
	Charset string
	// Negative is INTERVAL -'5' MINUTE.
	Negative bool
	// Unit is the unit of an interval, nil for other kinds.
	Unit *IntervalUnit
}

// FractionDigits is the number of digits after the decimal point of a TIME or TIMESTAMP literal: its precision.
func (l *Literal) FractionDigits() int {
	for i := len(l.Text) - 1; i >= 0; i-- {
		if l.Text[i] == '.' {
			return len(l.Text) - 1 - i
		}
		if l.Text[i] < '0' || l.Text[i] > '9' {
			break
		}
	}
	return 0
}

// IntervalUnit is DAY, DAY(3) TO SECOND(6), ..; units are singular upper case (DAYS is kept as DAY).
type IntervalUnit struct {
	Span
	From          string // YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND
	To            string // empty without TO
	Precision     int    // of the leading field, -1 if not written
	FracPrecision int    // of seconds, -1 if not written
}

// IntervalExpr is an interval whose amount is not a quoted text: INTERVAL 1 DAY.
type IntervalExpr struct {
	Span
	Value Expr
	Unit  *IntervalUnit
}

// Param is a `?` placeholder.
type Param struct{ Span }

// Default is the word DEFAULT as a value.
type Default struct{ Span }

// Star is `*` or `t.*`.
type Star struct {
	Span
	Qualifier *Identifier // nil for a bare *
}

// UnaryOp is a prefix operator.
type UnaryOp string

// Prefix operators. FINAL and RUNNING stand only in MATCH_RECOGNIZE.
const (
	OpPlus    UnaryOp = "+"
	OpMinus   UnaryOp = "-"
	OpNot     UnaryOp = "NOT"
	OpFinal   UnaryOp = "FINAL"
	OpRunning UnaryOp = "RUNNING"
	OpPrior   UnaryOp = "PRIOR"
)

// Unary is a prefix operator applied to X.
type Unary struct {
	Span
	Op UnaryOp
	X  Expr
}

// BinaryOp is an infix operator.
type BinaryOp string

// Infix operators, by their SQL text.
const (
	OpAdd               BinaryOp = "+"
	OpSub               BinaryOp = "-"
	OpMul               BinaryOp = "*"
	OpDiv               BinaryOp = "/"
	OpMod               BinaryOp = "%"
	OpConcat            BinaryOp = "||"
	OpEq                BinaryOp = "="
	OpNe                BinaryOp = "<>"
	OpLt                BinaryOp = "<"
	OpLe                BinaryOp = "<="
	OpGt                BinaryOp = ">"
	OpGe                BinaryOp = ">="
	OpAnd               BinaryOp = "AND"
	OpOr                BinaryOp = "OR"
	OpDistinctFrom      BinaryOp = "IS DISTINCT FROM"
	OpNotDistinctFrom   BinaryOp = "IS NOT DISTINCT FROM"
	OpOverlaps          BinaryOp = "OVERLAPS"
	OpContains          BinaryOp = "CONTAINS"
	OpEquals            BinaryOp = "EQUALS"
	OpPrecedes          BinaryOp = "PRECEDES"
	OpSucceeds          BinaryOp = "SUCCEEDS"
	OpImmediatePrecedes BinaryOp = "IMMEDIATELY PRECEDES"
	OpImmediateSucceeds BinaryOp = "IMMEDIATELY SUCCEEDS"
	OpMemberOf          BinaryOp = "MEMBER OF"
	OpSubmultisetOf     BinaryOp = "SUBMULTISET OF"
	OpNotSubmultisetOf  BinaryOp = "NOT SUBMULTISET OF"
	OpMultisetUnion     BinaryOp = "MULTISET UNION" // these three also with " ALL" appended
	OpMultisetIntersect BinaryOp = "MULTISET INTERSECT"
	OpMultisetExcept    BinaryOp = "MULTISET EXCEPT"
)

// Binary is X Op Y.
type Binary struct {
	Span
	OpPos Pos
	Op    BinaryOp
	X, Y  Expr
}

// Is is a test `X IS [NOT] What`.
type Is struct {
	Span
	X    Expr
	Not  bool
	What string // NULL TRUE FALSE UNKNOWN JSON, JSON VALUE, JSON OBJECT, JSON ARRAY, JSON SCALAR, A SET, EMPTY
}

// Between is X [NOT] BETWEEN [SYMMETRIC] Low AND High.
type Between struct {
	Span
	X         Expr
	Not       bool
	Symmetric bool
	Low, High Expr
}

// In is X [NOT] IN (list) or (query): one of List and Query is set.
type In struct {
	Span
	X     Expr
	Not   bool
	List  []Expr
	Query Query
}

// Quantified is X Op ANY|SOME|ALL (list or query).
type Quantified struct {
	Span
	X          Expr
	Op         BinaryOp
	Quantifier string // ANY SOME ALL
	List       []Expr
	Query      Query
}

// Like is X [NOT] LIKE|ILIKE|RLIKE|SIMILAR TO Pattern [ESCAPE e].
type Like struct {
	Span
	X       Expr
	Not     bool
	Op      string // LIKE ILIKE RLIKE, SIMILAR TO
	Pattern Expr
	Escape  Expr // nil if not written
}

// Case is CASE [Operand] WHEN .. END. With an operand a branch may list several values.
type Case struct {
	Span
	Operand Expr // nil for the searched form
	Whens   []When
	Else    Expr // nil if not written
}

// When is one branch of a CASE.
type When struct {
	Span
	Conds  []Expr // one condition, or the values to compare with the operand
	Result Expr
}

// Cast is CAST(X AS Type) or TRY_CAST (also SAFE_CAST).
type Cast struct {
	Span
	X    Expr
	Type *TypeName
	Try  bool // TRY_CAST
}

// Extract is EXTRACT(Unit FROM X).
type Extract struct {
	Span
	Unit string // upper case, singular
	X    Expr
}

// Trim is TRIM([Side] [Chars] FROM X) or TRIM(X).
type Trim struct {
	Span
	Side  string // BOTH (default), LEADING, TRAILING
	Chars Expr   // nil: blanks
	X     Expr
}

// Substring is SUBSTRING(X FROM From [FOR For]); the form with commas gives the same node.
type Substring struct {
	Span
	X, From Expr
	For     Expr // nil: to the end
}

// Position is POSITION(Sub IN X [FROM From]).
type Position struct {
	Span
	Sub, X Expr
	From   Expr // nil: from the beginning
}

// Overlay is OVERLAY(X PLACING Placing FROM From [FOR For]).
type Overlay struct {
	Span
	X, Placing, From Expr
	For              Expr // nil: the length of Placing
}

// RoundTo is FLOOR(X TO Unit) or CEIL(X TO Unit). Without TO it is a [Call].
type RoundTo struct {
	Span
	Ceil bool
	X    Expr
	Unit string
}

// UnitCall is a function whose first argument is a time unit: TIMESTAMPADD, TIMESTAMPDIFF (and their kin).
type UnitCall struct {
	Span
	Func string // upper case
	Unit string
	Args []Expr
}

// IntervalMinus is (X - Y) Unit, the difference of two times as an interval.
type IntervalMinus struct {
	Span
	X, Y Expr
	Unit *IntervalUnit
}

// Call is a function call.
type Call struct {
	Span
	Func     *Identifier
	NoParens bool   // CURRENT_DATE, LOCALTIME, USER, ..
	Distinct bool   // COUNT(DISTINCT x)
	All      bool   // COUNT(ALL x)
	Star     bool   // COUNT(*)
	Args     []Arg  // empty with Star
	Order    []Sort // ORDER BY inside the parentheses
	// What follows the parentheses.
	WithinGroup []Sort      // WITHIN GROUP (ORDER BY ..)
	Filter      Expr        // FILTER (WHERE ..)
	Nulls       string      // IGNORE NULLS, RESPECT NULLS or empty
	Over        *WindowSpec // OVER ..
}

// Arg is an argument of a call, with its name if it was written `name => value`.
type Arg struct {
	Span
	Name  *Name
	Value Expr // a [TableArg], [ModelArg] or [Descriptor] in calls of table functions
}

// TableArg is TABLE t or (query) as an argument, with its distribution.
type TableArg struct {
	Span
	Table     Query // *TableQuery for TABLE t
	Partition []Expr
	Order     []Sort
}

// ModelArg is MODEL m as an argument.
type ModelArg struct {
	Span
	Model *Identifier
}

// Descriptor is DESCRIPTOR(a, b): columns by name.
type Descriptor struct {
	Span
	Columns []*Identifier
}

// Row is ROW(a, b) or (a, b).
type Row struct {
	Span
	Keyword bool // ROW was written
	Elems   []Expr
}

// Array is ARRAY[a, b] or ARRAY(query).
type Array struct {
	Span
	Elems []Expr
	Query Query
}

// Map is MAP[k, v, k, v] or MAP(query); Elems has an even length.
type Map struct {
	Span
	Elems []Expr
	Query Query
}

// Multiset is MULTISET[a, b] or MULTISET(query).
type Multiset struct {
	Span
	Elems []Expr
	Query Query
}

// Field is X.Name where X is not a plain name.
type Field struct {
	Span
	X    Expr
	Name Name
}

// Subscript is X[Index]: element of an array (from 1) or value of a map.
type Subscript struct {
	Span
	X, Index Expr
}

// Subquery is a query in parentheses used as a value.
type Subquery struct {
	Span
	Query Query
}

// Exists is EXISTS (query); UNIQUE (query) has Unique set.
type Exists struct {
	Span
	Unique bool
	Query  Query
}

// JSONBehavior is what JSON_VALUE and its kin give ON EMPTY or ON ERROR.
type JSONBehavior struct {
	Span
	Kind  string // NULL ERROR TRUE FALSE UNKNOWN DEFAULT, EMPTY ARRAY, EMPTY OBJECT
	Value Expr   // for DEFAULT
}

// JSONPath is a call JSON_EXISTS, JSON_VALUE or JSON_QUERY.
type JSONPath struct {
	Span
	Func      string // JSON_EXISTS JSON_VALUE JSON_QUERY
	Doc, Path Expr
	Returning *TypeName
	Wrapper   string // WITHOUT ARRAY, WITH CONDITIONAL ARRAY, WITH UNCONDITIONAL ARRAY; empty if not written
	OnEmpty   *JSONBehavior
	OnError   *JSONBehavior
}

// JSONPair is key and value of JSON_OBJECT.
type JSONPair struct {
	Span
	Key, Value Expr
	Format     bool // FORMAT JSON
}

// JSONMake is JSON_OBJECT, JSON_ARRAY, JSON_OBJECTAGG or JSON_ARRAYAGG.
type JSONMake struct {
	Span
	Func   string
	Pairs  []JSONPair // an array's elements have no key
	Order  []Sort     // JSON_ARRAYAGG(x ORDER BY ..)
	Nulls  string     // NULL ON NULL, ABSENT ON NULL or empty
	Filter Expr       // FILTER (WHERE ..)
}

// Sort is one item of an ORDER BY.
type Sort struct {
	Span
	X     Expr
	Desc  bool
	Nulls string // FIRST, LAST or empty
}

// WindowSpec is what follows OVER: a name alone, or a specification.
type WindowSpec struct {
	Span
	Name      *Name // window referred to or built upon
	NameOnly  bool  // OVER w, no parentheses
	Partition []Expr
	Order     []Sort
	Frame     *Frame
}

// Frame is ROWS|RANGE [BETWEEN] Low [AND High].
type Frame struct {
	Span
	Unit      string // ROWS RANGE
	Low, High *Bound // High nil without BETWEEN
	Exclude   string // CURRENT ROW, GROUP, TIES, NO OTHERS or empty
}

// Bound is an end of a frame.
type Bound struct {
	Span
	Kind   string // UNBOUNDED PRECEDING, PRECEDING, CURRENT ROW, FOLLOWING, UNBOUNDED FOLLOWING
	Offset Expr   // for PRECEDING and FOLLOWING
}

func (*Literal) exprNode()       {}
func (*IntervalExpr) exprNode()  {}
func (*Identifier) exprNode()    {}
func (*Param) exprNode()         {}
func (*Default) exprNode()       {}
func (*Star) exprNode()          {}
func (*Unary) exprNode()         {}
func (*Binary) exprNode()        {}
func (*Is) exprNode()            {}
func (*Between) exprNode()       {}
func (*In) exprNode()            {}
func (*Quantified) exprNode()    {}
func (*Like) exprNode()          {}
func (*Case) exprNode()          {}
func (*Cast) exprNode()          {}
func (*Extract) exprNode()       {}
func (*Trim) exprNode()          {}
func (*Substring) exprNode()     {}
func (*Position) exprNode()      {}
func (*Overlay) exprNode()       {}
func (*RoundTo) exprNode()       {}
func (*UnitCall) exprNode()      {}
func (*IntervalMinus) exprNode() {}
func (*Call) exprNode()          {}
func (*TableArg) exprNode()      {}
func (*ModelArg) exprNode()      {}
func (*Descriptor) exprNode()    {}
func (*Row) exprNode()           {}
func (*Array) exprNode()         {}
func (*Map) exprNode()           {}
func (*Multiset) exprNode()      {}
func (*Field) exprNode()         {}
func (*Subscript) exprNode()     {}
func (*Subquery) exprNode()      {}
func (*Exists) exprNode()        {}
func (*JSONPath) exprNode()      {}
func (*JSONMake) exprNode()      {}
