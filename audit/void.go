package audit

import (
	"errors"
	"fmt"
	"slices"

	"staunch/fs"
)

// void says which files of amends hold rows that a rewind took back. They are out with the files that they stand for; one that holds rows of other files
// as well is in the table still, and those rows may be there twice.
type void struct {
	// whole and mixed are such files by final path, with the number of the amend.
	whole, mixed map[string]int64
}

// back notes that a superseded file was amended before.
func (j *judge) back(final string, finished bool) {
	if j.past.mended.Removed[final] == 0 {
		return
	}
	if j.backed == nil {
		j.backed = map[string]bool{}
	}
	j.backed[final] = true
	j.unfinished = j.unfinished || !finished
}

// voids follows the superseded files through the amends.
func (j *judge) voids() void {
	v := void{map[string]int64{}, map[string]int64{}}
	for _, a := range j.past.mended.Amends {
		out := 0
		for _, p := range a.Removed {
			if _, mixed := v.mixed[p]; j.backed[p] || mixed {
				out++
			}
		}
		whole := out == len(a.Removed) && !slices.ContainsFunc(a.Removed, func(p string) bool { return !j.backed[p] })
		for i := range a.Added {
			f := a.Added[i].Final
			switch {
			case out == 0:
			case whole:
				v.whole[f], j.backed[f] = a.N, true
			default:
				v.mixed[f] = a.N
			}
		}
	}
	return v
}

// voided judges a file of an amend that holds rows which a rewind took back. counts is false if the file is out.
func (j *judge) voided(v void, final, at string) (counts bool, err error) {
	n, whole := v.whole[final]
	m, mixed := v.mixed[final]
	if !whole && !mixed {
		return true, nil
	}
	_, err = j.files.store.Stat(at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("look for %s: %w", at, err)
	}
	if err == nil && !j.unfinished {
		j.rep.problem(Problem{Kind: FileSuperseded, What: fmt.Sprintf("the file stands for others (amend, entry %d) that a rewind took back: rows may be there twice", max(n, m)), Path: at,
			ToDo: "move it out of the table, or write it again without them and record that (staunch amend)"})
	}
	return mixed, nil
}
