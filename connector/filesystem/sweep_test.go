package filesystem

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"staunch/account"
	"staunch/config"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
)

// leave puts files into a folder of the store.
func leave(t *testing.T, store fs.FS, dir string, names ...string) (paths []string) {
	t.Helper()
	if err := store.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		f, err := store.Create(path.Join(dir, n))
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path.Join(dir, n))
	}
	return paths
}

// TestBeforeWrite: with temporary-cleanup = before-write a task lists its folder before its first file of a checkpoint, and deletes exactly
// what it is told, one by one; a delete or a question that fails stops nothing.
func TestBeforeWrite(t *testing.T) {
	store := mem.New()
	c := store.Client("a")
	s := openRemote(t, c, "json", keyCleanup, cleanupBeforeWrite)
	b := newBench(t, stringKeys("p"))
	b.sink = s
	const folder = "/data/lake/_DUMP_TEMPORARY/cp-7/task-2"
	if err := c.MkdirAll(folder + "/sub"); err != nil {
		t.Fatal(err)
	}
	old := leave(t, c, folder, "a.pending", "b.pending", "keep.pending")
	other := leave(t, c, "/data/lake/_DUMP_TEMPORARY/cp-7/task-3", "c.pending")
	var asked [][]string
	answer := func(listed []string) ([]string, error) {
		return []string{old[0], old[1], folder + "/gone.pending"}, nil
	}
	b.ctx.Leftovers = func(root string, listed []string, _ func() bool) ([]string, error) {
		if root != "/data/lake" {
			t.Error("asked about", root)
		}
		asked = append(asked, listed)
		return answer(listed)
	}
	key := func(int64) []*string { return value("x") }
	w := b.writer()
	b.write(w, b.batch(0, span(0, 3), key))
	first, err := writeOut(w, 7)
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	if len(asked) != 1 || !slices.Equal(asked[0], old) {
		t.Errorf("it was asked %v, listed are %v", asked, old)
	}
	for p, want := range map[string]bool{old[0]: false, old[1]: false, old[2]: true, other[0]: true, first[0].Pending: true} {
		if _, err := c.Stat(p); (err == nil) != want {
			t.Errorf("%s: %v, expected there: %v", p, err, want)
		}
	}

	b.write(w, b.batch(0, span(3, 4), key)) // the same folder once more: nothing is asked again
	if _, err := writeOut(w, 7); err != nil || len(asked) != 1 {
		t.Error(err, asked)
	}
	b.next = 8 // no folder yet, nothing to ask
	b.write(w, b.batch(0, span(4, 5), key))
	if _, err := writeOut(w, 8); err != nil || len(asked) != 1 {
		t.Error(err, asked)
	}
	answer = func([]string) ([]string, error) { return nil, errors.New("the log cannot be read") }
	b.next = 9
	left := leave(t, c, "/data/lake/_DUMP_TEMPORARY/cp-9/task-2", "d.pending")
	b.write(w, b.batch(0, span(5, 6), key))
	if out, err := writeOut(w, 9); err != nil || len(out) != 1 || len(asked) != 2 {
		t.Error(out, err, asked)
	}
	answer = func(listed []string) ([]string, error) { return listed, nil }
	store.Fault = func(_ string, op mem.Op) mem.Effect {
		if op.Kind == mem.Delete && op.Path == left[0] {
			return mem.Effect{Kind: mem.Fail, Err: errors.New("permission")}
		}
		return mem.Effect{}
	}
	w = b.writer()
	b.write(w, b.batch(0, span(6, 7), key))
	if out, err := writeOut(w, 9); err != nil || len(out) != 1 || len(asked) != 3 {
		t.Error(out, err, asked)
	}
}

// writeOut prepares a checkpoint and makes it durable.
func writeOut(w *writer, id account.CheckpointID) ([]*account.File, error) {
	out, durable, err := w.Prepare(id)
	if err == nil && durable != nil {
		err = durable()
	}
	var files []*account.File
	for _, c := range out {
		files = append(files, c.File)
	}
	return files, err
}

// TestNeverIsTheDefault: nothing is listed and nobody is asked.
func TestNeverIsTheDefault(t *testing.T) {
	for _, opts := range [][]string{nil, {keyCleanup, cleanupNever}} {
		store := mem.New()
		b := newBench(t, stringKeys("p"))
		b.sink = openRemote(t, store.Client("a"), "json", opts...)
		b.ctx.Leftovers = func(string, []string, func() bool) ([]string, error) { t.Error("asked"); return nil, nil }
		store.Before = func(_ string, op mem.Op) {
			if op.Kind == mem.List {
				t.Error("listed", op.Path)
			}
		}
		w := b.writer()
		b.write(w, b.batch(0, span(0, 3), func(int64) []*string { return value("x") }))
		if _, err := writeOut(w, 7); err != nil {
			t.Error(err)
		}
	}
}

// TestOwnOptionsAreChecked: a typing error in an option of Staunch's own is refused, not ignored.
func TestOwnOptionsAreChecked(t *testing.T) {
	for _, c := range [][3]string{{"temporary-clean", "never", "temporary-cleanup"}, {keyCleanup, "sometimes", "before-write"}} {
		table := tableOf(newMemory(), nil)
		table.Staunch = config.NewValues("table lake", map[string]string{c[0]: c[1]}, nil)
		_, err := Factory.Sink(table)
		if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s = %s: %v", c[0], c[1], err)
		}
	}
	table := tableOf(newMemory(), nil)
	table.Staunch = config.NewValues("table lake", map[string]string{"rows.speed": "high"}, nil) // the format's own
	if _, err := Factory.Sink(table); err != nil {
		t.Error(err)
	}
}
