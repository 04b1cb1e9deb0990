package local

import (
	"errors"
	"strings"
	"syscall"

	"staunch/fs"
)

// Error is a failed call.
type Error struct {
	// Op is the verb ("create", "rename").
	Op string
	// Path is what it was about, To the other path of a rename or "".
	Path, To string
	// Kind is the sentinel of package fs, or nil.
	Kind error
	// Err is what the system said.
	Err error
	// Why explains the system's answer; it may be empty.
	Why string
}

// Error gives verb, path, kind and the system's words.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteByte(' ')
	b.WriteString(e.Path)
	if e.To != "" {
		b.WriteString(" to ")
		b.WriteString(e.To)
	}
	b.WriteString(": ")
	switch {
	case e.Kind != nil:
		b.WriteString(e.Kind.Error())
		if e.Err != nil {
			b.WriteString(" (" + e.Err.Error() + ")")
		}
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	}
	if e.Why != "" {
		b.WriteString(": " + e.Why)
	}
	return b.String()
}

// Unwrap gives the sentinel and the system's error.
func (e *Error) Unwrap() []error {
	var list []error
	if e.Kind != nil {
		list = append(list, e.Kind)
	}
	if e.Err != nil {
		list = append(list, e.Err)
	}
	return list
}

// kind is the sentinel for an errno, or nil.
func kind(no syscall.Errno) error {
	switch no {
	case syscall.ENOENT, syscall.ENOTDIR:
		return fs.ErrNotExist
	case syscall.EEXIST:
		return fs.ErrExist
	case syscall.ENOTEMPTY:
		return fs.ErrNotEmpty
	case syscall.ENOSPC, syscall.EDQUOT:
		return fs.ErrNoSpace
	case syscall.ENAMETOOLONG:
		return fs.ErrNameTooLong
	case syscall.ESTALE, syscall.ETIMEDOUT, syscall.ENOTCONN, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENETUNREACH,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.ECONNREFUSED, syscall.EREMOTEIO, syscall.ESHUTDOWN:
		return fs.ErrUnavailable
	}
	return nil
}

// wrap makes an Error of what a call answered; nil stays nil.
func wrap(op, path, to string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, Path: path, To: to, Err: err}
	var no syscall.Errno
	if !errors.As(err, &no) {
		return e
	}
	e.Err, e.Kind = no, kind(no)
	switch no {
	case syscall.EXDEV:
		e.Why = "the two paths are on different file systems, between which nothing can be moved in one step"
	case syscall.EISDIR:
		e.Why = "it is a folder"
	case syscall.EACCES, syscall.EPERM:
		e.Why = "check the owner and the permissions of the file and of its folder"
	}
	return e
}
