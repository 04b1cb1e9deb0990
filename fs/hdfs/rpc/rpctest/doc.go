// Package rpctest is a network of NameNodes in the process, for tests: it speaks Hadoop's RPC framing over pipes, and the test decides about each
// call (answer, exception, silence, a connection that breaks). In a synctest bubble time limits cost nothing.
package rpctest
