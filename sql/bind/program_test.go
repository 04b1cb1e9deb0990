package bind_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"staunch/changelog"
	"staunch/function"
	"staunch/sql/bind"
	"staunch/sql/parse"
	"staunch/types"
)

// values makes a table of columns from texts cast to their types; "NULL" is NULL.
func values(t *testing.T, schema changelog.Schema, rows ...[]string) *changelog.Batch {
	t.Helper()
	b := changelog.NewBatch(schema)
	for _, row := range rows {
		for i, v := range row {
			if v == "NULL" {
				b.Cols[i].AppendNull()
				continue
			}
			putJSON(t, b.Cols[i], v)
		}
		b.Rows++
	}
	return b
}

func col(name string, t types.Type) changelog.Field { return changelog.Field{Name: name, Type: t} }

var (
	intType    = types.New(types.Int)
	bigintType = types.New(types.BigInt)
	doubleType = types.New(types.Double)
	tsType     = types.NewTimestamp(3)
	ltzType    = types.NewTimestampLTZ(3)
)

// eval gives the values of one expression, or the error.
func eval(t *testing.T, text string, schema changelog.Schema, in *changelog.Batch, s function.Session) string {
	t.Helper()
	c, _, err := compute(text, schema, in, s)
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for i := range in.Rows {
		out = append(out, function.FormatValue(c, i, s.Zone))
	}
	return strings.Join(out, "|")
}

// quoted doubles the quotes of a text.
func quoted(s string) string { return strings.ReplaceAll(s, "'", "''") }

// where gives the numbers (from 1) of the rows that a condition keeps.
func where(t *testing.T, text string, schema changelog.Schema, in *changelog.Batch) string {
	t.Helper()
	keep := make([]uint64, (in.Rows+63)/64)
	if err := program(t, schema, text).Filter(in, keep); err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for i := range in.Rows {
		if keep[i>>6]>>(i&63)&1 != 0 {
			out = append(out, fmt.Sprint(i+1))
		}
	}
	return strings.Join(out, " ")
}

// TestNullIsUnknown is case 24: NULL is unknown, not false.
func TestNullIsUnknown(t *testing.T) {
	schema := changelog.Schema{col("id", intType), col("x", bigintType), col("s", types.String_)}
	in := values(t, schema, []string{"1", "5", "apple"}, []string{"2", "NULL", "NULL"}, []string{"3", "0", "banana"})
	for _, c := range [][2]string{
		{"NOT (x + 1 = 6)", "3"}, {"s NOT LIKE 'a%'", "3"}, {"x NOT IN (5, CAST(NULL AS BIGINT))", ""}, {"x <> 5", "3"},
		{"x = 5 OR x IS NULL", "1 2"}, {"x IS DISTINCT FROM 5", "2 3"}, {"x IS NOT DISTINCT FROM 5", "1"},
		{"x IN (1, 2, 3, 4, 5)", "1"}, {"x NOT IN (1, 2, 3, 4, 5)", "3"}, {"x NOT IN (1, 2, 3, 4, CAST(NULL AS BIGINT))", ""},
	} {
		if got := where(t, c[0], schema, in); got != c[1] {
			t.Errorf("WHERE %s keeps %q instead of %q", c[0], got, c[1])
		}
	}
	for _, c := range [][2]string{
		{"x = 5", "TRUE|NULL|FALSE"}, {"NOT (x = 5)", "FALSE|NULL|TRUE"}, {"x = 5 AND FALSE", "FALSE|FALSE|FALSE"},
		{"x = 5 OR TRUE", "TRUE|TRUE|TRUE"}, {"'a' || CAST(NULL AS STRING)", "NULL|NULL|NULL"},
		{"CONCAT_WS('-', 'a', s, 'b')", "a-apple-b|a-b|a-banana-b"}, {"'' IS NULL", "FALSE|FALSE|FALSE"},
	} {
		if got := eval(t, c[0], schema, in, session); got != c[1] {
			t.Errorf("%s gives %q instead of %q", c[0], got, c[1])
		}
	}
}

