package foreign

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"staunch/fs"
)

const (
	parquetMagic = "PAR1"
	// maxFooter bounds the footer of a file that may be damaged.
	maxFooter = 256 << 20
	// batchRows are decoded at once.
	batchRows = 8192
	// streamBytes of a column are read at once.
	streamBytes = 1 << 20
)

// source notes an error of the store below a library that makes a text of it.
type source struct {
	fs.Reader
	err error
}

func (s *source) ReadAt(b []byte, off int64) (int, error) {
	n, err := s.Reader.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = err
	}
	return n, err
}

// parquetRows reads the position columns of a Parquet file. wanted may leave out row groups by the smallest and greatest offset in them.
func parquetRows(ctx context.Context, r fs.Reader, c *columns, rows *fileRows, wanted func(first, last int64) bool) (err error) {
	src := &source{Reader: r}
	// The library is not made for hostile bytes.
	defer func() {
		if p := recover(); p != nil {
			err = damagedf("it cannot be read: %v", p)
		}
		if src.err != nil {
			err = src.err
		}
	}()
	meta, err := readFooter(src)
	if err != nil {
		return err
	}
	cols, err := findColumns(meta.Schema, c)
	if err != nil {
		return err
	}
	for i := range meta.RowGroups {
		if err := chunksInside(meta, i, src.Size()); err != nil {
			return err
		}
	}
	props := pq.NewReaderProperties(memory.NewGoAllocator())
	props.BufferedStreamEnabled, props.BufferSize = true, streamSize(meta, cols)
	f, err := file.NewParquetReader(io.NewSectionReader(src, 0, src.Size()), file.WithMetadata(meta), file.WithReadProps(props))
	if err != nil {
		return damagedf("%v", err)
	}
	sum := int64(0)
	for _, g := range meta.RowGroups {
		sum += g.NumRows
	}
	if rows.total = meta.NumRows; sum != rows.total {
		return damagedf("its footer says %d rows, and its row groups have %d", rows.total, sum)
	}
	for i := range f.NumRowGroups() {
		if err := ctx.Err(); err != nil {
			return err
		}
		g := meta.RowGroups[i]
		first, last, known := bounds(f.RowGroup(i), cols[1])
		if known && wanted != nil && !wanted(first, last) {
			continue
		}
		rows.low, rows.high = math.MaxInt64, -1
		if err := readGroup(f.RowGroup(i), g.NumRows, cols, rows); err != nil {
			return fmt.Errorf("row group %d: %w", i+1, err)
		}
		if known && rows.high >= 0 && !rows.tooMany && !rows.tooWide && (rows.low < first || rows.high > last) {
			return damagedf("row group %d: its statistics say offsets %d to %d, and it holds %d to %d", i+1, first, last, rows.low, rows.high)
		}
	}
	return nil
}

// readFooter reads the end of a Parquet file.
func readFooter(r *source) (*metadata.FileMetaData, error) {
	size := r.Size()
	if size < 12 {
		return nil, damagedf("it has %d bytes: no Parquet file is so short", size)
	}
	var head, tail [8]byte
	if n, err := r.ReadAt(tail[:], size-8); n < 8 {
		return nil, fmt.Errorf("read the last 8 bytes: %w", err)
	}
	if n, err := r.ReadAt(head[:4], 0); n < 4 {
		return nil, fmt.Errorf("read the first 4 bytes: %w", err)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	switch {
	case string(tail[4:]) == "PARE":
		return nil, damagedf("its footer is encrypted")
	case string(head[:4]) != parquetMagic:
		return nil, damagedf("it is no Parquet file: it begins with %q", head[:4])
	case string(tail[4:]) != parquetMagic:
		return nil, damagedf("it begins as a Parquet file and does not end as one: it is truncated, or still being written")
	case length > size-12 || length > maxFooter:
		return nil, damagedf("its footer of %d bytes does not fit into it", length)
	}
	b := make([]byte, length)
	if n, err := r.ReadAt(b, size-8-length); int64(n) < length {
		return nil, fmt.Errorf("read its footer of %d bytes: %w", length, err)
	}
	m, err := metadata.NewFileMetaData(b, nil)
	if err != nil {
		return nil, damagedf("its footer is damaged: %v", err)
	}
	m.SetSourceFileSize(size)
	return m, nil
}

// chunksInside checks the places of a row group's columns before memory is asked for by them.
func chunksInside(meta *metadata.FileMetaData, i int, size int64) error {
	g := meta.RowGroup(i)
	if rows := g.NumRows(); rows < 0 {
		return damagedf("row group %d has %d rows", i+1, rows)
	}
	for c := range g.NumColumns() {
		chunk, err := g.ColumnChunk(c)
		if err != nil {
			return damagedf("row group %d, column %d: %v", i+1, c+1, err)
		}
		if g.NumRows() == 0 && chunk.NumValues() == 0 {
			continue // pyarrow writes a table without rows as a row group whose chunks stand nowhere; they are not read
		}
		at := chunk.DataPageOffset()
		if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
			at = min(at, chunk.DictionaryPageOffset())
		}
		if n := chunk.TotalCompressedSize(); at < 4 || n < 0 || at > size || n > size-at {
			return damagedf("row group %d, column %d: bytes %d to %d of a file of %d", i+1, c+1, at, at+n, size)
		}
	}
	return nil
}

