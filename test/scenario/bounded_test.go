//go:build peer

package scenario

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBounded is case 07: a bounded job ends when everything is committed.
func TestBounded(t *testing.T) {
	t.Parallel()
	fill := func(t *testing.T) (*topic, *script) {
		k := newTopic(t, 2)
		k.fill(0, 1, 5)
		k.fill(1, 6, 25)
		s := newScript(t, "SET 'execution.checkpointing.interval' = '10 min';\n"+k.copyJob(bounded))
		return k, s
	}
	noneLeft := func(t *testing.T, s *script) {
		t.Helper()
		left, err := filepath.Glob(s.path("lake", "_DUMP_TEMPORARY", "*", "*", "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v %v", left, err)
		}
	}
	t.Run("main", func(t *testing.T) {
		t.Parallel()
		_, s := fill(t)
		s.start().exits(0).says("finished")
		wantIDs(t, s.path("lake"), span(1, 25))
		noneLeft(t, s)
		s.verified(s.path("lake"))

		before := snapshot(t, s.path("lake"))
		s.start().exits(0).says("has finished before", "nothing to do")
		unchanged(t, s.path("lake"), before)
	})
	for _, point := range []string{"certificate.before", "certificate.after", "rename.after", "done.after", "end.before"} {
		t.Run("killed at "+point, func(t *testing.T) {
			t.Parallel()
			k, s := fill(t)
			s.start("STAUNCH_FAILPOINT=" + point).killed()
			k.fill(0, 26, 30) // after the end that the job had chosen
			s.start().exits(0)
			wantIDs(t, s.path("lake"), span(1, 25))
			noneLeft(t, s)
			s.start().exits(0).says("has finished before")
		})
	}
	t.Run("killed before the checkpoint", func(t *testing.T) {
		t.Parallel()
		_, s := fill(t)
		s.start("STAUNCH_FAILPOINT=ack.all").killed()
		s.start().exits(0)
		wantIDs(t, s.path("lake"), span(1, 25))
	})
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		k := newTopic(t, 2)
		s := newScript(t, k.copyJob(bounded))
		s.start().exits(0).says("finished")
		if f := files(t, s.path("lake"), "json"); len(f) > 0 {
			t.Errorf("an empty topic gave %v", f)
		}
		s.start().exits(0).says("has finished before")
	})
}

// TestSignals stops a job: everything that was read is committed.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			k := newTopic(t, 1)
			s := newScript(t, k.copyJob())
			p := s.start("-D", "execution.checkpointing.interval=10 min", "-D", "metrics.reporter.prom.port=31000-31999")
			m := p.metrics()
			p.awaits("checkpoint committed") // the one at the start, which might have some of them
			k.fill(0, 1, 100)
			until(t, "all records to be read", p, func() bool { return m.sum("numRecordsIn") >= 100 })
			if n := len(rows(t, s.path("lake"))); n != 0 {
				t.Errorf("%d rows are visible before a checkpoint", n)
			}
			p.signal(sig)
			p.exits(3).says("a last checkpoint", "run it again")
			wantIDs(t, s.path("lake"), span(1, 100))
			k.fill(0, 101, 150)
			p = s.start()
			p.awaits("restored")
			p.seen(s.path("lake"), 150)
			p.stop()
			wantIDs(t, s.path("lake"), span(1, 150))
			s.audited(s.path("lake"))
		})
	}
}
