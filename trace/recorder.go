package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"staunch/account"
	"staunch/env"
	"staunch/fs"
)

const (
	// joinBytes and joinFiles: so much is written together as one file.
	joinBytes = 1 << 20
	joinFiles = 64
	// maxFiles bounds the number of files, whatever their size: a process that is killed leaves its small ones.
	maxFiles = 1000
	// eagerBytes and eagerAge: what waits for longer than that is written without being asked for.
	eagerBytes = 256 << 10
	eagerAge   = 10 * time.Second
	// memoryBytes bounds what waits for a store that does not take it.
	memoryBytes = 4 << 20
	// closeWait bounds how long the end of a process waits for its last records.
	closeWait = 3 * time.Second
)

// Options of a Recorder.
type Options struct {
	Env env.Env
	// Store and Dir are where the files lie. The store must not be one that the recorder wraps.
	Store fs.FS
	Dir   string
	// Job, Host, User and PID tell whose records these are.
	Job, Host, User string
	PID             int
	// MaxBytes bounds all files of the job, see the package.
	MaxBytes int64
	Log      *slog.Logger
}

// Stats counts what a Recorder did.
type Stats struct {
	// Records were taken, Dropped ones were not; Bytes were encoded.
	Records, Dropped, Bytes int64
	// Files were written; Failures are writes and deletes that the store refused.
	Files, Failures int64
}

// Recorder takes the records of one process for one job. A nil Recorder takes none: every method may be called. All may be called from anywhere.
type Recorder struct {
	opt     Options
	attempt atomic.Int64

	mu    sync.Mutex
	epoch account.Epoch
	// as is what an operator's process does, empty in an attempt.
	as    string
	ended bool
	// closing: what comes is the last of it.
	closing bool
	// buf holds the records from..next as lines: those of files that are not joined yet, and behind flushed those of no file.
	buf        []byte
	from, next int64
	flushed    int
	flushedTo  int64
	// first is when the oldest unwritten record came, in microseconds.
	first int64
	// parts are the small files of buf[:flushed].
	parts []file
	// whole are the joined files of this process and all of others.
	whole  []file
	listed bool
	// mark is the number of the first record behind the trigger of the checkpoint under way, -1 if none is; what lies below floor speaks of done
	// files only. othersDone: so do other attempts' records.
	mark, floor int64
	othersDone  bool
	lost        int64 // dropped since the last record was taken
	working     bool
	waiting     []waiter
	stats       Stats
	told        bool
}

// file is one file of the trace.
type file struct {
	Name
	size int64
}

// waiter waits until all records below to are written, or the store has refused them.
type waiter struct {
	to     int64
	signal env.Signal
}

// New makes a recorder. Nothing is written before Begin.
func New(o Options) *Recorder {
	return &Recorder{opt: o, mark: -1}
}

// Dir is where a job's trace lies; folder is the job's in the checkpoint directory.
func Dir(folder string) string { return path.Join(folder, "trace") }

// Begin gives the attempt's number, from which on records are written; what was recorded before is part of it.
func (r *Recorder) Begin(e account.Epoch) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.epoch = e
	r.mu.Unlock()
	r.Add(Record{Op: Begin, Task: NoTask, Note: fmt.Sprintf("epoch %d, host %s, pid %d, user %s", e, r.opt.Host, r.opt.PID, r.opt.User)})
	r.Flush()
}

// Operate begins to write the records of a process that is no attempt of the job but an operator's, such as a repair. Its numbers begin where those of no
// other process do, and it removes nothing of the trace.
func (r *Recorder) Operate(as string) {
	if r == nil {
		return
	}
	var b [2]byte
	r.opt.Env.Rand(b[:])
	first := r.now()<<10 | int64(b[0])<<2 | int64(b[1])>>6
	r.mu.Lock()
	r.as, r.listed = as, true
	r.from, r.next, r.flushedTo = first, first+r.next, first
	r.mu.Unlock()
	r.Add(Record{Op: Begin, Task: NoTask, Note: fmt.Sprintf("%s by %s, host %s, pid %d", as, r.opt.User, r.opt.Host, r.opt.PID)})
	r.Flush()
}

// begun reports whether it is known whose the records are. REQUIRES: mu.
func (r *Recorder) begun() bool { return r.epoch != 0 || r.as != "" }

// Attempt sets the number of restarts that records get from here on.
func (r *Recorder) Attempt(n int) {
	if r != nil {
		r.attempt.Store(int64(n))
	}
}

