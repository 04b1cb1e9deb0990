package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/clean"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/job"
	"staunch/log"
)

// Cleaning up, step by step, at the moments at which it could hurt (P3). Each rule of it is taken away once, which the oracle must find.

// foundUnder plays a script with rules of cleaning taken away.
func foundUnder(t *testing.T, what string, v clean.Variant, story func(*script)) {
	t.Helper()
	err := play(1, Variant{Name: what, Without: what, clean: v}, story)
	if err == nil {
		t.Errorf("not found: %s", what)
		return
	}
	t.Logf("%s: %v", what, err)
}

// cleanUp cleans with the log below dir and waits for the end.
func (c *script) cleanUp(dir string) clean.Report {
	x := c.clean(dir, clean.Options{})
	c.cleaned(x)
	return *x.report
}

func (c *script) cleaned(x *cleaning) {
	began := c.s.now
	for steps := 1; !x.ended; steps++ {
		c.step("the cleaning", steps, began)
	}
	c.must(x.err)
}

// left counts what a cleaning left for a reason.
func left(r clean.Report, why clean.Reason) (n int64) {
	for _, p := range r.Places {
		for _, k := range p.Left {
			if k.Reason == why {
				n += k.Count
			}
		}
	}
	return n
}

// TestCleanBetweenCompleteAndCommit: an attempt dies between *complete* and its certificate, the next has begun and stands before its first
// rename: the files are of an ended epoch, and promised.
func TestCleanBetweenCompleteAndCommit(t *testing.T) {
	for _, at := range []string{"certificate", "rename"} {
		story := func(c *script) {
			c.begin()
			c.rows(5, "a")
			c.rows(5, "b")
			c.killBefore("the certificate", places)
			c.stun = func(op mem.Op) time.Duration {
				if at == "certificate" && places(op) && len(c.claims()) > 1 || at == "rename" && moves(op, "") {
					return time.Minute
				}
				return 0
			}
			c.launch()
			c.until("it stands still", func() bool { return c.stun == nil })
			r := c.cleanUp(jobs)
			if left(r, clean.Named) != 2 {
				c.failf("left %+v", r.Places[0].Left)
			}
			c.until("it runs", func() bool { return c.last.job.Status().Phase == "RUNNING" })
			c.sees("after the restart", 0, 10)
			c.finish()
		}
		t.Run(at, func(t *testing.T) {
			holds(t, story)
			foundUnder(t, "what is named is left", clean.Variant{Named: true}, story)
		})
	}
}

// TestCleanWhileWriting: the newest attempt has files open and closed that nothing names yet.
func TestCleanWhileWriting(t *testing.T) {
	story := func(c *script) {
		c.begin()
		c.rows(5, "a")
		c.written(0)
		if r := c.cleanUp(jobs); left(r, clean.Running) == 0 {
			c.failf("left %+v", r.Places[0].Left)
		}
		c.rows(5, "b")
		c.checkpoint()
		c.sees("after the checkpoint", 0, 10)
		c.finish()
	}
	holds(t, story)
	foundUnder(t, "files of the newest attempt are left", clean.Variant{Running: true}, story)
}

// TestCleanUnderASleeper: an attempt sleeps with files in its hand, another takes over and goes on; the sleeper's files go, and when it wakes it
// is fenced and nothing is missing.
func TestCleanUnderASleeper(t *testing.T) {
	holds(t, func(c *script) {
		c.begin()
		c.rows(5, "a")
		c.written(0)
		sleeper := c.last
		sleeper.p.until = c.s.now.Add(30 * time.Minute)
		c.begin()
		c.rows(5, "b")
		c.checkpoint()
		c.sees("after the take-over", 0, 10)
		if r := c.cleanUp(jobs); len(r.Places[0].Removed) == 0 {
			c.failf("removed nothing, left %+v", r.Places[0].Left)
		}
		c.until("the sleeper wakes", func() bool { return sleeper.ended })
		c.sees("after it woke", 0, 10)
		c.finish()
	})
}

