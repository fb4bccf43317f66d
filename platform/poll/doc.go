// Package poll serves many TCP connections with few threads. A [Loop] waits for input in epoll; a [Socket] is one of its
// connections, and a net.Conn. DESIGN.md has the reasons for the loop, its costs, and the way to do without it.
//
// # Pollers
//
// A poller is a goroutine that waits in epoll_wait. When the kernel reports an event, the poller serves that connection
// itself: it calls the function that the owner passed to [Socket.Park], and waits again when that returns. So a request
// that needs no disk is served on the thread that received it.
//
// The loop wants a fixed number of pollers on duty: half of GOMAXPROCS. A poller on duty waits, or is expected back
// within microseconds. Before a poller does something slow it calls [Socket.ReleasePoller]; the loop then starts or wakes
// another one. The watchdog finds a poller that was slow without this call. It runs every millisecond while no poller
// waits. A poller that comes back and is not needed becomes idle for later use, up to idleMax of them.
//
// # States of a connection
//
// Each direction of a socket is a gate with one of four states: quiet (nothing since the last try), ready (try again),
// waiting (a goroutine blocks on it), parked (no goroutine; the next event's poller continues the connection). Events are
// edge triggered: an event that arrives while no goroutine waits is remembered as ready, so none is lost.
//
// # What blocks
//
// [Socket.TryRead] and a first small Write never block. [Socket.Linger] blocks a thread for up to lingerTime. Read,
// ReadFull and large writes block: for up to lingerTime in the kernel, on a thread, and after that on a channel without a
// thread. They end at a deadline, at most lingerTime late. One goroutine at a time may read and one may write.
// [Socket.Close] may be called from any goroutine, at any time.
//
// # Locks
//
// Loop.mu guards the lists of pollers, Socket.mu the set of registered events, table.mu changes of the table of sockets.
// They are never held together, and never over a call that can block. The descriptor of a socket is counted
// (Socket.users), so it is closed only after the last call that uses it.
package poll
