package drill

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"staunch/fault"
	"staunch/fs"
)

// LogFile is where the processes of a run write what they have to say.
func LogFile(o Orders) string { return filepath.Join(o.Control, "job.log") }

// makeScratch makes the drill's folder, which must be new: everything in it will be removed.
func makeScratch(stores fs.Resolver, uri string) error {
	f, p, err := stores.Resolve(uri)
	if err != nil {
		return err
	}
	if _, err := f.Stat(p); err == nil {
		return fault.Userf("%s is there already: the drill needs a folder of its own", uri).WithHint("name one that does not exist with --scratch")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("scratch folder: %w", err)
	}
	if err := f.MkdirAll(p); err != nil {
		return fault.Userf("scratch folder: %w", err).WithHint("name a folder on the same store that you may make with --scratch")
	}
	return nil
}

// removeTree removes a folder of the drill by exact names: each file, then each empty folder. One that is missing is no error.
func removeTree(stores fs.Resolver, uri string) error {
	f, p, err := stores.Resolve(uri)
	if err != nil {
		return err
	}
	if err := remove(f, p); err != nil {
		return fmt.Errorf("remove %s: %w", uri, err)
	}
	return nil
}

func remove(f fs.FS, dir string) error {
	infos, err := f.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, i := range infos {
		p := path.Join(dir, i.Name)
		if i.Dir && !i.Symlink {
			errs = append(errs, remove(f, p))
		} else if err := f.Delete(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	if err := f.DeleteDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
