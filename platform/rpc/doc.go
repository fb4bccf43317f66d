// Package rpc carries hemera.Control and hemera.TapeControl between nodes and the manager, over
// HTTP/2 and TLS with a certificate on both sides.
//
// A call is one HTTP POST in the Connect protocol (connectrpc.com/docs/protocol, unary), at
// [Path] plus the method's name. The messages are the structs of package hemera themselves, in CBOR
// (RFC 8949) with field names as keys: there is no second schema to keep in step and no generated
// code. Unknown fields are skipped and missing ones are zero, so neighbouring versions understand
// each other as long as fields are only added. CBOR rather than JSON because paths are bytes, not
// always UTF-8, and because it takes an eighth of the time (BenchmarkCodec).
//
// Headers carry what is not the message: the deadline (Connect-Timeout-Ms), the trace id
// (Hemera-Trace) and, in failures, the whole *errs.Error (Hemera-Error). A failure without that
// header comes from the network and is Unavailable, Timeout or Cancelled.
//
// Nothing is retried here. A caller that gets Unavailable or Timeout does not know whether the call
// was carried out, and asks again if the method is idempotent; the next attempt goes to the next
// manager address that answers.
//
// Commits are not batched: HTTP/2 already shares one connection's writes among concurrent calls, and
// sixteen callers over loopback TLS get through three times what one does (BenchmarkCommit, 16 k/s
// with server and client on the same four cores); the namespace's group commit shares the fsync.
package rpc