// TestCleanWithTwoDirectories: the job was taken over with another checkpoint directory, whose epochs count from 1 again. Somebody cleans up by
// the old directory's log, in which that epoch is long over; also when the take-over happens in the middle of the cleaning.
func TestCleanWithTwoDirectories(t *testing.T) {
	story := func(middle bool) func(*script) {
		return func(c *script) {
			c.begin()
			for range 3 { // epochs that are over
				c.kill(c.last)
				c.begin()
			}
			c.rows(5, "a")
			c.checkpoint()
			c.kill(c.last)
			c.o.tables[0].repeats = 1 // it reads from the start again
			takeOver := func() {
				c.dir = "/elsewhere"
				c.order = func(s *job.Spec) { s.Fresh, s.OnNewerOutput, s.TakeOver = true, job.KeepNewer, true }
				c.begin()
				c.order = nil
				c.written(0)
			}
			if !middle {
				takeOver()
				c.cleanUp(jobs)
			} else {
				c.stun = func(op mem.Op) time.Duration {
					if op.Kind == mem.List && strings.HasSuffix(op.Path, "/_DUMP_TEMPORARY") && strings.HasPrefix(c.s.cur.p.name, "clean") {
						return time.Minute
					}
					return 0
				}
				x := c.clean(jobs, clean.Options{})
				began := c.s.now
				for steps := 1; c.stun != nil; steps++ {
					c.step("the listing", steps, began)
				}
				takeOver()
				c.cleaned(x)
			}
			c.checkpoint()
			for o, n := range c.times(0, 5) {
				if o != 2 || n != 5 {
					c.failf("visible: %v", c.visible())
				}
			}
		}
	}
	t.Run("before", func(t *testing.T) {
		holds(t, story(false))
		foundUnder(t, "an epoch is over in every log that has claimed the table", clean.Variant{OwnLog: true}, story(false))
	})
	t.Run("middle", func(t *testing.T) {
		holds(t, story(true))
		foundUnder(t, "the logs are read after the listing", clean.Variant{LogsFirst: true}, story(true))
	})
}

// TestCleanLeavesNothing: whatever kills left behind is gone when the job has ended, but for what is not its own.
func TestCleanLeavesNothing(t *testing.T) {
	holds(t, func(c *script) {
		c.begin()
		for range 3 {
			c.rows(3, "a")
			c.written(len(c.pending()))
			c.kill(c.last)
			c.launch()
			c.killBefore("an entry is placed", func(op mem.Op) bool { return op.Kind == mem.Rename && strings.Contains(op.Path, "/staged-") })
			c.begin()
		}
		c.checkpoint()
		c.finish()
		c.s.now = c.s.now.Add(2 * time.Hour) // a staged begin tells no epoch: it goes after an hour
		before := len(c.pending())
		r := c.cleanUp(jobs)
		if before == 0 || len(c.pending()) > 0 {
			c.failf("pending before %d, after %v", before, c.pending())
		}
		for _, line := range c.store.Tree() {
			if strings.Contains(line, "staged-") || strings.Contains(line, ".probe") || strings.Contains(line, "_DUMP_TEMPORARY/c") {
				c.failf("left: %s\n%+v", line, r)
			}
		}
		c.must(c.o.complete())
		c.must(c.audited())
	})
}

// TestCleanSuperseded: what a rewind took out goes when it is asked for, not while the rewind is under way, and nothing else goes with it.
func TestCleanSuperseded(t *testing.T) {
	all := clean.Options{Superseded: true}
	holds(t, func(c *script) {
		id := c.savepoint()
		c.order = from(fmt.Sprint(id), job.RewindNewer)
		c.stun = func(op mem.Op) time.Duration { // between two files
			if op.Kind == mem.Rename && strings.Contains(op.To, "/_superseded/") {
				return time.Minute
			}
			return 0
		}
		c.launch()
		c.until("it is in the middle", func() bool { return c.stun == nil })
		x := c.clean(jobs, all)
		c.cleaned(x)
		if left(*x.report, clean.Unfinished) != int64(len(c.supersededFiles())) {
			c.failf("left %+v of %v", x.report.Places[0].Left, c.supersededFiles())
		}
		c.until("it runs", func() bool { return c.last.job.Status().Phase == "RUNNING" })
		c.order = nil
		c.twoCheckpoints()
		n := len(c.supersededFiles())
		if n == 0 {
			c.failf("nothing was taken out")
		}
		strange := path.Dir(c.supersededFiles()[0]) + "/notes.superseded"
		c.must(c.store.Put(strange, []byte("x")))
		if r := c.cleanUp(jobs); left(r, clean.TakenBack) != int64(n)+1 {
			c.failf("not asked for, and left %+v", r.Places[0].Left)
		}
		later := c.clean(jobs, clean.Options{Superseded: true, OlderThan: 10 * time.Hour})
		c.cleaned(later)
		x = c.clean(jobs, all)
		c.cleaned(x)
		if got := c.supersededFiles(); left(*later.report, clean.Young) != int64(n) || len(got) != 1 || got[0] != strange {
			c.failf("left %v; before %+v", got, later.report.Places[0].Left)
		}
		c.must(c.store.Take(strange))
		c.cleaned(c.clean(jobs, all))
		for _, line := range c.store.Tree() {
			if strings.Contains(line, "/_superseded/") && !strings.HasSuffix(line, "/_superseded/") {
				c.failf("left: %s", line)
			}
		}
		c.sees("after the cleaning", 0, 20)
		c.finish()
	})
}

