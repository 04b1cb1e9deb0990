package job

import (
	"log/slog"
	"sync"
	"testing"

	"staunch/account"
	"staunch/env"
	"staunch/metric"
)

// TestCountersAddUp: whoever reads the metrics while files are committed sees counters of one moment: created = renamed + skipped + lost.
func TestCountersAddUp(t *testing.T) {
	reg := metric.NewRegistry()
	j := New(&env.Real{}, Spec{ID: "job"}, slog.New(slog.DiscardHandler), reg.Group("job_name", "job"))
	one := account.Counters{Created: 3, Renamed: 1, Skipped: 1, Lost: 1}
	got := func(during func()) map[string]float64 {
		m := map[string]float64{}
		reg.Each(func(x metric.Sample) { m[x.Name] = x.Value; during() })
		return m
	}
	right := func(m map[string]float64, created float64) {
		t.Helper()
		if c := m["numFilesCreated"]; c != created || c != m["numFilesRenamed"]+m["numFilesSkipped"]+m["numFilesLost"] {
			t.Errorf("%v", m)
		}
	}
	j.addCounters(one)
	right(got(func() { j.addCounters(one) }), 3) // a commit between any two samples
	now := j.Status().Counters.Created
	right(got(func() {}), float64(now))
	var wg sync.WaitGroup // readers at the same time do not share what they see
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if m := got(func() { j.addCounters(one) }); m["numFilesCreated"] != m["numFilesRenamed"]+m["numFilesSkipped"]+m["numFilesLost"] {
					t.Errorf("%v", m)
				}
			}
		})
	}
	wg.Wait()
}
