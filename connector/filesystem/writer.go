package filesystem

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/fs"
)

const (
	// temporary is the folder of pending files below the table's root.
	temporary     = account.Temporary
	pendingSuffix = account.PendingSuffix
	// maxHandles bounds the files of the store that are being written; above, the largest is closed.
	maxHandles = 512
	// maxUnsynced bounds the closed files that wait to be made durable; above, the oldest are synced at once.
	maxUnsynced = 1024
	// maxChecked bounds the partitions' folders that are known to be folders.
	maxChecked = 10_000
)

// writer is one subtask's writer. One goroutine uses it, but for the functions that Prepare returned.
type writer struct {
	sink  *sink
	store fs.FS
	env   env.Env
	wait  waiter
	next  func() account.CheckpointID

	job, job8, attempt string
	epoch              account.Epoch
	subtask            int

	parts *lookup
	runs  runs
	// whole is the only partition of a table without PARTITIONED BY.
	whole *partition
	// open are the files that take rows, handles counts those that the store has.
	open    []*file
	handles int
	seq     int
	// cols are the columns of the batch at hand that stand in files.
	cols []*changelog.Column
	// done are closed files that no Prepare has handed over, with what is left to make durable.
	done []connector.Committable
	left durability
	// folder is the temporary folder of checkpoint folderID; swept is the one that was cleaned up last.
	folder    string
	folderID  account.CheckpointID
	swept     string
	sweep     func(folder string)
	checked   map[string]bool
	lastCheck time.Time
	buffers   [][]byte
	most      peaks
	// replaces is the lost file that is written again, nil in a job.
	replaces *account.File
}

// run is consecutive rows of one partition.
type run struct {
	cols     []*changelog.Column
	from, to int
	split    int
	id       string
	offsets  []int64
}

// NewWriter implements connector.Sink. It probes the store once a sink.
func (s *sink) NewWriter(ctx connector.Context) (connector.Writer, error) {
	if s.parallelism != 0 && s.parallelism != ctx.Parallelism {
		return nil, fault.Userf("table %s: option '%s' = %d, and the job runs with parallelism %d: rows are written where they are read",
			s.name, keyParallelism, s.parallelism, ctx.Parallelism).WithHint("remove the option, or set 'parallelism.default' to the same number")
	}
	if err := s.Probe(ctx); err != nil {
		return nil, err
	}
	w := s.newWriter(ctx)
	w.attempt, w.epoch, w.subtask, w.next, w.lastCheck = fmt.Sprintf("%d.%d", ctx.Epoch, ctx.Attempt), ctx.Epoch, ctx.Subtask, ctx.NextCheckpoint, ctx.Env.Now()
	w.most.register(ctx.Metrics.With("table", s.name))
	if s.cleanup && ctx.Leftovers != nil {
		w.sweep = func(folder string) { s.sweep(ctx, w.store, w.wait, folder) }
	}
	return w, nil
}

// newWriter is what a job's writer and that of a replacement have in common.
func (s *sink) newWriter(ctx connector.Context) *writer {
	w := &writer{sink: s, store: s.store, env: ctx.Env, wait: waiterOf(ctx), job: ctx.Job, job8: Job8(ctx.Job), parts: newLookup(&s.layout),
		checked: map[string]bool{}, cols: make([]*changelog.Column, len(s.fileColumns))}
	if ctx.Traced != nil {
		w.store = ctx.Traced(s.store)
	}
	return w
}

// Job8 is the short form of a job's id in file names: the first 8 hexadecimal digits of its SHA-256.
func Job8(job string) string {
	return account.Job8(job)
}

// Write implements connector.Writer: it cuts the batch into runs of one partition and appends each to that partition's file.
func (w *writer) Write(b *changelog.Batch, splits []connector.Split) error {
	if b.Rows == 0 {
		return nil
	}
	r, err := w.runOf(b, splits)
	if err != nil {
		return err
	}
	now := w.env.Now()
	w.runs.reset(&w.sink.layout)
	for r.from < b.Rows {
		p := w.whole
		r.to = b.Rows
		if len(w.sink.layout.keys) > 0 {
			r.to = w.runs.end(&w.sink.layout, b.Cols, r.from, b.Rows)
			p = w.parts.find(b.Cols, r.from)
		} else if p == nil {
			p = &partition{checked: true}
			w.whole = p
		}
		if err := w.append(p, r, now); err != nil {
			return err
		}
		r.from = r.to
	}
	return nil
}

