package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"staunch/fault"
)

func mustSet(t *testing.T, j *Job, key, value string) {
	t.Helper()
	if err := j.Set(key, value, Position{"job.sql", 1, 5}); err != nil {
		t.Fatal(err)
	}
}

func TestJobDefaults(t *testing.T) {
	j := NewJob()
	c, err := j.Checkpointing()
	if err != nil || c.Interval != DefaultCheckpointInterval || c.IntervalSet || c.Timeout != 10*time.Minute || !c.ExactlyOnce || c.Retained != 1 || c.TolerableFailures != 0 || c.Dir != "" {
		t.Errorf("%+v, %v", c, err)
	}
	r, err := j.Restart()
	if err != nil || r.Strategy != RestartExponential || r.InitialBackoff != time.Second || r.MaxBackoff != time.Minute || r.Multiplier != 1.5 || r.Jitter != 0.1 ||
		r.ResetThreshold != time.Hour || r.MaxAttempts != 1<<31-1 {
		t.Errorf("%+v, %v", r, err)
	}
	if n, err := j.Parallelism(); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := j.Memory(); n != DefaultMemory || err != nil {
		t.Error(n, err)
	}
	if z, err := j.Zone(); z != time.Local || err != nil {
		t.Error(z, err)
	}
	if p, err := j.MetricsPorts(); p != nil || err != nil {
		t.Error(p, err)
	}
	if w := j.Warnings(); len(w) != 0 {
		t.Error(w)
	}
	if d, err := j.Values().Duration("pipeline.auto-watermark-interval"); d != 200*time.Millisecond || err != nil {
		t.Error(d, err)
	}
}

// Keys that nothing looks at are accepted with a warning, so that nobody counts on them.
func TestKeysWithoutEffectAreSaid(t *testing.T) {
	j := NewJob()
	for k, v := range map[string]string{"pipeline.auto-watermark-interval": "1 s",
		"execution.checkpointing.externalized-checkpoint-retention": "DELETE_ON_CANCELLATION"} {
		if err := j.Set(k, v, Position{}); err != nil {
			t.Error(err)
		}
	}
	if w := j.Warnings(); len(w) != 1 || !strings.Contains(w[0], "auto-watermark-interval") || !strings.Contains(w[0], "externalized-checkpoint-retention") {
		t.Error(w)
	}
}

// Each default must parse by its own type, and each effective key of Flink must be in its table.
func TestOptionTablesAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range JobOptions() {
		if o.Default != "" {
			if err := o.checkValue(o.Default); err != nil {
				t.Errorf("%s: default %q: %v", o.Key, o.Default, err)
			}
		}
		if o.Doc == "" || seen[o.Key] {
			t.Errorf("%s: no doc, or listed twice", o.Key)
		}
		seen[o.Key] = true
		if f, _ := flink().jobOption(o.Key); f == nil && !strings.HasPrefix(o.Key, "staunch.") && o.Key != "taskmanager.memory.process.size" {
			t.Errorf("%s: not in options.tsv", o.Key)
		}
	}
	for k := range refusedJob {
		if o, older := flink().jobOption(k); o == nil || older {
			t.Errorf("refused key %s is not in options.tsv", k)
		}
	}
	for name, o := range flink().job {
		if o.Default == "" || strings.Contains(o.Default, "<") {
			continue
		}
		if err := o.checkValue(o.Default); err != nil {
			t.Errorf("options.tsv: %s: default %q: %v", name, o.Default, err)
		}
	}
	if len(flink().job) < 400 || len(flink().table) < 15 {
		t.Error("options.tsv was not read whole:", len(flink().job), len(flink().table))
	}
}

func TestLayers(t *testing.T) {
	j := NewJob()
	if err := j.LoadFile("conf/config.yaml", []byte("execution:\n  checkpointing:\n    interval: 1 min\n    timeout: 2 min\nparallelism.default: 3\n")); err != nil {
		t.Fatal(err)
	}
	mustSet(t, j, "execution.checkpointing.interval", "5s")
	if err := j.Dynamic("parallelism.default = 7"); err != nil {
		t.Fatal(err)
	}
	mustSet(t, j, "parallelism.default", "4")
	c, _ := j.Checkpointing()
	if n, _ := j.Parallelism(); n != 7 || c.Interval != 5*time.Second || !c.IntervalSet || c.Timeout != 2*time.Minute {
		t.Errorf("%d %+v", n, c)
	}
	before := j.Clone()
	if err := j.Reset("execution.checkpointing.interval", Position{}); err != nil {
		t.Fatal(err)
	}
	if c, _ := j.Checkpointing(); c.Interval != time.Minute {
		t.Error("RESET does not give back the file's value:", c.Interval)
	}
	if c, _ := before.Checkpointing(); c.Interval != 5*time.Second {
		t.Error("a clone follows its original:", c.Interval)
	}
	if err := j.Reset("execution.checkpointing.intervl", Position{}); err == nil {
		t.Error("RESET of an unknown key accepted")
	}
	mustSet(t, j, "pipeline.name", "x")
	_ = j.Reset("", Position{})
	if j.Values().Has("pipeline.name") {
		t.Error("RESET kept a key")
	}
}

