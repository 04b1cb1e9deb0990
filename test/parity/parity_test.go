//go:build peer

package parity

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/test/peer"
)

var records = flag.Int("records", 200_000, "records of the topic")

const partitions = 4

// statements is the example job; both formats write the same rows.
func statements(topic, boot, lake, format string) string {
	// A row format's file stays open over checkpoints on Flink: it must roll to be committed.
	extra := ", 'sink.rolling-policy.rollover-interval'='2 s', 'sink.rolling-policy.check-interval'='1 s'"
	if format == "parquet" {
		extra = ", 'parquet.utc-timezone'='true', 'parquet.write.int64.timestamp'='true'"
	}
	return fmt.Sprintf(`
SET 'execution.checkpointing.interval' = '5s';
SET 'parallelism.default' = '2';
CREATE TABLE events (
  user_id BIGINT, item_id BIGINT, category_id INT, action STRING, amount DECIMAL(10,2),
  ts TIMESTAMP(3), device STRING, url STRING, seq BIGINT,
  part INT METADATA FROM 'partition' VIRTUAL, off BIGINT METADATA FROM 'offset' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector'='kafka', 'topic'='%s', 'properties.bootstrap.servers'='%s',
        'properties.group.id'='%s', 'scan.startup.mode'='earliest-offset', 'format'='json');
CREATE TABLE lake (
  user_id BIGINT, item_id BIGINT, action STRING, amount DECIMAL(10,2), ts TIMESTAMP(3), part INT, off BIGINT,
  dt STRING, `+"`hour`"+` STRING
) PARTITIONED BY (dt, `+"`hour`"+`) WITH ('connector'='filesystem', 'path'='%s', 'format'='%s'%s,
        'sink.partition-commit.trigger'='partition-time', 'sink.partition-commit.delay'='1 h',
        'sink.partition-commit.policy.kind'='success-file',
        'partition.time-extractor.timestamp-pattern'='$dt $hour:00:00');
INSERT INTO lake SELECT user_id, item_id, action, amount, ts, part, off,
       DATE_FORMAT(ts,'yyyy-MM-dd'), DATE_FORMAT(ts,'HH') FROM events WHERE action <> 'heartbeat';
`, topic, boot, topic, lake, format, extra)
}

