// Package node is the storage node: it implements [hemera.Node] over the disks of one machine, keeps a lease from the
// manager, reports to it, and runs its orders.
//
// # Problem
//
// A node owns disks, and the manager decides about their content. The network to the manager, a disk, and the process may
// each fail alone. A node without a connection to the manager continues to serve: reads need only a valid capability, and
// writes wait at their commit. A disk that fails or does not answer must not affect the lease, the work of other disks,
// or the end of the process.
//
// # Main types
//
//   - [Node] answers opens and keeps the lease. Data moves in package transfer, whose Host and Pending it holds.
//   - disks has the node's disks, open or not: it opens them, tries missing ones again, releases those that are gone,
//     and reports all.
//   - orders runs the manager's orders in lanes for each disk; lease exchanges orders and results under one lease.
//   - stateFile (node.json) and seenFile (manager.seen) have the durable state of a node. badPieces has the bad pieces
//     to report. meter measures the machine, and Network samples its interfaces and connections for every tenth
//     heartbeat.
//
// # States of a node
//
//	                Register            lease lost, or disks changed
//	(New) ---> joining ---> leased ----------------------------------> joining
//	              |            |
//	              +----- ctx of Run ends ----> stopping ---> (closed)
//
// While it is leased, a node sends a heartbeat every HeartbeatInterval and waits for orders in a long poll. A lease has
// an epoch; the manager refuses an older one. At its begin the node announces the writes that were granted before it, as
// the manager may have been started since (announce.go). Opens are answered from the first lease on, also while the node has no
// lease. After Finish a node takes no new writes.
//
// # States of a disk
//
//	known ---> opening ---> there ---> (released, as it is gone) ---> known
//	  |                       |
//	  +-------> (none) <------+   withdrawn, or detached by the manager
//
// A known disk has a path, a UUID once it was opened, and an id once the manager has named it. It is there while its
// Store is open. A disk whose label is missing for missedTime, and to which nothing is written, is released, so that an
// admin can unmount it. A disk at another path is still the same disk; a copy of a label is refused.
//
// # Disks that do not answer
//
// Each disk is wrapped by package bounded when it is opened, so every call to it returns. This package does the rest: an
// open may take long, also because it verifies data after a crash, so it runs in the background; an order to a stalled
// disk is refused at once; and the end of the node cancels calls to the manager and to peers after stopTimeout.
//
// # Goroutines, and what blocks
//
// Run has one goroutine each for the lease, for abandoned pieces and for scrubs; a lease has four, for heartbeats, for
// orders, for announcements and for what is kept, and one for each exchange under way. Lanes have one each, for the life of the node. Work on disks (lanes,
// expiry, scrubs) is in Node.working, which nothing waits for but the end of Run. Open, OpenPiece and Written block on
// disks and peers, and before the first lease for joinPatience at most.
//
// # Locks
//
// disks.mu guards the list of disks, and is not held over a call to one, nor over the write of node.json. orders.mu
// guards the lanes, badPieces.mu the bad pieces, meter.mu the last reading, seenFile.mu the marks. None is taken while
// another is held.
package node
