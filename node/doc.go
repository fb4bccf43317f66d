// Package node is the storage node: it implements [hemera.Node] over the disks of one machine, keeps its lease with the
// manager, reports, and does the background work that the manager orders.
//
// # Problem
//
// A node owns disks, and the manager decides what is on them. Each of three may fail alone: the network to the manager, a
// disk, the process. A node that cannot reach the manager goes on serving: reads need only a valid capability, and writes
// wait at their commit. A disk that fails or does not answer must not cost the node its lease, the other disks their work,
// or the process its end.
//
// # Main types
//
//   - [Node] answers opens and keeps the lease. Data moves in package transfer, whose Host and Pending it holds.
//   - disks are the disks that the node was given, there or not: it opens them, tries those that are missing again, releases
//     those that are gone, and reports on all.
//   - orders run what the manager ordered, in lanes by disk; lease is the exchange of orders and results under one lease.
//   - stateFile (node.json) and seenFile (manager.seen) are what a node remembers. badPieces are what it found bad and has to
//     report. meter measures the machine, and Network samples its
//     interfaces and connections for every tenth heartbeat.
//
// # States of a node
//
//	                Register            lease lost, or disks changed
//	(New) ---> joining ---> leased ----------------------------------> joining
//	              |            |
//	              +----- ctx of Run ends ----> stopping ---> (closed)
//
// While it is leased, a node sends a heartbeat every HeartbeatInterval and waits for orders in a long poll. A lease has an
// epoch; the manager refuses an older one. Opens are answered from the first lease on, also while there is none. After
// Finish a node takes no new writes.
//
// # States of a disk
//
//	known ---> opening ---> there ---> (released, as it is gone) ---> known
//	  |                       |
//	  +-------> (none) <------+   withdrawn, or detached by the manager
//
// A known disk has a path, a UUID once it was opened, and an id once the manager has named it. It is there while its Store
// is open. A disk whose label is missing for missedTime, and to which nothing is written, is released, so that an admin can
// unmount it. What is there under another path is the same disk; a copy of a label is refused.
//
// # Disks that do not answer
//
// Each disk is wrapped by package bounded when it is opened, so every call to it returns. Three things are left to do here.
// An open may take long, also because it verifies what a crash left: it runs beside, and is used when it ends. An order to
// a stalled disk is refused at once. The end of the node cancels all calls after stopTimeout.
//
// # Goroutines, and what blocks
//
// Run has one goroutine each for the lease, for abandoned pieces and for scrubs; a lease has two, for heartbeats and for
// orders, and one for each exchange under way. Lanes have one each, for the life of the node. Work on disks (lanes, expiry,
// scrubs) is in Node.working, which nothing waits for but the end of Run. Open, OpenPiece and Written block on disks and
// peers, and before the first lease for joinPatience at most.
//
// # Locks
//
// disks.mu guards the list of disks, and is not held over a call to one, nor over the write of node.json. orders.mu guards
// the lanes, badPieces.mu what was found, meter.mu the last reading. None is taken while another is held.
package node
