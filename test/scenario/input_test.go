//go:build peer

package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/test/peer"
)

// TestBrokerNotReachable: nothing listens there. After the time that the client's options give, the error names the address.
func TestBrokerNotReachable(t *testing.T) {
	t.Parallel()
	addr := peer.Refusing(t)
	s := newScript(t, "CREATE TABLE src (id BIGINT) WITH ('connector'='kafka','topic'='events','properties.bootstrap.servers'='"+addr+
		"','scan.startup.mode'='earliest-offset','format'='json','properties.default.api.timeout.ms'='2000','properties.request.timeout.ms'='1000');\n"+
		table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM src;\n")
	began := time.Now()
	s.start().exits(1).says(addr, "table src", "within 2s")
	if d := time.Since(began); d >= time.Minute {
		t.Errorf("it took %v, as without the options; 2 s were configured", d)
	}
	if f := files(t, s.path("lake"), "json"); len(f) > 0 {
		t.Errorf("files %v", f)
	}
}

// TestNoTopic: the topic does not exist. The error names it and the broker, and the topic is not created.
func TestNoTopic(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	name := k.name
	k.name += "x"
	s := newScript(t, k.copyJob())
	s.start().exits(1).says("topic '"+k.name+"' does not exist", name)
	if ts, err := k.adm.ListTopics(context.Background(), k.name); err != nil || ts.Has(k.name) && ts[k.name].Err == nil {
		t.Errorf("the topic was created: %v %v", ts, err)
	}
}

// TestBadRecord: a record does not parse. The job stops and names topic, partition, offset, the bytes' beginning and the reason; with
// json.ignore-parse-errors it is counted, and the accounts close.
func TestBadRecord(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 2)
	k.fill(1, 1, 10)
	k.raw(1, []byte(`{"id":"eleven","v":1`))
	k.fill(1, 12, 20)
	s := newScript(t, k.copyJob(bounded))
	s.start().exits(1).says(k.name, "partition 1", "offset 10", "eleven", "does not parse", "json.ignore-parse-errors").silent("starts again")
	s.start().exits(1).says("partition 1", "offset 10") // and again, until somebody decides
	s.edit(k.copyJob(bounded, "'json.ignore-parse-errors'='true'"))
	s.start().exits(0)
	wantIDs(t, s.path("lake"), span(1, 10), span(12, 20))
	s.verified(s.path("lake"))
	if a := s.account(s.path("lake")); a["rejected"] != 1 || a["rows"] != 19 {
		t.Errorf("account %v", a)
	}
}

// account adds up the audit's accounts of a table.
func (s *script) account(table string) map[string]int64 {
	s.t.Helper()
	p := s.program("audit", table, "--output", "json").exits(0)
	var top any
	if err := json.Unmarshal([]byte(p.stdout()), &top); err != nil {
		s.t.Fatalf("%v in %s", err, p.stdout())
	}
	out := map[string]int64{}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			_, is := x["rejected"]
			for k, e := range x {
				if n, ok := e.(float64); ok && is {
					out[k] += int64(n)
				} else {
					walk(e)
				}
			}
		}
	}
	walk(top)
	return out
}

// TestSumRule is W7: in = out + filtered + rejected + null. Nothing vanishes without a counter.
func TestSumRule(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	k.fill(0, 1, 10)                                            // 5 of them are filtered
	k.raw(0, nil, []byte(""), []byte("null"), []byte("[1,2"))   // 2 null, 2 rejected
	k.raw(0, []byte(`{"id":11,"dt":"2024-01-01"}`), []byte("")) // 1 row, 1 null
	sql := strings.Replace(k.copyJob(bounded, "'json.ignore-parse-errors'='true'"), "FROM src;", "FROM src WHERE MOD(id, 2) = 1;", 1)
	s := newScript(t, sql)
	s.start("STAUNCH_FAILPOINT=done.after").killed()
	s.start().exits(0)
	wantIDs(t, s.path("lake"), []int64{1, 3, 5, 7, 9, 11})
	a := s.account(s.path("lake"))
	if a["rows"] != 6 || a["filtered"] != 5 || a["rejected"] != 2 || a["null"] != 3 {
		t.Errorf("account %v", a)
	}
}

