package filesystem

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/changelog"
	"staunch/connector"
	"staunch/fault"
	"staunch/fs"
)

func commitOf(t *testing.T, keys []string, more ...string) (*bench, connector.PartitionCommit) {
	t.Helper()
	b := newBench(t, stringKeys(keys...), append([]string{keyPolicyKind, "success-file"}, more...)...)
	c := b.sink.PartitionCommit()
	if c == nil {
		t.Fatal("no partition commit")
	}
	return b, c
}

func texts(s ...string) (out []*string) {
	for i := range s {
		out = append(out, &s[i])
	}
	return out
}

func TestParseLenient(t *testing.T) {
	for in, want := range map[string]string{
		"2024-01-02":                     "2024-01-02T00:00:00Z",
		"2024-1-2":                       "2024-01-02T00:00:00Z",
		"2024-01-02 03:04:05":            "2024-01-02T03:04:05Z",
		"2024-1-2 3:4:5":                 "2024-01-02T03:04:05Z",
		"2024-01-02 03:04:05.6":          "2024-01-02T03:04:05.6Z",
		"2024-02-30":                     "2024-03-01T00:00:00Z",
		"2024-13-01":                     "2025-01-01T00:00:00Z",
		"2024-00-00":                     "2023-11-30T00:00:00Z",
		"2024-01-01 24:00:00":            "2024-01-02T00:00:00Z",
		"2024-01-01 99:99:99":            "2024-01-05T04:40:39Z",
		"24-01-01":                       "0024-01-01T00:00:00Z",
		"-1-01-01":                       "-0001-01-01T00:00:00Z",
		"":                               "",
		"2024":                           "",
		"2024-01":                        "",
		"20240102":                       "",
		"2024-01-02 03":                  "",
		"2024-01-02 03:04":               "",
		"2024-01-02T03:04:05":            "",
		"2024-01-02 ":                    "",
		"2024-01-02 03:04:05.":           "",
		"2024-01-02 03:04:05x":           "",
		"2024-011-02":                    "",
		"99999999999-01-01":              "",
		"9999999999-01-01":               "",
		"__DEFAULT_PARTITION__":          "",
		"２０２４-01-01":                     "",
		"2024-01-01 00:00:00.1234567890": "",
	} {
		ms, ok := parseLenient(in)
		got := ""
		if ok {
			got = time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: %q, expected %q", in, got, want)
		}
	}
}

func instant(t *testing.T, s string) changelog.Watermark {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return changelog.Watermark(at.UnixMilli())
}

func TestDueByPartitionTime(t *testing.T) {
	for _, c := range []struct {
		name   string
		keys   []string
		more   []string
		values []*string
		due    string // the first watermark at which it is due is one millisecond later
	}{
		{"first value", []string{"dt"}, nil, texts("2024-01-02"), "2024-01-02T00:00:00Z"},
		{"delay", []string{"dt"}, []string{keyDelay, "1 h"}, texts("2024-01-02"), "2024-01-02T01:00:00Z"},
		{"pattern", []string{"dt", "hour"}, []string{keyTimePattern, "$dt $hour:00:00", keyDelay, "1 h"}, texts("2024-01-02", "05"),
			"2024-01-02T06:00:00Z"},
		{"zone", []string{"dt"}, []string{keyWatermarkZone, "Asia/Shanghai"}, texts("2024-01-02"), "2024-01-01T16:00:00Z"},
		{"formatter", []string{"dt"}, []string{keyTimeFormatter, "yyyyMMdd"}, texts("20240102"), "2024-01-02T00:00:00Z"},
		{"formatter with hour", []string{"d", "h"}, []string{keyTimeFormatter, "yyyyMMddHH", keyTimePattern, "$d$h"}, texts("20240102", "07"),
			"2024-01-02T07:00:00Z"},
		// Flink replaces $d inside $day too.
		{"key that begins another", []string{"d", "day"}, []string{keyTimePattern, "2024-01-$day"}, texts("1", "9"), ""},
		{"gap", []string{"t"}, []string{keyWatermarkZone, "Europe/Berlin"}, texts("2024-03-31 02:30:00"), "2024-03-31T01:30:00Z"},
		{"doubled", []string{"t"}, []string{keyWatermarkZone, "Europe/Berlin"}, texts("2024-10-27 02:30:00"), "2024-10-27T00:30:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, rule := commitOf(t, c.keys, append([]string{keyTrigger, "partition-time"}, c.more...)...)
			if c.due == "" {
				_, err := rule.Due(c.values, 0, 1, 1)
				if fault.ClassOf(err) != fault.User {
					t.Error(err)
				}
				return
			}
			at := instant(t, c.due)
			for w, want := range map[changelog.Watermark]bool{at: false, at + 1: true, changelog.MinWatermark: false, changelog.MaxWatermark: true} {
				if due, err := rule.Due(c.values, 0, w, 1<<60); due != want || err != nil {
					t.Errorf("watermark %d: %v %v, expected %v", w-at, due, err, want)
				}
			}
		})
	}
}

