package sim

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/job"
)

// Going back, step by step: cases 04, 05 and 28 of test/cases, with their variants, each also with a kill before every single call that the start
// makes. Checkpoint numbers are the job's own; offsets count from 0.

// savepoint runs the job to a checkpoint of rows 0 to 9, then on to one of rows 0 to 19, and stops it. It gives the first one's id.
func (c *script) savepoint() account.CheckpointID {
	c.retain = 3
	c.begin()
	c.rows(5, "a")
	c.rows(5, "b")
	id := c.checkpoint()
	c.rows(5, "b")
	c.rows(5, "c")
	c.checkpoint()
	c.sees("before going back", 0, 20)
	c.stop()
	return id
}

func (c *script) stop() {
	c.last.job.Stop()
	c.must(c.ends())
}

// from orders to go back to a checkpoint.
func from(at string, mode job.NewerOutput) func(*job.Spec) {
	return func(s *job.Spec) { s.FromSavepoint, s.OnNewerOutput = at, mode }
}

func fresh(mode job.NewerOutput) func(*job.Spec) {
	return func(s *job.Spec) { s.Fresh, s.OnNewerOutput = true, mode }
}

// refused expects that a start ends with an error that has these words, and that nothing was changed by it. (Without an order, a begin and claims of
// the same log do no harm.)
func (c *script) refused(words ...string) {
	before := c.tree()
	c.launch()
	err := c.ends()
	if cl := fault.ClassOf(err); cl != fault.User && cl != fault.Damage {
		c.failf("expected a refusal, the job ended with %v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			c.failf("%q is missing in: %v", w, err)
		}
	}
	if after := c.tree(); after != before {
		c.failf("the refused start changed something:\n%s\n\n%s", before, after)
	}
}

// tree lists all files, without an order those that are no entries of logs.
func (c *script) tree() string {
	return strings.Join(slices.DeleteFunc(c.store.Tree(), func(line string) bool {
		p, _, _ := strings.Cut(line, " ")
		return c.order == nil && (strings.HasSuffix(p, ".staunch") || strings.Contains(p, "/log/"))
	}), "\n")
}

// supersededFiles are those that were moved out of the first table.
func (c *script) supersededFiles() (out []string) {
	for _, f := range c.store.Files(roots[0] + "/_superseded") {
		out = append(out, f.Path)
	}
	return out
}

// times counts how often each offset is visible.
func (c *script) times(from, to int64) map[int]int {
	out := map[int]int{}
	have := map[int64]int{}
	for _, o := range c.visible() {
		have[o]++
	}
	for o := from; o < to; o++ {
		out[have[o]]++
	}
	return out
}

// TestCase04: rows since the savepoint come again, whatever was committed behind it; and never over newer output without a word.
func TestCase04(t *testing.T) {
	t.Run("fresh folder", func(t *testing.T) { holds(t, case04Fresh) })
	t.Run("refused", func(t *testing.T) { holds(t, case04Refused) })
	t.Run("keep", func(t *testing.T) { holds(t, case04Keep) })
	t.Run("rewind", func(t *testing.T) { holds(t, case04Rewind) })
}

func case04Refused(c *script) {
	id := c.savepoint()
	c.order = from(fmt.Sprint(id), job.Refuse)
	c.refused(fmt.Sprintf("going back to checkpoint %d", id), roots[0], "newest", "--on-newer-output rewind", "--on-newer-output keep")
	c.order = nil
	c.begin()
	c.finish()
}

func case04Keep(c *script) {
	id := c.savepoint()
	greatest := c.last.job.Status().LastCheckpoint
	c.o.tables[0].repeats = 1
	c.order = from(fmt.Sprint(id), job.KeepNewer)
	c.begin()
	if next := c.checkpoint(); next <= greatest {
		c.failf("checkpoint %d is given again: %d was completed", next, greatest)
	}
	if once, twice := c.times(0, 10), c.times(10, 20); once[1] != 10 || twice[2] != 10 {
		c.failf("kept: %v", c.visible())
	}
	c.order = nil
	c.stop()
	c.begin()
	c.rows(3, "a")
	c.checkpoint()
	c.finish()
}

