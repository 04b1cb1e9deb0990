package sim

import (
	"fmt"
	"path"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
)

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
