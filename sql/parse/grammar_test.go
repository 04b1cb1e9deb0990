package parse

import "testing"

// differences are statements on which this parser differs from Flink's on purpose, all towards refusing what the planner
// refuses anyway.
var differences = map[string]bool{
	"DESCRIBE SELECT 1":                                                            true,
	"INSERT INTO t (a INT, b INT) SELECT 1":                                        true,
	"INSERT INTO t EXTEND (a INT) SELECT 1":                                        true,
	"SELECT * FROM TABLE(f(DESCRIPTOR(*)))":                                        true,
	"SELECT * FROM a PIVOT (SUM(x) FOR y IN (1, 2))":                               true,
	"SELECT * FROM a UNPIVOT (x FOR y IN (b, c))":                                  true,
	"SELECT * FROM t (a INT)":                                                      true,
	"SELECT * FROM t EXTEND (a INT)":                                               true,
	"SELECT EXISTS (a)":                                                            true,
	"SELECT NEXT VALUE FOR a.b, CURRENT VALUE FOR c":                               true,
	"SELECT STREAM a FROM t":                                                       true,
	"SELECT SUM(a) WITHIN DISTINCT (b)":                                            true,
	"SELECT TIMESTAMP WITH LOCAL TIME ZONE '2024-01-01 00:00:00'":                  true,
	"SELECT TRANSLATE(a USING b), TRANSLATE(a, b, c)":                              true,
	"SELECT CONVERT(INT, a, 1)":                                                    true,
	"SELECT CONVERT(a USING utf8)":                                                 true,
	"SELECT CONVERT(a, b, c)":                                                      true,
	"SELECT DATE_TRUNC(a, MONTH), DATE_TRUNC('a', b), DATE_TRUNC(a, WEEK(MONDAY))": true,
	"SELECT TIMESTAMP_DIFF(a, b, DAY), DATE_DIFF(a, b, DAY), DATETIME_DIFF(a, b, DAY), TIME_DIFF(a, b, HOUR)": true,
	"SELECT TRIM()":          true,
	"SELECT a[OFFSET(1)]":    true,
	"SELECT {fn abs(1)}":     true,
	"UPSERT INTO t SELECT 1": true,
}

// testdata/grammar.tsv: more statements, measured with the parser of Flink 2.3.0.
func TestGrammarVectors(t *testing.T) {
	if n := checkStatements(t, "testdata/grammar.tsv", differences); n < 700 {
		t.Errorf("only %d statements", n)
	}
}