func case04Rewind(c *script) {
	id := c.savepoint()
	greatest := c.last.job.Status().LastCheckpoint
	c.order = from(fmt.Sprint(id), job.RewindNewer)
	c.begin()
	if next := c.checkpoint(); next <= greatest {
		c.failf("checkpoint %d is given again: %d was completed", next, greatest)
	}
	c.sees("after the rewind", 0, 20)
	if moved := c.supersededFiles(); len(moved) == 0 {
		c.failf("nothing lies under _superseded:\n%s", c.tree())
	}
	c.order = nil
	c.stop()
	c.begin()
	c.finish()
}

// case04Fresh: the same job writes to another folder from the savepoint on; nothing is newer there.
func case04Fresh(c *script) {
	id := c.savepoint()
	old := c.visible()
	c.moveTable("/fresh")
	c.order = from(fmt.Sprint(id), job.Refuse)
	c.begin()
	c.checkpoint()
	if got := c.visible(); !exactly(got, 10, 20) {
		c.failf("in the fresh folder: %v, in the first %v", got, old)
	}
	c.order = nil
	c.stop()
	c.begin()
	c.rows(1, "a")
	c.checkpoint()
	if got := c.visible(); !exactly(got, 10, 21) {
		c.failf("in the fresh folder: %v", got)
	}
	// The first folder comes back: it is ahead of the job.
	c.stop()
	c.tableAt(1)
	c.refused(roots[0], "--on-newer-output")
}

// moveTable lets the job write to another folder; tableAt brings back one that it wrote to.
func (c *script) moveTable(root string) {
	l := &lake{o: c.o, root: root, files: map[string]*visible{}, at: map[record]string{}, declared: map[string]int{}, certified: map[string]bool{}, excused: map[record]string{}, staged: map[string][]string{}}
	c.o.tables = append(c.o.tables, l)
	c.tableAt(len(c.o.tables) - 1)
	c.o.reopen(c.world)
}

func (c *script) tableAt(i int) {
	c.o.tables[0], c.o.tables[i] = c.o.tables[i], c.o.tables[0]
	l := c.o.tables[0]
	c.only = l.root
}

// twoCheckpoints waits until what was read before is surely committed: the first checkpoint of a job that begins anew comes at once.
func (c *script) twoCheckpoints() {
	c.until("a first checkpoint", func() bool { return c.last.job.Status().Completed > 0 })
	c.checkpoint()
}

// everyStep plays a story over and over, with a kill before the next call of a start each time, until it is through without one.
func everyStep(t *testing.T, story func(c *script, k int) (killed bool)) {
	t.Helper()
	killed := true
	for k := 0; killed; k++ {
		err := play(uint64(k%orders+1), Protocol, func(c *script) { killed = story(c, k) })
		if err != nil {
			t.Fatalf("killed before call %d: %v", k, err)
		}
		if k > 3000 {
			t.Fatal("a start makes more than 3000 calls")
		}
		if !killed {
			t.Logf("%d calls", k)
		}
	}
}

// launchKilled starts the job and kills it before its call k, counted from 0, unless it runs by then. It reports which.
func (c *script) launchKilled(k int) bool {
	n := 0
	c.doom = func(mem.Op) bool { n++; return n > k }
	c.launch()
	c.until("it runs or is killed", func() bool { return c.last.p.dead || c.last.job.Status().Phase == "RUNNING" })
	c.doom = nil
	return c.last.p.dead
}

// backKilled starts the job with its order, kills it before call k (counted from 0), and starts it again: with the same order, or, each second
// time, without one.
func (c *script) backKilled(k int) (killed bool) {
	if !c.launchKilled(k) {
		return false
	}
	if k%2 == 1 {
		c.order = nil
	}
	c.begin()
	return true
}

