package commit

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"staunch/account"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// CheckOthers refuses to start when another job's log in the same table covers one of the splits: each of its records would be there twice (two
// copies of a statement file, a renamed one). Other jobs' logs are neither judged nor touched otherwise. With keep the overlap is excused, once and
// for all, by an entry of this log. Certificates that are not done yet count only with undone: a job that was refused behind its first one must not
// keep the other from starting again.
func (t *Table) CheckOthers(splits []string, keep, undone bool) error {
	if t.variant.NoOthers {
		return nil
	}
	base := path.Dir(t.dir)
	dirs, err := t.store.List(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", base, err)
	}
	for _, d := range dirs {
		if !d.Dir || d.Name == path.Base(t.dir) || t.state.Others[d.Name] {
			continue
		}
		st, err := Read(t.env, t.store, path.Join(base, d.Name))
		if err != nil {
			return fmt.Errorf("the log of another job in the table %s: %w", t.root, err)
		}
		theirs := st.Splits
		if !undone {
			theirs = st.doneSplits()
		}
		var both []string
		for _, s := range splits {
			if theirs[s] {
				both = append(both, s)
			}
		}
		if len(both) > 0 && keep {
			k := account.Keep{LogID: t.owner.LogID, Epoch: t.owner.Epoch, Others: []string{d.Name}, Time: t.env.Now().UTC()}
			if err := t.append(account.KindKeep, k, t.stillOurs, log.Fenced); err != nil {
				return err
			}
			continue
		}
		if len(both) > 0 {
			return fault.Userf("table %s already has the records of %s from job %q (log %s): this job would write them again",
				t.root, strings.Join(both, ", "), d.Name, path.Join(base, d.Name)).
				WithHint("was the statement file copied or renamed? Set 'pipeline.name' to that job's id to continue it, write to another table, or, if that job is not to go on or its rows may " +
					"be there twice, excuse the overlap with --on-newer-output keep")
		}
	}
	return nil
}

// Read folds a table's log for looking only.
func Read(e env.Env, store fs.FS, dir string) (*State, error) {
	entries, err := log.Open(e, store, dir, ".staunch").Read()
	if err != nil {
		return nil, err
	}
	st := &State{}
	if err := st.ApplyAll(entries); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return st, nil
}

// CountDirty lists the temporary directory once and counts files that named does not hold: what attempts that have ended left behind. They are
// ignored (P4).
func (t *Table) CountDirty(named map[string]bool) (int64, error) {
	top := path.Join(t.root, account.Temporary)
	n := int64(0)
	cps, err := t.store.List(top)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", top, err)
	}
	for _, c := range cps {
		tasks, err := t.store.List(path.Join(top, c.Name))
		if err != nil || !c.Dir {
			continue // removed meanwhile, or a probe file
		}
		for _, k := range tasks {
			files, err := t.store.List(path.Join(top, c.Name, k.Name))
			if err != nil {
				continue
			}
			for _, f := range files {
				if !named[path.Join(top, c.Name, k.Name, f.Name)] {
					n++
				}
			}
		}
	}
	return n, nil
}
