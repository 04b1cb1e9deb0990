package sim

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/commit"
	"staunch/connector"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
)

// The commit cases of test/cases, step by step. Ids there count from 1, offsets here from 0. Checkpoint numbers are the job's own: what a case
// calls 12 is the newest completed one.

// TestCase01: a delete in the temporary area that is carried out late removes nothing that counts (P2, P3): no folder with files is ever
// deleted, none at all between the restart and the commit, and names are not given twice.
func TestCase01(t *testing.T) {
	holds(t, case01)
	caught(t, "delete-before-write", case01)
}

func case01(c *script) {
	c.looks = append(c.looks, c.overOnly)
	c.begin()
	c.rows(30, "2024-01-01")
	c.checkpoint()
	c.rows(30, "2024-01-01")
	c.written(0)
	c.kill(c.last)
	c.hold, c.emptied = 20*time.Second, true
	c.answers = func(op mem.Op) mem.Effect {
		if !deletes(op) {
			return mem.Effect{}
		}
		i := c.store.LateCount() // the call's number: it is recorded next
		c.later(func() { _ = c.store.Repeat(i) })
		return mem.Effect{Kind: mem.Fail}
	}
	from := len(c.calls)
	c.begin()
	c.checkpoint()
	c.sees("after the checkpoint", 0, 60)
	for _, x := range c.calls[from:] {
		if moves(x.op, "") {
			break
		}
		if deletes(x.op) {
			c.failf("P2: between restart and commit: %s", x.op)
		}
	}
	c.answers = nil
	c.checkpoint()
	if len(c.held) > 0 || c.applied == 0 {
		c.failf("%d deletes are held still, %d were carried out late", len(c.held), c.applied)
	}
	c.sees("after the deletes", 0, 60)
	if n := c.last.job.Status().Counters.Lost; n != 0 {
		c.failf("%d files lost", n)
	}
	c.finish()
}

// overOnly finds a delete in the temporary area of a file, or of a folder that is not one whose files have been committed. A folder goes only if
// it is empty (fs.FS has no other way): what an ended attempt left there keeps it.
func (c *script) overOnly(op mem.Op) {
	if !deletes(op) {
		return
	}
	c.aside(func() {
		if op.Kind == mem.Delete || !c.moved(op.Path) {
			c.fail(fmt.Errorf("P3: %s, which held nothing of a checkpoint that is done", op))
		}
	})
}

// TestCase02: what became of a rename is found out by looking, whatever was answered (P5).
func TestCase02(t *testing.T) {
	t.Run("main", func(t *testing.T) { holds(t, case02) })
	t.Run("crash before commit", func(t *testing.T) {
		holds(t, case02Crash)
		caught(t, "missing-is-done", case02Crash)
		caught(t, "certificate-last", case02Crash)
	})
}

// abcd produces a row in each of four partitions.
func (c *script) abcd() {
	for _, dt := range []string{"a", "b", "c", "d"} {
		c.rows(1, dt)
	}
}

// case02: a rename answers false once, another is carried out and its answer lost.
func case02(c *script) {
	c.begin()
	c.abcd()
	tries := map[string]int{}
	c.answers = func(op mem.Op) mem.Effect {
		if !moves(op, "") {
			return mem.Effect{}
		}
		dt := path.Base(path.Dir(op.To))
		switch tries[dt]++; {
		case dt == "dt=a" && tries[dt] == 1:
			return mem.Effect{Kind: mem.Refuse}
		case dt == "dt=b" && tries[dt] == 1:
			return mem.Effect{Kind: mem.Lost}
		}
		return mem.Effect{}
	}
	id := c.checkpoint()
	c.sees("after the checkpoint", 0, 4)
	if tries["dt=a"] != 2 || tries["dt=b"] != 1 {
		c.failf("renames: %v", tries)
	}
	c.judged(id, account.Renamed, account.Skipped, account.Renamed, account.Renamed)
	if s := c.last.job.Status(); s.Restarts != 0 || s.FailedCount != 0 || s.Counters != (account.Counters{Created: 4, Renamed: 3, Skipped: 1}) {
		c.failf("%+v", s)
	}
	c.finish()
}

