package drill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
)

// model is a small job that commits files in two phases: rows are written to pending files and closed, a checkpoint that names them is
// placed, then they are renamed. Each bug is one that was found in a system in use.
type model struct {
	bug   bug
	inner fs.Resolver
	// per is the rows of a file, files those of a checkpoint, last the number of checkpoints.
	per, files, last int
}

type bug string

const (
	// none: right.
	right bug = ""
	// folderTested: a rename that fails is taken for done if the target's folder is there.
	folderTested bug = "folder tested instead of file"
	// missingMeansDone: a source that is missing was renamed, whether the target is there or not.
	missingMeansDone bug = "missing and missing taken as done"
	// overwritten: names number the files of a process and begin anew with it, and a rename replaces a target that is there.
	overwritten bug = "target overwritten"
	// copied: a target that is there is left, and the file goes beside it under a name of its own.
	copied bug = "renamed to a copy"
	// laterCommitted: a checkpoint whose commit failed is left to nobody, and later ones are committed.
	laterCommitted bug = "later states committed although an earlier is not"
	// deletedFirst: before its first file an attempt empties the temporary folder by one delete of the folder, which the store carries out when it likes.
	deletedFirst bug = "temporary folder deleted before writing"
)

// killed is what the death of a process looks like in a test.
type killed struct{}

// state is the model's checkpoint.
type state struct {
	ID    int      `json:"id"`
	Next  int      `json:"next"` // row
	Files []string `json:"files"`
	To    []string `json:"to"`
	Done  bool     `json:"done"`
}

// life is one process of the model.
type life struct {
	*model
	w         *World
	o         Orders
	f         fs.FS
	root, dir string
	n         int // of this life
	seq       int // of its next file
}

// Live implements Subject.
func (m *model) Live(_ context.Context, o Orders, n int) (end End, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			end = End{Killed: true}
		}
	}()
	w, err := Open(o, n, m.inner, func() { panic(killed{}) })
	if err != nil {
		return end, err
	}
	l := &life{model: m, w: w, o: o, n: n}
	if l.f, l.root, err = w.Resolve(o.Places.Tables[0].URI); err != nil {
		return end, err
	}
	if _, l.dir, err = w.Resolve(o.Places.Checkpoints); err != nil {
		return end, err
	}
	if err := l.run(); err != nil {
		return End{Class: fault.ClassOf(err).String(), Error: err.Error()}, w.Close()
	}
	return End{Finished: true}, w.Close()
}

// again repeats a call while the store does not answer.
func again(call func() error) (err error) {
	for range 5 {
		if err = call(); !errors.Is(err, fs.ErrUnavailable) {
			return err
		}
	}
	return err
}

// run is the job.
func (l *life) run() error {
	if err := again(func() error { return l.f.MkdirAll(l.dir) }); err != nil {
		return err
	}
	st, err := l.restore()
	if err != nil {
		return err
	}
	if st.ID > 0 && !st.Done {
		if err := l.commit(st); err != nil {
			return err
		}
	}
	for st.ID < l.last {
		if st, err = l.checkpoint(st); err != nil {
			return err
		}
		if err = l.commit(st); err != nil && l.bug != laterCommitted { // with the bug somebody else will see to it
			return err
		}
	}
	return nil
}

// restore reads the newest checkpoint.
func (l *life) restore() (st state, err error) {
	var infos []fs.Info
	if err := again(func() (err error) { infos, err = l.f.List(l.dir); return err }); err != nil {
		return st, err
	}
	for _, i := range infos {
		var x state
		var b []byte
		if !strings.HasPrefix(i.Name, "chk-") {
			continue
		}
		if err := again(func() (err error) { b, err = fs.ReadFile(l.f, path.Join(l.dir, i.Name)); return err }); err != nil {
			return st, err
		}
		if err := json.Unmarshal(b, &x); err != nil {
			return st, err
		}
		if x.ID >= st.ID {
			st.ID, st.Next = x.ID, x.Next
			st.Files, st.To, st.Done = x.Files, x.To, false
		}
	}
	return st, nil
}

// checkpoint writes the next files and places the state that names them.
func (l *life) checkpoint(before state) (state, error) {
	st := state{ID: before.ID + 1, Next: before.Next}
	temp := path.Join(l.root, "_DUMP_TEMPORARY", fmt.Sprintf("cp-%d", st.ID))
	if l.bug == deletedFirst {
		if err := l.emptyFolder(temp); err != nil {
			return st, err
		}
	}
	if err := again(func() error { return l.f.MkdirAll(temp) }); err != nil {
		return st, err
	}
	for i := range l.files {
		var b bytes.Buffer
		for range l.per {
			fmt.Fprintf(&b, "{\"row\":%d}\n", st.Next)
			st.Next++
		}
		name := fmt.Sprintf("part-%d-%d-%d", st.ID, i, l.n)
		switch l.bug {
		case overwritten:
			name = fmt.Sprintf("part-%d", l.seq)
			l.seq++
		case deletedFirst:
			name = fmt.Sprintf("part-%d-%d", st.ID, i)
		}
		p := path.Join(temp, name+".pending")
		if err := l.write(p, b.Bytes()); err != nil {
			return st, err
		}
		st.Files, st.To = append(st.Files, p), append(st.To, path.Join(l.root, fmt.Sprintf("%s.json", name)))
	}
	b, err := json.Marshal(st)
	if err != nil {
		return st, err
	}
	tmp := path.Join(l.dir, fmt.Sprintf("tmp-%d-%d", st.ID, l.n))
	if err := l.write(tmp, b); err != nil {
		return st, err
	}
	to := path.Join(l.dir, fmt.Sprintf("chk-%d", st.ID))
	err = l.f.Rename(tmp, to)
	if err != nil {
		if _, gone := l.f.Stat(tmp); errors.Is(gone, fs.ErrNotExist) {
			err = nil // unique name: it was placed
		}
	}
	return st, err
}

