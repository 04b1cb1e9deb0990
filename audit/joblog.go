package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// JobLog is the log of a job that writes the table. The table's own log cannot show that its end was cut off, or that the folder is an older copy of
// itself; the job's log names the certificate that must stand in it.
type JobLog struct {
	Job string
	// Store and Dir are where it lies, Key is what it calls the table.
	Store fs.FS
	Dir   string
	Key   string
	// Err is why it is not known where the log lies, if it is not: then it is as one that cannot be read.
	Err error
}

// promise is what a job's newest checkpoint says of the table.
type promise struct {
	JobLog
	// logID and greatest are the log's identity and the greatest checkpoint that it knows of.
	logID    string
	greatest account.CheckpointID
	// named: the newest checkpoint names the table. id and complete are the checkpoint, expect the certificate that comes before its own; empty: it
	// promises nothing, and has no certificate.
	named    bool
	id       account.CheckpointID
	complete string
	expect   account.ChainEnd
	empty    bool
	files    []account.File
	// certified and followed: its certificate, and the one before it, stand in the table's log.
	certified, followed bool
	// note says why there is nothing to compare with.
	note string
	// damage is why the log cannot be read: then nothing is proven by it, and damageAt is what is wrong.
	damage   error
	damageAt string
}

// readJobLog reads what a job's log says now. Only a store that does not answer is an error. What cannot be read is read once more, so that it is not a
// moment's between two changes of the job.
func readJobLog(e env.Env, j JobLog) (p *promise, err error) {
	for range 2 {
		if p, err = readJobLogOnce(e, j); err != nil || p.damage == nil {
			break
		}
	}
	return p, err
}

func readJobLogOnce(e env.Env, j JobLog) (*promise, error) {
	p := &promise{JobLog: j}
	if j.Err != nil {
		p.damage = j.Err
		return p, nil
	}
	l := log.Open(e, j.Store, j.Dir, "")
	l.OnWait = func(err error) error { return err }
	entries, err := l.Read()
	if errors.Is(err, fs.ErrUnavailable) {
		return nil, err
	}
	for _, x := range entries {
		if bad := p.apply(x); bad != nil && err == nil {
			err = fmt.Errorf("entry %d (%s): %w", x.N, x.Kind, bad)
		}
	}
	switch {
	case err != nil:
		p.named, p.damage, p.damageAt = false, err, j.Dir
	case len(entries) == 0:
		if p.damageAt, err = notFolder(j.Store, j.Dir); err != nil {
			if errors.Is(err, fs.ErrUnavailable) {
				return nil, err
			}
			p.damage = err
			break
		}
		p.note = fmt.Sprintf("there is no log of job %q in %s: that the end of the table's log was not cut off is not proven", j.Job, j.Dir)
	}
	return p, nil
}

// notFolder finds what stands at dir, or above it, and is no folder: then the log is not one that has not begun, but one that nobody can read. Both look
// alike to a listing.
func notFolder(store fs.FS, dir string) (at string, err error) {
	for at = dir; ; at = path.Dir(at) {
		info, err := store.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != path.Dir(at):
			continue
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return at, err
		case info.Symlink && at == dir: // a listing follows it, unless it leads nowhere
			_, err := store.List(at)
			if errors.Is(err, fs.ErrNotExist) {
				return at, fault.New(fault.Damage, "%s is a symbolic link that leads to no folder", at)
			}
			return at, err
		case !info.Dir && !info.Symlink:
			return at, fault.New(fault.Damage, "%s is a file, not a folder", at)
		}
		return "", nil
	}
}

// apply takes one entry in.
func (p *promise) apply(x log.Entry) error {
	tooNew := func(version int) error {
		if version > checkpoint.Version {
			return fault.New(fault.Damage, "it has format %d, this version reads up to %d", version, checkpoint.Version)
		}
		return nil
	}
	switch x.Kind {
	case account.KindComplete:
		var m checkpoint.Metadata
		if err := errors.Join(json.Unmarshal(x.Body, &m), tooNew(m.Version)); err != nil {
			return err
		}
		p.newest(&m, x.SHA256)
		p.logID, p.greatest = m.LogID, max(p.greatest, m.ID)
	case account.KindRewind:
		var r checkpoint.Rewind
		if err := errors.Join(json.Unmarshal(x.Body, &r), tooNew(r.Version)); err != nil {
			return err
		}
		p.newest(r.Target, r.TargetHash)
		p.logID, p.greatest = r.LogID, max(p.greatest, r.Greatest)
	case account.KindBegin, account.KindEnd:
	default:
		return fault.New(fault.Damage, "%w", log.ErrVersion)
	}
	return nil
}

// newest takes in the checkpoint that the job would go on from; nil if it begins anew.
func (p *promise) newest(m *checkpoint.Metadata, hash string) {
	p.named = false
	if m == nil {
		return
	}
	if t, ok := m.Tables[p.Key]; ok {
		p.named, p.id, p.complete, p.expect, p.empty, p.files = true, m.ID, hash, t.Expect, t.Empty(), t.Files
	}
}

// sees takes note of a certificate that stands in the table's log.
func (p *promise) sees(c *certificate) {
	p.certified = p.certified || c.Complete == p.complete
	p.followed = p.followed || c.hash == p.expect.Certificate
}

// jobLogs reads the jobs' logs before the table's: what they name must be there then.
func (t *table) jobLogs(e env.Env, list []JobLog) error {
	for _, j := range list {
		p, err := readJobLog(e, j)
		if err != nil {
			return fmt.Errorf("read log %s of job %q: %w", j.Dir, j.Job, err)
		}
		t.promises = append(t.promises, p)
	}
	return nil
}

