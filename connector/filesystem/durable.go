package filesystem

import (
	"errors"
	"path"
	"slices"

	"staunch/fs"
)

// durability is what must reach the disk before committables count: the bytes of files, then the names of files and of new folders.
type durability struct {
	files []unsynced
	// synced counts the files at the front that are durable and closed already.
	synced int
	// folders hold new entries.
	folders []string
}

type unsynced struct {
	path   string
	handle fs.File
}

// add takes over a file whose bytes were all written. Besides its folder the three above are synced each time, up to the table's: another
// subtask, an ended attempt or the probe may have made them and not have lived to sync them.
func (d *durability) add(f *file) {
	d.files = append(d.files, unsynced{f.pending, f.handle})
	dir := path.Dir(f.pending)
	for range 4 {
		d.folder(dir)
		dir = path.Dir(dir)
	}
}

func (d *durability) folder(dir string) {
	if !slices.Contains(d.folders, dir) {
		d.folders = append(d.folders, dir)
	}
}

func (d *durability) open() int { return len(d.files) - d.synced }

// makeFolder makes dir and notes every folder that got a new entry by it.
func (d *durability) makeFolder(store fs.FS, wait waiter, dir string) error {
	above := dir
	for above != "/" {
		err := wait.through(func() error { _, err := store.Stat(above); return err })
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		above = path.Dir(above)
		d.folder(above)
	}
	return wait.through(func() error { return store.MkdirAll(dir) })
}

// syncSome makes the oldest files durable until n are left.
func (d *durability) syncSome(n int) error {
	for ; d.open() > n; d.synced++ {
		f := &d.files[d.synced]
		// An error leaves the handle open, for abandon.
		if err := f.handle.Sync(); err != nil {
			return classify(err, "sync", f.path)
		}
		if err := f.handle.Close(); err != nil {
			return classify(err, "close", f.path)
		}
		f.handle = nil
	}
	return nil
}

// finish makes all of it durable. It runs beside the writer and touches nothing of it.
func (d *durability) finish(store fs.FS, wait waiter) error {
	if err := d.syncSome(0); err != nil {
		d.abandon()
		return err
	}
	for _, dir := range d.folders {
		if err := wait.through(func() error { return store.SyncDir(dir) }); err != nil {
			return classify(err, "sync folder", dir)
		}
	}
	return nil
}

// abandon gives up what is open.
func (d *durability) abandon() {
	for _, f := range d.files {
		if f.handle != nil {
			fs.GiveUp(f.handle)
		}
	}
}
