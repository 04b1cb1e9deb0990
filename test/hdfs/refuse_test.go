//go:build peer

package hdfs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"staunch/test/peer"
)

// script is a statement file, and how the program meets HDFS.
type script struct {
	t    *testing.T
	file string
	env  []string
}

// newScript writes a statement file whose checkpoints, every 200 ms, lie in dir.
func newScript(t *testing.T, name, checkpoints, sql string, env ...string) *script {
	t.Helper()
	s := &script{t: t, file: filepath.Join(t.TempDir(), name+".sql"), env: env}
	text := "SET 'execution.checkpointing.interval' = '200 ms';\nSET 'restart-strategy.type' = 'none';\nSET 'execution.checkpointing.dir' = '" +
		checkpoints + "';\n" + sql
	if err := os.WriteFile(s.file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// copyTo is a job that copies a topic to a table.
func copyTo(k *topic, table string) string {
	return k.source() + "CREATE TABLE lake (id BIGINT, v STRING, part INT, seq BIGINT) WITH ('connector'='filesystem', 'path'='" + table +
		"', 'format'='json');\nINSERT INTO lake SELECT id, v, part, seq FROM src;\n"
}

// process is a run of the program.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
}

// Write takes what the program prints.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) text() string { p.mu.Lock(); defer p.mu.Unlock(); return p.out.String() }

// start runs a command of the program on the file.
func (s *script) start(command string, flags ...string) *process {
	s.t.Helper()
	p := &process{t: s.t, cmd: exec.Command(program(s.t), append([]string{command, s.file}, flags...)...), done: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "HOME="+filepath.Dir(s.file)), s.env...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is read from the state
		close(p.done)
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
	})
	return p
}

// exits waits for the end with this code.
func (p *process) exits(code int) *process {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.t.Fatalf("the program does not end:\n%s", p.text())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d, want %d:\n%s", got, code, p.text())
	}
	for _, bad := range []string{"panic:", "goroutine ", "%!", "<nil>"} {
		if strings.Contains(p.text(), bad) {
			p.t.Errorf("the program printed %q:\n%s", bad, p.text())
		}
	}
	return p
}

// says wants words in what was printed.
func (p *process) says(words ...string) *process {
	p.t.Helper()
	for _, w := range words {
		if !strings.Contains(p.text(), w) {
			p.t.Errorf("%q is not in what it printed:\n%s", w, p.text())
		}
	}
	return p
}

// awaits waits until a text was printed.
func (p *process) awaits(text string) {
	p.t.Helper()
	until(p.t, text, func() bool {
		select {
		case <-p.done:
			if !strings.Contains(p.text(), text) {
				p.t.Fatalf("the program ended (%v) before %q:\n%s", p.cmd.ProcessState, text, p.text())
			}
		default:
		}
		return strings.Contains(p.text(), text)
	})
}

// stop ends it behind a last checkpoint.
func (p *process) stop() *process {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	return p.exits(3)
}

