package commit

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
)

// old is a table that a version without file names wrote to.
type old struct {
	t     *testing.T
	store *mem.Store
	c     *mem.Client
	out   bytes.Buffer
}

func newOld(t *testing.T) *old {
	s := mem.New()
	return &old{t: t, store: s, c: s.Client("a")}
}

func (o *old) put(p string) {
	o.t.Helper()
	if err := o.c.MkdirAll(path.Dir(p)); err != nil {
		o.t.Fatal(err)
	}
	f, err := o.c.Create(p)
	if err == nil {
		_, err = io.WriteString(f, p)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// commit claims the table and commits checkpoint 5 of these folders.
func (o *old) commit(dirs ...string) (Result, *Table, error) {
	o.t.Helper()
	tb := Open(&env.Real{}, o.c, "/lake", Owner{Job: "orders", LogID: "L", Epoch: 1}, Variant{}, slog.New(slog.NewTextHandler(&o.out, nil)))
	if err := tb.Claim(nil); err != nil {
		o.t.Fatal(err)
	}
	res, err := tb.Commit(account.Certificate{LogID: "L", Job: "orders", Epoch: 1, Checkpoint: 5, Complete: "c", FromDirectories: dirs, DirectoriesEpoch: 3}, account.ChainEnd{})
	return res, tb, err
}

func (o *old) there(p string) bool {
	_, err := o.c.Stat(p)
	return err == nil
}

const tmp = "/lake/_DUMP_TEMPORARY/"

// TestDirectories: what stands in the folders is certified once and goes to its place; hidden names and links are not data; a repeated commit
// changes nothing.
func TestDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOld(t)
		o.put(tmp + "cp-5/task-0/dt=a/x.json")
		o.put(tmp + "cp-5/task-0/dt=a/hour=1/y.json.pending")
		o.put(tmp + "cp-5/task-0/z.json")
		o.put(tmp + "cp-5/task-0/.z.json.crc")
		mine := account.FileName{Job8: account.Job8("orders"), Checkpoint: 5, Epoch: 3, Rand: strings.Repeat("b", 24), Ext: "json"}
		theirs, before := mine, mine
		theirs.Job8, before.Epoch = account.Job8("other"), 2
		for _, n := range []account.FileName{mine, theirs, before} {
			o.put(tmp + "cp-5/task-0/dt=a/" + n.String() + account.PendingSuffix)
		}
		o.put(tmp + "cp-4/task-1/w.json") // an earlier, failed checkpoint's folder that joined this one
		o.put(tmp + "cp-5/task-2/not-named.json")
		if err := o.c.MkdirAll(tmp + "cp-5/task-3"); err != nil { // without rows
			t.Fatal(err)
		}
		dirs := []string{tmp + "cp-5/task-0", "cp-4/task-1", "_DUMP_TEMPORARY/cp-5/task-3", "cp-5/task-0"}
		named := slices.Clone(dirs)
		res, tb, err := o.commit(dirs...)
		if err != nil || res.Counters != (account.Counters{Created: 5, Renamed: 5}) {
			t.Fatal(res, err)
		}
		if !slices.Equal(dirs, named) {
			t.Errorf("the caller's names were changed: %v", dirs)
		}
		for p, want := range map[string]bool{"/lake/dt=a/x.json": true, "/lake/dt=a/hour=1/y.json": true, "/lake/z.json": true, "/lake/w.json": true,
			"/lake/dt=a/" + mine.String(): true, "/lake/dt=a/" + theirs.String(): false, "/lake/dt=a/" + before.String(): false,
			tmp + "cp-5/task-2/not-named.json": true, tmp + "cp-5/task-0/.z.json.crc": true, "/lake/not-named.json": false} {
			if o.there(p) != want {
				t.Errorf("%s: there %v, want %v", p, !want, want)
			}
		}
		c := tb.State().Find(tb.State().Chain.Certificate)
		if !slices.Equal(c.FromDirectories, []string{"_DUMP_TEMPORARY/cp-5/task-0", "_DUMP_TEMPORARY/cp-4/task-1", "_DUMP_TEMPORARY/cp-5/task-3"}) || len(c.MissingDirectories) > 0 {
			t.Errorf("%+v", c)
		}
		if i := slices.IndexFunc(c.Files, func(f account.File) bool { return f.Final == "/lake/dt=a/hour=1/y.json" }); i < 0 || c.Files[i].Partition != "dt=a/hour=1" ||
			c.Files[i].Length != int64(len(c.Files[i].Pending)) || c.Files[i].Recorded() {
			t.Errorf("%+v", c.Files)
		}
		if strings.Contains(o.out.String(), "is not there") || !strings.Contains(o.out.String(), ".z.json.crc") {
			t.Error(o.out.String())
		}
		o.put(tmp + "cp-5/task-0/late.json")
		if res, _, err := o.commit(dirs...); err != nil || !res.Already || o.there("/lake/late.json") {
			t.Error(res, err)
		}
	})
}

