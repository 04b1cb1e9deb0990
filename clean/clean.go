package clean

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// Job is whose leftovers are looked for.
type Job struct {
	ID string
	// Store and Dir are where the job's own log lies.
	Store fs.FS
	Dir   string
	// Tables that the job writes. Tables that only its checkpoints name are found by Stores.
	Tables []Table
	Stores fs.Resolver
	// Traced gives a store that records the deletes that are made on it. May be nil.
	Traced func(fs.FS) fs.FS
}

// Table is a table's folder.
type Table struct {
	Name  string
	Store fs.FS
	Root  string
}

// Options of a run.
type Options struct {
	// OlderThan is the least age of what is removed, by the store's clock.
	OlderThan time.Duration
	// Superseded removes also what rewinds took out of the tables, if that was so long ago.
	Superseded bool
	// DryRun removes nothing and writes nothing; ages are then by this process's clock.
	DryRun bool
	// Variant takes rules away; only the simulator sets it.
	Variant Variant
	// Stopped ends the run between two calls, and while a store does not answer. Nil means never.
	Stopped func() bool
}

// Variant takes rules away. The zero value is the protocol.
type Variant struct {
	// Named: what completes and certificates name goes too.
	Named bool
	// Running: the newest attempt's files go too.
	Running bool
	// OwnLog: an epoch counts as over if it is over in the job's own log, whoever else has claimed the table.
	OwnLog bool
	// LogsFirst: the logs are read before the listing.
	LogsFirst bool
}

// ErrStopped: Options.Stopped said so.
var ErrStopped = errors.New("stopped")

// outage is how long a store that does not answer is waited for.
const outage = 10 * time.Minute

type cleaner struct {
	env env.Env
	job Job
	opt Options
}

// Run cleans for one job: first its tables, then its own log. The report holds what was done also when an error ended it.
func Run(e env.Env, job Job, opt Options) (*Report, error) {
	c := &cleaner{env: e, job: job, opt: opt}
	r := &Report{Job: job.ID, Log: fs.URI(job.Store, job.Dir), OlderThan: opt.OlderThan, DryRun: opt.DryRun}
	own, err := c.readJob(job.Store, job.Dir)
	if err != nil {
		return r, err
	}
	if own == nil {
		return r, fault.Userf("job %q has no log in %s: nothing is known of its attempts, so nothing is removed", job.ID, job.Dir).
			WithHint("does the statement file name the checkpoint directory with which the job ran (execution.checkpointing.dir)?")
	}
	r.Attempt, r.Checkpoint = own.newest, own.completed
	tables, err := c.tables(own)
	if err != nil {
		return r, err
	}
	for _, t := range tables {
		p := &Place{Name: t.Name, Path: fs.URI(t.Store, t.Root)}
		r.Places = append(r.Places, p)
		if err := c.table(t, p); err != nil {
			return r, fmt.Errorf("table %s: %w", t.Root, err)
		}
	}
	p := &Place{Name: "the job's log", Path: fs.URI(job.Store, job.Dir)}
	r.Places = append(r.Places, p)
	if err := c.own(p); err != nil {
		return r, fmt.Errorf("log %s: %w", job.Dir, err)
	}
	return r, nil
}

// tables adds those that only the checkpoints name.
func (c *cleaner) tables(own *jobLog) ([]Table, error) {
	out := slices.Clone(c.job.Tables)
	var more []string
	for key := range own.tables {
		if !slices.ContainsFunc(out, func(t Table) bool { return fs.URI(t.Store, t.Root) == key }) {
			more = append(more, key)
		}
	}
	slices.Sort(more)
	for _, key := range more {
		store, root, err := c.job.Stores.Resolve(key)
		if err != nil {
			return nil, fmt.Errorf("table %s, which only the checkpoints name: %w", key, err)
		}
		if !slices.ContainsFunc(out, func(t Table) bool { return fs.URI(t.Store, t.Root) == fs.URI(store, root) }) {
			out = append(out, Table{Name: "no longer in the file", Store: store, Root: root})
		}
	}
	return out, nil
}

