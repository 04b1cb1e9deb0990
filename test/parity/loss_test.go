//go:build peer

package parity

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"staunch/audit/foreign"
	"staunch/test/peer"
)

var lostLine = regexp.MustCompile(`job RUNNING, exceptions 0, (\d+) of (\d+) rows visible, (\d+) lost\s+table (\S+)`)

// TestAuditNamesWhatFlinkLost: real Flink passes over a pending file that vanished, without a word. The audit of its table, which has no record of what should be
// in it, names the lost offsets: from the table alone, and with the broker and what the job's group has committed.
func TestAuditNamesWhatFlinkLost(t *testing.T) {
	peer.Flink(t)
	topic := fmt.Sprintf("loss-%d", time.Now().UnixNano())
	gen := filepath.Join(t.TempDir(), "gen_events")
	build := exec.Command("go", "build", "-o", gen, "staunch/test/peer/gen_events")
	build.Dir = peer.Dir()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("GEN_EVENTS", gen)
	const records = 40_000
	peer.Fill(t, topic, records, partitions)
	out, code := peer.Python(t, "flink_silent_loss.py", topic, fmt.Sprint(records), "--more")
	t.Log(out)
	m := lostLine.FindStringSubmatch(out)
	if code != 0 || m == nil {
		t.Fatalf("exit code %d", code)
	}
	lost, _ := strconv.ParseInt(m[3], 10, 64)
	if lost == 0 {
		t.Fatal("Flink lost nothing")
	}
	// The same table on HDFS.
	peer.NewHDFS(t).Shell("-put", m[4], "/"+topic)
	for at, against := range map[string][]string{m[4]: nil, "hdfs://testbed/" + topic: {"--against-broker", "--bootstrap-server", peer.Kafka(t), "--topic", topic, "--group", "silent-loss"}} {
		cmd := exec.Command(os.Getenv("STAUNCH_BIN"), append([]string{"audit", at, "--columns", "part,seq", "--output", "json"}, against...)...)
		b, err := cmd.Output()
		var got struct{ Tables []*foreign.Report }
		if jerr := json.Unmarshal(b, &got); jerr != nil || cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("%v: %v\n%s", err, jerr, b)
		}
		r, kind, named := got.Tables[0], foreign.Gap, int64(0)
		if against != nil {
			kind = foreign.RecordMissing
		}
		for _, p := range r.Problems {
			// The middle third of the partition's records: what stood in the removed file.
			if o := p.Offsets; p.Kind != kind || len(o) != 1 || o[0].Offsets != fmt.Sprintf("%d..%d", records/partitions, 2*records/partitions-1) {
				t.Errorf("%+v", p)
			}
			named += p.Offsets[0].Count
		}
		if named != lost || r.Rows != 3*records-lost || len(r.Splits) != partitions {
			t.Errorf("%d offsets are named, DuckDB says that %d are lost: %+v", named, lost, r)
		}
	}
}
