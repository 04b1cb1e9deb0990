package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// transactions fills a topic of two partitions with 20 transactions of 100 records, one of which is given up; one record of each has no value.
func transactions(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for tx := range 20 {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		var rs []*kgo.Record
		for i := range 100 {
			r := &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d,"amount":%d,"part":"%d"}`, tx*100+i, i, i%3)}
			if i == 50 {
				r.Value = nil
			}
			rs = append(rs, r)
		}
		if err := cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		how := kgo.TryCommit
		if tx == 7 {
			how = kgo.TryAbort
		}
		if err := cl.EndTransaction(context.Background(), how); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestAuditAlone: a table is proven against the topic; without the broker, without the checkpoints and without both; an older copy of it is found by
// the job's log alone; and a partition's certificate proves its copy.
func TestAuditAlone(t *testing.T) {
	t.Parallel()
	c := transactions(t)
	sql := "CREATE TABLE src (id BIGINT, amount INT, part STRING) WITH ('connector'='kafka','topic'='orders','properties.bootstrap.servers'='" + strings.Join(c.ListenAddrs(), ",") +
		"','properties.isolation.level'='read_committed','scan.startup.mode'='earliest-offset','scan.bounded.mode'='latest-offset','format'='json');\n" +
		"CREATE TABLE lake (id BIGINT, part STRING) PARTITIONED BY (part) WITH ('connector'='filesystem','path'='$DIR/lake','format'='parquet');\n" +
		"INSERT INTO lake SELECT id, part FROM src WHERE amount >= 10;\n"
	s := newScript(t, sql)
	s.start().exits(0)
	before := snapshot(t, s.path("lake"))

	// 19 of 20 transactions count: 10 of 100 records are filtered, one has no value. Gaps are 20 ends of transactions a partition and 50 records given up.
	p := s.program("audit", s.file, "--against-broker").exits(0).says("against the broker")
	for _, line := range []string{"orders-0 1,020 95 19 20 50 0 0 0 0", "orders-1 1,020 95 0 20 50 0 0 0 0"} {
		if !strings.Contains(strings.Join(strings.Fields(p.text()), " "), line) {
			t.Errorf("%q is not said:\n%s", line, p.text())
		}
	}
	s.program("audit", s.path("lake"), "--against-broker", "--bootstrap-server", strings.Join(c.ListenAddrs(), ",")).exits(0)

	cert := s.program("audit", s.path("lake"), "--export", "part=1").exits(0)
	s.write(s.path("cert.json"), cert.stdout())
	copyTree(t, s.path("lake", "part=1"), s.path("copy"))
	s.program("audit", "--certificate", s.path("cert.json"), s.path("copy")).exits(0).says(": clean")
	files, err := filepath.Glob(s.path("copy", "part-*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	s.program("audit", "--certificate", s.path("cert.json"), s.path("copy")).exits(1).says("file-missing", filepath.Base(files[0]))

	c.Close()
	s.edit(strings.Replace(sql, "'format'='json'", "'format'='json','properties.default.api.timeout.ms'='2000'", 1)) // how long nobody answers
	s.program("audit", s.file).exits(0)
	s.program("audit", s.file, "--against-broker").exits(1).says("topic-unknown")

	// An older copy: everything in it fits, but the job's log names what it has not.
	log := s.path("lake", "_staunch", "job")
	move(t, log, s.path("kept"))
	copyTree(t, s.path("kept"), log)
	all := entries(t, log, ".staunch")
	for _, e := range all[1:] {
		if err := os.Remove(e); err != nil {
			t.Fatal(err)
		}
	}
	s.program("audit", s.file).exits(1)
	if err := os.RemoveAll(log); err != nil {
		t.Fatal(err)
	}
	move(t, s.path("kept"), log)

	move(t, s.path("checkpoints"), s.path("away"))
	s.program("audit", s.file).exits(0).says("there is no log of job")
	s.program("audit", s.path("lake")).exits(0)
	unchanged(t, s.path("lake"), before)
}

// TestAdopt: files that stood in a table before the job are taken in once, and copies of the job's own never.
func TestAdopt(t *testing.T) {
	t.Parallel()
	s := numbers(t)
	if err := os.MkdirAll(s.path("lake"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(s.path("lake", "part-0c5f-0-0"), "{\"id\":-1}\n{\"id\":-2}\n") // as Flink names its files
	s.ends()
	s.program("audit", s.file).exits(1).says("file-foreign", "part-0c5f-0-0")
	s.program("amend", s.path("lake"), "--adopt").exits(2).says("reason")
	s.program("amend", s.path("lake"), "--adopt", "--why", "from before").exits(0).says("1 files", "2 rows")
	s.program("audit", s.file).exits(0).says("2 rows in 1 file from before")
	s.program("amend", s.path("lake"), "--adopt", "--why", "again").exits(0).says("nothing to adopt")
	list, err := filepath.Glob(s.path("lake", "part-*.json"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	b, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.path("lake", "copy.json"), string(b))
	s.program("amend", s.path("lake"), "--adopt", "--younger", "--why", "a copy").exits(2).says("is a copy of", "nothing was written")
}
