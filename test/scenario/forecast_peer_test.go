//go:build peer

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"staunch/account"
	"staunch/test/peer"
)

// checked is what check says as JSON.
type checked struct {
	Jobs []struct {
		Findings []struct{ Verdict, Code, What, Why, Change string }
		Forecast []struct {
			Measured     bool
			Rows         float64 `json:"rows_per_second"`
			Files        float64 `json:"files_per_checkpoint"`
			FilesPerHour float64 `json:"files_per_hour"`
			FileBytes    float64 `json:"file_bytes"`
			OpenFiles    float64 `json:"open_files"`
			OpenBytes    float64 `json:"open_files_bytes"`
			Visible      float64 `json:"visible_seconds"`
		} `json:"forecasts"`
	}
}

// has gives the verdict of a rule, "" if it was not found.
func (c *checked) has(code string) string {
	for _, x := range c.Jobs[0].Findings {
		if x.Code == code {
			return x.Verdict
		}
	}
	return ""
}

// checks runs check, whatever it finds.
func (s *script) checks(args ...string) (out checked) {
	s.t.Helper()
	p := s.program(append([]string{"check", "--output", "json", s.file}, args...)...)
	<-p.done
	if err := json.Unmarshal([]byte(p.stdout()), &out); err != nil || len(out.Jobs) != 1 {
		s.t.Fatalf("%v; check printed:\n%s", err, p.text())
	}
	return out
}

// steady is a job over a live topic, with a checkpoint every three seconds and a file for each of five devices and each subtask.
const steady = `SET 'execution.checkpointing.interval' = '3 s';
SET 'parallelism.default' = '2';
SET 'metrics.reporter.prom.port' = '0';
CREATE TABLE events (user_id BIGINT, item_id BIGINT, url STRING, amount DECIMAL(10, 2), device STRING, seq BIGINT) WITH ('connector' = 'kafka', 'topic' = '%s',
  'properties.bootstrap.servers' = '%s', 'scan.startup.mode' = 'latest-offset', 'format' = 'json');
CREATE TABLE lake (user_id BIGINT, item_id BIGINT, url STRING, amount DECIMAL(10, 2), seq BIGINT, device STRING) PARTITIONED BY (device)
  WITH ('connector' = 'filesystem', 'path' = '$DIR/lake', 'format' = 'parquet');
INSERT INTO lake SELECT user_id, item_id, url, amount, seq, device FROM events WHERE device IS NOT NULL;
`

