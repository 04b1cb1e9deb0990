package calc

import (
	"errors"
	"fmt"

	"staunch/changelog"
	"staunch/function"
	"staunch/operator"
	"staunch/types"
)

// Spec is one filter and projection.
type Spec struct {
	// Where is a BOOLEAN or nil.
	Where function.Expr
	// Exprs give the output columns; Names are theirs, for messages.
	Exprs []function.Expr
	Names []string
	// NotNull are the output columns that must not be NULL; Drop leaves such rows out instead of failing (table.exec.sink.not-null-enforcer).
	NotNull []int
	Drop    bool
	Session function.Session
}

// New compiles the spec for one subtask.
func New(s Spec) (operator.Operator, error) {
	c := &calc{spec: s, out: &changelog.Batch{Cols: make([]*changelog.Column, len(s.Exprs))}}
	var err error
	if s.Where != nil {
		if c.where, err = function.Compile([]function.Expr{s.Where}, s.Session); err != nil {
			return nil, err
		}
		used := map[int]bool{}
		for _, e := range s.Exprs {
			function.Walk(e, func(e function.Expr) bool {
				if r, ok := e.(*function.ColumnRef); ok {
					used[r.Index] = true
				}
				return true
			})
		}
		c.used = used
	}
	if c.project, err = function.Compile(s.Exprs, s.Session); err != nil {
		return nil, err
	}
	return c, nil
}

type calc struct {
	spec    Spec
	where   *function.Program
	project *function.Program
	used    map[int]bool
	keep    []uint64
	kept    *changelog.Batch // the rows that passed
	out     *changelog.Batch
}

// Process implements operator.Operator.
func (c *calc) Process(in *changelog.Batch) (*changelog.Batch, error) {
	rows := in
	if c.where != nil {
		c.keep = words(c.keep, in.Rows)
		if err := c.where.Filter(in, c.keep); err != nil {
			return nil, rowError(err, nil)
		}
		if rows = c.compact(in, c.keep); rows.Rows == 0 {
			return rows, nil
		}
	}
	if err := c.project.Eval(rows, c.out.Cols); err != nil {
		return nil, rowError(err, func(r int) int { return c.original(in, rows, r) })
	}
	c.out.Rows, c.out.Split, c.out.Offsets, c.out.Kinds = rows.Rows, rows.Split, rows.Offsets, rows.Kinds
	return c.enforce(in, rows)
}

func words(w []uint64, n int) []uint64 {
	k := (n + 63) / 64
	if cap(w) < k {
		return make([]uint64, k)
	}
	return w[:k]
}

// compact copies the kept rows of the used columns; with all rows kept nothing is copied.
func (c *calc) compact(in *changelog.Batch, keep []uint64) *changelog.Batch {
	n := 0
	for i := range in.Rows {
		n += int(keep[i>>6] >> (uint(i) & 63) & 1)
	}
	if n == in.Rows {
		return in
	}
	if c.kept == nil {
		c.kept = &changelog.Batch{Cols: make([]*changelog.Column, len(in.Cols))}
		for i, col := range in.Cols {
			c.kept.Cols[i] = changelog.NewColumn(col.Type)
		}
	}
	c.kept.Reset()
	c.kept.Rows, c.kept.Split = n, in.Split
	for i := range in.Cols {
		if c.used[i] {
			changelog.Take(c.kept.Cols[i], in.Cols[i], keep)
		}
	}
	for i := range in.Offsets {
		if keep[i>>6]>>(uint(i)&63)&1 == 1 {
			c.kept.Offsets = append(c.kept.Offsets, in.Offsets[i])
		}
	}
	for i := range in.Kinds {
		if keep[i>>6]>>(uint(i)&63)&1 == 1 {
			c.kept.Kinds = append(c.kept.Kinds, in.Kinds[i])
		}
	}
	return c.kept
}

// original is the index in the input batch of row r of the kept rows.
func (c *calc) original(in, rows *changelog.Batch, r int) int {
	if rows == in {
		return r
	}
	for i := range in.Rows {
		if c.keep[i>>6]>>(uint(i)&63)&1 == 1 {
			if r == 0 {
				return i
			}
			r--
		}
	}
	return in.Rows
}

func rowError(err error, at func(int) int) error {
	var r *function.RowError
	if !errors.As(err, &r) {
		return err
	}
	row := r.Row
	if at != nil {
		row = at(row)
	}
	return &operator.RowError{Row: row, Err: r.Err}
}

// enforce looks for NULLs in NOT NULL columns of the sink.
func (c *calc) enforce(in, rows *changelog.Batch) (*changelog.Batch, error) {
	bad := false
	for _, i := range c.spec.NotNull {
		col := c.out.Cols[i]
		if col.Nulls == 0 {
			continue
		}
		if c.spec.Drop {
			bad = true
			continue
		}
		for r := range col.N {
			if col.IsNull(r) {
				return nil, &operator.RowError{Row: c.original(in, rows, r), Err: fmt.Errorf("column '%s' is NOT NULL, however, a null value is being written into it "+
					"(SET 'table.exec.sink.not-null-enforcer' = 'DROP' leaves such records out)", c.spec.Names[i])}
			}
		}
	}
	if !bad {
		return c.out, nil
	}
	keep := make([]uint64, (c.out.Rows+63)/64) // rare: such rows are left out by order
	n := 0
	for r := range c.out.Rows {
		ok := true
		for _, i := range c.spec.NotNull {
			ok = ok && !c.out.Cols[i].IsNull(r)
		}
		if ok {
			keep[r>>6] |= 1 << (uint(r) & 63)
			n++
		}
	}
	less := &changelog.Batch{Rows: n, Split: c.out.Split}
	for _, col := range c.out.Cols {
		d := changelog.NewColumn(col.Type)
		changelog.Take(d, col, keep)
		less.Cols = append(less.Cols, d)
	}
	for r := range c.out.Offsets {
		if keep[r>>6]>>(uint(r)&63)&1 == 1 {
			less.Offsets = append(less.Offsets, c.out.Offsets[r])
		}
	}
	return less, nil
}

// NewWatermarker compiles a watermark expression for one subtask; its type is TIMESTAMP or TIMESTAMP_LTZ of at most millisecond precision.
func NewWatermarker(e function.Expr, s function.Session) (operator.Watermarker, error) {
	p, err := function.Compile([]function.Expr{e}, s)
	if err != nil {
		return nil, err
	}
	return &marker{p: p, perMilli: e.Type().UnitsPerSecond() / 1000, out: make([]*changelog.Column, 1)}, nil
}

type marker struct {
	p        *function.Program
	perMilli int64
	out      []*changelog.Column
}

// Max implements operator.Watermarker.
func (m *marker) Max(in *changelog.Batch) (w changelog.Watermark, ok bool, err error) {
	if err := m.p.Eval(in, m.out); err != nil {
		return 0, false, rowError(err, nil)
	}
	col := m.out[0]
	w = changelog.MinWatermark
	if col.Type.Physical() != types.PhysInt64 {
		return 0, false, fmt.Errorf("a watermark of type %s", col.Type)
	}
	if col.Nulls == 0 {
		for _, v := range col.I64[:in.Rows] {
			w = max(w, changelog.Watermark(v))
		}
		ok = in.Rows > 0
	} else {
		for i := range in.Rows {
			if !col.IsNull(i) {
				w, ok = max(w, changelog.Watermark(col.I64[i])), true
			}
		}
	}
	if m.perMilli > 1 {
		w = changelog.Watermark(floorDiv(int64(w), m.perMilli))
	}
	return w, ok, nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
