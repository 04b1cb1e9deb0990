package filesystem

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/function/datetime"
	"staunch/function/javanum"
	"staunch/types"
)

// maxElement is the longest name of one folder or file, in bytes: of local file systems and of HDFS by default.
const maxElement = 255

// maxPath is the longest path, in bytes: Linux's PATH_MAX without the final NUL.
const maxPath = 4095

// nameRoom is more than a data file's name and two slashes take, in bytes.
const nameRoom = 160

// key is one partition column.
type key struct {
	name string
	// folder is the escaped name and "=".
	folder string
	column int
	typ    types.Type
}

// layout makes partitions' folders out of values.
type layout struct {
	keys        []key
	defaultName string
	epochDay    bool
	zone        *time.Location
}

// partition is one folder below the table's root.
type partition struct {
	folder string
	values []*string
	// file is the open file, or nil.
	file *file
	// checked: nothing but a folder stands in its place.
	checked bool
}

// runs finds runs of rows with equal partition values in one batch, column by column. Each column remembers the end of its run, so that a
// column that stays the same is read once, however often another one changes.
type runs struct{ ends []int }

// reset is called for each batch.
func (r *runs) reset(l *layout) {
	if r.ends == nil {
		r.ends = make([]int, len(l.keys))
	}
	clear(r.ends)
}

// end gives the end of the run of row from, at most limit. REQUIRES: from ascends between two resets.
func (r *runs) end(l *layout, cols []*changelog.Column, from, limit int) int {
	end := limit
	for i := range l.keys {
		if r.ends[i] <= from {
			r.ends[i] = columnRun(cols[l.keys[i].column], from, limit)
		}
		end = min(end, r.ends[i])
	}
	return end
}

// columnRun gives the end of the run of equal values at row from of one column.
func columnRun(c *changelog.Column, from, limit int) int {
	if c.Nulls > 0 {
		null := c.IsNull(from)
		i := from + 1
		for i < limit && c.IsNull(i) == null {
			i++
		}
		if limit = i; null {
			return limit
		}
	}
	switch c.Type.Physical() {
	case types.PhysBool:
		return runOf(c.B, from, limit)
	case types.PhysInt32:
		return runOf(c.I32, from, limit)
	case types.PhysInt64:
		return runOf(c.I64, from, limit)
	case types.PhysFloat32:
		// NaN differs from itself and ends the run, which is only slow.
		return runOf(c.F32, from, limit)
	case types.PhysFloat64:
		return runOf(c.F64, from, limit)
	case types.PhysDecimal:
		return runOf(c.Dec, from, limit)
	case types.PhysBytes:
		return bytesRun(c, from, limit)
	}
	return from + 1
}

func runOf[T comparable](v []T, from, limit int) int {
	first := v[from]
	for i, x := range v[from+1 : limit] {
		if x != first {
			return from + 1 + i
		}
	}
	return limit
}

// bytesRun looks at a few rows one by one and then compares 64 at once: they are equal if all have the first one's length and their bytes
// equal themselves moved by it.
func bytesRun(c *changelog.Column, from, limit int) int {
	const few, stride = 8, 64
	i := equalRows(c, from, from+1, min(limit, from+few))
	if i < from+few {
		return i
	}
	size := c.Off[from+1] - c.Off[from]
	for i < limit {
		n := min(stride, limit-i)
		base := c.Off[i]
		if !evenly(c.Off[i+1:i+n+1], base, size) || !bytes.Equal(c.Data[base-size:c.Off[i+n]-size], c.Data[base:c.Off[i+n]]) {
			break
		}
		i += n
	}
	return equalRows(c, from, i, limit)
}

// equalRows gives the first row from i on that differs from row first, or limit.
func equalRows(c *changelog.Column, first, i, limit int) int {
	for b := c.Bytes(first); i < limit && bytes.Equal(c.Bytes(i), b); {
		i++
	}
	return i
}

// evenly reports whether the ends are size apart, the first one from base.
func evenly(ends []int32, base, size int32) bool {
	for _, end := range ends {
		if end-base != size {
			return false
		}
		base = end
	}
	return true
}

// appendKey adds row i's partition values in a form that differs for different values.
func (l *layout) appendKey(dst []byte, cols []*changelog.Column, i int) []byte {
	for k := range l.keys {
		c := cols[l.keys[k].column]
		if c.IsNull(i) {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 1)
		switch c.Type.Physical() {
		case types.PhysBool:
			if c.B[i] {
				dst = append(dst, 1)
			} else {
				dst = append(dst, 0)
			}
		case types.PhysInt32:
			dst = binary.LittleEndian.AppendUint32(dst, uint32(c.I32[i]))
		case types.PhysInt64:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(c.I64[i]))
		case types.PhysFloat32:
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(c.F32[i]))
		case types.PhysFloat64:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.F64[i]))
		case types.PhysDecimal:
			dst = binary.LittleEndian.AppendUint64(dst, c.Dec[i].LowBits())
			dst = binary.LittleEndian.AppendUint64(dst, uint64(c.Dec[i].HighBits()))
		case types.PhysBytes:
			b := c.Bytes(i)
			dst = append(binary.AppendUvarint(dst, uint64(len(b))), b...)
		}
	}
	return dst
}

