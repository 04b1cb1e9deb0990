package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staunch/env"
	"staunch/forecast"
	"staunch/forecast/observe"
	"staunch/plan"
)

// forecastFlags say how closely `check` looks at what a job will do.
type forecastFlags struct {
	sample int
	rate   float64
}

func (f *forecastFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.sample, "sample", 200_000, "recent records that are read and put through the plan, for the forecasts; 0 = none")
	c.Flags().Float64Var(&f.rate, "rate", 0, "records a second that will come to each source; 0 = as they came lately")
}

func (f *forecastFlags) check() error {
	if f.sample < 0 || !(f.rate >= 0) || math.IsInf(f.rate, 0) { // NaN is not at least 0
		return &exitError{exitUsage, errors.New("--sample and --rate are numbers from 0 on")}
	}
	return nil
}

// sampleTime bounds the reading of a sample.
const sampleTime = 20 * time.Second

// looker plans the file once more, with stores in memory.
func (f *runFlags) looker(file string, script *plan.Script, o forecastFlags) (*observe.Looker, error) {
	log, err := f.logger()
	if err != nil {
		return nil, err
	}
	trial := f.scriptFlags
	before := trial.plugins
	trial.plugins = func(reg *plan.Registry) {
		if before != nil {
			before(reg)
		}
		reg.Stores = observe.Scratch{Stores: reg.Stores}
	}
	second, _, err := trial.load(file, newCollector(os.Stdout).sink)
	if err != nil {
		return nil, err
	}
	return &observe.Looker{Env: &env.Real{}, Log: log, Script: script, Trial: second, Stores: f.stores(),
		Options: observe.Options{Records: o.sample, Time: sampleTime, Rate: o.rate, Machine: machine()}}, nil
}

// forecasts judges the i-th job and adds what was found.
func (r *jobReport) forecasts(l *observe.Looker, i int, j *plan.Job, jobs int) error {
	if j.Select {
		return nil // its rows are printed, and nothing of it is kept
	}
	memory, err := j.Conf.Memory()
	if err != nil {
		return err
	}
	l.Options.WritersMemory = writersMemory(memory) / int64(jobs)
	l.Away = func(what string) bool {
		return slices.ContainsFunc(r.Findings, func(x finding) bool { return x.What == what && x.Verdict == fail })
	}
	facts, err := l.Job(i)
	if err != nil {
		return err
	}
	report := forecast.Judge(facts)
	for _, x := range report.Findings {
		r.Findings = append(r.Findings, finding{Verdict: verdict(x.Verdict), What: x.What, Why: x.Why, Code: x.Code, Change: x.Change})
	}
	for _, p := range report.Forecasts {
		r.Forecasts = append(r.Forecasts, forecastReport{Forecast: p})
	}
	return nil
}

// writersMemory is the part of the process's budget that the writers' open files may take; the rest is for decoders, queues and the collector.
func writersMemory(budget int64) int64 { return budget / 3 }

// forecastReport is a forecast as it is printed.
type forecastReport struct{ forecast.Forecast }

// MarshalJSON writes times in seconds.
func (p forecastReport) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Table        string  `json:"table"`
		Insert       string  `json:"insert"`
		Measured     bool    `json:"measured"`
		Rate         float64 `json:"rows_per_second"`
		Cycle        float64 `json:"checkpoint_seconds"`
		Files        float64 `json:"files_per_checkpoint"`
		FilesPerHour float64 `json:"files_per_hour"`
		FileBytes    float64 `json:"file_bytes"`
		OpenFiles    float64 `json:"open_files"`
		OpenBytes    float64 `json:"open_files_bytes"`
		Objects      float64 `json:"objects_per_day"`
		Partitions   float64 `json:"partitions_per_day,omitempty"`
		Bytes        float64 `json:"bytes_per_day"`
		Visible      float64 `json:"visible_seconds"`
		AfterFailure float64 `json:"visible_after_failure_seconds"`
		Complete     float64 `json:"complete_seconds,omitempty"`
	}{p.Table, p.Insert, p.Measured, p.Rate, p.Cycle.Seconds(), p.FilesPerCheckpoint, p.FilesPerHour, p.FileBytes, p.OpenFiles, p.OpenBytes, p.ObjectsPerDay, p.PartitionsPerDay,
		p.BytesPerDay, p.Visible.Seconds(), p.AfterFailure.Seconds(), p.Complete.Seconds()})
}

func (p forecastReport) print(out io.Writer) {
	for i, line := range p.Text() {
		if i == 0 {
			line = fmt.Sprintf("forecast for %s (INSERT %s): %s", p.Table, p.Insert, line)
		} else {
			line = "      " + line
		}
		fmt.Fprintln(out, "  "+line)
	}
}

// machine is what this process runs on.
func machine() forecast.Machine {
	return forecast.Machine{CPUs: runtime.GOMAXPROCS(0), Memory: memoryLimit()}
}

// memoryLimit is the least of the container's limit (cgroup v2 or v1) and the machine's memory, 0 if neither can be read.
func memoryLimit() (least int64) {
	take := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(name); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is no limit
			take(n)
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for _, line := range strings.Split(string(b), "\n") {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
				n, _ := strconv.ParseInt(f[1], 10, 64)
				take(n << 10)
			}
		}
	}
	return least
}