// TestSameFileSameRows runs the example job from one unchanged file here and on Flink.
func TestSameFileSameRows(t *testing.T) {
	topic := fmt.Sprintf("parity-%d", time.Now().UnixNano())
	peer.Fill(t, topic, *records, partitions)
	for _, c := range []struct{ format, on string }{{"parquet", "disk"}, {"json", "disk"}, {"parquet", "hdfs"}} {
		format := c.format
		t.Run(c.format+" on "+c.on, func(t *testing.T) {
			dir := t.TempDir()
			file, lake := filepath.Join(dir, "orders-"+format+".sql"), filepath.Join(dir, "lake")
			s := store{t: t}
			if c.on == "hdfs" {
				s.hdfs, lake = peer.NewHDFS(t), "hdfs://testbed/"+topic
			}
			if err := os.WriteFile(file, []byte(statements(topic, peer.Kafka(t), lake, format)), 0o644); err != nil {
				t.Fatal(err)
			}
			cl, err := kgo.NewClient(kgo.SeedBrokers(peer.Kafka(t)))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			adm := kadm.NewClient(cl)

			here(t, file, dir, adm, topic)
			ours := lake + "-staunch"
			judge(t, lake)
			s.move(lake, ours)
			if _, err := adm.DeleteGroup(context.Background(), topic); err != nil {
				t.Fatal(err)
			}
			there(t, file, lake, adm, topic, s)
			if _, err := adm.DeleteGroup(context.Background(), topic); err != nil {
				t.Logf("group: %v", err)
			}
			out, err := exec.Command(os.Getenv("TESTBED_PYTHON"), "compare.py", ours, lake, format).CombinedOutput()
			t.Logf("staunch, then Flink: %s", strings.TrimSpace(string(out)))
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// await polls until the job's group has all records committed.
func await(t *testing.T, adm *kadm.Client, group string, alive func() error) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		sum := int64(0)
		if resp, err := adm.FetchOffsets(context.Background(), group); err == nil {
			resp.Offsets().Each(func(o kadm.Offset) { sum += o.At })
		}
		if sum >= int64(*records) {
			return
		}
		if err := alive(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d of %d records are committed to the group", sum, *records)
		}
	}
}

func here(t *testing.T, file, dir string, adm *kadm.Client, group string) {
	t.Helper()
	bin := os.Getenv("STAUNCH_BIN")
	if bin == "" {
		t.Fatal("STAUNCH_BIN is not set: run `make peers`")
	}
	cmd := exec.Command(bin, "run", file)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	log := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	await(t, adm, group, func() error {
		select {
		case err := <-done:
			return fmt.Errorf("staunch ended: %v\n%s", err, log)
		default:
			return nil
		}
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-done
	if cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("SIGTERM: %v\n%s", cmd.ProcessState, log)
	}
}

// judge asks the audit and the independent verifier about our table.
func judge(t *testing.T, lake string) {
	t.Helper()
	if b, err := exec.Command(os.Getenv("STAUNCH_BIN"), "audit", lake).CombinedOutput(); err != nil {
		t.Errorf("staunch audit: %v\n%s", err, b)
	}
	if b, err := exec.Command(os.Getenv("TESTBED_PYTHON"), filepath.Join("..", "verifier", "verify.py"), lake).CombinedOutput(); err != nil {
		t.Errorf("independent verifier: %v\n%.2000s", err, b)
	}
}

var jobID = regexp.MustCompile(`Job ID: ([0-9a-f]{32})`)

func there(t *testing.T, file, lake string, adm *kadm.Client, group string, s store) {
	t.Helper()
	fl := peer.Flink(t)
	out := peer.Script(t, "flink.sh", "sql", file)
	m := jobID.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("Flink gave no job id:\n%s", out)
	}
	await(t, adm, group, func() error { return nil })
	s.settled(lake)
	var trigger struct {
		ID string `json:"request-id"`
	}
	call(t, http.MethodPost, fl.REST+"/jobs/"+m[1]+"/stop", `{"drain":false}`, &trigger)
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		var st struct {
			Status struct {
				ID string `json:"id"`
			} `json:"status"`
			Operation json.RawMessage `json:"operation"`
		}
		call(t, http.MethodGet, fl.REST+"/jobs/"+m[1]+"/savepoints/"+trigger.ID, "", &st)
		if st.Status.ID == "COMPLETED" {
			if bytes.Contains(st.Operation, []byte("failure-cause")) {
				t.Fatalf("Flink did not stop: %.500s", st.Operation)
			}
			return
		}
		<-tick.C
	}
	t.Fatal("Flink did not stop in time")
}

// store is where the tables lie: the disk, or an HDFS pair.
type store struct {
	t    *testing.T
	hdfs *peer.HDFS
}

func (s store) move(from, to string) {
	s.t.Helper()
	if s.hdfs != nil {
		s.hdfs.Shell("-mv", from, to)
	} else if err := os.Rename(from, to); err != nil {
		s.t.Fatal(err)
	}
}

// inProgress counts the files that Flink has not committed, which have a dot before their name.
func (s store) inProgress(lake string) int {
	s.t.Helper()
	if s.hdfs != nil {
		return strings.Count(s.hdfs.Shell("-ls", "-R", lake), "/.")
	}
	hidden := 0
	_ = filepath.WalkDir(lake, func(p string, d os.DirEntry, err error) error { // files move meanwhile
		if err == nil && strings.HasPrefix(d.Name(), ".") {
			hidden++
		}
		return nil
	})
	return hidden
}

// settled waits until Flink has no file in progress any more.
func (s store) settled(lake string) {
	s.t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		hidden := s.inProgress(lake)
		if hidden == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("Flink still has %d files in progress", hidden)
		}
	}
}

func call(t *testing.T, method, url, body string, out any) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %v", method, url, resp.Status, err)
	}
}
