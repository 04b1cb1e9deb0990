package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoBinary builds the program: the demo starts itself as broker, job and audit.
func demoBinary(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "staunch")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

func TestDemo(t *testing.T) {
	bin := demoBinary(t)
	t.Run("to the end", func(t *testing.T) { demoToTheEnd(t, bin) })
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) { demoEnded(t, bin, sig) })
	}
}

// demoToTheEnd runs the demo, twice in the same folder (P1).
func demoToTheEnd(t *testing.T, bin string) {
	dir := filepath.Join(t.TempDir(), "it's a demo")
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		cmd := exec.CommandContext(ctx, bin, "demo", "--records", "50000", "--dir", dir)
		b, err := cmd.CombinedOutput()
		cancel()
		out := string(b)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if n := strings.Count(out, "$ kill -9 "); n != 2 {
			t.Errorf("%d kills", n)
		}
		// each kill lands while some rows are visible and some are not
		for _, m := range regexp.MustCompile(`topic holds ([0-9,]+) events; ([0-9,]+) rows in`).FindAllStringSubmatch(out, -1) {
			if m[1] == "50,000" || m[2] == "0" {
				t.Errorf("a kill that is not half-way: %s", m[0])
			}
		}
		for _, want := range []string{": clean", "missing 0, twice 0, wrong 0", "50,000 events", "sha-256", "numFilesLost 0", "exit code 3"} {
			if !strings.Contains(out, want) {
				t.Errorf("the output has no %q", want)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Error("colours outside of a terminal")
		}
		if t.Failed() {
			t.Fatal(out)
		}
	}
	damage(t, bin, dir)
}

// damage takes a file away and doubles another: audit and count must both see it.
func damage(t *testing.T, bin, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "lake", "dt=*", "hour=*", "*.parquet"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	f := eventsAgain(50_000)
	check := func() *result {
		r, err := f.check(t.Context(), filepath.Join(dir, "lake"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := check(); !r.right() {
		t.Fatalf("before the damage: %+v", r)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0]+".twice.parquet", data, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := check(); r.right() || r.twice == 0 || r.missing != 0 {
		t.Errorf("with a file twice: %+v", r)
	}
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	if r := check(); r.right() || r.missing == 0 {
		t.Errorf("without a file: %+v", r)
	}
	var x *exec.ExitError
	out, err := exec.Command(bin, "audit", filepath.Join(dir, "orders.sql")).CombinedOutput()
	if !errors.As(err, &x) || x.ExitCode() != exitFailed {
		t.Errorf("the audit of the damaged table: %v\n%s", err, out)
	}
}

// eventsAgain makes the events of a demo without sending them.
func eventsAgain(total int64) *feeder {
	f, rng := &feeder{total: total}, rand.New(rand.NewPCG(demoSeed, 1))
	for i := range total {
		_, e := demoEvent(nil, rng, i, total)
		f.sent[i%demoPartitions] = append(f.sent[i%demoPartitions], e)
	}
	return f
}

func TestDemoFolder(t *testing.T) {
	foreign := t.TempDir()
	mine := filepath.Join(foreign, "mine.txt")
	if err := os.WriteFile(mine, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, marker := range []string{"", "something else"} {
		if marker != "" {
			if err := os.WriteFile(filepath.Join(foreign, demoMarker), []byte(marker), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := (&demo{dir: foreign}).folder(); err == nil || !strings.Contains(err.Error(), "not made by a demo") {
			t.Errorf("a foreign folder: %v", err)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	d := &demo{dir: filepath.Join(foreign, "new")}
	unlock, err := d.folder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.folder(); err == nil || !strings.Contains(err.Error(), "another demo") {
		t.Errorf("a second demo: %v", err)
	}
	unlock()
	for _, n := range []string{"orders.sql", "notes.txt"} {
		if err := os.WriteFile(d.path(n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if unlock, err = d.folder(); err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := os.Stat(d.path("orders.sql")); err == nil {
		t.Error("the former demo's file is still there")
	}
	if _, err := os.Stat(d.path("notes.txt")); err != nil {
		t.Error("a file that the demo did not make:", err)
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"a/b.sql": "a/b.sql", "a b": "'a b'", "it's": `'it'\''s'`} {
		if got := shellWord(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// demoEnded ends a demo by a signal while its job runs: broker and job must be gone.
func demoEnded(t *testing.T, bin string, sig syscall.Signal) {
	dir := filepath.Join(t.TempDir(), "demo")
	cmd := exec.Command(bin, "demo", "--records", "50000", "--dir", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() //nolint:errcheck // of a test that failed meanwhile
	shown := false
	for s := bufio.NewScanner(out); s.Scan(); {
		if !strings.Contains(s.Text(), " is visible:") || shown {
			continue
		}
		shown = true
		// The demo itself kills its job now and then, perhaps right behind this line, and starts it again.
		awaitChildren(t, dir, "broker and job", func(children []string) bool { return len(children) == 2 })
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); sig == syscall.SIGINT && code != exitInterrupted {
		t.Errorf("exit code %d: %v", code, err)
	}
	if !shown {
		t.Fatal("no checkpoint was shown")
	}
	awaitChildren(t, dir, fmt.Sprintf("the end of all after %s", sig), func(children []string) bool { return len(children) == 0 })
}

// awaitChildren waits until the processes that a demo in this folder has started are as wanted.
func awaitChildren(t *testing.T, dir, what string, wanted func(children []string) bool) {
	t.Helper()
	late := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		children := demoChildren(t, dir)
		if wanted(children) {
			return
		}
		select {
		case <-late:
			t.Fatalf("%s did not come; there are %q", what, children)
		case <-tick.C:
		}
	}
}

// demoChildren gives the command lines of the processes that a demo in this folder has started, whoever is their parent now.
func demoChildren(t *testing.T, dir string) (out []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range lines {
		b, err := os.ReadFile(p)
		if err != nil {
			continue // it has ended
		}
		words := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00") // of one that has ended and is not yet waited for: none
		if strings.HasPrefix(words[len(words)-1], dir+"/") {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}
