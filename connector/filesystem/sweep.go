package filesystem

import (
	"errors"
	"path"

	"staunch/connector"
	"staunch/fs"
)

// sweep deletes from a task's temporary folder what ended attempts of this job left there, one by one and by exact name: the habit of writers
// before, which emptied the folder, without what made it dangerous. What may go is not decided here. Nothing depends on a delete: one that
// fails is told and left for `staunch clean`.
//
// INV P3: the folder is listed first and the logs are read after that, so that a file of an attempt that has taken over meanwhile is known as
// such.
func (s *sink) sweep(ctx connector.Context, store fs.FS, wait waiter, folder string) {
	var list []fs.Info
	err := wait.through(func() (err error) { list, err = store.List(folder); return err })
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
		return
	}
	var listed, over []string
	for _, i := range list {
		if !i.Dir && !i.Symlink {
			listed = append(listed, path.Join(folder, i.Name))
		}
	}
	if err == nil && len(listed) > 0 {
		over, err = ctx.Leftovers(fs.URI(s.store, s.root), listed, ctx.Stopped)
	}
	deleted := 0
	for _, p := range over {
		derr := wait.through(func() error { return store.Delete(p) })
		if derr != nil && !errors.Is(derr, fs.ErrNotExist) {
			err = errors.Join(err, derr)
			continue
		}
		deleted++
	}
	if deleted > 0 {
		ctx.Log.Info("files of ended attempts were deleted before the first write", "table", s.name, "folder", folder, "files", deleted)
	}
	if err != nil {
		ctx.Log.Warn("could not clean up before the first write; nothing depends on it", "table", s.name, "folder", folder, "error", err)
	}
}
