// Package daemon assembles processes: a manager, a storage node, or both in one (hemera up). It opens what a process
// needs, connects services with doors, serves all doors at one port, and ends everything in order. It has no policy.
//
//	manager:  lock of the state directory → port → store → namespace → manager → authority → doors (xrd, admin, rpc)
//	node:     lock of the state directory → port → certificate → node with its disks → doors (xrd, metrics)
//	up:       one event loop and one resources.Bounds for a manager and its nodes; control calls are direct
//
// Open functions acquire everything and fail early: a directory in use, a port that is taken, a state directory of the
// other kind. If one fails it releases what it acquired. No request is answered before Run. Run blocks until its context
// ends, or a part cannot continue, and then closes everything:
//
//   - A node first waits for writes under way (StopPatience), then stops serving.
//   - In hemera up all nodes end before the manager, so that their commits still find it.
//   - Closing a disk or a store may block in the kernel. runWithin bounds that; the rest ends with the process.
//
// A failed store ends the manager: nothing can be answered without it, and a supervisor starts the process again.
//
// Goroutines: each Run has one for every part that serves (errgroup), and one that waits for the end of the context.
// Rules of HTTP at the port (who may read metrics, which names the server answers to) are in metrics.go and hosts.go; the
// identification of callers of the admin API is in authorize.go.
package daemon
