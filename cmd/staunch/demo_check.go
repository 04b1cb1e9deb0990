package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// result is what was found in the table's files.
type result struct {
	want, rows                     int64
	missing, twice, wrong, foreign int64
	samples                        []string
}

func (r *result) right() bool {
	return r.missing == 0 && r.twice == 0 && r.wrong == 0 && r.foreign == 0 && r.rows == r.want
}

func (r *result) sample() string {
	head := fmt.Sprintf("%-9s  %-9s  %-12s  %9s  %-23s  %4s  %7s  %-10s  %s", "user_id", "item_id", "action", "amount", "ts", "part", "off", "dt", "hour")
	return head + "\n" + strings.Join(r.samples, "\n")
}

// check reads every Parquet file below a folder, without any of Staunch's own packages, and holds each row against the event that was produced.
func (f *feeder) check(ctx context.Context, lake string) (*result, error) {
	r := &result{}
	var seen [demoPartitions][]bool
	for p, list := range f.sent {
		seen[p] = make([]bool, len(list))
		for _, e := range list {
			if e.cents >= 0 {
				r.want++
			}
		}
	}
	files := 0
	err := filepath.WalkDir(lake, func(path string, d iofs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".parquet" {
			return err
		}
		files++
		n := 0
		return readRows(path, func(row demoRow) {
			r.rows++
			if n++; n == 1 && len(r.samples) < 8 && files%3 == 1 {
				r.samples = append(r.samples, row.text(lake, path))
			}
			f.judge(r, &seen, row)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	for p, list := range f.sent {
		for o, e := range list {
			if e.cents >= 0 && !seen[p][o] {
				r.missing++
			}
		}
	}
	return r, nil
}

// judge holds one row against its event.
func (f *feeder) judge(r *result, seen *[demoPartitions][]bool, row demoRow) {
	if row.part < 0 || row.part >= demoPartitions || row.off < 0 || row.off >= int64(len(f.sent[row.part])) {
		r.foreign++
		return
	}
	e := f.sent[row.part][row.off]
	switch {
	case e.cents < 0:
		r.foreign++
	case seen[row.part][row.off]:
		r.twice++
	case row.cents != int64(e.cents) || row.user != int64(e.user):
		r.wrong++
	}
	seen[row.part][row.off] = true
}

// demoRow is one row of the table.
type demoRow struct {
	user, item, cents, off int64
	part                   int32
	action                 string
	ts                     time.Time
}

func (r demoRow) text(lake, path string) string {
	rel, err := filepath.Rel(lake, filepath.Dir(path))
	if err != nil {
		rel = path
	}
	dt, hour, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return fmt.Sprintf("%-9d  %-9d  %-12s  %6d.%02d  %s  %4d  %7d  %-10s  %s", r.user, r.item, r.action, r.cents/100, r.cents%100,
		r.ts.Format("2006-01-02 15:04:05.000"), r.part, r.off, strings.TrimPrefix(dt, "dt="), strings.TrimPrefix(hour, "hour="))
}

// readRows gives each row of one file to emit.
func readRows(path string, emit func(demoRow)) error {
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer r.Close()
	for g := range r.NumRowGroups() {
		rows, err := readGroup(r.MetaData().Schema, r.RowGroup(g))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, row := range rows {
			emit(row)
		}
	}
	return nil
}

// readGroup reads one row group, column by column.
func readGroup(s *schema.Schema, group *file.RowGroupReader) ([]demoRow, error) {
	rows := make([]demoRow, group.NumRows())
	column := func(name string) (file.ColumnChunkReader, error) { return group.Column(s.ColumnIndexByName(name)) }
	unit, err := timeUnit(s.Column(s.ColumnIndexByName("ts")))
	if err != nil {
		return nil, err
	}
	return rows, errors.Join(
		readColumn(column, "user_id", len(rows), (*file.Int64ColumnChunkReader).ReadBatchInPage, func(i int, v int64) { rows[i].user = v }),
		readColumn(column, "item_id", len(rows), (*file.Int64ColumnChunkReader).ReadBatchInPage, func(i int, v int64) { rows[i].item = v }),
		readColumn(column, "action", len(rows), (*file.ByteArrayColumnChunkReader).ReadBatchInPage, func(i int, v parquet.ByteArray) { rows[i].action = string(v) }),
		readColumn(column, "amount", len(rows), (*file.FixedLenByteArrayColumnChunkReader).ReadBatchInPage, func(i int, v parquet.FixedLenByteArray) { rows[i].cents = bigEndian(v) }),
		readColumn(column, "ts", len(rows), (*file.Int64ColumnChunkReader).ReadBatchInPage, func(i int, v int64) { rows[i].ts = unit(v) }),
		readColumn(column, "part", len(rows), (*file.Int32ColumnChunkReader).ReadBatchInPage, func(i int, v int32) { rows[i].part = v }),
		readColumn(column, "off", len(rows), (*file.Int64ColumnChunkReader).ReadBatchInPage, func(i int, v int64) { rows[i].off = v }),
	)
}

// timeUnit gives what makes a time of a stored timestamp.
func timeUnit(c *schema.Column) (func(int64) time.Time, error) {
	if t, ok := c.LogicalType().(schema.TimestampLogicalType); ok {
		switch t.TimeUnit() {
		case schema.TimeUnitMillis:
			return func(v int64) time.Time { return time.UnixMilli(v).UTC() }, nil
		case schema.TimeUnitMicros:
			return func(v int64) time.Time { return time.UnixMicro(v).UTC() }, nil
		}
	}
	return nil, fmt.Errorf("column %s is of type %s: want a timestamp in milliseconds or microseconds", c.Name(), c.LogicalType())
}

// readColumn gives the n values of a column of physical type T to set; a NULL is an error. Values are handed on before the next page is
// read, since bytes lie in the page.
func readColumn[T any, R file.ColumnChunkReader](column func(string) (file.ColumnChunkReader, error), name string, n int,
	read func(R, int64, []T, []int16, []int16) (int64, int, error), set func(int, T)) error {
	c, err := column(name)
	if err != nil {
		return fmt.Errorf("column %s: %w", name, err)
	}
	typed, ok := c.(R)
	if !ok {
		return fmt.Errorf("column %s is of physical type %s", name, c.Type())
	}
	values, levels := make([]T, 1024), make([]int16, 1024)
	for at := 0; at < n; {
		total, got, err := read(typed, int64(len(values)), values, levels, nil)
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		if int(total) != got || got == 0 || at+got > n {
			return fmt.Errorf("column %s: %d values and NULLs, %d values, at row %d of %d", name, total, got, at, n)
		}
		for i, v := range values[:got] {
			set(at+i, v)
		}
		at += got
	}
	return nil
}

// bigEndian is a decimal's unscaled value.
func bigEndian(b []byte) int64 {
	var w [8]byte
	if len(b) > 0 && b[0]&0x80 != 0 {
		w = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(w[8-len(b):], b)
	return int64(binary.BigEndian.Uint64(w[:]))
}
