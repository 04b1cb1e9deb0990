// Package nnproxy stands between a client and a NameNode and does to chosen calls what a bad network does: a request that arrives
// late, a connection that breaks before the request was sent on, a reply that is lost although the call was executed.
//
// It reads Hadoop RPC only as far as it must: frames, call ids, method names and paths. What it does not hold or cut goes through
// unchanged. A rule ([Proxy.On]) picks calls by method and path; what it met is waited for ([Rule.Next]), and a request that was
// held is let through later, on its first connection ([Hit.Release]), so that a test has the order of events in its hands.
//
// Put one proxy before each NameNode of the pair: a call that was cut comes back at either of them.
package nnproxy
