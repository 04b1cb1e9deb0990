package audit

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"

	"staunch/account"
	"staunch/fault"
	"staunch/fs"
)

// footer is what a Parquet file says of itself.
type footer struct {
	rows int64
	meta map[string]string
}

// maxFooter bounds the footer of a file that may be damaged.
const maxFooter = 1 << 30

const parquetMagic = "PAR1"

// readFooter reads the end of a Parquet file. What is no such file is an error of class Damage.
func readFooter(r fs.Reader) (foot *footer, err error) {
	damage := func(format string, args ...any) error { return fault.New(fault.Damage, format, args...) }
	size := r.Size()
	if size < 12 {
		return nil, damage("it has %d bytes", size)
	}
	var tail [8]byte
	if n, err := r.ReadAt(tail[:], size-8); n < 8 {
		return nil, fmt.Errorf("read the last 8 bytes: %w", err)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	if string(tail[4:]) != parquetMagic || length > size-12 || length > maxFooter {
		return nil, damage("its end is not that of a Parquet file")
	}
	b := make([]byte, length)
	if n, err := r.ReadAt(b, size-8-length); int64(n) < length {
		return nil, fmt.Errorf("read its footer of %d bytes: %w", length, err)
	}
	// The library is not made for hostile bytes.
	defer func() {
		if p := recover(); p != nil {
			foot, err = nil, damage("its footer is damaged: %v", p)
		}
	}()
	m, err := metadata.NewFileMetaData(b, nil)
	if err != nil {
		return nil, damage("its footer is damaged: %v", err)
	}
	foot = &footer{rows: m.NumRows, meta: map[string]string{}}
	for _, kv := range m.KeyValueMetadata() {
		if kv != nil && kv.Value != nil {
			foot.meta[kv.Key] = *kv.Value
		}
	}
	return foot, nil
}

const offsetsKey = "staunch.offsets."

// offsets decodes the offset sets in the footer.
func (f *footer) offsets() (out []account.Offsets, err error) {
	for _, k := range slices.Sorted(maps.Keys(f.meta)) {
		split, ok := strings.CutPrefix(k, offsetsKey)
		if !ok {
			continue
		}
		o := account.Offsets{Split: split}
		if err := o.Set.UnmarshalText([]byte(f.meta[k])); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// differs says in what the footer is not as the certificate says, "" if it is.
func (f *footer) differs(want *account.File) string {
	if f.rows != want.Rows {
		return fmt.Sprintf("it has %d rows, not %d", f.rows, want.Rows)
	}
	if _, ok := f.meta["staunch.rows"]; !ok && want.Attempt == "" {
		return "" // put there by an amend, and written by another program
	}
	if n, err := strconv.ParseInt(f.meta["staunch.rows"], 10, 64); err != nil || n != want.Rows {
		return fmt.Sprintf("staunch.rows is %q, not %d", f.meta["staunch.rows"], want.Rows)
	}
	have, err := f.offsets()
	if err != nil {
		return err.Error()
	}
	sets := map[string]account.Set{}
	for _, o := range have {
		sets[o.Split] = o.Set
	}
	for _, o := range want.Offsets {
		set, ok := sets[o.Split]
		if !ok {
			return "it holds no offsets of " + o.Split
		}
		if !slices.Equal(set.Runs, o.Set.Runs) {
			return fmt.Sprintf("it holds offsets %s of %s, not %s", set, o.Split, o.Set)
		}
		delete(sets, o.Split)
	}
	for _, split := range slices.Sorted(maps.Keys(sets)) {
		return "it holds offsets of " + split
	}
	return ""
}
