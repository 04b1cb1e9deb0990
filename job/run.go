package job

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"time"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/fault"
	"staunch/fs"
)

// Run carries the job to its end: Finished, Stopped, or an error that no restart heals.
func (j *Job) Run() (Outcome, error) {
	defer j.spec.Trace.Close()
	j.windows = newWindows(j)
	defer j.windows.start()()
	outage := 0
	for n := 0; ; n++ {
		j.spec.Trace.Attempt(n)
		out, ran, err := j.attempt(n)
		j.traceEnd(err)
		if err == nil {
			j.update(func(s *Status) { s.Phase = "FINISHED" })
			return out, nil
		}
		j.update(func(s *Status) { s.Phase = "RESTARTING" })
		if ran {
			outage = 0
		}
		delay, why := time.Duration(0), ""
		switch c := classify(err); {
		case !c.Retryable() || !j.begun && c != fault.Outage:
			j.update(func(s *Status) { s.Phase = "FAILED" })
			return 0, j.countGone(err)
		case c == fault.Outage:
			outage++
			delay, why = min(100*time.Millisecond<<min(outage, 8), 10*time.Second), "outage, uses up no attempt"
		default:
			var ok bool
			if delay, ok = j.spec.Restart.Failed(j.env.Now(), j.jitter()); !ok {
				j.update(func(s *Status) { s.Phase = "FAILED" })
				return 0, fmt.Errorf("the restart strategy (%s) gives up: %w", j.spec.Restart, err)
			}
			why = j.spec.Restart.String()
		}
		j.update(func(s *Status) { s.Restarts++ })
		j.log.Error("the job failed and starts again", "job", j.spec.ID, "epoch", j.epoch(), "in", delay, "why", why, "error", err)
		if j.pause(delay) {
			j.update(func(s *Status) { s.Phase = "FAILED" })
			return 0, givenUp(err)
		}
	}
}

// givenUp says that a job was ended by order after a failure, without the last checkpoint that an order to stop promises. Everything completed
// is recorded, so that it may end here.
func givenUp(err error) error {
	return fmt.Errorf("ended by order before it could start again, without a last checkpoint; nothing is lost: the next run goes on from the newest completed one. It had failed: %w", err)
}

// pause waits before a restart and reports whether a stop was asked for meanwhile.
func (j *Job) pause(d time.Duration) bool {
	until := j.env.Now().Add(d)
	for {
		if _, stop := j.loop.take(); stop {
			return true
		}
		left := until.Sub(j.env.Now())
		if left <= 0 {
			return false
		}
		j.loop.signal.Wait(left)
	}
}

func (j *Job) jitter() float64 {
	var b [2]byte
	j.env.Rand(b[:])
	return float64(int(b[0])<<8|int(b[1])) / 65536
}

// Epoch is this process's epoch, 0 before its begin stands.
func (j *Job) Epoch() account.Epoch { return j.epoch() }

func (j *Job) epoch() account.Epoch {
	if j.store == nil {
		return 0
	}
	return j.store.Epoch()
}

// denied makes it its user's to heal that this process may not write where it has to, as long as it has never run: no restart does.
func (j *Job) denied(err error) error {
	if err == nil || j.hasRun || !errors.Is(err, iofs.ErrPermission) || !classify(err).Retryable() {
		return err
	}
	return fault.Userf("%w", err).WithHint("no restart heals that: let this user read and write there, or choose another folder")
}

func classify(err error) fault.Class {
	if c := fault.ClassOf(err); c != fault.Bug {
		return c
	}
	switch {
	case errors.Is(err, fs.ErrUnavailable):
		return fault.Outage
	case errors.Is(err, fs.ErrNoSpace):
		return fault.Transient
	}
	return fault.Bug
}

// begin opens the job's log and makes this process the job's newest attempt.
func (j *Job) begin() error {
	if j.begun {
		if err := j.store.Load(); err != nil {
			return err
		}
		return j.store.Fenced()
	}
	dir := j.logDir()
	open := checkpoint.Open
	if j.spec.asksBack() {
		open = checkpoint.OpenPast
	}
	j.store = open(j.env, j.spec.Trace.Store(j.spec.CheckpointStore, &j.logScope), dir, j.spec.Variant.Store, j.log)
	if err := j.store.Load(); err != nil {
		return j.damageHint(err)
	}
	if err := j.mayBegin(); err != nil {
		return err
	}
	if j.spec.asksBack() || j.spec.OnNewerOutput != Refuse {
		var err error
		if j.back, err = j.order(); err != nil {
			return err
		}
	}
	if j.back != nil {
		if err := j.preview(); err != nil {
			return err
		}
	}
	if err := j.spec.CheckpointStore.MkdirAll(dir); err != nil {
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) { // a file is there, or no folder can be made at all
			return fault.Userf("checkpoint directory %s: %w", dir, err).WithHint("choose another 'execution.checkpointing.dir', or let this user make folders there")
		}
		return fmt.Errorf("checkpoint directory %s: %w", dir, err)
	}
	p := j.spec.Process
	err := j.store.Begin(account.Begin{Job: j.spec.ID, File: j.spec.File, Host: p.Host, PID: p.PID, Start: p.Start, Time: j.env.Now().UTC(),
		Sources: j.spec.Sources, Sinks: j.spec.Sinks, Version: j.spec.Version, Renewed: j.back != nil && j.back.renew}, !j.spec.asksBack())
	if err != nil {
		return err
	}
	j.begun = true
	j.spec.Trace.Begin(j.store.Epoch())
	return nil
}

func (j *Job) logDir() string { return checkpoint.Dir(j.spec.CheckpointDir, commit.Escape(j.spec.ID)) }

// logURI is the log's folder together with its store, as claims name it.
func (j *Job) logURI() string { return fs.URI(j.spec.CheckpointStore, j.store.Dir()) }

// mayBegin refuses a start that is not a continuation.
func (j *Job) mayBegin() error {
	last := j.store.LastBegin()
	if last == nil {
		return nil
	}
	if j.spec.Process.Alive != nil && !j.spec.TakeOver && j.spec.Process.Alive(last.Begin) {
		return fault.Userf("job %q is running already: host %s, pid %d, since %s", j.spec.ID, last.Host, last.PID, last.Time.Format(time.RFC3339)).
			WithHint("stop that process, or fence it with --take-over")
	}
	if last.File != j.spec.File && !overlap(last.Sources, j.spec.Sources) && !overlap(last.Sinks, j.spec.Sinks) {
		return fault.Userf("the checkpoints of job %q in %s are of another file, %s, which has no source and no sink in common with %s",
			j.spec.ID, j.store.Dir(), last.File, j.spec.File).
			WithHint("give this job a name of its own: SET 'pipeline.name' = '...'")
	}
	if last.File != j.spec.File {
		j.log.Warn("this job was run from another file before and goes on where that one stood; a job of its own needs a 'pipeline.name' of its own",
			"job", j.spec.ID, "before", last.File, "now", j.spec.File)
	}
	return nil
}

func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

func splitsText(ids []string) string {
	if len(ids) > 8 {
		return strings.Join(ids[:8], ", ") + fmt.Sprintf(" and %d more", len(ids)-8)
	}
	return strings.Join(ids, ", ")
}
