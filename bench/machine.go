package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// clockTicks is the kernel's USER_HZ: 100 on every Linux that Go runs on.
const clockTicks = 100

// describe says what the figures hold for, one line each.
func describe() []string {
	cpu := first(`model name\s*: (.*)`, read("/proc/cpuinfo"))
	kb, _ := strconv.Atoi(first(`MemTotal:\s+(\d+)`, read("/proc/meminfo")))
	kernel := strings.TrimSpace(read("/proc/sys/kernel/osrelease"))
	java, err := exec.Command("java", "-version").CombinedOutput()
	if err != nil {
		java = []byte("not found")
	}
	return []string{
		fmt.Sprintf("%s, %d cores, %.1f GiB; Linux %s", cpu, runtime.NumCPU(), float64(kb)/(1<<20), kernel),
		fmt.Sprintf("%s; Java %s; Flink %s; Kafka %s", runtime.Version(), first(`version "([^"]*)"`, string(java)), installed("flink"), installed("kafka")),
		fmt.Sprintf("Load average before: %s. TaskManager %s.", loadAverage(), os.Getenv("FLINK_TM_MEM")),
	}
}

// installed is the version of a server in the test bed's cache, by its folder's name.
func installed(server string) string {
	found, _ := filepath.Glob(filepath.Join(os.Getenv("TESTBED_CACHE"), server+"-*")) // the pattern is right
	var v []string
	for _, f := range found {
		v = append(v, strings.TrimPrefix(filepath.Base(f), server+"-"))
	}
	if len(v) == 0 {
		return "unknown"
	}
	return strings.Join(v, " or ")
}

func loadAverage() string { return first(`^(\S+ \S+ \S+)`, read("/proc/loadavg")) }

// read gives a file's text, empty when there is none.
func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func first(pattern, text string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "unknown"
}

// watch begins to observe how much of the machine others use.
type watch struct {
	b                  *bench
	busy, total, kafka float64
}

func (b *bench) watch() *watch {
	busy, total := machineTime()
	return &watch{b, busy, total, processTime(b.kafkaPID)}
}

// others is the share of the machine's time that neither an engine of engineSeconds nor the broker used since watch.
func (w *watch) others(engineSeconds float64) float64 {
	busy, total := machineTime()
	if total == w.total {
		return 0
	}
	return max(0, (busy-w.busy-engineSeconds-(processTime(w.b.kafkaPID)-w.kafka))/(total-w.total))
}

// machineTime is the busy and the whole time of all cores in seconds.
func machineTime() (busy, total float64) {
	line, _, _ := strings.Cut(read("/proc/stat"), "\n")
	for i, f := range strings.Fields(line) {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil || i > 8 { // guest time is part of user time
			continue
		}
		total += n / clockTicks
		if i != 4 && i != 5 { // idle, iowait
			busy += n / clockTicks
		}
	}
	return busy, total
}

// processTime is user and system time of a process in seconds, 0 if there is none.
func processTime(pid int) float64 {
	text := read(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	u, _ := strconv.ParseFloat(f[11], 64)
	s, _ := strconv.ParseFloat(f[12], 64)
	return (u + s) / clockTicks
}

// resident gives the current and the peak resident memory of a process in bytes.
func resident(pid int) (now, peak int64) {
	text := read(fmt.Sprintf("/proc/%d/status", pid))
	n, _ := strconv.ParseInt(first(`VmRSS:\s+(\d+)`, text), 10, 64)
	p, _ := strconv.ParseInt(first(`VmHWM:\s+(\d+)`, text), 10, 64)
	return n << 10, p << 10
}
