//go:build peer

package hdfs

import (
	"strings"
	"testing"
	"time"

	"staunch/fault"
	"staunch/fs/hdfs"
	"staunch/test/peer/nnproxy"
)

// open has the job read so much that its files stand on HDFS before the checkpoint.
func (g *played) open() {
	g.t.Helper()
	g.rows(6000)
	until(g.t, "open files with bytes", func() bool {
		n := 0
		for p := range tree(g.t, g.HDFS, g.table) {
			if strings.HasSuffix(p, ".pending") {
				n++
			}
		}
		return n == partitions
	})
}

// restarted waits until an outage has restarted the job, and everything is read again.
func (g *played) restarted(times int) {
	g.t.Helper()
	g.awaits("the restart", func(s status) bool { return s.Restarts >= int64(times) })
	if text := g.log.String(); !strings.Contains(text, "outage, uses up no attempt") {
		g.t.Errorf("the restart is not told to be an outage:\n%s", text)
	}
}

// TestDataNodeLost: a DataNode dies while files are written. With two replicas the pipeline goes on without it; without any, the files are
// dropped, and the job reads again when one is back. No restart strategy is there.
func TestDataNodeLost(t *testing.T) {
	t.Run("one of two", func(t *testing.T) {
		g := playedJob(t, newPair(t, "dfs.replication", "2"), hdfs.Options{})
		for _, dn := range []string{"dn1", "dn2"} { // each block is on one of them at least
			g.open()
			g.Kill(dn, "KILL")
			g.rows(6000)
			g.checkpoint()
			g.Restart(dn)
		}
		if st := g.job.Status(); st.Restarts != 0 {
			t.Errorf("%d restarts:\n%s", st.Restarts, g.log)
		}
		g.exact()
		if n := len(g.calls("updatePipeline")); n == 0 {
			t.Error("no pipeline was mended")
		}
	})
	t.Run("all", func(t *testing.T) {
		g := playedJob(t, newPair(t, "dfs.replication", "1"), hdfs.Options{})
		g.open()
		for _, dn := range []string{"dn1", "dn2", "dn3"} {
			g.Kill(dn, "KILL")
		}
		g.k.fill(1000)
		g.clock.forward()
		g.restarted(1)
		for _, dn := range []string{"dn1", "dn2", "dn3"} {
			g.Restart(dn)
		}
		g.hasRead()
		g.checkpoint()
		g.exact()
	})
}

// TestSafeMode: a NameNode in safe mode refuses every change. The job waits.
func TestSafeMode(t *testing.T) {
	g := playedJob(t, newPair(t), hdfs.Options{})
	g.rows(10)
	g.SafeMode(true)
	before := len(g.calls("create")) + len(g.calls("mkdirs"))
	g.clock.forward()
	until(t, "refused calls", func() bool { return len(g.calls("create"))+len(g.calls("mkdirs")) > before+4 })
	g.SafeMode(false)
	g.committed(g.next)
	g.next++
	if st := g.job.Status(); st.Restarts != 0 {
		t.Errorf("%d restarts:\n%s", st.Restarts, g.log)
	}
	g.exact()
}

// TestQuota: the table's folder has no room, or takes no more names. The job fails, saying which quota of which folder, and goes on when the
// limit is lifted.
func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set, lift  func(g *played)
	}{
		{"space", "quota of space", func(g *played) { g.Quota(g.table, 1<<20) }, func(g *played) { g.Quota(g.table, 0) }},
		{"names", "quota of names", func(g *played) { g.Admin("-setQuota", "2", g.table) }, func(g *played) { g.Admin("-clrQuota", g.table) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := playedJob(t, newPair(t), hdfs.Options{})
			g.rows(10)
			g.checkpoint()
			g.before = g.k.filled * partitions
			g.k.fill(10)
			g.awaits("all records", func(s status) bool { return s.Records == int64(g.k.filled*partitions) })
			c.set(g)
			g.clock.forward()
			err := g.ends()
			if err == nil || fault.ClassOf(err) != fault.Transient {
				t.Fatalf("the job ended with %v:\n%s", err, g.log)
			}
			for _, word := range []string{c.text, g.table, "quota"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in the error:\n%v", word, err)
				}
			}
			t.Log(err)
			c.lift(g)
			g.begin()
			g.hasRead()
			g.checkpoint()
			g.exact()
		})
	}
}

// TestBothAway: both NameNodes are killed while a job writes, and while it commits, for longer than the client's patience and the writer's. A
// commit waits without end; a writer gives its file up, and the job reads again when somebody answers. No restart strategy is there.
func TestBothAway(t *testing.T) {
	p := newPair(t)
	opt := hdfs.Options{}
	opt.RPC.Patience, opt.RPC.CallTimeout = 2*time.Second, time.Second
	g := playedJob(t, p, opt)
	gone := func(method string) {
		t.Helper()
		rule := g.active().On(nnproxy.Match{Method: method, Path: below(g.table)}, nnproxy.Cut)
		g.clock.forward()
		if _, err := rule.Next(deadline(t)); err != nil {
			t.Fatal(err)
		}
		g.Kill("nn1", "KILL")
		g.Kill("nn2", "KILL")
	}
	back := func() {
		t.Helper()
		g.Restart("nn1")
		g.Restart("nn2")
		g.Activate("nn2")
	}

	g.rows(10)
	gone("rename2")
	over := time.After(5 * opt.RPC.Patience)
	select {
	case <-over: // the commit has asked several times
	case <-g.done:
		t.Fatalf("the job ended with the NameNodes: %v\n%s", g.err, g.log)
	}
	back()
	g.committed(g.next)
	g.next++
	if st := g.job.Status(); st.Restarts != 0 {
		t.Errorf("the commit did not wait:\n%s", g.log)
	}

	g.before = g.k.filled * partitions
	g.k.fill(10)
	g.awaits("all records", func(s status) bool { return s.Records == int64(g.k.filled*partitions) })
	gone("create")
	// A checkpoint that was being appended at this moment waits without end, and the attempt with it: then there is no restart to be seen.
	tick, ticks := time.NewTicker(opt.RPC.Patience+opt.RPC.CallTimeout), 0
	for ; g.job.Status().Restarts == 0 && ticks < 10; ticks++ {
		g.clock.ahead.Add(int64(61 * time.Second)) // the writer's patience is over when it has asked once more
		<-tick.C
	}
	if g.job.Status().Restarts > 0 {
		g.restarted(1)
	}
	back()
	all := int64(g.k.filled * partitions)
	g.awaits("all records", func(s status) bool { // an attempt that went on counts all of them, one that began again what was not committed before it began
		return s.Phase == "RUNNING" && (s.Records == all || s.Restarts > 0 && (s.Records == all-int64(g.before) || int(s.LastCheckpoint) >= g.next))
	})
	if int(g.job.Status().LastCheckpoint) < g.next {
		g.checkpoint()
	}
	g.exact()
	t.Logf("restarts while no NameNode answered, none of which counted: %d", g.job.Status().Restarts)
}
