// Package rpc is Hadoop's RPC (version 9, protocol buffers) to the NameNodes of one name service. Above it stands fs/hdfs, below it a TCP
// connection per NameNode on which calls are multiplexed.
//
// # Retries
//
// One Call is one call of the NameNode's: its number and the client's id stay the same in every try, whichever NameNode is asked, and only the
// retry count grows. A NameNode that has carried the call out already answers from its retry cache (10 minutes by default). When that has
// expired, the call is carried out again, late; callers must be right anyway (invariant F1 of package fs).
//
//	connection lost, no answer in time    the connection is closed, the other NameNode asked
//	StandbyException                      the other NameNode is asked
//	RetriableException, SafeModeException the same one again, after a pause
//	any other exception                   the call's answer
//
// After each NameNode has failed once there is a pause, from 50 ms doubled up to 2 s, half of it by chance. One that was silent is left alone for as
// long as it was waited for, while there is another. When the call's patience is over it
// fails with fs.ErrUnavailable and what each NameNode last said; it may have taken effect, or may still do so.
//
// # Time limits
//
// Every step has one: connecting, sending, waiting for the answer. Calls wait for nothing but their own answer: a NameNode that is silent, or one
// whose connection takes no more bytes, costs each call its own limit and no more.
//
// # Security
//
// The connection says who the user is (authentication "simple"). A NameNode that wants Kerberos is told from one that does not answer, and is a
// fault.User error.
package rpc
