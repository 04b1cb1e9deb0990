package checkpoint

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strconv"
	"strings"

	"encoding/json"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// Finder finds the checkpoint that a person names.
type Finder struct {
	Env    env.Env
	Stores fs.Resolver
	Log    *slog.Logger
	// Job is the job's id, Escaped its name as a folder.
	Job, Escaped string
	// Own is the job's log, loaded.
	Own *Store
}

// Find gives the checkpoint that at names: the id of a retained one of the job's own log; the file of a checkpoint's entry, in any place and of any
// store, also a copy of it; or a folder, of a log, of a job or of checkpoints, for the newest one there. Errors are of class User or Damage.
func (f Finder) Find(at string) (*Restored, error) {
	if id, err := strconv.ParseInt(at, 10, 64); err == nil {
		return f.byID(account.CheckpointID(id))
	}
	store, p, err := f.Stores.Resolve(at)
	if err != nil {
		return nil, fault.Userf("checkpoint %s: %w", at, err)
	}
	info, err := store.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Userf("there is no checkpoint at %s", at).WithHint("%s", f.choices())
	case err != nil:
		return nil, fmt.Errorf("checkpoint %s: %w", at, err)
	case info.Dir:
		return f.inFolder(store, p)
	}
	e, err := log.ReadFile(store, p, max(log.Number(path.Base(p), ""), 1))
	if err != nil {
		return nil, f.bad(p, err)
	}
	return f.entry(p, e)
}

// bad explains why what stands at p cannot be gone back to.
func (f Finder) bad(p string, err error) error {
	if fault.ClassOf(err) == fault.Damage {
		return fault.New(fault.Damage, "checkpoint %s cannot be read: %w", p, err).WithHint("bring the file back from a copy, or %s", f.choices())
	}
	return fmt.Errorf("checkpoint %s: %w", p, err)
}

func (f Finder) byID(id account.CheckpointID) (*Restored, error) {
	for i := len(f.Own.retained) - 1; i >= 0; i-- {
		if r := f.Own.retained[i]; r.ID == id {
			return r, nil
		}
	}
	return nil, fault.Userf("the log of job %q in %s has no checkpoint %d", f.Job, f.Own.dir, id).WithHint("%s", f.choices())
}

// choices says what a person can name.
func (f Finder) choices() string {
	var list []string
	for _, r := range f.Own.retained {
		list = append(list, fmt.Sprintf("%d (%s, %s)", r.ID, r.Time.UTC().Format("2006-01-02 15:04:05Z"), f.Own.Path(r)))
	}
	if len(list) == 0 {
		return "name the file of a checkpoint's entry (<checkpoints>/<job>/log/<number>) or the folder of a job's log; this job's log has no checkpoint"
	}
	return "retained by this job: " + strings.Join(list, ", ")
}

// inFolder finds the newest checkpoint of the log that a folder is, or holds.
func (f Finder) inFolder(store fs.FS, p string) (*Restored, error) {
	for _, dir := range []string{p, path.Join(p, "log"), path.Join(p, f.Escaped, "log")} {
		infos, err := store.List(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", p, err)
		}
		for _, i := range infos {
			if !i.Dir && log.Number(i.Name, "") > 0 {
				return f.newest(store, dir)
			}
		}
	}
	return nil, fault.Userf("%s is no folder of a job's log, of a job or of checkpoints", p).WithHint("%s", f.choices())
}

func (f Finder) newest(store fs.FS, dir string) (*Restored, error) {
	s := Open(f.Env, store, dir, Variant{}, f.Log)
	if err := s.Load(); err != nil {
		return nil, f.bad(dir, err)
	}
	if s.newest == nil {
		return nil, fault.Userf("the log %s has no completed checkpoint", dir).WithHint("%s", f.choices())
	}
	return f.ours(dir, s.newest)
}

// entry makes a checkpoint of an entry that was read.
func (f Finder) entry(p string, e log.Entry) (*Restored, error) {
	r := &Restored{N: e.N, Hash: e.SHA256}
	var err error
	switch e.Kind {
	case account.KindComplete:
		err = json.Unmarshal(e.Body, &r.Metadata)
	case account.KindRewind:
		w := &RewindEntry{}
		if err = json.Unmarshal(e.Body, &w.Rewind); err == nil {
			if err = known(w.Version, p); err != nil {
				return nil, err
			}
			if r = w.Restored(); r == nil {
				return nil, fault.Userf("%s is no checkpoint: the job began anew with it", p).WithHint("%s", f.choices())
			}
			r.Rewind = nil // it is one of that log, not of this
		}
	default:
		return nil, fault.Userf("%s is no checkpoint but the entry %q of a log", p, e.Kind).WithHint("%s", f.choices())
	}
	if err != nil {
		return nil, f.bad(p, fault.New(fault.Damage, "its content is no metadata: %w", err))
	}
	if err := known(r.Version, p); err != nil {
		return nil, err
	}
	return f.ours(p, r)
}

// ours refuses another job's checkpoint.
func (f Finder) ours(p string, r *Restored) (*Restored, error) {
	if r.Job != f.Job {
		return nil, fault.Userf("%s is checkpoint %d (%s) of job %q, and this is job %q", p, r.ID, account.Short(r.Hash), r.Job, f.Job).
			WithHint("to go on as that job: SET 'pipeline.name' = '%s'", r.Job)
	}
	c := *r
	c.Rewind = nil
	return &c, nil
}

// Path is the file of the entry that holds a retained checkpoint, with its store, as Find takes it.
func (s *Store) Path(r *Restored) string {
	return fs.URI(s.fs, path.Join(s.dir, strconv.FormatInt(r.at(), 10)))
}
