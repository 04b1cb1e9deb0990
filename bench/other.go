package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// row is one figure with its bar.
type row struct {
	what, figure, bar string
	holds             *bool // nil: there is no bar
	err               error // why the figure is missing
}

func figure(what, text string) row { return row{what: what, figure: text} }

func barred(what, text, bar string, holds bool) row {
	return row{what: what, figure: text, bar: bar, holds: &holds}
}

func missing(what string, err error) row { return row{what: what, err: err} }

// Parts of the jobs' files that are changed.
const (
	boundedMode = "  'scan.bounded.mode' = 'latest-offset',\n"
	interval5   = "SET 'execution.checkpointing.interval' = '5 s';\n"
)

func interval(text string) string {
	return fmt.Sprintf("SET 'execution.checkpointing.interval' = '%s';\n", text)
}

// others measures what a user waits for, and what stands still or is repeated.
func (b *bench) others() (rows []row) {
	for _, m := range []struct {
		what string
		f    func() []row
	}{
		{"start to first visible file, checkpoints every 5 s", func() []row { return b.startUp("5 s", 5*time.Second) }},
		{"start to first visible file, default interval", func() []row { return b.startUp("", 10*time.Second) }},
		{"restart after kill -9", b.restart},
		{"delay, checkpoints every 1 s", func() []row { return b.delay("1 s", 30*time.Second) }},
		{"delay, checkpoints every 5 s", func() []row { return b.delay("5 s", 60*time.Second) }},
		{"cost of checkpoints", b.checkpoints},
		{"memory while the sink stands still", b.standstill},
	} {
		log.Print(m.what)
		r := m.f()
		for _, x := range r {
			log.Printf("  %s: %s", x.what, x.text())
		}
		rows = append(rows, r...)
	}
	return rows
}

// startUp runs job b without end from the process's start until a reader of the table sees the first file; default interval if none is given.
func (b *bench) startUp(every string, length time.Duration) []row {
	what := fmt.Sprintf("process start to first visible file (b), checkpoints every %s", every)
	edits := []string{boundedMode, "", interval5, interval(every)}
	if every == "" {
		what = fmt.Sprintf("process start to first visible file (b), default interval (%s)", length)
		edits[3] = ""
	}
	var seconds []float64
	for range 3 {
		s, err := b.script("b", edits...)
		if err != nil {
			return []row{missing(what, err)}
		}
		c, err := b.start(s, nil)
		if err != nil {
			return []row{missing(what, err)}
		}
		err = c.poll(5*time.Millisecond, time.Minute, func() bool { return visibleFile(s.table) })
		seconds = append(seconds, time.Since(c.began).Seconds())
		if err == nil {
			err = c.stop()
		}
		c.kill()
		s.clean()
		if err != nil {
			return []row{missing(what, err)}
		}
	}
	most := length.Seconds() + 2
	return []row{barred(what, fmt.Sprintf("%.2f s", median(seconds)), fmt.Sprintf("2 s + interval = %.0f s", most), median(seconds) <= most)}
}

// restart kills job c right after its first file became visible, and starts it again. Its writers create a file as soon as they hold 64 KiB of
// it, which is seen from outside: so the figure is the time until some hundred records were handed to a writer.
func (b *bench) restart() []row {
	const what, times = "process start after kill -9 to records handed to a writer (c; its first new file)", 5
	stop, err := b.produceLive()
	if err != nil {
		return []row{missing(what, err)}
	}
	defer stop()
	var seconds []float64
	for range times {
		t, err := b.restartOnce()
		if err != nil {
			return []row{missing(what, err)}
		}
		seconds = append(seconds, t.Seconds())
	}
	return []row{barred(fmt.Sprintf("%s, median of %d, slowest %.2f s", what, times, quantile(seconds, 1)), fmt.Sprintf("%.2f s", median(seconds)), "1 s",
		median(seconds) <= 1)}
}

func (b *bench) restartOnce() (time.Duration, error) {
	s, err := b.script("c", boundedMode, "", "${TOPIC}", liveTopic, interval5, interval("2 s"))
	if err != nil {
		return 0, err
	}
	defer s.clean()
	c, err := b.start(s, nil)
	if err != nil {
		return 0, err
	}
	defer func() { c.kill() }()
	if err := c.poll(5*time.Millisecond, time.Minute, func() bool { return visibleFile(s.table) }); err != nil {
		return 0, err
	}
	known := pendingFiles(s.table)
	if err := c.poll(5*time.Millisecond, time.Minute, func() bool { return newPending(s.table, known) }); err != nil { // in the middle of writing
		return 0, err
	}
	c.kill()
	known = pendingFiles(s.table)
	if c, err = b.start(s, nil); err != nil {
		return 0, err
	}
	err = c.poll(2*time.Millisecond, time.Minute, func() bool { return newPending(s.table, known) })
	return time.Since(c.began), err
}

func newPending(table string, known map[string]bool) bool {
	for path := range pendingFiles(table) {
		if !known[path] {
			return true
		}
	}
	return false
}

