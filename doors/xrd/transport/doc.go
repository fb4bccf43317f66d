// Package transport moves the bytes of one XRootD connection: requests in, answers out. It handles frames, and does not
// interpret them.
//
// A [Source] reads requests and a [Sink] writes answers. Both borrow their memory from a [Pool] that all connections of a
// server share, so that a connection that waits for its client has none. A [Part] is file data for an answer: verified
// pages in a pipe, a range for sendfile, or bytes in memory.
//
// # Ownership
//
// A Source belongs to the goroutine that serves its connection. A Sink is shared: asynchronous work answers on it too.
// Answers may be sent in another order than they came, but the bytes of a frame stay together.
//
// # Locks
//
// [Sink] has one mutex, held over memory only. The right to write to the socket is the turn: a flag under that mutex. The
// goroutine with the turn writes without the mutex, so a slow client delays no goroutine that only collects an answer.
// Only a goroutine with more data than fits into the buffer waits for the turn. File data is read before the turn is
// taken; [Sink.SendFrame] is the one exception, and says why. [Pool]'s mutex guards the list of pipes.
//
// # What blocks
//
// Source: everything that reads, until the client has sent enough or the read deadline passes; [Source.Next] returns
// [ErrIdle] instead. Sink: writing to the socket, at most for the stall time; then the connection is broken.
package transport