// now is the clock in microseconds.
func (r *Recorder) now() int64 { return r.opt.Env.Now().UnixMicro() }

// Add takes a record. Time is set if it is 0.
func (r *Recorder) Add(x Record) {
	if r == nil {
		return
	}
	if x.Time == 0 {
		x.Time = r.now()
	}
	x.Attempt = int(r.attempt.Load())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if len(r.buf) > memoryBytes || r.full() {
		r.lost++
		r.stats.Dropped++
		return
	}
	if r.lost > 0 {
		r.take(&Record{Time: x.Time, Op: Dropped, Task: NoTask, Files: r.lost, Attempt: x.Attempt})
		r.lost = 0
	}
	r.take(&x)
	if n := len(r.buf) - r.flushed; n > eagerBytes || x.Time-r.first > eagerAge.Microseconds() {
		r.work()
	}
}

// take appends a record. REQUIRES: mu.
func (r *Recorder) take(x *Record) {
	n := len(r.buf)
	if n == r.flushed {
		r.first = x.Time
	}
	r.buf = appendRecord(r.buf, x)
	r.next++
	r.stats.Records++
	r.stats.Bytes += int64(len(r.buf) - n)
}

// Flush starts to write what was recorded. The function that it gives waits until that is done, or the store has refused it, and reports whether it
// was within d.
func (r *Recorder) Flush() (wait func(d time.Duration) bool) {
	if r == nil {
		return func(time.Duration) bool { return true }
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun() || r.flushed == len(r.buf) {
		return func(time.Duration) bool { return true }
	}
	s := r.opt.Env.NewSignal()
	r.waiting = append(r.waiting, waiter{r.next, s})
	r.work()
	return s.Wait
}

// Triggered says that a checkpoint begins: what is recorded from here on may speak of its files.
func (r *Recorder) Triggered(id account.CheckpointID) {
	if r == nil {
		return
	}
	r.mu.Lock()
	if r.mark < 0 { // files of a checkpoint that was given up since the last done may still be on their way
		r.mark = r.next
	}
	r.mu.Unlock()
	r.Add(Record{Op: Trigger, Checkpoint: id, Task: NoTask})
}

// Done says that the newest completed checkpoint is done in all tables, so that records before its trigger may go.
func (r *Recorder) Done() {
	if r == nil {
		return
	}
	r.mu.Lock()
	if r.mark >= 0 {
		r.floor, r.mark = r.mark, -1
	}
	r.othersDone = true
	if gone := r.over(); len(gone) > 0 {
		r.opt.Env.Go("trace", func() { r.tidy(gone) })
	}
	r.mu.Unlock()
}

// Close writes what is left and ends the recorder.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.Add(Record{Op: End, Task: NoTask})
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	r.Flush()(closeWait)
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// Stats are the counts so far.
func (r *Recorder) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// full reports whether what must not go exceeds twice the bound. REQUIRES: mu.
func (r *Recorder) full() bool {
	n := int64(len(r.buf))
	for i := range r.whole {
		n += r.whole[i].size
	}
	return r.opt.MaxBytes > 0 && n > 2*r.opt.MaxBytes
}

// work starts the writing activity unless it runs. REQUIRES: mu.
func (r *Recorder) work() {
	if r.working || !r.begun() {
		return
	}
	r.working = true
	r.opt.Env.Go("trace", r.run)
}

// piece is what is written next.
type piece struct {
	Name
	body []byte
	// end is where it ends in buf; joined: it begins at buf's beginning and replaces the small files.
	end    int
	joined bool
}

// run writes what is asked for, until the store refuses.
func (r *Recorder) run() {
	r.list()
	for {
		p, ok := r.piece()
		if !ok {
			return
		}
		if err := r.put(&p); err != nil {
			r.refused(err)
			return
		}
		r.tidy(r.written(&p))
		r.mu.Lock()
		r.wake()
		r.mu.Unlock()
	}
}

// piece chooses what to write next: the new records, or, when they are many, all that is not joined yet. ok is false if nobody waits for any.
func (r *Recorder) piece() (p piece, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := len(r.buf) - r.flushed
	if fresh == 0 || len(r.waiting) == 0 && fresh <= eagerBytes && r.now()-r.first <= eagerAge.Microseconds() {
		r.working = false
		return p, false
	}
	p.Name = Name{Epoch: r.epoch, From: r.flushedTo, To: r.next, Rand: env.RandomHex(r.opt.Env, randDigits/2)}
	p.end = len(r.buf)
	at := r.flushed
	if p.joined = len(r.buf) >= joinBytes || len(r.parts) >= joinFiles-1 || r.closing; p.joined {
		p.From, at = r.from, 0
	}
	// A Header is numbers and texts: it always encodes.
	head, _ := json.Marshal(Header{Version: Version, Job: r.opt.Job, Epoch: r.epoch, As: r.as, Host: r.opt.Host, PID: r.opt.PID, User: r.opt.User,
		First: p.From, Behind: p.To})
	p.body = append(append(head, '\n'), r.buf[at:]...)
	return p, true
}

// put writes one file.
func (r *Recorder) put(p *piece) error {
	at := path.Join(r.opt.Dir, p.String())
	f, err := r.opt.Store.Create(at)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.opt.Store.MkdirAll(r.opt.Dir); err == nil {
			f, err = r.opt.Store.Create(at)
		}
	}
	if err != nil {
		return err
	}
	if _, err = f.Write(p.body); err == nil && p.joined {
		err = f.Sync()
	}
	if err != nil {
		fs.GiveUp(f)
		return err
	}
	return f.Close()
}

