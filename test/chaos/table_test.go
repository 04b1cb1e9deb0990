//go:build peer

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/account"
	"staunch/fs"
	"staunch/test/peer"
)

const partitions = 4

// place is where a table and its checkpoints lie.
type place struct {
	name string     // local or hdfs
	hdfs *peer.HDFS // nil on the local disk
}

func newPlace(t *testing.T, name string) place {
	t.Helper()
	switch name {
	case "local":
		return place{name: name}
	case "hdfs":
		return place{name: name, hdfs: peer.NewHDFS(t)}
	}
	t.Fatalf("-store %q: want local, hdfs or both with a comma", name)
	return place{}
}

// table is one job under attack, and its table.
type table struct {
	t                                          *testing.T
	stores                                     fs.Resolver
	dir, sql, lake, checkpoints, topic, format string
	flags                                      []string // of the program
	adm                                        *kadm.Client
	taken                                      []account.File // by somebody else, before they were visible
}

// binary returns the program with failpoints.
func binary(t *testing.T) string {
	t.Helper()
	b := os.Getenv("STAUNCH_FAILPOINT_BIN")
	if b == "" {
		t.Fatal("STAUNCH_FAILPOINT_BIN is not set: run `make crash` or `make peers`")
	}
	return b
}

func newTable(t *testing.T, at place, format string) *table {
	t.Helper()
	dir, name := t.TempDir(), fmt.Sprintf("crash-%s-%d", format, time.Now().UnixNano())
	base := dir
	if at.hdfs != nil {
		base = "hdfs://testbed/" + name
	}
	k := &table{t: t, stores: at.stores(t), dir: dir, sql: filepath.Join(dir, job+".sql"), lake: base + "/lake", checkpoints: base + "/checkpoints", topic: name, format: format}
	boot := peer.Kafka(t)
	if err := os.WriteFile(k.sql, []byte(fmt.Sprintf(`
SET 'execution.checkpointing.interval' = '300ms';
SET 'execution.checkpointing.dir' = '%s';
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
FROM events WHERE action <> 'heartbeat';`, k.checkpoints, k.topic, boot, k.topic, k.lake, format)), 0o644); err != nil {
		t.Fatal(err)
	}
	peer.Fill(t, k.topic, 0, partitions)
	cl, err := kgo.NewClient(kgo.SeedBrokers(boot))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	k.adm = kadm.NewClient(cl)
	return k
}

// run is one process of the job, or of a repair.
type run struct {
	k    *table
	cmd  *exec.Cmd
	log  bytes.Buffer // to be read when it has ended
	done chan struct{}
}

// start starts the job; env are more variables.
func (k *table) start(env ...string) *run {
	k.t.Helper()
	return k.process(append([]string{"run", k.sql}, k.flags...), env...)
}

// process starts the program with any arguments.
func (k *table) process(args []string, env ...string) *run {
	k.t.Helper()
	r := &run{k: k, cmd: exec.Command(binary(k.t), args...), done: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.log, &r.log
	if err := r.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait() // ProcessState says it all
	}()
	k.t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // of a test that failed meanwhile
		<-r.done
	})
	return r
}

// kill ends the process with SIGKILL and fails the test when it had ended by itself.
func (r *run) kill(what string) {
	r.k.t.Helper()
	_ = r.cmd.Process.Kill() // it may have ended just now
	<-r.done
	r.wasKilled(what)
}

// wasKilled fails the test when the ended process did not die of SIGKILL.
func (r *run) wasKilled(what string) {
	r.k.t.Helper()
	if r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		r.k.t.Fatalf("the job ended by itself (%s): %v\n%s", what, r.cmd.ProcessState, &r.log)
	}
}

// ends waits for the process's end.
func (r *run) ends(what string) {
	r.k.t.Helper()
	const patience = 2 * time.Minute
	select {
	case <-r.done:
	case <-time.After(patience):
		_ = r.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines
		<-r.done
		r.k.t.Fatalf("it did not end in %v: %s\n%s", patience, what, &r.log)
	}
}

// until waits for a condition while the process runs.
func (r *run) until(what string, patience time.Duration, met func() bool) {
	r.k.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-r.done:
			r.k.t.Fatalf("the job ended by itself before %s: %v\n%s", what, r.cmd.ProcessState, &r.log)
		case <-deadline:
			_ = r.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines
			<-r.done
			r.k.t.Fatalf("%s did not come in %v\n%s", what, patience, &r.log)
		case <-tick.C:
		}
	}
}