// TestOverflowAndCasts is case 25: overflow, decimal rules and casts.
func TestOverflowAndCasts(t *testing.T) {
	dec := types.NewDecimal
	for _, c := range []struct {
		typ        types.Type
		expr       string
		rows, want string
	}{
		{intType, "v + 1", "2147483647", "-2147483648"},
		{bigintType, "v + 1", "9223372036854775807", "-9223372036854775808"},
		{bigintType, "CAST(v AS INT)", "5000000000|300", "705032704|300"},
		{bigintType, "CAST(v AS SMALLINT)", "5000000000|300", "-3584|300"},
		{bigintType, "CAST(v AS TINYINT)", "5000000000|300", "0|44"},
		{doubleType, "CAST(v AS INT)", "3e9|-1.9|NaN", "2147483647|-1|0"},
		{doubleType, "CAST(v AS BIGINT)", "3e9|-1.9|NaN", "3000000000|-1|0"},
		{dec(6, 3), "CAST(v AS DECIMAL(5,2))", "999.995|999.994|-0.005|NULL", "NULL|999.99|-0.01|NULL"},
		{dec(38, 3), "v + CAST(1.000 AS DECIMAL(38,3))", "99999999999999999999999999999999999.999|NULL", "NULL|NULL"},
		{dec(10, 2), "v / CAST('3' AS DECIMAL(10,2))", "1", "0.3333333333333"},
		{dec(38, 19), "v * CAST('10.2' AS DECIMAL(38,19))", "10.1", "103.020000"},
		{types.String_, "TRY_CAST(v AS INT)", "abc|2147483648|12.9| 7 |", "NULL|NULL|12|7|NULL"},
		{types.String_, "CAST(v AS DECIMAL(10,2))", "1e5|1.005| 2 ", "100000.00|1.01|2.00"},
		{types.String_, "v > 9", "10", "TRUE"},
		{doubleType, "v = 0e0", "-0.0|NaN", "TRUE|FALSE"},
		{doubleType, "v < 0e0", "-0.0|NaN", "FALSE|FALSE"},
		{doubleType, "v / 0e0", "1|-1|0", "Infinity|-Infinity|NaN"},
		{bigintType, "CASE WHEN v = 2 THEN 1 ELSE v END", "2|5000000000", "1|5000000000"},
		{types.NewDecimal(38, 0), "v = CAST('1.5' AS DECIMAL(38,37))", "1|2", "FALSE|FALSE"},
	} {
		schema := changelog.Schema{col("v", c.typ)}
		var rows [][]string
		for _, v := range strings.Split(c.rows, "|") {
			rows = append(rows, []string{v})
		}
		if got := eval(t, c.expr, schema, values(t, schema, rows...), session); got != c.want {
			t.Errorf("%s over %s gives %s instead of %s", c.expr, c.rows, got, c.want)
		}
	}
}

// TestLaziness: what is not taken cannot fail.
func TestLaziness(t *testing.T) {
	schema := changelog.Schema{col("a", intType), col("b", intType), col("s", types.String_)}
	in := values(t, schema, []string{"10", "2", "7"}, []string{"10", "0", "x"}, []string{"NULL", "0", "y"}, []string{"9", "NULL", "NULL"})
	for _, c := range [][2]string{
		{"CASE WHEN b = 0 THEN -1 ELSE a / b END", "5|-1|-1|NULL"},
		{"CASE WHEN b <> 0 THEN a / b WHEN s = 'x' THEN 0 WHEN CAST(s AS INT) > 0 THEN 1 END", "error: row 2: cannot cast STRING 'y' to INT"},
		{"CASE WHEN b <> 0 THEN a / b WHEN s <> '' THEN 0 WHEN CAST(s AS INT) > 0 THEN 1 END", "5|0|0|NULL"},
		{"IF(b = 0, 0, a / b)", "5|0|0|NULL"},
		{"b <> 0 AND a / b > 1", "TRUE|FALSE|FALSE|NULL"},
		{"b = 0 OR a / b > 1", "TRUE|TRUE|TRUE|NULL"},
		{"COALESCE(a, 1 / b)", "error: row 2: division by zero"},
		{"COALESCE(b, CAST(s AS INT))", "2|0|0|NULL"},
		{"NULLIF(a, 10)", "NULL|NULL|NULL|9"},
		{"a / b", "error: row 1: division by zero"},
		{"a % b", "error: row 1: division by zero"},
		{"CAST(s AS INT)", "error: row 1: cannot cast STRING 'x' to INT"},
		{"TRY_CAST(s AS INT)", "7|NULL|NULL|NULL"},
		// The same division in two branches: each computes its own rows.
		{"CASE WHEN b = 2 THEN a / b WHEN b IS NULL THEN COALESCE(a / b, 99) ELSE 0 END", "5|0|0|99"},
		{"CASE WHEN b = 2 THEN a / b WHEN b <> 0 THEN -(a / b) END", "5|NULL|NULL|NULL"},
	} {
		if got := eval(t, c[0], schema, in, session); got != c[1] {
			t.Errorf("%s gives %q instead of %q", c[0], got, c[1])
		}
	}
	_, _, err := compute("a / b", schema, in, session)
	var row *function.RowError
	if !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("%v is no failure of row 1", err)
	}
}

