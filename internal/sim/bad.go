package sim

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/fs"
)

// Variants that are no part of the engine: what a sink, a store or a plan would do without a rule.

// deleting is the variant delete-before-write.
type deleting struct {
	connector.Sink
	w *world
	l *lake
}

func (d deleting) NewWriter(ctx connector.Context) (connector.Writer, error) {
	inner, err := d.Sink.NewWriter(ctx)
	return &deletingWriter{Writer: inner, d: d, ctx: ctx}, err
}

type deletingWriter struct {
	connector.Writer
	d    deleting
	ctx  connector.Context
	last account.CheckpointID
}

func (x *deletingWriter) folder(id account.CheckpointID) string {
	return fmt.Sprintf("%s/_DUMP_TEMPORARY/cp-%d/task-%d", x.d.l.root, id, x.ctx.Subtask)
}

// Write empties the folder of the next checkpoint before its first file, as the old protocol did. The request may arrive again later.
func (x *deletingWriter) Write(b *changelog.Batch, splits []connector.Split) error {
	if id := x.ctx.NextCheckpoint(); id != x.last {
		x.last = id
		x.d.w.deleteFolder(x.folder(id))
		x.d.w.late = append(x.d.w.late, x.folder(id))
	}
	return x.Writer.Write(b, splits)
}

func (w *world) deleteFolder(dir string) {
	list, err := w.o.client.List(dir)
	if err != nil {
		return
	}
	for _, i := range list {
		_ = w.o.client.Delete(path.Join(dir, i.Name)) // gone already is as good
	}
}

// preparing is a sink whose writers do something else at the barrier.
type preparing struct {
	connector.Sink
	prepare func(w connector.Writer, ctx connector.Context, id account.CheckpointID) ([]connector.Committable, func() error, error)
}

func (p preparing) NewWriter(ctx connector.Context) (connector.Writer, error) {
	inner, err := p.Sink.NewWriter(ctx)
	return &preparingWriter{inner, ctx, p}, err
}

type preparingWriter struct {
	connector.Writer
	ctx connector.Context
	p   preparing
}

func (x *preparingWriter) Prepare(id account.CheckpointID) ([]connector.Committable, func() error, error) {
	return x.p.prepare(x.Writer, x.ctx, id)
}

// keepOpen lets files grow over every other barrier.
func keepOpen(w connector.Writer, _ connector.Context, id account.CheckpointID) ([]connector.Committable, func() error, error) {
	if id%2 == 1 {
		return nil, nil, nil
	}
	return w.Prepare(id)
}

// ackFirst acknowledges before the files are durable.
func ackFirst(w connector.Writer, ctx connector.Context, id account.CheckpointID) ([]connector.Committable, func() error, error) {
	out, durable, err := w.Prepare(id)
	if durable != nil {
		ctx.Env.Go("durable", func() { _ = durable() }) // nobody waits for it
	}
	return out, nil, err
}

// rangesOnly records the first and last offset of a file and all between them.
func rangesOnly(w connector.Writer, _ connector.Context, id account.CheckpointID) ([]connector.Committable, func() error, error) {
	out, durable, err := w.Prepare(id)
	for _, c := range out {
		for i := range c.File.Offsets {
			if runs := c.File.Offsets[i].Set.Runs; len(runs) > 1 {
				c.File.Offsets[i].Set.Runs = []account.Run{{From: runs[0].From, To: runs[len(runs)-1].To}}
			}
		}
	}
	return out, durable, err
}

// renaming changes the names of files.
type renaming struct {
	name    func(string) string
	pending func(string) string
}

// sameNames has neither epoch nor random part in its names.
var sameNames = renaming{name: func(p string) string { return nameParts.ReplaceAllString(p, "$1$2") }, pending: func(p string) string { return p }}

var nameParts = regexp.MustCompile(`(/part-[0-9a-f]{8}-\d+-\d+)-\d+(-\d+)-[0-9a-f]+`)

// plainNames has no suffix in the temporary place.
var plainNames = renaming{name: func(p string) string { return p }, pending: func(p string) string { return strings.TrimSuffix(p, ".pending") }}

func (n renaming) prepare(w connector.Writer, _ connector.Context, id account.CheckpointID) ([]connector.Committable, func() error, error) {
	out, durable, err := w.Prepare(id)
	for _, c := range out {
		c.File.Pending, c.File.Final = n.pending(n.name(c.File.Pending)), n.name(c.File.Final)
	}
	return out, durable, err
}

// renamingStore makes files under the changed names; a name that is taken is emptied first.
type renamingStore struct {
	fs.FS
	n renaming
}

func (s renamingStore) Create(p string) (fs.File, error) {
	q := s.n.pending(s.n.name(p))
	f, err := s.FS.Create(q)
	if q != p && errors.Is(err, fs.ErrExist) {
		if err := s.FS.Delete(q); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return s.FS.Create(q)
	}
	return f, err
}

// againStore makes a file under the same name again after an answer that says nothing.
type againStore struct{ fs.FS }

func (s againStore) Create(p string) (fs.File, error) {
	f, err := s.FS.Create(p)
	for n := 0; n < 8 && strings.HasSuffix(p, ".pending") && (errors.Is(err, fs.ErrUnavailable) || n > 0 && errors.Is(err, fs.ErrExist)); n++ {
		_ = s.FS.Delete(p) // what the first try may have left
		f, err = s.FS.Create(p)
	}
	return f, err
}

// rewriting is a table whose success files are written anew each time.
type rewriting struct {
	connector.FileTable
	store fs.FS
	root  string
}

func (r rewriting) PartitionCommit() connector.PartitionCommit {
	if pc := r.FileTable.PartitionCommit(); pc != nil {
		return rewritingCommit{pc, r}
	}
	return nil
}

type rewritingCommit struct {
	connector.PartitionCommit
	r rewriting
}

func (c rewritingCommit) Commit(partition string, values []*string) error {
	_ = c.r.store.Delete(c.r.root + "/" + partition + "/_SUCCESS") // it is made anew
	return c.PartitionCommit.Commit(partition, values)
}
