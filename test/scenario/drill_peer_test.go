//go:build peer

package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"staunch/test/peer"
)

// drilled is what is looked at of a drill's JSON.
type drilled struct {
	Held  bool `json:"held"`
	Drill struct {
		Undisturbed struct {
			Rows int64 `json:"rows"`
		} `json:"undisturbed"`
		Alike bool `json:"rows_alike"`
		Runs  []struct {
			Fault    string   `json:"fault"`
			Verdict  string   `json:"verdict"`
			Restarts int      `json:"restarts"`
			Rows     int64    `json:"rows"`
			Lost     int64    `json:"lost"`
			Doubled  int64    `json:"doubled"`
			Named    int64    `json:"named_lost"`
			Offsets  []string `json:"named_offsets"`
			Error    string   `json:"error"`
			Problems []string `json:"problems"`
		} `json:"runs"`
	} `json:"drill"`
	Untouched []struct {
		What string `json:"what"`
		Ours bool   `json:"touched_by_the_drill"`
	} `json:"untouched"`
}

// TestDrillBesideTheJob: the example job reads a real broker and writes its table while two drills of the same file go on beside it. Both drills hold,
// a file that is taken is named with its rows, and the real job's table is exact in the end.
func TestDrillBesideTheJob(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	topic := "drill-" + strings.ToLower(filepath.Base(dir)) + "-" + filepath.Base(filepath.Dir(dir))
	peer.Fill(t, topic, 30_000, 4)
	text, err := os.ReadFile("../../examples/orders.sql")
	if err != nil {
		t.Fatal(err)
	}
	sql := strings.NewReplacer("127.0.0.1:19092", peer.Kafka(t), "'/tmp/staunch/", "'"+dir+"/", "'topic' = 'events'", "'topic' = '"+topic+"'",
		"'properties.group.id' = 'orders'", "'properties.group.id' = '"+topic+"'", "interval' = '5s'", "interval' = '500 ms'").Replace(string(text))
	file := filepath.Join(dir, "orders.sql")
	if err := os.WriteFile(file, []byte("SET 'execution.checkpointing.dir' = '"+dir+"/checkpoints';\n"+sql), 0o600); err != nil {
		t.Fatal(err)
	}
	real := exec.Command(program, "run", file)
	var log bytes.Buffer
	real.Stderr = &log
	if err := real.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if real.ProcessState == nil {
			_ = real.Process.Kill()
		}
	})
	drill := func(args ...string) (d drilled) {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"drill", file, "--records", "4000", "--output", "json"}, args...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		var x *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &x) {
			t.Error(err)
		}
		if err := json.Unmarshal(out.Bytes(), &d); err != nil || cmd.ProcessState.ExitCode() != 0 || !d.Held {
			t.Errorf("%v: exit %d, %v\n%s%s", args, cmd.ProcessState.ExitCode(), err, out.String(), errs.String())
		}
		return d
	}
	var all, taken drilled
	var wg sync.WaitGroup
	wg.Go(func() { all = drill("--steps", "append certificate") })
	wg.Go(func() { taken = drill("--steps", "rename pending file", "--faults", "taken") })
	wg.Wait()
	verdicts := map[string]int{}
	for _, r := range all.Drill.Runs {
		verdicts[r.Verdict]++
	}
	t.Log(verdicts)
	if verdicts["held"] != len(all.Drill.Runs) || verdicts["held"] < 10 || all.Drill.Undisturbed.Rows < 3000 || !all.Drill.Alike {
		t.Errorf("%d rows, %v", all.Drill.Undisturbed.Rows, verdicts)
	}
	if runs := taken.Drill.Runs; len(runs) != 1 || runs[0].Verdict != "loss named" || runs[0].Lost == 0 || runs[0].Named != runs[0].Lost || runs[0].Doubled != 0 ||
		len(runs[0].Offsets) == 0 || runs[0].Rows+runs[0].Lost != taken.Drill.Undisturbed.Rows {
		t.Errorf("%+v", runs)
	}
	for _, u := range append(all.Untouched, taken.Untouched...) {
		if u.Ours {
			t.Errorf("the drill left something in %s", u.What)
		}
	}
	if err := real.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := real.Wait(); real.ProcessState.ExitCode() != 3 {
		t.Fatalf("the real job: %v\n%s", err, log.String())
	}
	if out, err := exec.Command(program, "audit", file).CombinedOutput(); err != nil || !strings.Contains(string(out), ": clean") {
		t.Errorf("audit of the real table: %v\n%s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".staunch-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
