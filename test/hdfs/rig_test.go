//go:build peer

package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/all"
	cp "staunch/checkpoint/protocol"
	"staunch/commit"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/job"
	jobp "staunch/job/protocol"
	"staunch/metric"
	"staunch/plan"
	"staunch/test/peer"
	"staunch/trace"
)

// limit is how long a test waits for anything. It is long since other tests of the run use the same processors.
const limit = 3 * time.Minute

// until waits for a condition that has no event of its own.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !cond() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s did not come", what)
		}
	}
}

var topics atomic.Int64

// topic is a Kafka topic of one test. Its records are {"id":n,"v":"...","part":p,"seq":i}, ids counted over all partitions.
type topic struct {
	t          testing.TB
	name       string
	partitions int
	cl         *kgo.Client
	filled     int // records in each partition
}

func newTopic(t testing.TB, partitions int) *topic {
	t.Helper()
	k := &topic{t: t, name: fmt.Sprintf("hdfs-%d-%d", os.Getpid(), topics.Add(1)), partitions: partitions}
	cl, err := kgo.NewClient(kgo.SeedBrokers(peer.Kafka(t)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50*time.Millisecond),
		kgo.UnknownTopicRetries(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	k.cl = cl
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, int32(partitions), 1, nil, k.name); err != nil {
		t.Fatal(err)
	}
	return k
}

// fill appends n records to each partition.
func (k *topic) fill(n int) {
	k.t.Helper()
	var rs []*kgo.Record
	for i := range n {
		for p := range k.partitions {
			seq := k.filled + i
			rs = append(rs, &kgo.Record{Topic: k.name, Partition: int32(p),
				Value: fmt.Appendf(nil, `{"id":%d,"v":"row %d of partition %d","part":%d,"seq":%d}`, seq*k.partitions+p, seq, p, p, seq)})
		}
	}
	if err := k.cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		k.t.Fatal(err)
	}
	k.filled += n
}

// source is the statement that reads the topic as table src.
func (k *topic) source() string {
	return fmt.Sprintf(`CREATE TABLE src (id BIGINT, v STRING, part INT, seq BIGINT) WITH ('connector'='kafka', 'topic'='%s',
  'properties.bootstrap.servers'='%s', 'properties.group.id'='%s', 'scan.startup.mode'='earliest-offset', 'format'='json',
  'scan.topic-partition-discovery.interval'='100 ms');
`, k.name, peer.Kafka(k.t), k.name)
}

// clock is a real world whose clock can be set forward, so that a checkpoint is taken when a test wants it and not before.
type clock struct {
	env.Real
	ahead atomic.Int64
	once  sync.Once
	loop  env.Signal // the first one that is made: the control loop's
}

// Now implements env.Env.
func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// NewSignal implements env.Env.
func (c *clock) NewSignal() env.Signal {
	s := c.Real.NewSignal()
	c.once.Do(func() { c.loop = s })
	return s
}

// between is the checkpoint interval of jobs in this process; forward lets it pass.
const between = 10 * time.Minute

func (c *clock) forward() {
	c.ahead.Add(int64(between))
	c.loop.Notify()
}

// life is a job that runs in this process.
type life struct {
	t     testing.TB
	job   *job.Job
	clock *clock
	log   *lines
	done  chan struct{}
	out   job.Outcome
	err   error
}

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *lines) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// stores resolves every path to one store, which may be wrapped.
type stores struct {
	fs.Resolver
	wrap func(fs.FS) fs.FS
}

// URI implements fs.Named, as the store below does.
func (s *store) URI(p string) string { return fs.URI(s.FS, p) }

// Resolve implements fs.Resolver.
func (s stores) Resolve(uri string) (fs.FS, string, error) {
	store, path, err := s.Resolver.Resolve(uri)
	if err == nil && s.wrap != nil {
		store = s.wrap(store)
	}
	return store, path, err
}

// world is what a job in this process runs on, besides its statements.
type world struct {
	stores fs.Resolver // for tables; wrapped ones hold calls
	plain  fs.Resolver // for the checkpoint directory; nil: stores
	dir    string      // the checkpoint directory
	old    bool        // the old verdict: a file in neither place was committed before
	// restart is the restart strategy; nil: one attempt.
	restart jobp.Strategy
	// traced: the operations are recorded beside the checkpoints, by the real clock.
	traced bool
}

// run starts a job of these statements; one INSERT.
func (w world) run(t testing.TB, name, sql string) *life {
	t.Helper()
	l := w.prepare(t, name, sql)
	l.start()
	return l
}

