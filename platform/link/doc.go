// Package link is how connections get in and out of a process. It has the one TCP port that serves every protocol, the
// unix socket for users of the same machine, the socket options that find dead peers in bounded time, and the limits of
// how many connections a process takes.
//
// # The port
//
// A [Mux] accepts connections of one listener and hands each to the door of its protocol. It looks at the first byte that
// the client sends: 0x00 is XRootD, a letter HTTP, 0x16 TLS ([Classify]). It only looks (MSG_PEEK), so a door gets the raw
// TCP connection, and sendfile works. A connection that says nothing for a while is closed; when there are too many of
// these, the oldest goes first. One goroutine for each connection waits for its first byte, and ends when a door has it.
//
// # Places
//
// With limits, each connection holds a lease of rules/limits from its accept to its close. When there is no place, a
// connection that has said nothing is closed first. Then a door may close a connection that it can spare
// (MuxOptions.Relieve). Admins of the same machine have a reserve. Mux.mu guards the list of connections that wait for
// their first byte; no call that can block runs under it.
//
// Package link knows protocols by their first byte only. A door reads what a connection says, package auth finds out who
// the client is, and package poll serves connections with few threads.
package link
