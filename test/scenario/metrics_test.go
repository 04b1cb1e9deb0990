package scenario

import (
	"bufio"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metrics are a running process's metrics endpoint.
type metrics struct {
	p   *process
	url string
}

var endpoint = regexp.MustCompile(`http://[^ "]+`)

// metrics waits until the process says where its endpoint is.
func (p *process) metrics() *metrics {
	p.t.Helper()
	return &metrics{p, endpoint.FindString(p.awaits("msg=metrics"))}
}

// all reads every sample: name with labels, value.
func (m *metrics) all() map[string]float64 {
	m.p.t.Helper()
	resp, err := http.Get(strings.Replace(m.url, "[::]", "127.0.0.1", 1))
	if err != nil {
		m.p.t.Fatalf("%v; it printed:\n%s", err, m.p.text())
	}
	defer resp.Body.Close()
	out := map[string]float64{}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			m.p.t.Fatalf("no sample: %s", line)
		}
		out[line[:i]] = v
	}
	if err := in.Err(); err != nil && err != io.EOF {
		m.p.t.Fatal(err)
	}
	return out
}

// sum adds up the samples whose name, without Flink's scope and without labels, is this; -1 if there is none.
func (m *metrics) sum(name string) float64 { m.p.t.Helper(); return sum(m.all(), name) }

func sum(all map[string]float64, name string) float64 {
	s, found := 0.0, false
	for k, v := range all {
		if id, _, _ := strings.Cut(k, "{"); strings.HasSuffix(id, "_"+name) {
			s, found = s+v, true
		}
	}
	if !found {
		return -1
	}
	return s
}

// TestMetrics looks at the endpoint: Flink's names, and file counters that add up at any moment.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newScript(t, sequence(1, 100_000, 1000)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
	p := s.start("-D", "metrics.reporter.prom.port=30000-30999")
	m := p.metrics()
	until(t, "three files", p, func() bool { return m.sum("numFilesCreated") >= 3 })
	all := m.all()
	names := slices.Sorted(maps.Keys(all))
	for _, want := range []string{"numberOfCompletedCheckpoints", "numberOfFailedCheckpoints", "lastCheckpointDuration", "lastCheckpointSize", "numRestarts",
		"numRecordsIn", "numFilesCreated", "numFilesRenamed", "numFilesSkipped", "numFilesLost", "numFilesDirtyIgnored"} {
		if sum(all, want) < 0 {
			t.Errorf("no metric %s among %v", want, names)
		}
	}
	for _, n := range names {
		if !strings.HasPrefix(n, "flink_jobmanager_job_") && !strings.HasPrefix(n, "flink_taskmanager_job_task_") {
			t.Errorf("%s does not begin as Flink's metrics do", n)
		}
		if !strings.Contains(n, `job_name="job"`) {
			t.Errorf("%s does not name the job", n)
		}
	}
	created := sum(all, "numFilesCreated")
	if created < 3 || created != sum(all, "numFilesRenamed")+sum(all, "numFilesSkipped")+sum(all, "numFilesLost") {
		t.Errorf("created %v is not renamed %v + skipped %v + lost %v", created, sum(all, "numFilesRenamed"), sum(all, "numFilesSkipped"), sum(all, "numFilesLost"))
	}
	p.stop()
	if len(files(t, s.path("lake"), "json")) < int(created) {
		t.Errorf("%v files were created, %d are visible", created, len(files(t, s.path("lake"), "json")))
	}

	t.Run("skipped", func(t *testing.T) { // renamed, then killed: the next run finds the file at its place
		s := newScript(t, sequence(1, 100_000, 1000)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
		s.start("STAUNCH_FAILPOINT=rename.synced:2").killed()
		p := s.start("-D", "metrics.reporter.prom.port=30000-30999")
		p.awaits("restored", "renamed=0", "skipped=1")
		m := p.metrics()
		if all := m.all(); sum(all, "numFilesSkipped") != 1 || sum(all, "numFilesCreated") != sum(all, "numFilesRenamed")+1 {
			t.Errorf("skipped %v, created %v, renamed %v", sum(all, "numFilesSkipped"), sum(all, "numFilesCreated"), sum(all, "numFilesRenamed"))
		}
		p.stop()
	})
	t.Run("missing", func(t *testing.T) { // seen while the file is looked for again, before the job ends
		s := three(t)
		s.start("STAUNCH_FAILPOINT=certificate.before:3").killed()
		remove(t, pending(t, s.path("lake"))[1])
		p := s.start("-D", "metrics.reporter.prom.port=30000-30999")
		m := p.metrics()
		until(t, "the missing file", p, func() bool { return m.sum("numFilesMissing") == 1 })
		p.exits(1)
	})
	t.Run("no free port", func(t *testing.T) {
		s := newScript(t, sequence(1, 100_000, 1000)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
		first := s.start("-D", "metrics.reporter.prom.port=32000-32600")
		url := first.metrics().url
		port := url[strings.LastIndexByte(strings.TrimSuffix(url, "/metrics"), ':')+1 : len(url)-len("/metrics")]
		other := newScript(t, sequence(1, 100_000, 1000)+table("lake", "id BIGINT")+"INSERT INTO lake SELECT id FROM gen;\n")
		other.start("-D", "metrics.reporter.prom.port="+port).exits(2).says("metrics.reporter.prom.port", "no port of the range is free")
		first.stop()
	})
}