// table cleans one table.
func (c *cleaner) table(t Table, p *Place) error {
	dir := commit.Dir(t.Root, c.job.ID)
	if err := c.alone(t); err != nil {
		return err
	}
	var s *State
	var err error
	if c.opt.Variant.LogsFirst {
		if s, err = c.readTable(t); err != nil {
			return err
		}
	}
	l := Listing{Root: t.Root}
	if l.Temporary, err = c.walk(t.Store, path.Join(t.Root, temporary)); err != nil {
		return err
	}
	if l.Log, err = c.listLog(t.Store, dir, ".staunch"); err != nil {
		return err
	}
	taken, err := c.walk(t.Store, path.Join(t.Root, commit.SupersededDir))
	if err != nil || len(l.Temporary)+len(l.Log)+len(taken) == 0 {
		return err
	}
	if s == nil { // INV: after the listing, see the package's doc
		if s, err = c.readTable(t); err != nil {
			return err
		}
	}
	p.elsewhere(s)
	now, err := c.storeTime(t.Store, dir)
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the log
		now, err = c.storeTime(t.Store, path.Join(t.Root, temporary))
	}
	if err != nil {
		return err
	}
	if err := c.repairing(t, l, s); err != nil {
		return err
	}
	if err := c.carryOut(t.Store, Judge(l, s, now, c.opt.OlderThan), p); err != nil {
		return err
	}
	return c.superseded(t, taken, now, p)
}

// alone refuses a table in which another job's files have the same short form of the id in their names.
func (c *cleaner) alone(t Table) error {
	list, err := c.list(t.Store, path.Dir(commit.Dir(t.Root, c.job.ID)))
	if err != nil {
		return err
	}
	for _, d := range list {
		if other, ok := commit.Unescape(d.Name); ok && other != c.job.ID && account.Job8(other) == account.Job8(c.job.ID) {
			return fault.Userf("the files of jobs %q and %q cannot be told apart by their names: nothing is removed", c.job.ID, other)
		}
	}
	return nil
}

// own cleans the job's log.
func (c *cleaner) own(p *Place) error {
	l := Listing{}
	var err error
	if l.Log, err = c.listLog(c.job.Store, c.job.Dir, ""); err != nil || len(l.Log) == 0 {
		return err
	}
	s := c.state()
	if err := c.owners(s, nil, nil); err != nil {
		return err
	}
	now, err := c.storeTime(c.job.Store, c.job.Dir)
	if err != nil {
		return err
	}
	return c.carryOut(c.job.Store, Judge(l, s, now, c.opt.OlderThan), p)
}

// storeTime asks the store for its time, by the modification time of a file that is made for that: this host's clock may be another.
func (c *cleaner) storeTime(store fs.FS, dir string) (now time.Time, err error) {
	if c.opt.DryRun {
		return c.env.Now(), nil
	}
	name := ""
	err = c.patient(func() error {
		name = path.Join(dir, account.ProbeName(account.Job8(c.job.ID), 0, env.RandomHex(c.env, 12))) // after a lost answer another one
		f, err := store.Create(name)
		if err == nil {
			err = f.Close()
		}
		return err
	})
	if err != nil {
		return now, fmt.Errorf("ask the store for its time: %w", err)
	}
	err = c.patient(func() error {
		i, err := store.Stat(name)
		now = i.ModTime
		return err
	})
	if derr := c.delete(store, name); err == nil && derr != nil {
		err = derr
	}
	if err != nil {
		return now, fmt.Errorf("ask the store for its time: %w", err)
	}
	return now, nil
}