// TestDirectoriesMissing: folders that are not there are told, with what visible names tell of them.
func TestDirectoriesMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOld(t)
		o.put(tmp + "cp-5/task-0/x.json")
		o.put("/lake/dt=a/task_dorado_111_1_5.1700.json")
		o.put("/lake/dt=b/23_task_dorado_111_1_5.1701.json")
		o.put("/lake/dt=b/task_dorado_111_2_4.1701.json")
		o.put("/lake/dt=b/" + account.FileName{Job8: account.Job8("orders"), Subtask: 3, Checkpoint: 5, Epoch: 3, Rand: strings.Repeat("a", 24), Ext: "json"}.String())
		res, tb, err := o.commit("cp-5/task-0", "cp-5/task-1", "cp-5/task-2", "cp-5/task-3")
		if err != nil || res.Counters.Renamed != 1 {
			t.Fatal(res, err)
		}
		c := tb.State().Find(tb.State().Chain.Certificate)
		if len(c.MissingDirectories) != 3 {
			t.Error(c.MissingDirectories)
		}
		for task, want := range map[int]string{1: "2 visible files", 2: "no visible file's name tells of it", 3: "1 visible files"} {
			found := false
			for line := range strings.Lines(o.out.String()) {
				found = found || strings.Contains(line, fmt.Sprintf("folder=%scp-5/task-%d", tmp, task)) && strings.Contains(line, want) && strings.Contains(line, "level=WARN")
			}
			if !found {
				t.Errorf("task %d: %q is missing in:\n%s", task, want, o.out.String())
			}
		}
		if !strings.Contains(o.out.String(), "missing=3") {
			t.Error(o.out.String())
		}
	})
}

// TestDirectoriesUnderWay: a file that the version before moves meanwhile is looked for again; one that was certified and moved then is skipped; a
// target that is another file is damage.
func TestDirectoriesUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOld(t)
		o.put(tmp + "cp-5/task-0/x.json")
		o.put(tmp + "cp-5/task-0/y.json")
		lists, certified := 0, false
		o.store.Before = func(_ string, op mem.Op) {
			switch {
			case op.Kind == mem.List && op.Path == tmp+"cp-5/task-0":
				if lists++; lists == 2 {
					o.move("x.json", "x.json")
				}
			case op.Kind == mem.Rename && op.Path == tmp+"cp-5/task-0/y.json" && !certified:
				certified = true
				o.move("y.json", "y.json")
			}
		}
		res, tb, err := o.commit("cp-5/task-0")
		if err != nil || res.Counters != (account.Counters{Created: 1, Skipped: 1}) {
			t.Fatal(res, err)
		}
		if n := len(tb.State().Find(tb.State().Chain.Certificate).Files); n != 1 || lists != 3 {
			t.Errorf("%d files, %d listings", n, lists)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		o := newOld(t)
		o.put(tmp + "cp-5/task-0/x.json")
		o.put("/lake/x.json") // another length
		if _, _, err := o.commit("cp-5/task-0"); fault.ClassOf(err) != fault.Damage {
			t.Error(err)
		}
		if b, err := fs.ReadFile(o.c, "/lake/x.json"); err != nil || string(b) != "/lake/x.json" {
			t.Error("overwritten:", string(b), err)
		}
	})
}

// move is the version before.
func (o *old) move(from, to string) {
	before := o.store.Before
	o.store.Before = nil
	if err := o.store.Client("old").Rename(tmp+"cp-5/task-0/"+from, "/lake/"+to); err != nil {
		o.t.Error(err)
	}
	o.store.Before = before
}

// TestDirectoriesElsewhere: a folder that is none of a task of that checkpoint is damage, and nothing is certified.
func TestDirectoriesElsewhere(t *testing.T) {
	for _, d := range []string{"/etc", "/lake/dt=a", "../x/cp-5/task-0", "cp-5", "cp-6/task-0", "cp-5/task-0/dt=a", "cp-x/task-0", "/pond/_DUMP_TEMPORARY/cp-5/task-0"} {
		o := newOld(t)
		_, tb, err := o.commit(d)
		if fault.ClassOf(err) != fault.Damage || !strings.Contains(err.Error(), d) || tb.State().Chain.Certificate != "" {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// TestDirectoriesUnderscoreKeys: the folder of a partition whose column's name begins with _ is data.
func TestDirectoriesUnderscoreKeys(t *testing.T) {
	o := newOld(t)
	dir := tmp + "cp-5/task-0"
	o.put(dir + "/_m=1/part-0.json")
	o.put(dir + "/_hidden/part-1.json")
	if _, _, err := o.commit(dir); err != nil {
		t.Fatal(err)
	}
	if !o.there("/lake/_m=1/part-0.json") || o.there(dir+"/_m=1/part-0.json") || !o.there(dir+"/_hidden/part-1.json") {
		t.Errorf("the partition's file did not go to its place, or a hidden one did:\n%s", o.out.String())
	}
}