// TestMemory: columns pass through as they are, results are reused, nothing of an earlier batch shines through.
func TestMemory(t *testing.T) {
	schema := changelog.Schema{col("a", intType), col("s", types.String_)}
	p := program(t, schema, "a", "a + 1", "s", "'k'", "CASE WHEN a > 1 THEN s END", "s || '!'")
	out := make([]*changelog.Column, 6)
	for _, n := range []int{3, 0, 70, 1, 64} {
		in := changelog.NewBatch(schema)
		for i := range n {
			if i%5 == 4 {
				in.Cols[0].AppendNull()
				in.Cols[1].AppendNull()
			} else {
				in.Cols[0].AppendInt32(int32(i % 3))
				in.Cols[1].AppendString(fmt.Sprint("s", i))
			}
			in.Rows++
		}
		if err := p.Eval(in, out); err != nil {
			t.Fatal(err)
		}
		if out[0] != in.Cols[0] || out[2] != in.Cols[1] {
			t.Fatal("a column that is only referred to was copied")
		}
		for k, c := range out {
			if c.N != n {
				t.Fatalf("column %d has %d rows instead of %d", k, c.N, n)
			}
		}
		for i := range n {
			null := i%5 == 4
			want := []string{fmt.Sprint(i%3 + 1), "k", fmt.Sprint("s", i), fmt.Sprint("s", i, "!")}
			if null {
				want = []string{"NULL", "k", "NULL", "NULL"}
			} else if i%3 < 2 {
				want[2] = "NULL"
			}
			for k, c := range []int{1, 3, 4, 5} {
				if got := function.FormatValue(out[c], i, nil); got != want[k] {
					t.Fatalf("row %d of %d, column %d: %s instead of %s", i, n, c, got, want[k])
				}
			}
		}
	}
}

// TestNoAllocation: a batch costs no allocation once memory has grown.
func TestNoAllocation(t *testing.T) {
	s, in := events(512)
	p := program(t, s, "DATE_FORMAT(ts, 'yyyy-MM-dd')", "DATE_FORMAT(ts, 'HH')", "i + 1", "CASE WHEN i > 5 THEN s ELSE 'x' END", "s || '-'", "CAST(i AS STRING)")
	out := make([]*changelog.Column, 6)
	if n := testing.AllocsPerRun(20, func() {
		if err := p.Eval(in, out); err != nil {
			t.Fatal(err)
		}
	}); n > 2 {
		t.Errorf("%v allocations for a batch of 512 rows", n)
	}
}

// TestRefusals: place, reason, and what to write.
func TestRefusals(t *testing.T) {
	schema := changelog.Schema{col("user_id", bigintType), col("action", types.String_), col("ts", types.NewTimestamp(3)), col("d", types.New(types.Date))}
	for _, c := range []struct{ text, want string }{
		{"user_idd", "1:1: column 'user_idd' not found (did you mean 'user_id'?)"},
		{"1 + Action", "1:5: column 'Action' not found (did you mean 'action'?)"},
		{"zzz", "1:1: column 'zzz' not found (columns: user_id, action, ts, d)"},
		{"x.action", "1:1: table 'x' not found"},
		{"DATE_FORMT(ts, 'HH')", "1:1: function 'DATE_FORMT' does not exist (did you mean 'DATE_FORMAT'?)"},
		{"JSON_QUOTE(action)", "1:1: function JSON_QUOTE is not supported yet"},
		{"SUM(user_id)", "1:1: aggregate function SUM is not supported yet"},
		{"ARRAY[1, 2]", "1:1: ARRAY[..] is not supported yet"},
		{"action = 1", "1:1: implicit type conversion between STRING and INT is not supported: write CAST(.. AS INT)"},
		{"action IN (1, 'a')", "1:1: the values of an IN list must have compatible types, not INT, CHAR(1)"},
		{"ts + NULL", "1:1: illegal use of NULL: write CAST(NULL AS type)"},
		{"action + 1", "1:1: cannot apply '+' to arguments of type '<STRING> + <INT>'; supported form(s): '<NUMERIC> + <NUMERIC>', '<DATETIME> + <INTERVAL>', '<INTERVAL> + <INTERVAL>'"},
		{"ts = d", "1:1: cannot apply '=' to arguments of type '<TIMESTAMP(3)> = <DATE>'; supported form(s): '<COMPARABLE_TYPE> = <COMPARABLE_TYPE>'"},
		{"DATE_FORMAT(d, 'yyyy')", "1:1: cannot apply 'DATE_FORMAT' to arguments of type 'DATE_FORMAT(<DATE>, <CHAR(4)>)'"},
		{"NULL", "1:1: illegal use of NULL (write CAST(NULL AS type))"},
		{"CAST(user_id AS TIMESTAMP(3))", "1:1: cast function cannot convert value of type BIGINT to type TIMESTAMP(3): use TO_TIMESTAMP(FROM_UNIXTIME(seconds))"},
		{"user_id / 0", "1:1: division by zero"},
		{"9223372036854775808", "1:1: numeric literal '9223372036854775808' out of range"},
		{"DATE '2023-02-29'", "1:1: illegal DATE literal '2023-02-29'"},
		{"CASE WHEN user_id THEN 1 END", "1:1: a condition of CASE must be BOOLEAN, not BIGINT"},
		{"user_id IN (SELECT 1)", "1:1: a subquery in an expression is not supported yet"},
		{"CAST('2' AS DECIMAL(5, 7))", "1:13: the scale of DECIMAL must be between 0 and its precision, 5"},
	} {
		_, _, err := compute(c.text, schema, changelog.NewBatch(schema), session)
		var e *parse.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Error(), c.want) {
			t.Errorf("%s\n gives %v\n instead of %s", c.text, err, c.want)
		}
	}
}