// judged expects the verdicts of the partitions a to d.
func (c *script) judged(id account.CheckpointID, want ...account.Verdict) {
	got := c.verdicts(id)
	for i, v := range want {
		if d := "dt=" + string(rune('a'+i)); got[d] != v {
			c.failf("checkpoint %d: %v, expected %s for %s", id, got, v, d)
		}
	}
}

// case02Crash: the process is killed before the last of four renames, and the file is taken away. The others are committed, and the job stops with
// the names and offsets of what is lost (P6) until somebody accepts that.
func case02Crash(c *script) {
	c.begin()
	c.abcd()
	renames, d := 0, ""
	c.killBefore("the last rename", func(op mem.Op) bool {
		if moves(op, "") {
			renames++
			d = strings.TrimPrefix(path.Base(path.Dir(op.To)), "dt=")
		}
		return renames == 4
	})
	c.takeAway(d)
	c.launch()
	err := c.ends()
	offset := int64(d[0] - 'a')
	c.lost(err, d, offset)
	if got := c.visible(); !slices.Equal(got, slices.DeleteFunc([]int64{0, 1, 2, 3}, func(o int64) bool { return o == offset })) {
		c.failf("visible without dt=%s: %v", d, got)
	}
	if n := c.last.job.Status().Counters; n != (account.Counters{Created: 4, Skipped: 3, Lost: 1}) {
		c.failf("%+v", n)
	}
	id := c.certificates()[0].Checkpoint
	c.begin() // accepted: see lost
	want := slices.Repeat([]account.Verdict{account.Skipped}, 4)
	want[offset] = account.Lost
	c.judged(id, want...)
	c.finish()
}

// takeAway removes the one pending file of a partition, as somebody outside might.
func (c *script) takeAway(dt string) {
	for _, f := range c.certificates()[0].Files {
		if f.Partition == "dt="+dt {
			c.must(c.o.client.Delete(f.Pending))
			c.o.removed[f.Pending] = true
			return
		}
	}
	c.failf("no certified file in dt=%s", dt)
}

// lost expects that the job ended because of the one file of a partition, with both its paths and the offset, and accepts it.
func (c *script) lost(err error, dt string, offset int64) {
	if fault.ClassOf(err) != fault.Lost {
		c.failf("P6: expected a loss, the job ended with %v", err)
	}
	for _, f := range c.certificates()[0].Files {
		if f.Partition != "dt="+dt {
			continue
		}
		for _, want := range []string{f.Pending, f.Final, fmt.Sprintf("t-0 offsets %d", offset)} {
			if !strings.Contains(err.Error(), want) {
				c.failf("P6: %q is missing in: %v", want, err)
			}
		}
	}
	c.must(c.reported(c.last))
}

// TestCase03: here nobody waits for a notice. A process that ends anywhere between the completion of a checkpoint and the end of its commit is
// followed by one that commits first and reads then (C5); a commit that is asked for again, late or out of order does nothing (P5).
func TestCase03(t *testing.T) {
	certified := func(op mem.Op) bool { return places(op) }
	for _, x := range []struct {
		name  string
		skip  int
		calls func(mem.Op) bool
	}{
		{"before the certificate", 0, certified},
		{"before the first rename", 0, func(op mem.Op) bool { return moves(op, "") }},
		{"before the second rename", 1, func(op mem.Op) bool { return moves(op, "") }},
		{"before done", 1, certified},
		{"after done", 0, deletes},
	} {
		t.Run(x.name, func(t *testing.T) {
			holds(t, func(c *script) { case03(c, x.skip, x.calls) })
		})
	}
	t.Run("late", func(t *testing.T) {
		holds(t, case03Late)
		caught(t, "no-fence", case03Late)
	})
}

