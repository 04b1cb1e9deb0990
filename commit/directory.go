package commit

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/commit/protocol"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// A checkpoint of the directory-based protocol names no files: it names folders, `_DUMP_TEMPORARY/cp-<id>/task-<k>`, and its writers' commit
// moved whatever stood there to `<table>/<partition>/<name>` and removed the folder. Here the folders are listed once, before the certificate;
// the certificate names the files, and from then on everything goes by file (PROTOCOL.md 5).
//
// What a listing cannot tell: a folder that is not there was committed by the version before, or is lost. That is said, never passed over. A file
// that stands there when it is listed is taken for written by the checkpoint's attempt: the writers' rule was to empty the folder before. Only a
// file whose name tells another attempt of this job, as ours do, is known to be none of it.

// settleTries bounds the listings until two are equal.
const settleTries = 20

// fromDirectories fills in the files of a certificate whose checkpoint names folders.
func (t *Table) fromDirectories(cert *account.Certificate) error {
	if len(cert.FromDirectories) == 0 {
		return nil
	}
	var dirs, named []string
	for _, d := range cert.FromDirectories {
		p, err := t.taskFolder(d, cert.Checkpoint)
		if err != nil {
			return err
		}
		if !slices.Contains(dirs, p) {
			dirs, named = append(dirs, p), append(named, strings.TrimPrefix(p, t.root+"/"))
		}
	}
	cert.FromDirectories = named // the caller's is not changed
	l, err := t.settled(dirs)
	if err != nil {
		return err
	}
	for _, f := range l.files {
		n, ok := account.ParseFileName(strings.TrimSuffix(path.Base(f.rel), account.PendingSuffix))
		if ok && (n.Job8 != account.Job8(cert.Job) || n.Epoch != cert.DirectoriesEpoch) {
			l.left = append(l.left, path.Join(f.dir, f.rel))
			continue
		}
		cert.Files = append(cert.Files, t.fileIn(f))
	}
	finals := map[string]string{}
	for _, f := range cert.Files {
		if other, twice := finals[f.Final]; twice { // the second rename would find the first's file and call its own renamed before
			return fault.New(fault.Damage, "checkpoint %d names folders with two files for one place, %s: %s and %s", cert.Checkpoint, f.Final, other, f.Pending).
				WithHint("nothing was moved. Give one of them another name of the same extension, and run the job again")
		}
		finals[f.Final] = f.Pending
	}
	for _, d := range l.missing {
		cert.MissingDirectories = append(cert.MissingDirectories, strings.TrimPrefix(d, t.root+"/"))
	}
	for _, f := range l.left {
		t.slog.Warn("not a data file of the checkpoint: it is left where it is", "table", t.root, "file", f)
	}
	return t.tellMissing(l.missing, cert)
}

// taskFolder gives the place of a folder that a checkpoint names, absolute or below the table's root or its temporary folder. Anything but a
// task's folder of that checkpoint or an earlier one is damage: its files would not be this job's.
func (t *Table) taskFolder(d string, c account.CheckpointID) (string, error) {
	p := d
	if !path.IsAbs(p) {
		p = path.Join(t.root, account.Temporary, strings.TrimPrefix(path.Clean(p), account.Temporary+"/"))
	}
	rel, ok := strings.CutPrefix(path.Clean(p), t.root+"/"+account.Temporary+"/")
	cp, task, two := strings.Cut(rel, "/")
	id, isCp := after(cp, "cp-")
	_, isTask := after(task, "task-")
	if !ok || !two || !isCp || !isTask || id > int64(c) {
		return "", fault.New(fault.Damage, "checkpoint %d names the folder %s, which is no folder of a task below %s", c, d, t.root+"/"+account.Temporary).
			WithHint("the table's 'path' must be the one that the checkpoint was made with")
	}
	return path.Clean(p), nil
}

func after(name, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil && n >= 0
}

// pendingFile is a file below a task's folder.
type pendingFile struct {
	dir, rel string
	size     int64
}

// listing is what stands in the folders.
type listing struct {
	files   []pendingFile
	missing []string
	// left are names that are no data files.
	left []string
}

func (l *listing) equal(m *listing) bool {
	return slices.Equal(l.files, m.files) && slices.Equal(l.missing, m.missing)
}

// settled lists the folders until two listings, a pause apart, are equal: a process of the version before may be at them, and a store's listing
// need not be one moment's.
func (t *Table) settled(dirs []string) (*listing, error) {
	var last *listing
	for range settleTries {
		l := &listing{}
		for _, d := range dirs {
			if err := t.listTask(l, d); err != nil {
				return nil, err
			}
		}
		if last != nil && last.equal(l) {
			return l, nil
		}
		last = l
		env.Sleep(t.env, protocol.SecondLook)
	}
	return nil, fault.New(fault.Transient, "the folders of a checkpoint without file names still change: %s ...", dirs[0]).
		WithHint("is a process of the version before still running? It must be stopped for good before")
}