// partitionOf gives the folder and values of row i. NULL, the empty string and the default name itself are one partition and read back as
// NULL.
func (l *layout) partitionOf(cols []*changelog.Column, i int) *partition {
	p := &partition{values: make([]*string, len(l.keys))}
	var folder strings.Builder
	for k := range l.keys {
		if k > 0 {
			folder.WriteByte('/')
		}
		text := l.valueText(&l.keys[k], cols[l.keys[k].column], i)
		if text == "" {
			text = l.defaultName
		}
		if text != l.defaultName {
			p.values[k] = &text
		}
		folder.WriteString(l.keys[k].folder)
		folder.WriteString(Escape(text))
	}
	p.folder = folder.String()
	return p
}

// valueText is a value as CAST(.. AS STRING) gives it, NULL as "", DATE by the table's style.
func (l *layout) valueText(k *key, c *changelog.Column, i int) string {
	if c.IsNull(i) {
		return ""
	}
	switch k.typ.Kind {
	case types.Boolean:
		if c.B[i] {
			return "TRUE"
		}
		return "FALSE"
	case types.TinyInt, types.SmallInt, types.Int:
		return strconv.FormatInt(int64(c.I32[i]), 10)
	case types.BigInt:
		return strconv.FormatInt(c.I64[i], 10)
	case types.Float:
		return string(javanum.AppendFloat32(nil, c.F32[i]))
	case types.Double:
		return string(javanum.AppendFloat64(nil, c.F64[i]))
	case types.Decimal:
		return string(javanum.AppendDecimal(nil, c.Dec[i], k.typ.Scale))
	case types.Date:
		if l.epochDay {
			return strconv.FormatInt(int64(c.I32[i]), 10)
		}
		return string(datetime.AppendDate(nil, c.I32[i]))
	case types.Time:
		return string(datetime.AppendTime(nil, c.I32[i], k.typ.Precision))
	case types.Timestamp:
		return string(datetime.AppendTimestamp(nil, c.I64[i], k.typ.UnitsPerSecond(), k.typ.Precision))
	case types.TimestampLTZ:
		unit := k.typ.UnitsPerSecond()
		return string(datetime.AppendTimestamp(nil, l.local(c.I64[i], unit), unit, k.typ.Precision))
	}
	return string(c.Bytes(i))
}

// local shifts an instant to the wall clock of the session's zone.
func (l *layout) local(v, unit int64) int64 {
	if l.zone == nil {
		return v
	}
	_, offset := time.Unix(datetime.FloorDiv(v, unit), 0).In(l.zone).Zone()
	return v + int64(offset)*unit
}

// lookup finds partitions by value, without an allocation for one that is known.
type lookup struct {
	layout   *layout
	byKey    map[string]*known
	byFolder map[string]*partition
	// recent are the values used last: sources often alternate between few partitions (two hours around the full hour).
	recent  [4]*known
	next    int
	scratch []byte
}

type known struct {
	key string
	p   *partition
}

func newLookup(l *layout) *lookup {
	k := &lookup{layout: l}
	k.clear()
	return k
}

// clear forgets all partitions, so that the memory does not grow with the partitions ever seen.
func (k *lookup) clear() {
	k.byKey, k.byFolder = map[string]*known{}, map[string]*partition{}
	clear(k.recent[:])
}

// find gives the partition of row i.
func (k *lookup) find(cols []*changelog.Column, i int) *partition {
	k.scratch = k.layout.appendKey(k.scratch[:0], cols, i)
	for _, e := range k.recent {
		if e != nil && e.key == string(k.scratch) {
			return e.p
		}
	}
	e := k.byKey[string(k.scratch)]
	if e == nil {
		e = &known{key: string(k.scratch), p: k.layout.partitionOf(cols, i)}
		// Different values may have one folder (NULL and the empty string): they share the partition.
		if same, ok := k.byFolder[e.p.folder]; ok {
			e.p = same
		}
		k.byFolder[e.p.folder] = e.p
		k.byKey[e.key] = e
	}
	k.recent[k.next] = e
	k.next = (k.next + 1) % len(k.recent)
	return e.p
}

// splitSet is the offsets of one split in one file.
type splitSet struct {
	split int
	id    string
	set   account.Set
}

// offsetSetOf finds the place of a split in sets, or appends one.
func offsetSetOf(sets []splitSet, split int, id string) ([]splitSet, int) {
	if n := len(sets); n > 0 && sets[n-1].split == split {
		return sets, n - 1
	}
	if i := slices.IndexFunc(sets, func(s splitSet) bool { return s.split == split }); i >= 0 {
		return sets, i
	}
	return append(sets, splitSet{split: split, id: id}), len(sets)
}
