// Package rpc carries calls of hemera.Control and tapeapi.Control from nodes to the manager, over HTTP/2 and TLS with
// certificates on both sides.
//
// A call is one HTTP POST in the Connect protocol (connectrpc.com/docs/protocol, unary), at [Path] plus the method's
// name. The messages are the structs of package hemera, in CBOR (RFC 8949) with field names as keys, so there is no
// second schema and no generated code. Unknown fields are skipped and missing ones are zero, so neighbouring versions
// understand each other if fields are only added. The format is CBOR and not JSON because paths are bytes, not always
// UTF-8, and because it takes an eighth of the time (BenchmarkCodec).
//
// Headers carry the data outside of the message: the deadline (Connect-Timeout-Ms), the trace id (Hemera-Trace) and, in
// failures, the whole *errs.Error (Hemera-Error). A failure without that header comes from the network and is
// Unavailable, Timeout or Cancelled.
//
// The package does not retry. A caller that gets Unavailable or Timeout does not know whether the call was carried out,
// and may repeat it if the method is idempotent; the next attempt goes to the next manager address that answers.
//
// Commits are not batched: HTTP/2 already shares one connection's writes among concurrent calls, and sixteen callers over
// loopback TLS reach three times the rate of one (BenchmarkCommit, 16 k/s with server and client on the same four cores);
// the namespace's group commit shares the fsync.
package rpc
