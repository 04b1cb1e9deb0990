package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"staunch/account"
	"staunch/commit"
	"staunch/fault"
	"staunch/fs"
)

// Unnamed is a file that readers of a table see and no log of the table names.
type Unnamed struct {
	Path string
	Size int64
	// Link: it is a symbolic link. Ours: it has a name that only Staunch gives.
	Link, Ours bool
}

// ListUnnamed finds them all, in order of path; lines reports whether the table's own files are lines of JSON. A log that cannot be read is an error of class Damage: what it names is not known.
func ListUnnamed(ctx context.Context, store fs.FS, root, success string) (list []Unnamed, lines bool, err error) {
	x := &files{ctx: ctx, store: store, root: path.Clean(root), exts: map[string]bool{}}
	w := &walker{files: x, named: names{}, exts: x.exts, success: cmp.Or(success, "_SUCCESS"), seen: map[string]bool{}, all: true}
	logs := path.Join(x.root, "_staunch")
	dirs, err := store.List(logs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("list %s: %w", logs, err)
	}
	var histories []*history
	for _, d := range dirs {
		if d.Dir {
			histories = append(histories, &history{ctx: ctx, store: store, dir: path.Join(logs, d.Name)})
		}
	}
	read := func() error {
		for _, h := range histories {
			var bad error
			h.visit = func(it item) {
				if it.entry == nil {
					bad = cmp.Or(bad, error(fault.New(fault.Damage, "log %s: %s", h.dir, it.what)))
					return
				}
				bad = cmp.Or(bad, w.name(it.entry.Kind, it.entry.Body))
			}
			err := h.read()
			if err := errors.Join(err, bad); err != nil {
				return err
			}
		}
		return nil
	}
	// A certificate stands before its files become visible: what the logs name after the walk covers all that was seen.
	for _, step := range []func() error{read, func() error { return w.walk("") }, read} {
		if err := step(); err != nil {
			return nil, false, err
		}
	}
	w.drop()
	for _, f := range w.foreign {
		list = append(list, Unnamed{Path: f.path, Size: f.size, Link: !f.plain, Ours: ours(f.path)})
	}
	slices.SortFunc(list, func(a, b Unnamed) int { return cmp.Compare(a.Path, b.Path) })
	return list, w.exts[".json"], nil
}

// name takes in what one entry names.
func (w *walker) name(kind string, body []byte) error {
	switch kind {
	case account.KindCertificate:
		var c account.Certificate
		if err := json.Unmarshal(body, &c); err != nil {
			return fault.New(fault.Damage, "a certificate: %w", err)
		}
		for i := range c.Files {
			if p, ok := w.files.inside(&c.Files[i], c.Files[i].Final); ok {
				w.named.add(p)
				w.exts[path.Ext(p)] = true
			}
		}
	case account.KindAmend:
		var a account.Amend
		if err := json.Unmarshal(body, &a); err != nil {
			return fault.New(fault.Damage, "an amend: %w", err)
		}
		for i := range a.Added {
			w.named.add(w.files.now(a.Added[i].Final))
		}
	}
	return nil
}

// MeasureOld is Measure for a file that another program wrote, whatever its name: what it holds is found by its bytes. Rows are -1 if they cannot be
// counted.
func MeasureOld(ctx context.Context, store fs.FS, p string, lines bool) (m Measured, err error) {
	r, err := store.Open(p)
	if err != nil {
		return m, fmt.Errorf("read %s: %w", p, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	x := &files{ctx: ctx, store: store}
	m.Length, m.Rows = r.Size(), -1
	count := isLines(p) || lines && !isParquet(p)
	var n int64
	if m.Sums, n, err = x.hash(r, count, true); err != nil {
		return m, fmt.Errorf("read %s: %w", p, err)
	}
	foot, err := readFooter(r)
	switch {
	case err == nil:
		m.Rows = foot.rows
		m.Offsets, err = foot.offsets()
		return m, err
	case isParquet(p) && fault.ClassOf(err) == fault.Damage:
		return m, fault.Userf("%s is no Parquet file, whatever its name says: %w", p, err)
	case fault.ClassOf(err) != fault.Damage:
		return m, fmt.Errorf("read %s: %w", p, err)
	case count:
		m.Rows = n
	}
	return m, nil
}

// Jobs are the jobs that have a log in the table at root.
func Jobs(store fs.FS, root string) (jobs []string, err error) {
	dirs, err := store.List(path.Join(path.Clean(root), "_staunch"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range dirs {
		if job, ok := commit.Unescape(d.Name); ok && d.Dir {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}
