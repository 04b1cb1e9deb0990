package foreign

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"

	"staunch/fs"
)

// maxLine bounds one row of a text file.
const maxLine = 64 << 20

// textReader opens a text file, packed by gzip or not.
func textReader(src *source) (io.Reader, error) {
	var head [2]byte
	n, err := src.ReadAt(head[:], 0)
	if n < 2 && err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	plain := io.NewSectionReader(src, 0, src.Size())
	if n == 2 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(plain)
		if err != nil {
			return nil, damagedf("it begins as a gzip file: %v", err)
		}
		return z, nil
	}
	return plain, nil
}

// textRows reads a text file and gives whole rows to parse, which returns how many bytes of its argument they were: 0 asks for more. last is set when there
// is no more.
func textRows(ctx context.Context, r fs.Reader, parse func(b []byte, last bool) (int, error)) error {
	src := &source{Reader: r}
	in, err := textReader(src)
	if err != nil {
		return err
	}
	buf := make([]byte, 0, min(max(r.Size()+1, 4<<10), 256<<10))
	for last := false; !last || len(buf) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(buf) == cap(buf) {
			if len(buf) >= maxLine {
				return damagedf("a row is longer than %d MiB", maxLine>>20)
			}
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		if !last {
			n, err := in.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			switch {
			case src.err != nil:
				return src.err
			case errors.Is(err, io.EOF):
				last = true
			case err != nil:
				return damagedf("%v", err)
			}
		}
		done := 0
		for {
			n, err := parse(buf[done:], last)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			done += n
		}
		if last && done < len(buf) {
			return damagedf("its last row is not whole: %.60q", buf[done:])
		}
		buf = buf[:copy(buf, buf[done:])]
	}
	return nil
}

// line gives the length of the first line with its end, 0 if it is not whole.
func line(b []byte, last bool) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	if last {
		return len(b)
	}
	return 0
}