func TestTimeThatCannotBeRead(t *testing.T) {
	_, rule := commitOf(t, []string{"dt", "hour"}, keyTrigger, "partition-time", keyTimePattern, "$dt $hour:00:00")
	_, err := rule.Due([]*string{nil, texts("a/b")[0]}, 0, 5, 5)
	if fault.ClassOf(err) != fault.User {
		t.Fatal(err)
	}
	for _, want := range []string{"table lake", "dt=__DEFAULT_PARTITION__/hour=a%2Fb", "'__DEFAULT_PARTITION__ a/b:00:00'", "y-M-d H:m:s", keyTimePattern} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if due, err := rule.Due([]*string{nil, nil}, 0, changelog.MaxWatermark, 5); !due || err != nil {
		t.Error("at the end of the input every partition is due:", err)
	}
}

func TestDueByProcessTime(t *testing.T) {
	_, rule := commitOf(t, []string{"dt"}, keyDelay, "10 s")
	for now, want := range map[int64]bool{50_000: false, 60_000: false, 60_001: true} {
		if due, err := rule.Due(texts("x"), 50_000, changelog.MinWatermark, now); due != want || err != nil {
			t.Error(now, due, err)
		}
	}
	_, rule = commitOf(t, []string{"dt"})
	if due, _ := rule.Due(texts("x"), 50_000, changelog.MinWatermark, 50_000); !due {
		t.Error("without a delay every checkpoint commits")
	}
}

func TestSuccessFile(t *testing.T) {
	b, rule := commitOf(t, []string{"dt"}, keySuccessName, "_DONE")
	name := "/data/lake/dt=1/_DONE"
	for range 2 { // again: it is not rewritten
		if err := rule.Commit("dt=1", texts("1")); err != nil {
			t.Fatal(err)
		}
	}
	if f := b.store.files[name]; f == nil || f.b.Len() != 0 || !f.synced || !f.closed || !b.store.synced["/data/lake/dt=1"] {
		t.Errorf("%+v", f)
	}
	for _, c := range b.store.calls {
		if strings.HasPrefix(c, "delete") || strings.HasPrefix(c, "rename") || strings.HasPrefix(c, "write") {
			t.Error(c)
		}
	}
	// The reply is lost: it is an outage, and the next try finds the file.
	b.store.fail = func(op, p string) error {
		if op == "create" {
			b.store.files[p] = &memoryFile{m: b.store, path: p}
			b.store.fail = nil
			return fs.ErrUnavailable
		}
		return nil
	}
	if err := rule.Commit("dt=2", nil); fault.ClassOf(err) != fault.Outage || !errors.Is(err, fs.ErrUnavailable) {
		t.Error(err)
	}
	b.store.dirs["/data/lake/dt=2"] = true
	if err := rule.Commit("dt=2", nil); err != nil {
		t.Error(err)
	}
	if !slices.Contains(b.store.calls, "syncdir /data/lake/dt=2") {
		t.Error("the folder is not durable")
	}
}

func TestNoPartitionCommit(t *testing.T) {
	if newBench(t, stringKeys("p")).sink.PartitionCommit() != nil {
		t.Error("without a policy there is none")
	}
	if newBench(t, nil, keyPolicyKind, "success-file").sink.PartitionCommit() != nil {
		t.Error("without partitions there is none")
	}
}
