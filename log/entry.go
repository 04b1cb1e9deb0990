package log

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"staunch/fault"
	"staunch/fs"
)

// Entry is one entry of a log.
type Entry struct {
	// N is its number, from 1.
	N int64
	// Kind is what it says ("begin", "complete", "certificate", ...).
	Kind string
	// Nonce is unique to this entry.
	Nonce string
	// Body is the caller's content.
	Body []byte
	// SHA256 is the hash of the whole entry file in hex, for chains.
	SHA256 string
}

const (
	magic        = "staunch-log "
	version      = "1"
	stagedPrefix = "staged-"
	// maxHeader is more than any first line has.
	maxHeader = 512
	// maxEntry bounds what is read of a file that may be anything.
	maxEntry = 1 << 30
)

// encode makes the entry's file.
func encode(kind, nonce string, body []byte) ([]byte, string) {
	sum := sha256.Sum256(body)
	b := make([]byte, 0, len(body)+len(kind)+len(nonce)+100)
	b = fmt.Appendf(b, "%s%s %s %s %x\n", magic, version, kind, nonce, sum)
	b = append(b, body...)
	b = append(b, '\n')
	whole := sha256.Sum256(b)
	return b, hex.EncodeToString(whole[:])
}

// badEntry is an entry's file that says something else than it should.
type badEntry struct {
	path, reason, hint string
	version            bool // it is of another version, and may be good
}

// ErrVersion: what cannot be read was written by another version of Staunch, and may be good.
var ErrVersion = errors.New("written by another version of Staunch")

// Is makes it known that an entry is of another version.
func (e *badEntry) Is(target error) bool { return e.version && target == ErrVersion }

func (e *badEntry) Error() string { return fmt.Sprintf("log entry %s: %s", e.path, e.reason) }

// classify gives err the class Damage if an entry cannot be read for what it holds, else Transient if it has no class yet.
func classify(err error) error {
	var bad *badEntry
	var has *fault.Error
	switch {
	case errors.As(err, &bad):
		hint := bad.hint
		if hint == "" {
			hint = "restore this file from a copy; never delete or edit entries by hand"
		}
		return (&fault.Error{Class: fault.Damage, Err: err}).WithHint("%s", hint)
	case errors.As(err, &has):
		return err
	}
	return &fault.Error{Class: fault.Transient, Err: err}
}

// readEntry reads the entry at p. The error is *badEntry or the store's.
func readEntry(store fs.FS, p string, n int64) (Entry, error) {
	r, err := store.Open(p)
	if errors.Is(err, fs.ErrNotFile) {
		return Entry{}, &badEntry{path: p, reason: err.Error()}
	}
	if err != nil {
		return Entry{}, err
	}
	b, err := readAll(r, p)
	if err = errors.Join(err, r.Close()); err != nil {
		return Entry{}, err
	}
	return decode(b, p, n)
}

// readAll reads an entry's file, but nothing large that is none.
func readAll(r fs.Reader, p string) ([]byte, error) {
	size := r.Size()
	if size > maxHeader {
		head := make([]byte, maxHeader)
		if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
			return nil, err
		}
		if err := checkHeader(head, p); err != nil {
			return nil, err
		}
		if size > maxEntry {
			return nil, &badEntry{path: p, reason: fmt.Sprintf("%d bytes are no log entry", size)}
		}
	}
	return io.ReadAll(r)
}

func checkHeader(b []byte, p string) error {
	if !bytes.HasPrefix(b, []byte(magic)) {
		if len(b) == 0 {
			return &badEntry{path: p, reason: "the file is empty"}
		}
		return &badEntry{path: p, reason: fmt.Sprintf("not a log entry of Staunch (begins with %q)", b[:min(len(b), 24)])}
	}
	v, _, ok := bytes.Cut(b[len(magic):min(len(b), maxHeader)], []byte(" "))
	if ok && string(v) != version {
		return &badEntry{path: p, reason: fmt.Sprintf("version %q is not known", v), hint: "it was written by another version of Staunch: use that one", version: true}
	}
	return nil
}

func decode(b []byte, p string, n int64) (Entry, error) {
	if err := checkHeader(b, p); err != nil {
		return Entry{}, err
	}
	line, rest, ok := bytes.Cut(b, []byte("\n"))
	f := strings.Split(string(line[:min(len(line), maxHeader)]), " ")
	if !ok || len(f) != 5 || !validKind(f[2]) || f[3] == "" {
		return Entry{}, &badEntry{path: p, reason: "the first line is incomplete or altered"}
	}
	if len(rest) == 0 || rest[len(rest)-1] != '\n' {
		return Entry{}, &badEntry{path: p, reason: fmt.Sprintf("truncated: %d bytes, without the last line end", len(b))}
	}
	body := rest[:len(rest)-1]
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != f[4] {
		return Entry{}, &badEntry{path: p, reason: fmt.Sprintf("truncated or altered: the hash of its %d bytes is not the one in its first line", len(body))}
	}
	whole := sha256.Sum256(b)
	return Entry{N: n, Kind: f[2], Nonce: f[3], Body: body, SHA256: hex.EncodeToString(whole[:])}, nil
}

// validKind: lower-case letters and hyphens.
func validKind(kind string) bool {
	for _, c := range kind {
		if (c < 'a' || c > 'z') && c != '-' {
			return false
		}
	}
	return kind != ""
}

// number is the number in an entry's name, or 0.
func number(name, ext string) int64 {
	digits, ok := strings.CutSuffix(name, ext)
	if !ok || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n == math.MaxInt64 || strconv.FormatInt(n, 10) != digits {
		return 0
	}
	return n
}

func (l *Log) path(n int64) string { return path.Join(l.dir, strconv.FormatInt(n, 10)+l.ext) }
