package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"staunch/account"
	"staunch/audit/foreign/bitmap"
	"staunch/connector"
	"staunch/env"
	"staunch/fs"
)

// Format is how data files are written.
type Format string

// The formats. Each: every file says it itself by its first bytes.
const (
	Each    Format = ""
	Parquet Format = "parquet"
	JSON    Format = "json"
	CSVText Format = "csv"
)

// Options of an audit.
type Options struct {
	// Columns say where offsets stand; Names takes them from Kafka Connect's file names instead.
	Columns Columns
	Names   bool
	Format  Format
	CSV     CSV
	// Readers is how many files are read at once; 0 means 2.
	Readers int
	// From is the offset at which every partition must begin, -1 if that is not known: rows in front of it are a finding, and so are offsets that
	// are missing from it on.
	From int64
	// Broker is asked what stands at offsets that are missing; nil: nobody is asked.
	Broker connector.Inspector
	// Topic is the topic of all rows if Columns name none.
	Topic string
	// Group is the consumer group of the table's writer: what it has committed must be in the table.
	Group string
	// Complete: all that the topic has must be in the table.
	Complete bool
}

// auditor is one audit under way.
type auditor struct {
	ctx   context.Context
	env   env.Env
	store fs.FS
	root  string
	opts  Options
	seen  seen
	// log says which files are the table's; nil: all that are in the folder.
	log *sinkLog

	mu      sync.Mutex
	rep     *Report
	splits  map[splitKey]*split
	tooMany bool
	// chunks of all sets; see maxChunks.
	chunks int
	// near are the offsets beside gaps, with a file that holds each.
	near map[splitKey]map[int64]found
	// holders are the files that hold offsets which are there twice; more are left out.
	holders []*holder
	more    int64
}

// split is one topic partition of the table.
type split struct {
	rep        *Split
	set, twice bitmap.Set
}

// listings is how often a table that gets new files is listed at most.
const listings = 4

// Table audits the table at root. Problems are in the report; an error means that the store did not let us finish.
func Table(ctx context.Context, e env.Env, store fs.FS, root string, opts Options) (*Report, error) {
	root = path.Clean(root)
	a := &auditor{ctx: ctx, env: e, store: store, root: root, opts: opts, seen: seen{}, splits: map[splitKey]*split{}, near: map[splitKey]map[int64]found{},
		rep: &Report{Table: fs.URI(store, root), Time: e.Now().UTC(), Verdict: Clean, By: opts.Columns.String(), Splits: []*Split{}, Counts: map[Kind]int64{}}}
	if opts.Names {
		a.rep.By, a.rep.Names = "Kafka Connect's file names", true
	}
	switch info, err := store.Stat(root); {
	case errors.Is(err, fs.ErrNotExist):
		a.rep.problem(Problem{Kind: NoRows, What: "the table's folder does not exist", Path: root, ToDo: "name the folder that the other tool writes to"})
		return a.rep, nil
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", root, err)
	case !info.Dir && !info.Symlink:
		a.rep.problem(Problem{Kind: NoRows, What: "it is a file, not a table's folder", Path: root, ToDo: "name the folder that the other tool writes to"})
		return a.rep, nil
	}
	if err := a.logs(); err != nil {
		return nil, err
	}
	if err := a.read(); err != nil {
		return nil, err
	}
	if err := a.listed(); err != nil {
		return nil, err
	}
	// Readers found them in any order.
	slices.SortStableFunc(a.rep.Problems, func(x, y Problem) int { return cmp.Compare(x.Path, y.Path) })
	if err := a.judge(); err != nil {
		return nil, err
	}
	return a.rep, nil
}

