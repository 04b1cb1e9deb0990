package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"staunch/dataflow"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/job"
)

// edited is a calm world whose job reads topic t into the first table and topic u into the second; keep names the sources that the statement
// file has in one run.
type edited struct {
	*world
	t *testing.T
	u *broker
	// last is the run before.
	last *run
}

func newEdited(t *testing.T) *edited {
	w := newWorld(7, Protocol, nil)
	w.faults, w.hard, w.calm, w.tables, w.success, w.second = 0, false, true, 2, never, false
	w.opts.Interval, w.opts.Timeout = time.Second, time.Minute
	w.o = newOracle(w)
	u := *w.b
	u.topic = "u"
	t.Cleanup(w.end)
	return &edited{world: w, t: t, u: &u}
}

// run starts the job with these sources, by the names that the file gives them (topic first), and stops it after d; 0 lets it end.
func (e *edited) run(d time.Duration, sources ...string) (job.Outcome, error) {
	e.edit = func(s *job.Spec) {
		both := s.Graph.Sources[0]
		s.Graph.Sources, s.Sinks = nil, nil
		for i, b := range []*broker{e.b, e.u} {
			at := slices.IndexFunc(sources, func(n string) bool { return strings.HasPrefix(n, b.topic) })
			if at < 0 {
				delete(s.Tables, roots[i])
				continue
			}
			s.Sinks = append(s.Sinks, roots[i])
			s.Graph.Sources = append(s.Graph.Sources, dataflow.Source{Name: sources[at], Describe: "table " + sources[at], Source: b, Schema: schema,
				Branches: both.Branches[i : i+1]})
		}
	}
	e.start()
	r := e.running[len(e.running)-1]
	began := e.s.now
	for !r.ended {
		if more, err := e.s.step(); err != nil || e.err != nil || !more {
			e.t.Fatal(err, e.err, "more:", more)
		}
		if d > 0 && e.s.now.Sub(began) > d {
			d = 0
			r.job.Stop()
		}
	}
	r.p.kill()
	e.last = r
	return r.outcome, r.err
}

func (e *edited) stopped(d time.Duration, sources ...string) {
	e.t.Helper()
	if out, err := e.run(d, sources...); err != nil || out != job.Stopped {
		e.t.Fatal(out, err)
	}
}

func (e *edited) refused(sources ...string) {
	e.t.Helper()
	_, err := e.run(time.Second, sources...)
	if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "was the source table renamed?") {
		e.t.Errorf("%v", err)
	}
}

// whole lets both sources end: each table has each record once.
func (e *edited) whole() {
	e.t.Helper()
	if out, err := e.run(0, "t", "u"); err != nil || out != job.Finished {
		e.t.Fatal(out, err)
	}
	if err := e.o.complete(); err != nil {
		e.t.Error(err)
	}
	if err := e.audited(); err != nil {
		e.t.Error(err)
	}
}

// TestSourceTakenOutAndPutBack: a source that the file did not name for a while goes on where it stood. From its start-up mode on its records
// would be twice in the table.
func TestSourceTakenOutAndPutBack(t *testing.T) {
	e := newEdited(t)
	e.stopped(3*time.Second, "t", "u")
	e.stopped(3*time.Second, "t")
	e.stopped(time.Second, "u")
	e.whole()
}

// TestLatestBeforeTheFirstCheckpoint: the first checkpoint fails for a while and the job starts again inside its process. It goes on where its
// first attempt began: asked again, "latest" would leave out what came meanwhile.
func TestLatestBeforeTheFirstCheckpoint(t *testing.T) {
	e := newEdited(t)
	e.b.latest, e.u.latest = true, true
	e.b.every, e.u.every = 500*time.Millisecond, 500*time.Millisecond // none is there at the first look
	began := e.s.now
	e.store.Fault = func(_ string, op mem.Op) mem.Effect {
		if op.Kind == mem.Write && strings.HasSuffix(op.Path, ".pending") && e.s.now.Sub(began) < 4*time.Second {
			return mem.Effect{Kind: mem.Fail, Err: fs.ErrNoSpace}
		}
		return mem.Effect{}
	}
	e.whole()
}

// TestUnknownComplete: whether a checkpoint is complete is not known when its entry's folder could not be synced. It is neither given up nor
// taken for complete: the job starts again and reads the log (K3).
func TestUnknownComplete(t *testing.T) {
	e := newEdited(t)
	syncs := 0
	e.store.Fault = func(client string, op mem.Op) mem.Effect {
		if op.Kind != mem.SyncDir || op.Path != jobs+"/"+name+"/log" {
			return mem.Effect{}
		}
		if syncs++; syncs == 2 { // the first is begin's
			return mem.Effect{Kind: mem.Fail, Err: errHard}
		}
		return mem.Effect{}
	}
	e.whole()
	if s := e.last.job.Status(); s.Restarts != 1 || s.FailedCount != 0 {
		t.Errorf("%d restarts, %d checkpoints given up", s.Restarts, s.FailedCount)
	}
}

// TestSourceRenamed: under another name a source is a new one and begins at its start-up mode, so that its records would be written again.
func TestSourceRenamed(t *testing.T) {
	e := newEdited(t)
	e.stopped(3*time.Second, "t", "u")
	e.refused("t", "u2")
	e.stopped(time.Second, "t")
	e.refused("t", "u2") // also when it was taken out before
	e.whole()
}
