package clean

import (
	"encoding/json"
	"errors"
	"path"
	"strings"

	"staunch/account"
	"staunch/fs"
	"staunch/log"
)

const (
	// temporary is the folder of pending files below a table's root.
	temporary     = account.Temporary
	stagedPrefix  = "staged-"
	archivePrefix = "archive-"
	// randDigits is the length of the random part of names.
	randDigits = 24
)

func isStaged(name string) bool {
	nonce, ok := strings.CutPrefix(name, stagedPrefix)
	return ok && len(nonce) == randDigits && isHex(nonce)
}

// archiveEnd gives the last entry of an archive by its name, archive-<from>-<to>-<rand>.
func archiveEnd(name string) (int64, bool) {
	f := strings.Split(strings.TrimPrefix(name, archivePrefix), "-")
	if len(f) != 3 || len(f[2]) != randDigits || !isHex(f[2]) {
		return 0, false
	}
	from, ok := numbered(f[0], "")
	to, ok2 := numbered(f[1], "")
	return to, ok && ok2 && 0 < from && from <= to
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// walk lists everything below a folder, each folder before what it holds. Symbolic links are not followed.
func (c *cleaner) walk(store fs.FS, top string) ([]Found, error) {
	var out []Found
	var walk func(dir string) error
	walk = func(dir string) error {
		list, err := c.list(store, dir)
		if err != nil {
			return err
		}
		for _, i := range list {
			p := path.Join(dir, i.Name)
			out = append(out, Found{Path: p, Size: i.Size, Modified: i.ModTime, Dir: i.Dir, Symlink: i.Symlink})
			if i.Dir && !i.Symlink {
				if err := walk(p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return out, walk(top)
}

// listLog lists what lies beside the entries of a log with the extension ext.
func (c *cleaner) listLog(store fs.FS, dir, ext string) ([]Found, error) {
	list, err := c.list(store, dir)
	if err != nil {
		return nil, err
	}
	var out []Found
	for _, i := range list {
		if log.Number(i.Name, ext) > 0 {
			continue
		}
		f := Found{Path: path.Join(dir, i.Name), Size: i.Size, Modified: i.ModTime, Dir: i.Dir, Symlink: i.Symlink}
		if isStaged(i.Name) && !i.Dir && !i.Symlink {
			if f.Entry, err = c.writer(store, f.Path); err != nil {
				return nil, err
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// writer reads who wrote a staged entry; nil if the file is gone or cannot be understood, which a kill in the middle of writing explains.
func (c *cleaner) writer(store fs.FS, p string) (w *Writer, err error) {
	var b []byte
	err = c.patient(func() (err error) { b, err = fs.ReadFile(store, p); return err })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := log.Decode(b, p, 0)
	if err != nil {
		return nil, nil
	}
	w = &Writer{}
	if json.Unmarshal(e.Body, w) != nil {
		return nil, nil
	}
	return w, nil
}

// list lists a folder; one that is not there is empty.
func (c *cleaner) list(store fs.FS, dir string) (list []fs.Info, err error) {
	err = c.patient(func() (err error) { list, err = store.List(dir); return err })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}
