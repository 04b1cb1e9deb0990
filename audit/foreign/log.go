package foreign

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"staunch/account"
	"staunch/fs"
)

// The log of Spark's streaming file sink: its readers see the files that it names, and no others. Each batch is a file of its own, "v1" and a JSON object a
// line; every tenth or so has all that are before it, too.
const (
	sparkLog        = "_spark_metadata"
	sparkLogVersion = "v1"
	sparkCompact    = ".compact"
	// batchTime is how long a batch may take at most: until then a file that is younger than the log may be of one that is under way.
	batchTime = time.Hour
)

// sinkLog is what Spark's log says of the table.
type sinkLog struct {
	dir string
	// named are the lengths of the files by their paths below the table.
	named map[string]int64
	// batch is the newest one, newest when it was written: a younger file may be of one that is not in the log yet.
	batch  int64
	newest time.Time
	// elsewhere counts files that are not below the table, first is one of them.
	elsewhere int64
	first     string
	// unlisted and young files are in the folder and not in the log.
	unlisted, young int64
	examples        []string
}

// damagedLog says why a log cannot be followed.
type damagedLog struct{ why string }

func (d *damagedLog) Error() string { return d.why }

// logs looks for what says better than the folder which files are the table's.
func (a *auditor) logs() error {
	if a.opts.Names {
		return nil // Kafka Connect has none
	}
	dir := path.Join(a.root, sparkLog)
	var l *sinkLog
	var err error
	for range 3 { // Spark removes old entries while they are read
		if l, err = readSinkLog(a.store, a.root, dir); !errors.Is(err, fs.ErrNotExist) || l == nil {
			break
		}
	}
	var d *damagedLog
	switch {
	case errors.Is(err, fs.ErrUnavailable):
		return fmt.Errorf("read %s: %w", dir, err)
	case err == nil && l == nil:
	case errors.As(err, &d):
		a.rep.problem(Problem{Kind: LogDamaged, Path: dir, What: "Spark's log says which files are the table's, and cannot be followed: " + d.why + "; all files of the folder are taken instead",
			ToDo: "bring it back from a copy: Spark's readers and its next batch stumble over it too; if Spark does not write here any more, move it out"})
	case err != nil:
		a.rep.problem(Problem{Kind: LogDamaged, Path: dir, What: "Spark's log says which files are the table's, and cannot be read: " + err.Error() + "; all files of the folder are taken instead",
			ToDo: "audit as a user who may read it"})
	case len(l.named) == 0 && l.elsewhere > 0:
		a.rep.problem(Problem{Kind: LogElsewhere, Path: dir, What: fmt.Sprintf("Spark's log names %s, none of them below this folder (%s): it was copied or moved, and Spark's readers look there; all files of the folder are taken instead",
			account.Plural(l.elsewhere, "file", "files"), l.first), ToDo: "audit the folder that Spark writes to; if this copy is read by other tools only, move the log out"})
	default:
		a.log, a.rep.Log = l, fs.URI(a.store, dir)
	}
	return a.tableFormat()
}

// tableFormat finds tables whose files are replaced all the time, which only a log of many versions tells.
func (a *auditor) tableFormat() error {
	for _, f := range []struct{ at, name string }{{"_delta_log", "Delta Lake"}, {".hoodie", "Hudi"}, {"metadata", "Iceberg"}} {
		dir := path.Join(a.root, f.at)
		info, err := a.store.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrUnavailable):
			return fmt.Errorf("look at %s: %w", dir, err)
		case err != nil || !info.Dir:
			continue // what cannot be looked at is a finding of the listing
		}
		if f.name == "Iceberg" {
			has, err := a.hasTableMetadata(dir)
			if err != nil {
				return err
			}
			if !has {
				continue
			}
		}
		a.rep.problem(Problem{Kind: TableFormat, Path: dir, What: "this is a table of " + f.name + ": its log, which is not read here, says which files are the table's; by the folder alone, files that were replaced count twice, and rows that were deleted count",
			ToDo: "write the columns of partition and offset out with a tool that reads such tables (SELECT part, off), into Parquet files in an empty folder, and audit that"})
	}
	return nil
}