// carryOut removes what the plan says and notes it.
func (c *cleaner) carryOut(store fs.FS, plan Plan, p *Place) error {
	if c.job.Traced != nil {
		store = c.job.Traced(store)
	}
	for _, l := range plan.Left {
		p.left(l)
	}
	for _, x := range plan.Remove {
		if c.stopped() {
			return ErrStopped
		}
		var err error
		switch {
		case c.opt.DryRun:
		case x.Kind == Folder:
			err = c.patient(func() error { return store.DeleteDir(x.Path) })
			if errors.Is(err, fs.ErrNotEmpty) { // a file came, or could not be removed
				continue
			}
		default:
			err = c.delete(store, x.Path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		p.removed(x, err)
		if errors.Is(err, ErrStopped) {
			return err
		}
	}
	return nil
}

// delete removes one file; one that is gone is as good.
func (c *cleaner) delete(store fs.FS, name string) error {
	err := c.patient(func() error { return store.Delete(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (c *cleaner) stopped() bool { return c.opt.Stopped != nil && c.opt.Stopped() }

// patient waits through an outage, but not for ever.
func (c *cleaner) patient(call func() error) error {
	pause, start := 50*time.Millisecond, c.env.Now()
	for {
		err := call()
		if !errors.Is(err, fs.ErrUnavailable) || c.env.Now().Sub(start) > outage {
			return err
		}
		if c.stopped() {
			return fmt.Errorf("%w while waiting for: %w", ErrStopped, err)
		}
		env.Sleep(c.env, pause)
		pause = min(2*pause, 5*time.Second)
	}
}

// log opens a log for looking.
func (c *cleaner) log(store fs.FS, dir, ext string) *log.Log {
	l := log.Open(c.env, store, dir, ext)
	since := c.env.Now()
	l.OnWait = func(error) error {
		switch {
		case c.stopped():
			return ErrStopped
		case c.env.Now().Sub(since) > outage:
			return errors.New("given up after " + strings.TrimSuffix(outage.String(), "0s"))
		}
		return nil
	}
	return l
}

// Leftovers judges paths that were listed in a table's temporary folder before the call: those that may be deleted whatever their age, because
// their attempts have ended and nothing names them.
func Leftovers(e env.Env, job Job, t Table, listed []string, stopped func() bool) ([]string, error) {
	c := &cleaner{env: e, job: job, opt: Options{Stopped: stopped}}
	l := Listing{Root: t.Root}
	for _, p := range listed {
		l.Temporary = append(l.Temporary, Found{Path: p})
	}
	return c.leftovers(t, l, 0)
}

// Own removes the pending files that epoch mine, which is the process's own, has left in a table, and nothing else. REQUIRES: it writes nothing at the
// moment, and knows what became of every complete that it tried to append.
func Own(e env.Env, job Job, t Table, mine account.Epoch, stopped func() bool) (removed int, err error) {
	c := &cleaner{env: e, job: job, opt: Options{Stopped: stopped}}
	l := Listing{Root: t.Root}
	all, err := c.walk(t.Store, path.Join(t.Root, temporary))
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		n, ok := account.ParseFileName(strings.TrimSuffix(path.Base(f.Path), account.PendingSuffix))
		if ok && n.Epoch == mine && !f.Dir && !f.Symlink {
			l.Temporary = append(l.Temporary, f)
		}
	}
	if len(l.Temporary) == 0 {
		return 0, nil
	}
	paths, err := c.leftovers(t, l, mine)
	store := t.Store
	if job.Traced != nil {
		store = job.Traced(store)
	}
	for _, p := range paths {
		if derr := c.delete(store, p); derr != nil {
			err = errors.Join(err, derr)
			continue
		}
		removed++
	}
	return removed, err
}

// leftovers reads the logs and gives the pending files of a listing that may go.
func (c *cleaner) leftovers(t Table, l Listing, mine account.Epoch) ([]string, error) {
	if err := c.alone(t); err != nil {
		return nil, err
	}
	s, err := c.readTable(t)
	if err != nil {
		return nil, err
	}
	s.Mine = mine
	var out []string
	for _, r := range Judge(l, s, c.env.Now(), 0).Remove {
		if r.Kind == Pending {
			out = append(out, r.Path)
		}
	}
	return out, nil
}