// TestRewindKilled: killed anywhere while it goes back, the job goes on, with or without the order, and each row is there once.
func TestRewindKilled(t *testing.T) {
	for name, order := range map[string]func(account.CheckpointID) func(*job.Spec){
		"rewind": func(id account.CheckpointID) func(*job.Spec) { return from(fmt.Sprint(id), job.RewindNewer) },
		"fresh":  func(account.CheckpointID) func(*job.Spec) { return fresh(job.RewindNewer) },
	} {
		t.Run(name, func(t *testing.T) {
			everyStep(t, func(c *script, k int) bool {
				c.order = nil
				id := c.savepoint()
				c.order = order(id)
				killed := c.backKilled(k)
				c.twoCheckpoints()
				c.sees("after the rewind", 0, 20)
				c.finish()
				return killed
			})
		})
	}
}

// TestKeepKilled: the same with keep: each row is there once or, if the order was carried out, those since the savepoint twice.
func TestKeepKilled(t *testing.T) {
	everyStep(t, func(c *script, k int) bool {
		id := c.savepoint()
		c.o.tables[0].repeats = 1
		c.order = from(fmt.Sprint(id), job.KeepNewer)
		ordered := c.order
		killed := c.backKilled(k)
		c.checkpoint()
		once, again := c.times(0, 10), c.times(10, 20)
		if once[1] != 10 || again[2] != 10 && (again[1] != 10 || c.order != nil) {
			c.failf("visible: %v", c.visible())
		}
		c.order = nil
		c.finish()
		c.order = ordered
		return killed
	})
}

// TestRewindPowerCut: the same with a power cut at the same moment, which keeps any part of what was not durable.
func TestRewindPowerCut(t *testing.T) {
	for variant := range 3 {
		everyStep(t, func(c *script, k int) bool {
			id := c.savepoint()
			c.order = from(fmt.Sprint(id), job.RewindNewer)
			killed := c.launchKilled(k)
			if killed {
				rng := rand.New(rand.NewPCG(uint64(k), uint64(variant)))
				c.store.PowerCut(func() bool { return rng.IntN(2) == 0 })
				c.o.reopen(c.world)
				c.must(c.o.check(true))
				c.begin()
			}
			c.checkpoint()
			c.sees("after the rewind", 0, 20)
			c.order = nil
			c.finish()
			return killed
		})
	}
}

// TestRewindTables: two tables, one of them with two INSERTs, partitions that are declared complete, segments between: each is taken back, or kept,
// by itself, and killed anywhere the job finishes that in both.
func TestRewindTables(t *testing.T) {
	for _, mode := range []job.NewerOutput{job.RewindNewer, job.KeepNewer} {
		t.Run(string(mode), func(t *testing.T) {
			everyStep(t, func(c *script, k int) bool {
				c.world.tables, c.world.success, c.second, c.v.job.Commit.SegmentEvery = 2, atEnd, true, 2
				c.o = newOracle(c.world)
				c.retain = 8
				c.begin()
				produce := func(n int) {
					for i := range n {
						c.b.produce(scriptedRecord{kind: []kind{row, filtered, rejected}[i%3], dt: []string{"a", "b"}[i%2]})
					}
				}
				produce(6)
				c.checkpoint()
				produce(6)
				id := c.checkpoint()
				for range 3 {
					produce(6)
					c.checkpoint()
				}
				c.stop()
				if mode == job.KeepNewer {
					c.o.tables[0].repeats, c.o.tables[1].repeats = 1, 1
				}
				c.order = from(fmt.Sprint(id), mode)
				killed := c.backKilled(k)
				c.read()
				c.order = nil
				c.stop()
				c.begin()
				c.finish()
				for _, l := range c.o.tables {
					for r, n := range l.extra {
						if r.Off < 12 && n > 0 {
							c.failf("record %d, in front of the target, is %d times in %s", r.Off, n+1, l.root)
						}
					}
				}
				return killed
			})
		})
	}
}

