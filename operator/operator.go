package operator

import "staunch/changelog"

// Operator turns batches into batches: projection, filter, computed columns. It belongs to one subtask.
type Operator interface {
	// Process returns the rows that go on, with their split and offsets. The result may alias in and is valid until the next call. Rows that are
	// missing from it were filtered; no row is added. A *RowError names the row that failed.
	Process(in *changelog.Batch) (*changelog.Batch, error)
}

// Watermarker computes watermarks of one source.
type Watermarker interface {
	// Max is the greatest watermark that the rows of in give; ok is false when none does (no row, all NULL).
	Max(in *changelog.Batch) (w changelog.Watermark, ok bool, err error)
}

// RowError is a row that an operator could not process: its index in the input batch.
type RowError struct {
	Row int
	Err error
}

// Error gives the reason.
func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *RowError) Unwrap() error { return e.Err }
