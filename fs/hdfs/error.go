package hdfs

import (
	"errors"
	iofs "io/fs"
	"strings"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/hdfs/rpc"
)

// kinds are the sentinels by the class of the exception.
var kinds = map[string]error{
	"FileNotFoundException":               fs.ErrNotExist,
	"ParentNotDirectoryException":         fs.ErrNotExist,
	"FileAlreadyExistsException":          fs.ErrExist,
	"AlreadyBeingCreatedException":        fs.ErrExist,
	"RecoveryInProgressException":         fs.ErrExist,
	"PathIsNotEmptyDirectoryException":    fs.ErrNotEmpty,
	"QuotaExceededException":              fs.ErrNoSpace,
	"NSQuotaExceededException":            fs.ErrNoSpace,
	"DSQuotaExceededException":            fs.ErrNoSpace,
	"QuotaByStorageTypeExceededException": fs.ErrNoSpace,
	"MaxDirectoryItemsExceededException":  fs.ErrNoSpace,
	"PathComponentTooLongException":       fs.ErrNameTooLong,
	"AccessControlException":              iofs.ErrPermission,
	"TraverseAccessControlException":      iofs.ErrPermission,
	"SnapshotAccessControlException":      iofs.ErrPermission,
	"NotReplicatedYetException":           fs.ErrUnavailable,
}

// why explains some of them.
var why = map[string]string{
	"AccessControlException":                "check the owner and the permissions of the file and of its folder; HADOOP_USER_NAME says who acts",
	"LeaseExpiredException":                 "the file was deleted, or closed by another process, while it was written",
	"UnknownCryptoProtocolVersionException": "the folder is an encryption zone, which is not supported",
	"NSQuotaExceededException":              "the folder's quota of names",
	"DSQuotaExceededException":              "the folder's quota of space",
}

// errorOf makes an fs.Error of what the NameNode answered; nil stays nil.
func (c *Client) errorOf(op, path, to string, err error) error {
	if err == nil {
		return nil
	}
	e := &fs.Error{Op: op, Store: c.name, Path: path, To: to, Err: err}
	var r *rpc.RemoteError
	if !errors.As(err, &r) {
		return e
	}
	class := r.Short()
	e.Kind, e.Why = kinds[class], why[class]
	switch {
	case op == "make folder" && class == "ParentNotDirectoryException":
		e.Kind = fs.ErrExist
	case class == "InvalidPathException":
		return fault.New(fault.User, "%w", e).WithHint("HDFS takes no colon in a name, and no . or ..")
	case op == "rename" && class == "IOException" && strings.Contains(r.Text, "must both be directories"): // one is a file, the other a folder
		e.Kind = fs.ErrExist
	case class == "IOException" && strings.Contains(r.Text, "Pathname too long"):
		e.Kind = fs.ErrNameTooLong
	case class == "IOException" && strings.Contains(r.Text, "could only be written to"):
		e.Kind, e.Why = fs.ErrUnavailable, "no DataNode takes a block; they are away, busy, or full"
	}
	return e
}

// answered is an error that the NameNode tells without an exception.
func (c *Client) answered(op, path string, kind error, why string) error {
	return &fs.Error{Op: op, Store: c.name, Path: path, Kind: kind, Why: why}
}
