package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMedianAndQuantile(t *testing.T) {
	if m := median([]float64{9, 1, 5}); m != 5 {
		t.Errorf("median = %v", m)
	}
	if m := median([]float64(nil)); m != 0 {
		t.Errorf("median of nothing = %v", m)
	}
	var v []int
	for i := range 100 {
		v = append(v, 100-i)
	}
	for q, want := range map[float64]int{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %v = %d, want %d", q, got, want)
		}
	}
}

// A figure that is missing stands in the table with its reason, and the notes of an older file stay.
func TestReport(t *testing.T) {
	run := usage{records: 1000, cpu: 0.5, wall: 1, peak: 500e6}
	r := &report{records: 1000, rounds: 1, machine: []string{"a machine"}, jobs: []comparison{{"b", series{engine: "Staunch", runs: []usage{run}},
		series{engine: "Flink", err: errors.New("no | cluster\nat all")}, series{engine: "limit program", runs: []usage{{records: 1000, cpu: 1, wall: 1}}}}},
		rows: []row{missing("restart", errors.New("killed")), barred("start", "3 s", "2 s", false)}}
	text := r.render()
	for _, want := range []string{"missing: no / cluster at all", "| restart | missing: killed |", "| start | 3 s | 2 s | **missed** |", "| b | missing | | | 2.00 | 0.8 | holds |",
		"500 MB (bar 400 MB: **missed**)", "| 2 000 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(path, []byte("old\n\n## Notes\nkept\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := keepNotes(path, text); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text+"\n## Notes\nkept\n" {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestFilesAndDelays(t *testing.T) {
	table := t.TempDir()
	for _, f := range []string{"_DUMP_TEMPORARY/cp-1/task-0/part-1.json.pending", "dt=1/hr=2/part-1.json", "dt=1/hr=2/_SUCCESS", "dt=1/.hidden", "_staunch/j/1.staunch"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(table, f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(table, f), []byte(`{"a":1,"made":"2026-01-01 00:00:01.5Z"}`+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var visible []string
	visibleFiles(table, func(path string) bool { visible = append(visible, path); return true })
	if len(visible) != 1 || !visibleFile(table) {
		t.Errorf("visible %v", visible)
	}
	if p := pendingFiles(table); len(p) != 1 {
		t.Errorf("pending %v", p)
	}
	d, err := appendDelays(nil, filepath.Join(table, "dt=1/hr=2/part-1.json"), time.Date(2026, 1, 1, 0, 0, 4, 0, time.UTC))
	if err != nil || len(d) != 1 || d[0] != 2.5 {
		t.Errorf("delays %v, %v", d, err)
	}
}

func TestMachine(t *testing.T) {
	if d := describe(); len(d) != 3 || strings.Contains(d[0], "unknown") {
		t.Errorf("%q", d)
	}
	if busy, total := machineTime(); busy <= 0 || total < busy {
		t.Errorf("machine %v of %v s", busy, total)
	}
	if now, peak := resident(os.Getpid()); now <= 0 || peak < now/2 {
		t.Errorf("resident %d, peak %d", now, peak)
	}
	if processTime(0) != 0 {
		t.Error("time of no process")
	}
}
