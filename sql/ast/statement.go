package ast

// CreateTable is CREATE TABLE in all its forms.
type CreateTable struct {
	Span
	Temporary   bool
	OrReplace   bool // CREATE OR REPLACE TABLE .. AS
	Replace     bool // REPLACE TABLE .. AS
	IfNotExists bool
	Name        *Identifier
	Elements    []TableElement // in written order
	// ColumnNames is the bare list of CREATE TABLE t (a, b) AS query, which only reorders the query's columns.
	ColumnNames   []Name
	Comment       *Literal
	Distribution  *Distribution
	PartitionedBy []Name
	Options       []Option
	HasWith       bool // WITH was written (it may be empty)
	Like          *TableLike
	As            Query
}

// Columns gives the columns in written order.
func (t *CreateTable) Columns() []*Column { return elements[*Column](t.Elements) }

// Watermarks gives the watermark definitions; more than one is an error for the binder.
func (t *CreateTable) Watermarks() []*Watermark { return elements[*Watermark](t.Elements) }

// Constraints gives the table's constraints, not those written after a column ([Column].Key).
func (t *CreateTable) Constraints() []*Constraint { return elements[*Constraint](t.Elements) }

func elements[T TableElement](in []TableElement) []T {
	var out []T
	for _, e := range in {
		if c, ok := e.(T); ok {
			out = append(out, c)
		}
	}
	return out
}

// ColumnKind says where a column's value comes from.
type ColumnKind int

// The kinds of column.
const (
	PhysicalColumn ColumnKind = iota + 1 // a INT
	MetadataColumn                       // a INT METADATA [FROM 'key'] [VIRTUAL]
	ComputedColumn                       // a AS expression
)

// String names the kind.
func (k ColumnKind) String() string {
	return [...]string{"?", "physical", "metadata", "computed"}[k]
}

// Column is a column of a table.
type Column struct {
	Span
	Name        Name
	Nested      []Name // further parts of a name with dots, which parses and is refused by the binder
	Kind        ColumnKind
	Type        *TypeName   // nil for a computed column
	Expr        Expr        // of a computed column
	MetadataKey *Literal    // FROM 'key', nil if not written
	Virtual     bool        // of a metadata column
	Key         *Constraint // PRIMARY KEY or UNIQUE after a physical column
	Comment     *Literal
	// Place is FIRST or AFTER x of ALTER TABLE, empty otherwise; AfterName is x.
	Place     string
	AfterName *Identifier
}

// Watermark is WATERMARK FOR Column AS Expr.
type Watermark struct {
	Span
	Column *Identifier // a nested field has several parts
	Expr   Expr
}

// Constraint is PRIMARY KEY or UNIQUE.
type Constraint struct {
	Span
	Name    *Name // CONSTRAINT name
	Unique  bool  // UNIQUE instead of PRIMARY KEY
	Columns []Name
	// Enforced is what was written: "NOT ENFORCED", "ENFORCED" or empty.
	Enforced string
}

// Distribution is DISTRIBUTED BY [HASH|RANGE] (cols) INTO n BUCKETS.
type Distribution struct {
	Span
	Kind    string // HASH, RANGE or empty
	Columns []Name
	Buckets *Literal // nil if not written
}

// TableLike is LIKE source (options).
type TableLike struct {
	Span
	Source  *Identifier
	Options []LikeOption
}

// LikeOption is as INCLUDING ALL or OVERWRITING OPTIONS.
type LikeOption struct {
	Span
	Strategy string // INCLUDING EXCLUDING OVERWRITING
	Feature  string // ALL CONSTRAINTS DISTRIBUTION PARTITIONS METADATA GENERATED OPTIONS WATERMARKS
}

// CreateView is CREATE VIEW.
type CreateView struct {
	Span
	OrReplace   bool
	Temporary   bool
	IfNotExists bool
	Name        *Identifier
	Columns     []Name
	Comment     *Literal
	Query       Query
}

// CreateFunction is CREATE FUNCTION.
type CreateFunction struct {
	Span
	OrReplace   bool
	Temporary   bool
	System      bool
	IfNotExists bool
	Name        *Identifier
	Class       *Literal
	Language    string // JAVA SCALA PYTHON SQL or empty
	Using       []Resource
	Options     []Option
}

// Resource is JAR 'path' of USING.
type Resource struct {
	Span
	Kind string // JAR ARTIFACT
	Path *Literal
}

// CreateCatalog is CREATE CATALOG.
type CreateCatalog struct {
	Span
	IfNotExists bool
	Name        Name
	Comment     *Literal
	Options     []Option
}

// CreateDatabase is CREATE DATABASE.
type CreateDatabase struct {
	Span
	IfNotExists bool
	Name        *Identifier
	Comment     *Literal
	Options     []Option
}

