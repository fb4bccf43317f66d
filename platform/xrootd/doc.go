// Package client speaks XRootD to any server: Hemera's doors and nodes, and the stock ones.
//
// From the bottom up: a [Conn] is one TCP session with many requests in flight; a [Client] is a
// bounded pool of sessions that follows redirects and waits; its methods are the operations on
// names; a [File] reads and writes one file and survives lost connections; [Peers] moves pieces
// between nodes; [Copy] moves whole trees; [Pull] is the destination's half of a third-party copy.
//
// Decisions (where to go next, what to retry, what to copy) are pure functions in route.go,
// retry.go and plan.go; the rest carries them out.
//
// Errors are *errs.Error. A server's answer becomes the kind nearest to its code; a lost or silent
// connection is Unavailable. Operations are retried here only where a repetition cannot harm: the
// caller who sees Unavailable or Timeout from a change does not know whether it happened.
package xrootd