// TestTombstones is case 15: null and empty values are skipped and counted, {} is a row of NULLs, 'null' does not parse.
func TestTombstones(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	k.raw(0, []byte(`{"id":1,"v":"a"}`), nil, []byte(""), []byte("{}"), []byte(`{"id":2,"v":"b"}`))
	with := func(more ...string) string {
		return "CREATE TABLE s (id BIGINT, v STRING) WITH (" + k.sql(append(more, bounded)...) + ");\nSELECT * FROM s;\n" +
			"CREATE TABLE sm (id BIGINT, v STRING, o BIGINT METADATA FROM 'offset' VIRTUAL) WITH (" + k.sql(append(more, bounded)...) + ");\n"
	}
	want := "id\tv\n1\ta\nNULL\tNULL\n2\tb\n"
	s := newScript(t, with())
	if p := s.start().exits(0); p.stdout() != want {
		t.Errorf("printed %q", p.stdout())
	}
	s.edit(strings.Replace(with(), "SELECT * FROM s;\n", "", 1) + "SELECT id, v FROM sm;\n")
	if p := s.start().exits(0); p.stdout() != want {
		t.Errorf("with a metadata column it printed %q", p.stdout())
	}
	k.raw(0, []byte("null"))
	s.edit(with())
	s.start().exits(1).says("partition 0", "offset 5", "null")
	s.edit(with("'json.ignore-parse-errors'='true'"))
	if p := s.start().exits(0); p.stdout() != want {
		t.Errorf("with ignore-parse-errors it printed %q", p.stdout())
	}
}

// TestOffsetsLost is case 14: the restored offset is no longer in the topic.
func TestOffsetsLost(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) (*topic, *script) {
		k := newTopic(t, 1)
		k.fill(0, 0, 99)
		s := newScript(t, k.copyJob())
		p := s.start()
		p.seen(s.path("lake"), 100)
		p.kill()
		k.fill(0, 100, 199)
		until(t, "the records' deletion", nil, func() bool {
			o := kadm.Offsets{}
			o.Add(kadm.Offset{Topic: k.name, Partition: 0, At: 150})
			r, err := k.adm.DeleteRecords(context.Background(), o)
			return err == nil && r.Error() == nil
		})
		return k, s
	}
	t.Run("main", func(t *testing.T) {
		t.Parallel()
		k, s := prepare(t)
		for range 2 {
			s.start().exits(1).says(k.name, "partition 0", "offset 100 is wanted", "150", "50 offsets are lost", "properties.auto.offset.reset").silent("starts again")
		}
		wantIDs(t, s.path("lake"), span(0, 99))
		s.edit(k.copyJob("'properties.auto.offset.reset'='earliest'"))
		p := s.start()
		p.awaits("level=WARN", "100", "150")
		p.seen(s.path("lake"), 150)
		p.stop()
		wantIDs(t, s.path("lake"), span(0, 99), span(150, 199))
		s.verified(s.path("lake"))
		if a := s.account(s.path("lake")); a["skipped"] != 50 {
			t.Errorf("account %v", a)
		}
	})
	t.Run("latest", func(t *testing.T) {
		t.Parallel()
		k, s := prepare(t)
		s.edit(k.copyJob("'properties.auto.offset.reset'='latest'"))
		p := s.start()
		p.awaits("level=WARN", "100", "200")
		k.fill(0, 200, 209)
		p.seen(s.path("lake"), 110)
		p.stop()
		wantIDs(t, s.path("lake"), span(0, 99), span(200, 209))
		if a := s.account(s.path("lake")); a["skipped"] != 100 {
			t.Errorf("account %v", a)
		}
	})
}

// TestTopicCreatedAnew: the topic was deleted and created again; its offsets are other records.
func TestTopicCreatedAnew(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	k.fill(0, 1, 30)
	s := newScript(t, k.copyJob())
	p := s.start()
	p.seen(s.path("lake"), 30)
	p.stop()
	s.edit(k.copyJob("'properties.default.api.timeout.ms'='2000'")) // how long a topic is looked for
	if _, err := k.adm.DeleteTopics(context.Background(), k.name); err != nil {
		t.Fatal(err)
	}
	until(t, "the topic's deletion", nil, func() bool {
		ts, err := k.adm.ListTopics(context.Background(), k.name)
		return err == nil && (!ts.Has(k.name) || ts[k.name].Err != nil)
	})
	s.start().exits(1).says(k.name, "no broker knows partition 0 any more", "deleted", "offsets from 30 on")
	k.create(1)
	k.fill(0, 101, 140)
	s.start().exits(1).says(k.name, "created again", "offset 30")
	wantIDs(t, s.path("lake"), span(1, 30))
}

