//go:build peer

package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ends returns the sum of the end offsets of a topic's partitions, and their number.
func ends(t *testing.T, topic string) (records int64, partitions int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(Kafka(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	offsets, err := kadm.NewClient(cl).ListEndOffsets(context.Background(), topic)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	offsets.Each(func(o kadm.ListedOffset) { records, partitions = records+o.Offset, partitions+1 })
	return records, partitions
}

// TestVerifierTellsWrongFromRight: the judge of all later tests must find each kind of damage.
func TestVerifierTellsWrongFromRight(t *testing.T) {
	row := func(part, seq int) string { return fmt.Sprintf("{\"part\":%d,\"seq\":%d}\n", part, seq) }
	var all []string
	for p := range 2 {
		for s := range 3 {
			all = append(all, row(p, s))
		}
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		code  int
	}{
		"exact":                    {map[string]string{"dt=1/a": strings.Join(all, ""), "_SUCCESS": "", "_staunch/job/1.staunch": "x", ".b": row(0, 0), "_DUMP_TEMPORARY/c.pending": row(0, 1)}, "duplicates=0 nulls=0 missing=0 unexpected=0", 0},
		"one twice":                {map[string]string{"a": strings.Join(all, ""), "b": row(1, 2)}, "duplicates=1 nulls=0 missing=0", 1},
		"one missing":              {map[string]string{"a": strings.Join(all[1:], "")}, "missing=1", 1},
		"one twice, one missing":   {map[string]string{"a": strings.Join(all[1:], ""), "b": all[1]}, "duplicates=1 nulls=0 missing=1", 1},
		"one unknown, one missing": {map[string]string{"a": strings.Join(all[1:], "") + row(0, 9)}, "missing=1 unexpected=1", 1},
		"another partition":        {map[string]string{"a": strings.Join(all, "") + row(2, 0)}, "missing=0 unexpected=1", 1},
		"a null":                   {map[string]string{"a": strings.Join(all[1:], "") + "{\"part\":0}\n"}, "nulls=1 missing=1", 1},
		"nothing":                  {map[string]string{"_x": "1"}, "no committed files", 1},
	} {
		dir := t.TempDir()
		for f, text := range c.files {
			f = filepath.Join(dir, f)
			if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, code := Python(t, "verify.py", dir, "--format", "json", "--partitions", "2", "--per-partition", "3")
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: code %d, want %d and %q in: %s", name, code, c.code, c.want, out)
		}
	}
}

func TestKafkaKeepsRecordsOverKill(t *testing.T) {
	Fill(t, "peer-kill", 2000, 4)
	KillKafka(t)
	RestartKafka(t)
	if n, p := ends(t, "peer-kill"); n != 2000 || p != 4 {
		t.Errorf("%d records in %d partitions after kill -9", n, p)
	}
}

func TestFlinkWritesWhatTheVerifierAccepts(t *testing.T) {
	Fill(t, "peer-flink", 20000, 4)
	Flink(t)
	out := t.TempDir()
	t.Setenv("OUT_DIR", out)
	line, code := Python(t, "run_sql.py", filepath.Join(Dir(), "sql", "c_json_files.sql"), "--topic", "peer-flink", "--records", "20000", "--run-id", "peer")
	if code != 0 {
		t.Fatal(line)
	}
	var result struct {
		Files       int `json:"files"`
		Checkpoints int `json:"checkpoints"`
	}
	if err := json.Unmarshal([]byte(line), &result); err != nil || result.Files == 0 || result.Checkpoints == 0 {
		t.Fatalf("%v: %s", err, line)
	}
	if verdict, code := Python(t, "verify.py", filepath.Join(out, "c-peer"), "--format", "json", "--per-partition", "5000"); code != 0 {
		t.Error(verdict)
	}
}

// webList gives the answer of a NameNode's WebHDFS to a listing of the root.
func webList(t *testing.T, h *HDFS, nameNode string) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + h.Web[Index(nameNode)] + "/webhdfs/v1/?op=LISTSTATUS")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// TestHDFSKeepsFilesOverEachFailover: whatever the other tests do to a NameNode must work here first.
func TestHDFSKeepsFilesOverEachFailover(t *testing.T) {
	h := NewHDFS(t)
	folder := fmt.Sprintf("peer-%d", os.Getpid())
	h.Shell("-mkdir", "-p", "hdfs://testbed/"+folder)
	there := func(what, want string) {
		t.Helper()
		active := h.Active()
		if want != "" && active != want {
			t.Errorf("%s: %s is active, want %s", what, active, want)
		}
		if code, list := webList(t, h, active); code != http.StatusOK || !strings.Contains(list, folder) {
			t.Errorf("%s: active says %d %s", what, code, list)
		}
		if code, list := webList(t, h, Other(active)); code != http.StatusForbidden || !strings.Contains(list, "StandbyException") {
			t.Errorf("%s: standby says %d %s", what, code, list)
		}
	}
	first := h.Active()
	there("at first", "")
	h.Failover()
	there("after a graceful failover", Other(first))
	killed := h.KillActive()
	if killed != Other(first) {
		t.Errorf("killed %s, %s was active", killed, Other(first))
	}
	h.Restart(killed)
	there("after a killed active", first)
	h.Kill(first, "STOP")
	h.Activate(Other(first))
	h.Kill(first, "CONT")
	h.Demote(first)
	there("after a stopped active", Other(first))

	h.SafeMode(true)
	if on := h.Admin("-safemode", "get"); !strings.Contains(on, "ON") {
		t.Errorf("safe mode: %s", on)
	}
	h.SafeMode(false)
	h.Quota("/"+folder, 1<<30)
	if q := h.Shell("-count", "-q", "/"+folder); !strings.Contains(q, fmt.Sprint(1<<30)) {
		t.Errorf("quota: %s", q)
	}
	h.Quota("/"+folder, 0)
}
