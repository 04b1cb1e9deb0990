package sim

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"

	"staunch/fs/mem"
	"staunch/job"
)

// The way from writers that empty their folder before they write, and record folders, to this one: both settings of temporary-cleanup over the same
// checkpoints in either order, and checkpoints that name folders.

// setting is temporary-cleanup from the next start on.
func (c *script) setting(cleanup string) { c.own = map[string]string{"temporary-cleanup": cleanup} }

// writes waits until the newest attempt has a file that is not there for its commit yet.
func (c *script) writes() {
	c.read()
	c.until("rows are in a file", func() bool { return len(c.pendingOf(c.last.job.Epoch())) > 0 })
}

func (c *script) pendingOf(e account.Epoch) (out []string) {
	for _, p := range c.pending() {
		if n, ok := account.ParseFileName(strings.TrimSuffix(path.Base(p), account.PendingSuffix)); ok && n.Epoch == e {
			out = append(out, p)
		}
	}
	return out
}

// onlyEnded finds a delete of a pending file of the newest attempt, or of one that a complete names; with the setting never, any delete.
func (c *script) onlyEnded(op mem.Op) {
	n, ok := account.ParseFileName(strings.TrimSuffix(path.Base(op.Path), account.PendingSuffix))
	if op.Kind != mem.Delete || !temporary(op) || !ok {
		return
	}
	c.deleted = append(c.deleted, op.Path)
	c.aside(func() {
		for _, l := range []string{jobs, "/elsewhere"} {
			for _, e := range c.world.entries(l + "/" + name + "/log") {
				if e.Kind == account.KindComplete && strings.Contains(string(e.Body), path.Base(op.Path)) {
					c.fail(fmt.Errorf("P3: %s, which entry %d names", op, e.N))
				}
			}
		}
		if c.own["temporary-cleanup"] != "before-write" && c.dir == "" || c.last.job.Epoch() == n.Epoch {
			c.fail(fmt.Errorf("P3: %s", op))
		}
	})
}

// TestRollOutSettings: one setting after the other, each left by a kill with files in the folder that the next attempt writes to.
func TestRollOutSettings(t *testing.T) {
	for _, order := range [][]string{{"never", "before-write"}, {"before-write", "never"}, {"before-write", "before-write"}} {
		t.Run(strings.Join(order, " then "), func(t *testing.T) {
			holds(t, func(c *script) {
				c.looks = append(c.looks, c.onlyEnded)
				want := int64(0)
				for i := range 4 {
					c.setting(order[i%2])
					before := c.pending()
					c.begin()
					c.rows(5, "a")
					c.writes()
					folder := path.Dir(c.pendingOf(c.last.job.Epoch())[0])
					for _, p := range before {
						there := slices.Contains(c.pending(), p)
						if there == (order[i%2] == "before-write" && path.Dir(p) == folder) {
							c.failf("with %s: %s is there: %v, and %s is written to", order[i%2], p, there, folder)
						}
					}
					if i == 2 {
						c.rows(5, "b")
						want += 5
						c.checkpoint()
						c.rows(5, "b")
						want += 5
						c.writes()
					}
					want += 5
					c.kill(c.last)
				}
				c.begin()
				c.checkpoint()
				c.sees("at last", 0, want)
				if len(c.deleted) == 0 {
					c.failf("nothing was deleted before a write")
				}
				c.finish()
			})
		})
	}
}

// TestBeforeWriteLate: the deletes before a write come late and twice (case 01): they carry names that nobody uses again.
func TestBeforeWriteLate(t *testing.T) {
	holds(t, func(c *script) {
		c.setting("before-write")
		c.begin()
		c.rows(5, "a")
		c.writes()
		c.kill(c.last)
		c.hold = 20 * time.Second
		c.answers = func(op mem.Op) mem.Effect {
			if op.Kind != mem.Delete || !temporary(op) || strings.HasSuffix(op.Path, ".probe") {
				return mem.Effect{}
			}
			i := c.store.LateCount()
			c.later(func() { _ = c.store.Repeat(i) })
			return mem.Effect{Kind: mem.Lost} // its answer never comes, so it is sent again
		}
		c.begin()
		c.rows(5, "b")
		c.writes()
		c.answers = nil
		c.checkpoint()
		c.checkpoint()
		if len(c.held) > 0 || c.applied == 0 {
			c.failf("%d deletes are held still, %d were carried out late", len(c.held), c.applied)
		}
		c.sees("after the deletes", 0, 10)
		c.finish()
	})
}