func TestOlderSpellings(t *testing.T) {
	j := NewJob()
	if err := j.LoadFile("/etc/flink/flink-conf.yaml", []byte("# old\nstate.checkpoints.dir: file:///ck # there\nstate.checkpoints.num-retained: 4\nrestart-strategy: fixed-delay\n"+
		"restart-strategy.fixed-delay.attempts: 9\ntaskmanager.numberOfTaskSlots: 8\nempty.key:\n")); err != nil {
		t.Fatal(err)
	}
	c, _ := j.Checkpointing()
	r, err := j.Restart()
	if c.Dir != "file:///ck" || c.Retained != 4 || r.Strategy != RestartFixed || r.FixedAttempts != 9 || err != nil {
		t.Errorf("%+v %+v %v", c, r, err)
	}
	w := strings.Join(j.Warnings(), "\n")
	for _, want := range []string{"state.checkpoints.dir (now execution.checkpointing.dir)", "restart-strategy (now restart-strategy.type)", "without effect here: taskmanager.numberOfTaskSlots"} {
		if !strings.Contains(w, want) {
			t.Errorf("no %q in %s", want, w)
		}
	}
	j = NewJob()
	mustSet(t, j, "execution.checkpointing.dir", "/new")
	mustSet(t, j, "state.checkpoints.dir", "/old")
	if c, _ := j.Checkpointing(); c.Dir != "/new" {
		t.Error("an older spelling replaced the present one:", c.Dir)
	}
}

// The configuration that the test bed's real Flink runs with must be accepted.
func TestClusterConfigIsAccepted(t *testing.T) {
	j := NewJob()
	err := j.LoadFile("config.yaml", []byte(`
env.java.opts.all: --add-exports=java.base/sun.net.util=ALL-UNNAMED
env: {java: {opts: {sql-gateway: -Xmx512m}}}
jobmanager: {rpc: {address: 127.0.0.1, port: 16123}, memory.process.size: 1600m}
taskmanager:
  memory: {process: {size: 4g}}
  numberOfTaskSlots: 2
rest.port: 18081
sql-gateway.endpoint.rest.port: 18083
io.tmp.dirs: /tmp/x
execution.checkpointing: {dir: "file:///x/checkpoints", savepoint-dir: file:///x/savepoints}
heartbeat.timeout: 10000
restart-strategy: {type: fixed-delay, fixed-delay: {attempts: 100, delay: 1 s}}
metrics.reporter.graphite.factory.class: org.example.X
metrics.reporter.prom.port: 9250-9260
pipeline.cached-files: [a, b]
pipeline.global-job-parameters: {a: 1, b: two}
`))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := j.Memory(); n != 4<<30 {
		t.Error(n)
	}
	if p, _ := j.MetricsPorts(); len(p) != 1 || p[0] != (PortRange{9250, 9260}) {
		t.Error(p)
	}
	w := j.Warnings()
	if len(w) != 1 {
		t.Fatalf("not one warning: %q", w)
	}
	for _, k := range []string{"rest.port", "env.java.opts.sql-gateway", "pipeline.global-job-parameters.a", "metrics.reporter.graphite.factory.class"} {
		if !strings.Contains(w[0], k) {
			t.Errorf("%s is not named in %s", k, w[0])
		}
	}
}

