package config

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var sample = []Option{
	{Key: "connector", Required: true},
	{Key: "path", Required: true},
	{Key: "sink.rolling-policy.file-size", Type: TypeMemorySize, Default: "128mb"},
	{Key: "sink.partition-commit.delay", Type: TypeDuration, Default: "0 ms"},
	{Key: "sink.partition-commit.trigger", Type: TypeEnum, Default: "process-time", Enum: []string{"process-time", "partition-time"}},
	{Key: "sink.parallelism", Type: TypeInt},
	{Key: "auto-compaction", Type: TypeBool, Default: "false", Refused: "files are not compacted yet"},
	{Key: "parquet.batch-size", Type: TypeInt, Default: "2048", Ignored: "reader only"},
	{Key: "streaming-source.partition-order", Aliases: []string{"streaming-source.consume-order"}},
	{Key: "properties.*"},
	{Key: "fields.#.kind", Type: TypeEnum, Enum: []string{"random", "sequence"}},
	{Key: "json.ignore-parse-errors", Type: TypeBool, Default: "false"},
}

func with(extra map[string]string) Values {
	raw := map[string]string{"connector": "filesystem", "path": "/tmp/x"}
	at := map[string]Position{}
	for k, v := range extra {
		raw[k] = v
		at[k] = Position{"job.sql", 7, 3}
	}
	return NewValues("table lake", raw, at)
}

func TestCheckAndGet(t *testing.T) {
	v, warnings, err := with(map[string]string{
		"sink.rolling-policy.file-size": "64 kb", "sink.partition-commit.delay": "1 h", "sink.partition-commit.trigger": "PARTITION-time",
		"sink.parallelism": "3", "properties.group.id": "g", "properties.auto.offset.reset": "none", "fields.user_id.kind": "sequence",
		"parquet.batch-size": "100", "streaming-source.consume-order": "x", "auto-compaction": "FALSE",
	}).Check(sample)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := v.MemorySize("sink.rolling-policy.file-size"); n != 64<<10 || err != nil {
		t.Error(n, err)
	}
	if d, err := v.Duration("sink.partition-commit.delay"); d != time.Hour || err != nil {
		t.Error(d, err)
	}
	if s, err := v.Enum("sink.partition-commit.trigger"); s != "partition-time" || err != nil {
		t.Error(s, err)
	}
	if n, err := v.Int("sink.parallelism"); n != 3 || err != nil {
		t.Error(n, err)
	}
	if b, err := v.Bool("json.ignore-parse-errors"); b || err != nil || v.Has("json.ignore-parse-errors") {
		t.Error("default of a boolean", b, err)
	}
	if m := v.Map("properties."); len(m) != 2 || m["group.id"] != "g" {
		t.Error(m)
	}
	if s := v.String("streaming-source.partition-order"); s != "x" {
		t.Error("older spelling lost:", s)
	}
	all := strings.Join(warnings, "\n")
	if len(warnings) != 2 || !strings.Contains(all, "parquet.batch-size (reader only)") || !strings.Contains(all, "older spelling of 'streaming-source.partition-order'") {
		t.Error(all)
	}
}

func TestDefaults(t *testing.T) {
	v, warnings, err := with(nil).Check(sample)
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	if n, _ := v.MemorySize("sink.rolling-policy.file-size"); n != 128<<20 {
		t.Error(n)
	}
	if n, err := v.Int("sink.parallelism"); n != 0 || err != nil || v.Has("sink.parallelism") {
		t.Error(n, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       []string
	}{
		{"sink.partition-commit.dela", "1 h", []string{"job.sql:7:3", "table lake", "'sink.partition-commit.dela'", "unknown", "did you mean 'sink.partition-commit.delay'?"}},
		{"zzz", "1", []string{"unknown", "known are auto-compaction, connector"}},
		{"sink.partition-commit.delay", "1 fortnight", []string{"'sink.partition-commit.delay' = '1 fortnight'", "accepted is a duration such as"}},
		{"sink.partition-commit.delay", "-1 s", []string{"accepted is a duration"}},
		{"sink.rolling-policy.file-size", "128XB", []string{"= '128XB'", "accepted is a size such as"}},
		{"sink.partition-commit.trigger", "partition-tme", []string{"one of process-time, partition-time", "did you mean partition-time?"}},
		{"sink.parallelism", "99999999999", []string{"32 bits"}},
		{"json.ignore-parse-errors", "yes", []string{"true or false"}},
		{"auto-compaction", "true", []string{"known to Flink and not available here: files are not compacted yet"}},
		{"compaction.file-size", "1mb", []string{"known to Flink and not available here yet"}},
		{"csv.quote-character", "x", []string{"known to Flink"}},
		{"properties.", "x", []string{"unknown"}},
		{"fields..kind", "random", []string{"unknown"}},
	} {
		_, _, err := with(map[string]string{c.key: c.value}).Check(sample)
		if err == nil {
			t.Errorf("%s = %s accepted", c.key, c.value)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s = %s: no %q in: %v", c.key, c.value, w, err)
			}
		}
		var e *Error
		if !errors.As(err, &e) || e.Position.Line != 7 || e.Key != c.key {
			t.Errorf("%s: no *Error with its place: %#v", c.key, e)
		}
	}
}