// committed gives the offsets that the job has committed to its group, all partitions together: rows below them are visible. It is
// negative while nothing is committed or the broker does not answer.
func (k *table) committed() int64 {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resp, err := k.adm.FetchOffsets(ctx, k.topic)
	if err != nil || len(resp) == 0 {
		return -1
	}
	sum := int64(0)
	resp.Offsets().Each(func(o kadm.Offset) { sum += o.At })
	return sum
}

// advances waits until the job has committed more than it had.
func (r *run) advances(what string) {
	r.k.t.Helper()
	from := r.k.committed()
	r.until(what, 2*time.Minute, func() bool { return r.k.committed() > max(from, 0) })
}

// produced waits for the first records: the generator must have found the broker before that is killed.
func (k *table) produced() {
	k.t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		sum := int64(0)
		if ends, err := k.adm.ListEndOffsets(context.Background(), k.topic); err == nil {
			ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		}
		if sum > 0 {
			return
		}
		select {
		case <-deadline:
			k.t.Fatal("the generator produced nothing in a minute")
		case <-tick.C:
		}
	}
}

// finish lets the job read all that comes until the topic ends, and stops it in peace. It gives the number of records.
func (k *table) finish(live *peer.Live) (records int) {
	k.t.Helper()
	r := k.start()
	r.advances("progress of the last process") // one that has hardly begun knows no signal yet, and all may have been committed before it
	records = live.Stop()
	r.until("the end of the topic", 5*time.Minute, func() bool { return k.committed() >= int64(records) })
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		k.t.Fatal(err)
	}
	<-r.done
	if r.cmd.ProcessState.ExitCode() != 3 {
		k.t.Fatalf("SIGTERM: %v, want exit code 3\n%s", r.cmd.ProcessState, &r.log)
	}
	return records
}

// verdict is what DuckDB counts in the table.
type verdict struct{ files, rows, doubled, lost, unexpected int }

// judge asks DuckDB, the audit and the independent verifier.
func (k *table) judge(records int) verdict {
	k.t.Helper()
	out, code := peer.Python(k.t, "verify.py", k.lake, "--format", k.format, "--partitions", fmt.Sprint(partitions), "--per-partition",
		fmt.Sprint(records/partitions), "--key", "off")
	if code != 0 {
		k.t.Errorf("DuckDB: %s", out)
	}
	var v verdict
	for _, word := range strings.Fields(out) {
		name, n, _ := strings.Cut(word, "=")
		if to := map[string]*int{"files": &v.files, "rows": &v.rows, "duplicates": &v.doubled, "missing": &v.lost, "unexpected": &v.unexpected}[name]; to != nil {
			if _, err := fmt.Sscan(n, to); err != nil {
				k.t.Errorf("DuckDB: %s: %v", out, err)
			}
		}
	}
	audit := exec.Command(binary(k.t), "audit", k.lake, "--output", "json")
	b, err := audit.Output()
	if err != nil {
		k.t.Errorf("staunch audit: %v\n%.3000s", err, b)
	}
	k.allMended(b)
	check := exec.Command(os.Getenv("TESTBED_PYTHON"), filepath.Join("..", "verifier", "verify.py"), k.lake)
	if b, err := check.CombinedOutput(); err != nil {
		k.t.Errorf("independent verifier: %v\n%.3000s", err, b)
	}
	return v
}

// watcher is the reader that looks at the table all the time.
type watcher struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	stop string
}

// watched is what it saw.
type watched struct {
	Reads, Rows, Doubled, Torn, Gone, Opened, Files, Again int
	Problems                                               []string
}

func (k *table) watch() *watcher {
	k.t.Helper()
	w := &watcher{stop: filepath.Join(k.dir, "stop")}
	w.cmd = exec.Command(os.Getenv("TESTBED_PYTHON"), "reader.py", k.lake, k.format, w.stop)
	w.cmd.Stdout, w.cmd.Stderr = &w.out, os.Stderr
	if err := w.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		if w.cmd.ProcessState == nil {
			_ = w.cmd.Process.Kill() // of a test that failed before its end
			_ = w.cmd.Wait()
		}
	})
	return w
}

// end lets the reader look once more at all files and gives what it saw.
func (w *watcher) end(t *testing.T) (seen watched) {
	t.Helper()
	if err := os.WriteFile(w.stop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	failed := w.cmd.Wait()
	if err := json.Unmarshal(w.out.Bytes(), &seen); err != nil {
		t.Fatalf("the reader: %v, printed %q", failed, &w.out)
	}
	if failed != nil || len(seen.Problems) > 0 {
		t.Errorf("the concurrent reader saw: %s", &w.out)
	}
	return seen
}