// streamSize is how much is read at once: no more than the largest chunk of the wanted columns.
func streamSize(meta *metadata.FileMetaData, cols [3]int) int64 {
	n := int64(512)
	for i := range meta.RowGroups {
		for _, at := range cols {
			if at >= 0 {
				if chunk, err := meta.RowGroup(i).ColumnChunk(at); err == nil {
					n = max(n, chunk.TotalCompressedSize())
				}
			}
		}
	}
	return min(n, streamBytes)
}

// findColumns finds partition, offset and topic (if any) in a schema; -1 where a folder's name gives the value.
func findColumns(s *schema.Schema, c *columns) ([3]int, error) {
	out := [3]int{-1, -1, -1}
	for i := range c.all {
		col := &c.all[i]
		if col.name == "" || col.fixed {
			continue
		}
		at := s.ColumnIndexByName(col.name)
		if at < 0 {
			at = insensitive(s, col.name)
		}
		if at < 0 {
			var have []string
			for j := range min(s.NumColumns(), 40) {
				have = append(have, s.Column(j).Path())
			}
			return out, columnf("there is no column %q; there are: %s", col.name, strings.Join(have, ", "))
		}
		d := s.Column(at)
		t := d.PhysicalType()
		if again(s, at) {
			return out, columnf("column %q is ambiguous: the file has two of this name", d.Path())
		}
		switch {
		case d.MaxRepetitionLevel() > 0:
			return out, columnf("column %q is inside an ARRAY or MAP: a row has not one position", col.name)
		case i == 2 && t != pq.Types.ByteArray:
			return out, columnf("column %q is %s, and a topic is text", col.name, t)
		case i != 2 && t != pq.Types.Int32 && t != pq.Types.Int64 && t != pq.Types.ByteArray:
			return out, columnf("column %q is %s: a position is INT, BIGINT or text of digits", col.name, t)
		case i != 2 && t != pq.Types.ByteArray && !whole(d.LogicalType()):
			return out, columnf("column %q is %s: a position is INT, BIGINT or text of digits", col.name, d.LogicalType())
		}
		out[i] = at
	}
	return out, nil
}

// whole reports whether stored integers mean themselves, not days, milliseconds or hundredths.
func whole(t schema.LogicalType) bool {
	switch t := t.(type) {
	case nil, schema.NoLogicalType, schema.UnknownLogicalType, schema.IntLogicalType:
		return true
	case schema.DecimalLogicalType:
		return t.Scale() == 0
	}
	return false
}

// again reports whether another column has the name of the one at.
func again(s *schema.Schema, at int) bool {
	for i := range s.NumColumns() {
		if i != at && s.Column(i).Path() == s.Column(at).Path() {
			return true
		}
	}
	return false
}

