package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"sort"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"staunch/changelog"
	"staunch/format"
)

// magic stands at both ends of a file.
const magic = "PAR1"

// fileFormat implements format.FileFormat. It may be used by several goroutines.
type fileFormat struct {
	options *options
	fields  []field
	schema  *schema.Schema
	plain   *pq.WriterProperties
	codec   compress.Codec
}

// Open implements format.FileFormat.
func (f *fileFormat) Open(w io.Writer) (format.FileWriter, error) {
	out := &fileWriter{format: f, w: w, columns: make([]column, len(f.fields)), meta: metadata.NewFileMetadataBuilder(f.schema, f.plain, nil)}
	for i := range out.columns {
		c := &out.columns[i]
		c.field, c.o = &f.fields[i], f.options
		c.enc = encoder{f.codec, f.options.level, f.options.codec == compress.Codecs.Snappy}
		c.zone = localZone{loc: f.options.zone}
		c.startChunk()
	}
	if _, err := out.sink().Write([]byte(magic)); err != nil {
		return nil, fmt.Errorf("write the head of a Parquet file: %w", err)
	}
	return out, nil
}

// fileWriter implements format.FileWriter.
type fileWriter struct {
	format  *fileFormat
	w       io.Writer
	columns []column
	meta    *metadata.FileMetaDataBuilder
	written int64
	rows    int // of the open row group
	groups  int
	// ioErr is the first error of the file; err is what every call returns from then on.
	ioErr, err error
}

// sink returns the file as its parts are written to it.
func (w *fileWriter) sink() io.Writer { return (*counter)(w) }

// counter counts bytes and keeps the first error: the library that writes the footer does not pass all of them on.
type counter fileWriter

func (c *counter) Write(b []byte) (int, error) {
	if c.ioErr != nil {
		return 0, c.ioErr
	}
	n, err := c.w.Write(b)
	c.written += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	c.ioErr = err
	return n, err
}

// Write implements format.FileWriter.
func (w *fileWriter) Write(cols []*changelog.Column, from, to int) error {
	if w.err != nil {
		return w.err
	}
	if len(cols) != len(w.columns) {
		return fmt.Errorf("parquet: %d columns for a file of %d", len(cols), len(w.columns))
	}
	// A page's worth of rows at a time, so that the row group ends where it should however many come.
	for from < to {
		n := min(to-from, w.format.options.pageRows)
		for i := range w.columns {
			if w.err = w.columns[i].write(cols[i], from, from+n); w.err != nil {
				return w.err
			}
		}
		w.rows += n
		from += n
		if w.pending() >= w.format.options.rowGroup || w.rows >= maxGroupRows {
			if w.err = w.endGroup(); w.err != nil {
				return w.err
			}
		}
	}
	return nil
}

// maxGroupRows keeps the counts of a row group far from 32 bits.
const maxGroupRows = 1 << 28

// pending are the bytes of compressed pages that wait for their row group.
func (w *fileWriter) pending() int64 {
	var n int64
	for i := range w.columns {
		n += w.columns[i].chunk.len()
	}
	return n
}

// Size implements format.FileWriter.
func (w *fileWriter) Size() int64 {
	n := w.written
	for i := range w.columns {
		n += w.columns[i].chunk.len() + w.columns[i].open()
	}
	return n
}

// About what a column of an open file takes besides its values, and what the footer keeps of each chunk.
const columnBytes, chunkBytes = 640, 800

// Buffered implements format.FileWriter.
func (w *fileWriter) Buffered() int64 {
	if w.columns == nil {
		return 0
	}
	n := int64(len(w.columns)) * (columnBytes + int64(w.groups)*chunkBytes)
	for i := range w.columns {
		n += w.columns[i].held()
	}
	return n
}

// endGroup writes the open row group.
func (w *fileWriter) endGroup() error {
	if w.rows == 0 {
		return nil
	}
	if w.groups >= 1<<15-1 {
		return fmt.Errorf("parquet: the file has %d row groups, which is the most there can be; raise 'parquet.block.size' or roll files earlier", w.groups)
	}
	group := w.meta.AppendRowGroup()
	group.SetNumRows(w.rows)
	for i := range w.columns {
		if err := w.columns[i].endChunk(w, group.NextColumnChunk()); err != nil {
			return fmt.Errorf("write column '%s' of a Parquet row group: %w", w.columns[i].name, err)
		}
	}
	if err := group.Finish(0, int16(w.groups)); err != nil {
		return fmt.Errorf("end a Parquet row group: %w", err)
	}
	w.groups++
	w.rows = 0
	return nil
}

// endChunk writes the chunk behind what the file has and describes it.
func (c *column) endChunk(w *fileWriter, meta *metadata.ColumnChunkMetaDataBuilder) error {
	c.endPage()
	info := metadata.ChunkMetaInfo{NumValues: c.chunkRows, IndexPageOffset: -1, CompressedSize: c.compressed, UncompressedSize: c.uncompressed}
	encodings := metadata.EncodingStats{DataEncodingStats: map[pq.Encoding]int32{}, DictEncodingStats: map[pq.Encoding]int32{}}
	if c.plainPages > 0 {
		encodings.DataEncodingStats[pq.Encodings.Plain] = c.plainPages
	}
	meta.SetStats(c.statistics())
	if c.dictPages > 0 {
		info.DictPageOffset = w.written
		encodings.DictEncodingStats[pq.Encodings.PlainDict] = 1
		encodings.DataEncodingStats[pq.Encodings.PlainDict] = c.dictPages
		s := scratchPool.Get().(*scratch)
		head, data := c.pack(s, c.dict.page, pageDictionary, int32(c.dict.count), encodingPlainDictionary)
		info.UncompressedSize += int64(len(head) + len(c.dict.page))
		info.CompressedSize += int64(len(head) + len(data))
		_, err := w.sink().Write(head)
		if err == nil {
			_, err = w.sink().Write(data)
		}
		scratchPool.Put(s)
		if err != nil {
			return err
		}
	}
	info.DataPageOffset = w.written
	if err := c.chunk.writeTo(w.sink()); err != nil {
		return err
	}
	if err := meta.Finish(info, c.dictPages > 0, c.dictPages > 0 && c.plainPages > 0, encodings); err != nil {
		return err
	}
	c.startChunk()
	return nil
}

// Finish implements format.FileWriter.
func (w *fileWriter) Finish(meta map[string]string) error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.endGroup(); w.err != nil {
		return w.err
	}
	w.err = w.footer(meta)
	w.columns, w.meta = nil, nil
	if w.err == nil {
		w.err = errFinished
		return nil
	}
	return w.err
}

var errFinished = fmt.Errorf("parquet: the file is finished")

// footer writes the metadata, its length and the magic.
func (w *fileWriter) footer(meta map[string]string) error {
	start := w.written
	names := make([]string, 0, len(meta))
	for name := range meta {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := w.meta.AppendKeyValueMetadata(name, meta[name]); err != nil {
			return fmt.Errorf("add '%s' to a Parquet footer: %w", name, err)
		}
	}
	out, err := w.meta.Finish()
	if err != nil {
		return fmt.Errorf("make a Parquet footer: %w", err)
	}
	if _, err = out.WriteTo(w.sink(), nil); err == nil {
		err = w.ioErr
	}
	if err != nil {
		return fmt.Errorf("write a Parquet footer: %w", err)
	}
	tail := binary.LittleEndian.AppendUint32(nil, uint32(w.written-start))
	if _, err := w.sink().Write(append(tail, magic...)); err != nil {
		return fmt.Errorf("write the end of a Parquet file: %w", err)
	}
	return nil
}
