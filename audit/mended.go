package audit

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/fs"
	"staunch/log"
)

// expected is what may stand in a file's final place: the file, or a replacement that a repair of it names.
type expected struct {
	file    *account.File
	repairs []commit.Repairing
}

func (j *judge) expect(c *certificate, f *account.File) expected {
	return expected{f, j.past.mended.Repairs(c.hash, f.Final)}
}

// seen is what stands in a place: as the certificate says (no problem), as a repair says, or else the problem.
type seen struct {
	repair  *commit.Repairing
	problem *Problem
	// sums of what was read, none if contents are not compared.
	sums account.Sums
}

func (s seen) missing() bool { return s.problem != nil && s.problem.Kind == FileMissing }

// length is that of the file that counts.
func (s seen) length(f *account.File) int64 {
	if s.repair != nil {
		return s.repair.Length
	}
	return f.Length
}

// look compares what stands at the final place with all that may.
func (x *files) look(e expected, final string) (seen, error) {
	var contradicts *Problem
	for i := range e.repairs {
		r := &e.repairs[i]
		f := *e.file
		f.Length, f.Sums, f.Rows = r.Length, r.Sums, r.Rows
		sums, p, err := x.compare(&f, final)
		if err != nil {
			return seen{}, err
		}
		if p == nil && r.Rows != e.file.Rows {
			p = &Problem{Kind: FileFooter, What: fmt.Sprintf("the replacement of entry %d has %d rows, and the lost file had %d", r.N, r.Rows, e.file.Rows), ToDo: doctored}
		}
		if p == nil {
			return seen{repair: r, sums: sums}, nil
		}
		if p.Kind == FileFooter { // it is this replacement
			contradicts = p
		}
	}
	sums, p, err := x.compare(e.file, final)
	if err == nil && p != nil && p.Kind == FileChanged && contradicts != nil {
		p = contradicts
	}
	return seen{problem: p, sums: sums}, err
}

// by names who did something and when.
func by(who string, at time.Time) string {
	if who == "" {
		who = "somebody"
	}
	return who + " " + at.UTC().Format("2006-01-02 15:04:05Z")
}

// repaired notes that a replacement stands for f; r is nil if none does.
func (j *judge) repaired(c *certificate, f *account.File, final string, r *commit.Repairing) {
	if r == nil {
		return
	}
	if len(j.rep.Repairs) == maxListed {
		j.rep.More++
		return
	}
	j.rep.Repairs = append(j.rep.Repairs, Repaired{Path: final, Checkpoint: c.Checkpoint, Rows: f.Rows, Offsets: offsetsOf(f.Offsets), Who: by(r.Who, r.Time), Why: r.Why, Entry: r.N})
}

// staged are the replacements that repairs of f staged, each of which might still be placed.
func (j *judge) staged(c *certificate, f *account.File) (list []string) {
	for _, r := range j.past.mended.Repairs(c.hash, f.Final) {
		list = append(list, r.Staged)
	}
	return list
}

// repairing names the newest repair of a file whose replacement is not in its place, "" if none was begun.
func (j *judge) repairing(c *certificate, f *account.File) string {
	list := j.past.mended.Repairs(c.hash, f.Final)
	if len(list) == 0 {
		return ""
	}
	r := list[len(list)-1]
	return fmt.Sprintf("%s began to repair it (entry %d)", by(r.Who, r.Time), r.N)
}

// tellLost reports the files of c that are in neither place and that nobody accepted. The id to accept them by covers them all.
func (j *judge) tellLost(c *certificate) {
	if len(c.lost) == 0 {
		return
	}
	id := commit.LossID(c.Checkpoint, c.hash, c.lost)
	for i := range c.lost {
		f, l := &c.lost[i], c.losses[i]
		p := Problem{Kind: FileLost, What: fmt.Sprintf("the file is in neither place; %s missing", rowsOf(f)), Path: l.Path, Offsets: l.Offsets,
			ToDo: "find out what removed it (it was written as " + f.Pending + "), and get its rows back with --repair; to go on without them: --accept-lost " + id}
		if l.Repairing != "" {
			p.What += "; " + l.Repairing + ", and its replacement is not in its place"
			p.ToDo = "run the repair again; if it is running, wait for it"
		}
		j.found(c, p)
	}
	c.lost, c.losses = nil, nil
}

// repair checks a repair entry by itself; its file is judged with the certificate's.
func (j *judge) repair(e *log.Entry, r *account.Repair) {
	if j.past.mended.Removed[r.Final] > 0 {
		j.replaced[r.Final] = append(j.replaced[r.Final], r.Sums)
	}
	stands := slices.ContainsFunc(j.line, func(c account.ChainEnd) bool { return c.Certificate == r.Certificate })
	switch n := j.past.mended.Superseded[r.Certificate]; {
	case n > 0 && n < e.N:
		j.at(e, Order, doctored, "a repair of checkpoint %d stands behind entry %d, which takes that back", r.Checkpoint, n)
	case !stands && n == 0 && !j.holes:
		j.at(e, ChainBroken, doctored, "a repair of checkpoint %d names certificate %s, which does not stand before it", r.Checkpoint, account.Short(r.Certificate))
	case !j.holes && !j.named.has(j.files.now(r.Final)):
		j.at(e, ChainBroken, doctored, "a repair names %s, which is no file of a certificate before it", r.Final)
	}
}