// hasTableMetadata reports whether a folder has Iceberg's metadata of a table.
func (a *auditor) hasTableMetadata(dir string) (bool, error) {
	stop := errors.New("found")
	err := fs.Each(a.store, dir, func(i fs.Info) error {
		if strings.HasSuffix(i.Name, ".metadata.json") {
			return stop
		}
		return nil
	})
	if errors.Is(err, fs.ErrUnavailable) {
		return false, fmt.Errorf("list %s: %w", dir, err)
	}
	return errors.Is(err, stop), nil // a folder that cannot be listed is a finding of the listing
}

// readSinkLog reads Spark's log in dir; nil if there is none. What cannot be followed is a damagedLog.
func readSinkLog(store fs.FS, root, dir string) (*sinkLog, error) {
	if _, err := store.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return &sinkLog{}, err
	}
	batches, compact := map[int64]fs.Info{}, int64(-1)
	err := fs.Each(store, dir, func(i fs.Info) error {
		name, whole := strings.CutSuffix(i.Name, sparkCompact)
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil || n < 0 || i.Dir {
			return nil // checksums and what is being written
		}
		if old, have := batches[n]; have && strings.HasSuffix(old.Name, sparkCompact) {
			return nil
		}
		batches[n] = i
		if whole {
			compact = max(compact, n)
		}
		return nil
	})
	if err != nil {
		return &sinkLog{}, err
	}
	l := &sinkLog{dir: dir, named: map[string]int64{}, batch: -1}
	for n := range batches { // none: the log is begun, or was emptied, and Spark's readers see no file
		l.batch = max(l.batch, n)
	}
	for n := max(compact, 0); n <= l.batch; n++ {
		i, have := batches[n]
		if !have {
			return l, &damagedLog{fmt.Sprintf("batch %d is missing, and the newest is %d", n, l.batch)}
		}
		if err := l.read(store, root, path.Join(dir, i.Name)); err != nil {
			return l, err
		}
		l.newest = i.ModTime
	}
	return l, nil
}

// read takes one batch in.
func (l *sinkLog) read(store fs.FS, root, p string) (err error) {
	r, err := store.Open(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	damaged := func(line int, why string) error {
		return &damagedLog{fmt.Sprintf("line %d of %s %s", line, path.Base(p), why)}
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, 0, r.Size()), 256<<10)
	for line := 1; ; line++ {
		b, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return damaged(line, "is longer than any that Spark writes")
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		last, text := err != nil, strings.TrimRight(string(b), "\r\n")
		switch {
		case line == 1 && text != sparkLogVersion:
			return damaged(line, fmt.Sprintf("is not %q, the version that is known, but %.40q", sparkLogVersion, text))
		case line > 1 && text != "":
			if why := l.take(root, text); why != "" {
				return damaged(line, why)
			}
		}
		if last {
			return nil
		}
	}
}

// take takes one line in; why says what is wrong with it.
func (l *sinkLog) take(root, text string) (why string) {
	var e struct {
		Path   string `json:"path"`
		Size   int64  `json:"size"`
		Dir    bool   `json:"isDir"`
		Action string `json:"action"`
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return "is no JSON object: " + err.Error()
	}
	u, err := url.Parse(e.Path) // Spark writes it as a URI, with its escapes
	if err != nil || u.Path == "" {
		return fmt.Sprintf("has no path: %.200q", e.Path)
	}
	below, ok := strings.CutPrefix(path.Clean(u.Path), strings.TrimSuffix(root, "/")+"/")
	switch {
	case !ok:
		if l.elsewhere++; l.elsewhere == 1 {
			l.first = e.Path
		}
	case e.Action == "delete":
		delete(l.named, below)
	case e.Action != "add" || e.Dir:
		return fmt.Sprintf("is neither a file that was added nor one that was deleted: %.200q", text)
	default:
		l.named[below] = e.Size
	}
	return ""
}

