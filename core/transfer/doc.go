// Package transfer moves the bytes of one open file at a storage node: a write goes to all pieces at once and ends in
// seal and commit; a read is verified and finds another piece when one is bad.
//
// # Types
//
//   - [Host] is the node: its disks, its peers, its manager, and what all transfers share (memory, counters, limits).
//   - [Pending] is the node's table of writes that are not ended, and of pieces whose head is elsewhere. It opens
//     everything, so a client that lost its connection finds its write again by the same capability.
//   - [Writer] is the head of one write. Its bytes are in a content, one of three.
//   - [Reader] is one committed file. It reads one replica and changes to another when that fails.
//   - [Peers] reaches pieces on other nodes. Package app/peers implements it over the XRootD protocol.
//
// What clients hold are handles of these: [hemera.File] for a file, [hemera.PieceHandle] for a piece, which is what the
// heads and readers of other nodes hold. Package transfertest has the suites that all implementations pass.
//
// # The states of a write
//
// A write begins without any piece, so that an empty file costs no disk anything. Its content is in one of these:
//
//	           grows, is synced                    first change
//	inline ──────────────────────▶ pieces ◀─────────────────────── baseView
//	memory, at most 64 KiB         one a target                    of an update:
//	                                                               reads the base
//
// and the write itself goes through these phases:
//
//	writing ────────▶ committing ────────────▶ ended
//	   │    seal                  the manager's    ▲
//	   │    (of the content)      answer           │
//	   └───────────────────────────────────────────┘
//	        abort, too few pieces, or nothing changed
//
// In committing all is sealed, and only the manager's answer is missing. If that does not come within
// [CommitPatience], close fails as undecided: the content may be visible. The write stays in the table, and a close
// that is repeated sends the same request, which the manager takes once.
//
// Each piece of a write has a state of its own in the ledger: planned, live, failed or sealed. The ledger is a pure
// state machine. It decides what a close does next: seal what is live, fill what is planned (from memory, or from a
// sealed piece), ask the manager for other disks for what failed, commit, or fail.
//
// # Invariants
//
//   - A commit has at least the pieces that its capability asks for, and as many as the file can be read from.
//   - Every page carries its CRC32C from the client, or from the first buffer it was in, to the table of its piece. Bytes
//     that wait in memory are compared with theirs before they go to a disk.
//   - Overlapping writes reach all pieces in one order.
//   - After a failed close no piece is left, unless the commit may have happened: then the audit decides.
//   - A reader returns no byte that does not match the CRC of its page.
//   - Only the piece table (not a connection, not a handle) decides whether a write goes on. A write that was aborted is
//     never begun again by a client that means to continue it.
//
// # Concurrency
//
// A Writer has two guards. Its turn orders the calls that use the content: it is a channel with one place, held while
// disks and nodes are waited for, and everything below "turn" in the struct belongs to its holder. Its mutex guards the
// state that anybody may ask for (size, phase, time, attributes); it is held for a few instructions, so Info and the
// table never wait for a device.
//
// A Reader counts the calls in progress, which keep its pieces open, and has a mutex over the states of its replicas.
// One call opens a replica; others that need it wait on a channel, and all that can read another open one do.
//
// Order of locks: Pending.mu, then Writer.mu or pendingPiece.mu. The locks of uses, removals, callCount and Reader are
// leaves. No lock is held over a disk, another node, the manager or a channel.
//
// Goroutines: a fan-out has one for each piece but one, which end with the call. Work in the background (removing lost
// pieces, repairing single pages) is counted; [Host.Wait] waits for it. Timers of the table expire what nobody holds.
//
// # What blocks
//
// Calls of disks return, as package core/disk/bounded gives each a deadline. A piece whose disk is stalled is lost like
// one whose peer is silent, and moves to another disk; if it is the only live one, a write fails as I/O, which has stock
// clients begin again elsewhere. Peers have timeouts of their own. Questions to the manager end after callTimeout; a
// commit is repeated for CommitPatience.
//
// After a stalled call its buffers are the device's: see [hemera.KeepsBuffers]. Reads that fail so go on at another
// replica with other memory. The memory of a stalled write may still be read by it; what it puts on the disk then
// belongs to a piece that is lost, and is removed with it.
//
// # Layouts
//
// Which bytes a piece has is the business of package rules/layout: a write is cut into spans, a truncation asks for the
// size of each piece, and a footer is compared with it. A replica is the case of one column. Parity is not computed
// here yet, so a layout that needs it is refused.
package transfer