// TestBadPlaces: paths that lead nowhere, or not where the table may be. Each is refused at the start, with the path and what to do, and
// nothing is made.
func TestBadPlaces(t *testing.T) {
	h := peer.NewHDFS(t)
	k := newTopic(t, 1)
	k.fill(1)
	dir := folder(t)
	h.Shell("-mkdir", "-p", dir+"/shut", dir+"/keep")
	h.Shell("-chmod", "555", dir+"/shut")
	h.Shell("-touchz", dir+"/file")
	before := tree(t, h, dir)
	kerberos := h.Conf(map[string]string{"hadoop.security.authentication": "kerberos"})
	conf := "HADOOP_CONF_DIR=" + h.ConfDir
	for _, c := range []struct {
		name, path string
		env        []string
		says       []string
	}{
		{"a name service that nobody knows", "hdfs://nowhere.invalid" + dir + "/lake", []string{conf}, []string{"nowhere.invalid", "dfs.nameservices"}},
		{"no configuration", "hdfs://testbed" + dir + "/lake", []string{"HADOOP_CONF_DIR="}, []string{"testbed", "HADOOP_CONF_DIR"}},
		{"no configuration and no name", "hdfs://" + dir + "/lake", []string{"HADOOP_CONF_DIR="}, []string{"HADOOP_CONF_DIR"}},
		{"an empty folder for configuration", "hdfs://testbed" + dir + "/lake", []string{"HADOOP_CONF_DIR=" + t.TempDir()}, []string{"HADOOP_CONF_DIR", "core-site.xml"}},
		{"a secured cluster", "hdfs://testbed" + dir + "/lake", []string{"HADOOP_CONF_DIR=" + kerberos}, []string{"kerberos", "hadoop.security.authentication"}},
		{"viewfs", "viewfs://testbed" + dir + "/lake", []string{conf}, []string{"viewfs://", "hdfs://"}},
		{"a folder that this user may not write", uri(dir + "/shut/lake"), []string{conf, "HADOOP_USER_NAME=guest"}, []string{"guest", dir + "/shut", "ermission"}},
		{"a file", uri(dir + "/file"), []string{conf}, []string{dir + "/file", "path"}},
		{"below a file", uri(dir + "/file/lake"), []string{conf}, []string{dir + "/file", "path"}},
		{"the root", "hdfs://testbed/", []string{conf}, []string{"folder of its own"}},
		{"a user in the path", "hdfs://me@testbed" + dir + "/lake", []string{conf}, []string{"HADOOP_USER_NAME"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, "bad", t.TempDir(), copyTo(k, c.path), c.env...)
			p := s.start("run")
			select {
			case <-p.done:
			case <-time.After(limit):
				t.Fatalf("the program does not end:\n%s", p.text())
			}
			if code := p.cmd.ProcessState.ExitCode(); code != 1 && code != 2 {
				t.Errorf("exit code %d:\n%s", code, p.text())
			}
			p.exits(p.cmd.ProcessState.ExitCode()).says(c.says...)
			t.Log(p.text()[strings.LastIndex(p.text(), "staunch: "):])
		})
	}
	if after := tree(t, h, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("what is there was changed: %v, before %v", after, before)
	}
}

// TestSeveralWriters: a table has what two jobs and two INSERTs write to it, and what two copies of one file would write is refused.
func TestSeveralWriters(t *testing.T) {
	h := peer.NewHDFS(t)
	conf := "HADOOP_CONF_DIR=" + h.ConfDir
	dir := folder(t)
	k, other := newTopic(t, 2), newTopic(t, 1)
	k.fill(50)
	other.fill(30)
	two := k.source() + strings.Replace(other.source(), "TABLE src", "TABLE more", 1) +
		"CREATE TABLE lake (id BIGINT, v STRING, part INT, seq BIGINT) WITH ('connector'='filesystem', 'path'='" + uri(dir+"/lake") +
		"', 'format'='json');\nEXECUTE STATEMENT SET BEGIN\nINSERT INTO lake SELECT id, v, part, seq FROM src;\n" +
		"INSERT INTO lake SELECT id + 1000000, v, part, seq FROM more;\nEND;\n"
	a := newScript(t, "a", uri(dir+"/checkpoints"), two, conf)
	first := a.start("run")
	// A copy is known by what the table's certificates have read: the first checkpoint, taken at once, may have none.
	until(t, "the first job's rows", func() bool { return read(t, dir+"/lake", "json").Rows == 2*50+30 })

	// the same file once more while the first lives
	a.start("run").exits(1).says("running already", fmt.Sprint(first.cmd.Process.Pid), "--take-over")
	// a copy of the file
	copied := newScript(t, "copy", uri(dir+"/checkpoints"), two, conf)
	copied.start("run").exits(1).says(k.name, "lake")
	// the same file with other checkpoints
	elsewhere := newScript(t, "a", uri(dir+"/elsewhere"), two, conf)
	elsewhere.start("run").exits(1).says("lake")

	// another job with another topic
	third := newTopic(t, 1)
	third.fill(20)
	b := newScript(t, "b", uri(dir+"/checkpoints"), strings.Replace(copyTo(third, uri(dir+"/lake")), "SELECT id,", "SELECT id + 2000000,", 1), conf)
	second := b.start("run")
	second.awaits("checkpoint committed")
	until(t, "all rows", func() bool { return read(t, dir+"/lake", "json").Rows == 2*50+30+20 })
	first.stop()
	second.stop()
	got := read(t, dir+"/lake", "json")
	if got.Rows != 150 || got.Distinct != 150 {
		t.Errorf("%+v, want 150 rows, each once", got)
	}
	judged(t, dir+"/lake")
}
