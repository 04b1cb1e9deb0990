package filesystem

import (
	"errors"
	"path"
	"slices"
	"sync"

	"staunch/env"
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
		if err := d.files[d.synced].sync(); err != nil {
			return err
		}
	}
	return nil
}

// sync makes the file durable and closes it. An error leaves the handle open, for abandon.
func (u *unsynced) sync() error {
	if err := u.handle.Sync(); err != nil {
		return classify(err, "sync", u.path)
	}
	if err := u.handle.Close(); err != nil {
		return classify(err, "close", u.path)
	}
	u.handle = nil
	return nil
}

// syncs is how many files are made durable at once. Each waits for the store's disks, on HDFS for those of several nodes in a row (30 ms here),
// while this process has nothing to do.
const syncs = 8

// syncAll makes all files durable.
func (d *durability) syncAll(e env.Env) error {
	left := d.files[d.synced:]
	workers := min(len(left), syncs)
	if workers < 2 {
		return d.syncSome(0)
	}
	var (
		mu     sync.Mutex
		next   int
		first  error
		active = workers
		done   = e.NewSignal()
	)
	// ended takes note of a file's error, and gives the next file or nil.
	ended := func(err error) *unsynced {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		if first != nil || next == len(left) {
			return nil
		}
		next++
		return &left[next-1]
	}
	work := func() {
		for u := ended(nil); u != nil; {
			u = ended(u.sync())
		}
		mu.Lock()
		active--
		last := active == 0
		mu.Unlock()
		if last {
			done.Notify()
		}
	}
	for range workers - 1 {
		e.Go("sync files", work)
	}
	work()
	done.Wait(-1) // after an error too: nobody uses a handle any more when abandon does
	if first == nil {
		d.synced = len(d.files)
	}
	return first
}

// finish makes all of it durable. It runs beside the writer and touches nothing of it.
func (d *durability) finish(store fs.FS, wait waiter) error {
	if err := d.syncAll(wait.env); err != nil {
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