// runOf checks the batch and prepares the first run.
func (w *writer) runOf(b *changelog.Batch, splits []connector.Split) (run, error) {
	if len(b.Cols) != w.sink.columns {
		return run{}, fault.New(fault.Bug, "table %s: a batch of %d columns for a table of %d", w.sink.name, len(b.Cols), w.sink.columns)
	}
	for i, k := range b.Kinds {
		if k != changelog.Insert {
			return run{}, fault.Userf("table %s: row %d of a batch is an update or a delete, files take inserts only", w.sink.name, i)
		}
	}
	for i, c := range w.sink.fileColumns {
		w.cols[i] = b.Cols[c]
	}
	r := run{cols: w.cols, split: b.Split}
	if b.Split == changelog.NoSplit {
		return r, nil
	}
	if b.Split < 0 || b.Split >= len(splits) || len(b.Offsets) != b.Rows {
		return run{}, fault.New(fault.Bug, "table %s: a batch of split %d of %d with %d rows and %d offsets", w.sink.name, b.Split, len(splits),
			b.Rows, len(b.Offsets))
	}
	r.id, r.offsets = splits[b.Split].ID, b.Offsets
	return r, nil
}

// append adds a run to the file of p and rolls it by size.
func (w *writer) append(p *partition, r run, now time.Time) error {
	f := p.file
	if f == nil {
		var err error
		if f, err = w.start(p, now); err != nil {
			return err
		}
	}
	if err := f.add(r, now); err != nil {
		return err
	}
	if f.format.Size() > w.sink.roll.size {
		return w.close(f)
	}
	if w.handles > maxHandles {
		_, err := w.closeLargest(func(f *file) bool { return f.handle != nil })
		return err
	}
	return nil
}

// start opens a file of p, in memory only.
func (w *writer) start(p *partition, now time.Time) (*file, error) {
	if !p.checked {
		if err := w.checkPartition(p); err != nil {
			return nil, err
		}
		p.checked = true
	}
	f := &file{w: w, p: p, at: len(w.open), seq: w.seq, opened: now, written: now, sum: account.NewSummer(w.sink.sha256)}
	w.seq++
	if n := len(w.buffers); n > 0 {
		f.buf, w.buffers = w.buffers[n-1], w.buffers[:n-1]
	}
	var err error
	if f.format, err = w.sink.files.Open(f); err != nil {
		return nil, f.failed("open", err)
	}
	p.file = f
	w.open = append(w.open, f)
	return f, nil
}

// checkPartition refuses a partition whose folder cannot be made or leads elsewhere. Otherwise only the commit would find out, after the
// checkpoint.
func (w *writer) checkPartition(p *partition) error {
	at := w.sink.root
	for i, element := range strings.Split(p.folder, "/") {
		at += "/" + element
		if w.checked[at] {
			continue
		}
		if len(element) > maxElement {
			return w.tooLong(p, i, fmt.Errorf("%w (at most %d bytes)", fs.ErrNameTooLong, maxElement))
		}
		var info fs.Info
		err := w.wait.through(func() (err error) { info, err = w.store.Stat(at); return err })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// It will be made at the commit; what lies below is not there either.
			continue
		case errors.Is(err, fs.ErrNameTooLong):
			return w.tooLong(p, i, err)
		case err != nil:
			return classify(err, "look at", at)
		case info.Symlink || !info.Dir:
			what := "a file"
			if info.Symlink {
				what = "a symbolic link"
			}
			return fault.Userf("table %s: %s is %s and no folder, so the partition's files would lie elsewhere", w.sink.name, at, what).
				WithHint("move it away, or let 'path' name the place where the files are to be")
		}
		if err := w.sink.reaches(at); err != nil {
			return fmt.Errorf("table %s: %w", w.sink.name, err)
		}
		if len(w.checked) >= maxChecked {
			clear(w.checked)
		}
		w.checked[at] = true
	}
	if n := len(w.sink.root) + len(p.folder) + nameRoom; n > maxPath {
		return w.tooLong(p, len(p.values)-1, fmt.Errorf("path of %d bytes: %w (at most %d)", n, fs.ErrNameTooLong, maxPath))
	}
	return nil
}

// tooLong names column and value of the folder that the store would not take.
func (w *writer) tooLong(p *partition, i int, err error) error {
	k, value := w.sink.layout.keys[i], w.sink.layout.defaultName
	if v := p.values[i]; v != nil {
		value = *v
	}
	shown := value
	if len(shown) > 60 {
		shown = strings.ToValidUTF8(shown[:60], "") + "..."
	}
	return fault.New(fault.User, "table %s, folder %s: column '%s' has the value '%s' of %d bytes, whose folder's name has %d: %w", w.sink.name,
		w.sink.root, k.name, shown, len(value), len(k.folder)+len(Escape(value)), err).
		WithHint("shorten the value in the query, for instance SUBSTRING(%s, 1, 100)", k.name)
}

// create makes the store's file of f under a fresh name. The parent folder is made when it turns out to be missing; after an answer that
// says nothing the next try takes a new name, so that a late success of the former only leaves an empty file behind.
func (w *writer) create(f *file) error {
	var err error
	for range maxTries {
		w.name(f)
		if w.sweep != nil && w.swept != w.folder {
			w.sweep(w.folder)
			w.swept = w.folder
		}
		err = w.wait.through(func() (err error) {
			if f.handle, err = w.store.Create(f.pending); errors.Is(err, fs.ErrUnavailable) {
				w.name(f)
			}
			return err
		})
		switch {
		case err == nil:
			w.handles++
			failpoint.Hit(failpoint.WriteCreated)
			return nil
		case errors.Is(err, fs.ErrNotExist):
			if merr := w.left.makeFolder(w.store, w.wait, w.folder); merr != nil {
				return classify(merr, "make folder", w.folder)
			}
		case errors.Is(err, fs.ErrUnavailable), errors.Is(err, fs.ErrNoSpace), errors.Is(err, fs.ErrNameTooLong),
			errors.Is(err, iofs.ErrPermission):
			return classify(err, "create", f.pending)
		}
	}
	return classify(err, "create", f.pending)
}