// delay reads live events, whose Kafka time stamps (given by the producer) go through into JSON files, and takes each from its time stamp until
// its file was seen by a look every 5 ms.
func (b *bench) delay(every string, length time.Duration) []row {
	what := fmt.Sprintf("event to visible, %s records/s, checkpoints every %s", thousands(liveRate), every)
	rows, err := b.delayOnce(what, every, length)
	if err != nil {
		return []row{missing(what, err)}
	}
	return rows
}

func (b *bench) delayOnce(what, every string, length time.Duration) ([]row, error) {
	s, err := b.script("c", boundedMode, "", "${TOPIC}", liveTopic, "earliest-offset", "latest-offset", interval5, interval(every),
		"  seq BIGINT\n)", "  seq BIGINT,\n  made TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL\n)", // of the source, and of the sink:
		"  seq BIGINT,\n  dt STRING,\n  hr STRING\n)", "  seq BIGINT,\n  made TIMESTAMP_LTZ(3),\n  dt STRING,\n  hr STRING\n)")
	if err != nil {
		return nil, err
	}
	stop, err := b.produceLive()
	if err != nil {
		return nil, err
	}
	defer stop()
	c, err := b.start(s, nil)
	if err != nil {
		return nil, err
	}
	defer s.clean()
	defer func() { c.kill() }()
	if err := c.poll(20*time.Millisecond, time.Minute, func() bool { return visibleFile(s.table) }); err != nil {
		return nil, err
	}
	seen := map[string]time.Time{}
	visibleFiles(s.table, func(path string) bool { seen[path] = time.Time{}; return true }) // of the start: not counted
	end := time.Now().Add(length)
	err = c.poll(5*time.Millisecond, 2*length, func() bool {
		now := time.Now()
		visibleFiles(s.table, func(path string) bool {
			if _, ok := seen[path]; !ok {
				seen[path] = now
			}
			return true
		})
		return now.After(end)
	})
	if err != nil {
		return nil, err
	}
	if err := c.stop(); err != nil {
		return nil, err
	}
	files := 0
	var delays []float64
	for path, at := range seen {
		if at.IsZero() {
			continue
		}
		files++
		if delays, err = appendDelays(delays, path, at); err != nil {
			return nil, err
		}
	}
	if len(delays) == 0 {
		return nil, fmt.Errorf("no file became visible in %s", length)
	}
	return []row{
		figure(what, fmt.Sprintf("p50 %.2f s, p99 %.2f s (%s records)", quantile(delays, 0.5), quantile(delays, 0.99), thousands(float64(len(delays))))),
		figure(fmt.Sprintf("files an hour and partition folder (c, parallelism 2), checkpoints every %s", every),
			thousands(float64(files)*3600/length.Seconds())),
	}, nil
}

var madeField = regexp.MustCompile(`"made":"([^"]*)"`)

// appendDelays adds, for each record of a JSON file, the seconds from its time stamp until at.
func appendDelays(dst []float64, path string, at time.Time) ([]float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return dst, err
	}
	for line := range bytes.Lines(text) {
		m := madeField.FindSubmatch(line)
		if m == nil {
			return dst, fmt.Errorf("no time stamp in %q of %s", line, path)
		}
		t, err := time.Parse("2006-01-02 15:04:05.999Z", string(m[1]))
		if err != nil {
			return dst, err
		}
		dst = append(dst, at.Sub(t).Seconds())
	}
	return dst, nil
}

// checkpointing are the functions below which a checkpoint does its work; finishing are those that would encode the same rows with fewer
// checkpoints too, only in larger files.
const (
	checkpointing = `Subtask..snapshot|Subtask..makeDurable|job.*attempt..(run|appendNow|commitNow|tellSources)|job.\(\*loop\)`
	finishing     = `format/(parquet|json).*Finish`
	// certifying are those that only certificates need: sets of offsets, hashes of files and entries, and the entries' way into the table's log.
	certifying = `staunch/account\.|sha256\.|commit\.\(\*Table\)\.(certify|appendCertificate|segment)|commit\.\(\*State\)`
	// hashing is where the files' checksums are computed.
	hashing = `account\.\(\*Summer\)`
	// tracing are those that only the operation trace needs; what the wrapped stores call is not theirs.
	tracing = `trace\.\(\*Recorder\)|trace\.\(\*store\)\.(record|end)|trace\.appendRecord`
)

