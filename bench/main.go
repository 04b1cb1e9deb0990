package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// bench holds what all measurements share.
type bench struct {
	staunch, limit, gen string // programs
	peer                string // folder of the scripts and jobs
	python              string
	kafka               string // bootstrap address
	kafkaPID            int    // 0 if unknown
	records             int64
	bytes               int64 // of all values
	rounds              int
	dir                 string // for output, state and logs; removed at the end
	runs                int    // so far, for fresh names
}

const (
	topic     = "bench-events"
	liveTopic = "bench-live"
	liveRate  = 20_000 // records per second into liveTopic
	// partitions of both topics; the records are spread evenly.
	partitions = 4
)

// settings are the flags.
type settings struct {
	records      int64
	rounds       int
	jobs         string
	flink, other bool
	hdfs         bool
	binary, out  string
}

func main() {
	log.SetFlags(log.Ltime)
	var s settings
	flag.Int64Var(&s.records, "records", 10_000_000, "records in the topic")
	flag.IntVar(&s.rounds, "rounds", 3, "measured rounds of each job, besides a discarded one")
	flag.StringVar(&s.jobs, "jobs", "abc", "jobs to compare")
	flag.BoolVar(&s.flink, "flink", true, "compare with Flink")
	flag.BoolVar(&s.other, "other", true, "measure start, restart, delay, memory at a standstill and the cost of checkpoints")
	flag.BoolVar(&s.hdfs, "hdfs", false, "compare jobs b and c on HDFS with the local disk, and nothing else")
	flag.StringVar(&s.binary, "staunch", os.Getenv("STAUNCH_BIN"), "the program; default $STAUNCH_BIN")
	flag.StringVar(&s.out, "out", "bench/RESULTS.md", "file for the table, empty for none")
	flag.Parse()
	if err := run(s); err != nil {
		log.Fatal("bench: ", err)
	}
}

func run(s settings) error {
	if s.rounds < 1 || s.records < 1000 || regexp.MustCompile(`[^abc]`).MatchString(s.jobs) {
		return fmt.Errorf("-rounds is at least 1, -records at least 1000, -jobs of a, b, c")
	}
	b, err := setUp(s.records, s.rounds, s.binary)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	r := &report{began: time.Now(), machine: describe(), records: s.records, rounds: s.rounds, command: "make bench"}
	if err := b.fill(); err != nil {
		return err
	}
	r.bytes = b.bytes
	if s.hdfs {
		r.command, r.rows = "make bench-hdfs", b.hdfsRows(s.jobs)
	} else {
		b.measure(r, s)
	}
	r.ended, r.loadAfter = time.Now(), loadAverage()
	text := r.render()
	fmt.Print("\n", text)
	if s.out == "" {
		return nil
	}
	return keepNotes(s.out, text)
}

// measure compares engines, and what else a user notices.
func (b *bench) measure(r *report, s settings) {
	for _, job := range strings.Split(s.jobs, "") {
		if job != "" {
			r.jobs = append(r.jobs, b.compare(job, s.flink))
		}
	}
	if s.other {
		r.rows = append(r.rows, b.others()...)
	}
}

func setUp(records int64, rounds int, binary string) (*bench, error) {
	b := &bench{records: records, rounds: rounds, staunch: binary, kafka: os.Getenv("KAFKA_BOOTSTRAP"), python: os.Getenv("TESTBED_PYTHON")}
	if b.staunch == "" || b.kafka == "" {
		return nil, fmt.Errorf("STAUNCH_BIN or KAFKA_BOOTSTRAP is not set: run `make bench`")
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	b.peer = filepath.Join(strings.TrimSpace(string(root)), "test", "peer")
	if b.dir, err = os.MkdirTemp(os.Getenv("TESTBED_RUN"), "bench-"); err != nil {
		return nil, err
	}
	b.limit, b.gen = filepath.Join(b.dir, "limit"), filepath.Join(b.dir, "gen_events")
	for target, pkg := range map[string]string{b.limit: "staunch/bench/limit", b.gen: "staunch/test/peer/gen_events"} {
		if text, err := exec.Command("go", "build", "-o", target, pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, text)
		}
	}
	pid := filepath.Join(os.Getenv("TESTBED_RUN"), "kafka-"+os.Getenv("KAFKA_PORT"), "pids", "kafka.pid")
	if text, err := os.ReadFile(pid); err == nil {
		b.kafkaPID, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	return b, nil
}

// fill makes the topic.
func (b *bench) fill() error {
	log.Printf("filling topic %s with %d records", topic, b.records)
	text, err := exec.Command(b.gen, "-brokers", b.kafka, "-topic", topic, "-records", fmt.Sprint(b.records), "-partitions",
		fmt.Sprint(partitions)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fill topic %s: %w\n%s", topic, err, text)
	}
	m := regexp.MustCompile(`records=(\d+) value_bytes=(\d+)`).FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("fill topic %s: no figures in %q", topic, text)
	}
	b.records, _ = strconv.ParseInt(string(m[1]), 10, 64)
	b.bytes, _ = strconv.ParseInt(string(m[2]), 10, 64)
	return nil
}

// produceLive keeps producing into the live topic until the returned function is called.
func (b *bench) produceLive() (stop func(), err error) {
	args := []string{"-brokers", b.kafka, "-topic", liveTopic, "-partitions", fmt.Sprint(partitions), "-records"}
	if text, err := exec.Command(b.gen, append(args, fmt.Sprint(partitions))...).CombinedOutput(); err != nil { // the topic is there behind this
		return nil, fmt.Errorf("produce into %s: %w\n%s", liveTopic, err, text)
	}
	cmd := exec.Command(b.gen, append(args, fmt.Sprint(3600*liveRate), "-rate", fmt.Sprint(liveRate))...)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("produce into %s: %w", liveTopic, err)
	}
	return func() {
		_ = cmd.Process.Kill() // it has no end of its own
		_ = cmd.Wait()
	}, nil
}
