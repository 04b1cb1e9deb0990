package scenario

import (
	"strings"
	"testing"
)

const (
	goodSource = "CREATE TABLE gen (id BIGINT, v STRING) WITH ('connector'='datagen','number-of-rows'='5');\n"
	goodSink   = "CREATE TABLE lake (id BIGINT) WITH ('connector'='filesystem','path'='$DIR/lake','format'='json');\n"
)

// TestSQLErrors: what is wrong in a statement file is said with line, column, a caret and a hint, before anything is made or started.
func TestSQLErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		says []string
	}{
		"word":                {"SELEKT 1;", []string{"job.sql:1:1", "SELEKT", "^^^^^^", "SELECT"}},
		"end":                 {goodSource + "SELECT id FROM", []string{"job.sql:2:", "expected", "^"}},
		"text without end":    {goodSource + "SELECT 'abc FROM gen;", []string{"job.sql:2:8", "^"}},
		"comment without end": {goodSource + "/* SELECT 1;", []string{"job.sql:2:1", "^"}},
		"not equal":           {goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen WHERE id != 3;", []string{"job.sql:3:46", "^^", "<>"}},
		"column":              {goodSource + goodSink + "INSERT INTO lake\n  SELECT idd FROM gen;", []string{"job.sql:4:10", "idd", "^^^", "id"}},
		"table":               {goodSource + goodSink + "INSERT INTO lake SELECT id FROM gem;", []string{"job.sql:3:33", "gem", "^^^", "gen"}},
		"sink":                {goodSource + goodSink + "INSERT INTO lakes SELECT id FROM gen;", []string{"job.sql:3:13", "lakes", "^^^^^", "lake"}},
		"function":            {goodSource + goodSink + "INSERT INTO lake SELECT CHAR_LENGHT(v) FROM gen;", []string{"job.sql:3:25", "CHAR_LENGHT", "^^^", "CHAR_LENGTH"}},
		"types":               {goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen WHERE v = 10;", []string{"job.sql:3:4", "^"}},
		"number of columns":   {goodSource + goodSink + "INSERT INTO lake SELECT id, v FROM gen;", []string{"job.sql:3:", "^", "2", "1"}},
		"column type":         {goodSource + goodSink + "INSERT INTO lake SELECT v FROM gen;", []string{"job.sql:3:", "^", "STRING", "BIGINT"}},
		"reserved":            {"CREATE TABLE one (n INT) WITH ('connector'='datagen');", []string{"job.sql:1:14", "reserved", "back-ticks", "^^^"}},
		"option":              {strings.Replace(goodSource, "number-of-rows", "number-of-row", 1) + goodSink + "INSERT INTO lake SELECT id FROM gen;", []string{"job.sql:1:", "number-of-row", "number-of-rows", "^"}},
		"option value":        {strings.Replace(goodSource, "='5'", "='five'", 1) + goodSink + "INSERT INTO lake SELECT id FROM gen;", []string{"job.sql:1:", "number-of-rows", "five", "^"}},
		"connector":           {strings.Replace(goodSource, "='datagen'", "='datagenn'", 1) + goodSink + "INSERT INTO lake SELECT id FROM gen;", []string{"job.sql:1:", "datagenn", "datagen", "^"}},
		"format":              {goodSource + strings.Replace(goodSink, "json", "jsonn", 1) + "INSERT INTO lake SELECT id FROM gen;", []string{"job.sql:2:", "jsonn", "json", "^"}},
		"no path":             {goodSource + strings.Replace(goodSink, "'path'='$DIR/lake',", "", 1) + "INSERT INTO lake SELECT id FROM gen;", []string{"job.sql:2:", "path", "lake"}},
		"setting":             {"SET 'execution.checkpointing.intervall' = '1 s';\n" + goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen;", []string{"job.sql:1:", "execution.checkpointing.intervall", "execution.checkpointing.interval"}},
		"setting's value":     {"SET 'execution.checkpointing.interval' = 'soon';\n" + goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen;", []string{"job.sql:1:", "execution.checkpointing.interval", "soon"}},
		"two errors":          {"SELEKT 1;\nSELECT 2 FRM x;\n", []string{"job.sql:1:1", "job.sql:2:"}},
		"join":                {goodSource + goodSink + "INSERT INTO lake SELECT a.id FROM gen AS a JOIN gen AS b ON a.id = b.id;", []string{"job.sql:3:", "JOIN", "^"}},
		"group by":            {goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen GROUP BY id;", []string{"job.sql:3:", "GROUP BY", "^"}},
		"aggregate":           {goodSource + goodSink + "INSERT INTO lake SELECT COUNT(*) FROM gen;", []string{"job.sql:3:", "COUNT", "^"}},
		"distinct":            {goodSource + goodSink + "INSERT INTO lake SELECT DISTINCT id FROM gen;", []string{"job.sql:3:", "DISTINCT", "^"}},
		"order by":            {goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen ORDER BY id;", []string{"job.sql:3:", "ORDER BY", "^"}},
		"union":               {goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen UNION ALL SELECT id FROM gen;", []string{"job.sql:3:", "UNION", "^"}},
		"with":                {goodSource + goodSink + "INSERT INTO lake WITH w AS (SELECT id FROM gen) SELECT id FROM w;", []string{"job.sql:3:", "WITH", "^"}},
		"view":                {goodSource + "CREATE VIEW w AS SELECT id FROM gen;", []string{"job.sql:2:", "VIEW", "^"}},
		"delete":              {goodSource + goodSink + "DELETE FROM lake;", []string{"job.sql:3:", "DELETE", "^"}},
		"update":              {goodSource + goodSink + "UPDATE lake SET id = 1;", []string{"job.sql:3:", "UPDATE", "^"}},
		"overwrite":           {goodSource + goodSink + "INSERT OVERWRITE lake SELECT id FROM gen;", []string{"job.sql:3:", "OVERWRITE", "^"}},
		"create function":     {"CREATE FUNCTION f AS 'a.B';", []string{"job.sql:1:", "FUNCTION", "^"}},
		"create catalog":      {"CREATE CATALOG c WITH ('type'='hive');", []string{"job.sql:1:", "CATALOG", "^"}},
		"the same table":      {goodSource + goodSource, []string{"job.sql:2:", "gen", "^"}},
		"not text":            {"SELECT \xff\xfe;", []string{"job.sql:1:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, "")
			s.write(s.file, c.sql)
			before := snapshot(t, s.dir)
			for _, command := range []string{"run", "explain"} {
				p := s.program(command, "job.sql").exits(2)
				p.says(c.says...)
				if p.stdout() != "" {
					t.Errorf("%s printed to standard output: %s", command, p.stdout())
				}
				p.silent("level=ERROR")
			}
			unchanged(t, s.dir, before)
		})
	}
}

// TestCommandLine: what is wrong on the command line is exit code 2, with what is accepted.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := newScript(t, goodSource+goodSink+"INSERT INTO lake SELECT id FROM gen;")
	before := snapshot(t, s.dir)
	s.program("run").exits(2).says("arg")
	s.program("run", "nothing.sql").exits(2).says("nothing.sql", "no such file")
	s.program("run", s.file, "--log-format", "xml").exits(2).says("text or json", "xml")
	s.program("run", s.file, "--nonsense").exits(2).says("--nonsense")
	s.program("run", s.file, "-D", "parallelism.defualt=2").exits(2).says("parallelism.defualt", "parallelism.default")
	s.program("run", s.file, "-D", "parallelism.default").exits(2).says("parallelism.default")
	s.program("run", s.file, "--config", "nothing.yaml").exits(2).says("nothing.yaml")
	s.program("rum").exits(2).says("rum")
	s.program("audit", s.path("nowhere")).exits(1).says(s.path("nowhere"))
	unchanged(t, s.dir, before)
}
