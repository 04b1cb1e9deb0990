// Package local is fs.FS on a disk that this machine has mounted.
//
// # No overwrite
//
// Rename uses renameat2(RENAME_NOREPLACE). On a mount whose file system does not know that flag (it answers EINVAL or ENOSYS; remembered per
// mount) a file is linked to its new name, which fails if that is taken, and then unlinked from its old one. A process that dies in between
// leaves both names; so does a power cut with either way. Callers look at both places (PROTOCOL.md 5).
//
// # Errors
//
// Every error names the call and the path, and is one of the sentinels of package fs where the errno allows that:
//
//	ENOENT, ENOTDIR                                  fs.ErrNotExist
//	EEXIST                                           fs.ErrExist (DeleteDir: fs.ErrNotEmpty)
//	ENOTEMPTY                                        fs.ErrNotEmpty
//	ENOSPC, EDQUOT                                   fs.ErrNoSpace
//	ENAMETOOLONG                                     fs.ErrNameTooLong
//	ELOOP, ENXIO, what is no regular file            fs.ErrNotFile (Open)
//	ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN, ...      fs.ErrUnavailable: a network or FUSE mount without its server
//
// EIO is none of them: a disk that reports it does not heal by waiting. After a failed Write or Sync a file is dead and every later Sync and
// Close gives the first error again: the kernel may have dropped the unwritten pages, after which a second fsync would succeed for nothing.
//
// # Durability
//
// Sync is fsync of the file, SyncDir is fsync of the folder. A file system that cannot do the latter gives an error and never a silent success.
package local