func TestJobRefuses(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       []string
	}{
		{"execution.checkpointing.intervall", "5s", []string{"job.sql:1:5", "unknown", "did you mean 'execution.checkpointing.interval'?"}},
		{"execution.checkpointing.interval", "5 seconds ago", []string{"'execution.checkpointing.interval' = '5 seconds ago'", "accepted is a duration"}},
		{"execution.checkpointing.interval", "1 ms", []string{"at least 10 ms"}},
		{"parallelism.default", "0", []string{"from 1 to 32768"}},
		{"paralelism.default", "2", []string{"did you mean 'parallelism.default'?"}},
		{"staunch.json.coertion", "fail", []string{"did you mean 'staunch.json.coercion'?"}},
		{"staunch.json.coercion", "maybe", []string{"one of flink, fail"}},
		{"staunch.table.lake", "x", []string{"staunch.table.<table>.<option>"}},
		{"staunch.table..", "x", []string{"unknown"}},
		{"taskmanager.memory.proces.size", "1g", []string{"did you mean 'taskmanager.memory.process.size'?"}},
		{"taskmanager.memory.process.size", "1m", []string{"at least 64 mb"}},
		{"metrics.reporter.prom.port", "http", []string{"9250-9260"}},
		{"restart-strategy.type", "failure-rate", []string{"not available here yet"}},
		{"restart-strategy.type", "sometimes", []string{"one of none"}},
		{"execution.runtime-mode", "AUTOMATIC", []string{"STREAMING, BATCH"}},
		{"execution.state-recovery.ignore-unclaimed-state", "true", []string{"known to Flink and not available here"}},
		{"table.exec.legacy-cast-behaviour", "ENABLED", []string{"known to Flink and not available here"}},
		{"table.local-time-zone", "Mars/Olympus", []string{"not a time zone"}},
		{"table.exec.mini-batch.enabled", "perhaps", []string{"true or false"}},
		{"my.own.key", "1", []string{"unknown", "docs/reference"}},
		{"", "1", []string{"unknown"}},
	} {
		err := NewJob().Set(c.key, c.value, Position{"job.sql", 1, 5})
		if err == nil {
			t.Errorf("%s = %s accepted", c.key, c.value)
			continue
		}
		if fault.ClassOf(fmt.Errorf("start: %w", err)) != fault.User {
			t.Errorf("%s: not an error of the user: %v", c.key, err)
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s = %s: no %q in: %v", c.key, c.value, w, err)
			}
		}
	}
	for _, arg := range []string{"novalue", "=x", ""} {
		if NewJob().Dynamic(arg) == nil {
			t.Errorf("-D %s accepted", arg)
		}
	}
	for k, v := range map[string]string{"table.exec.legacy-cast-behaviour": "disabled", "table.exec.mini-batch.enabled": "true", "table.dml-sync": "true",
		"restart-strategy.type": "Disable", "pipeline.time-characteristic": "EventTime"} {
		if err := NewJob().Set(k, v, Position{}); err != nil {
			t.Error(err)
		}
	}
}

func TestJobCheck(t *testing.T) {
	j := NewJob()
	mustSet(t, j, "restart-strategy.exponential-delay.initial-backoff", "2 min")
	if err := j.Check(); err == nil || !strings.Contains(err.Error(), "initial-backoff") {
		t.Error(err)
	}
	j = NewJob()
	mustSet(t, j, "execution.checkpointing.max-concurrent-checkpoints", "3")
	if w := j.Warnings(); len(w) != 1 || !strings.Contains(w[0], "runs as 1") {
		t.Error(w)
	}
}

