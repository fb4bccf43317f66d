// Package xrd is the XRootD door: it speaks the protocol with clients and turns each request into one call of a hemera
// interface. It has two roles. A manager's door answers requests about names and redirects opens to nodes. A node's door
// serves open files and redirects requests about names to the manager. A manager's door with nodes in its own process
// (Options.Manager.Local) opens small files itself.
//
// # Parts
//
//   - [Server] accepts connections. Its registry has all connections and sessions.
//   - conn is one connection: it reads requests, has them served in order, and parks while there are none. Its bytes go
//     through package transport. intake reads payloads, readDeadline bounds how long a client may take, asyncWork runs
//     work that must not delay the connection.
//   - session is one login: open files (handleTable), bound connections (substreams), and the state that the client's
//     lost sessions leave to it (reconnection). It ends with its connection.
//   - handle is a file or piece that a session has open: a fileHandle or a pieceHandle.
//   - handlers serve requests: loginHandlers, nameHandlers, managerOpens, nodeOpens, fileHandlers, readHandlers,
//     writeHandlers, checkpointHandlers, queryHandlers, prepareHandlers. They have services and no state of clients.
//     operation.go has the table of requests, role.go says which handlers a role has, and outcome.go their outcomes.
//
// Package translate converts requests to Hemera's types and outcomes to the protocol's, package reconnect remembers
// clients that may come back, package tpc arranges third-party copies, and package prepare brings files from tape.
//
// # Life of a connection
//
// Accept, handshake, login, authentication, requests, end. readDeadline sets one deadline for everything before the first
// request. Between two requests a connection is parked at the loop of package poll, without a goroutine or a buffer. A
// connection may instead be bound to another one's session; then it carries the data of that session's reads and writes.
// conn.end releases what the connection holds, after its asynchronous work.
//
// # Life of a request
//
// conn.next reads the header, conn.dispatch looks up the operation, conn.admit refuses requests that are not allowed now,
// intake.readPayload reads the payload, and the handler answers. A handler that returns an error has sent no answer;
// conn.finish sends the error. In every case the request's bytes are consumed to their end, or the connection ends.
// Answers are collected, and written when no further complete request has arrived.
//
// # Life of an open
//
// openSteps in open.go lists the steps of an open at a manager's door: it looks for an earlier open that the client
// continues (reopen.go, restart.go), asks the manager, waits with the client or holds its request (held.go), and opens
// the file itself or sends the client to a node. nodeOpens.open in opennode.go does the node's part.
//
// # Goroutines
//
// One for each connection that is not parked. It serves requests in the order they came, which clients rely on, and owns
// the connection's and the session's fields. A bound connection has its own, which serves the queue of its substream.
// asyncWork has one for each close, seal, abort, checksum, held open, call of the admin API and third-party copy that runs
// beside its connection: this work uses only the file's handle, counted in openFile.inUse, and the request's copy. A timer
// promises late answers, and one goroutine of the Server closes silent connections.
//
// # Locks
//
// Locks guard memory only, and none is acquired while another is held. Under registry.mu and substreams.mu connections
// are closed, which does not block. Comments of fields name their lock or goroutine.
//
// # What blocks
//
// Handlers block on the services: the namespace, a commit, a disk, another node. A handler that waits for a disk in any
// case calls request.lend first, so that another goroutine takes its place at the poller; for others conn.timed does so
// if the last request of the kind was slow. A disk of a node answers within a deadline or fails as stalled, so a request
// blocks its connection for that long at most. Slow work on which no later request of the connection depends runs in
// asyncWork. An answer that takes longer than Limits.SlowAnswer is promised with kXR_waitresp.
//
// Section numbers in comments are those of the XRootD protocol specification 5.2.0, which is the version that the door
// announces and serves; docs/protocol.md lists the Unsupported parts. DESIGN.md has the reasons.
package xrd
