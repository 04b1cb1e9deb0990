package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// sensible is a statement file that nothing is wrong with. The words in capitals are replaced.
const sensible = `SET 'execution.checkpointing.interval' = '5 min';
SET 'execution.checkpointing.dir' = 'DIR/checkpoints';
SET 'parallelism.default' = '1';
SET 'table.local-time-zone' = 'UTC';
SET 'table.exec.source.idle-timeout' = '2 min';
SET 'metrics.reporter.prom.port' = '0';
CREATE TABLE events (id BIGINT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = 'TOPIC', 'properties.bootstrap.servers' = 'BROKERS', 'properties.group.id' = 'mine',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE lake (id BIGINT, name STRING, dt STRING, hr STRING) PARTITIONED BY (dt, hr) WITH (
  'connector' = 'filesystem', 'path' = 'DIR/lake', 'format' = 'json',
  'sink.partition-commit.trigger' = 'partition-time', 'sink.partition-commit.delay' = '1 h', 'sink.partition-commit.policy.kind' = 'success-file',
  'partition.time-extractor.timestamp-pattern' = '$dt $hr:00:00');
INSERT INTO lake SELECT id, name, DATE_FORMAT(ts, 'yyyy-MM-dd'), DATE_FORMAT(ts, 'HH') FROM events;
`

