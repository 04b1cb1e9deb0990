package peer

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Cluster has the addresses of a running Flink.
type Cluster struct {
	REST    string // http://host:port of the JobManager
	Gateway string // http://host:port of the SQL gateway
}

// Dir returns the folder of the scripts.
func Dir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// env returns a variable that with_peers.sh sets.
func env(t testing.TB, name string) string {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		t.Fatalf("%s is not set: run `make test`, or test/peer/with_peers.sh kafka hdfs -- go test -tags peer ./test/...", name)
	}
	return v
}

// Kafka returns the bootstrap address of the run's broker.
func Kafka(t testing.TB) string {
	t.Helper()
	return env(t, "KAFKA_BOOTSTRAP")
}

// KillKafka ends the broker with SIGKILL; topics and offsets stay on its disk. [RestartKafka] brings it back.
func KillKafka(t testing.TB) { t.Helper(); Script(t, "kafka.sh", "kill") }

// RestartKafka starts the broker again and returns when its port answers.
func RestartKafka(t testing.TB) { t.Helper(); Script(t, "kafka.sh", "restart") }

// Flink starts the run's Flink where no test has done so yet (10-20 s), and returns its addresses.
func Flink(t testing.TB) Cluster {
	t.Helper()
	lock := filepath.Join(env(t, "TESTBED_RUN"), "flink.lock") // test binaries of several packages run at once
	run(t, exec.Command("flock", "-o", lock, filepath.Join(Dir(), "flink.sh"), "start"))
	return Cluster{REST: "http://127.0.0.1:" + env(t, "FLINK_REST_PORT"), Gateway: "http://127.0.0.1:" + env(t, "FLINK_GATEWAY_PORT")}
}

// Script runs one of the scripts and returns its standard output; a failure fails the test with all that it printed.
func Script(t testing.TB, name string, args ...string) string {
	t.Helper()
	env(t, "TESTBED_RUN") // never one of the servers that a developer runs by hand
	return run(t, exec.Command(filepath.Join(Dir(), name), args...))
}

// Python runs one of the Python scripts with the outside readers at hand, and returns what it printed and its exit code.
func Python(t testing.TB, name string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(env(t, "TESTBED_PYTHON"), append([]string{filepath.Join(Dir(), name)}, args...)...)
	b, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(b)), cmd.ProcessState.ExitCode()
}

// Fill produces reproducible events into topic, which is created when it is absent: records over all partitions, each with its
// partition (part) and number in it (seq). More flags of gen_events may follow, e.g. "-first-seq", "1000".
func Fill(t testing.TB, topic string, records, partitions int, flags ...string) {
	t.Helper()
	args := []string{"run", "staunch/test/peer/gen_events", "-brokers", Kafka(t), "-topic", topic, "-records", fmt.Sprint(records), "-partitions", fmt.Sprint(partitions)}
	cmd := exec.Command("go", append(args, flags...)...)
	cmd.Dir = Dir()
	run(t, cmd)
}

// Live is a generator that goes on producing.
type Live struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan error
}

// FillLive produces events as [Fill] does, rate a second, until [Live.Stop]. An hour of event time passes with each 200,000 records.
func FillLive(t testing.TB, topic string, partitions, rate int) *Live {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "gen_events")
	build := exec.Command("go", "build", "-o", bin, "staunch/test/peer/gen_events")
	build.Dir = Dir()
	run(t, build)
	l := &Live{t: t, done: make(chan error, 1), cmd: exec.Command(bin, "-live", "-brokers", Kafka(t), "-topic", topic, "-records", "200000",
		"-span", "1h", "-partitions", fmt.Sprint(partitions), "-rate", fmt.Sprint(rate))}
	l.cmd.Stdout, l.cmd.Stderr = &l.out, &l.out
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { l.done <- l.cmd.Wait() }()
	t.Cleanup(func() {
		if l.cmd.ProcessState == nil {
			_ = l.cmd.Process.Kill() // a test that failed before Stop
		}
	})
	return l
}

// Stop ends the generator when all that it made is written, and returns the number of records, which is the same in each partition.
func (l *Live) Stop() (records int) {
	l.t.Helper()
	_ = l.cmd.Process.Signal(os.Interrupt) // one that has ended by itself is told apart below
	if err := <-l.done; err != nil {
		l.t.Fatalf("gen_events: %v\n%s", err, &l.out)
	}
	_, rest, _ := strings.Cut(l.out.String(), " records=")
	if _, err := fmt.Sscan(rest, &records); err != nil {
		l.t.Fatalf("gen_events printed %q: %v", &l.out, err)
	}
	return records
}

// Refusing gives an address at which nobody listens, and which nobody else gets before the test's end.
func Refusing(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) }) // nothing was written
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", at.(*syscall.SockaddrInet4).Port)
}

func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out.String(), errs.String())
	}
	return out.String()
}
