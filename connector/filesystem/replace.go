package filesystem

import (
	"path"
	"slices"
	"strings"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// replacement is a lost file that is being written again: one file, of one partition, that does not roll.
//
// INV: what Finish gives is durable, is named by nothing yet, and lies where no reader and no attempt takes it for its own.
type replacement struct {
	w    *writer
	lost account.File
	f    *file
	// sets are the lost file's offsets by split, at the place that each has in it: every reader has indices of its own.
	sets map[string]*account.Set
	at   map[string]int
}

// Replace implements connector.Replacer.
func (s *sink) Replace(ctx connector.Context, lost account.File) (connector.Replacement, error) {
	if !strings.HasPrefix(lost.Final, s.root+"/") || path.Dir(lost.Final) != path.Join(s.root, lost.Partition) {
		return nil, fault.New(fault.Damage, "table %s: %s does not lie in the table's folder %s as its certificate says", s.name, lost.Final, path.Join(s.root, lost.Partition))
	}
	name, ok := account.ParseFileName(path.Base(lost.Final))
	if !ok || name.Ext != s.ext {
		return nil, fault.Userf("table %s: %s is not named as files of this table are (part-...-%s)", s.name, path.Base(lost.Final), "."+s.ext).
			WithHint("write it again with the table's former format, or take the loss as it is")
	}
	w := s.newWriter(ctx)
	w.attempt, w.epoch, w.subtask, w.replaces = lost.Attempt, name.Epoch, name.Subtask, &lost
	w.next = func() account.CheckpointID { return name.Checkpoint }
	r := &replacement{w: w, lost: lost, sets: map[string]*account.Set{}, at: map[string]int{}}
	for i, o := range lost.Offsets {
		r.sets[o.Split], r.at[o.Split] = &o.Set, i
	}
	if len(r.sets) == 0 {
		return nil, fault.Userf("table %s: %s has no offsets: nothing says which records it held", s.name, lost.Final)
	}
	var err error
	p := &partition{folder: lost.Partition, values: lost.PartitionValues, checked: true}
	if r.f, err = w.start(p, ctx.Env.Now()); err != nil {
		return nil, err
	}
	return r, nil
}

// nameReplacement gives f its names. The temporary folder is made when it turns out to be missing.
func (w *writer) nameReplacement(f *file) {
	f.id = w.next()
	w.folder = path.Join(w.sink.root, temporary)
	f.name = account.RepairName(w.job8, f.id, env.RandomHex(w.env, 12), w.sink.ext)
	f.pending, f.final = path.Join(w.folder, f.name), w.replaces.Final
}

// Write implements connector.Replacement.
func (r *replacement) Write(b *changelog.Batch, splits []connector.Split) error {
	if b.Rows == 0 {
		return nil
	}
	rows, err := r.w.runOf(b, splits)
	if err != nil {
		return err
	}
	set := r.sets[rows.id]
	if set == nil {
		return nil
	}
	rows.split = r.at[rows.id]
	r.w.runs.reset(&r.w.sink.layout)
	// The first run of the set that may hold a row of the batch.
	i, _ := slices.BinarySearchFunc(set.Runs, b.Offsets[0], func(x account.Run, o int64) int {
		if x.To <= o {
			return -1
		}
		return 1
	})
	at := 0
	for ; i < len(set.Runs) && at < b.Rows; i++ {
		from, _ := slices.BinarySearch(b.Offsets[at:], set.Runs[i].From)
		to, _ := slices.BinarySearch(b.Offsets[at:], set.Runs[i].To)
		if err := r.take(b, rows, at+from, at+to); err != nil {
			return err
		}
		at += to
	}
	return nil
}

// take appends rows from <= i < to, which all have to be of the file's partition.
func (r *replacement) take(b *changelog.Batch, rows run, from, to int) error {
	w := r.w
	for rows.from = from; rows.from < to; rows.from = rows.to {
		rows.to = to
		if len(w.sink.layout.keys) > 0 {
			rows.to = w.runs.end(&w.sink.layout, b.Cols, rows.from, to)
			if p := w.parts.find(b.Cols, rows.from); p.folder != r.lost.Partition {
				return fault.Userf("the row of %s offset %d belongs to partition %s now, and %s is in %s", rows.id, b.Offsets[rows.from], p.folder, r.lost.Final, r.lost.Partition)
			}
		} else if r.lost.Partition != "" {
			return fault.Userf("the table has no partitions now, and %s is in %s", r.lost.Final, r.lost.Partition)
		}
		if err := r.f.add(rows, w.env.Now()); err != nil {
			return err
		}
	}
	return nil
}

// SizeBytes implements connector.Replacement.
func (r *replacement) SizeBytes() int64 {
	if r.f == nil {
		return 0
	}
	return r.f.memory()
}

// Finish implements connector.Replacement.
func (r *replacement) Finish() (*account.File, error) {
	f := r.f
	if err := f.finish(); err != nil {
		return nil, err
	}
	r.f = nil
	left := durability{files: []unsynced{{f.pending, f.handle}}, folders: append(r.w.left.folders, path.Dir(f.pending), r.w.sink.root)}
	if err := left.finish(r.w.store, r.w.wait); err != nil {
		return nil, err
	}
	return f.committable(), nil
}

// Close implements connector.Replacement.
func (r *replacement) Close() error {
	if r.f != nil && r.f.handle != nil {
		fs.GiveUp(r.f.handle)
	}
	r.f = nil
	return nil
}