// unwise are edits of the sensible file (old text, new text), and the rules that name what is wrong then.
var unwise = []struct {
	rule  string
	edits []string
	topic string
}{
	{rule: "interval-unset", edits: []string{"SET 'execution.checkpointing.interval' = '5 min';", ""}},
	{rule: "interval-long", edits: []string{"'5 min'", "'2 h'", "SET 'table.local", "SET 'execution.checkpointing.timeout' = '3 h'; SET 'table.local"}},
	{rule: "timeout-below-interval", edits: []string{"SET 'table.local", "SET 'execution.checkpointing.timeout' = '1 min'; SET 'table.local"}},
	{rule: "timeout-short", edits: []string{"'5 min'", "'5 s'", "SET 'table.local", "SET 'execution.checkpointing.timeout' = '3 s'; SET 'table.local"}},
	{rule: "min-pause", edits: []string{"SET 'table.local", "SET 'execution.checkpointing.min-pause' = '10 min'; SET 'table.local"}},
	{rule: "tolerable-failures", edits: []string{"SET 'table.local", "SET 'execution.checkpointing.tolerable-failed-checkpoints' = '100'; SET 'table.local"}},
	{rule: "no-metrics", edits: []string{"SET 'metrics.reporter.prom.port' = '0';", ""}},
	{rule: "restart-none", edits: []string{"SET 'table.local", "SET 'restart-strategy.type' = 'none'; SET 'table.local"}},
	{rule: "restart-gives-up", edits: []string{"SET 'table.local", "SET 'restart-strategy.type' = 'fixed-delay'; SET 'restart-strategy.fixed-delay.attempts' = '3'; SET 'table.local"}},
	{rule: "restart-gives-up", edits: []string{"SET 'table.local", "SET 'restart-strategy.exponential-delay.attempts-before-reset-backoff' = '4'; SET 'table.local"}},
	{rule: "restart-waits", edits: []string{"SET 'table.local", "SET 'restart-strategy.exponential-delay.max-backoff' = '1 h'; SET 'table.local"}},
	{rule: "parallelism-above-cpus", edits: []string{"'parallelism.default' = '1'", "'parallelism.default' = '2000'"}},
	{rule: "parallelism-above-partitions", edits: []string{"'parallelism.default' = '1'", "'parallelism.default' = '5'"}},
	{rule: "memory-limit", edits: []string{"SET 'table.local", "SET 'taskmanager.memory.process.size' = '100 tb'; SET 'table.local"}},
	{rule: "dir-in-table", edits: []string{"'DIR/checkpoints'", "'DIR/lake/checkpoints'"}},
	{rule: "tables-nested", edits: []string{"INSERT INTO lake SELECT", "CREATE TABLE inner_one WITH ('path' = 'DIR/lake/more') LIKE lake (OVERWRITING OPTIONS); EXECUTE STATEMENT SET BEGIN INSERT INTO inner_one SELECT id, name, DATE_FORMAT(ts, 'yyyy-MM-dd'), DATE_FORMAT(ts, 'HH') FROM events; INSERT INTO lake SELECT",
		"FROM events;\n", "FROM events; END;\n"}},
	{rule: "discovery-off", edits: []string{"'scan.startup.mode'", "'scan.topic-partition-discovery.interval' = '0 s', 'scan.startup.mode'"}},
	{rule: "reset-skips", edits: []string{"'scan.startup.mode'", "'properties.auto.offset.reset' = 'latest', 'scan.startup.mode'"}},
	{rule: "group-shared", edits: []string{"INSERT INTO lake SELECT", "CREATE TABLE again LIKE lake (OVERWRITING OPTIONS); INSERT INTO lake SELECT", "FROM events;\n", "FROM events;\nINSERT INTO lake SELECT id, 'x', DATE_FORMAT(ts, 'yyyy-MM-dd'), 'again' FROM events;\n"}},
	{rule: "isolation", topic: "transactions"},
	{rule: "compacted", topic: "compacted"},
	{rule: "one-replica", topic: "single"},
	{rule: "ignore-errors", edits: []string{"'format' = 'json')", "'format' = 'json', 'json.ignore-parse-errors' = 'true')"}},
	{rule: "bad-record", topic: "bad"},
	{rule: "event-ahead", edits: []string{"ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", "ts TIMESTAMP(3), moved AS CAST(ts AS TIMESTAMP_LTZ(3)) + INTERVAL '8' HOUR, WATERMARK FOR moved AS moved"}},
	{rule: "rollover-no-effect", edits: []string{"'sink.partition-commit.trigger'", "'sink.rolling-policy.rollover-interval' = '15 min', 'sink.partition-commit.trigger'"}},
	{rule: "inactivity-no-effect", edits: []string{"'sink.partition-commit.trigger'", "'sink.rolling-policy.inactivity-interval' = '15 min', 'sink.partition-commit.trigger'"}},
	{rule: "check-interval", edits: []string{"'sink.partition-commit.trigger'", "'sink.rolling-policy.rollover-interval' = '10 s', 'sink.partition-commit.trigger'"}},
	{rule: "roll-size-small", edits: []string{"'sink.partition-commit.trigger'", "'sink.rolling-policy.file-size' = '10 kb', 'sink.partition-commit.trigger'"}},
	{rule: "roll-size-unreached", edits: []string{"'sink.partition-commit.trigger'", "'sink.rolling-policy.file-size' = '1 gb', 'sink.partition-commit.trigger'"}},
	{rule: "small-files", edits: []string{"'5 min'", "'2 s'"}},
	{rule: "many-partitions", edits: []string{"SELECT id, name, DATE_FORMAT(ts, 'yyyy-MM-dd'), DATE_FORMAT(ts, 'HH')", "SELECT id, name, DATE_FORMAT(ts, 'yyyy-MM-dd'), CAST(id AS STRING)", "'$dt $hr:00:00'", "'$dt 00:00:00'", "'1 h'", "'1 d'"}},
	{rule: "open-files-memory", edits: []string{"SELECT id, name, DATE_FORMAT(ts, 'yyyy-MM-dd'), DATE_FORMAT(ts, 'HH')", "SELECT id, REPEAT(name, 2000), DATE_FORMAT(ts, 'yyyy-MM-dd'), CAST(id AS STRING)", "'$dt $hr:00:00'", "'$dt 00:00:00'", "'1 h'", "'1 d'",
		"'DIR/lake', 'format' = 'json'", "'DIR/lake', 'format' = 'parquet'", "SET 'table.local", "SET 'taskmanager.memory.process.size' = '64 mb'; SET 'table.local"}},
	{rule: "default-partition", edits: []string{"DATE_FORMAT(ts, 'HH') FROM", "NULLIF(DATE_FORMAT(ts, 'HH'), DATE_FORMAT(ts, 'HH')) FROM", "'$dt $hr:00:00'", "'$dt 00:00:00'", "'1 h'", "'1 d'"}},
	{rule: "commit-without-policy", edits: []string{", 'sink.partition-commit.policy.kind' = 'success-file'", ""}},
	{rule: "commit-without-partitions", edits: []string{"PARTITIONED BY (dt, hr) ", ""}},
	{rule: "process-time-at-once", edits: []string{"'partition-time', 'sink.partition-commit.delay' = '1 h'", "'process-time'"}},
	{rule: "delay-below-partition", edits: []string{"'1 h'", "'10 min'"}},
	{rule: "complete-late", edits: []string{"'1 h'", "'3 d'"}},
	{rule: "partition-time-without-watermark", edits: []string{", WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", ""}},
	{rule: "idle-split", edits: []string{"SET 'table.exec.source.idle-timeout' = '2 min';", ""}, topic: "idle"},
	{rule: "idle-timeout-unset", edits: []string{"SET 'table.exec.source.idle-timeout' = '2 min';", ""}},
	{rule: "idle-timeout-short", edits: []string{"'2 min'", "'1 ms'"}},
	{rule: "time-extractor", edits: []string{"'$dt $hr:00:00'", "'$hr of $dt'"}},
	{rule: "zones", edits: []string{"'sink.partition-commit.trigger'", "'sink.partition-commit.watermark-time-zone' = 'Asia/Shanghai', 'sink.partition-commit.trigger'"}},
	{rule: "partition-shift", edits: []string{"'sink.partition-commit.trigger'", "'sink.partition-commit.watermark-time-zone' = 'Asia/Shanghai', 'sink.partition-commit.trigger'"}},
	{rule: "sink-parallelism", edits: []string{"'sink.partition-commit.trigger'", "'sink.parallelism' = '7', 'sink.partition-commit.trigger'"}},
}