func TestFileErrors(t *testing.T) {
	for name, c := range map[string]struct{ name, text, want string }{
		"all at once":     {"config.yaml", "a.b: 1\nparallelism.default: x\nexecution.checkpointing.intervl: 5 s\n", "config.yaml:3:1"},
		"nested place":    {"config.yaml", "execution:\n  checkpointing:\n    intervl: 5 s\n", "config.yaml:3:5"},
		"twice":           {"config.yaml", "parallelism.default: 1\nparallelism: {default: 2}\n", "given twice"},
		"not a mapping":   {"config.yaml", "- a\n- b\n", "config.yaml:1:1: expected are keys and values"},
		"syntax":          {"config.yaml", "a: [1\n", "config.yaml: line"},
		"list of maps":    {"config.yaml", "pipeline.jars: [{a: 1}]\n", "plain values only"},
		"alias bomb":      {"config.yaml", "a: &a {b: 1, c: 2}\nd: &d {e: *a, f: *a, g: *a, h: *a}\ni: &i {j: *d, k: *d, l: *d, m: *d, n: *d, o: *d, p: *d, q: *d}\nr: &r {a: *i, b: *i, c: *i, d: *i, e: *i, f: *i, g: *i, h: *i}\ns: {a: *r, b: *r, c: *r, d: *r, e: *r, f: *r, g: *r, h: *r, i: *r, j: *r, k: *r, l: *r, m: *r, n: *r, o: *r, p: *r, q: *r}", "more than 10000 keys"},
		"1.x no colon":    {"flink-conf.yaml", "\nparallelism.default=2\n", "flink-conf.yaml:2"},
		"1.x wrong value": {"x/flink-conf.yaml", "parallelism.default: two\n", "x/flink-conf.yaml:1"},
	} {
		j := NewJob()
		err := j.LoadFile(c.name, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: no %q in: %v", name, c.want, err)
		}
		if len(j.layers[layerFile]) != 0 {
			t.Errorf("%s: a part of the file was taken", name)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "parallelism.default:\n", "env: ~\n"} {
		j := NewJob()
		if err := j.LoadFile("config.yaml", []byte(text)); err != nil || len(j.layers[layerFile]) != 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := NewJob().LoadFile("config.yaml", []byte("a: &a {b: *a, c: *a}\n")); err == nil {
		t.Error("a mapping that holds itself was accepted")
	}
}

func TestTableOptions(t *testing.T) {
	j := NewJob()
	mustSet(t, j, "staunch.table.lake.temporary-cleanup", "never")
	mustSet(t, j, "staunch.table.laek.delivery-guarantee", "exactly-once")
	v, _, err := j.TableOptions("lake").Check([]Option{{Key: "temporary-cleanup", Type: TypeEnum, Enum: []string{"never", "before-write"}}})
	if s, _ := v.Enum("temporary-cleanup"); s != "never" || err != nil {
		t.Error(s, err)
	}
	err = j.CheckTables([]string{"lake", "events"})
	if err == nil || !strings.Contains(err.Error(), "no table named 'laek'; did you mean 'lake'?") || strings.Contains(err.Error(), "temporary") {
		t.Error(err)
	}
}

func TestZones(t *testing.T) {
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for name, offset := range map[string]int{"UTC": 0, "Asia/Shanghai": 8 * 3600, "+08:00": 8 * 3600, "GMT-03:30": -12600, "UTC+8": 8 * 3600, "Europe/Berlin": 7200, "+0530": 19800} {
		z, err := ParseZone(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, got := at.In(z).Zone(); got != offset {
			t.Errorf("%s: offset %d", name, got)
		}
	}
	for _, name := range []string{"", "Local", "+", "+25:00", "+08:60", "+8:0", "Asia/Shangri-La", "../etc/passwd", "GMT+", "+000800"} {
		if z, err := ParseZone(name); err == nil {
			t.Errorf("%q accepted as %v", name, z)
		}
	}
}

func TestPorts(t *testing.T) {
	if p, err := ParsePorts("9250, 9300-9310"); err != nil || len(p) != 2 || p[1] != (PortRange{9300, 9310}) {
		t.Error(p, err)
	}
	for _, s := range []string{"", "x", "70000", "5-3", "1-", "-1", "1,,2"} {
		if p, err := ParsePorts(s); err == nil {
			t.Errorf("%q accepted as %v", s, p)
		}
	}
}

func TestDefaultStateDir(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	for _, c := range []struct {
		env  map[string]string
		want string
	}{{map[string]string{"XDG_STATE_HOME": "/s/", "HOME": "/h"}, "/s/staunch"}, {map[string]string{"HOME": "/h"}, "/h/.local/state/staunch"}, {nil, ""}} {
		if d, err := DefaultStateDir(env(c.env)); d != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%v: %q, %v", c.env, d, err)
		}
	}
}

// FuzzLoadFile: a file of any content is taken or refused, and what is taken can be read back.
func FuzzLoadFile(f *testing.F) {
	for _, s := range []string{"a: 1", "parallelism: {default: 2}", "parallelism.default: 2\n", "x: &a [1, 2]\ny: *a", "? [a]\n: b", "<<: {a: 1}", "a: |\n  text\n", "\xff: 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"config.yaml", "flink-conf.yaml"} {
			j := NewJob()
			if j.LoadFile(name, []byte(text)) != nil {
				continue
			}
			j.Warnings()
			if n, err := j.Parallelism(); err != nil || n < 1 {
				t.Errorf("%s: parallelism %d, %v", name, n, err)
			}
			if _, err := j.Checkpointing(); err != nil {
				t.Error(err)
			}
		}
	})
}
