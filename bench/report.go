package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// bars are the least ratios of records per CPU-second: to Flink, and to the limit program (0: none is set).
var bars = map[string][2]float64{"a": {3.5, 0.8}, "b": {4, 0.8}, "c": {5, 0}}

// peakBar is the most memory in bytes that job b may take.
const peakBar = 400e6

// report is all that was measured.
type report struct {
	command        string
	began, ended   time.Time
	machine        []string
	loadAfter      string
	records, bytes int64
	rounds         int
	jobs           []comparison
	rows           []row
}

// render makes the Markdown text.
func (r *report) render() string {
	var t strings.Builder
	fmt.Fprintf(&t, "# Results of `%s`\n\n%s UTC, %.0f minutes. ", r.command, r.began.UTC().Format("2006-01-02 15:04"), r.ended.Sub(r.began).Minutes())
	fmt.Fprintf(&t, "Topic of %s records, %s of JSON values, %d partitions; parallelism 2, checkpoints every 5 s, exactly once. ", thousands(float64(r.records)),
		mib(r.bytes), partitions)
	fmt.Fprintf(&t, "One discarded round, then medians of %d interleaved ones.\n\n", r.rounds)
	for _, m := range append(r.machine, "Load average after: "+r.loadAfter+".") {
		fmt.Fprintf(&t, "- %s\n", m)
	}
	if len(r.jobs) > 0 {
		r.throughput(&t)
		r.ratios(&t)
	}
	if len(r.rows) > 0 {
		t.WriteString("\n## What a user waits for, memory, and stores\n\n| what | figure | bar | |\n|---|---|---|---|\n")
		for _, x := range r.rows {
			fmt.Fprintf(&t, "| %s | %s | %s | %s |\n", x.what, x.text(), x.bar, verdict(x.holds))
		}
	}
	return t.String()
}

func (r *report) throughput(t *strings.Builder) {
	t.WriteString("\n## Throughput\n\n| job | engine | records/CPU-s | least - most | records/s | CPU-s | peak memory | files | checkpoints | others' share of the machine |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range r.jobs {
		for _, s := range []series{c.flink, c.staunch, c.limit} {
			name := c.job + ". " + title[c.job]
			if len(s.runs) == 0 {
				fmt.Fprintf(t, "| %s | %s | missing: %s | | | | | | | |\n", name, s.engine, cell(s.err))
				continue
			}
			rates := make([]float64, len(s.runs))
			for i, u := range s.runs {
				rates[i] = u.perCPU()
			}
			files, checkpoints := "", ""
			if s.engine != c.limit.engine {
				files = fmt.Sprint(s.of(func(u usage) float64 { return float64(u.files) }))
				checkpoints = fmt.Sprint(s.of(func(u usage) float64 { return float64(u.checkpoints) }))
			}
			fmt.Fprintf(t, "| %s | %s | %s | %s - %s | %s | %.2f | %s | %s | %s | %.0f %% |\n", name, s.engine, thousands(s.of(usage.perCPU)),
				thousands(quantile(rates, 0)), thousands(quantile(rates, 1)), thousands(s.of(usage.perSec)), s.of(func(u usage) float64 { return u.cpu }),
				mib(int64(s.of(func(u usage) float64 { return float64(u.peak) }))), files, checkpoints, 100*s.of(func(u usage) float64 { return u.others }))
			if s.err != nil {
				fmt.Fprintf(t, "| %s | %s | one run failed: %s | | | | | | | |\n", name, s.engine, cell(s.err))
			}
		}
	}
}

func (r *report) ratios(t *strings.Builder) {
	t.WriteString("\nRatios of records per CPU-second:\n\n| job | Staunch / Flink | bar | | Staunch / limit program | bar | |\n|---|---|---|---|---|---|---|\n")
	for _, c := range r.jobs {
		fmt.Fprintf(t, "| %s |", c.job)
		for i, other := range []series{c.flink, c.limit} {
			bar := bars[c.job][i]
			v, ok := ratio(c.staunch, other)
			holds := v >= bar
			switch {
			case !ok:
				fmt.Fprint(t, " missing | | |")
			case bar == 0:
				fmt.Fprintf(t, " %.2f | | |", v)
			default:
				fmt.Fprintf(t, " %.2f | %.1f | %s |", v, bar, verdict(&holds))
			}
		}
		t.WriteString("\n")
	}
	for _, c := range r.jobs {
		if c.job == "b" && len(c.staunch.runs) > 0 {
			peak := c.staunch.of(func(u usage) float64 { return float64(u.peak) })
			holds := peak <= peakBar
			fmt.Fprintf(t, "\nPeak memory of b, default settings: %.0f MB (bar 400 MB: %s). Flink's is JobManager, TaskManager and SQL gateway together.\n", peak/1e6, verdict(&holds))
		}
		if c.job == "b" && len(c.flink.runs) > 0 {
			fmt.Fprintf(t, "Flink, submission to first visible file of b in a cluster that is up: %.1f s.\n", c.flink.of(func(u usage) float64 { return u.firstFile }))
		}
	}
}

func (x row) text() string {
	if x.err != nil {
		return "missing: " + cell(x.err)
	}
	return x.figure
}

func verdict(holds *bool) string {
	switch {
	case holds == nil:
		return ""
	case *holds:
		return "holds"
	}
	return "**missed**"
}

// cell makes an error fit into a table.
func cell(err error) string {
	if err == nil {
		return "no run"
	}
	s := strings.NewReplacer("\n", " ", "|", "/").Replace(err.Error())
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + " ..."
	}
	return s
}

// thousands prints a number without decimals, in groups of three.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// notesHeading begins what is written by hand in the results file.
const notesHeading = "## Notes"

// keepNotes writes the text over the file, but keeps what stands there from the notes' heading on.
func keepNotes(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if i := strings.Index(string(old), "\n"+notesHeading); i >= 0 {
		text += string(old[i:])
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