// TestCleanSupersededBehindSegment: the rewind's entries and its certificates are in archives by then.
func TestCleanSupersededBehindSegment(t *testing.T) {
	holds(t, func(c *script) {
		id := c.savepoint()
		c.v.job.Commit.SegmentEvery = 2
		c.order = from(fmt.Sprint(id), job.RewindNewer)
		c.begin()
		c.order = nil
		c.checkpoint()
		for range 4 {
			c.rows(2, "d")
			c.checkpoint()
		}
		if slices.ContainsFunc(c.entries(), func(e log.Entry) bool { return e.Kind == account.KindSupersede }) {
			c.failf("it is not behind a segment yet")
		}
		n := len(c.supersededFiles())
		x := c.clean(jobs, clean.Options{Superseded: true})
		c.cleaned(x)
		if n == 0 || len(c.supersededFiles()) > 0 {
			c.failf("%d before, left %v %+v", n, c.supersededFiles(), x.report.Places[0].Left)
		}
		c.finish()
	})
}

// TestOwnLeftovers: after a failure a process removes what its own attempts left, once what was promised is committed: on a full disk they would add
// up. What a complete may still name stays: one whose outcome was unknown comes to stand late.
func TestOwnLeftovers(t *testing.T) {
	t.Run("disk full", func(t *testing.T) {
		holds(t, func(c *script) {
			c.begin()
			full := false
			c.answers = func(op mem.Op) mem.Effect {
				if full && op.Kind == mem.Sync && strings.HasSuffix(op.Path, ".pending") {
					return mem.Effect{Kind: mem.Fail, Err: fs.ErrNoSpace}
				}
				return mem.Effect{}
			}
			c.rows(5, "a")
			c.checkpoint()
			full = true
			c.rows(5, "a")
			c.rows(5, "b")
			most := 0
			c.looks = append(c.looks, func(op mem.Op) {
				if op.Kind == mem.Create {
					most = max(most, len(c.pending()))
				}
			})
			c.until("some restarts", func() bool { return c.last.job.Status().Restarts > 4 })
			full = false
			c.checkpoint()
			c.sees("at last", 0, 15)
			if most > 4 { // two of this try, two of the one before
				c.failf("%d files were there at a time", most)
			}
			c.finish()
		})
	})
	t.Run("unknown complete", func(t *testing.T) {
		story := func(c *script) {
			c.begin()
			c.rows(5, "a")
			late, staged := -1, ""
			c.answers = func(op mem.Op) mem.Effect {
				switch {
				case late < 0 && op.Kind == mem.Rename && strings.HasPrefix(op.To, jobs):
					late, staged = c.store.LateCount(), op.Path
					return mem.Effect{Kind: mem.Fail, Err: errHard}
				case staged != "" && (op.Path == staged || path.Dir(op.Path) == path.Dir(staged)) && (op.Kind == mem.Rename || op.Kind == mem.Stat || op.Kind == mem.Delete):
					return mem.Effect{Kind: mem.Fail, Err: errHard} // it gives up without knowing
				}
				return mem.Effect{}
			}
			c.until("it has failed", func() bool { return c.last.job.Status().Restarts > 0 })
			staged = ""
			c.answers = nil
			c.until("it runs again", func() bool { return c.last.job.Status().Phase == "RUNNING" })
			c.must(c.store.Repeat(late)) // the request comes to be carried out, and the process dies
			c.kill(c.last)
			c.begin()
			c.rows(5, "a")
			c.checkpoint()
			c.sees("at last", 0, 10)
			c.finish()
		}
		holds(t, story)
	})
}
