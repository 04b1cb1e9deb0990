package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// limit is how long a test waits for anything. It is long since other tests of the run use the same processors.
const limit = 3 * time.Minute

// program is the binary under test, with failpoints and invariants compiled in.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // the tests wait for the program most of the time
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	code, err := withProgram(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withProgram(m *testing.M) (int, error) {
	if program = os.Getenv("STAUNCH_FAILPOINT_BIN"); program != "" {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "scenario")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "staunch")
	cmd := exec.Command("go", "build", "-tags", "failpoint invariant", "-o", program, "staunch/cmd/staunch")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// script is a statement file in a folder of its own, with everything that its job writes.
type script struct {
	t    *testing.T
	dir  string
	file string
}

// newScript writes a statement file. $DIR stands for the test's folder; checkpoints lie in it, and are taken every 100 ms.
func newScript(t *testing.T, sql string) *script {
	t.Helper()
	s := &script{t: t, dir: t.TempDir()}
	s.file = filepath.Join(s.dir, "job.sql")
	s.edit(sql)
	return s
}

const prelude = `SET 'execution.checkpointing.interval' = '100 ms';
SET 'execution.checkpointing.dir' = '$DIR/checkpoints';
SET 'restart-strategy.type' = 'fixed-delay';
SET 'restart-strategy.fixed-delay.attempts' = '2';
SET 'restart-strategy.fixed-delay.delay' = '50 ms';
`

// edit replaces the statement file's text.
func (s *script) edit(sql string) { s.t.Helper(); s.write(s.file, prelude+sql) }

// write writes a file; $DIR stands for the test's folder.
func (s *script) write(file, text string) {
	s.t.Helper()
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "$DIR", s.dir)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// path is a path below the test's folder.
func (s *script) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// process is a run of the program.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex
	cond  *sync.Cond
	lines []string
	over  bool
	out   bytes.Buffer // standard output alone
}

// start runs the program with the statement file; args may begin with NAME=value variables, flags follow.
func (s *script) start(args ...string) *process {
	s.t.Helper()
	return s.program(append([]string{"run", s.file}, args...)...)
}

// program runs any command of the program.
func (s *script) program(args ...string) *process {
	s.t.Helper()
	var env, rest []string
	for _, a := range args {
		if name, _, ok := strings.Cut(a, "="); ok && name == strings.ToUpper(name) && !strings.HasPrefix(a, "-") {
			env = append(env, a)
		} else {
			rest = append(rest, a)
		}
	}
	cmd := exec.Command(program, rest...)
	cmd.Env = append(append(os.Environ(), "HOME="+s.dir, "GOMAXPROCS=2"), env...)
	cmd.Dir = s.dir
	return launch(s.t, cmd)
}

// launch starts a command and reads what it prints line by line.
func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, done: make(chan struct{})}
	p.cond = sync.NewCond(&p.mu)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	read := func(r *bufio.Reader, std bool) {
		for {
			line, err := r.ReadString('\n')
			p.mu.Lock()
			if line != "" {
				p.lines = append(p.lines, strings.TrimSuffix(line, "\n"))
			}
			if std {
				p.out.WriteString(line)
			}
			p.cond.Broadcast()
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
	wg.Go(func() { read(bufio.NewReaderSize(out, 1<<16), true) })
	wg.Go(func() { read(bufio.NewReaderSize(errs, 1<<16), false) })
	go func() {
		wg.Wait()
		_ = cmd.Wait() // the exit code is read from the state
		p.mu.Lock()
		p.over = true
		p.cond.Broadcast()
		p.mu.Unlock()
		close(p.done)
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			_ = cmd.Process.Kill() // it may end just now
			<-p.done
		}
	})
	return p
}

// shown is what was printed so far, the middle of a long text left out.
func (p *process) shown() string {
	lines := strings.Split(p.text(), "\n")
	if n := len(lines) - 40; n > 0 {
		lines = slices.Concat(lines[:20], []string{fmt.Sprintf("... %d lines ...", n)}, lines[len(lines)-20:])
	}
	return strings.Join(lines, "\n")
}

// text is everything that was printed so far.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// stdout is what was printed to standard output.
func (p *process) stdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// awaits waits for a line that has all the words; the test fails when the program ends before.
func (p *process) awaits(words ...string) string {
	p.t.Helper()
	expired := false
	timer := time.AfterFunc(limit, func() { p.mu.Lock(); expired = true; p.cond.Broadcast(); p.mu.Unlock() })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for next := 0; ; {
		for ; next < len(p.lines); next++ {
			if hasAll(p.lines[next], words) {
				return p.lines[next]
			}
		}
		if p.over || expired {
			shownLines := strings.Join(p.lines[max(0, len(p.lines)-40):], "\n")
			p.t.Fatalf("no line with %q (program over: %v); it printed:\n%s", words, p.over, shownLines)
		}
		p.cond.Wait()
	}
}

func hasAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// exits waits for the end and wants this exit code.
func (p *process) exits(code int) *process {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		said := p.shown()
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // the goroutines help to find out why
		<-p.done
		if f := os.Getenv("SCENARIO_STACKS"); f != "" {
			_ = os.WriteFile(f, []byte(p.text()), 0o644)
		}
		p.t.Fatalf("the program did not end (SCENARIO_STACKS=FILE keeps its stacks); it printed:\n%s", said)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d (%v), want %d; it printed:\n%s", got, p.cmd.ProcessState, code, p.shown())
	}
	p.sane()
	return p
}