func case03(c *script, skip int, choose func(mem.Op) bool) {
	c.begin()
	c.rows(5, "2024-01-01")
	c.rows(5, "2024-01-02")
	c.killBefore("the place of the kill", func(op mem.Op) bool {
		if !choose(op) {
			return false
		}
		skip--
		return skip < 0
	})
	c.b.polled = func() {
		c.b.polled = nil
		c.aside(func() {
			if got := c.visible(); !exactly(got, 0, 10) {
				c.fail(fmt.Errorf("C5: before the first poll visible are %v", got))
			}
		})
	}
	c.begin()
	c.until("the first poll", func() bool { return c.b.polled == nil })
	c.rows(10, "2024-01-01")
	c.checkpoint()
	c.sees("after the next checkpoint", 0, 20)
	c.again()
	c.settled(20)
	c.kill(c.last)
	c.begin()
	c.again()
	c.settled(20)
	c.finish()
}

// settled expects n rows, no restart and no pending file.
func (c *script) settled(n int64) {
	c.sees("at rest", 0, n)
	if s, p := c.last.job.Status(), c.pending(); s.Restarts != 0 || len(p) > 0 {
		c.failf("%d restarts, pending: %v", s.Restarts, p)
	}
}

// again asks for the commit of every certified checkpoint, newest first and then oldest first: each is done, and nothing is moved.
func (c *script) again() {
	certs := c.certificates()
	down := slices.Clone(certs)
	slices.Reverse(down)
	store := c.store.Client("oracle")
	p := c.s.process("again")
	ended := false
	var err error
	before := strings.Join(c.store.Tree(), "\n")
	p.Go("again", func() {
		defer func() { ended = true }()
		newest := certs[len(certs)-1]
		tb := commit.Open(p, store, roots[0], commit.Owner{Job: name, LogID: newest.LogID, LogPath: jobs, Epoch: c.epoch(), Host: "sim", PID: c.last.n, Nonce: c.claims()[len(c.claims())-1].Nonce},
			commit.Variant{}, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err = tb.Refresh(); err != nil {
			return
		}
		for _, cert := range append(down, certs...) {
			res, cerr := tb.Commit(cert, account.ChainEnd{})
			if err = cerr; err == nil && !res.Already {
				err = fmt.Errorf("P5: checkpoint %d was committed again: %+v", cert.Checkpoint, res)
			}
			if err != nil {
				return
			}
		}
	})
	c.until("the commits are repeated", func() bool { return ended })
	c.must(err)
	if after := strings.Join(c.store.Tree(), "\n"); after != before {
		c.failf("P5: a repeated commit changed something:\n%s\n\n%s", before, after)
	}
}

// epoch is the newest claim's.
func (c *script) epoch() (e account.Epoch) {
	for _, x := range c.claims() {
		e = max(e, x.Epoch)
	}
	return e
}

// case03Late: the first process stands still before it moves the first file; another one commits the checkpoint and the next. What the first one
// finds when it goes on is no work and no alarm (P5, P7).
func case03Late(c *script) {
	c.begin()
	c.rows(10, "2024-01-01")
	still := false
	c.stun = func(op mem.Op) time.Duration {
		if still = moves(op, ""); still {
			return time.Hour
		}
		return 0
	}
	c.until("it stands still", func() bool { return still })
	old, from := c.last, len(c.calls)
	c.begin()
	c.rows(10, "2024-01-01")
	c.checkpoint()
	c.sees("after the next checkpoint", 0, 20)
	c.until("the first process ends", func() bool { return old.ended })
	if fault.ClassOf(old.err) != fault.Fenced {
		c.failf("P7: the first process ended with %v", old.err)
	}
	for _, x := range c.calls[from:] {
		if x.client == old.p.name && x.op.Kind == mem.Create && strings.HasSuffix(x.op.Path, ".pending") {
			c.failf("P7: the first process went on and made %s", x.op.Path)
		}
	}
	c.settled(20)
	c.finish()
}

// TestCase05: a name is given once, also over restarts and with empty checkpoints in between (P2).
func TestCase05(t *testing.T) {
	t.Run("main", func(t *testing.T) { holds(t, case05) })
	t.Run("no state", func(t *testing.T) {
		holds(t, case05NoState)
		caught(t, "no-fence", case05NoState)
	})
}

// case05NoState: a start from nothing over a table that has output of this job would read everything once more; it is refused before anything
// is written (P12).
func case05NoState(c *script) {
	c.begin()
	c.rows(3, "a")
	c.checkpoint()
	c.last.job.Stop()
	c.must(c.ends())
	lake := func() string {
		return strings.Join(slices.DeleteFunc(c.store.Tree(), func(p string) bool { return !strings.HasPrefix(p, roots[0]) }), "\n")
	}
	before := lake()
	c.dir = "/elsewhere"
	c.launch()
	if err := c.ends(); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), roots[0]) {
		c.failf("P12: a start without its checkpoints ended with %v", err)
	}
	if after := lake(); after != before {
		c.failf("P12: the refused start changed something:\n%s\n\n%s", before, after)
	}
	c.dir = ""
	c.begin()
	c.finish()
}

