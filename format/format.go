package format

import (
	"io"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/types"
)

// Field is one physical column as a format sees it.
type Field struct {
	Name string
	Type types.Type
}

// Params is what a format is made from.
type Params struct {
	// All are the physical columns of the table in order of declaration.
	All []Field
	// Wanted are indices into All: the columns that a decoder appends to, or an encoder is given, in order.
	Wanted []int
	// Options are the WITH options of the format without the format's name and dot.
	Options config.Values
	// Staunch are the table's own `staunch.` options.
	Staunch config.Values
	Zone    *time.Location
}

// Factory makes the decoders and encoders of one format. What there is not is nil.
type Factory struct {
	Name string
	// Options without the format's name and dot.
	Options []config.Option
	// Extension of files in this format, without dot.
	Extension string
	Decoder   func(Params) (Decoder, error)
	// FileWriter opens a writer of whole files.
	FileWriter func(Params) (FileFormat, error)
}

// Decoder turns records into rows. It is used by one goroutine.
type Decoder interface {
	// Decode appends one row, one value to each column of cols (Params.Wanted), or nothing: then err says why the record does not parse
	// (*RecordError), or skip says that it is to be left out by order (ignore-parse-errors) and counted as rejected.
	Decode(value []byte, cols []*changelog.Column) (skip bool, err error)
	// Coerced counts values that were changed to fit their column, by column of Params.Wanted, since the decoder was made.
	Coerced() []int64
}

// RecordError says why a record does not parse.
type RecordError struct {
	// Column is the field at fault, or empty.
	Column string
	// At is the byte in the record.
	At  int
	Msg string
}

// Error gives the message with field and byte.
func (e *RecordError) Error() string {
	if e.Column != "" {
		return "field '" + e.Column + "': " + e.Msg
	}
	return e.Msg
}

// FileFormat opens file writers of one format with one set of options.
type FileFormat interface {
	// Open starts a file on w.
	Open(w io.Writer) (FileWriter, error)
}

// FileWriter writes one file.
type FileWriter interface {
	// Write appends rows from <= i < to of cols (Params.Wanted) and copies what it keeps.
	Write(cols []*changelog.Column, from, to int) error
	// Size is bytes written so far plus a fair estimate of what is still buffered; it decides rolling.
	Size() int64
	// Buffered is the memory held.
	Buffered() int64
	// Finish writes what is buffered and the footer with meta (formats without a footer ignore it). It does not close w.
	Finish(meta map[string]string) error
}