// feed is a fake cluster with topics whose records came over the last ten minutes, each with its time.
type feed struct {
	t     *testing.T
	addrs string
	cl    *kgo.Client
	adm   *kadm.Client
	now   time.Time
}

func newFeed(t *testing.T) *feed {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	f := &feed{t: t, addrs: strings.Join(fake.ListenAddrs(), ","), now: time.Now()}
	f.cl, err = kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.cl.Close)
	f.adm = kadm.NewClient(f.cl)
	f.topic("single", 1, 4, nil)
	f.fill(f.cl, "single", 4)
	f.topic("compacted", 3, 4, map[string]string{"cleanup.policy": "compact"})
	f.fill(f.cl, "compacted", 4)
	f.topic("idle", 3, 5, nil)
	f.fill(f.cl, "idle", 4)
	f.topic("bad", 3, 1, nil)
	f.fill(f.cl, "bad", 1)
	f.send(f.cl, &kgo.Record{Topic: "bad", Value: []byte(`{"id": "no number"}`), Timestamp: f.now})
	f.topic("transactions", 3, 1, nil)
	tx, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("tx"))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	f.fill(tx, "transactions", 1)
	if err := tx.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	f.now = time.Now() // its rate is looked at, and how long the others took is no part of it
	f.topic("events", 3, 4, nil)
	f.fill(f.cl, "events", 4)
	return f
}

func (f *feed) topic(name string, replicas int16, partitions int32, settings map[string]string) {
	f.t.Helper()
	two := "2"
	conf := map[string]*string{}
	if replicas > 1 {
		conf["min.insync.replicas"] = &two
	}
	for k, v := range settings {
		conf[k] = &v
	}
	if r, err := f.adm.CreateTopic(context.Background(), partitions, replicas, conf, name); err != nil || r.Err != nil {
		f.t.Fatal(name, err, r.Err)
	}
}