// TestBeforeWriteOvertaken: an attempt that cleans up its folder stands still before it lists, or before it deletes; another one takes over
// meanwhile, also with another checkpoint directory, whose epochs are smaller, and writes to the same folder.
func TestBeforeWriteOvertaken(t *testing.T) {
	for _, at := range []mem.OpKind{mem.List, mem.Delete} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprint(at, " elsewhere ", elsewhere), func(t *testing.T) {
				holds(t, func(c *script) {
					c.looks = append(c.looks, c.onlyEnded)
					c.setting("before-write")
					c.begin()
					for range 2 {
						c.rows(3, "a")
						c.writes()
						c.kill(c.last)
						c.begin()
					}
					c.stun = func(op mem.Op) time.Duration {
						if op.Kind == at && strings.Contains(op.Path, "/_DUMP_TEMPORARY/cp-") && !strings.HasSuffix(op.Path, ".probe") {
							return 20 * time.Minute
						}
						return 0
					}
					c.rows(1, "a")
					c.until("it stands still", func() bool { return c.stun == nil })
					sleeper := c.last
					if elsewhere {
						c.dir = "/elsewhere"
						c.order = func(s *job.Spec) { s.TakeOver = true }
					}
					c.begin()
					c.order = nil
					c.rows(3, "b")
					c.writes()
					c.until("the sleeper wakes", func() bool { return sleeper.ended })
					c.checkpoint()
					c.sees("after it woke", 0, 10)
					c.finish()
				})
			})
		}
	}
}

// asOlder makes the newest completed checkpoint, whose commit has not begun, one of the directory-based protocol: its files get that version's
// names, in the partitions' folders below their task's, and its entry names the folders. It gives those.
func (c *script) asOlder() (dirs []string) {
	list := c.world.entries(jobs + "/" + name + "/log")
	e := list[len(list)-1]
	if e.Kind != account.KindComplete {
		c.failf("the newest entry is a %s", e.Kind)
	}
	var m map[string]any
	c.must(json.Unmarshal(e.Body, &m))
	table := m["tables"].(map[string]any)[roots[0]].(map[string]any)
	var files []account.File
	b, err := json.Marshal(table["files"])
	c.must(err)
	c.must(json.Unmarshal(b, &files))
	for i, f := range files {
		dir := path.Dir(f.Pending)
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		c.must(c.o.client.MkdirAll(path.Join(dir, f.Partition)))
		c.must(c.store.Put(path.Join(dir, f.Partition, fmt.Sprintf("task_dorado_1_%s_%v.17%d.json.pending", strings.TrimPrefix(path.Base(dir), "task-"), m["checkpoint"], i)),
			c.store.Content(f.Pending)))
		c.must(c.store.Take(f.Pending))
	}
	delete(table, "files")
	delete(table, "ranges")
	table["directories"] = dirs
	body, err := json.Marshal(m)
	c.must(err)
	c.must(c.store.Put(c.newestEntry(), fmt.Appendf(nil, "staunch-log 1 complete %s %x\n%s\n", e.Nonce, sha256.Sum256(body), body)))
	return dirs
}

// olderCommits does what that version does with a folder: each file goes to its place, as far as n files, and the folder goes when it is empty.
func (c *script) olderCommits(dir string, n int) {
	for _, f := range c.store.Files(dir) {
		if n--; n < 0 {
			return
		}
		to := path.Join(roots[0], strings.TrimSuffix(strings.TrimPrefix(f.Path, dir+"/"), account.PendingSuffix))
		c.must(c.o.client.MkdirAll(path.Dir(to)))
		c.must(c.store.Put(to, c.store.Content(f.Path)))
		c.must(c.store.Take(f.Path))
	}
	c.o.moved = true
	list, err := c.o.client.List(dir)
	c.must(err)
	for _, i := range list {
		c.must(c.o.client.DeleteDir(path.Join(dir, i.Name)))
	}
	c.must(c.o.client.DeleteDir(dir))
}

