//go:build peer

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/fault/failpoint"
	"staunch/test/peer"
)

var (
	kills = flag.Int("kills", 10, "kills of the process, each at a failpoint or at a random moment")
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random moments")
)

const partitions = 4

// table is one job under attack.
type table struct {
	t                             *testing.T
	dir, sql, lake, topic, format string
	records                       int
	boot                          string
}

func binary(t *testing.T) string {
	t.Helper()
	b := os.Getenv("STAUNCH_FAILPOINT_BIN")
	if b == "" {
		t.Fatal("STAUNCH_FAILPOINT_BIN is not set: run `make crash` or `make peers`")
	}
	return b
}

func newTable(t *testing.T, format string, records int) *table {
	dir := t.TempDir()
	k := &table{t: t, dir: dir, sql: filepath.Join(dir, "orders.sql"), lake: filepath.Join(dir, "lake"), format: format, records: records,
		topic: fmt.Sprintf("crash-%s-%d", format, time.Now().UnixNano()), boot: peer.Kafka(t)}
	if err := os.WriteFile(k.sql, []byte(fmt.Sprintf(`
SET 'execution.checkpointing.interval' = '300ms';
SET 'execution.checkpointing.dir' = '%s/checkpoints';
SET 'parallelism.default' = '2';
SET 'restart-strategy.type' = 'exponential-delay';
SET 'restart-strategy.exponential-delay.initial-backoff' = '200 ms';
CREATE TABLE events (
  user_id BIGINT, item_id BIGINT, category_id INT, action STRING, amount DECIMAL(10,2), ts TIMESTAMP(3), device STRING, url STRING, seq BIGINT,
  part INT METADATA FROM 'partition' VIRTUAL, off BIGINT METADATA FROM 'offset' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector'='kafka', 'topic'='%s', 'properties.bootstrap.servers'='%s', 'properties.group.id'='%s',
        'scan.startup.mode'='earliest-offset', 'format'='json');
CREATE TABLE lake (
  user_id BIGINT, item_id BIGINT, action STRING, amount DECIMAL(10,2), ts TIMESTAMP(3), part INT, off BIGINT, dt STRING, `+"`hour`"+` STRING
) PARTITIONED BY (dt, `+"`hour`"+`) WITH ('connector'='filesystem', 'path'='%s', 'format'='%s',
        'sink.partition-commit.trigger'='partition-time', 'sink.partition-commit.delay'='1 h', 'sink.partition-commit.policy.kind'='success-file',
        'partition.time-extractor.timestamp-pattern'='$dt $hour:00:00');
INSERT INTO lake SELECT user_id, item_id, action, amount, ts, part, off, DATE_FORMAT(ts,'yyyy-MM-dd'), DATE_FORMAT(ts,'HH')
FROM events WHERE action <> 'heartbeat';`, dir, k.topic, k.boot, k.topic, k.lake, format)), 0o644); err != nil {
		t.Fatal(err)
	}
	peer.Fill(t, k.topic, 0, partitions)
	return k
}

// run starts the job; env are more variables.
func (k *table) run(env ...string) (*exec.Cmd, *bytes.Buffer, <-chan error) {
	k.t.Helper()
	cmd := exec.Command(binary(k.t), "run", k.sql)
	cmd.Env = append(os.Environ(), env...)
	log := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return cmd, log, done
}

// visible counts the table's data files.
func (k *table) visible() int {
	n := 0
	_ = filepath.WalkDir(k.lake, func(p string, d os.DirEntry, err error) error { // the job makes and moves files meanwhile
		if err == nil && !d.IsDir() && strings.HasSuffix(p, "."+k.format) {
			n++
		}
		return nil
	})
	return n
}

// group gives the offsets that the job has committed to its group, all partitions together.
func (k *table) group(adm *kadm.Client) int64 {
	resp, err := adm.FetchOffsets(context.Background(), k.topic)
	if err != nil {
		return -1
	}
	sum := int64(0)
	resp.Offsets().Each(func(o kadm.Offset) { sum += o.At })
	return sum
}

// TestCrash kills the process at each failpoint and at random (P1, P4, P5).
func TestCrash(t *testing.T) {
	turn := &rotation{int(*seed % uint64(len(failpoint.Points)))}
	for _, format := range []string{"parquet", "json"} {
		t.Run(format, func(t *testing.T) { crash(t, format, (*kills+1)/2, turn) })
	}
}

// rotation takes the failpoints in turn, from a place drawn by the seed, so that enough kills reach all of them.
type rotation struct{ at int }

func (r *rotation) next() string {
	r.at++
	return failpoint.Points[r.at%len(failpoint.Points)]
}

