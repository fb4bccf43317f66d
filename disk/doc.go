// Package disk keeps pieces of files on one mounted filesystem, and never returns a byte that it cannot prove.
//
// # Problem
//
// A disk of a storage node holds millions of pieces: replicas or parts of files. It must be able to say after a crash
// which of them are complete, find single flipped bits, share one fsync among many writers, read at the speed of the
// device, and say when the device is ill. A cheap filesystem (ext4, XFS, btrfs) is all it has. DESIGN.md has the
// decisions and measurements, docs/formats/piece.md the bytes.
//
// # Main types
//
//   - [Store] is the interface of one disk, with [Writer] and [Reader]; package disktest has its suite.
//   - [Disk] implements it over package vfs. It consists of tree (names), sealedPieces (what is in place, and how many),
//     openPieces (sealed pieces that are open), tableCache and windowCache (what of them is in memory), gauge (traffic),
//     condition (room and health), badPlaces, recovery and scrub.
//   - writer is a pending piece, with its sumTable (page checksums) and sumSpill (what of that does not fit in memory).
//   - piece is a sealed piece that is open, shared by its Readers; pieceWindows are its mapped, verified parts.
//   - Package bounded wraps a Store so that each of its calls returns, whatever the device does.
//
// # Life of a piece
//
//	        Create           Seal: table and footer, sync, rename
//	(none) -------> pending ------------------------------------> sealed ----> (none)
//	                   |  Abort, Expire, Remove, Create again        |  Remove, or replaced
//	                   +------------------> (none)                   +------------------->
//
// A pending piece has a file in the directory "pending" and at most one Writer. Its size and content change. A sealed
// piece has a file in its place, with a valid footer, and does not change any more; only RepairPages writes to it, and
// only bytes that match the checksums in it. [Disk.Put] does all steps at once. A pending piece may begin as a copy of a sealed
// one ([Cloner]): its bytes are as good as those, and no better.
//
// # Invariants
//
//   - A file in its place without a valid footer counts as no piece: Open says Corrupt, Scan leaves it out, Create
//     replaces it.
//   - Bytes are compared with their CRC32C each time they come from the device or from the page cache. Bytes that are
//     sent without a copy were compared in a mapping that has lasted since (windows.go).
//   - A Writer that lost its piece (removed, started over) fails with Conflict, and removes nothing that is not its own.
//   - After a failed write or sync a Writer cannot be sealed: the kernel reports a lost write once.
//   - What a seal with sync promised is there after a power cut. The rename is not synced: Open repeats it.
//   - Nothing is written where the label is missing: that is what a mount point without its disk looks like.
//
// # Health
//
// condition looks at label and room; faults (I/O and checksum errors) decay; health decides, in pure steps, whether the
// disk is ok, full, read-only, failing or gone. Only an ok disk takes new pieces. Reads are tried in any case.
//
// # What blocks, and locks
//
// Every method blocks on the device, but for Size, Stat, SetHeadroom, OpenHeld, Progress and what MemoryReader says.
// A mutex guards memory only, and is not held over a call to the device. What must not run side by side at the device has
// a turn (platform/turn), which a caller waits for as for the device itself. Order:
//
//	writer.io (a shared turn)  before  Disk.turns (one for the names of a piece)  before  sealedPieces.listing
//	writer.io                  before  writer.tableTurn
//	any turn                   before  any mutex
//	window.mu                  before  windowCache.mu
//
// openPieces.mu, tableCache.mu, gauge.mu, condition.mu, dirSync.mu and badPlaces.mu are innermost.
//
// # Goroutines
//
// Open starts one that counts the pieces, and ends with Close at the latest. Scrub runs on its caller's goroutine. All
// else runs on the goroutines of callers.
package disk
