package filesystem

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"staunch/fault"
	"staunch/fs"
)

func TestDefaults(t *testing.T) {
	s := newBench(t, nil).sink
	if want := (rolling{128 << 20, 30 * time.Minute, 30 * time.Minute, time.Minute}); s.roll != want {
		t.Errorf("%+v", s.roll)
	}
	if s.Root() != "/data/lake" || s.Extension() != "rows" || s.Store() == nil || s.layout.defaultName != "__DEFAULT_PARTITION__" {
		t.Errorf("%+v", s)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{keyPath, "/", "a folder of its own"},
		{keyFormat, "nope", "cannot be written here"},
		{"auto-compaction", "true", "execution.checkpointing.interval"},
		{"sink.shuffle-by-partition.enable", "true", "remove it"},
		{keyPolicyKind, "metastore,success-file", "Hive catalog"},
		{keyPolicyKind, "custom", "Java code"},
		{keyPolicyKind, "sucess-file", "unknown"},
		{keyPolicyClass, "com.example.Policy", "Java code"},
		{keyExtractorKind, "custom", "Java code"},
		{keyExtractorClass, "com.example.Extractor", "Java code"},
		{keyTrigger, "never", "process-time"},
		{keyFileSize, "0 mb", "above 0"},
		{keyRollover, "0 s", "above 0"},
		{keyInactivity, "often", "a duration such as"},
		{keyParallelism, "0", "above 0"},
		{keyParallelism, "-3", "above 0"},
		{keySuccessName, "../x", "without '/'"},
		{keyWatermarkZone, "Mars/Base", "time zone"},
		{keyTimeFormatter, "yyyy-bb", "b"},
		{keyDefaultName, "", "not empty"},
		{keyDateStyle, "american", "iso"},
		{"sink.rolling-policy.file-sise", "1 mb", "did you mean 'sink.rolling-policy.file-size'?"},
	} {
		_, err := Factory.Sink(tableOf(newMemory(), stringKeys("p"), c.key, c.value))
		if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s = %s: %v", c.key, c.value, err)
		}
	}
	_, err := Factory.Sink(tableOf(newMemory(), stringKeys("p"), keyPolicyKind, "success-file", keySuccessName, "done.rows"))
	if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), ".rows") {
		t.Error(err)
	}
	for _, c := range [][2]string{{"compaction.file-size", "1 mb"}, {"source.monitor-interval", "1 s"}, {"auto-compaction", "false"}} {
		if _, err := Factory.Sink(tableOf(newMemory(), stringKeys("p"), c[0], c[1])); err != nil {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}

func TestProbe(t *testing.T) {
	b := newBench(t, nil)
	if level, reason := b.sink.Guarantee(); level != "exactly-once" || !strings.Contains(reason, "not probed") {
		t.Error(level, reason)
	}
	b.writer()
	calls := len(b.store.calls)
	b.writer()
	if len(b.store.calls) != calls {
		t.Error("a second writer probes again:", b.store.calls[calls:])
	}
	if level, reason := b.sink.Guarantee(); level != "exactly-once" || strings.Contains(reason, "not probed") {
		t.Error(level, reason)
	}
	for p := range b.store.files {
		t.Error("the probe left", p)
	}
}

func TestProbeOfStoreThatOverwrites(t *testing.T) {
	b := newBench(t, nil)
	b.store.overwrites = true
	b.writer()
	if level, reason := b.sink.Guarantee(); level != "at-least-once" || !strings.Contains(reason, "rename without overwrite") {
		t.Error(level, reason)
	}
}

func TestProbeAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		moves bool
		level string
		class fault.Class
	}{
		{"false without a reason", fs.ErrRefused, false, "exactly-once", 0},
		{"false, and moved", fs.ErrRefused, true, "at-least-once", 0},
		{"unknown, and moved", errors.New("reset"), true, "at-least-once", 0},
		{"not permitted", iofs.ErrPermission, false, "", fault.Transient},
	} {
		b := newBench(t, nil)
		b.store.fail = func(op, p string) error {
			if op != "rename" {
				return nil
			}
			if c.moves {
				src, _, _ := strings.Cut(p, " ")
				delete(b.store.files, src)
			}
			return c.err
		}
		_, err := b.sink.NewWriter(b.ctx)
		if c.level == "" {
			if fault.ClassOf(err) != c.class {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if level, _ := b.sink.Guarantee(); level != c.level || err != nil {
			t.Errorf("%s: %s %v", c.name, level, err)
		}
	}
}

func TestProbeFails(t *testing.T) {
	for _, c := range []struct {
		op    string
		err   error
		class fault.Class
	}{
		{"create", fs.ErrNoSpace, fault.Transient}, {"mkdir", iofs.ErrPermission, fault.Transient}, {"write", fs.ErrNoSpace, fault.Transient},
		{"create", fs.ErrUnavailable, fault.Outage}, {"sync", fs.ErrUnavailable, fault.Outage}, {"stat", fs.ErrNameTooLong, fault.User},
	} {
		b := newBench(t, nil)
		b.store.fail = func(op, p string) error {
			if op == c.op {
				return c.err
			}
			return nil
		}
		_, err := b.sink.NewWriter(b.ctx)
		if fault.ClassOf(err) != c.class || !errors.Is(err, c.err) || !strings.Contains(err.Error(), "table lake") {
			t.Errorf("%s %v: %v", c.op, c.err, err)
		}
	}
}

// apart is a store in which the folder to cannot be reached by a rename.
type apart struct {
	fs.FS
	to string
}

func (a apart) Movable(from, to string) error {
	if to != a.to {
		return nil
	}
	return fmt.Errorf("move files %s to %s: %w", from, to, syscall.EXDEV)
}

// TestFoldersOnOtherFileSystems: where the temporary folder lies on another file system than the table, or than a partition, no file would ever become
// visible there. That is its user's to heal, and found before the first row.
func TestFoldersOnOtherFileSystems(t *testing.T) {
	for to, mount := range map[string]string{"/data/lake": "/data/lake/_DUMP_TEMPORARY", "/data/lake/p=cold": "/data/lake/p=cold"} {
		b := newBench(t, stringKeys("p"))
		if err := b.store.MkdirAll("/data/lake/p=cold"); err != nil {
			t.Fatal(err)
		}
		b.sink.store = apart{b.sink.store, to}
		w, err := b.sink.NewWriter(b.ctx)
		if err == nil {
			err = w.Write(b.batch(0, span(0, 1), func(int64) []*string { return value("cold") }), splits)
		}
		if fault.ClassOf(err) != fault.User || !errors.Is(err, syscall.EXDEV) {
			t.Fatalf("%s: %v", to, err)
		}
		for _, want := range []string{"table lake", "in " + to + ":", "mount or link at " + mount + ","} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
	}
}
