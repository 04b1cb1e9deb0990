package forecast

import (
	"math"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sound are the facts of a job that nothing is wrong with: 4 partitions of 1000 records/s, hourly partitions on HDFS, a checkpoint every 5 min.
func sound() Facts {
	f := Facts{
		Now: now,
		Settings: Settings{Interval: 5 * time.Minute, Timeout: 10 * time.Minute, IntervalSet: true, Dir: "hdfs://ns/checkpoints", Parallelism: 2, Zone: "UTC",
			MachineZone: "Europe/Berlin", ZoneSet: true, Metrics: true, Memory: 1 << 30, Writers: 350 << 20, SegmentEvery: 128, JoinArchives: 8,
			Restart: Restart{Strategy: "exponential-delay", Attempts: math.MaxInt32, First: time.Second, Max: time.Minute, Factor: 1.5}},
		Machine: Machine{CPUs: 4, Memory: 8 << 30},
		Sources: []Source{{Table: "events", Connector: "kafka", Surveyed: true, RateOver: 10 * time.Minute, Group: "g", StartMode: "earliest-offset", ReadCommitted: true,
			Discovery: 5 * time.Minute, FetchBytes: 16 << 20, Watermark: true, IdleTimeout: time.Minute,
			Topics: []Topic{{Name: "events", Cleanup: "delete", Replicas: 3, MinInSync: 2, Transactional: true}},
			Sample: &SourceSample{Records: 200_000, Event: now.Add(-5 * time.Second), NewestRecord: now, PerSecond: 100_000}}},
		Sinks: []Sink{{Table: "lake", Insert: "1", Source: "events", Connector: "filesystem", Files: true, Root: "hdfs://ns/lake", Keys: []string{"dt", "hour"},
			Roll: Roll{Size: 128 << 20, Rollover: 30 * time.Minute, Inactivity: 30 * time.Minute, Check: time.Minute}, RoundTrip: time.Millisecond,
			Commit: PartitionCommit{Policy: "success-file", ByTime: true, Delay: time.Hour, Zone: "UTC", Pattern: "$dt $hour:00:00"},
			Sample: &Sample{Rounds: 2, Whole: true, Share: 1, Values: [][]string{{"2026-03-01", "11"}},
				Times: PartitionTimes{Known: true, Oldest: now.Add(-time.Hour), Newest: now.Add(-time.Hour), Length: time.Hour},
				Tasks: []TaskSample{
					{Subtask: 0, Read: 1_200_000, Written: 1_200_000, Files: []FileSample{{600_000, 40 << 20}, {600_000, 40 << 20}}, Folders: []int64{1_200_000}, Held: []int64{10 << 20, 10 << 20}, Open: []int{1, 1}},
					{Subtask: 1, Read: 1_200_000, Written: 1_200_000, Files: []FileSample{{600_000, 40 << 20}, {600_000, 40 << 20}}, Folders: []int64{1_200_000}, Held: []int64{10 << 20, 10 << 20}, Open: []int{1, 1}},
				}}}},
	}
	for p := range 4 {
		f.Sources[0].Splits = append(f.Sources[0].Splits, Split{ID: "events-" + string(rune('0'+p)), Subtask: p % 2, Records: 1e6, Rate: 1000, Newest: now})
	}
	return f
}

func source(f *Facts) *Source     { return &f.Sources[0] }
func sink(f *Facts) *Sink         { return &f.Sinks[0] }
func sampled(f *Facts) *Sample    { return f.Sinks[0].Sample }
func settings(f *Facts) *Settings { return &f.Settings }

// wrong are configurations with one thing wrong each, and the rule that names it.
var wrong = []struct {
	code    string
	verdict Verdict
	change  string // part of what is to be changed
	facts   func(f *Facts)
}{
	{"interval-unset", Warn, "execution.checkpointing.interval", func(f *Facts) { settings(f).IntervalSet = false }},
	{"interval-long", Warn, "execution.checkpointing.interval", func(f *Facts) { settings(f).Interval, settings(f).Timeout = 2*time.Hour, 4*time.Hour }},
	{"timeout-below-interval", Warn, "execution.checkpointing.timeout", func(f *Facts) { settings(f).Timeout = 2 * time.Minute }},
	{"timeout-short", Warn, "execution.checkpointing.timeout", func(f *Facts) {
		settings(f).Timeout, settings(f).Interval = time.Second, 1500*time.Millisecond
		sampled(f).Rounds = 0
	}},
	{"min-pause", Warn, "min-pause", func(f *Facts) { settings(f).MinPause = 6 * time.Minute }},
	{"tolerable-failures", Warn, "tolerable", func(f *Facts) { settings(f).Tolerable = 20 }},
	{"no-metrics", Warn, "prom.port", func(f *Facts) { settings(f).Metrics = false }},
	{"restart-none", Warn, "restart-strategy.type", func(f *Facts) { settings(f).Restart = Restart{Strategy: "none"} }},
	{"restart-gives-up", Warn, "fixed-delay.attempts", func(f *Facts) {
		settings(f).Restart = Restart{Strategy: "fixed-delay", Attempts: 3, First: 10 * time.Second}
	}},
	{"restart-gives-up", Warn, "attempts-before-reset-backoff", func(f *Facts) { settings(f).Restart.Attempts = 5 }},
	{"restart-waits", Warn, "max-backoff", func(f *Facts) { settings(f).Restart.Max = time.Hour }},
	{"parallelism-above-cpus", Warn, "parallelism.default", func(f *Facts) { f.Machine.CPUs = 0; f.Machine.CPUs = 1; spread(f, 4) }},
	{"memory-limit", Fail, "memory.process.size", func(f *Facts) { f.Machine.Memory = 512 << 20 }},
	{"fetch-memory", Warn, "fetch.max.bytes", func(f *Facts) { source(f).FetchBytes = 6 << 30 }},
	{"open-files-memory", Warn, "memory.process.size", func(f *Facts) { sampled(f).Tasks[0].Held[1] = 400 << 20 }},
	{"dir-temporary", Warn, "checkpointing.dir", func(f *Facts) { settings(f).Dir, sink(f).Root = "file:///tmp/ck", "/data/lake" }},
	{"dir-local", Warn, "checkpointing.dir", func(f *Facts) { settings(f).Dir = "/data/ck" }},
	{"dir-in-table", Warn, "checkpointing.dir", func(f *Facts) { settings(f).Dir = "hdfs://ns/lake/ck" }},
	{"table-temporary", Warn, "path", func(f *Facts) { sink(f).Root = "/tmp/lake" }},
	{"tables-nested", Fail, "path", func(f *Facts) {
		inner := *sink(f)
		inner.Table, inner.Root = "inner", "hdfs://ns/lake/inner"
		f.Sinks = append(f.Sinks, inner)
	}},
	{"parallelism-above-partitions", Warn, "parallelism.default", func(f *Facts) { settings(f).Parallelism = 6; f.Machine.CPUs = 8 }},
	{"skew", Warn, "parallelism.default", func(f *Facts) { spread(f, 4); source(f).Splits[1].Rate = 20_000 }},
	{"discovery-off", Warn, "discovery.interval", func(f *Facts) { source(f).Discovery = 0 }},
	{"reset-skips", Warn, "auto.offset.reset", func(f *Facts) { source(f).Reset = "latest" }},
	{"group-in-use", Warn, "group.id", func(f *Facts) { source(f).Members = 3 }},
	{"group-shared", Warn, "group.id", func(f *Facts) { source(f).Others = []string{"table audit"} }},
	{"isolation", Fail, "isolation.level", func(f *Facts) { source(f).ReadCommitted = false }},
	{"transaction-open", Fail, "transaction", func(f *Facts) {
		source(f).Splits[2].Stuck, source(f).Splits[2].Newest = 500, now.Add(-time.Hour)
	}},
	{"compacted", Warn, "cleanup.policy", func(f *Facts) { source(f).Topics[0].Cleanup = "compact,delete" }},
	{"unclean-election", Warn, "unclean", func(f *Facts) { source(f).Topics[0].Unclean = true }},
	{"one-replica", Warn, "replicas", func(f *Facts) { source(f).Topics[0].Replicas = 1 }},
	{"min-insync", Warn, "min.insync", func(f *Facts) { source(f).Topics[0].MinInSync = 1 }},
	{"ignore-errors", Warn, "json.ignore-parse-errors", func(f *Facts) { source(f).IgnoreErrors, source(f).IgnoreKey = true, "json.ignore-parse-errors" }},
	{"bad-record", Fail, "correct", func(f *Facts) {
		source(f).Sample.Error, source(f).Sample.Fatal = "topic 'events' partition 1 offset 17", true
	}},
	{"sample", Warn, "--sample", func(f *Facts) { source(f).Sample.Error = "no answer" }},
	{"throughput", Warn, "parallelism.default", func(f *Facts) { source(f).Sample.PerSecond = 1500 }},
	{"event-ahead", Warn, "TIMESTAMP_LTZ", func(f *Facts) {
		source(f).Sample.Event, source(f).WatermarkLTZ = now.Add(8*time.Hour), true
		sampled(f).Times.Newest = now.Add(8 * time.Hour)
	}},
	{"rollover-no-effect", Warn, KeyRollover, func(f *Facts) { sink(f).Set = map[string]bool{KeyRollover: true} }},
	{"inactivity-no-effect", Warn, KeyInactivity, func(f *Facts) { sink(f).Set = map[string]bool{KeyInactivity: true} }},
	{"check-interval", Warn, "check-interval", func(f *Facts) { sink(f).Roll.Rollover = 30 * time.Second }},
	{"roll-size-small", Warn, KeySize, func(f *Facts) { sink(f).Roll.Size = 1 << 10 }},
	{"roll-size-unreached", Warn, "interval", func(f *Facts) { sink(f).Set, sink(f).Roll.Size = map[string]bool{KeySize: true}, 1<<30 }},
	{"small-files", Warn, "execution.checkpointing.interval", func(f *Facts) {
		settings(f).Interval = 2 * time.Second
		for i := range sampled(f).Tasks {
			t := &sampled(f).Tasks[i]
			t.Files = []FileSample{{4000, 300 << 10}, {4000, 300 << 10}}
		}
	}},
	{"many-objects", Warn, "interval", func(f *Facts) { manyFilesOf(f, 300, 20<<20) }},
	{"many-partitions", Warn, "dt, hour", func(f *Facts) { sampled(f).Tasks[1].Open = []int{1000, 1200} }},
	{"default-partition", Warn, "COALESCE", func(f *Facts) { sampled(f).Defaults = 12 }},
	{"commit-above-interval", Warn, "interval", func(f *Facts) { manyFilesOf(f, 300, 20<<20); sink(f).RoundTrip = 500 * time.Millisecond }},
	{"timeout-below-closing", Fail, "timeout", func(f *Facts) { manyFilesOf(f, 3000, 20<<20); sink(f).RoundTrip = 200 * time.Millisecond }},
	{"commit-without-policy", Warn, "policy.kind", func(f *Facts) {
		sink(f).Commit = PartitionCommit{Zone: "UTC"}
		sink(f).Set = map[string]bool{KeyTrigger: true}
	}},
	{"commit-without-partitions", Warn, "PARTITIONED BY", func(f *Facts) { sink(f).Keys = nil }},
	{"process-time-at-once", Warn, KeyTrigger, func(f *Facts) { sink(f).Commit.ByTime, sink(f).Commit.Delay = false, 0 }},
	{"delay-below-partition", Warn, KeyDelay, func(f *Facts) { sink(f).Commit.Delay = 10 * time.Minute }},
	{"delay-below-interval", Warn, KeyDelay, func(f *Facts) {
		sink(f).Commit.ByTime, sink(f).Commit.Delay = false, time.Minute
		sampled(f).Times = PartitionTimes{}
	}},
	{"late-for-the-clock", Warn, KeyTrigger, func(f *Facts) {
		sink(f).Commit.ByTime = false
		source(f).Sample.Event = now.Add(-26 * time.Hour)
	}},
	{"complete-late", Warn, KeyDelay, func(f *Facts) { sink(f).Commit.Delay = 48 * time.Hour }},
	{"partition-time-without-watermark", Fail, "WATERMARK", func(f *Facts) { source(f).Watermark = false }},
	{"idle-split", Fail, "idle-timeout", func(f *Facts) { source(f).Splits[3].Rate, source(f).IdleTimeout = 0, 0 }},
	{"idle-timeout-unset", Warn, "idle-timeout", func(f *Facts) { source(f).IdleTimeout = 0 }},
	{"idle-timeout-short", Warn, "idle-timeout", func(f *Facts) { source(f).Splits[0].Rate = 1. / 600 }},
	{"time-extractor", Fail, KeyPattern, func(f *Facts) { sampled(f).Times = PartitionTimes{Bad: "'x' is no time"} }},
	{"zones", Warn, KeyZone, func(f *Facts) { source(f).WatermarkLTZ, settings(f).Zone = true, "Asia/Shanghai" }},
	{"zones", Warn, KeyZone, func(f *Facts) { sink(f).Commit.Zone = "Asia/Shanghai" }},
	{"partition-shift", Fail, KeyZone, func(f *Facts) { sampled(f).Times.Newest = now.Add(-9 * time.Hour) }},
	{"partition-shift", Warn, KeyZone, func(f *Facts) { sampled(f).Times.Newest = now.Add(7 * time.Hour) }},
	{"zone-of-the-machine", Warn, "table.local-time-zone", func(f *Facts) { settings(f).ZoneSet = false }},
	{"sink-parallelism", Fail, "sink.parallelism", func(f *Facts) { sink(f).SinkParallelism = 8 }},
}

// spread gives each of n subtasks one partition.
func spread(f *Facts, n int) {
	f.Settings.Parallelism = n
	for i := range f.Sources[0].Splits {
		f.Sources[0].Splits[i].Subtask = i % n
	}
	for i := 2; i < n; i++ {
		t := f.Sinks[0].Sample.Tasks[i%2]
		t.Subtask = i
		f.Sinks[0].Sample.Tasks = append(f.Sinks[0].Sample.Tasks, t)
	}
}

func manyFilesOf(f *Facts, n int, bytes int64) {
	for i := range f.Sinks[0].Sample.Tasks {
		t := &f.Sinks[0].Sample.Tasks[i]
		t.Files = nil
		for range 2 * n {
			t.Files = append(t.Files, FileSample{1000, bytes})
		}
		t.Folders, t.Open = make([]int64, n), []int{n, n}
	}
}

func TestSound(t *testing.T) {
	r := Judge(sound())
	for _, x := range r.Findings {
		if x.Verdict != Pass {
			t.Errorf("%s %s: %s: %s", x.Verdict, x.Code, x.What, x.Why)
		}
	}
	if len(r.Forecasts) != 1 {
		t.Fatalf("%d forecasts", len(r.Forecasts))
	}
}

func TestWrong(t *testing.T) {
	tried := map[string]bool{"interval": true, "no-rate": true, "no-forecast": true}
	for _, x := range wrong {
		t.Run(x.code, func(t *testing.T) {
			f := sound()
			x.facts(&f)
			r := Judge(f)
			found := 0
			for _, y := range r.Findings {
				if y.Verdict == Pass {
					continue
				}
				t.Logf("%s %s: %s; change: %s", y.Verdict, y.What, y.Why, y.Change)
				if y.Code != x.code {
					if y.Verdict == Fail {
						t.Errorf("another finding: %s", y.Code)
					}
					continue
				}
				found++
				if y.Verdict != x.verdict || !strings.Contains(y.Change, x.change) || y.Why == "" || y.What == "" {
					t.Errorf("%+v", y)
				}
			}
			if found == 0 {
				t.Error("was not found")
			}
		})
		tried[x.code] = true
	}
	for _, r := range Rules {
		if !tried[r.Code] {
			t.Errorf("rule %s is not tried", r.Code)
		}
		delete(tried, r.Code)
	}
	for code := range tried {
		t.Errorf("%s is no rule", code)
	}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s: %g, want %g within %g %%", what, got, want, 100*within)
	}
}