// emptyFolder is the delete of a folder by one call of the store's, as old writers do it: late or not, it takes what is there then. A store of
// this package has no such call, so that its parts come one by one.
func (l *life) emptyFolder(dir string) error {
	infos, err := l.f.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		infos, err = nil, nil
	}
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, i := range infos {
		names[i.Name] = true
	}
	for i := range l.files { // whatever an earlier attempt can have left
		names[fmt.Sprintf("part-%s-%d.pending", strings.TrimPrefix(path.Base(dir), "cp-"), i)] = true
	}
	for n := range names {
		if err := l.f.Delete(path.Join(dir, n)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrUnavailable) {
			return err
		}
	}
	return nil
}

// write writes a file under a name that nobody else has; a retry takes another attempt.
func (l *life) write(p string, b []byte) error {
	f, err := l.f.Create(p)
	if errors.Is(err, fs.ErrExist) { // of an attempt that died
		if err := l.f.Delete(p); err != nil {
			return err
		}
		f, err = l.f.Create(p)
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Sync(), f.Close())
}

// commit renames the files of a checkpoint.
func (l *life) commit(st state) error {
	for i, src := range st.Files {
		if err := l.rename(src, st.To[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *life) rename(src, dst string) error {
	if l.bug == copied {
		return l.copy(src, dst)
	}
	for try := 0; ; try++ {
		if _, err := l.f.Stat(src); l.bug == overwritten && err == nil { // a store of this package has no rename that replaces
			if err := l.f.Delete(dst); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrUnavailable) {
				return err
			}
		}
		err := l.f.Rename(src, dst)
		if err == nil {
			return nil
		}
		done, jerr := l.judge(src, dst, err)
		if jerr != nil || done {
			return jerr
		}
		if try == 5 || l.bug == laterCommitted {
			return err
		}
	}
}

// copy stands for a rename: beside a target that is there already it puts another.
func (l *life) copy(src, dst string) error {
	b, err := fs.ReadFile(l.f, src)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // copied and removed
	}
	if err != nil {
		return err
	}
	if _, err := l.f.Stat(dst); err == nil {
		dst = strings.TrimSuffix(dst, ".json") + fmt.Sprintf("_copy_%d.json", l.n)
	}
	if err := l.write(dst, b); err != nil {
		return err
	}
	if err := l.f.Delete(src); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// judge says whether a rename that was not answered by success is done.
func (l *life) judge(src, dst string, err error) (bool, error) {
	there := func(p string) (bool, error) {
		_, err := l.f.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	switch l.bug {
	case folderTested:
		return there(path.Dir(dst))
	}
	s, err := there(src)
	if err != nil || s {
		return false, err
	}
	if l.bug == missingMeansDone {
		return true, nil
	}
	d, err := there(dst)
	if err != nil || d {
		return d, err
	}
	return false, fault.Lostf("%s is in neither place", src)
}

// inMemory resolves all paths to one store.
type inMemory struct{ f fs.FS }

func (m inMemory) Resolve(uri string) (fs.FS, string, error) { return m.f, uri, nil }

// drillModel runs a drill of a model.
func drillModel(t *testing.T, b bug) *Report {
	t.Helper()
	return drillModelWith(t, b, func(*Drill) {})
}

func drillModelWith(t *testing.T, b bug, change func(*Drill)) *Report {
	t.Helper()
	stores := inMemory{mem.New().Client("model")}
	d := &Drill{Subject: &model{bug: b, inner: stores, per: 3, files: 2, last: 4}, Stores: stores, Scratch: "/lake/scratch", Control: t.TempDir(),
		Tables: []Table{{Name: "t", URI: "/lake/t", Ext: "json", Success: "_SUCCESS"}}, Parallel: 2}
	change(d)
	rep, err := d.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestModels(t *testing.T) {
	for _, c := range []struct {
		bug   bug
		found []Verdict
	}{
		{right, nil},
		{folderTested, []Verdict{Lost}},
		{missingMeansDone, []Verdict{Lost}},
		{overwritten, []Verdict{Lost}},
		{copied, []Verdict{Doubled}},
		{laterCommitted, []Verdict{Lost}},
		{deletedFirst, []Verdict{Lost}},
	} {
		t.Run(cmp.Or(string(c.bug), "right"), func(t *testing.T) {
			t.Parallel()
			rep := drillModel(t, c.bug)
			n := rep.Count()
			t.Logf("%d steps, %d runs: %v", rep.Steps, len(rep.Runs), n)
			for _, r := range rep.Runs {
				if r.Verdict.Bad() { // the plainest that shows it
					t.Logf("%s (%d of %d), %s: %d rows of %d visible, %d lost, %d doubled: %s", r.Step, r.Nth, r.Of, r.Fault, r.Rows, rep.Undisturbed.Rows, r.Lost, r.Doubled, r.Verdict)
					break
				}
			}
			if c.bug == right && rep.Bad() > 0 {
				for _, r := range rep.Runs {
					if r.Verdict.Bad() {
						t.Errorf("%s, %s: %s %+v %s", r.Step, r.Fault, r.Verdict, r.Sight, r.Error)
					}
				}
			}
			for _, v := range c.found {
				if n[v] == 0 {
					t.Errorf("no run says %s", v)
				}
			}
			if n[Held] == 0 || n[NotReached] > len(rep.Runs)/10 {
				t.Errorf("%v: a model that never holds, or is hardly tried", n)
			}
		})
	}
}