// Drop is DROP TABLE, VIEW, FUNCTION, CATALOG, DATABASE, ...
type Drop struct {
	Span
	Object    string // TABLE VIEW FUNCTION CATALOG DATABASE MODEL CONNECTION, MATERIALIZED TABLE
	Temporary bool
	System    bool
	IfExists  bool
	Name      *Identifier
	Behavior  string // RESTRICT, CASCADE or empty
}

// Insert is INSERT INTO or OVERWRITE.
type Insert struct {
	Span
	Execute    bool // EXECUTE INSERT
	Overwrite  bool
	Target     *Identifier
	Hints      []Hint
	Partition  []PartitionValue
	Columns    []*Identifier
	Query      Query
	OnConflict string // NOTHING, ERROR, DEDUPLICATE or empty
}

// PartitionValue is p = 'v' of a PARTITION clause.
type PartitionValue struct {
	Span
	Name  Name
	Value Expr // a literal; nil for a bare name (SHOW PARTITIONS, ANALYZE TABLE)
}

// StatementSet is a set of INSERTs that run as one job.
type StatementSet struct {
	Span
	Execute bool // EXECUTE STATEMENT SET BEGIN .. END
	Inner   bool // STATEMENT SET BEGIN .. END after EXPLAIN; neither: BEGIN STATEMENT SET; .. END
	Inserts []*Insert
}

// BeginStatementSet is BEGIN STATEMENT SET alone, when statements come one by one.
type BeginStatementSet struct{ Span }

// EndStatementSet is END alone.
type EndStatementSet struct{ Span }

// Explain is EXPLAIN.
type Explain struct {
	Span
	PlanFor   bool     // EXPLAIN PLAN FOR
	Details   []string // ESTIMATED_COST CHANGELOG_MODE JSON_EXECUTION_PLAN PLAN_ADVICE
	Statement Statement
}

// ExecuteQuery is EXECUTE SELECT ..
type ExecuteQuery struct {
	Span
	Query Query
}

// Set is SET, alone or with key and value.
type Set struct {
	Span
	Key, Value *Literal // both nil: show all
}

// Reset is RESET, alone or with a key.
type Reset struct {
	Span
	Key *Literal // nil: all
}

// Use is USE CATALOG, USE database, USE MODULES.
type Use struct {
	Span
	Kind  string // CATALOG DATABASE MODULES
	Names []*Identifier
}

// Show is SHOW ..
type Show struct {
	Span
	// What is the words after SHOW: TABLES, CREATE TABLE, CURRENT CATALOG, USER FUNCTIONS, ..
	What string
	// Name is the object of SHOW CREATE TABLE x, SHOW COLUMNS FROM x, SHOW PARTITIONS x.
	Name *Identifier
	// From is the database or catalog of FROM|IN.
	From      *Identifier
	NotLike   bool
	LikeOp    string // LIKE, ILIKE or empty
	Pattern   *Literal
	Partition []PartitionValue
}

// Describe is DESCRIBE or DESC.
type Describe struct {
	Span
	Object   string // TABLE CATALOG DATABASE FUNCTION JOB MODEL
	Extended bool
	Name     *Identifier
	Job      *Literal // of DESCRIBE JOB
}

// Jar is ADD JAR or REMOVE JAR.
type Jar struct {
	Span
	Remove bool
	Path   *Literal
}

// StopJob is STOP JOB 'id' [WITH SAVEPOINT [WITH DRAIN]].
type StopJob struct {
	Span
	Job       *Literal
	Savepoint bool
	Drain     bool
}

// Other is a statement whose syntax was judged but which has no node of its own (ALTER, ANALYZE, MERGE, COMPILE PLAN, ..).
type Other struct {
	Span
	Words []string // the leading keywords, as ALTER TABLE or CREATE MODEL
	Text  string   // the statement as written, without the semicolon
}

func (*CreateTable) stmtNode()       {}
func (*CreateView) stmtNode()        {}
func (*CreateFunction) stmtNode()    {}
func (*CreateCatalog) stmtNode()     {}
func (*CreateDatabase) stmtNode()    {}
func (*Drop) stmtNode()              {}
func (*Insert) stmtNode()            {}
func (*StatementSet) stmtNode()      {}
func (*BeginStatementSet) stmtNode() {}
func (*EndStatementSet) stmtNode()   {}
func (*Explain) stmtNode()           {}
func (*ExecuteQuery) stmtNode()      {}
func (*Set) stmtNode()               {}
func (*Reset) stmtNode()             {}
func (*Use) stmtNode()               {}
func (*Show) stmtNode()              {}
func (*Describe) stmtNode()          {}
func (*Jar) stmtNode()               {}
func (*StopJob) stmtNode()           {}
func (*Other) stmtNode()             {}

func (*Column) elementNode()     {}
func (*Watermark) elementNode()  {}
func (*Constraint) elementNode() {}