func TestForecastMeasured(t *testing.T) {
	p := Judge(sound()).Forecasts[0]
	near(t, "rate", p.Rate, 4000, 0.001)
	near(t, "files an hour", p.FilesPerHour, 24, 0.001)
	near(t, "file size", p.FileBytes, 40<<20, 0.001)
	near(t, "open files", p.OpenFiles, 2, 0.001)
	near(t, "memory", p.OpenBytes, 20<<20, 0.001)
	near(t, "bytes a day", p.BytesPerDay, 24*24*40<<20, 0.001)
	// 576 data files, 24 folders, 24 success files, 2 x 128 entries and 2 archives of 128 certificates
	near(t, "objects a day", p.ObjectsPerDay, 576+24+24+256+2, 0.001)
	if want := 5*time.Minute + 26*time.Millisecond; p.Visible != want {
		t.Errorf("visible after %s, want %s", p.Visible, want)
	}
	if want := 5*time.Minute + 26*time.Millisecond + 5*time.Second; p.Complete != want {
		t.Errorf("complete after %s, want %s", p.Complete, want)
	}
	if p.AfterFailure < 15*time.Minute || p.AfterFailure > 16*time.Minute {
		t.Errorf("after a failure %s", p.AfterFailure)
	}
}

// TestForecastExtrapolated takes a tenth of the same rows.
func TestForecastExtrapolated(t *testing.T) {
	f := sound()
	s := f.Sinks[0].Sample
	s.Whole, s.Share = false, 0.1
	for i := range s.Tasks {
		// 10 partitions of equal size, files of 1 MB + 64 bytes a row
		x := &s.Tasks[i]
		// an open file holds 64 kB + 70 bytes a row
		x.Read, x.Written, x.Files, x.Folders, x.Open = 120_000, 120_000, nil, nil, []int{10, 10}
		x.Rows, x.Held, x.Half = []int64{40_000, 80_000}, []int64{640<<10 + 70*40_000, 640<<10 + 70*80_000}, []int64{640<<10 + 70*20_000, 640<<10 + 70*40_000}
		for k := range 20 {
			n := int64(4000 + 4000*(k%2))
			x.Files = append(x.Files, FileSample{n, 1<<20 + 64*n})
		}
		for range 10 {
			x.Folders = append(x.Folders, 12_000)
		}
	}
	p := Judge(f).Forecasts[0]
	near(t, "files", p.FilesPerCheckpoint, 20, 0.01)
	near(t, "file size", p.FileBytes, 1<<20+64*60_000, 0.01)
	near(t, "memory", p.OpenBytes, 2*(640<<10+70*600_000), 0.01)
	if p.Measured {
		t.Error("it was not measured")
	}
	f.Sinks[0].Roll.Size = 2 << 20 // 1 MB of rows, 16,384 a file
	p = Judge(f).Forecasts[0]
	near(t, "files that are rolled", p.FilesPerCheckpoint, 20*4, 0.01)
}

