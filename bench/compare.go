package main

import (
	"cmp"
	"fmt"
	"log"
	"slices"
)

// title says what a job of test/peer/sql does.
var title = map[string]string{"a": "JSON -> blackhole", "b": "JSON -> Parquet, snappy, by day and hour", "c": "JSON -> JSON files, by day and hour"}

// series are the measured runs of one engine, or why there are none.
type series struct {
	engine string
	runs   []usage
	err    error
}

// comparison is one job under all engines.
type comparison struct {
	job                   string
	staunch, flink, limit series
}

// compare runs rounds of all engines, one after the other, so that what else the machine does hits all alike. The first round is discarded. An
// engine that fails twice is not tried again.
func (b *bench) compare(job string, flink bool) comparison {
	c := comparison{job, series{engine: "Staunch"}, series{engine: "Flink"}, series{engine: "limit program"}}
	if !flink {
		c.flink.err = fmt.Errorf("not asked for (-flink=false)")
	}
	failures := map[string]int{}
	for round := range b.rounds + 1 {
		for _, e := range []struct {
			*series
			run func() (usage, error)
		}{
			{&c.flink, func() (usage, error) { return b.runFlink(job) }},
			{&c.staunch, func() (usage, error) { return b.runStaunch(job, round == 0) }},
			{&c.limit, func() (usage, error) { return b.runLimit(job) }},
		} {
			if failures[e.engine] > 1 || e.engine == "Flink" && !flink {
				continue
			}
			u, err := e.run()
			if err != nil {
				failures[e.engine]++
				e.err = err
				log.Printf("job %s round %d: %s failed: %v", job, round, e.engine, err)
				continue
			}
			log.Printf("job %s round %d: %-13s %8s rec/CPU-s %8s rec/s  %6.2f CPU-s  peak %s  others used %.0f %% of the machine", job, round, e.engine,
				thousands(u.perCPU()), thousands(u.perSec()), u.cpu, mib(u.peak), 100*u.others)
			if round > 0 {
				e.runs = append(e.runs, u)
			}
		}
	}
	return c
}

// runStaunch runs the job; when asked, an outside reader looks whether every record is in its table once.
func (b *bench) runStaunch(job string, verify bool) (usage, error) {
	s, err := b.script(job)
	if err != nil {
		return usage{}, err
	}
	format, files := map[string]string{"b": "parquet", "c": "json"}[job]
	if !verify || !files {
		return b.bounded(s, nil)
	}
	return b.bounded(s, func(table string) error { return b.verify(table, format) })
}

// of gives the median of a figure over the runs.
func (s series) of(f func(usage) float64) float64 {
	v := make([]float64, len(s.runs))
	for i, u := range s.runs {
		v[i] = f(u)
	}
	return median(v)
}

// ratio divides two medians of records per CPU-second; ok is false when one of them is missing.
func ratio(a, b series) (r float64, ok bool) {
	if len(a.runs) == 0 || len(b.runs) == 0 {
		return 0, false
	}
	return a.of(usage.perCPU) / b.of(usage.perCPU), true
}

// median of a list, the upper one of an even number, 0 of an empty one.
func median[T cmp.Ordered](v []T) (m T) {
	if len(v) == 0 {
		return m
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// quantile is the least value that is not below a share q of all, 0 of an empty list.
func quantile[T cmp.Ordered](v []T, q float64) (m T) {
	if len(v) == 0 {
		return m
	}
	v = slices.Sorted(slices.Values(v))
	return v[min(len(v)-1, int(q*float64(len(v))))]
}