// read reads all files, and lists the table again until nothing new comes.
func (a *auditor) read() error {
	told := int64(0)
	for turn := range uint8(listings) {
		before := int64(len(a.seen))
		w := &walk{ctx: a.ctx, store: a.store, names: a.opts.Names, seen: a.seen, turn: turn, of: a.belongs, bad: a.folder}
		if err := a.files(w, a.offsets); err != nil {
			return err
		}
		a.rep.Hidden = w.hidden
		fresh := int64(len(a.seen)) - before
		if turn == 0 {
			continue // always listed twice: a table that moved says something else
		}
		a.rep.Appeared += fresh
		if gone := before - w.again - a.rep.Counts[FileVanished] - told; gone > 0 {
			told += gone
			a.rep.problem(Problem{Kind: TableMoved, What: account.Plural(gone, "file was", "files were") + " read and has gone since: something compacts, expires or moves the table's files",
				ToDo: "audit again when nothing moves files; gaps and doubles may come from this"})
		}
		if fresh == 0 {
			return nil
		}
		if turn == listings-1 {
			a.rep.problem(Problem{Kind: TableMoved, What: fmt.Sprintf("new files came with each of %d listings", listings), ToDo: "audit again when less is written; gaps may come from this"})
		}
	}
	return nil
}

// folder reports a folder that cannot be listed.
func (a *auditor) folder(dir, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rep.problem(Problem{Kind: FolderUnread, What: "a folder cannot be listed, its files are not in the account: " + why, Path: dir, ToDo: "audit as a user who may read all of the table"})
}