func TestCheckReportsEachProblem(t *testing.T) {
	_, _, err := NewValues("table t", map[string]string{"a": "1", "sink.parallelism": "x", "streaming-source.consume-order": "1",
		"streaming-source.partition-order": "2"}, nil).Check(sample)
	for _, w := range []string{"option 'a'", "option 'sink.parallelism'", "option 'connector': is required", "option 'path': is required", "given together"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in: %v", w, err)
		}
	}
}

func TestRequiredWrongValueIsNotCalledMissing(t *testing.T) {
	_, _, err := NewValues("t", map[string]string{"n": "x"}, nil).Check([]Option{{Key: "n", Type: TypeInt, Required: true}})
	if err == nil || strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	opts := []Option{{Key: "password", Type: TypeInt}, {Key: "properties.*"}}
	_, _, err := NewValues("t", map[string]string{"password": "hunter2"}, nil).Check(opts)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	for _, k := range []string{"properties.sasl.jaas.config", "properties.ssl.keystore.password", "s3.Secret-Key", "x.token"} {
		if Redact(k, "hunter2") != "******" {
			t.Error(k)
		}
	}
	if Redact("path", "/x") != "/x" {
		t.Error("an ordinary value is hidden")
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5 s": 5 * time.Second, "5s": 5 * time.Second, " 10 min ": 10 * time.Minute, "1h": time.Hour, "1 d": 24 * time.Hour, "1d": 24 * time.Hour,
		"250": 250 * time.Millisecond, "3 DAYS": 72 * time.Hour, "7 m": 7 * time.Minute, "2 secs": 2 * time.Second, "9 µs": 9 * time.Microsecond,
		"9 ns": 9, "0": 0, "PT5S": 5 * time.Second, "pt1h30m": 90 * time.Minute, "P1D": 24 * time.Hour, "P1DT1.5S": 24*time.Hour + 1500*time.Millisecond,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "s", "-1 s", "1.5 s", "1 h 30 min", "1 w", "99999999999999999999 s", "300000 d d", "9223372036854775807 d", "P", "PT", "P1H",
		"PT1D", "PT1S1M", "PT1.5H", "PT-1S", "P1Y", "PT5S "[:4] + "x", "P999999999999999D"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q accepted as %v", text, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 1500 * time.Microsecond, time.Millisecond, 90 * time.Second, time.Hour, 48 * time.Hour} {
		if back, err := ParseDuration(FormatDuration(d)); err != nil || back != d {
			t.Errorf("%v as %q reads back as %v, %v", d, FormatDuration(d), back, err)
		}
	}
}

func TestParseMemorySize(t *testing.T) {
	for text, want := range map[string]int64{"128MB": 128 << 20, "1 gb": 1 << 30, "64 kb": 64 << 10, "100": 100, "5 bytes": 5, "2t": 2 << 40, "3 mebibytes": 3 << 20, "1k": 1024} {
		if got, err := ParseMemorySize(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "mb", "1.5 mb", "-1", "1 xb", "99999999999999999999", "9223372036854775807 kb"} {
		if got, err := ParseMemorySize(text); err == nil {
			t.Errorf("%q accepted as %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"5 s", "PT5S", "128MB", "P1DT2H3M4.5S", "µs", "1 µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil && (d < 0 || int64(d) == math.MinInt64) {
			t.Errorf("%q: negative %v", s, d)
		}
		if n, err := ParseMemorySize(s); err == nil && n < 0 {
			t.Errorf("%q: negative %v", s, n)
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"execution.checkpointing.interval", "execution.checkpointing.timeout", "parallelism.default"}
	for name, want := range map[string]string{"execution.checkpointing.intervall": known[0], "paralelism.default": known[2], "execution.checkpoint.interval": known[0],
		"execution.checkpointing.itnerval": known[0]} {
		if got, ok := Nearest(name, known); !ok || got != want {
			t.Errorf("%s: %s %v", name, got, ok)
		}
	}
	if got, ok := Nearest("completely.other", known); ok {
		t.Error(got)
	}
	if !slices.Equal([]int{Distance("ab", "ba"), Distance("", "abc"), Distance("kitten", "sitting")}, []int{1, 3, 3}) {
		t.Error("distance")
	}
}
