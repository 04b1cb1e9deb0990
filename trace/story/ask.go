package story

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"staunch/commit"
	"staunch/fault"
	"staunch/fs"
)

// errFound ends a look through a table's log.
var errFound = errors.New("found")

// whole makes the asked path whole, if it is one below a table, as the answers show them, or a file's name alone.
func (t *teller) whole() error {
	q := &t.Query
	if q.Prefix != "" && relative(q.Prefix) && len(t.Tables) > 0 {
		q.Prefix = fs.URI(t.Tables[0].Store, t.Tables[0].Root) + "/" + q.Prefix
	}
	p := strings.TrimRight(path.Clean(q.Path), "/")
	if q.Path == "" || !relative(q.Path) || len(t.Tables) == 0 {
		return nil
	}
	for _, tb := range t.Tables {
		if q.Job != "" && tb.Job != q.Job {
			continue
		}
		at, err := found(t, tb, p)
		if err != nil {
			return err
		}
		if at != "" {
			q.Path = fs.URI(tb.Store, at)
			return nil
		}
	}
	for _, tb := range t.Tables {
		if _, there, _ := exists(tb.Store, tb.Root+"/"+p); there {
			q.Path = fs.URI(tb.Store, tb.Root+"/"+p)
			return nil
		}
	}
	if store, at, err := t.Stores.Resolve(q.Path); err == nil { // from the working directory
		for _, tb := range t.Tables {
			if uri := fs.URI(store, at); below(uri, fs.URI(tb.Store, tb.Root)) {
				q.Path = uri
				return nil
			}
		}
	}
	q.Path = fs.URI(t.Tables[0].Store, t.Tables[0].Root+"/"+p)
	return nil
}

func relative(p string) bool { return !strings.HasPrefix(p, "/") && !strings.Contains(p, "://") }

// found looks through a table's log for a path below the table, or for a file by its name alone, and gives the whole path, "" if there is none.
func found(t *teller, tb Table, p string) (at string, err error) {
	whole := tb.Root + "/" + p
	is := func(was, x string) bool {
		switch {
		case below(x, whole), below(tb.now(was, x), whole):
			at = whole
		case path.Base(x) == p:
			at = x
		}
		return at != ""
	}
	var mended *commit.Mended
	stood := ""
	_, err = commit.History(t.Env, tb.Store, tb.Root, tb.Job, func(c *commit.Recorded) error {
		mended = c.Mended()
		for i := range c.Files {
			was := tb.was(&c.Files[i])
			stood = cmp.Or(was, stood)
			if is(was, c.Files[i].Final) || is(was, c.Files[i].Pending) {
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return at, nil
	}
	if err != nil && fault.ClassOf(err) != fault.Damage { // damage is told later
		return "", err
	}
	if mended != nil {
		for i := range mended.Amends {
			for _, f := range mended.Amends[i].Added {
				if is(stood, f.Final) {
					return at, nil
				}
			}
		}
	}
	return "", nil
}

// Nothing reports whether something in particular was asked for and nothing that was read knows of it.
func (s *Story) Nothing() bool {
	q := &s.Query
	if !q.particular() {
		return false
	}
	for i := range s.Grids {
		if s.Grids[i].Certificate > 0 || len(s.Grids[i].Tasks) > 0 {
			return false
		}
	}
	for i := range s.Found {
		if !s.Found[i].unheard {
			return false
		}
	}
	return len(s.Events)+len(s.Files) == 0
}