func case05(c *script) {
	names := map[string]string{}
	c.looks = append(c.looks, func(op mem.Op) {
		var full string
		switch {
		case op.Kind == mem.Create && strings.HasSuffix(op.Path, ".pending"):
			full = op.Path
		case moves(op, ""):
			full = op.To
		default:
			return
		}
		n := string(rune('0'+op.Kind)) + strings.TrimSuffix(path.Base(full), ".pending")
		if other, given := names[n]; given {
			c.fail(fmt.Errorf("P2: the name of %s was given before, as %s", full, other))
		}
		names[n] = full
	})
	c.begin()
	c.rows(1, "a")
	c.checkpoint()
	c.checkpoint() // nothing came
	c.rows(1, "a")
	c.checkpoint()
	c.kill(c.last)
	c.begin()
	c.rows(1, "a")
	c.written(0)
	c.kill(c.last) // its file stays, and the next attempt writes the same row for the same checkpoint
	c.begin()
	c.written(1)
	c.checkpoint()
	c.sees("at the end", 0, 3)
	if n := len(c.table().files); n != 3 {
		c.failf("%d files in dt=a", n)
	}
	if left := c.pending(); len(left) != 1 || c.count(func(op mem.Op) bool { return moves(op, "") }) != 3 {
		c.failf("left: %v, names: %v", left, names)
	}
	c.finish()
}

// TestCase08: what the sink could not make durable is not acknowledged (C2): the checkpoint does not complete, positions stay where the one
// before has them, and the rows come again (P1).
func TestCase08(t *testing.T) { holds(t, case08) }

func case08(c *script) {
	down := false
	c.wrap = func(s connector.Sink) connector.Sink {
		return failing{Sink: s, fails: func() error {
			if down {
				return fault.New(fault.Transient, "write back: input/output error")
			}
			return nil
		}}
	}
	c.restarts = 2
	c.begin()
	c.rows(2, "a")
	c.checkpoint()
	c.until("the group's offsets are committed", func() bool { return c.b.group == 2 })
	down = true
	certs := len(c.certificates())
	c.rows(5, "a")
	err := c.ends()
	if err == nil || !strings.Contains(err.Error(), "gives up") || !strings.Contains(err.Error(), "input/output error") {
		c.failf("the job ended with %v", err)
	}
	if s := c.last.job.Status(); s.Restarts != 2 || s.Phase != "FAILED" {
		c.failf("%+v", s)
	}
	c.sees("after the failure", 0, 2)
	if c.b.group != 2 || len(c.certificates()) != certs {
		c.failf("C2: group offset %d, %d certificates, %d before", c.b.group, len(c.certificates()), certs)
	}
	down = false
	c.begin()
	c.checkpoint()
	c.sees("after the repair", 0, 7)
	c.until("the group's offsets are committed", func() bool { return c.b.group == 7 })
	c.finish()
}

