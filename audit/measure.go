package audit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"staunch/account"
	"staunch/fault"
	"staunch/fs"
)

// Measured is what a data file is by itself.
type Measured struct {
	Length int64
	// Sums has both.
	account.Sums
	Rows int64
	// Offsets are those of its footer; nil if it has none, as files of other programs.
	Offsets []account.Offsets
}

// Measure reads a whole data file, Parquet or lines of JSON. A file that an audit would not find in order later is an error of class User.
func Measure(ctx context.Context, store fs.FS, p string) (m Measured, err error) {
	info, err := store.Stat(p)
	if err != nil {
		return m, fmt.Errorf("look at %s: %w", p, err)
	}
	if info.Dir || info.Symlink {
		return m, fault.Userf("%s is no plain file", p)
	}
	if !isParquet(path.Base(p)) && !isLines(path.Base(p)) {
		return m, fault.Userf("%s: the rows of such a file cannot be counted, only those of .parquet and .json", p)
	}
	r, err := store.Open(p)
	if err != nil {
		return m, fmt.Errorf("read %s: %w", p, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	m.Length = r.Size()
	x := &files{ctx: ctx, store: store}
	if m.Sums, m.Rows, err = x.hash(r, isLines(p), true); err != nil {
		return m, fmt.Errorf("read %s: %w", p, err)
	}
	if isLines(p) {
		return m, endsWithLine(r, p)
	}
	return m, m.footer(r, p)
}

// endsWithLine refuses a last line without its end: the lines are the rows.
func endsWithLine(r fs.Reader, p string) error {
	if r.Size() == 0 {
		return nil
	}
	var last [1]byte
	if n, err := r.ReadAt(last[:], r.Size()-1); n < 1 {
		return fmt.Errorf("read %s: %w", p, err)
	}
	if last[0] != '\n' {
		return fault.Userf("%s does not end with a line's end: it is torn, or its last row would not be counted", p)
	}
	return nil
}

// footer takes what a Parquet file says of itself.
func (m *Measured) footer(r fs.Reader, p string) error {
	foot, err := readFooter(r)
	if fault.ClassOf(err) == fault.Damage {
		return fault.Userf("%s is no readable Parquet file: %w", p, err)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	m.Rows = foot.rows
	of, own := foot.meta["staunch.rows"]
	if !own {
		return nil
	}
	m.Offsets, err = foot.offsets()
	n, nerr := strconv.ParseInt(of, 10, 64)
	total := int64(0)
	for _, o := range m.Offsets {
		total += o.Set.Count()
	}
	if err != nil || nerr != nil || n != m.Rows || len(m.Offsets) > 0 && total != m.Rows {
		return fault.Userf("%s still has the metadata of the file that it was made of (staunch.rows is %q, and it has %d rows)", p, of, m.Rows).
			WithHint("write it without the key-value metadata that begins with 'staunch.', or give the rows that are left their own")
	}
	return nil
}
