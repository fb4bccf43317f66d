// Package move makes pieces of files again elsewhere: for drains, repairs and balancing alike.
//
// # Parts
//
//   - [NewPlan] decides on one view where a piece goes and what it is made from. It is pure.
//   - [Limiter] bounds the copies under way for each disk and in total, gives free places to the most urgent copy that waits,
//     and locks files against two moves at once. [Urgency] orders the copies.
//   - traffic counts what nodes have still to send and to receive for the copies under way, so that a rebuild uses all links.
//   - [Mover] does a move: it locks the file, reads the entry again, waits for room and plans, has the destination's node pull
//     the piece, and records it in place of the old one by one conditional change.
//
// # Invariants
//
// Two pieces of one file are never moved at once, or both could go to one disk. A piece leaves its file only when another is
// recorded in the same change. A disk that is still to remove a piece is no destination for that same piece.
//
// # Locks and blocking
//
// Limiter.mu guards memory only, and no function of another package runs while it is held. [Mover.Relocate] blocks until the copy's turn has come and
// its node has made the piece. [Limiter.AwaitFile] waits for another's lock. All else returns at once.
package move