// TestCase11: a partition is declared complete only behind all its files.
func TestCase11(t *testing.T) {
	t.Run("main", func(t *testing.T) { holds(t, case11) })
	t.Run("crash", func(t *testing.T) { holds(t, case11Crash) })
	t.Run("late", func(t *testing.T) { holds(t, case11Late) })
}

const hour10, hour11 = "2024-01-01 10", "2024-01-01 11"

// hours reads a record of 10:59, then one of 11:01, in a job that declares an hour complete an hour after it began, by the watermark.
func (c *script) hours() {
	c.success = byTime
	for _, l := range c.o.tables {
		l.success = byTime
	}
	c.looks = append(c.looks, c.ordered)
	c.begin()
	c.at(hour10, 59)
	c.at(hour11, 1)
}

// at produces a record of a minute of an hour.
func (c *script) at(hour string, minute int) {
	ts, err := time.Parse("2006-01-02 15", hour)
	c.must(err)
	c.b.produce(scriptedRecord{kind: row, dt: hour, at: ts.Add(time.Duration(minute) * time.Minute).UnixMilli()})
}

// ordered finds a success file that is made before every certified file of its partition is in place.
func (c *script) ordered(op mem.Op) {
	if op.Kind != mem.Create || path.Base(op.Path) != "_SUCCESS" {
		return
	}
	c.aside(func() {
		for _, cert := range c.certificates() {
			for _, f := range cert.Files {
				if path.Dir(f.Final) != path.Dir(op.Path) {
					continue
				}
				if _, err := c.o.client.Stat(f.Final); err != nil {
					c.fail(fmt.Errorf("%s is made before its partition's file is there: %w", op.Path, err))
				}
			}
		}
	})
}

// declared reports whether an hour is declared complete.
func (c *script) declared(hour string) bool {
	_, err := c.o.client.Stat(roots[0] + "/dt=" + hour + "/_SUCCESS")
	return err == nil
}

// expectHours expects hour 10 declared complete and hour 11 not.
func (c *script) expectHours(when string) {
	if !c.declared(hour10) || c.declared(hour11) {
		c.failf("%s: hour 10 %v, hour 11 %v\n%s", when, c.declared(hour10), c.declared(hour11), strings.Join(c.store.Tree(), "\n"))
	}
}

func case11(c *script) {
	c.hours()
	c.checkpoint()
	c.sees("after the checkpoint", 0, 2)
	c.expectHours("after the checkpoint")
	c.finish()
}

// case11Crash: the process ends with the files in place and no success file yet; the next one makes it.
func case11Crash(c *script) {
	c.hours()
	c.read()
	c.killBefore("the success file", func(op mem.Op) bool { return op.Kind == mem.Create && path.Base(op.Path) == "_SUCCESS" })
	c.sees("after the crash", 0, 2)
	if c.declared(hour10) {
		c.failf("hour 10 is declared complete before the kill")
	}
	c.begin()
	c.expectHours("after the restart")
	c.checkpoint()
	c.expectHours("after the next checkpoint")
	c.finish()
}

// case11Late: a row that comes after its hour was declared complete goes into a new file; what was there stays.
func case11Late(c *script) {
	c.hours()
	c.checkpoint()
	c.expectHours("after the checkpoint")
	at := c.success10()
	c.at(hour10, 30)
	c.checkpoint()
	c.sees("after the late row", 0, 3)
	c.expectHours("after the late row")
	if n := len(c.table().files); n != 3 {
		c.failf("%d files", n)
	}
	if again := c.success10(); !again.Equal(at) {
		c.failf("the success file, made at %s, was made again at %s", at, again)
	}
	if n := c.count(func(op mem.Op) bool { return op.Kind == mem.Delete && strings.HasPrefix(op.Path, roots[0]+"/dt=") }); n > 0 {
		c.failf("P2: %d deletes in partitions", n)
	}
	c.finish()
}

