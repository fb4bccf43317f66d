// Package xrootd is a client of the XRootD protocol for any server: Hemera's doors and nodes, and the stock ones.
//
// # The parts, from the bottom up
//
// A [Conn] is one TCP session with many requests in flight. A pool keeps sessions by server and user. The requester sends one
// request wherever its route leads: it follows redirects, obeys waits and repeats what may be repeated. A [Client] puts
// the operations on names and servers on top of it. A [File] reads and writes one file and survives lost connections; its
// [Reader] and [Writer] keep a window of requests in flight. An [AsyncWriter] writes to one opening of a file and never
// recovers. [Pull] is the destination's half of a third-party copy.
//
// Decisions are pure functions: where to go next (route.go), what to repeat (retry.go), when a session is to end (watch.go). DESIGN.md
// has the rules and the reasons.
//
// # Invariants
//
//   - A request is sent twice only if doing it twice is harmless, or if it was not sent the first time.
//   - Bytes of a file are those of one content: a file that was replaced or has lost accepted bytes is a Conflict.
//   - Memory of a caller is not touched after its call has returned, also if the answer comes later.
//   - What a caller that left has opened is closed again.
//
// # Errors
//
// All are *errs.Error. A server's answer becomes the kind nearest to its code; a lost or silent connection is Unavailable. After
// Unavailable or Timeout of a change the caller does not know whether it happened.
//
// # Concurrency
//
// Client, Conn, File and AsyncWriter are safe for concurrent use; Reader and Writer are for one goroutine. A session has two
// goroutines: one reads, and hands each frame to its call; one looks at the clock. Neither may block on anything but the
// socket, so functions that they call (sink.take, call.finish) must not either. Mutexes guard memory only and are not nested,
// but for sender.mu, which is waited on while another caller writes. Calls block on the network, bounded by their context and
// by the times in [Options]. Close ends everything at once.
package xrootd