// files lists the table and lets several readers take each new file. Each reader gets a place of its own to keep what it needs from file to file.
func (a *auditor) files(w *walk, take func(found) error) error {
	readers := max(a.opts.Readers, 1)
	if a.opts.Readers == 0 {
		readers = 2
	}
	work, done, stop := make(chan found), make(chan error, readers), make(chan struct{})
	var once sync.Once
	for i := range readers {
		a.env.Go(fmt.Sprintf("audit reader %d", i), func() {
			var failed error
			for f := range work {
				if failed != nil {
					continue
				}
				if failed = take(f); failed != nil {
					once.Do(func() { close(stop) })
				}
			}
			done <- failed
		})
	}
	w.give = func(f found) error {
		select {
		case work <- f:
			return nil
		case <-stop:
			return errStopped
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
	}
	err := w.folder(a.root)
	close(work)
	for range readers {
		if e := <-done; e != nil && (err == nil || errors.Is(err, errStopped)) {
			err = e
		}
	}
	return err
}

// offsets reads one file and takes its offsets into the account.
func (a *auditor) offsets(f found) error {
	rows, err := a.open(f, nil)
	if err != nil {
		return err
	}
	if rows == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rep.Files++
	a.rep.Bytes += f.info.Size
	a.rep.Rows += rows.rows
	if rows.rows == 0 {
		a.rep.Empty++
	}
	if rows.null > 0 {
		a.rep.problem(Problem{Kind: PositionMissing, What: fmt.Sprintf("%s of %s rows have no partition or no offset (NULL or no such field), the first is row %s: they cannot be told from lost or doubled ones",
			account.Number(rows.null), account.Number(rows.rows), account.Number(rows.firstNull)), Path: f.path, ToDo: "check that --columns names the columns that the writer fills from the record's metadata"})
	}
	if rows.bad > 0 {
		a.rep.problem(Problem{Kind: PositionBad, What: fmt.Sprintf("%s of %s rows have a partition or offset that is no number from 0 on, the first is row %s: %s",
			account.Number(rows.bad), account.Number(rows.rows), rows.firstBad, rows.badText), Path: f.path, ToDo: "check that --columns names the columns of partition and offset, in this order"})
	}
	for _, s := range rows.order {
		a.join(s)
	}
	return nil
}

// join takes a file's offsets of one split into the table's. REQUIRES: mu.
func (a *auditor) join(s *fileSplit) {
	t := a.splits[s.key]
	if t == nil {
		if len(a.splits) == maxSplits {
			a.tooMany = true
			return
		}
		t = &split{rep: &Split{Split: a.name(s.key)}}
		a.splits[s.key] = t
	}
	t.rep.Rows += s.rows
	t.rep.Files++
	before := t.set.Chunks()
	if a.chunks > maxChunks {
		return // it is said in judge
	}
	t.set.Union(&s.set, &t.twice)
	a.chunks += t.set.Chunks() - before
	t.twice.Union(&s.twice, nil)
}

// name gives a split its name: the topic is that of the rows, or the one that was named for the whole table.
func (a *auditor) name(k splitKey) string {
	if k.topic == "" {
		k.topic = a.opts.Topic
	}
	return k.String()
}

// open reads one file's positions; nil rows if the file is a finding.
func (a *auditor) open(f found, wanted func(first, last int64) bool) (*fileRows, error) {
	rows := newFileRows()
	var err error
	if a.opts.Names {
		err = a.connectRows(f, rows)
	} else {
		for range 3 { // a file that was changed while it was read is read again
			rows = newFileRows()
			var same bool
			if same, err = a.stable(f, rows, wanted); same {
				break
			}
		}
	}
	rows.close()
	switch {
	case err == nil && !rows.tooMany && !rows.tooWide:
		return rows, nil
	case a.ctx.Err() != nil:
		return nil, a.ctx.Err()
	case errors.Is(err, fs.ErrUnavailable):
		return nil, fmt.Errorf("read %s: %w", f.path, err)
	case wanted == nil: // the second time it has been said
		a.finding(f, rows, err)
	}
	return nil, nil
}

// stable reads a file and reports whether it stayed the same meanwhile.
func (a *auditor) stable(f found, rows *fileRows, wanted func(first, last int64) bool) (bool, error) {
	before, err := a.store.Stat(f.path)
	if err != nil {
		return true, err
	}
	r, err := a.store.Open(f.path)
	if err != nil {
		return true, err
	}
	err = a.parse(f, r, rows, wanted)
	err = errors.Join(err, r.Close())
	if a.ctx.Err() != nil {
		return true, a.ctx.Err()
	}
	after, serr := a.store.Stat(f.path)
	if serr != nil {
		return true, serr
	}
	if before.Size == after.Size && before.ModTime.Equal(after.ModTime) {
		return true, err
	}
	return false, errChanged
}

var errChanged = errors.New("it was changed each of three times while it was read")

// parse reads an open file by its format.
func (a *auditor) parse(f found, r fs.Reader, rows *fileRows, wanted func(first, last int64) bool) error {
	c, err := a.opts.Columns.at(a.root, f.path, rows)
	if err != nil {
		return err
	}
	format := a.opts.Format
	if r.Size() == 0 && (format == JSON || format == CSVText) {
		return nil
	}
	if format == Each {
		if format, err = formatOf(f.path, r); err != nil {
			return err
		}
	}
	switch format {
	case Parquet:
		return parquetRows(a.ctx, r, c, rows, wanted)
	case JSON:
		return jsonRows(a.ctx, r, c, rows)
	case CSVText:
		return csvRows(a.ctx, r, c, a.opts.CSV, rows)
	}
	return &unknownFormat{}
}

// formatOf finds a file's format by its first bytes and its name.
func formatOf(p string, r fs.Reader) (Format, error) {
	var head [64]byte
	n, err := (&source{Reader: r}).ReadAt(head[:min(64, r.Size())], 0)
	if int64(n) < min(64, r.Size()) && err != nil {
		return Each, err
	}
	text := strings.TrimLeft(string(head[:n]), " \t\r\n")
	base := strings.TrimSuffix(strings.ToLower(path.Base(p)), ".gz")
	switch {
	case strings.HasPrefix(text, parquetMagic) || path.Ext(base) == ".parquet":
		return Parquet, nil
	case strings.HasPrefix(text, "{") || path.Ext(base) == ".json":
		return JSON, nil
	case path.Ext(base) == ".csv":
		return CSVText, nil
	}
	return Each, nil
}

type unknownFormat struct{}

func (*unknownFormat) Error() string { return "of no format that is known by its first bytes" }

// finding reports why a file's rows are not in the account.
func (a *auditor) finding(f found, rows *fileRows, err error) {
	p := Problem{Kind: FileUnreadable, Path: f.path, What: fmt.Sprintf("its rows are not in the account: %v", err), ToDo: "see why it cannot be read"}
	var d *damage
	var c *columnError
	var n *nameError
	var u *unknownFormat
	switch {
	case rows.tooMany:
		p.Kind, p.What, p.ToDo = ColumnMissing, "it has "+a.opts.Columns.tooMany(),
			"--columns takes the partition first, then the offset"
	case rows.tooWide:
		p.Kind, p.What, p.ToDo = ColumnMissing, tooWide(a.opts.Columns.Offset), "--columns takes the partition first, then the offset"
	case errors.Is(err, errChanged):
		p.Kind, p.ToDo = FileChanged, "audit again when it is closed, or give the folder of finished files"
	case errors.Is(err, fs.ErrNotExist):
		p.Kind, p.What = FileVanished, "it was listed and has gone before it was read through: something compacts, expires or moves the table's files"
		p.ToDo = "audit again when nothing moves files; gaps may come from this"
	case errors.As(err, &d):
		p.Kind, p.ToDo = FileDamaged, "readers of the table stumble over it too: find out who wrote it; if it does not belong to the table, move it out"
	case errors.As(err, &c):
		p.Kind, p.ToDo = ColumnMissing, "name the columns of partition and offset with --columns, in this order"
	case errors.As(err, &n):
		p.Kind, p.ToDo = NameUnknown, "if it holds rows of the table, audit by --columns"
	case errors.As(err, &u):
		p.Kind, p.ToDo = FileUnknown, "say with --format what the table's files are; if it does not belong to the table, move it out"
	}
	a.mu.Lock()
	a.rep.problem(p)
	a.mu.Unlock()
}

func tooWide(column string) string {
	return fmt.Sprintf("offsets are scattered over more than %d times 65,536: %q is not the column of the offset", maxChunks, column)
}

// judge says what the sets mean.
func (a *auditor) judge() error {
	keys := make([]splitKey, 0, len(a.splits))
	for k := range a.splits {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y splitKey) int { return cmp.Or(cmp.Compare(x.topic, y.topic), cmp.Compare(x.part, y.part)) })
	for _, k := range keys {
		s := a.splits[k]
		r := s.rep
		r.First, r.Last, r.Doubled = s.set.First(), s.set.Last(), s.twice.Count()
		r.Extra = r.Rows - s.set.Count()
		r.From = r.First
		if a.opts.From >= 0 {
			r.From = min(a.opts.From, r.First)
			a.before(k, s)
		}
		s.set.Gaps(r.From, r.Last+1, func(from, to int64) bool {
			r.Gaps++
			r.Missing += to - from
			return true
		})
		if r.Missing > 0 {
			a.seek(k, s)
		}
		a.rep.Splits = append(a.rep.Splits, r)
	}
	a.swapped()
	a.scattered()
	if a.tooMany {
		a.rep.problem(Problem{Kind: ColumnMissing, What: "the table has " + a.opts.Columns.tooMany(), ToDo: "--columns takes the partition first, then the offset"})
	}
	if a.chunks > maxChunks {
		a.rep.problem(Problem{Kind: ColumnMissing, What: tooWide(a.opts.Columns.Offset), ToDo: "--columns takes the partition first, then the offset"})
	}
	if len(keys) == 0 && a.rep.Count() == 0 {
		a.rep.problem(Problem{Kind: NoRows, What: "there is no row in the table: nothing can be proven", Path: a.root, ToDo: "name the folder that the other tool writes to"})
	}
	if err := a.again(keys); err != nil {
		return err
	}
	if a.opts.Broker != nil {
		return a.ask(keys)
	}
	a.gaps(keys)
	return nil
}