// success10 is when the success file of hour 10 was made.
func (c *script) success10() time.Time {
	i, err := c.o.client.Stat(roots[0] + "/dt=" + hour10 + "/_SUCCESS")
	c.must(err)
	return i.ModTime
}

func (c *script) count(of func(mem.Op) bool) (n int) {
	for _, x := range c.calls {
		if of(x.op) {
			n++
		}
	}
	return n
}

// TestCase18: an error of the sink is no error of the record that it meets, whatever is done with records that do not parse: the job starts
// again, and only what did not parse is missing and accounted for (P1, P6).
func TestCase18(t *testing.T) { holds(t, case18) }

func case18(c *script) {
	thrown := false
	c.wrap = func(s connector.Sink) connector.Sink {
		return failing{Sink: s, refuses: func(b *changelog.Batch) error {
			if !thrown && slices.Contains(b.Offsets, 4) {
				thrown = true
				return fault.New(fault.Transient, "write: input/output error")
			}
			return nil
		}}
	}
	c.begin()
	c.rows(3, "a")
	c.b.produce(scriptedRecord{kind: rejected, dt: "a"})
	c.rows(6, "a")
	c.until("the sink fails", func() bool { return thrown && c.last.job.Status().Restarts == 1 })
	c.until("the job runs again", func() bool { return c.last.job.Status().Phase == "RUNNING" })
	c.checkpoint()
	if got := c.visible(); !slices.Equal(got, []int64{0, 1, 2, 4, 5, 6, 7, 8, 9}) {
		c.failf("visible: %v", got)
	}
	n := int64(0)
	for _, cert := range c.certificates() {
		for _, r := range cert.Ranges {
			n += r.Rejected
		}
	}
	if s := c.last.job.Status(); n != 1 || s.Restarts != 1 {
		c.failf("%d rejected, %d restarts", n, s.Restarts)
	}
	c.finish()
}

// TestW1: a pending file that vanishes between the snapshot and its commit is not counted as done already (P6): the job stops and names its
// offsets, with the other files committed.
func TestW1(t *testing.T) {
	holds(t, w1)
	caught(t, "missing-is-done", w1)
}

func w1(c *script) {
	c.begin()
	c.abcd()
	took := false
	c.looks = append(c.looks, func(op mem.Op) {
		if moves(op, "") && !took {
			took = true
			c.aside(func() { c.takeAway("b") })
		}
	})
	err := c.ends()
	c.lost(err, "b", 1)
	if got := c.visible(); !slices.Equal(got, []int64{0, 2, 3}) {
		c.failf("visible: %v", got)
	}
	if n := c.last.job.Status().Counters; n != (account.Counters{Created: 4, Renamed: 3, Lost: 1}) {
		c.failf("%+v", n)
	}
	c.begin()
	c.rows(1, "b")
	c.checkpoint()
	c.finish()
}

// TestW2: a commit that is not over when the next barrier is due, and then a failure: nothing twice, nothing missing (K1, P1).
func TestW2(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		holds(t, w2Killed)
		caught(t, "overlap", w2Killed)
	})
	t.Run("next checkpoint fails", func(t *testing.T) { holds(t, w2Fails) })
}