// written takes note of a file, and gives those that it replaces and those that are over the bound.
func (r *Recorder) written(p *piece) (gone []file) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Files++
	r.told = false
	f := file{p.Name, int64(len(p.body))}
	r.flushedTo = p.To
	if p.joined {
		gone = append(gone, r.parts...)
		r.parts = r.parts[:0]
		r.buf = append(r.buf[:0], r.buf[p.end:]...)
		r.from, r.flushed = p.To, 0
		r.whole = append(r.whole, f)
	} else {
		r.parts = append(r.parts, f)
		r.flushed = p.end
	}
	r.first = r.now()
	if !r.closing { // the process ends when it is woken: the small files are to go before
		r.wake()
	}
	return append(gone, r.over()...)
}

// wake tells those whose records are written. REQUIRES: mu.
func (r *Recorder) wake() {
	left := r.waiting[:0]
	for _, w := range r.waiting {
		if w.to <= r.flushedTo {
			w.signal.Notify()
		} else {
			left = append(left, w)
		}
	}
	r.waiting = left
}

// refused ends the activity: the store does not take the trace. The records stay, and go with the next flush.
func (r *Recorder) refused(err error) {
	r.mu.Lock()
	r.stats.Failures++
	tell := !r.told
	r.told, r.working = true, false
	for _, w := range r.waiting {
		w.signal.Notify()
	}
	r.waiting = r.waiting[:0]
	r.first = r.now()
	r.mu.Unlock()
	if tell {
		r.opt.Log.Warn("the trace could not be written; nothing depends on it, and it is tried again", "job", r.opt.Job, "folder", r.opt.Dir, "error", err)
	}
}

// list learns, once, what stands in the folder.
func (r *Recorder) list() {
	r.mu.Lock()
	listed := r.listed
	r.mu.Unlock()
	if listed {
		return
	}
	infos, err := r.opt.Store.List(r.opt.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.refusedQuietly()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = true
	var found []file
	for _, i := range infos {
		if n, ok := ParseName(i.Name); ok && !i.Dir && n.Epoch < r.epoch {
			found = append(found, file{n, i.Size})
		}
	}
	r.whole = append(found, r.whole...)
	sortFiles(r.whole)
}

func (r *Recorder) refusedQuietly() {
	r.mu.Lock()
	r.stats.Failures++
	r.mu.Unlock()
}

// over takes the oldest files out that the bound has no room for. REQUIRES: mu.
func (r *Recorder) over() (gone []file) {
	total := int64(len(r.buf))
	for i := range r.whole {
		total += r.whole[i].size
	}
	over := func() bool {
		return r.opt.MaxBytes > 0 && total > r.opt.MaxBytes || len(r.whole)+len(r.parts) > maxFiles
	}
	for i := 0; i < len(r.whole) && over(); {
		f := r.whole[i]
		own := f.Epoch == r.epoch
		if own && f.To > r.floor || !own && !r.othersDone {
			i++
			continue
		}
		r.whole = append(r.whole[:i], r.whole[i+1:]...)
		gone = append(gone, f)
		total -= f.size
	}
	return gone
}

// tidy removes files by exact name. One that stays does no harm: it is read once more than needed, and found by the next attempt.
func (r *Recorder) tidy(gone []file) {
	for _, f := range gone {
		if err := r.opt.Store.Delete(path.Join(r.opt.Dir, f.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.refusedQuietly()
		}
	}
}