// TestCase05NoState: a start from nothing with an order: everything once more, or instead.
func TestCase05NoState(t *testing.T) {
	t.Run("keep", func(t *testing.T) {
		holds(t, func(c *script) {
			c.savepoint()
			c.o.tables[0].repeats = 1
			before := c.tree()
			c.order = fresh(job.KeepNewer)
			c.begin()
			c.twoCheckpoints()
			if twice := c.times(0, 20); twice[2] != 20 {
				c.failf("visible: %v", c.visible())
			}
			for _, line := range strings.Split(before, "\n") {
				if p, _, _ := strings.Cut(line, " "); strings.HasSuffix(p, ".json") && !slices.Contains(c.store.Tree(), line) {
					c.failf("changed: %s", line)
				}
			}
			c.order = nil
			c.finish()
		})
	})
	t.Run("other directory", func(t *testing.T) { // the checkpoint directory is lost
		holds(t, func(c *script) {
			c.savepoint()
			c.dir = "/elsewhere"
			c.order = fresh(job.RewindNewer)
			c.refused("--take-over")
			c.order = func(s *job.Spec) { fresh(job.RewindNewer)(s); s.TakeOver = true }
			c.begin()
			c.twoCheckpoints()
			c.sees("after the rewind", 0, 20)
			c.order = nil
			c.finish()
		})
	})
	t.Run("nothing yet", func(t *testing.T) {
		holds(t, func(c *script) {
			c.order = fresh(job.Refuse)
			c.begin()
			c.order = nil
			c.rows(3, "a")
			c.checkpoint()
			c.finish()
		})
	})
}

// TestLateRename: an attempt stands still with the rename of a superseded file in hand while another one goes back. The rename finds nothing.
func TestLateRename(t *testing.T) {
	holds(t, func(c *script) {
		c.retain = 3
		c.begin()
		c.rows(10, "a")
		id := c.checkpoint()
		c.rows(5, "a")
		c.rows(5, "b")
		still := false
		c.stun = func(op mem.Op) time.Duration {
			if still = moves(op, ""); still {
				return time.Hour
			}
			return 0
		}
		c.until("it stands still", func() bool { return still })
		old := c.last
		c.order = from(fmt.Sprint(id), job.RewindNewer)
		c.begin()
		c.order = nil
		c.sees("after the rewind", 0, 10)
		c.checkpoint()
		c.until("the first one ends", func() bool { return old.ended })
		if fault.ClassOf(old.err) != fault.Fenced {
			c.failf("the first one ended with %v", old.err)
		}
		c.sees("at the end", 0, 20)
		c.finish()
	})
}

// TestCase28: the newest entry of the job's log cannot be read. Nothing is guessed; by order the job goes on from the one before.
func TestCase28(t *testing.T) {
	for name, tear := range map[string]func(b []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	} {
		t.Run(name, func(t *testing.T) {
			holds(t, func(c *script) {
				id, bad := c.torn(tear)
				c.refused(bad, fmt.Sprintf("--from-savepoint %d", id))
				c.order = from(fmt.Sprint(id), job.Refuse)
				c.refused("newer output", roots[0], "cannot be read")
				c.order = from(fmt.Sprint(id), job.RewindNewer)
				c.begin()
				c.order = nil
				c.checkpoint()
				c.sees("after the rewind", 0, 20)
				c.stop()
				c.begin()
				c.finish()
			})
		})
	}
	t.Run("killed", func(t *testing.T) {
		everyStep(t, func(c *script, k int) bool {
			id, _ := c.torn(func(b []byte) []byte { return b[:len(b)/2] })
			order := from(fmt.Sprint(id), job.RewindNewer)
			c.order = order
			killed := c.launchKilled(k)
			if killed {
				c.begin()
			}
			c.order = nil
			c.checkpoint()
			c.sees("after the rewind", 0, 20)
			c.finish()
			return killed
		})
	})
}

// torn runs the job to three checkpoints, kills it and damages the newest one's entry. It gives the id of the one before, and the entry's path.
func (c *script) torn(tear func([]byte) []byte) (account.CheckpointID, string) {
	c.retain = 3
	c.begin()
	c.rows(10, "a")
	id := c.checkpoint()
	c.rows(10, "a")
	c.checkpoint()
	c.kill(c.last)
	newest := c.newestEntry()
	b, err := fs.ReadFile(c.o.client, newest)
	c.must(err)
	c.must(c.o.client.Delete(newest))
	f, err := c.o.client.Create(newest)
	c.must(err)
	_, err = f.Write(tear(b))
	c.must(err)
	c.must(f.Sync())
	c.must(f.Close())
	return id, newest
}

