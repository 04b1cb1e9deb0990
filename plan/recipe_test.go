package plan_test

import (
	"strings"
	"testing"
	"time"

	"staunch/all"
	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/plan"
)

// planned plans a file with one job over the real plug-ins.
func planned(t *testing.T, sql string) *plan.Job {
	t.Helper()
	s, err := plan.Plan(sql, config.NewJob(), "recipe", time.Now, all.Registry(func(changelog.Schema) connector.Sink { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	return s.Jobs()[0]
}

// TestHash: a plan's hash changes with whatever changes the rows or the bytes of its files, and with nothing else, so that a lost file is made again
// by the same plan or not at all.
func TestHash(t *testing.T) {
	const sql = `SET 'table.local-time-zone' = 'UTC';
CREATE TABLE src (id BIGINT, ts TIMESTAMP_LTZ(3), n INT, p STRING) WITH ('connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = 'a:1',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE lake (id BIGINT, ts STRING, p STRING) PARTITIONED BY (p) WITH ('connector' = 'filesystem', 'path' = '$DIR/lake', 'format' = 'parquet');
INSERT INTO lake SELECT id, CAST(ts AS STRING), p FROM src WHERE n > 1;
`
	dir := t.TempDir()
	hash := func(text string) string {
		t.Helper()
		j := planned(t, strings.ReplaceAll(text, "$DIR", dir))
		if j.Graph.Sources[0].Branches[0].Volatile != "" {
			t.Errorf("volatile: %s", j.Graph.Sources[0].Branches[0].Volatile)
		}
		return j.Hash
	}
	was := hash(sql)
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"a:1", "b:2", true},
		{"'scan.startup.mode' = 'earliest-offset'", "'scan.startup.mode' = 'latest-offset', 'scan.bounded.mode' = 'latest-offset'", true},
		{"'format' = 'parquet'", "'format' = 'parquet', 'sink.rolling-policy.file-size' = '1mb'", true},
		{"CREATE TABLE src", "SET 'execution.checkpointing.interval' = '1 s';\nCREATE TABLE src", true},
		{"CREATE TABLE src", "SET 'staunch.table.lake.checksum' = 'sha256';\nCREATE TABLE src", true},
		{"CREATE TABLE src", "SET 'staunch.table.lake.temporary-ttl' = '1 d';\nCREATE TABLE src", true},
		{"SELECT id,", "SELECT\n  id,", true},
		{"n > 1", "n > 2", false},
		{"CAST(ts AS STRING)", "CAST(n AS STRING)", false},
		{"lake (id BIGINT", "lake (id DECIMAL(20, 0)", false},
		{"ts TIMESTAMP_LTZ(3)", "ts TIMESTAMP(3)", false},
		{"'topic' = 'in'", "'topic' = 'other'", false},
		{"'format' = 'json'", "'format' = 'json', 'json.ignore-parse-errors' = 'true'", false},
		{"'format' = 'parquet'", "'format' = 'json'", false},
		{"'format' = 'parquet'", "'format' = 'parquet', 'parquet.compression' = 'GZIP'", false},
		{"'format' = 'parquet'", "'format' = 'parquet', 'partition.default-name' = 'none'", false},
		{"CREATE TABLE src", "SET 'table.local-time-zone' = 'Asia/Tokyo';\nCREATE TABLE src", false},
		{"CREATE TABLE src", "SET 'staunch.table.lake.partition.date-style' = 'epoch-day';\nCREATE TABLE src", false},
	} {
		changed := strings.Replace(sql, c.old, c.new, 1)
		if changed == sql {
			t.Fatalf("%q is not in the statements", c.old)
		}
		if now := hash(changed); (now == was) != c.same {
			t.Errorf("%q to %q: the hash is the same: %v, want %v", c.old, c.new, now == was, c.same)
		}
	}
}

// TestVolatile: an expression whose value does not follow from the record is named.
func TestVolatile(t *testing.T) {
	for _, expr := range []string{"CURRENT_TIMESTAMP", "CAST(NOW() AS STRING)"} {
		j := planned(t, `CREATE TABLE src (id BIGINT) WITH ('connector' = 'datagen');
CREATE TABLE lake (id BIGINT, ts STRING) WITH ('connector' = 'filesystem', 'path' = '`+t.TempDir()+`', 'format' = 'json');
INSERT INTO lake SELECT id, CAST(`+expr+` AS STRING) FROM src;
`)
		if v := j.Graph.Sources[0].Branches[0].Volatile; !strings.Contains(v, strings.TrimSuffix(strings.TrimPrefix(expr, "CAST("), " AS STRING)")) {
			t.Errorf("%s: volatile is %q", expr, v)
		}
	}
}

// TestHashOfThisVersion: the hash of a plan that does not change is pinned. If it differs, files of former versions are not made again any more: that is
// right where values or bytes have changed (see recipeVersion, which is to grow then), and an error otherwise.
func TestHashOfThisVersion(t *testing.T) {
	const want = "362488ba1d7f434aa321701bbca12bf65b8456d439c1d36d309e004d53cd62c4"
	got := planned(t, `SET 'table.local-time-zone' = 'UTC';
CREATE TABLE src (id BIGINT, p STRING) WITH ('connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = 'a:1', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE lake (id BIGINT, p STRING) WITH ('connector' = 'filesystem', 'path' = '/lake', 'format' = 'json');
INSERT INTO lake SELECT id, UPPER(p) FROM src WHERE id > 1;
`).Hash
	if got != want {
		t.Errorf("%s, and was %s", got, want)
	}
}
