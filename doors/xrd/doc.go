// Package xrd is the XRootD door: it speaks the protocol with clients and turns each request into one call of a hemera
// interface. It has two roles. A manager's door answers everything about names itself and sends opens to nodes. A node's
// door serves open files and sends everything about names to the manager. A manager's door with nodes in its own
// process (Options.Manager.Local) opens small files itself.
//
// # Parts
//
//   - [Server] accepts connections. Its registry has all connections and sessions.
//   - conn is one connection: it reads requests, has them served in order, and parks while there are none. Its bytes go
//     through package transport. intake reads payloads, readDeadline bounds how long a client may take, asyncWork runs
//     what must not hold up the connection.
//   - session is one login: open files (handleTable), bound connections (substreams), and what is known of the client
//     from before (reconnection). It ends with its connection.
//   - handle is what a session has open: a fileHandle or a pieceHandle. They end in different ways.
//   - handlers serve requests: loginHandlers, nameHandlers, managerOpens, nodeOpens, fileHandlers, readHandlers,
//     writeHandlers, checkpointHandlers, queryHandlers, prepareHandlers. They hold services and no state of clients.
//     operation.go has the table of requests, role.go says which handlers a role has, and outcome.go what they return.
//
// Package translate puts requests into Hemera's words and outcomes into the protocol's, package reconnect remembers
// clients that may come back, package tpc arranges third-party copies, and package prepare brings files from tape.
//
// # Life of a connection
//
// Accept, handshake, login, authentication, requests, end. readDeadline has one deadline for all before the first
// request. Between two requests a connection is parked at the loop of package poll: no goroutine, no buffer. A
// connection may instead be bound to another one's session; then it carries the data of that session's reads and writes.
// conn.end releases what the connection holds, after its asynchronous work.
//
// # Life of a request
//
// conn.next reads the header, conn.dispatch looks up the operation, conn.admit refuses what may not come now,
// intake.readPayload reads the payload, and the handler answers. A handler that returns an error has answered nothing:
// conn.finish answers with it. Whatever happens, the request's bytes are consumed to their end, or the connection ends.
// Answers are collected, and written when no further complete request is at hand.
//
// # Life of an open
//
// openSteps in open.go lists what a manager's door does with an open, in order: it looks for what a client may come back to
// (reopen.go, restart.go), asks the manager, waits with the client, and opens the file itself or sends the client to a node.
// nodeOpens.open in opennode.go does the node's part.
//
// # Goroutines
//
// One for each connection that is not parked. It serves requests in the order they came, which clients rely on, and
// owns the connection's and the session's fields. A bound connection has its own, which serves the queue of its
// substream. asyncWork has one for each close, seal, abort, checksum, call of the admin API and third-party copy that
// runs beside its connection: these use only the file's handle, counted in openFile.inUse, and the request's copy. One
// timer promises late answers, and one goroutine of the Server closes silent connections.
//
// # Locks
//
// All guard memory only, and none is acquired while another is held. Under registry.mu and substreams.mu connections are
// closed, which does not block. Fields say which lock or goroutine they belong to.
//
// # What blocks
//
// Handlers block on the services: the namespace, a commit, a disk, another node. A handler that waits for a disk in any
// case calls request.lend first, so that another goroutine takes its place at the poller; for others conn.timed does so
// if the last request of the kind was slow. A disk of a node answers within a deadline or fails as stalled, so a request
// blocks its connection for that long at most. Work that may be slow and that nothing on the connection depends on runs
// in asyncWork. An answer that takes longer than Limits.SlowAnswer is promised with kXR_waitresp.
//
// Section numbers in comments are those of the XRootD protocol specification 5.2.0, which is the version that the door
// announces and serves; docs/protocol.md lists what of it is Unsupported. DESIGN.md has the reasons.
package xrd
