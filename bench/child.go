package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// usage is what one run of an engine took.
type usage struct {
	records     int64
	cpu, wall   float64 // seconds
	peak        int64   // bytes
	files       int
	checkpoints int
	firstFile   float64 // seconds from its start; 0: not seen
	others      float64 // share of the machine that neither the engine nor the broker used
}

func (u usage) perCPU() float64 { return float64(u.records) / u.cpu }
func (u usage) perSec() float64 { return float64(u.records) / u.wall }

// script is a statement file for Staunch, with its table folder, state and log.
type script struct {
	file, table, state, log string
	flags                   []string
}

// script renders common.sql and a job of test/peer/sql, changed by edits (old, new, old, new ...).
func (b *bench) script(job string, edits ...string) (script, error) {
	b.runs++
	id := fmt.Sprintf("s%d", b.runs)
	found, err := filepath.Glob(filepath.Join(b.peer, "sql", job+"_*.sql"))
	if err != nil || len(found) != 1 {
		return script{}, fmt.Errorf("job %s: %d files in test/peer/sql, %w", job, len(found), err)
	}
	var text []byte
	for _, f := range []string{filepath.Join(b.peer, "sql", "common.sql"), found[0]} {
		t, err := os.ReadFile(f)
		if err != nil {
			return script{}, err
		}
		text = append(text, t...)
	}
	sql := string(text)
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(sql, edits[i]) {
			return script{}, fmt.Errorf("job %s has no text %q to change", job, edits[i])
		}
		sql = strings.ReplaceAll(sql, edits[i], edits[i+1])
	}
	out := filepath.Join(b.dir, "out")
	values := map[string]string{"KAFKA_BOOTSTRAP": b.kafka, "TOPIC": topic, "OUT_DIR": out, "RUN_ID": id}
	sql = regexp.MustCompile(`\$\{(\w+)\}`).ReplaceAllStringFunc(sql, func(s string) string { return values[s[2:len(s)-1]] })
	s := script{file: filepath.Join(b.dir, id+".sql"), table: filepath.Join(out, job+"-"+id), state: filepath.Join(b.dir, "state-"+id),
		log: filepath.Join(b.dir, id+".log")}
	return s, os.WriteFile(s.file, []byte(sql), 0o644)
}

func (s script) clean() {
	os.RemoveAll(s.table)
	os.RemoveAll(s.state)
}

// child is a running Staunch.
type child struct {
	*exec.Cmd
	script
	began time.Time
	log   *os.File
	ended chan struct{}
	err   error // valid when ended is closed
}

// start runs the script. Its log goes to s.log, standard output to out if that is given.
func (b *bench) start(s script, out *os.File) (*child, error) {
	args := append([]string{"run", "--log-format", "json", "-D", "execution.checkpointing.dir=" + s.state}, s.flags...)
	c := &child{Cmd: exec.Command(b.staunch, append(args, s.file)...), script: s, ended: make(chan struct{})}
	var err error
	if c.log, err = os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	c.Stderr = c.log
	if out != nil {
		c.Stdout = out
	}
	c.began = time.Now()
	if err := c.Start(); err != nil {
		return nil, err
	}
	go func() {
		c.err = c.Wait()
		_ = c.log.Close() // the child's copy is what was written to
		close(c.ended)
	}()
	return c, nil
}

// kill ends the child with SIGKILL.
func (c *child) kill() {
	_ = c.Process.Kill() // it may have ended
	<-c.ended
}

// stop asks for a last checkpoint and waits; after half a minute by force.
func (c *child) stop() error {
	_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-c.ended:
		return nil
	case <-time.After(30 * time.Second):
		c.kill()
		return fmt.Errorf("did not stop within 30 s of SIGTERM: %s", c.tail())
	}
}

// poll calls f until it is true, the child has ended, or the time is over.
func (c *child) poll(every, most time.Duration, f func() bool) error {
	end := time.Now().Add(most)
	for !f() {
		select {
		case <-c.ended:
			if f() {
				return nil
			}
			return fmt.Errorf("the job ended (%v): %s", c.err, c.tail())
		case <-time.After(every):
		}
		if time.Now().After(end) {
			return fmt.Errorf("not within %s: %s", most, c.tail())
		}
	}
	return nil
}

