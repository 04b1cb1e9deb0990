package scenario

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// inNamespace runs the test again as the root of a mount namespace of its own, where a small file system can be mounted: neither the user's
// rights nor the machine's mounts matter. It reports whether this is the inner run.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv("SCENARIO_NAMESPACE") == t.Name() {
		return true
	}
	t.Parallel()
	cmd := exec.Command("unshare", "-Urm", os.Args[0], "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	cmd.Env = append(os.Environ(), "SCENARIO_NAMESPACE="+t.Name(), "STAUNCH_FAILPOINT_BIN="+program)
	p := launch(t, cmd)
	p.exits(0).says("--- PASS: " + t.Name())
	return false
}

// small mounts a file system of so many bytes.
func small(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill takes all space that a file system has left.
func fill(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "_ballast")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, block := range [][]byte{make([]byte, 4096), make([]byte, 1)} {
		for {
			if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	return file
}

// starve keeps the file system full until the program has said words: what it cleans away meanwhile would else be room for the next entry.
func starve(t *testing.T, p *process, dir string, words ...string) (ballast string) {
	t.Helper()
	until(t, strings.Join(words, ", "), p, func() bool {
		ballast = fill(t, dir)
		for _, line := range strings.Split(p.text(), "\n") {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return true
			}
		}
		return false
	})
	return ballast
}

// TestDiskFullTable: the table's file system is full. The job stops by its restart strategy and says why; with space it goes on.
func TestDiskFullTable(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	s := numbers(t)
	small(t, s.path("lake"), "1m")
	s.start("STAUNCH_FAILPOINT=done.after:3").killed()
	ballast := fill(t, s.path("lake"))
	s.start().exits(1).says("no space left on device", s.path("lake"))
	ids(t, s.path("lake")) // no torn file
	remove(t, ballast)
	s.finishes()
}

// TestDiskFullWaits: with a restart strategy without end the job waits for space, and goes on by itself.
func TestDiskFullWaits(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, full := range []string{"lake", "checkpoints"} {
		t.Run(full, func(t *testing.T) {
			s := endless(t)
			small(t, s.path(full), "1m")
			p := s.start("-D", "restart-strategy.type=exponential-delay", "-D", "restart-strategy.exponential-delay.initial-backoff=50 ms",
				"-D", "restart-strategy.exponential-delay.max-backoff=100 ms")
			until(t, "a visible file", p, func() bool { return len(files(t, s.path("lake"), "json")) > 0 })
			ballast := starve(t, p, s.path(full), "no space left on device")
			before := len(ids(t, s.path("lake")))
			remove(t, ballast)
			until(t, "more rows", p, func() bool { return len(ids(t, s.path("lake"))) > before+1000 })
			p.stop()
			s.sound()
		})
	}
}

// TestDiskFullCheckpoints is case 28, variant disk-full: the checkpoint's file system is full. The checkpoint fails; after some that the
// job tolerates it goes on when space is back. Nothing half-written is left that a restart could take for a checkpoint.
func TestDiskFullCheckpoints(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	s := endless(t)
	small(t, s.path("checkpoints"), "1m")
	p := s.start("-D", "execution.checkpointing.tolerable-failed-checkpoints=1000", "-D", "restart-strategy.type=none")
	until(t, "a visible file", p, func() bool { return len(files(t, s.path("lake"), "json")) > 0 })
	ballast := starve(t, p, s.path("checkpoints"), "checkpoint failed", "no space left on device")
	before := len(ids(t, s.path("lake")))
	remove(t, ballast)
	until(t, "more rows", p, func() bool { return len(ids(t, s.path("lake"))) > before+1000 })
	p.stop()
	s.sound()

	left, err := os.ReadDir(s.path("checkpoints", "job", "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range left {
		if strings.HasPrefix(d.Name(), "staged-") {
			t.Errorf("%s of a failed checkpoint is left", d.Name())
		}
	}
}

// TestDiskFullStart: there is no space even to begin.
func TestDiskFullStart(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, full := range []string{"lake", "checkpoints"} {
		t.Run(full, func(t *testing.T) {
			s := numbers(t)
			small(t, s.path(full), "1m")
			ballast := fill(t, s.path(full))
			s.start().exits(1).says("no space left on device", s.path(full))
			remove(t, ballast)
			s.finishes()
		})
	}
}