// checkpoints runs job b with a checkpoint each second and each minute, alternately, with a CPU profile.
func (b *bench) checkpoints() []row {
	const what = "CPU of checkpoints each second instead of each minute (b)"
	cpu, share, bare := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	var traced, certified, sumless []float64
	count := 0
	for range b.rounds {
		for _, every := range []string{"60 s", "1 s"} {
			s, err := b.script("b", interval5, interval(every))
			if err != nil {
				return []row{missing(what, err)}
			}
			profile := s.file + ".profile"
			s.flags = []string{"--cpu-profile", profile}
			u, err := b.bounded(s, nil)
			if err != nil {
				return []row{missing(what, err)}
			}
			all, err := b.profileShare(profile, checkpointing, "")
			if err != nil {
				return []row{missing(what, err)}
			}
			rest, err := b.profileShare(profile, checkpointing, finishing)
			if err != nil {
				return []row{missing(what, err)}
			}
			own, err := b.profileShare(profile, tracing, "")
			if err != nil {
				return []row{missing(what, err)}
			}
			proof, err := b.profileShare(profile, certifying, "")
			if err != nil {
				return []row{missing(what, err)}
			}
			unhashed, err := b.profileShare(profile, certifying, hashing)
			if err != nil {
				return []row{missing(what, err)}
			}
			if every == "1 s" {
				traced, certified, sumless = append(traced, own), append(certified, proof), append(sumless, unhashed)
			}
			cpu[every] = append(cpu[every], u.cpu)
			share[every], bare[every] = append(share[every], all), append(bare[every], rest)
			if every == "1 s" {
				count = u.checkpoints
			}
		}
	}
	more := max(0, median(bare["1 s"])-median(bare["60 s"])) // below 0 is noise
	return []row{
		barred(what+fmt.Sprintf(": share of profile samples below the checkpoint's functions without encoding of rows; %d checkpoints a run", count),
			fmt.Sprintf("%.1f %% - %.1f %% = %.1f %%", median(bare["1 s"]), median(bare["60 s"]), more), "under 5 %", more < 5),
		figure("the same, with the encoding of rows that were buffered", fmt.Sprintf("%.1f %% - %.1f %%", median(share["1 s"]), median(share["60 s"]))),
		figure("the same, as CPU time of the whole run", fmt.Sprintf("%.2f s and %.2f s (%+.1f %%)", median(cpu["1 s"]), median(cpu["60 s"]),
			100*(median(cpu["1 s"])/median(cpu["60 s"])-1))),
		barred("share of the operation trace in the profile of job b with a checkpoint each second", fmt.Sprintf("%.2f %%", median(traced)), "under 2 %", median(traced) < 2),
		barred("share of certificates (sets of offsets, hashes, entries) in the same profile", fmt.Sprintf("%.2f %%", median(certified)), "under 1 %", median(certified) < 1),
		figure("the same without the files' checksums (docs/decisions/0013)", fmt.Sprintf("%.2f %%", median(sumless))),
	}
}

// profileShare is the share in percent of a CPU profile's samples whose stack has a function that matches focus and none that matches ignore.
func (b *bench) profileShare(profile, focus, ignore string) (float64, error) {
	args := []string{"tool", "pprof", "-top", "-nodecount=1", "-focus=" + focus}
	if ignore != "" {
		args = append(args, "-ignore="+ignore)
	}
	var errs bytes.Buffer
	cmd := exec.Command("go", append(args, b.staunch, profile)...)
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("pprof: %w: %s", err, lastLine(errs.String()))
	}
	m := regexp.MustCompile(`accounting for \S+, ([0-9.]+)% of`).FindSubmatch(text)
	if m == nil && strings.Contains(errs.String(), "no matches") {
		return 0, nil
	}
	if m == nil {
		return 0, fmt.Errorf("pprof printed no total: %s", text)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// standstill gives a print sink a pipe that nobody reads, and looks at the memory a minute later.
func (b *bench) standstill() []row {
	const what = "peak memory after a minute in which the sink took nothing (print into a pipe that nobody reads)"
	s, err := b.script("a", boundedMode, "", "'connector' = 'blackhole'", "'connector' = 'print'")
	if err != nil {
		return []row{missing(what, err)}
	}
	defer s.clean()
	read, write, err := os.Pipe()
	if err != nil {
		return []row{missing(what, err)}
	}
	defer read.Close()
	c, err := b.start(s, write)
	err = errors.Join(err, write.Close())
	if err != nil {
		return []row{missing(what, err)}
	}
	defer c.kill()
	var after10, peak int64
	began := time.Now()
	err = c.poll(100*time.Millisecond, 2*time.Minute, func() bool {
		now, p := resident(c.Process.Pid)
		if after10 == 0 && time.Since(began) > 10*time.Second {
			after10 = now
		}
		peak = max(peak, p)
		return time.Since(began) > time.Minute
	})
	if err != nil {
		return []row{missing(what, err)}
	}
	if full, err := pipeFull(read); err != nil || !full {
		return []row{missing(what, fmt.Errorf("the pipe was not full: the sink did not stand still (%v)", err))}
	}
	return []row{barred(what, fmt.Sprintf("%s (10 s: %s)", mib(peak), mib(after10)), "bounded (400 MB)", peak < 400e6)}
}

// pipeFull tells whether a pipe holds at least what Linux gives it by default, less one write.
func pipeFull(f *os.File) (bool, error) {
	if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
		return false, err
	}
	buf := make([]byte, 1<<20)
	n, err := syscall.Read(int(f.Fd()), buf)
	return n >= 32<<10, err
}
