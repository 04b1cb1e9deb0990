package audit

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"staunch/account"
	"staunch/fault"
	"staunch/fs"
)

// foreign is a file that readers of the table see and no certificate named when it was found.
type foreign struct {
	path    string
	size    int64
	plain   bool
	sums    account.Sums
	offsets []account.Offsets
	// copyOf is the committed file that has the same content.
	copyOf string
}

// walker finds what stands in the table: files that nobody named, and success files.
type walker struct {
	files *files
	named names
	exts  map[string]bool
	// success is the name of success files.
	success string
	// parts are the partitions of all logs, see judge.parts.
	parts   map[string]bool
	seen    map[string]bool
	foreign []*foreign
	// older: a version without certificates wrote to the table as well; what it wrote is not proven.
	older bool
	// more foreign files were found than are kept.
	more int64
	// all foreign files are kept, however many.
	all bool
}

// walk looks into one folder and those below it. rel is its path below the root.
func (w *walker) walk(rel string) error {
	if err := w.files.ctx.Err(); err != nil {
		return err
	}
	dir := path.Join(w.files.root, rel)
	infos, err := w.files.store.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, i := range infos {
		p := path.Join(dir, i.Name)
		switch {
		case i.Name == w.success && !i.Dir && rel != "":
			w.seen[rel] = true
		case fs.Hidden(i):
		case i.Dir && !i.Symlink:
			if err := w.walk(path.Join(rel, i.Name)); err != nil {
				return err
			}
		case !w.named.has(p) && (i.Symlink || i.Size > 0 || w.exts[path.Ext(i.Name)]): // readers do not ask for an extension; an empty file of another name may be a sign
			if len(w.foreign) == maxListed*10 && !w.all {
				w.more++
				continue
			}
			w.foreign = append(w.foreign, &foreign{path: p, size: i.Size, plain: !i.Symlink})
		}
	}
	return nil
}

// drop takes out what a certificate named that was written after the log was read first.
func (w *walker) drop() {
	w.foreign = slices.DeleteFunc(w.foreign, func(f *foreign) bool { return w.named.has(f.path) })
}

// describe reads what foreign files say of themselves.
func (w *walker) describe() error {
	for i, f := range w.foreign {
		if !f.plain || i == maxListed {
			continue
		}
		r, err := w.files.store.Open(f.path)
		if errors.Is(err, fs.ErrUnavailable) {
			return fmt.Errorf("read %s: %w", f.path, err)
		}
		if err != nil {
			continue // gone again, or not for us: it is reported in any case
		}
		if isParquet(f.path) {
			foot, ferr := readFooter(r)
			if ferr == nil {
				f.offsets, _ = foot.offsets()
			} else if fault.ClassOf(ferr) != fault.Damage {
				err = ferr
			}
		}
		if !w.files.opts.Fast && err == nil {
			f.sums, _, err = w.files.hash(r, false, true) // both: certificates of earlier builds have SHA-256 alone
		}
		if err = errors.Join(err, r.Close()); err != nil && (errors.Is(err, fs.ErrUnavailable) || w.files.ctx.Err() != nil) {
			return fmt.Errorf("read %s: %w", f.path, err)
		}
	}
	return nil
}

// copies compares the certificate's files with the foreign ones.
func (w *walker) copies(c *account.Certificate, bySum map[account.Sums]*foreign) {
	for i := range c.Files {
		for sum := range c.Files[i].Each() {
			if f := bySum[sum]; f != nil && f.size == c.Files[i].Length {
				f.copyOf = c.Files[i].Final
				f.offsets = c.Files[i].Offsets
			}
		}
	}
}

// report turns what was found into problems.
func (w *walker) report(r *Report, named bool) error {
	old := 0
	for _, f := range w.foreign {
		if w.older && f.copyOf == "" && f.plain && len(f.offsets) == 0 && !ours(f.path) {
			old++
			continue
		}
		p := Problem{Kind: FileForeign, What: "readers of the table see a file that no certificate names", Path: f.path, Offsets: offsetsOf(f.offsets),
			ToDo: "find out who put it there; if it does not belong to the table, move it out"}
		switch {
		case f.copyOf != "":
			p.What = "the file is a copy of " + f.copyOf + ": its rows are there twice"
			p.ToDo = "move it out of the table"
		case !f.plain:
			p.What = "a symbolic link stands among the table's files; readers follow it"
		case len(f.offsets) > 0:
			p.What += "; by its footer Staunch wrote it, and its rows may be there twice"
		}
		r.problem(p)
	}
	if old > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d files that no certificate names: a version without certificates wrote to this table; they are not proven", int64(old)+w.more))
	} else {
		r.More += w.more
	}
	for _, part := range sorted(w.seen) {
		if _, known := w.parts[part]; !known && !w.older {
			r.problem(Problem{Kind: SuccessForeign, What: "a success file stands in a partition that was not committed: readers take it for complete",
				Path: path.Join(w.files.root, part, w.success), ToDo: "find out who wrote it; if the partition is not complete, remove it"})
		}
	}
	for _, part := range sorted(w.parts) {
		if !w.parts[part] || w.seen[part] {
			continue
		}
		dir := path.Join(w.files.root, part)
		if !named {
			other, err := w.otherSign(dir)
			if err != nil {
				return err
			}
			if other != "" {
				r.Notes = append(r.Notes, fmt.Sprintf("partition %s was committed; its sign is taken to be %s", part, other))
				continue
			}
		}
		r.problem(Problem{Kind: SuccessMissing, What: "the partition was committed, and its success file is gone", Path: path.Join(dir, w.success),
			ToDo: "find out who removed it; readers that wait for it do not see the partition as complete"})
	}
	return nil
}

// ours reports whether a file has a name that Staunch gives.
func ours(p string) bool {
	_, ok := account.ParseFileName(path.Base(p))
	return ok
}

// otherSign finds an empty file that is no data file: a success file under another name, when the name is not known.
func (w *walker) otherSign(dir string) (string, error) {
	infos, err := w.files.store.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("list %s: %w", dir, err)
	}
	for _, i := range infos {
		if !i.Dir && !i.Symlink && i.Size == 0 && !w.exts[path.Ext(i.Name)] {
			return i.Name, nil
		}
	}
	return "", nil
}

func sorted(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