// amend checks an amend entry by itself and remembers what it put into the table.
func (j *judge) amend(e *log.Entry, a *account.Amend) {
	j.doubt(e.N, a)
	for _, p := range a.Removed {
		if !j.holes && !j.named.has(j.files.now(p)) {
			j.at(e, ChainBroken, doctored, "an amend takes out %s, which is no file of an entry before it", p)
		}
	}
	for i := range a.Added {
		p := j.files.now(a.Added[i].Final)
		if !strings.HasPrefix(p, j.files.root+"/") || path.Clean(p) != p {
			j.at(e, FileOutside, doctored, "an amend adds %s, which is outside the table", p)
			continue
		}
		j.named.add(p)
		j.files.exts[path.Ext(p)] = true
		if len(a.Removed) == 0 {
			j.adopted(&a.Added[i])
		}
	}
	if len(a.Removed) == 0 {
		j.rep.note(fmt.Sprintf("entry %d: %s adopted %s that stood in the table before (%s): that they stay as they are is proven, where their rows came from is not", e.N, by(a.Who, a.Time),
			account.Plural(int64(len(a.Added)), "file", "files"), a.Why))
		return
	}
	j.rep.RowsAmended += a.RowsRemoved
	j.rep.note(fmt.Sprintf("entry %d: %s amended the table: %s out, %s in, %d rows less (%s)", e.N, by(a.Who, a.Time), account.Plural(int64(len(a.Removed)), "file", "files"),
		account.Plural(int64(len(a.Added)), "file", "files"), a.RowsRemoved, a.Why))
}

// adopted takes in a file that stood in the table before the job. Its partition may have a success file.
func (j *judge) adopted(f *account.File) {
	j.rep.Adopted++
	j.rep.AdoptedRows += f.Rows
	j.parts[f.Partition] = j.parts[f.Partition]
}

// amended judges a file that amend n took out of the table.
func (x *files) amended(j *judge, c *certificate, f *account.File, final string, v account.Verdict, n int64) error {
	if v == account.Lost {
		placed, err := x.placed(j, c, f)
		if err != nil {
			return err
		}
		if !placed { // an amend does not make a loss undone
			x.lost(j, c, f, final)
		}
	}
	if _, again := j.past.mended.Added[f.Final]; again {
		return nil // judged with those that were added
	}
	_, err := x.store.Stat(final)
	switch {
	case err == nil:
		j.found(c, Problem{Kind: FileAmended, What: fmt.Sprintf("the file was taken out of the table on purpose (amend, entry %d), and it is there: its rows may be there twice", n),
			Path: final, Offsets: offsetsOf(f.Offsets), ToDo: "find out who put it back, and move it out of the table"})
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for %s: %w", final, err)
	}
	return nil
}

// placed reports whether a repair of f was finished: its staged replacement is not where it was.
func (x *files) placed(j *judge, c *certificate, f *account.File) (bool, error) {
	for _, p := range j.staged(c, f) {
		at, ok := x.inside(f, p)
		if !ok {
			return true, nil
		}
		_, err := x.store.Stat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", at, err)
		}
	}
	return false, nil
}

// added judges the files that amends put into the table.
func (j *judge) added() error {
	void := j.voids()
	for _, final := range slices.Sorted(maps.Keys(j.past.mended.Added)) {
		f := j.past.mended.Added[final]
		at := j.files.now(final)
		if counts, err := j.voided(void, final, at); err != nil || !counts {
			if err != nil {
				return err
			}
			continue
		}
		sums, p, err := j.files.compare(&f, at)
		if err != nil {
			return err
		}
		if p != nil {
			p.Path, p.Offsets = at, offsetsOf(f.Offsets)
			j.rep.problem(*p)
			if p.Kind == FileMissing {
				continue
			}
		}
		if Unseen(strings.TrimPrefix(at, j.files.root+"/")) {
			j.rep.problem(Problem{Kind: FileOutside, What: "an amend added a file that readers of the table pass over, by its name: its rows are not in the table", Path: at,
				Offsets: offsetsOf(f.Offsets), ToDo: "give it a name without '_' or '.' in front, and record that (staunch amend)"})
		}
		if d, ok := j.doubts[final]; ok {
			d.Path = at
			j.rep.problem(d)
		}
		j.counted[final] = true
		j.files.export.file(j, nil, &f, at, seen{sums: sums})
		j.rep.Files++
		j.rep.Bytes += f.Length
		j.rep.Rows += f.Rows
	}
	return nil
}
