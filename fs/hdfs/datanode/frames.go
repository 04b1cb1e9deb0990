package datanode

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

// maxFrame bounds a message that a DataNode sends before or beside data; the longest are errors' texts.
const maxFrame = 1 << 20

// frames reads messages that stand behind their length. A read that ran into its deadline loses nothing: it can be tried again.
type frames struct {
	conn net.Conn
	// buf[r:w] was read and not used yet.
	buf  []byte
	r, w int
}

// next gives the next message, valid until the call after it.
func (f *frames) next(deadline time.Time) ([]byte, error) {
	for {
		if b, err := f.take(); b != nil || err != nil {
			return b, err
		}
		f.makeRoom()
		if err := f.conn.SetReadDeadline(deadline); err != nil {
			return nil, err
		}
		n, err := f.conn.Read(f.buf[f.w:])
		f.w += n
		if n == 0 && err != nil {
			if err == io.EOF && f.w > f.r {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// take gives a message that is there as a whole; never a nil one.
func (f *frames) take() ([]byte, error) {
	length, n := binary.Uvarint(f.buf[f.r:f.w])
	if n < 0 || length > maxFrame {
		return nil, errMalformed
	}
	if n == 0 || uint64(f.w-f.r-n) < length {
		return nil, nil
	}
	b := f.buf[f.r+n : f.r+n+int(length)]
	f.r += n + int(length)
	return b[:len(b):len(b)], nil
}

// makeRoom moves what is left to the front, and makes the buffer larger if that does not help.
func (f *frames) makeRoom() {
	if f.r > 0 {
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
	if f.w == len(f.buf) {
		f.buf = append(f.buf, make([]byte, max(512, len(f.buf)))...)
	}
}

// timedOut reports whether err only means that something took too long.
func timedOut(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