func TestDistinct(t *testing.T) {
	even := make([]int64, 100)
	for i := range even {
		even[i] = 50
	}
	near(t, "all seen", Distinct(even, 1e6), 100, 0.001)
	near(t, "fewer draws", Distinct(even, 100), 100*(1-math.Pow(0.99, 100)), 0.001)
	// 1000 values, each drawn once on average: Poisson gives 368 seen once, 184 twice, 80 more often, 368 not at all
	var once []int64
	for n, k := range map[int64]int{1: 368, 2: 184, 3: 61, 4: 15, 5: 4} {
		for range k {
			once = append(once, n)
		}
	}
	near(t, "unseen values", Distinct(once, 1e6), 1000, 0.02)
	near(t, "unseen values, twice the draws", Distinct(once, 2000), 1000*(1-math.Exp(-2)), 0.03)
	if d := Distinct(nil, 10); d != 0 {
		t.Error(d)
	}
	if d := Distinct([]int64{1, 1, 1}, 10); d < 3 || d > 10 {
		t.Error(d)
	}
}

func TestLength(t *testing.T) {
	for _, x := range []struct {
		c      PartitionCommit
		keys   string
		values string
		want   time.Duration
	}{
		{PartitionCommit{Pattern: "$dt $hour:00:00"}, "dt,hour", "2026-01-01,05", time.Hour},
		{PartitionCommit{Pattern: "$dt $hour:$minute:00"}, "dt,hour,minute", "2026-01-01,05,10", time.Minute},
		{PartitionCommit{Pattern: "$dt 00:00:00"}, "dt,hour", "2026-01-01,05", day},
		{PartitionCommit{Pattern: "$y-$m-01"}, "y,m", "2026,01", month},
		{PartitionCommit{}, "dt", "2026-01-01", day},
		{PartitionCommit{}, "dt", "2026-01-01 05:00:00", time.Second},
		{PartitionCommit{}, "dt,hour", "2026-01-01,05", time.Hour},
		{PartitionCommit{}, "dt,city", "2026-01-01,berlin", day},
		{PartitionCommit{}, "user", "4711", 0},
		{PartitionCommit{}, "city,dt", "berlin,20260101", day},
		{PartitionCommit{Formatter: "yyyyMMdd"}, "dt", "20260101", day},
		{PartitionCommit{Formatter: "yyyyMMddHH", Pattern: "$dt$hour"}, "dt,hour", "20260101,05", time.Hour},
		{PartitionCommit{Formatter: "yyyy-MM-dd'T'HH"}, "dt", "2026-01-01T05", time.Hour},
		{PartitionCommit{Pattern: "2026-01-01"}, "dt", "x", 0},
		{PartitionCommit{}, "dt", "", 0},
	} {
		if got := Length(x.c, strings.Split(x.keys, ","), strings.Split(x.values, ",")); got != x.want {
			t.Errorf("%+v of %s = %s: %s, want %s", x.c, x.keys, x.values, got, x.want)
		}
	}
}