// tail is the end of the child's log, for errors.
func (c *child) tail() string {
	text, err := os.ReadFile(c.script.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// logLine finds the last line of the child's log with that message.
func (s script) logLine(msg string) (map[string]any, error) {
	f, err := os.Open(s.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found map[string]any
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var m map[string]any
		if json.Unmarshal(sc.Bytes(), &m) == nil && m["msg"] == msg {
			found = m
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no line %q in the log", msg)
	}
	return found, nil
}

// bounded runs a bounded script to its end, then check looks at its table, if given.
func (b *bench) bounded(s script, check func(table string) error) (usage, error) {
	defer s.clean()
	w := b.watch()
	c, err := b.start(s, nil)
	if err != nil {
		return usage{}, err
	}
	var u usage
	err = c.poll(5*time.Millisecond, 10*time.Minute, func() bool {
		if u.firstFile == 0 && visibleFile(s.table) {
			u.firstFile = time.Since(c.began).Seconds()
		}
		select {
		case <-c.ended:
			return true
		default:
			return false
		}
	})
	u.wall = time.Since(c.began).Seconds()
	if err != nil {
		c.kill()
		return u, err
	}
	if c.err != nil {
		return u, fmt.Errorf("%w: %s", c.err, c.tail())
	}
	r := c.ProcessState.SysUsage().(*syscall.Rusage)
	u.cpu = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	u.peak = r.Maxrss << 10
	u.others = w.others(u.cpu)
	end, err := s.logLine("finished")
	if err != nil {
		return u, err
	}
	n, _ := end["records"].(float64)
	files, _ := end["files"].(float64)
	checkpoints, _ := end["checkpoint"].(float64)
	u.records, u.files, u.checkpoints = int64(n), int(files), int(checkpoints)
	if u.records != b.records {
		return u, fmt.Errorf("read %d of %d records", u.records, b.records)
	}
	if check != nil {
		return u, check(s.table)
	}
	return u, nil
}

// verify lets DuckDB look whether each record is in the visible files of a table once.
func (b *bench) verify(table, format string) error {
	text, err := exec.Command(b.python, filepath.Join(b.peer, "verify.py"), table, "--format", format, "--partitions", fmt.Sprint(partitions),
		"--per-partition", fmt.Sprint(b.records/partitions)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("verify.py: %w: %s", err, lastLine(string(text)))
	}
	return nil
}

// runLimit runs the bare loop.
func (b *bench) runLimit(job string) (usage, error) {
	w := b.watch()
	dir, err := os.MkdirTemp(b.dir, "limit-")
	if err != nil {
		return usage{}, err
	}
	defer os.RemoveAll(dir)
	var errs bytes.Buffer
	cmd := exec.Command(b.limit, job, "-brokers", b.kafka, "-topic", topic, "-dir", dir)
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return usage{}, fmt.Errorf("limit %s: %w: %s", job, err, errs.String())
	}
	var l struct {
		Records int64
		CPU     float64 `json:"cpu_seconds"`
		Wall    float64 `json:"wall_seconds"`
		Peak    int64   `json:"peak_rss_bytes"`
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return usage{}, fmt.Errorf("limit %s: %w in %q", job, err, text)
	}
	if l.Records != b.records {
		return usage{}, fmt.Errorf("limit %s read %d of %d records", job, l.Records, b.records)
	}
	return usage{records: l.Records, cpu: l.CPU, wall: l.Wall, peak: l.Peak, others: w.others(l.CPU)}, nil
}

// runFlink runs the job in the cluster of with_peers.sh.
func (b *bench) runFlink(job string) (usage, error) {
	b.runs++
	out := filepath.Join(b.dir, "flink-out")
	defer os.RemoveAll(out)
	found, err := filepath.Glob(filepath.Join(b.peer, "sql", job+"_*.sql"))
	if err != nil || len(found) != 1 {
		return usage{}, fmt.Errorf("job %s: %d files in test/peer/sql, %w", job, len(found), err)
	}
	cmd := exec.Command(b.python, filepath.Join(b.peer, "run_sql.py"), found[0], "--topic", topic, "--records", fmt.Sprint(b.records),
		"--bytes", fmt.Sprint(b.bytes), "--run-id", fmt.Sprintf("f%d-%d", os.Getpid(), b.runs))
	cmd.Env = append(os.Environ(), "OUT_DIR="+out)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return usage{}, fmt.Errorf("flink %s: %w: %s", job, err, lastLine(errs.String()))
	}
	var f struct {
		JobS        float64          `json:"job_s"`
		CPU         float64          `json:"flink_cpu_s"`
		Peak        map[string]int64 `json:"peak_rss_mib"`
		First       float64          `json:"submit_to_first_file_s"`
		Checkpoints int              `json:"checkpoints"`
		Files       int              `json:"files"`
		Others      float64          `json:"others_cpu_share"`
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return usage{}, fmt.Errorf("flink %s: %w in %q", job, err, text)
	}
	u := usage{records: b.records, cpu: f.CPU, wall: f.JobS, files: f.Files, checkpoints: f.Checkpoints, firstFile: f.First, others: f.Others}
	for name, mib := range f.Peak {
		if name != "kafka" {
			u.peak += mib << 20
		}
	}
	return u, nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// hidden tells the names that no reader takes.
func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }

// visibleFiles calls f with each data file that a reader of the table sees, until it returns false.
func visibleFiles(table string, f func(path string) bool) {
	_ = filepath.WalkDir(table, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil: // not there yet
			return nil
		case path != table && hidden(d.Name()) && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || hidden(d.Name()):
			return nil
		case !f(path):
			return fs.SkipAll
		}
		return nil
	})
}

func visibleFile(table string) (found bool) {
	visibleFiles(table, func(string) bool { found = true; return false })
	return found
}

// pendingFiles are the files that writers have created and not committed, with those of killed processes.
func pendingFiles(table string) map[string]bool {
	m := map[string]bool{}
	_ = filepath.WalkDir(filepath.Join(table, "_DUMP_TEMPORARY"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".pending") {
			m[path] = true
		}
		return nil // a file that was renamed meanwhile
	})
	return m
}
