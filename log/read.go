package log

import (
	"bytes"
	"errors"
	"strings"

	"staunch/fault"
	"staunch/fs"
)

// ReadFile reads the entry file at path as entry n, for those who look at a log without following it. An entry that is damaged or none of
// Staunch's gives an error of class Damage; other errors are the store's.
func ReadFile(store fs.FS, path string, n int64) (Entry, error) {
	e, err := readEntry(store, path, n)
	return e, damaged(err)
}

// Decode is ReadFile for bytes that were read already; path is for messages.
func Decode(b []byte, path string, n int64) (Entry, error) {
	e, err := decode(b, path, n)
	return e, damaged(err)
}

func damaged(err error) error {
	var bad *badEntry
	if errors.As(err, &bad) {
		if bad.version {
			return fault.New(fault.Damage, "%s: %w", bad.reason, ErrVersion)
		}
		return fault.New(fault.Damage, "%s", bad.reason)
	}
	return err
}

// Number is the number in the name of an entry file with extension ext, or 0 if it is no such name.
func Number(name, ext string) int64 { return number(name, ext) }

// Staged reports whether name is that of an entry's file before it is placed at its number.
func Staged(name string) bool { return strings.HasPrefix(name, stagedPrefix) }

// KindOf gives the kind of the entry whose file begins with b, "" if that is none.
func KindOf(b []byte) string {
	first, _, ok := bytes.Cut(b, []byte("\n"))
	words := strings.Fields(string(first))
	if !ok || !bytes.HasPrefix(b, []byte(magic)) || len(words) < 3 {
		return ""
	}
	return words[2]
}