// swapped tells of a topic with far more partitions than any of them has offsets: most likely the two columns are the other way round, and then
// there is never a gap.
func (a *auditor) swapped() {
	if a.opts.Names || a.tooMany {
		return
	}
	parts, last := map[string]int64{}, map[string]int64{}
	for k, s := range a.splits {
		parts[k.topic]++
		last[k.topic] = max(last[k.topic], s.rep.Last)
	}
	for _, topic := range slices.Sorted(maps.Keys(parts)) {
		n := parts[topic]
		if n < 64 || n <= 16*(last[topic]+1) {
			continue
		}
		what := fmt.Sprintf("%d partitions have no offset above %d: %q may not be the column of the partition, nor %q that of the offset", n, last[topic],
			a.opts.Columns.Partition, a.opts.Columns.Offset)
		if n < 1000 {
			a.rep.Notes = append(a.rep.Notes, what+"; --columns takes the partition first")
			continue
		}
		a.rep.problem(Problem{Kind: ColumnMissing, What: what, ToDo: "--columns takes the partition first, then the offset"})
	}
}

// scattered tells of so many topics with so few rows that the topic's column is most likely another one, with a value of its own in each row: then nearly
// all partitions have one row, and where there is one row there is no gap. No table that has come beyond its first records has more than a thousand topics
// with fewer than two rows in each partition.
func (a *auditor) scattered() {
	if a.opts.Columns.Topic == "" || a.opts.Names || a.tooMany {
		return
	}
	topics, rows := map[string]bool{}, int64(0)
	for k, s := range a.splits {
		topics[k.topic] = true
		rows += s.rep.Rows
	}
	n, parts := int64(len(topics)), int64(len(a.splits))
	if n < 64 || rows >= 2*parts {
		return
	}
	what := fmt.Sprintf("%s rows are of %s topics, in %s partitions: hardly one row each, so that no gap can show: %q may not be the column of the topic", account.Number(rows), account.Number(n),
		account.Number(parts), a.opts.Columns.Topic)
	if n <= 1000 {
		a.rep.Notes = append(a.rep.Notes, what)
		return
	}
	a.rep.problem(Problem{Kind: ColumnMissing, What: what, ToDo: "name the topic's column with --topic-column, or leave it out if all rows are of one topic"})
}

