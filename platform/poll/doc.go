// Package poll serves many TCP connections with few threads. A [Loop] waits for input in epoll; a [Socket] is one of its
// connections, and a net.Conn. DESIGN.md says why the loop exists, how to do without it, and what it costs.
//
// # Pollers
//
// A poller is a goroutine that waits in epoll_wait. When the kernel reports an event, the poller serves that connection
// itself: it calls what the owner left with [Socket.Park], and waits again when that returns. So a request that needs no
// disk is served on the thread that received it.
//
// The loop wants a fixed number of pollers on duty: half of GOMAXPROCS. A poller on duty waits, or is expected back within
// microseconds. Before a poller does something slow it calls [Socket.ReleasePoller]; the loop then starts or wakes another
// one. A poller that was slow without saying so is found by the watchdog, which runs every millisecond while no poller
// waits. A poller that comes back and is not wanted is kept asleep for later, up to idleMax of them.
//
// # States of a connection
//
// Each direction of a socket is a gate with one of four states: quiet (nothing since the last try), ready (try again),
// waiting (a goroutine blocks on it), parked (no goroutine; the next event's poller continues the connection). Events are
// edge triggered: an event that arrives while nobody waits is remembered as ready, so none is lost.
//
// # What blocks
//
// [Socket.TryRead] and a first small Write never block. [Socket.Linger] blocks a thread for up to lingerTime. Read, ReadFull and large writes block: for up to lingerTime in the
// kernel, on a thread, and after that on a channel without a thread. Deadlines bound them to within lingerTime. One
// goroutine at a time reads and one writes. [Socket.Close] may be called by anyone, at any time.
//
// # Locks
//
// Loop.mu guards the lists of pollers, Socket.mu the set of events asked for, table.mu changes of the table of sockets.
// They are never held together, and never over a call that can block. The descriptor of a socket is counted
// (Socket.users), so it is closed only after the last call that uses it.
package poll