func TestNoForecast(t *testing.T) {
	for _, change := range []func(*Facts){func(f *Facts) {
		*source(f) = Source{Table: "events", Connector: "kafka", Watermark: true, IdleTimeout: time.Minute}
	}, func(f *Facts) { settings(f).Bounded = true }, func(f *Facts) {
		*source(f) = Source{Table: "events", Connector: "datagen", Watermark: true, IdleTimeout: time.Minute}
		settings(f).Bounded = true
	}} {
		f := sound()
		change(&f)
		r := Judge(f)
		for _, x := range r.Findings {
			if fast := strings.Contains(x.Why, "as fast as it can"); x.Code == "no-forecast" && fast != (source(&f).Surveyed && settings(&f).Bounded) {
				t.Errorf("%+v", x)
			}
		}
		found := false
		for _, x := range r.Findings {
			found = found || x.Code == "no-forecast"
			if x.Verdict != Pass {
				t.Errorf("what is not known is no finding: %+v", x)
			}
		}
		if !found || len(r.Forecasts) != 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestNoRate(t *testing.T) {
	f := sound()
	for i := range f.Sources[0].Splits {
		f.Sources[0].Splits[i].Rate = 0
	}
	f.Sinks[0].Sample = nil
	r := Judge(f)
	for _, x := range r.Findings {
		if x.Code == "no-rate" {
			return
		}
	}
	t.Errorf("%+v", r.Findings)
}

// TestEmpty: nothing known is no reason to fall over.
func TestEmpty(t *testing.T) {
	Judge(Facts{})
	Judge(Facts{Sources: make([]Source, 2), Sinks: []Sink{{Files: true, Sample: &Sample{Rounds: 1, Tasks: make([]TaskSample, 1)}}, {Files: true, Keys: []string{"a"}, Commit: PartitionCommit{Policy: "success-file", ByTime: true}}}})
}

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 90 * time.Second: "90 s", 2 * time.Minute: "2 min", time.Hour: "1 h", 26 * time.Hour: "26 h", 48 * time.Hour: "2 d", 1500 * time.Millisecond: "1.5 s",
		150 * time.Millisecond: "150 ms", 10 * time.Minute: "10 min", 200 * time.Microsecond: "below 1 ms", 7 * day: "7 d", 5*time.Minute + 4*time.Millisecond: "5 min"} {
		if got := span(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	if got := size(1536); got != "1.5 kB" {
		t.Error(got)
	}
	if got := count(1234567); got != "1,234,567" {
		t.Error(got)
	}
}