// before reports rows in front of the offset at which every partition must begin.
func (a *auditor) before(k splitKey, s *split) {
	if s.rep.First >= a.opts.From {
		return
	}
	early := &runList{}
	s.set.Runs(func(from, to int64) bool {
		if from < a.opts.From {
			early.add(from, min(to, a.opts.From))
		}
		return to < a.opts.From
	})
	a.rep.problem(Problem{Kind: OffsetBefore, What: fmt.Sprintf("rows have offsets in front of %s, at which every partition should begin by --from", account.Number(a.opts.From)),
		Offsets: []SplitOffsets{early.offsets(a.name(k))}, ToDo: "if they belong there, give --from the least offset at which a partition begins, or leave it out; else they are of another topic, or of a run that began elsewhere"})
}

// gaps reports what is missing, as far as the table itself tells.
func (a *auditor) gaps(keys []splitKey) {
	for _, k := range keys {
		s := a.splits[k]
		if s.rep.Missing == 0 {
			continue
		}
		miss := &runList{}
		s.set.Gaps(s.rep.From, s.rep.Last+1, func(from, to int64) bool {
			miss.add(from, to)
			return true
		})
		a.gap(k, miss)
	}
	a.rep.Between = true
	if a.opts.From < 0 {
		a.rep.Notes = append(a.rep.Notes, "nothing is known of offsets in front of each partition's first (--from 0 says that all must begin there) and behind its last (--against-broker tells)")
	} else {
		a.rep.Notes = append(a.rep.Notes, "nothing is known of offsets behind each partition's last: --against-broker tells")
	}
}

func (a *auditor) gap(k splitKey, miss *runList) {
	a.rep.problem(Problem{Kind: Gap, What: "no row has these offsets: lost, left out by the query's WHERE, or never a record (transaction marker, compacted)",
		Offsets: []SplitOffsets{miss.offsets(a.name(k))}, Neighbours: a.neighbours(k, miss), ToDo: "ask the broker what stands there: --against-broker"})
}
