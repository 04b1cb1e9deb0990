package drill

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"staunch/fs"
)

// rows are the rows that a reader of a table sees, each as a hash over its values and its partition, sorted.
type rows []uint64

// reader reads tables as any reader does, by names and contents alone: nothing of the table's log is looked at.
type reader struct {
	seed  maphash.Seed
	store fs.FS
	root  Root
	out   rows
	files int
}

// readTable reads all visible files of a table. A table that is not there has no rows.
func readTable(ctx context.Context, seed maphash.Seed, stores fs.Resolver, t Root) (rows, int, error) {
	store, dir, err := stores.Resolve(t.URI)
	if err != nil {
		return nil, 0, err
	}
	r := &reader{seed: seed, store: store, root: t}
	if err := r.folder(ctx, dir, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	slices.Sort(r.out)
	return r.out, r.files, nil
}

// folder reads the files of a folder and of those in it, as far as readers see them.
func (r *reader) folder(ctx context.Context, dir, partition string) error {
	infos, err := r.store.List(dir)
	if err != nil {
		return err
	}
	for _, i := range infos {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := path.Join(dir, i.Name)
		switch {
		case fs.Hidden(i):
		case i.Dir:
			if err := r.folder(ctx, p, path.Join(partition, i.Name)); err != nil {
				return err
			}
		case strings.HasSuffix(i.Name, "."+r.root.Ext):
			r.files++
			if err := r.file(p, partition); err != nil {
				return fmt.Errorf("read %s: %w", fs.URI(r.store, p), err)
			}
		}
	}
	return nil
}

// errUnreadable: a file that readers see is none of its format.
var errUnreadable = errors.New("a visible file cannot be read")

func (r *reader) file(p, partition string) error {
	f, err := r.store.Open(p)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read
	from := len(r.out)
	if r.root.Ext == "parquet" {
		err = r.parquet(f)
	} else {
		err = r.lines(f)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	part := maphash.String(r.seed, partition)
	for i := from; i < len(r.out); i++ {
		r.out[i] = mix(r.out[i], part)
	}
	return nil
}

// mix puts one hash behind another.
func mix(a, b uint64) uint64 {
	a ^= b + 0x9e3779b97f4a7c15 + a<<6 + a>>2
	a *= 0xff51afd7ed558ccd
	return a ^ a>>33
}

// lines takes each line for a row.
func (r *reader) lines(f fs.Reader) error {
	in := bufio.NewReaderSize(f, 1<<16)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if l := bytes.TrimSuffix(line, []byte("\n")); len(l) > 0 {
			r.out = append(r.out, maphash.Bytes(r.seed, l))
		}
		line = line[:0]
		if err != nil {
			return nil
		}
	}
}

// parquet reads a Parquet file with Arrow's reader, column by column. A row's hash is over the levels and values of its leaves.
func (r *reader) parquet(f fs.Reader) error {
	p, err := file.NewParquetReader(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was read
	for g := range p.NumRowGroups() {
		group := p.RowGroup(g)
		from := len(r.out)
		r.out = append(r.out, make(rows, group.NumRows())...)
		for c := range group.NumColumns() {
			col, err := group.Column(c)
			if err == nil {
				err = r.column(col, r.out[from:])
			}
			if err != nil {
				return fmt.Errorf("row group %d, column %d: %w", g, c, err)
			}
		}
	}
	return nil
}

// column mixes one column chunk into the rows.
func (r *reader) column(c file.ColumnChunkReader, out rows) error {
	switch c := c.(type) {
	case *file.BooleanColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, func(v bool) uint64 {
			if v {
				return 1
			}
			return 2
		})
	case *file.Int32ColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, func(v int32) uint64 { return uint64(v) })
	case *file.Int64ColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, func(v int64) uint64 { return uint64(v) })
	case *file.Int96ColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, func(v parquet.Int96) uint64 {
			return mix(binary.LittleEndian.Uint64(v[:8]), uint64(binary.LittleEndian.Uint32(v[8:])))
		})
	case *file.Float32ColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, func(v float32) uint64 { return uint64(math.Float32bits(v)) })
	case *file.Float64ColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, math.Float64bits)
	case *file.ByteArrayColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, func(v parquet.ByteArray) uint64 { return maphash.Bytes(r.seed, v) })
	case *file.FixedLenByteArrayColumnChunkReader:
		return leaves(c, c.ReadBatchInPage, out, func(v parquet.FixedLenByteArray) uint64 { return maphash.Bytes(r.seed, v) })
	}
	return fmt.Errorf("physical type %s", c.Type())
}

// leaves reads the values of one column. Values are used before the next page is read, since bytes lie in the page.
func leaves[T any](c file.ColumnChunkReader, read func(int64, []T, []int16, []int16) (int64, int, error), out rows, hash func(T) uint64) error {
	d := c.Descriptor()
	most, repeated := d.MaxDefinitionLevel(), d.MaxRepetitionLevel() > 0
	values, defs, reps := make([]T, 1024), make([]int16, 1024), make([]int16, 1024)
	row := -1
	for c.HasNext() {
		total, got, err := read(int64(len(values)), values, defs, reps)
		if err != nil {
			return err
		}
		if total == 0 {
			break
		}
		v := 0
		for i := range int(total) {
			if !repeated || reps[i] == 0 {
				row++
			}
			if row < 0 || row >= len(out) {
				return fmt.Errorf("more than %d rows", len(out))
			}
			level := most
			if most > 0 {
				level = defs[i]
			}
			h := uint64(level) << 1
			if repeated {
				h = h<<16 | uint64(reps[i])
			}
			if level == most {
				if v >= got {
					return errors.New("fewer values than levels")
				}
				h = mix(h, hash(values[v]))
				v++
			}
			out[row] = mix(out[row], h)
		}
	}
	if row != len(out)-1 {
		return fmt.Errorf("%d rows of %d", row+1, len(out))
	}
	return nil
}

// compare counts rows that are missing in got and rows that are in it too often; both are sorted. What was never expected counts as foreign.
func compare(want, got rows) (lost, doubled, foreign int64) {
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case j == len(got) || i < len(want) && want[i] < got[j]:
			lost++
			i++
		case i == len(want) || got[j] < want[i]:
			if i > 0 && want[i-1] == got[j] {
				doubled++
			} else {
				foreign++
			}
			j++
		default:
			i++
			j++
		}
	}
	return lost, doubled, foreign
}