// newestEntry is the file of the newest entry of the job's log.
func (c *script) newestEntry() string {
	list := c.world.entries(jobs + "/" + name + "/log")
	return path.Join(jobs, name, "log", fmt.Sprint(list[len(list)-1].N))
}

// TestFromTable: the checkpoint directory is lost, and the table's certificates say where each split stood.
func TestFromTable(t *testing.T) {
	lose := func(c *script) {
		for _, f := range c.store.Files(jobs) {
			c.must(c.o.client.Delete(f.Path))
		}
	}
	table := func(s *job.Spec) { s.FromTable = true }
	t.Run("lost", func(t *testing.T) {
		holds(t, func(c *script) {
			c.savepoint()
			lose(c)
			c.refused("--from-table")
			c.order = table
			c.begin()
			c.rows(3, "a")
			c.checkpoint()
			c.sees("from the table", 0, 23)
			c.stop()
			c.begin() // the order has no effect now
			c.order = nil
			c.finish()
		})
	})
	t.Run("nothing there", func(t *testing.T) {
		holds(t, func(c *script) {
			c.order = table
			c.launch()
			if err := c.ends(); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "no table has output") {
				c.failf("%v", err)
			}
		})
	})
	t.Run("killed", func(t *testing.T) {
		everyStep(t, func(c *script, k int) bool {
			c.savepoint()
			lose(c)
			c.order = table
			killed := c.launchKilled(k)
			if killed {
				c.begin()
			}
			c.order = nil
			c.rows(3, "a")
			c.checkpoint()
			c.sees("from the table", 0, 23)
			c.finish()
			return killed
		})
	})
	t.Run("not done", func(t *testing.T) { // the newest certificate's files are still pending
		holds(t, func(c *script) {
			c.begin()
			c.rows(5, "a")
			c.rows(5, "b")
			c.checkpoint()
			c.rows(5, "b")
			c.rows(5, "c")
			c.killBefore("the second rename", func() func(op mem.Op) bool {
				n := 0
				return func(op mem.Op) bool {
					if moves(op, "") {
						n++
					}
					return n == 2
				}
			}())
			lose(c)
			c.order = table
			c.begin()
			c.order = nil
			c.sees("from the table", 0, 20)
			c.finish()
		})
	})
}

// TestFromTableUndeclared: the checkpoint directory is lost when the last checkpoint's files are in place and its partitions are not declared complete.
func TestFromTableUndeclared(t *testing.T) {
	holds(t, func(c *script) {
		c.success = atEnd
		c.o.tables[0].success = atEnd
		c.begin()
		c.rows(5, "a")
		c.checkpoint()
		c.rows(5, "b")
		c.b.closed = true
		c.killBefore("the second success file", func() func(op mem.Op) bool {
			n := 0
			return func(op mem.Op) bool {
				if op.Kind == mem.Create && path.Base(op.Path) == "_SUCCESS" {
					n++
				}
				return n == 2
			}
		}())
		for _, f := range c.store.Files(jobs) {
			c.must(c.o.client.Delete(f.Path))
		}
		c.order = func(s *job.Spec) { s.FromTable = true }
		c.launch()
		c.finish()
	})
}

// TestOlderCopy: the checkpoint directory comes from an older backup. The table is ahead of it; by order the job goes on from the backup, with an
// identity of its own from then on.
func TestOlderCopy(t *testing.T) {
	for mode, times := range map[job.NewerOutput]int{job.RewindNewer: 1, job.KeepNewer: 2} {
		t.Run(string(mode), func(t *testing.T) {
			everyStep(t, func(c *script, k int) bool {
				c.begin()
				c.rows(10, "a")
				c.checkpoint()
				c.stop()
				backup := map[string][]byte{}
				for _, f := range c.store.Files(jobs) {
					backup[f.Path] = c.store.Content(f.Path)
				}
				c.begin()
				c.rows(5, "a")
				c.checkpoint()
				c.kill(c.last)
				c.begin()
				c.rows(5, "b")
				c.checkpoint()
				c.kill(c.last)
				for _, f := range c.store.Files(jobs) {
					c.must(c.o.client.Delete(f.Path))
				}
				for p, b := range backup {
					c.put(p, b)
				}
				c.order = nil
				c.launch()
				if err := c.ends(); !strings.Contains(err.Error(), "--on-newer-output") {
					c.failf("%v", err)
				}
				if mode == job.KeepNewer {
					c.o.tables[0].repeats = 1
				}
				c.order = func(s *job.Spec) { s.OnNewerOutput = mode }
				killed := c.launchKilled(k)
				if killed {
					c.begin()
				}
				c.order = nil
				c.rows(3, "c")
				c.checkpoint()
				if got := c.times(10, 20); got[times] != 10 {
					c.failf("visible: %v", c.visible())
				}
				c.stop()
				c.begin()
				c.finish()
				return killed
			})
		})
	}
}

