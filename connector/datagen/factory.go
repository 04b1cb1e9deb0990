package datagen

import (
	"errors"
	"math"
	"slices"
	"strings"

	"staunch/config"
	"staunch/connector"
	"staunch/fault"
)

// Factory makes datagen sources.
var Factory = connector.Factory{Name: "datagen", Options: options, Source: newSource}

var options = []config.Option{
	{Key: "connector", Required: true, Doc: "datagen."},
	{Key: "rows-per-second", Type: config.TypeLong, Default: "10000", Doc: "Rows per second of the whole table.", Validate: positive},
	{Key: "number-of-rows", Type: config.TypeLong, Doc: "Rows of the whole table; without it and without a sequence there is no end.", Validate: notNegative},
	{Key: "scan.parallelism", Type: config.TypeInt, Doc: "Subtasks that make rows.", Ignored: "sources read with the job's parallelism"},
	{Key: "fields.#.kind", Type: config.TypeEnum, Enum: []string{"random", "sequence"}, Default: "random", Doc: "How the column's values are made."},
	{Key: "fields.#.min", Doc: "Smallest random number."},
	{Key: "fields.#.max", Doc: "Largest random number."},
	{Key: "fields.#.max-past", Type: config.TypeDuration, Default: "0 ms", Doc: "How far before the row's time a random timestamp may lie."},
	{Key: "fields.#.length", Type: config.TypeInt, Default: "100", Doc: "Length of a random string or of random bytes.", Validate: positive},
	{Key: "fields.#.var-len", Type: config.TypeBool, Default: "false", Doc: "Whether the length is random, up to the given one."},
	{Key: "fields.#.start", Doc: "First number of a sequence."},
	{Key: "fields.#.end", Doc: "Last number of a sequence."},
	{Key: "fields.#.null-rate", Type: config.TypeDouble, Default: "0.0", Doc: "Share of NULLs, 0 to 1.", Validate: share},
}

func positive(text string) error {
	if strings.TrimLeft(strings.TrimSpace(text), "+0") == "" || strings.HasPrefix(strings.TrimSpace(text), "-") {
		return errors.New("accepted is a number above 0")
	}
	return nil
}

func notNegative(text string) error {
	if strings.HasPrefix(strings.TrimSpace(text), "-") {
		return errors.New("accepted is 0 or a larger number")
	}
	return nil
}

func share(text string) error {
	v := config.NewValues("", map[string]string{"x": text}, nil)
	if f, err := v.Double("x"); err == nil && (f < 0 || f > 1) {
		return errors.New("accepted is a number from 0 to 1")
	}
	return nil
}

// source implements connector.Source.
type source struct {
	table connector.Table
	// fields are the generators of all columns, wanted the indices of those that are asked for.
	fields []*field
	wanted []int
	// perSecond of the table; rows of the table, -1 = no limit by number-of-rows.
	perSecond, rows int64
}

func newSource(t connector.Table) (connector.Source, error) {
	s := &source{table: t, rows: -1}
	var err1, err2 error
	s.perSecond, err1 = t.Options.Int64("rows-per-second")
	if t.Options.Has("number-of-rows") {
		s.rows, err2 = t.Options.Int64("number-of-rows")
	}
	errs := []error{err1, err2, s.unknownFields()}
	for i, c := range t.AllColumns {
		f, err := newField(t, c, i)
		errs = append(errs, err)
		s.fields = append(s.fields, f)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fault.Userf("%w", err)
	}
	for _, c := range t.Columns {
		if c.Metadata != "" {
			return nil, fault.Userf("table %s: column '%s': the datagen connector has no metadata", t.Name, c.Name)
		}
		i := slices.IndexFunc(t.AllColumns, func(a connector.Column) bool { return a.Name == c.Name })
		if i < 0 {
			return nil, fault.Userf("table %s: column '%s' is not among the declared columns", t.Name, c.Name)
		}
		s.wanted = append(s.wanted, i)
	}
	return s, nil
}

// unknownFields refuses options of columns that there are not.
func (s *source) unknownFields() error {
	var names []string
	for _, c := range s.table.AllColumns {
		names = append(names, c.Name)
	}
	var errs []error
	for _, key := range s.table.Options.Keys() {
		rest, ok := strings.CutPrefix(key, "fields.")
		if !ok {
			continue
		}
		name := rest[:max(0, strings.LastIndexByte(rest, '.'))]
		if slices.Contains(names, name) {
			continue
		}
		hint := ""
		if near, ok := config.Nearest(name, names); ok {
			hint = "; did you mean '" + near + "'?"
		}
		errs = append(errs, s.table.Options.Errorf(key, "the table has no column '%s'%s", name, hint))
	}
	return errors.Join(errs...)
}

// Bounded implements connector.Source.
func (s *source) Bounded() bool { return s.limit(0, 1) < math.MaxInt64 }

// Synthetic implements connector.Synthetic: the rows of another job are other rows.
func (s *source) Synthetic() bool { return true }

// Replayable implements connector.Source.
func (s *source) Replayable() bool { return true }

// limit is the number of rows of split index out of n: its share of number-of-rows, and no more than the shortest sequence has for it.
func (s *source) limit(index, n int64) int64 {
	limit := int64(math.MaxInt64)
	if s.rows >= 0 {
		limit = part(s.rows, index, n)
	}
	for _, f := range s.fields {
		if f.sequence {
			limit = min(limit, part(f.count(), index, n))
		}
	}
	return limit
}

// part is the number of values i < total with i mod n = index.
func part(total, index, n int64) int64 {
	if total <= index {
		return 0
	}
	return (total-index-1)/n + 1
}