// TestPeerForecast: what check forecasts is what the job then does, within 20 %.
func TestPeerForecast(t *testing.T) {
	k := newTopic(t, 4)
	live := peer.FillLive(t, k.name, 4, 2000)
	ends := func() (n int64) {
		o, err := k.adm.ListEndOffsets(context.Background(), k.name)
		if err != nil {
			return 0
		}
		for _, p := range o[k.name] {
			n += p.Offset
		}
		return n
	}
	until(t, "records of eight seconds", nil, func() bool { return ends() >= 16_000 })
	s := newScript(t, fmt.Sprintf(steady, k.name, peer.Kafka(t)))
	said := s.checks()
	if len(said.Jobs[0].Forecast) != 1 || !said.Jobs[0].Forecast[0].Measured {
		t.Fatalf("%+v", said)
	}
	if _, err := os.Stat(s.path("lake")); !os.IsNotExist(err) {
		t.Errorf("check made the table's folder: %v", err)
	}
	p := said.Jobs[0].Forecast[0]
	for code, want := range map[string]string{"small-files": "warn", "one-replica": "warn", "restart-gives-up": "warn", "interval": "pass", "no-metrics": ""} {
		if got := said.has(code); got != want {
			t.Errorf("rule %s: %q, want %q", code, got, want)
		}
	}

	part := s.checks("--sample", "3000").Jobs[0].Forecast[0] // half of what comes between two checkpoints

	job := s.start()
	m := job.metrics()
	number := func() float64 { return m.sum("numberOfCompletedCheckpoints") }
	after := func(n float64) time.Time {
		until(t, fmt.Sprintf("%v checkpoints", n), job, func() bool { return number() >= n })
		return time.Now()
	}
	began := after(2)
	first, held, open := number(), 0.0, 0.0
	for n := first; n < first+4; n++ {
		after(n + 1)
		held, open = math.Max(held, m.sum("maxOpenFileBytes")), math.Max(open, m.sum("maxOpenFiles"))
	}
	cycle := time.Since(began).Seconds() / (number() - first)
	job.stop()
	live.Stop()

	files, bytes, delay := checkpointFiles(t, s.path("lake"))
	t.Logf("forecast: %+v", p)
	t.Logf("from a part: %+v", part)
	t.Logf("measured: files an hour %.0f, bytes a file %.0f, open files %.0f with %.0f bytes, a checkpoint every %.2f s, visible after %.2f s", files*3600/cycle, bytes, open, held, cycle, delay)
	if part.Measured {
		t.Error("a part of a checkpoint is no measurement")
	}
	near := func(what string, forecast, measured, within float64) {
		t.Helper()
		if math.Abs(forecast-measured) > within*measured {
			t.Errorf("%s: forecast %.0f, measured %.0f", what, forecast, measured)
		}
	}
	near("rows a second", p.Rows, 2000, 0.2)
	near("files an hour", p.FilesPerHour, files*3600/cycle, 0.2)
	near("bytes a file", p.FileBytes, bytes, 0.2)
	near("open files", p.OpenFiles, open, 0.2)
	near("bytes of open files", p.OpenBytes, held, 0.2)
	near("files an hour, from a part", part.FilesPerHour, files*3600/cycle, 0.2)
	near("bytes a file, from a part", part.FileBytes, bytes, 0.25)
	near("bytes of open files, from a part", part.OpenBytes, held, 0.4) // buffers grow in steps
	if delay < 0.8*p.Visible || delay > 1.2*p.Visible {
		t.Errorf("rows were visible after %.2f s, the forecast is %.2f s", delay, p.Visible)
	}
}

// checkpointFiles gives the mean number of files of a checkpoint and their mean length, the first and the last checkpoint left out; and how many
// seconds after its arrival the unluckiest row of a checkpoint became visible, the median: it came right after the barrier before, at which that
// one's files were written last, and was visible when the last of its files was renamed, which is what changed their inodes last.
func checkpointFiles(t *testing.T, table string) (files, bytes, delay float64) {
	t.Helper()
	type checkpoint struct {
		files, bytes     float64
		written, visible time.Time
	}
	all := map[account.CheckpointID]*checkpoint{}
	for _, f := range visible(t, table) {
		n, ok := account.ParseFileName(filepath.Base(f))
		info, err := os.Stat(f)
		if !ok || err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		c := all[n.Checkpoint]
		if c == nil {
			c = &checkpoint{}
			all[n.Checkpoint] = c
		}
		c.files++
		c.bytes += float64(info.Size())
		if at := info.ModTime(); at.After(c.written) {
			c.written = at
		}
		changed := info.Sys().(*syscall.Stat_t).Ctim
		if at := time.Unix(changed.Sec, changed.Nsec); at.After(c.visible) {
			c.visible = at
		}
	}
	ids := slices.Sorted(maps.Keys(all))
	if len(ids) < 5 {
		t.Fatalf("only %d checkpoints", len(ids))
	}
	var delays []float64
	for i := 1; i < len(ids)-1; i++ {
		files += all[ids[i]].files
		bytes += all[ids[i]].bytes
		delays = append(delays, all[ids[i]].visible.Sub(all[ids[i-1]].written).Seconds())
	}
	slices.Sort(delays)
	return files / float64(len(ids)-2), bytes / files, delays[len(delays)/2]
}

func visible(t *testing.T, table string) []string { t.Helper(); return files(t, table, "parquet") }
