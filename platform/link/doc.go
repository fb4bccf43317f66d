// Package link manages how connections enter and leave a process. It has the one TCP port that serves every protocol, the
// unix socket for users of the same machine, the socket options that find dead peers in bounded time, and the limits on
// the number of connections.
//
// # The port
//
// A [Mux] accepts connections of one listener and hands each to the door of its protocol. It looks at the first byte from
// the client: 0x00 is XRootD, a letter HTTP, 0x16 TLS ([Classify]). It does not consume the byte (MSG_PEEK), so a door
// gets the raw TCP connection, and sendfile works. A connection that stays silent is closed after a while; if there are
// too many of these, the oldest is closed first. One goroutine for each connection waits for its first byte, and ends
// when a door has the connection.
//
// # Limits
//
// With limits, each connection has a lease of rules/limits from its accept to its close. If no place is free, the mux
// first closes a silent connection. Then a door may close a connection that it can spare (MuxOptions.Relieve). Admins of
// the same machine have a reserve. Mux.mu guards the list of connections that wait for their first byte; no call that can
// block runs under it.
//
// Package link distinguishes protocols by their first byte only. A door reads the requests of a connection, package auth
// identifies the client, and package poll serves connections with few threads.
package link