// name gives f new names.
func (w *writer) name(f *file) {
	if w.replaces != nil {
		w.nameReplacement(f)
		return
	}
	f.id = w.next()
	if w.folder == "" || f.id != w.folderID {
		w.folderID = f.id
		w.folder = fmt.Sprintf("%s/%s/cp-%d/task-%d", w.sink.root, temporary, f.id, w.subtask)
	}
	f.name = account.FileName{Job8: w.job8, Subtask: w.subtask, Checkpoint: f.id, Epoch: w.epoch, Seq: f.seq, Rand: env.RandomHex(w.env, 12),
		Ext: w.sink.ext}.String()
	f.pending = w.folder + "/" + f.name + pendingSuffix
	f.final = path.Join(w.sink.root, f.p.folder, f.name)
}

// close ends f: footer, all bytes to the store, committable. It becomes durable with the next Prepare.
func (w *writer) close(f *file) error {
	if err := f.finish(); err != nil {
		return err
	}
	failpoint.Hit(failpoint.WriteClosed)
	w.drop(f)
	w.done = append(w.done, connector.Committable{File: f.committable()})
	w.left.add(f)
	if w.left.open() > maxUnsynced {
		return w.left.syncSome(maxUnsynced / 2)
	}
	return nil
}

// drop takes f out of the open files.
func (w *writer) drop(f *file) {
	last := len(w.open) - 1
	w.open[f.at] = w.open[last]
	w.open[f.at].at = f.at
	w.open[last] = nil
	w.open = w.open[:last]
	f.p.file = nil
	if f.handle != nil {
		w.handles--
	}
	if len(w.buffers) < 16 && cap(f.buf) >= bufferSize/2 {
		w.buffers = append(w.buffers, f.buf[:0])
	}
	f.buf = nil
}

// closeLargest closes the file that holds most memory among those that may be taken.
func (w *writer) closeLargest(may func(*file) bool) (bool, error) {
	var largest *file
	most := int64(-1)
	for _, f := range w.open {
		if n := f.memory(); n > most && may(f) {
			largest, most = f, n
		}
	}
	if largest == nil {
		return false, nil
	}
	return true, w.close(largest)
}

// FlushLargest implements connector.Flusher.
func (w *writer) FlushLargest() (bool, error) {
	return w.closeLargest(func(*file) bool { return true })
}

// Tick implements connector.Writer: files that are too old or had no row for too long are closed.
func (w *writer) Tick(now time.Time) error {
	if now.Sub(w.lastCheck) < w.sink.roll.check {
		return nil
	}
	w.lastCheck = now
	for i := 0; i < len(w.open); {
		f := w.open[i]
		if now.Sub(f.opened) < w.sink.roll.rollover && now.Sub(f.written) < w.sink.roll.inactivity {
			i++
			continue
		}
		// close puts another file into this place
		if err := w.close(f); err != nil {
			return err
		}
	}
	return nil
}

// Prepare implements connector.Writer: every file ends here.
func (w *writer) Prepare(id account.CheckpointID) ([]connector.Committable, func() error, error) {
	// What gets its file only now belongs to this checkpoint, and carries its name: the folders of ids that are over can go.
	next := w.next
	w.next = func() account.CheckpointID { return id }
	defer func() { w.next = next }()
	for len(w.open) > 0 {
		if err := w.close(w.open[0]); err != nil {
			return nil, nil, err
		}
	}
	w.most.tell()
	w.parts.clear()
	out, left := w.done, w.left
	w.done, w.left = nil, durability{}
	if len(out) == 0 {
		return nil, nil, nil
	}
	store, wait := w.store, w.wait
	return out, func() error {
		if err := left.finish(store, wait); err != nil {
			return err
		}
		failpoint.Hit(failpoint.PrepareDurable)
		return nil
	}, nil
}

// Close implements connector.Writer. Nothing is deleted: what was not prepared stays as files that no state names. Errors of closing do not
// matter for them.
func (w *writer) Close() error {
	for _, f := range w.open {
		if f.handle != nil {
			fs.GiveUp(f.handle)
		}
	}
	w.left.abandon()
	w.open, w.done, w.left = nil, nil, durability{}
	return nil
}

// SizeBytes implements connector.Writer.
func (w *writer) SizeBytes() (n int64) {
	for _, f := range w.open {
		n += f.memory()
	}
	for _, b := range w.buffers {
		n += int64(cap(b))
	}
	w.most.see(len(w.open), n)
	return n
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }
