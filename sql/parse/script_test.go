package parse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"staunch/fault"
	"staunch/sql/ast"
)

const mainJob = `-- a whole job
SET 'execution.checkpointing.interval' = '10s';
SET parallelism.default = 4;
SET execution.savepoint.path = file:///tmp/sp;  -- no quotes needed
RESET pipeline.name;
CREATE TABLE events (
  user_id BIGINT, item STRING, ts TIMESTAMP(3),
  part INT METADATA FROM 'partition' VIRTUAL,
  ` + "`offset`" + ` BIGINT METADATA VIRTUAL,
  dt AS DATE_FORMAT(ts, 'yyyy-MM-dd'),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'events; all');
CREATE TABLE lake (user_id BIGINT, item STRING, dt STRING) PARTITIONED BY (dt)
WITH ('connector' = 'filesystem', 'path' = 'hdfs://x/lake', 'format' = 'parquet');
BEGIN STATEMENT SET;
INSERT INTO lake SELECT user_id, item, dt FROM events;
INSERT INTO other SELECT /*+ LOOKUP('table'='r') */ * FROM events /*+ OPTIONS('scan.startup.mode'='latest-offset') */;
END;
EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;
`

func TestScript(t *testing.T) {
	stmts, err := Script(mainJob)
	if err != nil {
		t.Fatal(Render(err, mainJob, "job.sql"))
	}
	var kinds []string
	for _, s := range stmts {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", s), "*ast."))
	}
	want := "Set Set Set Reset CreateTable CreateTable StatementSet StatementSet"
	if got := strings.Join(kinds, " "); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	path := stmts[2].(*ast.Set)
	if path.Key.Text != "execution.savepoint.path" || path.Value.Text != "file:///tmp/sp" {
		t.Errorf("SET without quotes: %q = %q", path.Key.Text, path.Value.Text)
	}
	if src := mainJob[path.Value.Start.Offset:path.Value.Stop.Offset]; src != "file:///tmp/sp" {
		t.Errorf("place of the value is %q", src)
	}
	events := stmts[4].(*ast.CreateTable)
	if n := len(events.Columns()); n != 6 {
		t.Errorf("%d columns", n)
	}
	topic := events.Options[1]
	if topic.Value.Text != "events; all" || topic.Value.Start.Line != 12 {
		t.Errorf("option %q at %v", topic.Value.Text, topic.Value.Start)
	}
	if n := len(stmts[6].(*ast.StatementSet).Inserts); n != 2 {
		t.Errorf("%d statements in the set", n)
	}
	for _, s := range stmts {
		checkTree(t, mainJob, s)
		checkScriptRoundTrip(t, s)
	}
}

// checkScriptRoundTrip prints a statement and parses it as a script, the widest entry point.
func checkScriptRoundTrip(t *testing.T, s ast.Statement) {
	t.Helper()
	checkRoundTrip(t, ast.SQL(s), s, func(text string) (ast.Node, error) {
		out, err := Script(text)
		if err != nil {
			return nil, err
		}
		if len(out) != 1 {
			return nil, fmt.Errorf("%d statements", len(out))
		}
		return out[0], nil
	})
}

// A mistake in one statement hides neither the others nor their mistakes.
func TestScriptGoesOn(t *testing.T) {
	stmts, err := Script("SELECT 1; SELEC 2; SELECT 3; SELECT FROM t; SELECT 5")
	if len(stmts) != 3 {
		t.Errorf("%d statements", len(stmts))
	}
	var list Errors
	if !errors.As(err, &list) || len(list) != 2 {
		t.Fatalf("got %v", err)
	}
	if c := fault.ClassOf(err); c != fault.User {
		t.Errorf("class is %v", c)
	}
	var first *Error
	if !errors.As(err, &first) || first.Pos.Col != 11 {
		t.Errorf("first error is %v", first)
	}
}

func TestPositions(t *testing.T) {
	src := "SELECT é,\n\t日本 + x FROM t"
	s, err := Statement(src)
	if err != nil {
		t.Fatal(err)
	}
	items := s.(*ast.Select).Items
	for i, want := range []struct {
		pos  string
		text string
	}{{"1:8", "é"}, {"2:2", "日本 + x"}} {
		x := items[i].X
		if got := x.Pos().String(); got != want.pos {
			t.Errorf("item %d at %s, want %s", i, got, want.pos)
		}
		if got := src[x.Pos().Offset:x.End().Offset]; got != want.text {
			t.Errorf("item %d is %q, want %q", i, got, want.text)
		}
	}
	if op := items[1].X.(*ast.Binary).OpPos; op.String() != "2:5" {
		t.Errorf("operator at %s", op)
	}
}

// Deep nesting is refused, and long flat text is no nesting.
func TestDepth(t *testing.T) {
	for _, open := range []string{"(", "- ", "NOT ", "f(", "ARRAY[", "CASE WHEN ", "a IN (", "(SELECT (", "CAST(", "a + ("} {
		_, err := Expression(strings.Repeat(open, 100_000))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q deep: %v", open, err)
		}
	}
	for _, deep := range []string{
		"SELECT * FROM " + strings.Repeat("(", 100_000), "SELECT CAST(a AS " + strings.Repeat("ARRAY<", 100_000),
		"SELECT CAST(a AS INT" + strings.Repeat(" ARRAY", 100_000), strings.Repeat("(", 100_000) + "SELECT 1",
		"EXPLAIN " + strings.Repeat("EXPLAIN ", 100_000), "SELECT a FROM t GROUP BY " + strings.Repeat("GROUPING SETS (", 100_000),
	} {
		if _, err := Statement(deep); err == nil {
			t.Errorf("%.40q... is taken", deep)
		}
	}
	long := "SELECT " + strings.Repeat("a + ", 20_000) + "a FROM t WHERE x IN (" + strings.Repeat("1, ", 20_000) + "1)"
	if _, err := Statement(long); err != nil {
		t.Errorf("long text: %.200v", err)
	}
}

func TestNames(t *testing.T) {
	if _, err := Statement("SELECT " + strings.Repeat("x", 256)); err != nil {
		t.Error(err)
	}
	if _, err := Statement("SELECT " + strings.Repeat("x", 257)); err == nil {
		t.Error("a name of 257 characters is taken")
	}
	s, err := Statement("SELECT `a``b`.C FROM T")
	if err != nil {
		t.Fatal(err)
	}
	id := s.(*ast.Select).Items[0].X.(*ast.Identifier)
	if got := fmt.Sprintf("%q", id.Texts()); got != "[\"a`b\" \"C\"]" || !id.Parts[0].Quoted || id.Parts[1].Quoted {
		t.Errorf("got %s", got)
	}
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		src  string
		kind ast.LiteralKind
		text string
	}{
		{"123456789012345678901234567890", ast.IntegerLit, "123456789012345678901234567890"},
		{"1.50", ast.DecimalLit, "1.50"}, {".5", ast.DecimalLit, ".5"}, {"1.", ast.DecimalLit, "1."},
		{"1e3", ast.DoubleLit, "1e3"}, {"1.5E-3", ast.DoubleLit, "1.5E-3"},
		{"'it''s'", ast.StringLit, "it's"}, {`'a\n'`, ast.StringLit, `a\n`}, {"'a' 'b'", ast.StringLit, "ab"},
		{`e'a\n\x41\u00e9''\''`, ast.StringLit, "a\nAé''"}, {"N'x'", ast.StringLit, "x"}, {"_UTF16'x'", ast.StringLit, "x"},
		{`U&'\00e9\\x\d83d\de00'`, ast.UnicodeLit, `é\x😀`}, {"U&'!0041\\' UESCAPE '!'", ast.UnicodeLit, `A\`},
		{"X'1F2e'", ast.BinaryLit, "1F2e"}, {"x'01' '02'", ast.BinaryLit, "0102"},
		{"DATE '2024-02-29'", ast.DateLit, "2024-02-29"}, {"TIME '1:2:3.45'", ast.TimeLit, "1:2:3.45"},
		{"timestamp '2024-02-29 00:00:00'", ast.TimestampLit, "2024-02-29 00:00:00"},
		{"INTERVAL -'1:30' HOURS TO MINUTE", ast.IntervalLit, "1:30"},
		{"true", ast.BooleanLit, "TRUE"}, {"unknown", ast.BooleanLit, "UNKNOWN"}, {"null", ast.NullLit, ""},
	} {
		x, err := Expression(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		l, ok := x.(*ast.Literal)
		if !ok || l.Kind != c.kind || l.Text != c.text {
			t.Errorf("%s: got %T %+v", c.src, x, x)
		}
		checkRoundTrip(t, c.src, x, func(s string) (ast.Node, error) { return Expression(s) })
	}
	if l, _ := Expression("TIME '1:2:3.45'"); l.(*ast.Literal).FractionDigits() != 2 {
		t.Error("fraction digits")
	}
}