// fill writes ten records a second over the last ten minutes, one second's records at a time.
func (f *feed) fill(cl *kgo.Client, topic string, partitions int) {
	f.t.Helper()
	var records []*kgo.Record
	for i := range 6000 {
		at := f.now.Add(time.Duration(i-6000) * 100 * time.Millisecond)
		value := fmt.Sprintf(`{"id": %d, "name": "record %d", "ts": "%s"}`, i, i, at.UTC().Format("2006-01-02 15:04:05.000"))
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte(value), Timestamp: at})
	}
	f.send(cl, records...)
}

func (f *feed) send(cl *kgo.Client, records ...*kgo.Record) {
	f.t.Helper()
	if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		f.t.Fatal(err)
	}
}

// checked runs check over an edited file.
func (f *feed) checked(topic string, edits ...string) jobReport {
	f.t.Helper()
	dir := f.t.TempDir()
	text := sensible
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			f.t.Fatalf("nothing to edit: %s", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	text = strings.NewReplacer("DIR", dir, "TOPIC", topic, "BROKERS", f.addrs).Replace(text)
	file := filepath.Join(dir, "job.sql")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
	flags := &runFlags{}
	flags.logFormat = "text"
	script, _, err := flags.load(file, newCollector(os.Stdout).sink)
	if err != nil {
		f.t.Fatal(err)
	}
	looker, err := flags.looker(file, script, forecastFlags{sample: 10_000})
	if err != nil {
		f.t.Fatal(err)
	}
	jobs := script.Jobs()
	r := jobReport{Job: jobs[0].Name}
	if err := r.forecasts(looker, 0, jobs[0], len(jobs)); err != nil {
		f.t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		f.t.Errorf("the check left something: %v %v", left, err)
	}
	return r
}

// TestCheckFindsUnwise: each wrong configuration is named, and a sensible one is not.
func TestCheckFindsUnwise(t *testing.T) {
	f := newFeed(t)
	sound := f.checked("events")
	for _, x := range sound.Findings {
		if x.Verdict != pass && x.Code != "dir-temporary" && x.Code != "table-temporary" { // as the folder of a test is
			t.Errorf("sensible: %+v", x)
		}
	}
	if len(sound.Forecasts) != 1 {
		t.Fatalf("%d forecasts", len(sound.Forecasts))
	}
	if p := sound.Forecasts[0]; p.Rate < 9 || p.Rate > 11 || p.FilesPerHour < 12 || p.FilesPerHour > 24 || p.PartitionsPerDay != 24 || p.Complete == 0 {
		t.Errorf("%+v", p.Forecast)
	}
	for _, x := range unwise {
		t.Run(x.rule, func(t *testing.T) {
			g := *f
			g.t = t
			topic := x.topic
			if topic == "" {
				topic = "events"
			}
			r := g.checked(topic, x.edits...)
			for _, y := range r.Findings {
				if y.Code == x.rule && y.Verdict != pass {
					t.Logf("%s %s: %s\n%s", y.Verdict, y.What, y.Why, y.Change)
					return
				}
			}
			t.Errorf("not found in %+v; forecast %+v", r.Findings, r.Forecasts)
		})
	}
}

// TestCheckAway: what did not answer is not asked again, and says so once.
func TestCheckAway(t *testing.T) {
	f := newFeed(t)
	r := f.checked("missing")
	for _, x := range r.Findings {
		if x.Code == "no-forecast" || x.Code == "sample" {
			t.Errorf("%+v", x)
		}
	}
	if len(r.Forecasts) != 0 {
		t.Errorf("%+v", r.Forecasts)
	}
}

// TestForecastJSON: a report can be read back by its names.
func TestForecastJSON(t *testing.T) {
	var p forecastReport
	p.Table, p.FilesPerHour, p.Visible = "lake", 12, 90*time.Second
	b, err := json.Marshal(jobReport{Forecasts: []forecastReport{p}, Findings: []finding{{Verdict: warn, What: "w", Why: "y", Code: "c", Change: "d"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"files_per_hour":12`, `"visible_seconds":90`, `"code":"c"`, `"change":"d"`, `"table":"lake"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
}
