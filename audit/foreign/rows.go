package foreign

import (
	"math"
	"strconv"

	"staunch/account"
	"staunch/audit/foreign/bitmap"
)

// splitKey is a topic partition; topic is "" where the rows do not name it.
type splitKey struct {
	topic string
	part  int32
}

func (k splitKey) String() string {
	if k.topic == "" {
		return "partition " + strconv.Itoa(int(k.part))
	}
	return k.topic + "-" + strconv.Itoa(int(k.part))
}

// fileSplit is what one file has of a topic partition. Offsets that follow each other are kept as one open run.
type fileSplit struct {
	key      splitKey
	from, to int64
	rows     int64
	set      bitmap.Set
	// twice are offsets that the file itself has more than once.
	twice bitmap.Set
}

func (s *fileSplit) flush() {
	if s.from < s.to {
		s.set.AddRun(s.from, s.to, &s.twice)
	}
	s.from, s.to = 0, 0
}

// fileRows collects the positions of one file's rows. The zero value is of no use: use newFileRows.
type fileRows struct {
	rows int64
	// total is the number of rows of the file, more than rows if parts of it were left out.
	total int64
	// low and high are the ends of the offsets since they were set.
	low, high int64
	// null rows have no partition or offset, bad ones no usable one; the first of each is kept for the report.
	null, bad         int64
	firstNull         int64
	firstBad, badText string

	// fixed are partition, offset and topic of every row, where a folder's name gives them.
	fixed  [3]int64
	topics map[string]int32
	names  []string
	// near has the splits of topic 0 with small numbers, splits all.
	near   []*fileSplit
	splits map[splitKey]*fileSplit
	order  []*fileSplit
	// tooMany: there are more partitions than any topic has; it is the wrong column.
	tooMany bool
	// tooWide: offsets are so scattered that they are none; it is the wrong column.
	tooWide bool
}

const (
	nearParts = 1 << 12
	// maxSplits bounds the partitions of one table.
	maxSplits = 1 << 17
	// maxChunks bounds the places of 65,536 offsets each over which those of a table may be scattered: more than 500 billion in a row.
	maxChunks = 8 << 20
)

func newFileRows() *fileRows {
	return &fileRows{topics: map[string]int32{}, splits: map[splitKey]*fileSplit{}}
}

// topic gives the number of a topic.
func (r *fileRows) topic(name []byte) int32 {
	if n, ok := r.topics[string(name)]; ok {
		return n
	}
	n := int32(len(r.names))
	r.names = append(r.names, string(name))
	r.topics[string(name)] = n
	return n
}

// add takes in one row.
func (r *fileRows) add(topic int32, part, off int64) {
	if part < 0 || part > math.MaxInt32 || off < 0 || off == math.MaxInt64 {
		r.wrong("partition " + strconv.FormatInt(part, 10) + ", offset " + strconv.FormatInt(off, 10))
		return
	}
	r.rows++
	r.low, r.high = min(r.low, off), max(r.high, off)
	var s *fileSplit
	if topic == 0 && part < int64(len(r.near)) {
		s = r.near[part]
	}
	if s == nil {
		if s = r.split(topic, int32(part)); s == nil {
			return
		}
	}
	s.rows++
	if off == s.to && s.from < s.to {
		s.to++
		return
	}
	s.flush()
	s.from, s.to = off, off+1
	if s.set.Chunks() > maxChunks {
		r.tooWide = true
	}
}

// split finds or makes a split; nil if there are too many.
func (r *fileRows) split(topic int32, part int32) *fileSplit {
	if topic >= int32(len(r.names)) { // no topic column
		topic = r.topic(nil)
	}
	key := splitKey{r.names[topic], part}
	s := r.splits[key]
	if s == nil {
		if len(r.splits) == maxSplits {
			r.tooMany = true
			return nil
		}
		s = &fileSplit{key: key}
		r.splits[key] = s
		r.order = append(r.order, s)
	}
	if topic == 0 && part < nearParts {
		for int(part) >= len(r.near) {
			r.near = append(r.near, nil)
		}
		r.near[part] = s
	}
	return s
}

// without takes in a row that has no partition or no offset.
func (r *fileRows) without() {
	r.rows++
	if r.null == 0 {
		r.firstNull = r.rows
	}
	r.null++
}

// wrong takes in a row whose partition or offset is not usable; text says what it is.
func (r *fileRows) wrong(text string) {
	r.rows++
	if r.bad == 0 {
		r.firstBad, r.badText = account.Number(r.rows), text
	}
	r.bad++
}

// close joins what is open.
func (r *fileRows) close() {
	r.total = max(r.total, r.rows)
	for _, s := range r.order {
		s.flush()
	}
}

// digits reads a number from 0 on out of text: digits only, as other tools write a number into a text column.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' || n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