// listTask adds what stands in one task's folder, with its partitions' folders.
func (t *Table) listTask(l *listing, dir string) error {
	var walk func(rel string) error
	walk = func(rel string) error {
		var list []fs.Info
		at := path.Join(dir, rel)
		err := t.patient(func() (err error) { list, err = t.store.List(at); return err })
		if errors.Is(err, fs.ErrNotExist) {
			if rel == "" {
				l.missing = append(l.missing, dir)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", at, err)
		}
		for _, i := range list {
			p := path.Join(rel, i.Name)
			switch {
			case i.Symlink || fs.Hidden(i):
				l.left = append(l.left, path.Join(dir, p))
			case i.Dir:
				if err := walk(p); err != nil {
					return err
				}
			default:
				l.files = append(l.files, pendingFile{dir, p, i.Size})
			}
		}
		return nil
	}
	return walk("")
}

// fileIn makes the committable of a file in a task's folder: it goes to the same path below the table's root.
func (t *Table) fileIn(f pendingFile) account.File {
	out := account.File{Pending: path.Join(f.dir, f.rel), Final: path.Join(t.root, strings.TrimSuffix(f.rel, account.PendingSuffix)), Length: f.size}
	if d := path.Dir(f.rel); d != "." {
		out.Partition = d
	}
	return out
}

// tellMissing warns of each folder that is not there, with what the table's visible files tell of it.
func (t *Table) tellMissing(missing []string, cert *account.Certificate) error {
	if len(missing) == 0 {
		return nil
	}
	found, whole, err := t.visibleOf(missing, cert.Job)
	if err != nil {
		return err
	}
	for _, d := range missing {
		seen := "no visible file's name tells of it"
		switch {
		case found[d] > 0:
			seen = fmt.Sprintf("%d visible files have this task and checkpoint in their names: it was committed", found[d])
		case !whole:
			seen = "the table has too many folders to look for its files"
		}
		t.slog.Warn("a folder that the checkpoint names is not there: the version before has committed and removed it, or its files are lost", "table", t.root,
			"checkpoint", cert.Checkpoint, "folder", d, "seen", seen)
	}
	t.slog.Warn("folders without file names: compare the table with the topic if the version before did not stop cleanly", "table", t.root,
		"checkpoint", cert.Checkpoint, "named", len(cert.FromDirectories), "missing", len(missing), "files", len(cert.Files))
	return nil
}

// maxFolders bounds a search among the visible files.
const maxFolders = 10_000

// visibleOf counts, for each missing folder, the visible files whose names tell its checkpoint and task; whole is false if not all folders of the
// table were looked at.
func (t *Table) visibleOf(missing []string, job string) (found map[string]int, whole bool, err error) {
	by := map[[2]int64]string{}
	for _, d := range missing {
		id, _ := after(path.Base(path.Dir(d)), "cp-")
		task, _ := after(path.Base(d), "task-")
		by[[2]int64{id, task}] = d
	}
	found = map[string]int{}
	whole, err = t.visible(func(_, name string) bool {
		if id, task, ok := tells(name, job); ok {
			if d := by[[2]int64{id, task}]; d != "" {
				found[d]++
			}
		}
		return true
	})
	return found, whole, err
}

// visible visits the table's visible files, with path and name, until visit says no. whole is false if not all folders were looked at.
func (t *Table) visible(visit func(p, name string) bool) (whole bool, err error) {
	folders, more := 0, true
	var walk func(dir string) error
	walk = func(dir string) error {
		if folders++; folders > maxFolders {
			return nil
		}
		var list []fs.Info
		err := t.patient(func() (err error) { list, err = t.store.List(dir); return err })
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", dir, err)
		}
		for _, i := range list {
			p := path.Join(dir, i.Name)
			switch {
			case !more:
				return nil
			case i.Symlink || fs.Hidden(i):
			case i.Dir:
				if err := walk(p); err != nil {
					return err
				}
			default:
				more = visit(p, i.Name)
			}
		}
		return nil
	}
	err = walk(t.root)
	return more && folders <= maxFolders, err
}

// tells gives the checkpoint and the task in the name of a visible file: of this job in the file-based protocol, or task_dorado_<job>_<task>_<checkpoint>.<millis>,
// perhaps with the hour before it, as the known dump wrote them.
func tells(name, job string) (id, task int64, ok bool) {
	if n, ok := account.ParseFileName(name); ok {
		return int64(n.Checkpoint), int64(n.Subtask), n.Job8 == account.Job8(job)
	}
	at := strings.Index(name, "task_dorado_")
	if at < 0 {
		return 0, 0, false
	}
	stem, _, _ := strings.Cut(name[at+len("task_dorado_"):], ".")
	f := strings.Split(stem, "_")
	if len(f) != 3 {
		return 0, 0, false
	}
	task, ok1 := after(f[1], "")
	id, ok2 := after(f[2], "")
	return id, task, ok1 && ok2
}

// Stray gives a visible file whose name tells this job, or "". It looks into maxFolders folders at most.
func (t *Table) Stray() (file string, err error) {
	job8 := account.Job8(t.owner.Job)
	_, err = t.visible(func(p, name string) bool {
		if n, ok := account.ParseFileName(name); ok && n.Job8 == job8 {
			file = p
		}
		return file == ""
	})
	return file, err
}