// unsigned reports whether stored integers mean numbers from 0 on: their greatest bit is no sign.
func unsigned(d *schema.Column) bool {
	t, ok := d.LogicalType().(schema.IntLogicalType)
	return ok && !t.IsSigned()
}

// insensitive finds a column by its name without regard to case, if there is one only; Hive and Spark write names in lower case.
func insensitive(s *schema.Schema, name string) int {
	found := -1
	for i := range s.NumColumns() {
		if strings.EqualFold(s.Column(i).Path(), name) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// bounds gives the smallest and greatest offset of a row group by its statistics, as far as these are numbers and complete.
func bounds(g *file.RowGroupReader, at int) (first, last int64, known bool) {
	if at < 0 {
		return 0, 0, false
	}
	chunk, err := g.MetaData().ColumnChunk(at)
	if err != nil {
		return 0, 0, false
	}
	if ok, err := chunk.StatsSet(); err != nil || !ok {
		return 0, 0, false
	}
	st, err := chunk.Statistics()
	if err != nil || st == nil || !st.HasMinMax() {
		return 0, 0, false
	}
	whole := unsigned(g.MetaData().Schema.Column(at))
	switch s := st.(type) {
	case *metadata.Int64Statistics:
		return s.Min(), s.Max(), !whole || s.Min() >= 0 && s.Max() >= 0
	case *metadata.Int32Statistics:
		if whole {
			return int64(uint32(s.Min())), int64(uint32(s.Max())), true
		}
		return int64(s.Min()), int64(s.Max()), true
	}
	return 0, 0, false
}

// numbers reads one column as numbers, batch by batch.
type numbers struct {
	i32   *file.Int32ColumnChunkReader
	i64   *file.Int64ColumnChunkReader
	text  *file.ByteArrayColumnChunkReader
	topic bool
	// unsigned numbers above MaxInt64 are read as -1, as text that is no number is.
	unsigned bool
	maxDef   int16
	defs     []int16
	in32     []int32
	in64     []int64
	inText   []pq.ByteArray
	// out are the batch's values; state says of each row what it is, nil if all are good.
	out   []int64
	state []rowState
	rows  *fileRows
	// sample is a value that is no number.
	sample string
}

type rowState uint8

const (
	good rowState = iota
	null
	bad
)

func newNumbers(g *file.RowGroupReader, at int, topic bool, rows *fileRows) (*numbers, error) {
	batch := min(batchRows, g.NumRows())
	r, err := g.Column(at)
	if err != nil {
		return nil, damagedf("%v", err)
	}
	n := &numbers{topic: topic, rows: rows, unsigned: unsigned(r.Descriptor()), maxDef: r.Descriptor().MaxDefinitionLevel(), out: make([]int64, batch)}
	switch c := r.(type) {
	case *file.Int32ColumnChunkReader:
		n.i32, n.in32 = c, make([]int32, batch)
	case *file.Int64ColumnChunkReader:
		n.i64, n.in64 = c, make([]int64, batch)
	case *file.ByteArrayColumnChunkReader:
		n.text, n.inText = c, make([]pq.ByteArray, batch)
	default:
		return nil, damagedf("a column is of type %T and its schema says otherwise", r)
	}
	if n.maxDef > 0 {
		n.defs = make([]int16, batch)
	}
	return n, nil
}

// read decodes exactly want rows.
func (n *numbers) read(want int) error {
	levels, values := 0, 0
	for levels < want {
		var l int64
		var v int
		var err error
		defs := n.defs
		if defs != nil {
			defs = defs[levels:]
		}
		switch {
		case n.i32 != nil:
			l, v, err = n.i32.ReadBatch(int64(want-levels), n.in32[values:], defs, nil)
		case n.i64 != nil:
			l, v, err = n.i64.ReadBatch(int64(want-levels), n.in64[values:], defs, nil)
		default:
			l, v, err = n.text.ReadBatchInPage(int64(want-levels), n.inText[values:], defs, nil)
			n.convert(values, v) // at once: the bytes are good until the next page
		}
		if err != nil {
			return damagedf("%v", err)
		}
		if l == 0 {
			return damagedf("a column ends %d rows before its row group", want-levels)
		}
		levels, values = levels+int(l), values+v
	}
	n.spread(want, values)
	return nil
}

// more reports whether there is anything behind what was read.
func (n *numbers) more() bool {
	switch {
	case n.i32 != nil:
		return n.i32.HasNext()
	case n.i64 != nil:
		return n.i64.HasNext()
	}
	return n.text.HasNext()
}

// convert makes numbers of text.
func (n *numbers) convert(at, count int) {
	for i, b := range n.inText[at : at+count] {
		if n.topic {
			n.out[at+i] = int64(n.rows.topic(b))
			continue
		}
		v, ok := digits(b)
		if !ok {
			v = -1
			n.sample = fmt.Sprintf("%.40q", b)
		}
		n.out[at+i] = v
	}
}

// spread puts the values where their rows are.
func (n *numbers) spread(want, values int) {
	switch {
	case n.i32 != nil:
		for i, v := range n.in32[:values] {
			n.out[i] = int64(v)
		}
	case n.i64 != nil:
		copy(n.out, n.in64[:values])
	}
	if n.unsigned {
		n.asUnsigned(n.out[:values])
	}
	n.state = n.state[:0]
	if values == want {
		return
	}
	n.state = slices.Grow(n.state, want)[:want]
	for i := want - 1; i >= 0; i-- {
		n.state[i] = null
		if n.defs[i] == n.maxDef {
			values--
			n.out[i], n.state[i] = n.out[values], good
		}
	}
}

// readGroup reads one row group.
func readGroup(g *file.RowGroupReader, total int64, cols [3]int, rows *fileRows) error {
	var n [3]*numbers
	for i, at := range cols {
		if at < 0 {
			continue
		}
		if chunk, err := g.MetaData().ColumnChunk(at); total == 0 && err == nil && chunk.NumValues() == 0 {
			continue // see chunksInside
		}
		var err error
		if n[i], err = newNumbers(g, at, i == 2, rows); err != nil {
			return err
		}
	}
	for done := int64(0); done < total && !rows.tooMany && !rows.tooWide; {
		want := int(min(batchRows, total-done))
		for _, c := range n {
			if c != nil {
				if err := c.read(want); err != nil {
					return err
				}
			}
		}
		rows.batch(n, want)
		done += int64(want)
	}
	for _, c := range n {
		if c != nil && !rows.tooMany && !rows.tooWide && c.more() {
			return damagedf("a column goes on behind the %d rows that the footer says", total)
		}
	}
	return nil
}

// batch takes in what three columns have read; of a column that is nil the value is fixed.
func (r *fileRows) batch(n [3]*numbers, want int) {
	if n[0].plain() && n[1].plain() && n[2] == nil {
		part, off := n[0].out[:want], n[1].out[:want]
		for i, p := range part {
			r.add(int32(r.fixed[2]), p, off[i])
		}
		return
	}
	for i := range want {
		v, st := r.fixed, good
		for c, col := range n {
			if col == nil {
				continue
			}
			v[c] = col.out[i]
			if len(col.state) > 0 && col.state[i] == null {
				st = null
			} else if v[c] < 0 && (col.text != nil || col.unsigned) {
				st = max(st, bad)
			}
		}
		switch st {
		case good:
			r.add(int32(v[2]), v[0], v[1])
		case null:
			r.without()
		default:
			r.wrong(sample(n))
		}
	}
}

// asUnsigned reads numbers, which were stored as signed ones, without a sign.
func (n *numbers) asUnsigned(out []int64) {
	for i, v := range out {
		switch {
		case v >= 0:
		case n.i32 != nil:
			out[i] = int64(uint32(v))
		default:
			out[i], n.sample = -1, strconv.FormatUint(uint64(v), 10)
		}
	}
}

// plain reports whether all values of the batch are numbers and none is missing.
func (n *numbers) plain() bool {
	return n != nil && n.text == nil && len(n.state) == 0 && n.sample == ""
}

func sample(n [3]*numbers) string {
	for _, c := range n {
		if c != nil && c.sample != "" {
			return c.sample
		}
	}
	return "no number"
}
