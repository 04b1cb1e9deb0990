package story

import (
	"io"
	"path"
	"strings"
	"testing"

	"staunch/account"
	"staunch/fs"
	"staunch/trace"
)

// copyTo copies a folder.
func (w *world) copyTo(from, to string) {
	w.t.Helper()
	w.must(w.store.MkdirAll(to))
	below, err := w.store.List(from)
	w.must(err)
	for _, i := range below {
		if i.Dir {
			w.copyTo(path.Join(from, i.Name), path.Join(to, i.Name))
			continue
		}
		r, err := w.store.Open(path.Join(from, i.Name))
		w.must(err)
		b, err := io.ReadAll(r)
		w.must(err)
		w.must(r.Close())
		h, err := w.store.Create(path.Join(to, i.Name))
		w.must(err)
		_, err = h.Write(b)
		w.must(err)
		w.must(h.Close())
	}
}

// TestMovedTable: of a table that was copied or moved as a whole, the files are looked for where it is now, as the audit does, whichever place is asked for.
func TestMovedTable(t *testing.T) {
	w := newWorld(t)
	files := w.write()
	w.must(w.commit())
	const moved = "/archive/lake"
	w.copyTo(root, moved)
	w.must(w.store.Delete(files[0].Final))                                   // it is still in the copy
	w.must(w.store.Delete(moved + strings.TrimPrefix(files[1].Final, root))) // and this one in the old place only
	tb := Table{job, w.store, moved}
	tell := func(q Query) *Story {
		t.Helper()
		q.Task = trace.NoTask
		s, err := Tell(Options{Env: w.env, Stores: oneStore{w.store}, Tables: []Table{tb}, Query: q})
		w.must(err)
		return s
	}
	for _, ask := range []string{files[0].Final, moved + strings.TrimPrefix(files[0].Final, root), strings.TrimPrefix(files[0].Final, root+"/"), path.Base(files[0].Final)} {
		s := tell(Query{Path: ask})
		if len(s.Files) != 1 || s.Files[0].State != Visible || s.Files[0].Now != moved+strings.TrimPrefix(files[0].Final, root) || len(s.Causes) != 0 || s.Nothing() {
			t.Errorf("%s: %+v", ask, s.Files)
		}
		if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, "was written at "+fs.URI(w.store, root)) {
			t.Errorf("%s: %s", ask, notes)
		}
	}
	if s := tell(Query{Prefix: moved + "/dt=1"}); len(s.Files) != 2 {
		t.Errorf("%+v", s.Files)
	}
	if s := tell(Query{Path: files[1].Final}); len(s.Files) != 1 || s.Files[0].State != Gone {
		t.Errorf("%+v", s.Files)
	}
	if s := tell(Query{Record: &Record{"orders-0", 3}}); len(s.Found) != 1 || s.Found[0].State != string(Visible) || !strings.Contains(s.Found[0].Text, moved) {
		t.Errorf("%+v", s.Found)
	}
	n := 0
	w.must(EachFile(w.env, tb, true, func(f *File, _ *account.File) error {
		if n++; (f.State == Visible) != (f.Final == files[0].Final) {
			t.Errorf("%s: %s", f.Final, f.State)
		}
		return nil
	}))
	if n != 2 {
		t.Errorf("%d files", n)
	}
}