// directories runs the job with two tasks to a completed checkpoint of rows 0 to 19 in three partitions, made one that names folders; rows 20 to
// 24 are in a dirty file of that version, in the folder of the next checkpoint.
func (c *script) directories() []string {
	c.par, c.b.partitions = 1, 1
	c.begin()
	c.rows(8, "a")
	c.rows(6, "b")
	c.rows(6, "c")
	c.killBefore("the certificate", places)
	dirs := c.asOlder()
	c.rows(5, "a")
	next := path.Join(roots[0], "_DUMP_TEMPORARY", "cp-3", "task-0", "dt=a")
	c.must(c.o.client.MkdirAll(next))
	var dirty []byte
	for o := int64(20); o < 25; o++ {
		dirty = fmt.Appendf(dirty, `{"part":0,"off":%d}`+"\n", o)
	}
	c.must(c.store.Put(path.Join(next, "task_dorado_1_0_3.170.json.pending"), dirty))
	return dirs
}

// TestFromDirectories: none, some or all of the files of such a checkpoint were committed by the version that wrote it.
func TestFromDirectories(t *testing.T) {
	for _, moved := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(moved, " committed"), func(t *testing.T) {
			holds(t, func(c *script) {
				dirs := c.directories()
				c.olderCommits(dirs[0], moved)
				c.b.polled = func() {
					c.b.polled = nil
					c.aside(func() {
						if got := c.visible(); !exactly(got, 0, 20) {
							c.fail(fmt.Errorf("C5: before the first poll visible are %v", got))
						}
					})
				}
				c.begin()
				if id := c.checkpoint(); id < 1000 {
					c.failf("checkpoint %d is near the folders of the version before", id)
				}
				c.sees("after the next checkpoint", 0, 25)
				cert := c.certificates()[0]
				if len(cert.FromDirectories) != 1 || len(cert.Files) != 3-moved && moved < 3 || moved == 3 && len(cert.MissingDirectories) != 1 {
					c.failf("%+v", cert)
				}
				c.kill(c.last)
				c.begin()
				c.rows(5, "b")
				c.checkpoint()
				c.sees("at last", 0, 30)
				c.finish()
			})
		})
	}
}

// TestFromDirectoriesKilled: the same, killed before each call of the restart.
func TestFromDirectoriesKilled(t *testing.T) {
	everyStep(t, func(c *script, k int) bool {
		dirs := c.directories()
		c.olderCommits(dirs[0], 1)
		killed := c.backKilled(k)
		c.checkpoint()
		c.sees("after the restart", 0, 25)
		c.finish()
		return killed
	})
}

// TestFromDirectoriesLateDelete: a request of that version to remove the folder of its next checkpoint comes late, when this one writes: it finds
// none of its files. One for the folder of the checkpoint itself finds it empty.
func TestFromDirectoriesLateDelete(t *testing.T) {
	holds(t, func(c *script) {
		dirs := c.directories()
		c.begin()
		c.rows(5, "c")
		c.writes()
		for id := range 40 {
			for _, f := range c.store.Files(path.Join(roots[0], "_DUMP_TEMPORARY", fmt.Sprint("cp-", id), "task-0")) {
				c.must(c.store.Take(f.Path))
			}
		}
		if _, err := c.o.client.List(dirs[0]); err == nil {
			if list := c.store.Files(dirs[0]); len(list) > 0 {
				c.failf("left: %v", list)
			}
		}
		c.checkpoint()
		c.sees("after the deletes", 0, 30)
		c.finish()
	})
}

// TestFromDirectoriesThenFromTable: the checkpoint directory is lost when the newest certificate is one from folders: it tells where the splits stood.
func TestFromDirectoriesThenFromTable(t *testing.T) {
	holds(t, func(c *script) {
		dirs := c.directories()
		c.olderCommits(dirs[0], 1)
		c.begin()
		c.kill(c.last)
		c.sees("after the restart", 0, 20)
		for _, f := range c.store.Files(jobs) {
			c.must(c.store.Take(f.Path))
		}
		c.order = func(s *job.Spec) { s.FromTable, s.TakeOver = true, true }
		c.begin()
		c.order = nil
		if id := c.checkpoint(); id < 1000 {
			c.failf("checkpoint %d is near the folders of the version before", id)
		}
		c.sees("at last", 0, 25)
		c.finish()
	})
}
