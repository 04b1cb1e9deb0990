package repair_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/all"
	"staunch/audit"
	"staunch/changelog"
	cp "staunch/checkpoint/protocol"
	"staunch/config"
	"staunch/connector"
	"staunch/env/envtest"
	"staunch/fault"
	"staunch/fs"
	"staunch/job"
	jobp "staunch/job/protocol"
	"staunch/metric"
	"staunch/plan"
	"staunch/repair"
)

// thief is a store that takes files just before they are moved to their places.
type thief struct {
	fs.FS
	b *bench
}

func (t thief) Rename(src, dst string) error {
	if t.b.steals(src) {
		if err := os.Remove(src); err != nil {
			return err
		}
	}
	return t.FS.Rename(src, dst)
}

// bench is a topic on a broker in this process, a statement file that reads it, and the table that it writes.
type bench struct {
	t     *testing.T
	dir   string
	fake  *kfake.Cluster
	addrs string
	cl    *kgo.Client
	adm   *kadm.Client
	// sql is the statement file, $DIR, $BROKER and $TABLE are replaced in it.
	sql string
	log *buffer

	mu     sync.Mutex
	stolen []string
	takes  func(src string) bool
}

// buffer is a log that several goroutines write.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const numbers = `SET 'table.local-time-zone' = 'UTC';
SET 'execution.checkpointing.interval' = '10 min';
CREATE TABLE src (n BIGINT, v STRING) WITH ('connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = '$BROKER', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'properties.isolation.level' = 'read_committed');
CREATE TABLE lake (n BIGINT, v STRING, p BIGINT) PARTITIONED BY (p) WITH ('connector' = 'filesystem', 'path' = '$DIR/lake', 'format' = '$FORMAT');
INSERT INTO lake SELECT n, UPPER(v), MOD(n, 3) FROM src WHERE MOD(n, 10) <> 9;
`

// newBench starts a broker with the topic, which has so many partitions; settings are pairs of a topic's settings.
func newBench(t *testing.T, partitions int32, sql string, settings ...string) *bench {
	t.Helper()
	return newBenchOn(t, partitions, sql, nil, settings...)
}

// newBenchOn starts the broker with more options.
func newBenchOn(t *testing.T, partitions int32, sql string, opts []kfake.Opt, settings ...string) *bench {
	t.Helper()
	fake, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	b := &bench{t: t, dir: t.TempDir(), fake: fake, addrs: fake.ListenAddrs()[0], sql: sql, log: &buffer{}, takes: func(string) bool { return false }}
	b.connect()
	conf := map[string]*string{}
	for i := 0; i+1 < len(settings); i += 2 {
		conf[settings[i]] = &settings[i+1]
	}
	if _, err := b.adm.CreateTopic(context.Background(), partitions, 1, conf, "in"); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) connect() {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addrs), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(cl.Close)
	b.cl, b.adm = cl, kadm.NewClient(cl)
}

// fill writes the numbers from..to-1, round robin over the partitions.
func (b *bench) fill(partitions, from, to int) {
	b.t.Helper()
	var rs []*kgo.Record
	for i := from; i < to; i++ {
		rs = append(rs, &kgo.Record{Topic: "in", Partition: int32(i % partitions), Key: []byte(strconv.Itoa(i)), Value: fmt.Appendf(nil, `{"n":%d,"v":"value %d"}`, i, i)})
	}
	if err := b.cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) steals(src string) bool {
	if !strings.HasSuffix(src, ".pending") {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.takes(src) {
		return false
	}
	b.stolen = append(b.stolen, src)
	return true
}

// plan plans the statement file, as it stands now, over stores that a thief has access to.
func (b *bench) plan(format string) *plan.Job {
	b.t.Helper()
	text := strings.NewReplacer("$DIR", b.dir, "$BROKER", b.addrs, "$FORMAT", format).Replace(b.sql)
	reg := all.Registry(func(changelog.Schema) connector.Sink { return nil })
	reg.Stores = resolver{b}
	s, err := plan.Plan(text, config.NewJob(), "numbers", time.Now, reg)
	if err != nil {
		b.t.Fatal(err)
	}
	return s.Jobs()[0]
}

type resolver struct{ b *bench }

func (r resolver) Resolve(uri string) (fs.FS, string, error) {
	store, p, err := all.Stores().Resolve(uri)
	return thief{store, r.b}, p, err
}

// run runs the job to its end.
func (b *bench) run(format string, accept ...string) error {
	b.t.Helper()
	j := b.plan(format)
	store, _, err := all.Stores().Resolve(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	spec := job.Spec{ID: j.Name, File: b.dir + "/numbers.sql", SQL: j.SQL, Plan: j.Hash, Graph: j.Graph, Tables: map[string]job.Table{}, Sources: j.Sources,
		Sinks: j.Targets, AccountsClose: j.Replayable, Stores: all.Stores(), CheckpointStore: store, CheckpointDir: b.dir + "/ck", Retain: 1,
		Checkpoints: cp.Options{Interval: 10 * time.Minute, Timeout: 10 * time.Minute}, Restart: jobp.None{}, MemoryBudget: 64 << 20,
		Process: job.Process{Host: "here", PID: os.Getpid(), Start: "1"}, Accept: accept, AcceptWho: "tester"}
	for _, s := range j.Sinks {
		spec.Tables[s.Key] = job.Table{Name: s.Table.Name, Sink: s.Sink.(connector.FileTable)}
	}
	e := &envtest.Quick{}
	defer e.Join()
	out, err := job.New(e, spec, slog.New(slog.NewTextHandler(b.log, nil)), metric.NewRegistry().Group()).Run()
	if err == nil && out != job.Finished {
		b.t.Fatalf("the job ended as %v:\n%s", out, b.log)
	}
	return err
}

// loses runs the job into a loss of the files that takes chooses, and gives the id to accept it.
func (b *bench) loses(format string, takes func(src string) bool) (id string) {
	b.t.Helper()
	b.mu.Lock()
	b.takes, b.stolen = takes, nil
	b.mu.Unlock()
	err := b.run(format)
	b.mu.Lock()
	b.takes = func(string) bool { return false }
	b.mu.Unlock()
	if fault.ClassOf(err) != fault.Lost || len(b.stolen) == 0 {
		b.t.Fatalf("%d files were taken, and the job ended with %v:\n%s", len(b.stolen), err, b.log)
	}
	_, id, _ = strings.Cut(err.Error(), "--accept-lost ")
	return strings.Fields(id)[0]
}

// order repairs the table with the statement file as it stands.
func (b *bench) repair(format string, order repair.Order) *repair.Report {
	b.t.Helper()
	r, err := b.tryRepair(format, order)
	if err != nil {
		b.t.Fatalf("%v\n%s", err, b.log)
	}
	var text bytes.Buffer
	if err := r.Text(&text); err != nil {
		b.t.Fatal(err)
	}
	b.t.Log(text.String())
	return r
}

func (b *bench) tryRepair(format string, order repair.Order) (*repair.Report, error) {
	j := b.plan(format)
	e := &envtest.Quick{}
	defer e.Join()
	s := j.Sinks[0]
	return repair.Table(e, repair.Job{ID: j.Name, SQL: j.SQL, Plan: j.Hash, Graph: j.Graph, Log: slog.New(slog.NewTextHandler(b.log, nil)),
		Metrics: metric.NewRegistry().Group()}, s.Key, s.Sink.(connector.FileTable), order)
}

// clean wants the audit to find nothing.
func (b *bench) clean() *audit.Report {
	b.t.Helper()
	store, root, err := all.Stores().Resolve(b.dir + "/lake")
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := audit.Table(context.Background(), &envtest.Quick{}, store, root, audit.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	if r.Count() > 0 {
		var text bytes.Buffer
		_ = r.Text(&text) // into memory
		b.t.Errorf("the audit finds:\n%s", &text)
	}
	return r
}

// row is a line of the table's files.
type row struct {
	N int64
	V string
}

// wants wants the numbers below total that the query lets through, each once and in its partition.
func (b *bench) wants(total int, but ...int64) {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, "lake", "p=*", "*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var got []int64
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
			var r row
			if err := d.Decode(&r); err != nil {
				b.t.Fatalf("%s: %v", f, err)
			}
			if r.V != fmt.Sprintf("VALUE %d", r.N) || path.Base(path.Dir(f)) != fmt.Sprintf("p=%d", r.N%3) {
				b.t.Errorf("%s has %+v", f, r)
			}
			got = append(got, r.N)
		}
	}
	slices.Sort(got)
	var want []int64
	for n := range int64(total) {
		if n%10 != 9 && !slices.Contains(but, n) {
			want = append(want, n)
		}
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("%d rows are visible, want %d", len(got), len(want))
	}
}
