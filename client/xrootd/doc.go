// Package xrootd is a client of the XRootD protocol for any server: Hemera's doors and nodes, and the stock ones.
//
// # Parts, from the bottom up
//
// A [Conn] is one TCP session with many requests in flight. A pool keeps sessions by server and user. The requester sends
// one request along its route: it follows redirects, obeys waits and repeats requests if that is allowed. A [Client] adds
// the operations on names and servers. A [File] reads and writes one file and survives lost connections; its [Reader] and
// [Writer] keep a window of requests in flight. An [AsyncWriter] writes to one opening of a file and never recovers.
// [Pull] is the destination's half of a third-party copy.
//
// Decisions are pure functions: the next server (route.go), repetition (retry.go), the end of a session (watch.go).
// DESIGN.md has the rules and the reasons.
//
// # Invariants
//
//   - A request is sent twice only if doing it twice is harmless, or if it was not sent the first time.
//   - Bytes of a file are those of one content: a file that was replaced or has lost accepted bytes is a Conflict.
//   - Memory of a caller is not touched after its call has returned, even if the answer arrives later.
//   - A file that was opened for a caller that left is closed again.
//
// # Errors
//
// All are *errs.Error. A server's answer becomes the kind nearest to its code; a lost or silent connection is
// Unavailable. After Unavailable or Timeout of a change the caller does not know whether it happened.
//
// # Concurrency
//
// Client, Conn, File and AsyncWriter are safe for concurrent use; Reader and Writer are not. A session has two
// goroutines: one reads, and passes each frame to its call; one checks timeouts. Neither may block on anything but the
// socket, so functions that they call (sink.take, call.finish) must not either. Mutexes guard memory only and are not
// nested. A caller may wait on the condition of sender.mu while another caller writes. Calls block on the network,
// bounded by their context and by the times in [Options]. Close ends everything at once.
package xrootd
