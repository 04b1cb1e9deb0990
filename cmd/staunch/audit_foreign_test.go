package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/audit/foreign"
)

// foreignTable writes a JSON table as another tool would: partition 0 without offset 3, which is a marker, partition 1 without 2, which is a record.
func foreignTable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, offsets := range map[string][]int{"part-0-0": {0, 1, 2, 4, 5}, "part-1-0": {0, 1, 3}} {
		var b strings.Builder
		for _, o := range offsets {
			fmt.Fprintf(&b, "{\"part\":%c,\"off\":%d}\n", name[5], o)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// foreignTopic fills a topic so that the table's gaps are what foreignTable says.
func foreignTopic(t *testing.T) string {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	servers := fake.ListenAddrs()[0]
	client := func(opts ...kgo.Opt) *kgo.Client {
		cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(servers), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return cl
	}
	send := func(cl *kgo.Client, part int32, n int) {
		for range n {
			if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "events", Partition: part, Value: []byte("v")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	tx := client(kgo.TransactionalID("t"))
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	send(tx, 0, 3)
	if err := tx.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	cl := client()
	send(cl, 0, 3)
	send(cl, 1, 4)
	return servers
}

func TestAuditForeign(t *testing.T) {
	dir, servers := foreignTable(t), foreignTopic(t)
	audit := func(f foreignFlags, broker bool) *foreign.Report {
		t.Helper()
		f.delimiter, f.from = ",", -1
		r, err := f.audit(context.Background(), &scriptFlags{logFormat: "text"}, dir, broker)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := audit(foreignFlags{columns: "part,off"}, false)
	if r.Count() != 2 || r.Counts[foreign.Gap] != 2 {
		t.Errorf("%+v", r.Problems)
	}
	r = audit(foreignFlags{columns: "part,off", servers: servers, topic: "events"}, true)
	if len(r.Problems) != 1 || r.Problems[0].Kind != foreign.RecordMissing || r.Problems[0].Offsets[0] != (foreign.SplitOffsets{Split: "events-1", Offsets: "2", Count: 1}) {
		t.Errorf("%+v", r.Problems)
	}
	var out bytes.Buffer
	var x *exitError
	if err := writeAudited(&out, "tables", r, "text"); !errors.As(err, &x) || x.code != exitFailed || !strings.Contains(out.String(), "PROBLEM record-missing") {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	var got struct {
		Problems int
		Tables   []struct{ Verdict string }
	}
	if err := writeAudited(&out, "tables", r, "json"); err == nil || json.Unmarshal(out.Bytes(), &got) != nil || got.Problems != 1 || got.Tables[0].Verdict != "problems" {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := os.WriteFile(filepath.Join(dir, "part-2-0"), []byte("{\"part\":1,\"off\":2}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := writeAudited(&out, "tables", audit(foreignFlags{columns: "part,off", servers: servers, topic: "events"}, true), "text"); err != nil || !strings.Contains(out.String(), ": clean between the first and the last offset") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestAuditForeignFlags(t *testing.T) {
	dir := foreignTable(t)
	columns := []string{"audit", dir, "--columns", "part,off"}
	for _, args := range [][]string{{"--names", "connect"}, {"--format", "avro"}, {"--csv-delimiter", ""}, {"--csv-delimiter", "\""}, {"--against-broker"},
		{"--against-broker", "--bootstrap-server", "127.0.0.1:1"}, {"--group", "g"}, {"--bootstrap-server", "127.0.0.1:1"}, {"--repair"}, {"--fast"},
		{"--against-broker", "--bootstrap-server", "127.0.0.1:1", "--topic", "t", "--kafka-property", "x"}, {"--topic", "t", "--topic-column", "u"}, {"--from", "-5"}, {"--from=-2"}} {
		c := rootCmd()
		c.SetArgs(append(columns[:4:4], args...))
		var x *exitError
		if err := c.Execute(); !errors.As(err, &x) || x.code != exitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, args := range [][]string{{"--columns", "a,b,c"}, {"--columns", ","}, {"--names", "s3"}, {"--topic", "t"}, {"--complete"}, {"--from", "0"}} {
		c := rootCmd()
		c.SetArgs(append([]string{"audit", dir}, args...))
		var x *exitError
		if err := c.Execute(); !errors.As(err, &x) || x.code != exitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
}
