package foreign

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/fs"
)

// CSV says how CSV files are written. The zero value is Flink's default: commas, quotes, no header.
type CSV struct {
	// Header: the first row of each file names the columns.
	Header bool
	// Delimiter between fields; 0 is a comma.
	Delimiter byte
}

// csvRows reads a CSV file. Fields may be quoted by ", with "" for a quote inside; line ends inside quotes belong to the field.
func csvRows(ctx context.Context, r fs.Reader, c *columns, o CSV, rows *fileRows) error {
	p := &csvParser{rows: rows, delimiter: o.Delimiter, at: [3]int{-1, -1, -1}}
	if p.delimiter == 0 {
		p.delimiter = ','
	}
	if !o.Header {
		for i, col := range c.all {
			if col.name == "" || col.fixed {
				continue
			}
			n, err := strconv.Atoi(col.name)
			if err != nil || n < 1 {
				return columnf("CSV without a header has no column %q: give numbers from 1 on (--columns 3,4), or say --csv-header", col.name)
			}
			p.at[i] = n - 1
		}
	}
	header := o.Header
	return textRows(ctx, r, func(b []byte, last bool) (int, error) {
		n := p.split(b, last)
		switch {
		case p.broken:
			return 0, damagedf("row %s: text behind a closing quote", account.Number(p.lines+1))
		case n == 0:
			return 0, nil
		case b[n-1] != '\n':
			// Flink, Spark and Kafka Connect end every row; half a number would be taken for a whole one.
			return 0, damagedf("its last row has no line end: it is truncated, or still being written")
		}
		p.lines++
		switch {
		case len(p.fields) == 1 && len(p.fields[0]) == 0: // an empty line
		case header:
			header = false
			return n, p.header(c)
		default:
			p.row()
		}
		return n, nil
	})
}

type csvParser struct {
	rows      *fileRows
	delimiter byte
	// at are the places of partition, offset and topic in a row, -1 where not read.
	at     [3]int
	fields [][]byte
	lines  int64
	// broken: text stands behind a closing quote.
	broken bool
}

// split takes the first row apart and gives its length with its end, 0 if it is not whole.
func (p *csvParser) split(b []byte, last bool) int {
	p.fields = p.fields[:0]
	if len(b) == 0 {
		return 0
	}
	for i := 0; ; {
		field, next, ok := p.field(b, i, last)
		if !ok {
			return 0
		}
		p.fields = append(p.fields, field)
		if next == len(b) { // the end of the file, without a line end
			return next
		}
		i = next + 1
		if b[next] == '\n' {
			return i
		}
		if i == len(b) {
			if !last {
				return 0
			}
			p.fields = append(p.fields, nil)
			return i
		}
	}
}

// field reads the field that begins at i; next is the place of what ends it. ok is false if more has to be read.
func (p *csvParser) field(b []byte, i int, last bool) (field []byte, next int, ok bool) {
	if b[i] != '"' {
		for j, c := range b[i:] {
			if c == p.delimiter || c == '\n' {
				return bytes.TrimSuffix(b[i:i+j], []byte("\r")), i + j, true
			}
		}
		return bytes.TrimSuffix(b[i:], []byte("\r")), len(b), last
	}
	from := i + 1
	for j := from; ; {
		q := bytes.IndexByte(b[j:], '"')
		if q < 0 {
			return nil, 0, false
		}
		j += q + 1
		if j < len(b) && b[j] == '"' { // a quote inside
			j++
			continue
		}
		if j == len(b) && !last {
			return nil, 0, false // it may be half of two
		}
		field = b[from : j-1]
		if j < len(b) && b[j] == '\r' {
			j++
		}
		if j == len(b) {
			return field, j, last
		}
		if b[j] == p.delimiter || b[j] == '\n' {
			return field, j, true
		}
		p.broken = true
		return nil, 0, false
	}
}

// header finds the columns by their names.
func (p *csvParser) header(c *columns) error {
	for i, col := range c.all {
		if col.name == "" || col.fixed {
			continue
		}
		var have []string
		for j, f := range p.fields {
			name := strings.TrimPrefix(string(f), "\ufeff")
			have = append(have, name)
			if name != col.name {
				continue
			}
			if p.at[i] >= 0 {
				return columnf("column %q is ambiguous: it is column %d and column %d of the header; the files need names that differ", col.name, p.at[i]+1, j+1)
			}
			p.at[i] = j
		}
		if p.at[i] < 0 {
			return columnf("there is no column %q; there are: %s", col.name, strings.Join(have, ", "))
		}
	}
	return nil
}

// row takes in the row that was taken apart.
func (p *csvParser) row() {
	v := p.rows.fixed
	for i, at := range p.at {
		if at < 0 {
			continue
		}
		if at >= len(p.fields) || len(p.fields[at]) == 0 {
			p.rows.without()
			return
		}
		if i == 2 {
			v[i] = int64(p.rows.topic(p.fields[at]))
			continue
		}
		n, ok := digits(p.fields[at])
		if !ok {
			p.rows.wrong(strconv.QuoteToASCII(string(p.fields[at][:min(len(p.fields[at]), 40)])))
			return
		}
		v[i] = n
	}
	p.rows.add(int32(v[2]), v[0], v[1])
}