func crash(t *testing.T, format string, kills int, turn *rotation) {
	rng := rand.New(rand.NewPCG(*seed, uint64(len(format))))
	t.Logf("seed %d", *seed)
	records := 20_000 * kills
	k := newTable(t, format, records)
	stop := filepath.Join(k.dir, "stop")
	reader := exec.Command(os.Getenv("TESTBED_PYTHON"), "reader.py", k.lake, format, stop)
	watched := &bytes.Buffer{}
	reader.Stdout, reader.Stderr = watched, watched
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		peer.Fill(t, k.topic, records, partitions, "-rate", fmt.Sprint(10_000))
	}()
	k.produced(filled)
	count := map[string]int{}
	late := 0
	for i := range kills {
		if i == kills/2 {
			peer.KillKafka(t)
			peer.RestartKafka(t)
		}
		point := "random"
		var env []string
		if i%3 != 2 {
			point = turn.next()
			times := 1 + rng.IntN(3)
			switch step, _, _ := strings.Cut(point, "."); step {
			case "begin", "claim", "restore", "partition": // passed once a run, or seldom
				times = 1
			}
			env = []string{fmt.Sprintf("STAUNCH_FAILPOINT=%s:%d", point, times)}
		}
		cmd, log, done := k.run(env...)
		limit := time.Duration(700+rng.IntN(2500)) * time.Millisecond
		if point != "random" {
			limit = 6 * time.Second // a point that this run does not pass is killed all the same
		}
		select {
		case <-done:
			if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the job ended by itself (kill %d, %s): %v\n%s", i, point, cmd.ProcessState, log)
			}
			count[point]++
		case <-time.After(limit):
			_ = cmd.Process.Kill() // it may have ended just now
			<-done
			count["random"]++
		}
		if k.visible() > 0 {
			late++
		}
	}
	<-filled
	k.finish()
	if err := os.WriteFile(stop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reader.Wait(); err != nil {
		t.Errorf("the concurrent reader saw: %s", watched)
	}
	t.Logf("%d kills, %d of them after the first visible file: %v; reader: %s", kills, late, count, strings.TrimSpace(watched.String()))
	if kills >= 10 && late*2 < kills {
		t.Errorf("only %d of %d kills came after the first visible file", late, kills)
	}
	k.judge()
}

// admin asks the broker; it is closed with the test.
func (k *table) admin() *kadm.Client {
	k.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.boot))
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

// produced waits for the first records: the generator must have found the broker before that is killed.
func (k *table) produced(filled <-chan struct{}) {
	k.t.Helper()
	adm := k.admin()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		sum := int64(0)
		if ends, err := adm.ListEndOffsets(context.Background(), k.topic); err == nil {
			ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		}
		if sum > 0 {
			return
		}
		select {
		case <-filled:
			k.t.Fatal("the generator ended without a record")
		case <-deadline:
			k.t.Fatal("the generator produced nothing in a minute")
		case <-tick.C:
		}
	}
}

// finish lets the job read all and stops it in peace.
func (k *table) finish() {
	k.t.Helper()
	adm := k.admin()
	cmd, log, done := k.run()
	deadline := time.After(3 * time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for k.group(adm) < int64(k.records) {
		select {
		case err := <-done:
			k.t.Fatalf("the job ended by itself: %v\n%s", err, log)
		case <-deadline:
			k.t.Fatalf("the job did not read everything in time: %d of %d\n%s", k.group(adm), k.records, log)
		case <-tick.C:
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		k.t.Fatal(err)
	}
	<-done
	if cmd.ProcessState.ExitCode() != 3 {
		k.t.Fatalf("SIGTERM: %v, want exit code 3\n%s", cmd.ProcessState, log)
	}
}

// judge asks DuckDB, the audit and the independent verifier.
func (k *table) judge() {
	k.t.Helper()
	out, code := peer.Python(k.t, "verify.py", k.lake, "--format", k.format, "--partitions", fmt.Sprint(partitions), "--per-partition",
		fmt.Sprint(k.records/partitions), "--key", "off")
	if code != 0 {
		k.t.Errorf("DuckDB: %s", out)
	}
	k.t.Logf("DuckDB: %s", strings.TrimSpace(out))
	audit := exec.Command(binary(k.t), "audit", k.lake, "--output", "json")
	b, err := audit.Output()
	if err != nil {
		k.t.Errorf("staunch audit: %v\n%s", err, b)
	}
	var report any
	if json.Unmarshal(b, &report) != nil {
		k.t.Errorf("staunch audit prints no JSON: %.300s", b)
	}
	v := exec.Command(os.Getenv("TESTBED_PYTHON"), filepath.Join("..", "verifier", "verify.py"), k.lake)
	if b, err := v.CombinedOutput(); err != nil {
		k.t.Errorf("independent verifier: %v\n%.2000s", err, b)
	}
}