// TestPartitionAdded is case 13: with start-up mode latest, a partition that is found later is read from its beginning.
func TestPartitionAdded(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	k.fill(0, 900, 905)
	sql := strings.Replace(k.copyJob("'scan.topic-partition-discovery.interval'='300 ms'"), "earliest-offset", "latest-offset", 1)
	s := newScript(t, sql)
	p := s.start("-D", "metrics.reporter.prom.port=33000-33999")
	m := p.metrics()
	until(t, "a checkpoint", p, func() bool { return m.sum("numberOfCompletedCheckpoints") >= 1 })
	k.grow(4)
	k.fill(3, 1, 10)
	p.awaits("new splits", k.name+"-3")
	p.seen(s.path("lake"), 10)
	k.fill(2, 11, 12)
	p.seen(s.path("lake"), 12)
	p.kill()
	k.fill(1, 13, 14)
	k.fill(0, 15, 15)
	p = s.start()
	p.seen(s.path("lake"), 15)
	p.stop()
	wantIDs(t, s.path("lake"), span(1, 15))
	s.verified(s.path("lake"))

	// added while the job does not run
	k.grow(5)
	k.fill(4, 16, 20)
	p = s.start()
	p.seen(s.path("lake"), 20)
	p.stop()
	wantIDs(t, s.path("lake"), span(1, 20))
}

// TestHugeRecord is case 23: a record of 12 MB goes through, in bounded memory.
func TestHugeRecord(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1, "max.message.bytes", fmt.Sprint(16<<20))
	k.raw(0, fmt.Appendf(nil, `{"id":1,"v":"%s","dt":"a"}`, bytes.Repeat([]byte("x"), 12<<20)))
	k.raw(0, []byte(`{"id":2,"v":"small","dt":"a"}`))
	s := newScript(t, k.copyJob(bounded))
	p := s.start().exits(0)
	wantIDs(t, s.path("lake"), span(1, 2))
	for _, r := range rows(t, s.path("lake")) {
		if n := len(r["v"].(string)); r["id"].(json.Number) == "1" && n != 12<<20 {
			t.Errorf("the value has %d bytes", n)
		}
	}
	if kb := p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; kb > 1<<20 {
		t.Errorf("peak memory %d KB", kb)
	} else {
		t.Logf("peak memory %d MB", kb>>10)
	}
	s.verified(s.path("lake"))
}

// TestManyFiles is the variant of case 23: many partitions in one checkpoint, killed before they are all renamed.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	const n = 2000
	k := newTopic(t, 1)
	var values [][]byte
	for i := range n {
		values = append(values, fmt.Appendf(nil, `{"id":%d,"v":"x","dt":"d%d"}`, i, i))
	}
	k.raw(0, values...)
	s := newScript(t, "SET 'execution.checkpointing.interval' = '10 min';\n"+k.copyJob(bounded))
	s.start(fmt.Sprint("STAUNCH_FAILPOINT=rename.after:", n/2)).killed()
	p := s.start().exits(0)
	wantIDs(t, s.path("lake"), span(0, n-1))
	t.Logf("peak memory %d MB", p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10)
}

