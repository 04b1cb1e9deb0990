package local

import (
	"errors"
	iofs "io/fs"
	"syscall"

	"staunch/fs"
)

// kind is the sentinel for an errno, or nil.
func kind(no syscall.Errno) error {
	switch no {
	case syscall.ENOENT, syscall.ENOTDIR:
		return fs.ErrNotExist
	case syscall.EEXIST:
		return fs.ErrExist
	case syscall.ENOTEMPTY:
		return fs.ErrNotEmpty
	case syscall.ELOOP, syscall.ENXIO:
		return fs.ErrNotFile
	case syscall.ENOSPC, syscall.EDQUOT:
		return fs.ErrNoSpace
	case syscall.EROFS:
		return iofs.ErrPermission
	case syscall.ENAMETOOLONG:
		return fs.ErrNameTooLong
	case syscall.ESTALE, syscall.ETIMEDOUT, syscall.ENOTCONN, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENETUNREACH,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.ECONNREFUSED, syscall.EREMOTEIO, syscall.ESHUTDOWN:
		return fs.ErrUnavailable
	}
	return nil
}

// wrap makes an fs.Error of what a call answered; nil stays nil.
func wrap(op, path, to string, err error) error {
	if err == nil {
		return nil
	}
	e := &fs.Error{Op: op, Path: path, To: to, Err: err}
	var no syscall.Errno
	if !errors.As(err, &no) {
		return e
	}
	e.Err, e.Kind = no, kind(no)
	switch no {
	case syscall.EXDEV:
		e.Why = "the two paths are on different file systems, between which nothing can be moved in one step"
	case syscall.EROFS:
		e.Why = "it is mounted read-only, or became so after an error of the disk"
	case syscall.EISDIR:
		e.Why = "it is a folder"
	case syscall.EACCES, syscall.EPERM:
		e.Why = "check the owner and the permissions of the file and of its folder"
	}
	return e
}
