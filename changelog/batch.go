package changelog

import "staunch/types"

// Schema names and types the columns of a batch.
type Schema []Field

// Field is one column of a schema.
type Field struct {
	Name string
	Type types.Type
}

// Index returns the position of the column called name, or -1.
func (s Schema) Index(name string) int {
	for i, f := range s {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// NoSplit is Batch.Split of rows that did not come from a replayable source.
const NoSplit = -1

// RowKind is the kind of change that a row is (Flink: RowKind).
type RowKind uint8

// The row kinds.
const (
	Insert RowKind = iota
	UpdateBefore
	UpdateAfter
	Delete
)

// Batch is rows of one source split, in source order.
type Batch struct {
	Cols []*Column
	Rows int
	// Split is the index of the rows' source split among the subtask's splits (see connector.Reader), or NoSplit.
	Split int
	// Offsets are the rows' source offsets, strictly ascending; nil when Split is NoSplit.
	Offsets []int64
	// Kinds is nil when all rows are Insert.
	Kinds []RowKind
}

// NewBatch returns an empty batch with columns for s.
func NewBatch(s Schema) *Batch {
	b := &Batch{Split: NoSplit, Cols: make([]*Column, len(s))}
	for i, f := range s {
		b.Cols[i] = NewColumn(f.Type)
	}
	return b
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	for _, c := range b.Cols {
		c.Reset()
	}
	b.Rows, b.Split, b.Offsets, b.Kinds = 0, NoSplit, b.Offsets[:0], b.Kinds[:0]
}

// Truncate takes back rows n and above.
func (b *Batch) Truncate(n int) {
	for _, c := range b.Cols {
		c.Truncate(n)
	}
	if b.Rows > n {
		b.Rows = n
	}
	if len(b.Offsets) > n {
		b.Offsets = b.Offsets[:n]
	}
	if len(b.Kinds) > n {
		b.Kinds = b.Kinds[:n]
	}
}

// SizeBytes is the memory that the rows take.
func (b *Batch) SizeBytes() int64 {
	n := int64(8*len(b.Offsets) + len(b.Kinds))
	for _, c := range b.Cols {
		n += c.SizeBytes()
	}
	return n
}

// Watermark is event time in milliseconds since 1970 (of the column's wall clock for TIMESTAMP, an instant for TIMESTAMP_LTZ): no row with
// an older time is expected. MinWatermark means that nothing is known yet, MaxWatermark that the input has ended.
type Watermark int64

// The ends of event time.
const (
	MinWatermark Watermark = -1 << 63
	MaxWatermark Watermark = 1<<63 - 1
)
