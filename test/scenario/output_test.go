package scenario

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSelect: a top-level SELECT prints its rows to standard output, and leaves nothing behind.
func TestSelect(t *testing.T) {
	t.Parallel()
	s := newScript(t, sequence(1, 4, 1000)+"SELECT id, id * 2 AS dbl, CAST(NULL AS STRING) AS n, 'a b' AS s FROM gen WHERE id <> 2;\n")
	p := s.start().exits(0)
	if want := "id\tdbl\tn\ts\n1\t2\tNULL\ta b\n3\t6\tNULL\ta b\n4\t8\tNULL\ta b\n"; p.stdout() != want {
		t.Errorf("printed %q, want %q", p.stdout(), want)
	}
	for f := range snapshot(t, s.dir) {
		if f != s.dir+"/" && f != s.file {
			t.Errorf("the query left %s", f)
		}
	}
	again := s.start().exits(0) // a query has no memory
	if again.stdout() != p.stdout() {
		t.Errorf("the second time it printed %q", again.stdout())
	}
}

// TestPrint: the print sink writes Flink's form to standard output.
func TestPrint(t *testing.T) {
	t.Parallel()
	s := newScript(t, sequence(1, 3, 1000)+"CREATE TABLE p (id BIGINT, v STRING) WITH ('connector'='print');\nINSERT INTO p SELECT id, CAST(NULL AS STRING) FROM gen;\n")
	p := s.start().exits(0)
	if want := "+I[1, null]\n+I[2, null]\n+I[3, null]\n"; p.stdout() != want {
		t.Errorf("printed %q, want %q", p.stdout(), want)
	}
	s.edit(sequence(1, 3, 1000) + "CREATE TABLE p (id BIGINT) WITH ('connector'='print','print-identifier'='x','standard-error'='true');\nINSERT INTO p SELECT id FROM gen;\nSET 'pipeline.name'='other';")
	s.program("run", s.file, "-D", "pipeline.name=second").exits(0).says("x> +I[1]", "x> +I[3]")
}

// TestStatements: SHOW, DESCRIBE, SET and EXPLAIN print and start nothing.
func TestStatements(t *testing.T) {
	t.Parallel()
	s := newScript(t, "")
	s.write(s.file, "SET 'parallelism.default' = '2';\nCREATE TABLE gen (id BIGINT NOT NULL, v STRING, ts TIMESTAMP(3), up AS UPPER(v), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, "+
		"PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='datagen','number-of-rows'='5');\n"+table("lake", "id BIGINT")+
		"SHOW TABLES;\nDESCRIBE gen;\nSET;\nEXPLAIN INSERT INTO lake SELECT id FROM gen WHERE v IS NOT NULL;\n")
	before := snapshot(t, s.dir)
	p := s.start().exits(0)
	out := p.stdout()
	p.says("gen", "lake", "BIGINT", "STRING", "TIMESTAMP(3)", "UPPER", "parallelism.default", "Optimized")
	if strings.Index(out, "lake") > strings.Index(out, "parallelism.default") {
		t.Errorf("the statements' answers are out of order:\n%s", out)
	}
	unchanged(t, s.dir, before)

	s.edit(goodSource + goodSink + "INSERT INTO lake SELECT id FROM gen WHERE id > 1;")
	before = snapshot(t, s.dir)
	s.program("explain", s.file).exits(0).says("gen", "lake")
	unchanged(t, s.dir, before)
	s.program("check", s.file).exits(0).says("lake", "exactly-once") // it tries the table's folder, so that is made
}

// TestLogFormat: with --log-format json each line of the log is an object.
func TestLogFormat(t *testing.T) {
	t.Parallel()
	s := newScript(t, sequence(1, 5, 1000)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
	p := s.start("--log-format", "json").exits(0)
	n := 0
	for _, l := range strings.Split(strings.TrimSpace(p.text()), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil || m["msg"] == nil || m["level"] == nil || m["time"] == nil {
			t.Errorf("no log line: %s", l)
		}
		n++
	}
	if n < 2 {
		t.Errorf("%d lines", n)
	}
}

// TestStatementSet: several sinks share one read.
func TestStatementSet(t *testing.T) {
	t.Parallel()
	s := newScript(t, sequence(1, 1000, 100_000)+table("odd", "id BIGINT")+table("even", "id BIGINT")+
		"EXECUTE STATEMENT SET BEGIN\nINSERT INTO odd SELECT id FROM gen WHERE MOD(id, 2) = 1;\nINSERT INTO even SELECT id FROM gen WHERE MOD(id, 2) = 0;\nEND;\n")
	p := s.start().exits(0)
	if !strings.Contains(p.text(), "records=1000 ") { // each record was read once, for both
		t.Errorf("the log does not count 1000 records:\n%s", p.text())
	}
	odd, even := ids(t, s.path("odd")), ids(t, s.path("even"))
	both := slices.Concat(odd, even)
	slices.Sort(both)
	if len(odd) != 500 || !slices.Equal(both, span(1, 1000)) {
		t.Errorf("%d odd, %d even", len(odd), len(even))
	}
	s.audited(s.path("odd"))
	s.audited(s.path("even"))
}

// TestDefaultStateDir: without execution.checkpointing.dir the state lies in the user's state folder, and the place is said.
func TestDefaultStateDir(t *testing.T) {
	t.Parallel()
	s := newScript(t, "")
	s.write(s.file, sequence(1, 5, 1000)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
	p := s.start("XDG_STATE_HOME="+s.path("state")).exits(0).says("no checkpoint interval is set", "execution.checkpointing.interval", s.path("state"))
	if _, err := os.Stat(s.path("state")); err != nil {
		t.Errorf("%v\n%s", err, p.text())
	}
	wantIDs(t, s.path("lake"), span(1, 5))
}
