package fs

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrUnsupported: the store cannot do what exactly once needs of it (a rename that does not overwrite, durable folders).
var ErrUnsupported = errors.New("the store cannot do this")

// Probe tries in the existing folder dir what exactly once needs, with files whose names begin with name, which must be unique, and removes
// them. It finds missing permissions, a full disk, names that are too long and stores that overwrite before any data is at stake.
// ErrUnsupported, wrapped, says that the store has no such primitive; other errors are the calls' own.
func Probe(f FS, dir, name string) error {
	a, b, c := dir+"/"+name+"-a", dir+"/"+name+"-b", dir+"/"+name+"-c"
	err := probe(f, dir, a, b, c)
	for _, p := range []string{a, b, c} {
		if derr := f.Delete(p); derr != nil && !errors.Is(derr, ErrNotExist) {
			err = errors.Join(err, derr)
		}
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", dir, err)
	}
	return nil
}

// MayMake tries whether folders can be made in the existing folder dir: it makes one, whose name must be unique, and removes it again.
func MayMake(f FS, dir, name string) error {
	p := strings.TrimSuffix(dir, "/") + "/" + name
	if err := f.MkdirAll(p); err != nil {
		return err
	}
	if err := f.DeleteDir(p); err != nil && !errors.Is(err, ErrNotExist) {
		return err
	}
	return nil
}

func probe(f FS, dir, a, b, c string) error {
	for _, p := range []string{a, b} {
		if err := writeProbe(f, p); err != nil {
			return err
		}
	}
	switch _, err := f.Create(a); {
	case err == nil:
		return fmt.Errorf("%w: create overwrote %s", ErrUnsupported, a)
	case !errors.Is(err, ErrExist):
		return err
	}
	switch err := f.Rename(a, b); {
	case err == nil:
		return fmt.Errorf("%w: rename overwrote %s", ErrUnsupported, b)
	case !errors.Is(err, ErrExist) && !errors.Is(err, ErrRefused):
		return err
	}
	if err := f.Rename(a, c); err != nil {
		return err
	}
	got, err := ReadFile(f, c)
	if err == nil && string(got) != a {
		err = fmt.Errorf("%s: %d bytes were written and others (%d) are read back", c, len(a), len(got))
	}
	if err != nil {
		return err
	}
	return f.SyncDir(dir)
}

func writeProbe(f FS, path string) error {
	w, err := f.Create(path)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, path)
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}