// belongs reports whether a file of a listing is the table's. The first listing counts those that are not.
func (a *auditor) belongs(p string, i fs.Info, turn uint8) bool {
	if a.log == nil {
		return true
	}
	size, named := a.log.named[strings.TrimPrefix(strings.TrimPrefix(p, a.root), "/")]
	switch {
	case named && turn == 0 && i.Size != size && !i.Symlink && !i.Dir:
		a.mu.Lock()
		a.rep.problem(Problem{Kind: FileChanged, Path: p, What: fmt.Sprintf("it has %s bytes, and had %s when Spark wrote it down in its log", account.Number(i.Size), account.Number(size)),
			ToDo: "bring it back from a copy: somebody else wrote or cut it"})
		a.mu.Unlock()
	case named || turn > 0:
	case i.ModTime.After(a.log.newest) && a.rep.Time.Sub(i.ModTime) < batchTime:
		a.log.young++
	default:
		a.log.unlisted++
		if len(a.log.examples) < 10 {
			a.log.examples = append(a.log.examples, p)
		}
	}
	return named
}

// listed says, when all is read, where folder and log differ.
func (a *auditor) listed() error {
	l := a.log
	if l == nil {
		return nil
	}
	note := fmt.Sprintf("Spark's log %s, of batches up to %d, says which files are the table's: %s", a.rep.Log, l.batch, account.Plural(int64(len(l.named)), "file", "files"))
	if l.batch < 0 {
		note = fmt.Sprintf("Spark's log %s has no batch: Spark's readers see no file", a.rep.Log)
	}
	if l.young > 0 {
		note += fmt.Sprintf("; %s later than that and not looked at", account.Plural(l.young, "file came", "files came"))
	}
	a.rep.Notes = append(a.rep.Notes, note)
	if l.unlisted > 0 {
		a.rep.problem(Problem{Kind: FileUnlisted, Files: slices.Sorted(slices.Values(l.examples)), What: fmt.Sprintf("%s not named by Spark's log: Spark's readers do not see what is in there, those who list the folder (Hive, Trino, DuckDB) do; it is not in the account",
			account.Plural(l.unlisted, "file is", "files are")), ToDo: "tries of tasks that failed leave such files: move them out; if another job wrote them, it needs a folder of its own"})
	}
	if l.elsewhere > 0 {
		a.rep.problem(Problem{Kind: LogElsewhere, Path: l.dir, What: fmt.Sprintf("Spark's log names %s not below the table, the first is %s", account.Plural(l.elsewhere, "file that is", "files that are"), l.first),
			ToDo: "Spark's readers read them too: audit where they are, or find out who wrote them into the log"})
	}
	for _, below := range slices.Sorted(maps.Keys(l.named)) {
		p := path.Join(a.root, below)
		if _, have := a.seen[hashOf(p)]; have {
			continue
		}
		if a.rep.Counts[FileMissing] < maxListed { // of more than are shown it is not asked whether they are only in a folder that cannot be listed
			switch _, err := a.store.Stat(p); {
			case errors.Is(err, fs.ErrUnavailable):
				return fmt.Errorf("look at %s: %w", p, err)
			case !errors.Is(err, fs.ErrNotExist) && a.rep.Counts[FolderUnread] > 0:
				continue // that is the finding
			}
		}
		a.rep.problem(Problem{Kind: FileMissing, Path: p, What: fmt.Sprintf("Spark's log names it, with %s bytes, and it was not there when the folder was listed", account.Number(l.named[below])),
			ToDo: "bring it back from a copy, or write its rows again from the topic; a gap shows their offsets, unless nothing is behind them"})
	}
	return nil
}