// TestOlderCopyOfARewind: the backup's newest entry is a rewind, and the table has gone on since.
func TestOlderCopyOfARewind(t *testing.T) {
	holds(t, func(c *script) {
		id := c.savepoint()
		c.order = from(fmt.Sprint(id), job.KeepNewer)
		c.o.tables[0].repeats = 1
		c.startKilled(func(op mem.Op) bool { return op.Kind == mem.Create && strings.HasSuffix(op.Path, ".pending") })
		backup := map[string][]byte{}
		for _, f := range c.store.Files(jobs) {
			backup[f.Path] = c.store.Content(f.Path)
		}
		c.order = nil
		c.begin()
		c.rows(5, "c")
		c.checkpoint()
		c.kill(c.last)
		for _, f := range c.store.Files(jobs) {
			c.must(c.o.client.Delete(f.Path))
		}
		for p, b := range backup {
			c.put(p, b)
		}
		c.launch()
		if err := c.ends(); !strings.Contains(err.Error(), "--on-newer-output") {
			c.failf("%v", err)
		}
		c.order = func(s *job.Spec) { s.OnNewerOutput = job.RewindNewer }
		c.begin()
		c.order = nil
		c.checkpoint()
		c.sees("after the rewind, which takes what was kept as well", 0, 25)
		c.finish()
	})
}

// startKilled starts the job and kills it before a call.
func (c *script) startKilled(choose func(mem.Op) bool) {
	c.doom = choose
	c.launch()
	c.until("the kill", func() bool { return c.last.p.dead })
}

// TestTableRemovedSince: a table that only a superseded checkpoint wrote to is gone. It concerns nobody.
func TestTableRemovedSince(t *testing.T) {
	holds(t, func(c *script) {
		id := c.savepoint()
		c.retain = 8
		c.moveTable("/fresh")
		c.begin() // with a sink more
		c.rows(5, "a")
		c.checkpoint()
		c.stop()
		for _, f := range c.store.Files("/fresh") {
			c.must(c.o.client.Delete(f.Path))
		}
		c.removeFolders("/fresh")
		c.o.tables = c.o.tables[1:]
		c.tableAt(0)
		c.order = from(fmt.Sprint(id), job.RewindNewer)
		c.begin()
		c.checkpoint()
		c.sees("after the rewind", 0, 25)
		if _, err := c.o.client.Stat("/fresh"); err == nil {
			c.failf("the folder was made again")
		}
		c.order = nil
		c.finish()
	})
}

// TestTableLeftAndBack: a table that was added behind the target, and is not in the file when the job goes back, comes back into the file: what it
// has is newer than the job, and is taken back or kept by order.
func TestTableLeftAndBack(t *testing.T) {
	for _, mode := range []job.NewerOutput{job.RewindNewer, job.KeepNewer} {
		t.Run(string(mode), func(t *testing.T) {
			holds(t, func(c *script) {
				id := c.savepoint()
				c.retain = 8
				c.moveTable("/fresh")
				c.begin()
				c.rows(5, "a") // 20 to 24, to /fresh only
				c.checkpoint()
				c.stop()
				c.tableAt(1)
				c.order = from(fmt.Sprint(id), job.RewindNewer)
				c.begin()
				c.checkpoint()
				c.sees("after the rewind", 0, 25)
				c.stop()
				c.order = nil
				c.tableAt(1) // /fresh once more
				c.refused("/fresh", "--on-newer-output")
				if mode == job.KeepNewer {
					c.o.tables[0].repeats = 1
				}
				c.order = func(s *job.Spec) { s.OnNewerOutput = mode }
				c.begin()
				c.order = nil
				c.rows(2, "b")
				c.checkpoint()
				want := []int64{25, 26}
				if mode == job.KeepNewer {
					want = []int64{20, 21, 22, 23, 24, 25, 26}
				}
				if got := c.visible(); !slices.Equal(got, want) {
					c.failf("visible in /fresh: %v, expected %v", got, want)
				}
			})
		})
	}
}

