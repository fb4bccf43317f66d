// Package maint repairs and removes in the background. It has disks remove pieces that no file has any more, drains disks,
// makes the pieces of lost disks and of incomplete files again, repairs single bad pieces, and compares what disks hold
// with the namespace.
//
// # Who does what
//
// The [Engine] decides, nodes work. A decision is made on one [hemera.View] by a pure function (move/plan.go, compare.go). A node
// gets an order for it through maint/orders, and its result is recorded in the namespace by one conditional change: it has no
// effect if the file changed meanwhile.
//
// Data goes one way. Package move is below: it plans, bounds and makes the moves of pieces. base has the services, the Mover and
// the clock that all workers share, and calls none of them. Each worker stands on base, and on another worker only where it says
// so. [New] assembles them, and [Engine] runs them and answers for them.
//
// All of the engine's state can be lost at any time: workers read what is to be done from the namespace and the view again. Only
// the times of audits, the list of broken pieces, requests to convert, and the times of scans by lifecycle rules are durable.
//
// # Workers
//
// Each kind of work is a [Worker]: a step does what is due with bounded memory and says how long to rest; [Engine.Wake] ends
// the rest of all of them. The engine has nine, and [Options] may add more:
//
//   - watch ends the orders of nodes that went offline (watch.go);
//   - remove has disks remove unlinked pieces, in batches, one batch a disk (remove.go; room.go for held pieces);
//   - drain empties disks that an admin drains, and those that are lost, with one job for each (drain.go);
//   - repair makes the missing pieces of incomplete files, one piece of a file at a time (repair.go); here, and for the files of
//     lost disks, those that can lose the fewest more pieces come first (danger.go);
//   - heal (in the code: pieceRepairer) verifies and repairs single pieces that reads, scrubs and audits found bad (piecerepair.go);
//   - convert has files stored in another form, by durable requests (convertworker.go, converttree.go, walker.go); the newest order
//     about a file decides (convertorder.go);
//   - lifecycle has files removed or converted by the rules of directories above them (lifecycle.go);
//   - audit compares each disk with the namespace every [AuditInterval] (audit.go, compare.go, suspects.go);
//   - balance moves pieces until the disks of a space are about equally full, and pieces of a file apart that share a node or a
//     zone (balance.go, balancerun.go, balancespread.go). rules/balance decides; balanceledger.go counts what the reports of
//     disks do not show yet.
//
// # A move
//
// Drain, repair, heal and balance make a piece elsewhere in the same way (package move): lock the file, read the entry again, wait for room
// for a copy and plan it, have the destination's node pull the piece, record it in place of the old one. The old one is then
// unlinked, and the remover has its disk remove it.
//
// # A conversion
//
// A request names a tree and a form. Its job walks the tree in the order of names, from the cursor on, and has each file that
// is stored otherwise converted: lock the file against moves, have the manager permit a new content (Granter), have the head
// of that write read the old content and write it in the new form, and wait. The head commits by itself, like the head of any
// write, so the result is not recorded here. The job leaves a file alone that changed meanwhile or is being written, and the
// next pass meets it again.
//
//	          a pass left nothing
//	running ─────────────────────▶ done ◀── stopped by an admin
//	   ▲  │ files in use                      the tree is gone
//	   │  ▼ or not converted                  the last pass is over
//	waiting, stalled (passRests)
//
// Every checkpointFiles conversions the job waits for those under way and makes the cursor durable, so that a restart goes on
// there. What was under way is looked at again: it is converted by then, or is converted once more, and pieces of a write that
// nobody committed are removed like those of any other.
//
// # Invariants
//
//   - Two pieces of one file are never moved at once, or both could go to one disk. [move.Limiter] locks the file.
//   - A piece leaves its file only when another is recorded in the same change.
//   - A disk that is still to remove a piece is no destination for that same piece: the removal would take the copy.
//   - An orphan is removed only after every write that it may belong to is over: by its node's clock, and by the time that
//     the manager has known of it (OrphanAge, suspectTime). The namespace then bars its write for ever.
//   - A file is never moved and converted at once: both lock it.
//   - At most convertTotal files are converted at once, however many requests there are.
//   - A piece that failed for want of good data is not tried again with the same sources before its time (setbacks.go).
//   - At most [move.CopiesPerDisk] large copies go from and to one disk, or four times as many small ones, and
//     [move.CopiesTotal] in all.
//   - A copy that waits for room goes before those that are less urgent, whichever worker wants them (move/limiter.go).
//   - A lost piece is made by a node that has little to receive, from nodes that have little to send (move/traffic.go).
//
// # Locks, goroutines, blocking
//
// Each worker has a goroutine; jobs, batches and repairs have their own and are waited for when Run ends. Locks guard memory
// only, no lock is held while an order is under way, and none is taken within another. [Engine.Wake], [Engine.RepairPieces],
// [Engine.Bad] and [Engine.Broken] do not block. [Engine.Fsck], [Engine.Check] and [Engine.Strays] wait for nodes.
package maint
