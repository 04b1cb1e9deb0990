package foreign

import (
	"path"
	"strings"

	"staunch/account"
)

// connectName is what Kafka Connect's HDFS sink puts into a file's name: topic+partition+first offset+last offset.extension.
type connectName struct {
	key         splitKey
	first, last int64
}

// maxNamed bounds the offsets that a name may claim.
const maxNamed = 1 << 32

// parseConnect reads a name. why says in what it is not of that form, "" if it is.
func parseConnect(name string) (n connectName, why string) {
	parts := strings.Split(name, "+")
	if len(parts) < 3 {
		return n, "it is not topic+partition+first+last.extension"
	}
	// A topic has no plus.
	numbers := parts[1:]
	end, _, _ := strings.Cut(numbers[len(numbers)-1], ".")
	numbers[len(numbers)-1] = end
	v := make([]int64, len(numbers))
	for i, text := range numbers {
		var ok bool
		if v[i], ok = digits([]byte(text)); !ok {
			return n, "\"" + text + "\" is no number"
		}
	}
	switch {
	case len(v) == 2:
		return n, "it has the first offset only (as S3 and GCS sinks name files): where it ends stands in the file; use --columns"
	case len(v) > 3:
		return n, "it is not topic+partition+first+last.extension"
	case parts[0] == "":
		return n, "it has no topic"
	case v[0] > 1<<31-1 || v[2] < v[1] || v[2]-v[1] >= maxNamed || v[2] == 1<<63-1:
		return n, "its offsets end before they begin, or are more than a file holds"
	}
	return connectName{splitKey{parts[0], int32(v[0])}, v[1], v[2]}, ""
}

// atLeast is the length of the shortest file of a kind, by the end of its name: magic numbers, lengths and checksums.
var atLeast = []struct {
	ext  string
	size int64
}{{".parquet", 12}, {".gz", 18}, {".avro", 20}}

// connectRows takes a file's offsets from its name. That it has the bytes of no row at all can be seen without opening it.
func (a *auditor) connectRows(f found, rows *fileRows) error {
	n, why := parseConnect(path.Base(f.path))
	if why != "" {
		return &nameError{why}
	}
	if f.info.Symlink { // its length is that of the link
		r, err := a.store.Open(f.path)
		if err != nil {
			return err
		}
		f.info.Size = r.Size()
		if err := r.Close(); err != nil {
			return err
		}
	}
	if f.info.Size == 0 {
		return damagedf("its name says that it has %s, and it is empty", account.Plural(n.last-n.first+1, "offset", "offsets"))
	}
	for _, e := range atLeast {
		if strings.HasSuffix(strings.ToLower(f.path), e.ext) && f.info.Size < e.size {
			return damagedf("its name says that it has %s, and it has %d bytes: no %s file is that short", account.Plural(n.last-n.first+1, "offset", "offsets"), f.info.Size, e.ext)
		}
	}
	s := rows.split(rows.topic([]byte(n.key.topic)), n.key.part)
	s.rows += n.last - n.first + 1
	rows.rows += n.last - n.first + 1
	s.set.AddRun(n.first, n.last+1, &s.twice)
	return nil
}

type nameError struct{ text string }

func (n *nameError) Error() string { return n.text }