// TestPromisedElsewhere: a checkpoint is complete and not certified when its process is killed, and the job goes on from it in another directory. What
// it promises is committed by the other log's attempt, killed anywhere.
func TestPromisedElsewhere(t *testing.T) {
	for _, where := range []string{"certificate", "second rename", "done"} {
		t.Run(where, func(t *testing.T) {
			everyStep(t, func(c *script, k int) bool {
				c.begin()
				c.rows(10, "a")
				c.checkpoint()
				c.rows(5, "a")
				c.rows(5, "b")
				renames, certificates := 0, len(c.certificates())
				c.killBefore(where, func(op mem.Op) bool {
					if moves(op, "") {
						renames++
					}
					switch where {
					case "certificate":
						return places(op)
					case "done":
						return places(op) && renames == 2
					}
					return renames == 2
				})
				if n := len(c.certificates()); (n > certificates) != (where != "certificate") {
					c.failf("%d certificates, %d before", n, certificates)
				}
				c.dir = "/elsewhere"
				c.order = func(s *job.Spec) { s.FromSavepoint, s.TakeOver = jobs, true }
				killed := c.launchKilled(k)
				if killed {
					c.begin()
				}
				c.order = nil
				c.sees("when it runs", 0, 20)
				c.rows(3, "c")
				c.checkpoint()
				c.stop()
				c.begin()
				c.finish()
				return killed
			})
		})
	}
}

// TestSupersededMeanwhile: one start takes back the checkpoint that another one has chosen to go back to, and whose predecessor is the chain's end then.
// It is refused: its files are gone.
func TestSupersededMeanwhile(t *testing.T) {
	for _, every := range []int{0, 1} {
		t.Run(fmt.Sprint("segment ", every), func(t *testing.T) {
			holds(t, func(c *script) {
				id := c.savepoint()
				c.v.job.Commit.SegmentEvery = every
				newest := c.newestComplete()
				kept := c.store.Content(newest)
				c.put("/kept", kept)
				c.order = from(fmt.Sprint(id), job.RewindNewer)
				c.startKilled(func(op mem.Op) bool { return op.Kind == mem.Create && strings.HasSuffix(op.Path, ".pending") })
				c.order = from("/kept", job.RewindNewer)
				c.refused("superseded by a rewind")
				c.order = nil
				c.begin()
				c.checkpoint()
				c.sees("after all", 0, 20)
				c.finish()
			})
		})
	}
}

// newestComplete is the file of the newest completed checkpoint with files.
func (c *script) newestComplete() (out string) {
	for _, e := range c.world.entries(jobs + "/" + name + "/log") {
		if e.Kind == account.KindComplete && strings.Contains(string(e.Body), ".pending") {
			out = path.Join(jobs, name, "log", fmt.Sprint(e.N))
		}
	}
	return out
}

// removeFolders removes a tree of empty folders.
func (c *script) removeFolders(dir string) {
	list, err := c.o.client.List(dir)
	c.must(err)
	for _, i := range list {
		c.removeFolders(dir + "/" + i.Name)
	}
	c.must(c.o.client.DeleteDir(dir))
}

// put writes a file as somebody outside does.
func (c *script) put(p string, b []byte) {
	f, err := c.o.client.Create(p)
	c.must(err)
	_, err = f.Write(b)
	c.must(err)
	c.must(f.Sync())
	c.must(f.Close())
}