// TestPlanText: expressions read as in Flink's optimized plans.
func TestPlanText(t *testing.T) {
	schema := changelog.Schema{col("user_id", bigintType), col("action", types.String_), col("ts", types.NewTimestamp(3)), col("f", types.New(types.Float))}
	for _, c := range [][2]string{
		{"action <> 'heartbeat'", "(action <> 'heartbeat')"},
		{"DATE_FORMAT(ts,'yyyy-MM-dd')", "DATE_FORMAT(ts, 'yyyy-MM-dd')"},
		{"ts - INTERVAL '5' SECOND", "(ts - 5000:INTERVAL SECOND)"},
		{"user_id + 1 > 5 and action is not null", "(((user_id + 1) > 5) AND action IS NOT NULL)"},
		{"cast(user_id as int)", "CAST(user_id AS INTEGER)"},
		{"try_cast(action as bigint)", "TRY_CAST(action AS BIGINT)"},
		{"nullif(action, 'it''s')", "CASE((action = 'it's'), null:VARCHAR(2147483647), action)"},
		{"not user_id between 1 and 2", "NOT(((user_id >= 1) AND (user_id <= 2)))"},
		{"f + user_id", "(f + user_id)"},
		{"not (action like 'a%')", "NOT(LIKE(action, 'a%'))"},
		{"action || 'x'", "||(action, 'x')"},
		{"user_id % 3", "MOD(user_id, 3)"},
		{"floor(ts to hour)", "FLOOR(ts, HOUR)"},
		{"year(ts)", "EXTRACT(YEAR, ts)"},
		{"x'01ab'", "X'01AB'"},
		{"15e-1", "1.5E0"},
		{"ts > timestamp '2024-01-01 00:00:00'", "(ts > 2024-01-01 00:00:00)"},
		{"case when user_id > 1 then 'a' end", "CASE((user_id > 1), 'a', null:CHAR(1))"},
		{"cast(null as int)", "null:INTEGER"},
		{"coalesce(user_id, 0)", "COALESCE(user_id, 0)"},
	} {
		e, err := parse.Expression(c[0])
		if err != nil {
			t.Fatal(err)
		}
		x, err := bind.Expr(e, bind.Scope{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		if x.String() != c[1] {
			t.Errorf("%s reads %s instead of %s", c[0], x, c[1])
		}
	}
}

// TestQualifiedNames resolves columns by alias and by the table's path.
func TestQualifiedNames(t *testing.T) {
	scope := bind.Scope{Schema: changelog.Schema{col("a", intType), col("PI", intType)}, Tables: []string{"e", "db.events"}}
	for text, want := range map[string]string{"e.a": "a", "db.events.a": "a", "PI": "PI", "`a`": "a"} {
		e, err := parse.Expression(text)
		if err != nil {
			t.Fatal(err)
		}
		x, err := bind.Expr(e, scope)
		if err != nil || x.String() != want {
			t.Errorf("%s: %v %v", text, x, err)
		}
		if _, ok := x.(*function.ColumnRef); !ok {
			t.Errorf("%s is no column", text)
		}
	}
}
