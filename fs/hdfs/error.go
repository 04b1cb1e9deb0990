package hdfs

import (
	"errors"
	iofs "io/fs"
	"strings"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/hdfs/rpc"
)

// Error is a failed call.
type Error struct {
	// Op is the verb ("create", "rename").
	Op string
	// Store is the cluster, "hdfs://NS". Path is what it was about, To the other path of a rename or "".
	Store, Path, To string
	// Kind is the sentinel of package fs, or nil.
	Kind error
	// Err is what the NameNode said; nil if it said no more than the kind.
	Err error
	// Why explains the answer; it may be empty.
	Why string
}

// Error gives verb, path, kind and the NameNode's words.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op + " " + e.Store + e.Path)
	if e.To != "" {
		b.WriteString(" to " + e.To)
	}
	b.WriteString(": ")
	switch {
	case e.Kind != nil && e.Err != nil && !errors.Is(e.Err, e.Kind):
		b.WriteString(e.Kind.Error() + " (" + e.Err.Error() + ")")
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	case e.Kind != nil:
		b.WriteString(e.Kind.Error())
	}
	if e.Why != "" {
		b.WriteString(": " + e.Why)
	}
	return b.String()
}

// Unwrap gives the sentinel and the cause.
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

// errorOf makes an Error of what the NameNode answered; nil stays nil.
func (c *Client) errorOf(op, path, to string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, Store: c.name, Path: path, To: to, Err: err}
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
	return &Error{Op: op, Store: c.name, Path: path, Kind: kind, Why: why}
}