// promised gives what the job's log says of the table whose log lies in the folder name.
func (t *table) promised(name string) *promise {
	for _, p := range t.promises {
		if commit.Escape(p.Job) == name && p.named {
			return p
		}
	}
	return nil
}

// unread reports a job's log that cannot be read: whether the end of the table's log was cut off is not proven then, and must not pass for proven.
func (t *table) unread(p *promise) {
	where := ""
	if p.Err == nil {
		where = " in " + p.Dir
	}
	why := strings.ReplaceAll(p.damage.Error(), "\n  ", "; ") // a hint stands on a line of its own
	t.rep.problem(Problem{Kind: JobLogDamaged, Path: p.damageAt, What: fmt.Sprintf("the log of job %q%s cannot be read: that the end of the table's log was not cut off is not proven: %s", p.Job, where, why),
		ToDo: "audit as a user who may read it, and with the version that wrote it; if it is damaged, bring the checkpoint directory back from a copy; " +
			"the table's folder (staunch audit TABLE) is judged without it"})
}

// ends holds the logs' ends against what the jobs' logs say.
func (t *table) ends(e env.Env) error {
	for _, p := range t.promises {
		if p.damage != nil {
			t.unread(p)
			continue
		}
		if p.note != "" {
			t.rep.Notes = append(t.rep.Notes, p.note)
			continue
		}
		var of *judge
		for _, l := range t.logs {
			if l.judge.promise == p {
				of = l.judge
			}
		}
		t.behind(p, of)
		if err := t.uncertified(p, of); err != nil {
			return err
		}
		if err := t.ahead(e, p); err != nil {
			return err
		}
	}
	return nil
}

// behind reports a table whose log ends before what the job's newest checkpoint follows. of is nil if the table has no log of the job.
func (t *table) behind(p *promise, of *judge) {
	if !p.named || p.certified || p.followed || p.expect.Certificate == "" {
		return // promised, and not yet certified: the next start of the job does it
	}
	path, last := commit.Dir(t.root, p.Job), "has no certificate"
	if of != nil {
		path = of.rep.Log
		if of.holes {
			return // what is missing was reported
		}
		if of.rep.Certificates > 0 {
			last = fmt.Sprintf("ends with checkpoint %d (%s)", of.rep.Last, account.Short(of.rep.Chain))
		}
	}
	x := Problem{Kind: LogBehind, Path: path, Checkpoint: p.expect.Checkpoint, What: fmt.Sprintf("the job's log %s says that checkpoint %d (%s) was committed here, but the table's log %s: "+
		"its end was cut off, or the folder is an older copy", p.Dir, p.expect.Checkpoint, account.Short(p.expect.Certificate), last),
		ToDo: "bring the table's whole folder back as it was; do not start the job before: it stops, since its chain is not there"}
	if of != nil {
		of.rep.problem(x)
	} else {
		t.rep.problem(x)
	}
}

// uncertified looks for the files of a checkpoint that is complete and has no certificate here: either the job is about to write it, or the log's end
// was cut off, with the files.
func (t *table) uncertified(p *promise, of *judge) error {
	if !p.named || p.certified || p.empty || of == nil || of.holes || !p.followed && p.expect.Certificate != "" {
		return nil
	}
	missing, rows, first := 0, int64(0), ""
	for i := range p.files {
		f := &p.files[i]
		final, ok := t.files.inside(f, f.Final)
		if !ok {
			continue // the audit of the table's own log says so once it is certified
		}
		at, err := t.files.find(f, final)
		if err != nil {
			return err
		}
		if at == "" {
			missing, rows = missing+1, rows+f.Rows
			first = cmp.Or(first, final)
		}
	}
	if missing == 0 {
		of.rep.note(fmt.Sprintf("checkpoint %d is complete in the job's log and has no certificate here yet: the job writes it, at its next start if it does not run", p.id))
		return nil
	}
	of.rep.problem(Problem{Kind: LogBehind, Path: of.rep.Log, Checkpoint: p.id, What: fmt.Sprintf("checkpoint %d is complete in the job's log and has no certificate here, and %d of its %d files, with %d rows, "+
		"are in neither place, %s the first: the folder is an older copy, or they were removed before they were committed", p.id, missing, len(p.files), rows, first),
		ToDo: "if the folder was put back from a copy, bring the newest one back; else see which operation took the files: staunch trace"})
	return nil
}

// ahead reports a table that has newer checkpoints of a job's log than that log itself: read anew, since the job may have gone on meanwhile.
func (t *table) ahead(e env.Env, p *promise) error {
	for _, l := range t.logs {
		j := l.judge
		if l.name != commit.Escape(p.Job) || j.logID != p.logID || j.chain.Checkpoint <= p.greatest {
			continue
		}
		now, err := readJobLog(e, p.JobLog)
		if err != nil {
			return fmt.Errorf("read log %s of job %q: %w", p.Dir, p.Job, err)
		}
		if now.damage != nil {
			t.unread(now)
			return nil
		}
		if now.note == "" && now.logID == j.logID && j.chain.Checkpoint > now.greatest {
			j.rep.problem(Problem{Kind: JobLogBehind, Path: p.Dir, Checkpoint: j.chain.Checkpoint, What: fmt.Sprintf("the table has checkpoint %d (%s) of this job log, whose own newest is checkpoint %d: "+
				"the checkpoint directory is an older copy", j.chain.Checkpoint, account.Short(j.chain.Certificate), now.greatest),
				ToDo: "bring the job's newest checkpoint directory back before it is started"})
		}
	}
	return nil
}