// TestPartitionValues is case 29 through the whole program: the folders' names are Flink's, and nothing is ever made outside the table.
func TestPartitionValues(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "cases", "case-29-partition-values-that-look-like-paths.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Input [][2]*string `json:"input"`
	}
	if err := json.Unmarshal(b, &c); err != nil || len(c.Input) < 20 {
		t.Fatalf("%d values, %v", len(c.Input), err)
	}
	k := newTopic(t, 1)
	var values [][]byte
	for i, in := range c.Input {
		v, err := json.Marshal(map[string]any{"id": i, "p": in[0]})
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	k.raw(0, values...)
	job := "CREATE TABLE src (id INT, p STRING) WITH (" + k.sql(bounded) + ");\n" +
		"CREATE TABLE lake (id INT, p STRING) PARTITIONED BY (p) WITH ('connector'='filesystem','path'='$DIR/above/lake','format'='json');\n" +
		"INSERT INTO lake SELECT id, p FROM src;\n"
	s := newScript(t, job)
	if err := os.MkdirAll(s.path("above"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.start().exits(0)
	top, err := os.ReadDir(s.path("above"))
	if err != nil || len(top) != 1 {
		t.Errorf("beside the table there are %v %v", top, err)
	}
	all, err := os.ReadDir(s.dir)
	if err != nil || len(all) != 3 { // above, checkpoints, job.sql
		t.Errorf("in the test's folder there are %v %v", all, err)
	}
	where := map[int]string{}
	for _, d := range must(os.ReadDir(s.path("above", "lake")))(t) {
		if !d.IsDir() || !strings.HasPrefix(d.Name(), "p=") {
			continue
		}
		fs, _ := filepath.Glob(s.path("above", "lake", escapeGlob(d.Name()), "*.json"))
		for _, f := range fs {
			dec := json.NewDecoder(bytes.NewReader(must(os.ReadFile(f))(t)))
			for dec.More() {
				var r struct{ ID int }
				if err := dec.Decode(&r); err != nil {
					t.Fatal(err)
				}
				where[r.ID] = d.Name()
			}
		}
	}
	for i, in := range c.Input {
		if where[i] != *in[1] {
			t.Errorf("value %q lies in %q, want %q", show(in[0]), where[i], *in[1])
		}
	}
	s.verified(s.path("above", "lake"))

	t.Run("too long", func(t *testing.T) {
		long := newTopic(t, 1)
		long.raw(0, fmt.Appendf(nil, `{"id":1,"p":"%s"}`, strings.Repeat("n", 300)))
		s := newScript(t, strings.ReplaceAll(job, k.name, long.name))
		s.start().exits(1).says("column 'p'", "300 bytes", "nnnn").silent("starts again")
	})
	t.Run("symbolic link", func(t *testing.T) {
		evil := newTopic(t, 1)
		evil.raw(0, []byte(`{"id":1,"p":"evil"}`))
		s := newScript(t, strings.ReplaceAll(job, k.name, evil.name))
		for _, d := range []string{"above/lake", "elsewhere"} {
			if err := os.MkdirAll(s.path(d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(s.path("elsewhere"), s.path("above", "lake", "p=evil")); err != nil {
			t.Fatal(err)
		}
		s.start().exits(1).says(s.path("above", "lake", "p=evil"), "link")
		if es := must(os.ReadDir(s.path("elsewhere")))(t); len(es) > 0 {
			t.Errorf("files were written through the link: %v", es)
		}
	})
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// TestTransactions is the part of case 12 that is no hole of compaction: a bounded read whose last offsets are a marker or aborted records ends
// by itself, and its position is behind them.
func TestTransactions(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 3)
	produce := func(partition int32, a, b int64, commit kgo.TransactionEndTry) {
		t.Helper()
		cl, err := kgo.NewClient(kgo.SeedBrokers(peer.Kafka(t)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.UnknownTopicRetries(-1),
			kgo.TransactionalID(fmt.Sprint(k.name, "-", a)))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for i := a; i <= b; i++ {
			cl.Produce(context.Background(), &kgo.Record{Topic: k.name, Partition: partition, Value: fmt.Appendf(nil, `{"id":%d,"v":"x","dt":"d"}`, i)}, nil)
		}
		if err := cl.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := cl.EndTransaction(context.Background(), commit); err != nil {
			t.Fatal(err)
		}
	}
	produce(0, 1, 3, kgo.TryCommit)
	k.fill(1, 11, 12)
	produce(1, 1000, 1099, kgo.TryAbort)
	k.stable(0, 3+1)
	k.stable(1, 2+100+1)
	s := newScript(t, k.copyJob(bounded, "'properties.isolation.level'='read_committed'"))
	s.start().exits(0)
	wantIDs(t, s.path("lake"), span(1, 3), span(11, 12))
	s.verified(s.path("lake"))
	if a := s.account(s.path("lake")); a["rows"] != 5 || a["gaps"] != 1+100+1 {
		t.Errorf("account %v", a)
	}
}
