package foreign

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Columns say where a row's position stands: names of columns, with dots for fields of nested ones; of CSV files without a header their numbers from 1
// on. A name that is a key of the table's folders (`partition=3`) is taken from there.
type Columns struct {
	Partition, Offset string
	// Topic is "" if all rows are of one topic.
	Topic string
}

// String lists them.
func (c Columns) String() string {
	s := "columns " + c.Partition + ", " + c.Offset
	if c.Topic != "" {
		s += ", " + c.Topic
	}
	return s
}

// tooMany says what more partitions than any table has mean.
func (c Columns) tooMany() string {
	s := fmt.Sprintf("more than %d partitions: %q is not the column of the partition", maxSplits, c.Partition)
	if c.Topic != "" {
		s += fmt.Sprintf(", or %q not that of the topic", c.Topic)
	}
	return s
}

// column is where one part of the position stands; fixed: in the path.
type column struct {
	name  string
	fixed bool
}

// columns are partition, offset and topic, in this order, as they stand for one file.
type columns struct{ all [3]column }

// at takes the values that the folders on a file's path give; the text of one that is no number is an error.
func (c Columns) at(root, file string, rows *fileRows) (*columns, error) {
	out := &columns{}
	for i, name := range []string{c.Partition, c.Offset, c.Topic} {
		out.all[i].name = name
		value, ok := folderValue(root, file, name)
		if name == "" || !ok {
			continue
		}
		out.all[i].fixed = true
		if i == 2 {
			rows.fixed[i] = int64(rows.topic([]byte(value)))
			continue
		}
		n, ok := digits([]byte(value))
		if !ok {
			return nil, columnf("folder %s=%s on its path: %q is no number", name, value, value)
		}
		rows.fixed[i] = n
	}
	return out, nil
}

// folderValue finds a folder `key=value` between root and file, the one nearest to the file.
func folderValue(root, file, key string) (string, bool) {
	rel := strings.TrimPrefix(path.Dir(file), root)
	parts := strings.Split(rel, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(parts[i], "="); ok && strings.EqualFold(k, key) {
			if plain, err := url.PathUnescape(v); err == nil { // Hive's escaping
				v = plain
			}
			return v, true
		}
	}
	return "", false
}

// damage is why a file is not what it should be, column why its positions cannot be had.
type damage struct{ text string }

func (d *damage) Error() string { return d.text }

func damagedf(format string, args ...any) error { return &damage{fmt.Sprintf(format, args...)} }

type columnError struct{ text string }

func (c *columnError) Error() string { return c.text }

func columnf(format string, args ...any) error { return &columnError{fmt.Sprintf(format, args...)} }
