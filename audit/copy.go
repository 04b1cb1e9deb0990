package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"staunch/account"
	"staunch/env"
	"staunch/fs"
)

// CopyReport is the result for the copy of one partition.
type CopyReport struct {
	Copy string    `json:"copy"`
	Time time.Time `json:"time"`
	// Table and Partition are what it is a copy of.
	Table     string  `json:"table"`
	Partition string  `json:"partition"`
	Verdict   Verdict `json:"verdict"`
	// Fast is set when contents were not hashed and lines not counted.
	Fast  bool  `json:"fast"`
	Files int64 `json:"files"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	Lost  int64 `json:"lost_files"`
	// Lengths are files of which the certificate has no checksum, since a version wrote them that recorded none: their length counts alone.
	Lengths  int64     `json:"without_checksum,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	More     int64     `json:"more,omitempty"`
}

func (r *CopyReport) problem(p Problem) {
	r.Verdict = Wrong
	if len(r.Problems) == maxListed {
		r.More++
		return
	}
	r.Problems = append(r.Problems, p)
}

// Count is the number of problems.
func (r *CopyReport) Count() int64 { return int64(len(r.Problems)) + r.More }

// Text writes the report for people.
func (r *CopyReport) Text(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "copy %s of partition %q of %s: %s\n", r.Copy, r.Partition, r.Table, r.Verdict)
	fmt.Fprintf(w, "  as certified: %s, %s rows, %s bytes\n", account.Plural(r.Files, "file", "files"), account.Number(r.Rows), account.Number(r.Bytes))
	if r.Lost > 0 {
		fmt.Fprintf(w, "  lost before it was copied: %s\n", account.Plural(r.Lost, "file", "files"))
	}
	if r.Lengths > 0 {
		fmt.Fprintf(w, "  not proven beyond existence and length: %s of a version that recorded no checksums\n", account.Plural(r.Lengths, "file", "files"))
	}
	if r.Fast {
		fmt.Fprintln(w, "  contents were not hashed and lines not counted (--fast)")
	}
	problems(w, r.Problems, r.More)
	return w.Flush()
}

// Copy holds the folder root against the certificate of a partition, without the table that it came from.
func Copy(ctx context.Context, e env.Env, store fs.FS, root string, c *Exported, opts Options) (*CopyReport, error) {
	root = path.Clean(root)
	rep := &CopyReport{Copy: fs.URI(store, root), Time: e.Now().UTC(), Table: c.Table, Partition: c.Partition, Verdict: Clean, Fast: opts.Fast, Lost: int64(len(c.Lost))}
	x := &files{ctx: ctx, store: store, root: root, opts: opts, exts: map[string]bool{}}
	named := names{}
	c.disjoint(rep.problem)
	for i := range c.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := &c.Files[i]
		at := path.Join(root, f.Name)
		named.add(at)
		x.exts[path.Ext(at)] = true
		want := account.File{Final: at, Length: f.Length, Sums: f.Sums, Rows: f.Rows, Offsets: f.Offsets}
		_, p, err := x.compare(&want, at)
		if err != nil {
			return nil, err
		}
		if p != nil {
			p.Path, p.Checkpoint, p.Offsets, p.ToDo = at, f.Checkpoint, offsetsOf(f.Offsets), "copy the file again from "+c.Table
			if p.Kind == FileMissing {
				p.What = fmt.Sprintf("the file is not in the copy; it has %d rows", f.Rows)
			}
			rep.problem(*p)
			continue
		}
		if !f.Recorded() {
			rep.Lengths++
		}
		rep.Files++
		rep.Rows += f.Rows
		rep.Bytes += f.Length
	}
	switch info, err := store.Stat(root); {
	case errors.Is(err, fs.ErrNotExist):
		rep.problem(Problem{Kind: FileMissing, Path: root, What: "the folder of the copy does not exist", ToDo: "name the folder that the partition was copied to"})
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", root, err)
	case !info.Dir && !info.Symlink:
		rep.problem(Problem{Kind: FileMissing, Path: root, What: "it is no folder", ToDo: "name the folder that the partition was copied to"})
		return rep, nil
	}
	w := &walker{files: x, named: named, exts: x.exts, success: "_SUCCESS", seen: map[string]bool{}}
	if err := w.walk(""); err != nil {
		return nil, err
	}
	for _, f := range w.foreign {
		rep.problem(Problem{Kind: FileForeign, What: "readers of the copy see a file that the certificate does not name", Path: f.path,
			ToDo: "find out who put it there; if it came later, copy that partition's newer certificate too"})
	}
	rep.More += w.more
	if w.more > 0 {
		rep.Verdict = Wrong
	}
	return rep, nil
}
