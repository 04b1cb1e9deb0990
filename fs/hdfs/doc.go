// Package hdfs is fs.FS on HDFS, spoken natively: fs/hdfs/conf finds the NameNodes, fs/hdfs/rpc calls them, fs/hdfs/datanode moves the bytes.
//
// # No overwrite
//
// Create has the flag CREATE alone, Rename is rename2 without OVERWRITE, Delete and DeleteDir are never recursive. An answer may be that of an
// earlier try of the same call which took effect although its reply was lost: the NameNode's retry cache usually gives the first try's answer
// again; where it has forgotten, Create says fs.ErrExist, Rename and Delete say fs.ErrNotExist. Nothing is hidden or guessed here: callers look.
//
// # Delete and DeleteDir
//
// HDFS has one delete for files and empty folders. Which of them stands there is looked up before, so that between the look and the delete another
// process may have put the other kind in its place. That is harmless here: no name that is deleted is ever taken by both kinds (data files and staged
// entries have 96 random bits in it, log entries are numbers in folders of their own); and it is one file or one empty folder in any case.
//
// # Durability
//
// The NameNode answers a change of names only after a majority of its journals has it on disk. So SyncDir has nothing to do but to see that the
// folder is there. The bytes of a file are made durable by the DataNodes (see fs/hdfs/datanode).
//
// # Errors
//
// Every error names the call, the path and the NameNode that answered, and is one of package fs's by the class of the exception:
//
//	FileNotFoundException, ParentNotDirectoryException        fs.ErrNotExist (MkdirAll: fs.ErrExist)
//	FileAlreadyExistsException, AlreadyBeingCreatedException,
//	RecoveryInProgressException                               fs.ErrExist
//	PathIsNotEmptyDirectoryException                          fs.ErrNotEmpty
//	NSQuotaExceeded, DSQuotaExceeded, ..., MaxDirectoryItems  fs.ErrNoSpace
//	PathComponentTooLongException                             fs.ErrNameTooLong
//	AccessControlException                                    io/fs.ErrPermission, as on the local disk
//	standby, safe mode, retriable, no connection, no answer   fs.ErrUnavailable, after the patience of the call
//	no DataNode takes the block                               fs.ErrUnavailable: HDFS does not tell a full cluster from an absent one
//
// # Names
//
// HDFS takes no name with a colon; such a path is a fault.User error. All else is as on a disk.
//
// # Leases
//
// An open file belongs to this process while its lease is renewed, every 30 s for all open files together, with a time limit of its own. A process
// that dies leaves open files; the NameNode closes them an hour or so later at the length that DataNodes have, RecoverLease at once.
package hdfs
