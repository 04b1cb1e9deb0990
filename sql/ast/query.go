package ast

// Select is SELECT .. FROM .. without ORDER BY and LIMIT, which belong to [Ordered].
type Select struct {
	Span
	Hints    []Hint
	Distinct bool
	All      bool // SELECT ALL was written
	Items    []SelectItem
	From     TableRef // nil without FROM; `a, b` is a Join of kind ","
	Where    Expr
	GroupBy  *GroupBy
	Having   Expr
	Windows  []NamedWindow
	Qualify  Expr
}

// SelectItem is an item of the SELECT list.
type SelectItem struct {
	Span
	X     Expr // a [Star] for * and t.*
	Alias *Name
}

// GroupBy is a GROUP BY clause.
type GroupBy struct {
	Span
	Quantifier string // DISTINCT, ALL or empty
	Items      []GroupItem
}

// GroupItem is an expression, a list in parentheses, or GROUPING SETS, ROLLUP, CUBE.
type GroupItem struct {
	Span
	Kind  string      // empty, ROLLUP, CUBE, GROUPING SETS
	X     Expr        // for the empty Kind: an expression; nil for ()
	Exprs []Expr      // for ROLLUP and CUBE
	Sets  []GroupItem // for GROUPING SETS
}

// NamedWindow is an item of the WINDOW clause.
type NamedWindow struct {
	Span
	Name Name
	Spec *WindowSpec
}

// SetOp is Left UNION|INTERSECT|EXCEPT [ALL] Right.
type SetOp struct {
	Span
	Op          string // UNION INTERSECT EXCEPT
	All         bool
	Left, Right Query
}

// Values is VALUES row, row. A row is a [Row], or one expression for a single column.
type Values struct {
	Span
	Rows []Expr
}

// TableQuery is TABLE t, short for SELECT * FROM t.
type TableQuery struct {
	Span
	Table *Identifier
}

// Ordered is a query with ORDER BY, OFFSET, LIMIT or FETCH.
type Ordered struct {
	Span
	Query  Query
	Order  []Sort
	Offset Expr
	Limit  Expr // LIMIT n and FETCH FIRST n ROWS ONLY; nil also for LIMIT ALL
}

// With is WITH ctes Query.
type With struct {
	Span
	Recursive bool
	Items     []CTE
	Query     Query
}

// CTE is a named query of a WITH clause.
type CTE struct {
	Span
	Name    Name
	Columns []Name
	Query   Query
}

// Alias is [AS] name [(columns)].
type Alias struct {
	Span
	Name    Name
	Columns []Name
}

// Table is a named table in FROM.
type Table struct {
	Span
	Name  *Identifier
	Hints []Hint
	// AsOf is the expression of FOR SYSTEM_TIME AS OF.
	AsOf   Expr
	Sample *Sample
	Alias  *Alias
}

// Sample is TABLESAMPLE.
type Sample struct {
	Span
	Method     string   // BERNOULLI, SYSTEM or SUBSTITUTE
	Percent    *Literal // or the name for SUBSTITUTE
	Repeatable *Literal
}

// Derived is a query in FROM.
type Derived struct {
	Span
	Lateral bool
	Query   Query
	Sample  *Sample
	Alias   *Alias
}

// TableFunction is TABLE(f(..)) or f(..) in FROM.
type TableFunction struct {
	Span
	Lateral bool
	Wrapped bool // TABLE( ) was written
	Call    *Call
	Alias   *Alias
}

// Unnest is UNNEST(x) [WITH ORDINALITY] in FROM.
type Unnest struct {
	Span
	Lateral    bool
	Exprs      []Expr
	Ordinality bool
	Alias      *Alias
}

// Join is a join of two table references.
type Join struct {
	Span
	Kind        string // INNER LEFT RIGHT FULL CROSS and "," for a comma
	Natural     bool
	Left, Right TableRef
	On          Expr
	Using       []Name
}

// MatchRecognize is a MATCH_RECOGNIZE clause after its table.
type MatchRecognize struct {
	Span
	Table     TableRef
	Partition []Expr
	Order     []Sort
	Measures  []SelectItem
	Rows      string // ONE ROW PER MATCH, ALL ROWS PER MATCH or empty
	After     string // after AFTER MATCH SKIP: TO NEXT ROW, PAST LAST ROW, TO FIRST a, TO LAST a; empty if not written
	Pattern   string // the tokens between the parentheses, separated by single spaces
	Within    Expr
	Subsets   []PatternSubset
	Define    []PatternDefine
	Alias     *Alias
}

// PatternSubset is SUBSET u = (a, b).
type PatternSubset struct {
	Span
	Name  Name
	Items []Name
}

// PatternDefine is DEFINE a AS condition.
type PatternDefine struct {
	Span
	Name Name
	Cond Expr
}

func (*Select) stmtNode()      {}
func (*Select) queryNode()     {}
func (*SetOp) stmtNode()       {}
func (*SetOp) queryNode()      {}
func (*Values) stmtNode()      {}
func (*Values) queryNode()     {}
func (*TableQuery) stmtNode()  {}
func (*TableQuery) queryNode() {}
func (*Ordered) stmtNode()     {}
func (*Ordered) queryNode()    {}
func (*With) stmtNode()        {}
func (*With) queryNode()       {}

func (*Table) tableNode()          {}
func (*Derived) tableNode()        {}
func (*TableFunction) tableNode()  {}
func (*Unnest) tableNode()         {}
func (*Join) tableNode()           {}
func (*MatchRecognize) tableNode() {}