// TestRewindOrderedElsewhere: a process dies while it goes back, its checkpoint directory is lost, and the job goes on from the table: whatever the
// table's log calls superseded is moved out first, also under the new log.
func TestRewindOrderedElsewhere(t *testing.T) {
	everyStep(t, func(c *script, k int) bool {
		c.order = nil
		id := c.savepoint()
		c.order = from(fmt.Sprint(id), job.RewindNewer)
		killed := c.launchKilled(k)
		if !killed {
			c.kill(c.last)
		}
		for _, f := range c.store.Files(jobs) {
			c.must(c.o.client.Delete(f.Path))
		}
		c.order = func(s *job.Spec) { s.FromTable = true }
		c.begin()
		c.order = nil
		c.rows(3, "a")
		c.checkpoint()
		c.sees("from the table", 0, 23)
		c.finish()
		return killed
	})
}

// TestChangedMind: newer output was kept, and then is to be taken back after all, before anything was completed.
func TestChangedMind(t *testing.T) {
	for kind, order := range map[string]func(id string, mode job.NewerOutput) func(*job.Spec){
		"savepoint": from,
		"fresh":     func(_ string, mode job.NewerOutput) func(*job.Spec) { return fresh(mode) },
	} {
		t.Run(kind, func(t *testing.T) {
			holds(t, func(c *script) {
				id := fmt.Sprint(c.savepoint())
				c.o.tables[0].repeats = 1
				c.order = order(id, job.KeepNewer)
				c.startKilled(func(op mem.Op) bool { // behind the keep entry, before anything is completed
					list := c.world.entries(roots[0] + "/_staunch/" + name)
					return len(list) > 0 && list[len(list)-1].Kind == account.KindKeep
				})
				c.order = order(id, job.RewindNewer)
				c.begin()
				c.order = nil
				c.twoCheckpoints()
				c.sees("after the rewind", 0, 20)
				c.finish()
			})
		})
	}
}

// TestTwoCopies: two copies of a statement file start before either has a certificate. No record is there twice, and one is told why it ends.
func TestTwoCopies(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			holds(t, func(c *script) {
				c.opts.Interval = time.Second
				c.s.rng = rand.New(rand.NewPCG(seed, 1))
				c.launch()
				first := c.last
				c.world.launch(copied, jobs, false)
				second := c.running[len(c.running)-1]
				c.rows(5, "a")
				c.read()
				refused := 0
				for steps := 1; refused == 0 && steps < 100_000; steps++ {
					c.step("one is refused", steps, c.s.now)
					for _, r := range []*run{first, second} {
						if r.ended && fault.ClassOf(r.err) == fault.User && strings.Contains(r.err.Error(), "already has the records of") {
							refused++
						}
					}
				}
				if refused == 0 {
					c.failf("nobody was refused: %v %v %+v %+v", first.err, second.err, first.job.Status(), second.job.Status())
				}
				c.must(c.o.check(false))
				for n, times := range c.times(0, 5) {
					if n > 1 && times > 0 {
						c.failf("visible: %v", c.visible())
					}
				}
			})
		})
	}
}

// TestOrderedTwice: A and B are ordered to begin anew. B does it; C, by another log, takes over and writes everything to the end. A, which slept, finds
// that its order has been carried out, and that the tables have gone on: what C wrote is newer output, too, and not written once more beside it.
func TestOrderedTwice(t *testing.T) {
	holds(t, func(c *script) {
		c.begin()
		c.rows(5, "a")
		c.checkpoint()
		c.stop()
		c.order = fresh(job.RewindNewer)
		c.stun = func(op mem.Op) time.Duration {
			if op.Kind == mem.Rename && strings.HasPrefix(op.To, jobs) {
				return time.Hour
			}
			return 0
		}
		c.launch()
		a := c.last
		c.until("A sleeps before its begin", func() bool { return c.stun == nil })
		c.launch()
		c.until("B has begun anew", func() bool { return c.last.job.Status().Phase == "RUNNING" })
		c.kill(c.last)
		c.order, c.dir, c.given = nil, otherJobs, true
		c.launch()
		c.finish()
		c.sees("what C wrote", 0, 5)
		c.last = a
		c.must(c.ends())
		c.sees("after A", 0, 5)
		c.must(c.o.complete())
		c.must(c.audited())
	})
}
