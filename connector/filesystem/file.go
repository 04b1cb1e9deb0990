package filesystem

import (
	"time"

	"staunch/account"
	"staunch/fault"
	"staunch/format"
	"staunch/fs"
)

// bufferSize is what a file collects before bytes go to the store. Small writes of a format are joined, large ones pass.
const bufferSize = 64 << 10

// file is one data file from its first row until it is closed.
type file struct {
	w *writer
	p *partition
	// at is the file's place in writer.open.
	at     int
	format format.FileWriter
	// seq is the file's number in this writer, given at the first row.
	seq                  int
	opened, written      time.Time
	rows                 int64
	sets                 []splitSet
	buf                  []byte
	sum                  *account.Summer
	length               int64
	name, pending, final string
	// id is the checkpoint in the names.
	id account.CheckpointID
	// handle is nil until the first bytes go out.
	handle fs.File
	// err is the first failure, which is final: the format writer in between may hide its class.
	err error
}

// Write implements io.Writer for the format: it buffers, counts, hashes, and creates the store's file when the buffer is full.
func (f *file) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	if len(f.buf)+len(p) <= bufferSize {
		f.buf = append(f.buf, p...)
		return len(p), nil
	}
	f.flush()
	if len(p) >= bufferSize/2 {
		f.out(p)
	} else {
		f.buf = append(f.buf, p...)
	}
	if f.err != nil {
		return 0, f.err
	}
	return len(p), nil
}

// flush hands the buffer to the store.
func (f *file) flush() {
	f.out(f.buf)
	f.buf = f.buf[:0]
}

// out hands p to the store, which has the file from the first call on.
func (f *file) out(p []byte) {
	if f.err == nil && f.handle == nil {
		f.err = f.w.create(f)
	}
	if f.err != nil || len(p) == 0 {
		return
	}
	f.sum.Write(p)
	n, err := f.handle.Write(p)
	f.length += int64(n)
	if err == nil && n != len(p) {
		err = fault.New(fault.Transient, "write %s: the store took %d of %d bytes", f.pending, n, len(p))
	}
	f.err = classify(err, "write", f.pending)
}

// add writes rows from <= i < to and their offsets.
func (f *file) add(run run, now time.Time) error {
	if err := f.format.Write(run.cols, run.from, run.to); err != nil {
		return f.failed("write rows to", err)
	}
	f.rows += int64(run.to - run.from)
	f.written = now
	if run.offsets != nil {
		i := 0
		f.sets, i = offsetSetOf(f.sets, run.split, run.id)
		f.sets[i].set.AddAll(run.offsets[run.from:run.to])
	}
	return nil
}

// failed prefers the store's error, which has a class, to what the format made of it.
func (f *file) failed(verb string, err error) error {
	if f.err != nil {
		return f.err
	}
	name := f.pending
	if name == "" {
		name = f.w.sink.root + "/" + f.p.folder
	}
	return fault.New(fault.ClassOf(err), "%s %s: %w", verb, name, err)
}

// finish writes the footer and all that is buffered. The handle stays open, to be made durable.
func (f *file) finish() error {
	if err := f.format.Finish(f.meta()); err != nil {
		return f.failed("finish", err)
	}
	f.flush()
	return f.err
}

// meta is what goes into the footer, so that a file tells by itself what it holds.
func (f *file) meta() map[string]string {
	m := map[string]string{
		"staunch.job":          f.w.job,
		"staunch.checkpoint":   formatInt(int64(f.checkpoint())),
		"staunch.epoch":        formatInt(int64(f.w.epoch)),
		"staunch.subtask":      formatInt(int64(f.w.subtask)),
		"staunch.rows":         formatInt(f.rows),
		"staunch.table-schema": f.w.sink.schema,
	}
	for i := range f.sets {
		// Encoding a set cannot fail: AddAll keeps it in order.
		if text, err := f.sets[i].set.MarshalText(); err == nil {
			m["staunch.offsets."+f.sets[i].id] = string(text)
		}
	}
	return m
}

// checkpoint is the id in the file's name, or the one that its name will get.
func (f *file) checkpoint() account.CheckpointID {
	if f.handle != nil {
		return f.id
	}
	return f.w.next()
}

// memory is what the file holds in this process.
func (f *file) memory() int64 {
	n := f.format.Buffered() + int64(cap(f.buf))
	if h, ok := f.handle.(fs.Holder); ok {
		n += h.Memory()
	}
	for i := range f.sets {
		n += int64(16 * cap(f.sets[i].set.Runs))
	}
	return n
}

// committable describes the finished file.
func (f *file) committable() *account.File {
	c := &account.File{Pending: f.pending, Final: f.final, Partition: f.p.folder, Length: f.length, Sums: f.sum.Sums(),
		Rows: f.rows, Attempt: f.w.attempt}
	if len(f.p.values) > 0 {
		c.PartitionValues = f.p.values
	}
	for i := range f.sets {
		c.Offsets = append(c.Offsets, account.Offsets{Split: f.sets[i].id, Set: f.sets[i].set})
	}
	return c
}
