// Package transport moves the bytes of one XRootD connection: requests in, answers out. It knows frames, not what
// they mean.
//
// A [Source] reads requests and a [Sink] writes answers. Both borrow their memory from a [Pool] that all connections of
// a server share, so that a connection that waits for its client holds none. A [Part] is file data on its way out:
// verified pages in a pipe, a range for sendfile, or bytes in memory.
//
// # Ownership
//
// A Source belongs to the goroutine that serves its connection. A Sink is shared: asynchronous work answers on it
// beside that goroutine. Answers may go out in another order, but one frame is never torn.
//
// # Locks
//
// [Sink] has one mutex, held over memory only. The right to write to the socket is the turn: a flag under that mutex.
// The goroutine that has the turn writes without the mutex, so a slow client delays no goroutine that only collects an
// answer. Only a goroutine with more than fits into the buffer waits for the turn. File data is read before the turn is
// taken; [Sink.SendFrame] is the one exception, and says why. [Pool]'s mutex guards the list of pipes.
//
// # What blocks
//
// Source: everything that reads, until the client has sent enough or the read deadline passes; [Source.Next] returns
// [ErrIdle] instead. Sink: writing to the socket, at most the stall time, after which the connection is broken.
package transport