// prepare plans such a job.
func (w world) prepare(t testing.TB, name, sql string) *life {
	t.Helper()
	reg := all.Registry(nil)
	reg.Stores = w.stores
	script, err := plan.Plan(sql, config.NewJob(), name, time.Now, reg)
	if err != nil {
		t.Fatal(err)
	}
	j := script.Jobs()[0]
	if w.plain == nil {
		w.plain = w.stores
	}
	if w.restart == nil {
		w.restart = &jobp.FixedDelay{Attempts: 1, Delay: 10 * time.Millisecond}
	}
	store, dir, err := w.plain.Resolve(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	spec := job.Spec{ID: name, File: "/" + name + ".sql", SQL: j.SQL, Plan: j.Hash, Graph: j.Graph, Tables: map[string]job.Table{}, Sources: j.Sources,
		Sinks: j.Targets, AccountsClose: j.Replayable, Stores: w.stores, CheckpointStore: store, CheckpointDir: dir, Retain: 1,
		Checkpoints: cp.Options{Interval: between, Timeout: between, Tolerable: 0}, MemoryBudget: 64 << 20, TakeOver: true,
		Restart: w.restart}
	if w.traced {
		spec.Trace = trace.New(trace.Options{Env: &env.Real{}, Store: store, Dir: trace.Dir(path.Join(dir, commit.Escape(name))), Job: name, Host: "test",
			User: "test", PID: os.Getpid(), MaxBytes: 64 << 20, Log: slog.New(slog.DiscardHandler)})
	}
	if w.old {
		spec.Variant.Commit.File.MissingIsDone = true
	}
	for _, s := range j.Sinks {
		if ft, ok := s.Sink.(connector.FileTable); ok {
			spec.Tables[s.Key] = job.Table{Name: s.Table.Name, Sink: ft}
		}
	}
	l := &life{t: t, clock: &clock{}, log: &lines{}, done: make(chan struct{})}
	l.job = job.New(l.clock, spec, slog.New(slog.NewTextHandler(l.log, nil)), metric.NewRegistry().Group("job_name", name))
	return l
}

// start runs the job; it is stopped at the end of the test.
func (l *life) start() {
	go func() {
		defer close(l.done)
		l.out, l.err = l.job.Run()
	}()
	l.t.Cleanup(func() {
		l.job.Stop()
		select {
		case <-l.done:
		case <-time.After(limit):
			l.t.Errorf("the job does not end:\n%s", l.log)
		}
	})
}

// awaits waits for a state of the running job.
func (l *life) awaits(what string, cond func(status) bool) {
	l.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !cond(l.job.Status()) {
		select {
		case <-tick.C:
		case <-l.done:
			l.t.Fatalf("the job ended (%v) before %s:\n%s", l.err, what, l.log)
		case <-late:
			l.t.Fatalf("%s did not come:\n%s", what, l.log)
		}
	}
}

// read waits until the running attempt has read so many records.
func (l *life) read(n, restarts int) {
	l.t.Helper()
	l.awaits(fmt.Sprintf("%d records after %d restarts", n, restarts), func(s status) bool {
		return s.Phase == "RUNNING" && s.Restarts == int64(restarts) && s.Records == int64(n)
	})
}

// committed waits until a checkpoint is committed.
func (l *life) committed(id int) {
	l.t.Helper()
	l.awaits(fmt.Sprintf("checkpoint %d", id), func(s status) bool { return int(s.LastCheckpoint) >= id })
}

// stop ends the job behind a last checkpoint.
func (l *life) stop() {
	l.t.Helper()
	l.job.Stop()
	l.ends()
	if l.err != nil || l.out != job.Stopped {
		l.t.Fatalf("stopped with %v, %v:\n%s", l.out, l.err, l.log)
	}
}

// ends waits for the job's end and gives its error.
func (l *life) ends() error {
	l.t.Helper()
	select {
	case <-l.done:
	case <-time.After(limit):
		l.t.Fatalf("the job does not end:\n%s", l.log)
	}
	return l.err
}

// program is the program.
func program(t testing.TB) string {
	t.Helper()
	bin := os.Getenv("STAUNCH_BIN")
	if bin == "" {
		t.Fatal("STAUNCH_BIN is not set: run `make peers`")
	}
	return bin
}

// status is a look at a job.
type status = job.Status

var errCrash = errors.New("the process ends here")

// full is a checkpoint directory that from now on takes nothing, and so ends the job before a checkpoint is complete.
type full struct {
	fs.FS
	now atomic.Bool
}

// Create implements fs.FS.
func (f *full) Create(p string) (fs.File, error) {
	if f.now.Load() {
		return nil, fault.New(fault.User, "%w", errCrash)
	}
	return f.FS.Create(p)
}
