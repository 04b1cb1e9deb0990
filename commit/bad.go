package commit

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"staunch/account"
	"staunch/fs"
)

// What stands here is done by variants of the protocol only, as other tools do it; see Variant.

// moveFolders makes visible whatever lies in the folders of the files.
func (t *Table) moveFolders(files []account.File) {
	named := map[string]bool{}
	for i := range files {
		named[files[i].Pending] = true
	}
	seen := map[string]bool{}
	for i := range files {
		from, to := path.Dir(files[i].Pending), path.Dir(files[i].Final)
		if seen[from] {
			continue
		}
		seen[from] = true
		list, err := t.store.List(from)
		if err != nil {
			continue
		}
		for _, x := range list {
			if p := path.Join(from, x.Name); !named[p] && strings.HasSuffix(x.Name, ".pending") {
				_ = t.store.Rename(p, path.Join(to, strings.TrimSuffix(x.Name, ".pending"))) // what fails stays
			}
		}
	}
}

// copy makes a file visible in two writes and removes the original.
func (t *Table) copy(from, to string) error {
	data, err := fs.ReadFile(t.store, from)
	if err != nil {
		return err
	}
	f, err := t.store.Create(to)
	if err != nil {
		return err
	}
	_, err = f.Write(data[:len(data)/2])
	if err == nil {
		_, err = f.Write(data[len(data)/2:])
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = t.store.Delete(from)
	}
	return err
}

// Discard empties and removes the temporary folder of a checkpoint that was given up.
func (t *Table) Discard(id account.CheckpointID) {
	top := path.Join(t.root, account.Temporary, fmt.Sprintf("cp-%d", id))
	tasks, err := t.store.List(top)
	if err != nil {
		return
	}
	for _, k := range tasks {
		dir := path.Join(top, k.Name)
		files, err := t.store.List(dir)
		if err != nil {
			continue
		}
		for _, x := range files {
			_ = t.store.Delete(path.Join(dir, x.Name)) // what fails stays
		}
		_ = t.store.DeleteDir(dir)
	}
	_ = t.store.DeleteDir(top)
}