// stuck lets the commit of rows 0 to 9 wait for a store that does not answer, past the time of the next two barriers, while 10 more rows come.
// It gives what lets it go on.
func (c *script) stuck() (free func()) {
	c.rows(10, "2024-01-01")
	c.read()
	waits := false
	c.answers = func(op mem.Op) mem.Effect {
		if !moves(op, "") {
			return mem.Effect{}
		}
		waits = true
		return mem.Effect{Kind: mem.Fail}
	}
	c.until("the commit waits", func() bool { return waits })
	c.rows(10, "2024-01-01")
	c.written(1)
	until := c.s.now.Add(25 * time.Minute)
	completes := c.completes()
	c.until("two barriers are due", func() bool { return c.s.now.After(until) })
	if n := c.completes(); n != completes {
		c.failf("K1: %d entries in the job's log, %d before: a checkpoint completed while the one before was being committed", n, completes)
	}
	c.sees("while the commit waits", 0, 0)
	return func() { c.answers = nil }
}

// completes counts the entries that were put into the job's log.
func (c *script) completes() int {
	return c.count(func(op mem.Op) bool { return op.Kind == mem.Rename && path.Dir(op.To) == jobs+"/"+name+"/log" })
}

func w2Killed(c *script) {
	c.begin()
	free := c.stuck()
	c.kill(c.last)
	free()
	c.begin()
	c.sees("after the restart", 0, 10)
	c.checkpoint()
	c.sees("after the next checkpoint", 0, 20)
	c.finish()
}

func w2Fails(c *script) {
	down := false
	c.wrap = func(s connector.Sink) connector.Sink {
		return failing{Sink: s, fails: func() error {
			if down {
				down = false
				return fault.New(fault.Transient, "write back: input/output error")
			}
			return nil
		}}
	}
	c.begin()
	free := c.stuck()
	down = true
	free()
	c.until("the next checkpoint fails", func() bool { return c.last.job.Status().Restarts == 1 })
	c.sees("after the failure", 0, 10)
	c.until("the job runs again", func() bool { return c.last.job.Status().Phase == "RUNNING" })
	c.checkpoint()
	c.sees("after the next checkpoint", 0, 20)
	c.finish()
}

// TestW3: renames that answer "false". One did nothing and is repeated; one was carried out; one is refused for ever, because source and target are both
// there: the file is visible, so that it is neither moved to another name nor waited for (P1, P5).
func TestW3(t *testing.T) { holds(t, w3) }

func w3(c *script) {
	c.begin()
	c.abcd()
	tries, both := map[string]int{}, ""
	c.answers = func(op mem.Op) mem.Effect {
		if !moves(op, "") {
			return mem.Effect{}
		}
		dt := path.Base(path.Dir(op.To))
		tries[dt]++
		switch {
		case dt == "dt=a":
			if both == "" {
				both = op.Path
				c.aside(func() {
					b, err := fs.ReadFile(c.o.client, op.Path)
					c.must(err)
					f, err := c.o.client.Create(op.To)
					c.must(err)
					_, err = f.Write(b)
					c.must(errors.Join(err, f.Sync(), f.Close()))
				})
			}
			return mem.Effect{Kind: mem.Refuse}
		case dt == "dt=b" && tries[dt] == 1:
			return mem.Effect{Kind: mem.DoneRefuse}
		case dt == "dt=c" && tries[dt] < 3:
			return mem.Effect{Kind: mem.Refuse}
		}
		return mem.Effect{}
	}
	id := c.checkpoint()
	c.sees("after the checkpoint", 0, 4)
	if tries["dt=b"] != 1 || tries["dt=c"] != 3 {
		c.failf("renames: %v", tries)
	}
	c.judged(id, account.Skipped, account.Skipped, account.Renamed, account.Renamed)
	if s := c.last.job.Status(); s.Restarts != 0 || s.Counters != (account.Counters{Created: 4, Renamed: 2, Skipped: 2}) {
		c.failf("%+v", s)
	}
	c.answers = nil
	c.rows(2, "a")
	c.checkpoint()
	c.sees("after the next checkpoint", 0, 6)
	if p := c.pending(); !slices.Equal(p, []string{both}) {
		c.failf("in the temporary area: %v, expected %s only", p, both)
	}
	c.finish()
}