// sane fails on what no user must ever see.
func (p *process) sane() {
	p.t.Helper()
	for _, bad := range []string{"panic:", "goroutine ", "%!", "<nil>", "invariant"} {
		if strings.Contains(p.text(), bad) {
			p.t.Errorf("the program printed %q:\n%s", bad, p.shown())
		}
	}
}

// killed waits for the end by SIGKILL, which is how a failpoint ends it.
func (p *process) killed() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.t.Fatalf("the failpoint was not reached; it printed:\n%s", p.shown())
	}
	if p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		p.t.Fatalf("ended by %v, want SIGKILL; it printed:\n%s", p.cmd.ProcessState, p.shown())
	}
}

// says wants all the words in what was printed.
func (p *process) says(words ...string) *process {
	p.t.Helper()
	for _, w := range words {
		if !strings.Contains(p.text(), w) {
			p.t.Errorf("%q is not in what it printed:\n%s", w, p.shown())
		}
	}
	return p
}

// silent wants none of the words in what was printed.
func (p *process) silent(words ...string) *process {
	p.t.Helper()
	for _, w := range words {
		if strings.Contains(p.text(), w) {
			p.t.Errorf("%q is in what it printed:\n%s", w, p.shown())
		}
	}
	return p
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v; it printed:\n%s", err, p.shown())
	}
}

// stop ends it as an operator does; everything read is committed then.
func (p *process) stop() *process {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.exits(3)
}

// kill ends it as a power cut does.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.done
}

// until waits for a condition that has no event, such as a file of another process.
func until(t *testing.T, what string, p *process, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var over <-chan struct{}
	if p != nil {
		over = p.done
	}
	late := time.After(limit)
	for !cond() {
		select {
		case <-tick.C:
		case <-over:
			if !cond() {
				t.Fatalf("the program ended (%v) before %s; it printed:\n%s", p.cmd.ProcessState, what, p.shown())
			}
			return
		case <-late:
			printed := ""
			if p != nil {
				printed = p.shown()
			}
			t.Fatalf("%s did not come; the program printed:\n%s", what, printed)
		}
	}
}

// row is a line of a JSON file.
type row map[string]any

// files lists the visible data files of a table: no part of the path is hidden or begins with an underscore.
func files(t *testing.T, table, ext string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(table, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // moved meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if n := d.Name(); p != table && (n[0] == '_' || n[0] == '.') {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			if !strings.HasSuffix(p, "."+ext) {
				t.Errorf("a visible file that is no data file: %s", p)
			}
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rows reads the visible rows of a JSON table.
func rows(t *testing.T, table string) []row {
	t.Helper()
	var out []row
	for _, f := range files(t, table, "json") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 && b[len(b)-1] != '\n' {
			t.Fatalf("%s is torn", f)
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		for d.More() {
			var r row
			if err := d.Decode(&r); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			out = append(out, r)
		}
	}
	return out
}

// ids are the values of column id, sorted.
func ids(t *testing.T, table string) []int64 {
	t.Helper()
	var out []int64
	for _, r := range rows(t, table) {
		n, ok := r["id"].(json.Number)
		if !ok {
			t.Fatalf("a row without id: %v", r)
		}
		v, err := n.Int64()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// span are the numbers from a to b.
func span(a, b int64) []int64 {
	var out []int64
	for ; a <= b; a++ {
		out = append(out, a)
	}
	return out
}

// wantIDs wants exactly these ids, each once.
func wantIDs(t *testing.T, table string, want ...[]int64) {
	t.Helper()
	all := slices.Concat(want...)
	slices.Sort(all)
	got := ids(t, table)
	if slices.Equal(got, all) {
		return
	}
	count := map[int64]int{}
	for _, v := range all {
		count[v]--
	}
	for _, v := range got {
		count[v]++
	}
	var missing, more []int64
	for v, n := range count {
		if n < 0 {
			missing = append(missing, v)
		} else if n > 0 {
			more = append(more, v)
		}
	}
	slices.Sort(missing)
	slices.Sort(more)
	t.Errorf("table %s has %d rows, want %d; missing %s; too many %s", table, len(got), len(all), short(missing), short(more))
}

func short(v []int64) string {
	if len(v) > 10 {
		return fmt.Sprintf("%v and %d more", v[:10], len(v)-10)
	}
	return fmt.Sprint(v)
}

// snapshot reads everything below a folder: that nothing was changed is seen by comparing two.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			out[p+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(p)
		out[p] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// unchanged compares a folder with an earlier snapshot.
func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	now := snapshot(t, dir)
	for p, b := range now {
		if old, ok := before[p]; !ok {
			t.Errorf("%s is new", p)
		} else if old != b {
			t.Errorf("%s was changed", p)
		}
	}
	for p := range before {
		if _, ok := now[p]; !ok {
			t.Errorf("%s is gone", p)
		}
	}
}

// move renames a file or folder.
func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// copyTree copies a folder, as a backup does.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// audited wants `staunch audit` to find the table in order, and gives what it printed.
func (s *script) audited(table string) string {
	s.t.Helper()
	return s.program("audit", table).exits(0).text()
}

// entries lists the numbers of a log's entries in order, as paths.
func entries(t *testing.T, dir, ext string) []string {
	t.Helper()
	ds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range ds {
		name := strings.TrimSuffix(d.Name(), ext)
		if name != "" && strings.Trim(name, "0123456789") == "" {
			out = append(out, filepath.Join(dir, d.Name()))
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return out
}

// kind is the kind of a log's entry.
func kind(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[:min(len(b), 200)]))
	if len(f) < 3 {
		t.Fatalf("%s is no entry: %.100q", file, b)
	}
	return f[2]
}