// TestW4: a second start from the same checkpoint writes for the same checkpoint number again. Deletes that the first one sent are carried out
// once more eleven minutes later, when the second one's files are open (P2, P3).
func TestW4(t *testing.T) {
	holds(t, w4)
	caught(t, "delete-before-write", w4)
}

func w4(c *script) {
	c.looks = append(c.looks, c.overOnly)
	c.opts.Interval, c.hold = 15*time.Minute, 11*time.Minute
	sent := 0
	c.answers = func(op mem.Op) mem.Effect {
		if !deletes(op) {
			return mem.Effect{}
		}
		sent++
		i := c.store.LateCount()
		c.later(func() { _ = c.store.Repeat(i) })
		return mem.Effect{Kind: mem.Lost}
	}
	c.begin()
	c.rows(10, "2024-01-01")
	c.checkpoint()
	c.rows(10, "2024-01-01")
	c.written(0)
	first := c.pending()
	c.kill(c.last)
	c.emptied = true
	c.begin()
	c.written(len(first))
	if dirs := len(c.folders()); dirs != 1 {
		c.failf("both attempts were to write in one folder: %v", c.pending())
	}
	c.checkpoint()
	c.sees("after the deletes", 0, 20)
	if left := c.pending(); !slices.Equal(left, first) {
		c.failf("P4: what the first attempt left is %v, was %v", left, first)
	}
	if sent == 0 || c.applied == 0 {
		c.failf("%d deletes were sent, %d carried out again", sent, c.applied)
	}
	c.finish()
}

// folders are those of the pending files.
func (c *script) folders() map[string]bool {
	out := map[string]bool{}
	for _, p := range c.pending() {
		out[strings.Join(strings.Split(p, "/")[:5], "/")] = true
	}
	return out
}

// TestW7: consumed = in files + filtered + rejected + null + gaps, for each checkpoint, over restarts, and the ranges join (P11).
func TestW7(t *testing.T) { holds(t, w7) }

func w7(c *script) {
	kinds := []kind{row, row, filtered, row, rejected, null, row, gap, gap, row, filtered, null, row}
	var want [gap + 1]int64
	produce := func(n int) {
		for range n {
			k := kinds[len(c.b.script)%len(kinds)]
			want[k]++
			c.b.produce(scriptedRecord{kind: k, dt: fmt.Sprintf("d%d", len(c.b.script)%3)})
		}
	}
	c.begin()
	produce(37)
	c.checkpoint()
	produce(29)
	c.written(0)
	c.kill(c.last)
	c.begin()
	c.checkpoint()
	produce(5)
	c.finish()
	var got [gap + 1]int64
	at := int64(0)
	for _, cert := range c.certificates() {
		inFiles := int64(0)
		for _, f := range cert.Files {
			for _, o := range f.Offsets {
				inFiles += o.Set.Count()
			}
			if rows, err := c.o.read(f.Final); err != nil || int64(len(rows)) != f.Rows {
				c.failf("%s: %d rows, %v, recorded %d", f.Final, len(rows), err, f.Rows)
			}
		}
		consumed := int64(0)
		for _, r := range cert.Ranges {
			if r.From != at {
				c.failf("P11: checkpoint %d begins at %d, the one before ended at %d", cert.Checkpoint, r.From, at)
			}
			at = r.To
			consumed += r.To - r.From
			for k, n := range [...]int64{filtered: r.Filtered, rejected: r.Rejected, null: r.Null, gap: r.Gaps} {
				got[k] += n
				consumed -= n
			}
		}
		got[row] += inFiles
		if consumed != inFiles {
			c.failf("P11: checkpoint %d: %d rows are accounted for, %d are in files: %+v", cert.Checkpoint, consumed, inFiles, cert.Ranges)
		}
	}
	if at != c.b.records || got != want {
		c.failf("P11: accounts to %d of %d: %v, expected %v (rows, filtered, rejected, null, gaps)", at, c.b.records, got, want)
	}
}
